/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_routes.h - fabrics with LIDs, for tests of forwarding tables (cmocka assertions) */
#ifndef IBWIRE_FABRIC_TEST_ROUTES_H
#define IBWIRE_FABRIC_TEST_ROUTES_H

#include <stdint.h>

#include "fabric/fabric.h"

/* routes_add_switch, routes_add_host - a node with so many Active ports; @top: LinearFDBTop. Return: its index. */
uint32_t routes_add_switch(struct fabric *fabric, uint64_t guid, uint16_t lid, uint8_t ports, uint16_t top);
uint32_t routes_add_host(struct fabric *fabric, uint64_t guid, uint8_t ports, uint16_t lid, uint8_t lmc,
			 uint16_t device);

/* routes_link - the first free port of each; nothing where one has none, or they are one node. */
void routes_link(struct fabric *fabric, uint32_t a, uint32_t b);

/* routes_set_state - of a port and its peer. */
void routes_set_state(struct fabric *fabric, uint32_t port, uint8_t state);

#endif
