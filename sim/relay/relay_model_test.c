/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The relay in virtual time, between a client and an emulated ibsim. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "sim/ibsim/attach.h"
#include "sim/net_shape.h"
#include "sim/relay/relay_model.h"

/* Times are in nanoseconds. */
#define US 1000LL
#define MS (1000 * US)
#define BEGAN (1000 * MS) /* time of a new fixture */
#define PACKETS_MAX 4096
#define SLOT 3
#define SMP_NODE_INFO 0x11
#define PMA_COUNTERS 0x12
#define HCA_LID 7
#define OTHER_LID 9

struct fixture {
	struct fabric *fabric;
	struct relay_model model;
	int64_t now;
	bool mute; /* ibsim does not respond */
	uint32_t hca, other;
	size_t requests; /* requests received by ibsim */
	int64_t requested_at[PACKETS_MAX];
	struct packet waiting[PACKETS_MAX];
	size_t waiting_first, waiting_count;
	size_t got; /* responses received by the client */
	struct {
		int64_t at;
		uint32_t tid;
		bool timed_out;
		struct packet packet;
	} responses[PACKETS_MAX];
};

static void to_ibsim(void *ctx, unsigned slot, const struct packet *packet)
{
	struct fixture *fix = ctx;

	assert_int_equal(slot, SLOT);
	assert_true(fix->requests < PACKETS_MAX);
	fix->requested_at[fix->requests++] = fix->now;
	fix->waiting[fix->waiting_count++] = *packet;
}

static void to_client(void *ctx, unsigned slot, const struct packet *packet)
{
	struct fixture *fix = ctx;

	assert_int_equal(slot, SLOT);
	assert_true(fix->got < PACKETS_MAX);
	fix->responses[fix->got].at = fix->now;
	fix->responses[fix->got].tid = load_be32(packet->mad + MAD_TID + 4);
	fix->responses[fix->got].timed_out = packet->status == htonl(PACKET_TIMED_OUT);
	fix->responses[fix->got++].packet = *packet;
}

/* Emulates the response of ibsim. Source: sim_mad.c, reply_MAD and update_trid. */
static void fixture_ibsim_responses(struct fixture *fix)
{
	while (!fix->mute && fix->waiting_first < fix->waiting_count) {
		struct packet packet = fix->waiting[fix->waiting_first++];
		uint32_t lid = packet.dlid;

		packet.mad[MAD_METHOD] = METHOD_GET_RESPONSE;
		packet.dlid = packet.slid;
		packet.slid = lid;
		store_be16(packet.mad + MAD_TID, SLOT);
		relay_model_from_ibsim(&fix->model, SLOT, &packet, fix->now);
	}
}

static void fixture_run_until(struct fixture *fix, int64_t until)
{
	for (;;) {
		int64_t next = relay_model_next_ns(&fix->model);

		if (next > until)
			break;
		fix->now = next > fix->now ? next : fix->now;
		relay_model_run(&fix->model, fix->now, 0);
		fixture_ibsim_responses(fix);
	}
	fix->now = until;
}

static void fixture_fill(struct packet *packet, uint8_t mgmt_class, uint16_t attribute, uint32_t tid)
{
	memset(packet, 0, sizeof(*packet));
	packet->mad[MAD_BASE_VERSION] = packet->mad[MAD_CLASS_VERSION] = 1;
	packet->mad[MAD_CLASS] = mgmt_class;
	packet->mad[MAD_METHOD] = METHOD_GET;
	store_be32(packet->mad + MAD_TID + 4, tid);
	store_be16(packet->mad + MAD_ATTRIBUTE, attribute);
	packet->dqp = htonl(1);
}

static void fixture_request(struct fixture *fix, uint16_t lid, uint32_t tid)
{
	struct packet packet;

	fixture_fill(&packet, CLASS_PERFORMANCE, PMA_COUNTERS, tid);
	packet.dlid = htons(lid);
	packet.mad[PACKET_MAD_DATA + 1] = 1;
	relay_model_from_client(&fix->model, SLOT, &packet, fix->now);
	fixture_ibsim_responses(fix);
}

static uint32_t find_hca(const struct fabric *fabric, uint32_t after)
{
	for (uint32_t i = after + 1; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_CA)
			return i;
	return FABRIC_NONE;
}

/* A response with the attribute of PortInfo, and a LID for the first port of a node. */
static void learn_lid(struct fixture *fix, uint8_t mgmt_class, uint32_t node, uint16_t lid)
{
	struct packet packet;

	fixture_fill(&packet, mgmt_class, SMP_PORT_INFO, 0);
	packet.mad[MAD_MODIFIER + 3] = 1;
	store_be16(packet.mad + PACKET_MAD_DATA + 16, lid);
	relay_map_learn(&fix->model.map, node, packet.mad);
}

/* The client is at HCA hca (HCA_LID), other has OTHER_LID. @settings: as for --wire */
static struct fixture *fixture_create(const char *settings)
{
	struct fixture *fix = calloc(1, sizeof(*fix));
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct error err = { 0 };
	char origin[ATTACH_ID_SIZE];
	const struct relay_io io = { to_ibsim, to_client, fix };

	assert_non_null(fix);
	assert_int_equal(net_shape_build(&shape, &fix->fabric, &err), 0);
	assert_int_equal(relay_model_init(&fix->model, fix->fabric, &io, &err), 0);
	if (relay_model_set(&fix->model, settings, &err) < 0)
		fail_msg("%s", err.text);
	fix->now = BEGAN;
	fix->hca = find_hca(fix->fabric, 0);
	fix->other = find_hca(fix->fabric, fix->hca);
	relay_model_open(&fix->model, SLOT, attach_id(fix->fabric, fix->hca, origin));
	assert_int_equal(fix->model.slots[SLOT].origin, fix->hca);
	learn_lid(fix, CLASS_SUBN_LID, fix->hca, HCA_LID);
	learn_lid(fix, CLASS_SUBN_LID, fix->other, OTHER_LID);
	return fix;
}

static void fixture_destroy(struct fixture *fix)
{
	relay_model_done(&fix->model);
	fabric_destroy(fix->fabric);
	free(fix);
}

/* A test with a fixture of its own, `fix`, that has these settings. */
#define RELAY_TEST(name, settings) \
	TEST_OF(name, struct fixture, fixture_create(settings), fixture_destroy)

/* The HCA is the only node with this setting. */
static void set_hca(struct fixture *fix, const char *key)
{
	char setting[64];

	snprintf(setting, sizeof(setting), "%s=0x%016" PRIx64, key, fix->fabric->nodes[fix->hca].guid);
	assert_int_equal(relay_model_set(&fix->model, setting, NULL), 0);
}

static void send_packet(struct fixture *fix, const struct packet *packet)
{
	relay_model_from_client(&fix->model, SLOT, packet, fix->now);
	fixture_ibsim_responses(fix);
}

RELAY_TEST(default_settings_add_no_delay, "")
{
	fixture_request(fix, HCA_LID, 1);
	assert_int_equal(fix->got, 1);
	assert_false(fix->responses[0].timed_out);
	assert_int_equal(fix->responses[0].packet.mad[MAD_METHOD], METHOD_GET_RESPONSE);
	assert_int_equal(fix->model.in_flight, 0);
}

RELAY_TEST(a_response_takes_two_latencies_and_the_service_time, "latency=20us service=100us")
{
	fixture_request(fix, HCA_LID, 1);
	fixture_run_until(fix, BEGAN + 1 * MS);
	assert_int_equal(fix->got, 1);
	assert_in_range(fix->requested_at[0], BEGAN, BEGAN + 20 * US);
	assert_int_equal(fix->responses[0].at, BEGAN + 140 * US);
}

RELAY_TEST(a_node_serves_one_request_at_a_time, "latency=20us service=100us")
{
	for (uint32_t i = 0; i < 10; i++)
		fixture_request(fix, HCA_LID, i);
	fixture_request(fix, OTHER_LID, 100);
	fixture_run_until(fix, BEGAN + 10 * MS);
	assert_int_equal(fix->got, 11);
	for (uint32_t i = 0; i < 11; i++) {
		const uint32_t tid = fix->responses[i].tid;

		assert_int_equal(fix->responses[i].at, BEGAN + (tid == 100 ? 140 : 140 + 100 * tid) * US);
	}
	/* The request is sent to ibsim when its node processes it: counters are read then. */
	for (uint32_t i = 1; i < 11; i++)
		assert_true(fix->requested_at[i] - fix->requested_at[i - 1] == 100 * US ||
			    fix->requested_at[i] == fix->requested_at[i - 1]);
}

RELAY_TEST(an_idle_node_adds_no_queueing_delay, "latency=20us service=100us")
{
	fixture_request(fix, HCA_LID, 1);
	fixture_run_until(fix, fix->now + 50 * MS);
	fixture_request(fix, HCA_LID, 2);
	fixture_run_until(fix, fix->now + 50 * MS);
	assert_int_equal(fix->got, 2);
	assert_int_equal(fix->responses[1].at - fix->responses[0].at, 50 * MS);
}

RELAY_TEST(smps_of_subnet_managers_are_counted_apart, "latency=20us")
{
	struct packet packet;

	for (uint32_t i = 0; i < 4; i++) {
		fixture_fill(&packet, CLASS_SUBN_LID, 0x15, i);
		packet.mad[MAD_METHOD] = i == 1 ? METHOD_SET : METHOD_GET;
		packet.dlid = htons(HCA_LID);
		relay_model_from_client(&fix->model, SLOT, &packet, fix->now);
	}
	fixture_request(fix, HCA_LID, 4);
	assert_int_equal(fix->model.stats.requests, 5);
	assert_int_equal(fix->model.stats.smps, 4);
	assert_int_equal(fix->model.stats.sm_smps, 3);
	relay_model_open(&fix->model, SLOT, "");
	relay_model_from_client(&fix->model, SLOT, &packet, fix->now);
	assert_int_equal(fix->model.stats.sm_smps, 3);
}

RELAY_TEST(a_dead_node_times_out_after_hold_without_delaying_others, "latency=20us service=100us hold=1s")
{
	int64_t began = fix->now;

	set_hca(fix, "dead");
	for (uint32_t i = 0; i < 5; i++)
		fixture_request(fix, HCA_LID, i);
	fixture_request(fix, OTHER_LID, 100);
	fixture_run_until(fix, began + 2000 * MS);
	assert_int_equal(fix->requests, 1);
	assert_int_equal(fix->got, 6);
	assert_int_equal(fix->responses[0].tid, 100);
	assert_int_equal(fix->responses[0].at, began + 140 * US);
	for (uint32_t i = 1; i < 6; i++) {
		assert_true(fix->responses[i].timed_out);
		assert_int_equal(fix->responses[i].packet.mad[MAD_METHOD], METHOD_GET);
		assert_int_equal(fix->responses[i].at, began + 1000 * MS);
	}
	/* It works again at once: dead nodes have no queue. */
	assert_int_equal(relay_model_set(&fix->model, "dead=none", NULL), 0);
	began = fix->now;
	fixture_request(fix, HCA_LID, 7);
	fixture_run_until(fix, began + 1 * MS);
	assert_int_equal(fix->responses[6].at, began + 140 * US);
	assert_false(fix->responses[6].timed_out);
}

/* Send an LID-routed SMP with an M_Key and a request for counters. */
static void send_smp(struct fixture *fix, uint8_t mgmt_class, uint64_t mkey, uint32_t tid)
{
	uint64_t wire = htobe64(mkey);
	struct packet packet;

	fixture_fill(&packet, mgmt_class, 0x11, tid);
	packet.dlid = htons(HCA_LID);
	packet.dqp = 0;
	memcpy(packet.mad + 24, &wire, sizeof(wire));
	send_packet(fix, &packet);
}

RELAY_TEST(a_locked_node_drops_smps_without_its_key, "latency=20us hold=10ms")
{
	uint64_t guid = fix->fabric->nodes[fix->hca].guid;

	set_hca(fix, "locked");
	fixture_request(fix, HCA_LID, 1);
	send_smp(fix, CLASS_SUBN_LID, 0, 2);
	send_smp(fix, CLASS_SUBN_LID, guid + 1, 3);
	send_smp(fix, CLASS_SUBN_LID, guid, 4);
	fixture_run_until(fix, fix->now + 100 * MS);
	assert_int_equal(fix->got, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(fix->responses[i].timed_out, fix->responses[i].tid == 2 || fix->responses[i].tid == 3);
	assert_int_equal(relay_model_set(&fix->model, "locked=none", NULL), 0);
	send_smp(fix, CLASS_SUBN_LID, 0, 5);
	fixture_run_until(fix, fix->now + 100 * MS);
	assert_false(fix->responses[4].timed_out);
}

/* As ibsim: everything up to HDR and 12x is supported and enabled. */
static void assert_limits(struct fixture *fix, uint16_t lid, uint8_t widths, uint8_t plain, uint8_t extended)
{
	static const uint8_t offsets[] = { 29, 30, 32, 35, 62, 63 }, full[] = { 31, 31, 0x74, 0x47, 0x27, 7 };
	const uint8_t expected[] = { widths, widths, (uint8_t)(plain << 4 | 4), 0x40 | plain, 0x20 | extended,
				     extended };
	struct packet packet;

	for (unsigned class = 0; class < 2; class++) {
		fixture_fill(&packet, class ? CLASS_PERFORMANCE : CLASS_SUBN_LID, SMP_PORT_INFO, 1);
		packet.dlid = htons(lid);
		packet.mad[MAD_MODIFIER + 3] = 1;
		for (size_t i = 0; i < sizeof(offsets); i++)
			packet.mad[PACKET_MAD_DATA + offsets[i]] = full[i];
		send_packet(fix, &packet);
		fixture_run_until(fix, fix->now + 10 * MS);
		for (size_t i = 0; i < sizeof(offsets) && !class; i++)
			assert_int_equal(fix->responses[fix->got - 1].packet.mad[PACKET_MAD_DATA + offsets[i]],
					 expected[i]);
	}
}

RELAY_TEST(ports_support_what_links_of_their_device_have, "latency=20us")
{
	uint16_t device = fix->fabric->nodes[fix->hca].device_id;

	/* The shape has 4x HDR. */
	assert_limits(fix, HCA_LID, LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X, 7, 7);
	assert_int_equal(fix->fabric->nodes[fix->other].device_id, device);
	fix->model.best[device].speed = LINK_SPEED_EDR;
	assert_limits(fix, OTHER_LID, LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X, 7, 3);
	/* No device of this kind has a link. */
	fix->model.best[device].speed = LINK_SPEED_NONE;
	assert_limits(fix, OTHER_LID, 31, 7, 7);
}

RELAY_TEST(a_node_that_becomes_dead_drops_its_queue, "latency=20us service=100us hold=1s")
{
	for (uint32_t i = 0; i < 10; i++)
		fixture_request(fix, HCA_LID, i);
	fixture_run_until(fix, BEGAN + 350 * US);
	assert_int_equal(relay_model_set(&fix->model, "dead=all", NULL), 0);
	fixture_run_until(fix, BEGAN + 3000 * MS);
	assert_int_equal(fix->got, 10);
	assert_int_equal(fix->requests, 4); /* processed at 20, 120, 220 and 320 us */
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(fix->responses[i].timed_out, fix->responses[i].tid >= 4);
}

RELAY_TEST(timeouts_of_ibsim_are_reported_after_hold, "latency=20us hold=300ms")
{
	struct packet packet;

	fix->mute = true;
	fixture_request(fix, HCA_LID, 1);
	fixture_run_until(fix, BEGAN + 100 * US);
	packet = fix->waiting[0];
	packet.status = htonl(PACKET_TIMED_OUT);
	relay_model_from_ibsim(&fix->model, SLOT, &packet, fix->now);
	fixture_run_until(fix, BEGAN + 299 * MS);
	assert_int_equal(fix->got, 0);
	fixture_run_until(fix, BEGAN + 300 * MS);
	assert_int_equal(fix->got, 1);
	assert_true(fix->responses[0].timed_out);
}

RELAY_TEST(a_missing_response_times_out_after_hold, "hold=300ms")
{
	fix->mute = true;
	fixture_request(fix, HCA_LID, 1);
	fixture_run_until(fix, BEGAN + 300 * MS);
	assert_int_equal(fix->got, 1);
	assert_true(fix->responses[0].timed_out);
	assert_int_equal(fix->model.in_flight, 0);
}

RELAY_TEST(a_new_client_gets_no_response_of_the_previous_one, "latency=20us service=100us")
{
	char origin[ATTACH_ID_SIZE];

	fixture_request(fix, HCA_LID, 1);
	fixture_request(fix, OTHER_LID, 2);
	fixture_run_until(fix, fix->now + 50 * US);
	fixture_request(fix, OTHER_LID, 3);
	relay_model_close(&fix->model, SLOT);
	relay_model_open(&fix->model, SLOT, attach_id(fix->fabric, fix->other, origin));
	fixture_run_until(fix, fix->now + 50 * MS);
	assert_int_equal(fix->got, 0);
	assert_int_equal(fix->model.in_flight, 0);
}

RELAY_TEST(mads_without_response_pass_immediately, "latency=20us service=100us")
{
	struct packet packet;

	fix->mute = true;
	fixture_fill(&packet, CLASS_SUBN_LID, 2, 5);
	packet.mad[MAD_METHOD] = 5; /* a trap */
	relay_model_from_client(&fix->model, SLOT, &packet, fix->now);
	assert_int_equal(fix->requests, 1);
	relay_model_from_ibsim(&fix->model, SLOT, &packet, fix->now);
	assert_int_equal(fix->got, 1);
}

RELAY_TEST(only_smps_have_portinfo, "")
{
	uint32_t port = fix->fabric->nodes[fix->hca].first_port;

	learn_lid(fix, CLASS_PERFORMANCE, fix->hca, HCA_LID + 100);
	assert_int_equal(fix->model.map.lid_of[port], HCA_LID);
	learn_lid(fix, CLASS_SUBN_DIRECTED, fix->hca, HCA_LID + 100);
	assert_int_equal(fix->model.map.lid_of[port], HCA_LID + 100);
}

RELAY_TEST(a_directed_route_leads_to_its_node, "dead=switches hold=10ms")
{
	const struct fabric *fabric = fix->fabric;
	struct packet packet;

	/* The only port of the HCA leads to its leaf, which is dead. */
	fixture_fill(&packet, CLASS_SUBN_DIRECTED, SMP_NODE_INFO, 1);
	packet.dlid = 0xffff;
	send_packet(fix, &packet);
	assert_int_equal(fix->got, 1);
	packet.mad[MAD_HOP_COUNT] = 1;
	packet.mad[MAD_INITIAL_PATH + 1] = 1;
	send_packet(fix, &packet);
	assert_int_equal(fix->got, 1);
	fixture_run_until(fix, BEGAN + 10 * MS);
	assert_int_equal(fix->got, 2);
	assert_true(fix->responses[1].timed_out);
	/* From the leaf down to another HCA, which responds. */
	packet.mad[MAD_HOP_COUNT] = 2;
	packet.mad[MAD_INITIAL_PATH + 2] =
		fabric->ports[fabric->ports[fabric_node_port(fabric, fix->other, 1)].peer].num;
	send_packet(fix, &packet);
	assert_int_equal(fix->got, 3);
	assert_false(fix->responses[2].timed_out);
}

RELAY_TEST(loss_matches_its_setting_and_all_losses_time_out, "latency=20us hold=5ms loss=20 seed=4")
{
	size_t timed_out = 0;

	for (size_t i = 0; i < 2000; i++) {
		fixture_request(fix, i % 2 ? HCA_LID : OTHER_LID, (uint32_t)i);
		fixture_run_until(fix, fix->now + 10 * US);
	}
	fixture_run_until(fix, fix->now + 100 * MS);
	assert_int_equal(fix->got, 2000);
	assert_int_equal(fix->model.in_flight, 0);
	for (size_t i = 0; i < fix->got; i++)
		timed_out += fix->responses[i].timed_out;
	/* Requests and responses are lost: 36 % fail, within five standard deviations. */
	assert_in_range(timed_out, 720 - 107, 720 + 107);
}

RELAY_TEST(late_duplicated_and_unsolicited_responses, "latency=20us hold=100ms")
{
	int64_t began = fix->now;
	struct error err = { 0 };

	if (responder_configure(&fix->model.responder, "hcas duplicated=100", &err) < 0)
		fail_msg("%s", err.text);
	fixture_request(fix, HCA_LID, 1);
	fixture_run_until(fix, began + 1 * MS);
	assert_int_equal(fix->got, 2);
	assert_memory_equal(&fix->responses[0].packet, &fix->responses[1].packet, sizeof(fix->responses[0].packet));

	assert_int_equal(responder_configure(&fix->model.responder, "hcas duplicated=0 foreign=100", NULL), 0);
	fixture_request(fix, HCA_LID, 2);
	fixture_run_until(fix, began + 2 * MS);
	assert_int_equal(fix->got, 4);
	assert_int_not_equal(fix->responses[2].tid, 2);
	assert_int_equal(fix->responses[3].tid, 2);

	assert_int_equal(responder_configure(&fix->model.responder, "hcas foreign=0 late=100 late_by=250ms", NULL), 0);
	began = fix->now;
	fixture_request(fix, HCA_LID, 3);
	fixture_run_until(fix, began + 1000 * MS);
	assert_int_equal(fix->got, 6);
	assert_true(fix->responses[4].timed_out);
	assert_int_equal(fix->responses[4].at, began + 100 * MS);
	assert_false(fix->responses[5].timed_out);
	assert_int_equal(fix->responses[5].tid, 3);
	assert_int_equal(fix->responses[5].at, began + 250 * MS + 40 * US);
}

RELAY_TEST(a_redirected_request_gets_a_response, "")
{
	char settings[96];
	struct packet packet;
	const uint8_t *info;

	snprintf(settings, sizeof(settings), "0x%016" PRIx64 " redirect=0x%016" PRIx64,
		 fix->fabric->nodes[fix->hca].guid, fix->fabric->nodes[fix->other].guid);
	assert_int_equal(responder_configure(&fix->model.responder, settings, NULL), 0);
	/* A target that is not a single node is rejected. */
	assert_int_equal(responder_configure(&fix->model.responder, "all redirect=hcas", NULL), ERR_USAGE);
	fixture_request(fix, HCA_LID, 1);
	assert_int_equal(fix->got, 1);
	assert_int_equal(load_be16(fix->responses[0].packet.mad + MAD_STATUS), 0x0002);
	info = fix->responses[0].packet.mad + PACKET_MAD_DATA;
	assert_int_equal(load_be16(info + 28), OTHER_LID);

	fixture_fill(&packet, CLASS_PERFORMANCE, PMA_COUNTERS, 2);
	packet.dlid = htons(load_be16(info + 28));
	packet.dqp = htonl(load_be32(info + 32));
	packet.mad[PACKET_MAD_DATA + 1] = 1;
	relay_model_from_client(&fix->model, SLOT, &packet, fix->now);
	/* The request to ibsim goes to the node itself. */
	assert_int_equal(fix->waiting[fix->waiting_count - 1].dlid, htons(HCA_LID));
	fixture_ibsim_responses(fix);
	assert_int_equal(fix->got, 2);
	assert_int_equal(load_be16(fix->responses[1].packet.mad + MAD_STATUS), 0);
	assert_int_equal(fix->responses[1].packet.slid, htons(OTHER_LID));
}

RELAY_TEST(invalid_settings_change_nothing, "latency=20us")
{
	static const char *const wrong[] = {
		"latency=20 parsecs", "latency=-1us", "latency=5", "loss=101", "loss=x", "dead=absent", "speed=1",
		"hello", "hold=1s dead=absent", "locked=absent", "service=", "seed=abc", "dead=nothing*",
	};
	struct error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&err, 0, sizeof(err));
		assert_int_equal(relay_model_set(&fix->model, wrong[i], &err), ERR_USAGE);
		assert_true(err.text[0]);
	}
	assert_int_equal(fix->model.settings.latency_ns, 20 * US);
	assert_int_equal(fix->model.settings.hold_ns, 0);
}

RELAY_TEST(names_may_contain_spaces, "")
{
	struct text text = { 0 };
	char words[256];
	size_t dead = 0;

	snprintf(words, sizeof(words), "latency=1.5 ms dead=%s, %s hold=0 loss=1%%", fix->fabric->nodes[fix->hca].name,
		 fix->fabric->nodes[fix->other].name);
	assert_int_equal(relay_model_set(&fix->model, words, NULL), 0);
	for (size_t i = 0; i < fix->fabric->node_count; i++)
		dead += fix->model.dead[i];
	assert_int_equal(dead, 2);
	assert_true(fix->model.dead[fix->hca] && fix->model.dead[fix->other]);
	assert_int_equal(fix->model.settings.latency_ns, 1500 * US);
	relay_model_describe(&fix->model, &text);
	assert_non_null(strstr(text_chars(&text), fix->fabric->nodes[fix->other].name));
	text_done(&text);
}
