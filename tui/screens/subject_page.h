/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * subject_page.h - page with all details of one subject
 *
 * Its content comes from the snapshot, the context, and data loaded for it alone: history, detail
 * counters, forwarding tables. pages/subject.h builds it except for the plot; screen_subject.c
 * loads, draws and handles keys.
 */
#ifndef IBWIRE_TUI_SCREENS_SUBJECT_PAGE_H
#define IBWIRE_TUI_SCREENS_SUBJECT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/series.h"
#include "fabric/counter.h"
#include "pages/subject.h"
#include "storage/reader.h"
#include "tui/draw/text_page.h"
#include "tui/model/subject.h"

struct app;

/* History of a subject: one curve, or one per direction. */
struct history_plot {
	unsigned window, metric;   /* selected with history_plot_zoom(), history_plot_next() */
	bool waits;                /* a long read is pending: the next history_plot_load() does it */
	int64_t samples_at_once;   /* reads of more samples are announced first; 0: default */
	/* Parameters of the loaded data. */
	struct {
		bool done;
		struct subject place;
		unsigned window, metric;
		int columns;
		int64_t at_us;     /* live.at_us then */
		int64_t limit_us;  /* begin of app->limit then; 0: no limit */
		int64_t boot_us, took_us;
	} loaded;
	int64_t since_us, until_us; /* wall clock: the window */
	struct series series[2];
	size_t series_count;
	char about[320];           /* whose curves these are, if not of the subject itself */
	char problem[512];         /* why there is no plot; "": there is one */
};

struct subject_data {
	struct detail_row slow[DETAIL_ATTRIBUTE_COUNT]; /* of the port */
	size_t slow_count;
	bool slow_read;
	int64_t slow_window_us;
	enum routes_state routes;
	uint64_t routes_guid;      /* of the switch */
	uint32_t lids[256];        /* by port number */
	bool has_last_peer;        /* the port has none now */
	struct past_peer last_peer;
	bool has_cable, has_cable_reading; /* of the port, as imported */
	struct cable_place cable;
	struct cable_reading cable_reading;
	bool has_reading;          /* absolute values, loaded by a key */
	struct reading reading;
};

struct subject_page {
	struct text_page page;
	struct page_view view;
	struct history_plot plot;
	struct subject_data known;
	int rows;                  /* of the body */
};

/* history_plot_zoom - shorter (below 0) or longer window; history_plot_next - next metric. */
void history_plot_zoom(struct history_plot *plot, int step);
void history_plot_next(struct history_plot *plot, const struct subject *place);

/* history_plot_window_us - length of the selected window. */
int64_t history_plot_window_us(const struct history_plot *plot);

/*
 * history_plot_load - load the history of a place for a width, if it changed or is old
 * A long read is deferred: the first call sets plot->waits, the next one reads. Errors are in
 * plot->problem. Return: whether a redraw is needed.
 */
bool history_plot_load(struct history_plot *plot, const struct app *app, const struct subject *place, int columns);
void history_plot_done(struct history_plot *plot);

/* history_plot_put - append the plot; @height: of each curve. */
void history_plot_put(const struct history_plot *plot, struct text_page *page, int height, bool unicode);

/* subject_page_fill - build the page of a subject for a width. */
void subject_page_fill(struct subject_page *detail, const struct app *app, const struct subject *subject, int columns);

/* group_hottest_port - the busiest member of a group in either direction; FABRIC_NONE: unknown. */
uint32_t group_hottest_port(const struct app *app, uint32_t group);

#endif
