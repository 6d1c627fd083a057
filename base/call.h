/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * call.h - run a command of this program in a thread, and collect its output
 *
 * Non-blocking: start, poll, destroy. If a call is destroyed before its end, its stop flag is set; its
 * thread then ends by itself and frees the call, so that no caller waits for it.
 */
#ifndef IBWIRE_BASE_CALL_H
#define IBWIRE_BASE_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

struct call;

/* What a command gets in place of stdout and its terminal. */
struct call_context {
	FILE *out;               /* NULL: the command is not in a thread; it writes to stdout */
	unsigned columns;        /* width of plots and wrapped text; 0: the default of the command */
	size_t most;             /* bytes: a command may end with an error when it has more output; 0: no limit */
	const atomic_bool *stop; /* NULL, or: queries of the database fail once it is set */
	void **value;            /* NULL, or: a command may leave a value instead of output */
	void *ctx;               /* of struct call_settings */
};

/*
 * The command. @argv: argv[0] is its name; may be reordered
 * Return: its exit status, or an error.
 */
typedef int call_fn(const struct call_context *context, int argc, char **argv, struct error *err);

struct call_settings {
	unsigned columns; /* of struct call_context */
	void *ctx;        /* for the function; may be used after call_destroy() if the call has not ended */
	bool is_urgent;   /* it runs at the priority of the process; else at a lower one */
	size_t most;      /* output beyond these bytes is dropped */
	bool truncate;    /* the command does not know this limit and goes on; else it may end with an error */
	int file;         /* for the output, from its beginning; duplicated; -1: in memory */
	void (*free_value)(void *value); /* NULL: only output; else a command may leave a value, which this frees */
};

struct call_result {
	int code;             /* negative: an error of @err; else the exit status */
	struct error err;
	struct text warnings; /* lines that the command logged */
	struct text output;   /* in memory */
	size_t size;          /* of the output in bytes, as far as it was stored */
	bool cut;             /* output was dropped */
	void *value;          /* that the command left instead of output; NULL: none */
};

/*
 * call_start - run a function in a thread
 * @run:   NULL: disabled
 * @argv:  copied; NULL-terminated
 * Return: 0; ERR_UNAVAILABLE without a function; ERR_NOMEM.
 */
int call_start(call_fn *run, const char *const *argv, const struct call_settings *settings, struct call **ret,
	       struct error *err);

/* call_result - the result, once the call has ended (borrowed from it); else NULL. */
const struct call_result *call_result(const struct call *call);

/* call_take_value - the value that an ended call left, now of the caller; NULL: none. */
void *call_take_value(struct call *call);

/* call_descriptor - becomes readable at the end of the call. */
int call_descriptor(const struct call *call);

/* call_stop - let it end soon, with an error. */
void call_stop(struct call *call);

/* call_wait - wait for its end, at most @wait_ms. Return: has it ended? */
bool call_wait(const struct call *call, int wait_ms);

/* call_destroy - stop it if it has not ended, and free it, now or at its end. NULL: nothing. */
void call_destroy(struct call *call);

#endif
