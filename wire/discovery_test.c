/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery by helpers that misbehave. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "wire/discovery.h"
#include "wire/explore.h"

#define DEADLINE_US (300 * US_PER_MS)

/* Set by the tests, so that a busy machine makes no helper late. */
static int64_t still_us;

static int64_t still(void *ctx)
{
	(void)ctx;
	return still_us;
}

static const struct clock still_clock = { .boottime_us = still, .wall_us = still };

/*
 * Run "sh -c SCRIPT" as the helper. Its deadline is over @steps after it wrote @said to stderr, or never (NULL).
 * Return: number of steps that took longer than the limit; @ret_err: how the discovery ended.
 */
static int run_until(const char *script, const char *said, int steps, struct error *ret_err)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct discovery_settings settings = { .argv = argv, .deadline_us = DEADLINE_US,
						     .output_max = 1 << 20 };
	const struct discoverer *discoverer;
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *fabric;
	int slow = 0, code = 0;

	assert_int_equal(discovery_create(&settings, &still_clock, &discovery, NULL), 0);
	discoverer = discovery_discoverer(discovery);
	assert_int_equal(discoverer->start(discovery, NULL, NULL, 0, NULL), 0);
	while (code == 0) {
		int64_t before_us = clock_boottime_us(clock_system());

		if (said && strstr(discovery_messages(discovery), said) && steps-- == 0)
			still_us += DEADLINE_US;
		code = discoverer->step(discovery, 10, &fabric, &trailer, ret_err);
		slow += clock_boottime_us(clock_system()) - before_us > 150 * US_PER_MS;
	}
	assert_int_equal(code, ERR_UNAVAILABLE);
	discovery_destroy(discovery);
	return slow;
}

TEST(a_helper_that_hangs_is_stopped_at_its_deadline)
{
	struct error err;

	run_until("echo so far >&2; exec sleep 20", "so far", 0, &err);
	assert_non_null(strstr(err.text, "deadline"));
	assert_non_null(strstr(err.text, "so far"));
}

/* Sweeps run at the same time. */
TEST(endless_output_of_a_helper_delays_no_step)
{
	struct error err;

	/* Some steps may be slow on a busy machine; a step must return. */
	alarm(100);
	assert_in_range(run_until("exec cat /dev/zero >&2", "", 20, &err), 0, 9);
	alarm(0);
	assert_non_null(strstr(err.text, "deadline"));
}

TEST(a_helper_that_writes_too_much_is_stopped)
{
	struct error err;

	alarm(100);
	run_until("exec cat /dev/zero", NULL, 0, &err);
	alarm(0);
	assert_non_null(strstr(err.text, "too much output"));
}

TEST(a_crash_is_reported_with_the_last_message)
{
	struct error err;

	run_until("echo a word >&2; kill -SEGV $$", NULL, 0, &err);
	assert_non_null(strstr(err.text, "crashed"));
	assert_non_null(strstr(err.text, "a word"));
}

TEST(incomplete_records_are_rejected)
{
	struct error err;

	run_until("echo ibwire-fabric 1", NULL, 0, &err);
	assert_non_null(strstr(err.text, "invalid records"));
}

/* What the end of the last discovery logged. */
static char logged[1000];

static void destroy_logged(struct discovery *discovery)
{
	int file = memfd_create("log", MFD_CLOEXEC), before = dup(STDERR_FILENO);

	dup2(file, STDERR_FILENO);
	discovery_destroy(discovery);
	dup2(before, STDERR_FILENO);
	close(before);
	logged[pread(file, logged, sizeof(logged) - 1, 0)] = '\0';
	close(file);
}

/* A helper that writes records, and then runs @rest. Return: whether it succeeded. */
static bool run_to_result(const struct clock *clock, const char *rest)
{
	char script[300];
	const char *argv[] = { "/bin/sh", "-c", script, NULL }, *fallback_argv[] = { "/bin/false", NULL };
	const struct discovery_settings settings = { .argv = argv, .fallback_argv = fallback_argv,
						     .deadline_us = 60 * US_PER_S };
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *fabric;
	bool succeeded;
	int code = 0;

	snprintf(script, sizeof(script),
		 "printf 'ibwire-fabric 1\\nnode 1 1 1 0 0 0 0 1 0 0 0 0 -\\nend 1 0 7 0 0 0 0 7\\n'; %s", rest);
	assert_int_equal(discovery_create(&settings, clock, &discovery, NULL), 0);
	assert_int_equal(discovery_discoverer(discovery)->start(discovery, NULL, NULL, 0, NULL), 0);
	while (code == 0)
		code = discovery_discoverer(discovery)->step(discovery, 10, &fabric, &trailer, NULL);
	assert_int_equal(code, 1);
	assert_int_equal(fabric->node_count, 1);
	assert_int_equal(trailer.smps, 7);
	fabric_destroy(fabric);
	succeeded = discovery_end(discovery);
	destroy_logged(discovery);
	return succeeded;
}

/* A helper that writes records for another one that crashed or hangs. Also *err is set then. */
static int run_with_fallback(const char *first, const char *second, struct error *err)
{
	const char *argv[] = { "/bin/sh", "-c", first, NULL }, *fallback_argv[] = { "/bin/sh", "-c", second, NULL };
	const struct discovery_settings settings = { .argv = argv, .fallback_argv = fallback_argv,
						     .deadline_us = DEADLINE_US };
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *fabric = NULL;
	int code = 0;

	*err = (struct error){ 0 };
	assert_int_equal(discovery_create(&settings, &still_clock, &discovery, NULL), 0);
	assert_int_equal(discovery_discoverer(discovery)->start(discovery, NULL, NULL, 0, NULL), 0);
	while (code == 0) {
		if (strstr(discovery_messages(discovery), "hangs"))
			still_us += DEADLINE_US / 4;
		code = discovery_discoverer(discovery)->step(discovery, 10, &fabric, &trailer, err);
	}
	discovery_destroy(discovery);
	fabric_destroy(fabric);
	return code;
}

TEST(a_fallback_discovers_for_a_helper_that_failed)
{
#define RECORDS "printf 'ibwire-fabric 1\nnode 1 1 1 0 0 0 0 1 0 0 0 0 -\nend 1 0 7 0 0 0 0 7\n'"
	struct error err;

	assert_int_equal(run_with_fallback("kill -SEGV $$", RECORDS, &err), 1);
	assert_non_null(strstr(err.text, "libibnetdisc: discovery crashed"));
	assert_int_equal(run_with_fallback("echo it hangs >&2; exec sleep 20", RECORDS, &err), 1);
	assert_non_null(strstr(err.text, "deadline"));
	/* Its timeouts would add up. The clock of this test stands still: no deadline ends it. */
	assert_int_equal(run_with_fallback("seq 17 >&2; exec sleep 20", RECORDS, &err), 1);
	assert_non_null(strstr(err.text, "more than 16 SMPs had no response"));
	assert_int_equal(run_with_fallback("seq 16 >&2; " RECORDS, "exit 3", &err), 1);
	assert_string_equal(err.text, "");
	assert_int_equal(run_with_fallback(RECORDS, "exit 3", &err), 1);
	assert_string_equal(err.text, "");
	assert_int_equal(run_with_fallback("kill -SEGV $$", "echo no device >&2; exit 3", &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no device"));
}

/* Run a discovery to its end. Return: as the last step. */
static int run_discovery(struct discovery *discovery, const struct fabric *last, const struct explore_port *ports,
			 size_t count, struct fabric **ret, struct record_trailer *ret_trailer, struct error *err)
{
	int code = discovery_discoverer(discovery)->start(discovery, last, ports, count, err);

	*err = (struct error){ 0 };
	*ret = NULL;
	while (code == 0) {
		/* A caller that stops here frees it. */
		assert_null(*ret);
		code = discovery_discoverer(discovery)->step(discovery, 10, ret, ret_trailer, err);
	}
	return code;
}

TEST(the_last_topology_is_the_input_of_a_helper_that_needs_it)
{
#define LINES "ibwire-fabric 1\nnode 1 1 1 0 0 0 0 1 0 0 0 0 -\nend 1 0 0 0 0 0 0 0\n"
	static const char *const argv[] = { "/bin/sh", "-c", "echo $* >&2; cat >&2; printf '" LINES "'", "-", NULL };
	struct discovery_settings settings = { .argv = argv, .deadline_us = 60 * US_PER_S };
	const struct explore_port ports[] = { { 0xabc, 1 }, { 0x5, 0 } };
	struct discovery *discovery;
	struct record_trailer trailer;
	struct fabric *last = NULL;
	struct error err;

	assert_int_equal(discovery_create(&settings, &still_clock, &discovery, NULL), 0);
	for (int run = 0; run < 4; run++) {
		struct fabric *fabric;

		settings.pass_last = run == 3;
		assert_int_equal(run_discovery(discovery, last, ports, run == 1 ? 2 : 0, &fabric, &trailer,
					       &err), 1);
		assert_true(discovery_end(discovery));
		assert_string_equal(discovery_messages(discovery), run == 1 ? "--ports abc:1,5:0,\n" LINES
								   : run == 3 ? "\n" LINES : "\n");
		fabric_destroy(last);
		last = fabric;
	}
	fabric_destroy(last);
	discovery_destroy(discovery);
}

/* A switch whose port 1 has a link to an unidentified node; the same with that node, which has its name. */
#define SWITCH "ibwire-fabric 1\nnode 5 5 2 1 0 0 0 1 0 0 0 0 73\nport 0 5 1 0 0 4 5 2 0 0 8 0 0 0 0 0 0\n"
#define HOLED SWITCH "port 1 0 0 0 0 4 5 2 0 0 8 0 0 0 0 0 0\nend 1 2 7 0 0 0 0 7\n"
#define WHOLE SWITCH "port 1 0 0 0 0 4 5 2 0 0 8 0 0 0 6 1 0\n" \
	"node 6 6 1 1 0 0 0 0 0 0 0 0 73\nport 1 6 2 0 0 4 5 2 0 0 8 0 0 0 5 1 0\nend 2 3 7 0 0 0 0 7\n"

TEST(the_explorer_completes_a_result_of_libibnetdisc)
{
	static const char *const explorers[] = { "printf '" WHOLE "'", "printf '" HOLED "'", "exit 1" };
	static const char *const argv[] = { "/bin/sh", "-c", "printf '" HOLED "'", NULL };
	struct error err;

	for (size_t i = 0; i < 3; i++) {
		const char *const explorer[] = { "/bin/sh", "-c", explorers[i], NULL };
		struct discovery_settings settings = { .argv = argv, .fallback_argv = explorer,
						       .deadline_us = 60 * US_PER_S };
		struct record_trailer trailer;
		struct discovery *discovery;
		struct fabric *fabric;

		assert_int_equal(discovery_create(&settings, &still_clock, &discovery, NULL), 0);
		assert_int_equal(run_discovery(discovery, NULL, NULL, 0, &fabric, &trailer, &err), 1);
		assert_int_equal(fabric->node_count, i == 0 ? 2 : 1);
		assert_int_equal(trailer.smps, i < 2 ? 14 : 7);
		assert_int_equal(trailer.lost, i == 2);
		assert_int_equal(err.code, 0);
		assert_string_equal(err.text, i ? "" : "libibnetdisc and the explorer found different nodes or "
					      "links: s (0006)");
		fabric_destroy(fabric);
		discovery_destroy(discovery);
	}
}

TEST(a_helper_that_does_not_exit_after_its_output_is_killed)
{
	/* Without a kill its status would be 0. */
	assert_false(run_to_result(clock_system(), "exec >&-; exec sleep 50"));
	assert_non_null(strstr(logged, "did not exit"));
	assert_null(strstr(logged, "failed"));
	/* Without time limit. */
	assert_false(run_to_result(&still_clock, "exec >&-; exit 3"));
	assert_non_null(strstr(logged, "the discovery helper failed after it had reported its result"));
	assert_true(run_to_result(&still_clock, "exec >&-; exit 0"));
	/* The result is complete: SMPs without a response end nothing. */
	assert_true(run_to_result(&still_clock, "exec >&-; seq 20 >&2; sleep 0.2; exit 0"));
	assert_true(run_to_result(&still_clock, "exit 0"));
}
