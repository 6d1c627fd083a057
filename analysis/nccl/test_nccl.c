/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/nccl/test_nccl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

struct nccl_log text_log;
struct nccl_verdict verdict;

const char tests_table[] =
	"# Collective test starting: all_reduce_perf\n"
	"# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
	"validation: 1 graph: 0\n"
	"# Using devices\n"
	"#  Rank  0 Group  0 Pid     70 on      alpha device  0 [0000:1b:00] NVIDIA H100\n"
	"#  Rank  1 Group  0 Pid     71 on      alpha device  1 [0000:1c:00] NVIDIA H100\n"
	"#  Rank  2 Group  0 Pid     70 on       beta device  0 [0000:1b:00] NVIDIA H100\n"
	"#  Rank  3 Group  0 Pid     71 on       beta device  1 [0000:1c:00] NVIDIA H100\n"
	"#  Rank  4 Group  0 Pid     70 on      gamma device  0 [0000:1b:00] NVIDIA H100\n"
	"#  Rank  5 Group  0 Pid     71 on      gamma device  1 [0000:1c:00] NVIDIA H100\n"
	"#\n"
	"#                                                              out-of-place                       in-place   "
	"       \n"
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
	"busbw #wrong\n"
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
	"(GB/s)       \n"
	"         512           128     float     sum      -1    21.10    0.02    0.04      0    20.90    0.02    "
	"0.04      0\n"
	"        1024           256     float     sum      -1    22.10    0.05    0.08      0    20.90    0.05    "
	"0.09    N/A\n"
	"# Out of bounds values : 0 OK\n"
	"# Avg bus bandwidth    : 0.06\n";

void read_bytes(const char *bytes, size_t len)
{
	struct error err;

	nccl_done(&text_log);
	assert_int_equal(nccl_feed(&text_log, bytes, len, &err), 0);
	assert_int_equal(nccl_end(&text_log, &err), 0);
}

void read_text(const char *text)
{
	read_bytes(text, strlen(text));
}

void check(const struct nccl_port *ports, size_t count)
{
	assert_int_equal(nccl_check(&text_log, ports, count, &verdict, NULL), 0);
	for (size_t i = 0; i < verdict.count; i++)
		if (verdict.lines[i].severity >= NCCL_WARN && !verdict.lines[i].fix)
			fail_msg("no action: %s", verdict.lines[i].text);
}

const struct nccl_line *line_with(const char *words)
{
	for (size_t i = 0; i < verdict.count; i++)
		if (strstr(verdict.lines[i].text, words))
			return &verdict.lines[i];
	return NULL;
}

void assert_line(enum nccl_severity severity, const char *words)
{
	const struct nccl_line *line = line_with(words);

	if (!line) {
		for (size_t i = 0; i < verdict.count; i++)
			print_message("# %s\n", verdict.lines[i].text);
		fail_msg("no line has: %s", words);
		return;
	}
	assert_int_equal(line->severity, severity);
}
