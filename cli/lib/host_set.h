/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_set.h - hosts as a batch system writes them: "node[001-016,020],login1"
 */
#ifndef IBWIRE_CLI_HOST_SET_H
#define IBWIRE_CLI_HOST_SET_H

#include <stdbool.h>
#include <stddef.h>

struct error;

struct host_set {
	char **names;
	size_t count, capacity;
};

/* More hosts than that are a mistake. */
#define HOST_SET_MOST 100000

/*
 * host_set_add - the hosts of one list
 * @typed:  names with commas between them; a name may have one or more [..] of numbers and ranges, whose
 *          leading zeros are kept, as Slurm writes them; "@FILE": one such list a line
 *
 * Return: 0; ERR_USAGE, naming what is wrong; ERR_IO where the file cannot be read; ERR_NOMEM.
 */
int host_set_add(struct host_set *set, const char *typed, struct error *err);

/* host_set_has - is a host among them; a domain behind its name ("node1.cluster") does not count. */
bool host_set_has(const struct host_set *set, const char *name);

void host_set_done(struct host_set *set);

/*
 * host_set_add_drained - the hosts that a file says are out of service
 * @path:  lines "HOST STATE", as `sinfo -N -h -o "%N %T"` prints them; a state that begins with
 *         drain, down, fail, maint, reserved or power is out of service, whatever flags follow it
 *
 * Return: as host_set_add().
 */
int host_set_add_drained(struct host_set *set, const char *path, struct error *err);

#endif
