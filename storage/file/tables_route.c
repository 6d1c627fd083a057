/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tables_route.c - the table of forwarding tables, as people see it in the database too */
#include "storage/file/tables.h"

/*
 * Blocks as an SMP reads them: a routing engine that moves a host changes one of them in each switch. What still
 * holds is found by the index, which has no more rows than the switches have blocks.
 */
const char tables_route[] =
	"CREATE TABLE route_version ( -- 64 entries of a switch's forwarding table, and when they were so\n"
	"	from_sweep INTEGER NOT NULL,\n"
	"	node INTEGER NOT NULL REFERENCES node (id),\n"
	"	block INTEGER NOT NULL, -- LIDs 64 * block to 64 * block + 63\n"
	"	to_sweep INTEGER,\n"
	"	ports BLOB NOT NULL, -- a byte for each LID: number of the port by which it leaves; 255: none\n"
	"	CONSTRAINT route_version_range CHECK (\n"
	"		from_sweep BETWEEN 1 AND 1099511627776 AND to_sweep BETWEEN 1 AND 1099511627776 AND\n"
	"		node BETWEEN 1 AND 2097151 AND block BETWEEN 0 AND 767 AND length(ports) = 64),\n"
	"	PRIMARY KEY (from_sweep, node, block)\n"
	") WITHOUT ROWID, STRICT;\n"
	"CREATE INDEX route_version_now ON route_version (node, block) WHERE to_sweep IS NULL;\n";
