/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/event_text.h"
#include "tui/model/context.h"
#include "tui/model/test_sample.h"

#define START_US SAMPLE_START_US
#define MINUTE_US (60 * US_PER_S)

enum { LEAVES = 2, HOSTS = LEAVES * SAMPLE_HOSTS_PER_LEAF, LEAF = HOSTS, SPINE = HOSTS + LEAVES };

struct made {
	struct sample_model model;
	struct recent_event recent_events[CONTEXT_EVENTS]; /* oldest first, until make() */
	struct changes changes;
};

static int setup(void **state)
{
	struct made *made = *state = sample_model_create(sizeof(*made), LEAVES, false);

	if (made)
		made->model.context.recent_events = made->recent_events;
	return made ? 0 : -1;
}

static int teardown(void **state)
{
	struct made *made = *state;

	changes_done(&made->changes);
	sample_model_done(&made->model);
	free(made);
	return 0;
}

/* @node: index, or FABRIC_NONE: the fabric. */
static struct recent_event *add(struct made *made, int64_t after_us, const char *kind, uint32_t node, const char *text)
{
	struct recent_event *recent_event = &made->recent_events[made->model.context.recent_event_count++];

	*recent_event = (struct recent_event){ .id = (int64_t)made->model.context.recent_event_count,
					       .wall_us = START_US + after_us };
	snprintf(recent_event->kind, sizeof(recent_event->kind), "%s", kind);
	event_text(NULL, text, recent_event->text, sizeof(recent_event->text));
	if (node != FABRIC_NONE) {
		recent_event->node_guid = made->model.sample.fabric->nodes[node].guid;
		names_display(NULL, made->model.sample.fabric->nodes[node].name, recent_event->node);
	}
	return recent_event;
}

static void make(struct made *made)
{
	size_t count = made->model.context.recent_event_count;

	for (size_t i = 0; i < count / 2; i++) {
		struct recent_event swap = made->recent_events[i];

		made->recent_events[i] = made->recent_events[count - 1 - i];
		made->recent_events[count - 1 - i] = swap;
	}
	assert_int_equal(changes_make(&made->model.context, START_US - 1, START_US + 60 * MINUTE_US, &made->changes,
				      NULL), 0);
}

static void reboot(struct made *made, int64_t after_us, uint32_t host)
{
	/* A link's events are at one of its ends. */
	struct recent_event *down = add(made, after_us, "link-down", LEAF, "leaf01/1 - node0001/1: now down"), *restart;

	down->peer_guid = made->model.sample.fabric->nodes[host].guid;
	add(made, after_us + 30 * US_PER_S, "link-up", host, "now active");
	restart = add(made, after_us + 40 * US_PER_S, "finding-opened", host, "host-restart node0001: it went down");
	restart->severity = EVENT_INFO;
}

MODEL_TEST(a_rolling_reboot_is_one_change)
{
	for (uint32_t i = 0; i < 12; i++)
		reboot(made, i * 2 * MINUTE_US, i);
	make(made);
	assert_int_equal(made->changes.count, 1);
	assert_int_equal(made->changes.list[0].count, 36);
	assert_int_equal(made->changes.list[0].first_us, START_US);
	assert_int_equal(made->changes.list[0].last_us, START_US + 22 * MINUTE_US + 40 * US_PER_S);
	assert_non_null(strstr(made->changes.list[0].text, "12 hosts: restart 12, link up 12, link down 12"));
	assert_string_equal(made->changes.list[0].brief, "12 hosts restart");
}

/* Events of one case: at a node (0: the fabric), or at a GUID. */
struct given {
	int64_t after_us;
	const char *kind;
	uint32_t node;
	const char *text;
	enum event_severity severity;
	uint64_t guid;
	uint32_t peer; /* node; 0: none */
};

MODEL_TEST(related_events_are_one_change)
{
	static const struct {
		struct given events[4];
		const char *texts[3], *briefs[3]; /* newest first; NULL: not compared */
		size_t count;
	} cases[] = {
		{ { { 0, "counters-cleared", 0, "counters of 12100 ports were reset", 0, 0, 0 } },
		  { "counters of 12100 ports were reset" }, { "counters of 12100 ports were reset" }, 1 },
		/* Events of different kinds about counters are not counted together. */
		{ { { 0, "counter-saturated", 0, "symbol_errors saturated", 0, 0, 0 },
		    { 1, "counter-saturated", 0, "symbol_errors saturated", 0, 0, 0 },
		    { 2, "counters-cleared", 0, "counters were reset", 0, 0, 0 } },
		  { "counters were reset", "symbol_errors saturated (last of 2)" }, { NULL }, 2 },
		/* The text of a single event, with short names. */
		{ { { 0, "routes-changed", LEAF, "LFT of MF0;leaf01:MQM8700/U1 changed: 1204 entries", 0, 0, 0 } },
		  { "LFT of leaf01 changed: 1204 entries" }, { "leaf01 routes changed" }, 1 },
		/* Links of hosts, and of switches. */
		{ { { 0, "link-down", 3, "x", 0, 0, 0 }, { 1, "link-down", LEAF, "y", 0, 0, SPINE } },
		  { NULL }, { "leaf01 link down", "node0004 link down" }, 2 },
		/* Open findings are shown elsewhere, closed ones are changes. */
		{ { { 0, "finding-opened", LEAF, "link-degraded leaf01/1: 1x", EVENT_WARNING, 0, 0 },
		    { 1, "finding-changed", LEAF, "link-degraded leaf01/1: 2x", EVENT_WARNING, 0, 0 } },
		  { NULL }, { NULL }, 0 },
		{ { { 2, "finding-closed", LEAF, "link-degraded leaf01/1: 4x", 0, 0, 0 } },
		  { "closed: link-degraded leaf01/1: 4x" }, { "leaf01 link-degraded closed" }, 1 },
		/* Informational ones are reported when they open. */
		{ { { 0, "finding-opened", LEAF, "congestion leaf01/1: incast", 0, 0, 0 },
		    { 1, "finding-closed", LEAF, "congestion leaf01/1: incast", 0, 0, 0 },
		    { 2, "finding-opened", LEAF + 1, "congestion leaf02/1: trunk", EVENT_WARNING, 0, 0 },
		    { 3, "finding-closed", LEAF + 1, "congestion leaf02/1: trunk", 0, 0, 0 } },
		  { "closed: congestion leaf02/1: trunk", "congestion leaf01/1: incast" }, { NULL }, 2 },
		/* A finding does not repeat its event; without that event it is reported. */
		{ { { 0, "routes-changed", LEAF, "LFT of leaf01 changed: 4 entries", 0, 0, 0 },
		    { 0, "finding-opened", LEAF, "routes-changed leaf01: 4 entries changed", 0, 0, 0 },
		    { MINUTE_US, "finding-closed", LEAF, "routes-changed leaf01: 4 entries changed", 0, 0, 0 } },
		  { "LFT of leaf01 changed: 4 entries" }, { NULL }, 1 },
		{ { { 0, "finding-opened", LEAF, "routes-changed leaf01: 4 entries changed", 0, 0, 0 },
		    { MINUTE_US, "finding-closed", LEAF, "routes-changed leaf01: 4 entries changed", 0, 0, 0 } },
		  { "routes-changed leaf01: 4 entries changed" }, { NULL }, 1 },
		/* Unknown kinds and nodes. */
		{ { { 0, "moon-rose", 0, "the moon rose", 0, 0xdead, 0 },
		    { 0, "node-removed", 0, "nodeX is no longer in the fabric", 0, 0xbeef, 0 } },
		  { NULL, "the moon rose" }, { NULL }, 2 },
		/* Only those in the window. */
		{ { { -MINUTE_US, "collector-started", 0, "before", 0, 0, 0 },
		    { 1, "collector-started", 0, "within", 0, 0, 0 },
		    { 61 * MINUTE_US, "collector-started", 0, "after", 0, 0, 0 } },
		  { "within" }, { NULL }, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		made->model.context.recent_event_count = 0;
		for (const struct given *given = cases[i].events; given < cases[i].events + 4 && given->kind; given++) {
			struct recent_event *event = add(made, given->after_us, given->kind,
							 given->node ? given->node : FABRIC_NONE, given->text);

			event->severity = given->severity;
			event->node_guid = given->guid ? given->guid : event->node_guid;
			if (given->peer)
				event->peer_guid = made->model.sample.fabric->nodes[given->peer].guid;
		}
		make(made);
		assert_int_equal(made->changes.count, cases[i].count);
		for (size_t at = 0; at < made->changes.count; at++) {
			if (cases[i].texts[at])
				assert_string_equal(made->changes.list[at].text, cases[i].texts[at]);
			if (cases[i].briefs[at])
				assert_string_equal(made->changes.list[at].brief, cases[i].briefs[at]);
		}
	}
}

MODEL_TEST(a_pause_separates_changes)
{
	reboot(made, 0, 1);
	reboot(made, 20 * MINUTE_US, 2);
	make(made);
	assert_int_equal(made->changes.count, 2);
	assert_string_equal(made->changes.list[0].brief, "node0003 restart");
	assert_string_equal(made->changes.list[1].text, "node0002: restart 1, link up 1, link down 1");
}

/* Each event counts once, in a change that contains its time, and no change has gaps. */
MODEL_TEST(every_event_counts_in_one_change)
{
	static const char *const kinds[] = { "link-down", "link-up", "node-silent", "node-answers", "routes-changed",
					     "counters-cleared", "sweep-late", "moon-rose", "node-renamed" };

	for (int turn = 0; turn < 200; turn++) {
		size_t counted = 0, count = (size_t)rand() % 200;
		int64_t after_us = 0;

		made->model.context.recent_event_count = 0;
		for (size_t i = 0; i < count; i++) {
			uint32_t node = (uint32_t)rand() % (SPINE + SAMPLE_SPINES + 1);

			after_us += rand() % 20 ? rand() % 1000 : rand() % (20 * MINUTE_US);
			if (after_us > 60 * MINUTE_US)
				break;
			add(made, after_us, kinds[(size_t)rand() % (sizeof(kinds) / sizeof(kinds[0]))],
			    node == SPINE + SAMPLE_SPINES ? FABRIC_NONE : node, "text");
		}
		make(made);
		for (size_t i = 0; i < made->changes.count; i++) {
			const struct change *change = &made->changes.list[i];

			counted += change->count;
			assert_true(change->first_us <= change->last_us);
			assert_true(change->last_us - change->first_us <=
				    (int64_t)(change->count - 1) * CHANGE_APART_US);
			assert_true(change->text[0] && change->brief[0]);
			if (i)
				assert_true(change[-1].last_us >= change->last_us);
		}
		assert_int_equal(counted, made->model.context.recent_event_count);
	}
}

MODEL_TEST(too_many_events_shorten_the_window)
{
	for (int i = 0; i < CONTEXT_EVENTS - 1; i++)
		add(made, i * US_PER_S, "sweep-late", FABRIC_NONE, "late");
	make(made);
	assert_true(made->changes.since_us == START_US - 1);
	made->model.context.recent_event_count = 0;
	for (int i = 0; i < CONTEXT_EVENTS; i++)
		add(made, i * US_PER_S, "sweep-late", FABRIC_NONE, "late");
	make(made);
	assert_true(made->changes.since_us == START_US);
}
