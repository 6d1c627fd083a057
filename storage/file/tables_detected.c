/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tables_detected.c - the table of jobs that were found in the traffic of hosts */
#include "storage/file/tables.h"

const char tables_job_detected[] =
	"CREATE TABLE job_detected ( -- jobs that no batch system has begun: found in the traffic of their hosts\n"
	"	job INTEGER PRIMARY KEY REFERENCES job (number),\n"
	"	confidence REAL NOT NULL, -- 0 to 1\n"
	"	CONSTRAINT job_detected_range CHECK (job > 0 AND confidence BETWEEN 0 AND 1)\n"
	");\n";
