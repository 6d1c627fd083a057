/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_levels.c - `history --by sl`: what ports sent and received by service level, over time */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/history/history.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "facts/cells.h"
#include "facts/service_levels.h"

/* Steps of a window: each is read on its own. Without --step about ROWS, of an hour at least. */
enum { STEPS_MOST = 200, ROWS = 12 };
#define STEP_LEAST_US (3600 * INT64_C(1000000))

enum { TIME, UNTIL, SUBJECT, NODE_GUID, NODE, PORT, DIRECTION, PORTS, READ, FIRST,
       COLUMN_COUNT = FIRST + LEVEL_COLUMNS };

static const struct column first_columns[FIRST] = {
	[TIME] = { .key = "time", .title = "TIME", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
	[SUBJECT] = { .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT,
		      .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[DIRECTION] = { .key = "direction", .title = "DIR", .kind = COLUMN_TEXT },
	[PORTS] = { .key = "ports", .title = "PORTS", .kind = COLUMN_INTEGER },
	[READ] = { .key = "ports_read", .title = "READ", .kind = COLUMN_INTEGER },
};

struct steps {
	const struct history *history;
	const struct subjects *subjects;
	int64_t step_us;
	size_t count;
	struct level_rates *rates; /* by subject, step and direction: sent, then received */
	uint32_t used;
	bool known;
};

static int64_t from_of(const struct steps *steps, size_t step)
{
	return steps->history->since_us + (int64_t)step * steps->step_us;
}

static int64_t until_of(const struct steps *steps, size_t step)
{
	return step + 1 < steps->count ? from_of(steps, step + 1) : steps->history->until_us;
}

static struct level_rates *rates_of(const struct steps *steps, size_t subject, size_t step, bool sent)
{
	return &steps->rates[2 * (subject * steps->count + step) + !sent];
}

static int read_step(struct steps *steps, size_t step, struct error *err)
{
	const struct fabric *fabric = steps->history->moment.fabric;
	struct level_data *data = calloc(2 * fabric->port_count + 1, sizeof(*data));
	int code = data ? level_data_read(steps->history->moment.reader, fabric, from_of(steps, step),
					  until_of(steps, step), false, data, err) : err_nomem(err);

	for (size_t i = 0; code == 0 && i < steps->subjects->count; i++) {
		const struct history_subject *subject = &steps->subjects->items[i];

		for (int sent = 0; sent < 2; sent++) {
			struct level_rates *rates = rates_of(steps, i, step, sent);

			for (size_t k = 0; k < subject->port_count; k++)
				level_rates_add(rates, level_data_of(fabric, data, subject->ports[k], sent));
			steps->used |= rates->used;
			steps->known |= rates->known > 0;
		}
	}
	free(data);
	return code;
}

static void put_row(struct result *result, const struct steps *steps, size_t subject, size_t step, bool sent)
{
	const struct history_subject *of = &steps->subjects->items[subject];
	const struct level_rates *rates = rates_of(steps, subject, step, sent);

	result_integer(result, TIME, from_of(steps, step));
	result_integer(result, UNTIL, until_of(steps, step));
	result_text(result, SUBJECT, of->name);
	if (of->single)
		cells_port(result, NODE_GUID, steps->history->moment.fabric, of->ports[0]);
	result_text(result, DIRECTION, sent ? "xmit" : "rcv");
	result_integer(result, PORTS, rates->count);
	result_integer(result, READ, rates->known);
	level_rates_put(rates, result, FIRST);
	result_end_row(result);
}

static int print(const struct steps *steps, struct error *err)
{
	struct column columns[COLUMN_COUNT];
	struct result *result;

	memcpy(columns, first_columns, sizeof(first_columns));
	level_columns(steps->used, columns + FIRST);
	result = output_begin(&steps->history->options, false, columns, COLUMN_COUNT);
	for (size_t i = 0; i < steps->subjects->count; i++)
		for (int sent = 1; sent >= 0; sent--)
			for (size_t step = 0; step < steps->count; step++)
				put_row(result, steps, i, step, sent);
	if (!steps->known)
		result_note(result, "unknown: no port has two readings of data by service level in this window");
	return output_end(result, 0, err);
}

int history_levels(struct history *history, const struct subjects *subjects, struct error *err)
{
	struct steps steps = { .history = history, .subjects = subjects, .step_us = history->step_us };
	int64_t span_us = history->until_us - history->since_us;
	int code = 0;

	if (!steps.step_us)
		steps.step_us = span_us / ROWS > STEP_LEAST_US ? series_round_span(span_us / ROWS) : STEP_LEAST_US;
	steps.count = (size_t)((span_us + steps.step_us - 1) / steps.step_us);
	if (steps.count > STEPS_MOST)
		return err_set(err, ERR_USAGE, "%s: --by sl has at most %d steps: a longer --step, or a later --since",
			       history->command->name, STEPS_MOST);
	steps.rates = calloc(2 * subjects->count * steps.count + 1, sizeof(*steps.rates));
	if (!steps.rates)
		return err_nomem(err);
	for (size_t step = 0; code == 0 && step < steps.count; step++)
		code = read_step(&steps, step, err);
	if (code == 0)
		code = print(&steps, err);
	free(steps.rates);
	return code;
}
