/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_marks.h - the worst finding at each port */
#ifndef IBWIRE_FACTS_PORT_MARKS_H
#define IBWIRE_FACTS_PORT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct finding;
struct finding_query;
struct finding_row;
struct reader;
struct shape;

/* finding_row_relocate - update the pointers of a row into itself after it was copied or moved. */
void finding_row_relocate(struct finding_row *row);

/*
 * open_findings_load - read findings: unacknowledged ones first, then by severity; each is followed by those that it
 * explains (findings_fold(); without memory for that, by severity only)
 * @ret, @ret_count:  replaced, if there is no error
 *
 * open_findings_mark - the worst finding at each port, including those of its node or group
 * @shape:  or NULL
 * @ret:    replaced: by port of the fabric 1 + index into @list; 0: none. NULL after an error.
 *
 * Return: 0; ERR_NOMEM; or an error of the reader.
 */
int open_findings_load(struct reader *reader, const struct finding_query *query, struct finding_row **ret,
		       size_t *ret_count, struct error *err);
int open_findings_mark(const struct shape *shape, const struct fabric *fabric, const struct finding_row *list,
		       size_t count, uint32_t **ret, struct error *err);

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

#endif
