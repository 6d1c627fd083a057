/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * build.h - data shared by the steps of shape_create(); private to fabric/shape/
 *
 * The steps, in this order: neighbors, classes and hosts, parts, tiers, groups, missing cables,
 * slow links, rails, sums of tiers, bisection, cages. Each step uses the results of the previous ones.
 */
#ifndef IBWIRE_FABRIC_SHAPE_BUILD_H
#define IBWIRE_FABRIC_SHAPE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* A neighboring switch. */
struct near {
	uint32_t node;  /* the neighbor */
	uint32_t links; /* number of parallel cables */
};

struct shape_build {
	struct shape *shape;
	const struct fabric *fabric;
	const struct shape_settings *settings; /* or NULL */
	uint32_t *switches;     /* nodes that are switches */
	uint32_t switch_count;
	struct near *near;      /* of all switches, one after the other */
	uint32_t *first_near;   /* by node: index of its first neighbor in near; one more at the end */
	uint32_t *hcas;         /* by node: of a switch, ports cabled to HCAs (not to aggregation nodes) */
	uint32_t *compute;      /* by node: those of them cabled to compute hosts */
	const char **host_of;   /* by node: host name in the description; NULL: none */
	const char **device_of; /* by node: device name in the description; "": none */
	uint64_t *expected_rate; /* built_bits_per_s of the shape, under construction */
	uint32_t *asics;        /* by node: of the first node of a box, number of its switches */
	struct shape_piece *scratch;  /* shape_scratch() */
};

/*
 * shape_memory - allocate @count zeroed elements with the lifetime of the shape
 * shape_scratch - allocate them until the end of shape_create()
 * Return: NULL: no memory.
 */
void *shape_memory(struct shape *shape, size_t count, size_t size);
void *shape_scratch(struct shape_build *build, size_t count, size_t size);
void shape_memory_done(struct shape_piece *pieces);

/* shape_indexes - scratch memory for @count indexes, all SHAPE_NONE. Return: NULL: no memory. */
uint32_t *shape_indexes(struct shape_build *build, size_t count);

/* shape_string - copy @len bytes with the lifetime of the shape. Return: NULL: no memory. */
const char *shape_string(struct shape *shape, const char *chars, size_t len);

/*
 * Disjoint sets of nodes: shape_sets() returns sets of one node each (NULL: no memory), and
 * shape_part() makes them so again; shape_root() returns the representative of @i, its lowest
 * member; shape_join() merges two sets.
 */
uint32_t *shape_sets(struct shape_build *build);
void shape_part(const struct shape_build *build, uint32_t *sets);
uint32_t shape_root(uint32_t *sets, uint32_t i);
void shape_join(uint32_t *sets, uint32_t a, uint32_t b);

/* Numbered strings, borrowed. Start with zeros. */
struct shape_strings {
	struct map map;
	const char **texts;
	size_t count, capacity;
};
void shape_strings_done(struct shape_strings *strings);

/*
 * shape_intern - number a string; equal strings get the same number
 * @ret:  index in strings->texts
 * Return: 0 or ERR_NOMEM.
 */
int shape_intern(struct shape_strings *strings, const char *text, uint32_t *ret);

/* shape_find_text - find the number of a string. Return: whether it has one. */
bool shape_find_text(const struct shape_strings *strings, const char *text, uint32_t *ret);

/* shape_link_rate - rate of a link; the lower one if its ends differ (read at different times). 0: unknown. */
uint64_t shape_link_rate(const struct fabric *fabric, uint32_t port);

/* shape_is_hca - a CA that is not inside a switch. */
bool shape_is_hca(const struct shape_build *build, uint32_t node);

/* The steps. Each returns 0 or ERR_NOMEM. */
int shape_find_near(struct shape_build *build);
int shape_find_classes(struct shape_build *build);
int shape_find_hosts(struct shape_build *build);
int shape_find_parts(struct shape_build *build);
int shape_find_leaves(struct shape_build *build);
int shape_find_tiers(struct shape_build *build);
int shape_find_groups(struct shape_build *build);
int shape_find_missing(struct shape_build *build);
int shape_find_slow(struct shape_build *build);
int shape_find_rails(struct shape_build *build);
int shape_find_bisection(struct shape_build *build);

/*
 * shape_has_cycles - whether links within a tier form cycles of four or more switches or islands
 * Requires the tiers. Return: 0 or ERR_NOMEM.
 */
int shape_has_cycles(struct shape_build *build, bool *ret);

/*
 * shape_has_planes - do the unconnected parts of the fabric serve the same HCAs: is each that has a cable cabled to all
 * of them?
 */
bool shape_has_planes(const struct shape_build *build);

void shape_find_cages(struct shape_build *build);

#endif
