/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/live.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"

/* Interval of checking whether a collector holds the database, and of reopening it after a failure. */
#define STATUS_EVERY_US (1 * US_PER_S)
#define OPEN_EVERY_US (US_PER_S / 2)

/* Minimum pause between loads, as a multiple of the load time. */
#define LOAD_SHARE 8

/* A noticeable delay; before the first load it is estimated from the number of ports. */
#define SLOW_US (100 * US_PER_MS)
#define SLOW_PORTS 16384

/* Interval assumed for single sweeps, for LIVE_LATE. */
#define SINGLE_SWEEP_INTERVAL_US (10 * US_PER_S)

/* Missed sweeps are summed up to this age; beyond it the error sums restart. */
#define CATCH_UP_US (300 * US_PER_S)

void live_init(struct live *live, const char *path, const struct name_map *names, const struct clock *clock,
	       int64_t refresh_us)
{
	memset(live, 0, sizeof(*live));
	live->path = path;
	live->names = names;
	live->clock = clock;
	live->refresh_us = refresh_us;
	live->status_read_us = live->tried_open_us = INT64_MIN / 2;
}

static void close_reader(struct live *live)
{
	reader_close(live->reader);
	live->reader = NULL;
	live->status.live = false;
	live->status.collector_pid = 0;
	live->status_read_us = INT64_MIN / 2;
}

void live_done(struct live *live)
{
	close_reader(live);
	snapshot_destroy(live->shown);
	error_sums_done(&live->errors);
}

static void set_problem(struct live *live, const char *text)
{
	snprintf(live->problem, sizeof(live->problem), "%s", text);
}

/* Close the reader if the path is another file now; a deleted database would still be readable. */
static void check_file(struct live *live)
{
	struct stat st;

	if (!live->reader)
		return;
	if (stat(live->path, &st) == 0 && st.st_dev == live->device && st.st_ino == live->inode)
		return;
	close_reader(live);
	/* Sweep ids of another file are unrelated. */
	live->loaded_id = 0;
	live->loaded_wall_us = 0;
}

static void open_reader(struct live *live, int64_t now_us)
{
	struct error err = { 0 };
	struct stat st;

	if (live->reader || now_us - live->tried_open_us < OPEN_EVERY_US)
		return;
	live->tried_open_us = now_us;
	if (stat(live->path, &st) < 0) {
		/* Before the first sweep there is no file. */
		if (live->shown)
			snprintf(live->problem, sizeof(live->problem), "the database was removed: %.200s", live->path);
		return;
	}
	if (reader_open(live->path, &live->reader, &err) < 0) {
		live->reader = NULL;
		/* Not an error while the file is being created. */
		if (live->shown || err.code != ERR_UNAVAILABLE)
			set_problem(live, err.text);
		return;
	}
	live->device = st.st_dev;
	live->inode = st.st_ino;
	set_problem(live, "");
}

/* The requested sweep, with all deltas since the baseline or the last loaded sweep. */
static int load(struct live *live, struct snapshot **ret, struct error *err)
{
	struct snapshot_query query = { .at_us = live->at_us, .names = live->names };
	int64_t newest_us = live->status.last.wall_us, gap_us = newest_us - live->loaded_wall_us;
	int64_t until_us = live->at_us ? live->at_us : newest_us;

	if (live->baseline_us && until_us > live->baseline_us) {
		query.at_us = until_us;
		query.window_us = until_us - live->baseline_us;
	} else if (!live->at_us && live->loaded_wall_us && gap_us > 0) {
		/*
		 * Errors of each sweep are counted once, including sweeps that were not displayed.
		 * If the wall clock was set back, only the newest sweep counts.
		 */
		if (gap_us > CATCH_UP_US) {
			error_sums_done(&live->errors);
		} else {
			query.at_us = newest_us;
			query.window_us = gap_us;
		}
	}
	return snapshot_load(live->reader, &query, ret, err);
}

static int show_snapshot(struct live *live, struct snapshot *snapshot, struct error *err)
{
	int64_t end_us = snapshot->sweep.wall_us + snapshot->sweep.duration_us;
	int status;

	/* Sums are continuous only while following the newest sweeps. */
	if (live->at_us || live->baseline_us)
		error_sums_done(&live->errors);
	status = error_sums_add(&live->errors, snapshot, err);
	if (status < 0) {
		snapshot_destroy(snapshot);
		return status;
	}
	if (live->baseline_us)
		live->errors.since_us = live->baseline_us;
	live->loaded_id = snapshot->sweep.id;
	live->loaded_wall_us = live->at_us ? 0 : snapshot->sweep.wall_us;
	live->age_at_load_us = when_age_us(clock_wall_us(live->clock), end_us);
	live->ahead_us = live->age_at_load_us < 0 ? end_us - clock_wall_us(live->clock) : 0;
	if (live->age_at_load_us < 0)
		live->age_at_load_us = 0;
	snapshot_destroy(live->shown);
	live->shown = snapshot;
	live->stale = false;
	live->shown_at_us = live->at_us;
	return 0;
}

/* Collector status from the database, read at intervals and before each load. */
static bool read_status(struct live *live, int64_t now_us, bool at_once, struct error *err)
{
	if (!at_once && now_us - live->status_read_us < STATUS_EVERY_US)
		return true;
	live->status_read_us = now_us;
	return reader_status(live->reader, &live->status, err) == 0;
}

/* Whether another sweep has to be shown. */
static bool wants_load(const struct live *live, int64_t newest, int64_t now_us)
{
	int64_t since_us = now_us - live->loaded_boot_us;

	if (!newest)
		return false;
	if (!live->shown || live->stale)
		return true;
	/* Slow loads are less frequent, to bound the CPU time. */
	return !live->at_us && newest != live->loaded_id && since_us >= live->refresh_us &&
	       since_us >= LOAD_SHARE * live->load_us;
}

/* A time before the first sweep: what is shown stays, live or not. */
static void refuse(struct live *live, const struct error *why)
{
	snprintf(live->refused, sizeof(live->refused), "%s", why->text);
	live->at_us = live->shown_at_us;
	live->stale = false;
}

int live_poll(struct live *live, bool *ret_changed, struct error *err)
{
	int64_t now_us = clock_boottime_us(live->clock), newest = 0;
	struct error trouble = { 0 };
	struct snapshot *snapshot = NULL;
	bool wanted;
	int status;

	*ret_changed = false;
	check_file(live);
	open_reader(live, now_us);
	if (!live->reader)
		return 0;
	if (reader_newest(live->reader, &newest, &trouble) < 0)
		goto trouble;
	wanted = wants_load(live, newest, now_us);
	if (!read_status(live, now_us, wanted, &trouble))
		goto trouble;
	if (wanted && load(live, &snapshot, &trouble) < 0) {
		if (trouble.code != ERR_UNAVAILABLE || !live->at_us || !live->shown)
			goto trouble;
		refuse(live, &trouble);
		wanted = false;
	}
	set_problem(live, "");
	if (!wanted)
		return 0;
	live->loaded_boot_us = clock_boottime_us(live->clock);
	live->load_us = live->loaded_boot_us - now_us;
	status = show_snapshot(live, snapshot, err);
	*ret_changed = status == 0;
	return status;
trouble:
	if (trouble.code == ERR_NOMEM)
		return err_set(err, ERR_NOMEM, "%s", trouble.text);
	set_problem(live, trouble.text);
	close_reader(live);
	return 0;
}

void live_set_time(struct live *live, int64_t at_us)
{
	if (!at_us && live->at_us) {
		/* Error sums restart: the time in between was not displayed. */
		error_sums_done(&live->errors);
		live->loaded_wall_us = 0;
	}
	live->stale |= at_us != live->at_us;
	live->at_us = at_us;
	live->paused = false;
}

void live_step(struct live *live, int64_t steps)
{
	struct error trouble = { 0 };
	int64_t at_us = 0;

	if (!live->shown || !live->reader || (!live->at_us && steps > 0))
		return;
	if (reader_sweep_beside(live->reader, live->shown->sweep.wall_us, steps, &at_us, &trouble) < 0) {
		snprintf(live->refused, sizeof(live->refused), "%s", trouble.text);
		return;
	}
	if (steps > 0 && at_us == live->shown->sweep.wall_us)
		live_set_time(live, 0);
	else
		live_set_time(live, at_us);
}

void live_pause(struct live *live)
{
	if (!live->shown)
		return;
	live->at_us = live->shown_at_us = live->shown->sweep.wall_us;
	live->paused = true;
}

void live_set_baseline(struct live *live, int64_t baseline_us)
{
	live->baseline_us = baseline_us;
	live->stale = true;
	if (!baseline_us) {
		error_sums_done(&live->errors);
		live->loaded_wall_us = 0;
	}
}

bool live_is_slow(const struct live *live, int64_t load_us)
{
	return load_us ? load_us > SLOW_US : live->shown->fabric->port_count > SLOW_PORTS;
}

bool live_load_is_slow(const struct live *live)
{
	return live->stale && live->shown &&
	       (live_is_slow(live, live->load_us) || live_is_slow(live, 0));
}

int64_t live_age_us(const struct live *live)
{
	if (!live->shown)
		return -1;
	return live->age_at_load_us + clock_boottime_us(live->clock) - live->loaded_boot_us;
}

enum live_state live_state(const struct live *live)
{
	const struct snapshot *newest = live->shown;
	int64_t interval_us;

	if (!newest)
		return LIVE_NOTHING;
	if (live->at_us)
		return LIVE_PAST;
	if (!live->status.live)
		return LIVE_NO_COLLECTOR;
	interval_us = newest->sweep.interval_us ? newest->sweep.interval_us : SINGLE_SWEEP_INTERVAL_US;
	return live_age_us(live) > 2 * interval_us + LOAD_SHARE * live->load_us ? LIVE_LATE : LIVE_FRESH;
}
