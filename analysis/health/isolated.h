/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * isolated.h - nodes without any link that is up, and which of them failed together
 *
 * A node is isolated when links of it are down and none is up. A host is down when all of its
 * cabled HCAs are isolated and most of them failed at once. Nodes that failed within restart_within
 * of their neighbour form a cluster: a switch with the hosts behind it, or hosts of one leaf. The
 * node with the lowest index represents the cluster.
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_ISOLATED_H
#define IBWIRE_ANALYSIS_HEALTH_ISOLATED_H

#include <stdint.h>

struct health;
struct health_host;

/* The isolated HCAs of a host. */
struct health_host_view {
	uint32_t cabled, isolated, recent; /* recent: within restart_within of the last */
	uint32_t behind_isolated;          /* their leaf is isolated, too */
	uint32_t first;                /* with the lowest GUID, or HEALTH_NONE */
	int64_t last_us, wall_us;      /* of the last failure; of the first recent one */
};

/* health_find_isolated - mark isolated nodes and hosts from the current links, and cluster them. */
void health_find_isolated(struct health *health);

/* health_view_host - as of the last health_find_isolated(). */
struct health_host_view health_view_host(const struct health *health, const struct health_host *host);

/* health_cluster_of - the node that represents the cluster of node @at; @at if it is in none. */
uint32_t health_cluster_of(struct health *health, uint32_t at);

#endif
