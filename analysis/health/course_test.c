/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "analysis/test_world.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

static const struct world_shape rails = { 4, 4, 2, 8, 4 };
/* 4 leaves with 8 hosts each, 8 uplinks. */
static const struct world_shape single = { 4, 8, 1, 32, 1 };

/* Random commands, with up to @wait_s seconds between them. */
static void draw_script(unsigned seed, unsigned wait_s, char *ret, size_t size)
{
	static const char *const commands[] = {
		"down leaf0/101; ", "up leaf0/101; ", "kill spine1; ", "revive spine1; ", "kill h3; ", "revive h3; ",
		"silent h2.1; ", "answer h2.1; ", "silent leaf3; ", "answer leaf3; ", "rate leaf1/104 1 NDR; ",
		"rate leaf1/104 4 NDR; ", "count leaf2/103 link_downed 1; ", "spread leaf2/104 symbol_errors 9 3; ",
		"count leaf2/105 rcv_errors 60; ", "count leaf1/1 xmit_discards 300; ", "reset leaf3/101; ",
		"sm lost; ", "sm ok; ", "loads 0.3; ", "load h5.2 0; load leaf2/6 0; ",
		"stall leaf3/102 0.4; load leaf3/102 0.1; ", "unread 5; ", "unread 0; ", "fec leaf1/106 3000; ",
	};
	size_t at = 0;

	srand(seed);
	ret[0] = 0;
	for (unsigned i = 0; i < 25; i++) {
		const char *one = commands[(size_t)rand() % (sizeof(commands) / sizeof(commands[0]))];

		at += (size_t)snprintf(ret + at, size - at, "%swait %u; ", one,
				       10 * (1 + (unsigned)rand() % (wait_s / 10)));
	}
	assert_true(at < size);
}

TEST(the_order_of_samples_does_not_matter)
{
	char script[4096], first[4096], second[4096];
	unsigned found = 0;

	for (unsigned seed = 1; seed <= test_cases(40); seed++) {
		struct world *world = world_create(&rails), *shuffled = world_create(&rails);

		draw_script(seed, 300, script, sizeof(script));
		shuffled->shuffle = seed;
		world_run(world, script);
		world_run(shuffled, script);
		world_summary(world, true, first, sizeof(first));
		world_summary(shuffled, true, second, sizeof(second));
		assert_string_equal(first, second);
		found += (unsigned)world->report_count;
		world_destroy(world);
		world_destroy(shuffled);
	}
	/* The scripts cause findings. */
	assert_true(found > 100);
}

/* An open finding continues over a restart: it is not reported again, and closes in time. */
TEST(open_findings_continue_after_a_restart)
{
	WORLD_CHECK(&rails, false,
		{ "a link that is down", "down leaf0/101; wait 60; restart; wait 300", "link-down warning leaf0/101" },
		{ "a host's link that is down", "down h3.2; wait 60; restart; wait 900", "link-down warning leaf2/4" },
		{ "it returns", "down h3.2; wait 60; restart; wait 300; up h3.2; wait 120",
		  "link-down warning leaf2/4 closed" },
		{ "it comes up", "down leaf0/101; wait 60; restart; wait 60; up leaf0/101; wait 120",
		  "link-down warning leaf0/101 closed" },
		{ "a failed spine", "kill spine1; wait 60; restart; wait 600", "node-missing critical spine1" },
		{ "that returns", "kill spine1; wait 60; restart; wait 600; revive spine1; wait 120",
		  "node-missing critical spine1 closed" },
		{ "a silent switch", "silent leaf1; wait 60; restart; wait 600", "node-silent critical leaf1" },
		{ "a slow link", "rate leaf0/101 1 NDR; wait 120; restart; wait 600",
		  "link-degraded critical leaf0/101" },
		{ "a link in Init", "init h3.2; wait 120; restart; wait 600", "link-not-active warning leaf2/4" },
		{ "a flapping link", "count leaf0/101 link_downed 2; wait 60; restart; wait 3600",
		  "link-flapping warning leaf0/101" },
		{ "closes in time", "count leaf0/101 link_downed 2; wait 60; restart; wait 86400",
		  "link-flapping warning leaf0/101 closed" },
		{ "symbol errors that continue", "spread leaf0/101 symbol_errors 12 6; wait 60; restart; wait 60; "
		  "spread leaf0/101 symbol_errors 24 360; wait 60", "symbol-errors critical leaf0/101" },
		{ "symbol errors that ended", "spread leaf0/101 symbol_errors 12 6; wait 60; restart; wait 4500",
		  "symbol-errors warning leaf0/101 closed" },
		{ "a missing host", "kill h3; wait 1000; restart; wait 3600", "node-missing warning h3 mlx5_0" },
		{ "that returns", "kill h3; wait 1000; restart; wait 600; revive h3; wait 400",
		  "node-missing warning h3 mlx5_0 closed" },
		{ "a restarting host that does not return", "kill h3; wait 120; restart; wait 1200",
		  "node-missing warning h3 mlx5_0" },
		{ "no master", "sm lost; wait 60; restart; wait 300", "sm-lost critical fabric" });
	WORLD_CHECK(&single, false,
		{ "a rack", "kill h0; kill h1; kill h2; kill h3; wait 60; restart; wait 600; revive h0; revive h1; "
		  "revive h2; revive h3; wait 400", "node-missing warning leaf0 closed" });
}

/*
 * Errors of an hour are kept for that hour.
 */
TEST(a_restart_keeps_errors_for_their_window)
{
	struct world *world = world_create(&rails);
	const struct world_report *report;

	world_run(world, "wait 4000; count leaf0/101 rcv_errors 77; wait 600; restart; wait 1800");
	report = world_find(world, FINDING_RECEIVE_ERRORS);
	assert_non_null(report);
	assert_string_equal(report->finding.numbers[2].key, "receive_errors_per_hour");
	assert_true(report->finding.numbers[2].value == 77);
	assert_int_equal(report->closed, 0);
	world_run(world, "wait 7200");
	report = world_find(world, FINDING_RECEIVE_ERRORS);
	assert_true(!report || report->closed);
	world_destroy(world);
}

/* The counts of the last minutes are those of before the restart: no finding is clearing, or opens again. */
TEST(a_restart_changes_no_count)
{
	static const struct { enum finding_kind kind; const char *script; } cases[] = {
		{ FINDING_LINK_ERRORS, "spread leaf0/101 link_error_recovery 900 12; wait 10; " },
		{ FINDING_FEC_UNCORRECTABLE, "fec leaf0/101 3000; wait 20; " },
		{ FINDING_XMIT_DISCARDS, "spread leaf0/101 xmit_discards 900 24; wait 10; " },
		{ FINDING_XMIT_DISCARDS, "spread leaf0/1 xmit_discards 900 12; wait 10; " },
		{ FINDING_CONSTRAINT_ERRORS, "count leaf0/101 rcv_constraint_errors 900; wait 20; " },
		{ FINDING_RECEIVE_ERRORS, "count leaf0/101 vl15_dropped 900; wait 20; " },
		{ FINDING_RECEIVE_ERRORS, "count leaf0/101 rcv_errors 900; wait 20; " },
		{ FINDING_SYMBOL_ERRORS, "spread leaf0/101 symbol_errors 900 12; wait 10; " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(&rails);
		const struct world_report *report;
		double count;

		world_run(world, "wait 1000");
		world_run(world, cases[i].script);
		report = world_find(world, cases[i].kind);
		if (!report)
			fail_msg("%s: no finding", cases[i].script);
		count = report->finding.numbers[0].value;
		world_run(world, "restart; wait 10");
		report = world_find(world, cases[i].kind);
		if (report->opened != 1 || report->closed || report->finding.ok_since_us ||
		    report->finding.numbers[0].value != count)
			fail_msg("%s: %g, now %g: %s", cases[i].script, count, report->finding.numbers[0].value,
				 report->finding.text);
		world_destroy(world);
	}
}

/*
 * Every amount in a text: as it is, if counters of the port were reset in its window, and if only three minutes before
 * a restart are stored. A reset before the window is no part of it.
 */
TEST(amounts_are_lower_bounds_after_a_reset_and_of_the_time_that_is_stored)
{
	static const struct { enum finding_kind kind; const char *script, *amount; } cases[] = {
		{ FINDING_LINK_ERRORS, "spread leaf0/101 link_error_recovery 900 12; wait 10; ",
		  " link errors in " },
		{ FINDING_FEC_UNCORRECTABLE, "fec leaf0/101 3000; wait 20; ", " FEC uncorrectable blocks in " },
		{ FINDING_XMIT_DISCARDS, "spread leaf0/101 xmit_discards 9000 24; wait 10; ",
		  " packets discarded per minute" },
		{ FINDING_XMIT_DISCARDS, "spread leaf0/1 xmit_discards 900 12; wait 10; ", " packets discarded in " },
		{ FINDING_CONSTRAINT_ERRORS, "count leaf0/101 rcv_constraint_errors 900; wait 20; ",
		  " packets dropped in " },
		{ FINDING_RECEIVE_ERRORS, "count leaf0/101 vl15_dropped 900; wait 20; ",
		  " subnet management packets dropped in " },
		{ FINDING_RECEIVE_ERRORS, "count leaf0/101 rcv_errors 900; wait 20; ",
		  " damaged packets received in " },
		{ FINDING_SYMBOL_ERRORS, "spread leaf0/101 symbol_errors 900 12; wait 10; ", " symbol errors in " },
	};
	static const struct { const char *before; bool at_least; } resets[] = {
		{ "wait 180; ", false }, { "wait 180; reset leaf0/101; reset leaf0/1; wait 10; ", true },
		{ "reset leaf0/101; reset leaf0/1; wait 4300; ", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t j = 0; j < 5; j++) { /* odd: with a restart */
			struct world *world = world_create(&rails);
			const struct world_report *report;
			int64_t from_us, until_us;
			bool at_least;

			world_run(world, resets[j / 2].before);
			world_run(world, cases[i].script);
			world_run(world, j % 2 ? "restart; wait 10" : "wait 10");
			report = world_find(world, cases[i].kind);
			if (!report || !strstr(report->finding.text, cases[i].amount))
				fail_msg("%s: %s", cases[i].script, report ? report->finding.text : "no finding");
			at_least = strstr(report->finding.text, "at least ") == report->finding.text;
			if (at_least != resets[j / 2].at_least)
				fail_msg("%s%s: %s", resets[j / 2].before, cases[i].script, report->finding.text);
			assert_true(finding_window(&report->finding, &from_us, &until_us));
			if (from_us < WORLD_WALL_US)
				fail_msg("%s%s: %s", resets[j / 2].before, cases[i].script, report->finding.text);
			world_destroy(world);
		}
}

/* A restart of the collector changes no duration, and makes none a lower bound. */
TEST(a_link_in_init_keeps_the_time_of_its_state_over_a_restart)
{
	static const struct { const char *script, *text; } cases[] = {
		{ "wait 60; init h3.2; wait 300; restart; wait 20", "in state Init for 5 min" },
		{ "cold; init h3.2; wait 300; restart; wait 20", "in state Init for at least 5 min" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(&rails);
		const struct finding *const *open;

		world_run(world, cases[i].script);
		assert_int_equal(health_open(world->health, &open), 1);
		if (!strstr(open[0]->text, cases[i].text))
			fail_msg("%s: %s", cases[i].script, open[0]->text);
		world_destroy(world);
	}
}

/* Rates are those of the time that is known, which is shorter than the window of the threshold. */
TEST(rates_of_symbol_errors_are_of_the_known_time)
{
	struct world *world = world_create(&rails);
	const struct finding *const *open;

	world_run(world, "wait 60; spread leaf0/101 symbol_errors 60 24; wait 10");
	assert_int_equal(health_open(world->health, &open), 1);
	assert_int_equal(open[0]->kind, FINDING_SYMBOL_ERRORS);
	assert_true(fabs(world_number(open[0], "symbol_errors_per_hour") - 60 / (300 / 3600.0)) < 30);
	assert_true(fabs(world_number(open[0], "symbol_ber") * 400e9 * 300 - 60) < 3);
	world_destroy(world);
}

/* Errors of training are left out of the amount, which is a lower bound then. */
TEST(amounts_without_errors_of_training_are_lower_bounds)
{
	struct world *world = world_create(&rails);

	world_run(world, "wait 60; down leaf0/101; wait 20; up leaf0/101; wait 10; count leaf0/101 rcv_errors 20; "
		  "wait 400; count leaf0/101 rcv_errors 60; wait 10");
	assert_non_null(strstr(world_find(world, FINDING_RECEIVE_ERRORS)->finding.text,
			       "at least 60 damaged packets received in 8 min"));
	world_destroy(world);
	world = world_create(&rails);
	world_run(world, "wait 60; down leaf0/101; wait 20; up leaf0/101; wait 410; count leaf0/101 rcv_errors 60; "
		  "wait 10");
	assert_null(strstr(world_find(world, FINDING_RECEIVE_ERRORS)->finding.text, "at least"));
	world_destroy(world);
}

/* A window in which a link got slower has no load of a single rate. */
TEST(the_load_of_a_window_is_judged_by_the_rate_of_its_time)
{
	struct world *world = world_create(&rails);
	size_t windows = 0, unknown = 0;

	world_run(world, "wait 300; load leaf0/101 0.9; wait 160; rate leaf0/101 1 NDR");
	for (int sweeps = 0; sweeps < 18; sweeps++) {
		const struct health_port *port = NULL;
		const struct balance_load *load;
		uint64_t step = world->health->window.step;
		double rate;

		world_run(world, "wait 10");
		if (world->health->window.step == step)
			continue;
		while ((port = health_next_port(world->health, port)) &&
		       (strcmp(port->node->name, "leaf0") || port->num != 101))
			;
		assert_non_null(port);
		rate = (double)link_rate_bits_per_s(port->width, (enum link_speed)port->speed);
		load = &world->health->window.loads[fabric_find_port(world->fabric, port->node->guid, 101)];
		windows++;
		unknown += !load->known;
		assert_true(!load->known || load->xmit_bytes * 8e6 / load->elapsed_us <= 1.01 * rate);
	}
	assert_int_equal(windows, 3);
	assert_int_equal(unknown, 1);
	world_destroy(world);
}

/* A day after its errors and flaps a port has no tracker. */
static size_t count_trackers(const struct world *world)
{
	size_t count = 0;

	for (const struct health_port *port = NULL; (port = health_next_port(world->health, port));)
		count += port->tracker != NULL;
	return count;
}

TEST(trackers_are_freed_after_a_day)
{
	static const char trouble[] = "spread leaf0/101 symbol_errors 9 3; count leaf1/101 link_downed 3; "
				      "count leaf2/103 rcv_errors 60; fec leaf1/102 3000; wait 60; ";
	struct world *world = world_create(&rails);
	const struct world_report *report;

	world->interval_us = MINUTE_US;
	world_run(world, "wait 60");
	world_run(world, trouble);
	assert_int_equal(count_trackers(world), 4);
	world_run(world, "wait 82800");
	/* Flaps are counted for a day. */
	assert_int_equal(count_trackers(world), 1);
	world_run(world, "wait 7200");
	assert_int_equal(count_trackers(world), 0);
	world_run(world, trouble);
	assert_int_equal(count_trackers(world), 4);
	report = world_find(world, FINDING_SYMBOL_ERRORS);
	assert_int_equal(report->opened, 2);
	assert_int_equal(report->closed, 1);
	world_destroy(world);
}

TEST(removed_trackers_change_no_finding)
{
	char script[4096], kept[4096], forgot[4096];
	size_t trackers[2] = { 0 };

	for (unsigned seed = 200; seed < 200 + test_cases(3); seed++) {
		struct world *keeps = world_create(&rails), *forgets = world_create(&rails);

		draw_script(seed, test_cases(36000), script, sizeof(script));
		keeps->interval_us = forgets->interval_us = MINUTE_US;
		keeps->health->pruned_us = INT64_MAX; /* never */
		world_run(keeps, script);
		world_run(forgets, script);
		world_summary(keeps, true, kept, sizeof(kept));
		world_summary(forgets, true, forgot, sizeof(forgot));
		assert_string_equal(kept, forgot);
		trackers[0] += count_trackers(keeps);
		trackers[1] += count_trackers(forgets);
		world_destroy(keeps);
		world_destroy(forgets);
	}
	assert_true(trackers[1] < trackers[0]);
}

TEST(a_restart_reports_nothing_twice)
{
	char script[4096];

	for (unsigned seed = 100; seed < 100 + test_cases(30); seed++) {
		struct world *world = world_create(&rails);

		draw_script(seed, 300, script, sizeof(script));
		world_run(world, script);
		for (size_t i = 0; i < world->report_count; i++)
			world->reports[i].opened = world->reports[i].closed > world->reports[i].opened ? 9 : 0;
		world_run(world, "restart; wait 20");
		for (size_t i = 0; i < world->report_count; i++)
			if (world->reports[i].opened)
				fail_msg("seed %u: %s opened again", seed,
					 finding_kind_name(world->reports[i].finding.kind));
		world_destroy(world);
	}
}

/* The text continues the time and the sweeps of the finding. */
TEST(a_restart_continues_the_unresponsive_time)
{
	struct world *world = world_create(&rails);
	const struct finding *const *open;

	world_run(world, "wait 60; silent h3.1; wait 600; restart; wait 30");
	assert_int_equal(health_open(world->health, &open), 1);
	assert_int_equal(open[0]->kind, FINDING_NODE_SILENT);
	assert_non_null(strstr(open[0]->text, "has not responded for 10 min;"));
	/* Without the time before it responded. */
	world_run(world, "answer h3.1; wait 10; silent h3.1; wait 60");
	assert_int_equal(health_open(world->health, &open), 1);
	assert_non_null(strstr(open[0]->text, "has not responded for 60 s;"));
	world_destroy(world);
}

/* A condition that fluctuates around its threshold is one finding. */
TEST(repeated_short_conditions_are_one_finding)
{
	WORLD_CHECK(&rails, false,
		{ "a node that responds at times", "silent leaf1; wait 40; answer leaf1; wait 20; silent leaf1; "
		  "wait 40; answer leaf1; wait 20; silent leaf1; wait 40", "node-silent critical leaf1" },
		{ "a master at times", "sm lost; wait 40; sm ok; wait 30; sm lost; wait 40; sm ok; wait 10",
		  "sm-lost critical fabric" },
		{ "coverage around its limit",
		  "unread 5; wait 40; unread 0; wait 40; unread 5; wait 40; unread 0; wait 40",
		  "coverage warning fabric" },
		{ "symbols around their limit", "spread leaf0/101 symbol_errors 8 8; wait 3300; "
		  "spread leaf0/101 symbol_errors 5 5; wait 3300; spread leaf0/101 symbol_errors 5 5; wait 60",
		  "symbol-errors warning leaf0/101" },
		{ "a link that is slow at times",
		  "rate leaf0/101 1 NDR; wait 70; rate leaf0/101 4 NDR; wait 30; rate leaf0/101 1 NDR; wait 70",
		  "link-degraded critical leaf0/101" });
	WORLD_CHECK(&single, false,
		{ "stalls at times", "load leaf0/101 0.2; stall leaf0/101 0.2; wait 360; stall leaf0/101 0; "
		  "wait 240; stall leaf0/101 0.2; wait 240; stall leaf0/101 0; wait 240",
		  "congestion warning leaf0/101" });
}

TEST(cables_that_were_never_there)
{
	WORLD_CHECK(&rails, true,
		{ "one of a pair is missing", "cold; down leaf0/101; wait 60", "uplinks-missing info leaf0" },
		{ "a link that went down is not missing", "down leaf0/101; wait 60", "link-down warning leaf0/101" },
		{ "nor are links of a failed spine", "kill spine1; wait 60",
		  "node-missing critical spine1; topology-changed info fabric" });
}

/* The higher severity is kept for the recovery window, and its end reported once. */
TEST(a_severity_rises_at_once_and_falls_later)
{
	struct world *world = world_create(&rails);
	const struct world_report *report;

	world_run(world, "wait 60; down leaf0/101; wait 40");
	report = world_find(world, FINDING_LINK_DOWN);
	assert_int_equal(report->finding.severity, FINDING_WARNING);
	world_run(world, "down leaf0/102; wait 40");
	assert_int_equal(report->finding.severity, FINDING_CRITICAL);
	world_run(world, "up leaf0/102; wait 30");
	assert_int_equal(report->finding.severity, FINDING_CRITICAL);
	world_run(world, "wait 60");
	assert_int_equal(report->finding.severity, FINDING_WARNING);
	assert_int_equal(report->opened, 1);
	assert_int_equal(report->closed, 0);
	world_destroy(world);
}

/*
 * For a host link its host, for an uplink the hosts of the leaf, for a spine all hosts below.
 */
TEST(affected_hosts_are_listed)
{
	static const struct {
		const char *script;
		enum finding_kind kind;
		unsigned hosts;
		const char *first;
	} cases[] = {
		{ "wait 60; down h5.0; wait 1000", FINDING_NODE_MISSING, 1, "h5" },
		{ "wait 60; rate h5.0 1 NDR; wait 100", FINDING_LINK_DEGRADED, 1, "h5" },
		{ "wait 60; down leaf1/101; wait 40", FINDING_LINK_DOWN, 8, "h8" },
		{ "wait 60; kill spine1; wait 40", FINDING_NODE_MISSING, 32, "h0" },
		{ "wait 60; kill leaf1; wait 60", FINDING_NODE_MISSING, 8, "h8" },
		{ "wait 60; silent leaf1; wait 40", FINDING_NODE_SILENT, 8, "h8" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(&single);
		const struct world_report *report;

		world_run(world, cases[i].script);
		report = world_find(world, cases[i].kind);
		assert_non_null(report);
		assert_int_equal(report->finding.affected_hosts, cases[i].hosts);
		assert_string_equal(report->finding.hosts[0], cases[i].first);
		world_destroy(world);
	}
}

/* Without the setting a finding is open as long as its flaps count. */
TEST(a_flapping_link_that_has_recovered_is_reported_once)
{
	struct world *world = world_create(&rails);
	const struct world_report *report;

	world->settings.flap_recovery_us = 10 * MINUTE_US;
	world_restart(world);
	world_run(world, "wait 60; count leaf0/101 link_downed 2; wait 3600");
	report = world_find(world, FINDING_LINK_FLAPPING);
	assert_int_equal(report->opened, 1);
	assert_int_equal(report->closed, 1);
	world_run(world, "count leaf0/101 link_downed 1; wait 300");
	report = world_find(world, FINDING_LINK_FLAPPING);
	assert_int_equal(report->opened, 2);
	assert_int_equal(report->closed, 1);
	world_destroy(world);
}

TEST(limits_and_kinds_are_settings)
{
	struct world *world = world_create(&rails);

	world->settings.limits[FINDING_SYMBOL_ERRORS].warning = 3;
	world->settings.limits[FINDING_LINK_DOWN].off = true;
	world_restart(world);
	world_run(world, "wait 60; down leaf0/102; spread leaf0/101 symbol_errors 3 3; wait 60");
	assert_null(world_find(world, FINDING_LINK_DOWN));
	assert_non_null(world_find(world, FINDING_SYMBOL_ERRORS));
	world_destroy(world);
}

/* The open finding of a kind as it is now; NULL: none. */
static const struct finding *open_now(const struct world *world, enum finding_kind kind)
{
	const struct finding *const *open;
	size_t count = health_open(world->health, &open);

	for (size_t i = 0; i < count; i++)
		if (open[i]->kind == kind)
			return open[i];
	return NULL;
}

static void run_and_record(struct world *world, const char *script, enum finding_kind kind, unsigned sweeps,
			   unsigned ret_first[FINDING_PHASE_CLEARING + 2])
{
	world_run(world, script);
	for (int i = 0; i <= FINDING_PHASE_CLEARING + 1; i++)
		ret_first[i] = 0;
	for (unsigned i = 1; i <= sweeps; i++) {
		const struct finding *open;
		unsigned phase;

		world_sweeps(world, 1);
		open = open_now(world, kind);
		phase = open ? (unsigned)finding_phase(open) : FINDING_PHASE_CLEARING + 1u;
		/* Without a further error it never returns to an earlier phase. */
		for (unsigned later = phase + 1; later <= FINDING_PHASE_CLEARING + 1u; later++)
			assert_int_equal(ret_first[later], 0);
		ret_first[phase] = ret_first[phase] ? ret_first[phase] : i;
	}
}

/* Errors of a minute that then stopped: in sweeps of 10 s after the last of them. */
TEST(a_count_that_stopped_is_no_active_finding)
{
	static const struct { const char *script; enum finding_kind kind; } cases[] = {
		{ "spread leaf0/101 symbol_errors 273 6", FINDING_SYMBOL_ERRORS },
		{ "spread leaf0/101 rcv_errors 500 6", FINDING_RECEIVE_ERRORS },
		{ "count leaf0/101 rcv_errors 200; wait 40", FINDING_RECEIVE_ERRORS },
		{ "spread leaf0/101 link_error_recovery 250 6", FINDING_LINK_ERRORS },
		{ "wait 600; spread leaf0/101 rcv_errors 2 1; wait 900; spread leaf0/101 rcv_errors 90 6",
		  FINDING_RECEIVE_ERRORS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world *world = world_create(&rails);
		unsigned first[FINDING_PHASE_CLEARING + 2];

		run_and_record(world, cases[i].script, cases[i].kind, 600, first);
		if (first[FINDING_PHASE_ACTIVE] != 1 || first[FINDING_PHASE_STOPPED] > 60 ||
		    !first[FINDING_PHASE_CLEARING] || first[FINDING_PHASE_CLEARING] > 80)
			fail_msg("%s: active after %u, stopped after %u, clearing after %u sweeps", cases[i].script,
				 first[0], first[1], first[2]);
		assert_true(first[FINDING_PHASE_CLEARING + 1] > first[FINDING_PHASE_CLEARING]);
		world_destroy(world);
	}
}

/* The finding knows when its count last increased, at the sweep. */
TEST(the_last_increase_is_known)
{
	struct world *world = world_create(&rails);
	int64_t increased_us;

	world_run(world, "wait 100; spread leaf0/101 symbol_errors 60 6");
	increased_us = WORLD_WALL_US + world->now_us - world->interval_us;
	for (int i = 0; i < 100; i++) {
		const struct finding *open = open_now(world, FINDING_SYMBOL_ERRORS);

		assert_non_null(open);
		assert_int_equal(open->increased_us, increased_us);
		world_sweeps(world, 1);
	}
	world_run(world, "count leaf0/101 symbol_errors 1; wait 20");
	assert_true(open_now(world, FINDING_SYMBOL_ERRORS)->increased_us > increased_us + 900 * SECOND_US);
	assert_int_equal(finding_phase(open_now(world, FINDING_SYMBOL_ERRORS)), FINDING_PHASE_ACTIVE);
	world_destroy(world);
}

/* Random errors at the rate of the threshold have long pauses, which are no end. */
TEST(a_slow_count_that_goes_on_is_active)
{
	unsigned total = 0, paused = 0;
	uint64_t random = 7;

	for (unsigned seed = 1; seed <= test_cases(6); seed++) {
		struct world *world = world_create(&rails);

		for (unsigned i = 0; i < 2000; i++) {
			const struct finding *open;

			/* One in four minutes on average: 15 in an hour. */
			random = map_mix(random + 1);
			if (random % 24 == 0)
				world_run(world, "count leaf0/101 symbol_errors 1");
			world_sweeps(world, 1);
			open = open_now(world, FINDING_SYMBOL_ERRORS);
			total += open != NULL;
			paused += open && finding_phase(open) == FINDING_PHASE_CLEARING;
		}
		world_destroy(world);
	}
	if (total <= 3000)
		fail_msg("open in %u sweeps", total);
	if (paused * 50 > total)
		fail_msg("clearing in %u of %u sweeps", paused, total);
}

TEST(a_flapping_link_that_is_stable_again_is_below_what_is_active)
{
	struct world *world = world_create(&rails);
	unsigned first[FINDING_PHASE_CLEARING + 2];

	run_and_record(world, "count leaf0/101 link_downed 1; wait 60; count leaf0/101 link_downed 1; wait 60; "
		       "count leaf0/101 link_downed 1; wait 60", FINDING_LINK_FLAPPING, 100, first);
	assert_int_equal(first[FINDING_PHASE_ACTIVE], 1);
	assert_true(first[FINDING_PHASE_STOPPED] > 1);
	assert_int_equal(first[FINDING_PHASE_CLEARING], 0);
	world_destroy(world);
}

/* A finding has the thresholds under which it holds, not those of today or the defaults. */
TEST(thresholds_are_those_of_the_settings)
{
	struct world *world = world_create(&rails);
	char text[160];

	world->settings.limits[FINDING_SYMBOL_ERRORS].warning = 3;
	world->settings.down_after_us = 7 * SECOND_US;
	world_restart(world);
	world_run(world, "wait 60; spread leaf0/101 symbol_errors 12 3; down leaf1/101; wait 60");
	assert_true(finding_format_thresholds(&world_find(world, FINDING_LINK_DOWN)->finding, text));
	assert_string_equal(text, "critical 25 %, after 7 s");
	assert_true(finding_format_thresholds(&world_find(world, FINDING_SYMBOL_ERRORS)->finding, text));
	assert_string_equal(text, "warning 3 errors, critical 16 errors");
	/* It is clearing since before a restart with other settings. */
	world_run(world, "up leaf1/101; wait 10");
	health_settings_default(&world->settings);
	world_run(world, "restart; wait 20");
	finding_format_thresholds(&world_find(world, FINDING_LINK_DOWN)->finding, text);
	assert_string_equal(text, "critical 25 %, after 7 s");
	world_destroy(world);
}
