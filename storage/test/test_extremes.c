/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_extremes.h"

#include <stdbool.h>
#include <string.h>

#include "base/map.h"

#define ALL_SET (COUNTER_BIT(COUNTER_COUNT) - 1)

static uint64_t draw(uint64_t *random)
{
	*random += UINT64_C(0x9e3779b97f4a7c15);
	return map_mix(*random);
}

static bool one_in(uint64_t *random, uint64_t n)
{
	return draw(random) % n == 0;
}

enum kind { STILL, SMALL, BUSY, HUGE_VALUES, ALL_ONES, SEVERAL, NOISE, KINDS };

static uint64_t draw_value(uint64_t *random, enum kind kind, int counter)
{
	static const uint64_t edges[] = { 0, 1, INT64_MAX / 4, INT64_MAX / 4 + 1, INT64_MAX, UINT64_C(1) << 63,
					  UINT64_MAX - 1, UINT64_MAX };
	uint64_t drawn = draw(random);

	switch (kind) {
	case STILL:
		return 0;
	case SMALL:
		return drawn % 1000;
	case BUSY:
		return (counter < COUNTER_XMIT_PACKETS ? 1000000000 : 1000000) + drawn % 10000;
	case HUGE_VALUES:
		return UINT64_MAX - drawn % 1000;
	case ALL_ONES:
		return UINT64_MAX;
	case SEVERAL:
		return edges[drawn % (sizeof(edges) / sizeof(*edges))];
	default:
		return drawn >> draw(random) % 64;
	}
}

static void draw_delta(uint64_t *random, enum kind kind, struct delta *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = EXTREME_INTERVAL_US + (int64_t)(draw(random) % 20000) - 10000;
	if (one_in(random, 40))
		ret->elapsed_us = 0;
	else if (one_in(random, 80))
		ret->elapsed_us = (int64_t)(draw(random) >> 16);
	ret->known = ALL_SET;
	if (one_in(random, 25))
		ret->known &= draw(random) | (one_in(random, 2) ? COUNTER_ERROR_SET : 0);
	else if (one_in(random, 60))
		ret->known = one_in(random, 2) ? 0 : COUNTER_TRAFFIC_SET;
	if (one_in(random, 40)) {
		ret->reset = draw(random) & draw(random) & draw(random) & ret->known;
		ret->saturated = draw(random) & draw(random) & draw(random) & ret->known;
	}
	if (one_in(random, 30))
		kind = SEVERAL;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		ret->value[i] = draw_value(random, kind, i);
	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT && one_in(random, 8); i++)
		ret->value[i] = draw_value(random, (enum kind)(draw(random) % KINDS), i);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (!(ret->known & COUNTER_BIT(i)))
			ret->value[i] = 0;
}

/* A port is of one kind for some sweeps. */
enum extreme extreme_sample(uint32_t port, int64_t sweep, struct delta *ret)
{
	uint64_t spell = map_mix(port * UINT64_C(1000003) + (uint64_t)sweep / 40 + 1);
	uint64_t random = map_mix((uint64_t)sweep << 20 | port);

	if (sweep == 1)
		return EXTREME_READING;
	if (!(spell >> 8 & 15) && sweep % 40 < 17)
		return EXTREME_SILENT;
	switch (draw(&random) % 256) {
	case 0:
		return EXTREME_UNSAMPLED;
	case 1:
		return EXTREME_SILENT;
	case 2:
		return EXTREME_READING;
	}
	draw_delta(&random, (enum kind)(spell % KINDS), ret);
	return EXTREME_DELTA;
}
