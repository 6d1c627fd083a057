/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/smp.h"

#include "fabric/counter.h"
#include "fabric/speed.h"

/* PortInfo.CapabilityMask: IsExtendedSpeedsSupported; is CapabilityMask2 there. */
enum { CAP_EXTENDED_SPEEDS = 1 << 14, CAP_CAP_MASK2 = 1 << 15 };

/* PortInfo.CapabilityMask2: IsPortInfoExtendedSupported. PortInfoExtended.CapabilityMask: FEC modes are there. */
enum { EXTENDED_CAP_FEC_MODE = 1 << 0 };

/* PortInfoExtended.FECModeActive. */
enum { FEC_NONE, FEC_FIRE_CODE, FEC_RS, FEC_RS_LOW_LATENCY, FEC_RS_2 };

bool smp_is_ok(const uint8_t mad[MAD_SIZE])
{
	return (get_be16(mad + 4) & 0x7fff) == 0;
}

struct sm_info smp_read_sm_info(const uint8_t mad[MAD_SIZE])
{
	const uint8_t *info = mad + SMP_DATA_OFFSET;

	return (struct sm_info){
		.guid = get_be64(info),
		.act_count = get_be32(info + 16),
		.priority = info[20] >> 4,
		.state = info[20] & 15,
	};
}

struct smp_node_info smp_read_node_info(const uint8_t mad[MAD_SIZE])
{
	const uint8_t *info = mad + SMP_DATA_OFFSET;

	return (struct smp_node_info){ .guid = get_be64(info + 12), .port = info[36] };
}

uint16_t smp_read_lid(const uint8_t mad[MAD_SIZE])
{
	return get_be16(mad + SMP_DATA_OFFSET + 16);
}

bool smp_read_port_state_change(const uint8_t mad[MAD_SIZE])
{
	return mad[SMP_DATA_OFFSET + 11] >> 2 & 1;
}

uint16_t smp_read_lft_top(const uint8_t mad[MAD_SIZE])
{
	return get_be16(mad + SMP_DATA_OFFSET + 6);
}

const uint8_t *smp_read_lft(const uint8_t mad[MAD_SIZE])
{
	return mad + SMP_DATA_OFFSET;
}

struct smp_link smp_read_link(const uint8_t mad[MAD_SIZE], uint32_t cap_mask)
{
	const uint8_t *info = mad + SMP_DATA_OFFSET;
	struct smp_link link = { .state = info[32] & 15, .width = info[31] };
	uint16_t extended = info[62] >> 4;

	link.speed = (uint8_t)link_speed_best((uint16_t)((info[35] >> 4) << LINK_SPEED_SDR));
	if (cap_mask & CAP_EXTENDED_SPEEDS && extended)
		link.speed = (uint8_t)link_speed_best((uint16_t)(extended << LINK_SPEED_FDR));
	/*
	 * Byte 56 was reserved before XDR. CapabilityMask2 (byte 60) says that it is there, but a switch
	 * need say so at its port 0 only, and this is another port.
	 */
	if (cap_mask & CAP_CAP_MASK2 && info[56] >> 5 & 1)
		link.speed = LINK_SPEED_XDR;
	return link;
}

enum fec_layout smp_read_fec_layout(const uint8_t *mad, const struct pma_caps *caps)
{
	if (!caps->known)
		return FEC_LAYOUT_UNKNOWN;
	if (!(caps->cap_mask & PMA_CAP_RS_FEC))
		return FEC_LAYOUT_LANES;
	if (!mad || !smp_is_ok(mad) || !(get_be32(mad + SMP_DATA_OFFSET) & EXTENDED_CAP_FEC_MODE))
		return FEC_LAYOUT_UNKNOWN;
	switch (get_be16(mad + SMP_DATA_OFFSET + 4)) {
	case FEC_NONE:
	case FEC_FIRE_CODE:
		return FEC_LAYOUT_LANES;
	case FEC_RS:
	case FEC_RS_LOW_LATENCY:
	case FEC_RS_2:
		return FEC_LAYOUT_RS;
	default:
		return FEC_LAYOUT_UNKNOWN;
	}
}
