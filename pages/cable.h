/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cable.h - sections about cables: of a cable by its serial number, and of the cables of a link */
#ifndef IBWIRE_PAGES_CABLE_H
#define IBWIRE_PAGES_CABLE_H

#include <stddef.h>
#include <stdint.h>

struct cable_report;
struct error;
struct moment;
struct page;

/*
 * cable_report_load - what imports have of a cable, or of the cables of a link
 * @serial:  or NULL
 * @ports:   without it: indices of the ports of a link in the fabric of the moment; the first is the subject
 * @since_us, @until_us:  wall clock: readings of this window are shown
 * @ret:     for cable_report_destroy(); NULL if no import has any of them
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int cable_report_load(struct moment *moment, const char *serial, const uint32_t *ports, size_t port_count,
		      int64_t since_us, int64_t until_us, struct cable_report **ret, struct error *err);
void cable_report_destroy(struct cable_report *report);

/* cable_report_add - add the sections; they borrow the report, which may be NULL. */
void cable_report_add(struct cable_report *report, struct page *page);

/* cable_page - the page of a cable by its serial number. @ret: borrows the report */
int cable_page(struct cable_report *report, struct page **ret, struct error *err);

#endif
