/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job.c - `ibwire job`: begin and end of jobs, hooks, their list; the reports are in job_report*.c */
#include "cli/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "facts/saved_columns.h"
#include "storage/reader.h"

/* Time limit of the shutdown: a call to the device may never return. */
#define STOP_S 10

/* --- begin, end, remove --- */

/* What is wrong with any id; NULL: nothing. */
static const char *any_id_problem(const char *id)
{
	char clean[4 * JOB_ID_SIZE + 1];

	_Static_assert(JOB_ID_SIZE == 129, "the text has the number");
	if (!*id || strlen(id) >= JOB_ID_SIZE)
		return "an id must have 1 to 128 bytes";
	text_sanitise(id, strlen(id), clean, sizeof(clean));
	return strcmp(id, clean) || *id == '-' ?
	       "an id must be printable, without spaces at its ends, and not begin with '-'" : NULL;
}

/* The batch system neither begins nor ends jobs of `ibwire run`. */
const char *job_id_problem(const char *id)
{
	bool reserved = !strncmp(id, "run-", 4) && id[4] && id[4 + strspn(id + 4, "0123456789")] == '\0';

	return reserved ? "ids of the form run-NUMBER are reserved for ibwire run" : any_id_problem(id);
}

static int check_id(const struct command *command, const char *id, struct error *err)
{
	const char *problem = any_id_problem(id);

	return problem ? options_usage_error(command, err, "%s", problem) : 0;
}

static int check_batch_id(const struct command *command, const char *id, struct error *err)
{
	const char *problem = job_id_problem(id);

	return problem ? options_usage_error(command, err, "%s", problem) : 0;
}

/* A snapshot may be in progress when a signal arrives. */
static void prepare_polling(void)
{
	log_init("ibwire", LOG_LEVEL_WARNING);
	stop_install();
	stop_within(STOP_S);
}

static int begin(const struct command *command, struct job_options *options, struct error *err)
{
	const char *id = options->snapshot.common.argv[1];
	struct job job = { 0 };
	int code = check_batch_id(command, id, err);

	if (code < 0)
		return code;
	prepare_polling();
	code = job_record_begin(options, id, "", &job, err);
	if (code > 0)
		log_warning("job %s is running already; nothing was changed", id);
	job_done(&job);
	return code < 0 ? code : 0;
}

static int end(const struct command *command, struct job_options *options, struct error *err)
{
	const char *id = options->snapshot.common.argv[1];
	int code = check_id(command, id, err);

	if (code < 0)
		return code;
	prepare_polling();
	code = job_record_end(options, id, err);
	if (code > 0)
		log_warning("job %s has ended already; its end was not changed", id);
	return code < 0 ? code : 0;
}

static int change_state(const struct command *command, struct job_options *options, bool suspended, struct error *err)
{
	const char *id = options->snapshot.common.argv[1];
	int code = check_id(command, id, err);

	if (code == 0)
		code = job_record_suspend(options, id, suspended, err);
	if (code > 0)
		log_warning("job %s is %s already; nothing was changed", id, suspended ? "suspended" : "running");
	return code < 0 ? code : 0;
}

static int suspend(const struct command *command, struct job_options *options, struct error *err)
{
	return change_state(command, options, true, err);
}

static int resume(const struct command *command, struct job_options *options, struct error *err)
{
	return change_state(command, options, false, err);
}

/* --- hooks of a batch system --- */

enum { HOOK_MOST = 65536, BEGIN_FIELDS = 3, HOOK_FIELDS = BEGIN_FIELDS + JOB_LABELS };

/* The first field is the id. Those after the first @least are labels: the cluster, and of a begin the others. */
static const struct hook {
	const char *word;
	size_t least, most; /* the number of fields is one of these */
	const char *fields;
} hooks[] = {
	{ "begin", BEGIN_FIELDS, HOOK_FIELDS,
	  "three fields (id, hosts, name) or seven (and cluster, user, account, partition)" },
	{ "end", 2, 3, "two fields (id, exit status) or three (and cluster)" },
	{ "suspend", 1, 2, "one field (id) or two (and cluster)" },
	{ "resume", 1, 2, "one field (id) or two (and cluster)" },
};

/* Split a text into fields that are ended by NUL; if it has none, by newline. Return: their number; 0: malformed. */
static size_t split_fields(struct text *text, char *ret[HOOK_FIELDS])
{
	char end = memchr(text_chars(text), '\0', text->len) ? '\0' : '\n';
	char *at = text->chars, *last = at + text->len;
	size_t found = 0;

	while (at < last && found < HOOK_FIELDS) {
		char *next = memchr(at, end, (size_t)(last - at));

		if (!next)
			return 0;
		*next = '\0';
		ret[found++] = at;
		at = next + 1;
	}
	return at == last ? found : 0;
}

/* An exit status from 0 to 255; "": unknown. */
static bool read_status(const char *typed, int64_t *ret)
{
	size_t digits = strspn(typed, "0123456789");

	if (digits > 3 || typed[digits])
		return false;
	*ret = digits ? atoi(typed) : -1;
	return *ret <= 255;
}

/*
 * The word after "hook"; "ssh": that of the command that an ssh client asks for, if an authorized key may run
 * `ibwire job hook ssh` only. Source: sshd(8), "command=" in AUTHORIZED_KEYS FILE FORMAT.
 */
static char *hook_word(int argc, char **argv)
{
	static char none[] = "", prefix[] = "ibwire job hook ";
	char *asked = getenv("SSH_ORIGINAL_COMMAND");

	if (argc != 3 || strcmp(argv[2], "ssh"))
		return argc == 3 ? argv[2] : none;
	return asked && !strncmp(asked, prefix, strlen(prefix)) ? asked + strlen(prefix) : none;
}

/*
 * This is what a rule of sudo allows the user of a batch system, so nothing that this user controls names a
 * file: the fields come from standard input, and the database is that of the service.
 */
static int hook(const struct command *command, int argc, char **argv, struct error *err)
{
	char *word = hook_word(argc, argv);
	const struct hook *of = NULL;
	bool begins = !strcmp(word, "begin"), ends = !strcmp(word, "end");
	struct job_options options = {
		.snapshot = SNAPSHOT_DEFAULTS, .no_snapshot = true, .lenient = true, .expire_us = JOB_EXPIRE_US,
	};
	char *fields[HOOK_FIELDS], *words[] = { word, NULL };
	struct text text = { 0 };
	size_t count = 0;
	int code;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (!strcmp(word, hooks[i].word))
			of = &hooks[i];
	if (!of)
		return options_usage_error(command, err, "hook takes one argument, begin, end, suspend or resume, and "
					   "no options; hook ssh takes it from SSH_ORIGINAL_COMMAND");
	code = text_read_file(NULL, "the fields of a job from ", HOOK_MOST, &text, err);
	if (code == 0)
		count = split_fields(&text, fields);
	if (code == 0 && count != of->least && count != of->most)
		code = options_usage_error(command, err, "hook %s requires %s on standard input, each ended by NUL or "
					   "each by a newline", word, of->fields);
	if (code == 0 && begins && *fields[1] == '@')
		code = options_usage_error(command, err, "hook reads no file of hosts");
	if (code == 0 && ends && !read_status(fields[1], &options.status))
		code = options_usage_error(command, err, "an exit status must be a number from 0 to 255, or empty");
	if (code == 0 && !begins)
		code = check_batch_id(command, fields[0], err);
	if (code == 0) {
		words[1] = fields[0];
		options.snapshot.common.argv = words;
		options.snapshot.common.db = STORAGE_SYSTEM_PATH;
		options.hosts = begins ? fields[1] : NULL;
		options.name = begins ? fields[2] : NULL;
		for (size_t i = of->least, label = 0; i < count; i++, label++)
			options.labels[label] = fields[i];
		/* A batch system, or a script that polls it, may repeat a change: that is no warning. */
		code = begins ? begin(command, &options, err) :
		       ends   ? end(command, &options, err) :
				job_record_suspend(&options, fields[0], !strcmp(word, "suspend"), err);
		code = code < 0 ? code : 0;
	}
	text_done(&text);
	return code;
}

static int remove_one(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	struct saved_writer *writer;
	struct job job = { 0 };
	char path[4096];
	int code = job_find_typed(options, &job, err);

	(void)command;
	if (code == 0)
		code = options_db_path(common, false, path, sizeof(path), err);
	if (code == 0)
		code = saved_writer_open(path, &writer, err);
	if (code == 0) {
		code = jobs_remove(writer, job.number, err);
		saved_writer_close(writer);
	}
	job_done(&job);
	return code;
}

/* --- list --- */

static const struct column_source job_sources[] = {
	{ .columns = job_columns }, { .columns = job_rhythm_columns, .row = JOB_RHYTHM_ROW },
};
static const struct column_list job_list = { .sources = job_sources, .source_count = 2 };

struct listing {
	struct result *result;
	struct job now; /* its end: this moment */
	int64_t at_us;  /* of --at; 0: without it */
};

static bool put_job(void *ctx, const struct job *job)
{
	struct listing *listing = ctx;
	const struct job_facts facts = job_facts_of(job, &listing->now, listing->at_us);

	const void *const rows[] = { &facts, NULL, [JOB_RHYTHM_ROW] = &facts.rhythm };

	result_fill_rows(listing->result, rows);
	return result_end_row(listing->result);
}

static int list(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	const struct job_query query = { .since_us = common->since_us,
					 .until_us = common->until_us ? common->until_us : common->at_us,
					 .most = (size_t)options->limit, .at_us = common->at_us };
	struct listing listing = { .result = NULL };
	bool older = false;
	struct columns shown;
	struct moment moment;
	int code = columns_create(command, common, &job_list, options->snapshot.columns, options->snapshot.sort,
				  &shown, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_open_reader(common, &moment, err);
	if (code == 0) {
		job_set_end(&listing.now);
		listing.at_us = common->at_us;
		listing.result = columns_begin(common, &shown);
		code = jobs_list(moment.reader, &query, &older, put_job, &listing, err);
		if (older)
			result_note(listing.result, "Older jobs: --since, or --limit 0 for all.");
		code = output_end(listing.result, code, err);
		moment_done(&moment);
	}
	columns_done(&shown);
	return code;
}

/* --- the command line --- */

static const struct subcommand {
	const char *word;
	int least, most; /* number of arguments */
	int (*run)(const struct command *command, struct job_options *options, struct error *err);
} subcommands[] = {
	{ "begin", 1, 1, begin },
	{ "end", 1, 1, end },
	{ "import", 1, 1, job_import_cmd },
	{ "list", 0, 0, list },
	{ "remove", 1, 1, remove_one },
	{ "report", 1, 1, job_report_cmd },
	{ "resume", 1, 1, resume },
	{ "suspend", 1, 1, suspend },
	{ "watch", 1, 1, job_watch_cmd },
	{ "compare", 1, 2, job_compare_cmd },
};

/* Reject options of other sub-commands. */
static int check_options(const struct command *command, const struct job_options *options, const char *word,
			 struct error *err)
{
	const struct options *common = &options->snapshot.common;
	bool begins = !strcmp(word, "begin"), ends = !strcmp(word, "end");

	if (strcmp(word, "list") != 0 && (common->since_us || common->until_us))
		return options_usage_error(command, err, "--since and --until require list");
	if (strcmp(word, "list") != 0 && common->at_us)
		return options_usage_error(command, err, "--at requires list");
	if (strcmp(word, "list") != 0 && options->snapshot.columns)
		return options_usage_error(command, err, "--columns requires list");
	if (!ends && options->keep_us)
		return options_usage_error(command, err, "--keep requires end");
	if (!begins && (options->hosts || options->name || options->lenient || options->shared || options->exclusive))
		return options_usage_error(command, err, "--hosts, --name, --lenient, --shared and --exclusive require "
					   "begin");
	if (options->shared && options->exclusive)
		return options_usage_error(command, err, "--shared and --exclusive exclude each other");
	for (int i = 0; i < JOB_LABELS; i++)
		if (!begins && options->labels[i] && (i != JOB_CLUSTER || !strcmp(word, "list")))
			return options_usage_error(command, err, i == JOB_CLUSTER ? "list has all clusters" :
						   "--user, --account and --partition require begin");
	if (!begins && !ends && options->no_snapshot)
		return options_usage_error(command, err, "--no-snapshot requires begin or end");
	if (nccl_files_check(command, &options->nccl, err) < 0)
		return ERR_USAGE;
	if (strcmp(word, "report") != 0 && options->nccl.pattern)
		return options_usage_error(command, err, "--nccl requires report");
	if (strcmp(word, "report") != 0 && strcmp(word, "compare") != 0 && strcmp(word, "watch") != 0 &&
	    options->snapshot.all)
		return options_usage_error(command, err, "--all requires report, compare or watch");
	if (strcmp(word, "report") != 0 && strcmp(word, "compare") != 0 && options->html)
		return options_usage_error(command, err, "--html requires report or compare");
	if (strcmp(word, "watch") != 0 && (options->exec || options->webhook))
		return options_usage_error(command, err, "--exec and --webhook require watch");
	if (!ends && options->status >= 0)
		return options_usage_error(command, err, "--status requires end");
	if (options->status > 255)
		return options_usage_error(command, err, "--status must be a number from 0 to 255");
	return 0;
}

int job_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct job_options options = { .snapshot = SNAPSHOT_DEFAULTS, .expire_us = JOB_EXPIRE_US, .status = -1,
				       .limit = JOB_LIST_MOST };
	const struct option_spec specs[] = {
		JOB_SPECS(&options, "begin: "),
		OPT_SPAN_OR_0("keep", 0, &options.keep_us,
			      "end: remove snapshots of jobs that ended longer ago, 0 = never (0)"),
		OPT_FLAG("lenient", 0, &options.lenient, "begin: warn of hosts that the fabric does not have"),
		OPT_FLAG("shared", 0, &options.shared, "begin: close no running job on the same hosts (default)"),
		OPT_FLAG("exclusive", 0, &options.exclusive,
			 "begin: close running jobs on the same hosts, whose end is missing"),
		OPT_TEXT("cluster", 0, "NAME", &options.labels[JOB_CLUSTER],
			 "cluster of the batch system, in which ids are unique"),
		OPT_TEXT("user", 0, "NAME", &options.labels[JOB_USER], "begin: user of the job"),
		OPT_TEXT("account", 0, "NAME", &options.labels[JOB_ACCOUNT], "begin: account of the job"),
		OPT_TEXT("partition", 0, "NAME", &options.labels[JOB_PARTITION], "begin: partition (queue) of the job"),
		OPT_SPAN_OR_0("expire", 0, &options.expire_us,
			      "begin: close jobs that have been running for longer, 0 = never (7d)"),
		OPT_FLAG("all", 'a', &options.snapshot.all,
			 "report, compare: every host, uplink and change (JSON always does); watch: infos, too"),
		OPT_TEXT("html", 0, "FILE", &options.html, "report, compare: write it to FILE as a page of HTML"),
		OPT_TEXT("exec", 0, "COMMAND", &options.exec,
			 "watch: shell command that gets each change of a finding as JSON on stdin"),
		OPT_TEXT("webhook", 0, "URL", &options.webhook,
			 "watch: URL to which each of them is posted as JSON, or @FILE with it"),
		OPT_NUMBER("status", 0, "N", &options.status, 0, "end: exit status of the job"),
		OPT_NUMBER("limit", 'n', "N", &options.limit, 0, "list: the newest N, 0 = all (1000)"),
		OPT_TEXT("columns", 'c', "LIST", &options.snapshot.columns, "list: " COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &options.snapshot.sort, "list: " COLUMNS_SORT_HELP),
		NCCL_SPECS(&options.nccl, "report: compare with what NCCL logged; FILE... after the id for more"),
		{ 0 },
	};
	struct options *common = &options.snapshot.common;
	int code;

	if (argc > 1 && !strcmp(argv[1], "hook"))
		return hook(command, argc, argv, err);
	code = options_parse(command, COMMON_DEVICE | COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv,
			     common, err);
	if (code)
		return code < 0 ? code : 0;
	options.snapshot.polling.timeout_ms = common->timeout_ms;
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(*subcommands); i++) {
		const struct subcommand *sub = &subcommands[i];

		if (!common->argc || strcmp(common->argv[0], sub->word))
			continue;
		/* Logs of NCCL may follow the id: a pattern that the shell expanded. */
		if (common->argc - 1 < sub->least ||
		    (common->argc - 1 > sub->most && !(options.nccl.pattern && sub->run == job_report_cmd)))
			return options_usage_error(command, err, sub->most > 1
						   ? "%s requires the ids of one or two jobs"
						   : sub->run == job_import_cmd
						   ? "%s requires one file, or - for standard input"
						   : sub->most ? "%s requires the id of one job"
						   : "%s does not take an id", sub->word);
		code = check_options(command, &options, sub->word, err);
		return code < 0 ? code : sub->run(command, &options, err);
	}
	return options_usage_error(command, err, "give a sub-command: begin, end, list, report, compare, remove, "
				   "suspend, resume, import, or hook as the first word");
}
