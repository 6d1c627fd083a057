/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_start.c - when the load of a group became uneven
 *
 * Searches backwards from the displayed window for the last window in which the group was active
 * and even; idle and missing windows are skipped. It covers ten windows of a minute and, with
 * stored sums, longer windows of the day before; the longer window with an even group is then
 * searched by minute. The first uneven minute and the one before it are searched in parts.
 */
#include "pages/balance.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "storage/reader.h"

int balance_read_loads(struct balance_report *report, int64_t since_us, int64_t until_us, bool round,
		      const uint32_t *ports, size_t count, struct balance_load *loads, struct error *err)
{
	const struct load_query query = {
		.since_us = since_us, .until_us = until_us, .round = round, .snapshot = report->moment.snapshot,
		.ports = ports, .port_count = count, .damage = &report->damage,
	};

	return reader_history_loads(report->moment.reader, &query, loads, err);
}

int balance_step_past(const struct balance_windows *windows, const struct balance_input *input,
		      struct balance_memory *memory, struct error *err)
{
	int64_t since_us = windows->until_us - windows->window_us;
	struct balance_input past = *input;
	struct balance balance;
	struct routes before;
	int code = reader_routes_before(windows->reader, since_us, windows->until_us, &before, err);

	past.routes = code == 0 && past.routes ? &before : NULL;
	past.loads = windows->loads;
	past.window_us = (double)windows->window_us;
	/* The last window is the displayed one. */
	for (int i = BALANCE_PAST_WINDOWS - 1; code >= 0 && i > 0; i--) {
		int64_t until_us = windows->until_us - i * windows->window_us;
		const struct load_query query = { .since_us = until_us - windows->window_us, .until_us = until_us,
						  .snapshot = windows->snapshot, .damage = windows->damage };

		code = reader_history_loads(windows->reader, &query, windows->loads, err);
		/* Of the tables before the displayed window something is known even if nothing is of their load. */
		if (code < 0 || (code == 0 && i > 1))
			continue;
		if (code == 0)
			memset(windows->loads, 0, windows->snapshot->fabric->port_count * sizeof(*windows->loads));
		code = balance_evaluate(&past, windows->limits, &balance, err);
		if (code < 0)
			break;
		for (size_t j = 0; j < balance.count && windows->was_even; j++) {
			const struct balance_result *result = &balance.results[j];

			if (result->state == BALANCE_ACTIVE)
				*(result->load_uneven ? &windows->was_uneven[j] : &windows->was_even[j]) |= 1u << i;
		}
		code = balance_memory_step(memory, past.shape, windows->limits, &balance, err);
		balance_done(&balance);
	}
	routes_done(&before);
	return code < 0 ? code : 0;
}

/* Number of groups whose start is searched (the worst), and time limit of the search. */
enum { GROUPS_MOST = 24, FINE_WINDOWS = 10, COARSE_FACTOR = 10, COARSE_WINDOWS = 144, TIME_MOST_MS = 2000 };

/* Number of parts of the first uneven window; at least one sweep each. */
enum { PARTS = 6 };

struct search {
	struct balance_report *report;
	struct balance_load *loads;       /* by port of the fabric */
	struct balance_member *members;   /* room for the largest group */
	uint32_t *ports;                  /* ports of groups still searched */
	uint32_t results[GROUPS_MOST];
	bool open[GROUPS_MOST];           /* not found */
	bool ended[GROUPS_MOST];          /* in the current window */
	size_t count;
	int64_t deadline_us;               /* boot time */
};

/* The group of a searched result. */
static uint32_t group_of(const struct search *search, size_t i)
{
	return search->report->balance.results[search->results[i]].group;
}

/* Members of the groups in @which. */
static size_t list_ports(struct search *search, const bool *which)
{
	const struct shape *shape = search->report->shape;
	size_t count = 0, j;

	for (size_t i = 0; i < search->count; i++) {
		const struct shape_group *group = &shape->groups[group_of(search, i)];

		/* Both directions of a group share their ports. */
		for (j = 0; j < i && !(which[j] && group_of(search, j) == group_of(search, i)); j++)
			;
		if (!which[i] || j < i)
			continue;
		memcpy(search->ports + count, shape->members + group->first, group->count * sizeof(*search->ports));
		count += group->count;
	}
	return count;
}

/* Return: was any of @which active in this window; ended[] marks the even ones. */
static int measure_window(struct search *search, const bool *which, int64_t since_us, int64_t until_us, bool round,
			  struct error *err)
{
	struct balance_report *report = search->report;
	struct balance_input input = { .shape = report->shape, .loads = search->loads,
				       .window_us = (double)(until_us - since_us) };
	size_t count = list_ports(search, which);
	int code = 0;

	memset(search->ended, 0, sizeof(search->ended));
	if (count)
		code = balance_read_loads(report, since_us, until_us, round, search->ports, count, search->loads, err);
	for (size_t i = 0; code > 0 && i < search->count; i++) {
		const struct balance_result *now = &report->balance.results[search->results[i]];
		struct balance_result then;

		if (!which[i])
			continue;
		balance_measure(&input, report->limits, now->group, now->direction, search->members, &then);
		search->ended[i] = then.state == BALANCE_ACTIVE && !then.load_uneven;
		if (then.state == BALANCE_ACTIVE && then.load_uneven)
			report->began[search->results[i]].wall_us = since_us;
	}
	return code < 0 ? code : 0;
}

static bool any(const struct search *search, const bool *which)
{
	for (size_t i = 0; i < search->count; i++)
		if (which[i])
			return true;
	return false;
}

static void close_ended(struct search *search, bool *open)
{
	for (size_t i = 0; i < search->count; i++) {
		if (!open[i] || !search->ended[i])
			continue;
		open[i] = false;
		search->report->began[search->results[i]].earlier = false;
	}
}

static bool is_out_of_time(const struct search *search)
{
	return clock_boottime_us(clock_system()) > search->deadline_us;
}

/* Search from @until_us back to @since_us. */
static int search_minutes(struct search *search, bool *open, int64_t since_us, int64_t until_us, int64_t step_us,
			  struct error *err)
{
	int code = 0;

	for (; code == 0 && until_us > since_us && any(search, open) && !is_out_of_time(search); until_us -= step_us) {
		code = measure_window(search, open, until_us - step_us, until_us, false, err);
		close_ended(search, open);
	}
	return code;
}

/* The imbalance may have started within a longer window that was even in total. */
static int search_day(struct search *search, int64_t until_us, int64_t oldest_us, struct error *err)
{
	int64_t step_us = COARSE_FACTOR * search->report->window_us;
	int code = 0, i;

	for (i = 0; code == 0 && i < COARSE_WINDOWS && until_us > oldest_us && any(search, search->open) &&
		    !is_out_of_time(search); i++, until_us -= step_us) {
		bool ended[GROUPS_MOST];

		code = measure_window(search, search->open, until_us - step_us, until_us, true, err);
		memcpy(ended, search->ended, sizeof(ended));
		close_ended(search, search->open);
		if (code == 0)
			code = search_minutes(search, ended, until_us - step_us, until_us, search->report->window_us,
					      err);
		for (size_t j = 0; j < search->count; j++)
			if (!search->open[j])
				search->report->began[search->results[j]].earlier = false;
	}
	return code;
}

/*
 * Find the first uneven part of the first uneven window, or of the one before it, which was even in
 * total and may have ended uneven. Groups without a start are skipped.
 */
static int refine(struct search *search, struct error *err)
{
	struct balance_report *report = search->report;
	int64_t step_us = report->window_us / PARTS, interval_us = report->moment.snapshot->sweep.interval_us;
	int code = 0;

	if (step_us < interval_us)
		step_us = interval_us;
	for (size_t i = 0; code == 0 && i < search->count && 2 * step_us <= report->window_us; i++) {
		struct balance_began *began = &report->began[search->results[i]];
		int64_t since_us = began->wall_us, until_us = since_us + report->window_us;
		bool one[GROUPS_MOST] = { false };

		if (search->open[i] || is_out_of_time(search))
			continue;
		one[i] = true;
		began->wall_us = 0;
		code = search_minutes(search, one, since_us - report->window_us, until_us, step_us, err);
		if (!began->wall_us)
			began->wall_us = since_us;
	}
	return code;
}

static int allocate(struct search *search, struct error *err)
{
	const struct balance_report *report = search->report;
	const struct fabric *fabric = report->moment.fabric;
	uint32_t most = 1;

	for (size_t i = 0; i < report->shape->group_count; i++)
		most = report->shape->groups[i].count > most ? report->shape->groups[i].count : most;
	search->loads = calloc(fabric->port_count + 1, sizeof(*search->loads));
	search->members = calloc(most, sizeof(*search->members));
	search->ports = calloc(fabric->port_count + 1, sizeof(*search->ports));
	if (!search->loads || !search->members || !search->ports)
		return err_nomem(err);
	return 0;
}

/* Earlier windows are evaluated with the current rates of links: those of a link that is slow now are not known. */
static bool has_slow_member(const struct shape *shape, const struct shape_group *group)
{
	for (uint32_t i = group->first; i < group->first + group->count; i++)
		if (link_is_degraded(shape, shape->members[i]))
			return true;
	return false;
}

static void choose_searched(struct search *search)
{
	struct balance_report *report = search->report;

	for (size_t i = 0; i < report->shown_count && search->count < GROUPS_MOST; i++) {
		const struct balance_result *result = &report->balance.results[report->shown[i]];

		if (result->state != BALANCE_ACTIVE || !result->load_uneven ||
		    has_slow_member(report->shape, &report->shape->groups[result->group]))
			continue;
		report->began[report->shown[i]] =
			(struct balance_began){ .wall_us = report->since_us, .earlier = true };
		search->open[search->count] = true;
		search->results[search->count++] = report->shown[i];
	}
}

/* The minutes evaluated before. */
static void apply_past_windows(struct search *search)
{
	struct balance_report *report = search->report;

	for (size_t i = 0; i < search->count; i++) {
		uint32_t result = search->results[i];

		for (int window = 1; search->open[i] && window < BALANCE_PAST_WINDOWS; window++) {
			search->ended[i] = report->was_even[result] & 1u << window;
			if (search->ended[i])
				close_ended(search, search->open);
			else if (report->was_uneven[result] & 1u << window)
				report->began[result].wall_us = report->until_us - (window + 1) * report->window_us;
		}
	}
}

int balance_find_starts(struct balance_report *report, struct error *err)
{
	struct search search = { .report = report,
			     .deadline_us = clock_boottime_us(clock_system()) + TIME_MOST_MS * US_PER_MS };
	int64_t fine_us = report->since_us - FINE_WINDOWS * report->window_us;
	struct history_range range;
	int code;

	choose_searched(&search);
	/* The displayed window may be longer than the evaluated minutes. */
	if (!report->window_chosen) {
		apply_past_windows(&search);
		fine_us = report->until_us - BALANCE_PAST_WINDOWS * report->window_us;
	}
	if (!search.count)
		return 0;
	code = allocate(&search, err);
	if (code == 0)
		code = reader_history_range(report->moment.reader, fine_us, report->since_us, &range, err);
	if (code == 0 && report->window_chosen)
		code = search_minutes(&search, search.open, range.oldest_us > fine_us ? range.oldest_us : fine_us,
				 report->since_us, report->window_us, err);
	if (code == 0 && range.oldest_us < fine_us)
		code = search_day(&search, fine_us, range.oldest_us, err);
	for (size_t i = 0; code == 0 && i < search.count; i++) {
		struct balance_began *began = &report->began[search.results[i]];

		/* The last window may begin before the first sweep. */
		if (began->wall_us < range.oldest_us)
			began->wall_us = range.oldest_us;
	}
	if (code == 0)
		code = refine(&search, err);
	free(search.loads);
	free(search.members);
	free(search.ports);
	return code;
}
