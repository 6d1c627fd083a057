/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_notify.h - deliver changes of findings to a command or a webhook
 *
 * Each change is one JSON object, in order, one at a time, in a child process: the shell command of
 * --exec reads it from stdin; for --webhook the child posts it. No string of the fabric is part of a
 * command line or of the environment.
 *
 * Bounded: a delivery has NOTIFY_LIMIT_S, a change NOTIFY_ATTEMPTS deliveries with growing pauses,
 * the queue NOTIFY_QUEUE changes. What is dropped is reported on stderr.
 */
#ifndef IBWIRE_CLI_HEALTH_NOTIFY_H
#define IBWIRE_CLI_HEALTH_NOTIFY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "cli/lib/http_post.h"

struct clock;
struct error;
struct health_row;
struct moment;

enum { NOTIFY_LIMIT_S = 10, NOTIFY_ATTEMPTS = 5, NOTIFY_QUEUE = 256 };

/* A change that is to be delivered. */
struct notification {
	char *json;
	size_t len;
	int64_t id;                          /* of the finding */
	const char *change, *severity, *kind; /* constants */
};

/* One receiver. A zeroed struct has none, and ignores all calls. */
struct notify {
	const char *option;  /* "--exec" or "--webhook"; NULL: none */
	const char *command; /* of --exec (borrowed); NULL: webhook */
	struct text url;     /* of --webhook */
	struct http_receiver receiver;
	const struct clock *clock;
	struct notification queue[NOTIFY_QUEUE];
	size_t first, count;
	pid_t pid;           /* the running delivery of the first; 0: none */
	int64_t deadline_us, next_us; /* CLOCK_BOOTTIME: end of this delivery, start of the next one */
	unsigned attempts;   /* failed deliveries of the first */
};

/* notify_exec - deliver to a shell command (borrowed). */
void notify_exec(struct notify *notify, const char *command, const struct clock *clock);

/*
 * notify_webhook - deliver with HTTP POST
 * @url:  or @FILE with the URL, which is often a secret
 * Return: 0; ERR_USAGE for an invalid URL; ERR_IO; ERR_NOMEM.
 */
int notify_webhook(struct notify *notify, const char *url, const struct clock *clock, struct error *err);

/* notify_add - queue a change. @change: a constant */
void notify_add(struct notify *notify, const struct moment *moment, int64_t wall_us, const char *change,
		const struct health_row *row);

/* notify_step - end and start deliveries; does not block. */
void notify_step(struct notify *notify);

/* notify_close - deliver the rest for at most NOTIFY_LIMIT_S, and free it. */
void notify_close(struct notify *notify);

#endif
