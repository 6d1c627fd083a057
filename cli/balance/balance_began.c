/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_began.c - the start of an imbalance
 *
 * Searches backwards from the displayed window for the last window in which the group was active
 * and even; idle and missing windows are skipped. It covers ten windows of a minute and, with
 * stored sums, longer windows of the day before; the longer window with an even group is then
 * searched by minute. The first uneven minute and the one before it are searched in parts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/balance/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"

/* Number of groups whose start is searched (the worst), and time limit of the search. */
enum { GROUPS_MOST = 24, FINE_WINDOWS = 10, COARSE_FACTOR = 10, COARSE_WINDOWS = 144, TIME_MOST_MS = 2000 };

/* Number of parts of the first uneven window; at least one sweep each. */
enum { PARTS = 6 };

struct walk {
	struct balance_report *report;
	struct balance_load *loads;       /* by port of the fabric */
	struct balance_member *members;   /* room for the largest group */
	uint32_t *ports;                  /* ports of groups still searched */
	uint32_t results[GROUPS_MOST];
	bool open[GROUPS_MOST];           /* not found */
	bool ended[GROUPS_MOST];          /* in the current window */
	size_t count;
	int64_t give_up_us;               /* boot time */
};

static void add_port(struct walk *walk, uint32_t port, size_t *count)
{
	if (port != FABRIC_NONE)
		walk->ports[(*count)++] = port;
}

/* Members of the groups in @which, and their peers. */
static size_t list_ports(struct walk *walk, const bool *which)
{
	const struct shape *shape = walk->report->shape;
	size_t count = 0;
	uint32_t j;

	for (size_t i = 0; i < walk->count; i++) {
		const struct shape_group *group = &shape->groups[walk->report->balance.results[walk->results[i]].group];

		/* Both directions of a group share their ports. */
		for (j = 0; j < i; j++)
			if (which[j] && walk->report->balance.results[walk->results[j]].group == (uint32_t)
				(group - shape->groups))
				break;
		if (!which[i] || j < i)
			continue;
		for (j = 0; j < group->count; j++)
			add_port(walk, shape->members[group->first + j], &count);
	}
	return count;
}

/* Return: was any of @which active in this window; ended[] marks the even ones. */
static int look(struct walk *walk, const bool *which, int64_t since_us, int64_t until_us, bool round,
		struct error *err)
{
	struct balance_report *report = walk->report;
	struct balance_input input = { .shape = report->shape, .loads = walk->loads,
				       .window_us = (double)(until_us - since_us) };
	size_t count = list_ports(walk, which);
	int code = 0;

	memset(walk->ended, 0, sizeof(walk->ended));
	if (count)
		code = balance_read(report, since_us, until_us, round, walk->ports, count, walk->loads, err);
	for (size_t i = 0; code > 0 && i < walk->count; i++) {
		const struct balance_result *now = &report->balance.results[walk->results[i]];
		struct balance_result then;

		if (!which[i])
			continue;
		balance_measure(&input, report->limits, now->group, now->direction, walk->members, &then);
		walk->ended[i] = then.state == BALANCE_ACTIVE && !then.m;
		if (then.state == BALANCE_ACTIVE && then.m)
			report->began[walk->results[i]].wall_us = since_us;
	}
	return code < 0 ? code : 0;
}

static bool any(const struct walk *walk, const bool *which)
{
	for (size_t i = 0; i < walk->count; i++)
		if (which[i])
			return true;
	return false;
}

static void close_ended(struct walk *walk, bool *open)
{
	for (size_t i = 0; i < walk->count; i++) {
		if (!open[i] || !walk->ended[i])
			continue;
		open[i] = false;
		walk->report->began[walk->results[i]].earlier = false;
	}
}

static bool is_late(const struct walk *walk)
{
	return clock_boottime_us(clock_system()) > walk->give_up_us;
}

/* Search from @until_us back to @since_us. */
static int walk_fine(struct walk *walk, bool *open, int64_t since_us, int64_t until_us, int64_t step_us,
		     struct error *err)
{
	int code = 0;

	for (; code == 0 && until_us > since_us && any(walk, open) && !is_late(walk); until_us -= step_us) {
		code = look(walk, open, until_us - step_us, until_us, false, err);
		close_ended(walk, open);
	}
	return code;
}

/* The imbalance may have started within a longer window that was even in total. */
static int walk_coarse(struct walk *walk, int64_t until_us, int64_t oldest_us, struct error *err)
{
	int64_t step_us = COARSE_FACTOR * walk->report->window_us;
	int code = 0, i;

	for (i = 0; code == 0 && i < COARSE_WINDOWS && until_us > oldest_us && any(walk, walk->open) && !is_late(walk);
	     i++, until_us -= step_us) {
		bool ended[GROUPS_MOST];

		code = look(walk, walk->open, until_us - step_us, until_us, true, err);
		memcpy(ended, walk->ended, sizeof(ended));
		close_ended(walk, walk->open);
		if (code == 0)
			code = walk_fine(walk, ended, until_us - step_us, until_us, walk->report->window_us, err);
		for (size_t j = 0; j < walk->count; j++)
			if (!walk->open[j])
				walk->report->began[walk->results[j]].earlier = false;
	}
	return code;
}

/*
 * Find the first uneven part of the first uneven window, or of the one before it, which was even in
 * total and may have ended uneven. Groups without a start are skipped.
 */
static int refine(struct walk *walk, struct error *err)
{
	struct balance_report *report = walk->report;
	int64_t step_us = report->window_us / PARTS, interval_us = report->view.snapshot->sweep.interval_us;
	int code = 0;

	if (step_us < interval_us)
		step_us = interval_us;
	for (size_t i = 0; code == 0 && i < walk->count && 2 * step_us <= report->window_us; i++) {
		struct balance_began *began = &report->began[walk->results[i]];
		int64_t since_us = began->wall_us, until_us = since_us + report->window_us;
		bool one[GROUPS_MOST] = { false };

		if (walk->open[i] || is_late(walk))
			continue;
		one[i] = true;
		began->wall_us = 0;
		code = walk_fine(walk, one, since_us - report->window_us, until_us, step_us, err);
		if (!began->wall_us)
			began->wall_us = since_us;
	}
	return code;
}

static int make_room(struct walk *walk, struct error *err)
{
	const struct balance_report *report = walk->report;
	const struct fabric *fabric = report->view.fabric;
	uint32_t most = 1;

	for (size_t i = 0; i < report->shape->group_count; i++)
		most = report->shape->groups[i].count > most ? report->shape->groups[i].count : most;
	walk->loads = calloc(fabric->port_count + 1, sizeof(*walk->loads));
	walk->members = calloc(most, sizeof(*walk->members));
	walk->ports = calloc(fabric->port_count + 1, sizeof(*walk->ports));
	if (!walk->loads || !walk->members || !walk->ports)
		return err_nomem(err);
	return 0;
}

static void choose(struct walk *walk)
{
	struct balance_report *report = walk->report;

	for (size_t i = 0; i < report->shown_count && walk->count < GROUPS_MOST; i++) {
		const struct balance_result *result = &report->balance.results[report->shown[i]];

		if (result->state != BALANCE_ACTIVE || !result->m)
			continue;
		report->began[report->shown[i]] = (struct balance_began){ report->since_us, true };
		walk->open[walk->count] = true;
		walk->results[walk->count++] = report->shown[i];
	}
}

/* The minutes evaluated before. */
static void recall(struct walk *walk)
{
	struct balance_report *report = walk->report;

	for (size_t i = 0; i < walk->count; i++) {
		uint32_t result = walk->results[i];

		for (int window = 1; walk->open[i] && window < BALANCE_PAST_WINDOWS; window++) {
			walk->ended[i] = report->was_even[result] & 1u << window;
			if (walk->ended[i])
				close_ended(walk, walk->open);
			else if (report->was_uneven[result] & 1u << window)
				report->began[result].wall_us = report->until_us - (window + 1) * report->window_us;
		}
	}
}

int balance_find_began(struct balance_report *report, struct error *err)
{
	struct walk walk = { .report = report,
			     .give_up_us = clock_boottime_us(clock_system()) + TIME_MOST_MS * US_PER_MS };
	int64_t fine_us = report->since_us - FINE_WINDOWS * report->window_us;
	struct history_range range;
	int code;

	choose(&walk);
	/* The displayed window may be longer than the evaluated minutes. */
	if (!report->options.since_us) {
		recall(&walk);
		fine_us = report->until_us - BALANCE_PAST_WINDOWS * report->window_us;
	}
	if (!walk.count)
		return 0;
	code = make_room(&walk, err);
	if (code == 0)
		code = reader_history_range(report->view.reader, fine_us, report->since_us, &range, err);
	if (code == 0 && report->options.since_us)
		code = walk_fine(&walk, walk.open, range.oldest_us > fine_us ? range.oldest_us : fine_us,
				 report->since_us, report->window_us, err);
	if (code == 0 && range.oldest_us < fine_us)
		code = walk_coarse(&walk, fine_us, range.oldest_us, err);
	if (code == 0)
		code = refine(&walk, err);
	free(walk.loads);
	free(walk.members);
	free(walk.ports);
	return code;
}
