/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/group.h"

#include "analysis/balance.h"
#include "analysis/finding.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "facts/order.h"

bool group_count(const struct shape *shape, const struct balance *balance, const struct balance_result *result,
		 struct group_counts *counts)
{
	bool reported = balance_is_reported(result);

	if (result->cause != BALANCE_NONE)
		(*(balance_is_second(result) ? &counts->second : &counts->causes))++;
	else if (reported)
		(*(balance_is_chance(shape, balance, result) ? &counts->chance : &counts->uneven))++;
	else if (result->state == BALANCE_ACTIVE)
		counts->fine++;
	else
		(*(result->state == BALANCE_IDLE ? &counts->idle : &counts->unknown))++;
	return reported;
}

void group_append_counts(const struct group_counts *counts, struct text *text)
{
	text_appendf(text, "%zu %s with a cause", counts->causes, counts->causes == 1 ? "group" : "groups");
	if (counts->second)
		text_appendf(text, " (%zu in both directions)", counts->second);
	text_appendf(text, ", %zu imbalanced without a cause, %zu ok within chance", counts->uneven, counts->chance);
}

void group_append_others(const struct group_counts *counts, struct text *text)
{
	text_appendf(text, "%zu balanced, %zu idle, %zu unknown", counts->fine, counts->idle, counts->unknown);
}

void group_append_name(const struct shape *shape, const struct order *names, const struct balance_result *result,
		       struct text *text)
{
	const struct shape_group *group = &shape->groups[result->group];
	bool out = result->direction == BALANCE_XMIT;

	if (group->kind == GROUP_UP)
		text_appendf(text, "%s uplinks %s", names->names[group->node], out ? "out" : "in");
	else
		text_appendf(text, "%s %s %s", names->names[group->node], out ? "to" : "from",
			     names->names[group->peer]);
}

bool group_has_finding(const struct shape *shape, const struct balance_result *result, const struct finding *finding)
{
	const struct shape_group *group = &shape->groups[result->group];
	uint8_t port = group->kind == GROUP_UP ? 0 : shape->fabric->ports[shape->members[group->first]].num;

	return finding->kind == FINDING_UPLINK_IMBALANCE && finding->port == port &&
	       finding->tag == result->direction + 1 &&
	       finding->node_guid == shape->fabric->nodes[group->node].guid;
}

const char *group_cause(const struct shape *shape, const struct balance *balance, const struct balance_result *result,
			const char *found)
{
	if (result->cause != BALANCE_NONE)
		return balance_cause_name(result->cause);
	if (found && *found)
		return found;
	if (result->state != BALANCE_ACTIVE)
		return result->state == BALANCE_IDLE ? "(idle)" : "(unknown)";
	if (balance_is_chance(shape, balance, result))
		return "ok";
	return balance_is_echo(shape, balance, result) ? "(echo)" : "";
}
