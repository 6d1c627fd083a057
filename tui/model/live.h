/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * live.h - the shown snapshot: the newest sweep, or one of the past
 *
 * Polls for the id of the newest sweep and loads a sweep only if it changed. A loaded snapshot
 * stays if the database becomes unreadable; live->problem then has the reason. The collector's
 * state is followed also while the past is shown.
 */
#ifndef IBWIRE_TUI_MODEL_LIVE_H
#define IBWIRE_TUI_MODEL_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "storage/reader.h"
#include "tui/model/error_sums.h"

struct clock;
struct error;
struct name_map;

enum live_state {
	LIVE_NOTHING,     /* no sweep yet */
	LIVE_FRESH,       /* a collector is running; data is at most two intervals old */
	LIVE_LATE,        /* a collector is running; data is older than that */
	LIVE_PAST,        /* a time in the past is shown */
	LIVE_NO_COLLECTOR, /* no collector is running; the last stored data is shown */
};

struct live {
	const char *path;             /* borrowed */
	const struct name_map *names; /* borrowed */
	const struct clock *clock;    /* borrowed */
	int64_t refresh_us;
	int64_t at_us;   /* wall clock of the shown time; 0: follow the newest sweep */
	int64_t baseline_us; /* wall clock: rates are since this time; 0: of one sweep */
	int64_t shown_at_us; /* at_us of what is shown */
	bool paused;     /* at_us was set by live_pause() */
	bool stale;      /* the requested time is not loaded yet */
	struct reader *reader;
	dev_t device; /* of the open file; another file of the same name is another database */
	ino_t inode;
	struct snapshot *shown;
	struct error_sums errors;
	int64_t loaded_id, loaded_wall_us; /* of the newest loaded sweep; 0: none */
	int64_t loaded_boot_us;   /* time of the last load */
	int64_t load_us;          /* duration of the last load */
	int64_t age_at_load_us;   /* age of the newest sweep's end at that time */
	int64_t ahead_us;         /* how far its timestamp was in the future; 0: it was not */
	int64_t status_read_us, tried_open_us;
	struct db_status status;
	char refused[512]; /* why the requested time could not be loaded; "": none. Cleared by its reader */
	char problem[512]; /* database error, "" for none */
};

void live_init(struct live *live, const char *path, const struct name_map *names, const struct clock *clock,
	       int64_t refresh_us);
void live_done(struct live *live);

/*
 * live_poll - check for a new sweep
 * @ret_changed:  whether live->shown was replaced; the previous snapshot is freed, so call
 * port_table_set() with NULL before or with the new one after
 *
 * Database errors are reported in live->problem. Return: 0 or ERR_NOMEM.
 */
int live_poll(struct live *live, bool *ret_changed, struct error *err);

/* live_set_time - show the newest sweep at a time (wall clock); 0: the newest of all. The next poll loads it. */
void live_set_time(struct live *live, int64_t at_us);

/*
 * live_step - show the sweep @steps after (below 0: before) the shown one; past the newest: follow.
 */
void live_step(struct live *live, int64_t steps);

/* live_pause - keep the shown sweep. live_set_time(live, 0) resumes. */
void live_pause(struct live *live);

/* live_set_baseline - rates since this time (wall clock); 0: of one sweep. */
void live_set_baseline(struct live *live, int64_t baseline_us);

/* live_is_slow - whether a load that took @load_us (0: unknown, estimated from the ports) is noticeable. */
bool live_is_slow(const struct live *live, int64_t load_us);

/* live_load_is_slow - whether the next poll will take long to load another time. */
bool live_load_is_slow(const struct live *live);

/* live_state - freshness of the newest data. */
enum live_state live_state(const struct live *live);

/* live_age_us - age of the shown sweep since its end; -1: nothing is shown. */
int64_t live_age_us(const struct live *live);

#endif
