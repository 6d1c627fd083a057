/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/detail.h"

#include <string.h>

/* FEC fields whose position depends on the layout. */
#define BY_LAYOUT 0

#define LANES 12

/*
 * Positions of the FEC counters in PortExtendedSpeeds. Source: libibmad fields.c, IB_PESC_PORT_*
 * and IB_PESC_RSFEC_*.
 */
enum {
	LANES_CORRECTED = 44,   /* per lane: blocks; with a Reed-Solomon code symbols */
	LANES_UNCORRECTED = 92, /* per lane: blocks; not with a Reed-Solomon code */
	RS_CORRECTED_BLOCKS = 140,
	RS_UNCORRECTED_BLOCKS = 144,
	RS_CORRECTED_SYMBOLS = 148,
};

struct detail_field {
	struct detail_info info;
	uint8_t byte; /* in the attribute, or BY_LAYOUT */
	uint8_t bits; /* 16 or 32 */
};

#define WAIT(vl) { { "xmit_wait_vl" #vl, "ticks", "the part of PortXmitWait on VL " #vl "" }, 4 + 2 * (vl), 16 }
#define LANE(lane) \
	{ { "fec_corrected_lane" #lane, "corrections", \
	    "corrected on lane " #lane ": symbols with a Reed-Solomon code, else blocks" }, BY_LAYOUT, 32 }

/* Source: libibmad fields.c: PortRcvErrorDetails, PortXmitDiscardDetails, PortVLXmitWait, PortExtendedSpeeds. */
static const struct detail_field rcv_errors[] = {
	{ { "local_physical_errors", "packets", "received with a checksum error or a physical error" }, 4,
	  16 },
	{ { "malformed_packet_errors", "packets", "received with a wrong length, LVer or VL" }, 6, 16 },
	{ { "buffer_overrun_errors", "packets", "received without a free buffer" }, 8, 16 },
	{ { "dlid_mapping_errors", "packets", "received for a LID without a forwarding entry" }, 10, 16 },
	{ { "vl_mapping_errors", "packets", "received with a service level that maps to no VL" }, 12, 16 },
	{ { "looping_errors", "packets", "received and routed back to the port of arrival" }, 14, 16 },
};

static const struct detail_field xmit_discards[] = {
	{ { "inactive_discards", "packets", "discarded because the port was not active" }, 4, 16 },
	{ { "neighbor_mtu_discards", "packets", "discarded because they exceed the MTU of the neighbor" }, 6, 16 },
	{ { "switch_lifetime_discards", "packets", "discarded because their switch lifetime expired" }, 8, 16 },
	{ { "switch_hoq_discards", "packets", "discarded because their head-of-queue lifetime expired" }, 10,
	  16 },
};

static const struct detail_field vl_xmit_wait[] = {
	WAIT(0), WAIT(1), WAIT(2), WAIT(3), WAIT(4), WAIT(5), WAIT(6), WAIT(7),
	WAIT(8), WAIT(9), WAIT(10), WAIT(11), WAIT(12), WAIT(13), WAIT(14), WAIT(15),
};

static const struct detail_field extended_speeds[] = {
	[DETAIL_SYNC_HEADER_ERRORS] = { { "sync_header_errors", "errors", "blocks with an invalid header" }, 16,
					16 },
	[DETAIL_UNKNOWN_BLOCKS] = { { "unknown_blocks", "blocks", "blocks of an unknown type" }, 18, 16 },
	[DETAIL_FEC_CORRECTED_BLOCKS] = { { "fec_corrected_blocks", "blocks", "blocks corrected by FEC: harmless" },
					  BY_LAYOUT, 32 },
	[DETAIL_FEC_UNCORRECTED_BLOCKS] = { { "fec_uncorrected_blocks", "blocks",
					      "blocks that FEC could not correct: their data is lost" },
					    BY_LAYOUT, 32 },
	[DETAIL_FEC_CORRECTED_SYMBOLS] = { { "fec_corrected_symbols", "symbols", "symbols corrected by FEC" },
					   BY_LAYOUT, 32 },
	LANE(0), LANE(1), LANE(2), LANE(3), LANE(4), LANE(5), LANE(6), LANE(7), LANE(8), LANE(9), LANE(10), LANE(11),
};

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static const struct {
	const char *name;
	const struct detail_field *fields;
	unsigned count;
} attributes[DETAIL_ATTRIBUTE_COUNT] = {
	[DETAIL_RCV_ERRORS] = { "rcv_error_details", rcv_errors, COUNT(rcv_errors) },
	[DETAIL_XMIT_DISCARDS] = { "xmit_discard_details", xmit_discards, COUNT(xmit_discards) },
	[DETAIL_VL_XMIT_WAIT] = { "vl_xmit_wait", vl_xmit_wait, COUNT(vl_xmit_wait) },
	[DETAIL_EXTENDED_SPEEDS] = { "extended_speeds", extended_speeds, COUNT(extended_speeds) },
};

_Static_assert(COUNT(vl_xmit_wait) <= DETAIL_MAX && COUNT(extended_speeds) <= DETAIL_MAX, "DETAIL_MAX is too small");
_Static_assert(COUNT(extended_speeds) == DETAIL_FEC_CORRECTED_LANE_0 + LANES, "one counter for each lane");

const char *detail_attribute_name(enum detail_attribute attribute)
{
	return attributes[attribute].name;
}

unsigned detail_count(enum detail_attribute attribute)
{
	return attributes[attribute].count;
}

const struct detail_info *detail_info(enum detail_attribute attribute, unsigned number)
{
	return &attributes[attribute].fields[number].info;
}

bool detail_by_key(const char *key, enum detail_attribute *ret_attribute, unsigned *ret_number)
{
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		for (unsigned number = 0; number < attributes[attribute].count; number++)
			if (!strcmp(key, attributes[attribute].fields[number].info.key)) {
				*ret_attribute = (enum detail_attribute)attribute;
				*ret_number = number;
				return true;
			}
	return false;
}

uint32_t detail_max(enum detail_attribute attribute, unsigned number)
{
	return attributes[attribute].fields[number].bits == 16 ? UINT16_MAX : UINT32_MAX;
}

static uint32_t read_number(const uint8_t *bytes, unsigned bits)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bits / 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void put(struct detail_reading *reading, unsigned number, uint32_t value)
{
	reading->value[number] = value;
	reading->present |= UINT32_C(1) << number;
}

/* Sum of twelve counters; saturated if one of them is. */
static uint32_t sum_lanes(const uint8_t *bytes)
{
	uint32_t sum = 0;

	for (int lane = 0; lane < LANES; lane++)
		if (__builtin_add_overflow(sum, read_number(bytes + 4 * lane, 32), &sum))
			return UINT32_MAX;
	return sum;
}

const char *fec_layout_name(uint8_t layout)
{
	static const char *const names[] = {
		[FEC_LAYOUT_UNKNOWN] = "unknown",
		[FEC_LAYOUT_LANES] = "lanes",
		[FEC_LAYOUT_RS] = "rs",
		[FEC_LAYOUT_RS_544] = "rs-544",
	};

	return names[layout < FEC_LAYOUT_COUNT ? layout : FEC_LAYOUT_UNKNOWN];
}

unsigned fec_block_errors(enum fec_layout layout)
{
	return layout == FEC_LAYOUT_RS_544 ? 16 : layout == FEC_LAYOUT_RS ? 8 : 1;
}

static void decode_fec(struct detail_reading *reading, const uint8_t *bytes)
{
	if (reading->layout >= FEC_LAYOUT_RS) {
		put(reading, DETAIL_FEC_CORRECTED_BLOCKS, read_number(bytes + RS_CORRECTED_BLOCKS, 32));
		put(reading, DETAIL_FEC_UNCORRECTED_BLOCKS, read_number(bytes + RS_UNCORRECTED_BLOCKS, 32));
		put(reading, DETAIL_FEC_CORRECTED_SYMBOLS, read_number(bytes + RS_CORRECTED_SYMBOLS, 32));
	} else {
		put(reading, DETAIL_FEC_CORRECTED_BLOCKS, sum_lanes(bytes + LANES_CORRECTED));
		put(reading, DETAIL_FEC_UNCORRECTED_BLOCKS, sum_lanes(bytes + LANES_UNCORRECTED));
	}
	for (unsigned lane = 0; lane < LANES; lane++)
		put(reading, DETAIL_FEC_CORRECTED_LANE_0 + lane, read_number(bytes + LANES_CORRECTED + 4 * lane, 32));
}

void detail_decode(enum detail_attribute attribute, enum fec_layout layout, const uint8_t *bytes, size_t len,
		   struct detail_reading *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->attribute = (uint8_t)attribute;
	for (unsigned number = 0; number < attributes[attribute].count; number++) {
		const struct detail_field *field = &attributes[attribute].fields[number];

		if (field->byte != BY_LAYOUT && field->byte + field->bits / 8u <= len)
			put(ret, number, read_number(bytes + field->byte, field->bits));
	}
	if (attribute != DETAIL_EXTENDED_SPEEDS || len < RS_CORRECTED_SYMBOLS + 4)
		return;
	ret->layout = (uint8_t)layout;
	if (layout != FEC_LAYOUT_UNKNOWN)
		decode_fec(ret, bytes);
}
