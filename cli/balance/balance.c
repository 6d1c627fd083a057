/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.c - `ibwire balance`: load distribution over equivalent links */
#include "cli/balance/balance.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/command.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"

int balance_read(struct balance_report *report, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err)
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

static int parse(const struct command *command, int argc, char **argv, struct balance_report *ret, struct error *err)
{
	const struct option_spec specs[] = {
		{ .name = "all", .letter = 'a', .kind = OPTION_FLAG,
		  .help = "include idle and even groups, and all members", .target = &ret->all },
		{ .name = "rails", .kind = OPTION_FLAG, .help = "compare rails of hosts, spines and planes",
		  .target = &ret->rails },
		{ .name = "ascii", .kind = OPTION_FLAG, .help = "draw bars in ASCII", .target = &ret->ascii },
		{ .name = "settings", .kind = OPTION_TEXT, .argument = "FILE",
		  .help = "settings file (/etc/ibwire/ibwire.conf)",
		  .target = &ret->settings_path },
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &ret->options,
				 err);

	if (code == 0 && ret->rails && ret->options.argc)
		return options_usage_error(command, err, "--rails covers the whole fabric and does not take "
			"NODE");
	return code;
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

	report->window_us = balance_window_us(sweep->interval_us);
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

		code = balance_read(report, until_us - report->window_us, until_us, false, NULL, 0, report->loads,
				    err);
		if (code <= 0)
			continue;
		code = balance_evaluate(&input, report->limits, &report->balance, err);
		if (code < 0)
			break;
		for (size_t j = 0; j < report->balance.count; j++) {
			const struct balance_result *result = &report->balance.results[j];

			if (result->state == BALANCE_ACTIVE)
				*(result->m ? &report->was_uneven[j] : &report->was_even[j]) |= 1u << i;
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
		code = balance_read(report, report->since_us, report->until_us, false, NULL, 0, report->loads, err);
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
		code = balance_find_began(report, err);
	if (code == 0)
		code = report->options.format == RESULT_TABLE ? balance_print(report, err) : balance_data(report, err);
	return code;
}

static int report_all(struct balance_report *report, struct error *err)
{
	int code = selection_init(&report->selection, report->view.fabric, report->options.argv, report->options.argc,
				  err);

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
	view_warn_damage(report->damage.count, report->damage.first);
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
	view_done(&report->view);
}

int balance_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct balance_report report = { .command = command };
	struct options then;
	int code = parse(command, argc, argv, &report, err);

	if (code)
		return code < 0 ? code : 0;
	/* The fabric at the end of the window; loads are read per window. */
	then = report.options;
	then.at_us = then.until_us ? then.until_us : then.at_us;
	then.since_us = then.until_us = 0;
	code = view_open(&then, false, &report.view, err);
	if (code < 0)
		return code;
	code = report_all(&report, err);
	done(&report);
	return code;
}
