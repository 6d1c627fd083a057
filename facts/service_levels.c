/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/service_levels.h"

#include <string.h>

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

void level_rates_add(struct level_rates *rates, const struct level_data *data)
{
	rates->count++;
	rates->known += data->known;
	rates->at_least |= data->known && data->at_least;
	for (unsigned sl = 0; data->known && sl < SERVICE_LEVELS; sl++) {
		rates->rate[sl] += data->bytes[sl] * 1e6 / (double)data->elapsed_us;
		rates->used |= data->bytes[sl] > 0 ? 1u << sl : 0;
	}
}

double level_rates_total(const struct level_rates *rates)
{
	double sum = 0;

	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		sum += rates->rate[sl];
	return sum;
}

void level_columns(uint32_t used, struct column ret[LEVEL_COLUMNS])
{
#define LEVEL(sl) [LEVEL_SL_0 + (sl)] = { .key = "sl" #sl "_percent", .title = "SL" #sl "%", .kind = COLUMN_PERCENT }
	static const struct column columns[LEVEL_COLUMNS] = {
		[LEVEL_LOAD] = { .key = "load_bytes_per_s", .title = "LOAD", .kind = COLUMN_RATE },
		LEVEL(0), LEVEL(1), LEVEL(2), LEVEL(3), LEVEL(4), LEVEL(5), LEVEL(6), LEVEL(7),
		LEVEL(8), LEVEL(9), LEVEL(10), LEVEL(11), LEVEL(12), LEVEL(13), LEVEL(14), LEVEL(15),
	};

	memcpy(ret, columns, sizeof(columns));
	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		ret[LEVEL_SL_0 + sl].flags = used >> sl & 1 ? 0 : COLUMN_NO_TABLE;
}

void level_rates_put(const struct level_rates *rates, struct result *result, size_t first)
{
	double all = level_rates_total(rates);

	if (!rates->known)
		return;
	result_measure(result, first + LEVEL_LOAD, measure_of(all, rates->known == rates->count && !rates->at_least));
	for (unsigned sl = 0; all > 0 && sl < SERVICE_LEVELS; sl++)
		result_real(result, first + LEVEL_SL_0 + sl, 100 * rates->rate[sl] / all);
}
