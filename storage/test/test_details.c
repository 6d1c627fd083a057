/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_details.c - the model's slow counters
 *
 * They have separate random numbers: the rest of the history is the same with and without them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "storage/test/test_model.h"

static uint64_t draw(struct model *model, uint64_t below)
{
	model->detail_random += UINT64_C(0x9e3779b97f4a7c15);
	return below ? map_mix(model->detail_random) % below : 0;
}

/* The increase at a healthy, busy link: corrected FEC blocks, and XmitWait of VL 0. */
static uint32_t calm_step(struct model *model, enum detail_attribute attribute, unsigned number)
{
	switch (attribute) {
	case DETAIL_VL_XMIT_WAIT:
		return number ? 0 : (uint32_t)draw(model, 300);
	case DETAIL_EXTENDED_SPEEDS:
		if (number == DETAIL_FEC_CORRECTED_BLOCKS || number == DETAIL_FEC_CORRECTED_SYMBOLS)
			return (uint32_t)draw(model, 100000);
		if (number >= DETAIL_FEC_CORRECTED_LANE_0 && number < DETAIL_FEC_CORRECTED_LANE_0 + 4)
			return (uint32_t)draw(model, 30000);
		return 0;
	default:
		return draw(model, 2000) ? 0 : 1;
	}
}

static uint64_t random_step(struct model *model, uint64_t max)
{
	switch (draw(model, 6)) {
	case 0:
		return draw(model, max);
	case 1:
		return 1 + (uint32_t)draw(model, 30);
	default:
		return 0;
	}
}

static void count(struct model *model, enum detail_attribute attribute, struct model_detail *detail)
{
	for (unsigned i = 0; i < detail_count(attribute); i++) {
		/* No counter of 64 bits is ever full, and sums of a test are those of SQLite. */
		uint64_t most = UINT64_C(1) << 48, width = detail_max(attribute, i), max = width < most ? width : most;
		uint64_t step = model->calm ? calm_step(model, attribute, i) : random_step(model, max);

		if (!model->calm && draw(model, 20) == 0)
			detail->value[i] = draw(model, 2) ? 0 : draw(model, max < 99 ? max : 99); /* reset */
		if (!model->calm && draw(model, 60) == 0)
			detail->value[i] = max - draw(model, 2);
		if (!model->calm && draw(model, 60) == 0)
			detail->missing ^= UINT32_C(1) << i;
		detail->value[i] = step > max - detail->value[i] ? max : detail->value[i] + step;
	}
	if (attribute == DETAIL_EXTENDED_SPEEDS && (model->calm || draw(model, 8) == 0))
		detail->layout = model->calm ? FEC_LAYOUT_RS : (uint8_t)draw(model, FEC_LAYOUT_COUNT);
}

static void read_detail(struct model *model, enum detail_attribute attribute, struct model_detail *detail,
			struct detail_reading *reading)
{
	memset(reading, 0, sizeof(*reading));
	reading->attribute = (uint8_t)attribute;
	reading->layout = detail->layout;
	reading->at_us = model->boot_us + (int64_t)draw(model, 100000);
	reading->present = ((UINT32_C(1) << detail_count(attribute)) - 1) & ~detail->missing;
	/* As decoded: without FEC counters if the layout is unknown. */
	if (attribute == DETAIL_EXTENDED_SPEEDS && detail->layout == FEC_LAYOUT_UNKNOWN)
		reading->present &= (1u << DETAIL_FEC_CORRECTED_BLOCKS) - 1;
	for (unsigned i = 0; i < DETAIL_MAX; i++)
		if (reading->present & UINT32_C(1) << i)
			reading->value[i] = detail->value[i];
}

static void sample_detail(struct model *model, size_t port, enum detail_attribute attribute)
{
	struct model_detail *detail = &model->ports[port].details[attribute];
	size_t at = model->sweep.detail_count++;
	struct model_detail_truth *truth = &model->details[at];

	count(model, attribute, detail);
	*truth = (struct model_detail_truth){ .port = (uint32_t)port };
	read_detail(model, attribute, detail, &truth->reading);
	if (detail->has_last) {
		detail_delta_between(&detail->last, &truth->reading, &truth->delta);
		truth->has_delta = true;
	}
	detail->has_last = true;
	detail->last = truth->reading;
	detail->last_at_us = truth->reading.at_us;
	detail->last_boot = model->boot;
	truth->wall_us = model->sweep.wall_us + truth->reading.at_us - model->sweep.start_us;
	detail->last_wall_us = truth->wall_us;
	model->detail_samples[at] = (struct detail_sample){
		.port = model->index_of[port],
		.reading = &truth->reading,
		.delta = truth->has_delta ? &truth->delta : NULL,
	};
}

static void keep_details(struct model *model)
{
	struct model_sweep *sweep = &model->sweeps[model->sweep_count - 1];
	size_t size = model->sweep.detail_count * sizeof(*sweep->details);

	if (!model->keep_history || !size)
		return;
	sweep->details = malloc(size);
	if (!sweep->details)
		abort();
	memcpy(sweep->details, model->details, size);
	sweep->detail_count = model->sweep.detail_count;
}

/* Data by service level in 64 bits, in some turns; the history of the other attributes does not depend on them. */
static void sample_data_by_sl(struct model *model, size_t port)
{
	uint64_t random = model->detail_random;

	for (int attribute = DETAIL_XMIT_DATA_SL_EXT; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		if ((port + model->sweep_count) % 5 == (size_t)attribute - DETAIL_XMIT_DATA_SL_EXT)
			sample_detail(model, port, (enum detail_attribute)attribute);
	model->detail_random = random;
}

void model_sample_details(struct model *model)
{
	size_t first = draw(model, model->port_count);

	model->sweep.detail_count = 0;
	model->sweep.details = model->detail_samples;
	if (model->no_details)
		return;
	for (size_t i = 0; i < model->port_count; i++) {
		size_t port = (first + i) % model->port_count;
		bool turn = model->calm ? port % 60 == model->sweep_count % 60 : draw(model, 6) == 0;

		if (!turn || model->index_of[port] == FABRIC_NONE || !model->ports[port].pollable)
			continue;
		for (int attribute = 0; attribute < DETAIL_XMIT_DATA_SL_EXT; attribute++)
			/* Seldom ones take turns. */
			if (attribute < DETAIL_SELDOM ? model->calm || draw(model, 2) :
			    (port + model->sweep_count) % (DETAIL_XMIT_DATA_SL_EXT - DETAIL_SELDOM) ==
			    (size_t)attribute - DETAIL_SELDOM)
				sample_detail(model, port, (enum detail_attribute)attribute);
		sample_data_by_sl(model, port);
	}
	keep_details(model);
}
