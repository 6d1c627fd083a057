/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* measured.h - tests M and H of one group */
#ifndef IBWIRE_ANALYSIS_BALANCE_MEASURED_H
#define IBWIRE_ANALYSIS_BALANCE_MEASURED_H

#include <stdint.h>

#include "analysis/balance.h"

struct shape_group;

/* Members are ports of one switch, whose numbers fit a byte. */
#define BALANCE_MEMBERS_MOST 256

/* Bytes per us in bits per s. */
#define BALANCE_BITS_PER_S 8e6

/* Sums over the members of a group, used to compute shares. */
struct balance_sums {
	double capacity, rate, known_capacity, weight;
	double shortest_us, longest_us;
	uint32_t lids;
	unsigned working, known;
};

/*
 * balance_test_measured - set state, m, h, hottest, excess and utilizations of a result
 * @result:  its members have shares and table data, and t is set
 */
void balance_test_measured(const struct balance_input *input, const struct balance_settings *settings,
			   const struct shape_group *group, struct balance_result *result,
			   const struct balance_sums *sums);

#endif
