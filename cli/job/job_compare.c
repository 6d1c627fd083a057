/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_compare.c - `ibwire job compare`: the jobs that are compared */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/job/job.h"
#include "cli/lib/moment_options.h"
#include "pages/job_report.h"

/* The newest job of the same name before one. A requeued job has the id of the one before it. */
struct earlier {
	const struct job *than;
	struct job job; /* for job_done(); number 0: none */
	bool failed;
};

/* Jobs before the later one, among which one with its name is searched for. */
enum { EARLIER_MOST = 20000 };

static bool take_earlier(void *ctx, const struct job *job)
{
	struct earlier *earlier = ctx;

	if (job->number >= earlier->than->number || strcmp(job->name, earlier->than->name) != 0)
		return true;
	job_done(&earlier->job);
	earlier->job = *job;
	earlier->job.hosts = strdup(job->hosts);
	earlier->job.command = strdup(job->command);
	earlier->failed = !earlier->job.hosts || !earlier->job.command;
	return !earlier->failed;
}

static int find_earlier(struct reader *reader, const struct job *job, struct job *ret, struct error *err)
{
	struct earlier earlier = { .than = job };
	const struct job_query query = { .until_us = job->begin_us, .most = EARLIER_MOST };
	int code = *job->name ? jobs_list(reader, &query, NULL, take_earlier, &earlier, err) : 0;

	if (code == 0 && earlier.failed)
		code = err_nomem(err);
	else if (code == 0 && !earlier.job.number)
		code = err_set(err, ERR_USAGE, *job->name ? "no earlier job has the name '%.64s'; give two ids" :
			       "the job has no name%.0s; give the ids of two jobs", job->name);
	if (code < 0)
		job_done(&earlier.job);
	else
		*ret = earlier.job;
	return code;
}

/* @ret: the earlier one first; for job_done() up to @ret_count */
static int find_jobs(struct reader *reader, const struct job_options *options, struct job ret[2], int *ret_count,
		     struct error *err)
{
	const struct options *common = &options->snapshot.common;
	const char *cluster = options->labels[JOB_CLUSTER];
	int code = job_find(reader, cluster, common->argv[common->argc - 1], &ret[1], err);

	if (code < 0)
		return code;
	code = common->argc > 2 ? job_find(reader, cluster, common->argv[1], &ret[0], err) :
	       find_earlier(reader, &ret[1], &ret[0], err);
	if (code < 0) {
		job_done(&ret[1]);
		return code;
	}
	*ret_count = 2;
	if (ret[0].number == ret[1].number)
		return err_set(err, ERR_USAGE, "'%.64s' is given twice; give the ids of two jobs", ret[1].id);
	if (ret[0].number > ret[1].number) {
		struct job swap = ret[0];

		ret[0] = ret[1];
		ret[1] = swap;
	}
	return 0;
}

int job_compare_cmd(const struct command *command, struct job_options *options, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	struct job_report *reports[2] = { NULL, NULL };
	struct job jobs[2];
	struct moment moment;
	int count = 0, code = options_open_reader(common, &moment, err);

	(void)command;
	if (code < 0)
		return code;
	code = find_jobs(moment.reader, options, jobs, &count, err);
	for (int i = 0; code == 0 && i < 2; i++)
		code = job_report_of(moment.reader, moment.names, &jobs[i], common->now_us, &reports[i], err);
	if (code == 0)
		code = job_output(options, job_compare_page(reports[0], reports[1], options->snapshot.all), err);
	for (int i = 0; i < 2; i++)
		job_report_destroy(reports[i]);
	for (int i = 0; i < count; i++)
		job_done(&jobs[i]);
	moment_done(&moment);
	return code;
}
