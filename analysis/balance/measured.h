/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_measured.h - tests M and H of one group, between the files of balance */
#ifndef IBWIRE_ANALYSIS_BALANCE_MEASURED_H
#define IBWIRE_ANALYSIS_BALANCE_MEASURED_H

#include <stdint.h>

#include "analysis/balance.h"

struct shape_group;

/* Members are ports of one switch, and those have numbers of a byte. */
#define BALANCE_MEMBERS_MOST 256

/* Bytes per us in bits per s. */
#define BALANCE_BITS_PER_S 8e6

/* Sums over the members of a group, before they are made shares. */
struct balance_sums {
	double capacity, rate, known_capacity, weight;
	double shortest_us, longest_us;
	uint32_t lids;
	unsigned working, known;
};

/*
 * balance_test_measured - state, m, h, hottest, excess and utilizations of a result
 * @result:  with its members, whose shares and tables are filled in, and with t
 */
void balance_test_measured(const struct balance_input *input, const struct balance_settings *settings,
			   const struct shape_group *group, struct balance_result *result,
			   const struct balance_sums *sums);

#endif
