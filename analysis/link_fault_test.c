/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Simulated exchanges of cables: a part of a link is faulty, an operator exchanges cables between links and then moves
 * single ends of them. The model draws hours with errors for each link from the part that is faulty, and some for every
 * link; the verdict must name the part, or say that it is not known, but never name another one.
 */
#include <stdbool.h>
#include <string.h>

#include "analysis/link_fault.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

enum { LINKS = 5, PERIODS_MOST = 200, SWAPS = 300 };

/* Ids of parts: ports of the near side, of the far side, and cables. */
#define NEAR(i) (100 + (uint64_t)(i))
#define FAR(i) (200 + (uint64_t)(i))
#define CABLE(i) (300 + (uint64_t)(i))

static uint64_t state;

static double draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

static size_t below(size_t limit)
{
	return (size_t)(draw() * (double)limit);
}

struct site {
	size_t far[LINKS], cable[LINKS];       /* of each near port */
	struct link_period now[LINKS];         /* running periods */
	struct link_period done[PERIODS_MOST];
	size_t count;
	uint64_t faulty, also_faulty;          /* the second one: 0: none */
	double share;                          /* of hours in which a faulty part has errors */
};

static void begin_link(struct site *site, size_t link)
{
	struct link_period *period = &site->now[link];

	if (period->hours > 0)
		site->done[site->count++] = *period;
	*period = (struct link_period){ .parts = { NEAR(link), CABLE(site->cable[link]), FAR(site->far[link]) },
					.part_count = 3 };
}

static void begin_site(struct site *site)
{
	memset(site, 0, sizeof(*site));
	for (size_t i = 0; i < LINKS; i++) {
		site->far[i] = site->cable[i] = i;
		begin_link(site, i);
	}
}

/* Each link has an hour with errors by chance every few weeks. Load and temperature change the errors of a fault. */
static void run_site(struct site *site, double hours)
{
	double share = site->share * (0.6 + 0.8 * draw());

	for (double hour = 0; hour < hours; hour++) {
		for (size_t i = 0; i < LINKS; i++) {
			bool bad = draw() < 0.002;

			for (size_t part = 0; part < 3; part++)
				bad |= (site->now[i].parts[part] == site->faulty ||
					site->now[i].parts[part] == site->also_faulty) && draw() < share;
			site->now[i].hours++;
			site->now[i].bad_hours += bad;
		}
	}
}

static void swap(size_t *a, size_t *b)
{
	size_t kept = *a;

	*a = *b;
	*b = kept;
}

static void exchange_cables(struct site *site, size_t a, size_t b)
{
	swap(&site->cable[a], &site->cable[b]);
	begin_link(site, a);
	begin_link(site, b);
}

/* The far ends of both cables are exchanged. */
static void move_ends(struct site *site, size_t a, size_t b)
{
	swap(&site->far[a], &site->far[b]);
	begin_link(site, a);
	begin_link(site, b);
}

static struct link_fault judge(struct site *site)
{
	const uint64_t of[] = { NEAR(0), CABLE(0), FAR(0) };

	for (size_t i = 0; i < LINKS; i++)
		begin_link(site, i);
	return link_fault_find(site->done, site->count, of, 3);
}

/* Hours in which the faulty part has errors about 15 to 60 times: the operator waits until the result is clear. */
static double patience(const struct site *site)
{
	return (15 + 45 * draw()) / site->share;
}

/* A fault of link 0, an exchange of its cable with another one, and then of its far end. */
static struct link_fault play(struct site *site, uint64_t faulty, uint64_t also_faulty)
{
	begin_site(site);
	site->faulty = faulty;
	site->also_faulty = also_faulty;
	site->share = 0.03 + 0.6 * draw();
	run_site(site, patience(site));
	exchange_cables(site, 0, 1 + below(LINKS - 1));
	run_site(site, patience(site));
	/* Some operators stop when the errors are gone from their link. */
	if (faulty != CABLE(0) || draw() < 0.5) {
		move_ends(site, 0, 1 + below(LINKS - 1));
		run_site(site, patience(site));
	}
	return judge(site);
}

TEST(most_simulated_swaps_name_the_faulty_part_and_none_names_another)
{
	size_t right = 0, wrong = 0, unknown = 0, cases = (size_t)test_cases(SWAPS);
	static struct site site;

	state = 7;
	for (size_t i = 0; i < cases; i++) {
		const uint64_t parts[] = { NEAR(0), CABLE(0), FAR(0) };
		struct link_fault fault = play(&site, parts[i % 3], 0);

		if (fault.result != LINK_FAULT_FOUND)
			unknown++;
		else if (site.done[fault.period].parts[fault.part] == site.faulty)
			right++;
		else
			wrong++;
	}
	print_message("%zu swaps: %zu right, %zu wrong, %zu unknown\n", cases, right, wrong, unknown);
	assert_int_equal(wrong, 0);
	assert_true((double)right >= 0.95 * (double)cases);
}

TEST(of_two_faults_no_healthy_part_is_named)
{
	size_t wrong = 0, cases = (size_t)test_cases(SWAPS);
	static struct site site;

	state = 9;
	for (size_t i = 0; i < cases; i++) {
		const uint64_t parts[] = { NEAR(0), CABLE(0), FAR(0) };
		uint64_t other = 100 * (1 + below(3)) + below(LINKS), part;
		struct link_fault fault = play(&site, parts[i % 3], other);

		part = site.done[fault.period].parts[fault.part];
		wrong += fault.result == LINK_FAULT_FOUND && part != site.faulty && part != other;
	}
	assert_int_equal(wrong, 0);
}

TEST(without_an_exchange_no_part_is_named)
{
	static struct site site;
	struct link_fault fault;

	state = 11;
	begin_site(&site);
	site.faulty = FAR(0);
	site.share = 0.5;
	run_site(&site, 200);
	fault = judge(&site);
	assert_int_equal(fault.result, LINK_FAULT_SEVERAL);
	assert_int_equal(fault.suspects, 7);
	/* After an exchange of cables, errors that stay are of one of the ports. */
	exchange_cables(&site, 0, 3);
	run_site(&site, 200);
	fault = judge(&site);
	assert_int_equal(fault.result, LINK_FAULT_SEVERAL);
	assert_int_equal(fault.suspects, 5);
}

TEST(errors_that_end_without_an_exchange_name_no_part)
{
	const struct link_period periods[] = {
		{ { NEAR(0), CABLE(0), FAR(0) }, 3, 100, 50 }, { { NEAR(0), CABLE(0), FAR(0) }, 3, 100, 0 },
	};
	const uint64_t of[] = { CABLE(0) };

	assert_int_equal(link_fault_find(periods, 2, of, 1).result, LINK_FAULT_CONTRADICTS);
}

TEST(healthy_links_have_no_fault)
{
	const struct link_period periods[] = {
		{ { NEAR(0), CABLE(0), FAR(0) }, 3, 1000, 4 }, { { NEAR(1), CABLE(1), FAR(1) }, 3, 100, 90 },
	};
	const uint64_t of[] = { NEAR(0), CABLE(0), FAR(0) };

	assert_int_equal(link_fault_find(periods, 2, of, 3).result, LINK_FAULT_NONE);
}

TEST(a_period_that_is_too_short_tells_nothing)
{
	const struct link_period periods[] = {
		{ { NEAR(0), CABLE(0), FAR(0) }, 3, 100, 10 }, { { NEAR(1), CABLE(0), FAR(1) }, 3, 20, 0 },
		{ { NEAR(0), CABLE(1), FAR(0) }, 3, 20, 2 },
	};
	const uint64_t of[] = { CABLE(0) };
	struct link_fault fault = link_fault_find(periods, 3, of, 1);

	assert_int_equal(fault.result, LINK_FAULT_SEVERAL);
	assert_int_equal(fault.suspects, 7);
	assert_int_equal(fault.decided, 1);
}

TEST(two_transceivers_are_parts_of_their_own)
{
	/* Errors follow the second transceiver: 5. */
	const struct link_period periods[] = {
		{ { 1, 2, 5, 3 }, 4, 100, 40 }, { { 1, 2, 6, 3 }, 4, 100, 0 }, { { 7, 8, 5, 9 }, 4, 100, 30 },
	};
	const uint64_t of[] = { 1 };
	struct link_fault fault = link_fault_find(periods, 3, of, 1);

	assert_int_equal(fault.result, LINK_FAULT_FOUND);
	assert_int_equal(periods[fault.period].parts[fault.part], 5);
}
