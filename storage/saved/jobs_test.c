/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jobs_test.c - jobs begin, end and are closed once, whatever the clock, the disk and other processes do */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "storage/jobs.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

#define S INT64_C(1000000)
#define DAY (86400 * S)
#define NOW (1800000000 * S)

/* What jobs_begin() closed. */
struct closed {
	char ids[256]; /* "4711:replaced " ... */
};

static void add_closed(void *ctx, const struct job *job)
{
	struct closed *closed = ctx;
	size_t len = strlen(closed->ids);

	snprintf(closed->ids + len, sizeof(closed->ids) - len, "%s:%s ", job->id, job_ending_name(job->ending));
}

/* The hosts of the job that begins: in these tests, lists without brackets. */
static const char *new_hosts;

static bool overlaps(void *ctx, const struct job *running)
{
	(void)ctx;
	return *new_hosts && !strcmp(running->hosts, new_hosts);
}

/* The cluster of jobs that begin, end and are found; NULL: none, and that of any. */
static const char *cluster;

static char began[JOB_DISPLAY_SIZE]; /* display_id of the last one */

static int begin_at(const char *id, const char *hosts, int64_t wall_us, int64_t boot_us, const char *boot_id,
		    struct closed *closed)
{
	struct saved_writer *writer = check_open_saved(path);
	char list[64];
	struct job job = { .begin_us = wall_us, .begin_boot_us = boot_us, .hosts = list };
	const struct job_rules rules = { .expire_us = 7 * DAY, .overlaps = overlaps, .closed = add_closed,
					 .ctx = closed };
	struct error err = { 0 };
	int result;

	snprintf(list, sizeof(list), "%s", hosts);
	snprintf(job.id, sizeof(job.id), "%s", id);
	snprintf(job.labels[JOB_CLUSTER], sizeof(job.labels[JOB_CLUSTER]), "%s", cluster ? cluster : "");
	snprintf(job.begin_boot_id, sizeof(job.begin_boot_id), "%s", boot_id);
	new_hosts = hosts;
	*closed = (struct closed){ 0 };
	result = jobs_begin(writer, &job, &rules, &err);
	if (result < 0)
		fail_msg("%s", err.text);
	assert_true(job.number > 0);
	snprintf(began, sizeof(began), "%s", job.display_id);
	saved_writer_close(writer);
	return result;
}

static int begin(const char *id, const char *hosts, int64_t at_us, struct closed *closed)
{
	return begin_at(id, hosts, NOW + at_us, 1000 * S + at_us, "boot", closed);
}

static int end_with(const char *id, int64_t at_us, int exit_status, struct error *err)
{
	struct saved_writer *writer = check_open_saved(path);
	struct job job = { .end_us = NOW + at_us, .end_boot_us = 1000 * S + at_us, .end_boot_id = "boot",
			   .exit_status = exit_status };
	int result;

	snprintf(job.id, sizeof(job.id), "%s", id);
	result = jobs_end(writer, cluster, &job, err);
	saved_writer_close(writer);
	return result;
}

static void find(const char *id, struct job *ret)
{
	struct reader *reader = check_open_reader(path);
	struct error err = { 0 };

	if (jobs_find(reader, cluster, id, ret, &err) != 1)
		fail_msg("no job %s: %s", id, err.text);
	reader_close(reader);
}

static void check_ending(const char *id, enum job_ending ending, const char *ended_by, int exit_status)
{
	struct job job;

	find(id, &job);
	assert_int_equal(job.ending, ending);
	assert_string_equal(job.ended_by, ended_by);
	assert_int_equal(job.exit_status, exit_status);
	assert_int_equal(job.end_us != 0, ending != JOB_RUNNING);
	job_done(&job);
}

static void save_as(const char *name, const struct sweep *sweep)
{
	const struct saved_label label = { .name = name };
	struct saved_writer *writer = check_open_saved(path);
	struct error err = { 0 };

	if (saved_write(writer, &label, sweep, &err) < 0)
		fail_msg("%s", err.text);
	saved_writer_close(writer);
}

TEST_IN_FOLDER(a_job_is_read_as_it_began_and_ended)
{
	struct model *model = model_create(81, 2, 8, 6);
	struct writer *collector = check_open_writer(path);
	struct closed closed;
	struct job job;
	char name[JOB_SNAPSHOT_NAME_SIZE];

	check_store(collector, model_step(model));
	check_store(collector, model_step(model));
	assert_int_equal(begin("4711", "n[1-4]", 0, &closed), 0);
	save_as(job_snapshot_name(1, false, name), &model->sweep);
	find("4711", &job);
	assert_int_equal(job.number, 1);
	assert_string_equal(job.hosts, "n[1-4]");
	assert_string_equal(job.command, "");
	assert_int_equal(job.begin_us, NOW);
	assert_int_equal(job.begin_sweep, 2);
	assert_int_equal(job.end_us, 0);
	assert_true(job.begin_snapshot > 0);
	assert_int_equal(job.end_snapshot, 0);
	assert_int_equal(job.exit_status, -1);
	job_done(&job);

	check_store(collector, model_step(model));
	assert_int_equal(end_with("4711", 60 * S, 3, NULL), 0);
	save_as(job_snapshot_name(1, true, name), &model->sweep);
	find("4711", &job);
	assert_int_equal(job.end_sweep, 3);
	assert_int_equal(job.end_us, NOW + 60 * S);
	assert_int_equal(job_duration_us(&job, NULL), 60 * S);
	assert_true(job.end_snapshot > job.begin_snapshot);
	assert_int_equal(job.exit_status, 3);
	job_done(&job);
	writer_close(collector);
	model_destroy(model);
	check_integrity(path);
}

TEST_IN_FOLDER(begin_and_end_may_be_repeated)
{
	struct closed closed;
	struct error err = { 0 };

	assert_int_equal(begin("7", "a", 0, &closed), 0);
	assert_int_equal(begin("7", "a", S, &closed), 1);
	assert_string_equal(closed.ids, "");
	assert_int_equal(end_with("7", 2 * S, -1, &err), 0);
	/* A later end completes the status, and nothing else. */
	assert_int_equal(end_with("7", 3 * S, 4, &err), 1);
	assert_int_equal(end_with("7", 4 * S, 5, &err), 1);
	check_ending("7", JOB_ENDED, "", 4);
	assert_int_equal(check_integer(path, "SELECT end_us FROM job"), NOW + 2 * S);
	/* Requeued: another row, which is the newest. */
	assert_int_equal(begin("7", "a", 5 * S, &closed), 0);
	check_ending("7", JOB_RUNNING, "", -1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 2);
	assert_int_equal(end_with("8", 6 * S, 0, &err), ERR_USAGE);
	check_error_line(&err, "no job '8' began");
}

TEST_IN_FOLDER(a_job_on_the_same_hosts_closes_one_that_never_ended)
{
	struct closed closed;

	begin("1", "a", 0, &closed);
	begin("2", "b", S, &closed);
	begin("all", "", 2 * S, &closed);
	assert_string_equal(closed.ids, "");
	begin("3", "a", 3 * S, &closed);
	assert_string_equal(closed.ids, "1:replaced ");
	check_ending("1", JOB_REPLACED, "3", -1);
	check_ending("2", JOB_RUNNING, "", -1);
	check_ending("all", JOB_RUNNING, "", -1);
	/* It had not ended. */
	assert_int_equal(end_with("1", 4 * S, 9, NULL), 0);
	check_ending("1", JOB_ENDED, "", 9);
	assert_int_equal(check_integer(path, "SELECT end_us FROM job WHERE id = '1'"), NOW + 4 * S);
}

static void check_display_id(const char *of, const char *id, const char *wanted)
{
	struct reader *reader = check_open_reader(path);
	struct error err = { 0 };
	struct job job;

	assert_int_equal(jobs_find(reader, of, id, &job, &err), 1);
	assert_string_equal(job.display_id, wanted);
	job_done(&job);
	reader_close(reader);
}

/* The names of a job have its cluster once there are jobs of two. */
TEST_IN_FOLDER(a_job_is_named_with_its_cluster_if_there_are_several)
{
	struct writer *collector = check_open_writer(path);
	const struct sink *sink = writer_sink(collector);
	struct running_jobs jobs = { 0 };
	struct closed closed;

	begin("6", "a", 0, &closed);
	cluster = "alpha";
	begin("7", "b", 0, &closed);
	check_display_id("alpha", "7", "7");
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_string_equal(jobs.list[0].id, "7");
	cluster = "beta";
	begin("7", "c", S, &closed);
	assert_string_equal(began, "7@beta");
	begin("7", "c", S, &closed);
	assert_string_equal(began, "7@beta"); /* it runs already */
	check_display_id("alpha", "7", "7@alpha");
	check_display_id("beta", "7", "7@beta");
	/* Its cluster is unknown. */
	check_display_id(NULL, "6", "6");
	/* Findings about running jobs. */
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_string_equal(jobs.list[0].id, "7@beta");
	assert_string_equal(jobs.list[1].id, "7@alpha");
	cluster = NULL;
	running_jobs_done(&jobs);
	writer_close(collector);
}

/* Without a cluster, an id of several clusters is ambiguous; a job of an unknown cluster may be of any. */
TEST_IN_FOLDER(jobs_of_two_clusters_may_have_one_id)
{
	static const char *const names[] = { "alpha", "beta" };
	struct reader *reader;
	struct closed closed;
	struct error err = { 0 };
	struct job job;

	for (size_t i = 0; i < 2; i++) {
		cluster = names[i];
		assert_int_equal(begin("7", names[i], (int64_t)i * S, &closed), 0);
		assert_int_equal(begin("7", names[i], 2 * S, &closed), 1);
	}
	assert_int_equal(end_with("7", 3 * S, 5, NULL), 0);
	check_ending("7", JOB_ENDED, "", 5);
	cluster = "alpha";
	check_ending("7", JOB_RUNNING, "", -1);
	cluster = NULL;
	assert_int_equal(end_with("7", 4 * S, 6, &err), ERR_USAGE);
	check_error_line(&err, "the clusters alpha and beta both have a job 7; give --cluster");
	reader = check_open_reader(path);
	assert_int_equal(jobs_find(reader, NULL, "7", &job, &err), ERR_USAGE);
	assert_int_equal(jobs_find(reader, "gamma", "7", &job, &err), 0);
	assert_int_equal(jobs_find(reader, "", "7", &job, &err), 0);
	reader_close(reader);
	/* It began before clusters were recorded. */
	assert_int_equal(begin("8", "b", 0, &closed), 0);
	cluster = "alpha";
	assert_int_equal(end_with("8", 5 * S, 7, NULL), 0);
	assert_int_equal(end_with("7", 6 * S, 8, NULL), 0);
	cluster = NULL;
	check_ending("8", JOB_ENDED, "", 7);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job WHERE id = '7' AND cluster = 'alpha' AND"
				       " exit_status = 8"), 1);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 3);
}

static int suspend(const char *id, bool suspended, int64_t at_us, struct error *err)
{
	struct saved_writer *writer = check_open_saved(path);
	int result = jobs_suspend(writer, cluster, id, suspended, NOW + at_us, err);

	saved_writer_close(writer);
	return result;
}

static void check_suspended(const char *id, enum job_ending ending, int64_t us, int64_t now_us)
{
	struct job job, now = { .end_us = NOW + now_us };

	find(id, &job);
	assert_int_equal(job.ending, ending);
	assert_int_equal(job.suspended_since_us != 0, ending == JOB_SUSPENDED);
	assert_int_equal(job_suspended_us(&job, &now), us);
	job_done(&job);
}

/* The job that uses its hosts meanwhile does not close it, and the collector does not expect traffic of it. */
TEST_IN_FOLDER(a_suspended_job_is_not_on_its_hosts_and_runs_again)
{
	struct writer *collector = check_open_writer(path);
	const struct sink *sink = writer_sink(collector);
	struct running_jobs jobs = { 0 };
	struct error err = { 0 };
	struct closed closed;

	begin("low", "a", 0, &closed);
	assert_int_equal(suspend("low", true, 10 * S, &err), 0);
	assert_int_equal(suspend("low", true, 11 * S, &err), 1);
	begin("high", "a", 12 * S, &closed);
	assert_string_equal(closed.ids, "");
	check_suspended("low", JOB_SUSPENDED, 5 * S, 15 * S);
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_int_equal(jobs.count, 1);
	assert_string_equal(jobs.list[0].id, "high");
	assert_int_equal(end_with("high", 20 * S, 0, &err), 0);
	assert_int_equal(suspend("low", false, 30 * S, &err), 0);
	assert_int_equal(suspend("low", false, 31 * S, &err), 1);
	check_suspended("low", JOB_RUNNING, 20 * S, 40 * S);
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_string_equal(jobs.list[0].id, "low");
	/* A second time, until its end; the wall clock may be stepped back meanwhile. */
	assert_int_equal(suspend("low", true, 50 * S, &err), 0);
	assert_int_equal(suspend("low", false, 45 * S, &err), 0);
	assert_int_equal(suspend("low", true, 60 * S, &err), 0);
	assert_int_equal(end_with("low", 65 * S, 0, &err), 0);
	check_suspended("low", JOB_ENDED, 25 * S, 99 * S);
	assert_int_equal(suspend("low", true, 70 * S, &err), ERR_USAGE);
	check_error_line(&err, "job 'low' has ended");
	assert_int_equal(suspend("nowhere", true, 70 * S, &err), ERR_USAGE);
	/* One that never ends expires. */
	begin("lost", "a", 70 * S, &closed);
	assert_int_equal(suspend("lost", true, 70 * S, &err), 0);
	begin("next", "b", 8 * DAY, &closed);
	assert_string_equal(closed.ids, "lost:expired ");
	running_jobs_done(&jobs);
	writer_close(collector);
	check_integrity(path);
}

TEST_IN_FOLDER(a_job_without_an_id_is_called_by_its_number)
{
	struct closed closed;

	begin("1", "a", 0, &closed);
	assert_int_equal(begin("", "b", S, &closed), 0);
	assert_int_equal(begin("", "c", 2 * S, &closed), 0);
	check_ending("run-2", JOB_RUNNING, "", -1);
	check_ending("run-3", JOB_RUNNING, "", -1);
}

TEST_IN_FOLDER(an_old_job_expires_and_can_still_end)
{
	struct closed closed;

	begin("old", "a", 0, &closed);
	begin("new", "b", 7 * DAY, &closed);
	assert_string_equal(closed.ids, "");
	begin("old", "a", 7 * DAY + S, &closed);
	assert_string_equal(closed.ids, "old:expired ");
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job WHERE id = 'old'"), 2);
	begin("newer", "c", 15 * DAY, &closed);
	assert_string_equal(closed.ids, "new:expired old:expired ");
	assert_int_equal(end_with("new", 16 * DAY, 0, NULL), 0);
	check_ending("new", JOB_ENDED, "", 0);
	assert_int_equal(check_integer(path, "SELECT end_us FROM job WHERE id = 'new'"), NOW + 16 * DAY);
}

TEST_IN_FOLDER(a_step_of_the_wall_clock_does_not_change_durations)
{
	struct job job, now = { .end_us = 1, .end_boot_us = 1100 * S, .end_boot_id = "boot" };
	struct closed closed;

	begin("1", "a", 0, &closed);
	/* The wall clock jumps ten days ahead: nothing expires. */
	begin_at("2", "b", NOW + 10 * DAY, 1010 * S, "boot", &closed);
	assert_string_equal(closed.ids, "");
	/* And back. */
	assert_int_equal(end_with("2", 20 * S, 0, NULL), 0);
	find("2", &job);
	assert_true(job.end_us < job.begin_us);
	assert_int_equal(job_duration_us(&job, NULL), 10 * S);
	job_done(&job);
	find("1", &job);
	assert_int_equal(job_duration_us(&job, &now), 100 * S);
	job_done(&job);
	/* After a reboot only the wall clock is left. */
	begin_at("3", "c", NOW + 8 * DAY, 5 * S, "next boot", &closed);
	assert_string_equal(closed.ids, "1:expired ");
	/* Never negative: this boot began after a step backwards. */
	find("3", &job);
	assert_int_equal(job_duration_us(&job, &now), 0);
	job_done(&job);
}

static bool count_job(void *ctx, const struct job *job)
{
	int *count = ctx;

	assert_true(job->number > 0);
	return ++*count < 3;
}

TEST_IN_FOLDER(a_list_is_in_order_of_begin_and_ends_on_request)
{
	struct reader *reader;
	struct closed closed;
	int count = 0;

	writer_close(check_open_writer(path));
	reader = check_open_reader(path);
	assert_int_equal(jobs_list(reader, &(struct job_query){ 0 }, NULL, count_job, &count, NULL), 0);
	assert_int_equal(count, 0);
	for (int i = 0; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		begin(id, "", i * S, &closed);
	}
	/* A reader that was open before sees them. */
	assert_int_equal(jobs_list(reader, &(struct job_query){ 0 }, NULL, count_job, &count, NULL), 0);
	assert_int_equal(count, 3);
	reader_close(reader);
}

/* The numbers of jobs, as "1 2 3". */
static bool list_numbers(void *ctx, const struct job *job)
{
	size_t len = strlen(ctx);

	snprintf((char *)ctx + len, 64 - len, "%s%d", len ? " " : "", (int)job->number);
	return true;
}

TEST_IN_FOLDER(a_list_has_the_newest_jobs_of_a_window_and_those_that_run)
{
	/* Job i runs from 10 i to 10 i + 15 s; the first one and the last one do not end. */
	static const struct { int since_s, until_s; size_t most; const char *numbers; bool older; } wanted[] = {
		{ 0, 0, 0, "1 2 3 4 5 6", false }, { 0, 0, 2, "1 5 6", true }, { 0, 0, 6, "1 2 3 4 5 6", false },
		{ 42, 0, 0, "1 4 5 6", false }, { 0, 25, 0, "1 2 3", false }, { 0, 25, 1, "1 3", true },
		{ 32, 33, 0, "1 3 4", false }, { 32, 33, 2, "1 3 4", true }, { 32, 33, 3, "1 3 4", false },
	};
	struct reader *reader;
	struct closed closed;

	writer_close(check_open_writer(path));
	for (int i = 0; i < 6; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", i);
		begin(id, "", NOW + 10 * i * S, &closed);
	}
	check_change(path, "UPDATE job SET end_us = begin_us + 15000000, end_boot_us = 1, end_boot_id = '', ending = 1"
		     " WHERE number BETWEEN 2 AND 5");
	check_change(path, "UPDATE job SET begin_us = 1800000000000000 + 10000000 * (number - 1)");
	check_change(path, "UPDATE job SET end_us = begin_us + 15000000 WHERE number BETWEEN 2 AND 5");
	reader = check_open_reader(path);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct job_query query = { .since_us = wanted[i].since_s ? NOW + wanted[i].since_s * S : 0,
						 .until_us = wanted[i].until_s ? NOW + wanted[i].until_s * S : 0,
						 .most = wanted[i].most };
		char numbers[64] = "";
		bool older;

		assert_int_equal(jobs_list(reader, &query, &older, list_numbers, numbers, NULL), 0);
		assert_string_equal(numbers, wanted[i].numbers);
		assert_int_equal(older, wanted[i].older);
	}
	reader_close(reader);
}

TEST_IN_FOLDER(a_long_command_is_cut_after_a_whole_character)
{
	struct saved_writer *writer;
	const struct job_rules rules = { .expire_us = 0 };
	char *command = malloc(100001);

	assert_non_null(command);
	writer_close(check_open_writer(path));
	writer = check_open_saved(path);
	for (int i = 0; i < 4; i++) {
		struct job job = { .begin_us = NOW + i, .command = command };

		snprintf(job.id, sizeof(job.id), "%d", i);
		snprintf(job.begin_boot_id, sizeof(job.begin_boot_id), "boot");
		memset(command, 'x', 100001);
		command[i < 3 ? JOB_COMMAND_MOST + i - 1 : 100000] = '\0';
		/* A character of two bytes across the limit. */
		if (i == 3)
			memcpy(command + JOB_COMMAND_MOST - 4, "\303\274", 2);
		assert_int_equal(jobs_begin(writer, &job, &rules, NULL), 0);
	}
	saved_writer_close(writer);
	free(command);
	assert_int_equal(check_integer(path, "SELECT length(command) FROM job WHERE number = 1"), JOB_COMMAND_MOST - 1);
	assert_int_equal(check_integer(path, "SELECT length(command) FROM job WHERE number = 2"), JOB_COMMAND_MOST);
	assert_int_equal(check_integer(path, "SELECT command LIKE '%x...' AND length(command) = 4096 FROM job"
				       " WHERE number = 3"), 1);
	assert_int_equal(check_integer(path, "SELECT command LIKE '%x...' AND length(CAST(command AS BLOB)) = 4095"
				       " FROM job WHERE number = 4"), 1);
}

TEST_IN_FOLDER(a_removed_job_takes_its_snapshots_along)
{
	struct model *model = model_create(82, 2, 8, 6);
	struct saved_writer *writer;
	struct closed closed;
	struct error err = { 0 };

	model_step(model);
	begin("1", "a", 0, &closed);
	begin("2", "b", 0, &closed);
	save_as("job-1-begin", &model->sweep);
	save_as("job-1-end", &model->sweep);
	save_as("job-2-begin", &model->sweep);
	save_as("mine", &model->sweep);
	writer = check_open_saved(path);
	assert_int_equal(jobs_remove(writer, 1, &err), 0);
	assert_int_equal(jobs_remove(writer, 1, &err), ERR_USAGE);
	saved_writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 2);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 2);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 1);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(a_removed_job_gets_no_snapshot_and_its_number_is_not_given_again)
{
	struct model *model = model_create(83, 2, 8, 6);
	struct saved_writer *writer;
	const struct saved_label label = { .name = "job-1-begin" };
	struct closed closed;
	struct error err = { 0 };

	model_step(model);
	begin("1", "a", 0, &closed);
	writer = check_open_saved(path);
	assert_int_equal(jobs_remove(writer, 1, &err), 0);
	/* Its snapshot was in progress: no job would ever remove it. */
	assert_int_equal(saved_write(writer, &label, &model->sweep, &err), ERR_USAGE);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 0);
	saved_writer_close(writer);
	begin("2", "a", S, &closed);
	assert_int_equal(check_integer(path, "SELECT number FROM job WHERE id = '2'"), 2);
	model_destroy(model);
}

TEST_IN_FOLDER(snapshots_of_old_jobs_are_removed_and_others_stay)
{
	struct model *model = model_create(83, 2, 8, 6);
	struct job moment = { .end_us = NOW + 100 * DAY, .end_boot_us = 1000 * S + 10 * DAY, .end_boot_id = "boot" };
	struct saved_writer *writer;
	struct closed closed;
	struct error err = { 0 };

	model_step(model);
	for (int i = 1; i <= 4; i++) {
		char id[16], name[JOB_SNAPSHOT_NAME_SIZE];

		snprintf(id, sizeof(id), "%d", i);
		begin(id, id, 0, &closed);
		for (int end = 0; end < 2; end++)
			save_as(job_snapshot_name(i, end, name), &model->sweep);
		/* The third ended later, the fourth is running. */
		if (i < 4)
			assert_int_equal(end_with(id, i == 3 ? 5 * DAY : 0, 0, &err), 0);
	}
	save_as("mine", &model->sweep);
	save_as("job-1-", &model->sweep);
	writer = check_open_saved(path);
	/* By CLOCK_BOOTTIME: the wall clock has jumped. */
	assert_int_equal(jobs_remove_snapshots(writer, &moment, 10 * DAY, &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 10);
	assert_int_equal(jobs_remove_snapshots(writer, &moment, 7 * DAY, &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 6);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot WHERE name GLOB 'job-[34]-*'"), 4);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 6);
	/* After a reboot by the wall clock. */
	strcpy(moment.end_boot_id, "next");
	for (int i = 0; i < 3; i++)
		assert_int_equal(jobs_remove_snapshots(writer, &moment, 90 * DAY, &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 4);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 4);
	saved_writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(texts_are_stored_as_typed_and_read_without_control_characters)
{
	struct closed closed;
	struct job job;

	begin("<b>'; DROP TABLE job; $(id)", "n1", 0, &closed);
	find("<b>'; DROP TABLE job; $(id)", &job);
	assert_string_equal(job.id, "<b>'; DROP TABLE job; $(id)");
	job_done(&job);
	check_change(path, "UPDATE job SET name = 'a' || char(27) || '[31m', hosts = char(10),"
		     " command = 'x' || char(7)");
	find("<b>'; DROP TABLE job; $(id)", &job);
	assert_string_equal(job.name, "a\\x1b[31m");
	assert_string_equal(job.hosts, "\\x0a");
	assert_string_equal(job.command, "x\\x07");
	job_done(&job);
}

/* Two prologs at the same moment, many times: each job is stored once. */
TEST_IN_FOLDER(two_writers_at_once_store_each_job_once)
{
	enum { WRITERS = 2, JOBS = 40 };
	pid_t children[WRITERS];

	saved_writer_close(check_open_saved(path));
	for (int i = 0; i < WRITERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		for (int j = 0; !children[i] && j < JOBS; j++) {
			struct closed closed;
			char id[16];

			snprintf(id, sizeof(id), "%d", j);
			begin(id, id, j, &closed);
		}
		if (!children[i])
			_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), JOBS);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT id) FROM job"), JOBS);
	check_integrity(path);
}

TEST_IN_FOLDER(a_full_disk_is_an_error_and_changes_nothing)
{
	struct job job = { .id = "big", .begin_us = NOW, .begin_boot_id = "boot" };
	const struct job_rules rules = { 0 };
	struct rlimit before, small;
	struct saved_writer *writer;
	struct error err = { 0 };
	struct closed closed;
	int result = 0;

	begin("1", "a", 0, &closed);
	writer = check_open_saved(path);
	job.hosts = calloc(1, 100001);
	assert_non_null(job.hosts);
	memset(job.hosts, 'n', 100000);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 65536, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	result = jobs_begin(writer, &job, &rules, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(result, ERR_IO);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job"), 1);
	/* With space again, the same connection continues. */
	assert_int_equal(jobs_begin(writer, &job, &rules, &err), 0);
	saved_writer_close(writer);
	free(job.hosts);
	check_integrity(path);
}

/* Each commit of another process may be about jobs; while there is none, no row is read. */
TEST_IN_FOLDER(running_jobs_are_read_after_commits_of_other_processes)
{
	struct model *model = model_create(1, 2, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct running_jobs jobs = { 0 }, none = { 0 };
	const struct sink *sink = writer_sink(writer);
	struct closed closed;

	check_store(writer, model_step(model));
	assert_false(sink->running_jobs(sink->ctx, &jobs));
	begin("1", "a", 0, &closed);
	begin("2", "b", 0, &closed);
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_int_equal(jobs.count, 2);
	assert_string_equal(jobs.list[0].id, "2");
	check_store(writer, model_step(model));
	assert_false(sink->running_jobs(sink->ctx, &none));
	end_with("2", 10 * S, 0, NULL);
	assert_true(sink->running_jobs(sink->ctx, &jobs));
	assert_int_equal(jobs.count, 1);
	assert_string_equal(jobs.list[0].hosts, "a");
	running_jobs_done(&jobs);
	writer_close(writer);
	model_destroy(model);
}

/* Store a sweep of the model with a minute of job @number, @at_us after NOW. */
static void store_minute(struct writer *writer, struct model *model, int64_t number, int64_t at_us, double period_s)
{
	struct sweep sweep = *model_step(model);
	const struct job_minute minute = {
		.job = number, .wall_us = NOW + at_us,
		.rhythm = { RHYTHM_PERIODIC, period_s, 0.1, 0.31, 1e9, 2, 12, NAN }, .phase = JOB_PHASE_RUNS,
		.slower = NAN, .before_s = NAN,
	};

	sweep.job_minutes = &minute;
	sweep.job_minute_count = 1;
	check_store(writer, &sweep);
}

static bool add_minute(void *ctx, const struct job_minute *minute)
{
	double *periods = ctx;
	size_t count = (size_t)periods[0];

	assert_true(count < 7);
	periods[0]++;
	periods[count + 1] = minute->rhythm.period_s;
	return true;
}

static bool copy_minute(void *ctx, const struct job *job)
{
	*(struct job_minute *)ctx = job->minute;
	return true;
}

static struct job_minute minute_at(int64_t at_us)
{
	struct reader *reader = check_open_reader(path);
	struct job_minute minute = { 0 };

	assert_int_equal(jobs_list(reader, &(struct job_query){ .at_us = at_us }, NULL, copy_minute, &minute, NULL), 0);
	reader_close(reader);
	return minute;
}

TEST_IN_FOLDER(the_rhythm_of_a_job_is_that_of_the_newest_minute_or_of_a_past_one)
{
	struct model *model = model_create(3, 2, 4, 2);
	struct writer *writer = check_open_writer(path);
	double periods[8] = { 0 };
	struct closed closed;
	struct reader *reader;
	struct job job;

	check_store(writer, model_step(model));
	begin("4711", "n[1-4]", 0, &closed);
	find("4711", &job);
	assert_int_equal(job.minute.job, 0);
	job_done(&job);
	store_minute(writer, model, 1, 60 * S, 4);
	store_minute(writer, model, 1, 120 * S, 4.5);
	/* A number that no job has, as of one that was removed meanwhile. */
	store_minute(writer, model, 2, 120 * S, 4.5);
	store_minute(writer, model, 1, 3665 * S, 5);
	find("4711", &job);
	assert_float_equal(job.minute.rhythm.period_s, 5, 0);
	assert_float_equal(job.minute.rhythm.wire_share, 0.31, 0);
	assert_int_equal(job.minute.rhythm.periods, 12);
	assert_int_equal(job.minute.phase, JOB_PHASE_RUNS);
	assert_int_equal(job.minute.since_us, 0);
	/* That of an hour ago, and not the newer one. */
	assert_float_equal(job.minute.before_s, 4, 0);
	job_done(&job);
	assert_int_equal(minute_at(NOW + 59 * S).job, 0);
	assert_float_equal(minute_at(NOW + 60 * S).rhythm.period_s, 4, 0);
	assert_true(isnan(minute_at(NOW + 60 * S).before_s));
	assert_float_equal(minute_at(NOW + 3000 * S).rhythm.period_s, 4.5, 0);
	assert_float_equal(minute_at(0).rhythm.period_s, 5, 0);
	reader = check_open_reader(path);
	assert_int_equal(jobs_minutes(reader, 1, NOW + 61 * S, NOW + 9999 * S, add_minute, periods, NULL), 0);
	reader_close(reader);
	assert_float_equal(periods[0], 2, 0);
	assert_float_equal(periods[1], 4.5, 0);
	assert_float_equal(periods[2], 5, 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job_rhythm"), 3);
	writer_close(writer);
	model_destroy(model);
}

/* A number of the analysis that a row cannot have is unknown, and the sweep is stored. */
TEST_IN_FOLDER(a_rhythm_with_impossible_numbers_is_stored_as_unknown)
{
	struct model *model = model_create(3, 2, 4, 2);
	struct writer *writer = check_open_writer(path);
	struct sweep sweep;
	struct closed closed;
	const struct job_minute minute = {
		.job = 1, .wall_us = NOW, .rhythm = { RHYTHM_STEADY, -1, INFINITY, 1.5, -1e9, NAN, 0, NAN },
		.phase = JOB_PHASE_SLOWER, .slower = 0, .since_us = -5, .before_s = INFINITY,
	};
	struct job_minute stored;

	check_store(writer, model_step(model));
	begin("1", "a", 0, &closed);
	sweep = *model_step(model);
	sweep.job_minutes = &minute;
	sweep.job_minute_count = 1;
	check_store(writer, &sweep);
	writer_close(writer);
	stored = minute_at(0);
	assert_int_equal(stored.rhythm.kind, RHYTHM_STEADY);
	assert_int_equal(stored.phase, JOB_PHASE_SLOWER);
	assert_true(isnan(stored.rhythm.period_s) && isnan(stored.rhythm.spread_s) &&
		    isnan(stored.rhythm.wire_share) && isnan(stored.rhythm.bytes_per_s) &&
		    isnan(stored.rhythm.shortest_s) && isnan(stored.slower) && isnan(stored.before_s));
	assert_int_equal(stored.since_us, 0);
	model_destroy(model);
}

TEST_IN_FOLDER(a_removed_job_takes_its_rhythm_along)
{
	struct model *model = model_create(3, 2, 4, 2);
	struct writer *collector = check_open_writer(path);
	struct saved_writer *writer;
	struct closed closed;

	check_store(collector, model_step(model));
	begin("1", "a", 0, &closed);
	begin("2", "b", 0, &closed);
	store_minute(collector, model, 1, 60 * S, 4);
	store_minute(collector, model, 2, 60 * S, 4);
	writer = check_open_saved(path);
	assert_int_equal(jobs_remove(writer, 1, NULL), 0);
	saved_writer_close(writer);
	store_minute(collector, model, 1, 120 * S, 4);
	assert_int_equal(check_integer(path, "SELECT count(*) = 1 AND min(job) = 2 FROM job_rhythm"), 1);
	writer_close(collector);
	check_integrity(path);
	model_destroy(model);
}

/* As the collector stores them (writer_jobs.c): they are ended by it, whatever their age. */
TEST_IN_FOLDER(jobs_that_were_found_have_a_confidence_and_do_not_expire)
{
	struct writer *collector = check_open_writer(path);
	const struct sink *sink = writer_sink(collector);
	struct detected_record record = { .id = "seen-node1-20260101T0000", .hosts = "node[1-4]", .confidence = 0.75,
					  .begin_us = NOW, .begin_boot_us = 1000 * S };
	struct saved_writer *writer;
	struct closed closed;
	struct job found;
	int64_t number;

	assert_int_equal(sink->store_detected(sink->ctx, &record, 1, NULL), 0);
	number = record.number;
	record.hosts = "node[1-5]";
	record.confidence = 0.875;
	assert_int_equal(sink->store_detected(sink->ctx, &record, 1, NULL), 0);
	assert_int_equal(record.number, number);
	assert_int_equal(begin("4711", "node9", 100 * DAY, &closed), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job j JOIN job_detected d ON d.job = j.number WHERE"
				       " hosts = 'node[1-5]' AND confidence = 0.875 AND end_us IS NULL"), 1);
	record.end_us = NOW + 101 * DAY;
	record.end_boot_us = 1000 * S + 101 * DAY;
	record.replaced_by = check_integer(path, "SELECT number FROM job WHERE id = '4711'");
	assert_int_equal(sink->store_detected(sink->ctx, &record, 1, NULL), 0);
	/* One that has ended stays as it is. */
	record.end_us++;
	record.replaced_by = 0;
	assert_int_equal(sink->store_detected(sink->ctx, &record, 1, NULL), 0);
	find("seen-node1-20260101T0000", &found);
	assert_int_equal(found.ending, JOB_REPLACED);
	assert_string_equal(found.ended_by, "4711");
	assert_true(found.end_us == NOW + 101 * DAY);
	assert_true(found.confidence == 0.875);
	job_done(&found);
	writer = check_open_saved(path);
	assert_int_equal(jobs_remove(writer, number, NULL), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job_detected"), 0);
	saved_writer_close(writer);
	writer_close(collector);
	check_integrity(path);
}
