/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* status.h - shared by the files of `ibwire status` */
#ifndef IBWIRE_CLI_STATUS_H
#define IBWIRE_CLI_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "cli/health/health.h"
#include "facts/event_state.h"
#include "facts/moment.h"
#include "export/result.h"
#include "facts/summary.h"
#include "export/columns.h"
#include "storage/reader.h"

/* Seconds after which `ibwire metrics` lets a browser load the page again. */
#define STATUS_RELOAD_S "30"

struct error;
struct options;
struct page;

struct status {
	const struct options *options;
	const char *path; /* of the database */
	int64_t at_us;    /* selected wall clock time; 0: now */
	struct moment view; /* without a snapshot if the database has no sweep */
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
	struct health_rows findings; /* of the page of HTML, as the next ones */
	struct columns jobs, events;
};

/*
 * status_add_fabric - `--html`: sections with the verdict, findings, load between leaves and spines, the
 * busiest links, and rate, stall and errors of the last hours; with the record the page is under 100 KB
 * @links:  with links to pages of `ibwire metrics`; otherwise only commands are shown
 * @page:   must be rendered before @status ends
 * status_add_links - links to data of `ibwire metrics`
 */
int status_add_fabric(struct status *status, bool links, struct page *page, struct error *err);
void status_add_links(struct page *page);

#endif
