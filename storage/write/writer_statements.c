/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_statements.c - what the writer runs for each sweep, in SQL */
#include "storage/file/db.h"
#include "storage/write/writer_internal.h"

static const char *const statement_sql[WRITER_STATEMENT_COUNT] = {
	[WRITE_NODE] = "INSERT INTO node (id, guid) VALUES (?, ?)",
	[WRITE_PORT] = "INSERT INTO port (id, node, number) VALUES (?, ?, ?)",
	[WRITE_BOOT] = "INSERT OR IGNORE INTO boot (boot_id) VALUES (?)",
	[FIND_BOOT] = "SELECT id FROM boot WHERE boot_id = ?",
	[WRITE_SWEEP] = "INSERT INTO sweep (id, wall_us, start_us, end_us, boot, topology, from_node, from_port,"
			" interval_us, discovery_us, discovery_smps, ports_planned, ports_asked, ports_answered,"
			" mads_sent, mads_timed_out, mads_retried, sm_known, sm_lid, sm_guid, sm_state, sm_priority,"
			" sm_act_count, ports_unfinished, spread_us, node_spread_us)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[OPEN_NODE_VERSION] = "INSERT INTO node_version (from_sweep, node, name, description, type, port_count,"
			      " system_guid, vendor_id, device_id, revision, lid, lft_top, enhanced_port0)"
			      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CLOSE_NODE_VERSION] = "UPDATE node_version SET to_sweep = ? WHERE from_sweep = ? AND node = ?",
	[OPEN_PORT_VERSION] = "INSERT INTO port_version (from_sweep, port, peer, state, phys_state, width, speed,"
			      " width_enabled, width_supported, speed_enabled, speed_supported, guid, lid, lmc, sm_lid,"
			      " cap_mask) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CLOSE_PORT_VERSION] = "UPDATE port_version SET to_sweep = ? WHERE from_sweep = ? AND port = ?",
	[OPEN_ROUTE_VERSION] = "INSERT INTO route_version (from_sweep, node, block, ports) VALUES (?, ?, ?, ?)",
	[CLOSE_ROUTE_VERSION] = "UPDATE route_version SET to_sweep = ? WHERE node = ? AND block = ? AND"
				" to_sweep IS NULL",
	[OPEN_SPAN] = "INSERT INTO span (from_sweep, port, why, read_sweep) VALUES (?, ?, ?, ?)",
	[CLOSE_SPAN] = "UPDATE span SET to_sweep = ? WHERE from_sweep = ? AND port = ?",
	[WRITE_HOT] = "INSERT INTO hot (id, samples) VALUES (?, ?)",
	[WRITE_ERROR] = "INSERT INTO error (sweep, port, counter, value, marks) VALUES (?, ?, ?, ?, ?)",
	[WRITE_DETAIL] = "INSERT INTO detail (sweep, port, attribute, at_us, elapsed_us, layout, missing, unknown)"
			 " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[WRITE_DETAIL_VALUE] = "INSERT INTO detail_value (sweep, port, counter, value, counted, marks)"
			       " VALUES (?, ?, ?, ?, ?, ?)",
	[WRITE_DETAIL_LAST] = "REPLACE INTO detail_last (port, attribute, sweep) VALUES (?, ?, ?)",
	[WRITE_CAPS] = "REPLACE INTO caps (node, known, cap_mask, cap_mask2, resp_time, tick, missing)"
		       " VALUES (?, ?, ?, ?, ?, ?, ?)",
	[REMOVE_EVENTS] = "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE wall_us >= ? AND kind = ?"
			  " AND id < ? ORDER BY id DESC LIMIT ?)",
	[WRITE_EVENT] = "INSERT INTO event (sweep, wall_us, kind, severity, node_guid, port, peer_guid, peer_port,"
			" text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[OPEN_FINDING] = "INSERT INTO finding (kind, node_guid, port, peer_guid, peer_port, tag, since_us, opened_us,"
			 " opened_sweep, last_seen_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[SEE_FINDING] = "UPDATE finding SET since_us = ?2, last_seen_us = ?3 WHERE id = ?1",
	[CLOSE_FINDING] = "UPDATE finding SET last_seen_us = ?2, closed_us = ?3, closed_sweep = ?4 WHERE id = ?1",
	[WRITE_FINDING_STATE] = "REPLACE INTO finding_state (finding, from_sweep, wall_us, severity, subject, cause,"
				" text, advice, evidence, hosts, hosts_touched)"
				" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};

int writer_prepare(struct writer *writer, struct error *err)
{
	int result = 0;

	for (int i = 0; !result && i < WRITER_STATEMENT_COUNT; i++) {
		if (i == WRITE_ABSOLUTE)
			result = readings_prepare_absolute(writer->db, &writer->statements[i], err);
		else
			result = db_prepare(writer->db, statement_sql[i], &writer->statements[i], err);
	}
	return result;
}

void writer_unprepare(struct writer *writer)
{
	for (int i = 0; i < WRITER_STATEMENT_COUNT; i++) {
		sqlite3_finalize(writer->statements[i]);
		writer->statements[i] = NULL;
	}
}
