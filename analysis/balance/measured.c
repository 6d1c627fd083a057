/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/balance/measured.h"

#include <math.h>
#include <stdlib.h>

#include "fabric/shape.h"

/* Full links are equally hot, whichever was read later: within this tolerance the tables decide. */
#define AS_HOT 0.95

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool stalls_more(const struct shape_group *group, const struct balance_settings *settings,
			const struct balance_result *result)
{
	double others[BALANCE_MEMBERS_MOST], stall = result->members[result->hottest].stall;
	uint32_t count = 0;

	if (isnan(stall) || stall < settings->harm_stall)
		return false;
	for (uint32_t i = 0; i < group->count && count < BALANCE_MEMBERS_MOST; i++)
		if (i != result->hottest && result->members[i].works && !isnan(result->members[i].stall))
			others[count++] = result->members[i].stall;
	if (!count)
		return false;
	qsort(others, count, sizeof(others[0]), compare_doubles);
	return stall >= settings->harm_stall_ratio * (others[(count - 1) / 2] + others[count / 2]) / 2;
}

static bool harms(const struct shape_group *group, const struct balance_settings *settings,
		  const struct balance_result *result)
{
	const struct balance_member *hottest = &result->members[result->hottest];
	bool spare = false;

	for (uint32_t i = 0; i < group->count; i++)
		spare |= result->members[i].works && result->members[i].utilization <
			 settings->harm_sibling * hottest->utilization;
	return spare && (hottest->utilization >= settings->harm_utilization || hottest->xmit_discards > 0 ||
			 stalls_more(group, settings, result));
}

static uint32_t find_hottest(const struct shape_group *group, const struct balance_result *result)
{
	uint32_t hottest = UINT32_MAX;
	double most = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];
		double given = result->t && member->lids_mean > 0 ? member->lids / member->lids_mean : 0;

		if (!member->works || !(member->utilization >= AS_HOT * result->max_utilization))
			continue;
		if (hottest == UINT32_MAX || given > most ||
		    (given == most && member->utilization > result->members[hottest].utilization)) {
			hottest = i;
			most = given;
		}
	}
	return hottest;
}

void balance_test_measured(const struct balance_input *input, const struct balance_settings *settings,
			   const struct shape_group *group, struct balance_result *result,
			   const struct balance_sums *sums)
{
	double window_us = input->window_us > 0 ? input->window_us : sums->longest_us;

	result->mean_utilization = result->max_utilization = result->excess = NAN;
	result->hottest = UINT32_MAX;
	if (!sums->known || sums->known_capacity <= 0 || sums->known < settings->coverage * sums->working ||
	    sums->longest_us - sums->shortest_us > settings->spread * window_us)
		return;
	result->mean_utilization = sums->rate * BALANCE_BITS_PER_S / sums->known_capacity;
	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];

		if (member->works && !isnan(member->utilization) &&
		    !(member->utilization <= result->max_utilization))
			result->max_utilization = member->utilization;
	}
	result->hottest = find_hottest(group, result);
	result->state = result->mean_utilization >= settings->active_mean ||
			result->max_utilization >= settings->active_member ? BALANCE_ACTIVE : BALANCE_IDLE;
	if (result->mean_utilization > 0)
		result->excess = result->max_utilization / result->mean_utilization - 1;
	if (result->state != BALANCE_ACTIVE || result->hottest == UINT32_MAX)
		return;
	result->m = result->excess > settings->measured_excess;
	result->h = harms(group, settings, result);
}
