/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage_pairs.c - rounds of host pairs that load what is left (fabric/rounds.h) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/coverage/coverage.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/rounds.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/coverage_columns.h"
#include "facts/moment.h"
#include "pages/coverage.h"
#include "pages/subject.h"
#include "storage/reader.h"

enum { LEFT_SHOWN = 20 };

struct pairs_page {
	const struct coverage_report *report;
	const struct coverage_pairs *choice;
	const struct rounds *rounds;
};

static const char *rail_name(const struct shape *shape, const struct round_pair *pair)
{
	uint32_t rail = shape->ports[pair->from].rail;

	return rail == SHAPE_NONE ? "" : shape->rails[rail].name;
}

/* The round of a pair, from 1. */
static bool is_chosen(const struct pairs_page *page, size_t round, const struct round_pair *pair)
{
	return (!page->choice->round || (size_t)page->choice->round == round) &&
	       (!page->choice->rail || !strcmp(page->choice->rail, rail_name(page->report->moment->shape, pair)));
}

static void put_pairs(struct result *result, const void *ctx)
{
	const struct pairs_page *page = ctx;
	size_t at = 0;

	for (size_t round = 1; round <= page->rounds->count; round++)
		for (; at < page->rounds->ends[round - 1]; at++) {
			const struct pair_facts facts = {
				.shape = page->report->moment->shape, .order = &page->report->moment->names_shown,
				.pair = &page->rounds->pairs[at], .round = round,
				.load_us = page->report->limits.load_us,
			};

			if (!is_chosen(page, round, facts.pair))
				continue;
			result_fill(result, &facts);
			if (!result_end_row(result))
				return;
		}
	result_none(result, "no pair of hosts is necessary, or none can load what is left");
}

enum { LEFT_NAME, LEFT_GUID, LEFT_NODE, LEFT_PORT, LEFT_PEER, LEFT_ROLE, LEFT_COLUMNS };

static const struct column left_columns[LEFT_COLUMNS] = {
	[LEFT_NAME] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(LEFT_GUID),
	[LEFT_PEER] = { .key = "peer", .title = "PEER", .kind = COLUMN_TEXT,
			.flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[LEFT_ROLE] = { .key = "role", .title = "ROLE", .kind = COLUMN_TEXT },
};

static void put_left(struct result *result, const void *ctx)
{
	const struct pairs_page *page = ctx;
	const struct moment *moment = page->report->moment;
	bool is_limited = result_rendering(result) == PAGE_TEXT && !page->report->all;
	size_t i;

	for (i = 0; i < page->rounds->left_count && (!is_limited || i < LEFT_SHOWN); i++) {
		uint32_t port = page->rounds->left[i];
		char role[SHAPE_ROLE_SIZE];

		cells_port_name(result, LEFT_NAME, &moment->names_shown, moment->fabric, port);
		cells_port(result, LEFT_GUID, moment->fabric, port);
		cells_port_name(result, LEFT_PEER, &moment->names_shown, moment->fabric,
				moment->fabric->ports[port].peer);
		result_text(result, LEFT_ROLE, shape_port_role(moment->shape, port, role));
		result_end_row(result);
	}
	if (i < page->rounds->left_count)
		result_note(result, "and %zu more (--all)", page->rounds->left_count - i);
}

enum { SUM_ROUNDS, SUM_AT_LEAST, SUM_PAIRS, SUM_WANTED, SUM_LOADED, SUM_NO_ROUTE, SUM_LEFT, SUM_SECONDS, SUM_COLUMNS };

static const struct column sum_columns[SUM_COLUMNS] = {
	[SUM_ROUNDS] = { .key = "rounds", .kind = COLUMN_INTEGER },
	[SUM_AT_LEAST] = { .key = "rounds_at_least", .kind = COLUMN_INTEGER },
	[SUM_PAIRS] = { .key = "pairs", .kind = COLUMN_INTEGER },
	[SUM_WANTED] = { .key = "directions", .kind = COLUMN_INTEGER },
	[SUM_LOADED] = { .key = "directions_loaded", .kind = COLUMN_INTEGER },
	[SUM_NO_ROUTE] = { .key = "directions_without_route", .kind = COLUMN_INTEGER },
	[SUM_LEFT] = { .key = "directions_left", .kind = COLUMN_INTEGER },
	[SUM_SECONDS] = { .key = "seconds", .kind = COLUMN_REAL },
};

static void put_sum(struct result *result, const void *ctx)
{
	const struct pairs_page *page = ctx;
	const struct rounds *rounds = page->rounds;

	result_unsigned(result, SUM_ROUNDS, rounds->count);
	result_unsigned(result, SUM_AT_LEAST, rounds->at_least);
	result_unsigned(result, SUM_PAIRS, rounds->pair_count);
	result_unsigned(result, SUM_WANTED, rounds->wanted);
	result_unsigned(result, SUM_LOADED, rounds->loaded);
	result_unsigned(result, SUM_NO_ROUTE, rounds->no_route);
	result_unsigned(result, SUM_LEFT, rounds->left_count);
	result_real(result, SUM_SECONDS, (double)rounds->count * (double)page->report->limits.load_us / 1e6);
	result_end_row(result);
}

static const char *sentence(const struct pairs_page *of, struct page *page)
{
	const struct rounds *rounds = of->rounds;
	struct text text = { 0 };
	char span[WHEN_SIZE];

	if (!rounds->wanted)
		return of->report->all ? "no link is active" : "all active links have carried the load";
	text_appendf(&text, "%zu round%s of %s load%s %zu of %zu link directions", rounds->count,
		     text_plural(rounds->count), when_format_span(of->report->limits.load_us, span),
		     rounds->count == 1 ? "s" : "", rounds->loaded, rounds->wanted);
	if (rounds->count)
		text_appendf(&text, "; at least %zu %s necessary", rounds->at_least,
			     rounds->at_least == 1 ? "is" : "are");
	if (rounds->no_route)
		text_appendf(&text, "; %zu %s crossed by no route between %s", rounds->no_route,
			     rounds->no_route == 1 ? "is" : "are", of->choice->hosts.count ? "these hosts" :
			     "compute hosts (--hosts names others, too)");
	if (rounds->left_count > rounds->no_route)
		text_appendf(&text, "; %zu cannot reach the load: slower links are on their routes, or too few hosts",
			     rounds->left_count - rounds->no_route);
	return page_keep(page, &text);
}

static struct page *make_page(const struct pairs_page *of)
{
	static const struct column_source source = { .columns = pair_columns };
	const struct column_list list = { .sources = &source, .source_count = 1 };
	struct page *page = page_create("Pairs of hosts");
	size_t count;
	const struct column *columns = page_columns(page, &list, &count);

	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT, .note = sentence(of, page) });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "summary",
					       .table = { sum_columns, SUM_COLUMNS, put_sum, of } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "pairs",
					       .table = { columns, count, put_pairs, of } });
	if (of->rounds->left_count)
		page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_TEXT, .key = "left",
						       .title = "Not loaded by any pair",
						       .table = { left_columns, LEFT_COLUMNS, put_left, of } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "left",
					       .table = { left_columns, LEFT_COLUMNS, put_left, of } });
	return page;
}

/* Names for MPI: senders, then receivers. */
static int print_hostfile(const struct pairs_page *of, struct error *err)
{
	const struct shape *shape = of->report->moment->shape;
	size_t round = (size_t)of->choice->round, at = round > 1 ? of->rounds->ends[round - 2] : 0;
	const char *rail = NULL;
	struct text text = { 0 };

	for (int receivers = 0; receivers < 2; receivers++)
		for (size_t i = at; i < of->rounds->ends[round - 1]; i++) {
			const struct round_pair *pair = &of->rounds->pairs[i];
			uint32_t node = shape->fabric->ports[receivers ? pair->to : pair->from].node;

			if (!is_chosen(of, round, pair))
				continue;
			if (rail && strcmp(rail, rail_name(shape, pair)) != 0) {
				text_done(&text);
				return err_set(err, ERR_USAGE, "round %zu has pairs of the rails %s and %s: choose one "
					       "with --rail", round, rail, rail_name(shape, pair));
			}
			rail = rail_name(shape, pair);
			text_appendf(&text, "%s\n", shape->nodes[node].host == SHAPE_NONE ?
				     shape->fabric->nodes[node].name : shape->hosts[shape->nodes[node].host].name);
		}
	return output_text(of->choice->options, &text, err);
}

static int check_choice(const struct command *command, const struct pairs_page *of, struct error *err)
{
	const struct shape *shape = of->report->moment->shape;
	bool found = !of->choice->rail;

	for (size_t i = 0; i < shape->rail_count; i++)
		found |= of->choice->rail && !strcmp(of->choice->rail, shape->rails[i].name);
	if (!found)
		return options_usage_error(command, err, "no rail '%s': 'ibwire topology show' lists the rails",
					   of->choice->rail);
	if (of->choice->round > (int64_t)of->rounds->count)
		return options_usage_error(command, err, "there is no round %" PRId64 ": %zu round%s suffice%s",
					   of->choice->round, of->rounds->count, text_plural(of->rounds->count),
					   of->rounds->count == 1 ? "s" : "");
	return 0;
}

/* The HCA ports that take part. */
static int mark_senders(const struct coverage_report *report, const struct host_set *hosts, bool *ret,
			struct error *err)
{
	const struct shape *shape = report->moment->shape;
	struct host_set named = { 0 };
	size_t count = 0;
	int code = shape_name_hosts(shape, hosts, &named, err);

	for (uint32_t i = 0; code == 0 && i < report->moment->fabric->port_count; i++) {
		uint32_t host = shape->nodes[report->moment->fabric->ports[i].node].host;

		ret[i] = host != SHAPE_NONE && host_set_has(&named, shape->hosts[host].name);
		count += ret[i];
	}
	free(named.names);
	if (code == 0 && !count)
		code = err_set(err, ERR_USAGE, "the fabric has none of the hosts of --hosts");
	return code;
}

static int plan_rounds(const struct coverage_report *report, const struct coverage_pairs *pairs,
		       const struct routes *routes, struct rounds *ret, struct error *err)
{
	const struct fabric *fabric = report->moment->fabric;
	bool *wanted = calloc(fabric->port_count + 1, sizeof(*wanted));
	bool *may_send = calloc(fabric->port_count + 1, sizeof(*may_send));
	int code = wanted && may_send ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		wanted[i] = coverage_is_judged(report, i) && fabric_link_state(fabric, i) == PORT_ACTIVE &&
			    (report->all || coverage_left(&report->coverage, i) &
					    (COVERAGE_NOT_LOADED | COVERAGE_LOAD_UNKNOWN));
	if (code == 0 && pairs->hosts.count)
		code = mark_senders(report, &pairs->hosts, may_send, err);
	if (code == 0)
		code = rounds_plan(&(struct rounds_query){
			.shape = report->moment->shape, .routes = routes, .wanted = wanted,
			.may_send = pairs->hosts.count ? may_send : NULL,
			.share = report->limits.min_load_percent / 100 }, ret, err);
	free(wanted);
	free(may_send);
	return code;
}

int coverage_show_pairs(const struct command *command, const struct coverage_report *report,
			const struct coverage_pairs *pairs, struct error *err)
{
	struct rounds rounds = { 0 };
	struct routes routes = { 0 };
	const struct pairs_page page = { report, pairs, &rounds };
	int code = reader_routes(report->moment->reader, report->coverage.until_us, &routes, err);

	if (code == 0 && !routes.count)
		code = err_set(err, ERR_UNAVAILABLE, "no forwarding tables were read before this time, so no routes of "
			       "pairs are known (ibwire collect --routes)");
	if (code == 0)
		code = plan_rounds(report, pairs, &routes, &rounds, err);
	if (code == 0)
		code = check_choice(command, &page, err);
	if (code == 0)
		code = pairs->hostfile ? print_hostfile(&page, err) :
					 output_page(make_page(&page), pairs->options, NULL, err);
	if (code == 0)
		code = rounds.left_count > 0;
	rounds_done(&rounds);
	routes_done(&routes);
	return code;
}
