/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_relay_bed.h - a relay in virtual time, between one client at an HCA and an ibsim of the test's own answers
 *
 * Packets for either side are stored with their time.
 */
#ifndef IBWIRE_SIM_TEST_RELAY_BED_H
#define IBWIRE_SIM_TEST_RELAY_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/ibsim/packet.h"
#include "sim/relay/relay_model.h"

struct fabric;

/* Times are in nanoseconds. */
#define US 1000LL
#define MS (1000 * US)
#define BED_PACKETS 4096
#define SLOT 3
#define SMP_NODE_INFO 0x11
#define SMP_PORT_INFO 0x15
#define PMA_COUNTERS 0x12
#define HCA_LID 7
#define OTHER_LID 9

struct bed {
	struct fabric *fabric;
	struct relay_model model;
	int64_t now;
	bool mute; /* ibsim does not respond */
	uint32_t hca, other;
	size_t asked; /* requests received by ibsim */
	int64_t asked_at[BED_PACKETS];
	struct packet waiting[BED_PACKETS];
	size_t waiting_first, waiting_count;
	size_t got; /* responses received by the client */
	struct {
		int64_t at;
		uint32_t tid;
		bool timed_out;
		struct packet packet;
	} responses[BED_PACKETS];
};

/* bed_create - the client is at HCA hca (HCA_LID), other has OTHER_LID; @settings: as for --wire. */
struct bed *bed_create(const char *settings);
void bed_destroy(struct bed *bed);

/* bed_fill - a Get of class and attribute, with this transaction. */
void bed_fill(struct packet *packet, uint8_t mgmt_class, uint16_t attribute, uint32_t tid);

/* bed_ask - send a request for counters from the client to a LID. */
void bed_ask(struct bed *bed, uint16_t lid, uint32_t tid);

/* bed_ibsim_responses - let ibsim respond to its requests, unless it is mute. */
void bed_ibsim_responses(struct bed *bed);

/* bed_run_until - process events up to a time. */
void bed_run_until(struct bed *bed, int64_t until);

#endif
