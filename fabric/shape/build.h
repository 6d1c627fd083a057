/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shape_build.h - what the steps of shape_create() share; nobody else includes it
 *
 * The steps, each in a file of its own, in this order: what is near, hosts and
 * classes, tiers, groups, missing cables, rails, cages. Each reads what those
 * before it have found.
 */
#ifndef IBWIRE_FABRIC_SHAPE_BUILD_H
#define IBWIRE_FABRIC_SHAPE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"

struct map;

/* One switch as another sees it. */
struct near {
	uint32_t node;  /* the other switch, never itself */
	uint32_t links; /* cables between the two */
};

struct shape_build {
	struct shape *shape;
	const struct fabric *fabric;
	const struct shape_settings *settings; /* or NULL */
	uint32_t *switches;     /* nodes that are switches */
	uint32_t switch_count;
	struct near *near;      /* of one switch after the other */
	uint32_t *first_near;   /* by node, and one more: where its part of near begins */
	uint32_t *hcas;         /* by node: of a switch, cabled ports of HCAs (not of aggregation nodes) */
	uint32_t *compute;      /* by node: those of compute hosts among them */
	const char **host_of;   /* by node: the host's name as an HCA says it; NULL: it says none */
	const char **device_of; /* by node: the device's name behind it; "": none */
	uint64_t *expected_rate; /* the shape's built_bits_per_s, being filled in */
};

/* shape_memory - @count zeroed elements that live as long as the shape. Return: NULL: no memory. */
void *shape_memory(struct shape *shape, size_t count, size_t size);

/* shape_memory_done - give all of it back. */
void shape_memory_done(struct shape *shape);

/* shape_string - a copy of @len bytes that lives as long as the shape. Return: NULL: no memory. */
const char *shape_string(struct shape *shape, const char *chars, size_t len);

/* shape_root - the representative of @i in a forest of sets; shape_join makes two sets one. */
uint32_t shape_root(uint32_t *sets, uint32_t i);
void shape_join(uint32_t *sets, uint32_t a, uint32_t b);

/*
 * shape_intern - a number for a text: the same for equal ones
 * @map, @texts:  of one kind of texts; @texts has room for as many as there may be
 * @ret:          its index in @texts; *@count counts them
 * Return: 0 or ERR_NOMEM.
 */
int shape_intern(struct map *map, const char **texts, uint32_t *count, const char *text, uint32_t *ret);

/* shape_find_text - the number of a text that has one. Return: whether it has. */
bool shape_find_text(const struct map *map, const char **texts, const char *text, uint32_t *ret);

/* shape_is_hca - a CA that is not part of a switch. */
bool shape_is_hca(const struct shape_build *build, uint32_t node);

/* The steps. Each returns 0 or ERR_NOMEM. */
int shape_find_near(struct shape_build *build);
int shape_find_classes(struct shape_build *build);
int shape_find_hosts(struct shape_build *build);
int shape_find_parts(struct shape_build *build);
int shape_find_leafs(struct shape_build *build);
int shape_find_tiers(struct shape_build *build);
int shape_find_groups(struct shape_build *build);
int shape_find_missing(struct shape_build *build);
int shape_find_slow(struct shape_build *build);
int shape_find_rails(struct shape_build *build);
/* shape_find_cages - @asics: by node, how many switches are in the box of which it is the first. */
void shape_find_cages(struct shape_build *build, const uint32_t *asics);

#endif
