/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/saved_columns.h"

#include <math.h>

#include "base/clock.h"
#include "storage/jobs.h"
#include "storage/saved.h"

/* A text that may be missing: null in JSON, an empty cell in a table. */
static void put_text(struct result *result, size_t at, const char *text)
{
	result_text(result, at, *text ? text : NULL);
	if (!*text)
		result_show(result, at, "", STYLE_PLAIN);
}

/* --- jobs --- */

static const struct job *job_of(const void *row)
{
	return ((const struct job_facts *)row)->job;
}

int64_t job_rhythm_time(const struct job *job, int64_t at_us)
{
	return job->end_us && job->end_us < at_us ? job->end_us : at_us;
}

struct job_facts job_facts_of(const struct job *job, const struct job *now, int64_t at_us)
{
	return (struct job_facts){ job, job_duration_us(job, now), job_suspended_us(job, now),
				   job_rhythm_of(&job->minute, job_rhythm_time(job, at_us ? at_us : now->end_us)) };
}

/* Texts of a job: its labels, and these. */
enum { JOB_NAME = JOB_LABELS, JOB_ENDED_BY, JOB_COMMAND };

static void fill_job_text(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct job *job = job_of(row);

	put_text(result, at, which < JOB_LABELS    ? job->labels[which] :
			     which == JOB_NAME     ? job->name :
			     which == JOB_ENDED_BY ? job->ended_by :
						     job->command);
}

static void fill_id(struct result *result, size_t at, const void *row)
{
	result_text(result, at, job_of(row)->id);
	result_show(result, at, job_of(row)->display_id, STYLE_PLAIN);
}

static void fill_hosts(struct result *result, size_t at, const void *row)
{
	put_text(result, at, job_of(row)->hosts);
	if (!*job_of(row)->hosts)
		result_show(result, at, "all", STYLE_PLAIN);
}

static void fill_ending(struct result *result, size_t at, const void *row)
{
	const struct job *job = job_of(row);

	result_text(result, at, job_ending_name(job->ending));
	if (job->ending == JOB_REPLACED)
		result_showf(result, at, STYLE_PLAIN, "replaced by %s", job->ended_by);
}

static double number_exit_status(const void *row)
{
	return job_of(row)->exit_status >= 0 ? job_of(row)->exit_status : NAN;
}

static double number_confidence(const void *row)
{
	return job_is_detected(job_of(row)) ? 100 * job_of(row)->confidence : NAN;
}

static void fill_snapshot(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct job *job = job_of(row);
	char name[JOB_SNAPSHOT_NAME_SIZE];

	if (which ? job->end_snapshot : job->begin_snapshot)
		result_text(result, at, job_snapshot_name(job->number, which, name));
}

#define MEMBER(member) COLUMN_MEMBER_AT(struct job_facts, job, struct job, member)

const struct column job_columns[] = {
	{ .key = "id", .title = "JOB", .kind = COLUMN_TEXT, .fill = fill_id,
	  .help = "id of the job; in tables with its cluster if there are several" },
	{ .key = "name", .title = "NAME", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_job_text,
	  .which = JOB_NAME, .help = "name of the job" },
	{ .key = "hosts", .title = "HOSTS", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .fill = fill_hosts,
	  .help = "its hosts, as typed" },
	{ .key = "begin", .title = "BEGIN", .kind = COLUMN_TIME, .priority = 3, MEMBER(begin_us),
	  .help = "time of its begin" },
	{ .key = "end", .title = "END", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE | COLUMN_NONZERO, MEMBER(end_us),
	  .help = "time of its end" },
	{ .key = "duration_us", .title = "DURATION", .kind = COLUMN_SPAN_US,
	  COLUMN_MEMBER(struct job_facts, duration_us),
	  .help = "time from its begin to its end, or until now" },
	{ .key = "ending", .title = "ENDING", .kind = COLUMN_TEXT, .fill = fill_ending,
	  .help = "running, suspended, ended, replaced by another job on its hosts, or expired" },
	{ .key = "ended_by", .title = "ENDED BY", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_job_text, .which = JOB_ENDED_BY, .help = "id of the job that replaced it" },
	{ .key = "exit_status", .title = "STATUS", .kind = COLUMN_INTEGER, .priority = 1,
	  .number = number_exit_status, .help = "exit status, if it is known" },
	{ .key = "command", .title = "COMMAND", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 6,
	  .fill = fill_job_text, .which = JOB_COMMAND, .help = "command of ibwire run" },
	{ .key = "number", .title = "NUMBER", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  MEMBER(number), .help = "number in the database" },
	{ .key = "begin_snapshot", .title = "BEGIN SNAPSHOT", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_snapshot, .which = false, .help = "snapshot of its begin" },
	{ .key = "end_snapshot", .title = "END SNAPSHOT", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_snapshot, .which = true, .help = "snapshot of its end" },
	{ .key = "user", .title = "USER", .kind = COLUMN_TEXT, .priority = 4, .fill = fill_job_text,
	  .which = JOB_USER, .help = "user of the job in the batch system" },
	{ .key = "account", .title = "ACCOUNT", .kind = COLUMN_TEXT, .priority = 6, .fill = fill_job_text,
	  .which = JOB_ACCOUNT, .help = "account that the job is charged to" },
	{ .key = "partition", .title = "PARTITION", .kind = COLUMN_TEXT, .priority = 5, .fill = fill_job_text,
	  .which = JOB_PARTITION, .help = "partition or queue of the job" },
	{ .key = "cluster", .title = "CLUSTER", .kind = COLUMN_TEXT, .priority = 7, .fill = fill_job_text,
	  .which = JOB_CLUSTER, .help = "cluster of the batch system, in which the id is unique" },
	{ .key = "suspended_us", .title = "SUSPENDED", .kind = COLUMN_SPAN_US, .flags = COLUMN_NO_TABLE,
	  COLUMN_MEMBER(struct job_facts, suspended_us), .help = "time for which it was suspended" },
	{ .key = "confidence_percent", .title = "CONFIDENCE%", .kind = COLUMN_PERCENT, .priority = 5,
	  .number = number_confidence, .help = "of a job that the collector found in the traffic of its hosts" },
	{ 0 },
};

/* --- snapshots --- */

static void fill_note(struct result *result, size_t at, const void *row)
{
	put_text(result, at, ((const struct saved_info *)row)->note);
}

static double number_took(const void *row)
{
	const struct saved_info *info = row;

	return (double)(info->end_us - info->start_us);
}

#define SAVED(member) COLUMN_MEMBER(struct saved_info, member)

const struct column snapshot_columns[] = {
	{ .key = "name", .title = "NAME", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, SAVED(name),
	  .help = "name of the snapshot" },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, SAVED(wall_us),
	  .help = "time when the counters were read" },
	{ .key = "note", .title = "NOTE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 1,
	  .fill = fill_note, .help = "description that was given with --note" },
	{ .key = "ports_polled", .title = "POLLED", .kind = COLUMN_INTEGER, .priority = 4, SAVED(ports_polled),
	  .help = "ports that were polled" },
	{ .key = "ports_answered", .title = "RESPONDING", .kind = COLUMN_INTEGER, .priority = 3,
	  SAVED(ports_answered), .help = "ports that responded" },
	{ .key = "ports_planned", .title = "PLANNED", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  SAVED(ports_planned), .help = "ports with counters" },
	{ .key = "slow", .title = "SLOW", .kind = COLUMN_BOOL, .priority = 5, SAVED(slow),
	  .help = "whether detail counters were read, too" },
	{ .key = "discovered", .title = "DISCOVERED", .kind = COLUMN_BOOL, .flags = COLUMN_NO_TABLE,
	  SAVED(discovered), .help = "whether the fabric was discovered for it" },
	{ .key = "duration_us", .title = "DURATION", .kind = COLUMN_SPAN_US, .flags = COLUMN_NO_TABLE,
	  .number = number_took, .help = "time that taking it took" },
	{ .key = "spread_us", .title = "SPREAD", .kind = COLUMN_SPAN_US, .priority = 6, SAVED(spread_us),
	  .help = "time between the first and the last reading" },
	{ .key = "mads_sent", .title = "MADS", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  SAVED(mads_sent), .help = "MADs that were sent" },
	{ .key = "mads_timed_out", .title = "TIMED OUT", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  SAVED(mads_timed_out), .help = "MADs that timed out" },
	{ 0 },
};

void job_set_end(struct job *job)
{
	const struct clock *clock = clock_system();

	job->end_us = clock_wall_us(clock);
	job->end_boot_us = clock_boottime_us(clock);
	clock->boot_id(clock->ctx, job->end_boot_id);
}
