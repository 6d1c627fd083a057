/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * planes.h - planes of multi-plane HCAs
 *
 * With XDR an HCA (ConnectX-8) may aggregate several physical ports, each in a plane of switches of
 * its own, to one logical port. Public information: the host sees one port for data and GMPs, and a
 * second device for SMPs with a port for each plane; they share the GUID of the logical port;
 * ibdiagnet adds up the counters of the ports that belong together. Unknown: how a performance
 * agent is queried for one plane or for all, and how the switch port of a plane identifies its
 * logical port. So planes are not polled; the switch ports at their other ends are ordinary ports,
 * and their counters are the traffic of a plane. The logical port is the sum of its planes.
 *
 * Source: Linux 6.11, "RDMA/core: Support IB sub device with type SMI" and "RDMA/mlx5: Support
 * plane device ..."; libibumad after 44.0, umad_get_smi_gsi_pairs(); ibdiagnet user manual 2.19,
 * dump files (aports, pm_agg).
 */
#ifndef IBWIRE_FABRIC_PLANES_H
#define IBWIRE_FABRIC_PLANES_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

/*
 * port_is_plane - this HCA port shares its GUID with another port of its node
 * A port GUID belongs to one port (IBA Vol 1, 4.1.1), so these are one logical port.
 */
bool port_is_plane(const struct fabric *fabric, uint32_t port);

/*
 * port_first_plane - first plane, by number, of the logical port of a port; the port itself if it
 * is not a plane
 * port_next_plane - the next plane; FABRIC_NONE after the last
 */
uint32_t port_first_plane(const struct fabric *fabric, uint32_t port);
uint32_t port_next_plane(const struct fabric *fabric, uint32_t port);

/* node_planes - number of ports of a node that are planes; 0: an ordinary node. */
unsigned node_planes(const struct fabric *fabric, uint32_t node);

#endif
