/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "fabric/fabric.h"

static void add(struct events *events, const char *kind, enum event_severity severity, size_t count)
{
	for (size_t i = 0; i < count; i++)
		events_add(events, 0, kind, severity, NULL, FABRIC_NONE, 0, "%zu", i);
}

static size_t count_kind(const struct events *events, const char *kind)
{
	size_t count = 0;

	for (size_t i = 0; i < events->count; i++)
		count += !strcmp(events->list[i].kind, kind);
	return count;
}

TEST(a_burst_is_reported_and_suppressed_events_are_counted)
{
	struct event_limit limit = { 0 };
	struct events events = { 0 };

	add(&events, EVENT_NODE_SILENT, EVENT_WARNING, EVENT_LIMIT_BURST + 234);
	add(&events, EVENT_NODE_SILENT, EVENT_CRITICAL, 2);
	add(&events, EVENT_LINK_DOWN, EVENT_WARNING, EVENT_LIMIT_BURST);
	event_limit_apply(&limit, &events, US_PER_S, 0);
	assert_int_equal(count_kind(&events, EVENT_NODE_SILENT), EVENT_LIMIT_BURST + 2);
	assert_int_equal(count_kind(&events, EVENT_LINK_DOWN), EVENT_LIMIT_BURST);
	assert_int_equal(count_kind(&events, EVENT_EVENTS_LEFT_OUT), 1);
	assert_string_equal(events.list[events.count - 1].text,
			    "234 more events of kind node-silent were suppressed: too many");
	/* Events that passed are not checked again if they could not be stored. */
	event_limit_apply(&limit, &events, 2 * US_PER_S, 0);
	assert_int_equal(events.count, 2 * EVENT_LIMIT_BURST + 3);
	events_done(&events);
}

TEST(the_hourly_limit_holds_in_the_long_run)
{
	struct event_limit limit = { 0 };
	struct events events = { 0 };
	size_t passed = 0, reported = 0;

	for (int64_t second = 1; second <= 10 * 3600; second++) {
		/* A suspend of ten hours adds no more credit than the burst. */
		int64_t now_us = (second + (second > 5 * 3600 ? 36000 : 0)) * US_PER_S;

		add(&events, EVENT_NODE_SILENT, EVENT_WARNING, 3);
		event_limit_apply(&limit, &events, now_us, 0);
		passed += count_kind(&events, EVENT_NODE_SILENT);
		reported += count_kind(&events, EVENT_EVENTS_LEFT_OUT);
		events_clear(&events);
		limit.passed = 0;
	}
	assert_in_range(passed, 10 * EVENT_LIMIT_PER_HOUR + 2 * EVENT_LIMIT_BURST - 2,
			10 * EVENT_LIMIT_PER_HOUR + 2 * EVENT_LIMIT_BURST + 2);
	assert_in_range(reported, 560, 600);
	events_done(&events);
}

static struct fabric *make_port(uint8_t state, uint8_t width)
{
	struct fabric *fabric = fabric_create(NULL);
	const struct node node = { .guid = 1, .type = NODE_CA, .port_count = 1, .desc = "node01 mlx5_0" };
	const struct port port = { .num = 1, .state = state, .width = width, .speed = LINK_SPEED_HDR };

	fabric_add_node(fabric, &node, NULL);
	fabric_add_port(fabric, &port, NULL);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(a_link_event_has_the_value_before_and_after)
{
	struct fabric *active = make_port(PORT_ACTIVE, LINK_WIDTH_4X), *down = make_port(PORT_DOWN, LINK_WIDTH_4X);
	struct fabric *narrow = make_port(PORT_ACTIVE, LINK_WIDTH_1X);
	struct events events = { 0 };

	events_from_topology(&events, 0, active, down);
	events_from_topology(&events, 0, active, narrow);
	assert_int_equal(events.count, 2);
	assert_string_equal(events.list[0].text, "node01 mlx5_0/1: Active -> Down");
	assert_string_equal(events.list[1].text, "node01 mlx5_0/1: 4x HDR -> 1x HDR");
	events_done(&events);
	fabric_destroy(active);
	fabric_destroy(down);
	fabric_destroy(narrow);
}

/* Two switches with a link, or after it was removed from both. */
static struct fabric *make_link(bool up)
{
	struct fabric *fabric = fabric_create(NULL);

	for (uint64_t guid = 1; guid <= 2; guid++) {
		const struct node node = { .guid = guid, .type = NODE_SWITCH, .port_count = 1, .desc = "switch" };

		fabric_add_node(fabric, &node, NULL);
		for (uint8_t num = 0; num <= 1; num++) {
			const struct port port = { .num = num, .state = up || !num ? PORT_ACTIVE : PORT_DOWN,
						   .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };

			fabric_add_port(fabric, &port, NULL);
		}
	}
	if (up)
		fabric_link(fabric, fabric_find_port(fabric, 1, 1), fabric_find_port(fabric, 2, 1), NULL);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(an_event_of_a_link_is_one_of_both_ends)
{
	struct fabric *up = make_link(true), *down = make_link(false);
	struct events events = { 0 };

	events_from_topology(&events, 0, up, down);
	events_from_topology(&events, 0, down, up);
	assert_in_range(events.count, 2, 4);
	for (size_t i = 0; i < events.count; i++) {
		const struct event *event = &events.list[i];

		if (event->node_guid + event->peer_guid != 3 || event->port != 1 || event->peer_port != 1)
			fail_msg("%s: 0x%x/%u - 0x%x/%u", event->text, (unsigned)event->node_guid, event->port,
				 (unsigned)event->peer_guid, event->peer_port);
	}
	events_done(&events);
	fabric_destroy(up);
	fabric_destroy(down);
}

/* Port 0 of a switch has no link, whatever width and speed its agent reports. */
TEST(port_0_has_no_link_rate)
{
	struct fabric *before = make_link(true), *after = make_link(true);
	struct events events = { 0 };

	after->ports[fabric_find_port(after, 1, 0)].width = LINK_WIDTH_1X;
	after->ports[fabric_find_port(after, 2, 0)].speed = LINK_SPEED_SDR;
	events_from_topology(&events, 0, before, after);
	assert_int_equal(events.count, 0);
	/* The rate of a link is one event. */
	after->ports[fabric_find_port(after, 1, 1)].width = LINK_WIDTH_1X;
	after->ports[fabric_find_port(after, 2, 1)].width = LINK_WIDTH_1X;
	events_from_topology(&events, 0, before, after);
	assert_int_equal(count_kind(&events, EVENT_LINK_RATE), 1);
	events_done(&events);
	fabric_destroy(before);
	fabric_destroy(after);
}
