/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/health_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/moment.h"
#include "facts/port_marks.h"
#include "facts/selection.h"
#include "storage/reader.h"

static bool is_host_of(const struct shape *shape, uint32_t node, const struct host_set *hosts)
{
	return host_set_has(hosts, shape->hosts[shape->nodes[node].host].name);
}

/* Is the node an HCA of one of these hosts, or a switch connected to one? */
static bool node_touches(const struct shape *shape, uint64_t guid, const struct host_set *hosts)
{
	const struct fabric *fabric = shape->fabric;
	uint32_t node = fabric_find_node(fabric, guid), hcas = 0;

	if (node == FABRIC_NONE)
		return false;
	if (shape->nodes[node].host != SHAPE_NONE)
		return is_host_of(shape, node, hosts);
	for (uint32_t n = 0; n < fabric->nodes[node].ports; n++) {
		uint32_t peer = fabric->ports[fabric->nodes[node].first_port + n].peer;

		if (peer == FABRIC_NONE || shape->nodes[fabric->ports[peer].node].host == SHAPE_NONE)
			continue;
		hcas++;
		if (is_host_of(shape, fabric->ports[peer].node, hosts))
			return true;
	}
	/* A switch without hosts carries traffic of all hosts. */
	return fabric->nodes[node].type == NODE_SWITCH && !hcas;
}

/* A switch port with a host: its finding affects no other host of the switch. */
static bool leads_to_host(const struct fabric *fabric, uint64_t guid, uint8_t num)
{
	uint32_t port = fabric_find_port(fabric, guid, num), peer;

	peer = port == FABRIC_NONE ? FABRIC_NONE : fabric->ports[port].peer;
	return peer != FABRIC_NONE && fabric->nodes[fabric->ports[port].node].type == NODE_SWITCH &&
	       fabric->nodes[fabric->ports[peer].node].type == NODE_CA;
}

bool health_touches(const struct shape *shape, const struct finding *finding, const struct host_set *hosts)
{
	uint64_t guid;
	uint8_t port;

	if (!finding->node_guid && !finding->port_count)
		return true;
	for (unsigned i = 0; i < finding->host_count; i++)
		if (host_set_has(hosts, finding->hosts[i]))
			return true;
	/* The finding lists all affected hosts. */
	if (finding->host_count && finding->affected_hosts <= finding->host_count)
		return false;
	for (unsigned at = 0; finding_end(finding, shape->fabric, at, &guid, &port); at++)
		if (guid && !(at >= FINDING_END_PORTS && leads_to_host(shape->fabric, guid, port)) &&
		    node_touches(shape, guid, hosts))
			return true;
	return false;
}

/* All affected hosts are out of service. */
static bool is_drained(const struct finding *finding, const struct host_set *drained)
{
	if (!drained->count || !finding->host_count || finding->affected_hosts > finding->host_count)
		return false;
	for (unsigned i = 0; i < finding->host_count; i++)
		if (!host_set_has(drained, finding->hosts[i]))
			return false;
	return true;
}

/*
 * A selected node or port. A removed node is not in the fabric: its findings are matched by the
 * name stored with them.
 */
struct health_name {
	char *typed;
	bool missing; /* not in the fabric */
	bool found;   /* a finding has this name */
	struct selection selection;
};

/* Is this end of a finding in the fabric, and selected? */
static bool is_selected(const struct selection *selection, const struct fabric *fabric, uint64_t guid, uint8_t num)
{
	uint32_t node = guid ? fabric_find_node(fabric, guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE || !selection->nodes[node])
		return false;
	port = num ? fabric_node_port(fabric, node, num) : FABRIC_NONE;
	return port == FABRIC_NONE || selection->ports[port];
}

/* Is @typed a name, or a name and "/port"? */
static bool matches_name(const char *name, uint8_t num, const char *typed)
{
	size_t len = strlen(name);

	if (!len || strncmp(name, typed, len))
		return false;
	return !typed[len] || (typed[len] == '/' && num && atoi(typed + len + 1) == num);
}

static bool is_departed_end(const struct fabric *fabric, uint64_t guid, uint8_t num, const char *name,
			    const char *typed)
{
	char shown[NODE_NAME_SIZE], hex[24];

	if (!guid || !*name || fabric_find_node(fabric, guid) != FABRIC_NONE)
		return false;
	names_display(fabric, name, shown);
	snprintf(hex, sizeof(hex), "0x%016" PRIx64, guid);
	return matches_name(name, num, typed) || matches_name(shown, num, typed) || matches_name(hex, num, typed);
}

struct loading {
	const struct moment *moment;
	const struct health_filter *filter;
	struct health_filter named;  /* the filter, with its hosts as the fabric calls them */
	struct shape *shape;         /* if it has hosts */
	struct health_rows *rows;
	struct health_name *names; /* of those of the filter */
	int name_count;
	char *joined;              /* two of them as one */
	bool failed;
};

/* Names of hosts do not depend on the settings of a shape. */
static int name_hosts(struct loading *loading, struct error *err)
{
	const struct host_set *job = &loading->filter->job, *drained = &loading->filter->drained;
	int code = 0;

	if (job->count || drained->count)
		code = shape_create(loading->moment->fabric, NULL, &loading->shape, err);
	if (code == 0)
		code = shape_name_hosts(loading->shape, job, &loading->named.job, err);
	return code == 0 ? shape_name_hosts(loading->shape, drained, &loading->named.drained, err) : code;
}

static int find_names(struct loading *loading, struct error *err)
{
	const struct health_filter *filter = loading->filter;
	int code = selection_join(loading->moment->fabric, filter->names, filter->name_count, &loading->joined, err);

	if (code < 0)
		return code;
	loading->name_count = loading->joined ? 1 : filter->name_count;
	loading->names = calloc((size_t)loading->name_count + 1, sizeof(*loading->names));
	if (!loading->names)
		return err_nomem(err);
	for (int i = 0; code == 0 && i < loading->name_count; i++) {
		struct health_name *name = &loading->names[i];

		name->typed = loading->joined ? loading->joined : filter->names[i];
		code = moment_select(loading->moment, &name->typed, 1, &name->selection, err);
		name->missing = code == ERR_USAGE;
		code = name->missing ? 0 : code;
	}
	return code;
}

static bool is_named(struct loading *loading, const struct finding_row *row)
{
	const struct fabric *fabric = loading->moment->fabric;
	const struct finding *finding = &row->finding;
	bool named = !loading->name_count;

	for (int i = 0; i < loading->name_count; i++) {
		struct health_name *name = &loading->names[i];
		bool matches = name->missing &&
			(is_departed_end(fabric, finding->node_guid, finding->port, row->node, name->typed) ||
			 is_departed_end(fabric, finding->peer_guid, finding->peer_port, row->peer, name->typed));
		uint64_t guid;
		uint8_t port;

		for (unsigned at = 0; !name->missing && finding_end(finding, fabric, at, &guid, &port); at++)
			matches |= is_selected(&name->selection, fabric, guid, port);
		name->found |= matches;
		named |= matches;
	}
	return named;
}

/* A name that is neither in the fabric nor in a finding is an error. */
static int check_names(const struct loading *loading, struct error *err)
{
	for (int i = 0; i < loading->name_count; i++) {
		struct health_name *name = &loading->names[i];

		if (name->missing && !name->found)
			return moment_select(loading->moment, &name->typed, 1, &name->selection, err);
	}
	return 0;
}

void health_row_of(const struct finding_row *row, const struct health_filter *filter, struct health_row *ret)
{
	ret->row = *row;
	finding_row_relocate(&ret->row);
	ret->place = row->acknowledged.at_us ? HEALTH_ACKNOWLEDGED :
		     is_drained(&row->finding, &filter->drained) ? HEALTH_DRAINED :
		     row->finding.ok_since_us ? HEALTH_CLEARING : HEALTH_COUNTS;
}

/* Is it about the hosts of the filter? With of_job, findings about the fabric are not. */
static bool concerns(const struct loading *loading, const struct finding *finding)
{
	const struct health_filter *filter = loading->filter;

	if (filter->of_job && finding_job(finding))
		return finding_job(finding) == filter->job_number;
	if (filter->of_job && !finding->node_guid && !finding->port_count)
		return false;
	return !filter->job.count || health_touches(loading->shape, finding, &loading->named.job);
}

static bool add_finding(void *ctx, const struct finding_row *row)
{
	struct loading *loading = ctx;
	struct health_rows *rows = loading->rows;
	struct health_row *list;

	if (!is_named(loading, row) || !concerns(loading, &row->finding))
		return true;
	list = array_grow(rows->list, rows->count, &rows->capacity, sizeof(*list));
	if (!list) {
		loading->failed = true;
		return false;
	}
	rows->list = list;
	health_row_of(row, &loading->named, &list[rows->count++]);
	return true;
}

/* Open findings, then acknowledged and drained ones, then those that are over. */
static int part_of(const struct health_row *row)
{
	if (row->row.finding.closed_us)
		return 2;
	return row->place > HEALTH_CLEARING;
}

static int compare_rows(const void *a, const void *b)
{
	const struct health_row *x = a, *y = b;

	if (part_of(x) != part_of(y))
		return part_of(x) - part_of(y);
	return finding_compare(&x->row.finding, &y->row.finding);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct health_row *x = a, *y = b;

	return x->row.rank < y->row.rank ? -1 : x->row.rank > y->row.rank;
}

/* What an acknowledged finding explains does not count, either. */
static int resolve_origins(struct health_rows *rows)
{
	struct finding_row **list = calloc(rows->count + 1, sizeof(*list));
	int code;

	if (!list)
		return ERR_NOMEM;
	for (size_t i = 0; i < rows->count; i++)
		list[i] = &rows->list[i].row;
	code = findings_resolve_origins(list, rows->count);
	for (size_t i = 0; code == 0 && i < rows->count; i++)
		if (list[i]->acknowledged.at_us)
			rows->list[i].place = HEALTH_ACKNOWLEDGED;
	free(list);
	return code;
}

/* Origins first, each followed by its echoes. */
static int fold(struct health_rows *rows)
{
	struct finding_row **list = calloc(rows->count + 1, sizeof(*list));
	size_t count = 0;
	int code;

	if (!list)
		return ERR_NOMEM;
	/* Acknowledged and drained ones stay at the end. */
	while (count < rows->count && rows->list[count].place <= HEALTH_CLEARING) {
		list[count] = &rows->list[count].row;
		count++;
	}
	code = findings_fold(list, count);
	for (size_t i = count; i < rows->count; i++)
		rows->list[i].row.rank = SIZE_MAX - rows->count + i;
	free(list);
	if (code == 0)
		qsort(rows->list, rows->count, sizeof(*rows->list), compare_ranks);
	return code;
}

int health_load(const struct moment *moment, const struct health_filter *filter, const struct finding_query *query,
		struct health_rows *ret, struct error *err)
{
	struct loading loading = { .moment = moment, .filter = filter, .rows = ret };
	int code = name_hosts(&loading, err);

	*ret = (struct health_rows){ 0 };
	if (code == 0)
		code = find_names(&loading, err);
	if (code == 0)
		code = reader_findings(moment->reader, query, add_finding, &loading, err);
	if (code == 0 && loading.failed)
		code = err_nomem(err);
	if (code == 0 && !filter->may_be_unknown)
		code = check_names(&loading, err);
	for (int i = 0; loading.names && i < loading.name_count; i++)
		selection_done(&loading.names[i].selection);
	free(loading.names);
	free(loading.joined);
	free(loading.named.job.names);
	free(loading.named.drained.names);
	shape_destroy(loading.shape);
	if (code < 0) {
		health_rows_done(ret);
		return code;
	}
	code = resolve_origins(ret);
	if (code == 0 && ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), compare_rows);
	if (code < 0 || (ret->count && !query->since_us && fold(ret) < 0)) {
		health_rows_done(ret);
		return err_nomem(err);
	}
	/* qsort() moved the rows. */
	for (size_t i = 0; i < ret->count; i++)
		finding_row_relocate(&ret->list[i].row);
	return 0;
}

void health_rows_done(struct health_rows *rows)
{
	free(rows->list);
	*rows = (struct health_rows){ 0 };
}

bool finding_counts(const struct finding_row *row)
{
	return !row->acknowledged.at_us && !row->finding.ok_since_us && !row->origin;
}

bool health_counts(const struct health_row *row)
{
	return row->place == HEALTH_COUNTS && finding_counts(&row->row);
}

int health_worst(const struct health_rows *rows)
{
	int worst = FINDING_INFO;

	for (size_t i = 0; i < rows->count; i++)
		if (health_counts(&rows->list[i]) && (int)rows->list[i].row.finding.severity > worst)
			worst = (int)rows->list[i].row.finding.severity;
	return worst;
}

bool sweep_is_late(const struct sweep_info *sweep, int64_t age_us)
{
	return sweep->interval_us > 0 && age_us > 3 * sweep->interval_us;
}

bool health_is_stale(const struct sweep_info *sweep, int64_t age_us)
{
	const int64_t least_us = 30 * US_PER_S;

	return age_us < 0 || (age_us > least_us && (sweep_is_late(sweep, age_us) || !sweep->interval_us));
}
