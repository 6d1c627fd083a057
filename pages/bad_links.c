/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/bad_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "base/err.h"
#include "base/text.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "facts/cells.h"
#include "facts/link.h"
#include "facts/order.h"
#include "storage/findings.h"

/* Rows in text without --all. */
enum { ROWS_MOST = 40 };

static bool is_about_link(enum finding_kind kind)
{
	return kind == FINDING_LINK_DEGRADED || kind == FINDING_LINK_FLAPPING || kind == FINDING_SYMBOL_ERRORS ||
	       kind == FINDING_RECEIVE_ERRORS || kind == FINDING_FEC_UNCORRECTABLE || kind == FINDING_LINK_ERRORS;
}

static int make_room(struct bad_links *bad, struct error *err)
{
	size_t ports = bad->shape->fabric->port_count + 1;

	bad->links = calloc(ports, sizeof(*bad->links));
	bad->reasons = calloc(ports, sizeof(*bad->reasons));
	return bad->links && bad->reasons ? 0 : err_nomem(err);
}

static void add_link(struct bad_links *bad, uint32_t port, double badness, const char *reason)
{
	const struct fabric *fabric = bad->shape->fabric;
	struct bad_link *link = NULL;
	size_t used;

	if (!link_is_usable(fabric, port))
		return;
	if (fabric->ports[port].peer < port)
		port = fabric->ports[port].peer;
	for (size_t i = 0; i < bad->count && !link; i++)
		if (bad->links[i].port == port)
			link = &bad->links[i];
	if (!link) {
		link = &bad->links[bad->count++];
		*link = (struct bad_link){ .port = port };
	}
	link->badness += badness;
	used = strlen(bad->reasons[port]);
	if (!strstr(bad->reasons[port], reason))
		snprintf(bad->reasons[port] + used, sizeof(*bad->reasons) - used, "%s%s", used ? ", " : "", reason);
}

int bad_links_of_findings(struct bad_links *bad, const struct finding_row *rows, size_t count, struct error *err)
{
	const struct fabric *fabric = bad->shape->fabric;
	int code = make_room(bad, err);

	for (size_t i = 0; code == 0 && i < count; i++) {
		const struct finding *finding = &rows[i].finding;
		uint64_t guid;
		uint8_t num;

		if (!is_about_link(finding->kind) || finding->ok_since_us)
			continue;
		for (unsigned at = 0; finding_end(finding, fabric, at, &guid, &num); at++) {
			uint32_t port = guid && num ? fabric_find_port(fabric, guid, num) : FABRIC_NONE;

			if (port != FABRIC_NONE)
				add_link(bad, port, 1 + 1000 * finding->severity, finding_kind_name(finding->kind));
		}
	}
	return code;
}

int bad_links_of_shape(struct bad_links *bad, struct error *err)
{
	int code = make_room(bad, err);

	for (size_t i = 0; code == 0 && i < bad->shape->slow_count; i++) {
		const struct shape_slow *slow = &bad->shape->slow[i];

		add_link(bad, slow->port, 1 - (double)slow->bits_per_s / (double)slow->expected_bits_per_s,
			 finding_kind_name(FINDING_LINK_DEGRADED));
	}
	return code;
}

void bad_links_done(struct bad_links *bad)
{
	free(bad->links);
	free(bad->reasons);
}

/* --- the page --- */

struct listing {
	const struct bad_links *bad;
	const char *sentence;
	bool all;
};

enum { BAD, FIRST, ROUNDS, BLOCKED, LARGEST, KEEP, ANSWER, HEAD_COLUMNS };

static const struct column head_columns[HEAD_COLUMNS] = {
	[BAD] = { .key = "bad_links", .kind = COLUMN_INTEGER },
	[FIRST] = { .key = "out_at_once", .kind = COLUMN_INTEGER },
	[ROUNDS] = { .key = "rounds", .kind = COLUMN_INTEGER },
	[BLOCKED] = { .key = "blocked", .kind = COLUMN_INTEGER },
	[LARGEST] = { .key = "is_largest", .kind = COLUMN_BOOL },
	[KEEP] = { .key = "keep_percent", .kind = COLUMN_PERCENT },
	[ANSWER] = { .key = "answer", .kind = COLUMN_TEXT },
};

static size_t count_blocked(const struct bad_links *bad)
{
	size_t blocked = 0;

	for (size_t i = 0; i < bad->count; i++)
		blocked += !bad->links[i].round;
	return blocked;
}

static void put_head(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;
	const struct bad_links *bad = listing->bad;

	result_integer(result, BAD, (int64_t)bad->count);
	result_integer(result, FIRST, (int64_t)bad->plan.first);
	result_integer(result, ROUNDS, bad->plan.rounds);
	result_integer(result, BLOCKED, (int64_t)count_blocked(bad));
	result_bool(result, LARGEST, bad->plan.largest);
	result_real(result, KEEP, 100 * bad->keep);
	result_text(result, ANSWER, listing->sentence);
	result_end_row(result);
}

enum { ROUND, NODE_GUID, NODE, PORT, PEER_GUID, PEER, PEER_PORT, LINK_FROM, LINK_TO, LINK_RATE, FINDINGS, BLOCKER,
       COLUMNS };

static const struct column columns[COLUMNS] = {
	[ROUND] = { .key = "round", .title = "ROUND", .kind = COLUMN_INTEGER },
	CELLS_NODE_COLUMNS(NODE_GUID),
	CELLS_PEER_COLUMNS(PEER_GUID),
	[LINK_FROM] = { .title = "LINK", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[LINK_TO] = { .title = "TO", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[LINK_RATE] = { .key = "rate", .title = "SPEED", .kind = COLUMN_TEXT },
	[FINDINGS] = { .key = "findings", .title = "FINDINGS", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[BLOCKER] = { .key = "blocked_by", .title = "BLOCKED BY", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static void put_blocker(struct result *result, const struct bad_links *bad, const struct bad_link *link)
{
	if (link->round)
		return;
	result_text(result, ROUND, NULL);
	result_show(result, ROUND, "-", STYLE_WARNING);
	if (link->blocker == FABRIC_NONE)
		result_text(result, BLOCKER, "hosts would be cut off");
	else
		result_text(result, BLOCKER, bad->shown->names[link->blocker]);
}

static void put_links(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;
	const struct bad_links *bad = listing->bad;
	const struct fabric *fabric = bad->shape->fabric;
	char rate[LINK_TEXT_SIZE];

	for (size_t i = 0; i < bad->count; i++) {
		const struct bad_link *link = &bad->links[i];

		if (i == ROWS_MOST && !listing->all && !(result_rendering(result) & (PAGE_JSON | PAGE_CSV))) {
			result_note(result, "and %zu more (--all)", bad->count - i);
			break;
		}
		if (link->round)
			result_integer(result, ROUND, link->round);
		put_blocker(result, bad, link);
		cells_port(result, NODE_GUID, fabric, link->port);
		cells_port(result, PEER_GUID, fabric, fabric->ports[link->port].peer);
		cells_port_name(result, LINK_FROM, bad->shown, fabric, link->port);
		cells_port_name(result, LINK_TO, bad->shown, fabric, fabric->ports[link->port].peer);
		result_text(result, LINK_RATE, link_text(&fabric->ports[link->port], false, rate));
		result_text(result, FINDINGS, bad->reasons[link->port]);
		result_end_row(result);
	}
	result_none(result, "no link has an open finding");
}

static const char *sentence_of(const struct bad_links *bad, struct page *page)
{
	size_t blocked = count_blocked(bad);
	struct text text = { 0 };

	if (!bad->count)
		return "no bad links: nothing is to be taken out";
	text_appendf(&text, "%zu of %zu bad link%s can be taken out at once%s", bad->plan.first, bad->count,
		     text_plural(bad->count), bad->plan.largest ? "" : " (a larger set may exist)");
	if (bad->plan.rounds > 1)
		text_appendf(&text, ", all%s in %u rounds of repair", blocked ? " but those that are blocked" : "",
			     bad->plan.rounds);
	if (blocked)
		text_appendf(&text, "; %zu can never be taken out at --keep %.0f%%", blocked, 100 * bad->keep);
	return page_keep(page, &text);
}

struct page *bad_links_page(const struct bad_links *bad, bool all)
{
	struct page *page = page_create("Bad links");
	struct listing *listing = page_alloc(page, 1, sizeof(*listing));
	const unsigned shown = PAGE_TEXT | PAGE_HTML;
	bool good;

	if (!listing)
		return page;
	*listing = (struct listing){ bad, sentence_of(bad, page), all };
	good = bad->plan.first == bad->count;
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT, .in = PAGE_HTML, .state = good ? PAGE_GOOD : PAGE_WARNING,
		.verdict = { .heading = "Bad links", .sentence = listing->sentence },
	});
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT, .note = listing->sentence,
					       .state = good ? PAGE_GOOD : PAGE_WARNING });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "bad_links",
					       .table = { head_columns, HEAD_COLUMNS, put_head, listing } });
	if (bad->count && bad->shape->tier_count)
		page_add_note(page, shown, false, "every switch with hosts keeps at least %.0f %% of its paths to each "
			      "tier above, and no host is cut off; links of a round are repaired before the next one",
			      100 * bad->keep);
	if (!bad->shape->tier_count)
		page_add_note(page, shown, false, "the fabric has no tiers (%s): each host keeps at least %.0f %% of "
			      "its links and none is cut off, but switches keep no share of their links",
			      bad->shape->reason, 100 * bad->keep);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "links",
					       .in = PAGE_JSON | PAGE_CSV | (bad->count ? shown : 0),
					       .table = { columns, COLUMNS, put_links, listing } });
	return page;
}
