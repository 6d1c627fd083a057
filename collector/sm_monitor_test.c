/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two masters are reported soon and reliably; standbys, handovers and unresponsive SMs are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/events.h"
#include "collector/sm_monitor.h"
#include "collector/test_model.h"

enum { STANDBY = 2, MASTER = 3 };

/* The collector's host runs one master; these two run more SMs. */
#define SECOND HOST
#define THIRD (HOST + 5)

/* Sweeps of events; 0: never. */
static struct {
	uint64_t second_from, second_until; /* SECOND is in state master */
	uint64_t handover;                  /* from then on this host's port names the other one */
	uint64_t appears;                   /* first sweep with THIRD */
	uint64_t every;                     /* SECOND is in state master in one of this number of sweeps */
} script;

static struct model *create(void)
{
	struct model *model = model_create(1);

	memset(&script, 0, sizeof(script));
	model->traffic = false;
	model->nodes[MODEL_OWN_NODE].sm = MASTER;
	model->nodes[SECOND].sm = STANDBY;
	return model;
}

static void act(struct model *model)
{
	uint64_t sweep = model->sweeps;
	bool twin = script.second_from && sweep >= script.second_from &&
		    (!script.second_until || sweep < script.second_until) &&
		    (!script.every || sweep % script.every == 0);

	model->sm_act_count++;
	model->nodes[SECOND].sm = twin ? MASTER : STANDBY;
	if (script.handover && sweep >= script.handover) {
		bool over = script.second_until && sweep >= script.second_until;

		model->nodes[SECOND].sm = MASTER;
		model->nodes[MODEL_OWN_NODE].sm = over ? STANDBY : MASTER;
		model->sm_node = SECOND;
	}
	if (script.appears && sweep >= script.appears)
		model->nodes[THIRD].sm = STANDBY;
}

static void run(struct model *model, uint64_t sweeps)
{
	model->before_sweep = act;
	assert_int_equal(model_run(model, sweeps, NULL, NULL), 0);
}

/* The event of this kind about two masters; NULL: none. */
static const struct event *reported(const struct model *model, const char *kind)
{
	for (size_t i = 0; i < model->event_count; i++)
		if (!strcmp(model->events[i].kind, kind) && strstr(model->events[i].text, "sm-lost") &&
		    strstr(model->events[i].text, "claim to be master"))
			return &model->events[i];
	return NULL;
}

static int64_t reported_us(const struct model *model, const char *kind)
{
	const struct event *event = reported(model, kind);

	return event ? event->wall_us - model->wall_offset_us : 0;
}

/* A minute at most until the query, half a minute to rule out a handover; 3 sweeps at least. */
static void two_masters_are_critical_within_two_minutes(void **state)
{
	static const int64_t intervals_s[] = { 1, 10, 30 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct model *model = create();
		int64_t interval_us = intervals_s[i] * US_PER_S, began_us, took_us;

		model->interval_us = interval_us;
		script.second_from = 7;
		run(model, (uint64_t)(200 / intervals_s[i]) + 10);
		began_us = (int64_t)script.second_from * interval_us;
		took_us = reported_us(model, EVENT_FINDING_OPENED) - began_us;
		assert_non_null(reported(model, EVENT_FINDING_OPENED));
		assert_int_equal(reported(model, EVENT_FINDING_OPENED)->severity, EVENT_CRITICAL);
		assert_true(took_us >= 30 * US_PER_S);
		assert_true(took_us <= SM_MONITOR_US + 30 * US_PER_S + 3 * interval_us);
		assert_null(reported(model, EVENT_FINDING_CLOSED));
		free(model);
	}
}

/* When one of them steps down, the finding closes once, with a delay. */
static void the_finding_closes_when_one_master_is_left(void **state)
{
	struct model *model = create();

	(void)state;
	script.second_from = 7;
	script.second_until = 40;
	run(model, 120);
	assert_non_null(reported(model, EVENT_FINDING_OPENED));
	assert_non_null(reported(model, EVENT_FINDING_CLOSED));
	assert_true(reported_us(model, EVENT_FINDING_CLOSED) >= 40 * model->interval_us);
	assert_true(reported_us(model, EVENT_FINDING_CLOSED) <= 60 * model->interval_us);
	free(model);
}

/* Both are master for 20 s: the one that this host's port named before, and the new one. */
static void an_overlapping_handover_is_reported_as_handover(void **state)
{
	struct model *model = create();

	(void)state;
	script.handover = 20;
	script.second_until = 22;
	run(model, 80);
	assert_null(reported(model, EVENT_FINDING_OPENED));
	assert_int_equal(model_events_of(model, EVENT_SM_CHANGED), 1);
	/* The former one is a standby now. */
	assert_int_equal(model_events_of(model, EVENT_SM_OTHER), 1);
	assert_int_equal(model_events_of(model, EVENT_FINDING_OPENED), 1);
	for (size_t i = 0; i < model->event_count; i++)
		if (!strcmp(model->events[i].kind, EVENT_FINDING_OPENED))
			assert_int_equal(model->events[i].severity, EVENT_INFO);
	free(model);
}

/* The former master is unresponsive, with or without its node. */
static void an_unresponsive_sm_is_not_counted(void **state)
{
	(void)state;
	for (unsigned dead = 0; dead < 2; dead++) {
		struct model *model = create();

		script.second_from = 1;
		model->nodes[SECOND].sm_silent = true;
		model->nodes[SECOND].silent = dead;
		run(model, 60);
		assert_null(reported(model, EVENT_FINDING_OPENED));
		assert_int_equal(model_events_of(model, EVENT_SM_LOST), 0);
		free(model);
	}
}

/* Never for half a minute: both are queried in each sweep as soon as two were found. */
static void occasional_responses_are_not_enough(void **state)
{
	struct model *model = create();

	(void)state;
	script.second_from = 1;
	script.every = 3;
	run(model, 200);
	assert_null(reported(model, EVENT_FINDING_OPENED));
	free(model);
}

/* Standbys cost an SMP per minute; a new one is queried after the topology was read again. */
static void standbys_are_queried_once_a_minute(void **state)
{
	struct model *model = create();

	(void)state;
	script.appears = 5;
	model->interval_us = US_PER_S;
	run(model, 1300);
	assert_in_range(model->nodes[SECOND].sm_asked, 20, 26);
	assert_in_range(model->nodes[THIRD].sm_asked, 9, 16);
	/* The master is queried in every sweep as well. */
	assert_in_range(model->nodes[MODEL_OWN_NODE].sm_asked, 1300, 1330);
	assert_null(reported(model, EVENT_FINDING_OPENED));
	/* SMs that are present at the start are not news; a new one is. */
	assert_int_equal(model_events_of(model, EVENT_SM_OTHER), 1);
	free(model);
}

static void silence_nodes(struct model *model)
{
	model->sm_act_count++;
	model->nodes[SECOND].sm_silent = model->sweeps >= 20 && model->sweeps < 60;
}

/* An event, not a finding: the fabric has its master. */
static void an_unresponsive_standby_is_reported_once(void **state)
{
	struct model *model = create();

	(void)state;
	model->before_sweep = silence_nodes;
	assert_int_equal(model_run(model, 100, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_SM_OTHER), 2);
	assert_int_equal(model_events_of(model, EVENT_FINDING_OPENED), 0);
	free(model);
}

static void become_slow_and_lose_a_host(struct model *model)
{
	static const int64_t answer_us[] = { 15, 40, 80 };

	model->sm_act_count++;
	if (model->sweeps >= 2 && model->sweeps < 8)
		model->nodes[SECOND].answer_us = answer_us[model->sweeps / 2 - 1] * US_PER_MS;
	model->nodes[THIRD].ports[1].down = model->sweeps >= 20;
}

/* It responds after a tenth of the interval, when the round is over; after a new topology too. */
static void a_cut_query_is_not_reported_as_unresponsive(void **state)
{
	struct model *model = create();

	(void)state;
	model->interval_us = US_PER_S / 2;
	model->before_sweep = become_slow_and_lose_a_host;
	assert_int_equal(model_run(model, 200, NULL, NULL), 0);
	assert_true(model->discoveries > 1);
	assert_true(model->nodes[SECOND].sm_asked > 2);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	assert_int_equal(model_events_of(model, EVENT_SM_OTHER), 0);
	free(model);
}

static void restart_master(struct model *model)
{
	model->sm_act_count++;
	model->nodes[MODEL_OWN_NODE].sm_silent = model->sweeps == 20 || model->sweeps >= 40;
}

/* One sweep without it is no finding: the event has its own end. */
static void a_master_that_responds_again_is_reported(void **state)
{
	struct model *model = create();

	(void)state;
	model->interval_us = US_PER_S;
	model->before_sweep = restart_master;
	assert_int_equal(model_run(model, 50, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_SM_LOST), 2);
	assert_int_equal(model_events_of(model, EVENT_SM_ANSWERS), 1);
	assert_int_equal(model_events_of(model, EVENT_SM_CHANGED), 0);
	free(model);
}

static void a_single_sweep_queries_all_sms(void **state)
{
	struct model *model = create();

	(void)state;
	run(model, 1);
	assert_int_equal(model->nodes[SECOND].sm_asked, 1);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_masters_are_critical_within_two_minutes),
		cmocka_unit_test(the_finding_closes_when_one_master_is_left),
		cmocka_unit_test(an_overlapping_handover_is_reported_as_handover),
		cmocka_unit_test(an_unresponsive_sm_is_not_counted),
		cmocka_unit_test(occasional_responses_are_not_enough),
		cmocka_unit_test(standbys_are_queried_once_a_minute),
		cmocka_unit_test(an_unresponsive_standby_is_reported_once),
		cmocka_unit_test(a_cut_query_is_not_reported_as_unresponsive),
		cmocka_unit_test(a_master_that_responds_again_is_reported),
		cmocka_unit_test(a_single_sweep_queries_all_sms),
	};

	return cmocka_run_group_tests_name("sm_monitor", tests, NULL, NULL);
}
