/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dot.h - a fabric as a graph for graphviz */
#ifndef IBWIRE_EXPORT_DOT_H
#define IBWIRE_EXPORT_DOT_H

#include <stdbool.h>

struct shape;
struct text;

/*
 * dot_write - append an undirected graph: a box for each switch, tiers in ranks, an edge for each pair with its cables
 * @names:  of the nodes as they are shown, parallel to them
 * @hosts:  an ellipse for each host too; else a leaf says how many HCAs it has
 *
 * Pairs that lack cables and links that are slow or down are red, those that no tree has orange.
 * Whether memory sufficed says text_failed().
 * Source: graphviz, "The DOT Language" (quoted strings: only '"' is escaped; a backslash begins an escape).
 */
void dot_write(struct text *text, const struct shape *shape, char *const *names, bool hosts);

#endif
