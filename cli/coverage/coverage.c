/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage.c - `ibwire coverage`: the burn-in of a fabric, and its acceptance */
#include "cli/coverage/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/settings.h"
#include "fabric/fabric.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "facts/moment.h"
#include "pages/coverage.h"
#include "storage/reader.h"

/* Without --since; the required times. 125 minutes show a BER below 1e-15 at 400 Gb/s. */
enum { WINDOW_S = 24 * 3600, LOAD_S = 600, CLEAN_S = 125 * 60 };

struct coverage_command {
	struct options options;
	struct coverage_report report;
	struct coverage_pairs pairs;
	bool wants_pairs;
	const char *html;
	struct option_list hosts, plan_files;
	struct settings settings; /* with the files of the plan */
	struct plan plan;
	struct plan_ports plan_ports;
	struct plan_diff plan_diff;
};

/* "80%", "80". */
static int parse_load(const struct command *command, const char *typed, double *ret, struct error *err)
{
	char *end;
	double value = strtod(typed, &end);

	end += end != typed && *end == '%';
	if (end == typed || *end || !(value > 0 && value <= 100))
		return options_usage_error(command, err, "--min-load must be above 0 and at most 100, in percent, not "
					   "'%s'", typed);
	*ret = value;
	return 0;
}

static int parse_ber(const struct command *command, const char *typed, double *ret, struct error *err)
{
	char *end;
	double value = strtod(typed, &end);

	if (end == typed || *end || !(value >= 1e-20 && value <= 1e-3))
		return options_usage_error(command, err, "--ber must be from 1e-20 to 1e-3, such as 1e-15, not '%s'",
					   typed);
	*ret = value;
	return 0;
}

static int check(const struct command *command, const struct coverage_command *of, bool clean_given, struct error *err)
{
	const struct coverage_pairs *pairs = &of->pairs;

	if (clean_given && of->report.limits.ber > 0)
		return options_usage_error(command, err, "--clean and --ber are mutually exclusive");
	if (!of->wants_pairs && (pairs->hostfile || pairs->round || pairs->rail || of->hosts.count))
		return options_usage_error(command, err, "--%s requires --pairs", pairs->hostfile ? "hostfile" :
					   pairs->round ? "round" : pairs->rail ? "rail" : "hosts");
	if (of->wants_pairs && of->plan_files.count)
		return options_usage_error(command, err, "--plan and --pairs are mutually exclusive");
	if (of->wants_pairs && of->html)
		return options_usage_error(command, err, "--html and --pairs are mutually exclusive");
	if (pairs->hostfile && !pairs->round)
		return options_usage_error(command, err, "--hostfile requires --round");
	if (pairs->hostfile && of->options.format != RESULT_TABLE)
		return options_usage_error(command, err, "--hostfile and --format are mutually exclusive");
	return 0;
}

static int parse(const struct command *command, int argc, char **argv, struct coverage_command *ret, struct error *err)
{
	const char *load = NULL, *ber = NULL;
	int64_t clean_us = 0;
	const struct option_spec specs[] = {
		OPT_TEXT("min-load", 0, "PERCENT", &load, "load to be carried, of the data rate (80%)"),
		OPT_SPAN("load-time", 0, &ret->report.limits.load_us, "time for which it is to carry the load (10m)"),
		OPT_SPAN("clean", 0, &clean_us, "time without errors up to the end of the window (125m)"),
		OPT_TEXT("ber", 0, "RATE", &ber, "instead of --clean, the time that shows this bit error rate at the "
			 "rate of each link (1e-15 at 400 Gb/s: 125m)"),
		OPT_FLAG("all", 'a', &ret->report.all, "all rows of each table; --pairs: for all links"),
		OPT_TEXT("html", 0, "FILE", &ret->html, "write the acceptance page as HTML to FILE (- is stdout)"),
		OPT_LIST("plan", 0, "FILE", &ret->plan_files, "compare the cabling with a plan (that of the settings)"),
		OPT_FLAG("pairs", 0, &ret->wants_pairs, "list rounds of host pairs that load the rest"),
		OPT_LIST("hosts", 0, "LIST", &ret->hosts, "--pairs: only these hosts, such as node[001-064] or @FILE "
			 "(all compute hosts)"),
		OPT_NUMBER("round", 0, "N", &ret->pairs.round, 1, "--pairs: only this round"),
		OPT_TEXT("rail", 0, "NAME", &ret->pairs.rail, "--pairs: only pairs of this rail"),
		OPT_FLAG("hostfile", 0, &ret->pairs.hostfile, "--pairs --round: host names alone, one per line, first "
			 "those that send, then in the same order those that receive"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &ret->options,
				 err);

	if (code == 0 && load)
		code = parse_load(command, load, &ret->report.limits.min_load_percent, err);
	if (code == 0 && ber)
		code = parse_ber(command, ber, &ret->report.limits.ber, err);
	if (code == 0)
		code = check(command, ret, clean_us != 0, err);
	if (clean_us)
		ret->report.limits.clean_us = clean_us;
	for (size_t i = 0; code == 0 && i < ret->hosts.count; i++)
		code = options_add_hosts(&ret->pairs.hosts, ret->hosts.items[i], err);
	return code;
}

/* The plan of the options, or else of the settings, if there is one. */
static int compare_plan(struct coverage_command *of, struct error *err)
{
	size_t count = of->plan_files.count;
	int code = settings_load(NULL, &of->settings, err);

	for (size_t i = 0; code == 0 && i < (count ? count : of->settings.plan_file_count); i++)
		code = plan_read_file(&of->plan, count ? of->plan_files.items[i] : of->settings.plan_files[i], err);
	if (code < 0 || !of->plan.file_count)
		return code;
	code = plan_resolve(&of->plan, of->report.moment->shape, &of->plan_ports, err);
	if (code == 0)
		code = plan_compare(&of->plan, &of->plan_ports, of->report.moment->shape, &of->plan_diff, err);
	if (code < 0)
		return code;
	of->report.plan = &of->plan;
	of->report.plan_ports = &of->plan_ports;
	of->report.plan_diff = &of->plan_diff;
	count = of->plan.problem_count + of->plan_ports.problem_count;
	if (count)
		log_warning("the plan has %zu problem%s, and %zu of its links are not judged: 'ibwire topology check' "
			    "lists them", count, text_plural(count), of->plan_diff.not_judged);
	return 0;
}

static int show(const struct command *command, struct coverage_command *of, struct error *err)
{
	const struct options *options = &of->options;
	struct coverage_report *report = &of->report;
	int64_t until_us = options->until_us ? options->until_us :
			   options->at_us    ? options->at_us :
					       report->moment->snapshot->sweep.wall_us;
	int64_t since_us = options->since_us ? options->since_us : until_us - WINDOW_S * US_PER_S;
	int code = moment_find_shape(report->moment, err);

	if (code == 0 && since_us >= until_us)
		code = options_usage_error(command, err, "--since must be before the end of the window");
	if (code == 0)
		code = coverage_read(report, since_us, until_us, err);
	if (code == 0 && !of->wants_pairs)
		code = compare_plan(of, err);
	if (code < 0)
		return code;
	coverage_count(report);
	options_warn_damage(report->damage.count, report->damage.first);
	if (of->wants_pairs)
		return coverage_show_pairs(command, report, &of->pairs, err);
	code = output_page(coverage_page(report), options, of->html, err);
	return code ? code : report->points > 0;
}

int coverage_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct coverage_command of = {
		.report.limits = { .min_load_percent = 80, .load_us = LOAD_S * US_PER_S,
				   .clean_us = CLEAN_S * US_PER_S },
		.pairs.options = &of.options,
	};
	struct options then;
	struct moment moment;
	int code = parse(command, argc, argv, &of, err);

	if (code) {
		host_set_done(&of.pairs.hosts);
		return code < 0 ? code : 0;
	}
	/* The fabric at the end of the window; history is read separately. */
	of.options.notes = true;
	then = of.options;
	then.at_us = then.until_us ? then.until_us : then.at_us;
	then.since_us = then.until_us = 0;
	code = options_open_moment(&then, false, &moment, err);
	if (code == 0) {
		of.report.moment = &moment;
		code = moment_select(&moment, of.options.argv, of.options.argc, &of.report.selection, err);
		if (code == 0) {
			code = show(command, &of, err);
			selection_done(&of.report.selection);
		}
		coverage_report_done(&of.report);
		plan_diff_done(&of.plan_diff);
		plan_ports_done(&of.plan_ports);
		plan_done(&of.plan);
		settings_done(&of.settings);
		moment_done(&moment);
	}
	host_set_done(&of.pairs.hosts);
	return code;
}
