/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * live.h - the fabric at the time that is looked at: the newest sweep, followed, or one of the past
 *
 * Asks for the newest sweep's number several times a second, and loads a sweep
 * only when it is another one. What was loaded stays, whatever happens to the
 * database afterwards; what happened is told in words. While the past is looked
 * at the newest sweep's number and the collector's state are followed all the same.
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
	LIVE_FRESH,       /* a collector runs, and its data is not older than two intervals */
	LIVE_LATE,        /* a collector runs, but its data is older than that */
	LIVE_PAST,        /* a time that was asked for is shown */
	LIVE_NO_COLLECTOR, /* nobody collects; the data is what was stored last */
};

struct live {
	const char *path;             /* borrowed */
	const struct name_map *names; /* borrowed */
	const struct clock *clock;    /* borrowed */
	int64_t refresh_us;
	int64_t at_us;   /* wall clock: this time is shown; 0: the newest sweeps */
	int64_t baseline_us; /* wall clock: numbers are of the time from here to what is shown; 0: of its sweep alone */
	bool paused;     /* at_us is what was there when somebody wanted to look at it in peace */
	bool stale;      /* what is asked for is not what is shown */
	struct reader *reader;
	dev_t device; /* of the open file: another file of that name is another database */
	ino_t inode;
	struct snapshot *shown;
	struct error_sums errors;
	int64_t loaded_id, loaded_wall_us; /* of the newest sweep that was loaded; 0: none */
	int64_t loaded_boot_us;   /* when that was */
	int64_t load_us;          /* how long that took */
	int64_t age_at_load_us;   /* of the newest sweep's end */
	int64_t ahead_us;         /* by so much its label was in the future then; 0: it was not */
	int64_t asked_status_us, tried_open_us;
	struct db_status status;
	char refused[512]; /* why the last time that was asked for is not shown; "": it is. Its reader empties it */
	char problem[512]; /* what is wrong with the database, "" for nothing */
};

void live_init(struct live *live, const char *path, const struct name_map *names, const struct clock *clock,
	       int64_t refresh_us);
void live_done(struct live *live);

/*
 * live_poll - look once
 * @ret_changed:  whether live->shown is another snapshot now (the one before is gone:
 *                pass NULL to port_table_set() before the call or the new one after it)
 *
 * Trouble with the database is no error of this function but told in
 * live->problem. Return: 0, or ERR_NOMEM.
 */
int live_poll(struct live *live, bool *ret_changed, struct error *err);

/* live_set_time - show the newest sweep at a time (wall clock); 0: the newest of all. The next poll loads it. */
void live_set_time(struct live *live, int64_t at_us);

/* live_step - show the sweep that is so many after (below 0: before) the one that is shown; past the newest: follow. */
void live_step(struct live *live, int64_t steps);

/* live_pause - hold what is shown. live_set_time(live, 0) lets it run again. */
void live_pause(struct live *live);

/* live_set_baseline - numbers are of the time since this one (wall clock) from now on; 0: of one sweep again. */
void live_set_baseline(struct live *live, int64_t baseline_us);

/* live_load_is_slow - was another time asked for, and will the next poll be long over reading it? */
bool live_load_is_slow(const struct live *live);

/* live_state - how the newest data is. */
enum live_state live_state(const struct live *live);

/* live_age_us - age of what is shown, since the end of its sweep; -1: there is nothing. */
int64_t live_age_us(const struct live *live);

#endif
