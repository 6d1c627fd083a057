/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* event_list_test.c - merging, filtering and finding events */
#include <stdio.h>

#include "base/unit_test.h"
#include "tui/model/event_list.h"
#include "facts/event_text.h"

enum { MOST = 10 };

/* Event number @id, one per second. */
static struct recent_event event_of(int64_t id)
{
	struct recent_event event = { .id = id, .wall_us = id * 1000000, .severity = (enum event_severity)(id % 3),
				   .node_guid = 0x1000, .port = (uint8_t)id };

	snprintf(event.kind, sizeof(event.kind), "%s", id % 4 ? "link-down" : "finding-opened");
	snprintf(event.node, sizeof(event.node), "leaf%02d", (int)id % 7);
	snprintf(event.text, sizeof(event.text),
		 "MF0;leaf%02d:MQM8700/U1/%d - MF0;spine01:MQM8700/U1/2: Active -> Down",
		 (int)id % 7, (int)id);
	return event;
}

/* A context: the newest MOST events up to @newest. */
static void take(struct event_list *list, int64_t newest)
{
	struct recent_event events[MOST];
	size_t count = 0;

	for (; count < MOST && newest > 0; newest--)
		events[count++] = event_of(newest);
	assert_int_equal(event_list_merge(list, events, count, MOST, NULL), 0);
}

static void add_down_to(struct event_list *list, int64_t oldest)
{
	while (list->events[list->count - 1].id > oldest) {
		const struct recent_event older = event_of(list->events[list->count - 1].id - 1);

		assert_int_equal(event_list_add(list, &older, NULL), 0);
	}
}

/* Number of events that pass the filter. */
static size_t row_count(const struct event_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += event_list_has(list, i);
	return count;
}

static void check_whole(const struct event_list *list, int64_t newest, int64_t oldest)
{
	assert_int_equal(list->count, newest - oldest + 1);
	for (size_t i = 0; i < list->count; i++)
		assert_int_equal(list->events[i].id, newest - (int64_t)i);
}

TEST(newer_ones_come_before_what_was_loaded)
{
	struct event_list list = { 0 };

	take(&list, 40);
	assert_false(list.complete);
	check_whole(&list, 40, 31);
	add_down_to(&list, 5);
	check_whole(&list, 40, 5);
	take(&list, 43);
	check_whole(&list, 43, 5);
	/* An earlier time: later events are removed. */
	take(&list, 20);
	check_whole(&list, 20, 5);
	event_list_done(&list);
}

TEST(there_is_never_a_gap)
{
	struct event_list list = { 0 };

	take(&list, 40);
	add_down_to(&list, 1);
	list.complete = true;
	take(&list, 60);
	check_whole(&list, 60, 51);
	assert_false(list.complete);
	/* Fewer events than requested are all. */
	take(&list, 4);
	check_whole(&list, 4, 1);
	assert_true(list.complete);
	take(&list, 0);
	assert_int_equal(list.count, 0);
	assert_true(list.complete);
	event_list_done(&list);
}

TEST(all_filters_must_match)
{
	struct event_list list = { 0 };

	take(&list, 40);
	add_down_to(&list, 1);
	list.filter.least = EVENT_WARNING;
	list.filter.findings = true;
	assert_true(row_count(&list) > 0);
	for (size_t i = 0; i < list.count; i++) {
		int64_t id = list.events[i].id;

		assert_int_equal(event_list_has(&list, i), id % 3 && id % 4 == 0);
	}
	list.filter.least = EVENT_INFO;
	list.filter.findings = false;
	snprintf(list.filter.kind, sizeof(list.filter.kind), "link-down");
	assert_int_equal(row_count(&list), 30);
	event_list_done(&list);
}

/* An unresponsive leaf: the event, and the finding that opens half a minute later. */
TEST(a_finding_that_repeats_an_event_is_one_line)
{
	static const struct recent_event events[] = {
		{ .id = 3, .wall_us = 150000000, .kind = "finding-opened", .node_guid = 8, .severity = EVENT_CRITICAL,
		  .text = "node-silent leaf02: leaf02 has not responded for 30 s" },
		{ .id = 2, .wall_us = 130000000, .kind = "finding-opened", .node_guid = 7, .severity = EVENT_CRITICAL,
		  .text = "node-silent leaf01: leaf01 has not responded for 30 s" },
		{ .id = 1, .wall_us = 100000000, .kind = "node-silent", .node_guid = 7, .severity = EVENT_CRITICAL,
		  .text = "leaf01 does not respond" },
	};
	struct event_list list = { 0 };

	assert_int_equal(event_list_merge(&list, events, 3, 100, NULL), 0);
	assert_true(event_list_has(&list, 0) && !event_list_has(&list, 1) && event_list_has(&list, 2));
	list.filter.findings = true;
	assert_true(event_list_has(&list, 0) && event_list_has(&list, 1) && !event_list_has(&list, 2));
	event_list_done(&list);
}

TEST(names_are_short)
{
	struct recent_event event = event_of(12), fabric = { .text = "MF0; MF0;x MF0;a:b MF0;:M/U1 MF0;a:M" },
			 modules = { .text = "MF0;sw:M/L01/U1/3 - MF0;big:M/U12: MF0;gone:M/U1 (was)" };
	char text[256], where[64];

	assert_string_equal(event_where(&event, where, sizeof(where)), "leaf05/12");
	assert_string_equal(event_text(NULL, event.text, text, sizeof(text)), "leaf05/12 - spine01/2: Active -> Down");
	assert_string_equal(event_where(&fabric, where, sizeof(where)), "");
	assert_string_equal(event_text(NULL, fabric.text, text, sizeof(text)), fabric.text);
	assert_string_equal(event_text(NULL, event.text, text, 10), "leaf05/12");
	assert_string_equal(event_text(NULL, modules.text, text, sizeof(text)), "sw/L01/U1/3 - big/U12: gone (was)");
}
