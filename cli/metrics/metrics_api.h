/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_api.h - the command line of a request: /api/NAME?OPTION=VALUE is `ibwire NAME --OPTION=VALUE`
 *
 * Only the commands and options of a list are allowed. None of them writes, changes the database, reads a
 * file, sends a MAD or waits. Each value is a single argument; no shell is involved.
 */
#ifndef IBWIRE_CLI_METRICS_API_H
#define IBWIRE_CLI_METRICS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/call.h"
#include "base/text.h"

struct error;

enum { METRICS_API_ARGS = 48, METRICS_API_VALUE = 256 };

/* How commands are run, and options of all of them. */
struct metrics_api_config {
	call_fn *run;       /* command_call() */
	int64_t limit_us;   /* of a command; then the response is an error */
	const char *db;     /* path */
	const char *names;  /* --node-name-map; NULL: the default */
};

/* A key or value of the query; the value of a flag may be NULL. */
struct metrics_api_pair {
	const char *key, *value;
};

/* What a request is for. The newest results of all but commands are kept, and shared by equal requests. */
enum metrics_kind { METRICS_COMMAND, METRICS_FABRIC_PAGE, METRICS_TEXT, METRICS_KINDS };

struct metrics_api_call {
	struct text arguments; /* from the name of the command on; each ends with NUL */
	char *argv[METRICS_API_ARGS + 1]; /* in @arguments; ends with NULL */
	size_t argc;
	bool html; /* the output is a page, not JSON */
	bool openmetrics, gzip; /* of the metrics */
	enum metrics_kind kind;
};

/*
 * metrics_api_parse - translate a request into a command line
 * @path:  of the URL
 * Return: 0; ERR_UNAVAILABLE: no such path; ERR_USAGE: an unknown option, or an invalid value; ERR_NOMEM.
 */
int metrics_api_parse(const char *path, const struct metrics_api_pair *pairs, size_t count,
		      const struct metrics_api_config *config, struct metrics_api_call *ret, struct error *err);
void metrics_api_done(struct metrics_api_call *call);

/*
 * metrics_api_weight - how much a client wants a type or an encoding
 * @list:  of a header as Accept: "a/b;version=1;q=0.5, c/d"; NULL: none
 * @word:  without parameters; of several elements with it, the first counts
 * Return: 0 (refused, or not listed) to 1. Source: RFC 9110, 12.4.2.
 */
double metrics_api_weight(const char *list, const char *word);

#endif
