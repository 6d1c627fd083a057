/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/coverage/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/coverage_columns.h"
#include "facts/link.h"
#include "facts/moment.h"
#include "facts/order.h"
#include "pages/coverage.h"

/* Rows of each table in text without --all; of bit error rates everywhere. */
enum { ROWS_SHOWN = 20, WORST_SHOWN = 10, ROLES_MOST = 24, LEFT_SIZE = 128 };

static bool is_limited(const struct result *result, const struct coverage_report *report)
{
	return result_rendering(result) == PAGE_TEXT && !report->all;
}

/* The role of what a port sends: that of the port at a switch, "host-to-leaf" of an HCA. */
static const char *direction_role(const struct coverage_report *report, uint32_t port, char ret[SHAPE_ROLE_SIZE])
{
	const struct shape *shape = report->moment->shape;
	uint32_t peer = report->moment->fabric->ports[port].peer;
	const char *role = shape_port_role(shape, port, ret);
	char tier[SHAPE_TIER_SIZE];

	if (shape->ports[port].way == WAY_SWITCH) {
		snprintf(ret, SHAPE_ROLE_SIZE, "host-to-%s", shape_tier_name(shape_port_tier(shape, peer), tier));
		role = ret;
	}
	return role ? role : "other";
}

static const char *left_text(unsigned left, char ret[LEFT_SIZE])
{
	struct text text = { 0 };

	coverage_append_left(left, &text);
	snprintf(ret, LEFT_SIZE, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}

/* --- links with a problem --- */

enum { PROBLEM_PORT, PROBLEM_PEER, PROBLEM_LINK, PROBLEM_TEXT, PROBLEM_COUNT };

static const struct column problem_columns[PROBLEM_COUNT] = {
	[PROBLEM_PORT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PROBLEM_PEER] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PROBLEM_LINK] = { .title = "LINK", .kind = COLUMN_TEXT, .priority = 1 },
	[PROBLEM_TEXT] = { .title = "PROBLEM", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

/* Problems of what a port sends, which its peer receives; not that it was not loaded. */
static void append_direction(const struct coverage_report *report, uint32_t sender, struct text *text)
{
	const struct moment *moment = report->moment;
	const struct coverage_direction *direction = &report->coverage.list[sender];
	unsigned left = coverage_left(&report->coverage, sender);
	char name[PORT_NAME_SIZE], span[WHEN_SIZE];

	if (!(left & (COVERAGE_ERRORS | COVERAGE_ERRORS_UNKNOWN)))
		return;
	order_port_name(&moment->names_shown, moment->fabric, moment->fabric->ports[sender].peer, name);
	text_append(text, text->len ? "; " : "");
	if (!direction->end_us)
		text_appendf(text, "%s was not read", name);
	else if (left & COVERAGE_ERRORS)
		text_appendf(text, "%s received %" PRIu64 "%s errors", name, direction->errors,
			     direction->errors_at_least ? "+" : "");
	else
		text_appendf(text, "errors of %s are unknown (reset or not read)", name);
	if (direction->end_us && direction->clean_us)
		text_appendf(text, ", clean for %s since", when_format_span(direction->clean_us, span));
	else if (direction->end_us)
		text_append(text, ", also at the last reading");
}

static void append_problem(const struct coverage_report *report, uint32_t port, struct text *text)
{
	const struct shape *shape = report->moment->shape;

	if (coverage_left(&report->coverage, port) & COVERAGE_DOWN)
		text_append(text, "not active");
	if (link_is_degraded(shape, port))
		text_appendf(text, "%sdegraded: %s", text->len ? "; " : "",
			     link_verdict_name(shape->ports[port].verdict));
	append_direction(report, port, text);
	append_direction(report, report->moment->fabric->ports[port].peer, text);
}

static void put_problems(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	const struct moment *moment = report->moment;
	const struct fabric *fabric = moment->fabric;
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[moment->nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			uint32_t peer = fabric->ports[port].peer;
			struct text text = { 0 };
			char link[LINK_TEXT_SIZE];

			/* Each link once, first of all from the end at a switch. */
			if (!coverage_is_judged(report, port) ||
			    (moment->names_shown.port_rank[port] > moment->names_shown.port_rank[peer]))
				continue;
			append_problem(report, port, &text);
			if (text.len && is_limited(result, report) && shown == ROWS_SHOWN) {
				more++;
			} else if (text.len) {
				shown++;
				cells_port_name(result, PROBLEM_PORT, &moment->names_shown, fabric, port);
				cells_port_name(result, PROBLEM_PEER, &moment->names_shown, fabric, peer);
				link_text(&fabric->ports[port], link_is_degraded(moment->shape, port), link);
				result_text(result, PROBLEM_LINK, *link ? link : NULL);
				result_text(result, PROBLEM_TEXT, result_chars(result, &text));
				result_end_row(result);
			}
			text_done(&text);
		}
	}
	if (more)
		result_note(result, "and %zu more (--all)", more);
	result_none(result, "no link is down, degraded or had errors in the time that is to be clean");
}

/* --- coverage by role --- */

enum { ROLE_NAME, ROLE_DIRECTIONS, ROLE_COVERED, ROLE_LOADED, ROLE_CLEAN, ROLE_LEFT, ROLE_COUNT };

static const struct column role_columns[ROLE_COUNT] = {
	[ROLE_NAME] = { .title = "SENDING PORTS", .kind = COLUMN_TEXT },
	[ROLE_DIRECTIONS] = { .title = "DIRECTIONS", .kind = COLUMN_INTEGER },
	[ROLE_COVERED] = { .title = "COVERED", .kind = COLUMN_INTEGER },
	[ROLE_LOADED] = { .title = "LOADED", .kind = COLUMN_INTEGER },
	[ROLE_CLEAN] = { .title = "CLEAN", .kind = COLUMN_INTEGER },
	[ROLE_LEFT] = { .title = "LEFT", .kind = COLUMN_INTEGER },
};

struct role { char name[SHAPE_ROLE_SIZE]; size_t directions, covered, loaded, clean; };

static void put_roles(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	struct role roles[ROLES_MOST] = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; i < report->moment->fabric->port_count; i++) {
		char buffer[SHAPE_ROLE_SIZE];
		const char *name;
		unsigned left;
		size_t at = 0;

		if (!coverage_is_judged(report, i))
			continue;
		name = direction_role(report, i, buffer);
		while (at < count && strcmp(roles[at].name, name) != 0)
			at++;
		if (at == ROLES_MOST)
			continue;
		if (at == count)
			snprintf(roles[count++].name, SHAPE_ROLE_SIZE, "%s", name);
		left = coverage_left(&report->coverage, i);
		roles[at].directions++;
		roles[at].covered += !left;
		roles[at].loaded += !(left & COVERAGE_LOAD_BITS);
		roles[at].clean += !(left & COVERAGE_CLEAN_BITS);
	}
	for (size_t i = 0; i < count; i++) {
		result_text(result, ROLE_NAME, roles[i].name);
		result_unsigned(result, ROLE_DIRECTIONS, roles[i].directions);
		result_unsigned(result, ROLE_COVERED, roles[i].covered);
		result_unsigned(result, ROLE_LOADED, roles[i].loaded);
		result_unsigned(result, ROLE_CLEAN, roles[i].clean);
		result_unsigned(result, ROLE_LEFT, roles[i].directions - roles[i].covered);
		result_end_row(result);
	}
}

/* --- what is left, by switch --- */

enum { GROUP_SWITCH, GROUP_ROLE, GROUP_DIRECTIONS, GROUP_LEFT, GROUP_LOADED, GROUP_PEAK, GROUP_CLEAN_TIME,
       GROUP_FIRST, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[GROUP_SWITCH] = { .title = "SWITCH", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[GROUP_ROLE] = { .title = "SENDING PORTS", .kind = COLUMN_TEXT },
	[GROUP_DIRECTIONS] = { .title = "LEFT", .kind = COLUMN_INTEGER },
	[GROUP_LEFT] = { .title = "WHY", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[GROUP_LOADED] = { .title = "LOADED", .kind = COLUMN_SPAN_S, .priority = 2 },
	[GROUP_PEAK] = { .title = "PEAK%", .kind = COLUMN_PERCENT, .priority = 3, .measured = true },
	[GROUP_CLEAN_TIME] = { .title = "CLEAN", .kind = COLUMN_SPAN_S, .priority = 1 },
	[GROUP_FIRST] = { .title = "FIRST PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
			  .priority = 4 },
};

/* Directions at one switch that have one role, and of which the same is left. */
struct left_group {
	uint32_t node, port; /* the switch; first sending port */
	uint8_t way, left;
	size_t count;
	int64_t loaded_us, clean_us; /* the least of them */
	struct measure peak;         /* percent */
};

static uint32_t switch_of(const struct fabric *fabric, uint32_t port)
{
	uint32_t node = fabric->ports[port].node, peer = fabric->ports[fabric->ports[port].peer].node;

	return fabric->nodes[node].type != NODE_SWITCH && fabric->nodes[peer].type == NODE_SWITCH ? peer : node;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct left_group *x = a, *y = b;
	const struct order *order = ctx;

	if (x->node != y->node)
		return strcmp(order->names[x->node], order->names[y->node]) < 0 ? -1 :
		       strcmp(order->names[x->node], order->names[y->node]) > 0 ? 1 : x->node < y->node ? -1 : 1;
	if (x->way != y->way)
		return x->way < y->way ? -1 : 1;
	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* More directions first. */
static int compare_counts(const void *a, const void *b)
{
	const struct left_group *x = a, *y = b;

	return x->count != y->count ? (x->count > y->count ? -1 : 1) : x->port < y->port ? -1 : x->port > y->port;
}

/* The lower of two peaks; unknown if one of them is. Of equal ones the lower bound. */
static struct measure lower_peak(struct measure a, struct measure b)
{
	if (isnan(a.value) || isnan(b.value))
		return MEASURE_NONE;
	if (a.value != b.value)
		return a.value < b.value ? a : b;
	return measure_is_exact(a) ? b : a;
}

/* Return: the number of groups; -1: no memory. */
static int64_t find_groups(const struct coverage_report *report, struct left_group **ret)
{
	const struct moment *moment = report->moment;
	size_t count = 0, groups = 0;
	struct left_group *list = calloc(report->directions - report->covered + 1, sizeof(*list));

	if (!list)
		return -1;
	for (uint32_t i = 0; i < moment->fabric->port_count; i++) {
		const struct coverage_direction *direction = &report->coverage.list[i];
		unsigned left = coverage_is_judged(report, i) ? coverage_left(&report->coverage, i) : 0;

		if (left)
			list[count++] = (struct left_group){
				switch_of(moment->fabric, i), i, moment->shape->ports[i].way, (uint8_t)left, 1,
				direction->loaded_us, direction->clean_us, coverage_peak(&report->coverage, i) };
	}
	qsort_r(list, count, sizeof(*list), compare_groups, (void *)&moment->names_shown);
	for (size_t i = 0; i < count; i++) {
		struct left_group *last = groups ? &list[groups - 1] : NULL;

		if (!last || last->node != list[i].node || last->way != list[i].way || last->left != list[i].left) {
			list[groups++] = list[i];
			continue;
		}
		last->count++;
		last->loaded_us = list[i].loaded_us < last->loaded_us ? list[i].loaded_us : last->loaded_us;
		last->clean_us = list[i].clean_us < last->clean_us ? list[i].clean_us : last->clean_us;
		last->peak = lower_peak(last->peak, list[i].peak);
	}
	qsort(list, groups, sizeof(*list), compare_counts);
	*ret = list;
	return (int64_t)groups;
}

static void put_groups(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	const struct moment *moment = report->moment;
	struct left_group *list;
	int64_t count = find_groups(report, &list), i;

	if (count < 0) {
		err_nomem(result_error(result));
		return;
	}
	for (i = 0; i < count && (!is_limited(result, report) || i < ROWS_SHOWN); i++) {
		char role[SHAPE_ROLE_SIZE], left[LEFT_SIZE];

		result_text(result, GROUP_SWITCH, moment->names_shown.names[list[i].node]);
		result_text(result, GROUP_ROLE, direction_role(report, list[i].port, role));
		result_unsigned(result, GROUP_DIRECTIONS, list[i].count);
		result_text(result, GROUP_LEFT, left_text(list[i].left, left));
		result_real(result, GROUP_LOADED, (double)list[i].loaded_us / 1e6);
		if (!list[i].loaded_us)
			result_show(result, GROUP_LOADED, "0 s", STYLE_PLAIN);
		result_measure(result, GROUP_PEAK, list[i].peak);
		result_real(result, GROUP_CLEAN_TIME, (double)list[i].clean_us / 1e6);
		if (!list[i].clean_us)
			result_show(result, GROUP_CLEAN_TIME, "0 s", STYLE_PLAIN);
		cells_port_name(result, GROUP_FIRST, &moment->names_shown, moment->fabric, list[i].port);
		result_end_row(result);
	}
	if (i < count)
		result_note(result, "and %" PRId64 " more (--all)", count - i);
	result_note(result, "LOADED, PEAK%% and CLEAN are the least of the directions in a row");
	result_none(result, "nothing is left");
	free(list);
}

/* --- bit error rates --- */

enum { BER_PORT, BER_PEER, BER_LINK, BER_LAYOUT, BER_RAW, BER_EFFECTIVE, BER_BELOW, BER_COLUMNS };

static const struct column worst_columns[BER_COLUMNS] = {
	[BER_PORT] = { .title = "RECEIVING PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[BER_PEER] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
		       .priority = 2 },
	[BER_LINK] = { .title = "LINK", .kind = COLUMN_TEXT, .priority = 1 },
	[BER_LAYOUT] = { .title = "FEC", .kind = COLUMN_TEXT },
	[BER_RAW] = { .title = "RAW BER", .kind = COLUMN_REAL, .measured = true },
	[BER_EFFECTIVE] = { .title = "EFFECTIVE BER", .kind = COLUMN_REAL, .measured = true },
	[BER_BELOW] = { .title = "SHOWN BELOW", .kind = COLUMN_REAL },
};

/* The worst: no clean time, then a high raw BER, then a short clean time. */
static int compare_ber(const void *a, const void *b, void *ctx)
{
	const struct coverage_report *report = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t peers[] = { report->moment->fabric->ports[x].peer, report->moment->fabric->ports[y].peer };
	double below[] = { coverage_ber_below(&report->coverage, peers[0]),
			   coverage_ber_below(&report->coverage, peers[1]) };
	double raw[] = { report->fec[x].raw.rate, report->fec[y].raw.rate };

	for (int i = 0; i < 2; i++) {
		below[i] = isnan(below[i]) ? INFINITY : below[i];
		raw[i] = isnan(raw[i]) ? -1 : raw[i];
	}
	if (below[0] > 2 * below[1] || below[1] > 2 * below[0])
		return below[0] > below[1] ? -1 : 1;
	if (raw[0] < raw[1] || raw[0] > raw[1])
		return raw[0] > raw[1] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void put_ber_cell(struct result *result, size_t at, const struct ber *ber)
{
	char shown[CELLS_BER_SIZE];

	cells_ber(result, at, ber);
	result_show(result, at, cells_ber_text(ber, shown), STYLE_PLAIN);
}

static void put_worst(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	const struct moment *moment = report->moment;
	uint32_t *list = calloc(report->directions + 1, sizeof(*list));
	size_t count = 0;

	if (!list) {
		err_nomem(result_error(result));
		return;
	}
	for (uint32_t i = 0; i < moment->fabric->port_count; i++)
		if (coverage_is_judged(report, i))
			list[count++] = i;
	qsort_r(list, count, sizeof(*list), compare_ber, (void *)report);
	for (size_t i = 0; i < count && i < WORST_SHOWN; i++) {
		const struct port *port = &moment->fabric->ports[list[i]];
		const struct coverage_fec *fec = &report->fec[list[i]];
		double below = coverage_ber_below(&report->coverage, port->peer);
		char link[LINK_TEXT_SIZE];

		cells_port_name(result, BER_PORT, &moment->names_shown, moment->fabric, list[i]);
		cells_port_name(result, BER_PEER, &moment->names_shown, moment->fabric, port->peer);
		link_text(port, link_is_degraded(moment->shape, list[i]), link);
		result_text(result, BER_LINK, *link ? link : NULL);
		result_text(result, BER_LAYOUT, fec->layout ? fec_layout_name(fec->layout) : NULL);
		put_ber_cell(result, BER_RAW, &fec->raw);
		put_ber_cell(result, BER_EFFECTIVE, &fec->effective);
		result_real(result, BER_BELOW, below);
		if (!isnan(below))
			result_showf(result, BER_BELOW, STYLE_PLAIN, "%.1e", below);
		result_end_row(result);
	}
	free(list);
}

/* --- the page --- */

static void add_table(const struct coverage_report *report, struct page *page, unsigned in, const char *title,
		      const struct column *columns, size_t count, page_fill *fill)
{
	/* In HTML the title is that of the card. */
	if (in & PAGE_TEXT)
		page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_TEXT, .title = title,
						       .table = { columns, count, fill, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = title });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_HTML,
					       .table = { columns, count, fill, report } });
	page_close(page);
}

void coverage_add_tables(const struct coverage_report *report, struct page *page)
{
	const unsigned both = PAGE_TEXT | PAGE_HTML;

	add_table(report, page, both, "Links with a problem", problem_columns, PROBLEM_COUNT, put_problems);
	add_table(report, page, both, "Coverage", role_columns, ROLE_COUNT, put_roles);
	add_table(report, page, both, "Left", group_columns, GROUP_COLUMNS, put_groups);
	add_table(report, page, report->all ? both : PAGE_HTML, "Worst bit error rates", worst_columns, BER_COLUMNS,
		  put_worst);
}
