/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_marks.h - the worst finding at each port */
#ifndef IBWIRE_FACTS_PORT_MARKS_H
#define IBWIRE_FACTS_PORT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fabric;
struct finding;
struct finding_row;
struct shape;

/*
 * findings_arrange - sort findings that were copied from a reader: unacknowledged ones first, then by severity; each is
 * followed by those that it explains (findings_fold(); without memory for that, by severity only)
 * @fabric:  of the shown time
 */
void findings_arrange(struct finding_row *rows, size_t count);

/* The worst open finding at a port. Acknowledged findings have the lowest severity. */
enum port_mark { MARK_NONE, MARK_ACKNOWLEDGED, MARK_CLEARING, MARK_INFO, MARK_WARNING, MARK_CRITICAL };

enum port_mark port_mark_of(const struct finding_row *row);

/* port_mark_name - "CRIT", "WARN", "info", "ack", "ok": clearing, "" for none. */
const char *port_mark_name(enum port_mark mark);

/*
 * finding_concerns_port - whether a finding concerns a port: at the port, at its peer, or at its node or group
 */
bool finding_concerns_port(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
			   uint32_t port);

/*
 * port_marks_find - the worst finding at each port, including those of its node or group
 * @shape:     or NULL
 * @findings:  the worst first
 * @ret:  by port of the fabric, zeroed by the caller: 1 + index into @findings; 0: none
 */
void port_marks_find(const struct shape *shape, const struct fabric *fabric, const struct finding_row *findings,
		     size_t count, uint32_t *ret);

#endif
