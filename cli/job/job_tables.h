/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_tables.h - the sections of a report, as tables, JSON or CSV; private to cli/job/ */
#ifndef IBWIRE_CLI_JOB_TABLES_H
#define IBWIRE_CLI_JOB_TABLES_H

#include <stdio.h>

#include "cli/job/job_report.h"

/* Width of text that is not for a terminal, in columns. */
enum { JOB_WIDTH = 100 };

/* Where a report is written. */
struct job_output {
	const struct job_report *report;
	struct job_print print;
	FILE *stream;
	bool begun; /* JSON: an object is open */
};

/*
 * The sections. A table is left out if it has no rows; without print.all it has those that stand out, and a
 * line with the number of the others. JSON has all of them. job_put_ports(): also the rows of CSV.
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int job_put_rails(struct job_output *output, struct error *err);
int job_put_hosts(struct job_output *output, struct error *err);
int job_put_ports(struct job_output *output, struct error *err);
int job_put_groups(struct job_output *output, struct error *err);
int job_put_uplinks(struct job_output *output, struct error *err);
int job_put_findings(struct job_output *output, struct error *err);
int job_put_events(struct job_output *output, struct error *err);
int job_put_series(struct job_output *output, struct error *err);
int job_put_map(struct job_output *output, struct error *err);

/* job_put_nccl - what NCCL logged, in JSON; nothing without --nccl. */
int job_put_nccl(struct job_output *output, struct error *err);

/* job_section - begin a section: an empty line in text, its key in JSON. */
struct result *job_section(struct job_output *output, const char *key, bool record, const struct column *columns,
			   size_t count);

/* job_shown - text that a user typed, with unsafe bytes as "\xHH"; cut to @size bytes. Return: @ret. */
const char *job_shown(const char *typed, char *ret, size_t size);

#endif
