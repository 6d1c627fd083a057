/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* smp.h - answers of subnet management agents as data */
#ifndef IBWIRE_WIRE_SMP_H
#define IBWIRE_WIRE_SMP_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/detail.h"
#include "wire/mad.h"

struct pma_caps;

/* smp_is_ok - is this an answer without an error status? Source: IBA Vol 1, 13.4.7. */
bool smp_is_ok(const uint8_t mad[MAD_SIZE]);

/* An answered SMInfo. Source: IBA Vol 1, 14.2.5.13 (SMInfo). */
struct sm_info {
	uint64_t guid; /* port GUID of the subnet manager */
	uint32_t act_count;
	uint8_t priority;
	uint8_t state; /* 0 not active, 1 discovering, 2 standby, 3 master */
};

struct sm_info smp_read_sm_info(const uint8_t mad[MAD_SIZE]);

/* Who answers at a LID. Source: IBA Vol 1, 14.2.5.3 (NodeInfo). */
struct smp_node_info {
	uint64_t guid; /* of the node */
	uint8_t port;  /* the port at which the question arrived: the LID's own port unless the node is a switch */
};

struct smp_node_info smp_read_node_info(const uint8_t mad[MAD_SIZE]);

/* smp_read_lid - base LID from an answered PortInfo. Source: IBA Vol 1, 14.2.5.6; libibmad fields.c: byte 16. */
uint16_t smp_read_lid(const uint8_t mad[MAD_SIZE]);

/* smp_read_port_state_change - SwitchInfo.PortStateChange. Source: IBA Vol 1, 14.2.5.4; libibmad fields.c. */
bool smp_read_port_state_change(const uint8_t mad[MAD_SIZE]);

/* smp_read_lft_top - SwitchInfo.LinearFDBTop, the highest LID that its table has. Source: as above: bytes 6 and 7. */
uint16_t smp_read_lft_top(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_lft - the 64 output ports of an answered LinearForwardingTable, in order of LID from 64 * modifier on
 * @mad:  borrowed by what is returned
 * Source: IBA Vol 1, 14.2.5.8 (LinearForwardingTable); opensm osm_dump.c, whose tables this was held against.
 */
const uint8_t *smp_read_lft(const uint8_t mad[MAD_SIZE]);

/* What PortInfo says of a link. Source: IBA Vol 1, 14.2.5.6; libibmad fields.c. */
struct smp_link {
	uint8_t state; /* enum port_state */
	uint8_t width; /* enum link_width, active; stale below PORT_INIT */
	uint8_t speed; /* enum link_speed, active; QDR also for FDR10, which is not in PortInfo */
};

/*
 * smp_read_link - the link's state, width and speed from an answered PortInfo
 * @cap_mask:  CapabilityMask that speaks for the port: a switch's port 0's
 */
struct smp_link smp_read_link(const uint8_t mad[MAD_SIZE], uint32_t cap_mask);

/*
 * smp_read_fec_layout - how a port's PortExtendedSpeeds is laid out
 * @mad:        an answered PortInfoExtended of the port, or NULL where it was not asked (yet)
 * @caps:       of the node's performance agent
 *
 * A node whose agent has no counters of Reed-Solomon codes always counts by lanes:
 * it need not be asked. Else the mode that the link trained with decides; the
 * low-latency Reed-Solomon code counts as the others do.
 * Who answers PortInfoExtended has it: PortInfo.CapabilityMask2 is not asked before.
 * Return: the layout; FEC_LAYOUT_UNKNOWN where the node does not say.
 * Source: libibmad fields.c, PortInfoExtended: CapMask byte 0, FECModeActive byte 4; iba_types.h
 * IB_PORT_EXT_*_FEC_MODE_ACTIVE; perfquery.c, is_rsfec_mode_active().
 */
enum fec_layout smp_read_fec_layout(const uint8_t *mad, const struct pma_caps *caps);

#endif
