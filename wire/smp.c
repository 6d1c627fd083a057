/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/smp.h"

#include <stddef.h>

#include "fabric/counter.h"
#include "fabric/device.h"
#include "fabric/pkeys.h"
#include "fabric/speed.h"

/* Bits of PortInfo.CapabilityMask and CapabilityMask2. Source: IBA Vol 1, PortInfo; rdma-core libibmad. */
enum { CAP_EXTENDED_SPEEDS = 1 << 14, CAP_CAP_MASK2 = 1 << 15, CAP2_EXTENDED_SPEEDS2 = 1 << 11 };

/* Offsets of the fields of PortInfo; two fields may share a byte. */
enum {
	INFO_LID = 16, INFO_SM_LID = 18, INFO_CAP_MASK = 20, INFO_WIDTH_ENABLED = 29, INFO_WIDTH_SUPPORTED = 30,
	INFO_WIDTH_ACTIVE = 31, INFO_SPEED_SUPPORTED_STATE = 32, INFO_PHYS_STATE = 33, INFO_LMC = 34,
	INFO_SPEED_ACTIVE_ENABLED = 35, INFO_ENFORCEMENT = 43, INFO_SPEED_EXT2 = 56, INFO_CAP_MASK2 = 60,
	INFO_EXT_ACTIVE_SUPPORTED = 62, INFO_EXT_ENABLED = 63,
};

/* Mellanox ExtendedPortInfo: offsets, and the bit of FDR10. */
enum { MLNX_SPEED_SUPPORTED = 7, MLNX_SPEED_ENABLED = 11, MLNX_SPEED_ACTIVE = 15, MLNX_FDR10 = 1 };

/* LinkSpeedExtEnabled: all of them are disabled. */
enum { EXT_DISABLED = 30 };

/* LinkSpeedActive of QDR. */
enum { SPEED_QDR = 4 };

/* PortInfoExtended.CapabilityMask: FECModeActive is valid. */
enum { EXTENDED_CAP_FEC_MODE = 1 << 0 };

/* Mellanox ExtendedPortInfo: the byte with FECModeActive in its upper half. */
enum { MLNX_FEC_MODE_ACTIVE = 17 };

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

uint16_t smp_read_lid(const uint8_t mad[MAD_SIZE])
{
	return get_be16(mad + SMP_DATA_OFFSET + 16);
}

bool smp_read_port_state_change(const uint8_t mad[MAD_SIZE])
{
	return mad[SMP_DATA_OFFSET + 11] >> 2 & 1;
}

bool smp_read_adaptive_routing(const uint8_t mad[MAD_SIZE])
{
	return get_be32(mad + SMP_DATA_OFFSET) & 1;
}

uint16_t smp_read_lft_top(const uint8_t mad[MAD_SIZE])
{
	return get_be16(mad + SMP_DATA_OFFSET + 6);
}

const uint8_t *smp_read_lft(const uint8_t mad[MAD_SIZE])
{
	return mad + SMP_DATA_OFFSET;
}

void smp_read_pkeys(const uint8_t mad[MAD_SIZE], uint16_t ret[PKEYS_BLOCK])
{
	for (unsigned i = 0; i < PKEYS_BLOCK; i++)
		ret[i] = get_be16(mad + SMP_DATA_OFFSET + (size_t)2 * i);
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
	 * Byte 56 was reserved before XDR. CapabilityMask2 (byte 60) shows that it is valid, but for a
	 * switch maybe only at port 0.
	 */
	if (cap_mask & CAP_CAP_MASK2 && info[56] >> 5 & 1)
		link.speed = LINK_SPEED_XDR;
	return link;
}

static enum fec_layout layout_of_mode(unsigned mode)
{
	static const uint8_t layouts[] = {
		[0] = FEC_LAYOUT_LANES,   /* none */
		[1] = FEC_LAYOUT_LANES,   /* Fire code */
		[2] = FEC_LAYOUT_RS,      /* RS(528,514) */
		[3] = FEC_LAYOUT_RS,      /* low-latency RS(271,257) */
		[4] = FEC_LAYOUT_RS_544,  /* RS(544,514) */
		[8] = FEC_LAYOUT_RS,      /* NVIDIA: strong */
		[9] = FEC_LAYOUT_RS,      /* NVIDIA: low latency */
		[10] = FEC_LAYOUT_RS,     /* NVIDIA: adaptive */
		[11] = FEC_LAYOUT_RS,     /* NVIDIA: codeword on demand */
		[13] = FEC_LAYOUT_RS_544, /* NVIDIA: RS(544,514) with physical-layer retransmission */
		[14] = FEC_LAYOUT_RS,     /* NVIDIA: RS(271,257) with physical-layer retransmission */
	};

	return mode < sizeof(layouts) ? (enum fec_layout)layouts[mode] : FEC_LAYOUT_UNKNOWN;
}

enum fec_layout smp_read_fec_layout(const uint8_t *mad, const struct pma_caps *caps)
{
	if (!caps->known)
		return FEC_LAYOUT_UNKNOWN;
	if (!(caps->cap_mask & PMA_CAP_RS_FEC))
		return FEC_LAYOUT_LANES;
	if (!mad || !smp_is_ok(mad) || !(get_be32(mad + SMP_DATA_OFFSET) & EXTENDED_CAP_FEC_MODE))
		return FEC_LAYOUT_UNKNOWN;
	return layout_of_mode(get_be16(mad + SMP_DATA_OFFSET + 4));
}

enum fec_layout smp_read_vendor_fec_layout(const uint8_t mad[MAD_SIZE])
{
	/* Mode 0 is also what a device sends that does not have the field. */
	unsigned mode = mad[SMP_DATA_OFFSET + MLNX_FEC_MODE_ACTIVE] >> 4;

	return smp_is_ok(mad) && mode ? layout_of_mode(mode) : FEC_LAYOUT_UNKNOWN;
}

struct smp_node smp_read_node(const uint8_t info[SMP_DATA_SIZE])
{
	return (struct smp_node){
		.node = {
			.type = info[2],
			.port_count = info[3],
			.system_guid = get_be64(info + 4),
			.guid = get_be64(info + 12),
			.partition_cap = get_be16(info + 28),
			.device_id = get_be16(info + 30),
			.revision = get_be32(info + 32),
			.vendor_id = get_be32(info + 36) & 0xffffff,
		},
		.port_guid = get_be64(info + 20),
		.port = info[36],
	};
}

void smp_read_switch(const uint8_t info[SMP_DATA_SIZE], struct node *ret)
{
	ret->lft_top = get_be16(info + 6);
	ret->enhanced_port0 = info[16] >> 3 & 1;
	ret->enforcement_cap = get_be16(info + 14);
}

bool smp_is_link_up(const uint8_t info[SMP_DATA_SIZE])
{
	return info[INFO_PHYS_STATE] >> 4 == PHYS_LINK_UP;
}

uint16_t smp_read_base_lid(const uint8_t info[SMP_DATA_SIZE])
{
	return get_be16(info + INFO_LID);
}

uint8_t smp_read_lmc(const uint8_t info[SMP_DATA_SIZE])
{
	return info[INFO_LMC] & 7;
}

static bool has_extended_speeds(const uint8_t caps[SMP_DATA_SIZE])
{
	return get_be32(caps + INFO_CAP_MASK) & CAP_EXTENDED_SPEEDS;
}

static bool has_extended_speeds2(const uint8_t caps[SMP_DATA_SIZE])
{
	return get_be32(caps + INFO_CAP_MASK) & CAP_CAP_MASK2 &&
	       get_be16(caps + INFO_CAP_MASK2) & CAP2_EXTENDED_SPEEDS2;
}

/* SDR, DDR, QDR, and FDR10 of Mellanox. */
static void read_plain_speeds(const uint8_t *info, const uint8_t *extended, struct port *ret)
{
	ret->speed_supported = (uint16_t)((info[INFO_SPEED_SUPPORTED_STATE] >> 4 & 7) << LINK_SPEED_SDR);
	ret->speed_enabled = (uint16_t)((info[INFO_SPEED_ACTIVE_ENABLED] & 7) << LINK_SPEED_SDR);
	ret->speed = (uint8_t)link_speed_best((uint16_t)((info[INFO_SPEED_ACTIVE_ENABLED] >> 4) << LINK_SPEED_SDR));
	if (extended[MLNX_SPEED_SUPPORTED] & MLNX_FDR10)
		ret->speed_supported |= 1 << LINK_SPEED_FDR10;
	if (extended[MLNX_SPEED_ENABLED] & MLNX_FDR10)
		ret->speed_enabled |= 1 << LINK_SPEED_FDR10;
	if (ret->speed == LINK_SPEED_QDR && extended[MLNX_SPEED_ACTIVE] & MLNX_FDR10)
		ret->speed = LINK_SPEED_FDR10;
}

/* FDR, EDR, HDR, NDR from bit 0 up. */
static void read_extended_speeds(const uint8_t *info, struct port *ret)
{
	unsigned active = info[INFO_EXT_ACTIVE_SUPPORTED] >> 4, supported = info[INFO_EXT_ACTIVE_SUPPORTED] & 15;
	unsigned enabled = info[INFO_EXT_ENABLED] & 31;

	ret->speed_supported |= (uint16_t)(supported << LINK_SPEED_FDR);
	if (enabled != EXT_DISABLED)
		ret->speed_enabled |= (uint16_t)((enabled & 15) << LINK_SPEED_FDR);
	if (active)
		ret->speed = (uint8_t)link_speed_best((uint16_t)(active << LINK_SPEED_FDR));
}

/* Two bits active, two supported, three enabled; the lowest of each is XDR. */
static void read_extended_speeds2(const uint8_t *info, struct port *ret)
{
	uint8_t byte = info[INFO_SPEED_EXT2];

	if (byte >> 5 & 1)
		ret->speed = LINK_SPEED_XDR;
	if (byte >> 3 & 1)
		ret->speed_supported |= 1 << LINK_SPEED_XDR;
	if (byte & 1)
		ret->speed_enabled |= 1 << LINK_SPEED_XDR;
}

void smp_read_port(const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE],
		   const uint8_t extended[SMP_DATA_SIZE], struct port *ret)
{
	ret->cap_mask = get_be32(info + INFO_CAP_MASK);
	ret->sm_lid = get_be16(info + INFO_SM_LID);
	ret->state = info[INFO_SPEED_SUPPORTED_STATE] & 15;
	ret->phys_state = info[INFO_PHYS_STATE] >> 4;
	ret->width = info[INFO_WIDTH_ACTIVE];
	ret->width_enabled = info[INFO_WIDTH_ENABLED];
	ret->width_supported = info[INFO_WIDTH_SUPPORTED];
	ret->enforcement = info[INFO_ENFORCEMENT] >> 2 & (PKEYS_INBOUND | PKEYS_OUTBOUND);
	read_plain_speeds(info, extended, ret);
	if (has_extended_speeds(caps))
		read_extended_speeds(info, ret);
	if (has_extended_speeds2(caps))
		read_extended_speeds2(info, ret);
}

bool smp_hides_fdr10(const struct node *node, const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE])
{
	enum { BULL = VENDOR_BULL };
	static const struct {
		uint32_t vendor_id; /* 0: any */
		uint16_t first, last;
	} devices[] = {
		{ 0, 0xc738, 0xc73b }, { 0, 0xc839, 0xc839 }, { 0, 0xcb20, 0xcb20 }, { 0, 0xcf08, 0xcf09 },
		{ 0, 0xd2f0, 0xd2f0 }, { 0, 0x1003, 0x101b }, { 0, 0xa2d2, 0xa2d2 },
		{ BULL, 0x1b02, 0x1b02 }, { BULL, 0x1b33, 0x1b33 }, { BULL, 0x1b40, 0x1b41 }, { BULL, 0x1b50, 0x1b50 },
		{ BULL, 0x1b60, 0x1b61 }, { BULL, 0x1b73, 0x1b73 }, { BULL, 0x1b83, 0x1b83 }, { BULL, 0x1b93, 0x1b94 },
		{ BULL, 0x1ba0, 0x1ba0 }, { BULL, 0x1bb4, 0x1bb5 }, { BULL, 0x1bc4, 0x1bc6 }, { BULL, 0x1bd0, 0x1bd5 },
		{ BULL, 0x1bf0, 0x1bf0 },
	};

	if (!smp_is_link_up(info) || info[INFO_SPEED_ACTIVE_ENABLED] >> 4 != SPEED_QDR ||
	    (has_extended_speeds(caps) && info[INFO_EXT_ACTIVE_SUPPORTED] >> 4) ||
	    (has_extended_speeds2(caps) && info[INFO_SPEED_EXT2] >> 5 & 3))
		return false;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (node->device_id >= devices[i].first && node->device_id <= devices[i].last &&
		    (!devices[i].vendor_id || devices[i].vendor_id == node->vendor_id))
			return true;
	return false;
}
