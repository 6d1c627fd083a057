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

/* Sweeps until the collector restarts; of the last collector of the long forms (a week); of the usual forms. */
enum { RUN = 4 * ROUND, LAST_RUN = 135 * ROUND, USUAL_SWEEPS = 12 * ROUND, WEEK_SWEEPS = 4 * ROUND };

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
		const struct port *port = &world->built->ports[i];

		h->was_up[port->node][port->num] = true;
		for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
			if (!hostile_is_equal(port->node, (enum counter)counter))
				world->counters[i].value[counter] =
					random_below(h, 1u << (counter_info((enum counter)counter)->narrow_bits / 2));
		/* FEC counters are equal on all ports (hostile_is_equal). */
		for (int attribute = 0; attribute < DETAIL_EXTENDED_SPEEDS; attribute++)
			for (int number = 0; number < DETAIL_MAX; number++)
				world->counters[i].details[attribute][number] = random_below(h, 1000);
	}
	hostile_wrap_wires(h);
	h->lab_sink = lab->sink;
	lab->sink.store = hostile_store;
}

static void run_collector(struct hostile *h, uint64_t sweeps)
{
	h->last_start_us = 0;
	if (h->week)
		hostile_week_open(h);
	lab_run(h->lab, sweeps);
	if (h->week)
		hostile_week_close(h);
}

/* Run until the number of sweeps is reached. The last collector runs longest: memory may not grow within it either. */
static void run_hostile(struct hostile *h, uint64_t wanted)
{
	uint64_t last = wanted > LAST_RUN ? LAST_RUN : wanted / 4, begun = 0;

	while (h->sweep + last < wanted)
		run_collector(h, RUN);
	if (last)
		run_collector(h, last);
	hostile_check_heap(h);
	for (size_t i = 0; i < DISTURBANCES; i++)
		begun += h->begun[i];
	assert_true(h->events <= EVENTS_EACH * begun);
	hostile = NULL;
	lab_destroy(h->lab);
}

/* Cases are those in which a required finding was verified, where there is one. */
static void report_disturbance(const struct hostile *h, size_t index)
{
	const struct disturbance *what = &hostile_disturbances[index];
	struct text checked = { 0 };
	char name[80];

	snprintf(name, sizeof(name), "Hostile fabric: %s", what->name);
	for (unsigned kind = 0; kind < FINDING_KIND_COUNT; kind++)
		if (what->required & UINT64_C(1) << kind)
			text_appendf(&checked, "%s%s", checked.len ? " or " : "reported: ",
				    finding_kind_name((enum finding_kind)kind));
	text_appendf(&checked, "%sdeltas, recovery%s", checked.len ? "; " : "",
		    what->findings == UINT64_MAX ? "" : ", no unjustified finding");
	reliability_report(name, what->required ? h->verified[index] : h->begun[index], "times", text_chars(&checked));
	assert_true((what->required ? h->verified[index] : h->begun[index]) || h->sweep < LAST_RUN);
	text_done(&checked);
}

static void report_all(const struct hostile *h)
{
	static const char name[] = "Hostile fabric: all together";

	assert_true(h->late || h->sweep < LAST_RUN);
	reliability_report(name, h->sweep, "sweeps", "the heap of a collector does not grow in a week");
	reliability_report(name, h->deltas, "deltas other than 0", "equal to the changes of the counters");
	reliability_report(name, h->findings_seen, "open findings, in all sweeps", "consequences of a disturbance");
	reliability_report(name, h->events, "events", "at most 40 per disturbance on average");
	reliability_report(name, h->late, "late sweeps", "an event reports the first of consecutive ones");
}

TEST_WITH(a_hostile_fabric_disturbs_neither_sums_nor_findings_nor_memory, NULL, stop_hostile)
{
	static struct hostile h;
	size_t missing = 0;

	seed = number("IBWIRE_HOSTILE_SEED", 1);
	start_hostile(&h);
	run_hostile(&h, number("IBWIRE_HOSTILE_SWEEPS", test_cases(USUAL_SWEEPS)));
	for (size_t i = 0; i < DISTURBANCES; i++)
		missing += !h.begun[i];
	/* Which of them occur in the usual form depends on the number of MADs. */
	assert_true(missing <= 3 || h.sweep < USUAL_SWEEPS);
	for (size_t i = 0; i < DISTURBANCES && h.sweep; i++)
		report_disturbance(&h, i);
	if (h.sweep)
		report_all(&h);
}

static int stop_week(void **state)
{
	stop_hostile(state);
	return test_folder_remove(state);
}

TEST_WITH(a_hostile_week_is_stored_exactly, test_folder_make, stop_week)
{
	static const char name[] = "Hostile fabric for a week, stored";
	static struct hostile h;

	seed = number("IBWIRE_HOSTILE_SEED", 1) + 1000;
	start_hostile(&h);
	hostile_week_begin(&h);
	h.lab->run.settings.routes_interval_us = 60 * US_PER_S;
	run_hostile(&h, number("IBWIRE_WEEK_SWEEPS", test_cases(WEEK_SWEEPS)));
	if (!h.sweep)
		return;
	assert_true(hostile_week_sums() > 0);
	reliability_report(name, h.sweep, "sweeps", "size of the database; the heap of one collector does not grow");
	reliability_report(name, hostile_week_sums(), "sums",
			   "of each day and of all: equal, and known for the same counters");
}
