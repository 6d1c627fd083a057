/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clear - reset port counters to zero: the only command that writes to the fabric
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/polling.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "facts/selection.h"
#include "storage/reader.h"
#include "wire/clear.h"
#include "wire/hca.h"

#define DEFAULT_TIMEOUT_MS 1000
#define RETRIES 2

/* Number of failed ports that are listed by name. */
#define FAILURES_SHOWN 20

/* Exit status: some ports were not cleared, or the confirmation was declined. */
#define STATUS_NOT_ALL 1

struct clear_options {
	struct options common;
	bool yes, dry_run, errors_only;
};

/* Ports to clear. */
struct plan {
	struct clear_port *ports;
	uint32_t *index;    /* parallel: index of the port in the fabric */
	bool *reported;         /* parallel: its failure was reported */
	size_t count;
	size_t nodes;
	size_t without_lid; /* ports that cannot be reached and are left out */
};

static void plan_done(struct plan *plan)
{
	free(plan->ports);
	free(plan->index);
	free(plan->reported);
}

static int plan_add(struct plan *plan, const struct moment *moment, const struct selection *selection, uint32_t index,
		    struct error *err)
{
	const struct port *port = &moment->fabric->ports[index];
	const struct node *node = &moment->fabric->nodes[port->node];
	const char *name = moment->names_shown.names[port->node];
	bool named = selection_names_port(selection, index);
	uint16_t lid = fabric_port_lid(moment->fabric, port);

	if (!port_is_pollable(moment->fabric, port))
		return named ? err_set(err, ERR_USAGE, "%s/%u has no counters", name, port->num) : 0;
	if (!lid && named)
		return err_set(err, ERR_UNAVAILABLE, "%s/%u has no LID and cannot be reached: check its link", name,
			       port->num);
	if (!lid) {
		plan->without_lid++;
		return 0;
	}
	if (!plan->count || moment->fabric->ports[plan->index[plan->count - 1]].node != port->node)
		plan->nodes++;
	plan->index[plan->count] = index;
	plan->ports[plan->count++] = (struct clear_port){
		.node_guid = node->guid, .lid = lid, .num = port->num, .is_switch = node->type == NODE_SWITCH,
	};
	return 0;
}

static int plan_init(struct plan *plan, const struct moment *moment, const struct selection *selection,
		     struct error *err)
{
	int code = 0;

	*plan = (struct plan){ 0 };
	plan->ports = calloc(moment->fabric->port_count + 1, sizeof(*plan->ports));
	plan->index = calloc(moment->fabric->port_count + 1, sizeof(*plan->index));
	plan->reported = calloc(moment->fabric->port_count + 1, sizeof(*plan->reported));
	if (!plan->ports || !plan->index || !plan->reported)
		code = err_nomem(err);
	for (size_t i = 0; i < moment->fabric->node_count && code == 0; i++) {
		const struct node *node = &moment->fabric->nodes[moment->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports && code == 0; j++)
			if (selection_has_port(selection, j))
				code = plan_add(plan, moment, selection, j, err);
	}
	if (code == 0 && !plan->count)
		code = err_set(err, ERR_UNAVAILABLE, "none of these ports has a LID: check their links");
	if (code < 0)
		plan_done(plan);
	return code;
}

/* --- output --- */

static size_t count_outcome(const struct plan *plan, enum clear_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		count += plan->ports[i].outcome == outcome;
	return count;
}

/* Plural ending. */
/* Printed after the survey, before the first Set. */
static void print_plan(const struct clear_options *options, const struct moment *moment, const struct plan *plan,
		       const struct clear *clear)
{
	size_t excluded = plan->count - count_outcome(plan, CLEAR_UNTRIED);
	FILE *out = options->common.out;
	char when[WHEN_SIZE];

	fprintf(out, "To be cleared: %s of %zu port%s of %zu node%s, as of the sweep of %s\n",
		options->errors_only ? "error counters" : "all counters", plan->count, text_plural(plan->count),
		plan->nodes, text_plural(plan->nodes), when_format_local(moment->snapshot->sweep.wall_us, when));
	if (excluded)
		fprintf(out, "  excluded: %zu port%s that cannot be cleared, see above\n", excluded,
			text_plural(excluded));
	if (plan->without_lid)
		fprintf(out, "  excluded: %zu port%s without a LID (link down)\n", plan->without_lid,
			text_plural(plan->without_lid));
	for (int i = 0; i < CLEAR_ATTRIBUTE_COUNT; i++) {
		size_t ports = clear_planned(clear, (enum clear_attribute)i);

		if (ports)
			fprintf(out, "  %s of %zu port%s%s\n", clear_attribute_name((enum clear_attribute)i), ports,
				text_plural(ports), i > CLEAR_EXTENDED ? ", where supported" : "");
	}
	fprintf(out, "Every tool that reads these counters sees them drop. A running ibwire collector records the "
		"event\ncounters-cleared and keeps its history; only counts since its newest sweep are lost.\n");
}

static void report_failure(const struct moment *moment, uint32_t index, const struct clear_port *port)
{
	const struct port *where = &moment->fabric->ports[index];
	const char *what = port->attribute < CLEAR_ATTRIBUTE_COUNT ?
			   clear_attribute_name((enum clear_attribute)port->attribute) : NULL;
	char why[160] = "";
	int counter = 0;

	switch ((enum clear_outcome)port->outcome) {
	case CLEAR_SILENT:
		snprintf(why, sizeof(why), "LID %u did not respond%s%s", port->lid, what ? " for " : "",
			 what ? what : "");
		break;
	case CLEAR_UNPROVEN:
		snprintf(why, sizeof(why), "LID %u did not respond to NodeInfo", port->lid);
		break;
	case CLEAR_MOVED:
		snprintf(why, sizeof(why), "LID %u now belongs to another node; a collector updates the LID",
			 port->lid);
		break;
	case CLEAR_REDIRECTED:
		snprintf(why, sizeof(why), "its counters belong to another agent, which cannot be reached");
		break;
	case CLEAR_KEPT:
		while (counter < COUNTER_COUNT - 1 && !(port->kept & COUNTER_BIT(counter)))
			counter++;
		snprintf(why, sizeof(why), "its agent acknowledged the Set, but %s kept its value",
			 counter_info((enum counter)counter)->key);
		break;
	case CLEAR_REFUSED:
		if (port->status)
			snprintf(why, sizeof(why), "%s was refused with status 0x%04x", what, port->status);
		else
			snprintf(why, sizeof(why), "the response for %s is for another port", what);
		break;
	case CLEAR_UNTRIED:
	case CLEAR_DONE:
		return;
	}
	log_warning("%s/%u is not cleared: %s", moment->names_shown.names[where->node], where->num, why);
}

static bool is_failure(const struct clear_port *port)
{
	return port->outcome != CLEAR_DONE && port->outcome != CLEAR_UNTRIED;
}

/* Report new failures, the first ones by name. Return: the total number of failures. */
static size_t report_failures(const struct moment *moment, struct plan *plan)
{
	size_t failed = 0, fresh = 0;

	for (size_t i = 0; i < plan->count; i++) {
		failed += is_failure(&plan->ports[i]);
		if (!is_failure(&plan->ports[i]) || plan->reported[i])
			continue;
		plan->reported[i] = true;
		if (fresh++ < FAILURES_SHOWN)
			report_failure(moment, plan->index[i], &plan->ports[i]);
	}
	if (fresh > FAILURES_SHOWN)
		log_warning("and %zu more port%s %s not cleared", fresh - FAILURES_SHOWN,
			    text_plural(fresh - FAILURES_SHOWN), fresh - FAILURES_SHOWN == 1 ? "is" : "are");
	return failed;
}

/* Was any port reachable? */
static int check_reached(const struct plan *plan, struct error *err)
{
	size_t unreachable = count_outcome(plan, CLEAR_SILENT) + count_outcome(plan, CLEAR_UNPROVEN) +
		      count_outcome(plan, CLEAR_MOVED);

	if (unreachable < plan->count)
		return 0;
	if (plan->count == 1)
		return err_set(err, ERR_UNAVAILABLE, "the port is unreachable: nothing was cleared");
	return err_set(err, ERR_UNAVAILABLE, "all %zu ports are unreachable: nothing was cleared", plan->count);
}

static bool is_confirmed(FILE *out)
{
	char line[16] = "";

	fprintf(out, "type yes to clear them: ");
	fflush(out);
	return fgets(line, sizeof(line), stdin) && !strcmp(line, "yes\n");
}

/* --- actions --- */

/* After the survey: confirm, clear, report. Return: an exit status or an error. */
static int clear_surveyed(const struct clear_options *options, const struct moment *moment, struct plan *plan,
			  struct clear *clear, struct error *err)
{
	size_t failed = report_failures(moment, plan), done, untried;
	FILE *out = options->common.out;
	int64_t started_us;
	char took[WHEN_SIZE];
	int code = check_reached(plan, err);

	if (code < 0)
		return code;
	print_plan(options, moment, plan, clear);
	if (options->dry_run) {
		fprintf(out, "nothing was cleared: --dry-run\n");
		return failed ? STATUS_NOT_ALL : 0;
	}
	if (!options->yes && !is_confirmed(out)) {
		fprintf(out, "nothing was cleared\n");
		return STATUS_NOT_ALL;
	}
	stop_install();
	started_us = clock_boottime_us(clock_system());
	code = clear_write(clear, err);
	report_failures(moment, plan);
	done = count_outcome(plan, CLEAR_DONE);
	untried = count_outcome(plan, CLEAR_UNTRIED);
	fprintf(out, "cleared %zu of %zu port%s in %s\n", done, plan->count, text_plural(plan->count),
		when_format_span(clock_boottime_us(clock_system()) - started_us, took));
	if (untried)
		log_warning("interrupted with %zu port%s left; counters of ports in progress may be partly cleared",
			    untried, text_plural(untried));
	if (code == 0)
		code = check_reached(plan, err);
	return code < 0 ? code : done < plan->count ? STATUS_NOT_ALL : 0;
}

static int clear_plan(const struct clear_options *options, const struct moment *moment, struct plan *plan,
		      struct error *err)
{
	const struct clear_settings settings = {
		.timeout_ms = options->common.timeout_ms ? (unsigned)options->common.timeout_ms : DEFAULT_TIMEOUT_MS,
		.retries = RETRIES,
		.errors_only = options->errors_only,
		.stop = stop_requested,
	};
	struct clear *clear = NULL;
	struct hca *hca = NULL;
	struct hca_port local;
	int code = polling_find_port(&options->common, NULL, &local, err);

	if (code == 0)
		code = clear_open(&local, &hca, err);
	if (code == 0)
		code = clear_create(hca_transport(hca), clock_system(), &settings, plan->ports, plan->count, &clear,
				    err);
	if (code == 0)
		code = clear_survey(clear, err);
	if (code == 0)
		code = clear_surveyed(options, moment, plan, clear, err);
	clear_destroy(clear);
	hca_close(hca);
	return code;
}

static int parse(const struct command *command, int argc, char **argv, struct clear_options *ret, struct error *err)
{
	const struct option_spec specs[] = {
		OPT_FLAG("errors-only", 0, &ret->errors_only,
			 "clear error counters only, not data, packets and XmitWait"),
		OPT_FLAG("dry-run", 0, &ret->dry_run, "show what would be cleared and exit"),
		OPT_FLAG("yes", 'y', &ret->yes, "do not ask for confirmation"),
		{ 0 },
	};
	int i, code = options_parse(command, COMMON_DEVICE | COMMON_NAMES | COMMON_DB, specs, argc, argv, &ret->common,
				    err);

	if (code != 0)
		return code;
	if (!ret->common.argc)
		return options_usage_error(command, err, "give the ports to clear, or 'all'");
	for (i = 0; i < ret->common.argc && ret->common.argc > 1; i++)
		if (!strcmp(ret->common.argv[i], "all"))
			return options_usage_error(command, err, "'all' cannot be combined with names");
	/* The confirmation must come from a terminal, not from a pipe. */
	if (!ret->yes && !ret->dry_run && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return err_set(err, ERR_USAGE, "clear needs a confirmation and there is no terminal: run it on "
			"a terminal, or give --yes");
	return 0;
}

int clear_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct clear_options options = { 0 };
	struct selection selection;
	struct plan plan;
	struct moment moment;
	bool all;
	int code = parse(command, argc, argv, &options, err);

	if (code != 0)
		return code < 0 ? code : 0;
	code = options_open_moment(&options.common, false, &moment, err);
	if (code < 0)
		return code;
	all = !strcmp(options.common.argv[0], "all");
	code = moment_select(&moment, options.common.argv, all ? 0 : options.common.argc, &selection, err);
	if (code == 0) {
		code = plan_init(&plan, &moment, &selection, err);
		if (code == 0) {
			code = clear_plan(&options, &moment, &plan, err);
			plan_done(&plan);
		}
		selection_done(&selection);
	}
	moment_done(&moment);
	return code;
}
