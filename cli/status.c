/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.c - `ibwire status`: collector status */
#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "pages/status.h"

static int print(struct status *status, const struct options *options, const char *html, bool links,
		 struct error *err)
{
	struct settings settings = { 0 };
	struct balance_settings limits = { 0 };
	struct page *page = NULL;
	int code = status_load(status, err);

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

int status_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct status status = { 0 };
	struct options options;
	const char *html = NULL;
	bool links = false;
	const struct option_spec specs[] = {
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
	status.path = path;
	status.now_us = options.now_us;
	status.at_us = options.at_us;
	code = options_no_arguments(command, &options, err);
	if (code == 0)
		code = options_db_path(&options, false, path, sizeof(path), err);
	if (code == 0)
		code = options_open_reader(&options, &status.moment, err);
	if (code < 0)
		return code;
	code = print(&status, &options, html, links, err);
	status_done(&status);
	return code;
}
