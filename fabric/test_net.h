/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_net.h - small fabrics for tests */
#ifndef IBWIRE_FABRIC_TEST_NET_H
#define IBWIRE_FABRIC_TEST_NET_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"

/* net_new - an empty fabric. All functions abort on errors. */
struct fabric *net_new(void);

/* net_switch, net_hca - a node with 64 or 2 ports, all down; @fmt: its name. Return: its index. */
uint32_t net_switch(struct fabric *fabric, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint32_t net_hca(struct fabric *fabric, uint64_t system_guid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

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

/*
 * net_add_host_anywhere - one more host on a free port of each switch in turn, of a finished fabric
 * Each changes the tier of no other switch; aborts otherwise. The host stays, without a cable.
 */
void net_add_host_anywhere(struct fabric *fabric);

/* net_random - the next random number. @random: the state, at first a seed */
uint64_t net_random(uint64_t *random);

/* net_random_fabric - random nodes with random ports and descriptions, and random links between free ports */
struct fabric *net_random_fabric(uint64_t seed);

/* net_done - of both. */
void net_done(struct fabric *fabric, struct shape *shape);

#endif
