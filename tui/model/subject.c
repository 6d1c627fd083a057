/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/subject.h"

#include "fabric/shape.h"
#include "storage/findings.h"

uint32_t subject_group(const struct shape *shape, const struct subject *subject)
{
	uint32_t node = shape ? fabric_find_node(shape->fabric, subject->node_guid) : FABRIC_NONE;

	if (subject->kind != SUBJECT_GROUP || node == FABRIC_NONE)
		return SHAPE_NONE;
	if (!subject->peer_guid)
		return shape->nodes[node].up_group;
	for (uint32_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		if (group->node == node && group->kind != GROUP_UP &&
		    shape->fabric->nodes[group->peer].guid == subject->peer_guid)
			return i;
	}
	return SHAPE_NONE;
}

struct subject subject_of_finding(const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	struct subject subject = { .kind = SUBJECT_FABRIC, .node_guid = finding->node_guid };

	if (!finding->node_guid)
		return subject;
	if (finding->port) {
		subject.kind = SUBJECT_PORT;
		subject.port = finding->port;
	} else if (finding->kind == FINDING_UPLINK_IMBALANCE || finding->kind == FINDING_UPLINKS_MISSING) {
		subject.kind = SUBJECT_GROUP;
		subject.peer_guid = finding->peer_guid;
	} else {
		subject.kind = SUBJECT_NODE;
	}
	return subject;
}

bool subject_equal(const struct subject *a, const struct subject *b)
{
	return a->kind == b->kind && a->node_guid == b->node_guid && a->peer_guid == b->peer_guid &&
	       a->port == b->port && a->id == b->id;
}
