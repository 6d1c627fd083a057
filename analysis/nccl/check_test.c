/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A log compared with what the ports counted, and published logs in the folder nccl of IBWIRE_SHARED_DATA,
 * or of shared/data beside the sources.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/nccl.h"
#include "analysis/nccl/test_nccl.h"
#include "base/err.h"
#include "base/unit_test.h"

#define GB 1000000000ull

/* Two hosts with @rails HCAs each, all with connections. */
static void read_rails(unsigned rails, const char *layer, const char *suffix)
{
	static const char *const hosts[] = { "alpha", "beta" };
	char text[16384], *end = text;

	for (unsigned h = 0; h < 2; h++) {
		end += sprintf(end, "%s:70:81 [0] NCCL INFO NET/IB : Using", hosts[h]);
		for (unsigned i = 0; i < rails; i++)
			end += sprintf(end, " [%u]mlx5_%u:1/%s", i, i, layer);
		end += sprintf(end, " [RO]; OOB eth0:10.0.0.1<0>\n%s:70:81 [0] NCCL INFO Using network IB\n", hosts[h]);
		for (unsigned i = 0; i < rails; i++)
			end += sprintf(end, "%s:70:81 [0] NCCL INFO Channel %02u/0 : 0[0] -> 8[0] [send] via "
				"NET/IB/%u%s\n",
				       hosts[h], i, i, suffix);
	}
	read_text(text);
}

static void fill_ports(struct nccl_port ports[16], char names[8][8], uint64_t bytes)
{
	for (unsigned i = 0; i < 16; i++) {
		snprintf(names[i % 8], 8, "mlx5_%u", i % 8);
		ports[i] = (struct nccl_port){ .host = i < 8 ? "alpha.example.org" : "beta", .hca = names[i % 8],
			.port = 1,
					       .known = true, .tx_bytes = bytes, .rx_bytes = bytes, .rate_gbps = 400 };
	}
}

TEST(log_and_wire_agree)
{
	struct nccl_port ports[16];
	char names[8][8];

	read_rails(8, "IB", "/GDRDMA");
	fill_ports(ports, names, 25 * GB);
	ports[0].tx_bytes = ports[0].rx_bytes = 37 * GB;
	check(ports, 16);
	assert_int_equal(verdict.severity, NCCL_OK);
	assert_int_equal(verdict.count, 2);
	assert_line(NCCL_OK, "connections: 16 network, 16 of these with GDRDMA, 0 P2P, 0 shared memory");
	assert_string_equal(verdict.lines[0].text, "NCCL reports 8 HCAs per host (InfiniBand) on 2 hosts with GDRDMA; "
			    "the wire moved 412 GB over 8 rails, evenness 0.92");
}

TEST(an_hca_that_moved_nothing_is_named)
{
	struct nccl_port ports[16];
	char names[8][8];

	read_rails(8, "IB", "/GDRDMA");
	fill_ports(ports, names, 25 * GB);
	ports[3].tx_bytes = ports[3].rx_bytes = 0;
	check(ports, 16);
	assert_int_equal(verdict.severity, NCCL_FAIL);
	assert_string_equal(verdict.lines[0].text, "NCCL reports IB on mlx5_3 of alpha; that port moved nothing");
	ports[11].tx_bytes = 12000;
	ports[11].rx_bytes = 0;
	check(ports, 16);
	assert_line(NCCL_FAIL, "NCCL reports IB on mlx5_3 of alpha and other hosts; these ports moved 12.0 kB");
	/* A port that could not be read is not idle. */
	ports[3].known = ports[11].known = false;
	check(ports, 16);
	assert_null(line_with("mlx5_3"));
	assert_line(NCCL_NOTE, "2 ports of the job could not be read");
}

/* Node descriptions "alpha HCA-1" have no device names. */
TEST(sums_are_compared_if_the_fabric_has_other_names)
{
	struct nccl_port ports[16];
	char names[8][8];

	read_rails(8, "IB", "/GDRDMA");
	fill_ports(ports, names, 25 * GB);
	for (unsigned i = 0; i < 8; i++)
		snprintf(names[i], 8, "HCA-%u", i + 1);
	check(ports, 16);
	assert_int_equal(verdict.severity, NCCL_OK);
	assert_non_null(line_with("the wire moved 400 GB over 8 rails, evenness 1.00"));
	check(ports + 8, 1);
	assert_non_null(line_with("the wire moved 25.0 GB over 1 rail, on 1 of 2 hosts"));
	ports[0].host = "delta";
	check(ports, 1);
	assert_line(NCCL_WARN, "none of the log's hosts (alpha ...) is a host of the job");
}

TEST(nothing_on_the_wire_is_a_failure_only_on_infiniband)
{
	struct nccl_port ports[16];
	char names[8][8];

	fill_ports(ports, names, 100);
	read_rails(8, "IB", "/GDRDMA");
	check(ports, 16);
	assert_int_equal(verdict.severity, NCCL_FAIL);
	assert_line(NCCL_FAIL, "the wire moved 1.6 kB");
	/* The ports are those of the RoCE HCAs themselves, as ibwire run --local counts them. */
	read_rails(8, "RoCE", "/GDRDMA");
	check(ports, 16);
	assert_line(NCCL_FAIL, "the wire moved 1.6 kB");
	/* InfiniBand ports of the same hosts. */
	for (unsigned i = 0; i < 8; i++)
		snprintf(names[i], 8, "ib%u", i);
	check(ports, 16);
	assert_int_equal(verdict.severity, NCCL_NOTE);
	assert_line(NCCL_NOTE, "network IB here is RoCE, not InfiniBand");
}

TEST(staging_unused_hcas_and_other_networks_are_warnings)
{
	read_rails(8, "IB", "");
	check(NULL, 0);
	assert_int_equal(verdict.severity, NCCL_WARN);
	assert_line(NCCL_WARN, "16 of 16 connections are staged through host memory");
	read_text("alpha:70:81 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
		  "alpha:70:81 [0] NCCL INFO Using network IB\n"
		  "beta:70:81 [0] NCCL INFO Using network Socket\n"
		  "alpha:70:81 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA\n");
	check(NULL, 0);
	assert_line(NCCL_WARN, "NCCL lists 1 HCA without any connection: mlx5_0");
	assert_line(NCCL_WARN, "processes use different networks: IB 1, Socket 1");
}

TEST(tcp_is_a_failure_with_its_reason)
{
	read_text("NCCL version 2.8.4+cuda11.0\n"
		  PREFIX "NCCL_SOCKET_IFNAME set by environment to eno1\n"
		  PREFIX "NCCL_IB_DISABLE set by environment to 1.\n"
		  PREFIX "NET/Socket : Using [0]eno1:10.1.2.3<0>\n"
		  PREFIX "Channel 00 : 7[1c000] -> 0[1b000] [receive] via NET/Socket/0\n");
	check(NULL, 0);
	assert_int_equal(verdict.severity, NCCL_FAIL);
	assert_string_equal(verdict.lines[0].text,
			    "NCCL 2.8.4 reports NET/Socket on eno1: TCP, not RDMA; NCCL_IB_DISABLE is set");
	assert_line(NCCL_OK, "settings: NCCL_SOCKET_IFNAME=eno1, NCCL_IB_DISABLE=1");
	read_text(PREFIX "NET/IB : No device found.\n"
		  PREFIX "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n");
	check(NULL, 0);
	assert_line(NCCL_FAIL, "TCP, not RDMA; it found no HCA");
}

TEST(tests_are_compared_with_the_wire)
{
	struct nccl_port ports[] = {
		{ .host = "gamma", .hca = "mlx5_0", .port = 1, .known = true },
		{ .host = "alpha", .hca = "mlx5_0", .port = 1, .known = true, .tx_bytes = 200000, .rx_bytes = 200000,
		  .rate_gbps = 400 },
		{ .host = "beta", .hca = "mlx5_0", .port = 1, .known = true, .tx_bytes = 200000, .rx_bytes = 200000,
		  .rate_gbps = 400 },
	};
	char text[4096];

	snprintf(text, sizeof(text), "%s" PREFIX "NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>\n"
		 "beta:70:81 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>\n"
		 "alpha:70:81 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n", tests_table);
	read_text(text);
	check(ports, 3);
	assert_line(NCCL_OK, "all_reduce, 6 ranks on 3 hosts, 2 rows: best busbw 0.1 GB/s at 1.0 kB; the rails of"
		    " a host carry 50.0 GB/s (0 %); at least 246 kB on the wire");
	assert_line(NCCL_OK, "the tests must put at least 246 kB on the wire; the hosts received 400 kB (163 %)");
	ports[1].rx_bytes = ports[2].rx_bytes = 1000;
	check(ports, 3);
	assert_line(NCCL_FAIL, "the tests must put at least 246 kB on the wire, but the hosts received only 2.0 kB "
		"(0.8 %)");
}

TEST(a_log_without_nccl_says_what_to_do)
{
	read_text("epoch 1 loss 0.5\n");
	assert_int_equal(text_log.messages + text_log.test_count + text_log.version_count, 0);
	check(NULL, 0);
	assert_int_equal(verdict.severity, NCCL_NOTE);
	assert_line(NCCL_NOTE, "run with NCCL_DEBUG=INFO");
}

static void read_published(const char *file, size_t hosts, size_t hcas, enum nccl_fabric fabric)
{
	FILE *stream = unit_test_open_shared("nccl", file);
	struct error err;

	nccl_done(&text_log);
	assert_int_equal(nccl_read(&text_log, fileno(stream), "a log", &err), 0);
	fclose(stream);
	check(NULL, 0);
	assert_int_equal(text_log.host_count, hosts);
	assert_int_equal(text_log.hca_count, hcas);
	for (size_t i = 0; i < hcas; i++)
		assert_int_equal(text_log.hcas[i].fabric, fabric);
}

/* Networks of plugins, and what each reports of GPU Direct RDMA. */
TEST(plugins_are_named_with_their_state_of_gpu_direct)
{
	static const struct { const char *text, *words; enum nccl_severity severity; } plugins[] = {
		{ PREFIX "Using network GPUDirectTCPX_v7\n"
		  PREFIX "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/GPUDirectTCPX_v7/0/GDRDMA\n",
		  "(GPUDirect-TCPX) on 1 host with GDRDMA", NCCL_NOTE },
		{ PREFIX "Using network FasTrak\n"
		  PREFIX "Channel 00/0 : 8[0] -> 0[0] [send] via NET/FasTrak/3/GDRDMA\n",
		  "network FasTrak here is GPUDirect-TCPX, not InfiniBand", NCCL_NOTE },
		{ PREFIX "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n" PREFIX "Using network UCX\n"
		  PREFIX "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/UCX/0/GDRDMA\n",
		  "reports 1 HCA per host (InfiniBand) on 1 host with GDRDMA", NCCL_OK },
		{ PREFIX "Using network IBext_v8\n" PREFIX "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
		  PREFIX "NET/IBext_v8 : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n",
		  "disabled 1 times, as enabled 0 times; NET/IBext_v8 : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
		  NCCL_WARN },
		{ PREFIX "Using network AWS Libfabric\n" PREFIX "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
		  PREFIX "NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR\n",
		  "disabling GDR", NCCL_WARN },
		{ PREFIX "Using network IBext_v8\n" PREFIX "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
		  PREFIX "NET/IB : GPU Direct RDMA (nvidia-peermem) enabled for HCA 0 'mlx5_0\n"
		  PREFIX "GPU Direct RDMA Disabled for GPU 1b000 / HCA 7 (distance 8 > 5)\n",
		  "disabled 1 times, as enabled 1 times", NCCL_NOTE },
	};

	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		read_text(plugins[i].text);
		check(NULL, 0);
		assert_non_null(line_with(plugins[i].words));
		assert_int_equal(verdict.severity, plugins[i].severity);
	}
	/* TCP has none, and one host needs none. */
	read_text(PREFIX "NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'\n"
		  PREFIX "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n");
	check(NULL, 0);
	assert_null(line_with("is reported as disabled"));
	read_text(PREFIX "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
		  PREFIX "comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8\n");
	check(NULL, 0);
	assert_null(line_with("is reported as disabled"));
}

TEST(published_infiniband_log_with_sharp)
{
	read_published("ib-sharp-gdrdma-2x8-h100-2.19.3.log", 2, 16, NCCL_INFINIBAND);
	assert_int_equal(text_log.process_count, 16);
	for (size_t i = 0; i < text_log.hca_count; i++) {
		assert_true(text_log.hcas[i].sharp);
		assert_int_equal(text_log.hcas[i].direct, text_log.hcas[i].sends + text_log.hcas[i].receives);
	}
	assert_true(text_log.sharp_plugin && text_log.nvls);
	assert_line(NCCL_OK, "NCCL 2.19.3 reports 8 HCAs per host (InfiniBand) on 2 hosts with GDRDMA");
	assert_line(NCCL_OK, "16 channels; connections: 569 network, 569 of these with GDRDMA, 479 P2P");
	assert_line(NCCL_NOTE, "the SHARP plugin is loaded, but no connection uses it");
}

TEST(published_roce_log_of_one_host)
{
	read_published("roce-b200-4-ranks-2.27.5.log", 1, 8, NCCL_ROCE);
	assert_int_equal(text_log.process_count, 4);
	assert_int_equal(text_log.net_connections, 0);
	assert_line(NCCL_NOTE, "network IB here is RoCE, not InfiniBand");
	assert_line(NCCL_OK, "settings: NCCL_SOCKET_IFNAME=eth0, NCCL_IB_HCA=mlx5_0,mlx5_1,");
	assert_line(NCCL_OK, "NCCL 2.27.5 reports ranks on one host only and uses no network (it lists 8 HCAs, RoCE)");
}

TEST(published_omni_path_log)
{
	read_published("omnipath-a100-4-nodes-2.10.3.log", 4, 16, NCCL_OMNI_PATH);
	assert_line(NCCL_OK, "NCCL 2.10.3 reports 2 HCAs per host (Omni-Path) on 4 hosts without GDRDMA");
	assert_line(NCCL_NOTE, "network IB here is Omni-Path, not InfiniBand");
	assert_line(NCCL_WARN, "NCCL lists 2 HCAs without any connection: hfi1_1, hfi1_2");
}

TEST(published_efa_log_with_a_table)
{
	const struct nccl_test *test;

	read_published("efa-p4d-2-nodes-2.18.3.log", 2, 8, NCCL_EFA);
	assert_line(NCCL_OK, "NCCL 2.18.3 reports 4 HCAs per host (EFA) on 2 hosts with GDRDMA");
	assert_line(NCCL_NOTE, "libfabric here is EFA, not InfiniBand");
	test = &text_log.tests[0];
	assert_int_equal(test->all.ranks, 16);
	assert_int_equal(test->all.hosts, 2);
	assert_int_equal(test->row_count, 29);
	assert_int_equal(test->iterations, 100);
	assert_int_equal(test->best.size_bytes, 2147483648);
	assert_string_equal(nccl_test_name(test), "gather or scatter");
	/* 64 + 128 + ... + 2^31 bytes, two groups, 100 iterations, half of the ranks on the other host */
	assert_int_equal(nccl_test_least_bytes(&text_log, test, false), (4294967296 - 64) * 2 * 100 / 2);
	nccl_done(&text_log);
}

/* Names of pods: mapped to nodes,
several on one; found by LIDs that NCCL prints; or the comparison says that it is off. */
TEST(pods_are_compared_by_their_nodes)
{
	static const char log[] =
		"train-0:7:8 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
		"train-1:7:8 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>\n"
		"train-0:7:8 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
		"train-1:7:8 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n";
	static const char lids[] =
		"train-0:7:9 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 123 mtu 5 LID 17 subnet-prefix 0 "
		"FLID 0\n"
		"train-1:7:9 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 124 mtu 5 LID 18 subnet-prefix 0 "
		"FLID 0\n";
	const struct nccl_port ports[] = {
		{ .host = "node17", .hca = "mlx5_0", .port = 1, .lid = 17, .known = true, .tx_bytes = GB,
		.rx_bytes = GB },
		{ .host = "node18", .hca = "mlx5_0", .port = 1, .lid = 18, .known = true, .tx_bytes = GB,
		.rx_bytes = GB },
	};

	read_text(log);
	check(ports, 2);
	assert_line(NCCL_WARN, "none of the log's hosts (train-0 ...) is a host of the job: the log is not compared");
	read_text(log);
	assert_int_equal(nccl_feed(&text_log, lids, sizeof(lids) - 1, NULL), 0);
	check(ports, 2);
	assert_line(NCCL_OK, "1 HCA per host (InfiniBand) on 2 hosts with GDRDMA; the wire moved 2.0 GB over 1 rail");
	assert_null(line_with("none of the log's hosts"));
	nccl_done(&text_log);
	assert_int_equal(nccl_rename_host(&text_log, "train-0", "node17.example.org", NULL), 0);
	assert_int_equal(nccl_rename_host(&text_log, "train-1", "node18", NULL), 0);
	assert_int_equal(nccl_feed(&text_log, log, sizeof(log) - 1, NULL), 0);
	check(ports, 2);
	assert_line(NCCL_OK, "on 2 hosts with GDRDMA; the wire moved 2.0 GB over 1 rail");
	nccl_done(&text_log);
	/* A node may have the name of a pod. */
	assert_int_equal(nccl_rename_host(&text_log, "train-0", "train-1", NULL), 0);
	assert_int_equal(nccl_rename_host(&text_log, "train-1", "train-0", NULL), 0);
	assert_int_equal(nccl_feed(&text_log, log, sizeof(log) - 1, NULL), 0);
	assert_int_equal(text_log.host_count, 2);
	assert_string_equal(text_log.hosts[0].name, "train-1");
	assert_string_equal(text_log.hosts[1].name, "train-0");
	nccl_done(&text_log);
}
