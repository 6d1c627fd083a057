/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * virtual.h - a fabric in virtual time: its links, tables, traffic and counters
 *
 * Links, switches and hosts that fail, forwarding tables that change, jobs that
 * share links max-min fair, and counters that follow from all of it. tests/world/collect
 * runs the collector on it.
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

/* virtual_advance - let time pass until @to_us since the beginning. Return: 0 or ERR_NOMEM. */
int virtual_advance(struct virtual *world, int64_t to_us, struct error *err);

/*
 * virtual_read_port - the counters of a port, 64 bits wide
 * @port:   index into virtual_built()->ports
 * @at_us:  since the beginning; not before the last virtual_advance()
 */
void virtual_read_port(struct virtual *world, uint32_t port, int64_t at_us, uint64_t ret[COUNTER_COUNT]);

/*
 * virtual_discover - the fabric as discovery finds it: what is reached over links that are Active
 * @ret:  finished; the caller's
 * Return: 0 or a negative error.
 */
int virtual_discover(struct virtual *world, struct fabric **ret, struct error *err);

/* virtual_built - the fabric as it was built, with states, cables, widths and speeds as they are now. */
const struct fabric *virtual_built(const struct virtual *world);

/* virtual_tables - the switches' tables as they are now. */
const struct routes *virtual_tables(const struct virtual *world);

/* virtual_wall_us - wall clock at a time since the beginning. */
int64_t virtual_wall_us(const struct virtual *world, int64_t at_us);

/* virtual_short_name - "leaf-01" of "MF0;leaf-01:MQM8700/U1"; other names as they are. */
void virtual_short_name(const struct node *node, char ret[NODE_NAME_SIZE]);

/* virtual_find_node - by its name, or the short one; virtual_find_port - "NAME/PORT". Return: 0 or ERR_USAGE. */
int virtual_find_node(const struct fabric *fabric, const char *name, uint32_t *ret, struct error *err);
int virtual_find_port(const struct fabric *fabric, const char *name, uint32_t *ret, struct error *err);

/* virtual_load - what a port sends now, as a share of its link's data rate. */
double virtual_load(const struct virtual *world, uint32_t port);

#endif
