/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * detail.h - between the files of the detail screen: all that is known of one subject, as a page
 *
 * What a page says comes from the shown snapshot, the context, and from what is loaded for
 * it alone: history, slow counters, tables. The files detail_*.c make lines of them and
 * have no curses; screen_subject.c loads, draws and takes keys.
 */
#ifndef IBWIRE_TUI_SCREENS_SUBJECT_PAGE_H
#define IBWIRE_TUI_SCREENS_SUBJECT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/series.h"
#include "fabric/counter.h"
#include "storage/reader.h"
#include "tui/draw/text_page.h"
#include "tui/model/subject.h"

struct app;

/* The history of a subject: one curve or one each way. */
struct history_plot {
	unsigned window, metric;   /* which are chosen: see history_plot_zoom(), history_plot_next() */
	bool waits;                /* a long read is pending: the next history_plot_load() does it */
	int64_t samples_at_once;   /* how many are not much; 0: as usual */
	/* What was loaded, and for what. */
	struct {
		bool done;
		struct subject place;
		unsigned window, metric;
		int columns;
		int64_t at_us;     /* live.at_us then */
		int64_t boot_us, took_us;
	} loaded;
	int64_t since_us, until_us; /* wall clock: the window */
	struct series series[2];
	size_t series_count;
	char about[320];           /* whose curves these are, where it is not the subject itself */
	char problem[512];         /* why there is no plot; "": there is one */
};

/* The forwarding table of the subject's switch: how many destinations leave by each port. */
enum routes_state { ROUTES_UNASKED, ROUTES_WANTED, ROUTES_READ, ROUTES_UNKNOWN };

struct subject_data {
	struct detail_row slow[DETAIL_ATTRIBUTE_COUNT]; /* of the port */
	size_t slow_count;
	bool slow_read;
	int64_t slow_window_us;
	enum routes_state routes;
	uint64_t routes_guid;      /* of the switch */
	uint32_t lids[256];        /* by port number */
	bool has_reading;          /* absolute values, asked for with a key */
	struct reading reading;
};

struct subject_page {
	struct text_page page;
	struct page_view view;
	struct history_plot plot;
	struct subject_data known;
	int rows;                  /* of the body */
};

/* history_plot_zoom - a shorter window (below 0) or a longer one; history_plot_next - another metric. */
void history_plot_zoom(struct history_plot *plot, int step);
void history_plot_next(struct history_plot *plot, const struct subject *place);

/* history_plot_window_us - how long the chosen window is. */
int64_t history_plot_window_us(const struct history_plot *plot);

/*
 * history_plot_load - read the history of a place for a width, where what is loaded is not it or is old
 * Where another choice takes long nothing is read by the first call: plot->waits says so, and the next one reads it.
 * What cannot be read is told in plot->problem. Return: whether there is something else to draw.
 */
bool history_plot_load(struct history_plot *plot, const struct app *app, const struct subject *place, int columns);
void history_plot_done(struct history_plot *plot);

/* history_plot_put - the plot as lines; @height: of each curve. */
void history_plot_put(const struct history_plot *plot, struct text_page *page, int height, bool unicode);

/* subject_page_fill - the whole page of a subject, for so many columns. */
void subject_page_fill(struct subject_page *detail, const struct app *app, const struct subject *subject, int columns);

/* The parts of it, by kind of place. Nodes and ports are indices into the shown fabric. */
void subject_page_port(struct subject_page *detail, const struct app *app, uint32_t port);
void subject_page_node(struct subject_page *detail, const struct app *app, uint32_t node);
void subject_page_group(struct subject_page *detail, const struct app *app, const struct subject *subject);
void subject_page_fabric(struct subject_page *detail, const struct app *app);
void subject_page_finding(struct subject_page *detail, const struct app *app, const struct finding_row *row);

/* subject_page_findings - what is open at a place, two lines each; @port 0: at a node or any of its ports. */
void subject_page_findings(struct subject_page *detail, const struct app *app, uint64_t node_guid, uint8_t port);

/* subject_page_history - the plot, as high as there is room for. */
void subject_page_history(struct subject_page *detail, const struct app *app);

/* group_hottest_port - the member of a group that is the fullest in either direction; FABRIC_NONE: nothing is known. */
uint32_t group_hottest_port(const struct app *app, uint32_t group);

#endif
