/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * variant.h - a fabric with other states, speeds or LIDs than the original
 *
 * Nodes and ports have the indexes of the original, so that both can be compared port by port. A link that is taken
 * out keeps its peers and is down: its cable still counts as built (fabric/shape.h).
 */
#ifndef IBWIRE_FABRIC_VARIANT_H
#define IBWIRE_FABRIC_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/speed.h"

struct error;
struct fabric;

/*
 * fabric_variant_create - copy nodes and ports of a finished fabric
 * @fabric:  must outlive the variant, which borrows its names
 *
 * Nodes and ports of the copy may be changed; nothing can be added.
 * Return: for fabric_variant_destroy(), never fabric_destroy(); NULL: no memory.
 */
struct fabric *fabric_variant_create(const struct fabric *fabric, struct error *err);
void fabric_variant_destroy(struct fabric *variant);

/* fabric_variant_take_out - set the link of a port to Down, at both ends. */
void fabric_variant_take_out(struct fabric *variant, uint32_t port);

/*
 * fabric_variant_set_rate - set speed and width of the link of a port, at both ends
 * @width:  LINK_WIDTH_NONE: the present one
 */
void fabric_variant_set_rate(struct fabric *variant, uint32_t port, enum link_speed speed, uint8_t width);

/*
 * fabric_variant_assign_lids - give a LID to every switch and every HCA port with a link that has none
 * A LID that a second port has, too, or that is not unicast counts as none. Present LIDs are not changed.
 *
 * Return: the number of LIDs that were assigned; ERR_IO: there are more ports than unicast LIDs; ERR_NOMEM.
 */
int64_t fabric_variant_assign_lids(struct fabric *variant, struct error *err);

/* link_is_usable - can the link of a port carry data? It has a peer, and neither end is Down or Init. */
bool link_is_usable(const struct fabric *fabric, uint32_t port);

#endif
