/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* subject_page_port.c - a port, its link, and all of its counters */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/ber.h"
#include "analysis/metric.h"
#include "analysis/rate.h"
#include "base/when.h"
#include "fabric/shape.h"
#include "tui/model/context.h"
#include "tui/model/format.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"
#include "facts/link.h"
#include "facts/order.h"

enum { NAME_SIZE = NODE_NAME_SIZE + 32, LABEL = 10 };

/* Name and role of a port: "leaf01/12 (cage 6.2)" "leaf-uplink". */
static void put_end(struct text_page *page, const struct app *app, const char *label, uint32_t index)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct subject subject = subject_of_port(app, index);
	const struct port_facts *view = &app->table->views[index];
	char name[NAME_SIZE], role[SHAPE_ROLE_SIZE];
	const char *what = shape ? shape_port_role(shape, index, role) : NULL;
	unsigned tier = shape ? shape_port_tier(shape, index) : 0;
	int x;

	if (shape)
		shape_port_name(shape, index, name, sizeof(name));
	else
		order_port_name(&app->table->order, fabric, index, name);
	page_label(page, &subject, label, LABEL);
	x = page_put(page, LABEL, -1, ALIGN_LEFT, ROLE_STRONG, name);
	if (what)
		x = page_putf(page, x + 2, ROLE_TEXT, "%s", what);
	if (tier)
		x = page_putf(page, x + 2, ROLE_TEXT, "tier %u", tier);
	if (shape && shape->ports[index].rail != SHAPE_NONE)
		x = page_putf(page, x + 2, ROLE_TEXT, "rail %s", shape->rails[shape->ports[index].rail].name);
	x = page_putf(page, x + 2, view->status <= STATUS_IDLE ? ROLE_GOOD : ROLE_WARNING, "%s",
		      port_status_name(view->status));
	if (fabric_port_lid(fabric, port))
		page_putf(page, x + 2, ROLE_FAINT, "LID %u", fabric_port_lid(fabric, port));
}

/* Active rate of the link, and the built rate if known. */
/* "none; the last one was spine-02/24 until 11:05:12" */
static void put_no_peer(struct text_page *page, const struct app *app, const struct subject_data *known)
{
	const struct past_peer *peer = &known->last_peer;
	const struct fabric *fabric = app->live->shown->fabric;
	uint32_t node = known->has_last_peer ? fabric_find_node(fabric, peer->guid) : FABRIC_NONE;
	const char *name = node == FABRIC_NONE ? peer->name : app->table->order.names[node];
	char until[WHEN_SIZE] = "";
	int x;

	page_label(page, NULL, "peer", LABEL);
	x = page_putf(page, LABEL, ROLE_DOWN, "none");
	if (!known->has_last_peer)
		return;
	if (peer->until_us)
		format_time(peer->until_us, " until %H:%M:%S", until, sizeof(until));
	page_putf(page, x, ROLE_TEXT, "; the last one was %s/%u%s", name, peer->port, until);
}

static void put_link(struct text_page *page, const struct app *app, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;
	const struct port *port = &fabric->ports[index];
	uint64_t now = port_rate_bits_per_s(port), built = 0;
	char link[LINK_TEXT_SIZE], rate[32], built_rate[32];
	int x = LABEL;

	if (shape) {
		built = shape->built_bits_per_s[index];
		if (!built && port->peer != FABRIC_NONE)
			built = shape->built_bits_per_s[port->peer];
	}
	page_label(page, NULL, "link", LABEL);
	if (now)
		x = page_putf(page, x, ROLE_TEXT, "%s %s",
			      link_text(port, link_is_degraded(fabric, shape, index), link),
			      rate_format_bits((double)now / 8, rate, sizeof(rate)));
	else
		x = page_putf(page, x, ROLE_DOWN, "no rate");
	if (built)
		x = page_putf(page, x + 1, built > now ? ROLE_WARNING : ROLE_FAINT,
			      built > now ? "of %s built" : "as built",
			      rate_format_bits((double)built / 8, built_rate, sizeof(built_rate)));
	page_putf(page, x + 2, port->state == PORT_ACTIVE ? ROLE_TEXT : ROLE_DOWN, "%s/%s",
		  port_state_name(port->state), port_phys_state_name(port->phys_state));
}

/* The group of the port, and the number of LIDs routed through it. */
static void put_group(struct text_page *page, const struct app *app, const struct subject_data *known, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];
	uint32_t of = shape ? shape->ports[index].group : SHAPE_NONE;
	char name[NAME_SIZE];
	double sum = 0, mean = 0;

	if (of != SHAPE_NONE) {
		const struct shape_group *group = &shape->groups[of];
		const struct subject subject = subject_of_group(app, group);

		for (uint32_t i = group->first; i < group->first + group->count; i++)
			sum += known->lids[fabric->ports[shape->members[i]].num];
		mean = group->count ? sum / group->count : 0;
		page_label(page, &subject, "group", LABEL);
		page_putf(page, LABEL, ROLE_TEXT, "%s: %u links of %u built",
			  subject_name(app, &subject, name, sizeof(name)), group->count, group->built);
	}
	/* A host port is the only route to its host. */
	if (node->type != NODE_SWITCH || (shape && shape->ports[index].way == WAY_HOST))
		return;
	page_label(page, NULL, "routes", LABEL);
	if (known->routes == ROUTES_READ && mean > 0)
		page_putf(page, LABEL, ROLE_TEXT,
			  "%u LIDs routed through this port, %.1f per member of the group on average",
			  known->lids[port->num], mean);
	else if (known->routes == ROUTES_READ)
		page_putf(page, LABEL, ROLE_TEXT, "%u LIDs routed through this port", known->lids[port->num]);
	else
		page_putf(page, LABEL, ROLE_FAINT, "%s", known->routes == ROUTES_UNKNOWN ?
			  "forwarding table of the switch unknown" : "reading the forwarding table ...");
}

/* The columns of a list of counters; the meaning follows them. */
enum { NAME, DELTA, RATE, PEER, VALUE, COLUMNS };

static void counter_widths(const struct subject_page *detail, int ret[COLUMNS])
{
	ret[NAME] = detail->page.columns < 80 ? 24 : 32;
	ret[DELTA] = 9;
	ret[RATE] = 10;
	ret[PEER] = detail->page.columns >= 100 ? 10 : 0;
	ret[VALUE] = detail->known.has_reading ? 20 : 0;
}

static void put_heads(struct text_page *page, const int *widths, bool details)
{
	const struct table_cell heads[COLUMNS] = {
		[NAME] = { "COUNTER", ROLE_HEAD, ALIGN_LEFT },
		[DELTA] = { "DELTA", ROLE_HEAD, ALIGN_RIGHT },
		[RATE] = { details ? "VALUE" : "RATE", ROLE_HEAD, ALIGN_RIGHT },
		[PEER] = { details ? "" : "PEER", details ? ROLE_TEXT : ROLE_HEAD, ALIGN_RIGHT },
		[VALUE] = { details ? "" : "VALUE", details ? ROLE_TEXT : ROLE_HEAD, ALIGN_RIGHT },
	};

	page_line(page, NULL);
	page_put(page, page_cells(page, widths, heads, COLUMNS) + 1, -1, ALIGN_LEFT, ROLE_HEAD, "MEANING");
}

/* Data counters are shown in bytes and bits, others as counted. */
static struct metric counter_metric(enum counter counter)
{
	struct metric metric = { 0 };

	metric_find(counter == COUNTER_XMIT_DATA ? "xmit_bytes" : counter == COUNTER_RCV_DATA ? "rcv_bytes" :
		    counter_info(counter)->key, &metric);
	return metric;
}

/* "12", "12+" for a lower bound. Return: its role. */
static enum role write_total(const struct metric *metric, const struct metric_value *value, char *ret, size_t size)
{
	char number[METRIC_VALUE_SIZE];

	snprintf(ret, size, "-");
	if (value->has_total)
		snprintf(ret, size, "%s%s", metric_format_total(metric, value->total, number, sizeof(number)),
			 value->at_least ? "+" : "");
	return !value->has_total || !value->total ? ROLE_FAINT :
	       metric->counters & COUNTER_ERROR_SET ? ROLE_WARNING : ROLE_TEXT;
}

static void put_counter(struct subject_page *detail, const struct app *app, const int *widths, enum counter counter,
			uint32_t index)
{
	const struct snapshot *shown = app->live->shown;
	const struct port *port = &shown->fabric->ports[index];
	const struct delta *delta = &shown->rows[index].sum;
	const struct metric metric = counter_metric(counter);
	const struct metric_port none = { 0 };
	const struct subject_data *known = &detail->known;
	bool is_data = counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA;
	char total[METRIC_VALUE_SIZE + 2], rate[METRIC_VALUE_SIZE], peer[METRIC_VALUE_SIZE + 2] = "", number[24] = "-";
	struct table_cell cells[COLUMNS] = {
		[NAME] = { counter_info(counter)->key, ROLE_FAINT, ALIGN_LEFT },
		[PEER] = { .text = peer, .align = ALIGN_RIGHT }, [VALUE] = { number, ROLE_FAINT, ALIGN_RIGHT },
	};
	struct metric_value value, other;

	metric_of(&metric, &none, delta, &value);
	cells[DELTA] = (struct table_cell){ total, write_total(&metric, &value, total, sizeof(total)), ALIGN_RIGHT };
	if (value.has_total && value.total)
		cells[NAME].role = ROLE_TEXT;
	metric_format_value(&metric, value.has_rate ? value.part : NAN, rate, sizeof(rate));
	cells[RATE] = (struct table_cell){ rate, cells[NAME].role, ALIGN_RIGHT };
	if (port->peer != FABRIC_NONE) {
		metric_of(&metric, &none, &shown->rows[port->peer].sum, &other);
		cells[PEER].role = write_total(&metric, &other, peer, sizeof(peer));
	}
	if (known->has_reading && known->reading.present & COUNTER_BIT(counter))
		snprintf(number, sizeof(number), "%" PRIu64, known->reading.value[counter]);
	page_line(&detail->page, NULL);
	page_putf(&detail->page, page_cells(&detail->page, widths, cells, COLUMNS) + 1, ROLE_FAINT, "%s%s%s",
		  delta->reset & COUNTER_BIT(counter) ? "(was reset) " : "",
		  delta->saturated & COUNTER_BIT(counter) ? "(saturated) " : "",
		  is_data ? metric.meaning : counter_info(counter)->meaning);
}

/* All counters with their meaning, and those of the peer if there is room. */
static void put_counters(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct port_row *row = &app->live->shown->rows[index];
	struct text_page *page = &detail->page;
	char span[WHEN_SIZE], mark[WHEN_SIZE];
	int widths[COLUMNS];

	if (!row->sum.elapsed_us) {
		page_heading(page, "COUNTERS");
		page_text(page, ROLE_FAINT, "unknown: %s", sample_status_name(row->status));
		return;
	}
	page_heading(page, "COUNTERS over %s%s%s", when_format_span(row->sum.elapsed_us, span),
		     app->live->baseline_us ? ", since the baseline at " : "",
		     app->live->baseline_us ? when_format_local(app->live->baseline_us, mark) : "");
	counter_widths(detail, widths);
	put_heads(page, widths, false);
	for (int i = 0; i < COUNTER_COUNT; i++)
		put_counter(detail, app, widths, (enum counter)i, index);
}

/* A rate, or its upper bound without errors. */
static void put_ber(struct text_page *page, const char *name, const struct ber *ber)
{
	if (isnan(ber->rate))
		return;
	page_line(page, NULL);
	page_put(page, 0, 32, ALIGN_LEFT, ROLE_TEXT, name);
	if (ber->rate > 0)
		page_putf(page, 33, ROLE_TEXT, "%s%.1e", ber->at_least ? "at least " : "", ber->rate);
	else
		page_putf(page, 33, ROLE_FAINT, "below %.0e: no errors", ber_below(ber));
}

static void put_slow(struct text_page *page, const int *widths, const struct detail_row *row, unsigned number)
{
	const struct detail_info *info = detail_info((enum detail_attribute)row->reading.attribute, number);
	uint32_t bit = UINT32_C(1) << number;
	bool known = row->sum.elapsed_us && row->sum.known & bit;
	bool zero = !row->reading.value[number] && (!known || !row->sum.value[number]);
	enum role role = zero ? ROLE_FAINT : ROLE_TEXT;
	char counted[32] = "-", value[16];
	const struct table_cell cells[COLUMNS] = {
		[NAME] = { info->key, role, ALIGN_LEFT }, [DELTA] = { counted, role, ALIGN_RIGHT },
		[RATE] = { value, role, ALIGN_RIGHT }, [PEER] = { "", role, ALIGN_LEFT },
		[VALUE] = { "", role, ALIGN_LEFT },
	};

	if (!(row->reading.present & bit))
		return;
	if (known)
		snprintf(counted, sizeof(counted), "%" PRIu32 "%s", row->sum.value[number],
			 (row->sum.reset | row->sum.saturated) & bit ? "+" : "");
	snprintf(value, sizeof(value), "%" PRIu32, row->reading.value[number]);
	page_line(page, NULL);
	page_put(page, page_cells(page, widths, cells, COLUMNS) + 1, -1, ALIGN_LEFT, ROLE_FAINT, info->meaning);
}

static void put_slow_counters(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct subject_data *known = &detail->known;
	const struct port *port = &app->live->shown->fabric->ports[index];
	uint64_t rate = port_rate_bits_per_s(port);
	struct text_page *page = &detail->page;
	int widths[COLUMNS];
	char span[WHEN_SIZE];

	if (known->slow_read)
		page_heading(page, "DETAIL COUNTERS (polled less often): deltas of the last %s",
			     when_format_span(known->slow_window_us, span));
	else
		page_heading(page, "DETAIL COUNTERS (polled less often)");
	if (!known->slow_count) {
		page_text(page, ROLE_FAINT, known->slow_read ? "none read" : "reading ...");
		return;
	}
	counter_widths(detail, widths);
	put_heads(page, widths, true);
	for (size_t i = 0; i < known->slow_count; i++)
		for (unsigned n = 0; n < detail_count((enum detail_attribute)known->slow[i].reading.attribute); n++)
			put_slow(page, widths, &known->slow[i], n);
	for (size_t i = 0; i < known->slow_count; i++) {
		enum fec_layout layout = (enum fec_layout)known->slow[i].reading.layout;
		struct ber raw, effective;

		if (known->slow[i].reading.attribute != DETAIL_EXTENDED_SPEEDS || !known->slow[i].sum.elapsed_us)
			continue;
		raw = ber_raw(&known->slow[i].sum, layout, rate);
		effective = ber_effective(&known->slow[i].sum, layout, rate);
		put_ber(page, "raw bit error rate", &raw);
		put_ber(page, "effective bit error rate", &effective);
	}
}

void subject_page_port(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];
	const struct subject of = subject_of_node(app, port->node);
	struct text_page *page = &detail->page;

	put_end(page, app, "port", index);
	if (port->peer != FABRIC_NONE) {
		put_end(page, app, "peer", port->peer);
	} else {
		put_no_peer(page, app, &detail->known);
	}
	put_link(page, app, index);
	put_group(page, app, &detail->known, index);
	page_label(page, &of, "of", LABEL);
	page_putf(page, LABEL, ROLE_TEXT, "%s, %s", app->table->order.names[port->node], node_type_name(node->type));
	subject_page_findings(detail, app, node->guid, port->num);
	subject_page_history(detail, app);
	put_counters(detail, app, index);
	put_slow_counters(detail, app, index);
}
