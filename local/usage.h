/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* usage.h - what HCAs and network interfaces of this host carried between two readings, and was it RDMA? */
#ifndef IBWIRE_LOCAL_USAGE_H
#define IBWIRE_LOCAL_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "local/host.h"

struct error;

enum local_verdict {
	LOCAL_VERDICT_UNKNOWN, /* no counters */
	LOCAL_VERDICT_RDMA,
	LOCAL_VERDICT_TCP,     /* TCP fallback, or TCP on a host without an HCA */
	LOCAL_VERDICT_NEITHER, /* no more than background traffic */
};

/* A port of an HCA, or a network interface. */
struct local_carrier {
	char name[96];                   /* "mlx5_0/1", "eth2" */
	enum local_protocol protocol;    /* of a port */
	bool active;                     /* of a port, at the end */
	double gbps;                     /* of a port; 0: not known */
	const char *net;                 /* of a port: its interface, borrowed from the reading; NULL: none */
	bool ipoib;                      /* of an interface */
	bool counted;                    /* of an interface: its bytes are part of tcp_bytes */
	bool unused;                     /* of a port: carried next to nothing while others of its kind did */
	struct local_counters delta;
	uint32_t at_least;               /* counters that were reset or are saturated */
};

struct local_usage {
	int64_t elapsed_us;
	struct local_carrier *ports, *nets;
	size_t port_count, net_count;
	uint64_t rdma_bytes;  /* sent and received by HCAs, less IPoIB */
	uint64_t tcp_bytes;   /* sent and received by interfaces that are counted */
	uint64_t background;  /* bytes in this time that are no traffic of a job */
	unsigned used_ports;  /* that carried more than 1 % of the busiest one */
	double evenness;      /* coefficient of variation over active ports of the busiest one's kind; NAN: below two */
	bool at_least;        /* byte counters were reset */
	enum local_verdict verdict;
	struct text text;     /* the verdict with its numbers, one sentence */
	struct text notes;    /* further lines */
};

/*
 * local_usage_compute - compare two readings of a host
 * @after:       not to be freed before @ret
 * @elapsed_us:  between them
 *
 * RDMA if HCAs carried more than background traffic and at least a tenth of all bytes: a job that
 * reads its data over TCP uses RDMA all the same. IPoIB is TCP, and is subtracted from what the HCA
 * counted, with 40 bytes of InfiniBand headers per packet.
 * Return: 0, or ERR_NOMEM. local_usage_done() frees.
 */
int local_usage_compute(const struct local_host *before, const struct local_host *after, int64_t elapsed_us,
			struct local_usage *ret, struct error *err);
void local_usage_done(struct local_usage *usage);

/* local_verdict_name - "rdma", "tcp", "neither", "unknown". */
const char *local_verdict_name(enum local_verdict verdict);

#endif
