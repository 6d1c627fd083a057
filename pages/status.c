/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.c - the record of a collector's status */
#include "pages/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/events.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/health_rows.h"
#include "facts/link.h"
#include "storage/reader.h"

enum {
	STATE, LIVE, COLLECTOR_PID, WAITING_TIME, BLOCKED, BLOCKER_PID,
	THROTTLED, THROTTLED_TIME, LAST_TIME, AGE, INTERVAL, DURATION, SPREAD,
	NODE_SPREAD, PLANNED, POLLED, RESPONDING, COVERAGE, UNFINISHED, NOT_READ, UNPLANNED, MIRRORED, UNSUPPORTED,
	SILENT, SILENT_NODES, LOCKED, LOCKED_NODES, NODES, SWITCHES, HCAS, AGGREGATION, ROUTERS, LINKS, LINKS_UP,
	LINKS_ARMED, LINKS_INIT, LINKS_DOWN, LINKS_DEGRADED, NO_PEER, FEC_UNKNOWN,
	XMIT_WAIT, WAIT_DOCUMENTED, WAIT_ASSUMED, WAIT_CONTRADICTED, WAIT_UNKNOWN,
	PORTS_DOWN, SM, SM_LID,
	SM_GUID, SM_STATE, SM_PRIORITY, SM_ACT_COUNT, SM_OTHERS, MADS, MADS_TIMED_OUT, MADS_RETRIED, MADS_PER_S,
	TOPOLOGY, DISCOVERY_TIME, DISCOVERY, SMPS, DB, SIZE, LOG, LOG_HOLDERS, SCHEMA, SWEEPS, FIRST_TIME, COLUMN_COUNT,
};

/* Rows, NULL if their cells are unknown: the status, and the same with a sweep, a discovery, a fabric. */
enum { STATUS_ROW, SWEPT_ROW, DISCOVERED_ROW, FABRIC_ROW, STATUS_ROWS };

#define OF(member) COLUMN_MEMBER(struct status, member)
#define IF_SWEPT(member) .row = SWEPT_ROW, OF(member)
#define IF_DISCOVERED(member) .row = DISCOVERED_ROW, OF(member)
#define IF_FABRIC(member) .row = FABRIC_ROW, OF(member)

static const struct column status_columns[COLUMN_COUNT] = {
	[STATE] = { .key = "state", .title = "state", .kind = COLUMN_TEXT },
	[LIVE] = { .key = "live", .kind = COLUMN_BOOL },
	[COLLECTOR_PID] = { .key = "collector_pid", .title = "collector", .kind = COLUMN_INTEGER },
	[WAITING_TIME] = { .key = "waiting_time", .kind = COLUMN_TIME },
	[BLOCKED] = { .key = "store_blocked", .kind = COLUMN_BOOL },
	[BLOCKER_PID] = { .key = "blocker_pid", .kind = COLUMN_INTEGER },
	[THROTTLED] = { .key = "throttled", .title = "  throttled", .kind = COLUMN_BOOL, .flags = COLUMN_IF_SHOWN },
	[THROTTLED_TIME] = { .key = "throttled_time", .kind = COLUMN_TIME },
	[LAST_TIME] = { .key = "last_time", .title = "newest sweep", .kind = COLUMN_TIME, IF_SWEPT(db.last_wall_us) },
	[AGE] = { .key = "age_s", .title = "  age", .kind = COLUMN_SPAN_S },
	[INTERVAL] = { .key = "interval_s", .title = "  interval", .kind = COLUMN_SPAN_S },
	[DURATION] = { .key = "sweep_us", .title = "  took", .kind = COLUMN_SPAN_US, IF_SWEPT(db.last.duration_us) },
	[SPREAD] = { .key = "spread_us", .title = "  readings within", .kind = COLUMN_SPAN_US,
		     .flags = COLUMN_IF_SHOWN },
	[NODE_SPREAD] = { .key = "node_spread_us", .kind = COLUMN_SPAN_US },
	[PLANNED] = { .key = "ports_planned", .kind = COLUMN_INTEGER, IF_SWEPT(db.last.ports_planned) },
	[POLLED] = { .key = "ports_polled", .kind = COLUMN_INTEGER, IF_SWEPT(db.last.ports_polled) },
	[RESPONDING] = { .key = "ports_answered", .title = "ports responding", .kind = COLUMN_INTEGER },
	[COVERAGE] = { .key = "coverage_percent", .kind = COLUMN_PERCENT },
	[UNFINISHED] = { .key = "ports_unfinished", .title = "  not reached in time", .kind = COLUMN_INTEGER,
			 .flags = COLUMN_IF_SHOWN },
	[NOT_READ] = { .title = "  not read", .kind = COLUMN_TEXT, .flags = COLUMN_IF_SHOWN },
	[UNPLANNED] = { .key = "ports_unplanned", .kind = COLUMN_INTEGER },
	[MIRRORED] = { .key = "ports_mirrored", .kind = COLUMN_INTEGER },
	[UNSUPPORTED] = { .key = "ports_unsupported", .kind = COLUMN_INTEGER },
	[SILENT] = { .key = "silent_node_count", .kind = COLUMN_INTEGER },
	[SILENT_NODES] = { .key = "silent_nodes", .title = "unresponsive nodes", .kind = COLUMN_LIST },
	[LOCKED] = { .key = "locked_node_count", .kind = COLUMN_INTEGER },
	[LOCKED_NODES] = { .key = "locked_nodes", .title = "locked nodes", .kind = COLUMN_LIST },
	[NODES] = { .key = "nodes", .title = "nodes", .kind = COLUMN_INTEGER },
	[SWITCHES] = { .key = "switches", .kind = COLUMN_INTEGER, IF_FABRIC(summary.nodes[SUMMARY_SWITCHES]) },
	[HCAS] = { .key = "hcas", .kind = COLUMN_INTEGER, IF_FABRIC(summary.nodes[SUMMARY_HCAS]) },
	[AGGREGATION] = { .key = "aggregation_nodes", .kind = COLUMN_INTEGER,
			  IF_FABRIC(summary.nodes[SUMMARY_AGGREGATION]) },
	[ROUTERS] = { .key = "routers", .kind = COLUMN_INTEGER, IF_FABRIC(summary.nodes[SUMMARY_ROUTERS]) },
	[LINKS] = { .key = "links", .title = "links", .kind = COLUMN_INTEGER },
	[LINKS_UP] = { .key = "links_active", .kind = COLUMN_INTEGER },
	[LINKS_ARMED] = { .key = "links_armed", .kind = COLUMN_INTEGER, IF_FABRIC(summary.links_by_state[PORT_ARMED]) },
	[LINKS_INIT] = { .key = "links_init", .kind = COLUMN_INTEGER, IF_FABRIC(summary.links_by_state[PORT_INIT]) },
	[LINKS_DOWN] = { .key = "links_down", .kind = COLUMN_INTEGER, IF_FABRIC(summary.links_by_state[PORT_DOWN]) },
	[LINKS_DEGRADED] = { .key = "links_degraded", .kind = COLUMN_INTEGER },
	[NO_PEER] = { .key = "ports_without_peer", .title = "  unknown peers", .kind = COLUMN_INTEGER,
		      .flags = COLUMN_IF_SHOWN },
	[FEC_UNKNOWN] = { .key = "ports_fec_unknown", .title = "  FEC unknown", .kind = COLUMN_INTEGER,
			  .flags = COLUMN_IF_SHOWN },
	[XMIT_WAIT] = { .title = "  XmitWait", .kind = COLUMN_TEXT },
	[WAIT_DOCUMENTED] = { .key = "xmit_wait_documented", .kind = COLUMN_INTEGER },
	[WAIT_ASSUMED] = { .key = "xmit_wait_assumed", .kind = COLUMN_INTEGER,
			   IF_FABRIC(summary.stall_rules[STALL_ASSUMED]) },
	[WAIT_CONTRADICTED] = { .key = "xmit_wait_contradicted", .kind = COLUMN_INTEGER,
				IF_FABRIC(summary.stall_rules[STALL_CONTRADICTED]) },
	[WAIT_UNKNOWN] = { .key = "xmit_wait_unknown", .kind = COLUMN_INTEGER,
			   IF_FABRIC(summary.stall_rules[STALL_UNKNOWN]) },
	[PORTS_DOWN] = { .key = "ports_down", .title = "ports down", .kind = COLUMN_INTEGER,
			 IF_FABRIC(summary.ports_down) },
	[SM] = { .title = "subnet manager", .kind = COLUMN_TEXT },
	[SM_LID] = { .key = "sm_lid", .kind = COLUMN_INTEGER },
	[SM_GUID] = { .key = "sm_guid", .kind = COLUMN_GUID },
	[SM_STATE] = { .key = "sm_state", .kind = COLUMN_TEXT },
	[SM_PRIORITY] = { .key = "sm_priority", .kind = COLUMN_INTEGER },
	[SM_ACT_COUNT] = { .key = "sm_act_count", .kind = COLUMN_INTEGER },
	[SM_OTHERS] = { .key = "other_sms", .title = "  others at", .kind = COLUMN_LIST, .flags = COLUMN_IF_SHOWN },
	[MADS] = { .key = "mads_sent", .title = "MADs of that sweep", .kind = COLUMN_INTEGER,
		   IF_SWEPT(db.last.mads_sent) },
	[MADS_TIMED_OUT] = { .key = "mads_timed_out", .title = "  timed out", .kind = COLUMN_INTEGER,
			     IF_SWEPT(db.last.mads_timed_out) },
	[MADS_RETRIED] = { .key = "mads_retried", .title = "  retried", .kind = COLUMN_INTEGER,
			   IF_SWEPT(db.last.mads_retried) },
	[MADS_PER_S] = { .key = "mads_per_s", .title = "  MADs per second", .kind = COLUMN_PER_S },
	[TOPOLOGY] = { .key = "topology_file", .title = "topology", .kind = COLUMN_TEXT, .flags = COLUMN_IF_SHOWN },
	[DISCOVERY_TIME] = { .key = "discovery_time", .title = "newest discovery", .kind = COLUMN_TIME,
			     IF_DISCOVERED(db.discovery_wall_us) },
	[DISCOVERY] = { .key = "discovery_us", .title = "  took", .kind = COLUMN_SPAN_US,
			IF_DISCOVERED(db.discovery_us) },
	[SMPS] = { .key = "discovery_smps", .title = "  SMPs", .kind = COLUMN_INTEGER,
		   IF_DISCOVERED(db.discovery_smps) },
	[DB] = { .key = "db", .title = "database", .kind = COLUMN_TEXT },
	[SIZE] = { .key = "size_bytes", .title = "  size", .kind = COLUMN_BYTES, OF(db.size_bytes) },
	[LOG] = { .key = "log_bytes", .title = "  log", .kind = COLUMN_BYTES, .flags = COLUMN_IF_SHOWN },
	[LOG_HOLDERS] = { .key = "log_holders", .kind = COLUMN_TEXT },
	[SCHEMA] = { .key = "schema_version", .title = "  schema version", .kind = COLUMN_INTEGER,
		     OF(db.schema_version) },
	[SWEEPS] = { .key = "sweeps", .title = "  sweeps kept", .kind = COLUMN_INTEGER, OF(db.sweeps) },
	[FIRST_TIME] = { .key = "first_time", .title = "  oldest sweep", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO,
			 OF(db.first_wall_us) },
};

static void set_state(struct status *status, const char *word, enum cell_style style, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void set_state(struct status *status, const char *word, enum cell_style style, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(status->state.text, sizeof(status->state.text), fmt, args);
	va_end(args);
	status->state.word = word;
	status->state.style = style;
}

/* The state at a selected time. */
static void find_past_state(struct status *status)
{
	char at[WHEN_SIZE], age[WHEN_SIZE];
	const struct sweep_info *last = &status->db.last;
	double age_s = facts_age_s(status->at_us, status->db.last_wall_us);
	bool gap = sweep_is_late(last, (int64_t)(age_s * 1e6));

	when_format_local(status->at_us, at);
	when_format_span((int64_t)(age_s * 1e6), age);
	set_state(status, "past", gap ? STYLE_WARNING : STYLE_STRONG,
		  gap ? "past: state at %s; no sweep was stored in the %s before" :
			"past: state at %s; the last sweep was %s old", at, age);
}

static void find_state(struct status *status)
{
	const struct db_status *db = &status->db;
	char age[WHEN_AGE_SIZE], blocker[96] = "", since[WHEN_SIZE];
	bool empty = db->sweeps == 0;
	int64_t now_us = status->now_us, age_us = when_age_us(now_us, db->last_wall_us);

	when_format_age(now_us, db->last_wall_us, age);
	if (empty && db->live) {
		set_state(status, "starting", STYLE_WARNING, "starting: the collector has not stored a sweep yet");
	} else if (empty) {
		set_state(status, "empty", STYLE_WARNING, "empty: no sweep is stored; start 'ibwire collect'");
	} else if (!db->live) {
		set_state(status, "stopped", STYLE_WARNING,
			  "stopped: no collector is running, data is %s; start 'ibwire collect'", age);
	} else if (status->device_removed.on) {
		set_state(status, "waiting", STYLE_CRITICAL, "waiting since %s: %s; the newest sweep is %s",
			  when_format_local(status->device_removed.since_us, since), status->device_removed.text, age);
	} else if (sweep_is_late(&db->last, age_us)) {
		if (db->store_blocked && db->blocker_pid)
			snprintf(blocker, sizeof(blocker), "; process %" PRId64 " locks the database (its -shm file)",
				 db->blocker_pid);
		else if (db->store_blocked)
			snprintf(blocker, sizeof(blocker),
				 "; another process locks the database (see lsof for its -shm file)");
		set_state(status, "stalled", STYLE_CRITICAL,
			  "stalled: the collector is running, but its newest sweep is %s%s", age, blocker);
	} else {
		status->state.is_live = true;
		set_state(status, "live", age_us < 0 ? STYLE_WARNING : STYLE_STRONG, "live: the newest sweep is %s",
			  age);
	}
}

static void fill_state(struct result *result, const struct status *status)
{
	const struct db_status *db = &status->db;

	result_text(result, STATE, status->state.word);
	result_show(result, STATE, status->state.text, status->state.style);
	if (status->at_us)
		return;
	result_bool(result, LIVE, db->live);
	result_bool(result, BLOCKED, db->store_blocked);
	cells_nonzero(result, BLOCKER_PID, db->store_blocked ? db->blocker_pid : 0);
	cells_nonzero(result, COLLECTOR_PID, db->live ? db->collector_pid : 0);
	if (!strcmp(status->state.word, "waiting"))
		result_integer(result, WAITING_TIME, status->device_removed.since_us);
}

/* A number that is a warning above 0, with the text around it; below 0 it is unknown. */
static void fill_warning(struct result *result, size_t column, const char *before, int64_t count, const char *after)
{
	if (count >= 0)
		result_integer(result, column, count);
	if (count > 0)
		result_showf(result, column, STYLE_WARNING, "%s%" PRId64 "%s", before, count, after);
}

static void fill_sweep(struct result *result, const struct sweep_info *sweep)
{
	double coverage = sweep->ports_polled ? 100.0 * sweep->ports_answered / sweep->ports_polled : NAN;
	/* MAD rate of a single sweep over its duration, of a series over the interval. */
	int64_t span_us = sweep->interval_us ? sweep->interval_us : sweep->duration_us;
	double mads_per_s = span_us > 0 ? (double)sweep->mads_sent * 1e6 / (double)span_us : NAN;

	result_integer(result, RESPONDING, sweep->ports_answered);
	result_real(result, COVERAGE, coverage);
	result_showf(result, RESPONDING, sweep->ports_answered < sweep->ports_polled ? STYLE_WARNING : STYLE_PLAIN,
		     "%" PRIu32 " of %" PRIu32 " polled (%.1f %%); %" PRIu32 " have counters", sweep->ports_answered,
		     sweep->ports_polled, isnan(coverage) ? 0 : coverage, sweep->ports_planned);
	if (sweep->interval_us)
		result_real(result, INTERVAL, (double)sweep->interval_us / 1e6);
	else
		result_show(result, INTERVAL, "a single sweep", STYLE_PLAIN);
	result_real(result, MADS_PER_S, mads_per_s);
	if (!sweep->interval_us && !isnan(mads_per_s))
		result_showf(result, MADS_PER_S, STYLE_PLAIN, "%.0f MADs/s during the sweep", mads_per_s);
}

static void fill_spread(struct result *result, const struct sweep_info *sweep)
{
	char all[WHEN_SIZE], node[WHEN_SIZE];

	if (sweep->spread_us >= 0)
		result_integer(result, SPREAD, sweep->spread_us);
	if (sweep->node_spread_us >= 0)
		result_integer(result, NODE_SPREAD, sweep->node_spread_us);
	if (sweep->spread_us <= 0 || sweep->node_spread_us < 0)
		return;
	result_showf(result, SPREAD, STYLE_PLAIN, "%s; within one switch %s at most",
		     when_format_span(sweep->spread_us, all), when_format_span(sweep->node_spread_us, node));
}

/* A stopped collector has no rate. */
static void fill_throttled(struct result *result, const struct status *status)
{
	const struct event_state *throttled = &status->throttled;
	char since[WHEN_SIZE];

	if (!status->db.live && !status->at_us)
		return;
	result_bool(result, THROTTLED, throttled->on);
	if (!throttled->on)
		return;
	result_integer(result, THROTTLED_TIME, throttled->since_us);
	result_showf(result, THROTTLED, STYLE_WARNING, "since %s: %s", when_format_local(throttled->since_us, since),
		     throttled->text);
}

static void fill_topology_file(struct result *result, const struct event_state *topology)
{
	const char *file = topology->text + strlen(TOPOLOGY_FILE_PREFIX);

	if (!topology->on)
		return;
	result_text(result, TOPOLOGY, file);
	result_show(result, TOPOLOGY, file, STYLE_PLAIN);
}

/* Shown only if a reader blocks the checkpoint. */
static void fill_log(struct result *result, const struct status *status)
{
	const struct db_status *db = &status->db;
	struct text shown = { 0 };

	result_integer(result, LOG, db->log_bytes);
	if (!*db->log_holders)
		return;
	result_text(result, LOG_HOLDERS, db->log_holders);
	result_append_bytes(&shown, (double)db->log_bytes);
	text_appendf(&shown, ": checkpoint blocked by a read transaction of %s", db->log_holders);
	result_show(result, LOG, result_chars(result, &shown), STYLE_WARNING);
	text_done(&shown);
}

static void fill_sm(struct result *result, const struct moment *moment, const struct sm_state *sm)
{
	static const char *const states[] = { "not active", "discovering", "standby", "master" };
	const char *state = sm->state < 4 ? states[sm->state] : "unknown", *name = NULL;
	const struct fabric *fabric = moment->fabric;

	cells_nonzero(result, SM_LID, sm->lid);
	if (!sm->known && sm->state == SM_NOT_QUERIED) {
		result_showf(result, SM, STYLE_PLAIN, "LID %u, not queried: no SMPs are sent", sm->lid);
		return;
	}
	if (!sm->known) {
		result_show(result, SM, sm->lid ? "does not respond" : "none: no master is known", STYLE_CRITICAL);
		return;
	}
	for (size_t i = 0; fabric && i < fabric->port_count; i++)
		if (sm->guid && fabric->ports[i].guid == sm->guid)
			name = fabric->nodes[fabric->ports[i].node].name;
	result_unsigned(result, SM_GUID, sm->guid);
	result_text(result, SM_STATE, state);
	result_integer(result, SM_PRIORITY, sm->priority);
	result_integer(result, SM_ACT_COUNT, sm->act_count);
	result_showf(result, SM, sm->state == 3 ? STYLE_PLAIN : STYLE_WARNING,
		     "%s%s0x%016" PRIx64 ", LID %u, %s, priority %u", name ? name : "",
		     name ? ", port GUID " : "port GUID ", sm->guid, sm->lid, state, sm->priority);
}

/* A list of nodes: in data all, in a table the first ones by displayed name. */
struct node_list {
	struct text shown;
	uint32_t count;
};

/* Maximum number of nodes listed in a table. */
enum { NODES_NAMED = 6 };

static void list_node(struct result *result, size_t column, const struct moment *moment, uint32_t node,
		      struct node_list *list)
{
	result_item(result, column, "%s", moment->fabric->nodes[node].name);
	if (list->count++ < NODES_NAMED)
		text_appendf(&list->shown, "%s%s", list->count > 1 ? ", " : "", moment->names_shown.names[node]);
}

static void end_list(struct result *result, size_t column, struct node_list *list, enum cell_style style)
{
	if (list->count > NODES_NAMED)
		text_appendf(&list->shown, " and %u more", list->count - NODES_NAMED);
	result_show(result, column, list->count ? result_chars(result, &list->shown) : "none",
		    list->count ? style : STYLE_PLAIN);
	text_done(&list->shown);
}

/* Other ports with IsSM in PortInfo, mostly standby SMs. */
static void fill_other_sms(struct result *result, const struct status *status, const struct sm_state *sm)
{
	const struct fabric *fabric = status->moment.fabric;
	struct node_list others = { 0 };

	result_empty(result, SM_OTHERS);
	for (uint32_t i = 0; fabric && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		bool is_switch = fabric->nodes[port->node].type == NODE_SWITCH;

		if (port_is_sm(port) && (is_switch ? port->num == 0 : port->state >= PORT_INIT) &&
		    !(sm->known && port->guid == sm->guid))
			list_node(result, SM_OTHERS, &status->moment, port->node, &others);
	}
	if (others.count)
		end_list(result, SM_OTHERS, &others, STYLE_PLAIN);
}

static void append_count(struct text *text, int64_t count, const char *what)
{
	if (count)
		text_appendf(text, "%s%" PRId64 " %s", text->len ? "; " : "", count, what);
}

/* Unresponsive and locked nodes, and ports whose own counters are not read. */
static void fill_ports(struct result *result, const struct status *status)
{
	const struct moment *moment = &status->moment;
	const struct port_scope scope = moment_scope(moment);
	struct node_list silent = { 0 }, locked = { 0 };
	struct text not_read = { 0 };
	int64_t unplanned = 0, mirrored = 0, unsupported = 0;

	result_empty(result, SILENT_NODES);
	result_empty(result, LOCKED_NODES);
	for (uint32_t i = 0; i < moment->fabric->node_count; i++) {
		uint32_t index = moment->names_shown.nodes[i], is_locked = 0;
		const struct node *node = &moment->fabric->nodes[index];
		bool is_silent = false;

		map_get(&status->locked, node->guid, &is_locked);
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++) {
			struct port_facts port;

			if (!port_is_pollable(moment->fabric, &moment->fabric->ports[j]))
				continue;
			port_facts_of(&scope, j, &port);
			is_silent |= port.status == STATUS_SILENT;
			is_locked |= port.status == STATUS_LOCKED;
			unplanned += port.status == STATUS_UNPLANNED;
			unsupported += port.status == STATUS_UNSUPPORTED && !port_is_plane(moment->fabric, j);
			mirrored += port.status == STATUS_MIRRORED;
		}
		if (is_silent)
			list_node(result, SILENT_NODES, moment, index, &silent);
		if (is_locked)
			list_node(result, LOCKED_NODES, moment, index, &locked);
	}
	result_integer(result, SILENT, silent.count);
	result_integer(result, LOCKED, locked.count);
	end_list(result, SILENT_NODES, &silent, STYLE_CRITICAL);
	end_list(result, LOCKED_NODES, &locked, STYLE_WARNING);
	result_integer(result, UNPLANNED, unplanned);
	result_integer(result, MIRRORED, mirrored);
	result_integer(result, UNSUPPORTED, unsupported);
	append_count(&not_read, mirrored, "mirrored by their switch ports");
	append_count(&not_read, unplanned, "excluded by settings");
	append_count(&not_read, unsupported, "without counters, or their agent refuses");
	if (not_read.len)
		result_show(result, NOT_READ, result_chars(result, &not_read), STYLE_PLAIN);
	text_done(&not_read);
}

static void fill_fabric(struct result *result, const struct fabric_summary *summary, const struct shape *shape)
{
	uint32_t active = summary->links_by_state[PORT_ACTIVE];
	struct text nodes = { 0 }, links = { 0 };

	result_integer(result, NODES, summary->node_count);
	result_integer(result, LINKS, summary->links);
	result_integer(result, LINKS_UP, active);
	text_appendf(&nodes, "%" PRIu32 ": ", summary->node_count);
	summary_append_nodes(summary, &nodes);
	result_show(result, NODES, result_chars(result, &nodes), STYLE_PLAIN);
	text_appendf(&links, "%" PRIu32 ", ", summary->links);
	summary_append_links(summary, &links);
	if (shape)
		result_integer(result, LINKS_DEGRADED, (int64_t)shape->slow_count);
	if (shape && shape->slow_count)
		text_appendf(&links, ", %zu " LINK_DEGRADED, shape->slow_count);
	result_show(result, LINKS, result_chars(result, &links), active < summary->links ||
		    (shape && shape->slow_count) ? STYLE_WARNING : STYLE_PLAIN);
	text_done(&nodes);
	text_done(&links);
	/* The peer is not counted as an unresponsive node. */
	fill_warning(result, NO_PEER, "", summary->ports_without_peer,
		     ": linked, and the peer did not respond to discovery: it hangs or has an M_Key "
		     "(--security-keys); ibwire ports state:unidentified");
}

/* "a share of the time at 12 devices, an estimated one at 256 HCAs; in ticks at 2 devices (length unknown)" */
static void fill_xmit_wait(struct result *result, const struct fabric_summary *summary)
{
	const uint32_t *rules = summary->stall_rules;
	uint32_t documented = rules[STALL_PER_PORT] + rules[STALL_PER_LANE], assumed = rules[STALL_ASSUMED];
	uint32_t contradicted = rules[STALL_CONTRADICTED], unknown = rules[STALL_UNKNOWN];
	struct text text = { 0 };

	result_integer(result, WAIT_DOCUMENTED, documented);
	if (documented)
		text_appendf(&text, "a share of the time at %" PRIu32 " device%s", documented, text_plural(documented));
	if (assumed)
		text_appendf(&text, "%s at %" PRIu32 " HCA%s",
			     documented ? ", an estimated one" : "an estimated share of the time", assumed,
			     text_plural(assumed));
	if (unknown)
		text_appendf(&text, "%sin ticks of unknown length at %" PRIu32 " device%s", text.len ? ", " : "",
			     unknown, text_plural(unknown));
	if (contradicted)
		text_appendf(&text, "%sin ticks at %" PRIu32 " HCA%s, whose counters contradict the assumed length",
			     text.len ? ", " : "", contradicted, text_plural(contradicted));
	result_show(result, XMIT_WAIT, result_chars(result, &text), contradicted ? STYLE_WARNING : STYLE_PLAIN);
	text_done(&text);
}

static void fill_db(struct result *result, const struct status *status)
{
	result_text(result, DB, status->path);
	fill_log(result, status);
}

static void fill(struct result *result, const void *ctx)
{
	const struct status *status = ctx;
	const struct db_status *db = &status->db;
	int64_t reference_us = status->at_us ? status->at_us : status->now_us;
	double age_s = facts_age_s(reference_us, db->last_wall_us);
	const void *const rows[STATUS_ROWS] = {
		[STATUS_ROW] = status, [SWEPT_ROW] = db->last_wall_us ? status : NULL,
		[DISCOVERED_ROW] = db->last_wall_us && db->discovery_us ? status : NULL,
		[FABRIC_ROW] = status->moment.fabric ? status : NULL,
	};

	result_fill_rows(result, rows);
	fill_state(result, status);
	fill_throttled(result, status);
	fill_topology_file(result, &status->topology_file);
	fill_db(result, status);
	if (db->last_wall_us) {
		result_real(result, AGE, age_s);
		fill_sweep(result, &db->last);
		fill_spread(result, &db->last);
		fill_warning(result, UNFINISHED, "", db->last.ports_unfinished,
			     ": the sweep ended before they responded");
		fill_sm(result, &status->moment, &db->last.sm);
		fill_other_sms(result, status, &db->last.sm);
	}
	if (status->moment.fabric) {
		fill_fabric(result, &status->summary, status->moment.shape);
		fill_xmit_wait(result, &status->summary);
		fill_warning(result, FEC_UNKNOWN, "FEC layout unknown on ", status->fec_unknown,
			     " ports: no FEC counters of them are shown");
		fill_ports(result, status);
	}
	result_end_row(result);
}

/* Load the sweep of that time; an empty database is not an error. */
static int load_fabric(struct moment *moment, int64_t at_us, struct error *err)
{
	const struct snapshot_query query = { .at_us = at_us, .names = moment->names };
	int code = snapshot_load(moment->reader, &query, &moment->snapshot, err);

	if (code == ERR_UNAVAILABLE && !at_us) {
		moment->snapshot = NULL;
		return 0;
	}
	if (code < 0)
		return code;
	moment->fabric = moment->snapshot->fabric;
	moment->at_us = at_us;
	if (at_us)
		moment->reference_us = at_us;
	return order_names(&moment->names_shown, moment->fabric, err);
}

static bool count_fec_unknown(void *ctx, const struct detail_row *row)
{
	int64_t *count = ctx;

	*count += row->reading.attribute == DETAIL_EXTENDED_SPEEDS && row->reading.layout == FEC_LAYOUT_UNKNOWN;
	return true;
}

int status_load(struct status *status, struct error *err)
{
	const struct detail_query details = { .at_us = status->at_us, .port = -1,
					      .attributes = 1u << DETAIL_EXTENDED_SPEEDS };
	const struct {
		const char *kind, *end;
		struct event_state *ret;
	} states[] = {
		{ EVENT_THROTTLED, EVENT_UNTHROTTLED, &status->throttled },
		{ EVENT_TOPOLOGY_FILE, NULL, &status->topology_file },
		{ EVENT_DEVICE_REMOVED, NULL, &status->device_removed },
	};
	int code = reader_status_at(status->moment.reader, status->at_us, &status->db, err);

	if (code == 0)
		code = load_fabric(&status->moment, status->at_us, err);
	if (code == 0 && status->moment.snapshot)
		code = summary_load(status->moment.snapshot, status->moment.reader, &status->summary, err);
	if (code == 0 && status->moment.snapshot)
		code = reader_details(status->moment.reader, &details, count_fec_unknown, &status->fec_unknown, err);
	if (code == 0)
		code = locked_load(status->moment.reader, status->at_us, &status->locked, err);
	for (size_t i = 0; code == 0 && i < sizeof(states) / sizeof(*states); i++)
		code = event_state_load(status->moment.reader, status->at_us, states[i].kind, states[i].end,
					states[i].ret, err);
	if (code == 0 && status->at_us)
		find_past_state(status);
	else if (code == 0)
		find_state(status);
	return code;
}

int status_page(struct status *status, bool html, bool links, struct page **ret, struct error *err)
{
	struct page *page = page_create("InfiniBand fabric");
	int code = html ? status_add_fabric(status, links, page, err) : 0;

	/* The record is the data of the page, and its last section in HTML. */
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Collector" });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .key = "",
					       .table = { status_columns, COLUMN_COUNT, fill, status } });
	if (links)
		status_add_links(page);
	page_close(page);
	if (code == 0) {
		*ret = page;
		return 0;
	}
	page_destroy(page);
	return code;
}

void status_done(struct status *status)
{
	columns_done(&status->jobs);
	columns_done(&status->events);
	health_rows_done(&status->findings);
	map_done(&status->locked);
	moment_done(&status->moment);
}
