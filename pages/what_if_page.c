/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* what_if_page.c - the page of `ibwire what-if` */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "facts/cells.h"
#include "facts/order.h"
#include "pages/what_if.h"

/* Rows of a table in text without --all, and names in a sentence. */
enum { ROWS_MOST = 10, NAMES_MOST = 5 };

/* Renderings for people. */
#define SHOWN (PAGE_TEXT | PAGE_HTML)

/* What a table is of. */
struct listing {
	const struct what_if *of;
	bool all;
};

static const char *percent(double share, struct page *page)
{
	return isnan(share) ? "unknown" : page_print(page, "%.0f %%", 100 * share);
}

void what_if_append_link(const struct what_if *of, uint32_t port, struct text *text)
{
	char name[PORT_NAME_SIZE];

	order_port_name(of->shown, of->fabric, port, name);
	text_append(text, name);
	if (of->fabric->ports[port].peer == FABRIC_NONE)
		return;
	order_port_name(of->shown, of->fabric, of->fabric->ports[port].peer, name);
	text_appendf(text, " to %s", name);
}

/* --- the answer --- */

static void append_hosts(const struct what_if *of, struct text *text)
{
	size_t count = of->cut_off.count;

	text_appendf(text, "%zu host%s cut off: ", count, count == 1 ? " is" : "s are");
	for (size_t i = 0; i < count && i < NAMES_MOST; i++)
		text_appendf(text, "%s%s", i ? ", " : "", of->shape->hosts[of->cut_off.hosts[i]].name);
	if (count > NAMES_MOST)
		text_appendf(text, " and %zu more", count - NAMES_MOST);
}

static const char *sentence_of(const struct what_if *of, struct page *page)
{
	size_t silent = of->cut_off.count + of->cut_off.taken;
	struct text text = { 0 };

	text_append(&text, of->safe ? "safe: " : "not safe: ");
	if (of->cut_off.count)
		append_hosts(of, &text);
	else if (of->cut_off.pairs)
		text_appendf(&text, "%" PRIu64 " pair%s of hosts no longer reach%s each other", of->cut_off.pairs,
			     text_plural(of->cut_off.pairs), of->cut_off.pairs == 1 ? "es" : "");
	else
		text_append(&text, "no host is cut off");
	if (of->cut_off.reduced_count)
		text_appendf(&text, ", %zu host%s fewer links", of->cut_off.reduced_count,
			     of->cut_off.reduced_count == 1 ? " has" : "s have");
	if (of->lost > 0 && !of->cut_off.count)
		text_appendf(&text, ", %s of the traffic has no path up and down", percent(of->lost, page));
	if (!isnan(of->busiest_before) || !isnan(of->busiest_after))
		text_appendf(&text, ", busiest uplink %s -> %s", percent(of->busiest_before, page),
			     percent(of->busiest_after, page));
	/* Less load is no gain then. */
	if (silent && !isnan(of->busiest_after))
		text_appendf(&text, " without the traffic of %zu host%s", silent, text_plural(silent));
	if (!of->xmit && !isnan(of->busiest_after))
		text_append(&text, " if all hosts send at full rate to all others");
	return page_keep(page, &text);
}

/* The links that stand for what is changed: "3 links: leaf01/12 to spine02/3, ...". */
static const char *what_is_taken(const struct what_if *of, struct page *page)
{
	struct text text = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < of->fabric->node_count && of->nodes_taken && count < NAMES_MOST; i++)
		if (of->nodes && of->nodes[i])
			text_appendf(&text, "%s%s", count++ ? ", " : "", of->shown->names[i]);
	if (of->nodes_taken > count)
		text_appendf(&text, " and %u more", of->nodes_taken - count);
	text_append(&text, of->nodes_taken ? ": " : "");
	count = 0;
	text_appendf(&text, "%u link%s", of->links_taken, text_plural(of->links_taken));
	for (uint32_t i = 0; i < of->fabric->port_count && !of->nodes_taken; i++) {
		uint32_t peer = of->fabric->ports[i].peer;

		if (peer == FABRIC_NONE || peer < i || !link_is_usable(of->before, i) || link_is_usable(of->after, i))
			continue;
		if (count++ == NAMES_MOST)
			break;
		text_append(&text, count == 1 ? ": " : ", ");
		/* From the end that was named. */
		what_if_append_link(of, of->ports && !of->ports[i] && of->ports[peer] ? peer : i, &text);
	}
	if (!of->nodes_taken && of->links_taken > NAMES_MOST)
		text_appendf(&text, " and %u more", of->links_taken - NAMES_MOST);
	return page_keep(page, &text);
}

/* "leaf01/12 to spine02/3 at EDR, ... and 5 more links" */
static const char *what_is_slower(const struct what_if *of, struct page *page)
{
	struct text text = { 0 };
	size_t i;

	for (i = 0; i < of->rate_count && i < NAMES_MOST; i++) {
		const struct what_if_rate *rate = &of->rates[i];

		text_append(&text, i ? ", " : "");
		what_if_append_link(of, rate->port, &text);
		text_append(&text, " at ");
		if (rate->width != LINK_WIDTH_NONE)
			text_appendf(&text, "%ux ", link_width_lanes(rate->width));
		text_append(&text, link_speed_name(rate->speed));
	}
	if (of->rate_count > i)
		text_appendf(&text, " and %zu more links", of->rate_count - i);
	return page_keep(page, &text);
}

static const char *model_of(const struct what_if *of, struct page *page)
{
	struct text text = { 0 };
	char since[WHEN_SIZE], until[WHEN_SIZE];

	if (of->xmit) {
		text_appendf(&text, "traffic of %s to %s", when_format_local(of->since_us, since),
			     when_format_local(of->until_us, until));
		if (!isnan(of->fit_error))
			text_appendf(&text, ", fitted to the load of the links; deviation left: %.1f %%",
				     100 * of->fit_error);
	} else {
		text_append(&text, "no traffic is known: each host sends at full rate, equally to all others");
	}
	return page_keep(page, &text);
}

static const char *tables_of(const struct what_if *of, struct page *page)
{
	const char *engine = spread_engine_name(of->updn_failed ? SPREAD_MINHOP : of->engine);
	const char *before = of->routes ? "today's" : page_print(page, "computed as %s", engine);

	if (of->opensm)
		return page_print(page, "%s; after it as computed by opensm", before);
	if (of->updn_failed)
		return page_print(page, "%s; after it as minhop, because updn finds no root switch", before);
	if (of->keep)
		return page_print(page, "%s; after it those entries that remain on shortest paths, the others as %s",
				  before, engine);
	return page_print(page, "%s; after it all computed as %s", before, engine);
}

enum { SAFE, ANSWER, TAKEN_LINKS, TAKEN_NODES, TAKEN_HOSTS, CUT_OFF, REDUCED, PAIRS, PAIRS_BEFORE, BUSIEST_BEFORE,
       BUSIEST_AFTER, LOST, BISECTION_BEFORE, BISECTION_AFTER, PATHS_BEFORE, PATHS_AFTER, MEAN_PATHS_BEFORE,
       MEAN_PATHS_AFTER, DEMAND, UNKNOWN, FIT_ERROR, TABLES, SINCE, UNTIL, HEAD_COLUMNS };

static const struct column head_columns[HEAD_COLUMNS] = {
	[SAFE] = { .key = "safe", .kind = COLUMN_BOOL },
	[ANSWER] = { .key = "answer", .kind = COLUMN_TEXT },
	[TAKEN_LINKS] = { .key = "links_taken_out", .kind = COLUMN_INTEGER },
	[TAKEN_NODES] = { .key = "nodes_taken_out", .kind = COLUMN_INTEGER },
	[TAKEN_HOSTS] = { .key = "hosts_taken_out", .kind = COLUMN_INTEGER },
	[CUT_OFF] = { .key = "hosts_cut_off", .kind = COLUMN_INTEGER },
	[REDUCED] = { .key = "hosts_with_fewer_links", .kind = COLUMN_INTEGER },
	[PAIRS] = { .key = "pairs_cut_off", .kind = COLUMN_INTEGER },
	[PAIRS_BEFORE] = { .key = "pairs_before", .kind = COLUMN_INTEGER },
	[BUSIEST_BEFORE] = { .key = "busiest_uplink_before_percent", .kind = COLUMN_PERCENT },
	[BUSIEST_AFTER] = { .key = "busiest_uplink_after_percent", .kind = COLUMN_PERCENT },
	[LOST] = { .key = "traffic_without_path_percent", .kind = COLUMN_PERCENT },
	[BISECTION_BEFORE] = { .key = "bisection_before_gbit_per_s", .kind = COLUMN_REAL },
	[BISECTION_AFTER] = { .key = "bisection_after_gbit_per_s", .kind = COLUMN_REAL },
	[PATHS_BEFORE] = { .key = "fewest_paths_before", .kind = COLUMN_REAL },
	[PATHS_AFTER] = { .key = "fewest_paths_after", .kind = COLUMN_REAL },
	[MEAN_PATHS_BEFORE] = { .key = "mean_paths_before", .kind = COLUMN_REAL },
	[MEAN_PATHS_AFTER] = { .key = "mean_paths_after", .kind = COLUMN_REAL },
	[DEMAND] = { .key = "demand", .kind = COLUMN_TEXT },
	[UNKNOWN] = { .key = "ports_with_unknown_traffic", .kind = COLUMN_INTEGER },
	[FIT_ERROR] = { .key = "fit_error_percent", .kind = COLUMN_PERCENT },
	[TABLES] = { .key = "tables", .kind = COLUMN_TEXT },
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
};

struct head {
	struct listing listing; /* the first member */
	const char *sentence, *demand, *tables;
};

static void put_head(struct result *result, const void *ctx)
{
	const struct head *head = ctx;
	const struct what_if *of = head->listing.of;

	result_bool(result, SAFE, of->safe);
	result_text(result, ANSWER, head->sentence);
	result_integer(result, TAKEN_LINKS, of->links_taken);
	result_integer(result, TAKEN_NODES, of->nodes_taken);
	result_integer(result, TAKEN_HOSTS, of->cut_off.taken);
	result_integer(result, CUT_OFF, (int64_t)of->cut_off.count);
	result_integer(result, REDUCED, (int64_t)of->cut_off.reduced_count);
	result_unsigned(result, PAIRS, of->cut_off.pairs);
	result_unsigned(result, PAIRS_BEFORE, of->cut_off.pairs_before);
	result_real(result, BUSIEST_BEFORE, 100 * of->busiest_before);
	result_real(result, BUSIEST_AFTER, 100 * of->busiest_after);
	result_real(result, LOST, 100 * of->lost);
	if (of->shape->bisection_bits_per_s) {
		result_real(result, BISECTION_BEFORE, (double)of->shape->bisection_bits_per_s_now / 1e9);
		result_real(result, BISECTION_AFTER, (double)of->shape_after->bisection_bits_per_s_now / 1e9);
	}
	if (of->paths_before.from != FABRIC_NONE) {
		result_real(result, PATHS_BEFORE, of->paths_before.fewest);
		result_real(result, MEAN_PATHS_BEFORE, of->paths_before.mean);
	}
	if (of->paths_after.from != FABRIC_NONE) {
		result_real(result, PATHS_AFTER, of->paths_after.fewest);
		result_real(result, MEAN_PATHS_AFTER, of->paths_after.mean);
	}
	result_text(result, DEMAND, head->demand);
	if (of->xmit)
		result_integer(result, UNKNOWN, of->unknown_ports);
	result_real(result, FIT_ERROR, 100 * of->fit_error);
	result_text(result, TABLES, head->tables);
	cells_nonzero(result, SINCE, of->since_us);
	cells_nonzero(result, UNTIL, of->until_us);
	result_end_row(result);
}

/* --- hosts --- */

enum { HOST, HOST_STATE, HOST_COLUMNS };

static const struct column host_columns[HOST_COLUMNS] = {
	[HOST] = { .key = "host", .title = "HOST", .kind = COLUMN_TEXT },
	[HOST_STATE] = { .key = "state", .title = "STATE", .kind = COLUMN_TEXT },
};

static bool shows_all(const struct result *result, const struct listing *listing)
{
	return listing->all || result_rendering(result) & (PAGE_JSON | PAGE_CSV);
}

static void put_hosts(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;
	const struct what_if *of = listing->of;
	size_t all = of->cut_off.count + of->cut_off.reduced_count;

	for (size_t i = 0; i < all; i++) {
		bool cut_off = i < of->cut_off.count;
		uint32_t host = cut_off ? of->cut_off.hosts[i] : of->cut_off.reduced[i - of->cut_off.count];

		if (i == ROWS_MOST && !shows_all(result, listing)) {
			result_note(result, "and %zu more (--all)", all - i);
			break;
		}
		result_text(result, HOST, of->shape->hosts[host].name);
		result_text(result, HOST_STATE, cut_off ? "cut off" : "fewer links");
		result_show(result, HOST_STATE, NULL, cut_off ? STYLE_CRITICAL : STYLE_WARNING);
		result_end_row(result);
	}
}

/* --- tiers --- */

enum { TIER, TIER_NAME, SWITCHES, UP_BEFORE, UP_AFTER, FEWEST_BEFORE, FEWEST_AFTER, FEWEST_NODE, RATE_BEFORE,
       RATE_AFTER, OVER_BEFORE, OVER_AFTER, TIER_COLUMNS };

static const struct column tier_columns[TIER_COLUMNS] = {
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER },
	[TIER_NAME] = { .key = "name", .title = "UPLINKS OF", .kind = COLUMN_TEXT },
	[SWITCHES] = { .key = "switches", .title = "SWITCHES", .kind = COLUMN_INTEGER },
	[UP_BEFORE] = { .key = "uplinks_before", .title = "UPLINKS", .kind = COLUMN_INTEGER },
	[UP_AFTER] = { .key = "uplinks_after", .title = "AFTER", .kind = COLUMN_INTEGER },
	[FEWEST_BEFORE] = { .key = "fewest_before", .title = "FEWEST", .kind = COLUMN_INTEGER },
	[FEWEST_AFTER] = { .key = "fewest_after", .title = "AFTER", .kind = COLUMN_INTEGER },
	[FEWEST_NODE] = { .key = "fewest_node", .title = "OF", .kind = COLUMN_TEXT },
	[RATE_BEFORE] = { .key = "up_before_gbit_per_s", .title = "Gb/s UP", .kind = COLUMN_REAL },
	[RATE_AFTER] = { .key = "up_after_gbit_per_s", .title = "AFTER", .kind = COLUMN_REAL },
	[OVER_BEFORE] = { .key = "oversubscription_before", .title = "OVERSUB", .kind = COLUMN_REAL },
	[OVER_AFTER] = { .key = "oversubscription_after", .title = "AFTER", .kind = COLUMN_REAL },
};

static void put_ratio(struct result *result, size_t column, double ratio)
{
	result_real(result, column, ratio);
	if (!isnan(ratio))
		result_showf(result, column, STYLE_PLAIN, "%.2f:1", ratio);
}

static void put_tiers(struct result *result, const void *ctx)
{
	const struct what_if *of = ((const struct listing *)ctx)->of;

	for (size_t i = 0; i < of->tier_count; i++) {
		const struct what_if_tier *tier = &of->tiers[i];
		char name[SHAPE_TIER_SIZE];

		result_integer(result, TIER, tier->tier);
		result_text(result, TIER_NAME, shape_tier_name(tier->tier, name));
		result_integer(result, SWITCHES, tier->switches);
		result_integer(result, UP_BEFORE, tier->links_before);
		result_integer(result, UP_AFTER, tier->links_after);
		result_integer(result, FEWEST_BEFORE, tier->fewest_before);
		result_integer(result, FEWEST_AFTER, tier->fewest_after);
		if (tier->fewest_node != FABRIC_NONE)
			result_text(result, FEWEST_NODE, of->shown->names[tier->fewest_node]);
		result_real(result, RATE_BEFORE, (double)tier->up_before / 1e9);
		result_real(result, RATE_AFTER, (double)tier->up_after / 1e9);
		put_ratio(result, OVER_BEFORE, tier->over_before);
		put_ratio(result, OVER_AFTER, tier->over_after);
		result_end_row(result);
	}
}

/* --- links --- */

enum { NODE_GUID, NODE, PORT, PEER_GUID, PEER, PEER_PORT, FROM, TO, MEASURED, BEFORE, AFTER, LINK_COLUMNS };

static const struct column link_columns[LINK_COLUMNS] = {
	CELLS_NODE_COLUMNS(NODE_GUID),
	CELLS_PEER_COLUMNS(PEER_GUID),
	[FROM] = { .title = "FROM", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TO] = { .title = "TO", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[MEASURED] = { .key = "measured_percent", .title = "MEASURED%", .kind = COLUMN_PERCENT },
	[BEFORE] = { .key = "before_percent", .title = "BEFORE%", .kind = COLUMN_PERCENT },
	[AFTER] = { .key = "after_percent", .title = "AFTER%", .kind = COLUMN_PERCENT, .flags = COLUMN_LOAD },
};

static void put_links(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;
	const struct what_if *of = listing->of;

	for (size_t i = 0; i < of->link_count; i++) {
		const struct what_if_link *link = &of->links[i];

		if (i == ROWS_MOST && !shows_all(result, listing)) {
			result_note(result, "and %zu more (--all)", of->link_count - i);
			break;
		}
		cells_port(result, NODE_GUID, of->fabric, link->port);
		cells_port(result, PEER_GUID, of->fabric, of->fabric->ports[link->port].peer);
		cells_port_name(result, FROM, of->shown, of->fabric, link->port);
		cells_port_name(result, TO, of->shown, of->fabric, of->fabric->ports[link->port].peer);
		result_real(result, MEASURED, 100 * link->measured);
		result_real(result, BEFORE, 100 * link->before);
		result_real(result, AFTER, 100 * link->after);
		if (link->after >= 1)
			result_show(result, AFTER, NULL, of->xmit ? STYLE_CRITICAL : STYLE_WARNING);
		result_end_row(result);
	}
}

/* --- jobs --- */

enum { JOB, JOB_HOSTS, JOB_CUT_OFF, JOB_REDUCED, JOB_CHANGED, JOB_COLUMNS };

static const struct column job_columns[JOB_COLUMNS] = {
	[JOB] = { .key = "job", .title = "JOB", .kind = COLUMN_TEXT },
	[JOB_HOSTS] = { .key = "hosts", .title = "HOSTS", .kind = COLUMN_INTEGER },
	[JOB_CUT_OFF] = { .key = "hosts_cut_off", .title = "CUT OFF", .kind = COLUMN_INTEGER },
	[JOB_REDUCED] = { .key = "hosts_with_fewer_links", .title = "FEWER LINKS", .kind = COLUMN_INTEGER },
	[JOB_CHANGED] = { .key = "changed_paths_percent", .title = "CHANGED PATHS%", .kind = COLUMN_PERCENT },
};

static void put_jobs(struct result *result, const void *ctx)
{
	const struct what_if *of = ((const struct listing *)ctx)->of;

	for (size_t i = 0; i < of->job_count; i++) {
		const struct what_if_job *job = &of->jobs[i];

		result_text(result, JOB, job->name);
		result_integer(result, JOB_HOSTS, job->hosts);
		result_integer(result, JOB_CUT_OFF, job->cut_off);
		if (job->cut_off)
			result_show(result, JOB_CUT_OFF, NULL, STYLE_CRITICAL);
		result_integer(result, JOB_REDUCED, job->reduced);
		result_real(result, JOB_CHANGED, 100 * job->changed);
		result_end_row(result);
	}
}

/* --- the page --- */

static bool is_cut_off(const struct what_if *of, uint32_t node)
{
	for (size_t i = 0; i < of->cut_off.count; i++)
		if (of->cut_off.hosts[i] == of->shape->nodes[node].host)
			return true;
	return false;
}

/* A subnet manager that is taken out, or no longer reaches the fabric, is worth a line. */
static void add_manager_notes(const struct what_if *of, struct page *page)
{
	for (uint32_t i = 0; i < of->fabric->port_count; i++) {
		uint32_t node = of->fabric->ports[i].node;

		if (!port_is_sm(&of->fabric->ports[i]) || of->fabric->nodes[node].type == NODE_SWITCH ||
		    !link_is_usable(of->before, i))
			continue;
		if (!link_is_usable(of->after, i))
			page_add_note(page, SHOWN, false, "a subnet manager runs on %s, which loses its link",
				      of->shown->names[node]);
		else if (is_cut_off(of, node))
			page_add_note(page, SHOWN, false, "a subnet manager runs on %s, which is cut off: without "
				      "another one the rest of the fabric is not routed again", of->shown->names[node]);
	}
}

static void add_notes(const struct what_if *of, const struct head *head, struct page *page)
{
	const struct shape *before = of->shape, *after = of->shape_after;
	const struct leaf_paths *then = &of->paths_before, *now = &of->paths_after;
	uint32_t adaptive = 0;

	if (of->links_taken)
		page_add_note(page, SHOWN, false, "without %s", what_is_taken(of, page));
	if (of->rate_count)
		page_add_note(page, SHOWN, false, "with %s", what_is_slower(of, page));
	if (of->cut_off.pairs)
		page_add_note(page, SHOWN, false, "%" PRIu64 " of %" PRIu64 " pairs of hosts no longer reach each "
			      "other", of->cut_off.pairs, of->cut_off.pairs_before);
	if (before->bisection_bits_per_s)
		page_add_note(page, SHOWN, false, "bisection bandwidth %s%.0f -> %.0f Gb/s",
			      before->bisection_at_most ? "at most " : "",
			      (double)before->bisection_bits_per_s_now / 1e9,
			      (double)after->bisection_bits_per_s_now / 1e9);
	if (now->from != FABRIC_NONE)
		page_add_note(page, SHOWN, false, "fewest shortest paths between two leaves %.0f -> %.0f (%s to %s), "
			      "on average %.1f -> %.1f", then->fewest, now->fewest, of->shown->names[now->from],
			      of->shown->names[now->to], then->mean, now->mean);
	add_manager_notes(of, page);
	page_add_note(page, SHOWN, true, "demand: %s", head->demand);
	if (of->unknown_ports)
		page_add_note(page, SHOWN, true, "the traffic of %u HCA port%s is unknown and counts as 0: loads may "
			      "be higher", of->unknown_ports, text_plural(of->unknown_ports));
	page_add_note(page, SHOWN, true, "tables: %s", head->tables);
	for (uint32_t i = 0; i < of->fabric->node_count; i++)
		adaptive += of->fabric->nodes[i].adaptive == ADAPTIVE_ON;
	if (adaptive)
		page_add_note(page, SHOWN, true, "%u switch%s adaptively: load is spread better than predicted",
			      adaptive, adaptive == 1 ? " routes" : "es route");
}

static void add_table(struct page *page, const char *key, const char *title, unsigned in, const struct column *columns,
		      size_t count, page_fill *fill, const void *ctx)
{
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = in, .key = key, .title = title,
					       .table = { columns, count, fill, ctx } });
}

struct page *what_if_page(const struct what_if *of, bool all)
{
	struct page *page = page_create("What if");
	struct head *head = page_alloc(page, 1, sizeof(*head));
	const unsigned data = PAGE_JSON;

	if (!head)
		return page;
	*head = (struct head){ .listing = { of, all }, .sentence = sentence_of(of, page), .demand = model_of(of, page),
			       .tables = tables_of(of, page) };
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT, .in = PAGE_HTML, .state = of->safe ? PAGE_GOOD : PAGE_CRITICAL,
		.verdict = { .heading = "What if", .word = of->safe ? "safe" : "not safe", .sentence = head->sentence },
	});
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT, .note = head->sentence,
					       .state = of->safe ? PAGE_GOOD : PAGE_CRITICAL });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "what_if",
					       .table = { head_columns, HEAD_COLUMNS, put_head, head } });
	add_notes(of, head, page);
	add_table(page, "hosts", "Hosts", data | (of->cut_off.count || of->cut_off.reduced_count ? SHOWN : 0),
		  host_columns, HOST_COLUMNS, put_hosts, head);
	add_table(page, "tiers", "Capacity", data | (of->tier_count ? SHOWN : 0), tier_columns, TIER_COLUMNS, put_tiers,
		  head);
	add_table(page, "links", "Busiest uplinks", data | PAGE_CSV | (of->link_count ? SHOWN : 0), link_columns,
		  LINK_COLUMNS, put_links, head);
	add_table(page, "jobs", "Running jobs", data | (of->job_count ? SHOWN : 0), job_columns, JOB_COLUMNS, put_jobs,
		  head);
	return page;
}
