/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer.h - the collector's sink: one process writes one database
 */
#ifndef IBWIRE_STORAGE_WRITER_H
#define IBWIRE_STORAGE_WRITER_H

#include <stdint.h>

struct error;
struct fabric;
struct sink;
struct writer;

/* For how long what is kept. */
struct writer_retention {
	int64_t raw_us;    /* each sweep's samples; 0: for good, as below */
	int64_t sums_us;   /* sums of each window of sweeps, and rows of error */
	int64_t hours_us;  /* sums of each hour */
	int64_t max_bytes; /* of the file, and its log up to a quarter of that; oldest samples go first; 0: no limit */
	unsigned window_sweeps; /* in a window; 0: by the interval */
};

/*
 * What one reading of one port takes on disk, in bytes, for an estimate; with it a
 * sixtieth of its slow counters (4.5 of them) and sums.
 * Source: measured by tests/bench on 4,144 ports that have a noisy day.
 */
#define WRITER_BYTES_PER_SAMPLE 16

/*
 * writer_open - open or create a database and become its only collector
 * @path:  the file; PATH.lock beside it is held while the writer lives
 *
 * Return: 0; ERR_UNAVAILABLE where another collector holds it (the text names
 * its process id); ERR_IO where the file cannot be created, is no database of
 * ours, is damaged, or is of a newer version: it is left untouched. One of an
 * older version is brought up to date, with all that it holds.
 */
int writer_open(const char *path, struct writer **ret, struct error *err);

/*
 * writer_set_retention - for how long to keep what, from now on
 * Before it is called, for good, and whatever size that takes.
 */
void writer_set_retention(struct writer *writer, const struct writer_retention *retention);

/* writer_close - keep the last absolute readings, release the lock. NULL is allowed. */
void writer_close(struct writer *writer);

/* writer_sink - the two calls of this writer (valid while it lives). */
const struct sink *writer_sink(struct writer *writer);

/*
 * writer_check_fabric - is this the fabric that the database knows?
 * Return: 0 where it knows none yet or at least one of these nodes (this host's
 * own HCA does not count); ERR_UNAVAILABLE where it knows others only (the text
 * says to use another --db, or --new-fabric).
 */
int writer_check_fabric(struct writer *writer, const struct fabric *fabric, struct error *err);

/* writer_forget_fabric - for --new-fabric: move the old file aside as PATH.old-TIME and start an empty one. */
int writer_forget_fabric(struct writer *writer, struct error *err);

/* writer_last_commit_us - how long the last store() took, microseconds. */
int64_t writer_last_commit_us(const struct writer *writer);

#endif
