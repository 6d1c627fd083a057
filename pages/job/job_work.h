/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_work.h - the steps of job_report_compute(); private to pages/job/ */
#ifndef IBWIRE_PAGES_JOB_WORK_H
#define IBWIRE_PAGES_JOB_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "pages/job_report.h"
#include "storage/history.h"

struct pma_caps;
struct saved;
struct snapshot;

/* A port below this load carries no data of a job: background traffic of management and polling. */
#define JOB_IDLE_BYTES_PER_S 100e3

/* Members that differ by more than this share from the mean are uneven. */
#define JOB_UNEVEN 0.20

/* Load of a port in a step of the history, and in the parts of the job. */
struct job_load {
	double elapsed_us, xmit, rcv; /* bytes */
	bool unknown;
};

struct job_work {
	struct reader *reader;
	const struct job_report_settings *settings;
	struct balance_settings balance;
	struct job_report *report;
	struct snapshot *snapshot;     /* the collector's fabric; NULL: none */
	struct saved *saved[2];        /* snapshots of begin and end; NULL: none */
	const struct pma_caps *caps;   /* by node; NULL: unknown */
	struct history_range range;    /* the sweeps of the job */
	struct history_damage damage;
	struct delta *deltas;          /* by port: over the job; elapsed_us 0: unknown */
	int64_t longest_us;            /* of them, from the history */
	uint32_t *port_of;             /* by port: index into the report's ports, or FABRIC_NONE */
	bool *on_job;                  /* by port: an end of a link that the job uses */
	bool *leaf;                    /* by node: a leaf with hosts of the job */
	bool hca_left;                 /* an HCA of the begin is not in the fabric of the end */
	bool *above;                   /* by node: that, or a switch above one */
	struct job_load *step;         /* by port */
	struct job_load *parts[JOB_PARTS]; /* by port */
};

/*
 * job_alloc - zeroed memory with the lifetime of the report; NULL: no memory
 * job_text - formatted text, the same
 * job_report_forget - free them
 * job_note - add a note, a sentence without full stop
 */
void *job_alloc(struct job_report *report, size_t count, size_t size);
void job_report_forget(struct job_report *report);
char *job_text(struct job_report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int job_note(struct job_report *report, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * job_grow - append an element to an array of the report
 * @array:  address of the pointer to its @count elements of @size bytes
 * Return: the new element, zeroed; NULL: no memory.
 */
void *job_grow(struct job_report *report, void *array, size_t *count, size_t size);

/* job_evenness_of - distribution of @count values; NAN are unknown members. @ret: indexes into @values */
void job_evenness_of(const double *values, size_t count, struct job_evenness *ret);

/*
 * job_add_known - add to a sum, as facts_sum()
 * job_bytes - sent and received; NAN: unknown
 * job_is_cut - are there no counters of a part of the job: the port was not read, or its history has expired or began
 *              later?
 * job_mean, job_peak - bytes per second of the busier direction
 * job_is_exact - is the traffic of all its ports exactly known?
 */
void job_add_known(double *sum, double more);
double job_bytes(const struct job_sum *sum);
bool job_is_cut(const struct job_work *work, const struct delta *delta);
struct measure job_mean(const struct job_sum *sum);
struct measure job_peak(const struct job_sum *sum);
bool job_is_exact(const struct job_sum *sum);

/*
 * job_host_stands_out - is a host worth a row, by the criteria of the verdict?
 * Return: 2: it is slower, unlike the others, or has an unused port; 1: it has errors or uneven rails; 0.
 */
unsigned job_host_stands_out(const struct job_report *report, size_t index);

/* job_became_uneven - even in the first part, uneven in the second. */
bool job_became_uneven(const struct job_group *group);

/* job_sort_uplinks - groups of uplinks, worst first. */
void job_sort_uplinks(struct job_report *report);

/* The steps, in this order. Each returns 0, ERR_IO or ERR_NOMEM. */
int job_read_counters(struct job_work *work, struct error *err); /* job_counters.c: fabric, deltas */
int job_find_members(struct job_work *work, struct error *err);  /* job_members.c: hosts, rails, ports, their sums */
int job_find_uplinks(struct job_work *work, struct error *err);  /* job_uplinks.c: groups, their ports */
int job_read_rates(struct job_work *work, struct error *err);    /* job_rates.c: peaks, series, parts */
int job_judge_uplinks(struct job_work *work, struct error *err); /* job_uplinks.c: shares, causes, map */
int job_read_findings(struct job_work *work, struct error *err); /* job_findings.c */
int job_read_levels(struct job_work *work, struct error *err);   /* job_levels.c: data by service level */
int job_read_rhythm(struct job_work *work, struct error *err);   /* job_rhythm.c */
int job_judge(struct job_report *report, struct error *err);     /* job_verdict.c */

#endif
