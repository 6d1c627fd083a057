/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * locked.h - which nodes answered no SMPs at a time, though they did for counters
 *
 * The state is that of the newest event of its two kinds since the collector
 * started: each collector finds out anew, within three sweeps.
 */
#ifndef IBWIRE_CLI_LOCKED_H
#define IBWIRE_CLI_LOCKED_H

#include <stdint.h>

struct error;
struct map;
struct reader;

/*
 * locked_load - the locked nodes
 * @at_us:  wall clock; 0: now
 * @ret:    a zeroed map: GUIDs of those that are locked have a value above 0. map_done() frees it, after errors too.
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int locked_load(struct reader *reader, int64_t at_us, struct map *ret, struct error *err);

#endif
