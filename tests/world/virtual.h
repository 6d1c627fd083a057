/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * virtual.h - a fabric in virtual time: what a collector would read, sweep after sweep
 *
 * Links, switches and hosts that fail, forwarding tables that change, jobs that
 * share links max-min fair, and counters that follow from all of it; without a
 * clock, without a wire, and with the truth known. A day of 4,000 HCAs takes minutes.
 *
 * Two fabrics are kept apart: the one that is there, and the one that a
 * discovery has last seen. A link that went down is still up in the latter until the
 * next discovery, as it is in a collector.
 */
#ifndef IBWIRE_TESTS_WORLD_VIRTUAL_H
#define IBWIRE_TESTS_WORLD_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/fabric.h"

struct error;
struct routes;
struct virtual;

/* What a port is in a sweep. */
enum virtual_word {
	VIRTUAL_READ,
	VIRTUAL_SILENT,     /* asked, no answer */
	VIRTUAL_BACKOFF,    /* the others of a silent node: not asked */
	VIRTUAL_DOWN,       /* no link, as far as the last discovery knows: not asked */
	VIRTUAL_UNFINISHED, /* its answer came too late */
};

struct virtual_sample {
	uint32_t port;          /* index into the ports of virtual_sweep.seen */
	uint32_t built;         /* index into virtual_built()->ports: stays the same */
	uint8_t word;           /* enum virtual_word */
	struct reading reading; /* where it was read */
};

/* One sweep. Everything is valid until the next step. */
struct virtual_sweep {
	int64_t wall_us, boot_us;
	const struct fabric *seen;   /* what the last discovery found */
	bool topology_changed;       /* it is another one than in the sweep before */
	const struct virtual_sample *samples;
	size_t sample_count;
	const uint64_t *locked_guids;
	size_t locked_count;
	bool sm_known;
	uint64_t sm_guid;
	unsigned sm_masters;
};

/*
 * virtual_create - a fabric at rest, all links up, tables even
 * @built:       taken over, whatever is returned; LIDs are given, masks of speed and width filled in
 * @interval_us: between sweeps
 * @seed:        of all that is left to chance
 *
 * Return: 0 or ERR_NOMEM.
 */
int virtual_create(struct fabric *built, int64_t interval_us, uint64_t seed, struct virtual **ret, struct error *err);
void virtual_destroy(struct virtual *world);

/*
 * virtual_job - add a job, as in "NAME ring hosts=all load=0.5"; docs/scenarios.md lists all words
 * virtual_at - let something happen, as in "width leaf-1/33 1x for=10m"
 * @at_us:  since the beginning
 *
 * Return: 0; ERR_USAGE, saying which word is wrong; ERR_NOMEM.
 */
int virtual_job(struct virtual *world, const char *spec, struct error *err);
int virtual_at(struct virtual *world, int64_t at_us, const char *what, struct error *err);

/* virtual_step - let an interval pass and make a sweep at its end. Return: 0 or ERR_NOMEM. */
int virtual_step(struct virtual *world, struct virtual_sweep *ret, struct error *err);

/* virtual_built - the fabric as it was built, with states, cables, widths and speeds as they are now. */
const struct fabric *virtual_built(const struct virtual *world);

/* virtual_tables - the switches' tables as they are now. */
const struct routes *virtual_tables(const struct virtual *world);

/* virtual_wall_us - wall clock of a moment since the beginning. */
int64_t virtual_wall_us(const struct virtual *world, int64_t at_us);

/* virtual_short_name - "leaf-01" of "MF0;leaf-01:MQM8700/U1"; other names as they are. */
void virtual_short_name(const struct node *node, char ret[NODE_NAME_SIZE]);

/* virtual_find_node - by its name, or the short one; virtual_find_port - "NAME/PORT". Return: 0 or ERR_USAGE. */
int virtual_find_node(const struct fabric *fabric, const char *name, uint32_t *ret, struct error *err);
int virtual_find_port(const struct fabric *fabric, const char *name, uint32_t *ret, struct error *err);

/* virtual_load - what a port sends now, as a share of its link's data rate. */
double virtual_load(const struct virtual *world, uint32_t port);

#endif
