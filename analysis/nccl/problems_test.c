/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures that the reader finds in a log, also in a damaged one: a line that is deleted, doubled, cut or prefixed
 * by a launcher makes no bad verdict good, and no host is named that the log does not have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "analysis/nccl.h"
#include "analysis/nccl/test_nccl.h"
#include "base/err.h"
#include "base/test_cases.h"
#include "base/test_damage.h"
#include "base/unit_test.h"

#define A "alpha:70:81 [0] "
#define B "beta:72:83 [0] "
#define WARN(text) "misc/some.cc:12 NCCL WARN " text "\n"

static const struct nccl_line *judge(const char *text)
{
	read_text(text);
	check(NULL, 0);
	return &verdict.lines[0];
}

static void assert_first(enum nccl_severity severity, const char *text, const char *words, const char *fix)
{
	const struct nccl_line *line = judge(text);

	if (line->severity != severity || !strstr(line->text, words) || (fix && (!line->fix || !strstr(line->fix,
												       fix))))
		fail_msg("%s: %s (%s)", nccl_severity_name(line->severity), line->text, line->fix ? line->fix : "");
}

/* Texts as NCCL prints them, and a word of what to do. */
/* Texts of RCCL and of plugins: none is ok, a known one has a remedy, and none names a host or peer without need. */
TEST(warnings_of_plugins)
{
	static const struct { enum nccl_severity severity; const char *text, *fix; } wanted[] = {
		{ NCCL_FAIL, "NET/OFI EFA provider requires at least libfabric version 1.22.0.", "newer" },
		{ NCCL_WARN, "NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge", "efa_nv_peermem" },
		{ NCCL_FAIL, "NET/OFI Unable to register memory (type = 2) for device 3. RC: -12", "memlock" },
		{ NCCL_WARN, "NET/OFI Error accessing device 3.", "first failure" },
		{ NCCL_WARN, "NET/IB : SHARP coll init error: Cannot create SHARP job(-11)", "aggregation manager" },
		{ NCCL_FAIL, "NET/IB : Local mergedDev=mlx5_0+mlx5_1 has a different number of devices=2 as "
		  "remoteDev=mlx5_0 nRemDevs=1", "HCAs of one kind" },
		{ NCCL_FAIL, "Call to recv from 10.0.0.2<41> failed : Success", "in the log of the peer" },
		{ NCCL_FAIL, "Maximum retry reached for connect 3.", "firewall" },
		{ NCCL_FAIL, "socketPollConnect: exceeded retries (20000)", "firewall" },
		{ NCCL_FAIL, "socketPollConnect: Connect to 10.0.0.2<41> returned 113(x) errno 115", "firewall" },
		{ NCCL_FAIL, "Error: network Foo not found.", "NCCL_NET" },
		{ NCCL_FAIL, "Rank 3 has no transport for send peer 4 on channel 0/1", "forbid transports" },
		{ NCCL_WARN, "Could not open XML topology file /etc/topo.xml : x", "NCCL_TOPO_FILE" },
		{ NCCL_WARN, "Failed to load ROCr missing symbol hsa_init", "ROCr" },
		{ NCCL_WARN, "MSCCL: bid must be not negative. bid: -1", "first failure" },
		{ NCCL_NOTE, "minCTAs 64 is larger than #channels upper limit 32, cap it to 32", NULL },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct nccl_line *line;

		snprintf(text, sizeof(text), A "misc/some.cc:12 NCCL WARN %s\n", wanted[i].text);
		read_text(text);
		check(NULL, 0);
		line = line_with(wanted[i].text);
		assert_non_null(line);
		assert_int_equal(line->severity, wanted[i].severity);
		if (wanted[i].fix && !strstr(line->fix, wanted[i].fix))
			fail_msg("%s: %s", wanted[i].text, line->fix);
	}
}

TEST(fatal_warnings_fail_and_have_a_remedy)
{
	static const struct { const char *text, *fix; } fatal[] = {
		{ "Call to ibv_create_qp failed with error Cannot allocate memory errno 12", "memlock" },
		{ "Call to ibv_create_qp failed", "memlock" },
		{ "Call to ibv_reg_mr failed with error Cannot allocate memory", "memlock" },
		{ "Call to ibv_create_cq failed", "memlock" },
		{ "Call to ibv_alloc_pd failed", "ibwire doctor" },
		{ "Call to ibv_modify_qp failed with error Invalid argument errno 22", "NCCL_IB_GID_INDEX" },
		{ "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1", "GID" },
		{ "NET/IB : Unable to open GID index 3", "NCCL_IB_GID_INDEX" },
		{ "ibv_post_send() failed with error Cannot allocate memory, Bad WR 0x7f00, First WR 0x7f00",
		  "ibwire doctor" },
		{ "No transport found for rank 3[1b000] -> rank 11[1b000]", "NCCL_NET" },
		{ "no device found matching ens9, verify NCCL_OOB_NET_IFNAME", "NCCL_OOB_NET_IFNAME" },
		{ "Error: failed to create shared memory file /tmp/nccl-a, error Permission denied (13)",
		  "--shm-size" },
		{ "[Service thread] Error encountered progressing operation=Connect, res=3, closing connection",
		  "first failure" },
		{ "[Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 3", "first failure" },
		{ "Net : Connect to 10.0.0.2<41000> failed : Operation not permitted", "firewall" },
		{ "UDS: Sending data over socket /tmp/nccl-socket-3-a failed : Connection refused (111)", "namespace" },
		{ "Bootstrap Root : rank 3 of 16 ranks has already checked in", "launcher" },
		{ "Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port>", "NCCL_COMM_ID" },
		{ "Error: failed to extend /dev/shm/nccl-Xy12ab to 33030528 bytes, error: No space left on device (28)",
		  "--shm-size" },
		{ "Error while creating shared memory segment /dev/shm/nccl-a (size 9637888)", "--shm-size" },
		{ "ncclOsSocketPollConnect to 10.0.0.2<41000> failed with error Connection refused", "firewall" },
		{ "socketStartConnect: Connect to 10.0.0.2<41000> failed : No route to host", "firewall" },
		{ "socketProgress: Connection closed by remote peer beta<41>", "first failure" },
		{ "Bootstrap : no socket interface found", "NCCL_SOCKET_IFNAME" },
		{ "NET/IB : No IP interface found.", "NCCL_SOCKET_IFNAME" },
		{ "NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE. Try "
		 "selecting "
		  "NICs of", "NCCL_IB_HCA" },
		{ "NET/IB : mlx5_3:1 async fatal event: device fatal error", "ibwire health" },
		{ "Message truncated : received 1024 bytes instead of 256", "same operation" },
		{ "NCCL version mismatch with remote peer 10.0.0.2 (local: 22703, remote 22800)", "one version" },
		{ "Cuda failure 'out of memory'", "Xid" },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		snprintf(text, sizeof(text), A WARN("%s"), fatal[i].text);
		assert_first(NCCL_FAIL, text, fatal[i].text, fatal[i].fix);
	}
}

TEST(a_warning_is_one_unless_it_is_known_to_be_harmless)
{
	assert_first(NCCL_WARN, A WARN("Something that no version prints today"), "no version prints", NULL);
	judge(A WARN("NET/Socket : NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to 16"));
	assert_int_equal(verdict.severity, NCCL_NOTE);
	assert_line(NCCL_NOTE, "harmless warnings: 1; reported by alpha");
	judge(A WARN("NET/IB : mlx5_0:1 Got async event : GID table change"));
	assert_int_equal(verdict.severity, NCCL_NOTE);
	/* It is a failure if the call that printed it failed, or the job. */
	judge(A WARN("Something that no version prints today") A "NCCL INFO transport/net_ib.cc:820 -> 2\n");
	assert_int_equal(verdict.severity, NCCL_FAIL);
	read_text(A WARN("Something that no version prints today"));
	text_log.ended_badly = true;
	check(NULL, 0);
	assert_int_equal(verdict.severity, NCCL_FAIL);
	/* NCCL recovers from failures of inner calls. */
	judge(A "NCCL INFO misc/cudawrap.cc:36 -> 3\n");
	assert_int_equal(verdict.severity, NCCL_NOTE);
	assert_first(NCCL_FAIL, A "NCCL INFO group.cc:73 -> 2 [Async thread]\n", "failed calls of NCCL: 1", NULL);
	assert_first(NCCL_FAIL, "RuntimeError: NCCL error in: a.cpp:1, unhandled system error\n", "failed calls", NULL);
}

TEST(the_most_frequent_name_is_reported)
{
	char text[8192], *end = text;

	for (int i = 0; i < 22; i++)
		end += sprintf(end, "%s:%d:81 [0] transport/net_ib/p2p.cc:688 (ncclIbTest) NCCL WARN NET/IB: Got "
			       "completion "
			       "from peer 10.0.0.%d<4%d> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) "
			       "vendor_err=129 localGid fe80::%d remoteGids fe80::1 hca mlx5_%d\n", i % 2 ? "alpha" :
			       "beta",
			       70 + i, i ? 19 : 7, 1000 + i, i, i ? 6 : 2);
	assert_first(NCCL_FAIL, text, "22 failed work requests, status 12", "NCCL_IB_TIMEOUT");
	assert_non_null(line_with("peer 10.0.0.19 (21 of 22), HCA mlx5_6 (21 of 22), reported by"));
	/* What stands at the end of a long line is kept. */
	assert_non_null(line_with("hca mlx5_2"));
}

#define RANK(rank) "NCCL INFO ncclCommInitRank comm 0x55d0 rank " rank " nranks 16 cudaDev 0 - Init COMPLETE\n"

TEST(failures_are_counted_by_rank)
{
	const char *const closed = "socketProgress: Connection closed by remote peer gamma<41>";
	char text[2048];

	/* The rank in the largest communicator, also if others were made before and after it. */
	sprintf(text, A "NCCL INFO comm 0x1 rank 1 nRanks 2 nNodes 1 localRanks 2\n" A RANK("9") A
		"NCCL INFO comm 0x2 rank 0 nRanks 4 nNodes 1 localRanks 4\n" B RANK("3")
		A WARN("%s") A WARN("%s") B WARN("%s") A WARN("%s"), closed, closed, closed, closed);
	assert_first(NCCL_FAIL, text, "rank 9 (3 of 4), reported by alpha (3 of 4)", "first failure");
	/* One process has two ranks: which of them it is, is not known. */
	sprintf(text, A RANK("9") A RANK("8") A WARN("%s"), closed);
	judge(text);
	assert_null(line_with("rank "));
	assert_first(NCCL_FAIL, "[rank5]: RuntimeError: NCCL error in: a.cpp:1, unhandled system error\n", "rank 5",
		     NULL);
}

/* Many names: the frequent one is found though it comes last, and the number is not too high. */
TEST(the_most_frequent_of_many_names_is_found)
{
	char line[256];
	unsigned least = 0;
	const struct nccl_line *found;

	nccl_done(&text_log);
	for (int i = 0; i < 2000; i++) {
		int peer = i % 2 ? 9999 : i;
		int len = snprintf(line, sizeof(line), A "net.cc:1 NCCL WARN NET/IB: Got completion from peer "
				   "host%d<4000> with "
				   "status=12 opcode=0 len=0 vendor err 129 hca mlx5_0\n", peer);

		assert_int_equal(nccl_feed(&text_log, line, (size_t)len, NULL), 0);
	}
	assert_int_equal(nccl_end(&text_log, NULL), 0);
	check(NULL, 0);
	found = line_with("peer host9999 (");
	assert_non_null(found);
	assert_int_equal(sscanf(strstr(found->text, "host9999 ("), "host9999 (at least %u", &least) == 1 ||
			 sscanf(strstr(found->text, "host9999 ("), "host9999 (%u", &least) == 1, 1);
	assert_true(least > 800 && least <= 1000);
}

#define WATCH(rank, seq, op) WATCH_IN("0", rank, seq, op)
#define WATCH_IN(group, rank, seq, op) "[rank" rank "]:[E1119 ProcessGroupNCCL.cpp:616] [PG " group " Rank " \
	rank "] Watchdog caught collective " \
	"operation timeout: WorkNCCL(SeqNum=" seq ", OpType=" op ", NumelIn=1) ran for 1800000 milliseconds\n"

TEST(the_rank_that_is_behind_is_named)
{
	assert_first(NCCL_FAIL, WATCH("0", "1559", "ALLREDUCE") WATCH("1", "1559", "ALLREDUCE") WATCH("7", "1557",
												      "_ALLGATHER_BASE")
		     WATCH("2", "1559", "ALLREDUCE"), "rank 7 is behind: _ALLGATHER_BASE (SeqNum 1557); 3 ranks "
			     "wait in ALLREDUCE "
		     "(SeqNum 1559)", "this rank");
	/* All wait in one operation: the rank that is behind is not known. */
	/* Each rank prints it again when it ends; process groups have numbers of their own. */
	assert_first(NCCL_FAIL, WATCH("0", "1559", "ALLREDUCE") WATCH("7", "1557", "BROADCAST") WATCH("0", "1559",
		"ALLREDUCE")
		     WATCH("1", "1559", "ALLREDUCE") WATCH("1", "1559", "ALLREDUCE") WATCH("7", "1557", "BROADCAST"),
		     "rank 7 is behind: BROADCAST (SeqNum 1557); 2 ranks wait in ALLREDUCE (SeqNum 1559)", "this rank");
	judge(WATCH_IN("default", "0", "1559", "ALLREDUCE") WATCH_IN("default", "1", "1559", "ALLREDUCE")
	      WATCH_IN("tp", "3", "12", "ALLREDUCE"));
	assert_null(line_with("is behind"));
	judge(WATCH("0", "1559", "ALLREDUCE") WATCH("1", "1559", "ALLREDUCE"));
	assert_null(line_with("is behind"));
}

#define INIT(rank, ranks, nodes) "NCCL INFO comm 0x55aa rank " rank " nRanks " ranks " nNodes " nodes " localRanks 1\n"
#define TCP(host) host "NCCL INFO NET/IB : No device found.\n" host "NCCL INFO NET/Socket : Using " \
	"[0]eth0:10.0.0.1<0>\n" \
	host "NCCL INFO Using network Socket\n"

TEST(a_log_without_connections_says_which_network_was_chosen)
{
	assert_first(NCCL_FAIL, TCP(A) A INIT("0", "16", "2") TCP(B) B INIT("8", "16", "2"),
		     "chose NET/Socket on eth0: TCP, not RDMA; it found no HCA", NULL);
	/* One of 16 ranks. */
	assert_first(NCCL_FAIL, TCP(A) A "NCCL INFO ncclCommInitRank comm 0x55d0 rank 0 nranks 16 cudaDev 0 - Init "
		     "START\n",
		     "TCP, not RDMA", NULL);
	/* All ranks are on this host: no network is needed. */
	assert_first(NCCL_OK, TCP(A) A INIT("0", "1", "1"), "ranks on one host only and uses no network", NULL);
	assert_first(NCCL_FAIL, "NCCL INFO Channel 00 : 0[0] -> 1[1] via NET/Socket/0\n", "TCP, not RDMA", NULL);
	assert_first(NCCL_FAIL, A "NCCL INFO Using network FastSocket\n"
		     A "NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/FastSocket/0\n",
			     "NET/FastSocket: TCP", NULL);
}

#define LIST(host) host "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_bond_0:1/RoCE [RO]; OOB " \
	"eth0:10.0.0.1<0>\n" \
	host "NCCL INFO Using network IB\n"
#define OVER(host, number) host "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/" number "/GDRDMA\n"

TEST(what_a_partial_log_does_not_have_is_not_judged)
{
	judge(LIST(A) A INIT("0", "16", "2") OVER(A, "0") LIST(B) B INIT("8", "16", "2") OVER(B, "0"));
	assert_true(verdict.severity <= NCCL_NOTE);
	assert_line(NCCL_NOTE, "the log has messages of 2 of 16 ranks");
	/* With all of its ranks. A bond of Ethernet is no rail. */
	judge(LIST(A) A INIT("0", "2", "2") OVER(A, "0") LIST(B) B INIT("1", "2", "2") OVER(B, "0"));
	assert_line(NCCL_WARN, "NCCL lists 1 HCA without any connection: mlx5_1");
	judge(LIST(A) A INIT("0", "2", "2") OVER(A, "0") OVER(A, "1") OVER(A, "2"));
	assert_line(NCCL_WARN, "1 connections use RoCE, the others InfiniBand");
	judge(A "NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB\n" B "NCCL INFO Channel 00/0 : 0[0] -> "
	      "8[0] [se\n");
	assert_line(NCCL_WARN, "no message about a connection is whole, 2 are torn");
}

TEST(wrapped_logs_are_read)
{
	static const char json[] =
		"{\"log\":\"" A "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB "
		"eth0:10.0.0.1\\u003c0\\u003e\\n\",\"stream\":"
		"\"stdout\"}\n"
		"{\"log\":\"" A "NCCL INFO Channel 00/0 : 0[0] -\\u003e 8[0] [send] via "
		"NET/IB/0/GDRDMA\\n\",\"stream\":\"stdout\"}\n"
		"{\"message\": \"" A "misc/ibvwrap.cc:9 NCCL WARN Call to ibv_create_qp failed\", \"level\": \"x\"}\n";
	char wide[4096] = "\xff\xfe";
	const char *text = LIST(A) OVER(A, "0");
	size_t len = 2;

	read_text(json);
	assert_int_equal(text_log.net_direct, 1);
	assert_string_equal(text_log.hcas[0].name, "mlx5_0");
	assert_int_equal(text_log.problem_total[NCCL_WARNING], 1);
	for (; *text; text++, len += 2)
		wide[len] = *text;
	read_bytes(wide, len);
	assert_int_equal(text_log.net_direct, 1);
	/* Without the mark; without the first byte, in the other byte order. */
	for (size_t first = 2; first < 4; first++) {
		read_bytes(wide + first, len - first);
		assert_int_equal(text_log.net_direct, 1);
	}
	read_bytes("\x28\xb5\x2f\xfd\0\0\0\0NCCL INFO Using network IB\n", 34);
	check(NULL, 0);
	assert_line(NCCL_WARN, "compressed (zstd)");
	assert_int_equal(text_log.messages, 0);
	judge(LIST(A) OVER(A, "0") OVER(A, "0[repeated 7x across cluster]"));
	assert_int_equal(text_log.repeated, 7);
}

static void read_compressed(const void *bytes, size_t len, uint64_t most)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	rewind(file);
	nccl_done(&text_log);
	nccl_init(&text_log);
	text_log.inflate_most = most ? most : text_log.inflate_most;
	assert_int_equal(nccl_read(&text_log, fileno(file), "run.log.gz", NULL), 0);
	fclose(file);
	check(NULL, 0);
}

/* A log that cannot be read is named, with the program that decompresses it. */
TEST(a_log_of_another_compression)
{
	static const struct { const char *magic, *words, *fix; } wanted[] = {
		{ "\x28\xb5\x2f\xfd", "run.log.gz is compressed (zstd)", "decompress it: zstdcat FILE" },
		{ "\xfd" "7zXZ", "run.log.gz is compressed (xz)", "decompress it: xzcat FILE" },
		{ "BZh9", "run.log.gz is compressed (bzip2)", "decompress it: bzcat FILE" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		read_compressed(wanted[i].magic, strlen(wanted[i].magic), 0);
		assert_line(NCCL_WARN, wanted[i].words);
		assert_non_null(strstr(line_with(wanted[i].words)->fix, wanted[i].fix));
	}
}

/* Failures of all are no evidence against the one with two more. */
TEST(names_in_few_of_many_failures_are_not_blamed)
{
	char text[32768], *end = text;

	for (int i = 0; i < 200; i++)
		end += sprintf(end, "alpha:70:81 [0] misc/socket.cc:1 NCCL WARN Connection closed by remote peer "
			       "host%d<4%d>\n", i % 20 ? i % 40 : 7, i);
	judge(text);
	assert_line(NCCL_FAIL, "closed by the peer: 200");
	assert_null(strstr(line_with("closed by the peer: 200")->text, "; peer"));
	assert_null(strstr(line_with("closed by the peer: 200")->text, ", peer"));
}

TEST(a_log_compressed_with_gzip_is_read_as_far_as_it_goes)
{
	static const char text[] = LIST(A) OVER(A, "0") A WARN("Call to ibv_create_qp failed");
	char packed[8192];
	z_stream stream = { .next_out = (Bytef *)packed, .avail_out = sizeof(packed) };
	size_t len, half;

	/* Two members, as of logs that were appended: the second one is not compressed within it. */
	for (int level = 9; level >= 0; level -= 9) {
		assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
		stream.next_in = (Bytef *)text;
		stream.avail_in = sizeof(text) - 1;
		assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
		assert_int_equal(deflateEnd(&stream), Z_OK);
	}
	len = sizeof(packed) - stream.avail_out;
	half = len / 2;
	read_compressed(packed, len, 0);
	assert_int_equal(text_log.problem_total[NCCL_WARNING], 2);
	assert_int_equal(text_log.bytes, 2 * (sizeof(text) - 1));
	assert_null(text_log.cut);
	read_compressed(packed, len, 8);
	assert_line(NCCL_WARN, "it is too large");
	read_compressed(packed, len - 20, 0);
	assert_true(text_log.problem_total[NCCL_WARNING] >= 1);
	assert_line(NCCL_WARN, "the file ends within it");
	packed[len - 6] ^= 1;
	read_compressed(packed, len, 0);
	assert_line(NCCL_WARN, "the file is damaged");
	packed[half] ^= 0x55;
	read_compressed(packed, len, 0);
	assert_non_null(line_with("the rest of run.log.gz, which is compressed"));
	read_compressed(text, sizeof(text) - 1, 8);
	assert_null(text_log.cut);
	assert_int_equal(text_log.problem_total[NCCL_WARNING], 1);
}

/* The text is split after 16 kB wherever that is, and messages are found before, at and after the split. */
TEST(lines_that_a_logger_split_are_joined)
{
	static const char text[] = A "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0> "
		A "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA";
	static const char *const around[][3] = {
		{ "{\"log\":\"", "\",\"stream\":\"stdout\"}\n", "\\n\",\"stream\":\"stdout\"}\n" },
		{ "{\"log\":\"", "\",\"logtag\":\"P\"}\n", "\",\"logtag\":\"F\"}\n" },
		{ "2026-01-02T03:04:05.123456789Z stdout P ", "\n", "\n" },
	};
	enum { PART = 16384, PARTS = 9 };
	char *line = malloc(PART * PARTS + sizeof(text) + 1), *log = malloc(2 * PART * PARTS);

	assert_true(line && log);
	for (size_t kind = 0; kind < sizeof(around) / sizeof(around[0]); kind++)
		for (size_t parts = 1; parts < PARTS; parts += 3)
			for (size_t before = 0; before <= sizeof(text); before++) {
				size_t len = parts * PART - before, out = 0;

				memset(line, 'x', len);
				len += (size_t)sprintf(line + len, " %s", text);
				for (size_t at = 0; at < len; at += PART) {
					size_t part = len - at < PART ? len - at : PART;
					bool last = at + part == len;

					out += (size_t)sprintf(log + out, "%s%.*s%s", around[kind][0], (int)part,
							       line + at, around[kind][last ? 2 : 1]);
					if (kind == 2 && last) /* "F TEXT" and the newline */
						log[out - part - 3] = 'F';
				}
				read_bytes(log, out);
				assert_int_equal(text_log.messages, 2);
				assert_int_equal(text_log.net_direct, 1);
				assert_int_equal(text_log.hca_count, 1);
				assert_string_equal(text_log.hcas[0].name, "mlx5_0");
			}
	free(line);
	free(log);
}

/* Only docker splits a line without a mark, and the streams of a container are written by turns. */
TEST(lines_of_other_loggers_and_streams_are_not_joined)
{
	static const char net[] = A "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>";
	static const char cri_out[] = "2026-01-02T03:04:05.123456789Z stdout ", cri_err[] =
		"2026-01-02T03:04:05.123456789Z stderr ";
	static const char log_out[] = "\",\"stream\":\"stdout\"}", log_err[] = "\",\"stream\":\"stderr\"}";
	/* Before and after a long text, before and after the next line. */
	static const char *const around[][6] = {
		{ "{\"message\":\"", "", "\"}", "{\"message\":\"", "", "\"}" },
		{ "{\"msg\":\"", "", "\"}", "", "", "" },
		{ "{\"log\":\"", "", log_out, "{\"log\":\"", "\\n", log_err },
		{ "{\"log\":\"", "", log_out, "", "", "" },
		{ cri_out, "P ", "", cri_err, "F ", "" },
		{ cri_err, "P ", "", "", "", "" },
		{ cri_err, "P ", "", "{\"log\":\"", "\\n", log_err },
	};
	enum { LONG = 17000 };
	char *before = malloc(LONG + 1), *log = malloc(2 * LONG);

	assert_true(before && log);
	memset(before, 'x', LONG);
	before[LONG] = '\0';
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		const char *const *of = around[i];
		bool json = *of[3] == '{';
		int len = sprintf(log, "%s%s%s CCL%s\n%s%s%s%s%s\n", of[0], *of[0] == '{' ? "" : of[1], before, of[2],
				  of[3], json ? "" : of[4], net, json ? of[4] : "", of[5]);

		read_bytes(log, (size_t)len);
		assert_int_equal(text_log.lines, 2);
		assert_int_equal(text_log.messages, 1);
		assert_int_equal(text_log.hca_count, 1);
	}
	free(before);
	free(log);
}

TEST(a_warning_without_its_prefix_is_found_in_another_message)
{
	judge(LIST(A) A "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMAmisc/ibvwrap.cc:9 NCCL "
	      "WARN Call to "
	      "ibv_create_qp failed\n");
	assert_int_equal(verdict.severity, NCCL_FAIL);
	judge("step 3 loss 0.1misc/socket.cc:9 (ncclSocketX) NCCL WARN NET/Socket : NCCL_SOCKET_NTHREADS is "
	      "greater than the "
	      "maximum allowed, setting to 16 NCCL WARN Call to ibv_create_qp failed\n");
	assert_int_equal(verdict.severity, NCCL_FAIL);
}

/* --- damage --- */

/* Logs with a bad verdict. What is bad is printed by two ranks, as the ranks of a job do. */
static const char *const bad[] = {
	LIST(A) LIST(B) A INIT("0", "2", "2") B INIT("1", "2", "2") OVER(A, "0") OVER(A, "1") OVER(B, "0") OVER(B, "1")
		A WARN("Call to ibv_create_qp failed") B WARN("Call to ibv_create_qp failed"),
	TCP(A) A INIT("0", "2", "2") TCP(B) B INIT("1", "2", "2"),
	TCP(A) TCP(A) A "NCCL INFO ncclCommInitRank comm 0x55d0 rank 0 nranks 16 cudaDev 0 - Init START\n",
	TCP(A) TCP(B) A "NCCL INFO Channel 00 : 0[0] -> 1[1] via NET/Socket/0\n" B "NCCL INFO Channel 00 : 1[1] -> "
		"0[0] via NET/Socket/0\n",
	LIST(A) A WARN("Something that no version prints today") LIST(B) B WARN("Something that no version prints "
										"today"),
	LIST(A) A WARN("NET/IB: Got completion from peer 10.0.0.2<41> with status=12 opcode=0 len=0 vendor err 129 "
		       "hca mlx5_1")
		B WARN("NET/IB: Got completion from peer 10.0.0.1<41> with status=12 opcode=0 len=0 vendor err 129 "
		       "hca mlx5_1"),
	LIST(A) LIST(B) WATCH("0", "1559", "ALLREDUCE") WATCH("7", "1557", "BROADCAST"),
	LIST(A) A "NCCL INFO init.cc:300 -> 2\n" A "NCCL INFO group.cc:73 -> 2 [Async thread]\n",
	LIST(A) OVER(A, "0") A "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"
		LIST(B) B "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n",
	A "NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB\n" B "NCCL INFO Channel 00/0 : 0[0] -> 8[0] "
		"[send] via NET/\n",
};

/* Names of hosts in a verdict: those of the damaged logs begin with a letter that is lost by damage. */
static void assert_no_other_host(const char *text)
{
	static const char *const parts[] = { "lpha", "pha", "ha", "a", "eta", "ta", "alph", "alp", "al", "bet", "be",
					    "b" };

	for (size_t i = 0; i < verdict.count; i++)
		for (const char *at = verdict.lines[i].text; (at = strstr(at, "reported by ")); at++)
			for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++) {
				size_t len = strlen(parts[j]);

				if (!strncmp(at + 12, parts[j], len) && strchr(" :,(", at[12 + len]))
					fail_msg("%s\n%s", verdict.lines[i].text, text);
			}
}

static void assert_bad(const char *text)
{
	judge(text);
	if (verdict.severity < NCCL_WARN)
		fail_msg("%s: %s\n%s", nccl_severity_name(verdict.severity), verdict.lines[0].text, text);
	assert_no_other_host(text);
}

/* The line without its first @at bytes. */
static char *behead(const char *text, size_t number, size_t at)
{
	const char *start = damage_find(text, number);
	char *ret = calloc(1, strlen(text) + 1);

	memcpy(ret, text, (size_t)(start - text));
	strcat(ret, start + at);
	return ret;
}

TEST(no_damaged_line_makes_a_bad_log_good)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_bad(bad[i]);
		for (size_t number = 1; number <= damage_lines(bad[i]); number++)
			for (int damage = 0; damage <= DAMAGE_COUNT; damage++) {
				bool whole = damage == DAMAGE_DELETED || damage == DAMAGE_DOUBLED;
				size_t most = whole ? 0 : damage_bytes(bad[i], number);

				for (size_t at = 0; at <= most; at++) {
					char *line = NULL, *text = damage == DAMAGE_COUNT ? behead(bad[i], number, at) :
								   damage_line(bad[i], number, (enum damage)damage,
									       at, &line);

					assert_bad(text);
					free(line);
					free(text);
				}
			}
	}
}

/* What launchers and loggers write before each line, and after it. */
static const struct { const char *before, *after; } launchers[] = {
	{ "[1,0]<stdout>:", "" }, { " 3: ", "" }, { "node7: ", "" }, { "[pod/train-0/main] ", "" },
	{ "2026-01-02T03:04:05.123456789Z stderr F ", "" }, { "(RayTrainWorker pid=123, ip=10.0.0.1) ", "" },
	{ "[default0]:", "" }, { "Jan 02 03:04:05 node7 python[4711]: ", "" }, { "\033[36m(worker)\033[0m ", "\r" },
	{ "{\"log\":\"", "\\n\",\"stream\":\"stderr\"}" }, { "0|", "" },
};

enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static char *launch(const char *text, size_t number)
{
	char *ret = calloc(1, strlen(text) + 100 * (damage_lines(text) + 1)), *end = ret;

	for (; *text; text += strcspn(text, "\n") + 1)
		end += sprintf(end, "%s%.*s%s\n", launchers[number].before, (int)strcspn(text, "\n"), text,
			       launchers[number].after);
	return ret;
}

TEST(no_launcher_makes_a_bad_log_good)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (size_t j = 0; j < LAUNCHERS; j++) {
			char *text = launch(bad[i], j);

			assert_bad(text);
			assert_true(text_log.host_count <= 2);
			free(text);
		}
}

/* --- published logs --- */

static char names[64][NCCL_NAME_SIZE];
static size_t name_count;

/* The verdict fails, and names only hosts of the undamaged log. */
static void assert_fails(const char *text, const char *file, size_t line)
{
	judge(text);
	if (verdict.severity != NCCL_FAIL)
		fail_msg("%s: line %zu: %s", file, line, verdict.lines[0].text);
	for (size_t i = 0; i < verdict.count; i++)
		for (const char *at = verdict.lines[i].text; (at = strstr(at, "reported by ")); at++) {
			size_t len = strcspn(at + 12, " :,"), known = 0;

			while (known < name_count && (strlen(names[known]) != len ||
						      memcmp(names[known], at + 12, len) != 0))
				known++;
			if (known == name_count)
				fail_msg("%s: line %zu: %s", file, line, verdict.lines[i].text);
		}
}

/* Two fatal warnings are inserted. With IBWIRE_LONG each line is damaged, else some of each log. */
static void damage_published(const char *file)
{
	FILE *stream = unit_test_open_shared("nccl", file);
	char *text = calloc(1, 1 << 21), *middle, *line, *changed;
	size_t len = fread(text, 1, 1 << 20, stream), lines, step;
	const char *a = A WARN("Call to ibv_create_qp failed"), *b = B WARN("Call to ibv_create_qp failed");
	uint64_t messages;

	fclose(stream);
	middle = memchr(text + len / 2, '\n', len / 2);
	assert_non_null(middle);
	memmove(middle + 1 + strlen(a), middle + 1, strlen(middle + 1));
	memcpy(middle + 1, a, strlen(a));
	strcat(text, b);
	judge(text);
	messages = text_log.messages;
	assert_true(text_log.host_count < sizeof(names) / sizeof(names[0]));
	for (name_count = 0; name_count < text_log.host_count; name_count++)
		memcpy(names[name_count], text_log.hosts[name_count].name, NCCL_NAME_SIZE);
	for (size_t i = 0; i < LAUNCHERS; i++) {
		changed = launch(text, i);
		assert_fails(changed, file, 0);
		assert_int_equal(text_log.host_count, name_count);
		assert_int_equal(text_log.messages, messages);
		free(changed);
	}
	lines = damage_lines(text);
	step = getenv("IBWIRE_LONG") ? 1 : lines / test_cases(24) + 1;
	for (size_t number = 1; number <= lines; number += step)
		for (int damage = 0; damage <= DAMAGE_COUNT; damage++) {
			size_t at = damage < DAMAGE_CUT ? 0 : number * 7919 % (damage_bytes(text, number) + 1);

			line = NULL;
			changed = damage == DAMAGE_COUNT ? behead(text, number, at) :
				  damage_line(text, number, (enum damage)damage, at, &line);
			assert_fails(changed, file, number);
			free(changed);
			free(line);
		}
	free(text);
}

TEST(no_damaged_line_makes_a_published_log_good)
{
	damage_published("efa-p4d-2-nodes-2.18.3.log");
	damage_published("ib-sharp-gdrdma-2x8-h100-2.19.3.log");
	damage_published("omnipath-a100-4-nodes-2.10.3.log");
	damage_published("roce-b200-4-ranks-2.27.5.log");
	nccl_done(&text_log);
}
