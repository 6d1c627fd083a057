/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* smp.h - decode responses of subnet management agents */
#ifndef IBWIRE_WIRE_SMP_H
#define IBWIRE_WIRE_SMP_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/detail.h"
#include "wire/mad.h"

struct pma_caps;

/* smp_is_ok - the response has no error status. Source: IBA Vol 1, 13.4.7. */
bool smp_is_ok(const uint8_t mad[MAD_SIZE]);

/* SMInfo. Source: IBA Vol 1, 14.2.5.13 (SMInfo). */
struct sm_info {
	uint64_t guid; /* port GUID of the subnet manager */
	uint32_t act_count;
	uint8_t priority;
	uint8_t state; /* 0 not active, 1 discovering, 2 standby, 3 master */
};

struct sm_info smp_read_sm_info(const uint8_t mad[MAD_SIZE]);

/* Identity from NodeInfo. Source: IBA Vol 1, 14.2.5.3 (NodeInfo). */
struct smp_node_info {
	uint64_t guid; /* of the node */
	uint8_t port;  /* port that received the request: the port of the LID, unless the node is a switch */
};

struct smp_node_info smp_read_node_info(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_lid - base LID from PortInfo. Source: IBA Vol 1, 14.2.5.6; libibmad fields.c: byte 16.
 */
uint16_t smp_read_lid(const uint8_t mad[MAD_SIZE]);

/* smp_read_port_state_change - SwitchInfo.PortStateChange. Source: IBA Vol 1, 14.2.5.4; libibmad fields.c. */
bool smp_read_port_state_change(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_lft_top - SwitchInfo.LinearFDBTop, the highest LID of the table. Source: as above: bytes
 * 6 and 7.
 */
uint16_t smp_read_lft_top(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_lft - the 64 output ports of a LinearForwardingTable block, from LID 64 * modifier on
 * @mad:  borrowed by the result
 * Source: IBA Vol 1, 14.2.5.8 (LinearForwardingTable); compared with tables written by opensm
 * osm_dump.c.
 */
const uint8_t *smp_read_lft(const uint8_t mad[MAD_SIZE]);

/* Link state from PortInfo. Source: IBA Vol 1, 14.2.5.6; libibmad fields.c. */
struct smp_link {
	uint8_t state; /* enum port_state */
	uint8_t width; /* enum link_width, active; stale below PORT_INIT */
	uint8_t speed; /* enum link_speed, active; QDR also for FDR10, which is not in PortInfo */
};

/*
 * smp_read_link - state, width and speed of the link from PortInfo
 * @cap_mask:  CapabilityMask of the port; for a switch that of port 0
 */
struct smp_link smp_read_link(const uint8_t mad[MAD_SIZE], uint32_t cap_mask);

/*
 * smp_read_fec_layout - layout of PortExtendedSpeeds of a port
 * @mad:        PortInfoExtended of the port, or NULL: not read (yet)
 * @caps:       of the performance agent of the node
 *
 * An agent without Reed-Solomon counters always counts by lanes and needs no query. Otherwise the
 * FEC mode of the link determines the layout; the low-latency Reed-Solomon code counts as the
 * others. A node that responds to PortInfoExtended supports it: PortInfo.CapabilityMask2 is not
 * checked.
 * Return: the layout; FEC_LAYOUT_UNKNOWN: not reported.
 * Source: libibmad fields.c, PortInfoExtended: CapMask byte 0, FECModeActive byte 4; iba_types.h
 * IB_PORT_EXT_*_FEC_MODE_ACTIVE; perfquery.c, is_rsfec_mode_active().
 */
enum fec_layout smp_read_fec_layout(const uint8_t *mad, const struct pma_caps *caps);

#endif
