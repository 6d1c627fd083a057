/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/uplinks.h"

#include "base/text.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/group.h"
#include "pages/balance.h"

bool uplinks_are_listed(const struct balance_report *report, const struct shape_group *group)
{
	return group->kind == GROUP_UP && balance_is_selected(report, group);
}

int uplinks_compare(const struct uplinks *left, double left_rank, const struct uplinks *right, double right_rank)
{
	if (left_rank != right_rank)
		return left_rank > right_rank ? -1 : 1;
	return left->group != right->group ? (left->group < right->group ? -1 : 1) :
	       (int)left->direction - (int)right->direction;
}

void uplinks_put(struct result *result, const struct balance_report *report, const struct uplinks *uplinks)
{
	const struct shape_group *group = &report->shape->groups[uplinks->group];
	const struct node *node = &report->moment.fabric->nodes[group->node];
	const struct balance_result named = { .group = uplinks->group, .direction = uplinks->direction };
	struct text name = { 0 };

	group_append_name(report->shape, &report->moment.names_shown, &named, &name);
	result_text(result, UPLINKS_NAME, result_chars(result, &name));
	text_done(&name);
	result_unsigned(result, UPLINKS_NODE_GUID, node->guid);
	result_text(result, UPLINKS_NODE, node->name);
	result_integer(result, UPLINKS_TIER, group->tier);
	result_text(result, UPLINKS_DIRECTION, uplinks->direction == BALANCE_XMIT ? "xmit" : "rcv");
}
