/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * traffic.h - rates of flows and the counters of the ports on their paths, without clock and I/O
 * docs/simulation.md, Traffic, describes the model.
 */
#ifndef IBWIRE_SIM_TRAFFIC_H
#define IBWIRE_SIM_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/job.h"
#include "sim/share.h"

struct error;
struct fabric;
struct lft;
struct phases;

/*
 * A packet of 4 KiB: LRH 8, BTH 12, payload 4096, ICRC 4 octets, in words of 4 octets; PortXmitData does
 * not count the VCRC and the delimiters. Source: IBA Vol 1, 5.1, 16.1.3.5.
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
	struct share share;           /* paths and rates of all flows */
	size_t routed_count;          /* flows that have a path */
	double *carry;        /* by flow: fraction of a packet not yet counted */
	double *wait_rate;    /* by port: ticks per second */
	double *wait_carry;   /* by port */
	double *waited;       /* by port: ticks since the traffic began */
	struct phases *phases; /* NULL: no job has iterations, a start or an end */
	uint32_t *groups;     /* with phases, by job: its group in the share, from 1 on */
	double *step_rate, *step_sent; /* with phases, by flow */
	struct port_amount *pending; /* by port: increments not yet applied by the driver */
};

/* traffic_create - create the model; rates are 0 until traffic_route(). */
int traffic_create(const struct fabric *fabric, const struct flow_list *list, struct traffic *ret, struct error *err);
void traffic_done(struct traffic *traffic);

/*
 * traffic_route - compute all paths and rates for forwarding tables
 * A flow without a path has rate 0, as has its whole job if it is coupled. Return: 0 or ERR_NOMEM.
 */
int traffic_route(struct traffic *traffic, const struct lft *lft, struct error *err);

/*
 * traffic_rate - the rate of a flow of the list, in bits per second; 0 before traffic_route()
 * With phases: as long as traffic_advance() was not called, that of a flow with data to send.
 */
double traffic_rate(const struct traffic *traffic, size_t flow);

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
