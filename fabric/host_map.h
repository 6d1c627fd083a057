/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host_map.h - other names of hosts: those of a scheduler for those of the fabric, those of nodes for those of pods */
#ifndef IBWIRE_FABRIC_HOST_MAP_H
#define IBWIRE_FABRIC_HOST_MAP_H

#include <stddef.h>

#include "base/unread.h"

struct error;

/* A zeroed struct is an empty map. */
struct host_map {
	struct host_map_entry {
		char *from, *to;
	} *entries; /* in order of the file */
	size_t count, capacity;
	struct unread unread; /* lines that could not be read */
};

/*
 * host_map_read - read a map from a file
 * @path:  lines of two names, or of two lists of equal length, as in fabric/host_set.h: "ib[001-100] gpu[001-100]";
 *         '#' starts a comment
 *
 * A line that is neither is counted in @ret->unread, and the others are read.
 * Return: 0; ERR_IO if the file cannot be read; ERR_NOMEM. @ret is for host_map_done() in any case.
 */
int host_map_read(const char *path, struct host_map *ret, struct error *err);
void host_map_done(struct host_map *map);

#endif
