/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * changes.h - what changed before the shown time, in a few lines
 *
 * Events that belong together are one change: hosts that go and come one after
 * the other, links between switches, tables, counters that somebody cleared, what
 * was wrong and is well again. What is wrong now is not told here but by the findings.
 * Pure: no curses, no I/O.
 */
#ifndef IBWIRE_TUI_MODEL_CHANGES_H
#define IBWIRE_TUI_MODEL_CHANGES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct snapshot_context;

/* Events of one sort that are further apart are two changes. */
#define CHANGE_APART_US (10 * 60 * INT64_C(1000000))

struct change {
	int64_t first_us, last_us; /* wall clock of its oldest and newest event */
	size_t count;              /* events */
	char text[320];            /* one line, without the time */
	char brief[80];            /* the same in a few words */
};

struct changes {
	struct change *list; /* by its newest event, newest first */
	size_t count;
	int64_t since_us;    /* all after this is told; later than was asked for where too much happened */
};

/*
 * changes_make - changes of the time in (@since_us, @until_us], wall clock
 * @ret:  what was in it is freed; changes_done() frees it
 * Return: 0 or ERR_NOMEM: then it is empty.
 */
int changes_make(const struct snapshot_context *context, int64_t since_us, int64_t until_us, struct changes *ret,
		 struct error *err);
void changes_done(struct changes *changes);

#endif
