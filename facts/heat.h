/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heat.h - heat map of the links between two adjacent tiers: a row per lower switch, a column
 * per upper switch
 *
 * Switches not connected by such links are in separate blocks: pods of a three-tier fabric, or
 * planes. A row has cells only for the columns of its block. Pure: no database.
 */
#ifndef IBWIRE_FACTS_HEAT_H
#define IBWIRE_FACTS_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance;
struct balance_input;
struct error;
struct shape;

enum heat_sign {
	HEAT_NO_LINK, /* none was built */
	HEAT_MISSING, /* no link, but neighbouring switches have one */
	HEAT_DOWN,    /* all links are down */
	HEAT_UNKNOWN, /* up, but not read */
	HEAT_LOAD,
};

/* Displayed value: measured load, load predicted from the routes, their difference. */
enum heat_value { HEAT_MEASURED, HEAT_PREDICTED, HEAT_DIFFERENCE, HEAT_VALUES };

/* All links between two switches. Load is 0..1 of the link rate in one direction; NAN: unknown. */
struct heat_cell {
	float value[HEAT_VALUES]; /* of the link with the largest value; for the difference, the largest magnitude */
	float rate;               /* bytes per us, all links */
	uint32_t port;            /* index of the busiest link's port at the lower switch; SHAPE_NONE: none */
	uint16_t links, working;
	uint16_t missing;         /* fewer links than neighbouring pairs have, by this number */
	uint8_t sign;             /* enum heat_sign */
	bool degraded;            /* a link is narrower or slower than built */
};

struct heat_block {
	uint32_t first, count; /* columns */
};

struct heat {
	unsigned tier;          /* of the rows */
	bool inward;            /* loads down into the lower switches */
	size_t row_count, column_count, block_count;
	uint32_t *rows;         /* nodes, block by block, by rank */
	uint32_t *row_block;    /* parallel to them */
	size_t *row_cells;      /* first cell of each row */
	uint32_t *columns;      /* nodes, block by block, by rank */
	struct heat_block *blocks;
	struct heat_cell *cells;
	bool predicted;         /* whether any prediction is available */
};

/* Where loads come from. */
struct heat_source {
	const struct shape *shape;
	const uint32_t *nodes; /* all nodes in the order of rows and columns */
	unsigned tier;         /* of the rows, from 1 */
	/* The load of the link of a port at a lower switch; NAN: unknown. NULL: the next three are set. */
	double (*load)(const void *ctx, uint32_t port);
	const void *ctx;
	const struct balance_input *input;
	const struct balance *balance; /* of the same loads */
	bool inward;           /* loads down into the lower switches */
};

/*
 * heat_create - the matrix of a pair of tiers
 * Return: 0, also where there are no such tiers: then it has no rows. ERR_NOMEM.
 */
int heat_create(const struct heat_source *source, struct heat *ret, struct error *err);
void heat_done(struct heat *heat);

/* heat_cell - of a row and a column of its block; NULL where there is none. */
const struct heat_cell *heat_cell(const struct heat *heat, size_t row, size_t column);

/* heat_columns - how many columns a row has. heat_column - the node of one of them. */
size_t heat_columns(const struct heat *heat, size_t row);
uint32_t heat_column(const struct heat *heat, size_t row, size_t column);

/* heat_order - rows as they are (by block and rank), or the hottest first. @ret: row_count of them. */
void heat_order(const struct heat *heat, enum heat_value value, bool hottest_first, uint32_t *ret);

/* heat_worst - column of the hottest cell of a row; down, missing or degraded links come first. */
size_t heat_worst(const struct heat *heat, enum heat_value value, size_t row);

#endif
