/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * service_levels.h - how the load of each group of equivalent links is divided among service levels
 * See facts/service_levels.h.
 */
#ifndef IBWIRE_PAGES_SERVICE_LEVELS_H
#define IBWIRE_PAGES_SERVICE_LEVELS_H

struct balance_report;
struct error;
struct page;

/*
 * service_levels_page - the page, of the selected groups; @report is borrowed until it is rendered
 * @report:  its fabric, shape, window and selection; without loads
 * Return: 0, ERR_IO or ERR_NOMEM.
 */
int service_levels_page(const struct balance_report *report, struct page **ret, struct error *err);

#endif
