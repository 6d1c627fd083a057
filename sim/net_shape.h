/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * net_shape.h - generated fabrics: rail-optimised clusters and fat-trees
 *
 * All links are Active. Management hosts come first, then compute hosts, then switches from the leaves
 * up, with names as rdma-ndd and switches write them: "node0001 mlx5_0", "MF0;leaf-u01-r0:MQM8700/U1".
 */
#ifndef IBWIRE_SIM_NET_SHAPE_H
#define IBWIRE_SIM_NET_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/speed.h"

struct error;
struct fabric;

/* Maximum number of HCAs: ibsim and opensm bring them up in about a minute. */
#define NET_SHAPE_MAX_HCAS 16384

enum net_shape_kind { NET_SHAPE_RAIL, NET_SHAPE_TREE2, NET_SHAPE_TREE3 };

struct net_shape {
	enum net_shape_kind kind;
	unsigned units;  /* rail: scalable units; tree3: pods; tree2: 1 */
	unsigned leafs;  /* trees: leaves of a unit (rail has one for each rail) */
	unsigned hosts;  /* rail: hosts of a unit; trees: hosts of a leaf */
	unsigned rails;  /* HCAs of a host; in trees all of them are connected to the same leaf */
	unsigned spines; /* rail, tree2: all of them; tree3: those of a pod */
	unsigned cores;  /* tree3: the third tier */
	unsigned links;  /* cables of each leaf-spine pair; 0: from the oversubscription */
	/* Downlinks to uplinks, times 1000: 1000 is 1:1, 2000 is 2:1. */
	unsigned oversubscription_milli;      /* of leaves */
	unsigned core_oversubscription_milli; /* of the spines of a tree3 */
	unsigned management; /* hosts excluded from jobs */
	enum link_speed speed;
	uint8_t width; /* code */
};

/* net_shape_default - the shape without options; rail: 32 hosts with 8 HCAs, 16 leaves, 8 spines. */
struct net_shape net_shape_default(enum net_shape_kind kind);

/*
 * net_shape_option - set a value of a shape by its option
 * @name:   "units", "hosts", "speed" ... without dashes
 * @value:  a count, "2:1" or "1.5" for an oversubscription, "HDR", "4x"
 *
 * Return: 0 or ERR_USAGE with the valid values.
 */
int net_shape_option(struct net_shape *shape, const char *name, const char *value, struct error *err);

/*
 * net_shape_build - the fabric of a shape
 * @ret:  a finished fabric
 *
 * Return: 0; ERR_USAGE if the shape cannot be built (a switch with more than 254 ports, more than
 * NET_SHAPE_MAX_HCAS HCAs); ERR_NOMEM.
 */
int net_shape_build(const struct net_shape *shape, struct fabric **ret, struct error *err);

/* host_is_management - is a node with this description ("mgmt" and a number) excluded from jobs? */
bool host_is_management(const char *desc);

#endif
