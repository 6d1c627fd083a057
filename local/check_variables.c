/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_variables.c - variables of NCCL that cost bandwidth, or end jobs, at some values */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "local/capture.h"
#include "local/checks.h"

struct variable_rule {
	const char *name;
	enum { IS_SET, IS_ON, IS_OFF, IS_BELOW, IS_ABOVE, IS_WORD } test;
	double limit;
	const char *word; /* of IS_WORD */
	bool gpu;         /* only on a host with GPUs */
	const char *text, *fix;
};

/* Source: NCCL user guide, "Environment Variables". */
static const struct variable_rule rules[] = {
	{ "NCCL_NET_GDR_LEVEL", IS_OFF, .gpu = true,
	  .text = "GPUDirect RDMA is switched off: data is staged through the host",
	  .fix = "unset NCCL_NET_GDR_LEVEL" },
	{ "NCCL_NET_GDR_LEVEL", IS_WORD, .word = "LOC", .gpu = true,
	  .text = "GPUDirect RDMA is switched off: data is staged through the host",
	  .fix = "unset NCCL_NET_GDR_LEVEL" },
	{ "NCCL_P2P_DISABLE", IS_ON,
	  .text = "GPUs of this host use neither NVLink nor PCIe peer-to-peer: host memory limits them",
	  .fix = "unset NCCL_P2P_DISABLE" },
	{ "NCCL_P2P_LEVEL", IS_WORD, .word = "LOC",
	  .text = "GPUs of this host use neither NVLink nor PCIe peer-to-peer: host memory limits them",
	  .fix = "unset NCCL_P2P_LEVEL" },
	{ "NCCL_SHM_DISABLE", IS_ON,
	  .text = "ranks of this host do not use shared memory: their data goes through the network",
	  .fix = "unset NCCL_SHM_DISABLE; if /dev/shm is too small, enlarge it" },
	{ "NCCL_ALGO", IS_SET,
	  .text = "NCCL cannot select the algorithm by size and topology",
	  .fix = "unset NCCL_ALGO, unless it is for a test" },
	{ "NCCL_PROTO", IS_SET,
	  .text = "NCCL cannot select the protocol by size (LL has less than half of the bandwidth of Simple)",
	  .fix = "unset NCCL_PROTO, unless it is for a test" },
	{ "NCCL_IB_TIMEOUT", IS_BELOW, 14,
	  .text = "a retry within 67 ms: a congested or rerouted fabric ends connections (status 12)",
	  .fix = "unset NCCL_IB_TIMEOUT (20 since NCCL 2.23, 18 before), or set it to 18 to 22" },
	{ "NCCL_IB_TIMEOUT", IS_ABOVE, 22,
	  .text = "a retry after more than 17 s: a failed peer is noticed late",
	  .fix = "set NCCL_IB_TIMEOUT to 18 to 22" },
	{ "NCCL_IB_RETRY_CNT", IS_BELOW, 7,
	  .text = "fewer retries than the default (7) before a connection ends",
	  .fix = "unset NCCL_IB_RETRY_CNT" },
	{ "NCCL_CROSS_NIC", IS_WORD, .word = "1",
	  .text = "rings cross rails: on a rail-optimized fabric traffic then goes through the spines",
	  .fix = "unset NCCL_CROSS_NIC (2), or set it to 0 on a rail-optimized fabric" },
	{ "NCCL_BUFFSIZE", IS_BELOW, 1 << 20,
	  .text = "smaller buffers than 1 MiB (4 MiB by default) cost bandwidth",
	  .fix = "unset NCCL_BUFFSIZE" },
	{ "NCCL_MAX_NCHANNELS", IS_BELOW, 4,
	  .text = "so few channels do not fill the rails of a host",
	  .fix = "unset NCCL_MAX_NCHANNELS" },
	{ "NCCL_DEBUG", IS_WORD, .word = "TRACE",
	  .text = "each call is logged, which slows the job",
	  .fix = "set NCCL_DEBUG=WARN, or INFO for a test" },
	{ "NCCL_DMABUF_ENABLE", IS_OFF, .gpu = true,
	  .text = "DMA-BUF is switched off: GPUDirect RDMA needs nvidia_peermem",
	  .fix = "unset NCCL_DMABUF_ENABLE" },
	{ "NCCL_IB_PCI_RELAXED_ORDERING", IS_OFF, .gpu = true,
	  .text = "virtual machines and some CPUs need relaxed ordering for full bandwidth",
	  .fix = "unset NCCL_IB_PCI_RELAXED_ORDERING (2)" },
};

static bool rule_applies(const struct variable_rule *rule, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	bool is_number = end != value && !*end;

	switch (rule->test) {
	case IS_SET:
		return value[0] != '\0';
	case IS_ON:
		return is_number && number != 0;
	case IS_OFF:
		return is_number && number == 0;
	case IS_BELOW:
		return is_number && number < rule->limit && number >= 0;
	case IS_ABOVE:
		return is_number && number > rule->limit;
	case IS_WORD:
		return !strcasecmp(value, rule->word);
	}
	return false;
}

/*
 * Traffic class and service level: the bits of a traffic class above the two of ECN are the DSCP, whose upper three are
 * the priority that switches usually map it to.
 */
static void add_traffic_class(struct checks *checks)
{
	bool roce = false, infiniband = false;
	char value[32];
	unsigned long number;

	for (size_t i = 0; i < checks->host.hca_count; i++)
		for (size_t j = 0; j < checks->host.hcas[i].port_count; j++) {
			roce |= checks->host.hcas[i].ports[j].protocol == LOCAL_PROTOCOL_ROCE;
			infiniband |= checks->host.hcas[i].ports[j].protocol == LOCAL_PROTOCOL_INFINIBAND;
		}
	if (check_variable(checks, "NCCL_IB_TC", value, sizeof(value)) && (number = strtoul(value, NULL, 10))) {
		if (roce)
			check_add(checks, CHECK_SKIP, "",
				  "compare with trust mode, DSCP map and PFC of hosts and switches (mlnx_qos -i NAME)",
				  "NCCL_IB_TC=%s is DSCP %lu, priority %lu by default: the map of the switches is not "
				  "known here",
				  value, number >> 2, number >> 5);
		else if (infiniband)
			check_add(checks, CHECK_WARN, "", "unset NCCL_IB_TC; service levels are NCCL_IB_SL",
				  "NCCL_IB_TC=%s has no effect on InfiniBand", value);
	}
	if (check_variable(checks, "NCCL_IB_SL", value, sizeof(value)) && strtoul(value, NULL, 10)) {
		if (infiniband)
			check_add(checks, CHECK_SKIP, "",
				  "compare with the SL-to-VL map of the subnet manager (smpquery sl2vl)",
				  "NCCL_IB_SL=%s: its virtual lane is not known here", value);
		else if (roce)
			check_add(checks, CHECK_SKIP, "", "RoCE v2 is classified by NCCL_IB_TC (DSCP)",
				  "NCCL_IB_SL=%s: RoCE v2 packets carry it only as the priority of a VLAN", value);
	}
}

void check_nccl_variables(struct checks *checks)
{
	size_t before = checks->count;
	char value[256];
	const char *path;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((!rules[i].gpu || checks->host.gpu_count) && check_variable(checks, rules[i].name, value,
			sizeof(value)) &&
		    rule_applies(&rules[i], value))
			check_add(checks, CHECK_WARN, "", rules[i].fix, "%s=%s: %s", rules[i].name, value,
				rules[i].text);
	add_traffic_class(checks);
	path = check_variable(checks, "NCCL_TOPO_FILE", value, sizeof(value)) ? value + strspn(value, "/") : NULL;
	if (path && !local_exists(checks->root, "%s", path))
		check_add(checks, CHECK_WARN, "", "correct the path, mount the file into the container, or unset the "
			"variable",
			  "NCCL_TOPO_FILE=%s does not exist: NCCL ignores it", value);
	else if (path)
		capture_file(checks->root->capture, path, "", 0);
	if (checks->count == before && checks->variables.len)
		check_add(checks, CHECK_PASS, "", NULL, "no variable of NCCL that costs bandwidth is set");
}
