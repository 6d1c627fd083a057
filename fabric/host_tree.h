/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_tree.h - the hosts of a fabric below a tree of switches, as schedulers want it
 *
 * A pure function of a shape. A scheduler's switch is a set of switches of the fabric: a leaf is a unit
 * of hosts (fabric/host_units.h), such as the leaves of a scalable unit; above, the switches of a tier that
 * links connect, with those below (the spines of a pod, all cores). So each host is below exactly
 * one leaf, each switch has one parent, and what is connected has one root. A box of several ASICs (a director) is
 * one switch, of its lowest tier. Unconnected planes are one part, because hosts have a port in each.
 */
#ifndef IBWIRE_FABRIC_HOST_TREE_H
#define IBWIRE_FABRIC_HOST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct host_map;
struct shape;

/*
 * Names that the scheduler accepts.
 * Slurm: letters, digits, '.', '_' and '-'; 63 characters; hosts without domain, if that is unique.
 * Kubernetes: in lower case, without '_' in a host.
 * Sources: Slurm src/plugins/topology/tree/switch_record.c (HOST_NAME_MAX), slurm.conf(5), NodeName;
 * Kubernetes, "Object Names and IDs" and "Labels and Selectors".
 */
enum host_tree_rules { HOST_TREE_SLURM, HOST_TREE_KUBERNETES };

/* Why a host is not in the tree. */
enum host_tree_left {
	HOST_LEFT_CLASS,     /* storage or management */
	HOST_LEFT_UNNAMED,   /* its HCAs have no name that identifies it */
	HOST_LEFT_NAME,      /* the scheduler would refuse its name */
	HOST_LEFT_TWICE,     /* another host has the same name */
	HOST_LEFT_UNCABLED,  /* no HCA of the compute network is cabled to a switch */
	HOST_LEFT_COUNT,
};

struct host_tree_options {
	enum host_tree_rules rules;
	bool all;                   /* storage and management, too */
	const struct host_map *map; /* names for those of the fabric, or for GUIDs of HCAs as 0x...; or NULL */
};

struct host_tree_switch {
	const char *name;           /* unique */
	uint32_t parent;            /* index into switches, or SHAPE_NONE: a root */
	bool is_leaf;
	uint32_t first, count;      /* of a leaf: in hosts; of others: in children */
	uint32_t first_box, boxes;  /* in boxes: switches of the fabric that it stands for; 0: it only joins others */
};

struct host_tree {
	struct host_tree_switch *switches; /* children, in natural order of name, before their parent */
	size_t switch_count, leaf_count;
	uint32_t *children;                /* indexes into switches */
	const char **boxes;                /* names, in natural order */
	const char **hosts;                /* names; those of a leaf in natural order */
	uint32_t *leaf_of;                 /* by host: index into switches */
	size_t host_count;
	/* Hosts that are not in it: names in the fabric, new names for HOST_LEFT_NAME and _UNCABLED. */
	const char **left[HOST_LEFT_COUNT];
	size_t left_count[HOST_LEFT_COUNT];
	char **changed;                    /* private: names of hosts that are not those of the shape */
	size_t changed_count, changed_capacity;
};

/*
 * host_tree_create - find the tree
 * @shape:  must outlive the tree, whose names may be those of it
 * @ret:    for host_tree_destroy(); without a host, host_count and switch_count are 0
 *
 * A part without a switch that is above all others (a torus, leaves with links between them) has a root
 * that stands for no switch of the fabric.
 * The result does not depend on the order of nodes and ports.
 * Return: 0 or ERR_NOMEM.
 */
int host_tree_create(const struct shape *shape, const struct host_tree_options *options, struct host_tree **ret,
		     struct error *err);
void host_tree_destroy(struct host_tree *tree);

/* host_tree_accepts - would the scheduler accept a host of this name? */
bool host_tree_accepts(enum host_tree_rules rules, const char *name);

#endif
