/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/test_relay_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/ibsim/attach.h"
#include "sim/net_shape.h"

static void to_ibsim(void *ctx, unsigned slot, const struct packet *packet)
{
	struct bed *bed = ctx;

	assert_int_equal(slot, SLOT);
	assert_true(bed->asked < BED_PACKETS);
	bed->asked_at[bed->asked++] = bed->now;
	bed->waiting[bed->waiting_count++] = *packet;
}

static void to_client(void *ctx, unsigned slot, const struct packet *packet)
{
	struct bed *bed = ctx;

	assert_int_equal(slot, SLOT);
	assert_true(bed->got < BED_PACKETS);
	bed->responses[bed->got].at = bed->now;
	bed->responses[bed->got].tid = load_be32(packet->mad + MAD_TID + 4);
	bed->responses[bed->got].timed_out = packet->status == htonl(PACKET_TIMED_OUT);
	bed->responses[bed->got++].packet = *packet;
}

/* Emulates the response of ibsim. Source: sim_mad.c, reply_MAD and update_trid. */
void bed_ibsim_responses(struct bed *bed)
{
	while (!bed->mute && bed->waiting_first < bed->waiting_count) {
		struct packet packet = bed->waiting[bed->waiting_first++];
		uint32_t lid = packet.dlid;

		packet.mad[MAD_METHOD] = METHOD_GET_RESPONSE;
		packet.dlid = packet.slid;
		packet.slid = lid;
		store_be16(packet.mad + MAD_TID, SLOT);
		relay_model_from_ibsim(&bed->model, SLOT, &packet, bed->now);
	}
}

void bed_run_until(struct bed *bed, int64_t until)
{
	for (;;) {
		int64_t next = relay_model_next_ns(&bed->model);

		if (next > until)
			break;
		bed->now = next > bed->now ? next : bed->now;
		relay_model_run(&bed->model, bed->now, 0);
		bed_ibsim_responses(bed);
	}
	bed->now = until;
}

void bed_fill(struct packet *packet, uint8_t mgmt_class, uint16_t attribute, uint32_t tid)
{
	memset(packet, 0, sizeof(*packet));
	packet->mad[MAD_BASE_VERSION] = packet->mad[MAD_CLASS_VERSION] = 1;
	packet->mad[MAD_CLASS] = mgmt_class;
	packet->mad[MAD_METHOD] = METHOD_GET;
	store_be32(packet->mad + MAD_TID + 4, tid);
	store_be16(packet->mad + MAD_ATTRIBUTE, attribute);
	packet->dqp = htonl(1);
}

void bed_ask(struct bed *bed, uint16_t lid, uint32_t tid)
{
	struct packet packet;

	bed_fill(&packet, CLASS_PERFORMANCE, PMA_COUNTERS, tid);
	packet.dlid = htons(lid);
	packet.mad[PACKET_MAD_DATA + 1] = 1;
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	bed_ibsim_responses(bed);
}

static uint32_t find_hca(const struct fabric *fabric, uint32_t after)
{
	uint32_t i;

	for (i = after + 1; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_CA)
			return i;
	return FABRIC_NONE;
}

/* A PortInfo response with a LID for the first port of a node. */
static void learn_lid(struct bed *bed, uint32_t node, uint16_t lid)
{
	struct packet packet;

	bed_fill(&packet, CLASS_SUBN_LID, SMP_PORT_INFO, 0);
	packet.mad[MAD_MODIFIER + 3] = 1;
	store_be16(packet.mad + PACKET_MAD_DATA + 16, lid);
	relay_map_learn(&bed->model.map, node, packet.mad);
}

struct bed *bed_create(const char *settings)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct error err = { 0 };
	char origin[ATTACH_ID_SIZE];
	const struct relay_io io = { to_ibsim, to_client, bed };

	assert_non_null(bed);
	assert_int_equal(net_shape_build(&shape, &bed->fabric, &err), 0);
	assert_int_equal(relay_model_init(&bed->model, bed->fabric, &io, &err), 0);
	if (relay_model_set(&bed->model, settings, &err) < 0)
		fail_msg("%s", err.text);
	bed->now = 1000 * MS;
	bed->hca = find_hca(bed->fabric, 0);
	bed->other = find_hca(bed->fabric, bed->hca);
	relay_model_open(&bed->model, SLOT, attach_id(bed->fabric, bed->hca, origin));
	assert_int_equal(bed->model.slots[SLOT].origin, bed->hca);
	learn_lid(bed, bed->hca, HCA_LID);
	learn_lid(bed, bed->other, OTHER_LID);
	return bed;
}

void bed_destroy(struct bed *bed)
{
	relay_model_done(&bed->model);
	fabric_destroy(bed->fabric);
	free(bed);
}
