/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/counters.h"

#include <stddef.h>
#include <stdio.h>

#include "local/root.h"

static const char *const keys[LOCAL_COUNTER_COUNT] = {
	[LOCAL_XMIT_BYTES] = "xmit_bytes", [LOCAL_RCV_BYTES] = "rcv_bytes",
	[LOCAL_XMIT_PACKETS] = "xmit_packets", [LOCAL_RCV_PACKETS] = "rcv_packets",
	[LOCAL_RETRANSMITS] = "retransmits", [LOCAL_DUPLICATES] = "duplicates",
	[LOCAL_OUT_OF_SEQUENCE] = "out_of_sequence", [LOCAL_RNR] = "rnr_naks",
	[LOCAL_CNP_SENT] = "cnp_sent", [LOCAL_CNP_RECEIVED] = "cnp_received", [LOCAL_ECN_MARKED] = "ecn_marked",
	[LOCAL_DISCARDS] = "discards", [LOCAL_ERRORS] = "errors", [LOCAL_LINK_DOWNED] = "link_downed",
	[LOCAL_XMIT_WAIT] = "xmit_wait",
};

struct counter_file {
	const char *name;
	enum local_counter counter;
	uint64_t maximum; /* at which it stops; 0: 64 bits */
};

/* Files of PORT/counters. Source: Linux, drivers/infiniband/core/sysfs.c (PORT_PMA_ATTR). */
static const struct counter_file pma_files[] = {
	{ "port_xmit_data", LOCAL_XMIT_BYTES, 0 },
	{ "port_rcv_data", LOCAL_RCV_BYTES, 0 },
	{ "port_xmit_packets", LOCAL_XMIT_PACKETS, 0 },
	{ "port_rcv_packets", LOCAL_RCV_PACKETS, 0 },
	{ "port_xmit_discards", LOCAL_DISCARDS, 0xffff },
	{ "port_rcv_errors", LOCAL_ERRORS, 0xffff },
	{ "symbol_error", LOCAL_ERRORS, 0xffff },
	{ "link_downed", LOCAL_LINK_DOWNED, 0xff },
	{ "port_xmit_wait", LOCAL_XMIT_WAIT, 0xffffffff },
};

/*
 * Files of hw_counters. A name means the same in all drivers that have it.
 * Sources: Linux, drivers/infiniband/hw:
 *   mlx5/counters.c   basic_q_cnts, out_of_seq_q_cnts, retrans_q_cnts, cong_cnts, roce_accl_cnts
 *   mlx4/main.c       diag_basic, diag_ext
 *   bnxt_re/hw_counters.c  bnxt_re_stat_descs
 *   irdma/verbs.c     irdma_hw_stat_names (gen 1 and 2; newer: without the prefix "tcp")
 *   efa/efa_verbs.c   EFA_DEFINE_PORT_STATS
 */
static const struct counter_file hw_files[] = {
	/* mlx5 */
	{ "packet_seq_err", LOCAL_RETRANSMITS, 0 },
	{ "implied_nak_seq_err", LOCAL_RETRANSMITS, 0 },
	{ "local_ack_timeout_err", LOCAL_RETRANSMITS, 0 },
	{ "roce_adp_retrans", LOCAL_RETRANSMITS, 0 },
	{ "duplicate_request", LOCAL_DUPLICATES, 0 },
	{ "out_of_sequence", LOCAL_OUT_OF_SEQUENCE, 0 },
	{ "rnr_nak_retry_err", LOCAL_RNR, 0 },
	{ "np_cnp_sent", LOCAL_CNP_SENT, 0 },
	{ "rp_cnp_handled", LOCAL_CNP_RECEIVED, 0 },
	{ "np_ecn_marked_roce_packets", LOCAL_ECN_MARKED, 0 },
	/* mlx4 */
	{ "sq_num_oos", LOCAL_RETRANSMITS, 0 },
	{ "sq_num_to", LOCAL_RETRANSMITS, 0 },
	{ "rq_num_dup", LOCAL_DUPLICATES, 0 },
	{ "rq_num_oos", LOCAL_OUT_OF_SEQUENCE, 0 },
	{ "sq_num_rnr", LOCAL_RNR, 0 },
	/* bnxt_re */
	{ "to_retransmits", LOCAL_RETRANSMITS, 0 },
	{ "seq_err_naks_rcvd", LOCAL_RETRANSMITS, 0 },
	{ "dup_req", LOCAL_DUPLICATES, 0 },
	{ "oos_drop_count", LOCAL_OUT_OF_SEQUENCE, 0 },
	{ "rnr_naks_rcvd", LOCAL_RNR, 0 },
	{ "tx_cnp_pkts", LOCAL_CNP_SENT, 0 },
	{ "rx_cnp_pkts", LOCAL_CNP_RECEIVED, 0 },
	{ "rx_ecn_marked_pkts", LOCAL_ECN_MARKED, 0 },
	{ "rx_roce_discards", LOCAL_DISCARDS, 0 },
	{ "rx_roce_errors", LOCAL_ERRORS, 0 },
	/* irdma */
	{ "tcpRetransSegs", LOCAL_RETRANSMITS, 0 },
	{ "RetransSegs", LOCAL_RETRANSMITS, 0 },
	{ "cnpSent", LOCAL_CNP_SENT, 0 },
	{ "cnpHandled", LOCAL_CNP_RECEIVED, 0 },
	{ "RxECNMrkd", LOCAL_ECN_MARKED, 0 },
	{ "ip4InDiscards", LOCAL_DISCARDS, 0 },
	{ "ip6InDiscards", LOCAL_DISCARDS, 0 },
	/* efa */
	{ "retrans_pkts", LOCAL_RETRANSMITS, 0 },
	{ "rx_drops", LOCAL_DISCARDS, 0 },
};

/* Traffic in hw_counters, of ports without a PMA: bnxt_re and efa; irdma. */
static const struct counter_file hw_traffic_files[] = {
	{ "tx_bytes", LOCAL_XMIT_BYTES, 0 },
	{ "rx_bytes", LOCAL_RCV_BYTES, 0 },
	{ "tx_pkts", LOCAL_XMIT_PACKETS, 0 },
	{ "rx_pkts", LOCAL_RCV_PACKETS, 0 },
	{ "ip4OutOctets", LOCAL_XMIT_BYTES, 0 },
	{ "ip6OutOctets", LOCAL_XMIT_BYTES, 0 },
	{ "ip4InOctets", LOCAL_RCV_BYTES, 0 },
	{ "ip6InOctets", LOCAL_RCV_BYTES, 0 },
	{ "ip4OutPkts", LOCAL_XMIT_PACKETS, 0 },
	{ "ip6OutPkts", LOCAL_XMIT_PACKETS, 0 },
	{ "ip4InPkts", LOCAL_RCV_PACKETS, 0 },
	{ "ip6InPkts", LOCAL_RCV_PACKETS, 0 },
};

/* Files of /sys/class/net/NAME/statistics. */
static const struct counter_file net_files[] = {
	{ "tx_bytes", LOCAL_XMIT_BYTES, 0 },
	{ "rx_bytes", LOCAL_RCV_BYTES, 0 },
	{ "tx_packets", LOCAL_XMIT_PACKETS, 0 },
	{ "rx_packets", LOCAL_RCV_PACKETS, 0 },
	{ "tx_errors", LOCAL_ERRORS, 0 },
	{ "rx_errors", LOCAL_ERRORS, 0 },
	{ "tx_dropped", LOCAL_DISCARDS, 0 },
	{ "rx_dropped", LOCAL_DISCARDS, 0 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *local_counter_key(enum local_counter counter)
{
	return counter < LOCAL_COUNTER_COUNT ? keys[counter] : "";
}

static void read_files(struct local_root *root, const char *folder, const struct counter_file *files, size_t count,
		       struct local_counters *ret)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (!local_read_number(root, &value, "%s/%s", folder, files[i].name))
			continue;
		ret->values[files[i].counter] += value;
		ret->known |= 1u << files[i].counter;
		if (files[i].maximum && value >= files[i].maximum)
			ret->saturated |= 1u << files[i].counter;
	}
}

void local_counters_read_port(struct local_root *root, const char *hca, const char *port, unsigned octets_per_unit,
			      bool only_port, struct local_counters *ret)
{
	char folder[LOCAL_PATH_SIZE + 16];

	*ret = (struct local_counters){ .known = 0 };
	snprintf(folder, sizeof(folder), "%s/counters", port);
	read_files(root, folder, pma_files, COUNT(pma_files), ret);
	ret->values[LOCAL_XMIT_BYTES] *= octets_per_unit;
	ret->values[LOCAL_RCV_BYTES] *= octets_per_unit;
	snprintf(folder, sizeof(folder), "%s/hw_counters", port);
	/* Drivers of old kernels have hw_counters of the device only. */
	if (only_port && !local_exists(root, "%s", folder))
		snprintf(folder, sizeof(folder), "%s/hw_counters", hca);
	read_files(root, folder, hw_files, COUNT(hw_files), ret);
	if (!local_counter_known(ret, LOCAL_XMIT_BYTES) && !local_counter_known(ret, LOCAL_RCV_BYTES))
		read_files(root, folder, hw_traffic_files, COUNT(hw_traffic_files), ret);
}

void local_counters_read_net(struct local_root *root, const char *path, struct local_counters *ret)
{
	char folder[LOCAL_PATH_SIZE + 16];

	*ret = (struct local_counters){ .known = 0 };
	snprintf(folder, sizeof(folder), "%s/statistics", path);
	read_files(root, folder, net_files, COUNT(net_files), ret);
}

void local_counters_subtract(const struct local_counters *before, const struct local_counters *after,
			     struct local_counters *ret, uint32_t *ret_at_least)
{
	*ret = (struct local_counters){ .known = before->known & after->known, .saturated = after->saturated };
	*ret_at_least = after->saturated & ret->known;
	for (int i = 0; i < LOCAL_COUNTER_COUNT; i++) {
		bool reset = after->values[i] < before->values[i];

		ret->values[i] = after->values[i] - (reset ? 0 : before->values[i]);
		if (reset)
			*ret_at_least |= (1u << i) & ret->known;
	}
}
