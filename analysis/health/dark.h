/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_dark.h - nodes of which no link is up any more, and which of them went together: between analysis/health_*.c
 * only
 *
 * A node is dark when links of it are down and none is up; a host is down when all of its cabled HCAs are dark and
 * most went at once. What went within restart_within of its neighbour is one cluster: a switch with hosts behind it,
 * or hosts of one leaf. The node with the lowest index stands for a cluster.
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_DARK_H
#define IBWIRE_ANALYSIS_HEALTH_DARK_H

#include <stdint.h>

struct health;
struct health_host;

/* What of a host's HCAs is dark. */
struct health_host_view {
	uint32_t cabled, dark, lately; /* lately: within restart_within of the last */
	uint32_t behind_dark;          /* their leaf is dark itself */
	uint32_t first;                /* with the lowest GUID, or HEALTH_NONE */
	int64_t last_us, wall_us;      /* the last went; the first of those lately */
};

/* health_find_dark - from the links as they are now: mark nodes and hosts, put them into clusters, and count these. */
void health_find_dark(struct health *health);

/* health_view_host - as of the last health_find_dark(). */
struct health_host_view health_view_host(const struct health *health, const struct health_host *host);

/* health_cluster_of - the node that stands for the cluster of node @at; itself where it is in none. */
uint32_t health_cluster_of(struct health *health, uint32_t at);

#endif
