/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dot.h - a fabric as a graph for graphviz */
#ifndef IBWIRE_EXPORT_DOT_H
#define IBWIRE_EXPORT_DOT_H

#include <stdbool.h>

struct shape;
struct text;

/*
 * dot_write - append an undirected graph: a box for each switch, tiers in ranks, an edge for each
 * pair with its cables
 * @names:  names as shown, parallel to the nodes
 * @hosts:  include an ellipse per host; otherwise a leaf has its number of HCAs
 *
 * Pairs with missing cables and links that are slow or down are red, links outside of the tree
 * orange. text_failed() reports whether memory ran out.
 * Source: graphviz, "The DOT Language" (quoted strings: only '"' is escaped; a backslash begins an
 * escape).
 */
void dot_write(struct text *text, const struct shape *shape, char *const *names, bool hosts);

#endif
