/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.c - tables and views of the database; the comments are stored in its schema
 *
 * The sweep comes first in the key of every table that each sweep writes: with the port first, a
 * sweep would change one page per port. Spans and versions are valid from from_sweep up to, but
 * excluding, to_sweep (NULL: still valid).
 *
 * Each table gets a constraint that checks the types of its columns, generated from their declarations: "typeof(id) =
 * 'integer'". STRICT tables, which are the same in the file, need SQLite 3.37.
 *
 * Ids of nodes and ports are assigned again (write/writer_identity.c): "never reused" in the comments of these tables
 * is of earlier releases, and the text of a table is part of its version.
 */
#include "storage/file/tables.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "fabric/counter.h"
#include "storage/file/schema.h"

static const char tables_fixed[] =
	"CREATE TABLE meta ( -- properties of the database\n"
	"	key TEXT PRIMARY KEY, -- created_us: wall clock\n"
	"	value ANY\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE counter ( -- catalogue of counters; sets of counters have bit 1 << id\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	key TEXT NOT NULL,\n"
	"	title TEXT NOT NULL, -- name in the specification\n"
	"	unit TEXT NOT NULL,\n"
	"	meaning TEXT NOT NULL,\n"
	"	CONSTRAINT counter_range CHECK (id BETWEEN 0 AND 63)\n"
	");\n"
	"CREATE TABLE code ( -- names of coded values: node_type, state, speed, width, why, attribute ...\n"
	"	kind TEXT NOT NULL,\n"
	"	value INTEGER NOT NULL,\n"
	"	name TEXT NOT NULL,\n"
	"	PRIMARY KEY (kind, value)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE node ( -- identity of a node; rows are never removed, ids never reused\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	guid INTEGER NOT NULL UNIQUE, -- printf('0x%016x', guid)\n"
	"	CONSTRAINT node_range CHECK (id BETWEEN 1 AND 2097151)\n"
	");\n"
	"CREATE TABLE port ( -- identity of a port; as node\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	number INTEGER NOT NULL,\n"
	"	CONSTRAINT port_range CHECK (id BETWEEN 1 AND 2097151 AND node BETWEEN 1 AND 2097151 AND\n"
	"		number BETWEEN 0 AND 255),\n"
	"	UNIQUE (node, number)\n"
	");\n"
	"CREATE TABLE boot ( -- origin of start_us and at_us: a boot of the collector's host\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	boot_id TEXT NOT NULL UNIQUE\n"
	");\n"
	"CREATE TABLE sweep ( -- one poll of all ports\n"
	"	id INTEGER PRIMARY KEY, -- incremented by each sweep; defines the order of sweeps\n"
	"	wall_us INTEGER NOT NULL, -- wall clock at its start, us since 1970 UTC\n"
	"	start_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	end_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	boot INTEGER NOT NULL REFERENCES boot (id),\n"
	"	topology INTEGER NOT NULL, -- first sweep with this topology\n"
	"	from_node INTEGER, -- node of the collector, and its port\n"
	"	from_port INTEGER,\n"
	"	interval_us INTEGER NOT NULL, -- configured interval; 0: a single sweep\n"
	"	discovery_us INTEGER NOT NULL, -- duration of the discovery before the sweep; 0: none\n"
	"	discovery_smps INTEGER NOT NULL,\n"
	"	ports_planned INTEGER NOT NULL,\n"
	"	ports_polled INTEGER NOT NULL,\n"
	"	ports_answered INTEGER NOT NULL,\n"
	"	mads_sent INTEGER NOT NULL,\n"
	"	mads_timed_out INTEGER NOT NULL,\n"
	"	mads_retried INTEGER NOT NULL,\n"
	"	sm_known INTEGER NOT NULL, -- 1: the master SM responded\n"
	"	sm_lid INTEGER NOT NULL,\n"
	"	sm_guid INTEGER NOT NULL, -- a port GUID\n"
	"	sm_state INTEGER NOT NULL, -- 0 not active, 1 discovering, 2 standby, 3 master\n"
	"	sm_priority INTEGER NOT NULL,\n"
	"	sm_act_count INTEGER NOT NULL,\n"
	"	ports_unfinished INTEGER, -- not polled completely before the end of the sweep; NULL: not known\n"
	"	spread_us INTEGER, -- time between the first and the last reading; NULL: not known\n"
	"	node_spread_us INTEGER, -- largest such time within one switch; NULL: not known\n"
	"	CONSTRAINT sweep_range CHECK (\n"
	"		id BETWEEN 1 AND 1099511627776 AND topology BETWEEN 1 AND 1099511627776 AND\n"
	"		wall_us BETWEEN 0 AND 253402300799999999 AND interval_us >= 0)\n"
	");\n"
	"CREATE INDEX sweep_by_time ON sweep (wall_us);\n"
	"CREATE TABLE node_version ( -- properties of a node, and when they were valid\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	to_sweep INTEGER,\n"
	"	name TEXT NOT NULL, -- sanitised text, as shown\n"
	"	description BLOB NOT NULL, -- NodeDescription as received, without trailing NULs\n"
	"	type INTEGER NOT NULL, -- code node_type\n"
	"	port_count INTEGER NOT NULL, -- external ports\n"
	"	system_guid INTEGER NOT NULL,\n"
	"	vendor_id INTEGER NOT NULL,\n"
	"	device_id INTEGER NOT NULL,\n"
	"	revision INTEGER NOT NULL,\n"
	"	lid INTEGER NOT NULL, -- of a switch; otherwise 0, see port_version\n"
	"	lft_top INTEGER NOT NULL,\n"
	"	enhanced_port0 INTEGER NOT NULL, -- 1: its port 0 has counters\n"
	"	adaptive_routing INTEGER, -- of a switch: 1 on, 0 off; NULL: not queried\n"
	"	CONSTRAINT node_version_range CHECK (\n"
	"		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		node BETWEEN 1 AND 2097151 AND port_count BETWEEN 0 AND 255),\n"
	"	PRIMARY KEY (from_sweep, node)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX node_version_by_node ON node_version (node, from_sweep);\n"
	"CREATE TABLE port_version ( -- properties of a port, and when they were valid\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL REFERENCES port (id),\n"
	"	to_sweep INTEGER,\n"
	"	peer INTEGER REFERENCES port (id), -- the port at the other end of its cable\n"
	"	state INTEGER NOT NULL, -- code state\n"
	"	phys_state INTEGER NOT NULL, -- code phys_state\n"
	"	width INTEGER NOT NULL, -- code width; 0 while down\n"
	"	speed INTEGER NOT NULL, -- code speed; 0 while down\n"
	"	width_enabled INTEGER NOT NULL, -- set of codes\n"
	"	width_supported INTEGER NOT NULL, -- set of codes\n"
	"	speed_enabled INTEGER NOT NULL, -- set of 1 << code\n"
	"	speed_supported INTEGER NOT NULL, -- set of 1 << code\n"
	"	guid INTEGER NOT NULL, -- PortGUID; 0 for a switch's external ports\n"
	"	lid INTEGER NOT NULL,\n"
	"	lmc INTEGER NOT NULL,\n"
	"	sm_lid INTEGER NOT NULL,\n"
	"	cap_mask INTEGER NOT NULL, -- PortInfo.CapabilityMask\n"
	"	CONSTRAINT port_version_range CHECK (\n"
	"		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		port BETWEEN 1 AND 2097151 AND peer BETWEEN 1 AND 2097151),\n"
	"	PRIMARY KEY (from_sweep, port)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX port_version_by_port ON port_version (port, from_sweep);\n"
	"CREATE TABLE span ( -- sweeps without a reading of a port; without a span, the port was read\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL REFERENCES port (id),\n"
	"	to_sweep INTEGER,\n"
	"	why INTEGER NOT NULL, -- code why\n"
	"	read_sweep INTEGER, -- last sweep before that read the port; its absolute values are stored\n"
	"	CONSTRAINT span_range CHECK (\n"
	"		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		read_sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),\n"
	"	PRIMARY KEY (from_sweep, port)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX span_by_end ON span (to_sweep);\n"
	"CREATE TABLE error ( -- error counters that increased, and counters that were reset or are saturated\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL, -- increase in the delta of this sweep and port\n"
	"	marks INTEGER NOT NULL, -- 1 reset: value is a lower bound; 2 saturated: value is a lower bound\n"
	"	CONSTRAINT error_range CHECK (\n"
	"		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND\n"
	"		marks BETWEEN 0 AND 3),\n"
	"	PRIMARY KEY (sweep, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE caps ( -- capabilities of a node's performance agent\n"
	"	node INTEGER PRIMARY KEY REFERENCES node (id),\n"
	"	known INTEGER NOT NULL,\n"
	"	cap_mask INTEGER NOT NULL,\n"
	"	cap_mask2 INTEGER NOT NULL,\n"
	"	resp_time INTEGER NOT NULL, -- 4.096 us * 2^n\n"
	"	tick INTEGER, -- xmit_wait counts (tick + 1) symbol times; NULL: not known\n"
	"	missing INTEGER NOT NULL DEFAULT 0, -- set of unsupported attributes: 1 << attribute (code),\n"
	"		-- 64 PortCountersExtended, 128 PortSamplesControl\n"
	"	CONSTRAINT caps_range CHECK (node BETWEEN 1 AND 2097151)\n"
	");\n"
	"CREATE TABLE event ( -- events\n"
	"	id INTEGER PRIMARY KEY, -- in order of occurrence\n"
	"	sweep INTEGER NOT NULL, -- stored with this sweep\n"
	"	wall_us INTEGER NOT NULL, -- us since 1970 UTC\n"
	"	kind TEXT NOT NULL,\n"
	"	severity INTEGER NOT NULL, -- code severity\n"
	"	node_guid INTEGER, -- NULL: none\n"
	"	port INTEGER, -- its number\n"
	"	peer_guid INTEGER,\n"
	"	peer_port INTEGER,\n"
	"	text TEXT NOT NULL,\n"
	"	CONSTRAINT event_range CHECK (\n"
	"		id > 0 AND wall_us BETWEEN 0 AND 253402300799999999 AND severity BETWEEN 0 AND 2)\n"
	");\n"
	"CREATE INDEX event_by_time ON event (wall_us);\n";

/*
 * Slow counters of a port are read rarely, so an index by port would change one page per row, and
 * more pages as the database grows. detail_last finds the newest row of each port and does not
 * grow; the rows of one port are found by one key lookup per sweep.
 */
static const char tables_detail[] =
	"CREATE TABLE detail_counter ( -- catalogue of slow counters\n"
	"	id INTEGER PRIMARY KEY, -- 32 * attribute + number\n"
	"	attribute INTEGER NOT NULL, -- code attribute\n"
	"	number INTEGER NOT NULL, -- within the attribute; bit 1 << number in sets\n"
	"	key TEXT NOT NULL,\n"
	"	unit TEXT NOT NULL,\n"
	"	meaning TEXT NOT NULL,\n"
	"	max INTEGER NOT NULL, -- maximum, at which it stops\n"
	"	UNIQUE (attribute, number)\n"
	");\n"
	"CREATE TABLE detail ( -- a reading of one attribute of slow counters of one port\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	attribute INTEGER NOT NULL, -- code attribute\n"
	"	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the response, us\n"
	"	elapsed_us INTEGER, -- since the previous reading; NULL: none\n"
	"	layout INTEGER NOT NULL, -- code layout, of extended_speeds; 0: unknown or none\n"
	"	missing INTEGER NOT NULL, -- set of counters that were not read: 1 << number\n"
	"	unknown INTEGER NOT NULL, -- set of counters without a known increase: 1 << number\n"
	"	CONSTRAINT detail_range CHECK (\n"
	"		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND\n"
	"		elapsed_us >= 0),\n"
	"	PRIMARY KEY (sweep, port, attribute)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE detail_value ( -- nonzero counters of a row of detail; no row: value 0, counted 0\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES detail_counter (id),\n"
	"	value INTEGER NOT NULL, -- absolute value\n"
	"	counted INTEGER, -- increase since the previous reading; NULL: not known\n"
	"	marks INTEGER NOT NULL, -- 1 reset, 2 saturated: counted is a lower bound\n"
	"	CONSTRAINT detail_value_range CHECK (\n"
	"		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND\n"
	"		marks BETWEEN 0 AND 3),\n"
	"	PRIMARY KEY (sweep, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE detail_last ( -- newest row of detail per port and attribute\n"
	"	port INTEGER NOT NULL,\n"
	"	attribute INTEGER NOT NULL,\n"
	"	sweep INTEGER NOT NULL,\n"
	"	CONSTRAINT detail_last_range CHECK (\n"
	"		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),\n"
	"	PRIMARY KEY (port, attribute)\n"
	") WITHOUT ROWID;\n";

/*
 * Samples are packed: new ones by sweep (storage/codec/hot_block.c), older ones by port and run of
 * sweeps (storage/codec/codec.h). Rowids begin with the time, so that a sweep or a window is
 * written in one place; blobs in a table WITHOUT ROWID would spill to overflow pages.
 */
static const char tables_history[] =
	"CREATE TABLE hot ( -- samples of the newest sweeps, one row per 32 ports; unpacked by view traffic\n"
	"	id INTEGER PRIMARY KEY, -- sweep * 65536 + port / 32\n"
	"	samples BLOB NOT NULL, -- packed, of ports 32 * (port / 32) and up\n"
	"	CONSTRAINT hot_range CHECK (id / 65536 BETWEEN 1 AND 1099511627776)\n"
	");\n"
	"CREATE TABLE chunk_window ( -- a run of sweeps whose samples are stored in one chunk per port\n"
	"	id INTEGER PRIMARY KEY, -- in order of sweeps; each window begins where the previous one ends\n"
	"	from_sweep INTEGER NOT NULL, -- the first\n"
	"	to_sweep INTEGER NOT NULL, -- the first after it\n"
	"	from_us INTEGER NOT NULL, -- wall clock of the first sweep, us since 1970 UTC\n"
	"	to_us INTEGER NOT NULL, -- wall clock of the last sweep\n"
	"	state INTEGER NOT NULL, -- code window_state: 0 being written, samples still in hot;\n"
	"		-- 1 chunks and sums; 2 sums only, the chunks expired\n"
	"	next_port INTEGER NOT NULL, -- while being written: first port without its chunk\n"
	"	CONSTRAINT chunk_window_range CHECK (\n"
	"		id BETWEEN 1 AND 1099511627776 AND from_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		to_sweep > from_sweep AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		from_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		to_us BETWEEN 0 AND 253402300799999999 AND state BETWEEN 0 AND 2 AND\n"
	"		next_port BETWEEN -1 AND 2097664)\n"
	");\n"
	"CREATE INDEX chunk_window_by_sweep ON chunk_window (to_sweep);\n"
	"CREATE TABLE chunk ( -- samples of one port in one window; no row: no sweep read the port\n"
	"	id INTEGER PRIMARY KEY, -- window * 2097152 + port\n"
	"	samples BLOB NOT NULL, -- packed, one per sweep of the window\n"
	"	CONSTRAINT chunk_range CHECK (id / 2097152 BETWEEN 1 AND 1099511627776)\n"
	");\n"
	"CREATE TABLE hour ( -- a run of windows of about one hour, with common sums\n"
	"	id INTEGER PRIMARY KEY, -- in order of sweeps\n"
	"	from_sweep INTEGER NOT NULL, -- as in chunk_window\n"
	"	to_sweep INTEGER NOT NULL,\n"
	"	from_us INTEGER NOT NULL,\n"
	"	to_us INTEGER NOT NULL,\n"
	"	from_window INTEGER NOT NULL, -- the first\n"
	"	to_window INTEGER NOT NULL, -- the first after it\n"
	"	state INTEGER NOT NULL, -- 0 being written; 1 complete\n"
	"	next_port INTEGER NOT NULL, -- while being written: first port without its sum\n"
	"	CONSTRAINT hour_range CHECK (\n"
	"		id BETWEEN 1 AND 1099511627776 AND from_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		to_sweep > from_sweep AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		from_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		to_us BETWEEN 0 AND 253402300799999999 AND from_window BETWEEN 1 AND 1099511627776 AND\n"
	"		to_window > from_window AND to_window BETWEEN 1 AND 1099511627776 AND\n"
	"		state BETWEEN 0 AND 1 AND next_port BETWEEN 0 AND 2097664)\n"
	");\n"
	"CREATE INDEX hour_by_sweep ON hour (to_sweep);\n";

#define SUM_COLUMNS \
	"	port INTEGER NOT NULL,\n" \
	"	samples INTEGER NOT NULL, -- number of sweeps with a delta\n" \
	"	elapsed_us INTEGER NOT NULL, -- sum of their times\n" \
	"	unknown INTEGER NOT NULL, -- set of counters not known in every delta: 1 << counter.id\n" \
	"	reset INTEGER NOT NULL, -- set of counters that were reset: the sum is a lower bound\n" \
	"	saturated INTEGER NOT NULL, -- set of counters that were saturated: the sum is a lower bound\n"
/*
 * Columns of traffic counters: the sum of the known deltas; NULL if none is known. Error counters are
 * sparse: chunk_error and hour_error have rows for those that increased or were only partly known.
 */
static const char tables_chunk_sum_begin[] =
	"CREATE TABLE chunk_sum ( -- sums of one port in one window; no row: the port was not read\n"
	"	window INTEGER NOT NULL, -- chunk_window.id\n"
	SUM_COLUMNS;
static const char tables_chunk_sum_end[] =
	"	CONSTRAINT chunk_sum_range CHECK (\n"
	"		window BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND samples > 0 AND\n"
	"		elapsed_us >= 0),\n"
	"	PRIMARY KEY (window, port)\n"
	") WITHOUT ROWID;\n";
static const char tables_chunk_error[] =
	"CREATE TABLE chunk_error ( -- sums of error counters that increased or were only partly known\n"
	"	window INTEGER NOT NULL, -- chunk_window.id\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL, -- lower bound if chunk_sum.reset or .saturated has the counter's bit\n"
	"	CONSTRAINT chunk_error_range CHECK (\n"
	"		window BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),\n"
	"	PRIMARY KEY (window, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE hour_error ( -- the same in one hour\n"
	"	hour INTEGER NOT NULL, -- hour.id\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL,\n"
	"	CONSTRAINT hour_error_range CHECK (\n"
	"		hour BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151),\n"
	"	PRIMARY KEY (hour, port, counter)\n"
	") WITHOUT ROWID;\n";
static const char tables_hour_sum_begin[] =
	"CREATE TABLE hour_sum ( -- the same in one hour\n"
	"	hour INTEGER NOT NULL, -- hour.id\n"
	SUM_COLUMNS;
static const char tables_hour_sum_end[] =
	"	CONSTRAINT hour_sum_range CHECK (\n"
	"		hour BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND samples > 0 AND\n"
	"		elapsed_us >= 0),\n"
	"	PRIMARY KEY (hour, port)\n"
	") WITHOUT ROWID;\n";

static const char tables_absolute_begin[] =
	"CREATE TABLE absolute ( -- absolute values: first and periodic readings, last one before a span\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the response, us\n"
	"	wall_us INTEGER NOT NULL, -- wall clock of the response, us since 1970 UTC\n"
	"	wide INTEGER NOT NULL, -- set of counters read with 64 bits: 1 << counter.id\n";
static const char tables_absolute_end[] =
	"	CONSTRAINT absolute_range CHECK (\n"
	"		sweep BETWEEN 1 AND 1099511627776 AND port BETWEEN 1 AND 2097151 AND\n"
	"		wall_us BETWEEN 0 AND 253402300799999999),\n"
	"	PRIMARY KEY (sweep, port)\n"
	") WITHOUT ROWID;\n";

#define TIME(us) \
	"strftime('%Y-%m-%dT%H:%M:%S', " us " / 1000000, 'unixepoch') || printf('.%06dZ', " us " % 1000000)"
#define GUID(guid) "printf('0x%016x', " guid ")"
/* The sweep, or the first remaining one after it: errors and gaps have a longer retention than sweeps. */
#define KEPT(sweep) "(SELECT min(k.id) FROM sweep k WHERE k.id >= " sweep ")"
/* The name of a node at a sweep (or its last one before), and its current name; "named" is reserved for them. */
#define NAME_AT(node, sweep) \
	"(SELECT named.name FROM node_names named WHERE named.node = " node " AND named.from_sweep <= " sweep \
	" ORDER BY named.from_sweep DESC LIMIT 1)"
#define NAME_NOW(node) \
	"(SELECT named.name FROM node_names named WHERE named.node = " node " ORDER BY named.from_sweep DESC LIMIT 1)"
#define CODE(kind, value) "(SELECT c.name FROM code c WHERE c.kind = '" kind "' AND c.value = " value ")"

const char tables_traffic_begin[] =
	"traffic AS -- deltas of each port (needs ibwire sql or ibwire-sql.so); at most 2^63 - 1\n"
	"SELECT d.time AS time, d.sweep AS sweep, d.node AS node, d.node_guid AS node_guid, d.port AS port,\n"
	"	d.elapsed_us AS elapsed_us";
const char tables_traffic_end[] = "\nFROM sample d;\n";

static_assert(COUNTER_TRAFFIC_COUNT == 9, "error counters are those of the view of errors");
static_assert(COUNTER_XMIT_DATA == 0 && COUNTER_RCV_DATA == 1, "the set of both is 3 in the view");
/* Sums wrap: a negative number is at least 2^63. */
#define BYTES(words) \
	"CASE WHEN " words " NOT BETWEEN 0 AND 2305843009213693951 THEN 9223372036854775807 ELSE 4 * " words " END"
#define BYTES_PER_S(words) \
	"4e6 * (" words " + (" words " < 0) * 18446744073709551616.0) / nullif(t.elapsed_us, 0)"
#define TRAFFIC_SUM(run) \
	"SELECT " run ".from_us, " run ".to_us, " run ".to_sweep, h.port, h.samples, h.elapsed_us,\n" \
	"	h.xmit_data, h.rcv_data, h.xmit_packets, h.rcv_packets,\n" \
	"	(h.unknown | h.reset | h.saturated) & 3 <> 0 AS at_least\n"

const char *const tables_views[] = {
	"node_names AS -- names of nodes, and when they were valid; (was): the last specific name\n"
	TABLES_NODE_NAMES ";\n",
	"errors AS -- error counters that increased, were reset or are saturated\n"
	"SELECT " TIME("s.wall_us") " AS time, e.sweep AS sweep,\n"
	"	" NAME_AT("p.node", "e.sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	k.key AS counter, CASE WHEN e.value < 0 THEN 9223372036854775807 ELSE e.value END AS value,\n"
	"	k.unit AS unit, e.marks & 1 AS reset, e.marks >> 1 & 1 AS saturated\n"
	"FROM error e JOIN sweep s ON s.id = " KEPT("e.sweep") " JOIN port p ON p.id = e.port\n"
	"	JOIN node n ON n.id = p.node JOIN counter k ON k.id = e.counter\n"
	"WHERE e.counter >= 9;\n",
	"gaps AS -- spans without readings\n"
	"SELECT " TIME("s.wall_us") " AS since, " TIME("u.wall_us") " AS until,\n"
	"	" NAME_AT("p.node", "g.from_sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("why", "g.why") " AS why, g.from_sweep AS from_sweep, g.to_sweep AS to_sweep\n"
	"FROM span g JOIN sweep s ON s.id = " KEPT("g.from_sweep") "\n"
	"	LEFT JOIN sweep u ON u.id = " KEPT("g.to_sweep") "\n"
	"	JOIN port p ON p.id = g.port JOIN node n ON n.id = p.node;\n",
	"nodes AS -- the nodes of the newest sweep\n"
	"SELECT " NAME_NOW("v.node") " AS node, " GUID("n.guid") " AS node_guid,\n"
	"	" CODE("node_type", "v.type") " AS type,\n"
	"	v.port_count AS port_count, v.lid AS lid, v.vendor_id AS vendor_id, v.device_id AS device_id,\n"
	"	" GUID("v.system_guid") " AS system_guid, v.adaptive_routing AS adaptive_routing,\n"
	"	CASE WHEN f.id THEN printf('%d.%d.%04d', f.major, f.minor, f.sub_minor) END AS firmware,\n"
	"	nullif(f.psid, '') AS psid\n"
	"FROM node_version v JOIN node n ON n.id = v.node\n"
	"	LEFT JOIN firmware f ON f.node = v.node AND f.to_sweep IS NULL WHERE v.to_sweep IS NULL;\n",
	"ports AS -- the ports of the newest sweep, each with its peer\n"
	"SELECT " NAME_NOW("p.node") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("state", "v.state") " AS state, " CODE("phys_state", "v.phys_state") " AS phys_state,\n"
	"	" CODE("width", "v.width") " AS width, " CODE("speed", "v.speed") " AS speed, v.lid AS lid,\n"
	"	" NAME_NOW("q.node") " AS peer, q.number AS peer_port\n"
	"FROM port_version v JOIN port p ON p.id = v.port JOIN node n ON n.id = p.node "
	"LEFT JOIN port q ON q.id = v.peer\n"
	"WHERE v.to_sweep IS NULL;\n",
	"events AS -- events, with the names of that time\n"
	"SELECT " TIME("e.wall_us") " AS time, e.kind AS kind, " CODE("severity", "e.severity") " AS severity,\n"
	"	" NAME_AT("(SELECT n.id FROM node n WHERE n.guid = e.node_guid)", "e.sweep") " AS node,\n"
	"	e.port AS port,\n"
	"	" NAME_AT("(SELECT n.id FROM node n WHERE n.guid = e.peer_guid)", "e.sweep") " AS peer,\n"
	"	e.peer_port AS peer_port, e.text AS text\n"
	"FROM event e;\n",
	"findings AS -- findings in their latest state; closed is NULL while open\n"
	"SELECT " TIME("coalesce(s.since_us, f.since_us)") " AS since,\n"
	"	" TIME("f.opened_us") " AS opened, " TIME("f.closed_us")
	" AS closed,\n"
	"	f.kind AS kind, " CODE("severity", "s.severity") " AS severity, b.subject AS subject,"
	" b.cause AS cause,\n"
	"	s.text AS text, " GUID("f.node_guid") " AS node_guid, f.port AS port, s.evidence AS evidence\n"
	"FROM finding f JOIN finding_state s ON s.finding = f.id AND s.from_sweep =\n"
	"	(SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id)\n"
	"	JOIN finding_state b ON b.finding = f.id"
	" AND b.from_sweep = coalesce(s.state_sweep, s.from_sweep);\n",
	"sweeps AS -- sweeps, with their duration and coverage\n"
	"SELECT s.id AS sweep, " TIME("s.wall_us") " AS time, s.end_us - s.start_us AS duration_us,\n"
	"	s.interval_us AS interval_us, s.ports_planned AS ports_planned, s.ports_polled AS ports_polled,\n"
	"	s.ports_answered AS ports_answered, s.mads_sent AS mads_sent, s.mads_timed_out AS mads_timed_out,\n"
	"	s.ports_unfinished AS ports_unfinished, s.spread_us AS spread_us, s.node_spread_us AS node_spread_us\n"
	"FROM sweep s;\n",
	"details AS -- slow counters, one row per counter read, including zeros\n"
	"SELECT " TIME("s.wall_us") " AS time, d.sweep AS sweep,\n"
	"	" NAME_AT("p.node", "d.sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("attribute", "d.attribute") " AS attribute, " CODE("layout", "d.layout") " AS layout,\n"
	"	k.key AS counter,\n"
	"	CASE WHEN d.unknown >> k.number & 1 THEN NULL ELSE coalesce(v.counted, 0) END AS value,\n"
	"	k.unit AS unit, d.elapsed_us AS elapsed_us, coalesce(v.value, 0) AS reading,\n"
	"	coalesce(v.marks, 0) & 1 AS reset, coalesce(v.marks, 0) >> 1 & 1 AS saturated\n"
	"FROM detail d JOIN sweep s ON s.id = d.sweep JOIN port p ON p.id = d.port JOIN node n ON n.id = p.node\n"
	"	JOIN detail_counter k ON k.attribute = d.attribute AND NOT d.missing >> k.number & 1\n"
	"	LEFT JOIN detail_value v ON v.sweep = d.sweep AND v.port = d.port AND v.counter = k.id;\n",
	"traffic_hours AS -- traffic of a port in an hour; in the newest one, in 10 minutes. For any SQLite client\n"
	"SELECT " TIME("t.from_us") " AS since, " TIME("t.to_us") " AS until,\n"
	"	" NAME_AT("p.node", "t.to_sweep - 1") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	t.samples AS samples, t.elapsed_us / 1e6 AS elapsed_s,\n"
	"	" BYTES("t.xmit_data") " AS xmit_bytes, " BYTES("t.rcv_data") " AS rcv_bytes,\n"
	"	" BYTES_PER_S("t.xmit_data") " AS xmit_bytes_per_s,\n"
	"	" BYTES_PER_S("t.rcv_data") " AS rcv_bytes_per_s,\n"
	"	t.xmit_packets AS xmit_packets, t.rcv_packets AS rcv_packets, t.at_least AS at_least\n"
	"FROM (" TRAFFIC_SUM("r") "FROM hour r JOIN hour_sum h ON h.hour = r.id WHERE r.state = 1\n"
	"	UNION ALL " TRAFFIC_SUM("w") "FROM chunk_window w JOIN chunk_sum h ON h.window = w.id\n"
	"	WHERE w.state > 0 AND w.id >= (SELECT coalesce(max(to_window), 0) FROM hour WHERE state = 1)) t\n"
	"	JOIN port p ON p.id = t.port JOIN node n ON n.id = p.node;\n",
	NULL,
};

const char tables_drop_views[] =
	"DROP VIEW IF EXISTS traffic; DROP VIEW IF EXISTS errors; DROP VIEW IF EXISTS gaps;"
	" DROP VIEW IF EXISTS nodes; DROP VIEW IF EXISTS ports; DROP VIEW IF EXISTS events;"
	" DROP VIEW IF EXISTS node_names; DROP VIEW IF EXISTS sweeps;"
	" DROP VIEW IF EXISTS details; DROP VIEW IF EXISTS findings; DROP VIEW IF EXISTS traffic_hours";

/*
 * Blocks as read by one SMP: a routing engine that moves a host changes one block per switch. The
 * partial index finds the current blocks.
 */
static const char tables_route[] =
	"CREATE TABLE route_version ( -- 64 entries of a switch's LFT, and when they were valid\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	block INTEGER NOT NULL, -- LIDs 64 * block to 64 * block + 63\n"
	"	to_sweep INTEGER,\n"
	"	ports BLOB NOT NULL, -- one byte per LID: its egress port; 255: none\n"
	"	CONSTRAINT route_version_range CHECK (\n"
	"		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		node BETWEEN 1 AND 2097151 AND block BETWEEN 0 AND 767 AND length(ports) = 64),\n"
	"	PRIMARY KEY (from_sweep, node, block)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX route_version_now ON route_version (node, block) WHERE to_sweep IS NULL;\n";

/*
 * A row of finding: the object of the finding and its duration. A row of finding_state: what was shown of it from a
 * sweep on. It is never changed, so that a past time shows what was shown then. Columns that seldom change are stored
 * once: a row with state_sweep has new numbers only. Columns that can be NULL were added by version 3; collectors of
 * version 2 continue to store rows without them. Times are wall clocks: us since 1970 UTC.
 */
const char tables_finding[] =
	"CREATE TABLE finding ( -- findings, with their duration (ibwire health)\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	kind TEXT NOT NULL, -- see ibwire-health(1)\n"
	"	node_guid INTEGER, -- printf('0x%016x', node_guid); NULL: the whole fabric\n"
	"	port INTEGER NOT NULL, -- port number; 0: the node itself\n"
	"	peer_guid INTEGER, -- other end of the link; NULL: none\n"
	"	peer_port INTEGER NOT NULL,\n"
	"	tag INTEGER NOT NULL, -- distinguishes findings of one kind and place: the direction of a group\n"
	"	since_us INTEGER NOT NULL, -- known or estimated beginning\n"
	"	opened_us INTEGER NOT NULL, -- wall clock of the sweep that opened it\n"
	"	opened_sweep INTEGER NOT NULL, -- sweep.id\n"
	"	last_seen_us INTEGER NOT NULL, -- wall clock when it last held; valid when it is closed\n"
	"	closed_us INTEGER, -- wall clock of the sweep that closed it; NULL: open\n"
	"	closed_sweep INTEGER, -- sweep.id\n"
	"	CONSTRAINT finding_range CHECK (\n"
	"		id > 0 AND port BETWEEN 0 AND 255 AND since_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		opened_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		last_seen_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		closed_us BETWEEN 0 AND 253402300799999999)\n"
	");\n"
	"CREATE INDEX finding_by_end ON finding (closed_us);\n"
	"CREATE INDEX finding_by_time ON finding (opened_us);\n"
	"CREATE TABLE finding_state ( -- state of a finding from a sweep on\n"
	"	finding INTEGER NOT NULL REFERENCES finding (id),\n"
	"	from_sweep INTEGER NOT NULL, -- sweep.id\n"
	"	wall_us INTEGER NOT NULL, -- wall clock of that sweep\n"
	"	severity INTEGER NOT NULL, -- code severity\n"
	"	subject TEXT NOT NULL, -- object of the finding, as shown; '' with state_sweep, as the next columns\n"
	"	cause TEXT NOT NULL, -- cause code; likewise\n"
	"	text TEXT NOT NULL, -- one line: measured value and threshold\n"
	"	advice TEXT NOT NULL, -- one line: recommended action; likewise\n"
	"	evidence TEXT NOT NULL, -- JSON object of numbers; each key ends with its unit\n"
	"	hosts TEXT NOT NULL, -- JSON array of names: the first affected hosts; likewise\n"
	"	affected_hosts INTEGER NOT NULL, -- number of affected hosts\n"
	"	ports TEXT NOT NULL, -- JSON array of port.id: the first ports of a finding about several; likewise\n"
	"	state_sweep INTEGER, -- from_sweep of the row with the columns that are '' here; NULL: this row\n"
	"	since_us INTEGER, -- known or estimated beginning; NULL: finding.since_us\n"
	"	last_seen_us INTEGER, -- when its condition last held, as of that sweep; NULL: finding.last_seen_us\n"
	"	peak REAL, -- largest value until then of the number that grows with the fault; NULL: none\n"
	"	peak_us INTEGER, -- when it was measured\n"
	"	CONSTRAINT finding_state_range CHECK (from_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		wall_us BETWEEN 0 AND 253402300799999999 AND severity BETWEEN 0 AND 2 AND\n"
	"		state_sweep BETWEEN 1 AND from_sweep - 1 AND since_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		last_seen_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		peak_us BETWEEN 0 AND 253402300799999999),\n"
	"	PRIMARY KEY (finding, from_sweep)\n"
	") WITHOUT ROWID;\n";

static const char tables_acknowledgement[] =
	"CREATE TABLE acknowledgement ( -- acknowledged findings (ibwire health ack)\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	kind TEXT NOT NULL, -- this and the next three columns as in finding\n"
	"	node_guid INTEGER,\n"
	"	port INTEGER NOT NULL,\n"
	"	tag INTEGER NOT NULL,\n"
	"	at_us INTEGER NOT NULL, -- time of the acknowledgement\n"
	"	until_us INTEGER, -- end of the acknowledgement; NULL: until revoked\n"
	"	person TEXT NOT NULL, -- login name\n"
	"	reason TEXT NOT NULL,\n"
	"	CONSTRAINT acknowledgement_range CHECK (\n"
	"		id > 0 AND port BETWEEN 0 AND 255 AND at_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		until_us BETWEEN 0 AND 253402300799999999)\n"
	");\n";

void tables_append_columns(struct text *sql, counter_set set)
{
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_info *info = counter_info((enum counter)i);

		if (set & COUNTER_BIT(i))
			text_appendf(sql, "\t%s INTEGER, -- %s, %s; NULL: not known\n", info->key, info->title,
				     info->unit);
	}
}

/* Tables that version 7 added, which follow those of version 6; NULL ends the list. */
static const char *const tables_7[] = {
	tables_firmware, tables_wait_contradicted, tables_cable, tables_pkey, tables_rhythm, tables_job_detected, NULL
};

void tables_append_untyped(struct text *sql, int version)
{
	/* Each followed by columns of counters. */
	static const struct { const char *sql; counter_set columns; } parts[] = {
		{ tables_fixed, 0 }, { tables_absolute_begin, COUNTER_TRAFFIC_SET | COUNTER_ERROR_SET },
		{ tables_absolute_end, 0 },
		{ tables_detail, 0 }, { tables_route, 0 }, { tables_finding, 0 },
		{ tables_acknowledgement, 0 }, { tables_history, 0 },
		{ tables_chunk_sum_begin, COUNTER_TRAFFIC_SET }, { tables_chunk_sum_end, 0 },
		{ tables_hour_sum_begin, COUNTER_TRAFFIC_SET }, { tables_hour_sum_end, 0 }, { tables_chunk_error, 0 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		text_append(sql, parts[i].sql);
		tables_append_columns(sql, parts[i].columns);
	}
	tables_append_snapshot(sql);
	text_append(sql, version < 6 ? tables_job_5 : tables_job);
	for (const char *const *table = tables_7; version >= 7 && *table; table++)
		text_append(sql, *table);
}

size_t tables_statement_length(const char *at)
{
	const char *end = strstr(at, ";\nCREATE ");
	size_t len = end ? (size_t)(end - at) : strlen(at);

	/* The last statement. */
	return end || len < 2 ? len : len - 2;
}

/* The type of a column's values, if @line declares a column; NULL: none, or any. @len: of @line */
static const char *column_type(const char *line, size_t len, bool *ret_required)
{
	static const struct { const char *declared, *type; } types[] = {
		{ " INTEGER", "integer" }, { " TEXT", "text" }, { " BLOB", "blob" }, { " REAL", "real" },
	};
	const char *comment = memmem(line, len, " --", 3), *rest = line + 1 + strcspn(line + 1, " ");
	size_t declared = (size_t)((comment ? comment : line + len) - line);
	const bool key = memmem(line, declared, " PRIMARY KEY", 12);

	if (*line != '\t' || line[1] < 'a' || line[1] > 'z')
		return NULL;
	*ret_required = key || memmem(line, declared, " NOT NULL", 9);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		/* An INTEGER PRIMARY KEY is the rowid, which is an integer always. */
		if (!strncmp(rest, types[i].declared, strlen(types[i].declared)))
			return key && !i ? NULL : types[i].type;
	return NULL;
}

/* Append a CREATE TABLE statement of @len bytes, with a constraint for the types of its columns. */
static void append_typed(struct text *sql, const char *table, size_t len)
{
	const char *name = table + strlen("CREATE TABLE "), *end = table + len, *next, *type;
	const char *separator = "";
	bool required;

	while (*--end != '\n')
		;
	text_append_bytes(sql, table, (size_t)(end - table));
	text_appendf(sql, ",\n\tCONSTRAINT %.*s_types CHECK (", (int)strcspn(name, " "), name);
	for (const char *line = strchr(table, '\n') + 1; line <= end; line = next) {
		next = strchr(line, '\n') + 1;
		type = column_type(line, (size_t)(next - 1 - line), &required);
		if (!type)
			continue;
		line++;
		text_appendf(sql, "%s\n\t\t", separator);
		if (!required)
			text_appendf(sql, "(%.*s IS NULL OR ", (int)strcspn(line, " "), line);
		text_appendf(sql, "typeof(%.*s) = '%s'%s", (int)strcspn(line, " "), line, type, required ? "" : ")");
		separator = " AND";
	}
	text_append(sql, ")");
	text_append_bytes(sql, end, (size_t)(table + len - end));
}

void tables_append_typed(struct text *sql, int version)
{
	struct text untyped = { 0 };
	size_t len;

	tables_append_untyped(&untyped, version);
	for (const char *at = text_chars(&untyped); *at; at += len + 2) {
		len = tables_statement_length(at);
		if (!strncmp(at, "CREATE TABLE ", 13))
			append_typed(sql, at, len);
		else
			text_append_bytes(sql, at, len);
		text_append(sql, ";\n");
	}
	sql->failed |= text_failed(&untyped);
	text_done(&untyped);
}

void schema_append_tables(struct text *sql)
{
	tables_append_typed(sql, SCHEMA_VERSION);
}
