/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_watch.c - `ibwire job watch`: what the owner of one job needs to know while it runs
 *
 * Findings about the job and about its links and hosts, as `ibwire health --watch` prints them; a line when the
 * phase of the job changes; and its end, which ends the command. It only reads the database.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/health/health.h"
#include "cli/job/job.h"
#include "cli/lib/moment_options.h"
#include "facts/job_rhythm.h"
#include "facts/saved_columns.h"
#include "storage/reader.h"

/* Exit status: how the job ended. */
enum { STATUS_ENDED = 0, STATUS_FAILED = 1, STATUS_NOT_ENDED = 2 };

struct job_watching {
	const struct options *options;
	int64_t number;
	char subject[JOB_DISPLAY_SIZE + 8];
	bool began;           /* the first line was printed */
	enum job_phase phase; /* that was printed last */
	enum rhythm_kind kind;
	bool suspended;
	int status;
};

static void print(const struct job_watching *watching, struct result *result, int64_t wall_us, const char *change,
		  const char *word, const char *text)
{
	char when[WHEN_SIZE];

	if (result)
		health_put_note(result, wall_us, change, watching->subject, text);
	else
		fprintf(watching->options->out, "%s  %-8s %-8s %s  %s\n", when_format_local(wall_us, when), change,
			word, watching->subject, text);
}

/* The phase, with the rhythm in words: at the begin, when it changes, and once there is a rhythm. */
static void print_phase(struct job_watching *watching, const struct job *job, struct result *result)
{
	const struct job_rhythm rhythm = job_rhythm_of(&job->minute, 0);
	bool learnt = watching->kind == RHYTHM_UNKNOWN && rhythm.kind != RHYTHM_UNKNOWN;

	if (watching->began && rhythm.phase == watching->phase && !learnt)
		return;
	print(watching, result, rhythm.known ? rhythm.wall_us : clock_wall_us(clock_system()), "phase",
	      job_phase_name(rhythm.phase), rhythm.text);
	watching->phase = rhythm.phase;
	watching->kind = rhythm.kind;
}

static void print_suspension(struct job_watching *watching, const struct job *job, struct result *result)
{
	bool suspended = job->ending == JOB_SUSPENDED;

	if (suspended != watching->suspended)
		print(watching, result, suspended ? job->suspended_since_us : clock_wall_us(clock_system()), "state",
		      job_ending_name(job->ending), suspended ? "the batch system has suspended it" : "it runs again");
	watching->suspended = suspended;
}

static void print_end(struct job_watching *watching, const struct job *job, struct result *result)
{
	char text[JOB_ID_SIZE + 128], span[WHEN_SIZE];

	when_format_span(job_duration_us(job, job), span);
	if (job->ending == JOB_REPLACED)
		snprintf(text, sizeof(text), "its end is missing: job %s began on its hosts, after %s", job->ended_by,
			 span);
	else if (job->ending == JOB_EXPIRED)
		snprintf(text, sizeof(text), "its end is missing: it was closed by its age, after %s", span);
	else if (job->exit_status >= 0)
		snprintf(text, sizeof(text), "exit status %d after %s", job->exit_status, span);
	else
		snprintf(text, sizeof(text), "ended after %s, exit status unknown", span);
	print(watching, result, job->end_us, "end", job_ending_name(job->ending), text);
	watching->status = job->ending == JOB_ENDED && job->exit_status <= 0 ? STATUS_ENDED : STATUS_FAILED;
}

static int poll_job(void *ctx, const struct moment *moment, struct result *result, struct error *err)
{
	struct job_watching *watching = ctx;
	struct job job;
	int code = jobs_get(moment->reader, watching->number, &job, err);
	bool ended = code == 0;

	if (code < 0)
		return code;
	if (ended) {
		print(watching, result, clock_wall_us(clock_system()), "end", "removed", "the job was removed");
		watching->status = STATUS_FAILED;
	} else {
		ended = job.end_us;
		print_phase(watching, &job, result);
		print_suspension(watching, &job, result);
		if (ended)
			print_end(watching, &job, result);
		watching->began = true;
		job_done(&job);
	}
	fflush(watching->options->out);
	return ended;
}

int job_watch_cmd(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	struct health_request request = {
		.options = common, .exec = options->exec, .webhook = options->webhook, .poll = poll_job,
		.filter = { .all = options->snapshot.all, .of_job = true },
	};
	struct job_watching watching = { .options = common, .status = STATUS_NOT_ENDED };
	struct job job = { 0 };
	int code = job_find_typed(options, &job, err);

	(void)command;
	if (code == 0 && *job.hosts)
		code = host_set_add(&request.filter.job, job.hosts, err);
	if (code == 0) {
		snprintf(watching.subject, sizeof(watching.subject), "job %s", job.display_id);
		watching.number = request.filter.job_number = job.number;
		request.poll_ctx = &watching;
		host_set_sort(&request.filter.job);
		code = health_watch(&request, err);
	}
	host_set_done(&request.filter.job);
	job_done(&job);
	return code < 0 ? code : watching.status;
}
