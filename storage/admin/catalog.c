/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/admin/catalog.h"

#include <string.h>

#include "storage/file/schema.h"

/* What still lasts at the last sweep has no end yet. */
#define STILL { "to_sweep", "CASE WHEN to_sweep <= ?2 THEN to_sweep END", NULL }
#define GUID(column) { column, NULL, "hide_guid(" column ")" }
#define PLAIN { { NULL, NULL, NULL } }

/* The last good name of each node before: one that lost its name is called by it. */
static const char last_names[] =
	"from_sweep = (SELECT max(o.from_sweep) FROM source.node_version o WHERE o.node = t.node"
	" AND o.from_sweep < ?1 AND NOT names_nobody(o.description))";

static const char newest_details[] =
	"(SELECT port, attribute, max(sweep) AS sweep FROM source.detail WHERE sweep BETWEEN ?1 AND ?2"
	" GROUP BY port, attribute)";

const struct kept_table kept_tables[] = {
	{ "meta", KEPT_OTHER, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "counter", KEPT_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "detail_counter", KEPT_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "code", KEPT_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "boot", KEPT_OTHER, RANGE_ALL, NULL, 1, NULL, NULL, { { "boot_id", NULL, "hide_boot(boot_id)" } } },
	/* Whole: their ids have no holes. */
	{ "node", KEPT_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, { GUID("guid") } },
	{ "port", KEPT_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "caps", KEPT_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "node_version", KEPT_TOPOLOGY, RANGE_LASTING, NULL, 1, last_names, NULL,
	  { STILL, { "name", NULL, "hide_name(name)" }, { "description", NULL, "hide_description(description)" },
	    GUID("system_guid") } },
	{ "port_version", KEPT_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL, GUID("guid") } },
	{ "route_version", KEPT_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL } },
	{ "sweep", KEPT_SWEEPS, RANGE_SWEEPS, "id", 1, NULL, NULL, { GUID("sm_guid") } },
	{ "span", KEPT_SPANS, RANGE_LASTING, "from_sweep", 1, NULL, NULL,
	  { STILL, { "from_sweep", "max(from_sweep, ?1)", NULL } } },
	{ "hot", KEPT_RAW, RANGE_SWEEPS, "id", HOT_BLOCKS, NULL, NULL, PLAIN },
	{ "chunk", KEPT_RAW, RANGE_WINDOWS, "id", HISTORY_PORTS, NULL, NULL, PLAIN },
	{ "chunk_window", KEPT_SUMS, RANGE_WINDOWS, "id", 1, NULL, NULL, PLAIN },
	{ "chunk_sum", KEPT_SUMS, RANGE_WINDOWS, "window", 1, NULL, NULL, PLAIN },
	{ "chunk_error", KEPT_SUMS, RANGE_WINDOWS, "window", 1, NULL, NULL, PLAIN },
	{ "hour", KEPT_HOURS, RANGE_HOURS, "id", 1, NULL, NULL, PLAIN },
	{ "hour_sum", KEPT_HOURS, RANGE_HOURS, "hour", 1, NULL, NULL, PLAIN },
	{ "hour_error", KEPT_HOURS, RANGE_HOURS, "hour", 1, NULL, NULL, PLAIN },
	{ "error", KEPT_ERRORS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "absolute", KEPT_READINGS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail", KEPT_DETAILS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail_value", KEPT_DETAILS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail_last", KEPT_DETAILS, RANGE_SWEEPS, NULL, 1, NULL, newest_details, PLAIN },
	{ "snapshot", KEPT_SNAPSHOTS, RANGE_SNAPSHOTS, "id", 1, NULL, NULL,
	  { { "name", NULL, "'snapshot-' || id" }, { "note", NULL, "NULL" },
	    { "boot_id", NULL, "hide_boot(boot_id)" } } },
	{ "snapshot_node", KEPT_SNAPSHOTS, RANGE_SNAPSHOTS, "snapshot", 1, NULL, NULL,
	  { { "name", NULL, "hide_name(name)" }, { "description", NULL, "hide_description(description)" },
	    GUID("guid"), GUID("system_guid") } },
	{ "snapshot_port", KEPT_SNAPSHOTS, RANGE_SNAPSHOTS, "snapshot", 1, NULL, NULL, PLAIN },
	{ "finding", KEPT_FINDINGS, RANGE_FINDINGS, "id", 1, NULL, NULL,
	  { GUID("node_guid"), GUID("peer_guid"),
	    { "closed_us", "CASE WHEN closed_sweep <= ?2 THEN closed_us END", NULL },
	    { "closed_sweep", "CASE WHEN closed_sweep <= ?2 THEN closed_sweep END", NULL } } },
	{ "finding_state", KEPT_FINDINGS, RANGE_FINDINGS, "finding", 1, NULL, NULL,
	  { { "subject", NULL, "hide_text(subject)" }, { "text", NULL, "hide_text(text)" },
	    { "hosts", NULL, "'[]'" } } },
	{ "acknowledgement", KEPT_FINDINGS, RANGE_ALL, NULL, 1, NULL, NULL,
	  { GUID("node_guid"), { "person", NULL, "'somebody'" }, { "reason", NULL, "'(hidden)'" } } },
	{ "event", KEPT_EVENTS, RANGE_SWEEPS, "sweep", 1, NULL, NULL,
	  { GUID("node_guid"), GUID("peer_guid"), { "text", NULL, "hide_text(text)" } } },
};

const size_t kept_table_count = sizeof(kept_tables) / sizeof(*kept_tables);

const struct kept_table *kept_find(const char *name)
{
	for (size_t i = 0; i < kept_table_count; i++)
		if (!strcmp(kept_tables[i].name, name))
			return &kept_tables[i];
	return NULL;
}

static const struct {
	const char *key, *title;
} kinds[KEPT_KIND_COUNT] = {
	[KEPT_RAW] = { "raw", "samples" },
	[KEPT_SUMS] = { "sums", "sums of runs of sweeps" },
	[KEPT_HOURS] = { "hours", "hourly sums" },
	[KEPT_ERRORS] = { "errors", "error counters" },
	[KEPT_READINGS] = { "readings", "absolute values" },
	[KEPT_DETAILS] = { "details", "slow counters" },
	[KEPT_SPANS] = { "spans", "spans without data" },
	[KEPT_SWEEPS] = { "sweeps", "sweeps" },
	[KEPT_EVENTS] = { "events", "events" },
	[KEPT_FINDINGS] = { "findings", "findings" },
	[KEPT_SNAPSHOTS] = { "snapshots", "snapshots" },
	[KEPT_TOPOLOGY] = { "topology", "topology" },
	[KEPT_OTHER] = { "other", "names of codes, schema" },
};

const char *kept_kind_key(enum kept_kind kind)
{
	return kinds[kind].key;
}

const char *kept_kind_title(enum kept_kind kind)
{
	return kinds[kind].title;
}
