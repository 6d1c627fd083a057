/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_html.h - the report of a job as a page of HTML */
#ifndef IBWIRE_CLI_JOB_HTML_H
#define IBWIRE_CLI_JOB_HTML_H

#include <stdio.h>

struct error;
struct job_report;
struct text;

/*
 * job_report_html - write the report as a page of HTML in one file (export/html.h)
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int job_report_html(const struct job_report *report, FILE *stream, struct error *err);

/* Sections of the page, in job_html_links.c: uplinks, findings and events, what NCCL logged. */
void job_html_nccl(const struct job_report *report, struct text *page);
void job_html_uplinks(const struct job_report *report, struct text *page);
void job_html_findings(const struct job_report *report, struct text *page);

#endif
