/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.h - load that the forwarding tables assign to each port, for all switches at once
 *
 * Destinations are the LIDs (with LMC all of them) of the ports of routes_is_destination(). A
 * destination on the switch itself leaves by its own port, which is in no group.
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_TABLES_H
#define IBWIRE_ANALYSIS_BALANCE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance_input;
struct error;
struct fabric;
struct route_table;
struct shape;

struct balance_dest {
	double weight;  /* bytes per us that it receives; those of a port divided by its LIDs */
	uint32_t port;
	uint16_t lid;
};

struct balance_given {
	double weight;
	uint32_t lids;
};

struct balance_tables {
	const struct fabric *fabric;
	struct balance_dest *dests;         /* in order of LID */
	uint16_t *lids;                     /* their LIDs in one array */
	size_t dest_count;
	bool weights_known;                 /* the received load of enough destinations is known */
	bool all_known;                     /* that of all of them is */
	const struct route_table **by_node; /* NULL: unknown */
	struct balance_given *given;        /* by port of a switch: load that its table sends out of it */
	/*
	 * By port of a switch: predicted output if each switch with hosts sends to each remote
	 * destination in proportion to the load that its hosts send and the destination receives;
	 * NULL: not computed.
	 */
	double *carried;
};

/*
 * balance_tables_init - compute the tables; balance_tables_done() frees them
 * @sent:      by node: bytes per us that the HCAs on a switch send into it
 * @coverage:  minimum share of destinations that were read, for weights_known
 *
 * Cost: each switch's entry of each destination once, and predictions.
 * Return: 0 or ERR_NOMEM.
 */
int balance_tables_init(struct balance_tables *tables, const struct balance_input *input, const double *sent,
			double coverage, struct error *err);
void balance_tables_done(struct balance_tables *tables);

#endif
