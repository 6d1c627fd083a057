/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * links.h - all links of a snapshot as rows: each once, with both its ends; which
 * are shown, and in which order
 *
 * The end that is nearer to the hosts is the first: a host's HCA before its leaf, a
 * leaf before its spine; of two that are as near the one whose name comes first. So a
 * link looks the same from sweep to sweep. A port without a cable has a row of its own.
 *
 * Work of the size of the fabric is done when the numbers, the order or the
 * filter change, never when a line is drawn. No curses here.
 */
#ifndef IBWIRE_TUI_MODEL_LINKS_H
#define IBWIRE_TUI_MODEL_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/counter.h"
#include "tui/model/filter.h"
#include "tui/model/layout.h"

struct error;
struct snapshot_context;
struct port_table;

/* One link. NAN where a number is not known; [0] is what goes from ends[0] to ends[1]. */
struct link_row {
	uint32_t ends[2];      /* ports; ends[1] is FABRIC_NONE where there is no cable */
	double bytes_per_s[2]; /* as the end that sends counted it, else as the other one did */
	double percent[2];
	int64_t last_wall_us;  /* of the newest reading of either end; 0: never */
	uint32_t finding;      /* 1 + index into the context's findings; 0: none */
	uint8_t word;          /* enum port_word, of the worse end */
	uint8_t mark;          /* enum port_mark (tui/model/port_marks.h) */
	bool degraded;         /* narrower or slower than both ends are set to, or than it is built */
	bool unused;           /* both ends are down for long, or always; or it is a switch's port 0 */
};

/* A row while rows are being ordered. */
struct link_entry {
	double key;
	uint64_t tie;
	uint32_t link;
};

struct links {
	const struct port_table *table;   /* borrowed, with what it shows; NULL: empty */
	const struct snapshot_context *context; /* borrowed */
	struct link_row *all;
	size_t count, unused_count;
	uint32_t *rows;              /* indices of the links that are shown, in order */
	size_t row_count;
	struct link_entry *entries;  /* room to sort in */
	int end_columns[2];          /* of the longest name at the lower and at the upper ends */
	bool has_marks;              /* is there a finding at any of them? */
	enum column sort;
	bool descending;
	bool swapped;                /* the upper end stands first */
	bool show_unused, tagged_only;
	struct filter filter;
	uint32_t exact;              /* bits of the filter's terms whose value is the whole name of a host or rail */
	struct map tags;             /* by the identity of a link's lower end: 1, or 0 where it was taken back */
	size_t tag_count;
};

void links_init(struct links *links);
void links_done(struct links *links);

/*
 * links_set - the links of what a table and a context show now
 * @table:  with a snapshot or without one; @context: of the same snapshot
 * Return: 0, or ERR_NOMEM: it is empty then.
 */
int links_set(struct links *links, const struct port_table *table, const struct snapshot_context *context,
	      struct error *err);

/* links_arrange - apply sort, filter and what else says which are shown, after one of them was changed. */
void links_arrange(struct links *links);

/*
 * links_row - the link of a shown row
 * links_side - which of its ends, and of its directions the one from there, stands first (place 0) or second (1)
 * links_end - its port that stands there, or FABRIC_NONE
 */
const struct link_row *links_row(const struct links *links, size_t row);
unsigned links_side(const struct links *links, const struct link_row *link, unsigned place);
uint32_t links_end(const struct links *links, const struct link_row *link, unsigned place);

/* links_find - the row that shows the link of a port, or row_count where none does. O(rows). */
size_t links_find(const struct links *links, uint64_t node_guid, uint8_t port);

/* links_tag - tag a link, or take its tag back; tags stay through snapshots. links_is_tagged. links_untag_all. */
int links_tag(struct links *links, const struct link_row *link, struct error *err);
bool links_is_tagged(const struct links *links, const struct link_row *link);
void links_untag_all(struct links *links);

/* links_descending_first - should a column begin with its largest value when it is chosen? */
bool links_descending_first(enum column column);

/* links_passes - does the filter let a link through? In links_filter.c. */
bool links_passes(const struct links *links, const struct link_row *link);

/* links_sort - order the rows: what is not known last in both directions, equals by name. In links_sort.c. */
void links_sort(struct links *links);

/* links_per_s - a counter's units per second at a port; NAN where that is FABRIC_NONE, or not known in this sweep. */
double links_per_s(const struct links *links, uint32_t port, enum counter counter);

/* links_load - percent in the busier direction; NAN where neither is known. */
double links_load(const struct link_row *link);

/* links_errors - errors of both ends; NAN where neither is known. */
double links_errors(const struct links *links, const struct link_row *link);

#endif
