/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_set.h - sets of hosts in batch system notation: "node[001-016,020],login1"
 */
#ifndef IBWIRE_FABRIC_HOST_SET_H
#define IBWIRE_FABRIC_HOST_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/unread.h"

struct error;
struct text;

struct host_set {
	char **names;
	size_t count, capacity;
	bool sorted;          /* by host_set_sort(), and nothing was added since */
	struct unread unread; /* lines of its files that could not be read */
};

/* Maximum number of hosts in a set. */
#define HOST_SET_MOST 100000

/*
 * host_set_add - add the hosts of one list
 * host_set_add_file - the same, of a file with one list per line
 * @typed: comma-separated names; a name may contain [..] with numbers and ranges, leading zeros
 *          kept, as Slurm writes them
 *
 * A line of a file that is no such list is counted in @set->unread, and the others are added.
 * Return: 0; ERR_USAGE; ERR_IO if the file cannot be read; ERR_NOMEM.
 */
int host_set_add(struct host_set *set, const char *typed, struct error *err);
int host_set_add_file(struct host_set *set, const char *path, struct error *err);

/*
 * host_names_fold - names as a list in the same notation: "node[001-016,020], login1"
 * @names:  names that differ in their last number share a bracket if they follow each other
 * @most:   at most so many elements, each a name or a name with a bracket
 * Return: the number of names that the list has.
 */
size_t host_names_fold(const char *const *names, size_t count, size_t most, struct text *text);

/*
 * host_names_list - all names as Slurm reads them in its configuration: without blanks, and brackets only at the
 * end of a name: "node[001-016,020],r1-ib,r2-ib"
 * Source: slurm.conf(5), NodeName.
 */
void host_names_list(const char *const *names, size_t count, struct text *text);

/*
 * host_set_has - membership; a domain ("node1.cluster") is ignored
 * host_set_sort - sort a set, so that this takes logarithmic time
 */
bool host_set_has(const struct host_set *set, const char *name);
void host_set_sort(struct host_set *set);

void host_set_done(struct host_set *set);

/*
 * host_set_add_drained - add the hosts that a file lists as out of service
 * @path:  lines "HOST STATE", as `sinfo -N -h -o "%N %T"` prints them; a state that begins with
 *         drain, down, fail, maint, res or pow is out of service, whatever flags follow it; a line
 *         without a state of sinfo(1) is counted in @set->unread
 *
 * Return: as host_set_add().
 */
int host_set_add_drained(struct host_set *set, const char *path, struct error *err);

#endif
