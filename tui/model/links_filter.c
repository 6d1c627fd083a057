/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links_filter.c - evaluation of a filter for a link: keywords and text */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/links.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"
#include "tui/model/cell_text.h"
#include "facts/link.h"
#include "facts/order.h"

struct candidate {
	const struct links *links;
	const struct link_row *link;
};

static bool begins(const char *text, const char *with)
{
	return !strncasecmp(text, with, strlen(with));
}

/* A host or rail name: the full name if one exists, else a prefix. */
static bool has_name(const struct candidate *candidate, const struct filter_term *term, const char *name)
{
	size_t index = (size_t)(term - candidate->links->filter.terms);

	if (candidate->links->exact & UINT32_C(1) << index)
		return !strcasecmp(name, term->text);
	return begins(name, term->text);
}

/* "3" is rail mlx5_3, and not mlx5_13. */
static bool is_rail(const struct candidate *candidate, const struct filter_term *term, const char *name)
{
	size_t len = strlen(name), digits = strlen(term->text);

	if (strspn(term->text, "0123456789") == digits)
		return len >= digits && !strcmp(name + len - digits, term->text) &&
		       (len == digits || !strchr("0123456789", name[len - digits - 1]));
	return has_name(candidate, term, name);
}

/* A prefix of yes or no, while it is being typed. */
static bool is_yes_or_no(const char *value, bool yes)
{
	return begins(yes ? "yes" : "no", value);
}

static bool end_has_place(const struct candidate *candidate, const struct filter_term *term, uint32_t index)
{
	const struct shape *shape = candidate->links->context->shape;
	const struct shape_node *node;
	char role[SHAPE_ROLE_SIZE];

	if (!shape)
		return false;
	node = &shape->nodes[shape->fabric->ports[index].node];
	switch (term->word) {
	case FILTER_TIER:
		return node->tier && node->tier == atoi(term->text);
	case FILTER_RAIL:
		return shape->ports[index].rail != SHAPE_NONE &&
		       is_rail(candidate, term, shape->rails[shape->ports[index].rail].name);
	case FILTER_CLASS:
		return begins(node_class_name(node->class), term->text);
	case FILTER_ROLE:
		return shape_port_role(shape, index, role) && begins(role, term->text);
	default:
		return node->host != SHAPE_NONE && has_name(candidate, term, shape->hosts[node->host].name);
	}
}

static bool end_has(const struct candidate *candidate, const struct filter_term *term, uint32_t index)
{
	const struct port_table *table = candidate->links->table;
	const struct port *port = &table->snapshot->fabric->ports[index];

	switch (term->word) {
	case FILTER_STATE:
		return begins(port_status_name(table->views[index].status), term->text);
	case FILTER_SPEED:
		return !strcasecmp(link_speed_name((enum link_speed)port->speed), term->text);
	case FILTER_WIDTH:
		return link_width_lanes(port->width) && (int)link_width_lanes(port->width) == atoi(term->text);
	default:
		return end_has_place(candidate, term, index);
	}
}

static bool finding_is(const struct candidate *candidate, const char *value)
{
	static const char *const marks[] = {
		[MARK_ACKNOWLEDGED] = "acknowledged", [MARK_CLEARING] = "clearing", [MARK_INFO] = "info",
		[MARK_WARNING] = "warning", [MARK_CRITICAL] = "critical",
	};
	const struct link_row *link = candidate->link;

	if (!link->finding)
		return is_yes_or_no(value, false);
	return is_yes_or_no(value, true) || begins(marks[link->mark], value) ||
	       begins(finding_kind_name(candidate->links->context->findings[link->finding - 1].finding.kind), value);
}

static bool has_word(void *ctx, const struct filter_term *term)
{
	const struct candidate *candidate = ctx;
	const struct link_row *link = candidate->link;
	double errors;

	switch (term->word) {
	case FILTER_ERRORS:
		errors = links_errors(candidate->links, link);
		return !isnan(errors) && is_yes_or_no(term->text, errors > 0);
	case FILTER_FINDING:
		return finding_is(candidate, term->text);
	case FILTER_TAGGED:
		return is_yes_or_no(term->text, links_is_tagged(candidate->links, link));
	case FILTER_STATE:
		if (link->degraded && begins("degraded", term->text))
			return true;
		break;
	default:
		break;
	}
	return end_has(candidate, term, link->ends[0]) ||
	       (link->ends[1] != FABRIC_NONE && end_has(candidate, term, link->ends[1]));
}

/* The texts of a port for the filter, one per line. Return: their end. */
static char *append_texts(const struct port_table *table, uint32_t index, char *to)
{
	const struct fabric *fabric = table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];

	to = order_port_name_of(table->order.names[port->node], port->num, to);
	*to++ = '\n';
	if (strcmp(node->name, table->order.names[port->node])) {
		to = order_port_name_of(node->name, port->num, to);
		*to++ = '\n';
	}
	cell_text_guid(node->guid, to);
	to += CELL_GUID_SIZE - 1;
	*to++ = '\n';
	return to;
}

/* All texts of a link for the filter. */
#define TEXT_SIZE (4 * (PORT_NAME_SIZE + 1) + 2 * (CELL_GUID_SIZE + 1) + LINK_TEXT_SIZE + 64)

static void write_text(const struct port_table *table, const struct link_row *link, char *to)
{
	to = append_texts(table, link->ends[0], to);
	if (link->ends[1] != FABRIC_NONE)
		to = append_texts(table, link->ends[1], to);
	to = stpcpy(to, port_status_name(link->status));
	*to++ = '\n';
	if (link->degraded)
		to = stpcpy(to, "degraded\n");
	link_text(&table->snapshot->fabric->ports[link->ends[0]], link->degraded, to);
}

bool links_passes(const struct links *links, const struct link_row *link)
{
	struct candidate candidate = { links, link };
	char text[TEXT_SIZE] = "";

	/* Skipped if unused: it takes most of the time of filtering all links. */
	if (filter_reads(&links->filter))
		write_text(links->table, link, text);
	return filter_matches(&links->filter, text, has_word, &candidate);
}
