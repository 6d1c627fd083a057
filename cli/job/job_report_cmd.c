/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_report_cmd.c - `ibwire job report` */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nccl.h"
#include "base/err.h"
#include "base/log.h"
#include "base/new_file.h"
#include "cli/job/job.h"
#include "cli/lib/nccl_files.h"
#include "cli/lib/settings.h"
#include "cli/lib/moment_options.h"
#include "export/page.h"
#include "pages/job_report.h"

int job_report_of(struct reader *reader, const struct name_map *names, const struct job *job, int64_t now_us,
		  struct job_report **ret, struct error *err)
{
	struct settings settings;
	struct balance_settings limits = { 0 };
	int code = settings_load(NULL, &settings, err);
	const struct job_report_settings how = {
		.names = names, .shape = &settings.shape, .balance = &limits, .now_us = now_us,
	};

	if (code == 0)
		code = settings_balance(&settings, reader, &limits, err);
	if (code == 0)
		code = job_report_compute(reader, job, &how, ret, err);
	settings_done(&settings);
	return code;
}

/* The report of the newest job with an id. */
static int compute(const struct moment *moment, const char *cluster, const char *id, int64_t now_us,
		   struct job_report **ret, struct error *err)
{
	struct job job;
	int code = job_find(moment->reader, cluster, id, &job, err);

	if (code < 0)
		return code;
	code = job_report_of(moment->reader, moment->names, &job, now_us, ret, err);
	job_done(&job);
	return code;
}

/* Width of text that is not for a terminal, in columns. */
enum { WIDTH = 100 };

int job_output(const struct job_options *options, struct page *page, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	const struct result_options output = options_result(common);
	struct page_options how = page_options_of(&output);
	int code;

	if (options->html || common->page)
		return output_page(page, common, options->html, err);
	how.notes = true;
	if (!how.width)
		how.width = common->wrap_columns ? common->wrap_columns : WIDTH;
	code = page_render(page, common->out, &how, err);
	page_destroy(page);
	return code;
}

/* --- to a file --- */

static bool has_suffix(const char *path, const char *suffix)
{
	size_t len = strlen(path), most = strlen(suffix);

	return len > most && !strcmp(path + len - most, suffix);
}

/* HTML, JSON or text, by the suffix. */
static int write_to(const struct job_report *report, const char *path, struct error *err)
{
	const struct page_options how = {
		.target = !path ? PAGE_TEXT : has_suffix(path, ".html") ? PAGE_HTML :
			  has_suffix(path, ".json") ? PAGE_JSON : PAGE_TEXT,
		.notes = true, .width = WIDTH,
	};
	struct page *page = job_report_page(report, path);
	struct new_file file = { .stream = stderr };
	int code = path ? new_file_open(path, false, &file, err) : 0;

	if (code == 0)
		code = page_render(page, file.stream, &how, err);
	page_destroy(page);
	return path && file.stream ? new_file_end(&file, code, err) : code;
}

int job_report_write(const struct options *common, const char *id, const char *path, const struct nccl_files *nccl,
		     struct error *err)
{
	struct job_report *report = NULL;
	struct nccl_log log;
	struct error unread;
	struct moment moment;
	bool has_log;
	int code = options_open_reader(common, &moment, err);

	if (code < 0)
		return code;
	nccl_init(&log);
	has_log = nccl->pattern && nccl_files_read(nccl, NULL, 0, &log, &unread) == 0;
	if (nccl->pattern && !has_log)
		log_warning("%s; the report is without it", unread.text);
	code = compute(&moment, NULL, id, common->now_us, &report, err);
	if (code == 0 && has_log)
		code = job_report_add_nccl(report, &log, err);
	if (code == 0)
		code = write_to(report, path, err);
	job_report_destroy(report);
	nccl_done(&log);
	moment_done(&moment);
	return code;
}

/* --- the command --- */

int job_report_cmd(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	struct job_report *report = NULL;
	struct nccl_log log;
	struct moment moment;
	int code;

	(void)command;
	nccl_init(&log);
	code = options->nccl.pattern ? nccl_files_read(&options->nccl, common->argv + 2, common->argc - 2, &log, err) :
	0;
	if (code == 0)
		code = options_open_reader(common, &moment, err);
	if (code < 0)
		goto done;
	code = compute(&moment, options->labels[JOB_CLUSTER], common->argv[1], common->now_us, &report, err);
	if (code == 0 && options->nccl.pattern)
		code = job_report_add_nccl(report, &log, err);
	if (code == 0)
		code = job_output(options, job_report_page(report, options->snapshot.all), err);
	job_report_destroy(report);
	moment_done(&moment);
done:
	nccl_done(&log);
	return code;
}
