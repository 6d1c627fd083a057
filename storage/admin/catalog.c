/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/admin/catalog.h"

#include <string.h>

#include "storage/file/schema.h"

/* Rows that are valid at the last sweep have no end in the export. */
#define STILL { "to_sweep", "CASE WHEN to_sweep <= " CATALOG_LAST " THEN to_sweep END", NULL }
#define GUID(column) { column, NULL, "(SELECT g.new FROM guid_alias g WHERE g.old = t." column ")" }
#define NAME { "name", NULL, "hide_text(name)" }
#define DESCRIPTION \
	{ "description", NULL, "coalesce(substr(CAST((SELECT n.new FROM name_alias n" \
			       " WHERE n.old = sanitised(t.description)) AS BLOB), 1, 64), x'')" }
#define BOOT_OF(column) { column, NULL, "(SELECT b.new FROM boot_alias b WHERE b.old = t." column ")" }
#define BOOT BOOT_OF("boot_id")
#define IS_OF_JOB \
	"EXISTS (SELECT 1 FROM source.job j WHERE t.name IN ('job-' || j.number || '-begin'," \
	" 'job-' || j.number || '-end'))"
/* The number of the first job that has a value. */
#define FIRST_JOB(stem, column, value) \
	"(SELECT '" stem "' || min(j.number) FROM source.job j WHERE j." column " = " value ")"
#define LABEL(column) { column, NULL, FIRST_JOB(column "-", column, "t." column) }
#define PLAIN { { NULL, NULL, NULL } }

/*
 * The last specific name of each node before the range, for nodes that lost their name, and its versions since the
 * begin of a port that lasts into the range: a port has its node all the time.
 */
static const char last_names[] =
	"from_sweep <= " CATALOG_LAST " AND EXISTS (SELECT 1 FROM source.port p"
	" JOIN source.port_version v ON v.port = p.id WHERE p.node = t.node AND v.from_sweep <= " CATALOG_LAST
	" AND coalesce(v.to_sweep > " CATALOG_FIRST ", 1) AND coalesce(t.to_sweep > v.from_sweep, 1))"
	" OR from_sweep = (SELECT max(o.from_sweep) FROM source.node_version o WHERE o.node = t.node"
	" AND o.from_sweep < " CATALOG_FIRST " AND NOT name_is_generic(o.description))";

static const char newest_details[] =
	"(SELECT port, attribute, max(sweep) AS sweep FROM source.detail WHERE sweep BETWEEN " CATALOG_FIRST
	" AND " CATALOG_LAST " GROUP BY port, attribute)";

const struct catalog_table catalog_tables[] = {
	{ "meta", DATA_OTHER, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "counter", DATA_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "detail_counter", DATA_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "code", DATA_OTHER, RANGE_NONE, NULL, 1, NULL, NULL, PLAIN },
	{ "boot", DATA_OTHER, RANGE_ALL, NULL, 1, NULL, NULL, { BOOT } },
	/* Complete, since their ids must have no holes. */
	{ "node", DATA_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, { GUID("guid") } },
	{ "port", DATA_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "caps", DATA_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "wait_contradicted", DATA_TOPOLOGY, RANGE_ALL, NULL, 1, NULL, NULL, PLAIN },
	{ "node_version", DATA_TOPOLOGY, RANGE_LASTING, NULL, 1, last_names, NULL,
	  { STILL, NAME, DESCRIPTION, GUID("system_guid") } },
	{ "port_version", DATA_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL, GUID("guid") } },
	{ "route_version", DATA_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL } },
	{ "firmware", DATA_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL } },
	{ "pkey_version", DATA_TOPOLOGY, RANGE_LASTING, NULL, 1, NULL, NULL, { STILL } },
	{ "sweep", DATA_SWEEPS, RANGE_SWEEPS, "id", 1, NULL, NULL, { GUID("sm_guid") } },
	{ "span", DATA_GAPS, RANGE_LASTING, "from_sweep", 1, NULL, NULL,
	  { STILL, { "from_sweep", "max(from_sweep, " CATALOG_FIRST ")", NULL } } },
	{ "hot", DATA_RAW, RANGE_SWEEPS, "id", HOT_BLOCKS, NULL, NULL, PLAIN },
	{ "chunk", DATA_RAW, RANGE_WINDOWS, "id", HISTORY_PORTS, NULL, NULL, PLAIN },
	{ "chunk_window", DATA_SUMS, RANGE_WINDOWS, "id", 1, NULL, NULL, PLAIN },
	{ "chunk_sum", DATA_SUMS, RANGE_WINDOWS, "window", 1, NULL, NULL, PLAIN },
	{ "chunk_error", DATA_SUMS, RANGE_WINDOWS, "window", 1, NULL, NULL, PLAIN },
	{ "hour", DATA_HOURS, RANGE_HOURS, "id", 1, NULL, NULL, PLAIN },
	{ "hour_sum", DATA_HOURS, RANGE_HOURS, "hour", 1, NULL, NULL, PLAIN },
	{ "hour_error", DATA_HOURS, RANGE_HOURS, "hour", 1, NULL, NULL, PLAIN },
	{ "error", DATA_ERRORS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "absolute", DATA_READINGS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail", DATA_DETAILS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail_value", DATA_DETAILS, RANGE_SWEEPS, "sweep", 1, NULL, NULL, PLAIN },
	{ "detail_last", DATA_DETAILS, RANGE_SWEEPS, NULL, 1, NULL, newest_details, PLAIN },
	{ "snapshot", DATA_SNAPSHOTS, RANGE_SNAPSHOTS, "id", 1, NULL, NULL,
	  { { "name", NULL, "iif(" IS_OF_JOB ", name, 'snapshot-' || id)" }, { "note", NULL, "NULL" }, BOOT } },
	{ "snapshot_node", DATA_SNAPSHOTS, RANGE_SNAPSHOTS, "snapshot", 1, NULL, NULL,
	  { NAME, DESCRIPTION, GUID("guid"), GUID("system_guid") } },
	{ "snapshot_port", DATA_SNAPSHOTS, RANGE_SNAPSHOTS, "snapshot", 1, NULL, NULL, PLAIN },
	{ "snapshot_firmware", DATA_SNAPSHOTS, RANGE_SNAPSHOTS, "snapshot", 1, NULL, NULL, PLAIN },
	{ "job", DATA_SNAPSHOTS, RANGE_JOBS, "number", 1, NULL, NULL,
	  { { "id", NULL, FIRST_JOB("job-", "id", "t.id") },
	    { "ended_by", NULL, FIRST_JOB("job-", "id", "t.ended_by") },
	    { "name", NULL, "iif(name = '', '', " FIRST_JOB("name-", "name", "t.name") ")" },
	    LABEL("cluster"), LABEL("user"), LABEL("account"), LABEL("partition"),
	    { "hosts", NULL, "iif(hosts = '', '', '(hidden)')" }, { "command", NULL, "''" },
	    BOOT_OF("begin_boot_id"), BOOT_OF("end_boot_id") } },
	{ "job_rhythm", DATA_RHYTHMS, RANGE_JOBS, "job", 1, NULL, NULL, PLAIN },
	{ "job_detected", DATA_SNAPSHOTS, RANGE_JOBS, "job", 1, NULL, NULL, PLAIN },
	{ "finding", DATA_FINDINGS, RANGE_FINDINGS, "id", 1, NULL, NULL,
	  { GUID("node_guid"), GUID("peer_guid"),
	    { "closed_us", "CASE WHEN closed_sweep <= " CATALOG_LAST " THEN closed_us END", NULL },
	    { "closed_sweep", "CASE WHEN closed_sweep <= " CATALOG_LAST " THEN closed_sweep END", NULL } } },
	{ "finding_state", DATA_FINDINGS, RANGE_FINDINGS, "finding", 1, NULL, NULL,
	  { { "subject", NULL, "hide_text(subject)" }, { "text", NULL, "hide_text(text)" },
	    { "hosts", NULL, "'[]'" }, { "ports", NULL, "ports" } } },
	{ "acknowledgement", DATA_FINDINGS, RANGE_ALL, NULL, 1, NULL, NULL,
	  { GUID("node_guid"), { "person", NULL, "'(hidden)'" }, { "reason", NULL, "'(hidden)'" } } },
	/* Small: all of them, in order of references. */
	{ "import", DATA_CABLES, RANGE_ALL, NULL, 1, NULL, NULL,
	  { { "source", NULL, "'import-' || id" }, { "digest", NULL, "id" } } },
	{ "cable", DATA_CABLES, RANGE_ALL, NULL, 1, NULL, NULL,
	  { GUID("node_guid"),
	    { "serial", NULL, "'serial-' || (SELECT count(DISTINCT o.serial) FROM source.cable o WHERE o.serial <="
	      " t.serial)" } } },
	{ "cable_reading", DATA_CABLES, RANGE_ALL, NULL, 1, NULL, NULL, { GUID("node_guid") } },
	{ "node_reading", DATA_CABLES, RANGE_ALL, NULL, 1, NULL, NULL, { GUID("node_guid") } },
	{ "event", DATA_EVENTS, RANGE_SWEEPS, "sweep", 1, NULL, NULL,
	  { GUID("node_guid"), GUID("peer_guid"), { "text", NULL, "hide_text(text)" } } },
};

const size_t catalog_table_count = sizeof(catalog_tables) / sizeof(*catalog_tables);

const struct catalog_table *catalog_find(const char *name)
{
	for (size_t i = 0; i < catalog_table_count; i++)
		if (!strcmp(catalog_tables[i].name, name))
			return &catalog_tables[i];
	return NULL;
}

static const struct {
	const char *key, *title;
} kinds[DATA_KIND_COUNT] = {
	[DATA_RAW] = { "raw", "samples" },
	[DATA_SUMS] = { "sums", "sums of runs of sweeps" },
	[DATA_HOURS] = { "hours", "hourly sums" },
	[DATA_ERRORS] = { "errors", "error counters" },
	[DATA_READINGS] = { "readings", "absolute values" },
	[DATA_DETAILS] = { "details", "slow counters" },
	[DATA_GAPS] = { "spans", "spans without data" },
	[DATA_SWEEPS] = { "sweeps", "sweeps" },
	[DATA_EVENTS] = { "events", "events" },
	[DATA_FINDINGS] = { "findings", "findings" },
	[DATA_SNAPSHOTS] = { "snapshots", "snapshots" },
	[DATA_RHYTHMS] = { "rhythms", "rhythms of jobs" },
	[DATA_TOPOLOGY] = { "topology", "topology" },
	[DATA_CABLES] = { "cables", "imported cables" },
	[DATA_OTHER] = { "other", "names of codes, schema" },
};

const char *data_kind_key(enum data_kind kind)
{
	return kinds[kind].key;
}

const char *data_kind_title(enum data_kind kind)
{
	return kinds[kind].title;
}
