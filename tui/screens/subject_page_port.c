/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* detail_port.c - a port, the link that begins there, and all that it counts */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/ber.h"
#include "analysis/metric.h"
#include "analysis/rate.h"
#include "base/clock.h"
#include "base/when.h"
#include "fabric/shape.h"
#include "tui/model/cell_text.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"

enum { PORT_NAME_SIZE = NODE_NAME_SIZE + 32, LABEL = 10 };

/* A port's name, and what it is there for: "leaf01/12 (cage 6.2)" "leaf-uplink". */
static void put_end(struct text_page *page, const struct app *app, const char *label, uint32_t index)
{
	const struct shape *shape = app->context->shape;
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct subject subject = subject_of_port(app, index);
	const struct port_view *view = &app->table->views[index];
	char name[PORT_NAME_SIZE], role[SHAPE_ROLE_SIZE];
	const char *what = shape ? shape_port_role(shape, index, role) : NULL;
	unsigned tier = shape ? shape_port_tier(shape, index) : 0;
	int x;

	if (shape)
		shape_port_name(shape, index, name, sizeof(name));
	else
		cell_text_append_port(app->table->order.names[port->node], port->num, name);
	page_line(page, &subject);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, label);
	x = page_put(page, LABEL, -1, ALIGN_LEFT, ROLE_STRONG, name);
	if (what)
		x = page_putf(page, x + 2, ROLE_TEXT, "%s", what);
	if (tier)
		x = page_putf(page, x + 2, ROLE_TEXT, "tier %u", tier);
	if (shape && shape->ports[index].rail != SHAPE_NONE)
		x = page_putf(page, x + 2, ROLE_TEXT, "rail %s", shape->rails[shape->ports[index].rail].name);
	x = page_putf(page, x + 2, view->word == WORD_OK || view->word == WORD_IDLE ? ROLE_GOOD : ROLE_WARNING, "%s",
		      port_word_name(view->word));
	if (fabric_port_lid(fabric, port))
		page_putf(page, x + 2, ROLE_FAINT, "LID %u", fabric_port_lid(fabric, port));
}

/* What the link runs at, and what it is built for where that is known and is more. */
static void put_link(struct text_page *page, const struct app *app, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;
	const struct port *port = &fabric->ports[index];
	uint64_t now = port_rate_bits_per_s(port), built = 0;
	char link[CELL_LINK_SIZE], rate[32], built_rate[32];
	int x = LABEL;

	if (shape) {
		built = shape->built_bits_per_s[index];
		if (!built && port->peer != FABRIC_NONE)
			built = shape->built_bits_per_s[port->peer];
	}
	page_line(page, NULL);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "link");
	if (now)
		x = page_putf(page, x, ROLE_TEXT, "%s %s", cell_text_link(port, link),
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

/* The group that it can be replaced by, and what the switch's table gives it to do. */
static void put_group(struct text_page *page, const struct app *app, const struct subject_data *known, uint32_t index)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape *shape = app->context->shape;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];
	uint32_t of = shape ? shape->ports[index].group : SHAPE_NONE;
	char name[PORT_NAME_SIZE];
	double sum = 0, mean = 0;

	if (of != SHAPE_NONE) {
		const struct shape_group *group = &shape->groups[of];
		const struct subject subject = subject_of_group(app, group);

		for (uint32_t i = group->first; i < group->first + group->count; i++)
			sum += known->lids[fabric->ports[shape->members[i]].num];
		mean = group->count ? sum / group->count : 0;
		page_line(page, &subject);
		page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "group");
		page_putf(page, LABEL, ROLE_TEXT, "%s: %u links of %u built",
			  subject_name(app, &subject, name, sizeof(name)), group->count, group->built);
	}
	/* To a host leads its own port and no other: there is nothing to share out. */
	if (node->type != NODE_SWITCH || (shape && shape->ports[index].way == WAY_HOST))
		return;
	page_line(page, NULL);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "routes");
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

/* Where the columns of the list of counters stand; 0 columns: not there. */
struct counter_columns {
	int name, delta_x, delta, rate_x, rate, peer_x, peer, value_x, value, meaning_x;
};

static struct counter_columns counter_columns(int columns, bool values)
{
	struct counter_columns at = { .name = columns < 80 ? 24 : 32 };
	int x = at.name + 1;

	at.delta_x = x;
	at.delta = 9;
	x += at.delta + 1;
	at.rate_x = x;
	at.rate = 10;
	x += at.rate + 1;
	if (columns >= 100) {
		at.peer_x = x;
		at.peer = 10;
		x += at.peer + 1;
	}
	if (values) {
		at.value_x = x;
		at.value = 20;
		x += at.value + 1;
	}
	at.meaning_x = x + 1;
	return at;
}

/* Data is shown in bytes and bits, all else as it is counted. */
static struct metric counter_metric(enum counter counter)
{
	struct metric metric = { 0 };

	metric_find(counter == COUNTER_XMIT_DATA ? "xmit_bytes" : counter == COUNTER_RCV_DATA ? "rcv_bytes" :
		    counter_info(counter)->key, &metric);
	return metric;
}

/* "12+": at least so many. */
static void put_total(struct text_page *page, int x, int columns, const struct metric *metric,
		      const struct metric_value *value)
{
	char number[METRIC_VALUE_SIZE], text[METRIC_VALUE_SIZE + 2];
	enum role role = !value->has_total || !value->total ? ROLE_FAINT :
			 metric->counters & COUNTER_ERROR_SET ? ROLE_WARNING : ROLE_TEXT;

	if (!columns)
		return;
	if (value->has_total)
		snprintf(text, sizeof(text), "%s%s", metric_format_total(metric, value->total, number, sizeof(number)),
			 value->at_least ? "+" : "");
	else
		snprintf(text, sizeof(text), "-");
	page_put(page, x, columns, ALIGN_RIGHT, role, text);
}

static void put_counter(struct subject_page *detail, const struct app *app, const struct counter_columns *at,
			enum counter counter, uint32_t index)
{
	const struct snapshot *shown = app->live->shown;
	const struct port *port = &shown->fabric->ports[index];
	const struct delta *delta = &shown->rows[index].sum;
	const struct metric metric = counter_metric(counter);
	const struct metric_port none = { 0 };
	struct text_page *page = &detail->page;
	struct metric_value value, peer;
	char text[METRIC_VALUE_SIZE];
	bool zero;

	metric_of(&metric, &none, delta, &value);
	zero = !value.has_total || !value.total;
	page_line(page, NULL);
	page_put(page, 0, at->name, ALIGN_LEFT, zero ? ROLE_FAINT : ROLE_TEXT, counter_info(counter)->key);
	put_total(page, at->delta_x, at->delta, &metric, &value);
	page_put(page, at->rate_x, at->rate, ALIGN_RIGHT, zero ? ROLE_FAINT : ROLE_TEXT,
		 metric_format_value(&metric, value.has_rate ? value.part : NAN, text, sizeof(text)));
	if (at->peer && port->peer != FABRIC_NONE) {
		metric_of(&metric, &none, &shown->rows[port->peer].sum, &peer);
		put_total(page, at->peer_x, at->peer, &metric, &peer);
	}
	if (at->value) {
		char number[24] = "-";

		if (detail->known.has_reading && detail->known.reading.present & COUNTER_BIT(counter))
			snprintf(number, sizeof(number), "%" PRIu64, detail->known.reading.value[counter]);
		page_put(page, at->value_x, at->value, ALIGN_RIGHT, ROLE_FAINT, number);
	}
	page_putf(page, at->meaning_x, ROLE_FAINT, "%s%s%s", delta->reset & COUNTER_BIT(counter) ? "(was reset) " : "",
		  delta->saturated & COUNTER_BIT(counter) ? "(saturated) " : "",
		  counter == COUNTER_XMIT_DATA || counter == COUNTER_RCV_DATA ? metric.meaning
									      : counter_info(counter)->meaning);
}

/* All counters and what they mean; beside them its peer's where there is room. */
static void put_counters(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct port_row *row = &app->live->shown->rows[index];
	struct counter_columns at = counter_columns(detail->page.columns, detail->known.has_reading);
	struct text_page *page = &detail->page;
	char span[WHEN_SIZE], mark[WHEN_SIZE];

	if (!row->sum.elapsed_us) {
		page_heading(page, "COUNTERS");
		page_line(page, NULL);
		page_putf(page, 0, ROLE_FAINT, "unknown: %s", sample_status_name(row->status));
		return;
	}
	page_heading(page, "COUNTERS over %s%s%s", when_format_span(row->sum.elapsed_us, span),
		     app->live->baseline_us ? ", since the baseline at " : "",
		     app->live->baseline_us ? when_format_local(app->live->baseline_us, mark) : "");
	page_line(page, NULL);
	page_put(page, 0, at.name, ALIGN_LEFT, ROLE_HEAD, "COUNTER");
	page_put(page, at.delta_x, at.delta, ALIGN_RIGHT, ROLE_HEAD, "DELTA");
	page_put(page, at.rate_x, at.rate, ALIGN_RIGHT, ROLE_HEAD, "RATE");
	if (at.peer)
		page_put(page, at.peer_x, at.peer, ALIGN_RIGHT, ROLE_HEAD, "PEER");
	if (at.value)
		page_put(page, at.value_x, at.value, ALIGN_RIGHT, ROLE_HEAD, "VALUE");
	page_put(page, at.meaning_x, -1, ALIGN_LEFT, ROLE_HEAD, "MEANING");
	for (int i = 0; i < COUNTER_COUNT; i++)
		put_counter(detail, app, &at, (enum counter)i, index);
}

/* A rate, or below what it is where no error was seen. */
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

static void put_slow(struct text_page *page, const struct counter_columns *at, const struct detail_row *row,
		     unsigned number)
{
	const struct detail_info *info = detail_info((enum detail_attribute)row->reading.attribute, number);
	uint32_t bit = UINT32_C(1) << number;
	bool known = row->sum.elapsed_us && row->sum.known & bit;
	bool zero = !row->reading.value[number] && (!known || !row->sum.value[number]);
	char text[32] = "-";

	if (!(row->reading.present & bit))
		return;
	page_line(page, NULL);
	page_put(page, 0, at->name, ALIGN_LEFT, zero ? ROLE_FAINT : ROLE_TEXT, info->key);
	if (known)
		snprintf(text, sizeof(text), "%" PRIu32 "%s", row->sum.value[number],
			 (row->sum.reset | row->sum.saturated) & bit ? "+" : "");
	page_put(page, at->delta_x, at->delta, ALIGN_RIGHT, zero ? ROLE_FAINT : ROLE_TEXT, text);
	snprintf(text, sizeof(text), "%" PRIu32, row->reading.value[number]);
	page_put(page, at->rate_x, at->rate, ALIGN_RIGHT, zero ? ROLE_FAINT : ROLE_TEXT, text);
	page_put(page, at->meaning_x, -1, ALIGN_LEFT, ROLE_FAINT, info->meaning);
}

static void put_slow_counters(struct subject_page *detail, const struct app *app, uint32_t index)
{
	const struct subject_data *known = &detail->known;
	const struct port *port = &app->live->shown->fabric->ports[index];
	uint64_t rate = port_rate_bits_per_s(port);
	struct counter_columns at = counter_columns(detail->page.columns, known->has_reading);
	struct text_page *page = &detail->page;
	char span[WHEN_SIZE];

	if (known->slow_read)
		page_heading(page, "DETAIL COUNTERS (polled less often): deltas of the last %s",
			     when_format_span(known->slow_window_us, span));
	else
		page_heading(page, "DETAIL COUNTERS (polled less often)");
	if (!known->slow_count) {
		page_line(page, NULL);
		page_putf(page, 0, ROLE_FAINT, known->slow_read ? "none read" : "reading ...");
		return;
	}
	page_line(page, NULL);
	page_put(page, 0, at.name, ALIGN_LEFT, ROLE_HEAD, "COUNTER");
	page_put(page, at.delta_x, at.delta, ALIGN_RIGHT, ROLE_HEAD, "DELTA");
	page_put(page, at.rate_x, at.rate, ALIGN_RIGHT, ROLE_HEAD, "VALUE");
	page_put(page, at.meaning_x, -1, ALIGN_LEFT, ROLE_HEAD, "MEANING");
	for (size_t i = 0; i < known->slow_count; i++)
		for (unsigned n = 0; n < detail_count((enum detail_attribute)known->slow[i].reading.attribute); n++)
			put_slow(page, &at, &known->slow[i], n);
	for (size_t i = 0; i < known->slow_count; i++) {
		struct ber raw, effective;

		if (known->slow[i].reading.attribute != DETAIL_EXTENDED_SPEEDS || !known->slow[i].sum.elapsed_us)
			continue;
		raw = ber_raw(&known->slow[i].sum, rate);
		effective = ber_effective(&known->slow[i].sum, rate);
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
		page_line(page, NULL);
		page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "peer");
		page_putf(page, LABEL, ROLE_DOWN, "none");
	}
	put_link(page, app, index);
	put_group(page, app, &detail->known, index);
	page_line(page, &of);
	page_put(page, 0, LABEL - 1, ALIGN_LEFT, ROLE_FAINT, "of");
	page_putf(page, LABEL, ROLE_TEXT, "%s, %s", app->table->order.names[port->node], node_type_name(node->type));
	subject_page_findings(detail, app, node->guid, port->num);
	subject_page_history(detail, app);
	put_counters(detail, app, index);
	put_slow_counters(detail, app, index);
}
