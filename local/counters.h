/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* counters.h - counters of HCA ports and network interfaces in sysfs, under common names */
#ifndef IBWIRE_LOCAL_COUNTERS_H
#define IBWIRE_LOCAL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct local_root;

/* What drivers count under different names. Several files of a driver may add up to one of these. */
enum local_counter {
	LOCAL_XMIT_BYTES,
	LOCAL_RCV_BYTES,
	LOCAL_XMIT_PACKETS,
	LOCAL_RCV_PACKETS,
	LOCAL_RETRANSMITS,     /* events after which this host sent again: NAKs received, timeouts */
	LOCAL_DUPLICATES,      /* requests received again: the peer retransmitted */
	LOCAL_OUT_OF_SEQUENCE, /* packets received out of order */
	LOCAL_RNR,             /* NAKs of a receiver that was not ready */
	LOCAL_CNP_SENT,        /* congestion notifications */
	LOCAL_CNP_RECEIVED,
	LOCAL_ECN_MARKED,      /* packets received with a congestion mark */
	LOCAL_DISCARDS,
	LOCAL_ERRORS,          /* damaged packets received, symbol errors */
	LOCAL_LINK_DOWNED,
	LOCAL_XMIT_WAIT,
	LOCAL_COUNTER_COUNT,
};

struct local_counters {
	uint64_t values[LOCAL_COUNTER_COUNT];
	uint32_t known;     /* mask of 1 << enum local_counter */
	uint32_t saturated; /* at the maximum of its width: the true value is larger */
};

/* local_counter_key - "xmit_bytes", as in JSON. */
const char *local_counter_key(enum local_counter counter);

static inline bool local_counter_known(const struct local_counters *counters, enum local_counter counter)
{
	return counters->known >> counter & 1;
}

/*
 * local_counters_read_port - counters of a port of an HCA
 * @hca, @port:       paths of the HCA and of its port
 * @octets_per_unit:  unit of port_xmit_data and port_rcv_data: 4 octets, hfi1: 8
 * @only_port:        the counters of the device are those of the port
 */
void local_counters_read_port(struct local_root *root, const char *hca, const char *port, unsigned octets_per_unit,
			      bool only_port, struct local_counters *ret);

/* local_counters_read_net - counters of a network interface. */
void local_counters_read_net(struct local_root *root, const char *path, struct local_counters *ret);

/*
 * local_counters_subtract - what was counted between two readings
 * @ret_at_least:  mask of counters that were reset or are saturated: at least this much
 */
void local_counters_subtract(const struct local_counters *before, const struct local_counters *after,
			     struct local_counters *ret, uint32_t *ret_at_least);

#endif
