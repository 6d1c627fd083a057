/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* layout.h - nodes whose layout is not supported */
#ifndef IBWIRE_COLLECTOR_LAYOUT_H
#define IBWIRE_COLLECTOR_LAYOUT_H

#include <stdint.h>

struct events;
struct fabric;
struct node_memory;

/*
 * planes_report - report nodes whose ports are planes of one port (fabric/planes.h)
 * @memory:  remembers what was reported; a changed number of planes is reported again
 */
void planes_report(struct events *events, int64_t wall_us, const struct fabric *fabric, struct node_memory *memory);

#endif
