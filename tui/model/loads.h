/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loads.h - load of all ports in the balance window before the shown time, and the balance
 * computed from it
 *
 * Loaded only while needed. Values are by index into the shown fabric; if its ports, links or
 * states change, live loads are mapped to the new fabric and those of the past are dropped.
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

/* Inputs, borrowed for one call. */
struct loads_source {
	const struct live *live;              /* its reader and its snapshot */
	const struct snapshot_context *context;          /* of the same time */
	const struct balance_settings *limits;
	const struct shape_settings *shape;   /* or NULL */
	int64_t now_us;                       /* boottime */
};

struct loads {
	bool known;                  /* loads are available, for the window: */
	int64_t since_us, until_us;  /* wall clock */
	char problem[512];           /* why loads are not available, "" if they are */
	struct balance_load *loads;  /* by port */
	struct balance balance;      /* as of `ibwire balance`: with the windows before, see past */
	bool routes_known;
	struct history_damage damage;
	uint64_t generation;         /* changes with the values */
	/* Internal. */
	struct routes routes;
	int64_t routes_us;           /* wall clock of the routes; 0: none read */
	int64_t routes_event;        /* newest event that may have changed them */
	uint8_t *adaptive;
	/*
	 * Of the windows before the one that ended at past_us. While following the newest sweeps they are read once
	 * per window.
	 */
	struct balance_memory *past;
	int64_t past_us;
	struct fabric *fabric;       /* of the loads */
	uint64_t fingerprint;        /* of that */
	int64_t wanted_wall_us, wanted_us; /* requested time in the past, and since when (boottime) */
	int64_t loaded_us, load_us;  /* boottime and duration of the last load */
};

/* A zeroed struct is empty. loads_done - free it and make it empty. */
void loads_done(struct loads *loads);

/*
 * loads_changed - another snapshot is shown
 * Live loads of ports that still exist are kept and the balance is recomputed. Cost: one pass over
 * the ports plus the balance; nothing is read.
 */
void loads_changed(struct loads *loads, const struct loads_source *source);

/*
 * loads_poll - load what is due
 * A time in the past at once, or after the last step in time if loading is slow; the newest sweeps
 * every few seconds.
 * Return: whether anything changed; loads->problem has the reason for missing loads.
 */
bool loads_poll(struct loads *loads, const struct loads_source *source);

/* loads_input - input for analysis/balance.h with the shown shape. */
struct balance_input loads_input(const struct loads *loads, const struct shape *shape);

#endif
