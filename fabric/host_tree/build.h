/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* build.h - a tree of hosts under construction; private to fabric/host_tree */
#ifndef IBWIRE_FABRIC_HOST_TREE_BUILD_H
#define IBWIRE_FABRIC_HOST_TREE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/host_tree.h"
#include "fabric/host_tree/names.h"
#include "fabric/host_units.h"

struct shape;

/* A switch of the tree under construction. Boxes have numbers in natural order of name. */
struct host_group {
	char *name;      /* owned until it is moved to the tree */
	uint32_t parent; /* or SHAPE_NONE */
	uint32_t unit;   /* of a leaf; else SHAPE_NONE */
	uint32_t box;    /* the first one; SHAPE_NONE: it stands for none */
	uint32_t inside; /* a box in the part that it is above */
	uint8_t tier;    /* 1: a leaf; 255: above all */
};

struct host_build {
	const struct shape *shape;
	const struct fabric *fabric;
	bool all;
	struct host_names names;
	struct host_units units;
	struct host_tree *tree;
	uint32_t *box_of;      /* by node: its box; SHAPE_NONE: no switch */
	uint32_t *node_of;     /* by box: its first node */
	uint8_t *tier;         /* by box: the lowest of its switches; 0: none */
	uint32_t *group_of;    /* by box: group above the leaves that has it, or SHAPE_NONE */
	uint32_t *set;         /* by box: connected boxes */
	uint32_t *found;       /* by box: a group, for one step */
	uint32_t box_count;
	uint32_t *first, *leaves; /* struct host_leaves */
	bool *others;
	struct host_group *groups;
	uint32_t group_count, group_most;
	uint32_t *sorted;      /* groups by parent and name */
	uint32_t *first_child; /* by group: in sorted; one more for the roots, and the end */
	uint32_t *place;       /* by group: index in the tree */
};

/* host_build_guid - the GUID of the first node of a box */
static inline uint64_t host_build_guid(const struct host_build *build, uint32_t box)
{
	return build->fabric->nodes[build->node_of[box]].guid;
}

/*
 * host_build_emit - fill build->tree with the groups, whose parents are known, and with their hosts and boxes
 * Groups get unique names, and are sorted by them. Return: false: no memory.
 */
bool host_build_emit(struct host_build *build);

#endif
