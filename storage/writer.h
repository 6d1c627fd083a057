/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer.h - the collector's sink: one process writes one database */
#ifndef IBWIRE_STORAGE_WRITER_H
#define IBWIRE_STORAGE_WRITER_H

#include <stdint.h>

struct error;
struct fabric;
struct sink;
struct writer;

/* Retention; 0: forever. */
struct writer_retention {
	int64_t raw_us;    /* samples of each sweep */
	int64_t sums_us;   /* sums of each window of sweeps, and rows of error */
	int64_t hours_us;  /* sums of each hour */
	int64_t jobs_us;   /* jobs that ended, and their snapshots; also at most WRITER_JOBS_MOST of all jobs */
	int64_t max_bytes; /* of the file and its log (up to 1/4 of it); oldest samples go first; 0: unlimited */
	unsigned window_sweeps; /* sweeps per window; 0: depends on the interval */
};

/* Jobs that are kept with any retention: with more, lists and reports become slow. */
#define WRITER_JOBS_MOST 100000

/*
 * Bytes on disk per reading of a port, for an estimate; includes 1/60 of its slow counters (4.5 of
 * them) and sums. Source: measured by tests/bench with 4,144 ports on a noisy day.
 */
#define WRITER_BYTES_PER_SAMPLE 16

/*
 * writer_open - open or create a database and become its only collector
 * @path:  the file; PATH.lock is held while the writer exists
 *
 * A database of an older version is migrated.
 * Return: 0; ERR_UNAVAILABLE if another collector holds the lock (the text has its process id);
 * ERR_IO if the file cannot be created, is not an ibwire database, is damaged, or has a newer version:
 * then it is not changed.
 */
int writer_open(const char *path, struct writer **ret, struct error *err);

/* writer_set_retention - from now on; before, everything is kept forever and without a size limit. */
void writer_set_retention(struct writer *writer, const struct writer_retention *retention);

/*
 * writer_set_settings - the settings that the collector evaluates findings by, stored with the next sweep
 * @text:  a settings file, without names; copied
 * Return: 0 or ERR_NOMEM.
 */
int writer_set_settings(struct writer *writer, const char *text, struct error *err);

/* writer_close - store the last absolute readings, release the lock. NULL is allowed. */
void writer_close(struct writer *writer);

/* writer_sink - Return: the sink of this writer (borrowed from it). */
const struct sink *writer_sink(struct writer *writer);

/*
 * writer_check_fabric - does the database belong to this fabric?
 * Return: 0 if the database has no nodes or at least one of these (except this host's own HCA);
 * ERR_UNAVAILABLE if all its nodes are others (the text has the options); ERR_IO.
 */
int writer_check_fabric(struct writer *writer, const struct fabric *fabric, struct error *err);

/* writer_forget_fabric - for --new-fabric: rename the file to PATH.old-TIME and start an empty one. */
int writer_forget_fabric(struct writer *writer, struct error *err);

#endif
