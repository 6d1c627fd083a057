/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery by helpers that misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "wire/discovery.h"

#define DEADLINE_US (300 * US_PER_MS)

/* Run "sh -c SCRIPT" as the helper. Return: the longest that one step took, us; @ret_err says how it ended. */
static int64_t run(const char *script, struct error *ret_err)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct discovery_settings settings = { .argv = argv, .deadline_us = DEADLINE_US };
	const struct clock *clock = clock_system();
	enum discovery_state state = DISCOVERY_RUNNING;
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *fabric;
	int64_t longest_us = 0;

	assert_int_equal(discovery_start(&settings, clock, &discovery, NULL), 0);
	while (state == DISCOVERY_RUNNING) {
		int64_t before_us = clock_boottime_us(clock);

		state = discovery_step(discovery, 10);
		if (clock_boottime_us(clock) - before_us > longest_us)
			longest_us = clock_boottime_us(clock) - before_us;
	}
	assert_int_equal(discovery_result(discovery, &fabric, &trailer, ret_err), ERR_UNAVAILABLE);
	discovery_destroy(discovery);
	return longest_us;
}

static void a_helper_that_hangs_is_stopped_at_its_deadline(void **state)
{
	struct error err;

	(void)state;
	run("echo so far >&2; exec sleep 20", &err);
	assert_non_null(strstr(err.text, "deadline"));
	assert_non_null(strstr(err.text, "so far"));
}

/* Sweeps go on beside it: a step is short, however fast it writes. */
static void a_helper_that_never_stops_talking_holds_nobody_up(void **state)
{
	struct error err;

	(void)state;
	assert_true(run("exec cat /dev/zero >&2", &err) < DEADLINE_US / 2);
	assert_non_null(strstr(err.text, "deadline"));
}

static void a_helper_that_crashes_says_so_with_its_last_word(void **state)
{
	struct error err;

	(void)state;
	run("echo a word >&2; kill -SEGV $$", &err);
	assert_non_null(strstr(err.text, "crashed"));
	assert_non_null(strstr(err.text, "a word"));
}

static void records_that_are_cut_off_are_no_fabric(void **state)
{
	struct error err;

	(void)state;
	run("echo ibwire-fabric 1", &err);
	assert_non_null(strstr(err.text, "no fabric"));
}

/* Records, and then @rest: they are there before the helper's own end. Return: whether it ended well. */
static bool run_to_result(const char *rest)
{
	char script[300];
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct discovery_settings settings = { .argv = argv, .deadline_us = 60 * US_PER_S };
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *fabric;
	bool well;

	snprintf(script, sizeof(script),
		 "printf 'ibwire-fabric 1\\nnode 1 1 1 0 0 0 0 1 0 0 -\\nend 1 0 7 0 0 0 0\\n'; %s", rest);
	assert_int_equal(discovery_start(&settings, clock_system(), &discovery, NULL), 0);
	while (discovery_step(discovery, 10) == DISCOVERY_RUNNING)
		continue;
	assert_int_equal(discovery_result(discovery, &fabric, &trailer, NULL), 0);
	assert_int_equal(fabric->node_count, 1);
	assert_int_equal(trailer.smps, 7);
	fabric_destroy(fabric);
	well = discovery_end(discovery);
	discovery_destroy(discovery);
	return well;
}

static void nobody_waits_for_the_end_of_a_helper_that_has_told_all(void **state)
{
	int64_t began_us = clock_boottime_us(clock_system());

	(void)state;
	/* It is waited for now, for a moment, and stopped. */
	assert_false(run_to_result("exec >&-; exec sleep 50"));
	assert_true(clock_boottime_us(clock_system()) - began_us < 30 * US_PER_S);
	assert_false(run_to_result("exec >&-; exit 3"));
	assert_true(run_to_result("exec >&-; exit 0"));
	assert_true(run_to_result("exit 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_helper_that_hangs_is_stopped_at_its_deadline),
		cmocka_unit_test(a_helper_that_never_stops_talking_holds_nobody_up),
		cmocka_unit_test(a_helper_that_crashes_says_so_with_its_last_word),
		cmocka_unit_test(nobody_waits_for_the_end_of_a_helper_that_has_told_all),
		cmocka_unit_test(records_that_are_cut_off_are_no_fabric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
