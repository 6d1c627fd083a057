/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `ibwire job report` and `compare` on fabrics with known traffic and faults: a scenario runs in virtual
 * time, its sweeps are stored by a writer, and jobs begin and end after given sweeps.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/job/job_work.h"
#include "cli/test_commands.h"
#include "collector/sink.h"
#include "fabric/host.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/collect.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

/* 8 hosts with 8 HCAs, 16 leaves, 4 spines; a sweep each 10 s. Jobs run from the 12th to the 60th sweep. */
#define FABRIC "shape rail units=2 hosts=4 rails=8 spines=4\nlength 11m\n"
#define TRAIN "job main alltoall fan=7 load=0.5\n"
enum { BEGIN = 12, END = 60, JOBS_MOST = 4, LAST = 64 };

struct planned {
	const char *id, *hosts;  /* hosts NULL: all */
	int begin, end;          /* sweeps; end 0: it runs */
	bool snapshots, end_lost; /* end_lost: without the second one */
	int64_t step_us;         /* of the wall clock during the job, as the host of the job sees it */
	const char *name;
};

static struct played {
	const struct sink *inner;
	struct planned jobs[JOBS_MOST];
	size_t count;
	int sweeps;
	bool no_history;         /* only snapshots are stored */
	int fails_from, fails_until; /* sweeps that cannot be stored */
	bool reboots;            /* the host of the jobs, before their end */
	struct reading *truth[2]; /* of the first job's begin and end, by port of the fabric */
	struct fabric *fabric;
} played;

static void keep_truth(const struct sweep *sweep, int end)
{
	free(played.truth[end]);
	played.truth[end] = calloc(sweep->fabric->port_count, sizeof(struct reading));
	assert_non_null(played.truth[end]);
	for (size_t i = 0; i < sweep->sample_count; i++)
		if (sweep->samples[i].status == SAMPLE_OK)
			played.truth[end][sweep->samples[i].port] = *sweep->samples[i].reading;
	if (!end)
		return;
	fabric_destroy(played.fabric);
	played.fabric = fabric_share((struct fabric *)(uintptr_t)sweep->fabric);
}

static void save(struct saved_writer *writer, const struct sweep *sweep, int64_t number, bool end)
{
	char name[JOB_SNAPSHOT_NAME_SIZE];
	const struct saved_label label = { .name = job_snapshot_name(number, end, name) };

	assert_int_equal(saved_write(writer, &label, sweep, NULL), 0);
}

static void begin_job(const struct planned *planned, const struct sweep *sweep)
{
	struct saved_writer *writer;
	struct job job = { .hosts = (char *)(uintptr_t)(planned->hosts ? planned->hosts : ""),
			   .command = (char *)(uintptr_t)"", .begin_us = sweep->wall_us + 1000000,
			   .begin_boot_us = sweep->start_us + 1000000, .exit_status = -1 };

	snprintf(job.id, sizeof(job.id), "%s", planned->id);
	snprintf(job.name, sizeof(job.name), "%s", planned->name ? planned->name : "train");
	snprintf(job.begin_boot_id, sizeof(job.begin_boot_id), "%s", sweep->boot_id);
	assert_int_equal(saved_writer_open(path, &writer, NULL), 0);
	assert_int_equal(jobs_begin(writer, &job, &(struct job_rules){ 0 }, NULL), 0);
	if (planned->snapshots)
		save(writer, sweep, job.number, false);
	saved_writer_close(writer);
}

static void end_job(const struct planned *planned, const struct sweep *sweep)
{
	struct saved_writer *writer;
	struct job job = { .end_us = sweep->wall_us + 1000000 + planned->step_us,
			   .end_boot_us = sweep->start_us + 1000000, .exit_status = 0 };

	snprintf(job.id, sizeof(job.id), "%s", planned->id);
	snprintf(job.end_boot_id, sizeof(job.end_boot_id), "%s", played.reboots ? "another" : sweep->boot_id);
	assert_int_equal(saved_writer_open(path, &writer, NULL), 0);
	assert_int_equal(jobs_end(writer, &job, NULL), 0);
	if (planned->snapshots && !planned->end_lost)
		save(writer, sweep, job.number, true);
	saved_writer_close(writer);
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	int code = 0;

	(void)ctx;
	played.sweeps++;
	if (played.sweeps >= played.fails_from && played.sweeps < played.fails_until)
		code = err_set(err, ERR_IO, "as the test wants it");
	else if (!played.no_history)
		code = played.inner->store(played.inner->ctx, sweep, err);
	for (size_t i = 0; i < played.count; i++) {
		const struct planned *planned = &played.jobs[i];

		if (played.sweeps == planned->begin) {
			begin_job(planned, sweep);
			if (!i)
				keep_truth(sweep, 0);
		}
		if (played.sweeps == planned->end) {
			end_job(planned, sweep);
			if (!i)
				keep_truth(sweep, 1);
		}
	}
	return code;
}

static int restore(void *ctx, struct restored *ret, struct error *err)
{
	(void)ctx;
	return played.no_history ? 0 : played.inner->restore(played.inner->ctx, ret, err);
}

static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	(void)ctx;
	return played.no_history ? 0 : played.inner->store_events(played.inner->ctx, events, count, err);
}

static int store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	return played.no_history ? 0 : played.inner->store_caps(played.inner->ctx, caps, count, err);
}

/* Run a scenario in which jobs begin and end. */
static void play_with(const char *text, const struct planned *jobs, size_t count)
{
	const struct sink sink = { store, restore, store_events, store_caps, NULL, NULL };
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	struct error err = { 0 };

	played.sweeps = 0;
	memcpy(played.jobs, jobs, count * sizeof(*jobs));
	played.count = count;
	if (scenario_read(text, &scenario, &err) < 0 || scenario_begin(&scenario, &world, &err) < 0 ||
	    writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	played.inner = writer_sink(writer);
	if (world_collect(world, scenario.interval_us, scenario.length_us, VIRTUAL_WALL_US, &sink, NULL, &err) < 0)
		fail_msg("%s", err.text);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	use_database(path);
	played.no_history = played.reboots = false;
	played.fails_from = played.fails_until = 0;
}

static json_t *report_of(const char *id)
{
	char line[64];

	snprintf(line, sizeof(line), "job|report|%s", id);
	return run_json(line);
}

static bool is_text(const json_t *row, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && !strcmp(value, text);
}

/* The verdict, and a part of its sentence. */
static void assert_verdict(const json_t *report, const char *verdict, const char *text)
{
	const json_t *job = json_object_get(report, "job");

	if (!is_text(job, "verdict", verdict) || !strstr(json_string_value(json_object_get(job, "verdict_text")), text))
		fail_msg("the verdict is \"%s\": %s", json_string_value(json_object_get(job, "verdict")),
			 json_string_value(json_object_get(job, "verdict_text")));
}

static const json_t *row_of(const json_t *report, const char *section, const char *key, const char *text)
{
	const json_t *rows = json_object_get(report, section);

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (is_text(json_array_get(rows, i), key, text))
			return json_array_get(rows, i);
	fail_msg("no row of %s has %s %s", section, key, text);
	return NULL;
}

static double number_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t moved(size_t port, enum counter counter)
{
	return 4 * (played.truth[1][port].value[counter] - played.truth[0][port].value[counter]);
}

/* Bytes of all HCA ports between the two snapshots are those of the readings. */
static void assert_exact(const json_t *report)
{
	const json_t *ports = json_object_get(report, "ports");
	uint64_t sums[2] = { 0, 0 };

	assert_int_equal(json_array_size(ports), 64);
	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *row = json_array_get(ports, i);
		uint32_t port = fabric_find_port(played.fabric, guid_of(row, "node_guid"),
						 (uint8_t)integer_of(row, "port"));

		assert_int_equal(unsigned_of(json_object_get(row, "xmit_bytes")), moved(port, COUNTER_XMIT_DATA));
		assert_int_equal(unsigned_of(json_object_get(row, "rcv_bytes")), moved(port, COUNTER_RCV_DATA));
		sums[0] += moved(port, COUNTER_XMIT_DATA);
		sums[1] += moved(port, COUNTER_RCV_DATA);
	}
	assert_int_equal(unsigned_of(json_object_get(json_object_get(report, "job"), "xmit_bytes")), sums[0]);
	assert_int_equal(unsigned_of(json_object_get(json_object_get(report, "job"), "rcv_bytes")), sums[1]);
}

static void print_text(const char *id)
{
	char line[64], *text;

	if (!getenv("JOB_REPORT_SHOW"))
		return;
	snprintf(line, sizeof(line), "job|report|%s", id);
	text = run_text(line);
	puts(text);
	free(text);
}

/* export/html_page_test.py opens the pages of all tests in a browser: job-1.html ... in $JOB_PAGES. */
static void keep_page(const char *id)
{
	static int pages;
	char line[600];

	if (!getenv("JOB_PAGES"))
		return;
	snprintf(line, sizeof(line), "job|report|%s|--html|%s/job-%d.html", id, getenv("JOB_PAGES"), ++pages);
	free(run_text(line));
}

/* Two jobs with the same hosts and times: "s" has snapshots, "h" the history. */
static void play_both(const char *text)
{
	play_with(text, (struct planned[]){
		{ .id = "s", .begin = BEGIN, .end = END, .snapshots = true },
		{ .id = "h", .begin = BEGIN, .end = END },
	}, 2);
	print_text("s");
	keep_page("s");
}

/* Both reports have this verdict. */
static void assert_both(const char *text, const char *verdict, const char *sentence)
{
	static const char *const ids[] = { "s", "h" };

	play_both(text);
	for (size_t i = 0; i < 2; i++) {
		json_t *report = report_of(ids[i]);

		assert_verdict(report, verdict, sentence);
		assert_true(is_text(json_object_get(report, "job"), "source", i ? "history" : "snapshots"));
		if (!i)
			assert_exact(report);
		json_decref(report);
	}
}

TEST_IN_FOLDER(a_clean_job_is_exact_to_the_byte)
{
	assert_both(FABRIC TRAIN, "clean", "8 hosts, 8 rails, even");
	assert_shows("job|report|h", "rails cv 0.00 (all within 1 % of the mean)");
}

TEST_IN_FOLDER(one_nic_of_eight_is_unused)
{
	json_t *report;

	assert_both(FABRIC "job main alltoall fan=7 load=0.5 without=\"node0003 mlx5_5\"\n", "nic-unused",
		    "mlx5_5 of node0003 was not used");
	report = report_of("s");
	assert_int_equal(integer_of(row_of(report, "hosts", "host", "node0003"), "ports_used"), 7);
	assert_true(list_has(json_object_get(row_of(report, "hosts", "host", "node0003"), "ports_unused"), "mlx5_5"));
	json_decref(report);
}

/* 16 hosts are more than a table has without --all. */
TEST_IN_FOLDER(hosts_and_uplinks_have_a_row_if_they_stand_out)
{
	static const char wide[] = "shape rail units=2 hosts=8 rails=2 spines=2\nlength 11m\n"
				   "job main alltoall fan=3 load=0.5";
	const struct planned job = { .id = "1", .begin = BEGIN, .end = END };
	char text[256], *shown;

	play_with(wide, &job, 1);
	assert_shows("job|report|1", "\nnone of 16 hosts stands out; every host: --all\n");
	assert_shows("job|report|1", "groups of uplinks stands out; every group: --all\n");
	assert_shows("job|report|1|--all", "\nnode0003  2/2 ");
	test_folder_renew();
	snprintf(text, sizeof(text), "%s without=\"node0003 mlx5_1\"\n", wide);
	play_with(text, &job, 1);
	shown = run_text("job|report|1");
	assert_non_null(strstr(shown, "\nnode0003  1/2 "));
	assert_non_null(strstr(shown, "\nstanding out: 1 of 16 hosts; every host: --all\n"));
	assert_null(strstr(shown, "\nnode0004 "));
	free(shown);
}

static void write_text(const char *file, const char *chars)
{
	FILE *stream = fopen(file, "w");

	assert_non_null(stream);
	fputs(chars, stream);
	fclose(stream);
}

/* What NCCL logs on 8 hosts with 8 HCAs, with a connection on each of the first @used. */
static void write_nccl_log(const char *file, unsigned used, const char *network)
{
	FILE *stream = fopen(file, "w");

	assert_non_null(stream);
	for (unsigned host = 1; host <= 8; host++) {
		fprintf(stream, "node%04u:70:71 [0] NCCL INFO NET/IB : Using", host);
		for (unsigned i = 0; i < 8; i++)
			fprintf(stream, " [%u]mlx5_%u:1/IB", i, i);
		fprintf(stream, " [RO]; OOB eth0:10.0.0.1<0>\nnode%04u:70:71 [0] NCCL INFO Using network %s\n", host,
			network);
		for (unsigned i = 0; i < used; i++)
			fprintf(stream, "step 7\nnode%04u:70:71 [0] NCCL INFO Channel %02u/0 : 0[0] -> 8[0] [send]"
				" via NET/%s/%u%s\n", host, i, network, i, strcmp(network, "IB") ? "" : "/GDRDMA");
	}
	fclose(stream);
}

TEST_IN_FOLDER(logs_of_nccl_are_compared_with_the_ports)
{
	struct text page = { 0 };
	json_t *report;
	char *text;

	play_with(FABRIC "job main alltoall fan=7 load=0.5 without=\"node0003 mlx5_5\"\n",
		  (struct planned[]){ { .id = "s", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	write_nccl_log("nccl.1.log", 8, "IB");
	report = run_json("job|report|s|--nccl|nccl.*.log");
	assert_verdict(report, "nic-unused", "mlx5_5 of node0003 was not used");
	row_of(report, "verdict", "text", "NCCL reports IB on mlx5_5 of node0003; that port moved nothing");
	assert_true(is_text(row_of(report, "nccl_settings", "name", "network"), "value", "IB"));
	assert_int_equal(json_array_size(json_object_get(report, "nccl_hcas")), 64);
	json_decref(report);

	/* Without a connection on it, it may move nothing. */
	write_nccl_log("nccl.1.log", 5, "IB");
	text = run_text("job|report|s|--nccl|nccl.1.log");
	assert_null(strstr(text, "moved nothing"));
	assert_non_null(strstr(text, "NCCL lists 3 HCAs without any connection: mlx5_5, mlx5_6, mlx5_7"));
	free(text);
	text = run_text("job|report|s|--nccl|nccl.1.log|--html|/dev/stdout");
	assert_non_null(strstr(text, "What NCCL logged"));
	assert_non_null(strstr(text, "NCCL lists 3 HCAs without any connection"));
	free(text);

	/* A report that is clean otherwise has the failure first. */
	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "c", .begin = BEGIN, .end = END } }, 1);
	write_nccl_log("nccl.1.log", 2, "Socket");
	report = run_json("job|report|c|nccl.1.log|--nccl|nccl.1.log");
	assert_verdict(report, "nccl", "NCCL reports NET/Socket: TCP, not RDMA");
	json_decref(report);
	report = run_json("job|report|c");
	assert_null(json_object_get(report, "nccl"));
	json_decref(report);
	write_text("nccl.2.log", "\nnode0001:70:71 [0] init.cc:1 NCCL WARN <script>alert(1)</script>\n");
	free(run_text("job|report|c|--nccl|nccl.2.log|--html|page.html"));
	assert_int_equal(text_read_file("page.html", "", TEXT_SMALL_MOST, &page, NULL), 0);
	assert_non_null(strstr(page.chars, "first on node0001: &lt;script&gt;"));
	assert_null(strstr(page.chars, "<script"));
	text_done(&page);
	assert_refused((struct refused[]){
		{ "job|report|c|--nccl|nowhere.log", ERR_IO, "cannot read nowhere.log" },
		{ "job|report|c|--nccl|.", ERR_IO, "cannot read ." },
		{ "job|list|--nccl|nccl.1.log", ERR_USAGE, "--nccl requires report" },
	}, 3);
	unlink("nccl.1.log");
	unlink("nccl.2.log");
	unlink("page.html");
}

TEST_IN_FOLDER(a_rail_that_no_host_uses_is_one_line)
{
	assert_both(FABRIC "job main alltoall fan=7 load=0.5 rails=0-6\n", "nic-unused",
		    "1 of 8 rails unused: mlx5_7");
}

TEST_IN_FOLDER(uneven_rails)
{
	json_t *report;

	assert_both(FABRIC "job main alltoall fan=7 load=0.5 rails=0-6\njob slow alltoall fan=7 load=0.2 rails=7\n",
		    "rails-uneven", "mlx5_7 carried 43 % of the mean");
	assert_shows("job|report|h", "(mlx5_7 43 %, mlx5_");
	report = report_of("h");
	assert_true(fabs(number_of(row_of(report, "rails", "rail", "mlx5_7"), "utilization_percent") - 20) < 0.5);
	json_decref(report);
}

TEST_IN_FOLDER(no_traffic_is_not_rdma)
{
	assert_both(FABRIC TRAIN "at 1m stop main\n", "no-traffic", "not over InfiniBand: the 64 HCA ports");
}

TEST_IN_FOLDER(a_link_that_degrades_in_the_middle)
{
	assert_both(FABRIC TRAIN "at 6m width \"node0002 mlx5_2/1\" 1x\n", "link-failed", "node0002 mlx5_2/1");
	assert_shows("job|report|h", "\n    runs at 1x HDR (50 Gb/s), both ends support 4x HDR (200 Gb/s)\n");
}

TEST_IN_FOLDER(an_uplink_that_goes_down)
{
	assert_both(FABRIC TRAIN "at 5m down leaf-u01-r1/6\n", "link-failed", "leaf-u01-r1/6");
}

/* Other flows make uplinks uneven, without any fault. */
TEST_IN_FOLDER(a_job_that_starts_in_the_middle_skews_no_route)
{
	json_t *report;

	play_with(FABRIC "job main alltoall fan=3 load=0.2 spread=adaptive hosts=node0001-node0002,node0005-node0006\n"
		  "job other ring load=0.9 hosts=node0003-node0004,node0007-node0008 starts=later\nat 6m start other\n",
		  (struct planned[]){ {
			  .id = "1", .hosts = "node[0001-0002,0005-0006]", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "4 hosts");
	json_decref(report);
}

TEST_IN_FOLDER(a_route_that_is_skewed_in_the_middle)
{
	json_t *report;
	const json_t *group;

	assert_both(FABRIC TRAIN "at 6m skew leaf-u01-r1/6 part=0.9\n", "routing", "leaf-u01-r1");
	assert_shows("job|report|h", "leaf-u01-r1  TX ");
	report = report_of("h");
	group = row_of(report, "uplink_groups", "node", "MF0;leaf-u01-r1:MQM8700/U1");
	assert_true(json_is_true(json_object_get(group, "skewed")));
	assert_true(number_of(group, "late_imbalance_percent") > number_of(group, "early_imbalance_percent") + 20);
	json_decref(report);
}

TEST_IN_FOLDER(errors_on_a_link)
{
	assert_both(FABRIC TRAIN "at 3m errors \"node0002 mlx5_2/1\" symbol_errors=9000\n", "errors",
		    "node0002 mlx5_2/1");
}

TEST_IN_FOLDER(a_page_has_the_verdict_and_escapes_names)
{
	char line[600], page[512], *shown;
	struct text text = { 0 };

	play_with(FABRIC TRAIN "at 6m skew leaf-u01-r1/6 part=0.9\n", (struct planned[]){
		{ .id = "a<b>&\"1\"", .begin = BEGIN, .end = END, .name = "</title><script>alert(1)</script>" },
	}, 1);
	keep_page("a<b>&\"1\"");
	snprintf(page, sizeof(page), "%s.html", path);
	snprintf(line, sizeof(line), "job|report|a<b>&\"1\"|--html|%s", page);
	free(run_text(line));
	assert_int_equal(text_read_file(page, "", TEXT_SMALL_MOST, &text, NULL), 0);
	assert_non_null(strstr(text.chars, "Job a&lt;b&gt;&amp;&quot;1&quot;"));
	assert_non_null(strstr(text.chars, "&lt;/title&gt;&lt;script&gt;"));
	assert_null(strstr(text.chars, "<script"));
	/* The verdict, a line for each rail, and the maps before and after. */
	assert_non_null(strstr(text.chars, "<section class=\"card verdict "));
	assert_non_null(strstr(text.chars, "leaf-u01-r1"));
	assert_non_null(strstr(text.chars, "class=\"curve s7\""));
	assert_non_null(strstr(text.chars, "After: second half"));
	/* The map is in the order of names, not the worst leaf first. */
	assert_true(strstr(text.chars, ">leaf-u01-r0</text>") < strstr(text.chars, ">leaf-u01-r1</text>"));
	assert_null(strstr(text.chars, "nan"));
	text_done(&text);
	unlink(page);
	/* The screen has its width in COLUMNS. */
	setenv("COLUMNS", "80", 1);
	snprintf(line, sizeof(line), "job|report|a<b>&\"1\"");
	shown = run_text(line);
	unsetenv("COLUMNS");
	assert_non_null(strstr(shown, "hidden columns"));
	for (char *rest = NULL, *at = strtok_r(shown, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
		if (text_columns(at) > 80)
			fail_msg("%s", at);
	free(shown);
	/* A file that cannot be written. */
	snprintf(line, sizeof(line), "job|report|a<b>&\"1\"|--html|%s/nowhere/x.html", page);
	assert_refused(&(struct refused){ line, ERR_IO, "cannot write" }, 1);
}

/* --- hosts of a job, and jobs side by side --- */

TEST_IN_FOLDER(jobs_side_by_side_are_kept_apart_by_hosts)
{
	json_t *report;

	play_with(FABRIC "job a ring hosts=node0001-node0004 load=0.5\njob b ring hosts=node0005-node0008 load=0.25\n",
		  (struct planned[]){
			  { .id = "a", .hosts = "node[0001-0004]", .begin = BEGIN, .end = END, .snapshots = true },
			  { .id = "b", .hosts = "node0005,node[0006-0008]", .begin = BEGIN, .end = END },
			  { .id = "c", .hosts = "node0004,node0005", .begin = BEGIN + 5, .end = END },
		  }, 3);
	report = report_of("a");
	assert_verdict(report, "clean", "4 hosts, 8 rails");
	assert_int_equal(json_array_size(json_object_get(report, "ports")), 32);
	/* a and b are on different leaves, c is on those of both. */
	assert_true(list_has(json_object_get(json_object_get(report, "job"), "other_jobs"), "c"));
	assert_false(list_has(json_object_get(json_object_get(report, "job"), "other_jobs"), "b"));
	assert_true(json_is_true(json_object_get(row_of(report, "uplinks", "node", "MF0;leaf-u01-r1:MQM8700/U1"),
						 "shared")));
	json_decref(report);
	report = report_of("b");
	assert_true(fabs(number_of(row_of(report, "rails", "rail", "mlx5_0"), "utilization_percent") - 25) < 0.5);
	json_decref(report);
}

TEST_IN_FOLDER(a_host_that_is_not_in_the_fabric_is_named)
{
	json_t *report;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "some", .hosts = "node0001,node0002.cluster,gone77", .begin = BEGIN, .end = END },
		{ .id = "none", .hosts = "gone[77-78]", .begin = BEGIN, .end = END },
	}, 2);
	report = report_of("some");
	assert_verdict(report, "no-hosts", "1 of its 3 hosts was not in the fabric at its end: gone77");
	assert_true(json_is_true(json_object_get(row_of(report, "hosts", "host", "gone77"), "missing")));
	assert_int_equal(json_array_size(json_object_get(report, "ports")), 16);
	json_decref(report);
	report = report_of("none");
	assert_verdict(report, "no-hosts", "none of its hosts was in the fabric: gone77");
	json_decref(report);
	assert_shows("job|report|none", "none of its hosts");
	keep_page("some");
	keep_page("none");
}

TEST_IN_FOLDER(a_running_job_is_compared_with_its_earlier_time)
{
	json_t *report;

	play_with(FABRIC TRAIN "at 9m stop main\n", (struct planned[]){ { .id = "1", .begin = BEGIN } }, 1);
	report = report_of("1");
	print_text("1");
	assert_verdict(report, "slower", "slower: in the last ");
	assert_true(json_is_true(json_object_get(json_object_get(report, "job"), "running")));
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "end")));
	assert_shows("job|report|1", "still running");
	keep_page("1");
	json_decref(report);
}

TEST_IN_FOLDER(one_host_receives_more_than_the_others)
{
	play_with(FABRIC "job main incast targets=node0003 load=0.1\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END } }, 1);
	assert_shows("job|report|1", "hosts are uneven");
	assert_shows("job|report|1|--all", "PREDICTED%");
}

/* --- verdicts of numbers that the simulated fabric does not have --- */

/* Four hosts with two HCAs that are alike. */
static struct numbers {
	struct job_port ports[8];
	struct job_host hosts[4];
	struct job_rail rails[2];
	struct job_report report;
} numbers;

static int make_numbers(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	(void)state;
	numbers = (struct numbers){ .rails = { { .name = "mlx5_0" }, { .name = "mlx5_1" } } };
	numbers.report = (struct job_report){
		.source = JOB_SOURCE_SNAPSHOTS, .fabric = fabric_create(NULL), .ports = numbers.ports,
		.hosts = numbers.hosts, .rails = numbers.rails, .port_count = 8, .host_count = 4, .rail_count = 2,
		.slowest = UINT32_MAX, .duration_us = 600 * INT64_C(1000000), .total.known = 8,
	};
	for (uint32_t i = 0; i < 8; i++)
		numbers.ports[i] = (struct job_port){ .host = i / 2, .rail = i % 2, .peer_stall = 1,
						      .sum = { .known = 1, .mean_xmit = 1e9, .mean_rcv = 1e9 } };
	for (uint32_t i = 0; i < 4; i++)
		numbers.hosts[i] = (struct job_host){ .name = names[i], .first = 2 * i, .count = 2, .used = 2,
						      .sum.known = 2 };
	return numbers.report.fabric ? 0 : -1;
}

static int free_numbers(void **state)
{
	(void)state;
	fabric_destroy((struct fabric *)(uintptr_t)numbers.report.fabric);
	job_report_forget(&numbers.report);
	return 0;
}

TEST_WITH(the_host_that_switches_wait_for_is_the_slowest, make_numbers, free_numbers)
{
	(void)state;
	numbers.ports[2].peer_stall = 34;
	numbers.ports[3].peer_stall = 30;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.slowest, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_SLOW_HOST);
	assert_string_equal(numbers.report.verdict[0].text, "b is the slowest host: the switch ports to it waited 32 % "
			    "of the time, those to the others 1.0 % (median)");
}

/* All ports wait for the slowest one, which may be a link that the job does not use. */
TEST_WITH(a_job_that_became_slower_with_a_fault_elsewhere_is_not_clean, make_numbers, free_numbers)
{
	static char subject[] = "leaf3 uplinks";
	struct job_finding finding = { .kind = FINDING_UPLINK_IMBALANCE, .severity = FINDING_CRITICAL,
				       .subject = subject };

	(void)state;
	numbers.report.total.part[JOB_EARLY] = 2e9;
	numbers.report.total.part[JOB_LATE] = 1e9;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	numbers.report.findings = &finding;
	numbers.report.finding_count = 1;
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict_count, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_DROP);
	assert_non_null(strstr(numbers.report.verdict[0].text,
			       "elsewhere in the fabric: uplink-imbalance leaf3 uplinks"));
	numbers.report.findings = NULL;
	numbers.report.finding_count = 0;
}

/* HCAs for storage are idle during most jobs. */
TEST_WITH(an_unused_rail_of_slower_links_is_no_fault, make_numbers, free_numbers)
{
	(void)state;
	numbers.rails[1].slower = true;
	numbers.report.ports_unused = 4;
	for (uint32_t i = 0; i < 4; i++) {
		numbers.ports[2 * i + 1].unused = true;
		numbers.hosts[i].used = 1;
	}
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	assert_int_equal(numbers.report.verdict[1].verdict, JOB_VERDICT_NIC_UNUSED);
	assert_int_equal(numbers.report.verdict[1].severity, FINDING_INFO);
	numbers.rails[1].slower = false;
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_NIC_UNUSED);
}

/* --- what is not known --- */

TEST_IN_FOLDER(without_a_collector_snapshots_have_bytes_but_no_rates)
{
	json_t *report;

	played.no_history = true;
	play_with(FABRIC TRAIN "at 6m width \"node0002 mlx5_2/1\" 1x\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	report = report_of("1");
	assert_exact(report);
	assert_verdict(report, "link-failed", "node0002 mlx5_2/1: 1x HDR, before 4x HDR");
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "peak_xmit_bytes_per_s")));
	assert_int_equal(json_array_size(json_object_get(report, "series")), 0);
	assert_shows("job|report|1", "no sweep of a collector is stored of this time");
	keep_page("1");
	json_decref(report);
}

TEST_IN_FOLDER(without_sweeps_and_snapshots_nothing_is_known)
{
	json_t *report;

	played.no_history = true;
	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .end_lost = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "unknown", "nothing is known of its traffic");
	assert_true(json_is_null(json_object_get(json_object_get(report, "job"), "xmit_bytes")));
	json_decref(report);
	assert_shows("job|report|1", "nothing is known");
	keep_page("1");
}

TEST_IN_FOLDER(a_lost_end_snapshot_is_replaced_by_the_history)
{
	json_t *report;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .end_lost = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	assert_true(is_text(json_object_get(report, "job"), "source", "history"));
	json_decref(report);
}

/* The bytes of the history are those of sweeps BEGIN + 1 to END. */
TEST_IN_FOLDER(a_gap_of_the_collector_loses_no_bytes)
{
	const json_t *row;
	json_t *report;
	double rate = 0.5 * 200e9 / 8 * 480;

	played.fails_from = 30;
	played.fails_until = 40;
	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	row = row_of(report, "ports", "host", "node0005");
	assert_true(fabs(number_of(row, "xmit_bytes") / rate - 1) < 0.01);
	assert_true(fabs(number_of(row, "peak_xmit_bytes_per_s") / (rate / 480) - 1) < 0.01);
	json_decref(report);
}

/* The only sweep of the job is three intervals long, and its traffic stopped before. */
TEST_IN_FOLDER(a_peak_is_not_below_the_mean)
{
	const json_t *row;
	json_t *report;

	played.fails_from = BEGIN + 1;
	played.fails_until = BEGIN + 3;
	play_with(FABRIC TRAIN "at 135s stop main\n", (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = BEGIN + 2, .snapshots = true } }, 1);
	report = report_of("1");
	row = json_object_get(report, "job");
	assert_true(is_text(row, "source", "snapshots"));
	assert_true(number_of(row, "mean_xmit_bytes_per_s") > 1e9);
	assert_true(number_of(row, "peak_xmit_bytes_per_s") >= number_of(row, "mean_xmit_bytes_per_s"));
	json_decref(report);
}

/* As retention leaves it: the first window, of 60 sweeps, is gone, whether it was packed or not. */
static void expire(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM hot WHERE rowid < 61 * 65536; DELETE FROM sweep WHERE id <= 60;"
				      " DELETE FROM chunk_window WHERE to_sweep <= 61", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

TEST_IN_FOLDER(what_has_expired_is_reported)
{
	json_t *report;

	play_with(FABRIC TRAIN "length 22m\n", (struct planned[]){
		{ .id = "1", .begin = 30, .end = 110 }, { .id = "2", .begin = 6, .end = 40 } }, 2);
	expire();
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	assert_true(json_is_true(json_object_get(json_object_get(report, "job"), "at_least")));
	json_decref(report);
	assert_shows("job|report|1", "the history before ");
	report = report_of("2");
	assert_verdict(report, "unknown", "nothing is known of its traffic");
	json_decref(report);
}

TEST_IN_FOLDER(a_collector_that_started_late_is_reported)
{
	json_t *report;

	played.fails_from = 1;
	played.fails_until = 30;
	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	json_decref(report);
	assert_shows("job|report|1", "no collector ran at the begin of the job: the history begins at");
}

TEST_IN_FOLDER(a_step_of_the_wall_clock_changes_no_duration)
{
	static const int64_t steps_us[] = { 3600 * INT64_C(1000000), -3600 * INT64_C(1000000) };

	for (size_t i = 0; i < 2; i++) {
		json_t *report;

		test_folder_renew();
		play_with(FABRIC TRAIN, (struct planned[]){
			{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true, .step_us = steps_us[i] } }, 1);
		report = report_of("1");
		assert_verdict(report, "clean", "mean 100.0 Gb/s");
		assert_int_equal(integer_of(json_object_get(report, "job"), "duration_us"), 480 * INT64_C(1000000));
		assert_int_equal(integer_of(json_object_get(report, "job"), "clock_step_us"), steps_us[i]);
		assert_exact(report);
		json_decref(report);
		assert_shows("job|report|1", i ? "the wall clock was set back by 1h00m" :
			     "the wall clock was set forward by 1h00m");
	}
}

TEST_IN_FOLDER(a_restart_of_the_host_is_reported)
{
	json_t *report;

	played.reboots = true;
	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	report = report_of("1");
	assert_verdict(report, "clean", "8 hosts");
	json_decref(report);
	assert_shows("job|report|1", "this host was restarted during the job");
}

/* --- output --- */

TEST_IN_FOLDER(names_are_printed_without_control_characters)
{
	char *text;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "<b>;rm -rf", .name = "\033[31mred", .begin = BEGIN, .end = END } }, 1);
	text = run_text("job|report|<b>;rm -rf");
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "<b>;rm -rf (\\x1b[31mred)"));
	free(text);
}

TEST_IN_FOLDER(csv_has_a_row_for_each_port)
{
	char *text;
	size_t lines = 0;

	play_with(FABRIC TRAIN, (struct planned[]){ { .id = "1", .begin = BEGIN, .end = END } }, 1);
	text = run_text("job|report|1|--format|csv");
	assert_memory_equal(text, "host,rail,node_guid,", 20);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 1 + 64);
	free(text);
}

/* One screen of 100 columns and 40 lines for 8 hosts. */
TEST_IN_FOLDER(a_report_of_eight_hosts_fits_a_screen)
{
	char *text, *line, *rest = NULL;
	size_t lines = 0;

	play_with(FABRIC TRAIN, (struct planned[]){
		{ .id = "1", .hosts = "node[0001-0008]", .begin = BEGIN, .end = END, .snapshots = true } }, 1);
	text = run_text("job|report|1");
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_true(lines <= 40);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strlen(line) > 100)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
}

/* --- compare --- */

TEST_IN_FOLDER(compare_names_what_is_new)
{
	json_t *rows;
	char *text;

	play_with(FABRIC TRAIN "at 330s width \"node0002 mlx5_2/1\" 1x\n", (struct planned[]){
		{ .id = "1", .begin = 6, .end = 30 },
		{ .id = "2", .begin = 36, .end = 60, .snapshots = true },
		{ .id = "3", .begin = 8, .end = 30, .name = "other" },
	}, 3);
	text = run_text("job|compare|2");
	if (getenv("JOB_REPORT_SHOW"))
		puts(text);
	assert_non_null(strstr(text, "job 2 (train) against 1: "));
	assert_non_null(strstr(text, "% slower per port"));
	assert_non_null(strstr(text, "; new: leaf-u01-r2/2 -\n    node0002 mlx5_2/1 link-degraded"));
	free(text);
	rows = run_json("job|compare|2|1");
	assert_text(json_object_get(rows, "compare"), "before", "1");
	assert_text(json_object_get(rows, "compare"), "now_verdict", "link-failed");
	assert_true(number_of(row_of(rows, "metrics", "metric", "mean_bytes_per_s"), "change_percent") < -10);
	assert_true(number_of(row_of(rows, "rails", "rail", "mlx5_2"), "change_percent") < -10);
	json_decref(rows);
	assert_refused((struct refused[]){
		{ "job|compare|3", ERR_USAGE, "no earlier job has the name 'other'" },
		{ "job|compare|2|2", ERR_USAGE, "given twice" },
		{ "job|compare|77", ERR_USAGE, "77" },
		{ "job|report", ERR_USAGE, "the id of one job" },
		{ "job|report|77", ERR_USAGE, "77" },
		{ "job|list|--all", ERR_USAGE, "--all requires" },
	}, 6);
}
