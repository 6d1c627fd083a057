/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * subject.h - pages of a port, node, group or finding, and of the fabric
 *
 * Each part adds sections to a page, which borrow the facts until it is rendered or frozen. `ibwire report` and the
 * screen are composed of the same parts.
 */
#ifndef IBWIRE_PAGES_SUBJECT_H
#define IBWIRE_PAGES_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/port_facts.h"
#include "storage/cables.h"
#include "storage/reader.h"

struct column;
struct column_list;
struct fabric_summary;
struct finding_row;
struct page;
struct shape_group;

/* Whether the forwarding table of the subject's switch is known. */
enum routes_state { ROUTES_PENDING, ROUTES_READ, ROUTES_UNKNOWN };

/* What a page is made of. All pointers are borrowed. */
struct subject_facts {
	struct port_scope scope;        /* with names; the shape may be NULL */
	const struct port_facts *ports; /* parallel to the ports of the fabric; NULL: they are computed */
	const struct finding_row *findings;
	size_t finding_count;
	enum routes_state routes;
	const uint32_t *lids;           /* ROUTES_READ: LIDs routed through each port of the switch, by its number */
	int64_t baseline_us;            /* counters are since this time; 0: of the last sweep or window */
	/* Read for the subject: */
	const struct reading *reading;  /* absolute values of the port; NULL: not shown */
	const struct past_peer *last_peer; /* of the port, which has none; NULL: unknown */
	const struct cable_place *cable;   /* in the port; NULL: unknown */
	const struct cable_reading *cable_reading; /* the newest one; NULL: none */
	bool details_read;
	const struct detail_row *details;
	size_t detail_count;
	int64_t details_window_us;
};

/* subject_port - the numbers of a port. */
struct port_facts subject_port(const struct subject_facts *facts, uint32_t port);

/* page_columns - the usual columns of a list, in memory of the page. Return: NULL: no memory. */
struct column *page_columns(struct page *page, const struct column_list *list, size_t *ret_count);

/*
 * subject_add_ends - a table of ports: both ends of a link, or the ports of a node
 * @ports:    borrowed
 * @past:     parallel: the last peers of unconnected ports; NULL: none
 * @of_node:  they are of one node: their numbers suffice
 * @title:    or NULL
 */
void subject_add_ends(const struct subject_facts *facts, const uint32_t *ports, const struct past_peer *past,
		      size_t count, bool of_node, const char *title, struct page *page);

/* past_peer_name - "leaf01/12" of the last peer of a port. Return: @ret. */
const char *past_peer_name(const struct subject_facts *facts, const struct past_peer *past, char *ret, size_t size);

/*
 * subject_add_findings - the findings of a port, of a node and its ports (@port 0), or all (@node_guid 0), two
 * lines each
 * subject_add_some_findings - the same of a choice. @none: if there is none; NULL: nothing is added then
 */
void subject_add_findings(const struct subject_facts *facts, uint64_t node_guid, uint8_t port, struct page *page);
void subject_add_some_findings(const struct subject_facts *facts, const char *title, const char *none,
			       bool (*is_shown)(const void *ctx, const struct finding_row *row), const void *ctx,
			       struct page *page);

/*
 * A page of the screen has a plot between its two parts: what it is and its findings; all of its numbers.
 * subject_add_port_place - rate as built, group, routes and node of a port
 */
void subject_add_port(const struct subject_facts *facts, uint32_t port, struct page *page);
void subject_add_port_place(const struct subject_facts *facts, uint32_t port, struct page *page);
void subject_add_port_counters(const struct subject_facts *facts, uint32_t port, struct page *page);

/* subject_add_nonzero_details - detail counters of a port that are not 0, without settings, in text and HTML */
void subject_add_nonzero_details(const struct subject_facts *facts, uint32_t port, struct page *page);
void subject_add_node(const struct subject_facts *facts, uint32_t node, struct page *page);
void subject_add_totals(const struct subject_facts *facts, const uint32_t *ports, size_t port_count, struct page *page);
void subject_add_node_ports(const struct subject_facts *facts, uint32_t node, struct page *page);
void subject_add_group(const struct subject_facts *facts, uint32_t group, struct page *page);
void subject_add_group_members(const struct subject_facts *facts, uint32_t group, struct page *page);

/* subject_add_fabric - the fabric as a whole. */
void subject_add_fabric(const struct subject_facts *facts, const struct fabric_summary *summary, struct page *page);

/* subject_add_finding - all that is known of a finding. @place: displayed name of what it is about. */
void subject_add_finding(const struct subject_facts *facts, const struct finding_row *row, const char *place,
			 struct page *page);

/*
 * group_name - "leaf01 uplinks", "leaf01 to spine02"
 * group_links - "leaf01 uplinks: 4 links of 5 built, 3 active"
 * Return: of the page.
 */
const char *group_name(const struct subject_facts *facts, const struct shape_group *group, struct page *page);
const char *group_links(const struct subject_facts *facts, const struct shape_group *group, struct page *page);

#endif
