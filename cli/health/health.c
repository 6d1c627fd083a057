/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health.c - `ibwire health`: list findings */
#include "cli/health/health.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "storage/reader.h"

/* Is the newest sweep recent? */
static int check_fresh(const struct moment *moment, const struct options *options, struct error *err)
{
	struct db_status status;
	char age[WHEN_AGE_SIZE];
	int64_t age_us;
	int code = reader_status(moment->reader, &status, err);

	if (code < 0)
		return code;
	age_us = when_age_us(options->now_us, status.last_wall_us);
	if (!health_is_stale(&status.last, age_us))
		return 0;
	when_format_age(options->now_us, status.last_wall_us, age);
	if (age_us < 0)
		return err_set(err, ERR_UNAVAILABLE, "the newest sweep is %s: current findings are unknown", age);
	return err_set(err, ERR_UNAVAILABLE, "the newest sweep is %s%s: current findings are unknown; %s, or use "
		       "--at -%llds for that sweep", age, status.live ? " although a collector is running" : "",
		       status.live ? "see ibwire status" : "start ibwire collect", (long long)(age_us / US_PER_S + 1));
}

/* @shown: of --columns; NULL: without it */
static int show(const struct options *options, const struct health_request *request, const struct columns *shown,
		struct error *err)
{
	struct finding_query query = { .at_us = options->at_us ? options->at_us : options->until_us,
				       .since_us = options->since_us, .until_us = options->until_us };
	bool in_past = options->at_us || options->since_us || options->until_us;
	struct health_rows rows;
	struct moment moment;
	int code = options_open_moment(options, false, &moment, err);

	if (code < 0)
		return code;
	if (query.since_us && !query.until_us)
		query.until_us = options->now_us;
	code = in_past ? 0 : check_fresh(&moment, options, err);
	if (code == 0)
		code = health_load(&moment, &request->filter, &query, &rows, err);
	/* For the cost of taking links out, which is left out if the settings cannot be read. */
	for (size_t i = 0; code == 0 && !moment.shape && i < rows.count; i++)
		if (rows.list[i].row.finding.kind == FINDING_LINK_DEGRADED && moment_find_shape(&moment, NULL) < 0)
			break;
	if (code == 0) {
		code = shown ? health_print_columns(&moment, request, &rows, shown, err) :
			       health_print(&moment, request, &rows, err);
		if (code == 0)
			code = health_worst(&rows);
		health_rows_done(&rows);
	}
	moment_done(&moment);
	return code;
}

static int show_columns(const struct command *command, const struct options *options,
			const struct health_request *request, const char *chosen, const char *sort,
			struct error *err)
{
	struct columns shown;
	int code;

	if (!chosen && !sort)
		return show(options, request, NULL, err);
	code = health_choose_columns(command, options, chosen, sort, &shown, err);
	if (code)
		return code < 0 ? code : 0;
	code = show(options, request, &shown, err);
	columns_done(&shown);
	return code;
}

struct health_options {
	struct options common;
	const char *columns, *sort;
	const char *job, *gate, *hosts_state, *explain, *reason, *exec, *webhook;
	bool all, watch;
	int64_t for_us;
};

static int parse(const struct command *command, int argc, char **argv, struct health_options *ret, struct error *err)
{
	const struct option_spec specs[] = {
		OPT_FLAG("all", 'a', &ret->all, "include infos, acknowledged findings and drained hosts"),
		OPT_TEXT("columns", 'c', "LIST", &ret->columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &ret->sort, COLUMNS_SORT_HELP),
		OPT_TEXT("job", 'j', "HOSTS", &ret->job,
			 "only findings that affect these hosts: node[001-016],node020 or @FILE"),
		OPT_TEXT("hosts-state", 0, "FILE", &ret->hosts_state,
			 "file of HOST STATE lines; findings on drained hosts do not count"),
		OPT_FLAG("watch", 'w', &ret->watch, "print a line when a finding opens, changes or closes"),
		OPT_TEXT("exec", 0, "COMMAND", &ret->exec,
			 "--watch: shell command that gets each change as JSON on stdin"),
		OPT_TEXT("webhook", 0, "URL", &ret->webhook,
			 "--watch: URL to which each change is posted as JSON, or @FILE with it"),
		OPT_TEXT("gate", 0, "HOSTS", &ret->gate,
			 "exit status 0 if the links of these hosts were clean for --for, else 2"),
		OPT_SPAN("for", 0, &ret->for_us, "time span of --gate (125m) or of ack (unlimited)"),
		OPT_TEXT("reason", 0, "TEXT", &ret->reason, "ack: the reason"),
		OPT_TEXT("explain", 'e', "KIND", &ret->explain,
			 "describe a finding kind, its thresholds and rationale, or all"),
		{ 0 },
	};

	*ret = (struct health_options){ 0 };
	return options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &ret->common, err);
}

static int run_request(const struct command *command, struct health_options *options, struct health_request *request,
		       struct error *err)
{
	struct options *common = &options->common;
	const char *word = common->argc ? common->argv[0] : "";
	bool ack = !strcmp(word, "ack"), unack = !strcmp(word, "unack");
	int code;

	if (options->explain) {
		if (common->argc)
			return options_usage_error(command, err,
						   "--explain takes one kind: unexpected argument '%.64s'", word);
		return health_explain(strcmp(options->explain, "all") ? options->explain : NULL, common, err);
	}
	if (ack || unack) {
		common->argc--;
		common->argv++;
		if (!common->argc)
			return options_usage_error(command, err,
						   "%s requires finding numbers, as shown by health", word);
		return health_acknowledge(common, options->reason, options->for_us, unack, err);
	}
	if (options->reason)
		return options_usage_error(command, err, "--reason requires ack");
	if ((options->exec || options->webhook) && !options->watch)
		return options_usage_error(command, err, "--exec and --webhook require --watch");
	request->exec = options->exec;
	request->webhook = options->webhook;
	if (options->gate && common->argc)
		return options_usage_error(command, err, "--gate takes its hosts as value: unexpected argument '%s'",
					   word);
	if (options->job && options->gate)
		return options_usage_error(command, err, "--job and --gate are mutually exclusive");
	if ((options->job || options->gate) &&
	    (code = options_add_hosts(&request->filter.job, options->job ? options->job : options->gate, err)) < 0)
		return code;
	/* A host that cannot be read does not pass. */
	if (options->gate && request->filter.job.unread.lines)
		return err_set(err, ERR_USAGE, "%s, line %zu is not a host list", options->gate + 1,
			       request->filter.job.unread.first);
	if (options->hosts_state) {
		code = host_set_add_drained(&request->filter.drained, options->hosts_state, err);
		if (code < 0)
			return code;
		options_warn_unread(options->hosts_state, &request->filter.drained.unread, "a host and its state");
	}
	if (options->gate) {
		enum { GATE_DEFAULT_MIN = 125 };

		return health_gate(request, options->for_us ? options->for_us : GATE_DEFAULT_MIN * 60 * US_PER_S, err);
	}
	if (options->for_us)
		return options_usage_error(command, err, "--for requires --gate or ack");
	request->filter.names = common->argv;
	request->filter.name_count = common->argc;
	if (options->watch && (options->columns || options->sort))
		return options_usage_error(command, err, "--%s and --watch are mutually exclusive",
					   options->columns ? "columns" : "sort");
	return options->watch ? health_watch(request, err) :
				show_columns(command, common, request, options->columns, options->sort, err);
}

int health_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct health_options options;
	struct health_request request = { 0 };
	int code = parse(command, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	request.options = &options.common;
	request.filter.all = options.all;
	code = run_request(command, &options, &request, err);
	host_set_done(&request.filter.job);
	host_set_done(&request.filter.drained);
	return code;
}
