/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health.h - shared by the files of `ibwire health` */
#ifndef IBWIRE_CLI_HEALTH_H
#define IBWIRE_CLI_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/lib/options.h"
#include "facts/health_rows.h"
#include "pages/health.h"

struct columns;
struct command;
struct error;
struct result;
struct moment;

/* The query of a command. */
struct health_request {
	struct health_filter filter;
	const struct options *options;
	const char *exec, *webhook; /* --watch: receivers of changes; NULL: none */
	/*
	 * --watch: called at the begin and every 500 ms; it may write to @result, which is NULL for lines of text.
	 * Return: 0; 1: the watch ends; or an error. NULL: the watch does not end.
	 */
	int (*poll)(void *ctx, const struct moment *moment, struct result *result, struct error *err);
	void *poll_ctx;
};

/* health_print - print findings in the format of --format. */
int health_print(const struct moment *moment, const struct health_request *request, const struct health_rows *rows,
		 struct error *err);

/*
 * health_choose_columns - the columns of --columns, in the order of --sort. Return: as columns_create().
 * health_print_columns - print findings as a table of these columns in the format of --format
 */
int health_choose_columns(const struct command *command, const struct options *options, const char *chosen,
			  const char *sort, struct columns *ret, struct error *err);
int health_print_columns(const struct moment *moment, const struct health_request *request,
			 const struct health_rows *rows, const struct columns *shown, struct error *err);

/*
 * health_result - rows of findings as JSON or CSV
 * @watch:  rows are written one by one, with the additional column "change"
 * health_put_row - add a row. @change: with @watch, else NULL
 */
struct result *health_result(const struct options *options, bool watch);
void health_put_row(struct result *result, const struct moment *moment, int64_t time_us, const char *change,
		    const struct health_row *health);

/*
 * health_explain - description, thresholds, rationale and action of a finding kind
 * @kind:  NULL: one line per kind; JSON and CSV have full rows in both cases
 */
int health_explain(const char *kind, const struct options *options, struct error *err);

/*
 * health_put_note - add a row of @watch that is about no finding: only its time, change, subject and text are set
 */
void health_put_note(struct result *result, int64_t time_us, const char *change, const char *subject,
		     const char *text);

/*
 * health_watch - print a line when a finding opens, changes or closes, until interrupted or the poll function ends it
 * Return: 0: interrupted; 1: ended by the poll function; or an error.
 */
int health_watch(const struct health_request *request, struct error *err);

/* health_gate - exit status 0 if the links of the hosts were clean for @span_us, else 2. */
int health_gate(const struct health_request *request, int64_t span_us, struct error *err);

/* health_acknowledge - `ack ID ... --reason TEXT [--for SPAN]`; @back: unack. */
int health_acknowledge(const struct options *options, const char *reason, int64_t for_us, bool back,
		       struct error *err);

#endif
