/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * locked.h - nodes that responded to PMA queries but not to SMPs
 *
 * The newest locked or unlocked event since the collector start decides. Each collector detects
 * locked nodes within three sweeps.
 */
#ifndef IBWIRE_CLI_LOCKED_H
#define IBWIRE_CLI_LOCKED_H

#include <stdint.h>

struct error;
struct map;
struct reader;

/*
 * locked_load - read the locked nodes
 * @at_us:  wall clock; 0: now
 * @ret:    a zeroed map; locked GUIDs have a value above 0. map_done() frees it, after errors too.
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int locked_load(struct reader *reader, int64_t at_us, struct map *ret, struct error *err);

#endif
