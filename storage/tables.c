/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.c - the schema, as people see it in the database too
 *
 * Time (the sweep) comes first in the key of whatever every sweep writes: a key
 * with the port first would touch a page per port. Spans and versions hold from
 * from_sweep up to but not in to_sweep (NULL: still).
 */
#include "storage/tables.h"

const char tables_fixed[] =
	"CREATE TABLE meta ( -- about the database itself\n"
	"	key TEXT PRIMARY KEY, -- created_us: wall clock\n"
	"	value\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE counter ( -- the counters that there are; bit 1 << id in sets\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	key TEXT NOT NULL,\n"
	"	title TEXT NOT NULL, -- the specification's name\n"
	"	unit TEXT NOT NULL,\n"
	"	meaning TEXT NOT NULL\n"
	");\n"
	"CREATE TABLE code ( -- names of coded values: node_type, state, speed, width, why, attribute and so on\n"
	"	kind TEXT NOT NULL,\n"
	"	value INTEGER NOT NULL,\n"
	"	name TEXT NOT NULL,\n"
	"	PRIMARY KEY (kind, value)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE node ( -- who a node is; a row is never removed and its id never given again\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	guid INTEGER NOT NULL UNIQUE -- printf('0x%016x', guid)\n"
	");\n"
	"CREATE TABLE port ( -- who a port is; as node\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	number INTEGER NOT NULL,\n"
	"	UNIQUE (node, number)\n"
	");\n"
	"CREATE TABLE boot ( -- what start_us and at_us count from\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	boot_id TEXT NOT NULL UNIQUE\n"
	");\n"
	"CREATE TABLE sweep ( -- one asking of all ports\n"
	"	id INTEGER PRIMARY KEY, -- rises by one each sweep: this is the order, whatever the wall clock did\n"
	"	wall_us INTEGER NOT NULL, -- wall clock at its start, us since 1970 UTC\n"
	"	start_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	end_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	boot INTEGER NOT NULL REFERENCES boot (id),\n"
	"	topology INTEGER NOT NULL, -- the sweep since which nodes and ports are as they are\n"
	"	from_node INTEGER, -- the node that was asked from, and its port\n"
	"	from_port INTEGER,\n"
	"	interval_us INTEGER NOT NULL, -- as set; 0: a single sweep\n"
	"	discovery_us INTEGER NOT NULL, -- of the discovery before it; 0: none was made\n"
	"	discovery_smps INTEGER NOT NULL,\n"
	"	ports_planned INTEGER NOT NULL,\n"
	"	ports_asked INTEGER NOT NULL,\n"
	"	ports_answered INTEGER NOT NULL,\n"
	"	mads_sent INTEGER NOT NULL,\n"
	"	mads_timed_out INTEGER NOT NULL,\n"
	"	mads_retried INTEGER NOT NULL,\n"
	"	sm_known INTEGER NOT NULL, -- 1: the master SM answered\n"
	"	sm_lid INTEGER NOT NULL,\n"
	"	sm_guid INTEGER NOT NULL, -- a port GUID\n"
	"	sm_state INTEGER NOT NULL, -- 0 not active, 1 discovering, 2 standby, 3 master\n"
	"	sm_priority INTEGER NOT NULL,\n"
	"	sm_act_count INTEGER NOT NULL,\n"
	"	ports_unfinished INTEGER, -- its time was over before they answered; NULL in what version 1 stored\n"
	"	spread_us INTEGER, -- between its first and its last reading; NULL as above\n"
	"	node_spread_us INTEGER -- the same within one switch, the largest of all; NULL as above\n"
	");\n"
	"CREATE INDEX sweep_by_time ON sweep (wall_us);\n"
	"CREATE TABLE node_version ( -- what a node was like, and when\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	to_sweep INTEGER,\n"
	"	name TEXT NOT NULL, -- as shown: harmless text\n"
	"	description BLOB NOT NULL, -- NodeDescription as it came, without the NULs at its end\n"
	"	type INTEGER NOT NULL, -- code node_type\n"
	"	port_count INTEGER NOT NULL, -- external ports\n"
	"	system_guid INTEGER NOT NULL,\n"
	"	vendor_id INTEGER NOT NULL,\n"
	"	device_id INTEGER NOT NULL,\n"
	"	revision INTEGER NOT NULL,\n"
	"	lid INTEGER NOT NULL, -- of a switch; else 0, see port_version\n"
	"	lft_top INTEGER NOT NULL,\n"
	"	enhanced_port0 INTEGER NOT NULL, -- 1: its port 0 has counters\n"
	"	PRIMARY KEY (from_sweep, node)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX node_version_by_node ON node_version (node, from_sweep);\n"
	"CREATE TABLE port_version ( -- what a port was like, and when\n"
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
	"	PRIMARY KEY (from_sweep, port)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX port_version_by_port ON port_version (port, from_sweep);\n"
	"CREATE TABLE span ( -- sweeps without data of a port; a port of the fabric that no span covers was read\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL REFERENCES port (id),\n"
	"	to_sweep INTEGER,\n"
	"	why INTEGER NOT NULL, -- code why\n"
	"	read_sweep INTEGER, -- the last sweep that read the port before; its absolute values are stored\n"
	"	PRIMARY KEY (from_sweep, port)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX span_by_end ON span (to_sweep);\n"
	"CREATE TABLE error ( -- error counters that moved, and every counter that fell or is full\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL, -- counted in the delta of that sweep and port\n"
	"	marks INTEGER NOT NULL, -- 1 reset: it fell, at least value; 2 saturated: it is full, at least value\n"
	"	PRIMARY KEY (sweep, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE caps ( -- what a node's performance agent said that it can do\n"
	"	node INTEGER PRIMARY KEY REFERENCES node (id),\n"
	"	known INTEGER NOT NULL,\n"
	"	cap_mask INTEGER NOT NULL,\n"
	"	cap_mask2 INTEGER NOT NULL,\n"
	"	resp_time INTEGER NOT NULL, -- 4.096 us * 2^n\n"
	"	tick INTEGER, -- xmit_wait counts (tick + 1) symbol times; NULL: not known\n"
	"	missing INTEGER NOT NULL DEFAULT 0 -- set of what it refused: 1 << attribute (code attribute),\n"
	"		-- 64 PortCountersExtended, 128 PortSamplesControl\n"
	");\n"
	"CREATE TABLE event ( -- what happened\n"
	"	id INTEGER PRIMARY KEY, -- the order\n"
	"	sweep INTEGER NOT NULL, -- stored with this sweep\n"
	"	wall_us INTEGER NOT NULL, -- us since 1970 UTC\n"
	"	kind TEXT NOT NULL,\n"
	"	severity INTEGER NOT NULL, -- code severity\n"
	"	node_guid INTEGER, -- NULL: none\n"
	"	port INTEGER, -- its number\n"
	"	peer_guid INTEGER,\n"
	"	peer_port INTEGER,\n"
	"	text TEXT NOT NULL\n"
	");\n"
	"CREATE INDEX event_by_time ON event (wall_us);\n";

/*
 * Each port is read now and then, so an index by port would touch a page for
 * each row, the more the older the database is. The newest row of each port is
 * found by detail_last instead, which does not grow, and the rows of one port
 * by asking each sweep for them: that is one look at the key.
 */
const char tables_detail[] =
	"CREATE TABLE detail_counter ( -- the slow counters that there are\n"
	"	id INTEGER PRIMARY KEY, -- 32 * attribute + number\n"
	"	attribute INTEGER NOT NULL, -- code attribute\n"
	"	number INTEGER NOT NULL, -- within the attribute; bit 1 << number in sets\n"
	"	key TEXT NOT NULL,\n"
	"	unit TEXT NOT NULL,\n"
	"	meaning TEXT NOT NULL,\n"
	"	max INTEGER NOT NULL, -- where it stops\n"
	"	UNIQUE (attribute, number)\n"
	");\n"
	"CREATE TABLE detail ( -- one attribute of slow counters of one port, as a sweep read it\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	attribute INTEGER NOT NULL, -- code attribute\n"
	"	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the answer, us\n"
	"	elapsed_us INTEGER, -- since the reading that it counts from; NULL: there is none\n"
	"	layout INTEGER NOT NULL, -- code layout, of extended_speeds; 0: not known, or has none\n"
	"	missing INTEGER NOT NULL, -- set of counters that were not read: 1 << number\n"
	"	unknown INTEGER NOT NULL, -- set of counters of which no change can be told: 1 << number\n"
	"	PRIMARY KEY (sweep, port, attribute)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE detail_value ( -- its counters that are not 0; one that was read and has no row: 0, counted 0\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES detail_counter (id),\n"
	"	value INTEGER NOT NULL, -- as it was read\n"
	"	counted INTEGER, -- since it was read before; NULL: not known\n"
	"	marks INTEGER NOT NULL, -- 1 reset: it fell, 2 saturated: it is full; then at least counted\n"
	"	PRIMARY KEY (sweep, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE detail_last ( -- the newest row of detail\n"
	"	port INTEGER NOT NULL,\n"
	"	attribute INTEGER NOT NULL,\n"
	"	sweep INTEGER NOT NULL,\n"
	"	PRIMARY KEY (port, attribute)\n"
	") WITHOUT ROWID;\n";

/*
 * Samples of ports are packed: whole sweeps while they are new (storage/hot_block.h),
 * then one run of sweeps of one port after the other (storage/codec.h). Rowids are composed with
 * time first, so that each sweep and each window is written in one place; blobs
 * in a table WITHOUT ROWID would spill to overflow pages.
 */
const char tables_history[] =
	"CREATE TABLE hot ( -- the samples of the newest sweeps, a row for each 32 ports; traffic unpacks them\n"
	"	id INTEGER PRIMARY KEY, -- sweep * 65536 + port / 32\n"
	"	samples BLOB NOT NULL -- packed, of ports 32 * (port / 32) and up\n"
	");\n"
	"CREATE TABLE chunk_window ( -- a run of sweeps whose samples stand together, in a chunk for each port\n"
	"	id INTEGER PRIMARY KEY, -- rises with the sweeps: one window begins where the one before it ends\n"
	"	from_sweep INTEGER NOT NULL, -- the first\n"
	"	to_sweep INTEGER NOT NULL, -- the first behind it\n"
	"	from_us INTEGER NOT NULL, -- wall clock of the first sweep, us since 1970 UTC\n"
	"	to_us INTEGER NOT NULL, -- wall clock of the last sweep\n"
	"	state INTEGER NOT NULL, -- code window_state: 0 is being written, its samples are in hot;\n"
	"		-- 1 chunks and sums; 2 the chunks expired\n"
	"	next_port INTEGER NOT NULL -- while it is written: the first port whose chunk is not there yet\n"
	");\n"
	"CREATE INDEX chunk_window_by_sweep ON chunk_window (to_sweep);\n"
	"CREATE TABLE chunk ( -- the samples of one port in one window; no row: it was not read in any of its sweeps\n"
	"	id INTEGER PRIMARY KEY, -- window * 2097152 + port\n"
	"	samples BLOB NOT NULL -- packed, one for each sweep of the window\n"
	");\n"
	"CREATE TABLE hour ( -- a run of windows, about an hour of the wall clock, whose sums stand together\n"
	"	id INTEGER PRIMARY KEY, -- rises with the sweeps\n"
	"	from_sweep INTEGER NOT NULL, -- as in chunk_window\n"
	"	to_sweep INTEGER NOT NULL,\n"
	"	from_us INTEGER NOT NULL,\n"
	"	to_us INTEGER NOT NULL,\n"
	"	from_window INTEGER NOT NULL, -- the first\n"
	"	to_window INTEGER NOT NULL, -- the first behind it\n"
	"	state INTEGER NOT NULL, -- 0 is being written; 1 complete\n"
	"	next_port INTEGER NOT NULL -- while it is written: the first port whose sum is not there yet\n"
	");\n"
	"CREATE INDEX hour_by_sweep ON hour (to_sweep);\n";

#define SUM_COLUMNS \
	"	port INTEGER NOT NULL,\n" \
	"	samples INTEGER NOT NULL, -- how many sweeps have a delta of it\n" \
	"	elapsed_us INTEGER NOT NULL, -- of all of them\n" \
	"	unknown INTEGER NOT NULL, -- set of counters that not every one of them knows: 1 << counter.id\n" \
	"	reset INTEGER NOT NULL, -- set of counters that fell; then the sum is at least the value\n" \
	"	saturated INTEGER NOT NULL, -- set of counters that were full; as above\n"
/*
 * The traffic counters' columns: what was counted where it is known; NULL where it never is.
 * Error counters are sparse: what moved of them, or was known at times only, has a row in chunk_error and
 * hour_error.
 */
const char tables_chunk_sum_begin[] =
	"CREATE TABLE chunk_sum ( -- what a port counted in one window; no row: it was not read in it\n"
	"	window INTEGER NOT NULL, -- chunk_window.id\n"
	SUM_COLUMNS;
const char tables_chunk_sum_end[] =
	"	PRIMARY KEY (window, port)\n"
	") WITHOUT ROWID;\n";
const char tables_chunk_error[] =
	"CREATE TABLE chunk_error ( -- error counters that moved, or were known at times; no row: 0 or never known\n"
	"	window INTEGER NOT NULL, -- chunk_window.id\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL, -- counted; at least so many where chunk_sum.reset or .saturated have its bit\n"
	"	PRIMARY KEY (window, port, counter)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE hour_error ( -- the same in one hour\n"
	"	hour INTEGER NOT NULL, -- hour.id\n"
	"	port INTEGER NOT NULL,\n"
	"	counter INTEGER NOT NULL REFERENCES counter (id),\n"
	"	value INTEGER NOT NULL,\n"
	"	PRIMARY KEY (hour, port, counter)\n"
	") WITHOUT ROWID;\n";
const char tables_hour_sum_begin[] =
	"CREATE TABLE hour_sum ( -- the same in one hour\n"
	"	hour INTEGER NOT NULL, -- hour.id\n"
	SUM_COLUMNS;
const char tables_hour_sum_end[] =
	"	PRIMARY KEY (hour, port)\n"
	") WITHOUT ROWID;\n";

const char tables_absolute_begin[] =
	"CREATE TABLE absolute ( -- values as they were read: at first sight, now and then, and before a span\n"
	"	sweep INTEGER NOT NULL,\n"
	"	port INTEGER NOT NULL,\n"
	"	at_us INTEGER NOT NULL, -- CLOCK_BOOTTIME of the answer, us\n"
	"	wall_us INTEGER NOT NULL, -- the wall clock then, us since 1970 UTC\n"
	"	wide INTEGER NOT NULL, -- set of counters that came with 64 bits: 1 << counter.id\n";
const char tables_absolute_end[] =
	"	PRIMARY KEY (sweep, port)\n"
	") WITHOUT ROWID;\n";

#define TIME(us) \
	"strftime('%Y-%m-%dT%H:%M:%S', " us " / 1000000, 'unixepoch') || printf('.%06dZ', " us " % 1000000)"
#define GUID(guid) "printf('0x%016x', " guid ")"
/* The sweep, or where its row expired the first one behind it that is left: errors and spans are kept for longer. */
#define KEPT(sweep) "(SELECT min(k.id) FROM sweep k WHERE k.id >= " sweep ")"
/* The node's name at a sweep; the last one where it had just left. */
#define NAME_AT(node, sweep) \
	"(SELECT v.name FROM node_version v WHERE v.node = " node " AND v.from_sweep <= " sweep \
	" ORDER BY v.from_sweep DESC LIMIT 1)"
#define CODE(kind, value) "(SELECT c.name FROM code c WHERE c.kind = '" kind "' AND c.value = " value ")"

const char tables_traffic_begin[] =
	"CREATE VIEW traffic AS -- what each port counted; above 2^63 - 1 it says 2^63 - 1\n"
	"SELECT d.time AS time, d.sweep AS sweep, d.node AS node, d.node_guid AS node_guid, d.port AS port,\n"
	"	d.elapsed_us AS elapsed_us";
const char tables_traffic_end[] = "\nFROM sample d; -- packed: ibwire sql has it, others load ibwire-sql.so\n";

const char tables_views[] =
	"CREATE VIEW errors AS -- error counters that moved, fell or are full\n"
	"SELECT " TIME("s.wall_us") " AS time, e.sweep AS sweep,\n"
	"	" NAME_AT("p.node", "e.sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	k.key AS counter, CASE WHEN e.value < 0 THEN 9223372036854775807 ELSE e.value END AS value,\n"
	"	k.unit AS unit, e.marks & 1 AS reset, e.marks >> 1 & 1 AS saturated\n"
	"FROM error e JOIN sweep s ON s.id = " KEPT("e.sweep") " JOIN port p ON p.id = e.port\n"
	"	JOIN node n ON n.id = p.node JOIN counter k ON k.id = e.counter;\n"
	"CREATE VIEW gaps AS -- spans without data\n"
	"SELECT " TIME("s.wall_us") " AS since, " TIME("u.wall_us") " AS until,\n"
	"	" NAME_AT("p.node", "g.from_sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("why", "g.why") " AS why, g.from_sweep AS from_sweep, g.to_sweep AS to_sweep\n"
	"FROM span g JOIN sweep s ON s.id = " KEPT("g.from_sweep") "\n"
	"	LEFT JOIN sweep u ON u.id = " KEPT("g.to_sweep") "\n"
	"	JOIN port p ON p.id = g.port JOIN node n ON n.id = p.node;\n"
	"CREATE VIEW nodes AS -- the nodes of the newest sweep\n"
	"SELECT v.name AS node, " GUID("n.guid") " AS node_guid, " CODE("node_type", "v.type") " AS type,\n"
	"	v.port_count AS port_count, v.lid AS lid, v.vendor_id AS vendor_id, v.device_id AS device_id,\n"
	"	" GUID("v.system_guid") " AS system_guid\n"
	"FROM node_version v JOIN node n ON n.id = v.node WHERE v.to_sweep IS NULL;\n"
	"CREATE VIEW ports AS -- the ports of the newest sweep, each with its peer\n"
	"SELECT " NAME_AT("p.node", "v.from_sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("state", "v.state") " AS state, " CODE("phys_state", "v.phys_state") " AS phys_state,\n"
	"	" CODE("width", "v.width") " AS width, " CODE("speed", "v.speed") " AS speed, v.lid AS lid,\n"
	"	" NAME_AT("q.node", "v.from_sweep") " AS peer, q.number AS peer_port\n"
	"FROM port_version v JOIN port p ON p.id = v.port JOIN node n ON n.id = p.node "
	"LEFT JOIN port q ON q.id = v.peer\n"
	"WHERE v.to_sweep IS NULL;\n"
	"CREATE VIEW events AS -- what happened, with names of that time\n"
	"SELECT " TIME("e.wall_us") " AS time, e.kind AS kind, " CODE("severity", "e.severity") " AS severity,\n"
	"	" NAME_AT("(SELECT n.id FROM node n WHERE n.guid = e.node_guid)", "e.sweep") " AS node,\n"
	"	e.port AS port,\n"
	"	" NAME_AT("(SELECT n.id FROM node n WHERE n.guid = e.peer_guid)", "e.sweep") " AS peer,\n"
	"	e.peer_port AS peer_port, e.text AS text\n"
	"FROM event e;\n"
	"CREATE VIEW findings AS -- what was wrong, as it was said last; open ones have no closed\n"
	"SELECT " TIME("f.since_us") " AS since, " TIME("f.opened_us") " AS opened, " TIME("f.closed_us")
	" AS closed,\n"
	"	f.kind AS kind, " CODE("severity", "s.severity") " AS severity, s.subject AS subject,"
	" s.cause AS cause,\n"
	"	s.text AS text, " GUID("f.node_guid") " AS node_guid, f.port AS port, s.evidence AS evidence\n"
	"FROM finding f JOIN finding_state s ON s.finding = f.id AND s.from_sweep =\n"
	"	(SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id);\n"
	"CREATE VIEW sweeps AS -- when was asked, and what it took\n"
	"SELECT s.id AS sweep, " TIME("s.wall_us") " AS time, s.end_us - s.start_us AS duration_us,\n"
	"	s.interval_us AS interval_us, s.ports_planned AS ports_planned, s.ports_asked AS ports_asked,\n"
	"	s.ports_answered AS ports_answered, s.mads_sent AS mads_sent, s.mads_timed_out AS mads_timed_out,\n"
	"	s.ports_unfinished AS ports_unfinished, s.spread_us AS spread_us, s.node_spread_us AS node_spread_us\n"
	"FROM sweep s;\n"
	"CREATE VIEW details AS -- slow counters, a row for each that was read, also where it is 0\n"
	"SELECT " TIME("s.wall_us") " AS time, d.sweep AS sweep,\n"
	"	" NAME_AT("p.node", "d.sweep") " AS node, " GUID("n.guid") " AS node_guid, p.number AS port,\n"
	"	" CODE("attribute", "d.attribute") " AS attribute, " CODE("layout", "d.layout") " AS layout,\n"
	"	k.key AS counter,\n"
	"	CASE WHEN d.unknown >> k.number & 1 THEN NULL ELSE coalesce(v.counted, 0) END AS value,\n"
	"	k.unit AS unit, d.elapsed_us AS elapsed_us, coalesce(v.value, 0) AS reading,\n"
	"	coalesce(v.marks, 0) & 1 AS reset, coalesce(v.marks, 0) >> 1 & 1 AS saturated\n"
	"FROM detail d JOIN sweep s ON s.id = d.sweep JOIN port p ON p.id = d.port JOIN node n ON n.id = p.node\n"
	"	JOIN detail_counter k ON k.attribute = d.attribute AND NOT d.missing >> k.number & 1\n"
	"	LEFT JOIN detail_value v ON v.sweep = d.sweep AND v.port = d.port AND v.counter = k.id;\n";

const char tables_drop_views[] =
	"DROP VIEW IF EXISTS traffic; DROP VIEW IF EXISTS errors; DROP VIEW IF EXISTS gaps;"
	" DROP VIEW IF EXISTS nodes; DROP VIEW IF EXISTS ports; DROP VIEW IF EXISTS events;"
	" DROP VIEW IF EXISTS sweeps; DROP VIEW IF EXISTS details; DROP VIEW IF EXISTS findings";
