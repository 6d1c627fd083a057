/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * virtual.h - a simulated fabric in virtual time: links, forwarding tables, traffic and counters
 *
 * Events change links, nodes and tables; jobs share links max-min fairly; counters are computed from the
 * rates. tests/world/collect.h runs the collector on it. It aborts if out of memory.
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
 * virtual_create - create a fabric without traffic, with all links up and balanced tables
 * @built:       ownership passes to the function; it assigns LIDs and masks of speed and width
 * @interval_us: between sweeps
 * @seed:        of random numbers
 */
struct virtual *virtual_create(struct fabric *built, int64_t interval_us, uint64_t seed);
void virtual_destroy(struct virtual *world);

/*
 * virtual_job - add a job, as in "NAME ring hosts=all load=0.5" (docs/scenarios.md)
 * virtual_at - schedule an event, as in "width leaf-1/33 1x for=10m"
 * @at_us:  since the beginning
 *
 * Return: 0; ERR_USAGE, naming the invalid word.
 */
int virtual_job(struct virtual *world, const char *spec, struct error *err);
int virtual_at(struct virtual *world, int64_t at_us, const char *what, struct error *err);

/* virtual_advance - advance the time to @to_us since the beginning. */
void virtual_advance(struct virtual *world, int64_t to_us);

/*
 * virtual_read_port - the counters of a port, 64 bits wide
 * @port:   index into virtual_built()->ports
 * @at_us:  since the beginning; not before the last virtual_advance()
 */
void virtual_read_port(struct virtual *world, uint32_t port, int64_t at_us, uint64_t ret[COUNTER_COUNT]);

/* virtual_discover - the fabric as discovered: the nodes reachable over Active links; freed by the caller. */
struct fabric *virtual_discover(struct virtual *world);

/* virtual_built - all nodes and ports, with the present states, cables, widths and speeds. */
const struct fabric *virtual_built(const struct virtual *world);

/* virtual_tables - the present forwarding tables of the switches. */
const struct routes *virtual_tables(const struct virtual *world);

/* virtual_wall_us - wall clock at a time since the beginning. */
int64_t virtual_wall_us(const struct virtual *world, int64_t at_us);

/* virtual_load - the present transmit rate of a port, as a share of its link's data rate. */
double virtual_load(const struct virtual *world, uint32_t port);

#endif
