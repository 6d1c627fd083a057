/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.h - between the files of `ibwire balance` */
#ifndef IBWIRE_CLI_BALANCE_H
#define IBWIRE_CLI_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "cli/lib/options.h"
#include "cli/lib/selection.h"
#include "cli/lib/settings.h"
#include "cli/lib/view.h"
#include "fabric/routes.h"
#include "storage/history.h"

struct command;
struct error;
struct shape;

/* So many windows tell what stays; the last of them is the one that is shown. */
enum { BALANCE_PAST_WINDOWS = 10 };

/* When a group became uneven. */
struct balance_began {
	int64_t wall_us; /* wall clock; 0: not looked for, or it is not uneven */
	bool earlier;    /* it was uneven before that already: how long, is not known */
};

struct balance_answer {
	const struct command *command;
	struct options options;
	bool all, rails, ascii;
	const char *settings_path;    /* NULL: the default */
	struct view view;             /* the fabric at the window's end */
	struct shape *shape;
	struct routes routes;
	bool routes_known;
	struct settings settings;
	const struct balance_settings *limits; /* of those */
	uint8_t *adaptive;            /* by node: what a person says; or NULL */
	int64_t since_us, until_us;   /* the window that is shown */
	int64_t window_us;            /* of those before it, that its past is told from */
	struct history_damage damage;
	struct balance_load *loads;   /* by port of the fabric: in the window that is shown */
	struct balance balance;       /* of that window */
	struct selection selection;
	struct balance_began *began;  /* parallel to the results */
	/* Parallel to the results: bit i: busy and (un)even in the window that ended i windows before the end. */
	uint32_t *was_even, *was_uneven;
	uint32_t *shown;              /* results that are shown, worst first */
	size_t shown_count;
	size_t fine, idle, unknown;   /* groups that are not shown: each in both directions one */
};

/*
 * balance_read - what ports counted in (@since_us, @until_us]
 * @round:  the window may begin and end where stored sums do
 * @ports:  indices of @count of the fabric's, or NULL: all that have counters and a peer
 * @loads:  by port of the fabric; those of the ports are set
 * Return: 1; 0 where no sweep was in it; ERR_IO, ERR_NOMEM.
 */
int balance_read(struct balance_answer *answer, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err);

/* balance_find_began - fill in answer->began of the worst that are shown. Return: 0 or an error. */
int balance_find_began(struct balance_answer *answer, struct error *err);

/* balance_print - for people. balance_data - as JSON and CSV. balance_rails - rails, spines, planes, in any format. */
int balance_print(const struct balance_answer *answer, struct error *err);
int balance_data(const struct balance_answer *answer, struct error *err);
int balance_rails(const struct balance_answer *answer, struct error *err);

/* balance_group_of - the group of a result. */
const struct shape_group *balance_group_of(const struct balance_answer *answer, const struct balance_result *result);

/* balance_is_ascii - no block elements: asked for, or the terminal knows none. */
bool balance_is_ascii(const struct balance_answer *answer);

#endif
