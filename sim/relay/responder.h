/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder.h - performance agents (PMA) in front of those of ibsim, and agents of NVIDIA's vendor class
 *
 * A request that ibsim does not implement is replaced by one that it does, which shows whether the node
 * is reachable. The response is made here: status 0x0C, unless the node is configured to support it.
 * Counters have the values of ibsim, widened where necessary, unless they were set.
 */
#ifndef IBWIRE_SIM_RESPONDER_H
#define IBWIRE_SIM_RESPONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/firmware.h"
#include "sim/ibsim/packet.h"

struct error;
struct fabric;
struct relay_map;

#define RESPONDER_REFUSED_MAX 8

/* PortInfoExtended.FECModeActive. Source: rdma-core perfquery.c (is_rsfec_mode_active), ibdiagnet's names. */
enum fec_mode { FEC_NONE, FEC_FIRECODE, FEC_RS, FEC_LOW_LATENCY_RS, FEC_RS2, FEC_UNKNOWN };

/* Counters of a detail attribute. */
struct responder_detail {
	uint64_t value[DETAIL_MAX];
	uint32_t set; /* bits of the counters that are set; others are ibsim's, or 0 if it has none */
};

struct responder_port {
	uint64_t value[COUNTER_COUNT];
	counter_set set; /* the same */
	double per_s[COUNTER_COUNT];    /* increments of a set counter */
	double fraction[COUNTER_COUNT]; /* of one that is not counted yet */
	int64_t counted_ns; /* time up to which they were added */
	uint8_t width;   /* PortInfo.LinkWidthActive, enum link_width; 0: ibsim's */
	struct responder_detail *detail; /* by enum detail_attribute; NULL: none was set */
};

struct responder_node {
	uint32_t cap_mask, cap_mask2, resp_time; /* UINT32_MAX: ibsim's */
	uint32_t tick;         /* PortSamplesControl.Tick; UINT32_MAX: not supported */
	enum fec_mode fec;     /* FEC_UNKNOWN: neither PortExtendedSpeeds nor PortInfoExtended */
	struct firmware firmware; /* of GeneralInfo; FIRMWARE_UNKNOWN: not supported */
	uint32_t redirect;     /* node to which requests are redirected; FABRIC_NONE: none */
	uint16_t refused[RESPONDER_REFUSED_MAX]; /* attributes with status 0x0C */
	size_t refused_count;
	/* Percent of responses with each fault. */
	double garbled, duplicated, late, foreign;
	int64_t late_ns;       /* delay of late responses */
	struct responder_port *ports; /* 0..port_count */
};

struct responder {
	const struct fabric *fabric; /* borrowed */
	struct responder_node **nodes; /* by node; NULL: not configured */
	const struct relay_map *map; /* borrowed: for the LIDs of redirects; NULL: not known */
	int64_t now_ns; /* set by the caller before requests and settings: counters with a rate depend on it */
};

/*
 * responder_details - the detail counters of a port, to set them. Return: NULL without memory.
 */
struct responder_detail *responder_details(struct responder_port *port);

/* responder_free_ports - @ports: 0..@port_count, or NULL */
void responder_free_ports(struct responder_port *ports, unsigned port_count);

/* responder_count - add the increments of a port's counters up to now. */
void responder_count(struct responder_port *port, int64_t now_ns);

int responder_init(struct responder *responder, const struct fabric *fabric, struct error *err);
void responder_done(struct responder *responder);

/*
 * responder_configure - "NODES key=value...", see ibwire-sim(1); other settings are unchanged
 * Return: 0; ERR_USAGE (nothing changed); ERR_NOMEM.
 */
int responder_configure(struct responder *responder, const char *text, struct error *err);

/* Queue pair at which a node responds for another one that redirects to it: this plus the other's index. */
#define RESPONDER_REDIRECT_QP 0x10000u

/* A request in flight and the request sent to ibsim for it. */
struct exchange {
	bool redirected;     /* it was sent to a redirect target; set by the caller */
	bool ours;           /* the response is made here; ibsim only shows that the node is reachable */
	bool widening;       /* PortCounters are read for a PortCountersExtended */
	bool sets;           /* it is a Set, which clears counters */
	/* If @ours the client's request, if @widening ibsim's PortCountersExtended. */
	uint8_t saved[PACKET_MAD_SIZE];
};

/* responder_sent_class - the class of the request to ibsim, which knows no vendor classes, for one of a client */
uint8_t responder_sent_class(uint8_t mgmt_class);

/* responder_request - replace the client's request @mad by the one for ibsim. */
void responder_request(const struct responder *responder, uint32_t node, struct exchange *exchange,
			uint8_t mad[PACKET_MAD_SIZE]);

/*
 * responder_response - process a response of ibsim (not a timeout)
 * @mad:  replaced by the response to the client, or by the next request to ibsim
 *
 * Return: true if it is the response; false if @mad is to be sent to ibsim.
 */
bool responder_response(struct responder *responder, uint32_t node, struct exchange *exchange,
		      uint8_t mad[PACKET_MAD_SIZE]);

/*
 * responder_wait - set PortXmitWait's increments in ticks per second, on agents with 64-bit errors
 * The counter of ibsim has 32 bits: in congestion it is at its maximum after a second.
 */
void responder_wait(struct responder *responder, uint64_t node_guid, unsigned port, double per_s);

/* responder_garble - corrupt the attribute of a response, and sometimes its attribute ID. */
void responder_garble(uint8_t mad[PACKET_MAD_SIZE], uint64_t random);

#endif
