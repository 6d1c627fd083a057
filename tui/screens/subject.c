/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/subject.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabric/shape.h"
#include "tui/screens/app.h"

struct subject subject_of_port(const struct app *app, uint32_t port)
{
	struct subject subject = subject_of_node(app, app->live.shown->fabric->ports[port].node);

	subject.kind = SUBJECT_PORT;
	subject.port = app->live.shown->fabric->ports[port].num;
	return subject;
}

struct subject subject_of_node(const struct app *app, uint32_t node)
{
	return (struct subject){ .kind = SUBJECT_NODE, .node_guid = app->live.shown->fabric->nodes[node].guid };
}

struct subject subject_of_group(const struct app *app, const struct shape_group *group)
{
	struct subject subject = subject_of_node(app, group->node);

	subject.kind = SUBJECT_GROUP;
	if (group->kind != GROUP_UP)
		subject.peer_guid = app->live.shown->fabric->nodes[group->peer].guid;
	return subject;
}

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

const struct finding_row *subject_finding(const struct app *app, const struct subject *subject)
{
	for (size_t i = 0; subject->kind == SUBJECT_FINDING && i < app->moment.finding_count; i++)
		if (app->moment.findings[i].finding.id == subject->id)
			return &app->moment.findings[i];
	return NULL;
}

static void node_name(const struct app *app, uint64_t guid, char *ret, size_t size)
{
	const struct snapshot *shown = app->live.shown;
	uint32_t node = shown ? fabric_find_node(shown->fabric, guid) : FABRIC_NONE;

	if (node != FABRIC_NONE)
		snprintf(ret, size, "%s", app->table.order.names[node]);
	else
		snprintf(ret, size, "0x%016" PRIx64, guid);
}

const char *subject_name(const struct app *app, const struct subject *subject, char *ret, size_t size)
{
	const struct finding_row *row = subject_finding(app, subject);
	char name[NODE_NAME_SIZE], peer[NODE_NAME_SIZE];

	ret[0] = '\0';
	node_name(app, subject->node_guid, name, sizeof(name));
	switch (subject->kind) {
	case SUBJECT_NODE:
		snprintf(ret, size, "%s", name);
		break;
	case SUBJECT_PORT:
		snprintf(ret, size, "%s/%u", name, subject->port);
		break;
	case SUBJECT_GROUP:
		node_name(app, subject->peer_guid, peer, sizeof(peer));
		if (subject->peer_guid)
			snprintf(ret, size, "%s to %s", name, peer);
		else
			snprintf(ret, size, "%s uplinks", name);
		break;
	case SUBJECT_FINDING:
		snprintf(ret, size, "%s", row ? finding_kind_name(row->finding.kind) : "a finding that closed");
		break;
	case SUBJECT_FABRIC:
		snprintf(ret, size, "the fabric");
		break;
	default:
		break;
	}
	return ret;
}

bool subject_equal(const struct subject *a, const struct subject *b)
{
	return a->kind == b->kind && a->node_guid == b->node_guid && a->peer_guid == b->peer_guid &&
	       a->port == b->port && a->id == b->id;
}
