/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How reports are shown: rows, width, CSV, pages, what NCCL logged, comparisons of two runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "storage/test/test_folder.h"
#include "tests/job/play.h"

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

/* One of two ends of each link of a host was not read: no errors are known of its four ports, and none of others. */
TEST_IN_FOLDER(errors_that_are_unknown_are_not_0)
{
	const struct planned job = { .id = "1", .begin = BEGIN, .end = END };

	play_with("shape rail units=2 hosts=4 rails=2 spines=2\nlength 11m\njob main alltoall fan=3 load=0.5\n",
		  &job, 1);
	assert_shows("job|report|1", "errors    0; XmitWait");
	test_folder_renew();
	play_with("shape rail units=2 hosts=4 rails=2 spines=2\nlength 11m\njob main alltoall fan=3 load=0.5\n"
		  "at 6m silent \"node0003 mlx5_0\"\n", &job, 1);
	assert_shows("job|report|1", "unknown for 1 of 16 ports, 0 elsewhere");
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
	/* The map is sorted by name, not by load. */
	assert_true(strstr(text.chars, ">leaf-u01-r0</text>") < strstr(text.chars, ">leaf-u01-r1</text>"));
	assert_null(strstr(text.chars, "nan"));
	text_done(&text);
	unlink(page);
	/* The report uses the width in COLUMNS. */
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
	assert_refused({ line, ERR_IO, "cannot write" });
}

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
	if (lines > 40)
		fail_msg("%zu lines:\n%s", lines, text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strlen(line) > 100)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
}

/* --- NCCL --- */

static void write_text(const char *file, const char *chars)
{
	FILE *stream = fopen(file, "w");

	assert_non_null(stream);
	fputs(chars, stream);
	fclose(stream);
}

/* The log of NCCL on 8 hosts with 8 HCAs, with a connection on each of the first @used HCAs. */
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
	row_of(report, "verdict", "text", "NCCL reports IB on mlx5_5 of node0003; that port moved nothing: "
	       "check that the log is of this job, which HCAs it used on each host (ibwire run --local), "
	       "and NCCL_IB_HCA");
	assert_true(is_text(row_of(report, "nccl_settings", "name", "network"), "value", "IB"));
	assert_int_equal(json_array_size(json_object_get(report, "nccl_hcas")), 64);
	json_decref(report);

	/* An HCA without connections may have no traffic. */
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
	assert_shows("job|report|c|nccl.1.log|--nccl|nccl.1.log", "the ports are clean: ");
	report = run_json("job|report|c");
	assert_null(json_object_get(report, "nccl"));
	json_decref(report);
	write_text("nccl.2.log", "\nnode0001:70:71 [0] init.cc:1 NCCL WARN <script>alert(1)</script>\n");
	free(run_text("job|report|c|--nccl|nccl.2.log|--html|page.html"));
	assert_int_equal(text_read_file("page.html", "", TEXT_SMALL_MOST, &page, NULL), 0);
	assert_non_null(strstr(page.chars, "reported by node0001: &lt;script&gt;"));
	assert_null(strstr(page.chars, "<script"));
	text_done(&page);
	assert_refused(
		{ "job|report|c|--nccl|nowhere.log", ERR_IO, "cannot read nowhere.log" },
		{ "job|report|c|--nccl|.", ERR_IO, "cannot read ." },
		{ "job|list|--nccl|nccl.1.log", ERR_USAGE, "--nccl requires report" });
	unlink("nccl.1.log");
	unlink("nccl.2.log");
	unlink("page.html");
}

/* --- compare --- */

TEST_IN_FOLDER(compare_names_new_verdicts)
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
	assert_refused(
		{ "job|compare|3", ERR_USAGE, "no earlier job has the name 'other'" },
		{ "job|compare|2|2", ERR_USAGE, "given twice" },
		{ "job|compare|77", ERR_USAGE, "77" },
		{ "job|report", ERR_USAGE, "the id of one job" },
		{ "job|report|77", ERR_USAGE, "77" },
		{ "job|list|--all", ERR_USAGE, "--all requires" });
}
