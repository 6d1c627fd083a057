/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables_finding.c - the tables of findings and of what people say of them
 *
 * Who a finding is about, and from when to when, is a row of finding; what it said is
 * as many rows of finding_state as it had severities and causes, so that a time in the past shows what
 * was known then. Times are wall clocks: us since 1970 UTC.
 */
#include "storage/tables.h"

const char tables_finding[] =
	"CREATE TABLE finding ( -- what was wrong, from when to when (ibwire health)\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	kind TEXT NOT NULL, -- a word of ibwire-health(1)\n"
	"	node_guid INTEGER, -- printf('0x%016x', node_guid); NULL: the whole fabric\n"
	"	port INTEGER NOT NULL, -- its number; 0: the node itself\n"
	"	peer_guid INTEGER, -- the other end; NULL: none\n"
	"	peer_port INTEGER NOT NULL,\n"
	"	tag INTEGER NOT NULL, -- tells apart what has the same kind and place: the direction of a group\n"
	"	since_us INTEGER NOT NULL, -- when it began, as far as is known\n"
	"	opened_us INTEGER NOT NULL, -- wall clock of the sweep that found it\n"
	"	opened_sweep INTEGER NOT NULL, -- sweep.id\n"
	"	last_seen_us INTEGER NOT NULL, -- when it last held; while it is open a minute old at most\n"
	"	closed_us INTEGER, -- wall clock of the sweep that closed it; NULL: it is open\n"
	"	closed_sweep INTEGER -- sweep.id\n"
	");\n"
	"CREATE INDEX finding_by_end ON finding (closed_us);\n"
	"CREATE INDEX finding_by_time ON finding (opened_us);\n"
	"CREATE TABLE finding_state ( -- what it said, from a sweep on\n"
	"	finding INTEGER NOT NULL REFERENCES finding (id),\n"
	"	from_sweep INTEGER NOT NULL, -- sweep.id\n"
	"	wall_us INTEGER NOT NULL, -- wall clock of that sweep\n"
	"	severity INTEGER NOT NULL, -- code severity\n"
	"	subject TEXT NOT NULL, -- for people\n"
	"	cause TEXT NOT NULL, -- a word\n"
	"	text TEXT NOT NULL, -- one line: what is measured beside what is normal\n"
	"	advice TEXT NOT NULL, -- one line: what to do next\n"
	"	evidence TEXT NOT NULL, -- a JSON object of numbers, each key with its unit at the end\n"
	"	hosts TEXT NOT NULL, -- a JSON array of names: hosts that it touches, the first of them\n"
	"	hosts_touched INTEGER NOT NULL, -- all of them\n"
	"	PRIMARY KEY (finding, from_sweep)\n"
	") WITHOUT ROWID;\n"
	"CREATE TABLE acknowledgement ( -- somebody knows of a finding (ibwire health ack)\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	kind TEXT NOT NULL, -- as in finding, and so are the next three\n"
	"	node_guid INTEGER,\n"
	"	port INTEGER NOT NULL,\n"
	"	tag INTEGER NOT NULL,\n"
	"	at_us INTEGER NOT NULL, -- when it was said\n"
	"	until_us INTEGER, -- from then on it counts no more; NULL: until it is taken back\n"
	"	person TEXT NOT NULL, -- who said it: a login name\n"
	"	reason TEXT NOT NULL\n"
	");\n";
