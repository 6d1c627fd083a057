/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* group.h - the cause of the load of a group of links, in one word */
#ifndef IBWIRE_FACTS_GROUP_H
#define IBWIRE_FACTS_GROUP_H

#include <stdbool.h>
#include <stddef.h>

struct balance;
struct balance_result;
struct finding;
struct order;
struct shape;
struct shape_group;
struct text;

/* Numbers of results: a group has one for each direction. */
struct group_counts {
	size_t causes, uneven, chance; /* with a cause; uneven without one; uneven within chance */
	size_t second;                 /* balance_is_second() */
	size_t fine, idle, unknown;
};

/*
 * group_count - count a result that balance_is_of_interest()
 * Return: balance_is_reported().
 */
bool group_count(const struct shape *shape, const struct balance *balance, const struct balance_result *result,
		 struct group_counts *counts);

/*
 * group_append_counts - "3 groups with a cause (1 in both directions), 5 ..."
 * group_append_others - "92 balanced, 22 idle, 0 unknown": the groups that are not reported
 */
void group_append_counts(const struct group_counts *counts, struct text *text);
void group_append_others(const struct group_counts *counts, struct text *text);

/* group_append_name - "leaf01 uplinks out", "spine01 to leaf01". @names: of the nodes of the shape */
void group_append_name(const struct shape *shape, const struct order *names, const struct balance_result *result,
		       struct text *text);

/* group_has_finding - whether a finding is about the imbalance of a group in the direction of a result. */
bool group_has_finding(const struct shape *shape, const struct balance_result *result, const struct finding *finding);

/*
 * group_cause - the word for the cause of a result
 * @found:  cause of the open finding about it, which knows more windows than the result; or NULL or ""
 * Return: balance_cause_name(), else @found; without a cause "(idle)", "(unknown)", "ok": uneven within chance,
 * "(echo)", or "".
 */
const char *group_cause(const struct shape *shape, const struct balance *balance, const struct balance_result *result,
			const char *found);

#endif
