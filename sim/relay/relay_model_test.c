/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The wire in virtual time: every answer's time is known. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/ibsim/attach.h"
#include "sim/relay/relay_model.h"
#include "sim/relay/test_relay_bed.h"

static void default_settings_add_no_delay(void **state)
{
	struct bed *bed = bed_create("");

	(void)state;
	bed_ask(bed, HCA_LID, 1);
	assert_int_equal(bed->got, 1);
	assert_false(bed->responses[0].timed_out);
	assert_int_equal(bed->responses[0].packet.mad[MAD_METHOD], METHOD_GET_RESPONSE);
	assert_int_equal(bed->model.in_flight, 0);
	bed_destroy(bed);
}

static void a_response_takes_two_latencies_and_the_service_time(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us");
	int64_t began = bed->now;

	(void)state;
	bed_ask(bed, HCA_LID, 1);
	bed_run_until(bed, began + 1 * MS);
	assert_int_equal(bed->got, 1);
	assert_in_range(bed->asked_at[0], began, began + 20 * US);
	assert_int_equal(bed->responses[0].at, began + 140 * US);
	bed_destroy(bed);
}

static void a_node_serves_one_request_at_a_time(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us");
	int64_t began = bed->now;
	uint32_t i;

	(void)state;
	for (i = 0; i < 10; i++)
		bed_ask(bed, HCA_LID, i);
	bed_ask(bed, OTHER_LID, 100);
	bed_run_until(bed, began + 10 * MS);
	assert_int_equal(bed->got, 11);
	for (i = 0; i < 11; i++) {
		const uint32_t tid = bed->responses[i].tid;

		assert_int_equal(bed->responses[i].at, began + (tid == 100 ? 140 : 140 + 100 * tid) * US);
	}
	/* The request is sent to ibsim when its node processes it: counters are read then. */
	for (i = 1; i < 11; i++)
		assert_true(bed->asked_at[i] - bed->asked_at[i - 1] == 100 * US ||
			    bed->asked_at[i] == bed->asked_at[i - 1]);
	bed_destroy(bed);
}

static void an_idle_node_adds_no_queueing_delay(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us");

	(void)state;
	bed_ask(bed, HCA_LID, 1);
	bed_run_until(bed, bed->now + 50 * MS);
	bed_ask(bed, HCA_LID, 2);
	bed_run_until(bed, bed->now + 50 * MS);
	assert_int_equal(bed->got, 2);
	assert_int_equal(bed->responses[1].at - bed->responses[0].at, 50 * MS);
	bed_destroy(bed);
}

static void a_dead_node_times_out_after_hold_without_delaying_others(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us hold=1s");
	int64_t began = bed->now;
	char origin[ATTACH_ID_SIZE], dead[64];
	uint32_t i;

	(void)state;
	snprintf(dead, sizeof(dead), "dead=0x%s", attach_id(bed->fabric, bed->hca, origin) + 2);
	assert_int_equal(relay_model_set(&bed->model, dead, NULL), 0);
	for (i = 0; i < 5; i++)
		bed_ask(bed, HCA_LID, i);
	bed_ask(bed, OTHER_LID, 100);
	bed_run_until(bed, began + 2000 * MS);
	assert_int_equal(bed->asked, 1);
	assert_int_equal(bed->got, 6);
	assert_int_equal(bed->responses[0].tid, 100);
	assert_int_equal(bed->responses[0].at, began + 140 * US);
	for (i = 1; i < 6; i++) {
		assert_true(bed->responses[i].timed_out);
		assert_int_equal(bed->responses[i].packet.mad[MAD_METHOD], METHOD_GET);
		assert_int_equal(bed->responses[i].at, began + 1000 * MS);
	}
	/* It works again at once: dead nodes have no queue. */
	assert_int_equal(relay_model_set(&bed->model, "dead=none", NULL), 0);
	began = bed->now;
	bed_ask(bed, HCA_LID, 7);
	bed_run_until(bed, began + 1 * MS);
	assert_int_equal(bed->responses[6].at, began + 140 * US);
	assert_false(bed->responses[6].timed_out);
	bed_destroy(bed);
}

/* Send an LID-routed SMP with an M_Key and a request for counters. */
static void ask_smp(struct bed *bed, uint8_t mgmt_class, uint64_t mkey, uint32_t tid)
{
	uint64_t wire = htobe64(mkey);
	struct packet packet;

	bed_fill(&packet, mgmt_class, 0x11, tid);
	packet.dlid = htons(HCA_LID);
	packet.dqp = 0;
	memcpy(packet.mad + 24, &wire, sizeof(wire));
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	bed_ibsim_responses(bed);
}

static void a_locked_node_drops_smps_without_its_key(void **state)
{
	struct bed *bed = bed_create("latency=20us hold=10ms");
	uint64_t guid = bed->fabric->nodes[bed->hca].guid;
	char origin[ATTACH_ID_SIZE], words[64];
	int i;

	(void)state;
	snprintf(words, sizeof(words), "locked=0x%s", attach_id(bed->fabric, bed->hca, origin) + 2);
	assert_int_equal(relay_model_set(&bed->model, words, NULL), 0);
	bed_ask(bed, HCA_LID, 1);
	ask_smp(bed, CLASS_SUBN_LID, 0, 2);
	ask_smp(bed, CLASS_SUBN_LID, guid + 1, 3);
	ask_smp(bed, CLASS_SUBN_LID, guid, 4);
	bed_run_until(bed, bed->now + 100 * MS);
	assert_int_equal(bed->got, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(bed->responses[i].timed_out, bed->responses[i].tid == 2 || bed->responses[i].tid == 3);
	assert_int_equal(relay_model_set(&bed->model, "locked=none", NULL), 0);
	ask_smp(bed, CLASS_SUBN_LID, 0, 5);
	bed_run_until(bed, bed->now + 100 * MS);
	assert_false(bed->responses[4].timed_out);
	bed_destroy(bed);
}

static void a_node_that_becomes_dead_drops_its_queue(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us hold=1s");
	int64_t began = bed->now;
	uint32_t i;

	(void)state;
	for (i = 0; i < 10; i++)
		bed_ask(bed, HCA_LID, i);
	bed_run_until(bed, began + 350 * US);
	assert_int_equal(relay_model_set(&bed->model, "dead=all", NULL), 0);
	bed_run_until(bed, began + 3000 * MS);
	assert_int_equal(bed->got, 10);
	assert_int_equal(bed->asked, 4); /* processed at 20, 120, 220 and 320 us */
	for (i = 0; i < 10; i++)
		assert_int_equal(bed->responses[i].timed_out, bed->responses[i].tid >= 4);
	bed_destroy(bed);
}

static void timeouts_of_ibsim_are_reported_after_hold(void **state)
{
	struct bed *bed = bed_create("latency=20us hold=300ms");
	int64_t began = bed->now;
	struct packet packet;

	(void)state;
	bed->mute = true;
	bed_ask(bed, HCA_LID, 1);
	bed_run_until(bed, began + 100 * US);
	packet = bed->waiting[0];
	packet.status = htonl(PACKET_TIMED_OUT);
	relay_model_from_ibsim(&bed->model, SLOT, &packet, bed->now);
	bed_run_until(bed, began + 299 * MS);
	assert_int_equal(bed->got, 0);
	bed_run_until(bed, began + 300 * MS);
	assert_int_equal(bed->got, 1);
	assert_true(bed->responses[0].timed_out);
	bed_destroy(bed);
}

static void a_missing_response_times_out_after_hold(void **state)
{
	struct bed *bed = bed_create("hold=300ms");
	int64_t began = bed->now;

	(void)state;
	bed->mute = true;
	bed_ask(bed, HCA_LID, 1);
	bed_run_until(bed, began + 300 * MS);
	assert_int_equal(bed->got, 1);
	assert_true(bed->responses[0].timed_out);
	assert_int_equal(bed->model.in_flight, 0);
	bed_destroy(bed);
}

static void a_new_client_gets_no_response_of_the_previous_one(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us");
	char origin[ATTACH_ID_SIZE];

	(void)state;
	bed_ask(bed, HCA_LID, 1);
	bed_ask(bed, OTHER_LID, 2);
	bed_run_until(bed, bed->now + 50 * US);
	bed_ask(bed, OTHER_LID, 3);
	relay_model_close(&bed->model, SLOT);
	relay_model_open(&bed->model, SLOT, attach_id(bed->fabric, bed->other, origin));
	bed_run_until(bed, bed->now + 50 * MS);
	assert_int_equal(bed->got, 0);
	assert_int_equal(bed->model.in_flight, 0);
	bed_destroy(bed);
}

static void mads_without_response_pass_immediately(void **state)
{
	struct bed *bed = bed_create("latency=20us service=100us");
	struct packet packet;

	(void)state;
	bed->mute = true;
	bed_fill(&packet, CLASS_SUBN_LID, 2, 5);
	packet.mad[MAD_METHOD] = 5; /* a trap */
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	assert_int_equal(bed->asked, 1);
	relay_model_from_ibsim(&bed->model, SLOT, &packet, bed->now);
	assert_int_equal(bed->got, 1);
	bed_destroy(bed);
}

static void a_directed_route_leads_to_its_node(void **state)
{
	struct bed *bed = bed_create("dead=switches hold=10ms");
	const struct fabric *fabric = bed->fabric;
	struct packet packet;
	int64_t began = bed->now;

	(void)state;
	/* The only port of the HCA leads to its leaf, which is dead. */
	bed_fill(&packet, CLASS_SUBN_DIRECTED, SMP_NODE_INFO, 1);
	packet.dlid = 0xffff;
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	bed_ibsim_responses(bed);
	assert_int_equal(bed->got, 1);
	packet.mad[MAD_HOP_COUNT] = 1;
	packet.mad[MAD_INITIAL_PATH + 1] = 1;
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	bed_ibsim_responses(bed);
	assert_int_equal(bed->got, 1);
	bed_run_until(bed, began + 10 * MS);
	assert_int_equal(bed->got, 2);
	assert_true(bed->responses[1].timed_out);
	/* From the leaf down to another HCA, which responds. */
	packet.mad[MAD_HOP_COUNT] = 2;
	packet.mad[MAD_INITIAL_PATH + 2] =
		fabric->ports[fabric->ports[fabric_node_port(fabric, bed->other, 1)].peer].num;
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	bed_ibsim_responses(bed);
	assert_int_equal(bed->got, 3);
	assert_false(bed->responses[2].timed_out);
	bed_destroy(bed);
}

static void loss_matches_its_setting_and_all_losses_time_out(void **state)
{
	struct bed *bed = bed_create("latency=20us hold=5ms loss=20 seed=4");
	size_t timed_out = 0, i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		bed_ask(bed, i % 2 ? HCA_LID : OTHER_LID, (uint32_t)i);
		bed_run_until(bed, bed->now + 10 * US);
	}
	bed_run_until(bed, bed->now + 100 * MS);
	assert_int_equal(bed->got, 2000);
	assert_int_equal(bed->model.in_flight, 0);
	for (i = 0; i < bed->got; i++)
		timed_out += bed->responses[i].timed_out;
	/* Requests and responses are lost: 36 % fail, within five standard deviations. */
	assert_in_range(timed_out, 720 - 107, 720 + 107);
	bed_destroy(bed);
}

static void late_duplicated_and_unsolicited_responses(void **state)
{
	struct bed *bed = bed_create("latency=20us hold=100ms");
	int64_t began = bed->now;
	struct error err = { 0 };

	(void)state;
	if (responder_configure(&bed->model.responder, "hcas duplicated=100", &err) < 0)
		fail_msg("%s", err.text);
	bed_ask(bed, HCA_LID, 1);
	bed_run_until(bed, began + 1 * MS);
	assert_int_equal(bed->got, 2);
	assert_memory_equal(&bed->responses[0].packet, &bed->responses[1].packet, sizeof(bed->responses[0].packet));

	assert_int_equal(responder_configure(&bed->model.responder, "hcas duplicated=0 foreign=100", NULL), 0);
	bed_ask(bed, HCA_LID, 2);
	bed_run_until(bed, began + 2 * MS);
	assert_int_equal(bed->got, 4);
	assert_int_not_equal(bed->responses[2].tid, 2);
	assert_int_equal(bed->responses[3].tid, 2);

	assert_int_equal(responder_configure(&bed->model.responder, "hcas foreign=0 late=100 late_by=250ms", NULL), 0);
	began = bed->now;
	bed_ask(bed, HCA_LID, 3);
	bed_run_until(bed, began + 1000 * MS);
	assert_int_equal(bed->got, 6);
	assert_true(bed->responses[4].timed_out);
	assert_int_equal(bed->responses[4].at, began + 100 * MS);
	assert_false(bed->responses[5].timed_out);
	assert_int_equal(bed->responses[5].tid, 3);
	assert_int_equal(bed->responses[5].at, began + 250 * MS + 40 * US);
	bed_destroy(bed);
}

static void a_redirected_request_gets_a_response(void **state)
{
	struct bed *bed = bed_create("");
	char origin[ATTACH_ID_SIZE], words[96];
	struct packet packet;
	const uint8_t *info;

	(void)state;
	snprintf(words, sizeof(words), "0x%s redirect=0x%s", attach_id(bed->fabric, bed->hca, origin) + 2,
		 attach_id(bed->fabric, bed->other, (char[ATTACH_ID_SIZE]){ 0 }) + 2);
	assert_int_equal(responder_configure(&bed->model.responder, words, NULL), 0);
	/* A target that is not a single node is rejected. */
	assert_int_equal(responder_configure(&bed->model.responder, "all redirect=hcas", NULL), ERR_USAGE);
	bed_ask(bed, HCA_LID, 1);
	assert_int_equal(bed->got, 1);
	assert_int_equal(load_be16(bed->responses[0].packet.mad + MAD_STATUS), 0x0002);
	info = bed->responses[0].packet.mad + PACKET_MAD_DATA;
	assert_int_equal(load_be16(info + 28), OTHER_LID);

	bed_fill(&packet, CLASS_PERFORMANCE, PMA_COUNTERS, 2);
	packet.dlid = htons(load_be16(info + 28));
	packet.dqp = htonl(load_be32(info + 32));
	packet.mad[PACKET_MAD_DATA + 1] = 1;
	relay_model_from_client(&bed->model, SLOT, &packet, bed->now);
	/* The request to ibsim goes to the node itself. */
	assert_int_equal(bed->waiting[bed->waiting_count - 1].dlid, htons(HCA_LID));
	bed_ibsim_responses(bed);
	assert_int_equal(bed->got, 2);
	assert_int_equal(load_be16(bed->responses[1].packet.mad + MAD_STATUS), 0);
	assert_int_equal(bed->responses[1].packet.slid, htons(OTHER_LID));
	bed_destroy(bed);
}

static void invalid_settings_change_nothing(void **state)
{
	static const char *const wrong[] = {
		"latency=20 parsecs", "latency=-1us", "latency=5", "loss=101", "loss=x", "dead=nobody", "speed=1",
		"hello", "hold=1s dead=nobody", "locked=nobody", "service=", "seed=abc", "dead=nothing*",
	};
	struct bed *bed = bed_create("latency=20us");
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&err, 0, sizeof(err));
		assert_int_equal(relay_model_set(&bed->model, wrong[i], &err), ERR_USAGE);
		assert_true(err.text[0]);
	}
	assert_int_equal(bed->model.settings.latency_ns, 20 * US);
	assert_int_equal(bed->model.settings.hold_ns, 0);
	bed_destroy(bed);
}

static void names_may_contain_spaces(void **state)
{
	struct bed *bed = bed_create("");
	struct text text = { 0 };
	char words[256];
	size_t i, dead = 0;

	(void)state;
	snprintf(words, sizeof(words), "latency=1.5 ms dead=%s, %s hold=0 loss=1%%", bed->fabric->nodes[bed->hca].name,
		 bed->fabric->nodes[bed->other].name);
	assert_int_equal(relay_model_set(&bed->model, words, NULL), 0);
	for (i = 0; i < bed->fabric->node_count; i++)
		dead += bed->model.dead[i];
	assert_int_equal(dead, 2);
	assert_true(bed->model.dead[bed->hca] && bed->model.dead[bed->other]);
	assert_int_equal(bed->model.settings.latency_ns, 1500 * US);
	relay_model_describe(&bed->model, &text);
	assert_non_null(strstr(text_chars(&text), bed->fabric->nodes[bed->other].name));
	text_done(&text);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_settings_add_no_delay),
		cmocka_unit_test(a_response_takes_two_latencies_and_the_service_time),
		cmocka_unit_test(a_node_serves_one_request_at_a_time),
		cmocka_unit_test(an_idle_node_adds_no_queueing_delay),
		cmocka_unit_test(a_dead_node_times_out_after_hold_without_delaying_others),
		cmocka_unit_test(a_locked_node_drops_smps_without_its_key),
		cmocka_unit_test(a_node_that_becomes_dead_drops_its_queue),
		cmocka_unit_test(timeouts_of_ibsim_are_reported_after_hold),
		cmocka_unit_test(a_missing_response_times_out_after_hold),
		cmocka_unit_test(a_new_client_gets_no_response_of_the_previous_one),
		cmocka_unit_test(mads_without_response_pass_immediately),
		cmocka_unit_test(a_directed_route_leads_to_its_node),
		cmocka_unit_test(loss_matches_its_setting_and_all_losses_time_out),
		cmocka_unit_test(late_duplicated_and_unsolicited_responses),
		cmocka_unit_test(a_redirected_request_gets_a_response),
		cmocka_unit_test(invalid_settings_change_nothing),
		cmocka_unit_test(names_may_contain_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
