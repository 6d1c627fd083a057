/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/ber.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "facts/order.h"
#include "facts/port_marks.h"
#include "storage/findings.h"

void cells_nonzero(struct result *result, size_t column, int64_t value)
{
	if (value)
		result_integer(result, column, value);
}

void cells_port(struct result *result, size_t guid_column, const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	result_unsigned(result, guid_column, node->guid);
	result_text(result, guid_column + 1, node->name);
	result_integer(result, guid_column + 2, fabric->ports[port].num);
}

void cells_port_name(struct result *result, size_t column, const struct order *order, const struct fabric *fabric,
		     uint32_t port)
{
	char name[PORT_NAME_SIZE];

	order_port_name(order, fabric, port, name);
	result_text(result, column, name);
	result_target(result, column, fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
}

void cells_displayed_name(struct result *result, size_t column, const struct fabric *fabric, const char *name,
			  int num)
{
	char shown[PORT_NAME_SIZE];
	size_t len = strlen(name) < NODE_NAME_SIZE ? names_display(fabric, name, shown) - 1 : 0;

	if (!len)
		return;
	if (num >= 0)
		snprintf(shown + len, sizeof(shown) - len, "/%d", num);
	result_text(result, column, shown);
}

void cells_finding(struct result *result, size_t column, const struct finding_row *row)
{
	static const char *const words[] = { "", "acknowledged", "clearing", "info", "warning", "critical" };
	static const enum cell_style styles[] = { [MARK_WARNING] = STYLE_WARNING, [MARK_CRITICAL] = STYLE_CRITICAL };
	enum port_mark mark = row ? port_mark_of(row) : MARK_NONE;
	const char *kind = row ? finding_kind_name(row->finding.kind) : "";
	char text[80];

	if (!row) {
		result_show(result, column, "", STYLE_PLAIN);
		return;
	}
	snprintf(text, sizeof(text), "%s %s", words[mark], kind);
	result_text(result, column, text);
	result_showf(result, column, mark >= MARK_WARNING ? styles[mark] : STYLE_DIM, "%s %s", port_mark_name(mark),
		     kind);
}

void cells_status(struct result *result, size_t column, enum port_status status)
{
	static const enum cell_style styles[STATUS_COUNT] = {
		[STATUS_OK] = STYLE_PLAIN,        [STATUS_IDLE] = STYLE_DIM,         [STATUS_UNPLANNED] = STYLE_DIM,
		[STATUS_MIRRORED] = STYLE_PLAIN,  [STATUS_NEW] = STYLE_DIM,          [STATUS_INIT] = STYLE_WARNING,
		[STATUS_UNFINISHED] = STYLE_DIM,  [STATUS_LOCKED] = STYLE_WARNING,   [STATUS_SILENT] = STYLE_CRITICAL,
		[STATUS_UNSUPPORTED] = STYLE_DIM, [STATUS_DOWN] = STYLE_WARNING,
	};

	result_text(result, column, port_status_name(status));
	result_show(result, column, NULL, styles[status]);
}

bool cells_ber_is_known(const struct ber *ber)
{
	return !isnan(ber->rate) && (ber->rate > 0 || !ber->at_least);
}

void cells_ber(struct result *result, size_t column, const struct ber *ber)
{
	result_measure(result, column, measure_of(ber->rate, !ber->at_least));
}

void cells_ber_below(struct result *result, size_t column, const struct ber *ber)
{
	result_real(result, column, ber_below(ber));
}

const char *cells_ber_text(const struct ber *ber, char ret[CELLS_BER_SIZE])
{
	double below = ber_below(ber);

	if (!cells_ber_is_known(ber))
		return NULL;
	if (isnan(below))
		snprintf(ret, CELLS_BER_SIZE, "%s%.1e", ber->at_least ? ">= " : "", ber->rate);
	else
		snprintf(ret, CELLS_BER_SIZE, "< %.1e", below);
	return ret;
}

const char *cells_counter_key(size_t at)
{
	return at < COUNTER_COUNT ? counter_info((enum counter)at)->key : NULL;
}

const char *cells_error_key(size_t at)
{
	return cells_counter_key(COUNTER_TRAFFIC_COUNT + at);
}

const char *cells_detail_key(size_t at)
{
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		size_t count = detail_count((enum detail_attribute)attribute);

		if (at < count)
			return detail_info((enum detail_attribute)attribute, (unsigned)at)->key;
		at -= count;
	}
	return NULL;
}

const char *cells_detail_attribute(size_t at)
{
	return at < DETAIL_ATTRIBUTE_COUNT ? detail_attribute_name((enum detail_attribute)at) : NULL;
}
