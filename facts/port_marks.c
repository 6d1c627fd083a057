/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/port_marks.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/findings.h"
#include "storage/reader.h"

/* Unacknowledged findings first, then by severity. */
static int compare_rows(const void *a, const void *b)
{
	const struct finding_row *x = a, *y = b;
	bool known_x = x->acknowledged.at_us, known_y = y->acknowledged.at_us;

	return known_x != known_y ? (int)known_x - (int)known_y : finding_compare(&x->finding, &y->finding);
}

void finding_row_relocate(struct finding_row *row)
{
	struct finding *finding = &row->finding;

	finding->cause = row->cause;
	finding->advice = row->advice;
	for (unsigned i = 0; i < finding->number_count; i++)
		finding->numbers[i].key = row->keys[i];
}

static int compare_ranks(const void *a, const void *b)
{
	const struct finding_row *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void arrange(struct finding_row *rows, size_t count)
{
	struct finding_row **list = calloc(count + 1, sizeof(*list));
	bool linked;

	for (size_t i = 0; list && i < count; i++)
		list[i] = &rows[i];
	linked = list && findings_resolve_origins(list, count) == 0;
	if (count)
		qsort(rows, count, sizeof(*rows), compare_rows);
	if (linked && count && findings_fold(list, count) == 0)
		qsort(rows, count, sizeof(*rows), compare_ranks);
	free(list);
	for (size_t i = 0; i < count; i++)
		finding_row_relocate(&rows[i]);
}

/* Findings that are being read. */
struct loading {
	struct finding_row *list;
	size_t count, capacity;
	bool failed; /* no memory */
};

static bool add_finding(void *ctx, const struct finding_row *row)
{
	struct loading *loading = ctx;
	struct finding_row *added = array_add(&loading->list, &loading->count, &loading->capacity, sizeof(*added));

	loading->failed = !added;
	if (added)
		*added = *row;
	return added;
}

int open_findings_load(struct reader *reader, const struct finding_query *query, struct finding_row **ret,
		       size_t *ret_count, struct error *err)
{
	struct loading loading = { 0 };
	int code = reader_findings(reader, query, add_finding, &loading, err);

	if (code == 0 && loading.failed)
		code = err_nomem(err);
	if (code < 0) {
		free(loading.list);
		return code;
	}
	arrange(loading.list, loading.count);
	free(*ret);
	*ret = loading.list;
	*ret_count = loading.count;
	return 0;
}

const char *port_mark_name(enum port_mark mark)
{
	static const char *const names[] = { "", "ack", "ok", "info", "WARN", "CRIT" };

	return names[mark];
}

enum port_mark port_mark_of(const struct finding_row *row)
{
	if (row->acknowledged.at_us)
		return MARK_ACKNOWLEDGED;
	if (row->finding.ok_since_us)
		return MARK_CLEARING;
	if (row->finding.severity == FINDING_CRITICAL)
		return MARK_CRITICAL;
	return row->finding.severity == FINDING_WARNING ? MARK_WARNING : MARK_INFO;
}

/* Whether a finding of a node concerns one of its ports. */
static bool is_about(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
		     uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	switch (finding->kind) {
	case FINDING_NODE_SILENT:
	case FINDING_LOCKED:
		return true;
	case FINDING_UPLINK_IMBALANCE:
	case FINDING_UPLINKS_MISSING:
		if (finding->peer_guid)
			return peer != FABRIC_NONE &&
			       fabric->nodes[fabric->ports[peer].node].guid == finding->peer_guid;
		return shape && shape->ports[port].way == WAY_UP;
	default:
		return fabric->nodes[fabric->ports[port].node].type != NODE_SWITCH;
	}
}

bool finding_concerns_port(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
			   uint32_t index)
{
	const struct port *port = &fabric->ports[index];
	uint64_t guid = fabric->nodes[port->node].guid, end;
	uint8_t num;

	if (finding->node_guid == guid && !finding->port)
		return is_about(shape, fabric, finding, index);
	for (unsigned at = 0; finding_end(finding, fabric, at, &end, &num); at++)
		if (end == guid && num == port->num && (num || !at))
			return true;
	return false;
}

static void mark_port(uint32_t port, uint32_t index, uint32_t *finding_of)
{
	/* The first finding is the worst. */
	if (port != FABRIC_NONE && !finding_of[port])
		finding_of[port] = index + 1;
}

static void mark_finding(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
			 uint32_t index, uint32_t *finding_of)
{
	uint32_t node = fabric_find_node(fabric, finding->node_guid);
	uint64_t guid;
	uint8_t num;

	if (finding->port)
		mark_port(fabric_find_port(fabric, finding->node_guid, finding->port), index, finding_of);
	for (uint32_t i = 0; !finding->port && node != FABRIC_NONE && i < fabric->nodes[node].ports; i++)
		if (is_about(shape, fabric, finding, fabric->nodes[node].first_port + i))
			mark_port(fabric->nodes[node].first_port + i, index, finding_of);
	if (finding->peer_port)
		mark_port(fabric_find_port(fabric, finding->peer_guid, finding->peer_port), index, finding_of);
	for (unsigned at = FINDING_END_PORTS; finding_end(finding, fabric, at, &guid, &num); at++)
		mark_port(fabric_find_port(fabric, guid, num), index, finding_of);
}

int open_findings_mark(const struct shape *shape, const struct fabric *fabric, const struct finding_row *list,
		       size_t count, uint32_t **ret, struct error *err)
{
	free(*ret);
	*ret = calloc(fabric->port_count + 1, sizeof(**ret));
	if (!*ret)
		return err_nomem(err);
	for (size_t i = 0; i < count; i++)
		mark_finding(shape, fabric, &list[i].finding, (uint32_t)i, *ret);
	return 0;
}
