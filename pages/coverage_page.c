/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage_page.c - the burn-in as text and data, and the acceptance of a fabric as a page to print and sign */
#include "config.h"

#include "pages/coverage.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "base/when.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"
#include "facts/coverage_columns.h"
#include "facts/moment.h"
#include "facts/port_columns.h"
#include "pages/coverage/tables.h"
#include "pages/health.h"
#include "pages/subject.h"

/* "for 2h05m", or the BER that the time is to exclude. */
static const char *clean_text(const struct coverage_report *report, struct page *page)
{
	char span[WHEN_SIZE];

	if (report->limits.ber > 0)
		return page_print(page, "long enough for a BER below %.3g", report->limits.ber);
	return page_print(page, "for %s", when_format_span(report->limits.clean_us, span));
}

/* --- the verdict --- */

static void append_left_counts(const struct coverage_report *report, struct text *text)
{
	bool any = false;

	for (unsigned i = 0; i < COVERAGE_LEFT_BITS; i++) {
		if (!report->left_by_bit[i])
			continue;
		text_appendf(text, "%s %zu %s", any ? "," : ":", report->left_by_bit[i], coverage_left_name(1u << i));
		any = true;
	}
}

static const char *coverage_sentence(const struct coverage_report *report, struct page *page)
{
	char span[WHEN_SIZE];
	struct text text = { 0 };
	size_t left = report->directions - report->covered;

	text_appendf(&text, "%zu of %zu link directions carried at least %.4g %% for %s and were clean %s",
		     report->covered, report->directions, report->limits.min_load_percent,
		     when_format_span(report->limits.load_us, span), clean_text(report, page));
	if (left)
		text_appendf(&text, "; %zu %s left", left, left == 1 ? "is" : "are");
	append_left_counts(report, &text);
	return page_keep(page, &text);
}

static void add_verdict(const struct coverage_report *report, struct page *page)
{
	char at[WHEN_SIZE];
	const char *sentence = coverage_sentence(report, page);

	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT, .note = sentence });
	if (report->points)
		page_add_note(page, PAGE_TEXT, false, "not accepted: %zu point%s to resolve", report->points,
			      text_plural(report->points));
	else
		page_add_note(page, PAGE_TEXT, false, "accepted");
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT, .in = PAGE_HTML, .state = report->points ? PAGE_CRITICAL : PAGE_GOOD,
		.verdict = {
			.heading = "Acceptance of the fabric",
			.detail = page_print(page, "%s", when_format_local(report->coverage.until_us, at)),
			.word = report->points ? "not accepted" : "accepted",
			.sentence = report->points ? page_print(page, "%zu point%s to resolve", report->points,
								text_plural(report->points)) :
						     "No point is left",
		} });
}

/* --- what is accepted --- */

static void add_identity(const struct coverage_report *report, struct page *page)
{
	enum { FIELDS = 6 };
	const struct moment *moment = report->moment;
	const struct sm_state *sm = &moment->snapshot->sweep.sm;
	struct page_field *fields = page_alloc(page, FIELDS, sizeof(*fields));
	char from[WHEN_SIZE], until[WHEN_SIZE], span[WHEN_SIZE];
	struct text nodes = { 0 }, links = { 0 };

	if (!fields)
		return;
	summary_append_nodes(&report->summary, &nodes);
	summary_append_links(&report->summary, &links);
	fields[0] = (struct page_field){ .name = "fabric", .value = page_keep(page, &nodes),
		.note = page_print(page, "%s, %u tier%s, %zu hosts, %zu rail%s", shape_kind_name(moment->shape->kind),
				   moment->shape->tier_count, text_plural(moment->shape->tier_count),
				   moment->shape->host_count, moment->shape->rail_count,
				   text_plural(moment->shape->rail_count)) };
	fields[1] = (struct page_field){ .name = "links", .value = page_print(page, "%u", report->summary.links),
					 .note = page_keep(page, &links) };
	fields[2] = (struct page_field){ .name = "subnet manager",
		.value = sm->guid ? page_print(page, "0x%016" PRIx64, sm->guid) : "unknown" };
	fields[3] = (struct page_field){ .name = "window",
		.value = page_print(page, "%s", when_format_span(report->coverage.until_us - report->coverage.since_us,
								 span)),
		.note = page_print(page, "%s to %s", when_format_local(report->coverage.since_us, from),
				   when_format_local(report->coverage.until_us, until)) };
	fields[4] = (struct page_field){ .name = "required load",
		.value = page_print(page, "%.4g %% for %s", report->limits.min_load_percent,
				    when_format_span(report->limits.load_us, span)),
		.note = "each direction of each link" };
	fields[5] = (struct page_field){ .name = "without errors", .value = clean_text(report, page),
		.note = "up to the end of the window" };
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .in = PAGE_HTML, .fields = { fields, FIELDS } });
}

/* --- checks --- */

struct checks {
	struct page *page;
	struct page_sign *list;
	size_t count;
};

static void add_check(struct checks *checks, bool good, const char *text)
{
	if (checks->list)
		checks->list[checks->count++] =
			(struct page_sign){ .state = good ? PAGE_GOOD : PAGE_CRITICAL, .text = text };
}

static void check_plan(const struct coverage_report *report, struct checks *checks)
{
	const struct plan_diff *diff = report->plan_diff;

	if (!diff) {
		if (checks->list)
			checks->list[checks->count++] = (struct page_sign){ .state = PAGE_INFO,
				.text = "Cabling: no plan was given, so it was not compared" };
		return;
	}
	add_check(checks, !diff->count, page_print(checks->page, "Cabling: %zu of %zu planned links are as planned, "
		  "%zu difference%s, %zu not judged", diff->as_planned, diff->planned, diff->count,
		  text_plural(diff->count), diff->not_judged));
}

/* How many directions miss a part of what is required. */
static size_t count_left(const struct coverage_report *report, unsigned bits)
{
	size_t count = 0;

	for (uint32_t i = 0; i < report->moment->fabric->port_count; i++)
		count += coverage_is_judged(report, i) && coverage_left(&report->coverage, i) & bits;
	return count;
}

static void add_checks(const struct coverage_report *report, struct page *page)
{
	enum { CHECKS = 6 };
	struct checks checks = { page, page_alloc(page, CHECKS, sizeof(*checks.list)), 0 };
	size_t down = count_left(report, COVERAGE_DOWN) / 2, load = count_left(report, COVERAGE_LOAD_BITS);
	size_t clean = count_left(report, COVERAGE_CLEAN_BITS);

	check_plan(report, &checks);
	add_check(&checks, !down,
		  page_print(page, "Links: %zu of %zu are active", report->links - down, report->links));
	add_check(&checks, !report->slow_links,
		  page_print(page, "Width and speed: %zu of %zu links run as both ends and comparable links can",
			     report->links - report->slow_links, report->links));
	add_check(&checks, !load, page_print(page, "Load: %zu of %zu directions carried it for long enough",
					     report->directions - load, report->directions));
	add_check(&checks, !clean, page_print(page, "Errors: %zu of %zu directions were clean for long enough",
					      report->directions - clean, report->directions));
	add_check(&checks, !report->other_findings,
		  page_print(page, "Findings: %zu open that %s about none of these links", report->other_findings,
			     report->other_findings == 1 ? "is" : "are"));
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .in = PAGE_HTML,
					       .signs = { checks.list, checks.count } });
}

/* --- the plan --- */

static void add_plan(const struct coverage_report *report, struct page *page)
{
	const struct plan_diff *diff = report->plan_diff;
	struct page_sign *list;

	if (!diff || !diff->count)
		return;
	list = page_alloc(page, diff->count, sizeof(*list));
	for (size_t i = 0; list && i < diff->count; i++) {
		struct text text = { 0 };

		plan_difference_text(&text, report->plan, report->plan_ports, report->moment->shape, diff,
				     &diff->list[i]);
		list[i] = (struct page_sign){ .state = PAGE_CRITICAL, .text = page_keep(page, &text) };
	}
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .in = PAGE_TEXT,
					       .title = "Differences from the plan",
					       .signs = { list, list ? diff->count : 0 } });
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Differences from the plan" });
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .in = PAGE_HTML,
					       .signs = { list, list ? diff->count : 0 } });
	page_close(page);
}

/* --- data --- */

static const struct column_source direction_sources[] = {
	{ .columns = coverage_columns, .row = LINK_ROW },
	{ .columns = port_columns, .row = PORT_ROW },
	{ .columns = port_columns, .row = PEER_ROW, .key_prefix = "peer_", .title_prefix = "PEER " },
};

static const struct column_item direction_items[] = {
	{ .key = "since", .row = LINK_ROW }, { .key = "until", .row = LINK_ROW },
	{ .key = "node_guid" }, { .key = "node" }, { .key = "port" }, { .key = "role" }, { .key = "rail" },
	{ .key = "node_guid", .row = PEER_ROW, .as = "peer_guid" }, { .key = "node", .row = PEER_ROW, .as = "peer" },
	{ .key = "port", .row = PEER_ROW }, { .key = "rail", .row = PEER_ROW },
	{ .key = "state" }, { .key = "width" }, { .key = "speed" }, { .key = "rate_gbps" },
	{ .key = "covered", .row = LINK_ROW }, { .key = "left", .row = LINK_ROW },
	{ .key = "degraded", .row = LINK_ROW },
	{ .key = "loaded_s", .row = LINK_ROW }, { .key = "load_known_s", .row = LINK_ROW },
	{ .key = "peak_percent", .row = LINK_ROW },
	{ .key = "clean_s", .row = LINK_ROW }, { .key = "longest_clean_s", .row = LINK_ROW },
	{ .key = "clean_needed_s", .row = LINK_ROW }, { .key = "link_errors", .row = LINK_ROW },
	{ .key = "ber_below", .row = LINK_ROW },
	{ .key = "effective_ber", .row = PEER_ROW, .as = "effective_ber" },
	{ .key = "raw_ber", .row = PEER_ROW, .as = "raw_ber" },
};

static void put_directions(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	const struct moment *moment = report->moment;
	const struct port_scope scope = moment_scope(moment);

	for (uint32_t i = 0; i < moment->fabric->port_count; i++) {
		struct coverage_facts direction = { &report->coverage, moment->shape, i };
		uint32_t peer = moment->fabric->ports[i].peer;
		struct port_facts ends[2];
		const void *const rows[] = { [PORT_ROW] = &ends[0], [PEER_ROW] = &ends[1], [LINK_ROW] = &direction };

		if (!coverage_is_judged(report, i))
			continue;
		port_facts_of(&scope, i, &ends[0]);
		port_facts_of(&scope, peer, &ends[1]);
		ends[1].ber[PORT_BER_RAW] = report->fec[peer].raw;
		ends[1].ber[PORT_BER_EFFECTIVE] = report->fec[peer].effective;
		result_fill_rows(result, rows);
		if (!result_end_row(result))
			break;
	}
}

enum { SUM_ACCEPTED, SUM_POINTS, SUM_SINCE, SUM_UNTIL, SUM_MIN_LOAD, SUM_LOAD, SUM_CLEAN, SUM_BER, SUM_DIRECTIONS,
       SUM_COVERED, SUM_LINKS, SUM_LINKS_LEFT, SUM_LINKS_SLOW, SUM_FINDINGS, SUM_PLANNED, SUM_AS_PLANNED,
       SUM_DIFFERENCES, SUM_NOT_JUDGED, SUM_COLUMNS };

static const struct column sum_columns[SUM_COLUMNS] = {
	[SUM_ACCEPTED] = { .key = "accepted", .kind = COLUMN_BOOL },
	[SUM_POINTS] = { .key = "points", .kind = COLUMN_INTEGER },
	[SUM_SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[SUM_UNTIL] = { .key = "until", .kind = COLUMN_TIME },
	[SUM_MIN_LOAD] = { .key = "min_load_percent", .kind = COLUMN_REAL },
	[SUM_LOAD] = { .key = "load_s", .kind = COLUMN_REAL },
	[SUM_CLEAN] = { .key = "clean_s", .kind = COLUMN_REAL },
	[SUM_BER] = { .key = "ber", .kind = COLUMN_REAL },
	[SUM_DIRECTIONS] = { .key = "directions", .kind = COLUMN_INTEGER },
	[SUM_COVERED] = { .key = "directions_covered", .kind = COLUMN_INTEGER },
	[SUM_LINKS] = { .key = "links", .kind = COLUMN_INTEGER },
	[SUM_LINKS_LEFT] = { .key = "links_left", .kind = COLUMN_INTEGER },
	[SUM_LINKS_SLOW] = { .key = "links_degraded", .kind = COLUMN_INTEGER },
	[SUM_FINDINGS] = { .key = "other_findings", .kind = COLUMN_INTEGER },
	[SUM_PLANNED] = { .key = "links_planned", .kind = COLUMN_INTEGER },
	[SUM_AS_PLANNED] = { .key = "links_as_planned", .kind = COLUMN_INTEGER },
	[SUM_DIFFERENCES] = { .key = "plan_differences", .kind = COLUMN_INTEGER },
	[SUM_NOT_JUDGED] = { .key = "plan_not_judged", .kind = COLUMN_INTEGER },
};

static void put_sum(struct result *result, const void *ctx)
{
	const struct coverage_report *report = ctx;
	const struct plan_diff *diff = report->plan_diff;

	result_bool(result, SUM_ACCEPTED, !report->points);
	result_unsigned(result, SUM_POINTS, report->points);
	result_integer(result, SUM_SINCE, report->coverage.since_us);
	result_integer(result, SUM_UNTIL, report->coverage.until_us);
	result_real(result, SUM_MIN_LOAD, report->limits.min_load_percent);
	result_real(result, SUM_LOAD, (double)report->limits.load_us / 1e6);
	if (report->limits.ber > 0)
		result_real(result, SUM_BER, report->limits.ber);
	else
		result_real(result, SUM_CLEAN, (double)report->limits.clean_us / 1e6);
	result_unsigned(result, SUM_DIRECTIONS, report->directions);
	result_unsigned(result, SUM_COVERED, report->covered);
	result_unsigned(result, SUM_LINKS, report->links);
	result_unsigned(result, SUM_LINKS_LEFT, report->left_links);
	result_unsigned(result, SUM_LINKS_SLOW, report->slow_links);
	result_unsigned(result, SUM_FINDINGS, report->other_findings);
	if (diff) {
		result_unsigned(result, SUM_PLANNED, diff->planned);
		result_unsigned(result, SUM_AS_PLANNED, diff->as_planned);
		result_unsigned(result, SUM_DIFFERENCES, diff->count);
		result_unsigned(result, SUM_NOT_JUDGED, diff->not_judged);
	}
	result_end_row(result);
}

/* --- the page --- */

static void add_data(const struct coverage_report *report, struct page *page)
{
	const struct column_list list = { direction_sources, sizeof(direction_sources) / sizeof(*direction_sources),
					  direction_items, sizeof(direction_items) / sizeof(*direction_items) };
	size_t count;
	const struct column *columns = page_columns(page, &list, &count);

	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "summary",
					       .table = { sum_columns, SUM_COLUMNS, put_sum, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON | PAGE_CSV, .key = "directions",
					       .table = { columns, count, put_directions, report } });
}

/* Lines to fill in by hand. */
static void add_signatures(struct page *page)
{
	static const char *const parties[] = { "Handed over by", "Accepted by" };

	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Signatures" });
	for (size_t i = 0; i < sizeof(parties) / sizeof(*parties); i++)
		page_add_note(page, PAGE_HTML, false, "%s: ______________________________  Date: ______________  "
			      "Signature: ______________________________", parties[i]);
	page_add_note(page, PAGE_HTML, true, "Written by ibwire %s.", PACKAGE_VERSION);
	page_close(page);
}

static void add_notes(const struct coverage_report *report, struct page *page)
{
	char from[WHEN_SIZE], until[WHEN_SIZE];

	page_add_note(page, PAGE_TEXT, true, "window: %s to %s%s", when_format_local(report->coverage.since_us, from),
		      when_format_local(report->coverage.until_us, until),
		      report->is_all_stored ? " (all that is stored)" : "");
	if (report->covered < report->directions)
		page_add_note(page, PAGE_TEXT, true,
			      "'ibwire coverage --pairs' lists the pairs of compute hosts that load the "
			      "rest, --hosts those of other hosts, too");
}

struct page *coverage_page(const struct coverage_report *report)
{
	struct page *page = page_create("Acceptance of an InfiniBand fabric");
	const struct health_layout layout = { .in = PAGE_HTML, .none = "no open finding", .brief = true };

	add_verdict(report, page);
	add_identity(report, page);
	add_checks(report, page);
	add_plan(report, page);
	coverage_add_tables(report, page);
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Open findings" });
	health_add_findings(report->moment->reference_us, &report->filter, &report->rows, &layout, page);
	page_close(page);
	add_signatures(page);
	add_notes(report, page);
	add_data(report, page);
	return page;
}
