/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_list.h - running and past jobs, for the Jobs screen and the line on Overview */
#ifndef IBWIRE_TUI_MODEL_JOB_LIST_H
#define IBWIRE_TUI_MODEL_JOB_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/jobs.h"

struct live;
struct shape;

struct job_row {
	struct job job;       /* hosts and command are owned */
	size_t hosts;         /* number of hosts in its list; 0: all of the fabric */
	double bytes;         /* sent and received by its hosts, from the sweeps; NAN: unknown */
	int64_t read_boot_us; /* when bytes were read; 0: not yet */
};

/* A zeroed struct is empty. */
struct job_list {
	struct job_row *rows; /* oldest first */
	size_t count, capacity;
	int64_t loaded_boot_us; /* 0: never */
	int64_t at_us;          /* wall clock of the shown past time, whose rhythms were read; 0: now */
	int64_t took_us;        /* duration of that */
	char problem[512];      /* database error, "" for none */
};

/* job_list_load - read the jobs, at most every few seconds. job_list_done - free them. */
void job_list_load(struct job_list *list, const struct live *live);
void job_list_done(struct job_list *list);

/*
 * job_list_read_bytes - read the bytes of one job from the sweeps, unless they are known
 * Of a running job they are read again after a while.
 * @shape:  of live->shown
 * Return: whether the database was read; then the next job should wait for the next frame.
 */
bool job_list_read_bytes(struct job_row *row, const struct live *live, const struct shape *shape);

/*
 * job_list_line - jobs that run at a time: "4711 train-70b 64 hosts 3h05m, 4712 8 hosts 2m10s"
 * Return: their number.
 */
size_t job_list_line(const struct job_list *list, int64_t now_us, char *ret, size_t size);

#endif
