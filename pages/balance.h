/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.h - the page about the load of equivalent links */
#ifndef IBWIRE_PAGES_BALANCE_H
#define IBWIRE_PAGES_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/balance.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "facts/group.h"
#include "facts/moment.h"
#include "facts/selection.h"
#include "storage/history.h"

struct error;
struct page;

/* Number of windows of the recent history; the last is the displayed one. */
enum { BALANCE_PAST_WINDOWS = 10 };

/* Start of an imbalance, and the cause in the open finding about it. */
struct balance_began {
	int64_t wall_us; /* wall clock; 0: not searched, or not uneven */
	bool earlier;    /* it began earlier, at an unknown time */
	char cause[32];  /* "": there is no finding */
};

struct balance_report {
	bool all;                     /* idle and even groups, and all members, too */
	bool ascii;                   /* no block elements */
	bool window_chosen;           /* the displayed window is not that of the settings */
	struct moment moment;         /* the fabric at the end of the window */
	struct shape *shape;
	struct routes routes;
	bool routes_known;
	const struct balance_settings *limits; /* borrowed */
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
	struct group_counts counts;   /* of groups, one per direction */
};

/*
 * balance_read_loads - the load of ports in (@since_us, @until_us]
 * @round:  align the window to stored sums
 * @ports:  @count port indices, or NULL: all ports with counters and a peer
 * @loads:  by port of the fabric; set for the selected ports
 * Return: 1; 0 without a sweep in the window; ERR_IO, ERR_NOMEM.
 */
int balance_read_loads(struct balance_report *report, int64_t since_us, int64_t until_us, bool round,
		       const uint32_t *ports, size_t count, struct balance_load *loads, struct error *err);

/* Windows before a displayed one, all borrowed for one call. */
struct balance_windows {
	struct reader *reader;
	const struct snapshot *snapshot;       /* of the displayed window */
	const struct balance_settings *limits;
	int64_t until_us, window_us;           /* end of the displayed window; length of those before it */
	struct balance_load *loads;            /* by port; overwritten */
	struct history_damage *damage;
	/* By result, or NULL: set bit i if it was active and (un)even in the window that ended i windows earlier. */
	uint32_t *was_even, *was_uneven;
};

/*
 * balance_step_past - feed the windows before the displayed one to @memory: members that stay the busiest, and groups
 * that spread load despite uneven tables
 * @input:  of the displayed window
 * Return: 0, ERR_IO, ERR_NOMEM.
 */
int balance_step_past(const struct balance_windows *windows, const struct balance_input *input,
		      struct balance_memory *memory, struct error *err);

/* balance_find_starts - search when the shown groups became uneven. Return: 0, ERR_IO, ERR_NOMEM. */
int balance_find_starts(struct balance_report *report, struct error *err);

/*
 * Both pages borrow the report until they are rendered.
 * balance_page - uneven groups as text: details with a cause, one line without
 * balance_rails_page - rails, spines and planes, in all formats
 */
struct page *balance_page(const struct balance_report *report);
struct page *balance_rails_page(const struct balance_report *report);

/* balance_is_selected - whether the selection has a port of a group: it was selected by its switch or by a port. */
bool balance_is_selected(const struct balance_report *report, const struct shape_group *group);

static inline const struct shape_group *balance_group_of(const struct balance_report *report,
							 const struct balance_result *result)
{
	return &report->shape->groups[result->group];
}

#endif
