/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encoding of detail attributes. */
#include <string.h>

#include "sim/relay/responder.h"

#define LANES 12

/* Number of lanes of a 4x link. */
#define LANES_USED 4

/* Byte offsets in PortExtendedSpeedsCounters. Source: libibmad fields.c, IB_PESC_* and IB_PESC_RSFEC_*. */
enum {
	SYNC_HEADER_ERRORS = 16, UNKNOWN_BLOCKS = 18, LANES_CORRECTED = 44, LANES_UNCORRECTED = 92,
	RS_CORRECTED_BLOCKS = 140, RS_UNCORRECTED_BLOCKS = 144, RS_CORRECTED_SYMBOLS = 148,
};

/* The other attributes have consecutive fields of 16 bits. Source: libibmad fields.c, IB_PC_RCV_*, IB_PC_XMT_*. */
#define FIRST_FIELD 4

static uint32_t smaller(uint64_t value, uint32_t max)
{
	return value > max ? max : (uint32_t)value;
}

/* Divide a total among the lanes of a 4x link, with the remainder in the first; fields have 32 bits. */
static void spread(uint64_t total, uint8_t *at)
{
	for (unsigned lane = 0; lane < LANES_USED; lane++)
		store_be32(at + 4 * lane, smaller(total / LANES_USED + (lane ? 0 : total % LANES_USED), UINT32_MAX));
}

/* Write the lane counters if any is set, else the divided total of the port. */
static void put_corrected(const struct responder_detail *detail, unsigned total, uint8_t *at)
{
	if (!(detail->set >> DETAIL_FEC_CORRECTED_LANE_0)) {
		spread(detail->value[total], at);
		return;
	}
	for (unsigned lane = 0; lane < LANES; lane++)
		store_be32(at + 4 * lane, smaller(detail->value[DETAIL_FEC_CORRECTED_LANE_0 + lane], UINT32_MAX));
}

void responder_put_extended_speeds(const struct responder_port *port, enum fec_mode mode, uint8_t *data)
{
	const struct responder_detail *detail = &port->detail[DETAIL_EXTENDED_SPEEDS];
	const uint64_t *value = detail->value;

	memset(data + SYNC_HEADER_ERRORS, 0, PACKET_MAD_DATA_SIZE - SYNC_HEADER_ERRORS);
	store_be16(data + SYNC_HEADER_ERRORS, (uint16_t)smaller(value[DETAIL_SYNC_HEADER_ERRORS], UINT16_MAX));
	store_be16(data + UNKNOWN_BLOCKS, (uint16_t)smaller(value[DETAIL_UNKNOWN_BLOCKS], UINT16_MAX));
	if (mode == FEC_RS || mode == FEC_LOW_LATENCY_RS || mode == FEC_RS2) {
		put_corrected(detail, DETAIL_FEC_CORRECTED_SYMBOLS, data + LANES_CORRECTED);
		store_be32(data + RS_CORRECTED_BLOCKS, smaller(value[DETAIL_FEC_CORRECTED_BLOCKS], UINT32_MAX));
		store_be32(data + RS_UNCORRECTED_BLOCKS, smaller(value[DETAIL_FEC_UNCORRECTED_BLOCKS], UINT32_MAX));
		store_be32(data + RS_CORRECTED_SYMBOLS, smaller(value[DETAIL_FEC_CORRECTED_SYMBOLS], UINT32_MAX));
	} else if (mode == FEC_FIRECODE) {
		put_corrected(detail, DETAIL_FEC_CORRECTED_BLOCKS, data + LANES_CORRECTED);
		spread(value[DETAIL_FEC_UNCORRECTED_BLOCKS], data + LANES_UNCORRECTED);
	}
}

void responder_put_detail(const struct responder_port *port, enum detail_attribute attribute, uint8_t *data)
{
	const struct responder_detail *detail = &port->detail[attribute];

	for (unsigned number = 0; number < detail_count(attribute); number++)
		if (detail->set >> number & 1)
			store_be16(data + FIRST_FIELD + 2 * number,
				   (uint16_t)smaller(detail->value[number], UINT16_MAX));
}

void responder_clear_detail(struct responder_port *port, enum detail_attribute attribute, const uint8_t *data)
{
	struct responder_detail *detail = &port->detail[attribute];

	for (unsigned number = 0; number < DETAIL_MAX; number++)
		/* The 64 select bits of PortExtendedSpeeds are not distinguished: any bit clears all. */
		if (attribute == DETAIL_EXTENDED_SPEEDS ? load_be64(data + 8) != 0 : load_be16(data + 2) >> number & 1)
			detail->value[number] = 0;
}
