/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loads.h - what all ports carried in the window of balance before the shown time, and what is to be said of it
 *
 * Read and judged only when somebody looks at it. Numbers are by index into the
 * shown fabric: where a newer one has other ports, links or states they are moved to it and
 * judged anew, and in the past forgotten. No curses here.
 */
#ifndef IBWIRE_TUI_MODEL_LOADS_H
#define IBWIRE_TUI_MODEL_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "fabric/routes.h"
#include "storage/history.h"

struct error;
struct live;
struct snapshot_context;
struct shape_settings;

/* What it is made from; all borrowed for one call. */
struct loads_source {
	const struct live *live;              /* its reader and what it shows */
	const struct snapshot_context *context;          /* of the same time */
	const struct balance_settings *limits;
	const struct shape_settings *shape;   /* or NULL */
	int64_t now_us;                       /* boottime */
};

struct loads {
	bool known;                  /* there is an answer, of the window: */
	int64_t since_us, until_us;  /* wall clock */
	char problem[512];           /* why there is none, "" where there is */
	struct balance_load *loads;  /* by port */
	struct balance balance;      /* its causes are what this window says alone */
	bool routes_known;
	struct history_damage damage;
	uint64_t generation;         /* another number: other numbers */
	/* Inside only. */
	struct routes routes;
	int64_t routes_us;           /* wall clock of the time that they are of; 0: none were read */
	int64_t routes_event;        /* the newest event that may have changed them */
	uint8_t *adaptive;
	struct fabric *fabric;       /* whose ports the loads are of */
	uint64_t fingerprint;        /* of that */
	int64_t wanted_wall_us, wanted_us; /* the time of the past that is wanted, and since when (boottime) */
	int64_t loaded_us, load_us;  /* boottime of the last load, and how long it took */
};

/* A zeroed struct is empty. loads_done - it is that again. */
void loads_done(struct loads *loads);

/*
 * loads_changed - another snapshot is shown: what is not of its fabric is forgotten
 * While the newest sweeps are followed, what the ports that are still there carried is judged anew as theirs.
 * Cost: ports once; of a balance that is judged anew that of judging, and nothing is read.
 */
void loads_changed(struct loads *loads, const struct loads_source *source);

/*
 * loads_poll - bring it up to what is shown, where it is time to
 * A time of the past at once, or where that takes long when the steps to it have ended; the newest sweeps every
 * few seconds.
 * Return: whether there is something new; loads->problem then says why there are no numbers.
 */
bool loads_poll(struct loads *loads, const struct loads_source *source);

/* loads_input - for functions of analysis/, with the shape that is shown. */
struct balance_input loads_input(const struct loads *loads, const struct shape *shape);

#endif
