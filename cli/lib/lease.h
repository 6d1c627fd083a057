/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lease.h - which of two management hosts polls the fabric
 *
 * A file on storage that both hosts share names the host that polls. It renews the file before each
 * sweep. The other host stands by, and takes over when the file was not renewed for two sweeps,
 * measured by its own clock: the hosts' wall clocks may differ.
 *
 * A host that cannot renew the file stops polling, since it cannot know whether the other one has
 * taken over.
 */
#ifndef IBWIRE_CLI_LEASE_H
#define IBWIRE_CLI_LEASE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct error;

#define LEASE_RECORD_SIZE 512

struct lease {
	char path[PATH_MAX - 32];
	char owner[256];      /* this process: host, process id, random number */
	int64_t interval_us;  /* between sweeps */
	uint64_t renewals;
	const struct clock *clock;
};

/*
 * lease_init - a lease that is not held
 * @path:  of the file, in an existing folder; the file need not exist
 * Return: 0; ERR_USAGE if the path is too long or a symbolic link; ERR_IO if the file cannot be created.
 */
int lease_init(struct lease *lease, const char *path, int64_t interval_us, const struct clock *clock,
	       struct error *err);

/*
 * lease_wait - stand by until this process holds the lease, or a stop is requested
 * @waiting:  called about once a second with the owner of the lease, or why the file cannot be read
 * Return: whether it holds the lease.
 */
bool lease_wait(struct lease *lease, void (*waiting)(const char *what));

/* lease_renew - before a sweep. Return: 0; ERR_UNAVAILABLE if another process holds it; ERR_IO. */
int lease_renew(struct lease *lease, struct error *err);

/* lease_release - let another host take over at once. Only after lease_wait() returned true. */
void lease_release(struct lease *lease);

#endif
