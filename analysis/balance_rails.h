/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_rails.h - comparison of rails, planes, switches of a tier, and the HCAs of a host */
#ifndef IBWIRE_ANALYSIS_BALANCE_RAILS_H
#define IBWIRE_ANALYSIS_BALANCE_RAILS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct balance_input;
struct balance_settings;
struct shape_host;

/* Maximum number of HCAs of one host. */
#define BALANCE_RAILS_MOST 32

/* Load of a set of ports, and its share among comparable sets. */
struct balance_amount {
	const char *kind;
	uint32_t index;        /* of the rail, plane, node or host */
	double xmit, rcv;      /* bytes per us */
	double capacity;       /* bits per s of the ports that were read, one direction */
	uint32_t active, known;
	double share, fair;    /* among comparable sets; NAN: unknown */
	double excess;         /* above the mean; of a host: of its busiest rail; NAN: unknown */
};

/* balance_amount_add - add an Active port; if it was not read, it counts in .active only. */
void balance_amount_add(const struct balance_input *input, uint32_t port, struct balance_amount *amount);

/*
 * balance_amount_load - bytes per us sent and received relative to capacity, both directions; NAN:
 * unknown.
 */
double balance_amount_load(const struct balance_amount *amount);

/* balance_amounts_most - the largest of those loads; 0: all unknown. */
double balance_amounts_most(const struct balance_amount *amounts, size_t count);

/* balance_amounts_compare - set share, fair and excess of comparable amounts. */
void balance_amounts_compare(struct balance_amount *amounts, size_t count);

/*
 * balance_host_rails - loads of the HCAs of a host, in the order of the shape
 * @rails:  BALANCE_RAILS_MOST of them; .index is the node
 * @sum:    of all HCAs; its excess is that of the busiest one; kind and index are unchanged
 * Return: number of HCAs.
 */
uint32_t balance_host_rails(const struct balance_input *input, const struct shape_host *host,
			    struct balance_amount *rails, struct balance_amount *sum);

/* balance_host_is_busy - the host is busy enough to compare its rails. */
bool balance_host_is_busy(const struct balance_amount *sum, const struct balance_settings *settings);

/*
 * balance_compare_excess - for qsort of amounts: most uneven first; equal whole percents by index.
 */
int balance_compare_excess(const void *a, const void *b);

#endif
