/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* marks.h - what is wrong with a port at a glance: the finding that is open there, and whether its link is degraded */
#ifndef IBWIRE_TUI_MODEL_PORT_MARKS_H
#define IBWIRE_TUI_MODEL_PORT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct finding;
struct finding_row;
struct snapshot_context;
struct shape;

/* The worst finding that is open at a port. One that somebody knows of wakes nobody. */
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
 * port_marks_find - the worst finding at each port, also what is said of its node or group as a whole and is about it
 * @ret:  by port of the fabric, all 0: 1 + index into context->findings; stays 0 for none
 */
void port_marks_find(const struct snapshot_context *context, const struct fabric *fabric, uint32_t *ret);

/*
 * port_is_degraded - does a link run narrower or slower than both its ends are set to, or than it is built for?
 * @shape:  or NULL
 */
bool port_is_degraded(const struct fabric *fabric, const struct shape *shape, uint32_t port);

#endif
