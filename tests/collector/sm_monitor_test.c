/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two masters are reported soon and reliably; standbys, handovers and unresponsive SMs are not. */
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/sm_monitor.h"
#include "tests/world/lab.h"

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

static struct lab *create(void)
{
	struct lab *lab = lab_create(1);

	memset(&script, 0, sizeof(script));
	lab->traffic = false;
	lab->agents[OWN_HOST].sm_state = MASTER;
	lab->agents[SECOND].sm_state = STANDBY;
	return lab;
}

static int setup(void **state)
{
	*state = create();
	return 0;
}

static void act(struct lab *lab)
{
	uint64_t sweep = lab->sweeps;
	bool twin = script.second_from && sweep >= script.second_from &&
		    (!script.second_until || sweep < script.second_until) &&
		    (!script.every || sweep % script.every == 0);

	lab->run.world->act_count++;
	lab->agents[SECOND].sm_state = twin ? MASTER : STANDBY;
	if (script.handover && sweep >= script.handover) {
		bool over = script.second_until && sweep >= script.second_until;

		lab->agents[SECOND].sm_state = MASTER;
		lab->agents[OWN_HOST].sm_state = over ? STANDBY : MASTER;
		lab->sm_node = SECOND;
	}
	if (script.appears && sweep >= script.appears)
		lab->agents[THIRD].sm_state = STANDBY;
}

/* The event of this kind about two masters; NULL: none. */
static const struct event *reported(struct lab *lab, const char *kind)
{
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, kind) && strstr(lab->events[i].text, "sm-lost") &&
		    strstr(lab->events[i].text, "to be master of this fabric"))
			return &lab->events[i];
	return NULL;
}

static int64_t reported_us(struct lab *lab, const char *kind)
{
	const struct event *event = reported(lab, kind);

	return event ? event->wall_us - lab->run.wall_us : 0;
}

/* A minute at most until the query, half a minute to rule out a handover; 3 sweeps at least. */
TEST(two_masters_are_critical_within_two_minutes)
{
	static const int64_t intervals_s[] = { 1, 10, 30 };

	for (size_t i = 0; i < 3; i++) {
		struct lab *lab = create();
		int64_t interval_us = intervals_s[i] * US_PER_S, began_us, took_us;

		lab->run.settings.interval_us = interval_us;
		script.second_from = 7;
		lab_run_with(lab, act, (uint64_t)(200 / intervals_s[i]) + 10);
		began_us = (int64_t)script.second_from * interval_us;
		took_us = reported_us(lab, EVENT_FINDING_OPENED) - began_us;
		assert_non_null(reported(lab, EVENT_FINDING_OPENED));
		assert_int_equal(reported(lab, EVENT_FINDING_OPENED)->severity, EVENT_CRITICAL);
		assert_true(took_us >= 30 * US_PER_S);
		assert_true(took_us <= SM_MONITOR_US + 30 * US_PER_S + 3 * interval_us);
		assert_null(reported(lab, EVENT_FINDING_CLOSED));
		lab_destroy(lab);
	}
}

/* When one of them steps down, the finding closes once, with a delay. */
LAB_TEST_WITH(the_finding_closes_when_one_master_is_left, setup)
{
	script.second_from = 7;
	script.second_until = 40;
	lab_run_with(lab, act, 120);
	assert_non_null(reported(lab, EVENT_FINDING_OPENED));
	assert_non_null(reported(lab, EVENT_FINDING_CLOSED));
	assert_true(reported_us(lab, EVENT_FINDING_CLOSED) >= 40 * lab->run.settings.interval_us);
	assert_true(reported_us(lab, EVENT_FINDING_CLOSED) <= 60 * lab->run.settings.interval_us);
}

/* Both are master for 20 s: the one that this host's port named before, and the new one. */
LAB_TEST_WITH(an_overlapping_handover_is_reported_as_handover, setup)
{
	script.handover = 20;
	script.second_until = 22;
	lab_run_with(lab, act, 80);
	assert_null(reported(lab, EVENT_FINDING_OPENED));
	assert_int_equal(lab_events_of(lab, EVENT_SM_CHANGED), 1);
	/* The former one is a standby now. */
	assert_int_equal(lab_events_of(lab, EVENT_SM_OTHER), 1);
	assert_int_equal(lab_events_of(lab, EVENT_FINDING_OPENED), 1);
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_FINDING_OPENED))
			assert_int_equal(lab->events[i].severity, EVENT_INFO);
}

/* The former master is unresponsive, with or without its node. */
TEST(an_unresponsive_sm_is_not_counted)
{
	for (unsigned dead = 0; dead < 2; dead++) {
		struct lab *lab = create();

		script.second_from = 1;
		lab->agents[SECOND].sm_silent = true;
		lab->agents[SECOND].dead = dead;
		lab_run_with(lab, act, 60);
		assert_null(reported(lab, EVENT_FINDING_OPENED));
		assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 0);
		lab_destroy(lab);
	}
}

/* Never for half a minute: both are queried in each sweep as soon as two were found. */
LAB_TEST_WITH(occasional_responses_are_not_enough, setup)
{
	script.second_from = 1;
	script.every = 3;
	lab_run_with(lab, act, 200);
	assert_null(reported(lab, EVENT_FINDING_OPENED));
}

/* Standbys cost an SMP per minute; a new one is queried after the topology was read again. */
LAB_TEST_WITH(standbys_are_queried_once_a_minute, setup)
{
	script.appears = 5;
	lab->run.settings.interval_us = US_PER_S;
	lab_run_with(lab, act, 1300);
	assert_in_range(lab->agents[SECOND].sm_queries, 20, 26);
	assert_in_range(lab->agents[THIRD].sm_queries, 9, 16);
	/* The master is queried in every sweep as well. */
	assert_in_range(lab->agents[OWN_HOST].sm_queries, 1300, 1330);
	assert_null(reported(lab, EVENT_FINDING_OPENED));
	/* SMs that are present at the start are not news; a new one is. */
	assert_int_equal(lab_events_of(lab, EVENT_SM_OTHER), 1);
}

static void silence_nodes(struct lab *lab)
{
	lab->run.world->act_count++;
	lab->agents[SECOND].sm_silent = lab->sweeps >= 20 && lab->sweeps < 60;
}

/* An event, not a finding: the fabric has its master. */
LAB_TEST_WITH(an_unresponsive_standby_is_reported_once, setup)
{
	lab_run_with(lab, silence_nodes, 100);
	assert_int_equal(lab_events_of(lab, EVENT_SM_OTHER), 2);
	assert_int_equal(lab_events_of(lab, EVENT_FINDING_OPENED), 0);
}

static void become_slow_and_lose_a_host(struct lab *lab)
{
	static const int64_t answer_us[] = { 15, 40, 80 };

	lab->run.world->act_count++;
	if (lab->sweeps >= 2 && lab->sweeps < 8)
		lab->agents[SECOND].latency_us = answer_us[lab->sweeps / 2 - 1] * US_PER_MS;
	lab_port(lab, THIRD, 1)->down = lab->sweeps >= 20;
}

/* It responds after a tenth of the interval, when the round is over; after a new topology too. */
LAB_TEST_WITH(a_cut_query_is_not_reported_as_unresponsive, setup)
{
	lab->run.settings.interval_us = US_PER_S / 2;
	lab_run_with(lab, become_slow_and_lose_a_host, 200);
	assert_true(lab->run.parts > 0);
	assert_true(lab->agents[SECOND].sm_queries > 2);
	/* The host without a link. */
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_SM_OTHER), 0);
}

static void restart_master(struct lab *lab)
{
	lab->run.world->act_count++;
	lab->agents[OWN_HOST].sm_silent = lab->sweeps == 20 || lab->sweeps >= 40;
}

/* One sweep without it is no finding: the event has its own end. */
LAB_TEST_WITH(a_master_that_responds_again_is_reported, setup)
{
	lab->run.settings.interval_us = US_PER_S;
	lab_run_with(lab, restart_master, 50);
	assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 2);
	assert_int_equal(lab_events_of(lab, EVENT_SM_ANSWERS), 1);
	assert_int_equal(lab_events_of(lab, EVENT_SM_CHANGED), 0);
}

LAB_TEST_WITH(a_single_sweep_queries_all_sms, setup)
{
	lab_run_with(lab, act, 1);
	assert_int_equal(lab->agents[SECOND].sm_queries, 1);
}
