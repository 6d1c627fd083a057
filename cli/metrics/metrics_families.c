/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_families.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/metrics/metrics_page.h"
#include "config.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "facts/port_columns.h"
#include "storage/jobs.h"
#include "storage/reader.h"

static void begin_label(struct text *text, const char *name)
{
	size_t len = text->len;

	if (len && text->chars[len - 1] == '"')
		text_append(text, ",");
	text_append(text, name);
	text_append(text, "=\"");
}

void metrics_label(struct text *text, const char *name, const char *value)
{
	size_t len = strlen(value), used = 0;
	uint32_t character;

	begin_label(text, name);
	while (len) {
		size_t bytes = text_decode(value, len, &character);
		size_t step = bytes ? bytes : 1;

		used += bytes ? bytes : 3;
		if (used > METRICS_LABEL_MAX)
			break;
		if (!bytes)
			text_append(text, "\xef\xbf\xbd");
		else if (*value == '\n')
			text_append(text, "\\n");
		else if (*value == '"' || *value == '\\')
			text_append(text, *value == '"' ? "\\\"" : "\\\\");
		else
			text_append_bytes(text, value, bytes);
		value += step;
		len -= step;
	}
	text_append(text, "\"");
}

void metrics_label_number(struct text *text, const char *name, uint64_t value)
{
	begin_label(text, name);
	text_append_number(text, value, 10);
	text_append(text, "\"");
}

void metrics_label_guid(struct text *text, const char *name, uint64_t guid)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%016llx", (unsigned long long)guid);
	metrics_label(text, name, digits);
}

const char *metrics_node_name(const struct fabric *fabric, uint32_t node)
{
	return fabric->names.shown ? fabric->names.shown[node] : fabric->nodes[node].name;
}

static void port_labels(const struct fabric *fabric, uint32_t index, struct text *text)
{
	const struct port *port = &fabric->ports[index];

	metrics_label_guid(text, "node_guid", fabric->nodes[port->node].guid);
	metrics_label(text, "node", metrics_node_name(fabric, port->node));
	metrics_label_number(text, "port", port->num);
}

static const struct port *port_of(const struct metrics_page *page, uint32_t row)
{
	return &page->topology->fabric->ports[row];
}

static void port_info(const struct metrics_page *page, uint32_t row, struct text *text)
{
	static const char *const peer_labels[] = { "peer", "peer_guid", "peer_port_guid", "peer_port" };
	const struct fabric *fabric = page->topology->fabric;
	const struct shape *shape = page->topology->shape;
	const struct port *port = port_of(page, row);
	const struct port *peer = port->peer != FABRIC_NONE ? &fabric->ports[port->peer] : NULL;
	uint32_t rail = shape->ports[row].rail;
	char role[SHAPE_ROLE_SIZE], host[NODE_NAME_SIZE], width[8] = "";
	const char *role_name = shape_port_role(shape, row, role);

	metrics_label_guid(text, "port_guid", fabric_port_guid(fabric, row));
	if (peer) {
		metrics_label(text, peer_labels[0], metrics_node_name(fabric, peer->node));
		metrics_label_guid(text, peer_labels[1], fabric->nodes[peer->node].guid);
		metrics_label_guid(text, peer_labels[2], fabric_port_guid(fabric, port->peer));
		metrics_label_number(text, peer_labels[3], peer->num);
	}
	for (size_t i = 0; !peer && i < 4; i++)
		metrics_label(text, peer_labels[i], "");
	metrics_label(text, "host", host_name(&fabric->nodes[port->node], host) ? host : "");
	metrics_label(text, "rail", rail != SHAPE_NONE ? shape->rails[rail].name : "");
	metrics_label(text, "role", role_name ? role_name : "");
	if (link_width_lanes(port->width))
		snprintf(width, sizeof(width), "%ux", link_width_lanes(port->width));
	metrics_label(text, "width", width);
	metrics_label(text, "speed", link_speed_name(port->speed));
}

static double port_degraded(const struct metrics_page *page, uint32_t row)
{
	const struct port *port = port_of(page, row);

	if (port->state != PORT_ACTIVE || port->peer == FABRIC_NONE)
		return NAN;
	return link_is_degraded(page->topology->shape, row);
}

static const struct shape_group *group_of(const struct metrics_page *page, uint32_t row)
{
	return &page->topology->shape->groups[row / 2];
}

static void group_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct fabric *fabric = page->topology->fabric;
	const struct shape_group *group = group_of(page, row);

	metrics_label_guid(text, "node_guid", fabric->nodes[group->node].guid);
	metrics_label(text, "node", metrics_node_name(fabric, group->node));
	metrics_label(text, "group", group->kind == GROUP_UP ? "uplinks" : metrics_node_name(fabric, group->peer));
}

static void direction_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	group_labels(page, row, text);
	metrics_label(text, "direction", row % 2 == BALANCE_XMIT ? "xmit" : "rcv");
}

static void finding_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	(void)page;
	metrics_label(text, "kind", finding_kind_name((enum finding_kind)(row / (FINDING_CRITICAL + 1))));
	metrics_label(text, "severity", finding_severity_name((enum finding_severity)(row % (FINDING_CRITICAL + 1))));
}

static void open_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	const struct metrics_finding *open = &page->open[row];

	metrics_label_number(text, "id", (uint64_t)open->id);
	metrics_label(text, "kind", finding_kind_name(open->kind));
	metrics_label(text, "severity", finding_severity_name(open->severity));
	metrics_label(text, "subject", open->subject);
	metrics_label(text, "cause", open->cause);
}

static void job_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	metrics_label(text, "id", page->jobs[row].id);
	metrics_label(text, "name", page->jobs[row].name);
	for (int i = 0; i < JOB_LABELS; i++)
		metrics_label(text, job_label_name(i), page->jobs[row].labels[i]);
}

/* Those that identify a job. */
static void rhythm_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	metrics_label(text, "id", page->jobs[row].id);
	metrics_label(text, "cluster", page->jobs[row].labels[JOB_CLUSTER]);
}

METRICS_VALUE(job_period, page->jobs[row].rhythm.period_s)
METRICS_VALUE(job_wire, page->jobs[row].rhythm.wire_percent / 100)
METRICS_VALUE(job_stalled, page->jobs[row].rhythm.known ? page->jobs[row].rhythm.phase == JOB_PHASE_STALLED : NAN)
METRICS_VALUE(job_slower, page->jobs[row].rhythm.phase == JOB_PHASE_SLOWER ?
	      1 + page->jobs[row].rhythm.trend_percent / 100 : NAN)

static void node_class_label(const struct metrics_page *page, uint32_t row, struct text *text)
{
	static const char *const names[METRICS_NODE_CLASSES] = {
		[SUMMARY_HCAS] = "ca", [SUMMARY_SWITCHES] = "switch", [SUMMARY_ROUTERS] = "router",
		[SUMMARY_AGGREGATION] = "aggregation",
	};

	(void)page;
	metrics_label(text, "type", names[row]);
}

/* Numbers of groups of several links; those without a direction are of the first row of each group. */
#define GROUP(function, is_for_row, expression) \
	METRICS_VALUE(function, group_of(page, row)->count > 1 && (is_for_row) ? (expression) : NAN)
#define SECONDS(wall_us) ((wall_us) ? (double)(wall_us) / US_PER_S : NAN)

METRICS_VALUE(one, 1)
/* Ports that are down, or have no counters, are not polled. */
METRICS_VALUE(port_responding, page->ports[row].sample == SAMPLE_OK ? 1 : page->ports[row].sample == SAMPLE_SILENT ||
	      page->ports[row].sample == SAMPLE_BACKOFF || page->ports[row].sample == SAMPLE_LOCKED ? 0 : NAN)
/* Of a page of `ibwire metrics`; see is_pushed() of cli/push. */
METRICS_VALUE(port_wait, page->counters[row].known & COUNTER_BIT(COUNTER_XMIT_WAIT) && page->counters[row].tick_s > 0 ?
	      page->counters[row].wait_s : NAN)
METRICS_VALUE(port_time, SECONDS(page->ports[row].last_wall_us))
GROUP(group_imbalance, true, page->groups[row].imbalance)
GROUP(group_mean, true, page->groups[row].mean)
GROUP(group_most, true, page->groups[row].most)
GROUP(group_active, row % 2 == BALANCE_XMIT, page->groups[row].active)
GROUP(group_built, row % 2 == BALANCE_XMIT, group_of(page, row)->built)
METRICS_VALUE(finding_count, page->findings[row / (FINDING_CRITICAL + 1)][row % (FINDING_CRITICAL + 1)])
METRICS_VALUE(node_count, page->summary.nodes[row])
METRICS_VALUE(acknowledged, page->acknowledged)
METRICS_VALUE(links, page->summary.links)
METRICS_VALUE(links_active, page->summary.links_by_state[PORT_ACTIVE])
METRICS_VALUE(live, page->live)
METRICS_VALUE(ports_bounded, page->summary.ports_bounded)
METRICS_VALUE(sweep_time, SECONDS(page->status.last.wall_us))
METRICS_VALUE(sweep_duration, (double)page->status.last.duration_us / US_PER_S)
METRICS_VALUE(sweep_interval, SECONDS(page->status.last.interval_us))
METRICS_VALUE(sweeps, (double)page->status.last.id)
METRICS_VALUE(polled, page->status.last.ports_polled)
METRICS_VALUE(responding, page->status.last.ports_answered)
METRICS_VALUE(coverage, page->status.last.ports_polled ?
	      (double)page->status.last.ports_answered / page->status.last.ports_polled : NAN)
METRICS_VALUE(mads, (double)page->status.last.mads_sent)
METRICS_VALUE(mads_timed_out, (double)page->status.last.mads_timed_out)
METRICS_VALUE(discovery_time, SECONDS(page->status.discovery_wall_us))
METRICS_VALUE(database_size, (double)page->status.size_bytes)
METRICS_VALUE(build_duration, page->build_s)
METRICS_VALUE(process_start, SECONDS(page->served_since_us))
METRICS_VALUE(process_cpu, (double)clock() / CLOCKS_PER_SEC)

static double process_memory(const struct metrics_page *page, uint32_t row)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;
	bool is_read = file && fscanf(file, "%*u %lu", &pages) == 1;

	(void)page;
	(void)row;
	if (file)
		fclose(file);
	return is_read ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
}

static void build_labels(const struct metrics_page *page, uint32_t row, struct text *text)
{
	(void)page;
	(void)row;
	metrics_label(text, "version", PACKAGE_VERSION);
	metrics_label_number(text, "schema", (uint64_t)storage_schema_version());
	metrics_label(text, "libraries", IBWIRE_LIBRARIES);
}

#define COUNT(which, key, treydock, guilbaults) \
	{ .name = "ibwire_port_" key, .type = METRICS_COUNTER, .scope = METRICS_PORT, \
	  .counter = COUNTER_##which, .scale = 1 },
#define BYTES(key, which, what) \
	{ .name = "ibwire_port_" key, .type = METRICS_COUNTER, .scope = METRICS_PORT, .help = what, \
	  .counter = which, .scale = COUNTER_WORD_BYTES }
#define FAMILY(kind, key, rows, function, more_labels, what) \
	{ .name = "ibwire_" key, .type = kind, .scope = rows, .help = what, .value = function, \
	  .labels = more_labels }
#define GAUGE(key, rows, function, more_labels, what) \
	FAMILY(METRICS_GAUGE, key, rows, function, more_labels, what)
#define LASTING(kind, key, function, more_labels, what) \
	{ .name = "ibwire_" key, .type = kind, .scope = METRICS_ONCE, .help = what, .value = function, \
	  .labels = more_labels, .lasting = true }
#define PROCESS(kind, key, function, what) \
	{ .name = "process_" key, .type = kind, .scope = METRICS_PROCESS, .help = what, .value = function, \
	  .lasting = true }

static const struct metrics_family families[] = {
	LASTING(METRICS_INFO, "build", one, build_labels,
		"Versions of ibwire, of the databases that it reads, and of its libraries"),
	LASTING(METRICS_GAUGE, "collector_live", live, NULL, "1 if a collector is running on the database, else 0"),
	LASTING(METRICS_GAUGE, "sweep_timestamp_seconds", sweep_time, NULL, "Start of the newest sweep"),
	GAUGE("sweep_duration_seconds", METRICS_ONCE, sweep_duration, NULL, "Duration of the newest sweep"),
	LASTING(METRICS_GAUGE, "sweep_interval_seconds", sweep_interval, NULL, "Configured time between sweeps"),
	LASTING(METRICS_COUNTER, "sweeps", sweeps, NULL, "Sweeps stored in the database"),
	GAUGE("sweep_ports_polled", METRICS_ONCE, polled, NULL, "Ports polled in the newest sweep"),
	GAUGE("sweep_ports_responding", METRICS_ONCE, responding, NULL, "Ports that responded in the newest sweep"),
	GAUGE("sweep_coverage_ratio", METRICS_ONCE, coverage, NULL,
	      "Share of the polled ports that responded in the newest sweep"),
	GAUGE("sweep_mads", METRICS_ONCE, mads, NULL, "MADs sent in the newest sweep"),
	GAUGE("sweep_mads_timed_out", METRICS_ONCE, mads_timed_out, NULL, "MADs that timed out in the newest sweep"),
	LASTING(METRICS_GAUGE, "discovery_timestamp_seconds", discovery_time, NULL,
		"Time of the newest discovery of the fabric"),
	LASTING(METRICS_GAUGE, "database_size_bytes", database_size, NULL, "Size of the database and its log"),
	LASTING(METRICS_GAUGE, "metrics_build_duration_seconds", build_duration, NULL,
		"Time to read the newest sweep for this page"),
	PROCESS(METRICS_COUNTER, "cpu_seconds", process_cpu, "CPU time of this process"),
	PROCESS(METRICS_GAUGE, "resident_memory_bytes", process_memory, "Resident memory of this process"),
	PROCESS(METRICS_GAUGE, "start_time_seconds", process_start, "Start of this process"),
	GAUGE("nodes", METRICS_NODE_CLASS, node_count, node_class_label, "Nodes of the fabric by type"),
	GAUGE("links", METRICS_ONCE, links, NULL, "Links of the fabric, up or down"),
	GAUGE("links_active", METRICS_ONCE, links_active, NULL, "Links of the fabric with both ends in state Active"),
	GAUGE("ports_with_lower_bounds", METRICS_ONCE, ports_bounded, NULL,
	      "Ports whose traffic in the newest sweep is a lower bound, because counters were reset or are saturated"),
	GAUGE("findings", METRICS_FINDING, finding_count, finding_labels,
	      "Open findings that are not acknowledged, by kind and severity"),
	FAMILY(METRICS_INFO, "finding", METRICS_OPEN, one, open_labels,
	       "Open finding that is not acknowledged; the 200 worst"),
	FAMILY(METRICS_INFO, "job", METRICS_JOB, one, job_labels,
	       "Job that ran at the time of the sweep; the newest 200"),
	GAUGE("job_iteration_seconds", METRICS_JOB, job_period, rhythm_labels,
	      "Length of an iteration of a job by its traffic; of the jobs of ibwire_job_info"),
	GAUGE("job_wire_ratio", METRICS_JOB, job_wire, rhythm_labels, "Share of the time in which a job communicates"),
	GAUGE("job_stalled", METRICS_JOB, job_stalled, rhythm_labels,
	      "1 if all ports of a job are quiet for longer than its rhythm allows, otherwise 0"),
	GAUGE("job_slower_ratio", METRICS_JOB, job_slower, rhythm_labels,
	      "Length of an iteration relative to that before; only while a job is slower"),
	GAUGE("findings_acknowledged", METRICS_ONCE, acknowledged, NULL, "Open findings that are acknowledged"),
	GAUGE("group_imbalance_ratio", METRICS_GROUP, group_imbalance, direction_labels,
	      "Load of the hottest link above the mean of its group, relative to the mean; only while there is load"),
	GAUGE("group_mean_utilization_ratio", METRICS_GROUP, group_mean, direction_labels,
	      "Mean utilization of the links of a group"),
	GAUGE("group_max_utilization_ratio", METRICS_GROUP, group_most, direction_labels,
	      "Utilization of the hottest link of a group"),
	GAUGE("group_links_active", METRICS_GROUP, group_active, group_labels, "Links of a group that are Active"),
	GAUGE("group_links_built", METRICS_GROUP, group_built, group_labels, "Links that a group is built with"),
	FAMILY(METRICS_INFO, "port", METRICS_PORT, one, port_info, "Peer, host, rail, role and active link of a port"),
	GAUGE("port_responding", METRICS_PORT, port_responding, NULL,
	      "1 if the port responded in the newest sweep, 0 if it is unresponsive or locked"),
	GAUGE("port_degraded", METRICS_PORT, port_degraded, NULL,
	      "1 if the link runs below what both ends support or have enabled, or below comparable links"),
	GAUGE("port_reading_timestamp_seconds", METRICS_PORT, port_time, NULL,
	      "Time of the newest reading of the port"),
	FAMILY(METRICS_COUNTER, "port_xmit_wait_seconds", METRICS_PORT, port_wait, NULL,
	       "Time with data to send and no credits, estimated from PortXmitWait where the tick is known or assumed"),
	BYTES("xmit_bytes", COUNTER_XMIT_DATA, "Bytes sent (PortXmitData times 4)"),
	BYTES("rcv_bytes", COUNTER_RCV_DATA, "Bytes received (PortRcvData times 4)"),
	METRICS_COUNTERS(COUNT)
	COUNT(RCV_SWITCH_RELAY_ERRORS, "rcv_switch_relay_errors",,)
	COUNT(QP1_DROPPED, "qp1_dropped",,)
};

static const struct metrics_schema own = {
	.families = families, .count = sizeof(families) / sizeof(*families), .columns = true,
	.port_labels = port_labels,
};

const struct column *metrics_column_next(const struct column *column)
{
	while (column->key && !column->metric)
		column++;
	return column->key ? column : NULL;
}

size_t metrics_family_count(const struct metrics_schema *schema)
{
	size_t count = schema->count;

	if (schema->columns)
		for (const struct column *column = port_columns; (column = metrics_column_next(column)); column++)
			count++;
	return count;
}

const char *metrics_unit(const struct metrics_family *family)
{
	static const char *const units[] = { "ratio", "bits_per_second", "bytes_per_second", "bytes", "seconds" };
	size_t len = strlen(family->name);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (len > strlen(units[i]) && !strcmp(family->name + len - strlen(units[i]), units[i]))
			return units[i];
	return NULL;
}

struct metrics_family metrics_family_get(const struct metrics_schema *schema, size_t at)
{
	const struct column *column = port_columns;

	if (at < schema->count)
		return schema->families[at];
	at -= schema->count;
	for (size_t i = 0; (column = metrics_column_next(column)) && i < at; i++)
		column++;
	return (struct metrics_family){
		.name = column->metric, .type = METRICS_GAUGE, .scope = METRICS_PORT,
		.help = column->help, .column = column, .number = at,
	};
}

double metrics_family_value(const struct metrics_family *family, const struct metrics_page *page, uint32_t row)
{
	double number;

	if (family->value)
		return family->value(page, row);
	number = page->numbers[row * page->number_count + family->number];
	switch (family->column->kind) {
	case COLUMN_PERCENT:
		return number / 100;
	case COLUMN_GBPS:
		return round(number * 1e9);
	default:
		return number;
	}
}

const struct metrics_schema *metrics_schema_find(const char *name)
{
	static const struct metrics_schema *const all[] = { &metrics_schema_treydock, &metrics_schema_guilbaults };

	for (size_t i = 0; name && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(name, all[i]->name))
			return all[i];
	return name ? NULL : &own;
}
