/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_flows.h - how many flows a load is made of, at least
 *
 * Counters tell loads and no flows. But who sends has one flow or more, and so has who
 * receives, because tables choose a member by destination. Of those who can have a part in the
 * load only so many are sure to have one as it takes to send, or receive, so much: of 16 busy
 * hosts with 80 Gb/s over the uplinks, one. Few flows are more uneven by chance than
 * many: so the smaller number of the two is taken, and loads that differ count as so many
 * equal ones as are as uneven as they: the square of their sum over the sum of their
 * squares (Kish, Survey Sampling, 1965: effective sample size).
 */
#ifndef IBWIRE_ANALYSIS_BALANCE_FLOWS_H
#define IBWIRE_ANALYSIS_BALANCE_FLOWS_H

struct balance_input;
struct balance_result;

struct flow_loads {
	double sum, squares;
};

/* flow_loads_add - another load; NAN and 0 are none. */
void flow_loads_add(struct flow_loads *loads, double rate);

/*
 * balance_flows - of one result's load
 * @rate:      of all its members, bytes per us
 * @received:  what all HCAs of the fabric receive
 * Return: NAN where nothing is known.
 */
double balance_flows(const struct balance_input *input, const struct balance_result *result, double rate,
		     const struct flow_loads *received);

#endif
