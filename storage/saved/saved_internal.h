/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_internal.h - the writer of snapshots and jobs, and its short transactions */
#ifndef IBWIRE_STORAGE_SAVED_INTERNAL_H
#define IBWIRE_STORAGE_SAVED_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;
struct fabric;

/* saved_copy_text - a column of text as text_sanitise() returns it; NULL as "". */
void saved_copy_text(char *to, size_t size, sqlite3_stmt *row, int column);

/*
 * Of a row j of the table job: struct job, display_id. The subquery is evaluated once for a statement; the limit bounds
 * what it reads, as there is no index of clusters.
 */
#define JOB_DISPLAY_ID \
	"CASE WHEN j.cluster NOT NULL AND (SELECT min(cluster) <> max(cluster) FROM" \
	" (SELECT cluster FROM job ORDER BY number DESC LIMIT 1000))" \
	" THEN j.id || '@' || j.cluster ELSE j.id END"

struct saved_writer {
	char *path;
	sqlite3 *db;
	int64_t step_us;    /* duration of a step */
	bool open;          /* a transaction is open */
	int64_t began_us;   /* its start */
	int64_t free_us;    /* end of the pause after the last one */
	int64_t longest_us;
};

/* saved_begin_step - wait for the end of the pause and begin a transaction. Return: 0 or a negative error. */
int saved_begin_step(struct saved_writer *writer, struct error *err);

/*
 * saved_end_step - commit if @result is not negative, else roll back the step
 * Return: @result, or the error of the commit.
 */
int saved_end_step(struct saved_writer *writer, int result, struct error *err);

/* saved_pace - between two rows of a step: start another one if it is long enough. Return: 0 or a negative error. */
int saved_pace(struct saved_writer *writer, struct error *err);

/*
 * saved_write_firmware - within a step, store the known firmware of the nodes of a snapshot with it
 * saved_load_firmware - set it in a fabric whose nodes have the numbers of the snapshot
 */
int saved_write_firmware(struct saved_writer *writer, int64_t snapshot, struct error *err);
int saved_load_firmware(sqlite3 *db, int64_t snapshot, struct fabric *fabric, struct error *err);

/* saved_remove_name - remove a snapshot if it exists, within a step; more steps may follow. */
int saved_remove_name(struct saved_writer *writer, const char *name, struct error *err);

#endif
