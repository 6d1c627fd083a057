/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host.h - host and device of an HCA, from its description
 *
 * One function reads descriptions; everything that shows, selects or groups by host uses it. Forms:
 *
 *	node0001 mlx5_0                 rdma-ndd(8), "%h %d"; any second word is a device
 *	node0001 HCA-1                  openibd of MLNX_OFED
 *	node0001                        no device
 *	node0001 HCA-1 (vendor HCA)     a suffix in parentheses is ignored
 *	rk1db01 S 10.9.8.1 HCA-1        Exadata: S a database server, C a storage cell, and its address
 *	node0001 sn42 mlx5_0            more words: a host only if one of the others is a device
 *	node0001 mlx5_ib0               Azure
 *	Intel Infiniband HCA node0001   the qib driver in Linux; formerly QLogic
 *	mlx5_0                          a device without a host
 *	MT4129 ConnectX7 Mellanox Technologies, localhost mlx5_0, an empty one: no host (names_is_generic())
 *	Voltaire HCA410                 the firmware of Voltaire: no host
 *	MF0;NAME:MODEL/U1               a part of a managed switch, no host
 */
#ifndef IBWIRE_FABRIC_HOST_H
#define IBWIRE_FABRIC_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/fabric.h"

struct host_words {
	const char *host, *device; /* borrowed from the description, not terminated */
	size_t host_len, device_len; /* 0: none */
	bool is_storage_cell; /* of an Exadata */
};

/*
 * host_split - find the host and the device in a description
 * @name:  the description of an HCA, or the name made from it
 * Return: whether it names a host; *@ret is filled in any case.
 */
bool host_split(const char *name, struct host_words *ret);

/*
 * host_name - name of the host of an HCA; its GUID, if the description names none
 * @ret:  at least NODE_NAME_SIZE bytes
 * Return: whether the node is an HCA; switches, routers and aggregation nodes are not hosts.
 */
bool host_name(const struct node *node, char ret[NODE_NAME_SIZE]);

#endif
