/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_pkeys.h - `ibwire ports --pkeys`: the P_Key tables of ports */
#ifndef IBWIRE_CLI_PORT_PKEYS_H
#define IBWIRE_CLI_PORT_PKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct moment;
struct options;
struct port_facts;

/* port_pkeys_has - is the port in the list: of an HCA or a router, or a switch port whose table was read? */
bool port_pkeys_has(const struct moment *moment, uint32_t port);

/* port_pkeys_print - one row per port. @moment: with moment_load_pkeys(). Return: as output_end(). */
int port_pkeys_print(const struct moment *moment, const struct options *options, const struct port_facts *ports,
		     size_t count, struct error *err);

#endif
