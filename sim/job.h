/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job.h - what runs on the fabric: jobs, as typed, and the flows they consist of
 *
 * A job of ring all-reduce has one ring on each rail: host i sends to host
 * i + 1, the last one to the first.
 */
#ifndef IBWIRE_SIM_JOB_H
#define IBWIRE_SIM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

/* An HCA of a host, by the device's number in its description ("node0001 mlx5_3": rail 3). */
struct host_hca {
	uint32_t port; /* its first cabled port, index into fabric.ports */
	uint32_t rail;
	uint32_t host; /* index into host_table.hosts */
};

struct host {
	char *name;
	uint64_t system_guid;
	size_t first_hca, hca_count; /* in host_table.hcas, ordered by rail */
};

/*
 * The hosts of a fabric that may have jobs, in natural order of their names.
 * A CA whose description is not "HOST DEVICE" is a host of its own, named as
 * the node is. Management hosts and aggregation nodes are none.
 */
struct host_table {
	struct host *hosts;
	size_t host_count;
	struct host_hca *hcas;
	size_t hca_count;
};

int host_table_create(const struct fabric *fabric, struct host_table *ret, struct error *err);
void host_table_done(struct host_table *table);

struct flow {
	uint32_t from, to;  /* ports of CAs, indices into fabric.ports */
	uint32_t job;
	double demand_bits_per_s; /* what it would send if nothing held it back */
};

struct flow_list {
	struct flow *flows;
	size_t count, capacity;
	bool *coupled;     /* by job: do all its flows run at the rate of the slowest */
	size_t job_count, job_capacity;
};

/*
 * job_parse - add a job's flows
 * @spec:  "ring hosts=node0001-node0016,node0020 rails=0-7 rate=180Gb/s stride=1 [coupled=no]";
 *         hosts=all and rails=all are the defaults. rate is that of each flow, in bits
 *         as the counters count them; by default 80 % of what its HCA's link carries. With a stride
 *         host i sends to host i + stride: in rings of their own where it divides their number
 *
 * A host without an HCA of a rail is left out of that rail's ring; a rail with
 * fewer than two hosts has none.
 * Return: 0; ERR_USAGE, naming the word that is wrong; ERR_NOMEM.
 */
int job_parse(const char *spec, const struct fabric *fabric, const struct host_table *table, struct flow_list *list,
	      struct error *err);
void flow_list_done(struct flow_list *list);

/* jobs_check - would all these be jobs on this fabric? Return: as job_parse. */
int jobs_check(const struct fabric *fabric, const char *const *specs, size_t count, struct error *err);

#endif
