/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compactor.h - the thread that compacts beside the sweeps (inside storage/ only)
 *
 * It has a connection of its own, sleeps until it is woken after a sweep, makes
 * what steps there are, and empties the log into the file, so that the sink
 * does neither. Two threads share nothing but what stands behind its mutex.
 */
#ifndef IBWIRE_STORAGE_COMPACTOR_H
#define IBWIRE_STORAGE_COMPACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sink.h"

struct compactor;
struct error;
struct writer_retention;

/*
 * compactor_start - open a second connection and start the thread
 * @path:  of the database, which is open already
 * @retention:  borrowed for the call
 * Return: 0 or a negative error, nothing started.
 */
int compactor_start(const char *path, const struct writer_retention *retention, struct compactor **ret,
		    struct error *err);

/* compactor_wake - there is another sweep; @log_frames: pages in the log. Never waits. NULL is allowed. */
void compactor_wake(struct compactor *compactor, int log_frames);

/*
 * compactor_failed - did a write or a flush fail?
 * It does nothing more then: the writer stops it, repairs the log (wal.h), and starts another one. NULL: false.
 */
bool compactor_failed(struct compactor *compactor);

/*
 * compactor_log_held - does a reader keep the log from being emptied? NULL is allowed.
 * @ret_holders:  who, as far as can be seen: "process 4711 (less)"
 * Return: bytes of the log, if it was above SCHEMA_LOG_BYTES_REPORTED and could not be emptied after some sweeps
 * in a row; else 0.
 */
int64_t compactor_log_held(struct compactor *compactor, char ret_holders[SINK_HOLDERS_SIZE]);

/*
 * compactor_stop - end the thread
 * @finish_us:  for so long it goes on with what there is to do; what is left waits for the next start
 */
void compactor_stop(struct compactor *compactor, int64_t finish_us);

#endif
