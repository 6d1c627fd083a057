/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.h - one page about a link, port or node, to decide about a replacement */
#ifndef IBWIRE_PAGES_REPORT_H
#define IBWIRE_PAGES_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "facts/health_rows.h"
#include "pages/subject.h"
#include "storage/history.h"
#include "storage/reader.h"

struct cable_report;
struct error;
struct moment;
struct page;

enum { REPORT_WINDOWS = 3 };

struct report {
	struct moment *moment;     /* the fabric at the end of the window, or the last one with the removed node */
	uint32_t node;             /* the selected node, or the node of the selected port */
	char host[NODE_NAME_SIZE]; /* of several HCAs, of which node is the first; "": the subject is no such host */
	uint32_t *ports;           /* subject ports: a port and its peer, or all ports of a node or host */
	size_t port_count;
	struct past_peer *past;    /* parallel: the last peer of unconnected ports; guid 0: none */
	bool of_node;              /* or of a host */
	int64_t departed_us;       /* wall clock: when the node was removed; 0: present */
	struct text removed_hcas;  /* of the host that was typed: "node0001 mlx5_1 since 2026-11-29 01:02:03 UTC" */
	int64_t until_us, window_us[REPORT_WINDOWS];
	struct history_sum *sums[REPORT_WINDOWS]; /* by ports */
	int64_t covered_us;        /* from the begin of the longest window to its last sweep; 0: unknown */
	struct history_damage damage;
	struct health_rows rows;   /* findings that were open in the longest window */
	const struct finding_row **findings; /* those of the subject */
	size_t finding_count;
	struct subject_facts facts; /* of report_page() */
	uint32_t lids[256];
	struct detail_row details[DETAIL_ATTRIBUTE_COUNT]; /* of the port that was asked for */
	double temperature_c;      /* of a node, in its newest import; NAN: unknown */
	int64_t temperature_us;
	struct cable_report *cables; /* of a link, as imported; NULL: none. Of report_page() */
};

/*
 * report_find - resolve a name in the fabric at the end of the window, or the last one that had it
 * @report:    zeroed, for report_done()
 * @moment:    borrowed; of a removed node it becomes the last one with that
 * @typed:     a host, node or port
 * @until_us:  end of the windows, wall clock
 * @since_us:  begin of the longest window; 0: a week before, or before the removal of the node
 *
 * Return: 0; ERR_USAGE for an unknown or ambiguous name; ERR_UNAVAILABLE, ERR_IO, ERR_NOMEM.
 */
int report_find(struct report *report, struct moment *moment, const char *typed, int64_t until_us, int64_t since_us,
		struct error *err);
void report_done(struct report *report);

/*
 * report_page - the report as a page
 * @plots:  rendering with plots: PAGE_HTML, PAGE_TEXT (of the screen), or 0
 * @ret:    for page_destroy(), before report_done()
 */
int report_page(struct report *report, unsigned plots, struct page **ret, struct error *err);

#endif
