/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_rails.c - comparison of parts with equal expected load
 *
 * Rails of the fabric, planes, switches of each tier above the leaves, and the rails of each host.
 */
#include "pages/balance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/amount.h"
#include "facts/bars.h"

/* Limits in a table without --all: switches, and hosts with the largest imbalance. */
enum { SWITCHES_SHOWN = 16, HOSTS_SHOWN = 10, BAR_COLUMNS = 12 };

static struct balance_input input_of(const struct balance_report *report)
{
	return (struct balance_input){ .shape = report->shape, .loads = report->loads };
}

/* Add a row. @facts: its amount and name, and what its kind has; a bar relative to @most unless it has one */
static void put_amount(const struct balance_report *report, struct result *table, struct amount_facts facts,
		       double most)
{
	struct text bar = { 0 };

	facts.since_us = report->since_us;
	facts.until_us = report->until_us;
	if (!facts.bar && facts.amount.known) {
		bars_append(&bar, balance_amount_load(&facts.amount), most, BAR_COLUMNS, report->ascii);
		facts.bar = result_chars(table, &bar);
	}
	result_fill(table, &facts);
	result_end_row(table);
	text_done(&bar);
}

/* Rails of one class are a set; storage has its own rails. */
static void put_rails(const struct balance_report *report, struct result *table, struct balance_amount *amounts)
{
	const struct balance_input input = input_of(report);
	const struct shape *shape = report->shape;
	size_t next;

	for (size_t first = 0; first < shape->rail_count; first = next) {
		uint8_t class = shape->rails[first].class;

		for (next = first; next < shape->rail_count && shape->rails[next].class == class; next++) {
			amounts[next] = (struct balance_amount){ .kind = "rail", .index = (uint32_t)next };
			for (uint32_t j = 0; j < shape->rails[next].count; j++)
				balance_amount_add(&input, shape->rail_ports[shape->rails[next].first + j],
						   &amounts[next]);
		}
		balance_amounts_compare(amounts + first, next - first);
		for (size_t i = first; i < next; i++) {
			put_amount(report, table, (struct amount_facts){ .amount = amounts[i],
					.name = shape->rails[i].name, .class = node_class_name(class) },
				   balance_amounts_most(amounts + first, next - first));
		}
	}
}

static void put_planes(const struct balance_report *report, struct result *table, struct balance_amount *amounts)
{
	const struct balance_input input = input_of(report);
	const struct shape *shape = report->shape;
	char name[24];
	size_t spines = 0;

	/* Planes of one switch each are shown as switches. */
	for (size_t i = 0; i < report->moment.fabric->node_count; i++)
		spines += shape->nodes[i].tier == 2;
	if (shape->plane_count < 2 || shape->plane_count >= spines)
		return;
	for (size_t i = 0; i < shape->plane_count; i++)
		amounts[i] = (struct balance_amount){ .kind = "plane", .index = (uint32_t)i };
	for (size_t i = 0; i < report->moment.fabric->port_count; i++) {
		uint32_t plane = shape->nodes[report->moment.fabric->ports[i].node].plane;

		/* Load up from the leaves and down to them. */
		if (shape->nodes[report->moment.fabric->ports[i].node].tier == 2 && plane < shape->plane_count &&
		    shape->ports[i].way == WAY_DOWN)
			balance_amount_add(&input, (uint32_t)i, &amounts[plane]);
	}
	balance_amounts_compare(amounts, shape->plane_count);
	for (size_t i = 0; i < shape->plane_count; i++) {
		snprintf(name, sizeof(name), "plane %zu", i + 1);
		put_amount(report, table, (struct amount_facts){ .amount = amounts[i], .name = name },
			   balance_amounts_most(amounts, shape->plane_count));
	}
}

static int compare_load(const void *a, const void *b)
{
	const struct balance_amount *left = a, *right = b;
	double x = balance_amount_load(left), y = balance_amount_load(right);

	x = isnan(x) ? -1 : x;
	y = isnan(y) ? -1 : y;
	if (x != y)
		return x > y ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Switches of each tier above the leaves, by their load to and from the tier below. */
static void put_tier(const struct balance_report *report, struct result *table, struct balance_amount *amounts,
		     unsigned tier, bool is_limited)
{
	const struct balance_input input = input_of(report);
	const struct fabric *fabric = report->moment.fabric;
	size_t count = 0, i;

	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (report->shape->nodes[i].tier != tier)
			continue;
		amounts[count] = (struct balance_amount){ .kind = "switch", .index = (uint32_t)i };
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			if (report->shape->ports[j].way == WAY_DOWN)
				balance_amount_add(&input, j, &amounts[count]);
		count++;
	}
	balance_amounts_compare(amounts, count);
	qsort(amounts, count, sizeof(*amounts), compare_load);
	for (i = 0; i < count && (!is_limited || i < SWITCHES_SHOWN); i++) {
		put_amount(report, table, (struct amount_facts){ .amount = amounts[i],
				.name = report->moment.names_shown.names[amounts[i].index],
				.node_guid = fabric->nodes[amounts[i].index].guid, .tier = tier },
			   balance_amounts_most(amounts, count));
	}
	if (i < count)
		result_note(table, "and %zu more switch%s of tier %u with lower load (--all)", count - i,
			    count - i == 1 ? "" : "es", tier);
}

/* One bar per HCA of a host. */
static void append_bars(const struct balance_report *report, const struct shape_host *host, struct text *bars)
{
	const struct balance_input input = input_of(report);
	struct balance_amount rails[BALANCE_RAILS_MOST], sum = { 0 };
	uint32_t count = balance_host_rails(&input, host, rails, &sum);

	for (uint32_t i = 0; i < count; i++)
		bars_append_spark(bars, balance_amount_load(&rails[i]), balance_amounts_most(rails, count),
			      report->ascii);
}

static void put_hosts(const struct balance_report *report, struct result *table, struct balance_amount *amounts,
		      bool is_limited)
{
	const struct balance_input input = input_of(report);
	struct balance_amount rails[BALANCE_RAILS_MOST];
	const struct shape *shape = report->shape;
	size_t count = 0, idle = 0, i;

	for (i = 0; i < shape->host_count; i++) {
		if (shape->hosts[i].count < 2)
			continue;
		amounts[count] = (struct balance_amount){ .kind = "host", .index = (uint32_t)i };
		balance_host_rails(&input, &shape->hosts[i], rails, &amounts[count]);
		if (is_limited && !balance_host_is_busy(&amounts[count], report->limits))
			idle++;
		else
			count++;
	}
	qsort(amounts, count, sizeof(*amounts), balance_compare_excess);
	for (i = 0; i < count && (!is_limited || i < HOSTS_SHOWN); i++) {
		const struct shape_host *host = &shape->hosts[amounts[i].index];
		struct text bars = { 0 };

		append_bars(report, host, &bars);
		put_amount(report, table, (struct amount_facts){ .amount = amounts[i], .name = host->name,
				.class = node_class_name(host->class), .bar = result_chars(table, &bars) }, 0);
		text_done(&bars);
	}
	if (i < count || idle)
		result_note(table, "and %zu more host%s with lower imbalance, %zu idle (--all)", count - i,
			    text_plural(count - i), idle);
}

static void put_all(struct result *table, const void *ctx)
{
	const struct balance_report *report = ctx;
	const struct shape *shape = report->shape;
	struct balance_amount *amounts = calloc(report->moment.fabric->node_count + shape->rail_count +
						shape->plane_count + shape->host_count + 1, sizeof(*amounts));
	bool is_limited = !(result_rendering(table) & (PAGE_JSON | PAGE_CSV)) && !report->all;
	char from[WHEN_SIZE], until[WHEN_SIZE];

	if (!amounts) {
		err_nomem(result_error(table));
		return;
	}
	put_rails(report, table, amounts);
	put_planes(report, table, amounts);
	for (unsigned tier = 2; tier <= shape->tier_count && tier <= SHAPE_TIERS_MAX; tier++)
		put_tier(report, table, amounts, tier, is_limited);
	put_hosts(report, table, amounts, is_limited);
	result_note(table, "%s to %s; IMBALANCE%%: load above the mean of its kind; hosts: busiest rail above the mean",
		    when_format_local(report->since_us, from), when_format_local(report->until_us, until));
	free(amounts);
}

struct page *balance_rails_page(const struct balance_report *report)
{
	struct page *page = page_create("Load of rails, planes, switches and hosts");

	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "",
					       .table = { amount_columns, AMOUNT_COLUMN_COUNT, put_all, report } });
	return page;
}
