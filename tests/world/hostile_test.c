/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile_test.c - a collector on a hostile fabric (hostile.h), restarted after some rounds
 *
 * IBWIRE_HOSTILE_SWEEPS is the number of sweeps, IBWIRE_WEEK_SWEEPS that of the week (0: none),
 * IBWIRE_HOSTILE_SEED the seed. A failure prints the seed, the sweep and the active disturbances;
 * IBWIRE_HOSTILE_TRACE prints each of them as it begins and ends.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/test/test_folder.h"
#include "tests/world/hostile.h"

/* Rounds until the collector restarts; sweeps. */
enum { ROUNDS_OF_RUN = 4, USUAL_SWEEPS = 12 * ROUND, WEEK_SWEEPS = 4 * ROUND };

/* Events per disturbance, on average: a renumbering of all LIDs alone has one for each node. */
enum { EVENTS_EACH = 40 };

struct hostile *hostile;
static uint64_t seed;

static int stop_hostile(void **state)
{
	(void)state;
	if (!hostile)
		return 0;
	print_message("# seed %" PRIu64 ", sweep %" PRIu64 "\n", seed, hostile->sweep);
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (hostile->active[i].what)
			hostile_print(hostile->active[i].since, &hostile->active[i], "is active");
	hostile = NULL;
	return 0;
}

static uint64_t number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : usual;
}

static void start_hostile(struct hostile *h)
{
	struct lab *lab = h->lab = lab_create(seed);
	struct virtual *world = lab->run.world;

	hostile = h;
	h->random = seed;
	h->trace = getenv("IBWIRE_HOSTILE_TRACE") != NULL;
	lab->traffic = false;
	lab->before_sweep = hostile_before_sweep;
	for (uint32_t i = 0; i < world->built->port_count; i++) {
		h->was_up[world->built->ports[i].node][world->built->ports[i].num] = true;
		/* FEC counters are equal on all ports; otherwise a duplicate GUID would keep a finding open for hours. */
		for (int attribute = 0; attribute < DETAIL_EXTENDED_SPEEDS; attribute++)
			for (int number = 0; number < DETAIL_MAX; number++)
				world->counters[i].details[attribute][number] = random_below(h, 1000);
	}
	hostile_wrap_wires(h);
	h->lab_sink = lab->sink;
	lab->sink.store = hostile_store;
}

/* Run until the number of sweeps is reached. Return: the number of sums of a week that were compared. */
static uint64_t run_hostile(struct hostile *h, uint64_t wanted)
{
	uint64_t begun = 0, sums = 0;

	while (h->sweep < wanted) {
		h->lab->event_count = 0;
		h->last_start_us = 0;
		if (h->week)
			hostile_week_open(h);
		lab_run(h->lab, ROUNDS_OF_RUN * ROUND);
		if (!h->week)
			continue;
		sums = hostile_week_close(h);
		/* Without SQLite's caches and the thread that packs. */
		hostile_measure_heap(h);
	}
	hostile_check_heap(h);
	for (size_t i = 0; i < DISTURBANCES; i++)
		begun += h->begun[i];
	assert_true(h->events <= EVENTS_EACH * begun);
	hostile = NULL;
	lab_destroy(h->lab);
	return sums;
}

TEST_WITH(a_hostile_fabric_disturbs_neither_sums_nor_findings_nor_memory, NULL, stop_hostile)
{
	static struct hostile h;
	char checked[160];

	seed = number("IBWIRE_HOSTILE_SEED", 1);
	start_hostile(&h);
	run_hostile(&h, number("IBWIRE_HOSTILE_SWEEPS", test_cases(USUAL_SWEEPS)));
	for (size_t i = 0; i < DISTURBANCES && h.sweep >= USUAL_SWEEPS; i++)
		assert_true(h.begun[i]);
	for (size_t i = 0; i < DISTURBANCES && h.sweep && getenv("IBWIRE_RELIABILITY"); i++)
		printf("RELIABILITY\tvirtual fabric: %s\t%" PRIu64 "\tdeltas, findings, recovery\t0 failures\n",
		       hostile_disturbances[i].name, h.begun[i]);
	snprintf(checked, sizeof(checked), "%" PRIu64 " deltas against the counters, %" PRIu64
		 " open findings against their causes, heap, %" PRIu64 " events", h.deltas, h.findings_seen, h.events);
	if (h.sweep)
		reliability_report("virtual fabric: all of these", h.sweep, "sweeps", checked);
}

static int stop_week(void **state)
{
	stop_hostile(state);
	return test_folder_remove(state);
}

TEST_WITH(a_hostile_week_is_stored_exactly, test_folder_make, stop_week)
{
	static struct hostile h;
	char checked[160];
	uint64_t sums;

	seed = number("IBWIRE_HOSTILE_SEED", 1) + 1000;
	start_hostile(&h);
	hostile_week_begin(&h);
	h.lab->run.settings.routes_interval_us = 60 * US_PER_S;
	sums = run_hostile(&h, number("IBWIRE_WEEK_SWEEPS", test_cases(WEEK_SWEEPS)));
	snprintf(checked, sizeof(checked), "%" PRIu64 " sums of days and of all, size, heap, %" PRIu64
		 " missed sweeps reported", sums, h.missed);
	if (h.sweep)
		reliability_report("a week in virtual time, stored", h.sweep, "sweeps", checked);
}
