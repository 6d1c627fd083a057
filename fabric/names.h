/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* names.h - nodes and ports by name, as people type, read and order them */
#ifndef IBWIRE_FABRIC_NAMES_H
#define IBWIRE_FABRIC_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

/*
 * names_find_node - a node as typed: its name, or its GUID as 0x...
 * @typed:  whole name, case-sensitive; else 0x and a GUID
 * @ret:    index into fabric->nodes
 *
 * Return: 0; ERR_USAGE where nothing or several nodes are meant: the text lists
 * some of them, or names the nearest.
 */
int names_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_find_port - a port as typed: NAME/PORT or 0xGUID/PORT
 * @ret:  index into fabric->ports
 *
 * Return: 0 or ERR_USAGE, as above.
 */
int names_find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_short - a node's name as it is shown
 * Managed switches are called "MF0;NAME:MODEL/U1": what is not NAME takes half
 * of the screen and tells nobody apart, so it is left out. Modules of a chassis
 * keep theirs: "MF0;NAME:MODEL/L01/U1" is "NAME/L01/U1".
 * @ret:  at least strlen(@name) + 1 bytes
 * Return: bytes written, the final NUL among them.
 */
size_t names_short(const char *name, char *ret);

/* names_compare - as people order names: "node2" before "node10". As strcmp. */
int names_compare(const char *a, const char *b);

#endif
