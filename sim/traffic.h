/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * traffic.h - effect of flows on the counters of the ports on their paths
 *
 * A model without clock and I/O: the driver provides forwarding tables and elapsed time, and applies the
 * increments to ibsim.
 *
 * Every port on the path of a flow counts each of its packets, at the sending and the receiving end of
 * each link, so both ends agree exactly. If a full link limits a flow to less than its demand, the ports
 * that feed the link, back to the sender, count PortXmitWait. A flow without a route has rate 0, as has
 * its whole job if it is coupled.
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

/* Maximum length of a path in links (ROUTE_HOPS_MAX). */
#define TRAFFIC_MAX_HOPS 64

/* Increments of the counters of a port; words are packets times TRAFFIC_PACKET_WORDS. */
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
	double *carry;        /* by flow: fraction of a packet not yet counted */
	double *wait_rate;    /* by port: ticks per second */
	double *wait_carry;   /* by port */
	struct port_amount *pending; /* by port: increments not yet applied by the driver */
};

/* traffic_create - create the model; rates are 0 until traffic_route(). */
int traffic_create(const struct fabric *fabric, const struct flow_list *list, struct traffic *ret, struct error *err);
void traffic_done(struct traffic *traffic);

/*
 * traffic_route - compute all paths and rates for forwarding tables
 * Return: 0, with the number of flows that have a path in traffic->routed_count; or ERR_NOMEM.
 */
int traffic_route(struct traffic *traffic, const struct lft *lft, struct error *err);

/* traffic_advance - add the increments of @elapsed_s seconds to traffic->pending. */
void traffic_advance(struct traffic *traffic, double elapsed_s);

/*
 * traffic_find_path - the path of a flow in forwarding tables
 * @ret_path:  TRAFFIC_MAX_HOPS sending ports
 *
 * Return: the number of links; 0 if there is no path.
 */
size_t traffic_find_path(const struct fabric *fabric, const struct lft *lft, uint32_t from, uint32_t to,
			 uint32_t ret_path[TRAFFIC_MAX_HOPS]);

#endif
