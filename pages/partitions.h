/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* partitions.h - the page of the partitions of a fabric and their members */
#ifndef IBWIRE_PAGES_PARTITIONS_H
#define IBWIRE_PAGES_PARTITIONS_H

struct error;
struct page;
struct pkeys;
struct shape;

/*
 * partitions_page - the partitions of the ports of a fabric; the page borrows both
 * @ret:  page_destroy() frees it
 * Return: 0 or ERR_NOMEM.
 */
int partitions_page(const struct shape *shape, const struct pkeys *pkeys, struct page **ret, struct error *err);

#endif
