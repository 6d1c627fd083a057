/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/status.h"
#include "base/err.h"
#include "fabric/shape.h"
#include "facts/health_rows.h"
#include "storage/reader.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"

/*
 * Kinds of rows, in display order; rows of single switches follow in the array and precede on the
 * screen.
 */
enum {
	KIND_OUT,                       /* by class of host: what its HCAs send */
	KIND_IN = KIND_OUT + CLASS_COUNT,
	KIND_UP = KIND_IN + CLASS_COUNT, /* by tier */
	KIND_DOWN = KIND_UP + SHAPE_TIERS_MAX + 1,
	KIND_ACROSS = KIND_DOWN + SHAPE_TIERS_MAX + 1,
	KIND_COUNT,
	NO_KIND = -1,
};

#define ROWS_MAX (KIND_COUNT + GROUP_OWN_MAX)

struct making {
	const struct port_table *table;
	const struct snapshot_context *context;
	const struct fabric *fabric;
	const struct shape *shape;
	struct port_group *rows; /* ROWS_MAX */
	uint32_t own_group[GROUP_OWN_MAX]; /* of the shape */
	size_t own_count;
	bool has_own[KIND_COUNT];
};

/* Which kind of row a port belongs to. */
static int kind_of(const struct making *making, uint32_t index)
{
	const struct fabric *fabric = making->fabric;
	const struct shape *shape = making->shape;
	const struct port *port = &fabric->ports[index];
	const struct shape_node *node = &shape->nodes[port->node];

	if (port->peer == FABRIC_NONE)
		return NO_KIND;
	if (fabric->nodes[port->node].type != NODE_SWITCH)
		return KIND_OUT + node->class;
	switch (shape->ports[index].way) {
	case WAY_HOST:
		return KIND_IN + shape->nodes[fabric->ports[port->peer].node].class;
	case WAY_UP:
		return KIND_UP + node->tier;
	case WAY_DOWN:
		return KIND_DOWN + node->tier;
	default:
		return KIND_ACROSS;
	}
}

/* The row of a single switch for a group of the shape, or NO_KIND. */
static int own_row(const struct making *making, uint32_t group)
{
	for (size_t i = 0; group != SHAPE_NONE && i < making->own_count; i++)
		if (making->own_group[i] == group)
			return (int)(KIND_COUNT + i);
	return NO_KIND;
}

/* The row of a port: that of its switch if there is one, else that of its kind. */
static int row_of(const struct making *making, uint32_t index)
{
	int own = own_row(making, making->shape->ports[index].group);

	return own != NO_KIND ? own : kind_of(making, index);
}

static void add_load(struct port_group *row, const struct port_facts *port, uint32_t index)
{
	double percent = port->xmit_percent.value;
	int bucket;

	if (isnan(percent) && (port->status == STATUS_UNSUPPORTED || port->status == STATUS_UNPLANNED))
		return;
	row->mean_percent = measure_add(row->mean_percent, port->xmit_percent);
	row->bytes_per_s = measure_add(row->bytes_per_s, port->xmit_bytes_per_s);
	if (isnan(percent))
		return;
	row->known++;
	if (!(percent >= row->min_percent.value))
		row->min_percent.value = percent;
	if (!(percent <= row->max_percent.value)) {
		row->max_percent.value = percent;
		row->hottest = index;
	}
	bucket = percent < 0 ? 0 : (int)(percent * GROUP_BUCKETS / 100);
	row->buckets[bucket < GROUP_BUCKETS ? bucket : GROUP_BUCKETS - 1]++;
}

static void add_port(struct port_group *row, const struct port_facts *port, uint32_t index)
{
	if (row->first == FABRIC_NONE)
		row->first = index;
	row->ports++;
	row->silent += port->status == STATUS_SILENT || port->status == STATUS_LOCKED;
	row->no_counters += port->status == STATUS_UNSUPPORTED || port->status == STATUS_UNPLANNED;
	add_load(row, port, index);
	if (!isnan(port->stall_percent.value))
		row->stall_percent = measure_add(row->stall_percent, port->stall_percent);
	row->errors = measure_add(row->errors, port->errors);
}

static void add_ports(struct making *making)
{
	const struct fabric *fabric = making->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		int row = port_is_pollable(fabric, port) ? row_of(making, i) : NO_KIND;

		if (row != NO_KIND && port->state >= PORT_INIT)
			add_port(&making->rows[row], &making->table->ports[i], i);
	}
	for (uint32_t i = 0; i < ROWS_MAX; i++) {
		struct port_group *row = &making->rows[i];
		bool exact = measure_is_exact(row->mean_percent);

		row->mean_percent = measure_mean(row->mean_percent);
		row->stall_percent = measure_mean(row->stall_percent);
		/* A port that is not known may have less. */
		row->min_percent = measure_of(row->known == row->mean_percent.parts ? row->min_percent.value : NAN,
					      exact);
		row->max_percent = measure_of(row->max_percent.value, exact);
	}
}

/* The group that a finding is about as a whole, or SHAPE_NONE. */
static uint32_t group_of(const struct making *making, const struct finding_row *finding)
{
	const struct subject subject = subject_of_finding(finding);

	return subject_group(making->shape, &subject);
}

/* Add rows of single switches, those of the worst findings first. */
static void find_own(struct making *making)
{
	const struct snapshot_context *context = making->context;

	for (size_t i = 0; i < context->finding_count && making->own_count < GROUP_OWN_MAX; i++) {
		const struct finding_row *finding = &context->findings[i];
		uint32_t group;
		int kind;

		if (finding->acknowledged.at_us || finding->origin || finding->finding.severity < FINDING_WARNING)
			continue;
		group = group_of(making, finding);
		if (group == SHAPE_NONE || own_row(making, group) != NO_KIND || !making->shape->groups[group].count)
			continue;
		kind = kind_of(making, making->shape->members[making->shape->groups[group].first]);
		if (kind == NO_KIND)
			continue;
		making->has_own[kind] = true;
		making->rows[KIND_COUNT + making->own_count].own = subject_of_finding(finding);
		making->own_group[making->own_count++] = group;
	}
}

/* Whether a finding is about a link, and so about both directions. */
static bool is_of_link(const struct finding *finding)
{
	return finding->port && finding->kind != FINDING_CONGESTION && finding->kind != FINDING_XMIT_DISCARDS;
}

/* Whether a finding is displayed in the row; congestion is informational but explains the load. */
static bool is_displayed(const struct finding *finding)
{
	return finding->severity >= FINDING_WARNING || finding->kind == FINDING_CONGESTION;
}

static void assign_row(struct making *making, int row, const struct finding_row *finding)
{
	const struct finding_row **worst = row == NO_KIND ? NULL : &making->rows[row].worst;

	if (worst && (!*worst || finding->finding.severity > (*worst)->finding.severity))
		*worst = finding;
}

static void assign_port(struct making *making, uint32_t index, const struct finding_row *finding)
{
	if (index != FABRIC_NONE)
		assign_row(making, row_of(making, index), finding);
}

/* The row of a link that is down, from its two nodes. */
static int kind_between(const struct making *making, uint32_t from, uint32_t to)
{
	const struct shape_node *low = &making->shape->nodes[from], *high = &making->shape->nodes[to];

	if (making->fabric->nodes[from].type != NODE_SWITCH)
		return KIND_OUT + low->class;
	if (making->fabric->nodes[to].type != NODE_SWITCH)
		return KIND_IN + high->class;
	if (low->tier && high->tier == low->tier + 1)
		return KIND_UP + low->tier;
	if (high->tier && low->tier == high->tier + 1)
		return KIND_DOWN + low->tier;
	return KIND_ACROSS;
}

static void assign_link(struct making *making, uint32_t node, const struct finding_row *finding)
{
	const struct fabric *fabric = making->fabric;
	uint32_t port = fabric_node_port(fabric, node, finding->finding.port);
	uint32_t peer = fabric_find_node(fabric, finding->finding.peer_guid);
	bool both = is_of_link(&finding->finding);

	if (port != FABRIC_NONE && fabric->ports[port].peer != FABRIC_NONE) {
		assign_port(making, port, finding);
		if (both)
			assign_port(making, fabric->ports[port].peer, finding);
	} else if (peer != FABRIC_NONE) {
		assign_row(making, kind_between(making, node, peer), finding);
		if (both)
			assign_row(making, kind_between(making, peer, node), finding);
	}
}

/* Assign a finding to its rows. */
static void assign(struct making *making, const struct finding_row *finding)
{
	const struct fabric *fabric = making->fabric;
	uint32_t node = fabric_find_node(fabric, finding->finding.node_guid), group = group_of(making, finding);

	if (node == FABRIC_NONE)
		return;
	if (group != SHAPE_NONE) {
		assign_port(making, making->shape->members[making->shape->groups[group].first], finding);
	} else if (finding->finding.port) {
		assign_link(making, node, finding);
	} else if (making->shape->nodes[node].up_group != SHAPE_NONE) {
		/* A finding on shared links would otherwise mark every row. */
		const struct shape_group *up = &making->shape->groups[making->shape->nodes[node].up_group];

		assign_port(making, up->count ? making->shape->members[up->first] : FABRIC_NONE, finding);
	} else {
		for (uint32_t i = 0; i < fabric->nodes[node].ports; i++)
			assign_port(making, fabric->nodes[node].first_port + i, finding);
	}
}

static void name_kind(struct port_group *row, int kind, bool other)
{
	const char *behind = other ? " other" : "";
	char tier[SHAPE_TIER_SIZE];

	if (kind >= KIND_ACROSS)
		snprintf(row->name, sizeof(row->name), "switch links%s", behind);
	else if (kind >= KIND_DOWN)
		snprintf(row->name, sizeof(row->name), "%s down%s",
			 shape_tier_name((unsigned)(kind - KIND_DOWN), tier), behind);
	else if (kind >= KIND_UP)
		snprintf(row->name, sizeof(row->name), "%s up%s",
			 shape_tier_name((unsigned)(kind - KIND_UP), tier), behind);
	else
		snprintf(row->name, sizeof(row->name), "%s %s", node_class_name((uint8_t)(kind % CLASS_COUNT)),
			 kind >= KIND_IN ? "in" : "out");
}

/* The filter that selects the links of a kind. */
static void filter_kind(const struct making *making, struct port_group *row, int kind)
{
	char role[SHAPE_ROLE_SIZE];

	if (kind < KIND_UP)
		snprintf(row->filter, sizeof(row->filter), "class:%s", node_class_name((uint8_t)(kind % CLASS_COUNT)));
	else if (row->first != FABRIC_NONE && shape_port_role(making->shape, row->first, role))
		snprintf(row->filter, sizeof(row->filter), "role:%s", role);
}

static void name_own(const struct making *making, struct port_group *row, const struct shape_group *group)
{
	char *const *names = making->table->order.names;

	if (group->peer != FABRIC_NONE)
		snprintf(row->name, sizeof(row->name), "%.120s to %.120s", names[group->node], names[group->peer]);
	else
		snprintf(row->name, sizeof(row->name), "%s up", names[group->node]);
}

/* Collect the rows that have ports, single switches first. */
static void collect(struct making *making, struct port_groups *ret)
{
	for (size_t i = 0; i < making->own_count; i++) {
		struct port_group *row = &making->rows[KIND_COUNT + i];

		name_own(making, row, &making->shape->groups[making->own_group[i]]);
		ret->list[ret->count++] = *row;
	}
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (!making->rows[i].ports)
			continue;
		name_kind(&making->rows[i], (int)i, making->has_own[i]);
		filter_kind(making, &making->rows[i], (int)i);
		ret->list[ret->count++] = making->rows[i];
	}
}

void groups_done(struct port_groups *groups)
{
	free(groups->list);
	*groups = (struct port_groups){ 0 };
}

int groups_make(const struct port_table *table, const struct snapshot_context *context, struct port_groups *ret,
		struct error *err)
{
	struct making making = { .table = table, .context = context, .shape = context->shape };

	groups_done(ret);
	if (!table->snapshot || !context->shape)
		return 0;
	making.fabric = table->snapshot->fabric;
	making.rows = calloc(ROWS_MAX, sizeof(*making.rows));
	ret->list = calloc(ROWS_MAX, sizeof(*ret->list));
	if (!making.rows || !ret->list) {
		free(making.rows);
		groups_done(ret);
		return err_nomem(err);
	}
	for (size_t i = 0; i < ROWS_MAX; i++) {
		struct port_group *row = &making.rows[i];

		row->first = row->hottest = FABRIC_NONE;
		row->mean_percent = row->min_percent = row->max_percent = MEASURE_NONE;
		row->bytes_per_s = row->stall_percent = row->errors = MEASURE_NONE;
	}
	find_own(&making);
	add_ports(&making);
	for (size_t i = 0; i < context->finding_count; i++)
		if (finding_counts(&context->findings[i]) && is_displayed(&context->findings[i].finding))
			assign(&making, &context->findings[i]);
	collect(&making, ret);
	free(making.rows);
	return 0;
}

enum group_state group_state(const struct port_group *group)
{
	uint32_t expected = group->ports - group->no_counters;

	if (group->worst && group->worst->finding.severity == FINDING_CRITICAL)
		return GROUP_STATE_CRITICAL;
	if (group->worst && group->worst->finding.severity == FINDING_WARNING)
		return GROUP_STATE_WARNING;
	if (!expected || group->known < GROUP_COVERAGE * expected)
		return GROUP_STATE_UNKNOWN;
	return group->worst ? GROUP_STATE_INFO : GROUP_STATE_OK;
}

const char *group_state_word(const struct port_group *group, int columns, char *ret, size_t size)
{
	static const char *const words[] = {
		[GROUP_STATE_UNKNOWN] = "unknown", [GROUP_STATE_OK] = "ok", [GROUP_STATE_INFO] = "",
		[GROUP_STATE_WARNING] = "WARN", [GROUP_STATE_CRITICAL] = "CRIT",
	};
	enum group_state state = group_state(group);
	const char *cause = group->worst ? group->worst->finding.cause : "", *shown = cause;

	if (!*cause && group->worst)
		shown = finding_kind_name(group->worst->finding.kind);
	if (state == GROUP_STATE_INFO)
		snprintf(ret, size, "%s", shown);
	else if (state > GROUP_STATE_INFO && columns >= (int)(strlen(words[state]) + 1 + strlen(shown)))
		snprintf(ret, size, "%s %s", words[state], shown);
	else
		snprintf(ret, size, "%s", words[state]);
	return ret;
}

const char *group_histogram(const struct port_group *group, bool unicode, char *ret)
{
	uint32_t most = 0;
	char *to = ret;

	for (int i = 0; i < GROUP_BUCKETS; i++)
		if (group->buckets[i] > most)
			most = group->buckets[i];
	for (int i = 0; i < GROUP_BUCKETS; i++) {
		int steps = unicode ? 8 : 9, level;

		if (!group->known || !group->buckets[i]) {
			*to++ = group->known ? '.' : ' ';
			continue;
		}
		level = (int)ceil((double)group->buckets[i] * steps / most);
		if (!unicode) {
			*to++ = (char)('0' + level);
			continue;
		}
		/* U+2581 to U+2588: one to eight eighths of a line. */
		*to++ = '\xe2';
		*to++ = '\x96';
		*to++ = (char)('\x80' + level);
	}
	*to = '\0';
	return ret;
}
