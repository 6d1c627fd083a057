/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/pma.h"

enum { STATUS_BUSY = 1 << 0, STATUS_REDIRECT = 1 << 1, STATUS_CODE_MASK = 7 << 2 };
enum { CODE_UNSUPPORTED_METHOD = 2 << 2, CODE_UNSUPPORTED_ATTRIBUTE = 3 << 2 };

enum answer_status answer_status(const uint8_t mad[MAD_SIZE])
{
	/* A directed SMP's direction is no status. Source: IBA Vol 1, 14.2.1.2: the D bit. */
	uint16_t status = get_be16(mad + 4) & (mad[1] == CLASS_SUBN_DIRECTED ? 0x7fff : 0xffff);
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

bool pma_lacks_port_select(const uint8_t mad[MAD_SIZE], uint8_t port_select)
{
	return port_select && !mad[PMA_DATA_OFFSET + 1];
}

/* Is the response for the requested port, as far as the agent reports the port? */
static bool is_for_port(const uint8_t mad[MAD_SIZE], uint8_t port_select)
{
	return mad[PMA_DATA_OFFSET + 1] == port_select || pma_lacks_port_select(mad, port_select);
}

enum answer_status pma_read_counters(const uint8_t mad[MAD_SIZE], enum counter_attribute attribute,
				     uint8_t port_select, const struct pma_caps *caps, struct reading *reading)
{
	enum answer_status status = answer_status(mad);

	if (status != ANSWER_OK)
		return status;
	if (!is_for_port(mad, port_select))
		return ANSWER_BAD;
	reading_decode(reading, attribute, mad + PMA_DATA_OFFSET, PMA_DATA_SIZE, caps);
	return ANSWER_OK;
}

static const uint16_t detail_ids[DETAIL_ATTRIBUTE_COUNT] = {
	[DETAIL_RCV_ERRORS] = PMA_PORT_RCV_ERROR_DETAILS,
	[DETAIL_XMIT_DISCARDS] = PMA_PORT_XMIT_DISCARD_DETAILS,
	[DETAIL_VL_XMIT_WAIT] = PMA_PORT_VL_XMIT_WAIT,
	[DETAIL_EXTENDED_SPEEDS] = PMA_PORT_EXTENDED_SPEEDS,
	[DETAIL_OP_RCV] = PMA_PORT_OP_RCV,
	[DETAIL_FLOW_CTL] = PMA_PORT_FLOW_CTL,
	[DETAIL_VL_OP_PACKETS] = PMA_PORT_VL_OP_PACKETS,
	[DETAIL_VL_OP_DATA] = PMA_PORT_VL_OP_DATA,
	[DETAIL_VL_FLOW_CTL_ERRORS] = PMA_PORT_VL_FLOW_CTL_ERRORS,
	[DETAIL_VL_CONGESTION] = PMA_SW_PORT_VL_CONGESTION,
	[DETAIL_RCV_CON_CTRL] = PMA_PORT_RCV_CON_CTRL,
	[DETAIL_SL_RCV_FECN] = PMA_PORT_SL_RCV_FECN,
	[DETAIL_SL_RCV_BECN] = PMA_PORT_SL_RCV_BECN,
	[DETAIL_XMIT_CON_CTRL] = PMA_PORT_XMIT_CON_CTRL,
	[DETAIL_VL_XMIT_TIME_CONG] = PMA_PORT_VL_XMIT_TIME_CONG,
	[DETAIL_XMIT_DATA_SL] = PMA_PORT_XMIT_DATA_SL,
	[DETAIL_RCV_DATA_SL] = PMA_PORT_RCV_DATA_SL,
	[DETAIL_XMIT_DATA_SL_EXT] = PMA_PORT_XMIT_DATA_SL_EXT,
	[DETAIL_RCV_DATA_SL_EXT] = PMA_PORT_RCV_DATA_SL_EXT,
	[DETAIL_SAMPLES_CONTROL] = PMA_PORT_SAMPLES_CONTROL,
};

uint16_t pma_detail_attribute_id(enum detail_attribute attribute)
{
	return detail_ids[detail_wire(attribute)];
}

enum detail_attribute pma_detail_attribute(uint16_t attribute_id)
{
	int attribute;

	for (attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		if (pma_detail_attribute_id((enum detail_attribute)attribute) == attribute_id)
			break;
	return (enum detail_attribute)attribute;
}

enum answer_status pma_read_detail(const uint8_t mad[MAD_SIZE], enum detail_attribute attribute, uint8_t port_select,
				   enum fec_layout layout, struct detail_reading *ret)
{
	enum answer_status status = answer_status(mad);

	if (status != ANSWER_OK)
		return status;
	if (!is_for_port(mad, port_select))
		return ANSWER_BAD;
	detail_decode(attribute, layout, mad + PMA_DATA_OFFSET, PMA_DATA_SIZE, ret);
	return ANSWER_OK;
}

uint8_t pma_read_tick(const uint8_t mad[MAD_SIZE])
{
	return mad[PMA_DATA_OFFSET + 2];
}

bool pma_read_redirect(const uint8_t mad[MAD_SIZE], struct mad_address *ret)
{
	const uint8_t *info = mad + PMA_DATA_OFFSET;
	uint16_t lid = get_be16(info + 28);

	if (get_be16(mad + 4) != STATUS_REDIRECT || !lid)
		return false;
	*ret = (struct mad_address){
		.lid = lid,
		.sl = info[25] >> 4,
		.qp = get_be32(info + 32) & 0xffffff,
		.qkey = get_be32(info + 36),
	};
	return true;
}
