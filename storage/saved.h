/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * saved.h - the snapshots of `ibwire snapshot`: all counters of all ports at one time, kept by name
 *
 * (struct snapshot of storage/reader.h is the fabric at any time, out of the
 * collector's sweeps.) They are written by a process that is not the collector,
 * beside one: in steps that are so short that a sweep's commit never waits
 * long for them. One that is not complete yet, or half removed, does not count for anybody.
 */
#ifndef IBWIRE_STORAGE_SAVED_H
#define IBWIRE_STORAGE_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/difference.h"
#include "base/clock.h"
#include "fabric/counter.h"

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
	int64_t wall_us;             /* when its sweep began */
	int64_t start_us, end_us;    /* CLOCK_BOOTTIME of this boot: */
	char boot_id[BOOT_ID_SIZE];
	int64_t sweep;               /* the newest that was stored then; 0: none was */
	bool discovered;             /* by a discovery of its own */
	bool slow;                   /* slow counters were asked, too */
	uint32_t ports_planned, ports_asked, ports_answered;
	uint64_t mads_sent, mads_timed_out;
	int64_t spread_us;           /* between the first and the last reading of fast counters */
};

/* A snapshot and what is in it. */
struct saved {
	struct saved_info info;
	struct fabric *fabric;         /* its nodes, its ports with counters, the links between them; no LIDs */
	struct full_reading *readings; /* parallel to fabric->ports */
};

/*
 * saved_list - call @each for every snapshot, in the order in which they were taken, until it returns false
 * Return: 0 or ERR_IO.
 */
typedef bool saved_fn(void *ctx, const struct saved_info *info);
int saved_list(struct reader *reader, saved_fn *each, void *ctx, struct error *err);

/*
 * saved_load - one snapshot with its ports
 * @names:  or NULL
 * @ret:    saved_destroy() frees it
 * Return: 0; ERR_UNAVAILABLE where it was removed meanwhile; ERR_IO; ERR_NOMEM.
 */
int saved_load(struct reader *reader, int64_t id, const struct name_map *names, struct saved **ret,
	       struct error *err);
void saved_destroy(struct saved *saved);

/*
 * saved_load_two - two of them at once, the second in a thread with a connection of its own
 * @ids, @ret:  as those of saved_load(); where one cannot be loaded, @ret is untouched
 * Return: as saved_load(), of the first where both fail.
 */
int saved_load_two(struct reader *reader, const int64_t ids[2], const struct name_map *names, struct saved *ret[2],
		   struct error *err);

/*
 * saved_resets - counters that a collector saw fall between two snapshots
 * @before, @after:  sweeps later than @before and up to the one that follows @after: there a reset
 *                   is told that happened just before the second snapshot
 * Return: 0 or ERR_IO.
 */
typedef void saved_reset_fn(void *ctx, uint64_t node_guid, uint8_t port, counter_set counters);
int saved_resets(struct reader *reader, int64_t before, int64_t after, saved_reset_fn *each, void *ctx,
		 struct error *err);

/*
 * saved_writer_open - open a database for writing, beside a collector or without one
 * A database that is not there is created. One of an older version is brought up to
 * date, but not under a collector that is of this older version itself.
 * Return: 0; ERR_UNAVAILABLE as said; ERR_IO as writer_open().
 */
int saved_writer_open(const char *path, struct saved_writer **ret, struct error *err);
void saved_writer_close(struct saved_writer *writer);

/* saved_is_free - Return: 0; ERR_USAGE where a snapshot has this name; ERR_IO. */
int saved_is_free(struct saved_writer *writer, const char *name, struct error *err);

/*
 * saved_check_fabric - is this the fabric that the database's sweeps are of?
 * Return: as writer_check_fabric().
 */
int saved_check_fabric(struct saved_writer *writer, const struct fabric *fabric, struct error *err);

/* What a snapshot is told beside its sweep. */
struct saved_label {
	const char *name;
	const char *note; /* or NULL */
	bool discovered, slow;
};

/*
 * saved_write - keep a sweep as a snapshot
 * @sweep:  samples, and details
 * Return: 0; ERR_USAGE where the name was taken meanwhile; ERR_IO. On an error nothing counts.
 */
int saved_write(struct saved_writer *writer, const struct saved_label *label, const struct sweep *sweep,
		struct error *err);

/* saved_remove - Return: 0; ERR_USAGE where no snapshot has this name; ERR_IO. */
int saved_remove(struct saved_writer *writer, const char *name, struct error *err);

/* saved_longest_us - how long the database was locked at a stretch, at the most. */
int64_t saved_longest_us(const struct saved_writer *writer);

#endif
