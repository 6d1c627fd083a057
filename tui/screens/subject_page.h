/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * detail.h - between the files of the detail screen: all that is known of one subject, as a page
 *
 * What a page says comes from the shown snapshot, the moment, and from what is loaded for
 * it alone: history, slow counters, tables. The files detail_*.c make lines of them and
 * have no curses; screen_detail.c loads, draws and takes keys.
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
#include "tui/screens/subject.h"

struct app;

/* The history of a subject: one curve or one each way. */
struct detail_plot {
	unsigned window, metric;   /* which are chosen: see detail_plot_zoom(), detail_plot_next() */
	bool waits;                /* much is to be read: that is said first, and the next detail_plot_load() does it */
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
enum detail_routes { ROUTES_UNASKED, ROUTES_WANTED, ROUTES_READ, ROUTES_UNKNOWN };

struct detail_known {
	struct detail_row slow[DETAIL_ATTRIBUTE_COUNT]; /* of the port */
	size_t slow_count;
	bool slow_read;
	int64_t slow_window_us;
	enum detail_routes routes;
	uint64_t routes_guid;      /* of the switch */
	uint32_t lids[256];        /* by port number */
	bool has_reading;          /* absolute values, asked for with a key */
	struct reading reading;
};

struct detail {
	struct page page;
	struct page_view view;
	struct detail_plot plot;
	struct detail_known known;
	int rows;                  /* of the body */
};

/* detail_plot_zoom - a shorter window (below 0) or a longer one; detail_plot_next - another metric. */
void detail_plot_zoom(struct detail_plot *plot, int step);
void detail_plot_next(struct detail_plot *plot, const struct subject *place);

/* detail_plot_window_us - how long the chosen window is. */
int64_t detail_plot_window_us(const struct detail_plot *plot);

/*
 * detail_plot_load - read the history of a place for a width, where what is loaded is not it or is old
 * Where another choice takes long nothing is read by the first call: plot->waits says so, and the next one reads it.
 * What cannot be read is told in plot->problem. Return: whether there is something else to draw.
 */
bool detail_plot_load(struct detail_plot *plot, const struct app *app, const struct subject *place, int columns);
void detail_plot_done(struct detail_plot *plot);

/* detail_plot_put - the plot as lines; @height: of each curve. */
void detail_plot_put(const struct detail_plot *plot, struct page *page, int height, bool unicode);

/* detail_put - the whole page of a subject, for so many columns. */
void detail_put(struct detail *detail, const struct app *app, const struct subject *subject, int columns);

/* The parts of it, by kind of place. Nodes and ports are indices into the shown fabric. */
void detail_put_port(struct detail *detail, const struct app *app, uint32_t port);
void detail_put_node(struct detail *detail, const struct app *app, uint32_t node);
void detail_put_group(struct detail *detail, const struct app *app, const struct subject *subject);
void detail_put_fabric(struct detail *detail, const struct app *app);
void detail_put_finding(struct detail *detail, const struct app *app, const struct finding_row *row);

/* detail_put_findings - what is open at a place, two lines each; @port 0: at a node or any of its ports. */
void detail_put_findings(struct detail *detail, const struct app *app, uint64_t node_guid, uint8_t port);

/* detail_put_plot - the plot, as high as there is room for. */
void detail_put_plot(struct detail *detail, const struct app *app);

/* detail_hottest - the member of a group that is the fullest in either direction; FABRIC_NONE: nothing is known. */
uint32_t detail_hottest(const struct app *app, uint32_t group);

#endif
