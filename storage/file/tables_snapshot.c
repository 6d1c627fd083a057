/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables_snapshot.c - the tables of `ibwire snapshot` and `ibwire job`
 *
 * A snapshot is self-contained: it has its own copy of names and links and refers to no sweep, port
 * or version. It can therefore be taken without a collector, needs no ids of the collector, and
 * remains when the history expires.
 */
#include "storage/file/tables.h"

#include "base/text.h"
#include "fabric/detail.h"

static const char head[] =
	"CREATE TABLE snapshot ( -- all counters of all ports at one time (ibwire snapshot take)\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	name TEXT NOT NULL, -- unique among complete snapshots\n"
	"	note TEXT, -- NULL: none\n"
	"	complete INTEGER NOT NULL, -- 1: complete; 0: being written or removed\n"
	"	wall_us INTEGER NOT NULL, -- wall clock at the start of its sweep, us since 1970 UTC\n"
	"	start_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	end_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n"
	"	boot_id TEXT NOT NULL, -- origin of start_us, end_us and at_us\n"
	"	sweep INTEGER, -- newest stored sweep at that time; NULL: none\n"
	"	discovered INTEGER NOT NULL, -- 1: topology of its own discovery, 0: the collector's newest\n"
	"	slow INTEGER NOT NULL, -- 1: with slow counters\n"
	"	ports_planned INTEGER NOT NULL, -- ports with counters, up or not\n"
	"	ports_polled INTEGER NOT NULL,\n"
	"	ports_answered INTEGER NOT NULL,\n"
	"	mads_sent INTEGER NOT NULL,\n"
	"	mads_timed_out INTEGER NOT NULL,\n"
	"	spread_us INTEGER NOT NULL, -- time between the first and the last reading of fast counters\n"
	"	CONSTRAINT snapshot_range CHECK (id > 0 AND wall_us BETWEEN 0 AND 253402300799999999)\n"
	");\n"
	"CREATE UNIQUE INDEX snapshot_by_name ON snapshot (name) WHERE complete;\n"
	"CREATE TABLE snapshot_node ( -- a node at that time\n"
	"	snapshot INTEGER NOT NULL REFERENCES snapshot (id),\n"
	"	node INTEGER NOT NULL, -- number within the snapshot, from 0\n"
	"	guid INTEGER NOT NULL, -- printf('0x%016x', guid)\n"
	"	name TEXT NOT NULL, -- sanitised text, as shown\n"
	"	description BLOB NOT NULL, -- NodeDescription as received, without trailing NULs\n"
	"	type INTEGER NOT NULL, -- code node_type\n"
	"	port_count INTEGER NOT NULL, -- external ports\n"
	"	system_guid INTEGER NOT NULL,\n"
	"	vendor_id INTEGER NOT NULL,\n"
	"	device_id INTEGER NOT NULL,\n"
	"	CONSTRAINT snapshot_node_range CHECK (\n"
	"		node BETWEEN 0 AND 2097151 AND port_count BETWEEN 0 AND 255),\n"
	"	PRIMARY KEY (snapshot, node)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE snapshot_port ( -- a port with counters, up or not, and their values\n"
	"	snapshot INTEGER NOT NULL REFERENCES snapshot (id),\n"
	"	node INTEGER NOT NULL, -- snapshot_node.node\n"
	"	number INTEGER NOT NULL,\n"
	"	peer_node INTEGER, -- the port at the other end of its cable: snapshot_node.node; NULL: none\n"
	"	peer_number INTEGER,\n"
	"	state INTEGER NOT NULL, -- code state\n"
	"	phys_state INTEGER NOT NULL, -- code phys_state\n"
	"	width INTEGER NOT NULL, -- code width, active; 0: no link\n"
	"	speed INTEGER NOT NULL, -- code speed, active; 0: no link\n"
	"	lid INTEGER NOT NULL, -- at which it was polled; 0: none\n"
	"	why INTEGER NOT NULL, -- 0: read; otherwise code why, and the counters are NULL\n"
	"	at_us INTEGER, -- CLOCK_BOOTTIME of the response, us\n"
	"	slow_at_us INTEGER, -- the same of the last response with slow counters\n"
	"	wide INTEGER NOT NULL, -- set of counters read with 64 bits: 1 << counter.id\n"
	"	saturated INTEGER NOT NULL, -- set of saturated counters (lower bounds): 1 << counter.id\n"
	"	fec_layout INTEGER NOT NULL, -- code layout, of the FEC counters; 0: unknown or none\n"
	"	-- Values of 64 bits: above 2^63 - 1 they look negative.\n";
static const char tail[] =
	"	CONSTRAINT snapshot_port_range CHECK (\n"
	"		node BETWEEN 0 AND 2097151 AND number BETWEEN 0 AND 255),\n"
	"	PRIMARY KEY (snapshot, node, number)\n"
	") WITHOUT ROWID;\n";

#define JOB_COLUMNS \
	"CREATE TABLE job ( -- a job of the batch system, or a command of ibwire run\n" \
	"	number INTEGER PRIMARY KEY AUTOINCREMENT, -- snapshots: job-NUMBER-begin, job-NUMBER-end\n" \
	"	id TEXT NOT NULL, -- of the batch system; a requeued job has several rows\n" \
	"	name TEXT NOT NULL, -- '': none\n" \
	"	hosts TEXT NOT NULL, -- host list as Slurm writes it; '': all hosts of the fabric\n" \
	"	command TEXT NOT NULL, -- of ibwire run; '': none\n" \
	"	begin_us INTEGER NOT NULL, -- wall clock, us since 1970 UTC\n" \
	"	begin_boot_us INTEGER NOT NULL, -- CLOCK_BOOTTIME, us\n" \
	"	begin_boot_id TEXT NOT NULL, -- origin of begin_boot_us\n" \
	"	begin_sweep INTEGER, -- newest stored sweep at that time; NULL: none\n" \
	"	end_us INTEGER, -- as at its begin; NULL: it is running\n" \
	"	end_boot_us INTEGER,\n" \
	"	end_boot_id TEXT,\n" \
	"	end_sweep INTEGER,\n" \
	"	ending INTEGER NOT NULL, -- code job_ending\n" \
	"	ended_by TEXT, -- id of the job that began on its hosts; NULL: none did\n" \
	"	exit_status INTEGER, -- NULL: unknown\n"
#define JOB_RANGE \
	"	CONSTRAINT job_range CHECK (\n" \
	"		number > 0 AND begin_us BETWEEN 0 AND 253402300799999999 AND\n" \
	"		end_us BETWEEN 0 AND 253402300799999999 AND begin_sweep BETWEEN 1 AND 1099511627776 AND\n"
#define JOB_INDEXES \
	");\n" \
	"CREATE INDEX job_by_id ON job (id);\n" \
	"CREATE INDEX job_running ON job (number) WHERE end_us IS NULL;\n" \
	"CREATE INDEX job_by_time ON job (begin_us, end_us);\n"

const char tables_job_5[] =
	JOB_COLUMNS
	JOB_RANGE
	"		end_sweep BETWEEN 1 AND 1099511627776 AND ending BETWEEN 0 AND 3 AND\n"
	"		(ending = 0) = (end_us IS NULL) AND exit_status BETWEEN 0 AND 255)\n"
	JOB_INDEXES;

/* Columns of version 6 are the last ones and may be NULL, so that rows of version 5 are rows of it. */
const char tables_job[] =
	JOB_COLUMNS
	"	cluster TEXT, -- an id is unique in its cluster; NULL: unknown, as in the next three columns\n"
	"	user TEXT,\n"
	"	account TEXT,\n"
	"	partition TEXT,\n"
	"	suspended_since_us INTEGER, -- wall clock; NULL: it is not suspended\n"
	"	suspended_us INTEGER, -- sum of its earlier suspensions, us; NULL: none\n"
	JOB_RANGE
	"		end_sweep BETWEEN 1 AND 1099511627776 AND ending BETWEEN 0 AND 4 AND\n"
	"		(ending IN (0, 4)) = (end_us IS NULL) AND (ending = 4) = (suspended_since_us IS NOT NULL) AND\n"
	"		suspended_since_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		suspended_us BETWEEN 0 AND 253402300799999999 AND exit_status BETWEEN 0 AND 255)\n"
	JOB_INDEXES;

static void append_slow_columns(struct text *sql)
{
	for (int attribute = 0; attribute < DETAIL_SELDOM; attribute++)
		for (unsigned number = 0; number < detail_count((enum detail_attribute)attribute); number++) {
			const struct detail_info *info = detail_info((enum detail_attribute)attribute, number);

			text_appendf(sql, "\t%s INTEGER, -- %s; NULL: not known\n", info->key, info->unit);
		}
}

void tables_append_snapshot(struct text *sql)
{
	text_append(sql, head);
	tables_append_columns(sql, COUNTER_TRAFFIC_SET | COUNTER_ERROR_SET);
	append_slow_columns(sql);
	text_append(sql, tail);
}
