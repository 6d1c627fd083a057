/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* layout.h - parts of the fabric that are seen, and not understood well enough to give numbers of */
#ifndef IBWIRE_COLLECTOR_LAYOUT_H
#define IBWIRE_COLLECTOR_LAYOUT_H

#include <stdint.h>

struct events;
struct fabric;
struct node_memory;

/*
 * planes_report - nodes whose ports are planes of one (fabric/planes.h), as events
 * @memory:  remembers what was told; told again where the number of planes changed
 */
void planes_report(struct events *events, int64_t wall_us, const struct fabric *fabric, struct node_memory *memory);

#endif
