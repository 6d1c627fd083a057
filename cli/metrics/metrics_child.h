/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_child.h - run a command of ibwire in a process of its own, for a request over HTTP
 *
 * The output goes to an unlinked file. Time and output are limited. The process inherits no
 * descriptor of the server, and ends with it.
 */
#ifndef IBWIRE_CLI_METRICS_CHILD_H
#define IBWIRE_CLI_METRICS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum { METRICS_CHILD_SECONDS = 20, METRICS_CHILD_MB = 64 };

struct metrics_child {
	pid_t pid;        /* 0: it has ended, or was not started */
	int output;       /* file; -1: none. The caller may take it */
	int messages;     /* pipe from its stderr; -1: closed */
	int64_t deadline_us; /* boot time */
	bool expired;
	unsigned status;  /* of HTTP, once it has ended */
	uint64_t size;    /* of the output in bytes, once it has ended */
	char line[256];   /* first line of stderr without the program's name; or the reason of a failure */
};

/*
 * metrics_child_start - start /proc/self/exe
 * @argv:   argv[0] is the name of the program
 * @now_us: boot time
 *
 * Return: 0; ERR_UNAVAILABLE: no process or no file can be made.
 */
int metrics_child_start(struct metrics_child *child, char *const argv[], int64_t now_us, struct error *err);

/*
 * metrics_child_poll - read its messages, and kill it after METRICS_CHILD_SECONDS
 * Exit statuses become 200 (also of health, 1 and 2), 400 (usage), 503 (no database, collector or data), 500, and
 * 504 after METRICS_CHILD_SECONDS.
 * Return: is it running? Its descriptor .messages becomes readable when it ends.
 */
bool metrics_child_poll(struct metrics_child *child, int64_t now_us);

/* metrics_child_done - kill it if it is running, and close its files. */
void metrics_child_done(struct metrics_child *child);

#endif
