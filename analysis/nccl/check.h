/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check.h - a log and the ports of its hosts, summed for nccl_check() */
#ifndef IBWIRE_ANALYSIS_NCCL_CHECK_H
#define IBWIRE_ANALYSIS_NCCL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/nccl.h"

enum { NCCL_RAILS_MOST = 64 };

/* All HCAs of one name: mlx5_0 of every host. */
struct nccl_rail {
	const char *name;
	uint32_t listed, used, idle; /* hosts that list it, that have connections over it, where it moved nothing */
	const char *idle_host;
	uint64_t idle_bytes;         /* the most of an idle one */
	enum nccl_fabric fabric;
	double bytes;                /* on the wire, both directions */
	uint32_t ports;              /* ports of which the bytes are known */
};

/* A host of the log. */
struct nccl_host_sum {
	bool connected, counted; /* it has connections over a network; a port with known bytes */
	bool torn;               /* the rest of another host's name in a torn message */
	double rate;             /* GB/s, of nccl_check_host_rate() */
};

struct nccl_check {
	const struct nccl_log *log;
	const struct nccl_port *ports;
	size_t port_count;
	struct nccl_verdict *verdict;
	struct nccl_rail rails[NCCL_RAILS_MOST];
	size_t rail_count, used_rails;
	struct nccl_host_sum *by_host;
	size_t hosts;                        /* that have connections over a network, or that a test lists */
	size_t counted;                      /* hosts of the log that have a port with known bytes */
	uint64_t fabrics[NCCL_FABRIC_COUNT]; /* connections; of listed HCAs if there are none */
	enum nccl_fabric fabric;             /* of most connections */
	uint64_t staged;                     /* RDMA connections without GDRDMA */
	double tx_bytes, rx_bytes;           /* of known ports of the log's hosts */
	size_t known, unknown;               /* ports of the log's hosts */
	bool named;                          /* names of HCAs agree: some port is an HCA of the log */
	size_t log_hosts;                    /* of the log, without torn ones */
	size_t ranks;                        /* of which there are messages */
	bool partial;                        /* messages of some ranks are not in the log */
};

/* nccl_check_sum - sum log and ports, which are given, into the other members, which are zeroed. */
void nccl_check_sum(struct nccl_check *check);

/* nccl_check_problems - a line for each problem of the log, with what it names most often. */
void nccl_check_problems(struct nccl_check *check);

/* nccl_check_add - add a line. @fix: action; NULL: none. */
__attribute__((format(printf, 4, 5)))
void nccl_check_add(struct nccl_check *check, enum nccl_severity severity, const char *fix, const char *fmt, ...);

/*
 * nccl_check_evenness - 1 less the coefficient of variation of the rails' bytes; negative: unknown
 * The fabric may call the rails otherwise than NCCL ("HCA-1"): then all rails with a port count, else those with
 * connections.
 */
double nccl_check_evenness(const struct nccl_check *check);

/* nccl_check_host_rate - line rate of the rails of one host in GB/s, of its ports, or as NCCL read them; 0: unknown */
double nccl_check_host_rate(const struct nccl_check *check);

#endif
