/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_port.c - a port, its link, and all of its counters */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/ber.h"
#include "analysis/metric.h"
#include "analysis/rate.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/link.h"
#include "facts/order.h"
#include "pages/subject.h"

enum { FIELDS_MOST = 7 };

struct fields {
	struct page_field *list;
	size_t count;
};

static struct page_field *add_field(struct fields *fields, const char *name, const char *value)
{
	struct page_field *field = &fields->list[fields->count++];

	*field = (struct page_field){ .name = name, .value = value };
	return field;
}

/* The rate of the link, and the built rate if known. */
static void add_link(const struct subject_facts *facts, uint32_t index, struct fields *fields, struct page *page)
{
	const struct fabric *fabric = facts->scope.snapshot->fabric;
	const struct shape *shape = facts->scope.shape;
	const struct port *port = &fabric->ports[index];
	uint64_t now = port_rate_bits_per_s(port), built = shape ? shape->built_bits_per_s[index] : 0;
	char link[LINK_TEXT_SIZE], rate[32], built_rate[32];
	struct page_field *field;

	if (shape && !built && port->peer != FABRIC_NONE)
		built = shape->built_bits_per_s[port->peer];
	rate_format_bits((double)built / 8, built_rate, sizeof(built_rate));
	field = add_field(fields, "link", !now ? "no rate" :
			  page_print(page, "%s %s", link_text(port, link_is_degraded(shape, index), link),
				     rate_format_bits((double)now / 8, rate, sizeof(rate))));
	if (built)
		field->value = page_print(page, built > now ? "%s of %s built" : "%s as built", field->value,
					  built_rate);
	field->value = page_print(page, "%s, %s/%s", field->value, port_state_name(port->state),
				  port_phys_state_name(port->phys_state));
	field->state = built > now || port->state != PORT_ACTIVE ? PAGE_WARNING : PAGE_PLAIN;
}

/* "none; the last one was spine-02/24 until 2026-11-20 11:05:12 UTC" */
static void add_no_peer(const struct subject_facts *facts, struct fields *fields, struct page *page)
{
	const struct past_peer *last = facts->last_peer;
	char name[NODE_NAME_SIZE + 16], until[WHEN_SIZE] = "";

	if (last && last->until_us)
		when_format_local(last->until_us, until);
	add_field(fields, "peer", !last ? "none" :
		  page_print(page, "none; the last one was %s%s%s", past_peer_name(facts, last, name, sizeof(name)),
			     *until ? " until " : "", until));
}

/* The group of the port, and the number of LIDs routed through it. */
static void add_group(const struct subject_facts *facts, uint32_t index, struct fields *fields, struct page *page)
{
	const struct fabric *fabric = facts->scope.snapshot->fabric;
	const struct shape *shape = facts->scope.shape;
	const struct port *port = &fabric->ports[index];
	uint32_t of = shape ? shape->ports[index].group : SHAPE_NONE;
	double sum = 0, mean = 0;
	struct page_field *field;

	if (of != SHAPE_NONE) {
		const struct shape_group *group = &shape->groups[of];

		for (uint32_t i = group->first; facts->routes == ROUTES_READ && i < group->first + group->count; i++)
			sum += facts->lids[fabric->ports[shape->members[i]].num];
		mean = group->count ? sum / group->count : 0;
		field = add_field(fields, "group", group_links(facts, group, page));
		field->id = of + UINT64_C(1);
		field->number = TARGET_GROUP;
	}
	/* A host port is the only route to its host. */
	if (fabric->nodes[port->node].type != NODE_SWITCH || (shape && shape->ports[index].way == WAY_HOST))
		return;
	if (facts->routes == ROUTES_READ && mean > 0)
		add_field(fields, "routes",
			  page_print(page, "%u LID%s routed through this port, %.1f per member of the group on average",
				     facts->lids[port->num], text_plural(facts->lids[port->num]), mean));
	else if (facts->routes == ROUTES_READ)
		add_field(fields, "routes", page_print(page, "%u LID%s routed through this port",
						       facts->lids[port->num], text_plural(facts->lids[port->num])));
	else
		add_field(fields, "routes", facts->routes == ROUTES_UNKNOWN ? "forwarding table of the switch unknown" :
									      "reading the forwarding table ...");
}

/* How far the percentage of an HCA can be trusted; that of a switch is documented. */
static void add_wait_rule(const struct subject_facts *facts, uint32_t index, struct fields *fields)
{
	const struct snapshot *snapshot = facts->scope.snapshot;
	uint32_t node = snapshot->fabric->ports[index].node;
	enum stall_rule rule = stall_rule_of(&snapshot->fabric->nodes[node],
					     snapshot->caps ? &snapshot->caps[node] : NULL);

	if (rule == STALL_ASSUMED)
		add_field(fields, "XmitWait", "the percentage is an estimate: the tick of HCAs is assumed");
	if (rule == STALL_CONTRADICTED)
		add_field(fields, "XmitWait", "only ticks: the counters of this HCA contradict the assumed tick");
}

/* "MFS1S00-H005E, serial MT2145VS01234, 43 C at 2026-11-29 03:00:00 UTC" */
static void add_cable(const struct subject_facts *facts, struct fields *fields, struct page *page)
{
	const struct cable_place *cable = facts->cable;
	const struct cable_reading *reading = facts->cable_reading;
	const char *part;
	char at[WHEN_SIZE];
	struct page_field *field;

	if (!cable)
		return;
	part = cable->texts[IBDIAGNET_PART];
	field = add_field(fields, "cable", page_print(page, "%s%sserial %s", part, *part ? ", " : "",
						      cable->texts[IBDIAGNET_SERIAL]));
	if (!reading || isnan(reading->temperature_c))
		return;
	field->value = page_print(page, "%s, %.0f C at %s", field->value, reading->temperature_c,
				  when_format_local(reading->wall_us, at));
	field->state = reading->temperature_c > CABLE_HOT_C ? PAGE_WARNING : PAGE_PLAIN;
}

void subject_add_port_place(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct fabric *fabric = facts->scope.snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];
	struct fields fields = { .list = page_alloc(page, FIELDS_MOST, sizeof(*fields.list)) };
	struct page_field *field;
	char name[NODE_NAME_SIZE + 32];

	if (!fields.list)
		return;
	add_link(facts, index, &fields, page);
	if (port->peer == FABRIC_NONE)
		add_no_peer(facts, &fields, page);
	add_cable(facts, &fields, page);
	add_group(facts, index, &fields, page);
	field = add_field(&fields, "of", page_print(page, "%s, %s", facts->scope.order->names[port->node],
						    node_type_name(node->type)));
	field->id = node->guid;
	add_wait_rule(facts, index, &fields);
	if (facts->scope.shape && strstr(shape_port_name(facts->scope.shape, index, name, sizeof(name)), " (cage "))
		field->note = page_print(page, "%s", name);
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .in = PAGE_TEXT | PAGE_HTML,
					       .fields = { fields.list, fields.count } });
}

void subject_add_port(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct fabric *fabric = facts->scope.snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	uint32_t *ends = page_alloc(page, 2, sizeof(*ends));

	if (!ends)
		return;
	ends[0] = index;
	ends[1] = port->peer;
	subject_add_ends(facts, ends, NULL, port->peer == FABRIC_NONE ? 1 : 2, false, NULL, page);
	subject_add_port_place(facts, index, page);
	subject_add_findings(facts, fabric->nodes[port->node].guid, port->num, page);
}

/* --- counters --- */

struct counter_row {
	const struct subject_facts *facts;
	uint32_t port;
	bool nonzero;    /* counters that are 0 are left out */
};

/* The columns of counters and of detail counters. */
enum { NAME, DELTA, RATE, PEER, VALUE, MEANING, COLUMNS };

static const struct column counter_columns[COLUMNS] = {
	[NAME] = { .title = "COUNTER", .kind = COLUMN_TEXT },
	[DELTA] = { .title = "DELTA", .kind = COLUMN_INTEGER },
	[RATE] = { .title = "RATE", .kind = COLUMN_REAL },
	[PEER] = { .title = "PEER", .kind = COLUMN_INTEGER, .priority = 1 },
	[VALUE] = { .title = "VALUE", .kind = COLUMN_INTEGER, .priority = 3 },
	[MEANING] = { .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static const struct column detail_columns[COLUMNS] = {
	[NAME] = { .title = "COUNTER", .kind = COLUMN_TEXT },
	[DELTA] = { .title = "DELTA", .kind = COLUMN_INTEGER },
	[RATE] = { .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE }, [PEER] = { .flags = COLUMN_NO_TABLE },
	[VALUE] = { .title = "VALUE", .kind = COLUMN_INTEGER },
	[MEANING] = { .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

/* Data counters are shown in bytes and bits, others as counted. */
static struct metric counter_metric(enum counter counter)
{
	struct metric metric = { 0 };

	metric_find(counter == COUNTER_XMIT_DATA ? "xmit_bytes" : counter == COUNTER_RCV_DATA ? "rcv_bytes" :
		    counter_info(counter)->key, &metric);
	return metric;
}

/* "12", "12+" for a lower bound. Return: whether it is known and not 0. */
static bool put_total(struct result *result, size_t at, const struct metric *metric, const struct delta *delta,
		      struct metric_value *ret)
{
	const struct metric_port none = { 0 };
	char number[METRIC_VALUE_SIZE];
	bool any;

	metric_of(metric, &none, delta, ret);
	any = ret->has_total && ret->total;
	if (!ret->has_total) {
		result_show(result, at, "-", STYLE_DIM);
		return false;
	}
	result_unsigned(result, at, ret->total);
	result_showf(result, at, !any ? STYLE_DIM : metric->counters & COUNTER_ERROR_SET ? STYLE_WARNING : STYLE_PLAIN,
		     "%s%s", metric_format_total(metric, ret->total, number, sizeof(number)), ret->at_least ? "+" : "");
	return any;
}

static void put_counter(struct result *result, const struct counter_row *of, enum counter counter)
{
	const struct snapshot *snapshot = of->facts->scope.snapshot;
	const struct port *port = &snapshot->fabric->ports[of->port];
	const struct delta *delta = &snapshot->rows[of->port].sum;
	const struct reading *reading = of->facts->reading;
	const struct metric metric = counter_metric(counter);
	struct metric_value value, other;
	char rate[METRIC_VALUE_SIZE];
	bool any, is_data = counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA;

	result_text(result, NAME, counter_info(counter)->key);
	any = put_total(result, DELTA, &metric, delta, &value);
	result_show(result, NAME, NULL, any ? STYLE_PLAIN : STYLE_DIM);
	metric_format_value(&metric, value.has_rate ? value.part : NAN, rate, sizeof(rate));
	result_show(result, RATE, rate, any ? STYLE_PLAIN : STYLE_DIM);
	if (port->peer != FABRIC_NONE)
		put_total(result, PEER, &metric, &snapshot->rows[port->peer].sum, &other);
	if (reading && reading->present & COUNTER_BIT(counter))
		result_unsigned(result, VALUE, reading->value[counter]);
	result_showf(result, MEANING, STYLE_DIM, "%s%s%s",
		     delta->reset & COUNTER_BIT(counter) ? "(was reset) " : "",
		     delta->saturated & COUNTER_BIT(counter) ? "(saturated) " : "",
		     is_data ? metric.meaning : counter_info(counter)->meaning);
	result_end_row(result);
}

static void put_counters(struct result *result, const void *ctx)
{
	const struct counter_row *of = ctx;
	const struct port_row *row = &of->facts->scope.snapshot->rows[of->port];

	for (int i = 0; row->sum.elapsed_us && i < COUNTER_COUNT; i++)
		put_counter(result, of, (enum counter)i);
	result_none(result, "unknown: %s", sample_status_name(row->status));
}

static void put_detail(struct result *result, const struct detail_row *row, unsigned number, bool nonzero)
{
	const struct detail_info *info = detail_info((enum detail_attribute)row->reading.attribute, number);
	uint32_t bit = UINT32_C(1) << number;
	bool known = row->sum.elapsed_us && row->sum.known & bit;
	bool zero = !row->reading.value[number] && (!known || !row->sum.value[number]);
	enum cell_style style = zero ? STYLE_DIM : STYLE_PLAIN;

	/* There are hundreds of seldom ones. */
	if (!(row->reading.present & bit) || (zero && (nonzero || row->reading.attribute >= DETAIL_SELDOM)) ||
	    (nonzero && detail_is_state((enum detail_attribute)row->reading.attribute)))
		return;
	result_text(result, NAME, info->key);
	result_show(result, NAME, NULL, style);
	result_show(result, DELTA, "-", style);
	if (known)
		result_showf(result, DELTA, style, "%" PRIu64 "%s", row->sum.value[number],
			     detail_delta_lower_bounds(&row->sum) & bit ? "+" : "");
	result_unsigned(result, VALUE, row->reading.value[number]);
	result_show(result, VALUE, NULL, style);
	result_text(result, MEANING, info->meaning);
	result_show(result, MEANING, NULL, STYLE_DIM);
	result_end_row(result);
}

/* A rate, or its upper bound without errors. */
static void put_ber(struct result *result, const char *name, const struct ber *ber)
{
	if (isnan(ber->rate))
		return;
	if (ber->rate > 0)
		result_note(result, "%s %s%.1e", name, ber->at_least ? "at least " : "", ber->rate);
	else
		result_note(result, "%s below %.0e: no errors", name, ber_below(ber));
}

static void put_details(struct result *result, const void *ctx)
{
	const struct counter_row *of = ctx;
	const struct subject_facts *facts = of->facts;
	uint64_t rate = port_rate_bits_per_s(&facts->scope.snapshot->fabric->ports[of->port]);

	for (size_t i = 0; i < facts->detail_count; i++)
		for (unsigned n = 0; n < detail_count((enum detail_attribute)facts->details[i].reading.attribute); n++)
			put_detail(result, &facts->details[i], n, of->nonzero);
	for (size_t i = 0; i < facts->detail_count; i++) {
		const struct detail_row *row = &facts->details[i];
		enum fec_layout layout = (enum fec_layout)row->reading.layout;
		struct ber raw, effective;

		if (row->reading.attribute != DETAIL_EXTENDED_SPEEDS || !row->sum.elapsed_us)
			continue;
		raw = ber_raw(&row->sum, layout, rate);
		effective = ber_effective(&row->sum, layout, rate);
		put_ber(result, "raw bit error rate", &raw);
		put_ber(result, "effective bit error rate", &effective);
	}
	result_none(result, "%s", !facts->details_read ? "reading ..." :
				  of->nonzero && facts->detail_count ? "all are 0" : "none read");
}

static void add_details(const struct subject_facts *facts, uint32_t index, unsigned in, bool nonzero,
			struct page *page)
{
	struct counter_row *of = page_alloc(page, 1, sizeof(*of));
	char span[WHEN_SIZE];

	if (!of)
		return;
	*of = (struct counter_row){ facts, index, nonzero };
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = in, .title = "Detail counters",
		.about = facts->details_read ?
			 page_print(page, "polled less often; deltas of the last %s",
				    when_format_span(facts->details_window_us, span)) : "polled less often",
		.table = { detail_columns, COLUMNS, put_details, of } });
}

void subject_add_nonzero_details(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	add_details(facts, index, PAGE_TEXT | PAGE_HTML, true, page);
}

void subject_add_port_counters(const struct subject_facts *facts, uint32_t index, struct page *page)
{
	const struct port_row *row = &facts->scope.snapshot->rows[index];
	struct counter_row *of = page_alloc(page, 1, sizeof(*of));
	struct column *columns = page_alloc(page, COLUMNS, sizeof(*columns));
	char span[WHEN_SIZE], mark[WHEN_SIZE];
	const char *about = NULL;

	if (!of || !columns)
		return;
	*of = (struct counter_row){ facts, index, false };
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i] = counter_columns[i];
	columns[VALUE].flags = facts->reading ? 0 : COLUMN_NO_TABLE;
	if (row->sum.elapsed_us)
		about = page_print(page, "over %s%s%s", when_format_span(row->sum.elapsed_us, span),
				   facts->baseline_us ? ", since the baseline at " : "",
				   facts->baseline_us ? when_format_local(facts->baseline_us, mark) : "");
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_TEXT, .title = "Counters",
					       .about = about, .table = { columns, COLUMNS, put_counters, of } });
	add_details(facts, index, PAGE_TEXT, false, page);
}
