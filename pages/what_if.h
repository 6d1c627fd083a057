/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * what_if.h - what happens to hosts, capacity and load if links or nodes are taken out
 *
 * what_if_compute() computes everything from a fabric, its forwarding tables and the load of a window, all of which the
 * caller has; what_if_page() shows it. docs/what-if.md describes the model.
 */
#ifndef IBWIRE_PAGES_WHAT_IF_H
#define IBWIRE_PAGES_WHAT_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/cut_off.h"
#include "fabric/routes.h"
#include "fabric/speed.h"
#include "fabric/spread.h"
#include "storage/jobs.h"

struct error;
struct fabric;
struct lft;
struct order;
struct page;
struct shape;
struct shape_settings;

struct what_if_rate {
	uint32_t port;
	enum link_speed speed;
	uint8_t width; /* LINK_WIDTH_NONE: unchanged */
};

/* A direction of a link between switches. Loads are shares of its rate; NAN: unknown, or taken out. */
struct what_if_link {
	uint32_t port;    /* that sends */
	double measured;  /* before */
	double before, after; /* predicted; above 1: more than the link can carry */
};

/* Sums of a tier: its uplinks. */
struct what_if_tier {
	unsigned tier;
	uint32_t switches, links_before, links_after;
	uint32_t fewest_before, fewest_after; /* uplinks of the switch that has fewest of them */
	uint32_t fewest_node;                 /* this switch, after */
	uint64_t up_before, up_after;         /* bits per second, one way */
	double over_before, over_after;       /* oversubscription; NAN: unknown */
};

/* A running job on hosts that are cut off, or of which paths change. */
struct what_if_job {
	char *name;       /* as texts name it */
	uint32_t hosts, cut_off, reduced;
	double changed;   /* share of the paths between its hosts that use what is taken out, 0..1; NAN: unknown */
};

struct what_if {
	/* All borrowed from the caller. */
	const struct fabric *fabric;
	const struct shape *shape;
	const struct shape_settings *settings; /* of the shape; may be NULL */
	const struct order *shown;
	const bool *nodes, *ports;   /* by node, by port: taken out; NULL: none */
	const struct what_if_rate *rates;
	size_t rate_count;
	const struct routes *routes; /* today's tables; NULL: unknown, then they are computed */
	const struct lft *opensm;    /* tables and LIDs after it as opensm computed them; NULL: computed by @engine */
	const double *xmit, *rcv, *measured; /* by port, bits per second; NULL: equal demand of all hosts */
	int64_t since_us, until_us;  /* window of the load; 0: none */
	enum spread_engine engine;
	bool keep;                   /* entries of today's tables that remain on shortest paths are kept */

	/* Results. */
	struct fabric *before, *after; /* variants: with LIDs; with the changes, too */
	struct shape *shape_after;
	struct routes routes_before, routes_after;
	bool updn_failed;            /* minhop was used instead */
	uint32_t links_taken, nodes_taken;
	struct cut_off cut_off;
	struct leaf_paths paths_before, paths_after;
	struct what_if_tier tiers[8];
	size_t tier_count;
	struct what_if_link *links;  /* busiest after first */
	size_t link_count;
	double busiest_before, busiest_after; /* shares of a rate; NAN: no links between switches */
	double fit_error;            /* of the estimated demand against measured loads; NAN: not fitted */
	uint32_t unknown_ports;      /* HCA ports of which the traffic of the window is unknown: it counts as 0 */
	double lost;                 /* share of the demand for which the tables have no path */
	struct what_if_job *jobs;
	size_t job_count, job_capacity;
	bool safe;
};

/*
 * what_if_prepare - make the variants @before and @after, and find the hosts that are cut off
 * what_if_compute - compute the other results; what_if_done() frees all of them, also after an error
 * Return: 0; ERR_USAGE: nothing that has a link is taken out or changed, or no link or host would be left; ERR_IO: more
 * ports than LIDs; ERR_NOMEM.
 */
int what_if_prepare(struct what_if *what_if, struct error *err);
int what_if_compute(struct what_if *what_if, struct error *err);
void what_if_done(struct what_if *what_if);

/* what_if_add_job - add a running job to the results, if it is touched. Return: 0 or ERR_NOMEM. */
int what_if_add_job(struct what_if *what_if, const struct job *job, struct error *err);

/* what_if_page - the page, which borrows @what_if until it is rendered. @all: all rows in text */
struct page *what_if_page(const struct what_if *what_if, bool all);

/* what_if_append_link - "leaf01/12 to spine02/3" */
struct text;
void what_if_append_link(const struct what_if *what_if, uint32_t port, struct text *text);

#endif
