/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host.h - which HCAs are one host's */
#ifndef IBWIRE_FABRIC_HOST_H
#define IBWIRE_FABRIC_HOST_H

#include <stdbool.h>

#include "fabric/fabric.h"

/*
 * host_name - the host that an HCA is in, by its name
 * Descriptions are "HOST DEVICE" (rdma-ndd: "node0001 mlx5_0") or "HOST HCA-N": the host is what
 * stands before the first space.
 * @ret:  at least NODE_NAME_SIZE bytes
 * Return: whether the node is an HCA: switches, routers and aggregation nodes are no hosts.
 */
bool host_name(const struct node *node, char ret[NODE_NAME_SIZE]);

#endif
