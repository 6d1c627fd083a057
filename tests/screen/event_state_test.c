/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Throttling state from random events. */
#include "base/unit_test.h"
#include "facts/event_state.h"

#include <stdio.h>

#include "collector/events.h"
#include "storage/reader.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { SWEEPS = 120 };

/* The expected state after the events so far. */
struct truth {
	bool on;
	int64_t since_us;
};

static void add_event(struct model *model, struct truth *truth)
{
	static const char *const kinds[] = { EVENT_COLLECTOR_STARTED, EVENT_THROTTLED, EVENT_UNTHROTTLED,
					     EVENT_SWEEP_CUT, EVENT_NODE_SILENT };
	size_t which = model_random(model, sizeof(kinds) / sizeof(kinds[0]));

	/* Wall clocks of events are random: the order does not depend on them. */
	model->event = (struct event){ .wall_us = 1000000 + (int64_t)model_random(model, 1000000),
				       .kind = kinds[which] };
	snprintf(model->event.text, sizeof(model->event.text), "%s at %lld", kinds[which],
		 (long long)model->event.wall_us);
	model->sweep.events = &model->event;
	model->sweep.event_count = 1;
	if (which > 2)
		return;
	*truth = (struct truth){ .on = which == 1, .since_us = model->event.wall_us };
}

TEST_IN_FOLDER(newest_event_since_start_decides)
{
	char text[256];
	struct model *model = model_create(3, 1, 2, 1);
	struct truth truth = { 0 };
	struct event_state throttled;
	struct writer *writer;
	struct reader *reader;
	size_t on = 0;

	assert_int_equal(writer_open(path, &writer, NULL), 0);
	assert_int_equal(reader_open(path, &reader, NULL), 0);
	assert_int_equal(event_state_load(reader, 0, EVENT_THROTTLED, EVENT_UNTHROTTLED, &throttled, NULL), 0);
	assert_false(throttled.on);
	for (size_t i = 0; i < SWEEPS; i++) {
		model_step(model);
		add_event(model, &truth);
		assert_int_equal(writer_sink(writer)->store(writer_sink(writer)->ctx, &model->sweep, NULL), 0);
		assert_int_equal(event_state_load(reader, 0, EVENT_THROTTLED, EVENT_UNTHROTTLED, &throttled, NULL), 0);
		assert_int_equal(throttled.on, truth.on);
		snprintf(text, sizeof(text), EVENT_THROTTLED " at %lld", (long long)truth.since_us);
		assert_string_equal(throttled.text, truth.on ? text : "");
		assert_int_equal(throttled.since_us, truth.on ? truth.since_us : 0);
		on += truth.on;
	}
	assert_true(on > 10 && on < SWEEPS - 10);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}
