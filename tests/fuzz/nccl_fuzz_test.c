/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader of NCCL's logs on arbitrary bytes: the results do not depend on the pieces in which a
 * log arrives, and the verdict can be written. Built with NCCL_LIBFUZZER it is a libFuzzer target (make fuzz), else
 * a unit test on logs that were changed at random.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl.h"

static void read_pieces(struct nccl_log *log, const char *bytes, size_t len, size_t piece)
{
	nccl_init(log);
	for (size_t at = 0; at < len; at += piece)
		if (nccl_feed(log, bytes + at, len - at < piece ? len - at : piece, NULL))
			abort();
	if (nccl_end(log, NULL))
		abort();
}

/* Tables, whose groups are elsewhere in memory. */
static bool are_same_tests(const struct nccl_log *a, const struct nccl_log *b)
{
	bool same = a->test_count == b->test_count;

	for (size_t i = 0; same && i < a->test_count; i++) {
		struct nccl_test x = a->tests[i], y = b->tests[i];

		same = x.group_count == y.group_count &&
		       (!x.group_count || !memcmp(x.groups, y.groups, x.group_count * sizeof(*x.groups)));
		x.groups = y.groups = NULL;
		same = same && !memcmp(&x, &y, sizeof(x));
	}
	return same;
}

/* The results that can be compared as bytes: numbers, settings, problems. */
static bool is_same(const struct nccl_log *a, const struct nccl_log *b)
{
	return a->lines == b->lines && a->messages == b->messages &&
	       a->torn.lines == b->torn.lines && a->torn.first == b->torn.first &&
	       a->dropped == b->dropped &&
	       a->host_count == b->host_count && a->process_count == b->process_count && a->hca_count == b->hca_count &&
	       a->slot_count == b->slot_count && a->test_count == b->test_count && a->ranks == b->ranks &&
	       a->net_connections == b->net_connections && a->net_direct == b->net_direct &&
	       !memcmp(a->versions, b->versions, sizeof(a->versions)) &&
	       !memcmp(a->networks, b->networks, sizeof(a->networks)) &&
	       !memcmp(a->settings, b->settings, sizeof(a->settings)) &&
	       !memcmp(a->problems, b->problems, sizeof(a->problems)) &&
	       (!a->hca_count || !memcmp(a->hcas, b->hcas, a->hca_count * sizeof(*a->hcas))) &&
	       are_same_tests(a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct nccl_log whole, pieces;
	static struct nccl_verdict verdict;
	struct nccl_port port = { .host = "alpha", .hca = "mlx5_0", .port = 1, .known = true, .rx_bytes = len };

	/* In a copy of exact size the sanitizer detects reads beyond the end. */
	char *copy = malloc(len + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, len);
	read_pieces(&whole, copy, len, len ? len : 1);
	read_pieces(&pieces, copy, len, len % 61 + 1);
	if (!is_same(&whole, &pieces))
		abort();
	if (nccl_check(&whole, &port, 1, &verdict, NULL) < 0)
		abort();
	for (size_t i = 0; i < verdict.count; i++)
		if (!memchr(verdict.lines[i].text, 0, sizeof(verdict.lines[i].text)) || !verdict.lines[i].text[0])
			abort();
	nccl_done(&whole);
	nccl_done(&pieces);
	free(copy);
	return 0;
}

#ifndef NCCL_LIBFUZZER
#include "base/test_cases.h"
#include "base/unit_test.h"

#define PREFIX "alpha:70:81 [0] NCCL INFO "

static const char *const seeds[] = {
	"NCCL version 2.19.3+cuda12.3\n",
	PREFIX "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]={[1] mlx5_1:1/RoCE, [2] mlx5_2:1/IB} [RO]; OOB "
	"eth0:10.0.0.1<0>\n",
	PREFIX "NET/IB : Made virtual device [3] name=mlx5_0+mlx5_1 speed=800000 ndevs=2\n",
	PREFIX "Using network IB\n", PREFIX "NET/IB : No device found.\n",
	PREFIX "NET/OFI Selected Provider is efa (found 4 nics)\n",
	PREFIX "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared\n",
	PREFIX "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\r\n",
	PREFIX "CollNet 00/0 : 8 [receive] via COLLNET/SHARP/0/GDRDMA\n",
	PREFIX "NCCL_IB_HCA set to mlx5_0,mlx5_1\n",
	"\nalpha:70:81 [0] net_ib.cc:9 NCCL WARN NET/IB: Got completion from peer 10.0.0.9<99> with status=IBV_WC(12) "
	"hca mlx5_3\n",
	PREFIX "comm 0x7f00 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 1\n",
	PREFIX "8 coll channels, 0 collnet channels, 8 nvls channels, 16 p2p channels, 2 p2p channels per peer\n",
	"# Collective test starting: ./build/alltoall_perf\n",
	"# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
	"validation: 1 graph: 0\n",
	"#  Rank  0 Group  0 Pid     70 on      alpha device  0 [0000:1b:00] NVIDIA H100\n",
	"#  Rank  1 Group  0 Pid     70 on       beta device  0 [0000:1b:00] NVIDIA H100\n",
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
	"busbw #wrong\n",
	"        1024           256     float     sum      -1    22.10    0.05    0.08      0    20.90    0.05    "
	"0.09    N/A\n",
	"# Avg bus bandwidth    : 0.06\n", "\033[0;32m(worker)\033[0m ", "NC\033[1mCL\033[0m WARN ",
	"epoch 3 50%|##  |\r",
	"[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9) ran for 600010 milliseconds\n",
};

static uint64_t state = 1;

static uint32_t random_below(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

TEST(damaged_logs_in_pieces_have_the_same_results)
{
	enum { SEEDS = sizeof(seeds) / sizeof(seeds[0]), SIZE = 1 << 18 };
	char *bytes = malloc(SIZE);

	assert_non_null(bytes);
	for (unsigned i = test_cases(10000); i; i--) {
		uint32_t lines = random_below(60), changes = random_below(20);
		size_t len = 0;

		/* Some lines are longer than the reader's buffer. */
		if (!random_below(50))
			for (lines += 1500; len < SIZE / 2 && random_below(2000); len++)
				bytes[len] = (char)random_below(256);
		while (lines-- && len < SIZE - 4096) {
			const char *seed = seeds[random_below(SEEDS)];
			size_t size = strlen(seed), cut = random_below(8) ? size : random_below((uint32_t)size + 1);

			memcpy(bytes + len, seed, cut);
			len += cut;
			if (len && !random_below(10))
				len--; /* two lines become one */
		}
		while (len && changes--)
			bytes[random_below((uint32_t)len)] = random_below(2) ? (char)random_below(256) :
				"\n:[]/#0 "[random_below(8)];
		LLVMFuzzerTestOneInput((const uint8_t *)bytes, len);
	}
	free(bytes);
}
#endif
