/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.c - `ibwire report`: one page about a link, port or node (pages/report.h) */
#include "pages/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "facts/moment.h"
#include "facts/selection.h"
#include "pages/cable.h"

static void add_links(const struct report *report, struct page *page)
{
	const struct node *node = &report->moment->fabric->nodes[report->node];
	struct page_link *links = page_alloc(page, 2, sizeof(*links));
	const struct port *port = &report->moment->fabric->ports[report->ports[0]];
	struct text host = { 0 };

	page_link_names(page, "report?subject=");
	if (!links)
		return;
	text_append_url(&host, report->host);
	links[0] = (struct page_link){ "./", "Fabric" };
	links[1] = (struct page_link){
		*report->host ? page_print(page, "history?subject=%s", text_chars(&host)) :
		report->of_node ? page_print(page, "history?subject=0x%016" PRIx64, node->guid) :
				  page_print(page, "history?peers&subject=0x%016" PRIx64 "/%u", node->guid, port->num),
		"History" };
	page_add(page, &(struct page_section){ .kind = PAGE_LINKS, .links = { links, 2 } });
	text_done(&host);
}

/* Is it a serial number, and neither a port nor a node? Then its page is written. Return: 1; 0: no; an error. */
static int report_cable(struct moment *moment, const struct options *options, const char *html, struct error *err)
{
	const int64_t week_us = 7 * 24 * 3600 * US_PER_S;
	struct cable_report *report = NULL;
	struct page *page = NULL;
	int64_t until_us = options->until_us ? options->until_us : options->at_us ? options->at_us : options->now_us;
	int code = options->argc == 1 ? cable_report_load(moment, options->argv[0], NULL, 0,
							  options->since_us ? options->since_us : until_us - week_us,
							  until_us, &report, err) : 0;

	if (code == 0 && report) {
		code = cable_page(report, &page, err);
		if (code == 0)
			code = output_page(page, options, html, err);
		code = code < 0 ? code : 1;
	}
	cable_report_destroy(report);
	return code;
}

int report_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct report report = { 0 };
	struct options options, now;
	struct moment moment;
	struct page *page = NULL;
	struct error unknown = { 0 };
	const char *html = NULL;
	char *joined = NULL;
	bool links = false;
	const struct option_spec specs[] = {
		OPT_TEXT("html", 0, "FILE", &html, "write the report as a page of HTML to FILE (- is stdout)"),
		OPT_FLAG("links", 0, &links, "--html: with links to pages of ibwire metrics"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_NO_CSV | COMMON_AT | COMMON_WINDOW, specs, argc, argv,
				 &options, err), found;

	if (code)
		return code < 0 ? code : 0;
	if (options.argc < 1 || options.argc > 2)
		return options_usage_error(command, err, "requires exactly one port, node, host or serial number");
	if (options.format == RESULT_CSV)
		return options_usage_error(command, err, "--format must be table or json for a report");
	if (links && !html)
		return options_usage_error(command, err, "--links requires --html");
	/* The state at the end of the window; counters over the windows are read separately. */
	now = options;
	now.since_us = 0;
	code = options_open_moment(&now, false, &moment, err);
	if (code < 0)
		return code;
	code = selection_join(moment.fabric, options.argv, options.argc, &joined, err);
	if (code == 0 && options.argc == 2 && !joined)
		code = options_usage_error(command, err, "requires exactly one port, node, host or serial number");
	if (code == 0) {
		code = report_find(&report, &moment, joined ? joined : options.argv[0],
				   options.until_us ? options.until_us :
				   options.at_us    ? options.at_us :
						      options.now_us,
				   options.since_us, &unknown);
		found = code == ERR_USAGE ? report_cable(&moment, &options, html, err) : 0;
		if (code < 0)
			code = found ? found : err_set(err, code, "%s", unknown.text);
	}
	if (code > 0) {
		report_done(&report);
		free(joined);
		moment_done(&moment);
		return 0;
	}
	if (code == 0)
		code = report_page(&report, html ? PAGE_HTML : options.page ? PAGE_TEXT : 0, &page, err);
	if (code == 0 && links)
		add_links(&report, page);
	if (code == 0)
		code = output_page(page, &options, html, err);
	options_warn_damage(report.damage.count, report.damage.first);
	report_done(&report);
	free(joined);
	moment_done(&moment);
	return code;
}
