/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_names.h - ports and the names of their nodes over time; for the tables of SQL */
#ifndef IBWIRE_STORAGE_PORT_NAMES_H
#define IBWIRE_STORAGE_PORT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/text.h"

struct error;
struct node_name;

struct known_port {
	uint64_t node_guid;
	uint32_t node; /* its id; 0: no such port */
	uint8_t num;
};

/* A zeroed struct is empty. */
struct port_names {
	struct known_port *ports; /* by id */
	size_t count;             /* highest id + 1 */
	struct node_name *names;  /* in order of node and sweep */
	size_t name_count, name_capacity;
	struct text chars;
};

/* port_names_load - read them. Return: 0 or an error; port_names_done() is required in either case. */
int port_names_load(struct port_names *names, sqlite3 *db, struct error *err);
void port_names_done(struct port_names *names);

/* port_names_find - Return: the port of an id, or NULL (borrowed). */
const struct known_port *port_names_find(const struct port_names *names, uint64_t port);

/* port_names_node - the name of its node at a sweep, or the last one before. Return: it, or NULL (borrowed). */
const char *port_names_node(const struct port_names *names, const struct known_port *port, int64_t sweep);

#endif
