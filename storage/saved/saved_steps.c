/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/saved/saved_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/lock.h"
#include "storage/saved.h"
#include "storage/file/schema.h"

/*
 * The database is locked for about a twentieth of the collector's interval (and a commit) within these bounds, and
 * then free for as long as it was locked, and at least for PAUSE_US. SQLite's busy handler looks again after 1, 3, 8,
 * 18, 33 and 53 ms: so a collector that comes while a step runs finds the database free when it looks next, and has
 * waited for no longer than a tenth of its interval. A snapshot of 4,000 ports is written in one step of a collector
 * that sweeps each second.
 */
#define STEP_LEAST_US (5 * US_PER_MS)
#define STEP_MOST_US (40 * US_PER_MS)
#define STEPS_AN_INTERVAL 20
#define PAUSE_US (10 * US_PER_MS)

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

int saved_step_begin(struct saved_writer *writer, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t pid;
	int result;

	if (now_us() < writer->free_us && lock_held(writer->path, &pid))
		clock->sleep_until(clock->ctx, writer->free_us);
	result = db_exec(writer->db, "BEGIN IMMEDIATE", err);
	writer->open = !result;
	writer->began_us = now_us();
	return result;
}

int saved_step_end(struct saved_writer *writer, int result, struct error *err)
{
	int64_t held_us, ended_us;

	if (!writer->open)
		return result;
	if (!result)
		result = db_exec(writer->db, "COMMIT", err);
	if (result < 0 && !sqlite3_get_autocommit(writer->db))
		sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
	writer->open = false;
	ended_us = now_us();
	held_us = ended_us - writer->began_us;
	writer->free_us = ended_us + (held_us > PAUSE_US ? held_us : PAUSE_US);
	if (held_us > writer->longest_us)
		writer->longest_us = held_us;
	return result;
}

int saved_step_pace(struct saved_writer *writer, struct error *err)
{
	int result;

	if (now_us() - writer->began_us < writer->step_us)
		return 0;
	result = saved_step_end(writer, 0, err);
	return result < 0 ? result : saved_step_begin(writer, err);
}

/* Create the file, unless a collector is doing so. */
static int create_file(const char *path, struct error *err)
{
	struct error cause = { 0 };
	struct db_lock lock;
	int result = lock_take(path, &lock, &cause);

	if (result == ERR_UNAVAILABLE)
		return err_set(err, ERR_UNAVAILABLE, "a collector is creating %s; try again in a moment", path);
	if (result < 0)
		return err_set(err, result, "%s", cause.text);
	result = schema_create(path, err);
	lock_release(&lock);
	return result;
}

/* Where only single sweeps were stored nobody comes at his time. */
static int choose_step(struct saved_writer *writer, struct error *err)
{
	int64_t interval_us = 0, step_us;
	int result = db_integer(writer->db, "SELECT interval_us FROM sweep ORDER BY id DESC LIMIT 1", 0, &interval_us,
				err);

	step_us = interval_us / STEPS_AN_INTERVAL;
	writer->step_us = interval_us <= 0 || step_us > STEP_MOST_US ? STEP_MOST_US
			: step_us < STEP_LEAST_US ? STEP_LEAST_US : step_us;
	return result;
}

int saved_writer_open(const char *path, struct saved_writer **ret, struct error *err)
{
	struct saved_writer *writer = calloc(1, sizeof(*writer));
	bool there = false;
	int result;

	if (!writer)
		return err_nomem(err);
	writer->path = strdup(path);
	result = writer->path ? schema_check(path, &there, err) : err_nomem(err);
	if (!result && !there)
		result = create_file(path, err);
	if (!result)
		result = schema_open_writer(path, &writer->db, err);
	/* The collector empties the log, or the last one who closes it does: not in the middle of a step. */
	if (!result)
		result = db_exec(writer->db, "PRAGMA wal_autocheckpoint = 0", err);
	if (!result)
		result = choose_step(writer, err);
	if (result < 0) {
		saved_writer_close(writer);
		return result;
	}
	*ret = writer;
	return 0;
}

void saved_writer_close(struct saved_writer *writer)
{
	if (!writer)
		return;
	sqlite3_close(writer->db);
	free(writer->path);
	free(writer);
}

int64_t saved_longest_us(const struct saved_writer *writer)
{
	return writer->longest_us;
}
