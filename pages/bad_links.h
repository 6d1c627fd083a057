/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bad_links.h - the page about links with faults: which can be taken out at once, and in which rounds */
#ifndef IBWIRE_PAGES_BAD_LINKS_H
#define IBWIRE_PAGES_BAD_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/bad_links.h"

struct error;
struct finding_row;
struct order;
struct page;
struct shape;

struct bad_links {
	const struct shape *shape;  /* borrowed */
	const struct order *shown;  /* borrowed */
	double keep;                /* 0 to 1 */
	struct bad_link *links;
	char (*reasons)[96];        /* by port: why it is listed, at its lower port index; "": it is not */
	size_t count;
	struct bad_links_plan plan;
};

/*
 * bad_links_of_findings - list the links of open findings about a link: degraded, flapping, errors
 * bad_links_of_shape - list the degraded links of a fabric without findings
 * @bad:  with its borrowed members and keep; for bad_links_done(), also after an error
 * Return: 0 or ERR_NOMEM.
 */
int bad_links_of_findings(struct bad_links *bad, const struct finding_row *rows, size_t count, struct error *err);
int bad_links_of_shape(struct bad_links *bad, struct error *err);
void bad_links_done(struct bad_links *bad);

/* bad_links_page - the page, which borrows @bad. @all: all rows in text */
struct page *bad_links_page(const struct bad_links *bad, bool all);

#endif
