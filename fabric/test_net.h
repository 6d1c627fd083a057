/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_net.h - small fabrics put together by hand, for tests */
#ifndef IBWIRE_FABRIC_TEST_NET_H
#define IBWIRE_FABRIC_TEST_NET_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"

/* net_new - an empty fabric; the functions abort where they cannot do what they are asked. */
struct fabric *net_new(void);

/* net_switch, net_hca - a node with 64 or 2 ports, all down. A GUID of 0: the next one. Return: its index. */
uint32_t net_switch(struct fabric *fabric, const char *name);
uint32_t net_hca(struct fabric *fabric, const char *name, uint64_t system_guid);

/* net_node - the same of any device. */
uint32_t net_node(struct fabric *fabric, const struct node *node);

/* net_link - the next free port of each, NDR and Active. Return: the port of @a. */
uint32_t net_link(struct fabric *fabric, uint32_t a, uint32_t b);

/* net_links - @count of them. */
void net_links(struct fabric *fabric, uint32_t a, uint32_t b, unsigned count);

/* net_hosts - @count HCAs "PREFIX<n> mlx5_0", n from @first, each linked to @leaf. */
void net_hosts(struct fabric *fabric, const char *prefix, unsigned first, unsigned count, uint32_t leaf);

/* net_shape - finish the fabric and find its shape. */
struct shape *net_shape(struct fabric *fabric, const struct shape_settings *settings);

/* net_done - of both. */
void net_done(struct fabric *fabric, struct shape *shape);

#endif
