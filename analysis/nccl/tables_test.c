/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of nccl-tests and rccl-tests in all their forms, with hosts and values of our own. */
#include <stdio.h>
#include <string.h>

#include "analysis/nccl.h"
#include "analysis/nccl/test_nccl.h"
#include "base/err.h"
#include "base/unit_test.h"

#define HEADER "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1\n"
#define COLUMNS "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
#define ROW "1073741824 268435456 float sum -1 9500.0 113.0 211.9 0 9500.0 113.0 210.0 0"

/* The list of devices: @each ranks on each of @hosts; the group of rank R is R % @groups. */
static char *add_ranks(char *end, unsigned hosts, unsigned each, unsigned groups)
{
	for (unsigned rank = 0; rank < hosts * each; rank++)
		end += sprintf(end, "#  Rank %2u Group %2u Pid %6u on %10c device %2u [0000:1b:00] NVIDIA H100\n", rank,
			       rank % groups, 70 + rank, 'a' + (int)(rank / each), rank % each);
	return end;
}

static const struct nccl_test *read_table(unsigned hosts, unsigned each, unsigned groups, const char *table)
{
	char text[16384], *end = text + sprintf(text, HEADER);

	end = add_ranks(end, hosts, each, groups);
	snprintf(end, sizeof(text) - (size_t)(end - text), "%s", table);
	read_text(text);
	assert_int_equal(text_log.test_count, 1);
	return &text_log.tests[0];
}

/* -S, and the columns of -I for each iteration. */
TEST(columns_of_options_are_no_values)
{
	static const char *const tables[] = {
		COLUMNS " timestamp\n# (B) (elements) (us) (GB/s) %Y-%m-%d %H:%M:%S\n" ROW "  2026-01-02 03:04:05\n",
		"# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong "
		"i_min i_max "
		"i_p99 i_cv%\n1073741824 268435456 float sum -1 9500.0 113.0 211.9 0 9400.0 9600.0 9600.0 1.0 9500.0 "
		"113.0 210.0 0 "
		"9400.0 9600.0 9600.0 1.0\n",
		COLUMNS "\n[1,0]<stdout>: " ROW "\n",
		/* Columns that rccl-tests adds: hipevt, and with -M before the time stamp. */
		"# size count type redop root time hipevt algbw busbw #wrong time hipevt algbw busbw #wrong\n"
		"1073741824 268435456 float sum -1 9500.0 9400.0 113.0 211.9 0 9500.0 9400.0 113.0 210.0 0\n",
		COLUMNS " algo proto nchannels timestamp\n" ROW " 2026-01-02 03:04:05 Ring Simple 32\n",
		COLUMNS " algo proto nchannels\n" ROW " N/A N/A N/A\n",
		COLUMNS " timestamp\n2026-01-02T03:04:05.123Z stdout F 0: " ROW " 2026-01-02 03:04:05\n",
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct nccl_test *test = read_table(2, 8, 1, tables[i]);

		assert_int_equal(test->row_count, 1);
		assert_int_equal(test->operation, NCCL_ALL_REDUCE);
		assert_int_equal(test->best.size_bytes, 1 << 30);
		assert_true(test->best.busbw_gb_per_s > 211.8 && test->best.busbw_gb_per_s < 212);
		assert_int_equal(test->size_sum_bytes, 2ull << 30);
	}
}

/* Results of one kind only, of which those out of place have no time stamp. */
TEST(a_table_of_one_column_group)
{
	static const char *const tables[] = {
		"# size count type redop root time algbw busbw #wrong timestamp\n"
		"1073741824 268435456 float sum -1 9500.0 113.0 211.9 0\n",
		"# size count type redop root time algbw busbw #wrong algo proto nchannels timestamp\n"
		"1073741824 268435456 float sum -1 9500.0 113.0 211.9 N/A Ring LL128 8\n",
		COLUMNS "\n1073741824 268435456 float sum -1                                 9500.0 113.0 211.9 0\n",
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct nccl_test *test = read_table(2, 8, 1, tables[i]);

		assert_int_equal(test->row_count, 1);
		assert_true(test->best.busbw_gb_per_s > 211.8 && test->best.busbw_gb_per_s < 212);
		assert_int_equal(test->size_sum_bytes, 1 << 30);
	}
	/* A column group that was cut is no result. */
	assert_int_equal(read_table(2, 8, 1, COLUMNS "\n1073741824 268435456 float sum -1 9500.0 113.0\n")->row_count,
			 0);
}

/* hypercube leaves the column of the operator empty; it is an all-gather. */
TEST(hypercube)
{
	static const char table[] = COLUMNS "\n1073741824 16777216 float -1 9500.0 100.0 100.0 0 9500.0 99.0 99.0 0\n";

	assert_int_equal(read_table(4, 8, 1, table)->operation, NCCL_HYPERCUBE);
	assert_int_equal(text_log.tests[0].row_count, 1);
	assert_int_equal(nccl_test_least_bytes(&text_log, &text_log.tests[0], false), (2ull << 30) * 20 * 3);
	read_text("# Collective test starting: hypercube_perf\n" HEADER COLUMNS "\nnRanks 6 is not a power of 2, "
		  "skipping\n# Out of bounds values : 0 OK\n");
	check(NULL, 0);
	assert_line(NCCL_WARN, "hypercube: the table has no row");
	assert_string_equal(line_with("no row")->fix, "run it on a number of ranks that is a power of two");
}

TEST(a_test_that_failed)
{
	static const struct { const char *words, *line, *fix; } wanted[] = {
		{ "warnings: 1: Test CUDA failure", "b: Test CUDA failure common.cu:1023 'out of memory'\n", "(-e)" },
		{ "warnings: 1: Test CUDA failure", "0: b: Test CUDA failure common.cu:9 'unknown error'\n", "Xid" },
		{ "timeouts: 1: Test timeout", "b: Test timeout (120s) common.cu:400\n", "the rank that stopped" },
		{ "below that of NCCL_TESTS_MIN_BW", "# Avg bus bandwidth    : 12.3 FAILED\n", "ibwire links" },
	};
	char table[1024];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		snprintf(table, sizeof(table), COLUMNS "\n" ROW "\n%s .. b pid 7: Test failure common.cu:1100\n",
			 wanted[i].line);
		read_table(2, 8, 1, table);
		check(NULL, 0);
		assert_line(NCCL_FAIL, wanted[i].words);
		assert_non_null(strstr(line_with(wanted[i].words)->fix, wanted[i].fix));
	}
	/* Before the columns, too; the table is of a job that ended with an error. */
	read_table(2, 8, 1, "b: Test CUDA failure common.cu:1023 'out of memory'\n");
	check(NULL, 0);
	assert_line(NCCL_FAIL, "Test CUDA failure");
	read_table(2, 8, 1, COLUMNS "\n" ROW "\n");
	text_log.ended_badly = true;
	check(NULL, 0);
	assert_line(NCCL_WARN, "the table is cut off");
}

/* What stays inside a host needs no wire. */
TEST(groups_of_a_split_test)
{
	static const struct { unsigned groups; uint64_t transfers; } wanted[] = {
		/* 4 hosts with 8 ranks, S = 2 x 2^30 bytes, 20 iterations: 2 (hosts - 1) transfers in each group */
		{ 1, 6 }, { 8, 8 * 6 }, { 2, 2 * 6 },
	};
	const struct nccl_test *test;
	char text[16384], *end;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		test = read_table(4, 8, wanted[i].groups, COLUMNS "\n" ROW "\n");
		assert_int_equal(test->group_count, wanted[i].groups);
		assert_int_equal(nccl_test_least_bytes(&text_log, test, false),
			(2ull << 30) * 20 * wanted[i].transfers);
	}
	/* NCCL_TESTS_SPLIT=DIV8: one group on each host. */
	end = text + sprintf(text, HEADER);
	for (unsigned rank = 0; rank < 32; rank++)
		end += sprintf(end, "#  Rank %2u Group %2u Pid 7 on %10c device %2u [0x1b] H100\n", rank, rank / 8,
			       'a' + (int)rank / 8, rank % 8);
	sprintf(end, COLUMNS "\n" ROW "\n# Out of bounds values : 0 OK\n");
	read_text(text);
	assert_int_equal(nccl_test_least_bytes(&text_log, &text_log.tests[0], false), 0);
	check(NULL, 0);
	assert_line(NCCL_OK, "32 ranks on 4 hosts in 4 groups, 1 row: best busbw 211.9 GB/s at 1.1 GB; nothing needs "
		"to be on the "
		    "wire");
}

/* Each process prints a table, one after the other or mixed. */
TEST(builds_without_mpi_demand_nothing)
{
	char text[4096], *end = text;

	for (int i = 0; i < 4; i++)
		end += sprintf(end, HEADER "#  Rank  0 Group  0 Pid 7 on h%d device 0 [0x1b] "
		"H100\n" COLUMNS "\n" ROW "\n"
			       "# Out of bounds values : 0 OK\n", i % 2);
	read_text(text);
	check(NULL, 0);
	assert_line(NCCL_WARN, "built without MPI");
	assert_null(line_with("on the wire"));
	read_text(HEADER HEADER "#  Rank  0 Group  0 Pid 7 on h1 device 0 [0x1b] H100\n"
		  "#  Rank  0 Group  0 Pid 7 on h2 device 0 [0x1b] H100\n" COLUMNS "\n" ROW "\n" ROW "\n");
	check(NULL, 0);
	assert_line(NCCL_WARN, "built without MPI");
	assert_null(line_with("on the wire"));
	/* Two tests of one process on one host are no such build. */
	read_text(HEADER "#  Rank  0 Group  0 Pid 7 on h1 device 0 [0x1b] H100\n#  Rank  1 Group  0 Pid 7 on h1 "
		"device 1 [0x1b] "
		  "H100\n" COLUMNS "\n" ROW "\n# Out of bounds values : 0 OK\n" HEADER
		  "#  Rank  0 Group  0 Pid 7 on h1 device 0 [0x1b] H100\n#  Rank  1 Group  0 Pid 7 on h1 device 1 "
		  "[0x1b] H100\n"
		  COLUMNS "\n" ROW "\n# Out of bounds values : 0 OK\n");
	check(NULL, 0);
	assert_int_equal(text_log.test_count, 2);
	assert_null(line_with("built without MPI"));
}

TEST(a_table_whose_header_is_missing_or_old)
{
	const struct nccl_test *test;

	read_text(COLUMNS "\n" ROW "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n#\n"
		  "# Collective test concluded: reduce_scatter_perf\n" COLUMNS "\n" ROW "\n");
	assert_int_equal(text_log.test_count, 2);
	assert_int_equal(text_log.tests[0].operation, NCCL_REDUCE_SCATTER);
	assert_int_equal(text_log.tests[1].operation, NCCL_ALL_REDUCE);
	assert_int_equal(nccl_test_least_bytes(&text_log, &text_log.tests[0], false), 0);
	check(NULL, 0);
	assert_line(NCCL_OK, "reduce_scatter, ranks not known, 1 row: best busbw 211.9 GB/s");
	read_text("# nThread: 1 nGpus: 1 minBytes: 8 maxBytes: 8 step: 2(factor) warmupIters: 3 iters: 30 validation: "
		"1\n"
		  "#   Rank  0 Pid 7 on a device  0 [0x1b] MI300X\n#   Rank  1 Pid 7 on b device  0 [0x1b] MI300X\n"
		  COLUMNS "\n" ROW "\n");
	test = &text_log.tests[0];
	assert_int_equal(test->warmups, 3);
	assert_int_equal(test->iterations, 30);
	assert_int_equal(test->all.hosts, 2);
	assert_int_equal(test->row_count, 1);
}

TEST(operations_without_an_operator)
{
	static const struct { enum nccl_operation op; const char *columns, *row; } tables[] = {
		{ NCCL_ALL_TO_ALL, "size count type redop time algbw busbw error", "8589934592 268435456 float 33508 "
		"256.3 224.3 N/A" },
		{ NCCL_ALL_TO_ALL, "size count type redop time algbw busbw error", "1: 8589934592 268435456 float "
		"33508 256.3 224.3 N/A" },
		{ NCCL_ALL_GATHER, "size count type time algbw busbw error", "8589934592 268435456 float 33508 256.3 "
		"224.3 N/A" },
		{ NCCL_SCATTER, "size count type redop root time algbw busbw error", "4096 256 float none 0 50 10.0 "
		"7.5 0" },
	};
	char text[1024];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(text, sizeof(text), "# %s\n%s\n", tables[i].columns, tables[i].row);
		assert_int_equal(read_table(2, 4, 1, text)->row_count, 1);
		assert_int_equal(text_log.tests[0].operation, tables[i].op);
	}
	/* busbw of all_reduce is algbw with two ranks. */
	assert_int_equal(read_table(2, 1, 1, "# size count type redop time algbw busbw error\n"
				    "1048576 524288 half sum 158.3 6.62 6.62 2e+00\n")->operation, NCCL_ALL_REDUCE);
}

/* The column "error" is a deviation; the last line of the table has the number of wrong values. */
TEST(wrong_values)
{
	static const char table[] = "# size count type redop time algbw busbw error\n1048576 524288 half sum 158.3 "
		"6.62 9.1 2e+00\n";
	char text[512];

	snprintf(text, sizeof(text), "%s# Out of bounds values : 0 OK\n", table);
	assert_int_equal(read_table(2, 4, 1, text)->wrong, 0);
	snprintf(text, sizeof(text), "%s# Out of bounds values : 3 FAILED\n", table);
	assert_int_equal(read_table(2, 4, 1, text)->wrong, 3);
	check(NULL, 0);
	assert_line(NCCL_FAIL, "wrong values");
	assert_int_equal(read_table(2, 4, 1, COLUMNS "\n1073741824 268435456 float sum -1 9500.0 113.0 211.9 7 9500.0 "
		"113.0 210.0 0\n")
			 ->wrong, 7);
}

/* The JSON file of -J, in pieces of any length. */
TEST(json_file)
{
	static const char json[] =
		"{\"version\":3,\"start_time\":\"2026-01-02 "
		"03:04:05\",\"args\":[\"/opt/all_gather_perf\",\"-b\",\"1G\"],\"env\":[\"A=\\\"{[\"],"
		"\"nccl_version\":22805,\"config\":{\"nthreads\":1,\"ngpus\":1,\"warmup_iters\":5,"
		"\"iterations\":20,\"devices\":["
		"{\"rank\":0,\"group\":0,\"pid\":7,\"hostname\":\"a\",\"device\":0,\"device_info\":\"NVIDIA H100\"},"
		"{\"rank\":1,\"group\":0,\"pid\":7,\"hostname\":\"b\",\"device\":0,\"device_info\":\"NVIDIA "
		"H100\"}]},\"results\":["
		"{\"size\":1073741824,\"count\":134217728,\"type\":\"float\",\"redop\":\"none\",\"root\":\"    -1\","
		"\"out_of_place\":{\"time\":9500.5,\"alg_bw\":113.0,\"bus_bw\":40.5,\"nwrong\":0},"
		"\"in_place\":{\"time\":9500.5,\"alg_bw\":113.0,\"bus_bw\":39.5,\"nwrong\":2},"
		"\"out_of_place_per_iter\":{\"times_us\":[1.0,2.0],\"min_us\":1.0},\"actual_iterations\":20,"
		"\"experiment_name\":\"\"},"
		"{\"size\":8,\"count\":1,\"type\":\"float\",\"redop\":\"none\",\"root\":\"-1\",\"out_of_place\":null,"
		"\"in_place\":{\"cpu_time\":9.5,\"alg_bw\":0.1,\"bus_bw\":0.1,\"nwrong\":null},"
		"\"experiment_name\":\"x\"}],"
		"\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"},\"end_time\":\"2026-01-02 03:04:06\"}\n";
	size_t len = sizeof(json) - 1;

	for (size_t piece = 16; piece <= len; piece += piece < 64 ? 1 : len) {
		const struct nccl_test *test;

		nccl_done(&text_log);
		for (size_t at = 0; at < len; at += piece)
			assert_int_equal(nccl_feed(&text_log, json + at, len - at < piece ? len - at : piece, NULL), 0);
		assert_int_equal(nccl_end(&text_log, NULL), 0);
		assert_int_equal(text_log.test_count, 1);
		test = &text_log.tests[0];
		assert_int_equal(test->operation, NCCL_ALL_GATHER);
		assert_int_equal(test->all.ranks, 2);
		assert_int_equal(test->all.hosts, 2);
		assert_int_equal(test->iterations, 20);
		assert_int_equal(test->row_count, 2);
		assert_int_equal(test->wrong, 2);
		assert_true(test->concluded);
		assert_true(test->best.busbw_gb_per_s > 40.4 && test->best.busbw_gb_per_s < 40.6);
		assert_int_equal(nccl_test_least_bytes(&text_log, test, false), 20 * (2ull * (1 << 30) + 8));
	}
}

TEST(programs_are_operations)
{
	static const struct { const char *program; enum nccl_operation op; } wanted[] = {
		{ "all_reduce_perf", NCCL_ALL_REDUCE }, { "./build/reduce_scatter_perf_mpi", NCCL_REDUCE_SCATTER },
		{ "reduce_perf", NCCL_REDUCE }, { "alltoall_perf", NCCL_ALL_TO_ALL }, { "alltoallv_perf",
		  NCCL_ALL_TO_ALL_V },
		{ "/opt/all_gather_perf", NCCL_ALL_GATHER }, { "sendrecv_perf", NCCL_SEND_RECV },
		{ "hypercube_perf", NCCL_HYPERCUBE }, { "train.py", NCCL_OP_UNKNOWN },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		snprintf(text, sizeof(text), "# Collective test starting: %s\n" HEADER, wanted[i].program);
		read_text(text);
		assert_int_equal(text_log.tests[0].operation, wanted[i].op);
	}
}

/* busbw against the rails: of known rate, and of none. */
TEST(busbw_is_judged_against_the_rails)
{
	static const struct { double busbw, rate_gbps; enum nccl_severity severity; const char *words; } wanted[] = {
		{ 370, 400, NCCL_OK, "the rails of a host carry 400.0 GB/s (92 %);" },
		{ 240, 400, NCCL_WARN, "(60 %, 85 % and more are usual)" },
		{ 40, 400, NCCL_FAIL, "(10 %, 85 % and more are usual)" },
		{ 185, 200, NCCL_OK, "(92 %)" },
		{ 370, 0, NCCL_OK, "best busbw 370.0 GB/s at 1.1 GB; at least" },
		{ 90, 0, NCCL_OK, "usual with 8 rails: EDR 92, HDR 184, NDR 368, XDR 736" },
		{ 40, 0, NCCL_WARN, "usual with 8 rails: EDR 92, HDR 184, NDR 368, XDR 736" },
	};
	struct nccl_port ports[16];
	char names[8][8], text[16384];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *end = text;

		for (int h = 0; h < 2; h++) {
			end += sprintf(end, "%c:7:8 [0] NCCL INFO NET/IB : Using", 'a' + h);
			for (int r = 0; r < 8; r++)
				end += sprintf(end, " [%d]mlx5_%d:1/IB", r, r);
			end += sprintf(end, " [RO]; OOB eth0:10.0.0.1<0>\n");
			for (int r = 0; r < 8; r++)
				end += sprintf(end, "%c:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via "
					       "NET/IB/%d/GDRDMA\n", 'a' + h, r);
		}
		end = add_ranks(end + sprintf(end, HEADER), 2, 8, 1);
		sprintf(end, COLUMNS "\n1073741824 268435456 float sum -1 9500.0 %.1f %.1f 0 9500.0 1.0 1.0 0\n",
			wanted[i].busbw / 1.875, wanted[i].busbw);
		read_text(text);
		for (unsigned p = 0; p < 16; p++) {
			snprintf(names[p % 8], 8, "mlx5_%u", p % 8);
			ports[p] = (struct nccl_port){ .host = p < 8 ? "a" : "b", .hca = names[p % 8], .port = 1,
			.known = true,
						       .tx_bytes = 1ull << 40, .rx_bytes = 1ull << 40,
						       .rate_gbps = wanted[i].rate_gbps };
		}
		check(ports, wanted[i].rate_gbps > 0 ? 16 : 0);
		assert_line(wanted[i].severity, wanted[i].words);
	}
}

/* The rails of a host are not those of all tables together. */
TEST(each_table_is_judged_alone)
{
	struct nccl_port ports[2];
	char text[16384], *end = text;

	for (int h = 0; h < 2; h++)
		end += sprintf(end, "%c:7:8 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
			       "%c:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n", 'a' + h,
			       'a' + h);
	for (int i = 0; i < 3; i++) {
		end = add_ranks(end + sprintf(end, HEADER), 2, 1, 1);
		end += sprintf(end, COLUMNS "\n1073741824 268435456 float sum -1 9500.0 48.0 48.0 0 9500.0 48.0 48.0 "
		"0\n"
			       "# Out of bounds values : 0 OK\n");
	}
	read_text(text);
	for (int p = 0; p < 2; p++)
		ports[p] = (struct nccl_port){ .host = p ? "b" : "a", .hca = "mlx5_0", .port = 1, .known = true,
					       .tx_bytes = 1ull << 42, .rx_bytes = 1ull << 42, .rate_gbps = 400 };
	check(ports, 2);
	assert_int_equal(text_log.test_count, 3);
	assert_int_equal(verdict.severity, NCCL_OK);
	assert_line(NCCL_OK, "the rails of a host carry 50.0 GB/s (96 %)");
}

/* A log of another program whose first key is a version, too. */
TEST(a_json_log_is_no_file_of_a_test)
{
	read_text("{\"version\":\"1.1\",\"short_message\":\"alpha:7:8 [0] NCCL INFO Using network IB\"}\n");
	assert_int_equal(text_log.messages, 1);
}
