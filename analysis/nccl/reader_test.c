/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Logs of each generation of NCCL and tables of nccl-tests, with hosts and values of our own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl.h"
#include "analysis/nccl/test_nccl.h"
#include "base/err.h"
#include "base/test_damage.h"
#include "base/unit_test.h"

static const struct nccl_hca *hca(const char *host, const char *name)
{
	for (size_t i = 0; i < text_log.hca_count; i++)
		if (!strcmp(text_log.hcas[i].name, name) && !strcmp(text_log.hosts[text_log.hcas[i].host].name, host))
			return &text_log.hcas[i];
	fail_msg("no HCA %s on %s", name, host);
	return NULL;
}

/* One generation: what each reports of the host alpha. */
struct generation {
	const char *version, *network, *text;
	enum nccl_fabric fabric;
	const char *hca; /* one with connections */
	unsigned net, direct, p2p, shm;
};

#define WARN "alpha:70:81 [0] transport/net_ib.cc:1984 NCCL WARN "

static const struct generation generations[] = {
	{ "2.4.8", NULL, "NCCL version 2.4.8+cuda10.1\n"
	  PREFIX "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/RoCE ; OOB ib0:10.1.2.3<0>\n"
	  PREFIX "Ring 00 : 0[0] -> 1[1] via P2P/IPC\n"
	  PREFIX "Ring 00 : 1[1] -> 2[2] via direct shared memory\n"
	  PREFIX "Ring 00 : 7 -> 0 [receive] via NET/IB/0/GDRDMA\n"
	  PREFIX "Ring 00 : 0 -> 8 [send] via NET/IB/0\n", NCCL_INFINIBAND, "mlx5_0", 2, 1, 1, 1 },
	{ "2.6.4", "IB", "NCCL version 2.6.4+cuda10.2\n"
	  PREFIX "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB ib0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "Ring 01 : 7[1c000] -> 0[1b000] [receive] via NET/IB/1/GDRDMA\n"
	  PREFIX "Ring 01 : 0[1b000] -> 1[1c000] via P2P/direct pointer\n", NCCL_INFINIBAND, "mlx5_1", 1, 1, 1, 0 },
	{ "2.8.4", "Socket", "NCCL version 2.8.4+cuda11.0\n"
	  PREFIX "NCCL_SOCKET_IFNAME set by environment to eno1\n"
	  PREFIX "NCCL_IB_DISABLE set by environment to 1.\n"
	  PREFIX "NET/Socket : Using [0]eno1:10.1.2.3<0>\n"
	  PREFIX "Using network Socket\n"
	  PREFIX "Channel 00 : 7[1c000] -> 0[1b000] [receive] via NET/Socket/0\n"
	  PREFIX "Channel 00 : 0[1b000] -> 8[1c000] [send] via NET/Socket/0/Shared\n", NCCL_TCP, "Socket/0", 2, 0, 0,
	  0 },
	{ "2.12.12", "IB", "NCCL version 2.12.12+cuda11.6\n"
	  PREFIX "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "Channel 00/0 : 7[1c000] -> 0[1b000] [receive] via NET/IB/1/GDRDMA/Shared\n"
	  PREFIX "Channel 00/0 : 0[1b000] -> 8[1c000] [send] via NET/IB/1(3)/GDRDMA\n"
	  PREFIX "Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct\n", NCCL_ROCE, "mlx5_1", 2, 2, 0, 1 },
	{ "2.18.3", "AWS Libfabric", "NCCL version 2.18.3+cuda12.2\n"
	  PREFIX "NET/OFI Selected Provider is efa (found 4 nics)\n"
	  PREFIX "Using network AWS Libfabric\n"
	  PREFIX "Channel 03/0 : 15[7] -> 6[6] [send] via NET/AWS Libfabric/3/GDRDMA\n", NCCL_EFA, "AWS Libfabric/3",
	  1, 1, 0, 0 },
	{ "2.20.5", "IB", "NCCL version 2.20.5+cuda12.4\n"
	  PREFIX "NET/IB : Using [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB} [1]mlx5_2:1/IB [RO]; OOB eth0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n", NCCL_INFINIBAND, "mlx5_1", 1, 1, 0, 0 },
	{ "2.22.3", "Libfabric", "NCCL version 2.22.3+cuda12.6\n"
	  PREFIX "NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)\n"
	  PREFIX "Using network Libfabric\n"
	  PREFIX "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/Libfabric/0\n", NCCL_SLINGSHOT, "Libfabric/0", 1, 0,
	  0, 0 },
	{ "2.24.3", "IB", "NCCL version 2.24.3+cuda12.6\n"
	  PREFIX "NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1\n"
	  PREFIX "NET/IB : Made virtual device [1] name=mlx5_1 speed=400000 ndevs=1\n"
	  PREFIX "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=800000 ndevs=2\n"
	  PREFIX "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/2/GDRDMA\n", NCCL_INFINIBAND, "mlx5_1", 1, 1, 0, 0 },
	{ "2.27.5", "IBext_v10", "[2026-01-02 03:04:05] " PREFIX "NCCL version 2.27.5+cuda12.9\n"
	  "[2026-01-02 03:04:05] " PREFIX "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP [RO]; OOB "
	  "eth0:10.1.2.3<0>\n"
	  PREFIX "NET/Plugin: Loaded collnet plugin SHARP (v10)\n"
	  PREFIX "Using network IBext_v10\n"
	  PREFIX "CollNet 00/0 : 0 [send] via COLLNET/SHARP/1/GDRDMA(PCI)\n"
	  PREFIX "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n", NCCL_INFINIBAND, "mlx5_1", 1, 1, 1, 0 },
	{ "2.28.9", "IB", PREFIX "NCCL version 2.28.9+cuda13.0\n"
	  PREFIX "NET/IB : Using [0]hfi1_0:1/IB [1]hfi1_1:1/IB ; OOB eth0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/1\n", NCCL_OMNI_PATH, "hfi1_1", 1, 0, 0, 0 },
	{ "2.20.5", "IB", "RCCL version : 2.20.5-develop:0cbce2a\nHIP version  : 6.2\n"
	  PREFIX "NET/IB : Using [0]bnxt_re0:1/RoCE [1]bnxt_re1:1/RoCE [RO]; OOB eth0:10.1.2.3<0>\n"
	  PREFIX "Using network IB\n"
	  PREFIX "Channel 00/0 : 9[c1000] -> 0[c000] [receive] via NET/IB/1/GDRDMA comm 0x55d0c8a0 nRanks 16\n"
	  PREFIX "Channel 00/0 : 0[c000] -> 1[22000] via P2P/direct pointer comm 0x55d0c8a0 nRanks 16\n",
	  NCCL_ROCE, "bnxt_re1", 1, 1, 1, 0 },
};

TEST(messages_of_each_generation_are_read)
{
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		const struct generation *wanted = &generations[i];
		const struct nccl_hca *used;

		print_message("# %s %s\n", wanted->version, wanted->network ? wanted->network : "");
		read_text(wanted->text);
		assert_int_equal(text_log.version_count, 1);
		assert_memory_equal(text_log.versions[0].value, wanted->version, strlen(wanted->version));
		assert_int_equal(text_log.network_count, wanted->network != NULL);
		if (wanted->network)
			assert_string_equal(text_log.networks[0].value, wanted->network);
		assert_int_equal(text_log.host_count, 1);
		used = hca("alpha", wanted->hca);
		assert_int_equal(used->fabric, wanted->fabric);
		assert_true(used->sends + used->receives > 0);
		assert_int_equal(text_log.net_connections, wanted->net);
		assert_int_equal(text_log.net_direct, wanted->direct);
		assert_int_equal(text_log.p2p_connections, wanted->p2p);
		assert_int_equal(text_log.shm_connections, wanted->shm);
		assert_int_equal(text_log.torn.lines, 0);
	}
}

TEST(merged_devices_share_their_connections)
{
	read_text(generations[7].text);
	assert_int_equal(hca("alpha", "mlx5_0")->receives, 1);
	assert_int_equal(hca("alpha", "mlx5_1")->receives, 1);
	assert_int_equal(hca("alpha", "mlx5_1")->speed_mbps, 400000);
	check(NULL, 0);
	assert_int_equal(verdict.severity, NCCL_OK);
	read_text(generations[5].text);
	assert_int_equal(hca("alpha", "mlx5_0")->receives, 1);
	assert_int_equal(hca("alpha", "mlx5_2")->receives, 0);
}

/* Labels of mpirun, srun and kubectl, colours, CRLF, glued and torn messages, and binary data. */
TEST(messages_are_found_in_any_surroundings)
{
	static const char text[] =
		"[1,0]<stdout>:beta:7:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\r\n"
		" 3: gamma:7:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>\n"
		"\033[0;32m(worker)\033[0m beta:7:9 [0] NCCL INFO Using network IB\n"
		"loss 0.25beta:7:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
		"gamma:7:9 [0] NCCL INFO Channel 01/0 : 1[1] -> 0[0beta:7:9 [0] NCCL INFO Channel 01/0 : "
		"1[1] -> 0[0] [send] via NET/IB/0/GDRDMA\n"
		"gamma:7:9 [0] NCCL INFO Channel 02/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDloading model\n"
		"\0\377\200 epoch 3\r 50%|##  |\rgamma:7:9 [-1] NCCL INFO Channel 03/0 : 1[1] -> 0[0] [send] via "
		"NET/IB/0\r"
		" 60%|##  |\n"
		"\n"
		"gamma:7:9 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error\n"
		"\033[0;36mbeta:7:9 [0] NC\033[1mCL\033[0m INFO Channel 05/0 : 1[1] -> 0[0] [send]"
		" via NET/IB/0/GDRDMA\n"
		"gamma:7:9 [0] NCCL INFO Channel 04/0 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA";

	read_bytes(text, sizeof(text) - 1);
	assert_int_equal(text_log.host_count, 2);
	assert_int_equal(hca("beta", "mlx5_0")->receives, 1);
	assert_int_equal(hca("beta", "mlx5_0")->sends, 2);
	assert_int_equal(hca("beta", "mlx5_0")->direct, 3);
	assert_int_equal(hca("gamma", "mlx5_0")->sends, 2);
	assert_int_equal(hca("gamma", "mlx5_0")->receives, 0);
	assert_int_equal(text_log.torn.lines, 2);
	assert_int_equal(text_log.torn.first, 5);
	assert_int_equal(text_log.network_count, 1);
	assert_int_equal(text_log.problem_total[NCCL_ASYNC_EVENT], 1);
}

/* Each line is of a host of its own, so that what the others count is known. */
TEST(a_damaged_line_of_a_log_is_named_and_the_rest_is_read)
{
	static const char *const hosts[] = { "alpha", "beta", "gamma" };
	static const char whole[] =
		"alpha:7:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA\n"
		"beta:7:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA\n"
		"gamma:7:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA\n";

	for (size_t number = 1; number <= damage_lines(whole); number++) {
		for (int damage = 0; damage < DAMAGE_COUNT; damage++) {
			size_t most = damage < DAMAGE_CUT ? 0 : damage_bytes(whole, number);

			for (size_t at = 0; at <= most; at++) {
				char *line, *damaged = damage_line(whole, number, (enum damage)damage, at, &line);

				read_text(damaged);
				for (size_t i = 0; i < 3; i++)
					assert_true(i == number - 1 || hca(hosts[i], "IB/0")->sends == 1);
				/* "Channel 00/0 : 1[1]" may be the order of a ring. */
				if (damage == DAMAGE_CUT && strstr(line, "->") && !strstr(line, "NET/IB/0"))
					assert_int_equal(text_log.torn.first, number);
				free(line);
				free(damaged);
			}
		}
	}
}

TEST(a_line_longer_than_the_buffer_keeps_its_messages)
{
	enum { MESSAGES = 5000 };
	char *text = malloc(MESSAGES * 100), *end = text;

	assert_non_null(text);
	end += sprintf(end, PREFIX "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>\n");
	for (unsigned i = 0; i < MESSAGES; i++)
		end += sprintf(end, PREFIX "Channel %02u/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA ", i % 32);
	read_bytes(text, (size_t)(end - text));
	assert_int_equal(hca("alpha", "mlx5_0")->sends, MESSAGES);
	assert_int_equal(text_log.torn.lines, 0);
	free(text);
}

TEST(memory_is_limited_whatever_the_log_contains)
{
	char line[256];

	nccl_done(&text_log);
	for (unsigned i = 0; i < NCCL_HOSTS_MOST + 100; i++) {
		int len = snprintf(line, sizeof(line), "host%u:7:9 [0] NCCL INFO NET/IB : Using [0]mlx5_%u:1/IB ; OOB\n"
				   "host%u:7:9 [0] NCCL INFO NCCL_X%u set by environment to %u\n", i, i, i, i, i);

		assert_int_equal(nccl_feed(&text_log, line, (size_t)len, NULL), 0);
	}
	assert_int_equal(nccl_end(&text_log, NULL), 0);
	assert_int_equal(text_log.host_count, NCCL_HOSTS_MOST);
	assert_int_equal(text_log.hca_count, NCCL_HOSTS_MOST);
	assert_int_equal(text_log.setting_count, NCCL_SETTINGS_MOST);
	/* Two messages of each host beyond the limit, and the settings. */
	assert_true(text_log.dropped >= 200);
	check(NULL, 0);
	assert_non_null(line_with("exceed the limits of the reader"));
}

TEST(problems_are_counted_by_kind)
{
	read_text("\n" WARN "NET/IB : Got completion from peer 10.0.0.2<4711> with error 12, opcode 0, len 0\n"
		  "\n" WARN "NET/IB: Got completion from peer 10.0.0.9<99> with status=12 opcode=0 len=0 hca mlx5_3\n"
		  "\n" WARN "NET/IB: Got completion from peer 10.0.0.8<98> with status=12 opcode=0 len=0 hca mlx5_4\n"
		  "\n" WARN "NET/IB: Got completion from peer 10.0.0.2<9> with status=IBV_WC_WR_FLUSH_ERR(5)"
		  " opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=249 req_type=Send hca mlx5_3\n"
		  "\n" WARN "socketProgress: Connection closed by remote peer beta<41>\n"
		  "\n" WARN "socketPollConnect: exceeded timeouts (20000)\n"
		  "\n" WARN "NET/IB : mlx5_3:1 Got async event : port error\n"
		  "\n" WARN "Cuda failure 'out of memory'\n"
		  "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
		  "WorkNCCL(SeqNum=9, OpType=ALLREDUCE) ran for 600010 milliseconds before timing out.\n");
	assert_int_equal(text_log.problem_total[NCCL_COMPLETION], 4);
	assert_int_equal(text_log.problem_total[NCCL_CLOSED], 1);
	assert_int_equal(text_log.problem_total[NCCL_TIMEOUT], 2);
	assert_int_equal(text_log.problem_total[NCCL_ASYNC_EVENT], 1);
	assert_int_equal(text_log.problem_total[NCCL_WARNING], 1);
	assert_int_equal(text_log.problems[0].status, 12);
	assert_int_equal(text_log.problems[0].count, 3);
	assert_int_equal(text_log.problems[1].status, 5);
	check(NULL, 0);
	assert_line(NCCL_FAIL, "3 failed work requests, status 12 (transport retries exceeded");
}

TEST(a_table_gives_the_least_bytes_on_the_wire)
{
	const struct nccl_test *test;

	read_text(tests_table);
	assert_int_equal(text_log.test_count, 1);
	test = &text_log.tests[0];
	assert_int_equal(test->operation, NCCL_ALL_REDUCE);
	assert_false(test->inferred);
	assert_true(test->concluded);
	assert_int_equal(test->all.ranks, 6);
	assert_int_equal(test->all.hosts, 3);
	assert_int_equal(test->row_count, 2);
	assert_int_equal(test->iterations, 20);
	assert_int_equal(test->warmups, 5);
	assert_true(test->best.busbw_gb_per_s > 0.089 && test->best.size_bytes == 1024);
	/* (512 + 1,024) x 2 column groups x 20 iterations x 2 (3 - 1) transfers */
	assert_int_equal(nccl_test_least_bytes(&text_log, test, false), 1536 * 2 * 20 * 4);
	assert_int_equal(nccl_test_least_bytes(&text_log, test, true), 1536 * 2 * 20 * 3);
}

TEST(bounds_of_all_operations)
{
	static const struct { enum nccl_operation op; uint64_t bytes, sharp_bytes; } wanted[] = {
		{ NCCL_ALL_REDUCE, 4 * 4800, 3 * 4800 }, { NCCL_ALL_GATHER, 2 * 4800, 2 * 4800 },
		{ NCCL_REDUCE_SCATTER, 2 * 4800, 4800 }, { NCCL_BROADCAST, 2 * 4800, 2 * 4800 },
		{ NCCL_REDUCE, 2 * 4800, 4800 }, { NCCL_SEND_RECV, 3 * 4800, 3 * 4800 },
		/* 6 ranks send 5/6 of 800 bytes each to others, 4 of these 5 on other hosts */
		{ NCCL_ALL_TO_ALL, 800 * 24, 800 * 24 }, { NCCL_GATHER, 800 * 4, 800 * 4 },
		{ NCCL_SCATTER, 800 * 4, 800 * 4 }, { NCCL_OP_UNKNOWN, 0, 0 },
	};
	struct nccl_test test = { .all = { .ranks = 6, .hosts = 3, .ranks_most = 2, .pairs_inside = 12 },
		.iterations = 1,
				  .aggregated = 1, .launches = 1, .size_sum_bytes = 4800 };
	struct nccl_log log = { .ranks = 6, .nodes = 3 };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		test.operation = wanted[i].op;
		assert_int_equal(nccl_test_least_bytes(&log, &test, false), wanted[i].bytes);
		assert_int_equal(nccl_test_least_bytes(&log, &test, true), wanted[i].sharp_bytes);
	}
	/* Without a list of devices 4 ranks may be on one host. */
	test.operation = NCCL_GATHER;
	test.all.ranks = 0;
	assert_int_equal(nccl_test_least_bytes(&log, &test, false), 800 * 2);
	test.operation = NCCL_ALL_TO_ALL;
	assert_int_equal(nccl_test_least_bytes(&log, &test, false), 800 * (36 - 18));
	log.nodes = 1;
	assert_int_equal(nccl_test_least_bytes(&log, &test, false), 0);
	log.nodes = 3;
	log.mnnvl = true;
	assert_int_equal(nccl_test_least_bytes(&log, &test, false), 0);
	log.mnnvl = false;
	test.size_sum_bytes = UINT64_MAX;
	test.operation = NCCL_ALL_REDUCE;
	assert_true(nccl_test_least_bytes(&log, &test, false) == UINT64_MAX);
}

/* Older versions print neither the program nor all columns. */
TEST(operations_are_inferred_from_the_columns)
{
	static const struct { enum nccl_operation op; const char *columns, *row; } tables[] = {
		{ NCCL_ALL_REDUCE, "size count type redop time algbw busbw error time algbw busbw error",
		  "4096 1024 float sum 50 10.0 15.0 1e-7 50 10.0 15.0 1e-7" },
		{ NCCL_SEND_RECV, "size count type redop root time algbw busbw #wrong",
		  "4096 1024 float sum -1 50 10.0 10.0 0" },
		{ NCCL_REDUCE_SCATTER, "size count type redop root time algbw busbw #wrong",
		  "4096 256 float sum -1 50 10.0 7.5 0" },
		{ NCCL_ALL_GATHER, "size count type redop root time algbw busbw #wrong",
		  "4096 256 float none -1 50 10.0 7.5 0" },
		{ NCCL_SCATTER, "size count type redop root time algbw busbw #wrong",
		  "4096 256 float none 0 50 10.0 7.5 0" },
		{ NCCL_BROADCAST, "size count type redop root time algbw busbw #wrong",
		  "4096 2048 half none 0 50 10.0 10.0 0" },
		{ NCCL_REDUCE, "size count type redop root time algbw busbw #wrong",
		  "4096 4096 int8 sum 0 50 10.0 10.0 0" },
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "3: # nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup "
			"iters: 5 iters: 20\n"
			 "3: #   Rank  0 Pid  70 on alpha device  0 [0x1b] Tesla V100\n3: # %s\n3: %s\n",
			 tables[i].columns, tables[i].row);
		read_text(text);
		assert_int_equal(text_log.test_count, 1);
		assert_int_equal(text_log.tests[0].row_count, 1);
		assert_int_equal(text_log.tests[0].operation, tables[i].op);
		assert_true(text_log.tests[0].inferred);
		assert_false(text_log.tests[0].concluded);
		assert_int_equal(text_log.tests[0].aggregated, 1);
	}
}
