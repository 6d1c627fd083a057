/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_tables.h - what the forwarding tables give each port to do, for all switches at once
 *
 * Destinations are the LIDs (with LMC all of them) of what routes_is_destination() says.
 * A destination on this very switch leaves by its own port, and so is in no group.
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

struct balance_dest {
	double weight;  /* bytes per us that it receives, its port's divided among its LIDs */
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
	uint16_t *lids;                     /* theirs once more, side by side */
	size_t dest_count;
	bool weights_known;                 /* of enough of them it is known what they received */
	const struct route_table **by_node; /* NULL: not known */
	struct balance_given *given;        /* by port of a switch: what its table sends out of it */
	/*
	 * By port of a switch: what goes out of it where each switch with hosts sends to each destination
	 * elsewhere in proportion to what its hosts send and the destination receives; NULL: not worked out.
	 */
	double *carried;
};

/*
 * balance_tables_init - balance_tables_done() frees it
 * @sent:      by node: bytes per us that the HCAs on a switch send into it
 * @coverage:  weights are known where so much of the destinations was read
 *
 * Cost: each switch's entry of each destination once, and balance_carry().
 * Return: 0 or ERR_NOMEM.
 */
int balance_tables_init(struct balance_tables *tables, const struct balance_input *input, const double *sent,
			double coverage, struct error *err);
void balance_tables_done(struct balance_tables *tables);

#endif
