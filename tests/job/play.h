/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * play.h - databases of jobs with known traffic and faults, and what `ibwire job report` shows of them
 *
 * A scenario runs in virtual time, its sweeps are stored by a writer, and jobs begin and end after given
 * sweeps. All functions use cmocka's assertions.
 */
#ifndef IBWIRE_TESTS_JOB_PLAY_H
#define IBWIRE_TESTS_JOB_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* 8 hosts with 8 HCAs, 16 leaves, 4 spines; a sweep each 10 s. Jobs run from the 12th to the 60th sweep. */
#define FABRIC "shape rail units=2 hosts=4 rails=8 spines=4\nlength 11m\n"
#define TRAIN "job main alltoall fan=7 load=0.5\n"
enum { BEGIN = 12, END = 60, JOBS_MOST = 4 };

struct planned {
	const char *id, *hosts;   /* hosts NULL: all */
	int begin, end;           /* sweeps; end 0: it runs */
	bool snapshots, end_lost; /* end_lost: without the second one */
	int64_t step_us;          /* of the wall clock during the job, as the host of the job sees it */
	const char *name;
};

/* Of the next call of play_with(), which resets them. */
extern struct play_settings {
	bool no_history;             /* only snapshots are stored */
	bool detects;                /* the collector finds jobs in the traffic */
	bool reboots;                /* the host of the jobs, before their end */
	int fails_from, fails_until; /* sweeps that cannot be stored */
} play_settings;

/* play_with - run a scenario (docs/scenarios.md) in which jobs begin and end; commands use its database. */
void play_with(const char *text, const struct planned *jobs, size_t count);

/*
 * assert_both - run a scenario with two jobs of the same hosts and times: "s" has snapshots, "h" only the
 * history. Both reports have this verdict and a sentence with this part.
 */
void assert_both(const char *text, const char *verdict, const char *sentence);

/* report_of - the report of a job in JSON. */
json_t *report_of(const char *id);

/* assert_verdict - the verdict of a report, and a part of its sentence. */
void assert_verdict(const json_t *report, const char *verdict, const char *text);

/* assert_exact - bytes of the 64 HCA ports in a report are the differences of the readings. */
void assert_exact(const json_t *report);

/* row_of - the row of a section whose cell @key is @text. number_of - a number of it; NAN: null. */
const json_t *row_of(const json_t *report, const char *section, const char *key, const char *text);
double number_of(const json_t *row, const char *key);
bool is_text(const json_t *row, const char *key, const char *text);

/* print_text - show a report, if $JOB_REPORT_SHOW is set. */
void print_text(const char *id);

/* keep_page - write a report to job-PROGRAM-N.html in $JOB_PAGES, for export/html_page_test.py. */
void keep_page(const char *id);

#endif
