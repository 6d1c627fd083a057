/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job.h - hosts, jobs and their flows
 * A ring all-reduce has one ring per rail: host i sends to host i + 1, the last one to the first.
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
	bool idle;     /* it is left out of all jobs */
};

struct host {
	char *name;
	bool frozen;    /* its processes have stopped: in jobs with iterations it computes for ever */
	double slower;  /* it computes so much longer: 0.2 is 20 % */
	size_t first_hca, hca_count; /* in host_table.hcas, ordered by rail */
};

/*
 * The hosts of a fabric that can take part in jobs, in natural order of their names. A CA whose
 * description is not "HOST DEVICE" is a host with the name of the node. Management hosts and aggregation
 * nodes are excluded.
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
	double demand_bits_per_s; /* rate without congestion */
	uint32_t host;       /* that sends: index into host_table.hosts */
	uint32_t previous, next; /* of its ring: the flows into the host that sends, and out of the one that receives */
	uint32_t ring_hosts; /* hosts of that ring */
};

/* When a job communicates; zeroed: all the time. */
struct job_rhythm {
	double iteration_s;  /* without congestion; 0: it has no iterations */
	double wire;         /* share of an iteration in which it communicates, above 0 to 1 */
	double checkpoint_every_s, checkpoint_s; /* pauses; 0: none */
	double start_s, length_s; /* since the traffic began; length 0: until the end */
};

struct flow_list {
	struct flow *flows;
	size_t count, capacity;
	bool *coupled;     /* by job: all its flows have the rate of the slowest */
	struct job_rhythm *rhythms; /* by job; NULL: all communicate all the time */
	size_t job_count, job_capacity, rhythm_capacity;
	const struct host *hosts;   /* of the host table; borrowed */
};

/*
 * job_parse - add the flows of a job
 * @spec:  "ring hosts=node0001-node0016,node0020 rails=0-7 rate=180Gb/s stride=1 [coupled=no]";
 *         [iteration=4s wire=30% checkpoint=60s/5s start=60s length=30s];
 *         hosts=all and rails=all are the defaults. rate applies to each flow, in bits as counted by
 *         PortXmitData; the default is 80 % of the rate of its HCA's link. With a stride host i
 *         sends to host i + stride; if it divides the number of hosts, these are separate rings. With
 *         iteration= it computes and communicates in turns: its flows send what their rate transfers in the
 *         share wire= of the iteration (30 %), which then is longer if they get less; every checkpoint=
 *         it pauses for the second time. start=, length=: since the traffic began
 *
 * A host without an HCA of a rail is not in the ring of that rail; a rail with fewer than two hosts has
 * no ring.
 * Return: 0; ERR_USAGE with the invalid part; ERR_NOMEM.
 */
int job_parse(const char *spec, const struct fabric *fabric, const struct host_table *table, struct flow_list *list,
	      struct error *err);
void flow_list_done(struct flow_list *list);

/* job_parse_hosts - "all" or "node0001-node0016,node0020". @ret: flags by host. Return: 0 or ERR_USAGE. */
int job_parse_hosts(const char *list, const struct host_table *table, bool *ret, struct error *err);

/* job_parse_rails - "all" or "0-7,9", up to 63. @ret: bits. Return: 0 or ERR_USAGE. */
int job_parse_rails(const char *list, uint64_t *ret, struct error *err);

/* jobs_check - validate jobs for a fabric. Return: as job_parse. */
int jobs_check(const struct fabric *fabric, const char *const *specs, size_t count, struct error *err);

#endif
