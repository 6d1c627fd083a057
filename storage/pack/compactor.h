/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compactor.h - the thread that runs the compaction (inside storage/ only)
 *
 * It has its own connection, sleeps until it is woken after a sweep, does all steps, and checkpoints
 * the log, so that the sink does neither. The threads share only what its mutex protects.
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
 * @path:  of the database, which is already open
 * @retention:  borrowed for the call
 * Return: 0 or a negative error, nothing started.
 */
int compactor_start(const char *path, const struct writer_retention *retention, struct compactor **ret,
		    struct error *err);

/* compactor_wake - a sweep was stored; @log_frames: pages in the log. Does not block. NULL is allowed. */
void compactor_wake(struct compactor *compactor, int log_frames);

/*
 * compactor_failed - did a write or a flush fail? NULL: false
 * It is then idle: the writer stops it, recovers the log (log.h), and starts a new one.
 */
bool compactor_failed(struct compactor *compactor);

/*
 * compactor_log_held - does a reader block checkpoints? NULL is allowed.
 * @ret_holders:  the readers, as far as known: "process 4711 (less)"
 * Return: bytes of the log, if it exceeded SCHEMA_LOG_BYTES_REPORTED and could not be emptied for some sweeps
 * in a row; else 0.
 */
int64_t compactor_log_held(struct compactor *compactor, char ret_holders[SINK_HOLDERS_SIZE]);

/*
 * compactor_stop - end the thread
 * @finish_us:  time to do remaining steps; the rest is done after the next start
 */
void compactor_stop(struct compactor *compactor, int64_t finish_us);

#endif
