/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_test.c - `ibwire job` over a database with known contents */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "export/page.h"
#include "fabric/host.h"
#include "pages/job_report.h"
#include "storage/reader.h"
#include "storage/test/test_model.h"

/* The name of a host of the model. */
static void host_of(size_t index, char ret[NODE_NAME_SIZE])
{
	const struct fabric *fabric = model->fabrics[model->fabric_count - 1];

	for (size_t i = 0; i < fabric->node_count; i++)
		if (host_name(&fabric->nodes[i], ret) && !index--)
			return;
	fail_msg("the model has no such host");
}

static void command(const char *line)
{
	free(run_text(line));
}

static void begin(const char *id, const char *more)
{
	char line[2 * NODE_NAME_SIZE + 128];

	snprintf(line, sizeof(line), "job|begin|%s|--no-snapshot%s%s", id, *more ? "|" : "", more);
	command(line);
}

/* The row of the newest job with an id. */
static json_t *row_of(const char *id)
{
	json_t *rows = run_json("job|list"), *found = NULL;

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (!strcmp(json_string_value(json_object_get(json_array_get(rows, i), "id")), id))
			found = json_array_get(rows, i);
	assert_non_null(found);
	json_incref(found);
	json_decref(rows);
	return found;
}

static void assert_ending(const char *id, const char *ending, const char *ended_by, int64_t status)
{
	json_t *row = row_of(id);

	assert_text(row, "ending", ending);
	assert_text(row, "ended_by", ended_by);
	assert_int_equal(integer_of(row, "exit_status"), status);
	assert_true(json_is_null(json_object_get(row, "end")) ==
		    (!strcmp(ending, "running") || !strcmp(ending, "suspended")));
	json_decref(row);
}

TEST(a_job_is_listed_with_its_begin_and_end)
{
	char host[NODE_NAME_SIZE], more[NODE_NAME_SIZE + 64];
	json_t *row;

	host_of(0, host);
	snprintf(more, sizeof(more), "--hosts|%s|--name|train 70b", host);
	begin("4711", more);
	begin("4711", more);
	assert_ending("4711", "running", NULL, -1);
	command("job|end|4711|--no-snapshot|--status|3");
	command("job|end|4711|--no-snapshot");
	assert_ending("4711", "ended", NULL, 3);
	row = row_of("4711");
	assert_text(row, "hosts", host);
	assert_text(row, "name", "train 70b");
	assert_text(row, "begin_snapshot", NULL);
	assert_text(row, "command", NULL);
	json_decref(row);
	assert_shows("job|list", "train 70b");
	command("job|remove|4711");
	assert_refused({ "job|remove|4711", ERR_USAGE, "no job '4711' began" });
}

TEST(several_jobs_on_a_host_are_open_unless_a_begin_is_exclusive)
{
	char hosts[2][NODE_NAME_SIZE], more[2 * NODE_NAME_SIZE + 64];

	for (size_t i = 0; i < 2; i++)
		host_of(i, hosts[i]);
	snprintf(more, sizeof(more), "--hosts|%s,%s", hosts[0], hosts[1]);
	begin("1", more);
	begin("everywhere", "");
	snprintf(more, sizeof(more), "--hosts|%s", hosts[1]);
	begin("2", more);
	snprintf(more, sizeof(more), "--shared|--hosts|%s", hosts[1]);
	begin("2s", more);
	assert_ending("1", "running", NULL, -1);
	snprintf(more, sizeof(more), "--exclusive|--hosts|%s", hosts[0]);
	begin("3", more);
	assert_ending("1", "replaced", "3", -1);
	assert_ending("2", "running", NULL, -1);
	assert_ending("2s", "running", NULL, -1);
	assert_ending("everywhere", "running", NULL, -1);
	assert_shows("job|list", "replaced by 3");
	assert_shows("job|report|1", "never ended; closed");
	json_decref(run_json("job|compare|1|everywhere"));
}

/* An id belongs to a cluster. What the batch system has of a job is shown everywhere. */
TEST(jobs_have_a_cluster_user_account_and_partition)
{
	static const char *const texts[] = { "cluster", "user", "account", "partition" };
	json_t *rows, *report;
	size_t count;

	begin("4711", "--cluster|alpha|--user|alice|--account|physics|--partition|gpu");
	begin("4711", "--cluster|beta|--user|bob");
	rows = run_json("job|list");
	count = json_array_size(rows);
	assert_true(count >= 2);
	for (size_t i = 0; i < 4; i++) {
		static const char *const wanted[2][4] = { { "alpha", "alice", "physics", "gpu" }, { "beta", "bob" } };

		assert_text(json_array_get(rows, count - 2), texts[i], wanted[0][i]);
		assert_text(json_array_get(rows, count - 1), texts[i], wanted[1][i]);
	}
	json_decref(rows);
	assert_shows("job|list", "alice");
	assert_shows("job|list", "CLUSTER");
	assert_refused(
		{ "job|report|4711", ERR_USAGE, "the clusters alpha and beta both have a job 4711; give --cluster" },
		{ "job|end|4711|--no-snapshot", ERR_USAGE, "give --cluster" },
		{ "job|remove|4711", ERR_USAGE, "give --cluster" },
		{ "job|report|4711|--cluster|gamma", ERR_USAGE, "no job '4711' began in cluster gamma" },
		{ "job|end|4711|--user|alice", ERR_USAGE, "require begin" },
		{ "job|list|--cluster|alpha", ERR_USAGE, "list has all clusters" });
	report = run_json("job|report|4711|--cluster|alpha");
	assert_text(json_object_get(report, "job"), "user", "alice");
	json_decref(report);
	assert_shows("job|report|4711|--cluster|alpha", "cluster alpha, user alice, account physics, partition gpu");
	command("job|end|4711|--no-snapshot|--cluster|beta|--status|1");
	command("job|remove|4711|--cluster|beta");
	assert_ending("4711", "running", NULL, -1);
}

TEST(a_suspended_job_is_neither_running_nor_ended)
{
	begin("s1", "");
	command("job|suspend|s1");
	command("job|suspend|s1");
	assert_ending("s1", "suspended", NULL, -1);
	assert_shows("job|list", "suspended");
	assert_shows("job|report|s1", "suspended for");
	command("job|resume|s1");
	assert_ending("s1", "running", NULL, -1);
	command("job|end|s1|--no-snapshot");
	assert_refused({ "job|suspend|s1", ERR_USAGE, "job 's1' has ended" },
		       { "job|resume|none", ERR_USAGE, "no job 'none' began" });
}

/* Random links, hosts and counters, with resets, gaps and a reboot. */
TEST(a_report_of_any_fabric_and_history_is_made)
{
	static char nothing[] = "";
	const struct job_report_settings settings = { .now_us = model->sweeps[SWEEPS - 1].wall_us };
	struct reader *reader;
	FILE *sink = fopen("/dev/null", "w");

	assert_non_null(sink);
	assert_int_equal(reader_open(db_path, &reader, NULL), 0);
	for (int begin = 0; begin < SWEEPS; begin++)
		for (int end = begin; end <= SWEEPS; end++) {
			struct job job = { .id = "1", .hosts = nothing, .command = nothing, .begin_sweep = begin,
					   .end_sweep = end, .exit_status = -1,
					   .begin_us = model->sweeps[begin ? begin - 1 : 0].wall_us,
					   .end_us = model->sweeps[end ? end - 1 : 0].wall_us,
					   .ending = end % 3 ? JOB_ENDED : JOB_RUNNING };
			struct job_report *report;
			struct page *page;

			assert_int_equal(job_report_compute(reader, &job, &settings, &report, NULL), 0);
			assert_true(report->verdict_count > 0);
			page = job_report_page(report, true);
			for (unsigned target = PAGE_TEXT; target <= PAGE_HTML; target *= 2) {
				const struct page_options how = { .target = (enum page_target)target };

				assert_int_equal(page_render(page, sink, &how, NULL), 0);
			}
			page_destroy(page);
			job_report_destroy(report);
		}
	reader_close(reader);
	fclose(sink);
}

TEST(a_host_may_be_given_with_its_domain)
{
	char host[NODE_NAME_SIZE], more[NODE_NAME_SIZE + 64];

	host_of(0, host);
	snprintf(more, sizeof(more), "--hosts|%s.cluster.example", host);
	begin("domain", more);
	assert_ending("domain", "running", NULL, -1);
}

TEST(an_unknown_host_is_an_error_or_a_warning)
{
	begin("lenient", "--lenient|--hosts|no-such-host[1-3]");
	assert_ending("lenient", "running", NULL, -1);
	assert_refused(
		{ "job|begin|x|--no-snapshot|--hosts|no-such-host[1-3]", ERR_USAGE, "and of 2 more hosts" },
		{ "job|begin|x|--no-snapshot|--hosts|no-such-host[1-2]", ERR_USAGE, "and of 1 more host)" },
		{ "job|begin|x|--no-snapshot|--hosts|a[1-", ERR_USAGE, "is not a host list" },
		{ "job|end|x|--no-snapshot", ERR_USAGE, "no job 'x' began" },
		{ "job|end|lenien|--no-snapshot", ERR_USAGE, "did you mean 'lenient'?" });
}

TEST(ids_with_characters_of_shells_and_pages_are_ids)
{
	static const char *const ids[] = {
		"$(reboot)", "`id`", "<script>alert(1)</script>", "';--", "a b", "\xc3\xa4",
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		begin(ids[i], "");
		assert_ending(ids[i], "running", NULL, -1);
	}
}

TEST(a_list_has_the_jobs_of_its_window)
{
	json_t *rows;

	begin("running", "");
	begin("over", "");
	command("job|end|over|--no-snapshot|--keep|1d");
	rows = run_json("job|list|--since|2001-01-01T00:00:00Z|--until|2002-01-01T00:00:00Z");
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	assert_shows("job|list|--since|-1h", "over");
	/* A job that is running has no end. */
	rows = run_json("job|list|--since|2126-01-01T00:00:00Z|--until|2127-01-01T00:00:00Z");
	for (size_t i = 0; i < json_array_size(rows); i++)
		assert_text(json_array_get(rows, i), "ending", "running");
	assert_true(json_array_size(rows) > 0);
	json_decref(rows);
}

TEST(mistyped_commands_are_refused)
{
	char name[JOB_NAME_SIZE + 64] = "job|begin|1|--no-snapshot|--name|";
	char cluster[JOB_NAME_SIZE + 64] = "job|begin|1|--no-snapshot|--cluster|";

	memset(name + strlen(name), 'n', JOB_NAME_SIZE);
	memset(cluster + strlen(cluster), 'c', JOB_NAME_SIZE);
	begin("run-7b", "");
	begin("run-", "");
	assert_refused(
		{ "job", ERR_USAGE, "begin, end, list" },
		{ "job|begin", ERR_USAGE, "requires the id" },
		{ "job|begin|1|2", ERR_USAGE, "requires the id" },
		{ "job|list|1", ERR_USAGE, "does not take an id" },
		{ "job|begin|run-7", ERR_USAGE, "reserved for ibwire run" },
		{ name, ERR_USAGE, "--name has 257 bytes; use at most 256" },
		{ "job|begin|a\nb", ERR_USAGE, "must be printable" },
		{ "job|begin|a\x1b[31m", ERR_USAGE, "must be printable" },
		{ "job|begin|1|--status|2", ERR_USAGE, "require" },
		{ "job|end|1|--status|256", ERR_USAGE, "0 to 255" },
		{ "job|end|1|--hosts|a", ERR_USAGE, "require begin" },
		{ "job|end|1|--exclusive", ERR_USAGE, "require begin" },
		{ "job|begin|1|--exclusive|--shared", ERR_USAGE, "exclude each other" },
		{ cluster, ERR_USAGE, "--cluster has 257 bytes; use at most 128" },
		{ "job|list|--no-snapshot", ERR_USAGE, "requires begin or end" },
		{ "job|begin|1|--keep|1d", ERR_USAGE, "requires end" },
		{ "job|begin|1|--since|-1d", ERR_USAGE, "require list" },
		{ "snapshot|take|job-1-begin", ERR_USAGE, "reserved" });
}
