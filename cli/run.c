/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run.c - `ibwire run -- COMMAND`: a command as a job of its own, with a report of its traffic
 *
 * Whatever fails here is a warning: the command runs, and its exit status is that of this process.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/job/job.h"
#include "pages/job_report.h"
#include "cli/lib/nccl_files.h"
#include "cli/run_local.h"

/* Append a word as a shell reads it. */
static void append_word(struct text *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

	if (*word && strspn(word, plain) == strlen(word)) {
		text_append(text, word);
		return;
	}
	text_append(text, "'");
	for (; *word; word++)
		text_appendf(text, *word == '\'' ? "'\\''" : "%c", *word);
	text_append(text, "'");
}

/* Return: 0; 1 if the job is not recorded, with a warning; ERR_USAGE. */
static int begin(struct job_options *options, char **argv, struct job *ret, struct error *err)
{
	struct text line = { 0 };
	int code;

	for (int i = 0; argv[i]; i++) {
		text_append(&line, i ? " " : "");
		append_word(&line, argv[i]);
	}
	code = job_record_begin(options, "", text_failed(&line) ? argv[0] : text_chars(&line), ret, err);
	text_done(&line);
	if (code == 0 || code == ERR_USAGE)
		return code;
	log_warning("the command is not recorded as a job: %s", err->text);
	return 1;
}

static void end(struct job_options *options, const struct job *job, int status)
{
	struct error err = { 0 };

	options->status = status;
	if (job_record_end(options, job->id, &err) < 0)
		log_warning("the end of job %s is not recorded: %s", job->id, err.text);
}

/*
 * A report that cannot be written is noticed before a command of hours, not after it. A pipe is not opened: its
 * reader would see the end.
 */
static const char *check_report(const char *path)
{
	struct new_file file;
	struct stat status;
	struct error err;
	int code = 0;

	if (!path || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
		return path;
	code = new_file_open(path, false, &file, &err);
	if (code == 0)
		new_file_end(&file, ERR_UNAVAILABLE, NULL);
	else
		log_warning("%s; the report goes to stderr", err.text);
	return code == 0 ? path : NULL;
}

static void report(const struct job_options *options, const struct job *job, const char *path)
{
	struct error err = { 0 };

	if (job_report_write(&options->snapshot.common, job->id, path, &options->nccl, &err) < 0)
		log_warning("no report of job %s: %s", job->id, err.text);
}

static int run_as_job(struct job_options *options, const char *path, char **argv, struct error *err)
{
	struct run_signals signals;
	struct error cause = { 0 };
	struct job job = { 0 };
	int status, code;

	run_save_signals(&signals);
	log_init("ibwire", LOG_LEVEL_WARNING);
	stop_install();
	path = check_report(path);
	code = begin(options, argv, &job, err);
	if (code < 0)
		goto done;
	if (stop_requested()) {
		log_warning("stopped; the command was not run");
		status = RUN_SIGNALLED + stop_signal();
		options->no_snapshot = true;
	} else if (run_command(argv, &signals, &status, &cause) < 0) {
		log_error("%s", cause.text);
		path = NULL;
	}
	if (code == 0) {
		end(options, &job, status);
		if (!stop_requested() && !cause.code)
			report(options, &job, path);
	}
	code = status;
done:
	job_done(&job);
	return code;
}

/* Without the fabric and the database: this host's counters before and after. */
static int run_on_host(const char *root, const char *path, const struct nccl_files *nccl, char **argv,
	struct error *err)
{
	struct run_signals signals;
	struct local_run *local = NULL;
	struct error cause = { 0 };
	int status, code;

	run_save_signals(&signals);
	log_init("ibwire", LOG_LEVEL_WARNING);
	path = check_report(path);
	code = local_run_begin(root, &local, err);
	if (code == ERR_USAGE)
		return code;
	if (code)
		log_warning("the counters of this host are not read: %s", err->text);
	stop_install();
	if (run_command(argv, &signals, &status, &cause) < 0) {
		log_error("%s", cause.text);
		if (code == 0)
			local_run_cancel(local);
	} else if (code == 0 && local_run_end(local, path, nccl, &cause)) {
		log_warning("there is no report: %s", cause.text);
	}
	return status;
}

/* The command begins after "--", so that its options are not taken for options of ibwire. */
static bool has_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return true;
	return false;
}

int run_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct job_options options = { .snapshot = SNAPSHOT_DEFAULTS, .expire_us = JOB_EXPIRE_US, .status = -1,
				       .lenient = true, .shared = true };
	const char *path = NULL, *root = NULL;
	bool local = false;
	const struct option_spec specs[] = {
		OPT_FLAG("local", 0, &local, "compare counters of this host only: no fabric, no database"),
		OPT_TEXT("root", 0, "DIR", &root, "with --local: the tree of a host in place of this one's /sys"),
		JOB_SPECS(&options, ""),
		OPT_TEXT("report", 0, "FILE", &path, "write the report to a file: .html, .json or text (stderr)"),
		NCCL_SPECS(&options.nccl, "compare with what NCCL logged to FILE, or to files of a quoted pattern"),
		{ 0 },
	};
	struct options *common = &options.snapshot.common;
	char db[4096];
	int code = options_parse(command, COMMON_DEVICE | COMMON_NAMES | COMMON_DB, specs, argc, argv, common, err);

	if (code)
		return code < 0 ? code : 0;
	if (!has_separator(argc, argv))
		return options_usage_error(command, err, "write -- before the command: ibwire run -- mpirun ...");
	if (!common->argc)
		return options_usage_error(command, err, "give a command after --");
	if (nccl_files_check(command, &options.nccl, err) < 0)
		return ERR_USAGE;
	if (root && !local)
		return options_usage_error(command, err, "--root requires --local");
	if (local && (options.hosts || options.name))
		return options_usage_error(command, err, "--local cannot be combined with --hosts or --name");
	if (local && path && strlen(path) > 5 && !strcmp(path + strlen(path) - 5, ".html"))
		return options_usage_error(command, err, "with --local the report is .json or text");
	if (local)
		return run_on_host(root, path, &options.nccl, common->argv, err);
	options.snapshot.polling.timeout_ms = common->timeout_ms;
	/* Readers may have another default: the report is of the database that the job is in. */
	if (options_db_path(common, true, db, sizeof(db), err) == 0)
		common->db = db;
	return run_as_job(&options, path, common->argv, err);
}
