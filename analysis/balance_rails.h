/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_rails.h - what should carry the same, beside each other: rails, planes, switches of a tier, a host's HCAs
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_RAILS_H
#define IBWIRE_ANALYSIS_BALANCE_RAILS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct balance_input;
struct balance_settings;
struct shape_host;

/* HCAs of one host that are looked at, at most. */
#define BALANCE_RAILS_MOST 32

/* What some ports carried together; relative to others of its set. */
struct balance_amount {
	const char *kind;
	uint32_t index;        /* of the rail, plane, node or host */
	double xmit, rcv;      /* bytes per us */
	double capacity;       /* bits per s of the ports that were read, one direction */
	uint32_t active, known;
	double share, fair;    /* of its set; NAN */
	double excess;         /* over its set's mean; of a host: of its busiest rail over their mean; NAN */
};

/* balance_amount_add - one more port, where it is Active; not read: it counts in .active only. */
void balance_amount_add(const struct balance_input *input, uint32_t port, struct balance_amount *amount);

/* balance_amount_load - sent and received, bytes per us, by capacity; NAN. Half of it is that of one direction. */
double balance_amount_load(const struct balance_amount *amount);

/* balance_amounts_most - the largest of those loads, 0 where none is known. */
double balance_amounts_most(const struct balance_amount *amounts, size_t count);

/* balance_amounts_compare - shares and excess of those that belong together. */
void balance_amounts_compare(struct balance_amount *amounts, size_t count);

/*
 * balance_host_rails - a host's HCAs beside each other, in the order of the shape
 * @rails:  BALANCE_RAILS_MOST of them; .index is the node
 * @sum:    of all of them; its excess is that of the busiest; kind and index stay
 * Return: how many HCAs.
 */
uint32_t balance_host_rails(const struct balance_input *input, const struct shape_host *host,
			    struct balance_amount *rails, struct balance_amount *sum);

/* balance_host_is_busy - is it busy enough that its rails can be held against each other? */
bool balance_host_is_busy(const struct balance_amount *sum, const struct balance_settings *settings);

/* balance_compare_excess - for qsort of amounts: the most uneven first; by index where whole percents are the same. */
int balance_compare_excess(const void *a, const void *b);

#endif
