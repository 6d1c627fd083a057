/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host.h - host names of HCAs */
#ifndef IBWIRE_FABRIC_HOST_H
#define IBWIRE_FABRIC_HOST_H

#include <stdbool.h>

#include "fabric/fabric.h"

/*
 * host_name - name of the host of an HCA
 * Descriptions are "HOST DEVICE" (rdma-ndd: "node0001 mlx5_0") or "HOST HCA-N": the host is the
 * part before the first space.
 * @ret:  at least NODE_NAME_SIZE bytes
 * Return: whether the node is an HCA; switches, routers and aggregation nodes are not hosts.
 */
bool host_name(const struct node *node, char ret[NODE_NAME_SIZE]);

#endif
