/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/pma.h"

enum { STATUS_BUSY = 1 << 0, STATUS_REDIRECT = 1 << 1, STATUS_CODE_MASK = 7 << 2 };
enum { CODE_UNSUPPORTED_METHOD = 2 << 2, CODE_UNSUPPORTED_ATTRIBUTE = 3 << 2 };

enum answer_status answer_status(const uint8_t mad[MAD_SIZE])
{
	uint16_t status = get_be16(mad + 4);
	uint16_t code = status & STATUS_CODE_MASK;

	if (status & STATUS_BUSY)
		return ANSWER_BUSY;
	if (status & STATUS_REDIRECT)
		return ANSWER_REDIRECT;
	if (code == CODE_UNSUPPORTED_METHOD || code == CODE_UNSUPPORTED_ATTRIBUTE)
		return ANSWER_UNSUPPORTED;
	return status ? ANSWER_BAD : ANSWER_OK;
}

struct pma_caps pma_read_caps(const uint8_t mad[MAD_SIZE])
{
	const uint8_t *info = mad + PMA_DATA_OFFSET;
	uint32_t word = get_be32(info + 4); /* 27 bits of CapabilityMask2, 5 of RespTimeValue */

	return (struct pma_caps){
		.known = true,
		.cap_mask = get_be16(info + 2),
		.cap_mask2 = word >> 5,
		.resp_time = word & 31,
	};
}

uint16_t pma_attribute_id(enum counter_attribute attribute)
{
	return attribute == ATTRIBUTE_PORT_COUNTERS ? PMA_PORT_COUNTERS : PMA_PORT_COUNTERS_EXTENDED;
}

enum answer_status pma_read_counters(const uint8_t mad[MAD_SIZE], enum counter_attribute attribute,
				     uint8_t port_select, const struct pma_caps *caps, struct reading *reading)
{
	enum answer_status status = answer_status(mad);

	if (status != ANSWER_OK)
		return status;
	if (mad[PMA_DATA_OFFSET + 1] != port_select)
		return ANSWER_BAD;
	reading_decode(reading, attribute, mad + PMA_DATA_OFFSET, PMA_DATA_SIZE, caps);
	return ANSWER_OK;
}
