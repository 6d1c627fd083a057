/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tables_rhythm.c - the table of the rhythms of jobs */
#include "storage/file/tables.h"

/* Kept as long as hourly sums, and removed with the job. */
const char tables_rhythm[] =
	"CREATE TABLE job_rhythm ( -- phases and period of the traffic of a running job, once a minute\n"
	"	job INTEGER NOT NULL REFERENCES job (number),\n"
	"	wall_us INTEGER NOT NULL, -- wall clock of the sweep\n"
	"	kind INTEGER NOT NULL, -- code rhythm\n"
	"	period_s REAL, -- of an iteration; NULL: there is none\n"
	"	spread_s REAL, -- standard deviation of single periods; NULL: likewise\n"
	"	periods INTEGER NOT NULL, -- number of those that were seen\n"
	"	wire_share REAL, -- share of the time in which it communicates, 0..1; NULL: not resolvable\n"
	"	bytes_per_s REAL, -- sent by all of its ports; NULL: unknown\n"
	"	shortest_s REAL, -- shortest period that the sweeps resolve; NULL: unknown\n"
	"	phase INTEGER NOT NULL, -- code job_phase\n"
	"	since_us INTEGER, -- begin of a stall or slowdown; NULL: neither\n"
	"	slower REAL, -- of a slowdown: 1.2 is 20 % slower; NULL: none\n"
	"	before_s REAL, -- period an hour earlier, or before the slowdown; NULL: unknown\n"
	"	CONSTRAINT job_rhythm_range CHECK (\n"
	"		wall_us BETWEEN 0 AND 253402300799999999 AND since_us BETWEEN 0 AND 253402300799999999 AND\n"
	"		kind BETWEEN 0 AND 255 AND phase BETWEEN 0 AND 255 AND periods >= 0 AND period_s > 0 AND\n"
	"		spread_s >= 0 AND wire_share BETWEEN 0 AND 1 AND bytes_per_s >= 0 AND shortest_s >= 0 AND\n"
	"		slower > 0 AND before_s > 0),\n"
	"	PRIMARY KEY (job, wall_us)\n"
	") WITHOUT ROWID;\n"
	"CREATE INDEX job_rhythm_by_time ON job_rhythm (wall_us);\n";
