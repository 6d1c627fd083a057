/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.c - `ibwire status`: collector status, also as a check for Nagios, Checkmk and Kubernetes */
#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "pages/health.h"
#include "pages/status.h"

/* Exit status of a check, as Nagios defines it. */
enum check_state { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN };

struct check {
	bool wanted, findings;
	int64_t max_age_us; /* of the newest sweep; 0: that of findings, health_is_stale() */
};

static int print(struct status *status, const struct options *options, const char *html, bool links,
		 struct error *err)
{
	struct settings settings = { 0 };
	struct balance_settings limits = { 0 };
	struct page *page = NULL;
	int code = status_load(status, err);

	if (code == 0 && status->moment.snapshot)
		code = moment_find_shape(&status->moment, err);
	if (code == 0 && html)
		code = settings_load(NULL, &settings, err);
	if (code == 0 && html)
		code = settings_balance(&settings, status->moment.reader, &limits, err);
	status->limits = &limits;
	if (code == 0)
		code = status_page(status, html, links, &page, err);
	options_warn_damage(status->damage.count, status->damage.first);
	if (html && status->moment.snapshot)
		options_warn_damage(status->moment.snapshot->damaged, status->moment.snapshot->damage);
	if (code == 0)
		code = output_page(page, options, html, err);
	settings_done(&settings);
	return code;
}

static enum check_state worse(enum check_state a, enum check_state b)
{
	return a > b ? a : b;
}

/* Of polling: is a collector running, and is its data new? @text: why not */
static enum check_state check_polling(const struct status *status, int64_t max_age_us, struct text *text)
{
	int64_t age_us = when_age_us(status->now_us, status->db.last_wall_us);
	char age[WHEN_SIZE], most[WHEN_SIZE];

	text_append(text, status->state.text);
	if (!status->db.live || status->device_removed.on)
		return CHECK_CRITICAL;
	if (!status->db.sweeps || age_us < 0)
		return CHECK_WARNING;
	if (max_age_us ? age_us <= max_age_us : !health_is_stale(&status->db.last, age_us))
		return CHECK_OK;
	if (!max_age_us)
		return CHECK_CRITICAL;
	text_clear(text);
	text_appendf(text, "the newest sweep is %s old, at most %s is allowed", when_format_span(age_us, age),
		     when_format_span(max_age_us, most));
	return CHECK_CRITICAL;
}

/* "age=3.2s;;60;0 ...": values of the newest sweep, as Nagios reads them. */
static void append_performance(const struct status *status, const struct check *check, struct text *text)
{
	const struct sweep_info *sweep = &status->db.last;
	double age_s = fmax(0, (double)when_age_us(status->now_us, status->db.last_wall_us) / 1e6);
	unsigned severities[FINDING_CRITICAL + 1] = { 0 };

	text_appendf(text, " | age=%.1fs;;", age_s);
	if (check->max_age_us)
		text_appendf(text, "%g", (double)check->max_age_us / 1e6);
	text_appendf(text, ";0 sweep=%.3fs ports=%u ports_responding=%u;;;0;%u", (double)sweep->duration_us / 1e6,
		     sweep->ports_planned, sweep->ports_answered, sweep->ports_polled);
	for (size_t i = 0; i < status->findings.count; i++)
		if (health_counts(&status->findings.list[i]))
			severities[status->findings.list[i].row.finding.severity]++;
	if (check->findings)
		text_appendf(text, " critical=%u;;0 warning=%u;0", severities[FINDING_CRITICAL],
			     severities[FINDING_WARNING]);
}

/* One line, and the exit status. */
static int check_status(struct status *status, const struct check *check, struct error *err)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	const struct health_filter filter = { .is_page = true };
	const struct finding_query query = { 0 };
	enum check_state state = CHECK_UNKNOWN;
	struct text text = { 0 };
	int code = status_load(status, err);

	if (code == 0) {
		state = check_polling(status, check->max_age_us, &text);
		if (check->findings && status->moment.snapshot)
			code = health_load(&status->moment, &filter, &query, &status->findings, err);
	}
	if (code == 0 && check->findings && status->moment.snapshot) {
		if (state == CHECK_OK)
			text_clear(&text);
		else
			text_append(&text, "; ");
		state = worse(state, (enum check_state)health_worst(&status->findings));
		health_append_summary(&status->moment, &filter, &status->findings, &text);
	}
	if (code == 0 && status->db.sweeps)
		append_performance(status, check, &text);
	if (code == 0 && text_failed(&text))
		code = err_nomem(err);
	if (code == 0)
		printf("IBWIRE %s - %s\n", words[state], text_chars(&text));
	text_done(&text);
	return code < 0 ? code : (int)state;
}

int status_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct status status = { 0 };
	struct options options;
	const char *html = NULL;
	bool links = false;
	struct check check = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("check", 0, &check.wanted, "one line with values; exit status as of Nagios: 0 live, "
			 "1 starting, 2 not live, 3 unknown"),
		OPT_SPAN("max-age", 0, &check.max_age_us, "--check: age of the newest sweep that is still 0 "
			 "(3 intervals, 30 s at least)"),
		OPT_FLAG("findings", 0, &check.findings,
			 "--check: also 1 for open warnings, 2 for critical findings"),
		OPT_TEXT("html", 0, "FILE", &html, "write a page of HTML with findings, load and plots to FILE "
			 "(- is stdout)"),
		OPT_FLAG("links", 0, &links, "--html: with links to pages of ibwire metrics"),
		{ 0 },
	};
	char path[4096];
	int code = options_parse(command, COMMON_SHOW | COMMON_AT, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (links && !html)
		return options_usage_error(command, err, "--links requires --html");
	if (!check.wanted && (check.max_age_us || check.findings))
		return options_usage_error(command, err, "%s requires --check",
					   check.findings ? "--findings" : "--max-age");
	if (check.wanted && (html || options.at_us))
		return options_usage_error(command, err, "--check is of now, and has no %s", html ? "--html" : "--at");
	status.path = path;
	status.now_us = options.now_us;
	status.at_us = options.at_us;
	code = options_no_arguments(command, &options, err);
	if (code == 0)
		code = options_db_path(&options, false, path, sizeof(path), err);
	if (code == 0)
		code = options_open_reader(&options, &status.moment, err);
	if (code == 0)
		code = check.wanted ? check_status(&status, &check, err) : print(&status, &options, html, links, err);
	status_done(&status);
	if (!check.wanted || code >= 0 || code == ERR_USAGE)
		return code;
	printf("IBWIRE UNKNOWN - %s\n", err->text);
	return CHECK_UNKNOWN;
}
