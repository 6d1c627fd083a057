/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_import.c - `ibwire job import`: jobs from the accounting of Slurm
 *
 * The input is what sacct prints with --parsable2: lines of fields that are separated by '|', the first with the
 * names of the columns. Source: the manual page sacct(1) of Slurm 22.05.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/job/job.h"
#include "fabric/host_set.h"
#include "storage/saved.h"

enum field { ID, RAW_ID, NAME, HOSTS, STATE, START, END, EXIT_CODE, CLUSTER, USER, ACCOUNT, PARTITION, FIELDS };

static const struct {
	const char *name;
	bool required;
} fields[FIELDS] = {
	[ID] = { "JobID", true }, [RAW_ID] = { "JobIDRaw", false }, [NAME] = { "JobName", false },
	[HOSTS] = { "NodeList", true }, [STATE] = { "State", true }, [START] = { "Start", true },
	[END] = { "End", true }, [EXIT_CODE] = { "ExitCode", false }, [CLUSTER] = { "Cluster", false },
	[USER] = { "User", false }, [ACCOUNT] = { "Account", false }, [PARTITION] = { "Partition", false },
};

static const enum field label_fields[JOB_LABELS] = {
	[JOB_CLUSTER] = CLUSTER, [JOB_USER] = USER, [JOB_ACCOUNT] = ACCOUNT, [JOB_PARTITION] = PARTITION,
};

enum { COLUMNS_MOST = 256, FILE_MOST = 256 << 20 };

struct import {
	const char *path, *cluster; /* the cluster of rows without one; NULL: none */
	size_t line, wrong;
	enum field columns[COLUMNS_MOST]; /* FIELDS: not used */
	size_t column_count;
	struct job *jobs;           /* hosts are borrowed from the text of the file */
	size_t count, capacity;
	size_t skipped;             /* steps of jobs, and jobs that did not start */
};

/* --- a line --- */

/* Split at '|' into the columns of the header. A name at the end may contain it. Return: what is wrong, or NULL. */
static const char *split(const struct import *import, char *line, char *ret[FIELDS])
{
	static char none[] = "";
	char *at = line;

	for (int i = 0; i < FIELDS; i++)
		ret[i] = none;
	for (size_t i = 0; i < import->column_count; i++) {
		bool last = i + 1 == import->column_count;
		char *end = strchr(at, '|');

		if (!last && !end)
			return "it has fewer fields than the header";
		if (last && end && import->columns[i] != NAME)
			return "it has more fields than the header";
		if (!last)
			*end = '\0';
		if (import->columns[i] < FIELDS)
			ret[import->columns[i]] = at;
		if (!last)
			at = end + 1;
	}
	return NULL;
}

static bool is_unknown_time(const char *typed)
{
	return !*typed || !strcmp(typed, "Unknown") || !strcmp(typed, "None");
}

/* Local time of ISO 8601, or seconds since 1970 UTC (SLURM_TIME_FORMAT=%s). */
static bool read_time(const char *typed, int64_t *ret_us)
{
	size_t digits = strspn(typed, "0123456789");

	if (digits && digits < 12 && !typed[digits])
		*ret_us = strtoll(typed, NULL, 10) * US_PER_S;
	else if (digits != 4 || when_parse(typed, 0, ret_us, NULL) < 0)
		return false;
	return *ret_us > 0;
}

/* "STATUS:SIGNAL" as a shell shows it; 0:0 of a job that did not complete is unknown, as in dist/slurm/epilog.sh. */
static bool read_status(const char *typed, bool completed, int *ret)
{
	size_t status = strspn(typed, "0123456789"), signal = 0;
	int value;

	if (typed[status] == ':')
		signal = strspn(typed + status + 1, "0123456789");
	if (!*typed)
		return true;
	if (!status || status > 3 || signal < 1 || signal > 3 || typed[status + 1 + signal])
		return false;
	value = atoi(typed + status + 1) ? 128 + atoi(typed + status + 1) : atoi(typed);
	if (value || completed)
		*ret = value;
	return value <= 255;
}

static bool is_state(const char *state, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(state, name, len) && (!state[len] || state[len] == ' ');
}

static bool begins_with_any(const char *state, const char *const *names)
{
	bool found = false;

	for (; !found && *names; names++)
		found = is_state(state, *names);
	return found;
}

static const char *read_hosts(char *typed, struct job *job)
{
	struct host_set set = { 0 };
	bool good = *typed != '@' && host_set_add(&set, typed, NULL) == 0 && set.count;

	host_set_done(&set);
	job->hosts = typed;
	return good ? NULL : "NodeList is not a list of hosts";
}

/* Return: what is wrong, or NULL. */
static const char *read_job(const struct import *import, char *values[FIELDS], struct job *job)
{
	static const char *const open[] = { "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING",
					    "SIGNALING", "STAGE_OUT", "STOPPED", NULL };
	/* A component of a heterogeneous job is 4711+1, but the hooks have its own number only. */
	const char *id = *values[RAW_ID] && strchr(values[ID], '+') ? values[RAW_ID] : values[ID];
	const char *cluster = import->cluster, *problem = job_id_problem(id);
	bool is_open = begins_with_any(values[STATE], open);

	*job = (struct job){ .exit_status = -1, .ending = JOB_ENDED };
	if (problem)
		return problem;
	memcpy(job->id, id, strlen(id) + 1);
	memcpy(job->name, values[NAME], text_cut_bytes(values[NAME], sizeof(job->name) - 1));
	for (int i = 0; i < JOB_LABELS; i++) {
		const char *label = values[label_fields[i]];

		if (i == JOB_CLUSTER && !*label && cluster)
			label = cluster;
		memcpy(job->labels[i], label, text_cut_bytes(label, sizeof(job->labels[i]) - 1));
	}
	if (!read_time(values[START], &job->begin_us))
		return "Start is not a time";
	if (is_open)
		job->ending = is_state(values[STATE], "SUSPENDED") ? JOB_SUSPENDED : JOB_RUNNING;
	else if (!read_time(values[END], &job->end_us))
		return "End is not a time";
	else if (job->end_us < job->begin_us)
		return "End is before Start";
	else if (!read_status(values[EXIT_CODE], is_state(values[STATE], "COMPLETED"), &job->exit_status))
		return "ExitCode is not STATUS:SIGNAL";
	return read_hosts(values[HOSTS], job);
}

/* --- the file --- */

static int read_header(struct import *import, char *line, struct error *err)
{
	bool found[FIELDS] = { false };

	for (char *at = line, *name; (name = strsep(&at, "|"));) {
		enum field field = 0;

		while (field < FIELDS && strcasecmp(fields[field].name, name) != 0)
			field++;
		if (import->column_count == COLUMNS_MOST || (field < FIELDS && found[field]))
			return err_set(err, ERR_USAGE, "%s:%zu: too many columns, or %s twice", import->path,
				       import->line, field < FIELDS ? fields[field].name : "one");
		if (field < FIELDS)
			found[field] = true;
		import->columns[import->column_count++] = field;
	}
	for (int i = 0; i < FIELDS; i++)
		if (fields[i].required && !found[i])
			return err_set(err, ERR_USAGE, "%s:%zu: the header has no column %s; it must be the output of "
				       "sacct --parsable2 with a header", import->path, import->line, fields[i].name);
	if (!found[CLUSTER] && !import->cluster)
		return err_set(err, ERR_USAGE, "%s:%zu: the header has no column Cluster; give --cluster", import->path,
			       import->line);
	return 0;
}

static int read_line(struct import *import, char *line, struct error *err)
{
	struct job *job = array_grow(import->jobs, import->count, &import->capacity, sizeof(*job));
	const char *problem;
	char *values[FIELDS];

	if (!job)
		return err_nomem(err);
	import->jobs = job;
	problem = split(import, line, values);
	/* Steps are 4711.batch and 4711.0. */
	if (!problem && (strchr(values[ID], '.') || is_unknown_time(values[START]) || !*values[HOSTS] ||
			 !strcmp(values[HOSTS], "None assigned"))) {
		import->skipped++;
		return 0;
	}
	if (!problem)
		problem = read_job(import, values, &job[import->count]);
	if (!problem) {
		import->count++;
		return 0;
	}
	import->wrong++;
	log_warning("%s:%zu: %s; the line is not imported", import->path, import->line, problem);
	return 0;
}

static int read_lines(struct import *import, struct text *text, struct error *err)
{
	char *at = text->chars, *line;
	int code = 0;

	if (text->len != strlen(text_chars(text)))
		return err_set(err, ERR_USAGE, "%s contains a NUL: it is not the output of sacct", import->path);
	while (code == 0 && at && (line = strsep(&at, "\n"))) {
		import->line++;
		if (!*line)
			continue;
		code = import->column_count ? read_line(import, line, err) : read_header(import, line, err);
	}
	if (code == 0 && !import->column_count)
		code = err_set(err, ERR_USAGE, "%s is empty; it must have a header", import->path);
	return code;
}

enum { ADDED = JOB_ADDED, UPDATED = JOB_UPDATED, UNCHANGED = JOB_UNCHANGED, SKIPPED = JOB_IMPORTS, WRONG, NUMBERS };

static const struct column import_columns[NUMBERS] = {
	[ADDED] = { .key = "added", .title = "ADDED", .kind = COLUMN_INTEGER },
	[UPDATED] = { .key = "updated", .title = "UPDATED", .kind = COLUMN_INTEGER },
	[UNCHANGED] = { .key = "unchanged", .title = "UNCHANGED", .kind = COLUMN_INTEGER },
	[SKIPPED] = { .key = "skipped", .title = "SKIPPED", .kind = COLUMN_INTEGER },
	[WRONG] = { .key = "not_imported", .title = "NOT IMPORTED", .kind = COLUMN_INTEGER },
};

static int store(struct import *import, const struct options *common, struct error *err)
{
	size_t numbers[NUMBERS] = { [SKIPPED] = import->skipped, [WRONG] = import->wrong };
	struct saved_writer *writer = NULL;
	struct result *result;
	char path[4096];
	int code = options_db_path(common, true, path, sizeof(path), err);

	if (code == 0)
		code = saved_writer_open(path, &writer, err);
	if (code == 0)
		code = jobs_import(writer, import->jobs, import->count, clock_wall_us(clock_system()), numbers, err);
	saved_writer_close(writer);
	if (code < 0)
		return code;
	result = output_begin(common, true, import_columns, NUMBERS);
	for (size_t i = 0; i < NUMBERS; i++)
		result_unsigned(result, i, numbers[i]);
	result_end_row(result);
	return output_end(result, 0, err);
}

int job_import_cmd(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	const char *path = strcmp(common->argv[1], "-") ? common->argv[1] : NULL;
	struct import import = { .path = path ? path : "standard input", .cluster = options->labels[JOB_CLUSTER] };
	struct text text = { 0 };
	int code = text_read_file(path, "the jobs ", FILE_MOST, &text, err);

	(void)command;
	if (code == 0)
		code = read_lines(&import, &text, err);
	if (code == 0)
		code = store(&import, common, err);
	if (code == 0 && import.wrong)
		code = err_set(err, ERR_USAGE, "%s: %zu line%s of %zu not imported", import.path, import.wrong,
			       text_plural(import.wrong), import.count + import.skipped + import.wrong);
	free(import.jobs);
	text_done(&text);
	return code;
}
