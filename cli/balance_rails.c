/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_rails.c - `ibwire balance --rails`: what should carry the same, beside each other
 *
 * Rails of the whole fabric, planes, switches of each tier above the leafs, and of each host its own rails.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/balance.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* In a table without --all: so many switches, and so many hosts whose rails differ the most. */
enum { SWITCHES_SHOWN = 16, HOSTS_SHOWN = 10, BAR_COLUMNS = 12, RAILS_MOST = 32 };

enum {
	SINCE, TIME, KIND, NAME, GUID, CLASS, TIER, PORTS, KNOWN, XMIT, RCV, XMIT_PERCENT, RCV_PERCENT, SHARE, FAIR,
	BAR, OVER, COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[SINCE] = { .key = "window_since", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE },
	[TIME] = { .key = "time", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE },
	[KIND] = { .key = "kind", .title = "KIND", .kind = COLUMN_TEXT },
	[NAME] = { .key = "name", .title = "NAME", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[GUID] = { .key = "node_guid", .kind = COLUMN_GUID, .flags = COLUMN_NO_TABLE },
	[CLASS] = { .key = "class", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE },
	[PORTS] = { .key = "ports_active", .title = "PORTS", .kind = COLUMN_INTEGER, .priority = 3 },
	[KNOWN] = { .key = "ports_read", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE },
	[XMIT] = { .key = "xmit_bytes_per_s", .title = "XMIT", .kind = COLUMN_RATE, .priority = 1 },
	[RCV] = { .key = "rcv_bytes_per_s", .title = "RCV", .kind = COLUMN_RATE, .priority = 1 },
	[XMIT_PERCENT] = { .key = "xmit_utilization_percent", .title = "XMIT%", .kind = COLUMN_PERCENT },
	[RCV_PERCENT] = { .key = "rcv_utilization_percent", .title = "RCV%", .kind = COLUMN_PERCENT },
	[SHARE] = { .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT, .priority = 2 },
	[FAIR] = { .key = "capacity_share_percent", .title = "FAIR%", .kind = COLUMN_PERCENT, .priority = 2 },
	[BAR] = { .title = "MEASURED", .kind = COLUMN_TEXT, .flags = COLUMN_NO_DATA },
	[OVER] = { .key = "excess_percent", .title = "OVER%", .kind = COLUMN_PERCENT },
};

/* What some ports carried together; relative to others of its set. */
struct amount {
	const char *kind;
	uint32_t index;        /* of the rail, plane, node or host */
	double xmit, rcv;      /* bytes per us */
	double capacity;       /* bits per s of the ports that were read, one direction */
	uint32_t active, known;
	double share, fair;    /* of its set; NAN */
	double excess;         /* over its set's mean; of a host: of its busiest rail over their mean; NAN */
	char bars[RAILS_MOST * 4 + 4]; /* of a host: its rails */
};

static void add_port(const struct balance_answer *answer, uint32_t index, struct amount *amount)
{
	const struct port *port = &answer->view.fabric->ports[index];
	const struct balance_input input = { .shape = answer->shape, .loads = answer->loads };
	double xmit = balance_port_rate(&input, index, true), rcv = balance_port_rate(&input, index, false);

	if (port->state != PORT_ACTIVE)
		return;
	amount->active++;
	if (isnan(xmit) || isnan(rcv))
		return;
	amount->known++;
	amount->xmit += xmit;
	amount->rcv += rcv;
	amount->capacity += (double)port_rate_bits_per_s(port);
}

static double load_of(const struct amount *amount)
{
	return amount->capacity > 0 ? (amount->xmit + amount->rcv) / amount->capacity : NAN;
}

/* Shares and excess of those that belong together. */
static void compare_set(struct amount *amounts, size_t count)
{
	double load = 0, capacity = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		load += amounts[i].xmit + amounts[i].rcv;
		capacity += amounts[i].capacity;
	}
	for (i = 0; i < count; i++) {
		amounts[i].share = load > 0 && amounts[i].known ? (amounts[i].xmit + amounts[i].rcv) / load : NAN;
		amounts[i].fair = capacity > 0 ? amounts[i].capacity / capacity : NAN;
		amounts[i].excess = amounts[i].fair > 0 ? amounts[i].share / amounts[i].fair - 1 : NAN;
	}
}

static void put_amount(const struct balance_answer *answer, struct result *table, const struct amount *amount,
		       const char *name, double most)
{
	struct text bar = { 0 };
	double excess;

	result_integer(table, SINCE, answer->since_us);
	result_integer(table, TIME, answer->until_us);
	result_text(table, KIND, amount->kind);
	result_text(table, NAME, name);
	result_integer(table, PORTS, amount->active);
	result_integer(table, KNOWN, amount->known);
	if (amount->known) {
		result_real(table, XMIT, amount->xmit * 1e6);
		result_real(table, RCV, amount->rcv * 1e6);
	}
	if (amount->capacity > 0) {
		result_real(table, XMIT_PERCENT, 100 * amount->xmit * 8e6 / amount->capacity);
		result_real(table, RCV_PERCENT, 100 * amount->rcv * 8e6 / amount->capacity);
	}
	/* No minus before what rounds to 0. */
	excess = fabs(amount->excess) < 0.0005 ? 0 : amount->excess;
	result_real(table, SHARE, 100 * amount->share);
	result_real(table, FAIR, 100 * amount->fair);
	result_real(table, OVER, 100 * excess);
	if (amount->bars[0])
		result_text(table, BAR, amount->bars);
	else if (amount->known) {
		balance_bar(&bar, load_of(amount), most, BAR_COLUMNS, balance_is_ascii(answer));
		result_text(table, BAR, text_chars(&bar));
	}
	text_done(&bar);
}

static double most_of(const struct amount *amounts, size_t count)
{
	double most = 0;
	size_t i;

	for (i = 0; i < count; i++)
		most = load_of(&amounts[i]) > most ? load_of(&amounts[i]) : most;
	return most;
}

/* Rails of one class are a set: storage has its own. */
static bool put_rails(const struct balance_answer *answer, struct result *table, struct amount *amounts)
{
	const struct shape *shape = answer->shape;
	size_t first, next, i;
	uint32_t j;
	bool more = true;

	for (first = 0; more && first < shape->rail_count; first = next) {
		uint8_t class = shape->rails[first].class;

		for (next = first; next < shape->rail_count && shape->rails[next].class == class; next++) {
			amounts[next] = (struct amount){ .kind = "rail", .index = (uint32_t)next };
			for (j = 0; j < shape->rails[next].count; j++)
				add_port(answer, shape->rail_ports[shape->rails[next].first + j], &amounts[next]);
		}
		compare_set(amounts + first, next - first);
		for (i = first; more && i < next; i++) {
			put_amount(answer, table, &amounts[i], shape->rails[i].name,
				   most_of(amounts + first, next - first));
			result_text(table, CLASS, node_class_name(class));
			more = result_end_row(table);
		}
	}
	return more;
}

static bool put_planes(const struct balance_answer *answer, struct result *table, struct amount *amounts)
{
	const struct shape *shape = answer->shape;
	char name[24];
	size_t spines = 0, i;
	bool more = true;

	/* Where each plane is one switch, the switches say it. */
	for (i = 0; i < answer->view.fabric->node_count; i++)
		spines += shape->nodes[i].tier == 2;
	if (shape->plane_count < 2 || shape->plane_count >= spines)
		return true;
	for (i = 0; i < shape->plane_count; i++)
		amounts[i] = (struct amount){ .kind = "plane", .index = (uint32_t)i };
	for (i = 0; i < answer->view.fabric->port_count; i++) {
		uint32_t plane = shape->nodes[answer->view.fabric->ports[i].node].plane;

		/* What comes up from the leafs, and goes down to them. */
		if (shape->nodes[answer->view.fabric->ports[i].node].tier == 2 && plane < shape->plane_count &&
		    shape->ports[i].way == WAY_DOWN)
			add_port(answer, (uint32_t)i, &amounts[plane]);
	}
	compare_set(amounts, shape->plane_count);
	for (i = 0; more && i < shape->plane_count; i++) {
		snprintf(name, sizeof(name), "plane %zu", i + 1);
		put_amount(answer, table, &amounts[i], name, most_of(amounts, shape->plane_count));
		more = result_end_row(table);
	}
	return more;
}

static int compare_load(const void *a, const void *b)
{
	const struct amount *left = a, *right = b;
	double x = isnan(load_of(left)) ? -1 : load_of(left), y = isnan(load_of(right)) ? -1 : load_of(right);

	if (x != y)
		return x > y ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Of each tier the switches above the leafs, by what they have to do with those below. */
static bool put_tier(const struct balance_answer *answer, struct result *table, struct amount *amounts, unsigned tier)
{
	bool for_people = answer->options.format == RESULT_TABLE && !answer->all, more = true;
	const struct fabric *fabric = answer->view.fabric;
	size_t count = 0, i;
	uint32_t j;

	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (answer->shape->nodes[i].tier != tier)
			continue;
		amounts[count] = (struct amount){ .kind = "switch", .index = (uint32_t)i };
		for (j = node->first_port; j < node->first_port + node->ports; j++)
			if (answer->shape->ports[j].way == WAY_DOWN)
				add_port(answer, j, &amounts[count]);
		count++;
	}
	compare_set(amounts, count);
	qsort(amounts, count, sizeof(*amounts), compare_load);
	for (i = 0; more && i < count && (!for_people || i < SWITCHES_SHOWN); i++) {
		put_amount(answer, table, &amounts[i], answer->view.names_shown.names[amounts[i].index],
			   most_of(amounts, count));
		result_unsigned(table, GUID, fabric->nodes[amounts[i].index].guid);
		result_integer(table, TIER, tier);
		more = result_end_row(table);
	}
	if (i < count)
		result_note(table, "and %zu more switches of tier %u, with less load (--all)", count - i, tier);
	return more;
}

/* A host's HCAs beside each other: how much more than its rails' mean the busiest has. */
static void sum_host(const struct balance_answer *answer, const struct shape_host *host, struct amount *amount)
{
	const struct fabric *fabric = answer->view.fabric;
	struct amount rails[RAILS_MOST] = { 0 };
	struct text bars = { 0 };
	uint32_t count = 0, i, j;

	for (i = 0; i < host->count && count < RAILS_MOST; i++, count++) {
		const struct node *node = &fabric->nodes[answer->shape->host_nodes[host->first + i]];

		for (j = node->first_port; j < node->first_port + node->ports; j++) {
			add_port(answer, j, &rails[count]);
			add_port(answer, j, amount);
		}
	}
	compare_set(rails, count);
	amount->share = amount->fair = amount->excess = NAN;
	for (i = 0; i < count; i++) {
		if (!(rails[i].excess <= amount->excess))
			amount->excess = rails[i].excess;
		balance_spark(&bars, load_of(&rails[i]), most_of(rails, count), balance_is_ascii(answer));
	}
	snprintf(amount->bars, sizeof(amount->bars), "%s", text_chars(&bars));
	text_done(&bars);
}

static int compare_excess(const void *a, const void *b)
{
	const struct amount *left = a, *right = b;
	double x = isnan(left->excess) ? -1 : left->excess, y = isnan(right->excess) ? -1 : right->excess;

	if (x != y)
		return x > y ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Is a host busy enough that its rails can be held against each other? */
static bool is_busy(const struct balance_answer *answer, const struct amount *amount)
{
	return load_of(amount) * 8e6 / 2 >= answer->limits->active_mean;
}

static bool put_hosts(const struct balance_answer *answer, struct result *table, struct amount *amounts)
{
	bool for_people = answer->options.format == RESULT_TABLE && !answer->all, more = true;
	const struct shape *shape = answer->shape;
	size_t count = 0, idle = 0, i;

	for (i = 0; i < shape->host_count; i++) {
		if (shape->hosts[i].count < 2)
			continue;
		amounts[count] = (struct amount){ .kind = "host", .index = (uint32_t)i };
		sum_host(answer, &shape->hosts[i], &amounts[count]);
		if (for_people && !is_busy(answer, &amounts[count]))
			idle++;
		else
			count++;
	}
	qsort(amounts, count, sizeof(*amounts), compare_excess);
	for (i = 0; more && i < count && (!for_people || i < HOSTS_SHOWN); i++) {
		put_amount(answer, table, &amounts[i], shape->hosts[amounts[i].index].name, 0);
		result_text(table, CLASS, node_class_name(shape->hosts[amounts[i].index].class));
		more = result_end_row(table);
	}
	if (i < count || idle)
		result_note(table, "and %zu more hosts whose rails differ less, %zu idle ones (--all)", count - i,
			    idle);
	return more;
}

int balance_rails(const struct balance_answer *answer, struct error *err)
{
	const struct shape *shape = answer->shape;
	struct result_options how = options_result(&answer->options);
	struct amount *amounts = calloc(answer->view.fabric->node_count + shape->rail_count + shape->plane_count +
					shape->host_count + 1, sizeof(*amounts));
	char from[WHEN_SIZE], until[WHEN_SIZE];
	struct result *table;
	unsigned tier;
	int code = amounts ? result_create(stdout, &how, columns, COLUMN_COUNT, &table, err) : err_nomem(err);

	if (code == 0) {
		bool more = put_rails(answer, table, amounts) && put_planes(answer, table, amounts);

		for (tier = 2; more && tier <= shape->tier_count && tier <= SHAPE_TIERS_MAX; tier++)
			more = put_tier(answer, table, amounts, tier);
		if (more)
			put_hosts(answer, table, amounts);
		result_note(table, "%s to %s; OVER%%: above the mean of its kind, of a host: its busiest rail above "
			    "its mean", when_format_local(answer->since_us, from),
			    when_format_local(answer->until_us, until));
		code = result_finish(table, err);
		result_destroy(table);
	}
	free(amounts);
	return code;
}
