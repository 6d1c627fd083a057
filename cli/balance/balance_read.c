/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_read.c - what ports carried in one window */
#include "cli/balance/balance.h"
#include "storage/reader.h"

int balance_read(struct balance_answer *answer, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err)
{
	const struct load_query query = {
		.since_us = since_us, .until_us = until_us, .round = round, .snapshot = answer->view.snapshot,
		.ports = ports, .port_count = count, .damage = &answer->damage,
	};

	return reader_history_loads(answer->view.reader, &query, loads, err);
}
