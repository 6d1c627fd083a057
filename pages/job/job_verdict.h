/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_verdict.h - shared by the verdicts of a job; private to pages/job/ */
#ifndef IBWIRE_PAGES_JOB_VERDICT_H
#define IBWIRE_PAGES_JOB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/names.h"
#include "pages/job_report.h"

struct error;

/* Lines of one verdict; the others are counted. */
enum { JUDGE_LINES_MOST = 3, JOB_LABEL_SIZE = NODE_NAME_SIZE + 8 };

struct judging {
	struct job_report *report;
	struct error *err;
	int code;
};

/* judge_line - add a line to the verdict; a failure is stored in @judging. */
void judge_line(struct judging *judging, enum job_verdict verdict, enum finding_severity severity,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* job_port_label - "mlx5_3 of node001". Return: @ret. */
const char *job_port_label(const struct job_report *report, const struct job_port *port, char ret[JOB_LABEL_SIZE]);

/* job_host_takes_part - is a host compared with others? */
bool job_host_takes_part(const struct job_report *report, const struct job_host *host);

/*
 * judge_rails, judge_routing, judge_slowest - add their lines (job_verdict_even.c)
 * Return of judge_routing: number of switches with skewed routing.
 */
void judge_rails(struct judging *judging);
size_t judge_routing(struct judging *judging);
void judge_slowest(struct judging *judging);

/*
 * job_host_is_uneven - do the rails of this host differ, and not those of all hosts?
 * job_hosts_are_uneven - do the hosts differ? Unused ports have lines of their own.
 */
bool job_host_is_uneven(const struct job_report *report, const struct job_host *host);
bool job_hosts_are_uneven(const struct job_report *report);

#endif
