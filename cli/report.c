/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.c - `ibwire report`: one page about a link, port or node (pages/report.h) */
#include "pages/report.h"

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "export/page.h"

int report_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct report report = { 0 };
	struct options options, now;
	struct moment moment;
	struct page *page = NULL;
	const char *html = NULL;
	const struct option_spec specs[] = {
		OPT_TEXT("html", 0, "FILE", &html, "write the report as a page of HTML to FILE (- is stdout)"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_NO_CSV | COMMON_AT | COMMON_WINDOW, specs, argc, argv,
				 &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc != 1)
		return options_usage_error(command, err, "requires exactly one port or node");
	if (options.format == RESULT_CSV)
		return options_usage_error(command, err, "--format must be table or json for a report");
	/* The state at the end of the window; counters over the windows are read separately. */
	now = options;
	now.since_us = 0;
	code = options_open_moment(&now, false, &moment, err);
	if (code < 0)
		return code;
	code = report_find(&report, &moment, options.argv[0],
			   options.until_us ? options.until_us : options.at_us ? options.at_us : options.now_us,
			   options.since_us, err);
	if (code == 0)
		code = report_page(&report, html ? PAGE_HTML : options.page ? PAGE_TEXT : 0, &page, err);
	if (code == 0)
		code = output_page(page, &options, html, err);
	options_warn_damage(report.damage.count, report.damage.first);
	report_done(&report);
	moment_done(&moment);
	return code;
}
