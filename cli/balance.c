/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.c - `ibwire balance`: load distribution over equivalent links */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/pkeys.h"
#include "fabric/shape.h"
#include "facts/group_columns.h"
#include "facts/service_levels.h"
#include "pages/balance.h"
#include "pages/service_levels.h"
#include "pages/tenant.h"
#include "storage/findings.h"
#include "storage/history.h"
#include "storage/reader.h"

struct balance_command {
	struct options options;
	const char *chosen, *sort;    /* --columns, --sort; NULL: without it */
	const char *settings_path;    /* NULL: the default */
	struct columns columns;       /* of rows */
	struct settings settings;
	struct balance_settings limits;
	bool rails;
	struct option_list hosts;     /* --hosts; none: no tenant */
	const char *partition;        /* --partition, or NULL */
	const char *by;               /* --by, or NULL */
	struct balance_report report;
};

static bool has_tenant(const struct balance_command *of)
{
	return of->hosts.count || of->partition;
}

/* --- rows: JSON and CSV, or a table with --columns or --sort: one per member --- */

static const struct column_source group_source = { .columns = group_columns };
static const struct column_list group_list = { .sources = &group_source, .source_count = 1 };

static int choose_columns(const struct command *command, struct balance_command *of, struct error *err)
{
	/* The sections of groups have no order of rows. */
	const char *chosen = of->chosen || !of->sort || of->options.format != RESULT_TABLE ? of->chosen :
			     "node,group,group_peer,direction,cause,excess_percent,port,peer,utilization_percent,"
			     "stall_percent";

	return columns_create(command, &of->options, &group_list, chosen, of->sort, &of->columns, err);
}

static int print_rows(const struct balance_command *of, struct error *err)
{
	const struct balance_report *report = &of->report;
	struct result *table = columns_begin(&of->options, &of->columns);

	for (size_t i = 0; i < report->shown_count; i++) {
		uint32_t index = report->shown[i];
		const struct balance_result *result = &report->balance.results[index];
		struct group_facts facts = {
			.fabric = report->moment.fabric, .group = balance_group_of(report, result), .result = result,
			.since_us = report->since_us, .until_us = report->until_us,
			.uneven_since_us = report->began[index].wall_us, .uneven_earlier = report->began[index].earlier,
		};

		for (; facts.nth < facts.group->count; facts.nth++) {
			result_fill(table, &facts);
			result_end_row(table);
		}
	}
	result_none(table, "no uneven group; --all shows the others");
	return output_end(table, 0, err);
}

/* --- the report --- */

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

/* --- a tenant --- */

static int nothing_read(struct error *err)
{
	return err_set(err, ERR_UNAVAILABLE, "no samples in the window: 'ibwire db' shows the stored time range");
}

static int check_tenant(const struct command *command, const struct balance_command *of, struct error *err)
{
	if (of->hosts.count && of->partition)
		return options_usage_error(command, err, "--hosts and --partition are mutually exclusive");
	if (of->by && strcmp(of->by, "sl"))
		return options_usage_error(command, err, "--by requires sl: the load by service level");
	if (of->by && (has_tenant(of) || of->rails || of->chosen || of->sort))
		return options_usage_error(command, err, "--by and --%s are mutually exclusive",
					   of->partition ? "partition" : of->hosts.count ? "hosts" :
					   of->rails ? "rails" : of->chosen ? "columns" : "sort");
	if (has_tenant(of) && (of->rails || of->chosen || of->sort))
		return options_usage_error(command, err, "--%s and --%s are mutually exclusive",
					   of->partition ? "partition" : "hosts",
					   of->rails ? "rails" : of->chosen ? "columns" : "sort");
	return 0;
}

/* "0x0012", or with the bit of full members: "0x8012" */
static int parse_partition(const char *typed, uint16_t *ret, struct error *err)
{
	char *end;
	unsigned long key = strtoul(typed, &end, 16);

	if (end == typed || *end || key > UINT16_MAX || !(key & PKEY_BASE))
		return err_set(err, ERR_USAGE, "--partition requires a P_Key in hexadecimal, such as 0x0012, not "
			       "'%.32s'", typed);
	*ret = (uint16_t)(key & PKEY_BASE);
	return 0;
}

static int find_partition(struct balance_command *of, struct tenant_load *tenant, struct text *name, struct error *err)
{
	struct moment *moment = &of->report.moment;
	uint16_t base = 0;
	int code = parse_partition(of->partition, &base, err);

	if (code == 0)
		code = moment_load_pkeys(moment, err);
	if (code == 0)
		code = tenant_of_partition(tenant, of->report.shape, &moment->pkeys, base, err);
	text_appendf(name, "partition 0x%04x", base);
	return code;
}

enum { TENANT_NAMES = 4 };

static int find_hosts(struct balance_command *of, struct tenant_load *tenant, struct text *name, struct error *err)
{
	struct host_set hosts = { 0 };
	int code = 0;

	for (size_t i = 0; code == 0 && i < of->hosts.count; i++)
		code = options_add_hosts(&hosts, of->hosts.items[i], err);
	if (code == 0)
		code = tenant_of_hosts(tenant, of->report.shape, &hosts, err);
	if (code == 0) {
		host_set_sort(&hosts);
		if (host_names_fold((const char *const *)hosts.names, hosts.count, TENANT_NAMES, name) < hosts.count)
			text_append(name, ", ...");
	}
	host_set_done(&hosts);
	return code;
}

static int report_tenant(struct balance_command *of, struct error *err)
{
	struct tenant_load tenant = { .report = &of->report };
	struct text name = { 0 };
	int code = of->partition ? find_partition(of, &tenant, &name, err) : find_hosts(of, &tenant, &name, err);

	tenant.name = text_chars(&name);
	if (code == 0)
		code = balance_read_loads(&of->report, of->report.since_us, of->report.until_us, false, NULL, 0,
					  of->report.loads, err);
	if (code == 0)
		code = nothing_read(err);
	if (code > 0)
		code = tenant_load_compute(&tenant, err);
	if (code == 0)
		code = output_page(tenant_page(&tenant), &of->options, NULL, err);
	tenant_load_done(&tenant);
	text_done(&name);
	return code;
}

static int report_levels(struct balance_command *of, struct error *err)
{
	struct page *page;
	int code = service_levels_page(&of->report, &page, err);

	return code < 0 ? code : output_page(page, &of->options, NULL, err);
}

/* --- the command --- */

static int parse(const struct command *command, int argc, char **argv, struct balance_command *ret,
		 struct error *err)
{
	const struct option_spec specs[] = {
		OPT_FLAG("all", 'a', &ret->report.all, "include idle and even groups, and all members"),
		OPT_TEXT("columns", 'c', "LIST", &ret->chosen, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &ret->sort, COLUMNS_SORT_HELP),
		OPT_FLAG("rails", 0, &ret->rails, "compare rails of hosts, spines and planes"),
		OPT_LIST("hosts", 0, "LIST", &ret->hosts, "estimate the load of these hosts on uplinks: node[001-064] "
			 "or @FILE"),
		OPT_TEXT("partition", 0, "P_KEY", &ret->partition, "the same of the members of a partition, such as "
			 "0x0012"),
		OPT_TEXT("by", 0, "sl", &ret->by, "divide the load of uplinks by service level (6h)"),
		OPT_FLAG("ascii", 0, &ret->report.ascii, "draw bars in ASCII"),
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
	if (code == 0)
		code = check_tenant(command, ret, err);
	ret->report.ascii |= strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	return code ? code : choose_columns(command, ret, err);
}

/* The window ends with the newest sweep or at the selected time, and begins at the first stored one or later. */
static int find_window(struct balance_command *of, struct error *err)
{
	struct balance_report *report = &of->report;
	const struct options *options = &of->options;
	const struct sweep_info *sweep = &report->moment.snapshot->sweep;
	struct history_range range;
	int code;

	report->window_us = balance_window_us(report->limits, sweep->interval_us);
	report->until_us = sweep->wall_us;
	report->window_chosen = options->since_us != 0;
	report->since_us = options->since_us ? options->since_us :
			   report->until_us - (of->by ? SERVICE_LEVELS_WINDOW_US : report->window_us);
	code = reader_history_range(report->moment.reader, report->since_us, report->until_us, &range, err);
	if (code < 0)
		return code;
	report->since_us = range.since_us;
	return report->since_us < report->until_us ? 0 : nothing_read(err);
}

/* Missing forwarding tables are not an error: there is no prediction then. */
static int read_routes(struct balance_report *report, struct error *err)
{
	int code = reader_routes(report->moment.reader, report->until_us, &report->routes, err);

	if (code < 0)
		return code;
	report->routes_known = report->routes.count > 0;
	return 0;
}

static int evaluate(struct balance_report *report, bool rails, struct error *err)
{
	struct balance_memory *memory = balance_memory_create();
	struct balance_input input = {
		.shape = report->shape, .routes = report->routes_known ? &report->routes : NULL,
		.loads = report->loads, .adaptive = report->adaptive,
		.window_us = (double)(report->until_us - report->since_us),
	};
	struct balance_windows windows = {
		.reader = report->moment.reader, .snapshot = report->moment.snapshot, .limits = report->limits,
		.until_us = report->until_us, .window_us = report->window_us, .loads = report->loads,
		.damage = &report->damage,
		.was_even = report->was_even = calloc(2 * report->shape->group_count + 1, sizeof(*report->was_even)),
		.was_uneven = report->was_uneven =
			calloc(2 * report->shape->group_count + 1, sizeof(*report->was_uneven)),
	};
	int code = memory && report->was_even && report->was_uneven ? 0 : err_nomem(err);

	if (code == 0 && !rails)
		code = balance_step_past(&windows, &input, memory, err);
	if (code == 0)
		code = balance_read_loads(report, report->since_us, report->until_us, false, NULL, 0, report->loads,
					  err);
	if (code == 0)
		code = nothing_read(err);
	if (code > 0)
		code = balance_evaluate(&input, report->limits, &report->balance, err);
	if (code == 0)
		code = balance_memory_step(memory, report->shape, report->limits, &report->balance, err);
	balance_memory_destroy(memory);
	return code;
}

static int choose_shown(struct balance_report *report, struct error *err)
{
	report->shown = calloc(report->balance.count + 1, sizeof(*report->shown));
	report->began = calloc(report->balance.count + 1, sizeof(*report->began));
	if (!report->shown || !report->began)
		return err_nomem(err);
	for (size_t i = 0; i < report->balance.count; i++) {
		const struct balance_result *result = &report->balance.results[i];

		if (!balance_is_of_interest(report->shape, result) ||
		    !balance_is_selected(report, balance_group_of(report, result)))
			continue;
		if (group_count(report->shape, &report->balance, result, &report->counts) || report->all ||
		    !report->selection.all)
			report->shown[report->shown_count++] = (uint32_t)i;
	}
	qsort_r(report->shown, report->shown_count, sizeof(*report->shown), balance_compare, &report->balance);
	return 0;
}

static int report_groups(struct balance_command *of, struct error *err)
{
	struct balance_report *report = &of->report;
	int code = choose_shown(report, err);

	if (code == 0)
		code = balance_find_starts(report, err);
	if (code == 0)
		code = reader_findings(report->moment.reader, &(struct finding_query){ .at_us = report->until_us },
				       take_finding, report, err);
	if (code == 0)
		code = of->options.format == RESULT_TABLE && !of->chosen && !of->sort ?
		       output_page(balance_page(report), &of->options, NULL, err) : print_rows(of, err);
	return code;
}

static int report_all(struct balance_command *of, struct error *err)
{
	struct balance_report *report = &of->report;
	const struct fabric *fabric = report->moment.fabric;
	int code = moment_select(&report->moment, of->options.argv, of->options.argc, &report->selection, err);

	if (code < 0)
		return code;
	report->limits = &of->limits;
	code = settings_load(of->settings_path, &of->settings, err);
	if (code == 0)
		code = settings_balance(&of->settings, report->moment.reader, &of->limits, err);
	if (code == 0)
		code = find_window(of, err);
	if (code == 0)
		report->loads = calloc(fabric->port_count + 1, sizeof(*report->loads));
	if (code == 0 && !report->loads)
		code = err_nomem(err);
	if (code == 0)
		code = shape_create(fabric, &of->settings.shape, &report->shape, err);
	if (code == 0)
		code = balance_adaptive_create(&of->settings.shape, fabric, &report->adaptive, err);
	if (code == 0)
		code = read_routes(report, err);
	if (code == 0)
		code = of->by ? report_levels(of, err) : has_tenant(of) ? report_tenant(of, err) :
		       evaluate(report, of->rails, err);
	if (code == 0 && !of->by && !has_tenant(of))
		code = of->rails ? output_page(balance_rails_page(report), &of->options, NULL, err) :
				   report_groups(of, err);
	options_warn_damage(report->damage.count, report->damage.first);
	selection_done(&report->selection);
	return code;
}

static void done(struct balance_command *of)
{
	struct balance_report *report = &of->report;

	settings_done(&of->settings);
	free(report->adaptive);
	balance_done(&report->balance);
	routes_done(&report->routes);
	shape_destroy(report->shape);
	free(report->loads);
	free(report->began);
	free(report->was_even);
	free(report->was_uneven);
	free(report->shown);
	columns_done(&of->columns);
	moment_done(&report->moment);
}

int balance_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct balance_command of = { .settings_path = NULL };
	struct options then;
	int code = parse(command, argc, argv, &of, err);

	if (code)
		return code < 0 ? code : 0;
	/* The fabric at the end of the window; loads are read per window. */
	then = of.options;
	then.at_us = then.until_us ? then.until_us : then.at_us;
	then.since_us = then.until_us = 0;
	code = options_open_moment(&then, false, &of.report.moment, err);
	if (code < 0) {
		columns_done(&of.columns);
		return code;
	}
	code = report_all(&of, err);
	done(&of);
	return code;
}
