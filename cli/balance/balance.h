/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.h - shared by the files of `ibwire balance` */
#ifndef IBWIRE_CLI_BALANCE_H
#define IBWIRE_CLI_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "facts/moment.h"
#include "fabric/routes.h"
#include "facts/selection.h"
#include "storage/history.h"

struct error;
struct shape;

/* Number of windows of the recent history; the last is the displayed one. */
enum { BALANCE_PAST_WINDOWS = 10 };

/* Start of an imbalance, and the cause in the open finding about it. */
struct balance_began {
	int64_t wall_us; /* wall clock; 0: not searched, or not uneven */
	bool earlier;    /* it began earlier, at an unknown time */
	char cause[32];  /* "": there is no finding */
};

struct balance_report {
	struct options options;
	bool all, rails, ascii;
	const char *chosen;           /* --columns; NULL: without it */
	const char *sort;             /* --sort; NULL: without it */
	struct columns columns;       /* of balance_data() */
	const char *settings_path;    /* NULL: the default */
	struct moment view;             /* the fabric at the end of the window */
	struct shape *shape;
	struct routes routes;
	bool routes_known;
	struct settings settings;
	const struct balance_settings *limits; /* of settings */
	uint8_t *adaptive;            /* by node: the adaptive routing setting; or NULL */
	int64_t since_us, until_us;   /* the displayed window */
	int64_t window_us;            /* length of the windows before it */
	struct history_damage damage;
	struct balance_load *loads;   /* by port of the fabric: in the displayed window */
	struct balance balance;       /* of the displayed window */
	struct selection selection;
	struct balance_began *began;  /* parallel to the results */
	/*
	 * Parallel to the results. Bit i: active and (un)even in the window that ended i windows
	 * earlier.
	 */
	uint32_t *was_even, *was_uneven;
	uint32_t *shown;              /* displayed results, worst first */
	size_t shown_count;
	size_t fine, idle, unknown;   /* hidden groups, one per direction */
};

/* balance_choose_columns - the columns of balance_data(). Return: as columns_create(). */
int balance_choose_columns(const struct command *command, const struct options *options, const char *chosen,
			   const char *sort, struct columns *ret, struct error *err);

/*
 * balance_print - tables
 * balance_data - JSON and CSV, and a table with --columns or --sort
 * balance_rails - rails, spines and planes, in any format
 */
int balance_print(const struct balance_report *report, struct error *err);
int balance_data(const struct balance_report *report, struct error *err);
int balance_rails(const struct balance_report *report, struct error *err);

/* balance_group_of - the group of a result. */
const struct shape_group *balance_group_of(const struct balance_report *report, const struct balance_result *result);

/* balance_is_ascii - no block elements: by option, or not supported by the terminal. */
bool balance_is_ascii(const struct balance_report *report);

#endif
