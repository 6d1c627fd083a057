/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.h - the page about a collector's status, in HTML also about its fabric */
#ifndef IBWIRE_PAGES_STATUS_H
#define IBWIRE_PAGES_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "export/columns.h"
#include "export/result.h"
#include "facts/event_state.h"
#include "facts/health_rows.h"
#include "facts/moment.h"
#include "facts/summary.h"
#include "storage/history.h"
#include "storage/reader.h"

/* Seconds after which `ibwire metrics` lets a browser load the page again. */
#define STATUS_RELOAD_S "30"

struct balance_settings;
struct error;
struct page;

struct status {
	/* Set by the caller: */
	const char *path;     /* of the database */
	int64_t now_us;       /* wall clock */
	int64_t at_us;        /* selected wall clock time; 0: now */
	struct moment moment; /* with its reader, of a page also its shape; without a snapshot if there is no sweep */
	const struct balance_settings *limits; /* of HTML: length of the window of the load */
	/* Set by status_load(): */
	struct db_status db;
	struct map locked;
	struct event_state throttled, topology_file, device_removed;
	struct fabric_summary summary;
	int64_t fec_unknown; /* ports */
	/* Whether the data is current. */
	struct {
		const char *word; /* "live", "stalled" ... */
		char text[512];   /* a sentence that begins with the word */
		enum cell_style style;
		bool is_live;
	} state;
	/* Of the page of HTML: */
	struct health_rows findings;
	struct columns jobs, events;
	struct history_damage damage; /* found while reading */
};

/*
 * status_load - read the status at its time; an empty database is not an error
 * status_page - build the page, which borrows @status
 * @html:   with the fabric: verdict, findings, load between leaves and spines, the busiest links, and rate, stall
 *          and errors of the last hours; under 100 KB
 * @links:  of HTML: with links to pages of `ibwire metrics`; otherwise only commands are shown
 * status_done - free what was loaded, and the moment
 * Return: 0, or an error of the reader.
 */
int status_load(struct status *status, struct error *err);
int status_page(struct status *status, bool html, bool links, struct page **ret, struct error *err);
void status_done(struct status *status);

/* Sections of it: status_add_fabric - the fabric. status_add_links - links to data of `ibwire metrics`. */
int status_add_fabric(struct status *status, bool links, struct page *page, struct error *err);
void status_add_links(struct page *page);

#endif
