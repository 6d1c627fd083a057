/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/service_levels.h"

#include "base/err.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

struct gathering {
	const struct fabric *fabric;
	struct level_data *data;
};

static bool add_reading(void *ctx, const struct detail_row *row)
{
	const struct gathering *of = ctx;
	uint32_t port = fabric_find_port(of->fabric, row->node_guid, row->port);
	bool sent = row->reading.attribute == DETAIL_XMIT_DATA_SL_EXT;
	struct level_data *data;

	if (port == FABRIC_NONE || row->sum.elapsed_us <= 0)
		return true;
	data = &of->data[2 * port + !sent];
	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		if (row->sum.known >> sl & 1)
			data->bytes[sl] = (double)row->sum.value[sl] * COUNTER_WORD_BYTES;
	data->elapsed_us = row->sum.elapsed_us;
	data->known = row->sum.known == (1u << SERVICE_LEVELS) - 1;
	data->at_least = detail_delta_lower_bounds(&row->sum) != 0;
	return true;
}

int level_data_read(struct reader *reader, const struct fabric *fabric, int64_t since_us, int64_t until_us,
		    bool inside, struct level_data *ret, struct error *err)
{
	const struct detail_query query = {
		.at_us = until_us, .window_us = until_us - since_us, .port = -1, .inside = inside,
		.attributes = 1u << DETAIL_XMIT_DATA_SL_EXT | 1u << DETAIL_RCV_DATA_SL_EXT,
	};
	struct gathering of = { .fabric = fabric, .data = ret };

	return reader_details(reader, &query, add_reading, &of, err);
}

const struct level_data *level_data_of(const struct fabric *fabric, const struct level_data *data, uint32_t port,
				       bool sent)
{
	uint32_t peer = fabric->ports[port].peer;
	const struct level_data *own = &data[2 * port + !sent];

	return own->known || peer == FABRIC_NONE ? own : &data[2 * peer + sent];
}

double level_data_total(const struct level_data *data)
{
	double sum = 0;

	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		sum += data->bytes[sl];
	return sum;
}
