/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.c - `ibwire balance`: load distribution over equivalent links */
#include "cli/balance/balance.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/group.h"
#include "storage/findings.h"
#include "storage/reader.h"

/*
 * The load of ports in (@since_us, @until_us]
 * @round:  align the window to stored sums
 * @ports:  @count port indices, or NULL: all ports with counters and a peer
 * @loads:  by port of the fabric; set for the selected ports
 * Return: 1; 0 without a sweep in the window; ERR_IO, ERR_NOMEM.
 */
static int read_loads(struct balance_report *report, int64_t since_us, int64_t until_us, bool round,
		      const uint32_t *ports, size_t count, struct balance_load *loads, struct error *err)
{
	const struct load_query query = {
		.since_us = since_us, .until_us = until_us, .round = round, .snapshot = report->view.snapshot,
		.ports = ports, .port_count = count, .damage = &report->damage,
	};

	return reader_history_loads(report->view.reader, &query, loads, err);
}

const struct shape_group *balance_group_of(const struct balance_report *report, const struct balance_result *result)
{
	return &report->shape->groups[result->group];
}

bool balance_is_ascii(const struct balance_report *report)
{
	return report->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

/*
 * --- the start of an imbalance ---
 *
 * Searches backwards from the displayed window for the last window in which the group was active
 * and even; idle and missing windows are skipped. It covers ten windows of a minute and, with
 * stored sums, longer windows of the day before; the longer window with an even group is then
 * searched by minute. The first uneven minute and the one before it are searched in parts.
 */

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
		code = read_loads(report, since_us, until_us, round, search->ports, count, search->loads, err);
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
	int64_t step_us = report->window_us / PARTS, interval_us = report->view.snapshot->sweep.interval_us;
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
	const struct fabric *fabric = report->view.fabric;
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

static void choose_searched(struct search *search)
{
	struct balance_report *report = search->report;

	for (size_t i = 0; i < report->shown_count && search->count < GROUPS_MOST; i++) {
		const struct balance_result *result = &report->balance.results[report->shown[i]];

		/* Earlier windows are evaluated with the current rates of links: they cannot date a degraded link. */
		if (result->state != BALANCE_ACTIVE || !result->load_uneven || result->cause == BALANCE_DEGRADED_MEMBER)
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

static int find_began(struct balance_report *report, struct error *err)
{
	struct search search = { .report = report,
			     .deadline_us = clock_boottime_us(clock_system()) + TIME_MOST_MS * US_PER_MS };
	int64_t fine_us = report->since_us - FINE_WINDOWS * report->window_us;
	struct history_range range;
	int code;

	choose_searched(&search);
	/* The displayed window may be longer than the evaluated minutes. */
	if (!report->options.since_us) {
		apply_past_windows(&search);
		fine_us = report->until_us - BALANCE_PAST_WINDOWS * report->window_us;
	}
	if (!search.count)
		return 0;
	code = allocate(&search, err);
	if (code == 0)
		code = reader_history_range(report->view.reader, fine_us, report->since_us, &range, err);
	if (code == 0 && report->options.since_us)
		code = search_minutes(&search, search.open, range.oldest_us > fine_us ? range.oldest_us : fine_us,
				 report->since_us, report->window_us, err);
	if (code == 0 && range.oldest_us < fine_us)
		code = search_day(&search, fine_us, range.oldest_us, err);
	if (code == 0)
		code = refine(&search, err);
	free(search.loads);
	free(search.members);
	free(search.ports);
	return code;
}

/*
 * Take start and cause of an open finding about a group: the time of a table change is more precise than the load, and
 * the collector evaluated more windows.
 */
static bool take_finding(void *ctx, const struct finding_row *row)
{
	struct balance_report *report = ctx;
	const struct finding *finding = &row->finding;

	for (size_t i = 0; i < report->shown_count; i++) {
		struct balance_began *began = &report->began[report->shown[i]];

		if (!group_has_finding(report->shape, &report->balance.results[report->shown[i]], finding))
			continue;
		snprintf(began->cause, sizeof(began->cause), "%s", finding->cause);
		if (!began->wall_us || finding->ok_since_us)
			continue;
		began->wall_us = finding->since_us;
		began->earlier = false;
	}
	return true;
}

/* --- the command --- */

static int parse(const struct command *command, int argc, char **argv, struct balance_report *ret, struct error *err)
{
	const struct option_spec specs[] = {
		OPT_FLAG("all", 'a', &ret->all, "include idle and even groups, and all members"),
		OPT_TEXT("columns", 'c', "LIST", &ret->chosen, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &ret->sort, COLUMNS_SORT_HELP),
		OPT_FLAG("rails", 0, &ret->rails, "compare rails of hosts, spines and planes"),
		OPT_FLAG("ascii", 0, &ret->ascii, "draw bars in ASCII"),
		OPT_TEXT("settings", 0, "FILE", &ret->settings_path, "settings file (/etc/ibwire/ibwire.conf)"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &ret->options,
				 err);

	if (code == 0 && ret->rails && ret->options.argc)
		return options_usage_error(command, err, "--rails covers the whole fabric and does not take "
			"NODE");
	if (code == 0 && ret->rails && (ret->chosen || ret->sort))
		return options_usage_error(command, err, "--rails and --%s are mutually exclusive",
					   ret->chosen ? "columns" : "sort");
	return code ? code : balance_choose_columns(command, &ret->options, ret->chosen, ret->sort, &ret->columns,
						     err);
}

static int nothing_read(struct error *err)
{
	return err_set(err, ERR_UNAVAILABLE, "no samples in the window: 'ibwire db' shows the stored time range");
}

/* The window ends with the newest sweep or at the selected time. */
static int find_window(struct balance_report *report, struct error *err)
{
	const struct sweep_info *sweep = &report->view.snapshot->sweep;
	const struct options *options = &report->options;

	report->window_us = balance_window_us(report->limits, sweep->interval_us);
	report->until_us = sweep->wall_us;
	report->since_us = options->since_us ? options->since_us : report->until_us - report->window_us;
	if (report->since_us >= report->until_us)
		return nothing_read(err);
	return 0;
}

/* Missing forwarding tables are not an error: there is no prediction then. */
static int read_routes(struct balance_report *report, struct error *err)
{
	int code = reader_routes(report->view.reader, report->until_us, &report->routes, err);

	if (code < 0)
		return code;
	report->routes_known = report->routes.count > 0;
	return 0;
}

/*
 * Feed the windows before: members that stay the busiest, and groups that spread load despite
 * uneven tables.
 */
static int step_past(struct balance_report *report, struct balance_memory *memory, struct error *err)
{
	struct balance_input input = {
		.shape = report->shape, .routes = report->routes_known ? &report->routes : NULL,
		.loads = report->loads, .adaptive = report->adaptive, .window_us = (double)report->window_us,
	};
	int code = 0;

	report->was_even = calloc(2 * report->shape->group_count + 1, sizeof(*report->was_even));
	report->was_uneven = calloc(2 * report->shape->group_count + 1, sizeof(*report->was_uneven));
	if (!report->was_even || !report->was_uneven)
		return err_nomem(err);
	/* The last window is the displayed one. */
	for (int i = BALANCE_PAST_WINDOWS - 1; code >= 0 && i > 0; i--) {
		int64_t until_us = report->until_us - i * report->window_us;

		code = read_loads(report, until_us - report->window_us, until_us, false, NULL, 0, report->loads,
				    err);
		if (code <= 0)
			continue;
		code = balance_evaluate(&input, report->limits, &report->balance, err);
		if (code < 0)
			break;
		for (size_t j = 0; j < report->balance.count; j++) {
			const struct balance_result *result = &report->balance.results[j];

			if (result->state == BALANCE_ACTIVE)
				*(result->load_uneven ? &report->was_uneven[j] : &report->was_even[j]) |= 1u << i;
		}
		code = balance_memory_step(memory, report->shape, report->limits, &report->balance, err);
		balance_done(&report->balance);
	}
	return code < 0 ? code : 0;
}

static int evaluate(struct balance_report *report, struct error *err)
{
	struct balance_memory *memory = balance_memory_create();
	struct balance_input input = {
		.shape = report->shape, .routes = report->routes_known ? &report->routes : NULL,
		.loads = report->loads, .adaptive = report->adaptive,
		.window_us = (double)(report->until_us - report->since_us),
	};
	int code = memory ? 0 : err_nomem(err);

	if (code == 0 && !report->rails)
		code = step_past(report, memory, err);
	if (code == 0)
		code = read_loads(report, report->since_us, report->until_us, false, NULL, 0, report->loads, err);
	if (code == 0)
		code = nothing_read(err);
	if (code > 0)
		code = balance_evaluate(&input, report->limits, &report->balance, err);
	if (code == 0)
		code = balance_memory_step(memory, report->shape, report->limits, &report->balance, err);
	balance_memory_destroy(memory);
	return code;
}

/* A group is selected by its switch or one of its ports. */
static bool is_selected(const struct balance_report *report, const struct balance_result *result)
{
	const struct shape_group *group = balance_group_of(report, result);

	for (uint32_t i = 0; i < group->count; i++)
		if (selection_has_port(&report->selection, report->shape->members[group->first + i]))
			return true;
	return false;
}

static int choose_shown(struct balance_report *report, struct error *err)
{
	report->shown = calloc(report->balance.count + 1, sizeof(*report->shown));
	report->began = calloc(report->balance.count + 1, sizeof(*report->began));
	if (!report->shown || !report->began)
		return err_nomem(err);
	for (size_t i = 0; i < report->balance.count; i++) {
		const struct balance_result *result = &report->balance.results[i];

		if (!balance_is_of_interest(report->shape, result) || !is_selected(report, result))
			continue;
		if (report->all || !report->selection.all || balance_is_reported(result))
			report->shown[report->shown_count++] = (uint32_t)i;
		else if (result->state == BALANCE_ACTIVE)
			report->fine++;
		else if (result->state == BALANCE_IDLE)
			report->idle++;
		else
			report->unknown++;
	}
	qsort_r(report->shown, report->shown_count, sizeof(*report->shown), balance_compare, &report->balance);
	return 0;
}

static int report_groups(struct balance_report *report, struct error *err)
{
	int code = choose_shown(report, err);

	if (code == 0)
		code = find_began(report, err);
	if (code == 0)
		code = reader_findings(report->view.reader, &(struct finding_query){ .at_us = report->until_us },
				       take_finding, report, err);
	if (code == 0)
		code = report->options.format == RESULT_TABLE && !report->chosen && !report->sort ?
		       balance_print(report, err) : balance_data(report, err);
	return code;
}

static int report_all(struct balance_report *report, struct error *err)
{
	int code = moment_select(&report->view, report->options.argv, report->options.argc, &report->selection, err);

	if (code < 0)
		return code;
	report->limits = &report->settings.health.balance;
	code = settings_load(report->settings_path, &report->settings, err);
	if (code == 0)
		code = find_window(report, err);
	if (code == 0)
		report->loads = calloc(report->view.fabric->port_count + 1, sizeof(*report->loads));
	if (code == 0 && !report->loads)
		code = err_nomem(err);
	if (code == 0)
		code = shape_create(report->view.fabric, &report->settings.shape, &report->shape, err);
	if (code == 0)
		code = balance_adaptive_create(&report->settings.shape, report->view.fabric, &report->adaptive, err);
	if (code == 0)
		code = read_routes(report, err);
	if (code == 0)
		code = evaluate(report, err);
	if (code == 0)
		code = report->rails ? balance_rails(report, err) : report_groups(report, err);
	options_warn_damage(report->damage.count, report->damage.first);
	selection_done(&report->selection);
	return code;
}

static void done(struct balance_report *report)
{
	settings_done(&report->settings);
	free(report->adaptive);
	balance_done(&report->balance);
	routes_done(&report->routes);
	shape_destroy(report->shape);
	free(report->loads);
	free(report->began);
	free(report->was_even);
	free(report->was_uneven);
	free(report->shown);
	columns_done(&report->columns);
	moment_done(&report->view);
}

int balance_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct balance_report report = { 0 };
	struct options then;
	int code = parse(command, argc, argv, &report, err);

	if (code)
		return code < 0 ? code : 0;
	/* The fabric at the end of the window; loads are read per window. */
	then = report.options;
	then.at_us = then.until_us ? then.until_us : then.at_us;
	then.since_us = then.until_us = 0;
	code = options_open_moment(&then, false, &report.view, err);
	if (code < 0) {
		columns_done(&report.columns);
		return code;
	}
	code = report_all(&report, err);
	done(&report);
	return code;
}
