/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smp.h - decode responses of subnet management agents
 *
 * netdisc_test compares the results with those of libibmad.
 */
#ifndef IBWIRE_WIRE_SMP_H
#define IBWIRE_WIRE_SMP_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "fabric/pkeys.h"
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

/* NodeInfo. Source: IBA Vol 1, 14.2.5.3; libibmad fields.c, NodeInfo fields. */
struct smp_node {
	struct node node;   /* fields of NodeInfo only */
	uint64_t port_guid; /* of the port that received the request; of a switch, of port 0 */
	uint8_t port;       /* port that received the request: the port of the LID, unless the node is a switch */
};

struct smp_node smp_read_node(const uint8_t info[SMP_DATA_SIZE]);

/*
 * smp_read_switch - LinearFDBTop, EnhancedPort0 and PartitionEnforcementCap
 * Source: IBA Vol 1, 14.2.5.4; libibmad fields.c.
 */
void smp_read_switch(const uint8_t info[SMP_DATA_SIZE], struct node *ret);

/* smp_is_link_up - PortPhysicalState of PortInfo is LinkUp */
bool smp_is_link_up(const uint8_t info[SMP_DATA_SIZE]);

/* smp_read_lid - base LID from PortInfo. Source: IBA Vol 1, 14.2.5.6: byte 16. */
uint16_t smp_read_lid(const uint8_t mad[MAD_SIZE]);

/* smp_read_port_state_change - SwitchInfo.PortStateChange. Source: IBA Vol 1, 14.2.5.4; libibmad fields.c. */
bool smp_read_port_state_change(const uint8_t mad[MAD_SIZE]);

/* smp_read_lft_top - SwitchInfo.LinearFDBTop, the highest LID. Source: as above: bytes 6 and 7. */
uint16_t smp_read_lft_top(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_adaptive_routing - AdaptiveRoutingInfo: is adaptive routing enabled at the switch?
 * Source: NVIDIA's ibis, as installed in github.com/cisco-system-traffic-generator/trex-core,
 * external_libs/ibverbs/x86_64/include/infiniband/ibis: ibis_types.h (enum SMP_ATTR_ID) and
 * packets/packets_layouts.h (struct adaptive_routing_info: bit 0 of the first 32 bits). That modifier 0
 * selects the current state and not capabilities is an assumption (docs/infiniband.md).
 */
bool smp_read_adaptive_routing(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_lft - the 64 output ports of a LinearForwardingTable block, from LID 64 * modifier on
 * @mad:  borrowed by the result
 * Source: IBA Vol 1, 14.2.5.8 (LinearForwardingTable); compared with tables written by opensm
 * osm_dump.c.
 */
const uint8_t *smp_read_lft(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_pkeys - the 32 entries of a P_KeyTable block
 * Of modifier: block in its lower 16 bits; of a switch, the port above them.
 * Source: IBA Vol 1, 14.2.5.7 (P_KeyTable); compared with smpquery.
 */
void smp_read_pkeys(const uint8_t mad[MAD_SIZE], uint16_t ret[PKEYS_BLOCK]);

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
 * FEC mode of the link determines the layout; all Reed-Solomon codes count alike. A node that
 * responds to PortInfoExtended supports it: PortInfo.CapabilityMask2 is not checked.
 * Return: the layout; FEC_LAYOUT_UNKNOWN: not reported.
 * Source: libibmad fields.c, PortInfoExtended: CapMask byte 0, FECModeActive byte 4; iba_types.h
 * IB_PORT_EXT_*_FEC_MODE_ACTIVE; perfquery.c, is_rsfec_mode_active(); modes of NVIDIA devices:
 * ibdiagnet's public header infiniband/ibdm/Fabric.h, IBFECMode and isRSFEC().
 */
enum fec_layout smp_read_fec_layout(const uint8_t *mad, const struct pma_caps *caps);

/*
 * smp_read_vendor_fec_layout - the same from Mellanox ExtendedPortInfo, for devices whose
 * PortInfoExtended has no known mode
 * Source: ibdiagnet's public header infiniband/ibis/packets/packets_layouts.h, SMP_MlnxExtPortInfo:
 * FECModeActive in bits 20 to 23 of the word at byte 16.
 */
enum fec_layout smp_read_vendor_fec_layout(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_port - a port from its PortInfo, except its number, GUID, LID and LMC
 * @info:      PortInfo
 * @caps:      PortInfo with the CapabilityMask: of the port itself, or of port 0 of its switch
 * @extended:  Mellanox ExtendedPortInfo; 0: not read
 *
 * Source: IBA Vol 1, 14.2.5.6; libibmad fields.c, PortInfo fields, Mellanox ExtendedPortInfo
 * fields.
 */
void smp_read_port(const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE],
		   const uint8_t extended[SMP_DATA_SIZE], struct port *ret);

/* smp_read_base_lid, smp_read_lmc - from PortInfo. Source: as above: bytes 16 and 34. */
uint16_t smp_read_base_lid(const uint8_t info[SMP_DATA_SIZE]);
uint8_t smp_read_lmc(const uint8_t info[SMP_DATA_SIZE]);

/*
 * smp_hides_fdr10 - may this link be FDR10, which PortInfo shows as QDR, and has the node ExtendedPortInfo?
 * Source: rdma-core libibnetdisc/ibnetdisc.c, is_mlnx_ext_port_info_supported(): the devices.
 */
bool smp_hides_fdr10(const struct node *node, const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE]);

#endif
