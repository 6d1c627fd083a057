/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * traffic.h - what flows do to the ports on their way, as time goes on
 *
 * A model without a clock and without I/O: the driver gives it tables and
 * passing time, and takes from it by how much each port's counters have to move.
 *
 * Every packet of a flow is counted by every port on its path, sent at one end
 * of each link and received at the other, so both ends agree to the packet.
 * A flow that a full link keeps below its demand waits in the buffers before it:
 * the ports that feed that link, back to the sender, count PortXmitWait.
 * A flow without a route stands still, and its job with it where it is coupled.
 */
#ifndef IBWIRE_SIM_TRAFFIC_H
#define IBWIRE_SIM_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/job.h"

struct error;
struct fabric;
struct lft;

/*
 * A packet of 4 KiB: LRH 8, BTH 12, payload 4096, ICRC 4 octets; PortXmitData
 * counts neither the VCRC nor the delimiters, in words of 4 octets.
 * Source: IBA Vol 1, 5.1 (packet), 16.1.3.5 (PortXmitData).
 */
#define TRAFFIC_PACKET_WORDS 1030
#define TRAFFIC_PACKET_BITS (32 * TRAFFIC_PACKET_WORDS)

/* A tick of PortXmitWait in bits: Tick 7 counts 8 bytes per port. Source: NVIDIA's ibdiagnet manual. */
#define TRAFFIC_TICK_BITS 64

/* Longest path, in links (ROUTE_HOPS_MAX); a longer one is not followed. */
#define TRAFFIC_MAX_HOPS 64

/* Amounts of one port's counters; words are packets times TRAFFIC_PACKET_WORDS. */
struct port_amount {
	uint64_t xmit_packets, rcv_packets, xmit_wait;
};

struct traffic {
	const struct fabric *fabric; /* borrowed */
	const struct flow_list *list; /* borrowed */
	/* Paths: the sending port of each link, flow after flow. */
	uint32_t *path;
	size_t path_capacity;
	size_t *path_first;   /* by flow; one more at the end */
	bool *routed;         /* by flow */
	size_t routed_count;
	double *rate;         /* by flow, bits per second */
	double *carry;        /* by flow: the part of a packet that was not sent yet */
	double *wait_rate;    /* by port: ticks per second */
	double *wait_carry;   /* by port */
	struct port_amount *pending; /* by port: what the driver has yet to set */
};

/* traffic_create - flows at rest: nothing moves before tables are given. */
int traffic_create(const struct fabric *fabric, const struct flow_list *list, struct traffic *ret, struct error *err);
void traffic_done(struct traffic *traffic);

/*
 * traffic_route - find all paths in these tables, and all rates
 * Return: 0 (traffic->routed_count says how many flows have a way) or ERR_NOMEM.
 */
int traffic_route(struct traffic *traffic, const struct lft *lft, struct error *err);

/* traffic_advance - let @elapsed_s seconds pass: adds to traffic->pending. */
void traffic_advance(struct traffic *traffic, double elapsed_s);

/*
 * traffic_find_path - the links of a flow by static tables
 * @ret_path:  TRAFFIC_MAX_HOPS sending ports
 *
 * Return: how many, 0 where there is no way.
 */
size_t traffic_find_path(const struct fabric *fabric, const struct lft *lft, uint32_t from, uint32_t to,
			 uint32_t ret_path[TRAFFIC_MAX_HOPS]);

#endif
