/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_power.h - a disk that loses power at any point of a recorded run
 *
 * A layer around SQLite's file layer (VFS) records each write, truncation and flush of the files in a
 * folder; links with --wrap record the same of storage/, rename() and unlink(). Then power_fail()
 * writes the files as a disk could have them after a power failure at any recorded operation.
 *
 * What was flushed is on the disk. Each operation since then is there or not, independent of others:
 *
 *	writes     each sector (512 bytes or 4 KB) is new, old, garbage, or torn at any byte. Bytes that
 *	           no write covered do not change (powersafe overwrite, SQLite's default on Linux:
 *	           psow.html). An earlier write that replaces a later one equals a later one that is lost.
 *	size       a lost write at the end may leave zeros; a truncation may be lost
 *	names      a created, renamed or removed name; a flush of the folder makes them permanent, also
 *	           the one with the first flush of a journal or log (os_unix.c, UNIXFILE_DIRSYNC)
 *	PATH-shm   absent, or garbage: nothing flushes it
 *
 * Flushes do not reach the real disk while a run is recorded. One recording at a time.
 * Source: SQLite, "How SQLite Is Tested" (testing.html), "Crash Testing"; src/test6.c, "Normal" mode;
 * "Atomic Commit In SQLite" (atomiccommit.html), 2 "Hardware Assumptions".
 */
#ifndef IBWIRE_STORAGE_TEST_POWER_H
#define IBWIRE_STORAGE_TEST_POWER_H

#include <stddef.h>
#include <stdint.h>

/* power_record - record the files of folder @of from now on; those that it has are on the disk. */
void power_record(const char *of);

/* power_stop - the end of the recording. All connections must be closed. */
void power_stop(void);

/* power_phase - the name (borrowed) of what this thread does; the other thread is the compactor's. */
void power_phase(const char *name);

/*
 * power_fail_flush - the next flush by SQLite in this thread fails
 * The disk then never gets some of what it should have written; the running system still reads all of it.
 */
void power_fail_flush(void);

/* power_position - operations so far; a commit that returned is on the disk from here on. */
size_t power_position(void);

/* power_phase_at - the phase of the last operation before @position (from 1). */
const char *power_phase_at(size_t position);

/*
 * power_fail - write the files as after a power failure
 * @position:  operations that were issued before; fastest in ascending order
 * @seed:      which of the operations that were not flushed are on the disk
 * @to:        an existing folder; what it contains is removed
 */
void power_fail(size_t position, uint64_t seed, const char *to);

/* power_free - forget the recording. */
void power_free(void);

#endif
