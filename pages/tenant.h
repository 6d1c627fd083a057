/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tenant.h - the load of a tenant on the uplinks of each switch: of a partition, or of a list of hosts
 *
 * Counters do not show whose packets a link between switches carries. The load is estimated from what the HCA ports of
 * the tenant and of the others send and receive, along the forwarding tables (analysis/predict.h).
 */
#ifndef IBWIRE_PAGES_TENANT_H
#define IBWIRE_PAGES_TENANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "pages/uplinks.h"

struct balance_report;
struct error;
struct page;
struct pkeys;
struct host_set;
struct shape;

/* The uplinks of a switch in one direction. Bits per second. */
struct tenant_group {
	struct uplinks at;
	double capacity;            /* of the links that work */
	struct measure load;        /* of all packets */
	/* Estimates, no larger than the load. */
	struct measure tenant;      /* if its ports communicate with each other as far as their counters permit */
	struct measure open;        /* if they communicate with all ports alike; NAN: of a partition */
};

struct tenant_load {
	const struct balance_report *report; /* borrowed: fabric, shape, tables, loads, window, selected groups */
	const char *name;                    /* borrowed: "partition 0x0012" */
	bool *ports;                         /* by port: HCA ports of the tenant; owned */
	uint32_t hosts, port_count;
	bool is_partition;
	uint32_t shared;                     /* ports of the partition that are in others, too, and not counted */

	/* Results of tenant_load_compute(). */
	uint32_t unknown;                    /* ports of unknown traffic, which counts as 0 */
	double xmit, rcv;                    /* of the ports of the tenant */
	double lost;                         /* share of its traffic for which the tables have no path */
	double fit_error, open_fit_error;    /* of both estimates (analysis/predict.h); NAN */
	struct tenant_group *groups;         /* busiest first; owned */
	size_t group_count;
};

/*
 * tenant_of_partition - the HCA ports of a partition
 * Ports that are members of further partitions than the default one, such as those of storage that serves several
 * tenants, count only if the partition has no others.
 * @base:  of the partition
 * tenant_of_hosts - those of hosts
 * @hosts:  as batch systems call them
 *
 * Return: 0; ERR_USAGE: no port is a member, or the fabric has none of the hosts; ERR_UNAVAILABLE: no P_Keys were read;
 * ERR_NOMEM.
 */
int tenant_of_partition(struct tenant_load *tenant, const struct shape *shape, const struct pkeys *pkeys, uint16_t base,
			struct error *err);
int tenant_of_hosts(struct tenant_load *tenant, const struct shape *shape, const struct host_set *hosts,
		    struct error *err);

/*
 * tenant_load_compute - estimate the load on the selected groups of uplinks
 * Without forwarding tables there are no results: group_count is 0. Return: 0 or ERR_NOMEM.
 */
int tenant_load_compute(struct tenant_load *tenant, struct error *err);
void tenant_load_done(struct tenant_load *tenant);

/* tenant_page - the page, which borrows @tenant until it is rendered. @tenant->report->all: all groups */
struct page *tenant_page(const struct tenant_load *tenant);

#endif
