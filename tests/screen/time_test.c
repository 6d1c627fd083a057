/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Time keys on the screen: everything shown is of the selected time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tests/screen/stage.h"
#include "tui/model/format.h"
#include "tui/model/loads.h"
#include "tui/screens/balance_view.h"

#define MINUTE_US (60 * US_PER_S)

/* dead-spine: 20 minutes with a sweep every 10 s; the spine fails after 5 minutes. */
#define DIED_US (STAGE_END_US - 15 * MINUTE_US)
#define INTERVAL_US (10 * US_PER_S)

static int64_t shown_us(void)
{
	return stage.app.live->shown->sweep.wall_us;
}

/* All data on the screen is of the shown time, as stored in the database. */
static void check_shown_time(void)
{
	const struct app *app = &stage.app;
	const struct snapshot_query query = { .at_us = shown_us() };
	struct snapshot *snapshot = NULL;
	struct reader *reader;
	struct error err = { 0 };

	if (reader_open(path, &reader, &err) < 0 || snapshot_load(reader, &query, &snapshot, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(snapshot->sweep.id, app->live->shown->sweep.id);
	assert_ptr_equal(app->table->snapshot, app->live->shown);
	assert_ptr_equal(app->context->shape->fabric, app->live->shown->fabric);
	assert_int_equal(snapshot->fabric->port_count, app->live->shown->fabric->port_count);
	for (size_t i = 0; i < app->context->finding_count; i++) {
		assert_true(app->context->findings[i].opened_us <= shown_us());
		assert_true(!app->context->findings[i].finding.closed_us ||
			    app->context->findings[i].finding.closed_us > shown_us());
	}
	for (size_t i = 0; i < app->context->recent_event_count; i++)
		assert_true(app->context->recent_events[i].wall_us <= shown_us());
	snapshot_destroy(snapshot);
	reader_close(reader);
}

TEST_ON_STAGE(keys_step_through_sweeps_and_back_to_live)
{
	stage_begin("dead-spine", 0, 40, 120);
	for (int back = 1; back <= 30; back++) {
		stage_keys("<");
		assert_int_equal(shown_us(), STAGE_END_US - back * INTERVAL_US);
		assert_true(stage.app.live->at_us != 0);
		check_shown_time();
	}
	stage_expect("HISTORY");
	for (int on = 29; on >= 0; on--) {
		stage_keys(">");
		assert_int_equal(shown_us(), STAGE_END_US - on * INTERVAL_US);
	}
	/* Past the newest it is live again, also after steps. */
	stage_keys(">");
	assert_int_equal(stage.app.live->at_us, 0);
	stage_hides("HISTORY");
}

TEST_ON_STAGE(keys_step_by_minutes_and_hours)
{
	stage_begin("dead-spine", 0, 40, 120);
	stage_keys("{{{");
	assert_int_equal(shown_us(), STAGE_END_US - 3 * MINUTE_US);
	stage_keys("}");
	assert_int_equal(shown_us(), STAGE_END_US - 2 * MINUTE_US);
	check_shown_time();
	/* Not further back than the first sweep. */
	stage_keys("[");
	assert_int_equal(shown_us(), stage.app.live->status.first_wall_us);
	check_shown_time();
	stage_keys("[{");
	assert_int_equal(shown_us(), stage.app.live->status.first_wall_us);
	stage_hides("no sweep");
	stage_keys("]");
	assert_int_equal(stage.app.live->at_us, 0);
	assert_int_equal(shown_us(), STAGE_END_US);
}

TEST_ON_STAGE(a_typed_time_is_shown_and_an_invalid_one_reported)
{
	stage_begin("dead-spine", 0, 40, 120);
	stage_keys("t-10m\r");
	assert_in_range(shown_us(), STAGE_END_US - 10 * MINUTE_US - INTERVAL_US,
			STAGE_END_US - 10 * MINUTE_US + INTERVAL_US);
	check_shown_time();
	stage_try("tlast tuesday\r", "is not a time");
	/* It can be corrected or cancelled. */
	stage_expect("last tuesday_");
	stage_key(KEY_ESCAPE);
	stage_keys("tnow\r");
	assert_int_equal(stage.app.live->at_us, 0);
}

/* A time without a sweep changes nothing: neither live nor a past time. */
TEST_ON_STAGE(a_refused_time_leaves_what_is_shown)
{
	int64_t past_us;

	stage_begin("dead-spine", 0, 40, 120);
	stage_try("t2001-01-01\r", "no sweep");
	assert_int_equal(stage.app.live->at_us, 0);
	assert_int_equal(live_state(stage.app.live) == LIVE_PAST, false);
	stage_keys("t-10m\r");
	past_us = shown_us();
	stage_try("t2001-01-01\r", "no sweep");
	assert_int_equal(shown_us(), past_us);
	assert_int_equal(live_state(stage.app.live), LIVE_PAST);
}

TEST_ON_STAGE(later_findings_are_not_shown)
{
	stage_begin("dead-spine", DIED_US - MINUTE_US, 40, 120);
	assert_int_equal(stage.app.context->finding_count, 0);
	check_shown_time();
	stage_keys("}}}");
	assert_true(stage.app.context->finding_count > 0);
	stage_expect("spine-03");
}

TEST_ON_STAGE(b_shows_the_start_of_a_finding)
{
	char expected[64], began[16], reported[16];
	int64_t since_us, opened_us;

	stage_begin("dead-spine", 0, 40, 120);
	assert_true(stage.app.context->finding_count > 0);
	opened_us = stage.app.context->findings[0].opened_us;
	since_us = stage.app.context->findings[0].finding.since_us;
	assert_in_range(since_us, DIED_US - 2 * INTERVAL_US, DIED_US + 2 * INTERVAL_US);
	assert_true(since_us < opened_us - INTERVAL_US);
	format_time(since_us, "%H:%M:%S", began, sizeof(began));
	format_time(opened_us, "%H:%M:%S", reported, sizeof(reported));
	stage_keys("b");
	/* The finding is not on the screen yet. */
	assert_in_range(shown_us(), since_us - INTERVAL_US + 1, since_us);
	snprintf(expected, sizeof(expected), "began %s, reported %s (b)", began, reported);
	stage_expect(expected);
	stage_keys("b");
	/* The first moment at which it is on the screen. */
	assert_int_equal(shown_us(), opened_us);
	stage_expect("spine-03");
	snprintf(expected, sizeof(expected), "reported %s, began %s", reported, began);
	stage_expect(expected);
	stage_keys("L");
	assert_int_equal(stage.app.live->at_us, 0);
	assert_int_equal(shown_us(), STAGE_END_US);
}

TEST_ON_STAGE(space_pauses_the_screen)
{
	stage_begin("dead-spine", 0, 40, 120);
	stage_try(" ", "PAUSED");
	assert_int_equal(shown_us(), STAGE_END_US);
	stage_keys(" ");
	stage_hides("PAUSED");
	assert_int_equal(stage.app.live->at_us, 0);
}

/* The deltas since a baseline are the sums over the sweeps since then. */
TEST_ON_STAGE(rates_are_since_the_baseline)
{
	const struct snapshot *shown;
	uint32_t port = FABRIC_NONE;
	uint64_t sum = 0;
	int64_t elapsed_us = 0;

	stage_begin("dead-spine", DIED_US + 5 * MINUTE_US, 40, 120);
	shown = stage.app.live->shown;
	for (uint32_t i = 0; i < shown->fabric->port_count && port == FABRIC_NONE; i++)
		if (shown->rows[i].sum.value[COUNTER_XMIT_DATA] > 1000)
			port = i;
	assert_true(port != FABRIC_NONE);
	stage_keys("m");
	for (int i = 0; i < 6; i++) {
		stage_keys("M>");
		sum += stage.app.live->shown->rows[port].sum.value[COUNTER_XMIT_DATA];
		elapsed_us += stage.app.live->shown->rows[port].sum.elapsed_us;
	}
	stage_try("<<<<<<m>>>>>>", "BASELINE");
	assert_int_equal(stage.app.live->shown->rows[port].sum.value[COUNTER_XMIT_DATA], sum);
	assert_int_equal(stage.app.live->shown->rows[port].sum.elapsed_us, elapsed_us);
	stage_keys("M");
	stage_hides("BASELINE");
	assert_in_range(stage.app.live->shown->rows[port].sum.elapsed_us, INTERVAL_US / 2, 2 * INTERVAL_US);
}

TEST_ON_STAGE(a_slow_load_is_announced)
{
	stage_begin("dead-spine", 0, 40, 120);
	stage.app.live->load_us = US_PER_S;
	app_key(&stage.app, '<');
	stage_draw(40, 120);
	stage_expect("READING 2026-09-21 14:13:10");
	stage_key(KEY_SPECIAL(KEY_DOWN));
	stage_expect("HISTORY");
	stage_hides("READING");
	/* A fast load is not announced. */
	stage.app.live->load_us = US_PER_MS;
	app_key(&stage.app, '<');
	stage_draw(40, 120);
	stage_hides("READING");
}

/* The load of the same port, or NULL. */
static const struct balance_load *load_of(const struct balance_load *loads, const struct fabric *before,
					  const struct fabric *now, uint32_t port)
{
	uint32_t same = fabric_find_port(before, now->nodes[now->ports[port].node].guid, now->ports[port].num);

	return same == FABRIC_NONE ? NULL : &loads[same];
}

/* Loads and the findings about them have the same window: that of the settings, and at least three sweeps. */
TEST_ON_STAGE(loads_have_the_window_of_the_settings)
{
	static const int64_t windows_s[] = { 1, 25, 60, 240 };
	struct balance_settings settings;

	balance_settings_default(&settings);
	stage.balance = &settings;
	for (size_t i = 0; i < sizeof(windows_s) / sizeof(*windows_s); i++) {
		int64_t sweeps_us = 3 * 10 * US_PER_S, window_us = windows_s[i] * US_PER_S;
		const struct balance_view *view;
		char text[64];

		settings.window_us = window_us;
		window_us = window_us < sweeps_us ? sweeps_us : window_us;
		test_folder_renew();
		stage_begin("dead-spine", 0, 40, 120);
		stage_keys("3");
		view = screen_state(&stage.app, &screen_balance);
		assert_true(view->loads.known);
		assert_int_equal(view->loads.until_us - view->loads.since_us, window_us);
		snprintf(text, sizeof(text), "window of %d s", (int)(window_us / US_PER_S));
		stage_expect(text);
	}
	stage.balance = NULL;
}

/* After the failure of a spine the other ports keep their loads, and balance uses the present fabric. */
TEST_ON_STAGE(loads_remain_after_a_topology_change)
{
	struct balance_settings limits;
	struct loads loads = { 0 };
	struct live follows;
	struct loads_source source = { .live = &follows, .limits = &limits };
	struct balance_load *before;
	struct fabric *fabric, *now;
	size_t same = 0, removed = 0;
	int64_t until_us;

	balance_settings_default(&limits);
	stage_begin("dead-spine", DIED_US - MINUTE_US, 40, 120);
	follows = *stage.app.live;
	follows.at_us = 0;
	source.context = stage.app.context;
	source.now_us = stage.boot_us;
	loads_changed(&loads, &source);
	assert_true(loads_poll(&loads, &source));
	assert_string_equal(loads.problem, "");
	fabric = fabric_share(follows.shown->fabric);
	before = calloc(fabric->port_count, sizeof(*before));
	assert_non_null(before);
	memcpy(before, loads.loads, fabric->port_count * sizeof(*before));
	until_us = loads.until_us;

	live_set_time(stage.app.live, STAGE_END_US - MINUTE_US);
	stage_key(KEY_SPECIAL(KEY_DOWN));
	follows = *stage.app.live;
	follows.at_us = 0;
	now = follows.shown->fabric;
	assert_ptr_not_equal(now, fabric);
	loads_changed(&loads, &source);
	assert_true(loads.known);
	assert_int_equal(loads.until_us, until_us);
	assert_int_equal(loads.balance.count, 2 * stage.app.context->shape->group_count);
	for (uint32_t i = 0; i < now->port_count; i++) {
		const struct balance_load *was = load_of(before, fabric, now, i);

		if (now->ports[i].peer == FABRIC_NONE || !was) {
			assert_false(loads.loads[i].known);
			removed += was && was->known;
		} else {
			assert_memory_equal(&loads.loads[i], was, sizeof(*was));
			same += was->known;
		}
	}
	assert_true(same > 100);
	assert_true(removed > 0);
	/* A time in the past does not use loads of another time. */
	follows.at_us = STAGE_END_US - MINUTE_US;
	loads.fingerprint++;
	loads_changed(&loads, &source);
	assert_false(loads.known);
	free(before);
	fabric_destroy(fabric);
	loads_done(&loads);
}
