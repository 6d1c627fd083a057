/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * changes.h - summary of the events before the shown time
 *
 * Related events are combined into one change: restarting hosts, links between switches, forwarding
 * tables, counter resets, closed findings. Open findings are not included.
 */
#ifndef IBWIRE_TUI_MODEL_CHANGES_H
#define IBWIRE_TUI_MODEL_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct recent_event;
struct snapshot_context;

/* Events of one kind that are further apart are separate changes. */
#define CHANGE_APART_US (10 * 60 * INT64_C(1000000))

struct change {
	int64_t first_us, last_us; /* wall clock of the oldest and newest event */
	size_t count;              /* events */
	char text[320];            /* one line, without the time */
	char brief[80];            /* short form */
};

struct changes {
	struct change *list; /* by the newest event, newest first */
	size_t count;
	int64_t since_us;    /* start of the covered time; later than requested if there are too many events */
};

/*
 * changes_make - changes in (@since_us, @until_us], wall clock
 * @ret:  its previous content is freed; changes_done() frees it
 * Return: 0 or ERR_NOMEM: empty then.
 */
int changes_make(const struct snapshot_context *context, int64_t since_us, int64_t until_us, struct changes *ret,
		 struct error *err);
void changes_done(struct changes *changes);

/*
 * changes_was_info - whether a closed finding was informational; if its opening is not loaded, by its kind
 * @closed:  an event finding-closed
 */
bool changes_was_info(const struct snapshot_context *context, const struct recent_event *closed);

#endif
