/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smp_read.h - what a discovery's SMPs say, as the nodes and ports of a fabric
 *
 * Decoded here byte by byte; wire/netdisc decodes the same with libibmad, so that
 * each can be held against the other.
 */
#ifndef IBWIRE_WIRE_SMP_READ_H
#define IBWIRE_WIRE_SMP_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/mad.h"

struct node;
struct port;

/* An answered NodeInfo. Source: IBA Vol 1, 14.2.5.3; libibmad fields.c, NodeInfo fields. */
struct smp_node {
	uint64_t guid, system_guid;
	uint64_t port_guid; /* of the port that the question came in by; of a switch, port 0's */
	uint32_t revision, vendor_id;
	uint16_t device_id;
	uint8_t type, port_count;
	uint8_t port; /* that the question came in by; 0 where it came from the node itself and that is a switch */
};

struct smp_node smp_read_node(const uint8_t mad[MAD_SIZE]);

/*
 * smp_read_switch - LinearFDBTop and EnhancedPort0 into a node. Source: IBA Vol 1, 14.2.5.4;
 * libibmad fields.c.
 */
void smp_read_switch(const uint8_t mad[MAD_SIZE], struct node *ret);

/* What PortInfo says of the link that a discovery has to know at once. */
bool smp_is_link_up(const uint8_t info[SMP_DATA_SIZE]);

/*
 * smp_read_port - a port from its PortInfo; its number, GUID, LID and LMC are left to the caller
 * @info:      the attribute's bytes
 * @caps:      those of the port whose CapabilityMask speaks for it: itself, or a switch's port 0
 * @extended:  Mellanox' ExtendedPortInfo, all 0 where it was not asked
 *
 * Source: IBA Vol 1, 14.2.5.6; libibmad fields.c, PortInfo fields, Mellanox ExtendedPortInfo
 * fields.
 */
void smp_read_port(const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE],
		   const uint8_t extended[SMP_DATA_SIZE], struct port *ret);

/* smp_read_base_lid, smp_read_lmc - from a PortInfo's bytes. Source: as above: bytes 16 and 34. */
uint16_t smp_read_base_lid(const uint8_t info[SMP_DATA_SIZE]);
uint8_t smp_read_lmc(const uint8_t info[SMP_DATA_SIZE]);

/*
 * smp_hides_fdr10 - may this link be an FDR10 one, which PortInfo shows as QDR?
 * Then Mellanox' ExtendedPortInfo tells, where the node is one of those that have it.
 * Source: rdma-core libibnetdisc/ibnetdisc.c, is_mlnx_ext_port_info_supported(): the devices.
 */
bool smp_hides_fdr10(const struct smp_node *node, const uint8_t info[SMP_DATA_SIZE], const uint8_t caps[SMP_DATA_SIZE]);

#endif
