/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder.h - a performance agent (PMA) of our own, in front of ibsim's
 *
 * It stands where questions leave for ibsim and answers come back. What ibsim
 * does not know is not asked of it: it would hand the question to a client that
 * sits there (opensm dies of that), or say that nobody answers. ibsim is asked
 * something that it knows instead, which tells whether the node can be reached and counts the
 * datagram, and the answer is made here: status 0x0C unless the node was
 * configured for more.
 *
 * A configured node has the capabilities that it was given. Counters of 64 bits
 * that ibsim has only in 16 are read there and widened, unless a value was set
 * here: then that is what every attribute says, stopped at the field's maximum.
 */
#ifndef IBWIRE_SIM_RESPONDER_H
#define IBWIRE_SIM_RESPONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "fabric/detail.h"
#include "sim/ibsim/packet.h"

struct error;
struct fabric;

#define RESPONDER_REFUSED_MAX 8

/* PortInfoExtended.FECModeActive. Source: rdma-core perfquery.c (is_rsfec_mode_active), ibdiagnet's names. */
enum fec_mode { FEC_NONE, FEC_FIRECODE, FEC_RS, FEC_LOW_LATENCY_RS, FEC_RS2, FEC_UNKNOWN };

/* The counters of one slow attribute. */
struct responder_detail {
	uint64_t value[DETAIL_MAX];
	uint32_t set; /* which of them were set: the others are ibsim's, or 0 where it has none */
};

struct responder_port {
	uint64_t value[COUNTER_COUNT];
	counter_set set; /* likewise */
	struct responder_detail detail[DETAIL_ATTRIBUTE_COUNT];
};

struct responder_node {
	uint32_t cap_mask, cap_mask2, resp_time; /* UINT32_MAX: ibsim's */
	uint32_t tick;         /* PortSamplesControl.Tick; UINT32_MAX: no such attribute */
	enum fec_mode fec;     /* FEC_UNKNOWN: neither PortExtendedSpeeds nor PortInfoExtended */
	uint32_t redirect;     /* node that the questions are sent to; FABRIC_NONE: none */
	uint16_t refused[RESPONDER_REFUSED_MAX]; /* attributes answered with 0x0C */
	size_t refused_count;
	/* How many of its answers are so, in percent. */
	double garbled, duplicated, late, foreign;
	int64_t late_ns;       /* by how much */
	struct responder_port *ports; /* 0..port_count */
};

struct responder {
	const struct fabric *fabric; /* borrowed */
	struct responder_node **nodes; /* by node; NULL: not configured */
	/* The LID at which a node answers for a port; 0: not known. */
	uint16_t (*lid)(void *ctx, uint32_t node, uint8_t port);
	void *ctx;
};

int responder_init(struct responder *responder, const struct fabric *fabric, struct error *err);
void responder_done(struct responder *responder);

/*
 * responder_configure - "NODES key=value...", see ibwire-sim(1)
 * A node keeps what it was told before and is not told now.
 * Return: 0; ERR_USAGE (nothing changed); ERR_NOMEM.
 */
int responder_configure(struct responder *responder, const char *text, struct error *err);

/* Queue pairs at which a node answers for others that redirect to it: this plus the other's index. */
#define RESPONDER_REDIRECT_QP 0x10000u

/* One question that is under way: what was asked, and what ibsim is asked for it. */
struct exchange {
	bool redirected;     /* it came by way of a redirect (the caller says so) */
	bool ours;           /* ibsim is only asked whether the node can be reached */
	bool widening;       /* its PortCounters are wanted for PortCountersExtended */
	bool sets;           /* it is a Set, which clears counters */
	/* Where ours: as the client asked. Where widening: ibsim's PortCountersExtended. */
	uint8_t kept[PACKET_MAD_SIZE];
};

/* responder_question - before ibsim is asked: @mad becomes what it shall be asked. */
void responder_request(const struct responder *responder, uint32_t node, struct exchange *exchange,
			uint8_t mad[PACKET_MAD_SIZE]);

/*
 * responder_answer - ibsim answered (not: timed out)
 * @mad:  its answer; becomes what the client gets, or the next question to ibsim
 *
 * Return: whether the client can have it; false: ask ibsim @mad and come again.
 */
bool responder_response(struct responder *responder, uint32_t node, struct exchange *exchange,
		      uint8_t mad[PACKET_MAD_SIZE]);

/*
 * responder_put_extended_speeds - PortExtendedSpeedsCounters, in the layout of @mode
 * Counters of lanes are those that were set; where none was, the port's total spread over four lanes.
 */
void responder_put_extended_speeds(const struct responder_port *port, enum fec_mode mode, uint8_t *data);

/* responder_put_detail - what was set of another slow attribute, over what ibsim says in @data. */
void responder_put_detail(const struct responder_port *port, enum detail_attribute attribute, uint8_t *data);

/* responder_clear_detail - what a Set with the CounterSelect in @data clears. */
void responder_clear_detail(struct responder_port *port, enum detail_attribute attribute, const uint8_t *data);

/* responder_garble - spoil an answer: its attribute's bytes, and sometimes which attribute it says it is. */
void responder_garble(uint8_t mad[PACKET_MAD_SIZE], uint64_t random);

#endif
