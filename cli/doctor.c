/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* doctor.c - `ibwire doctor`: is this host, or a captured tree of one, set up for RDMA? */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/nccl.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/nccl_files.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "export/page.h"
#include "local/capture.h"
#include "local/checks.h"

extern char **environ;

struct doctor_options {
	const char *root, *capture;
	struct nccl_files nccl;
	bool problems;    /* warnings and failures only */
	const char *skip; /* checks, separated by commas; NULL: none */
	struct options common;
};

static const struct column columns[] = {
	{ .key = "status", .kind = COLUMN_TEXT },
	{ .key = "check", .kind = COLUMN_TEXT },
	{ .key = "subject", .kind = COLUMN_TEXT },
	{ .key = "text", .kind = COLUMN_TEXT },
	{ .key = "fix", .kind = COLUMN_TEXT },
};

/* A page of checks. */
struct listing {
	const struct checks *checks;
	bool problems;
};

static void put_checks(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;

	for (size_t i = 0; i < listing->checks->count; i++) {
		const struct check_result *check = &listing->checks->results[i];

		if (listing->problems && check->status != CHECK_WARN && check->status != CHECK_FAIL)
			continue;
		result_text(result, 0, check_status_name(check->status));
		result_text(result, 1, check->check);
		result_text(result, 2, check->subject[0] ? check->subject : NULL);
		result_text(result, 3, check->text);
		result_text(result, 4, check->fix);
		result_end_row(result);
	}
}

/* Problems first, then what is not known, then what is right; equal results of several ports are one line. */
static struct page *page_of(const struct listing *listing)
{
	static const enum check_status order[] = { CHECK_FAIL, CHECK_WARN, CHECK_SKIP, CHECK_PASS };
	static const enum page_state states[CHECK_STATUS_COUNT] = { PAGE_GOOD, PAGE_WARNING, PAGE_CRITICAL };
	const struct checks *checks = listing->checks;
	struct page *page = page_create("Checks of this host");
	struct page_sign *signs = page_alloc(page, checks->count, sizeof(*signs));
	unsigned counts[CHECK_STATUS_COUNT] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < checks->count; i++)
		counts[checks->results[i].status]++;
	for (size_t i = 0; signs && i < sizeof(order) / sizeof(order[0]) && (!listing->problems || i < 2); i++)
		for (size_t j = 0; j < checks->count; j++) {
			const struct check_result *check = &checks->results[j];
			struct text line = { 0 };

			if (check->status != order[i] || !checks_fold(checks, j, &line))
				continue;
			text_appendf(&line, "%s%s", line.len ? ": " : "", check->common ? check->common : check->text);
			signs[count++] = (struct page_sign){ states[check->status], page_keep(page, &line),
							     check_status_name(check->status), check->check,
							     check->fix };
		}
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON | PAGE_CSV, .key = "",
		.table = { columns, sizeof(columns) / sizeof(columns[0]), put_checks, listing } });
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .signs = { signs, count } });
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .space = SPACE_NONE, .note = page_print(page,
		"%u passed, %u warning%s, %u failed; %u not known", counts[CHECK_PASS], counts[CHECK_WARN],
		counts[CHECK_WARN] == 1 ? "" : "s", counts[CHECK_FAIL], counts[CHECK_SKIP]) });
	return page;
}

/* Exit status: that of the worst result. */
static int worst(const struct checks *checks)
{
	int status = 0;

	for (size_t i = 0; i < checks->count; i++)
		if (checks->results[i].status == CHECK_FAIL)
			status = 2;
		else if (checks->results[i].status == CHECK_WARN && status == 0)
			status = 1;
	return status;
}

/* What NCCL logged, without the bytes of a job: `ibwire run --local` compares them. */
static int add_logs(const struct doctor_options *options, struct checks *checks, struct error *err)
{
	static struct nccl_verdict verdict;
	struct nccl_log log;
	int code = nccl_files_read(&options->nccl, options->common.argv, options->common.argc, &log, err);

	if (code == 0)
		code = nccl_check(&log, NULL, 0, &verdict, err);
	checks->current = "nccl-log";
	for (size_t i = 0; code == 0 && i < verdict.count; i++) {
		const struct nccl_line *line = &verdict.lines[i];
		const enum check_status statuses[] = {
			[NCCL_OK] = CHECK_PASS, [NCCL_NOTE] = log.net_connections ? CHECK_PASS : CHECK_SKIP,
			[NCCL_WARN] = CHECK_WARN, [NCCL_FAIL] = CHECK_FAIL,
		};

		check_add(checks, statuses[line->severity], "",
			  line->severity < NCCL_WARN ? NULL : line->fix, "%s", line->text);
	}
	nccl_done(&log);
	return code == 0 && checks->failed ? err_nomem(err) : code;
}

static int examine(const struct doctor_options *options, struct capture *capture, const struct fabric *fabric,
		   struct error *err)
{
	struct local_root root;
	struct checks checks;
	int code = local_root_open(&root, options->root, err);

	if (code)
		return code;
	root.capture = options->capture ? capture : NULL;
	code = checks_run(&checks, &root, options->skip, fabric, environ, err);
	local_root_close(&root);
	if (code)
		return code;
	if (options->nccl.pattern)
		code = add_logs(options, &checks, err);
	if (code == 0 && options->capture)
		code = capture_write(capture, options->capture, err);
	if (code == 0 && options->capture)
		log_info("wrote %zu file%s to %s; unpack it and examine it with ibwire doctor --root %s",
			 capture->files, text_plural(capture->files),
			 options->capture, capture->folder);
	if (code == 0)
		code = output_page(page_of(&(struct listing){ &checks, options->problems }), &options->common, NULL,
				   err);
	if (code == 0)
		code = worst(&checks);
	checks_done(&checks);
	return code;
}

int doctor_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct doctor_options options = { .root = NULL };
	const struct option_spec specs[] = {
		OPT_TEXT("root", 0, "DIR", &options.root, "examine a captured tree (this host)"),
		OPT_TEXT("capture", 0, "FILE", &options.capture, "write the files that are read to FILE, a tar.gz"),
		OPT_FLAG("problems", 0, &options.problems, "show warnings and failures only"),
		OPT_TEXT("skip", 0, "CHECK,...", &options.skip, "leave out these checks"),
		NCCL_SPECS(&options.nccl, "also check what NCCL logged; FILE... as arguments for more"),
		{ 0 },
	};
	char host[64] = "", folder[80], safe[64];
	struct capture capture = { .folder = folder };
	struct moment moment = { 0 };
	bool database;
	int code = options_parse(command, COMMON_DB | COMMON_FORMAT | COMMON_COLOR | COMMON_PAGER, specs, argc, argv,
				 &options.common, err);

	if (code)
		return code < 0 ? code : 0;
	code = nccl_files_check(command, &options.nccl, err);
	if (code == 0 && !options.nccl.pattern)
		code = options_no_arguments(command, &options.common, err);
	if (code)
		return code;
	if (options.root && options.capture)
		return options_usage_error(command, err, "--capture cannot be combined with --root");
	/* The database of this host says nothing about a tree of another one. */
	database = options.common.db || !options.root;
	code = database ? options_open_moment(&options.common, false, &moment, options.common.db ? err : NULL) : 0;
	if (code && options.common.db)
		return code;
	database = database && code == 0;
	gethostname(host, sizeof(host) - 1);
	text_sanitise(host, strcspn(host, "/"), safe, sizeof(safe));
	snprintf(folder, sizeof(folder), "ibwire-%s", safe[0] ? safe : "host");
	code = examine(&options, &capture, database ? moment.fabric : NULL, err);
	capture_done(&capture);
	if (database)
		moment_done(&moment);
	return code;
}
