/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * planes.h - HCA ports that are not ports of their own, but planes of one
 *
 * With XDR an HCA (ConnectX-8) may join several physical ports, each in a plane
 * of switches of its own, to one logical port. What is known of that in public:
 * the host sees one port for data and GMPs, and beside it a device for SMPs with a
 * port for each plane; they share the logical port's GUID; ibdiagnet adds up the
 * counters of the ports that belong together. Not known is how a performance
 * agent is asked for one plane or for all, and by what a plane's switch port
 * tells to which logical port it belongs. So planes are not asked for counters of which
 * nobody could say what they count: the switch ports at their other ends are ports like any,
 * and what those counted is what a plane carried. The logical port is the sum of its planes.
 *
 * Source: Linux 6.11, "RDMA/core: Support IB sub device with type SMI" and
 * "RDMA/mlx5: Support plane device ..."; libibumad after 44.0,
 * umad_get_smi_gsi_pairs(); ibdiagnet user manual 2.19, dump files (aports, pm_agg).
 */
#ifndef IBWIRE_FABRIC_PLANES_H
#define IBWIRE_FABRIC_PLANES_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

/*
 * port_is_plane - does this HCA port share its GUID with another port of its node?
 * A port GUID belongs to one port (IBA Vol 1, 4.1.1), so these are one logical port.
 */
bool port_is_plane(const struct fabric *fabric, uint32_t port);

/*
 * port_first_plane - the first plane, by number, of the logical port that a port belongs to; itself where it is none
 * port_next_plane - the plane after this one, FABRIC_NONE behind the last
 */
uint32_t port_first_plane(const struct fabric *fabric, uint32_t port);
uint32_t port_next_plane(const struct fabric *fabric, uint32_t port);

/* node_planes - how many ports of a node are planes; 0: it is an ordinary one. */
unsigned node_planes(const struct fabric *fabric, uint32_t node);

#endif
