/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_version1.c - a database as version 1 of the schema had it
 *
 * Frozen: such files are out there. Without the comments; of the views, which
 * are made anew whatever they were, only one as it was and the others by name.
 */
#include "storage/test/test_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/text.h"
#include "storage/sql/delta_table.h"

static const char version_1[] =
	"PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = 0x69627772;"
	"PRAGMA user_version = 1;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE counter (id INTEGER PRIMARY KEY, key TEXT NOT NULL, title TEXT NOT NULL, unit TEXT NOT NULL,"
	" meaning TEXT NOT NULL);"
	"CREATE TABLE code (kind TEXT NOT NULL, value INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, value))"
	" WITHOUT ROWID;"
	"CREATE TABLE node (id INTEGER PRIMARY KEY, guid INTEGER NOT NULL UNIQUE);"
	"CREATE TABLE port (id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES node (id),"
	" number INTEGER NOT NULL, UNIQUE (node, number));"
	"CREATE TABLE boot (id INTEGER PRIMARY KEY, boot_id TEXT NOT NULL UNIQUE);"
	"CREATE TABLE sweep (id INTEGER PRIMARY KEY, wall_us INTEGER NOT NULL, start_us INTEGER NOT NULL,"
	" end_us INTEGER NOT NULL, boot INTEGER NOT NULL REFERENCES boot (id), topology INTEGER NOT NULL,"
	" from_node INTEGER, from_port INTEGER, interval_us INTEGER NOT NULL, discovery_us INTEGER NOT NULL,"
	" discovery_smps INTEGER NOT NULL, ports_planned INTEGER NOT NULL, ports_asked INTEGER NOT NULL,"
	" ports_answered INTEGER NOT NULL, mads_sent INTEGER NOT NULL, mads_timed_out INTEGER NOT NULL,"
	" mads_retried INTEGER NOT NULL, sm_known INTEGER NOT NULL, sm_lid INTEGER NOT NULL, sm_guid INTEGER NOT NULL,"
	" sm_state INTEGER NOT NULL, sm_priority INTEGER NOT NULL, sm_act_count INTEGER NOT NULL\n);"
	"CREATE INDEX sweep_by_time ON sweep (wall_us);"
	"CREATE TABLE node_version (from_sweep INTEGER NOT NULL, node INTEGER NOT NULL REFERENCES node (id),"
	" to_sweep INTEGER, name TEXT NOT NULL, description BLOB NOT NULL, type INTEGER NOT NULL,"
	" port_count INTEGER NOT NULL, system_guid INTEGER NOT NULL, vendor_id INTEGER NOT NULL,"
	" device_id INTEGER NOT NULL, revision INTEGER NOT NULL, lid INTEGER NOT NULL, lft_top INTEGER NOT NULL,"
	" enhanced_port0 INTEGER NOT NULL, PRIMARY KEY (from_sweep, node)) WITHOUT ROWID;"
	"CREATE INDEX node_version_by_node ON node_version (node, from_sweep);"
	"CREATE TABLE port_version (from_sweep INTEGER NOT NULL, port INTEGER NOT NULL REFERENCES port (id),"
	" to_sweep INTEGER, peer INTEGER REFERENCES port (id), state INTEGER NOT NULL, phys_state INTEGER NOT NULL,"
	" width INTEGER NOT NULL, speed INTEGER NOT NULL, width_enabled INTEGER NOT NULL,"
	" width_supported INTEGER NOT NULL, speed_enabled INTEGER NOT NULL, speed_supported INTEGER NOT NULL,"
	" guid INTEGER NOT NULL, lid INTEGER NOT NULL, lmc INTEGER NOT NULL, sm_lid INTEGER NOT NULL,"
	" cap_mask INTEGER NOT NULL, PRIMARY KEY (from_sweep, port)) WITHOUT ROWID;"
	"CREATE INDEX port_version_by_port ON port_version (port, from_sweep);"
	"CREATE TABLE span (from_sweep INTEGER NOT NULL, port INTEGER NOT NULL REFERENCES port (id), to_sweep INTEGER,"
	" why INTEGER NOT NULL, read_sweep INTEGER, PRIMARY KEY (from_sweep, port)) WITHOUT ROWID;"
	"CREATE INDEX span_by_end ON span (to_sweep);"
	"CREATE TABLE error (sweep INTEGER NOT NULL, port INTEGER NOT NULL,"
	" counter INTEGER NOT NULL REFERENCES counter (id), value INTEGER NOT NULL, marks INTEGER NOT NULL,"
	" PRIMARY KEY (sweep, port, counter)) WITHOUT ROWID;"
	"CREATE TABLE caps (node INTEGER PRIMARY KEY REFERENCES node (id), known INTEGER NOT NULL,"
	" cap_mask INTEGER NOT NULL, cap_mask2 INTEGER NOT NULL, resp_time INTEGER NOT NULL -- 4.096 us * 2^n\n);"
	"CREATE TABLE event (id INTEGER PRIMARY KEY, sweep INTEGER NOT NULL, wall_us INTEGER NOT NULL,"
	" kind TEXT NOT NULL, severity INTEGER NOT NULL, node_guid INTEGER, port INTEGER, peer_guid INTEGER,"
	" peer_port INTEGER, text TEXT NOT NULL);"
	"CREATE INDEX event_by_time ON event (wall_us);"
	"CREATE TABLE delta (sweep INTEGER NOT NULL, port INTEGER NOT NULL, elapsed_us INTEGER NOT NULL,"
	" unknown INTEGER NOT NULL, xmit_data INTEGER, rcv_data INTEGER, xmit_packets INTEGER, rcv_packets INTEGER,"
	" xmit_wait INTEGER, unicast_xmit_packets INTEGER, unicast_rcv_packets INTEGER,"
	" multicast_xmit_packets INTEGER, multicast_rcv_packets INTEGER, PRIMARY KEY (sweep, port)) WITHOUT ROWID;"
	"CREATE TABLE absolute (sweep INTEGER NOT NULL, port INTEGER NOT NULL, at_us INTEGER NOT NULL,"
	" wall_us INTEGER NOT NULL, wide INTEGER NOT NULL, xmit_data INTEGER, rcv_data INTEGER, xmit_packets INTEGER,"
	" rcv_packets INTEGER, xmit_wait INTEGER, unicast_xmit_packets INTEGER, unicast_rcv_packets INTEGER,"
	" multicast_xmit_packets INTEGER, multicast_rcv_packets INTEGER, symbol_errors INTEGER,"
	" link_error_recovery INTEGER, link_downed INTEGER, rcv_errors INTEGER, rcv_remote_physical_errors INTEGER,"
	" rcv_switch_relay_errors INTEGER, xmit_discards INTEGER, xmit_constraint_errors INTEGER,"
	" rcv_constraint_errors INTEGER, local_link_integrity_errors INTEGER, excessive_buffer_overrun_errors INTEGER,"
	" qp1_dropped INTEGER, vl15_dropped INTEGER, PRIMARY KEY (sweep, port)) WITHOUT ROWID;"
	"CREATE VIEW sweeps AS SELECT s.id AS sweep, strftime('%Y-%m-%dT%H:%M:%S', s.wall_us / 1000000, 'unixepoch') ||"
	" printf('.%06dZ', s.wall_us % 1000000) AS time, s.end_us - s.start_us AS duration_us,"
	" s.interval_us AS interval_us, s.ports_planned AS ports_planned, s.ports_asked AS ports_asked,"
	" s.ports_answered AS ports_answered, s.mads_sent AS mads_sent, s.mads_timed_out AS mads_timed_out"
	" FROM sweep s;"
	"CREATE VIEW traffic AS SELECT * FROM delta; CREATE VIEW errors AS SELECT * FROM error;"
	"CREATE VIEW gaps AS SELECT * FROM span; CREATE VIEW nodes AS SELECT * FROM node_version;"
	"CREATE VIEW ports AS SELECT * FROM port_version; CREATE VIEW events AS SELECT * FROM event;"
	"PRAGMA journal_mode = WAL;";

static void run(sqlite3 *db, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
}

/* "INSERT INTO main.t (columns) SELECT columns FROM full.t" for each table of version 1. */
static void copy_tables(sqlite3 *db)
{
	sqlite3_stmt *tables;
	struct text sql = { 0 };

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT m.name, group_concat(c.name) FROM main.sqlite_schema m,"
					    " pragma_table_info(m.name, 'main') c WHERE m.type = 'table' AND"
					    " m.name <> 'delta' GROUP BY 1",
					    -1, &tables, NULL), SQLITE_OK);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(tables, 0);
		const char *columns = (const char *)sqlite3_column_text(tables, 1);

		text_appendf(&sql, "INSERT INTO main.%s (%s) SELECT %s FROM full.%s;", name, columns, columns, name);
	}
	sqlite3_finalize(tables);
	run(db, text_chars(&sql));
	text_done(&sql);
}

void check_make_version_1(const char *path, const char *from)
{
	char attach[512];
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db, version_1);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS full", from);
	run(db, attach);
	run(db, "BEGIN");
	copy_tables(db);
	run(db, "DELETE FROM code WHERE kind IN ('attribute', 'layout', 'window_state') OR kind = 'why' AND"
	    " name = 'unfinished'");
	run(db, "COMMIT");
	sqlite3_close(db);
	/* Samples are packed since version 3. */
	assert_int_equal(sqlite3_open(from, &db), SQLITE_OK);
	assert_int_equal(delta_table_register(db, NULL), 0);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS made", path);
	run(db, attach);
	run(db, "INSERT INTO made.delta SELECT * FROM main.delta; DETACH made");
	sqlite3_close(db);
}
