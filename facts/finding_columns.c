/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/finding_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/when.h"
#include "base/clock.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "facts/order.h"
#include "storage/findings.h"

static const struct finding *finding_of(const void *row)
{
	return &((const struct finding_facts *)row)->row->finding;
}

/* A function that reads a number of a row; 0 is unknown. */
#define NONZERO(name, expression) \
	static double name(const void *row) \
	{ \
		const struct finding_row *found = ((const struct finding_facts *)row)->row; \
\
		return (expression) ? (double)(expression) : NAN; \
	}

NONZERO(number_peak_time, found->peak - found->peak == 0 ? found->peak_us : 0)
NONZERO(number_ack_until, found->acknowledged.at_us ? found->acknowledged.until_us : 0)
NONZERO(number_port, found->finding.node_guid ? found->finding.port : 0)
NONZERO(number_peer_port, found->finding.peer_guid ? found->finding.peer_port : 0)

const char *finding_format_increase(const struct finding *finding, int64_t shown_us, char ret[FINDING_INCREASE_SIZE])
{
	const char *what = "error";
	char span[WHEN_SIZE];

	*ret = '\0';
	if (finding->kind == FINDING_LINK_FLAPPING)
		what = "flap";
	else if (finding->kind == FINDING_XMIT_DISCARDS)
		what = "discard";
	if (!finding->increased_us || finding->increased_us > shown_us)
		return ret;
	if (shown_us - finding->increased_us < 1000000)
		snprintf(ret, FINDING_INCREASE_SIZE, "last %s just now", what);
	else
		snprintf(ret, FINDING_INCREASE_SIZE, "last %s %s ago", what,
			 when_format_span((shown_us - finding->increased_us) / 1000000 * 1000000, span));
	return ret;
}

const char *finding_format_peak_time(const struct finding_row *row, int64_t shown_us, char ret[FINDING_PEAK_SIZE])
{
	time_t then = (time_t)(row->peak_us / US_PER_S);
	char words[48], at[24];
	struct tm local;

	*ret = '\0';
	if (!finding_format_peak(&row->finding, row->peak, words) || row->peak_us > shown_us)
		return ret;
	localtime_r(&then, &local);
	strftime(at, sizeof(at), shown_us - row->peak_us < 12 * 3600 * US_PER_S ? "%H:%M:%S" : "%F %H:%M:%S", &local);
	snprintf(ret, FINDING_PEAK_SIZE, "%s at %s", words, at);
	return ret;
}

static int compare_names(const void *a, const void *b)
{
	return names_compare(*(const char *const *)a, *(const char *const *)b);
}

void finding_append_hosts(const struct finding *finding, struct text *text)
{
	const char *names[FINDING_HOSTS_MAX];
	unsigned count = finding->host_count;
	size_t shown;

	if (!finding->affected_hosts)
		return;
	for (unsigned i = 0; i < count; i++)
		names[i] = finding->hosts[i];
	/* Only names that follow each other share a bracket. */
	qsort(names, count, sizeof(*names), compare_names);
	text_appendf(text, "%u host%s%s", finding->affected_hosts, finding->affected_hosts == 1 ? "" : "s",
		     count ? ": " : "");
	shown = host_names_fold(names, count, 16, text);
	if (count && shown < finding->affected_hosts)
		text_append(text, ", ...");
}

static void fill_kind(struct result *result, size_t at, const void *row)
{
	result_text(result, at, finding_kind_name(finding_of(row)->kind));
}

static void fill_severity(struct result *result, size_t at, const void *row)
{
	static const enum cell_style styles[] = {
		[FINDING_INFO] = STYLE_PLAIN, [FINDING_WARNING] = STYLE_WARNING, [FINDING_CRITICAL] = STYLE_CRITICAL,
	};
	const struct finding *finding = finding_of(row);

	result_text(result, at, finding_severity_name(finding->severity));
	result_show(result, at, NULL, finding->closed_us ? STYLE_DIM : styles[finding->severity]);
}

/* Columns of the two ends have their number in `which`. */
static void fill_guid(struct result *result, size_t at, const void *row)
{
	uint64_t guid = result_column(result, at)->which ? finding_of(row)->peer_guid : finding_of(row)->node_guid;

	if (guid)
		result_unsigned(result, at, guid);
}

static void fill_node(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct finding_facts *facts = row;
	uint64_t guid = which ? finding_of(row)->peer_guid : finding_of(row)->node_guid;
	const char *name = which ? facts->row->peer : facts->row->node;
	uint32_t node;

	if (!guid)
		return;
	node = fabric_find_node(facts->fabric, guid);
	if (node != FABRIC_NONE)
		name = facts->fabric->nodes[node].name;
	else if (facts->names && name_map_find(facts->names, guid))
		name = name_map_find(facts->names, guid);
	result_text(result, at, *name ? name : NULL);
}

static void fill_evidence(struct result *result, size_t at, const void *row)
{
	const struct finding *finding = finding_of(row);

	result_empty(result, at);
	for (unsigned i = 0; i < finding->number_count; i++)
		result_number(result, at, finding->numbers[i].key, finding->numbers[i].value);
}

static void fill_hosts(struct result *result, size_t at, const void *row)
{
	const struct finding *finding = finding_of(row);

	result_empty(result, at);
	for (unsigned i = 0; i < finding->host_count; i++)
		result_item(result, at, "%s", finding->hosts[i]);
}

/* The nodes of its ends and ports, each once. */
static void fill_nodes(struct result *result, size_t at, const void *row)
{
	const struct finding_facts *facts = row;
	const struct finding *finding = finding_of(row);
	uint64_t before[FINDING_PORTS_MAX + FINDING_END_PORTS];
	unsigned count = 0;

	result_empty(result, at);
	for (unsigned i = 0; i < finding->port_count + FINDING_END_PORTS; i++) {
		uint64_t guid = i >= FINDING_END_PORTS ? finding->ports[i - FINDING_END_PORTS].node_guid :
				i ? finding->peer_guid : finding->node_guid;
		uint32_t node = fabric_find_node(facts->fabric, guid);
		unsigned same = 0;

		while (same < count && before[same] != guid)
			same++;
		if (!guid || same < count)
			continue;
		before[count++] = guid;
		if (node != FABRIC_NONE)
			result_item(result, at, "%s", facts->order->names[node]);
		else
			result_item(result, at, "0x%016" PRIx64, guid);
	}
}

static void fill_ports(struct result *result, size_t at, const void *row)
{
	const struct finding_facts *facts = row;
	const struct finding *finding = finding_of(row);

	result_empty(result, at);
	for (unsigned i = 0; i < finding->port_count; i++) {
		uint32_t node = fabric_find_node(facts->fabric, finding->ports[i].node_guid);

		if (node != FABRIC_NONE && !finding->ports[i].port)
			result_item(result, at, "%s", facts->order->names[node]);
		else if (node != FABRIC_NONE)
			result_item(result, at, "%s/%u", facts->order->names[node], finding->ports[i].port);
		else
			result_item(result, at, "0x%016" PRIx64 "/%u", finding->ports[i].node_guid,
				    finding->ports[i].port);
	}
}

static void fill_stopped(struct result *result, size_t at, const void *row)
{
	const struct finding *finding = finding_of(row);

	if (finding->increased_us)
		result_bool(result, at, finding->stopped);
}

enum { ACK_PERSON, ACK_REASON };

static void fill_acknowledged(struct result *result, size_t at, const void *row)
{
	const struct finding_row *found = ((const struct finding_facts *)row)->row;

	if (found->acknowledged.at_us)
		result_text(result, at, result_column(result, at)->which == ACK_PERSON ? found->acknowledged.person :
								      found->acknowledged.reason);
}

#define ROW(member) COLUMN_MEMBER_AT(struct finding_facts, row, struct finding_row, member)
#define NONZERO_ROW(member) .flags = COLUMN_NONZERO, ROW(member)

const struct column finding_columns[] = {
	{ .key = "id", .title = "ID", .kind = COLUMN_INTEGER, ROW(finding.id),
	  .help = "number of the finding, for health ack" },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, COLUMN_MEMBER(struct finding_facts, time_us),
	  .help = "time of the sweep that it was read at" },
	{ .key = "kind", .title = "KIND", .kind = COLUMN_TEXT, .fill = fill_kind,
	  .help = "kind of the finding, for health --explain" },
	{ .key = "severity", .title = "SEVERITY", .kind = COLUMN_TEXT, ROW(finding.severity), .fill = fill_severity,
	  .help = "info, warning or critical" },
	{ .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  ROW(finding.subject), .help = "link, node, group or host that it is about" },
	{ .key = "node_guid", .title = "NODE GUID", .kind = COLUMN_GUID, .fill = fill_guid, .help = "node GUID" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .fill = fill_node, .help = "full name of the node" },
	{ .key = "port", .title = "NUM", .kind = COLUMN_INTEGER, .number = number_port, .help = "port number" },
	{ .key = "peer_guid", .title = "PEER GUID", .kind = COLUMN_GUID, .fill = fill_guid, .which = 1,
	  .help = "node GUID of the other end" },
	{ .key = "peer", .title = "PEER", .kind = COLUMN_TEXT, .fill = fill_node, .which = 1,
	  .help = "full name of the node at the other end" },
	{ .key = "peer_port", .title = "PEER NUM", .kind = COLUMN_INTEGER, .number = number_peer_port,
	  .help = "port number at the other end" },
	{ .key = "since", .title = "SINCE", .kind = COLUMN_TIME, ROW(finding.since_us),
	  .help = "begin of the condition" },
	{ .key = "opened", .title = "OPENED", .kind = COLUMN_TIME, ROW(opened_us),
	  .help = "time when it was reported" },
	{ .key = "last_seen", .title = "LAST SEEN", .kind = COLUMN_TIME, ROW(finding.last_seen_us),
	  .help = "last time when its condition was true" },
	{ .key = "closed", .title = "CLOSED", .kind = COLUMN_TIME, NONZERO_ROW(finding.closed_us),
	  .help = "time when it was closed" },
	{ .key = "ok_since", .title = "OK SINCE", .kind = COLUMN_TIME, NONZERO_ROW(finding.ok_since_us),
	  .help = "time since when its condition has been false" },
	{ .key = "last_increase", .title = "LAST INCREASE", .kind = COLUMN_TIME, NONZERO_ROW(finding.increased_us),
	  .help = "time when its count last increased, if its condition is a count" },
	{ .key = "increase_stopped", .title = "STOPPED", .kind = COLUMN_BOOL, .fill = fill_stopped,
	  .help = "whether its count no longer increases: a pause that its rate makes improbable" },
	{ .key = "measured", .title = "MEASURED", .kind = COLUMN_TIME, ROW(measured_us),
	  .help = "time of its numbers" },
	{ .key = "origin", .title = "ORIGIN", .kind = COLUMN_INTEGER, NONZERO_ROW(origin),
	  .help = "number of the finding that it is a consequence of" },
	{ .key = "evidence", .title = "EVIDENCE", .kind = COLUMN_OBJECT, .flags = COLUMN_FLEXIBLE,
	  .fill = fill_evidence, .help = "its numbers" },
	{ .key = "cause", .title = "CAUSE", .kind = COLUMN_TEXT, .flags = COLUMN_NONZERO, ROW(finding.cause),
	  .help = "probable cause" },
	{ .key = "text", .title = "FINDING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, ROW(finding.text),
	  .help = "what, where, how much, against which threshold" },
	{ .key = "advice", .title = "ACTION", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, ROW(finding.advice),
	  .help = "what to do" },
	{ .key = "hosts", .title = "HOSTS", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_hosts,
	  .help = "affected hosts, the first of them" },
	{ .key = "affected_hosts", .title = "AFFECTED", .kind = COLUMN_INTEGER, ROW(finding.affected_hosts),
	  .help = "number of affected hosts" },
	{ .key = "ports", .title = "PORTS", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_ports,
	  .help = "further ports that it is about" },
	{ .key = "nodes", .title = "NODES", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_nodes,
	  .help = "nodes that it is about; none: the fabric or the collector" },
	{ .key = "drained", .title = "DRAINED", .kind = COLUMN_BOOL, COLUMN_MEMBER(struct finding_facts, drained),
	  .help = "whether all affected hosts are out of service (--hosts-state)" },
	{ .key = "acknowledged_by", .title = "ACKNOWLEDGED BY", .kind = COLUMN_TEXT, .fill = fill_acknowledged,
	  .which = ACK_PERSON, .help = "user who acknowledged it" },
	{ .key = "acknowledged_reason", .title = "REASON", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE,
	  .fill = fill_acknowledged, .which = ACK_REASON, .help = "reason of the acknowledgement" },
	{ .key = "acknowledged_until", .title = "ACKNOWLEDGED UNTIL", .kind = COLUMN_TIME,
	  .number = number_ack_until, .help = "end of the acknowledgement" },
	{ .key = "peak", .title = "PEAK", .kind = COLUMN_REAL, ROW(peak),
	  .help = "largest value so far of the number that grows with the fault" },
	{ .key = "peak_time", .title = "PEAK TIME", .kind = COLUMN_TIME, .number = number_peak_time,
	  .help = "time of that value" },
	{ .key = "change", .title = "CHANGE", .kind = COLUMN_TEXT, COLUMN_MEMBER(struct finding_facts, change),
	  .help = "with --watch: opened, changed or closed" },
	{ 0 },
};
