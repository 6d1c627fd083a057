/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/finding_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <stdio.h>

#include "base/when.h"
#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "facts/order.h"
#include "storage/findings.h"

static const struct finding *finding_of(const void *row)
{
	return &((const struct finding_facts *)row)->row->finding;
}

/* A function that reads a number of a row. 0 is unknown with NONZERO. */
#define NUMBER(name, expression) \
	static double name(const void *row) \
	{ \
		const struct finding_row *found = ((const struct finding_facts *)row)->row; \
\
		return (double)(expression); \
	}
#define NONZERO(name, expression) NUMBER(name, (expression) ? (double)(expression) : NAN)

NUMBER(number_id, found->finding.id)
NUMBER(number_severity, found->finding.severity)
NUMBER(number_since, found->finding.since_us)
NUMBER(number_opened, found->opened_us)
NUMBER(number_last_seen, found->finding.last_seen_us)
NONZERO(number_closed, found->finding.closed_us)
NONZERO(number_ok_since, found->finding.ok_since_us)
NONZERO(number_increased, found->finding.increased_us)
NUMBER(number_measured, found->measured_us)
NUMBER(number_peak, found->peak)
NONZERO(number_peak_time, found->peak - found->peak == 0 ? found->peak_us : 0)
NONZERO(number_origin, found->origin)
NUMBER(number_affected, found->finding.affected_hosts)
NONZERO(number_ack_until, found->acknowledged.at_us ? found->acknowledged.until_us : 0)
NONZERO(number_port, found->finding.node_guid ? found->finding.port : 0)
NONZERO(number_peer_port, found->finding.peer_guid ? found->finding.peer_port : 0)

static double number_time(const void *row)
{
	return (double)((const struct finding_facts *)row)->time_us;
}

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

enum { KIND, SEVERITY, SUBJECT, CAUSE, TEXT, ADVICE };

static void fill_text(struct result *result, size_t at, const void *row)
{
	static const enum cell_style styles[] = {
		[FINDING_INFO] = STYLE_PLAIN, [FINDING_WARNING] = STYLE_WARNING, [FINDING_CRITICAL] = STYLE_CRITICAL,
	};
	const struct finding *finding = finding_of(row);

	switch (result_column(result, at)->which) {
	case KIND:
		result_text(result, at, finding_kind_name(finding->kind));
		break;
	case SEVERITY:
		result_text(result, at, finding_severity_name(finding->severity));
		result_show(result, at, NULL, finding->closed_us ? STYLE_DIM : styles[finding->severity]);
		break;
	case SUBJECT:
		result_text(result, at, finding->subject);
		break;
	case CAUSE:
		result_text(result, at, finding->cause[0] ? finding->cause : NULL);
		break;
	case TEXT:
		result_text(result, at, finding->text);
		break;
	default:
		result_text(result, at, finding->advice);
	}
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

static void fill_drained(struct result *result, size_t at, const void *row)
{
	result_bool(result, at, ((const struct finding_facts *)row)->drained);
}

enum { ACK_PERSON, ACK_REASON };

static void fill_acknowledged(struct result *result, size_t at, const void *row)
{
	const struct finding_row *found = ((const struct finding_facts *)row)->row;

	if (found->acknowledged.at_us)
		result_text(result, at, result_column(result, at)->which == ACK_PERSON ? found->acknowledged.person :
								      found->acknowledged.reason);
}

static void fill_change(struct result *result, size_t at, const void *row)
{
	result_text(result, at, ((const struct finding_facts *)row)->change);
}

const struct column finding_columns[] = {
	{ .key = "id", .title = "ID", .kind = COLUMN_INTEGER, .number = number_id,
	  .help = "number of the finding, for health ack" },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, .number = number_time,
	  .help = "time of the sweep that it was read at" },
	{ .key = "kind", .title = "KIND", .kind = COLUMN_TEXT, .fill = fill_text, .which = KIND,
	  .help = "kind of the finding, for health --explain" },
	{ .key = "severity", .title = "SEVERITY", .kind = COLUMN_TEXT, .number = number_severity, .fill = fill_text,
	  .which = SEVERITY, .help = "info, warning or critical" },
	{ .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_text, .which = SUBJECT, .help = "link, node, group or host that it is about" },
	{ .key = "node_guid", .title = "NODE GUID", .kind = COLUMN_GUID, .fill = fill_guid, .help = "node GUID" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .fill = fill_node, .help = "full name of the node" },
	{ .key = "port", .title = "NUM", .kind = COLUMN_INTEGER, .number = number_port, .help = "port number" },
	{ .key = "peer_guid", .title = "PEER GUID", .kind = COLUMN_GUID, .fill = fill_guid, .which = 1,
	  .help = "node GUID of the other end" },
	{ .key = "peer", .title = "PEER", .kind = COLUMN_TEXT, .fill = fill_node, .which = 1,
	  .help = "full name of the node at the other end" },
	{ .key = "peer_port", .title = "PEER NUM", .kind = COLUMN_INTEGER, .number = number_peer_port,
	  .help = "port number at the other end" },
	{ .key = "since", .title = "SINCE", .kind = COLUMN_TIME, .number = number_since,
	  .help = "begin of the condition" },
	{ .key = "opened", .title = "OPENED", .kind = COLUMN_TIME, .number = number_opened,
	  .help = "time when it was reported" },
	{ .key = "last_seen", .title = "LAST SEEN", .kind = COLUMN_TIME, .number = number_last_seen,
	  .help = "last time when its condition was true" },
	{ .key = "closed", .title = "CLOSED", .kind = COLUMN_TIME, .number = number_closed,
	  .help = "time when it was closed" },
	{ .key = "ok_since", .title = "OK SINCE", .kind = COLUMN_TIME, .number = number_ok_since,
	  .help = "time since when its condition has been false" },
	{ .key = "last_increase", .title = "LAST INCREASE", .kind = COLUMN_TIME, .number = number_increased,
	  .help = "time when its count last increased, if its condition is a count" },
	{ .key = "increase_stopped", .title = "STOPPED", .kind = COLUMN_BOOL, .fill = fill_stopped,
	  .help = "whether its count no longer increases: a pause that its rate makes improbable" },
	{ .key = "measured", .title = "MEASURED", .kind = COLUMN_TIME, .number = number_measured,
	  .help = "time of its numbers" },
	{ .key = "origin", .title = "ORIGIN", .kind = COLUMN_INTEGER, .number = number_origin,
	  .help = "number of the finding that it is a consequence of" },
	{ .key = "evidence", .title = "EVIDENCE", .kind = COLUMN_OBJECT, .flags = COLUMN_FLEXIBLE,
	  .fill = fill_evidence, .help = "its numbers" },
	{ .key = "cause", .title = "CAUSE", .kind = COLUMN_TEXT, .fill = fill_text, .which = CAUSE,
	  .help = "probable cause" },
	{ .key = "text", .title = "FINDING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .fill = fill_text,
	  .which = TEXT, .help = "what, where, how much, against which threshold" },
	{ .key = "advice", .title = "ACTION", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .fill = fill_text,
	  .which = ADVICE, .help = "what to do" },
	{ .key = "hosts", .title = "HOSTS", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_hosts,
	  .help = "affected hosts, the first of them" },
	{ .key = "affected_hosts", .title = "AFFECTED", .kind = COLUMN_INTEGER, .number = number_affected,
	  .help = "number of affected hosts" },
	{ .key = "ports", .title = "PORTS", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_ports,
	  .help = "further ports that it is about" },
	{ .key = "nodes", .title = "NODES", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE, .fill = fill_nodes,
	  .help = "nodes that it is about; none: the fabric or the collector" },
	{ .key = "drained", .title = "DRAINED", .kind = COLUMN_BOOL, .fill = fill_drained,
	  .help = "whether all affected hosts are out of service (--hosts-state)" },
	{ .key = "acknowledged_by", .title = "ACKNOWLEDGED BY", .kind = COLUMN_TEXT, .fill = fill_acknowledged,
	  .which = ACK_PERSON, .help = "user who acknowledged it" },
	{ .key = "acknowledged_reason", .title = "REASON", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE,
	  .fill = fill_acknowledged, .which = ACK_REASON, .help = "reason of the acknowledgement" },
	{ .key = "acknowledged_until", .title = "ACKNOWLEDGED UNTIL", .kind = COLUMN_TIME,
	  .number = number_ack_until, .help = "end of the acknowledgement" },
	{ .key = "peak", .title = "PEAK", .kind = COLUMN_REAL, .number = number_peak,
	  .help = "largest value so far of the number that grows with the fault" },
	{ .key = "peak_time", .title = "PEAK TIME", .kind = COLUMN_TIME, .number = number_peak_time,
	  .help = "time of that value" },
	{ .key = "change", .title = "CHANGE", .kind = COLUMN_TEXT, .fill = fill_change,
	  .help = "with --watch: opened, changed or closed" },
	{ 0 },
};
