/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/speed.h"

#include <stddef.h>
#include <strings.h>

static const struct {
	const char *name;
	uint64_t lane_bits_per_s; /* data rate of one lane */
} speeds[LINK_SPEED_COUNT] = {
	[LINK_SPEED_NONE] = { "", 0 },
	[LINK_SPEED_SDR] = { "SDR", 2000000000ULL },
	[LINK_SPEED_DDR] = { "DDR", 4000000000ULL },
	[LINK_SPEED_QDR] = { "QDR", 8000000000ULL },
	[LINK_SPEED_FDR10] = { "FDR10", 10000000000ULL },
	[LINK_SPEED_FDR] = { "FDR", 13636363636ULL },
	[LINK_SPEED_EDR] = { "EDR", 25000000000ULL },
	[LINK_SPEED_HDR] = { "HDR", 50000000000ULL },
	[LINK_SPEED_NDR] = { "NDR", 100000000000ULL },
	[LINK_SPEED_XDR] = { "XDR", 200000000000ULL },
};

static const struct {
	uint8_t code;
	uint8_t lanes;
} widths[] = { /* narrowest first */
	{ LINK_WIDTH_1X, 1 }, { LINK_WIDTH_2X, 2 }, { LINK_WIDTH_4X, 4 }, { LINK_WIDTH_8X, 8 }, { LINK_WIDTH_12X, 12 },
};

#define WIDTH_COUNT (sizeof(widths) / sizeof(widths[0]))

const char *link_speed_name(enum link_speed speed)
{
	return speed < LINK_SPEED_COUNT ? speeds[speed].name : "";
}

enum link_speed link_speed_by_name(const char *name)
{
	enum link_speed speed;

	for (speed = LINK_SPEED_SDR; speed < LINK_SPEED_COUNT; speed++)
		if (!strcasecmp(name, speeds[speed].name))
			return speed;
	return LINK_SPEED_NONE;
}

unsigned link_width_lanes(uint8_t code)
{
	for (size_t i = 0; i < WIDTH_COUNT; i++)
		if (widths[i].code == code)
			return widths[i].lanes;
	return 0;
}

uint8_t link_width_code(unsigned lanes)
{
	for (size_t i = 0; i < WIDTH_COUNT; i++)
		if (widths[i].lanes == lanes)
			return widths[i].code;
	return LINK_WIDTH_NONE;
}

uint8_t link_width_best(uint8_t mask)
{
	size_t i = WIDTH_COUNT;

	while (i-- > 0)
		if (mask & widths[i].code)
			return widths[i].code;
	return LINK_WIDTH_NONE;
}

enum link_speed link_speed_best(uint16_t mask)
{
	for (int speed = LINK_SPEED_COUNT - 1; speed > LINK_SPEED_NONE; speed--)
		if (mask & 1u << speed)
			return (enum link_speed)speed;
	return LINK_SPEED_NONE;
}

uint64_t link_rate_bits_per_s(uint8_t width, enum link_speed speed)
{
	if (speed >= LINK_SPEED_COUNT)
		return 0;
	return link_width_lanes(width) * speeds[speed].lane_bits_per_s;
}
