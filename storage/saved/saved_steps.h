/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * saved_steps.h - the writer of snapshots: one short transaction after the other, beside a collector that writes, too
 *
 * Inside storage; saved.h is for others. What is done in the steps stands in saved_write.c.
 */
#ifndef IBWIRE_STORAGE_SAVED_STEPS_H
#define IBWIRE_STORAGE_SAVED_STEPS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

struct saved_writer {
	char *path;
	sqlite3 *db;
	int64_t step_us;    /* how long one is */
	bool open;          /* a transaction is */
	int64_t began_us;   /* it */
	int64_t free_us;    /* until then others are let in */
	int64_t longest_us;
};

/* saved_step_begin - wait until it is our turn, and begin a transaction. Return: 0 or a negative error. */
int saved_step_begin(struct saved_writer *writer, struct error *err);

/* saved_step_end - commit where all went well, else undo the step. Return: @result, or what the commit gave. */
int saved_step_end(struct saved_writer *writer, int result, struct error *err);

/* saved_step_pace - between two rows: another step where it is somebody else's turn. Return: 0 or a negative error. */
int saved_step_pace(struct saved_writer *writer, struct error *err);

#endif
