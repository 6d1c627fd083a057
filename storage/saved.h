/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * saved.h - the snapshots of `ibwire snapshot`: all counters of all ports at one time, stored by name
 *
 * (struct snapshot of storage/reader.h is the fabric at any time, from the collector's sweeps.)
 * Another process than the collector writes them, in transactions so short that they hardly delay a
 * sweep's commit. Incomplete and partly removed snapshots are invisible.
 */
#ifndef IBWIRE_STORAGE_SAVED_H
#define IBWIRE_STORAGE_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/difference.h"
#include "base/clock.h"
#include "fabric/counter.h"
#include "fabric/firmware.h"

struct error;
struct fabric;
struct name_map;
struct reader;
struct saved_writer;
struct sweep;

/* With the final NUL. */
#define SAVED_NAME_SIZE 65
#define SAVED_NOTE_SIZE 1025

struct saved_info {
	int64_t id;
	char name[SAVED_NAME_SIZE];
	char note[SAVED_NOTE_SIZE];  /* "": none */
	int64_t wall_us;             /* start of its sweep */
	int64_t start_us, end_us;    /* CLOCK_BOOTTIME of this boot: */
	char boot_id[BOOT_ID_SIZE];
	int64_t sweep;               /* newest stored sweep at that time; 0: none */
	bool discovered;             /* topology of its own discovery */
	bool slow;                   /* with slow counters */
	uint32_t ports_planned, ports_polled, ports_answered;
	uint64_t mads_sent, mads_timed_out;
	int64_t spread_us;           /* between the first and the last reading of fast counters */
};

struct saved {
	struct saved_info info;
	struct fabric *fabric;         /* its nodes, its ports with counters, the links between them; no LIDs */
	struct full_reading *readings; /* parallel to fabric->ports */
};

/*
 * saved_list - call @each for every snapshot, oldest first, until it returns false
 * Return: 0 or ERR_IO.
 */
typedef bool saved_fn(void *ctx, const struct saved_info *info);
int saved_list(struct reader *reader, saved_fn *each, void *ctx, struct error *err);

/*
 * saved_load - one snapshot with its ports
 * @names:  or NULL
 * @ret:    saved_destroy() frees it
 * Return: 0; ERR_UNAVAILABLE if it was removed by another process; ERR_IO; ERR_NOMEM.
 */
int saved_load(struct reader *reader, int64_t id, const struct name_map *names, struct saved **ret,
	       struct error *err);
void saved_destroy(struct saved *saved);

/*
 * saved_load_two - load two at the same time, the second in a thread with its own connection
 * @ids, @ret:  as of saved_load(); @ret is unchanged if one of them cannot be loaded
 * Return: as saved_load(), that of the first if both fail.
 */
int saved_load_two(struct reader *reader, const int64_t ids[2], const struct name_map *names, struct saved *ret[2],
		   struct error *err);

/*
 * saved_resets - call @each for counters whose reset the collector stored between two snapshots
 * @before, @after:  newest sweeps at the two snapshots; a reset shortly before the second one is
 *                   detected by the sweep after @after, which is included
 * Return: 0 or ERR_IO.
 */
typedef void saved_reset_fn(void *ctx, uint64_t node_guid, uint8_t port, counter_set counters);
int saved_resets(struct reader *reader, int64_t before, int64_t after, saved_reset_fn *each, void *ctx,
		 struct error *err);

/*
 * saved_writer_open - open a database for writing, while a collector runs or not
 * It is created if it does not exist. One of an older version is migrated.
 * Return: 0; ERR_UNAVAILABLE if a collector is creating it; ERR_IO as writer_open().
 */
int saved_writer_open(const char *path, struct saved_writer **ret, struct error *err);
void saved_writer_close(struct saved_writer *writer);

/* saved_is_free - Return: 0; ERR_USAGE if a snapshot has this name; ERR_IO. */
int saved_is_free(struct saved_writer *writer, const char *name, struct error *err);

/* saved_check_fabric - does the database belong to this fabric? Return: as writer_check_fabric(). */
int saved_check_fabric(struct saved_writer *writer, const struct fabric *fabric, struct error *err);

/* Properties of a snapshot in addition to its sweep. */
struct saved_label {
	const char *name;
	const char *note; /* or NULL */
	bool discovered, slow;
};

/*
 * saved_write - store a sweep as a snapshot
 * @sweep:  its samples and details are used
 * Return: 0; ERR_USAGE if the name was taken meanwhile; ERR_IO. After an error there is no snapshot.
 */
int saved_write(struct saved_writer *writer, const struct saved_label *label, const struct sweep *sweep,
		struct error *err);

/* Result of saved_import_firmware(): numbers of nodes. */
struct saved_firmware_counts {
	size_t first;   /* nothing was known of them before */
	size_t changed; /* had another version, or now have a known PSID or date: an event reports other versions */
	size_t same;
	size_t older;   /* something else is known since later: unchanged */
	size_t unknown; /* not in the database */
};

/*
 * saved_import_firmware - store firmware of nodes that another program has read
 * @list:  source: FIRMWARE_IMPORTED; at_us: the time of its file; changed_us is not used
 *
 * What was known since before that time is replaced; the past is not changed.
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored yet; ERR_IO. After an error a part may be stored.
 */
int saved_import_firmware(struct saved_writer *writer, const struct node_firmware *list, size_t count,
			  struct saved_firmware_counts *ret, struct error *err);

/* saved_remove - Return: 0; ERR_USAGE if no snapshot has this name; ERR_IO. */
int saved_remove(struct saved_writer *writer, const char *name, struct error *err);

/* saved_longest_us - longest time for which the database was locked. */
int64_t saved_longest_us(const struct saved_writer *writer);

#endif
