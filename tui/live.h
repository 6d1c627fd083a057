/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * live.h - the newest sweep in the database, followed
 *
 * Asks for the newest sweep's number several times a second, and loads a sweep
 * only when it is another one. What was loaded stays, whatever happens to the
 * database afterwards; what happened is told in words.
 */
#ifndef IBWIRE_TUI_LIVE_H
#define IBWIRE_TUI_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "storage/reader.h"
#include "tui/errors.h"

struct clock;
struct error;
struct name_map;

enum live_state {
	LIVE_NOTHING,     /* no sweep yet */
	LIVE_FRESH,       /* a collector runs, and its data is not older than two intervals */
	LIVE_LATE,        /* a collector runs, but its data is older than that */
	LIVE_PAST,        /* a time that was asked for is shown, and nothing new comes */
	LIVE_NO_COLLECTOR, /* nobody collects; the data is what was stored last */
	LIVE_STATE_COUNT,
};

struct live {
	const char *path;             /* borrowed */
	const struct name_map *names; /* borrowed */
	const struct clock *clock;    /* borrowed */
	int64_t refresh_us;
	int64_t at_us; /* wall clock: this time is shown and no other; 0: the newest sweeps */
	struct reader *reader;
	dev_t device; /* of the open file: another file of that name is another database */
	ino_t inode;
	struct snapshot *shown;
	struct snapshot *pending; /* newer than shown, while paused */
	struct error_sums errors;
	int64_t loaded_id, loaded_wall_us; /* of the newest sweep that was loaded; 0: none */
	int64_t loaded_boot_us;   /* when that was */
	int64_t age_at_load_us;   /* of the newest sweep's end */
	int64_t asked_status_us, tried_open_us;
	struct db_status status;
	bool paused;
	char problem[512]; /* what is wrong with the database, "" for nothing */
};

void live_init(struct live *live, const char *path, const struct name_map *names, const struct clock *clock,
	       int64_t refresh_us);
void live_done(struct live *live);

/*
 * live_poll - look once
 * @ret_changed:  whether live->shown is another snapshot now (the one before is gone:
 *                pass NULL to table_set_snapshot() before the call or the new one after it)
 *
 * Trouble with the database is no error of this function but told in
 * live->problem. Return: 0, or ERR_NOMEM.
 */
int live_poll(struct live *live, bool *ret_changed, struct error *err);

/* live_pause - hold what is shown, or let it run again. Return: whether live->shown changed. */
bool live_pause(struct live *live, bool paused);

/* live_forget_errors - sum errors anew from here on. */
void live_forget_errors(struct live *live);

/* live_state - how the newest data is. */
enum live_state live_state(const struct live *live);

/* live_age_us - age of the newest sweep that was loaded, since its end; -1: there is none. */
int64_t live_age_us(const struct live *live);

#endif
