/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_loads.c - what ports carried in one window */
#include <stdlib.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/history.h"
#include "storage/reader.h"

/* Which ports, by index and as history knows them; and what they counted. */
struct asked {
	uint32_t *indices;
	struct history_port *ports;
	struct history_sum *sums;
	size_t count;
};

static int list_ports(const struct load_query *query, struct asked *asked, struct error *err)
{
	const struct fabric *fabric = query->snapshot->fabric;
	size_t most = query->ports ? query->port_count : fabric->port_count, i;

	asked->indices = calloc(most + 1, sizeof(*asked->indices));
	asked->ports = calloc(most + 1, sizeof(*asked->ports));
	asked->sums = calloc(most + 1, sizeof(*asked->sums));
	if (!asked->indices || !asked->ports || !asked->sums)
		return err_nomem(err);
	for (i = 0; i < most; i++) {
		uint32_t index = query->ports ? query->ports[i] : (uint32_t)i;
		const struct port *port = &fabric->ports[index];

		if (!query->ports && (!port_is_pollable(fabric, port) || port->peer == FABRIC_NONE))
			continue;
		asked->ports[asked->count] = (struct history_port){ fabric->nodes[port->node].guid, port->num };
		asked->indices[asked->count++] = index;
	}
	return 0;
}

static int read_sums(struct reader *reader, const struct load_query *query, const struct history_range *range,
		     struct asked *asked, struct error *err)
{
	struct history_query sums = {
		.after = range->after, .until = range->until, .damage = query->damage,
		.counters = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) |
			    COUNTER_BIT(COUNTER_XMIT_WAIT) | COUNTER_BIT(COUNTER_XMIT_DISCARDS),
	};
	int code = list_ports(query, asked, err);

	if (code < 0)
		return code;
	sums.ports = asked->ports;
	sums.port_count = asked->count;
	return reader_history_sums(reader, &sums, asked->sums, err);
}

int reader_history_loads(struct reader *reader, const struct load_query *query, struct balance_load *loads,
			 struct error *err)
{
	const struct snapshot *snapshot = query->snapshot;
	struct asked asked = { 0 };
	struct history_range range;
	int code = reader_history_range(reader, query->since_us, query->until_us, &range, err);
	size_t i;

	if (code == 0 && query->round && range.after != range.until)
		code = reader_history_round(reader, &range, err);
	if (code < 0 || range.after == range.until)
		return code;
	code = read_sums(reader, query, &range, &asked, err);
	for (i = 0; code == 0 && i < asked.count; i++) {
		uint32_t index = asked.indices[i];
		const struct port *port = &snapshot->fabric->ports[index];

		balance_load_of(&asked.sums[i].sum, &snapshot->fabric->nodes[port->node], port,
				snapshot->caps ? &snapshot->caps[port->node] : NULL, &loads[index]);
	}
	free(asked.indices);
	free(asked.ports);
	free(asked.sums);
	return code < 0 ? code : 1;
}
