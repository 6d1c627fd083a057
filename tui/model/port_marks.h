/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_marks.h - worst open finding of each port, and whether its link is degraded */
#ifndef IBWIRE_TUI_MODEL_PORT_MARKS_H
#define IBWIRE_TUI_MODEL_PORT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct finding;
struct finding_row;
struct snapshot_context;
struct shape;

/* The worst open finding at a port. Acknowledged findings have the lowest severity. */
enum port_mark { MARK_NONE, MARK_ACKNOWLEDGED, MARK_INFO, MARK_WARNING, MARK_CRITICAL };

enum port_mark port_mark_of(const struct finding_row *row);

/* port_mark_name - "CRIT", "WARN", "info", "ack", "" for none. */
const char *port_mark_name(enum port_mark mark);

/*
 * finding_concerns_port - whether a finding concerns a port: at the port, at its peer, or at its node or group
 */
bool finding_concerns_port(const struct snapshot_context *context, const struct fabric *fabric,
			   const struct finding *finding, uint32_t port);

/*
 * port_marks_find - the worst finding at each port, including those of its node or group
 * @ret:  by port of the fabric, zeroed by the caller: 1 + index into context->findings; 0: none
 */
void port_marks_find(const struct snapshot_context *context, const struct fabric *fabric, uint32_t *ret);

/*
 * port_is_degraded - whether a link is narrower or slower than both ends are enabled for, or
 * than built
 * @shape:  or NULL
 */
bool port_is_degraded(const struct fabric *fabric, const struct shape *shape, uint32_t port);

#endif
