/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_read.c - what ports counted in one window, and since when a group is uneven */
#include <stdlib.h>
#include <string.h>

#include "analysis/delta.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/balance.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"

static int read_sums(struct balance_answer *answer, struct history_query *query, const struct history_range *range,
		     struct history_sum *sums, struct error *err)
{
	query->after = range->after;
	query->until = range->until;
	query->counters = COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA) |
			  COUNTER_BIT(COUNTER_XMIT_WAIT) | COUNTER_BIT(COUNTER_XMIT_DISCARDS);
	query->damage = &answer->damage;
	return reader_history_sums(answer->view.reader, query, sums, err);
}

int balance_read(struct balance_answer *answer, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err)
{
	const struct snapshot *snapshot = answer->view.snapshot;
	struct history_port *chosen;
	struct history_sum *sums;
	struct history_query query = { .port_count = count };
	struct history_range range;
	int code = reader_history_range(answer->view.reader, since_us, until_us, &range, err);
	size_t i;

	if (code == 0 && round && range.after != range.until)
		code = reader_history_round(answer->view.reader, &range, err);
	if (code < 0 || range.after == range.until)
		return code;
	chosen = calloc(count + 1, sizeof(*chosen));
	sums = calloc(count + 1, sizeof(*sums));
	for (i = 0; chosen && i < count; i++)
		chosen[i] = answer->ports[ports ? ports[i] : i];
	query.ports = chosen;
	code = chosen && sums ? read_sums(answer, &query, &range, sums, err) : err_nomem(err);
	for (i = 0; code == 0 && i < count; i++) {
		size_t at = ports ? ports[i] : i;
		const struct port *port = &answer->view.fabric->ports[answer->indices[at]];

		balance_load_of(&sums[i].sum, &answer->view.fabric->nodes[port->node], port,
				snapshot->caps ? &snapshot->caps[port->node] : NULL, &loads[answer->indices[at]]);
	}
	free(chosen);
	free(sums);
	return code < 0 ? code : 1;
}
