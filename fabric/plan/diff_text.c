/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* diff_text.c - differences of a plan as sentences */
#include <stdio.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"

/* Names and steps in a sentence; all of them are in the lists of the difference. */
enum { NAMES_MOST = 4, STEPS_MOST = 8 };

const char *plan_change_name(enum plan_change change)
{
	static const char *const names[PLAN_CHANGE_COUNT] = {
		[PLAN_MISSING] = "missing", [PLAN_EXTRA] = "extra", [PLAN_WRONG_PORT] = "wrong-port",
		[PLAN_SWAPPED] = "swapped", [PLAN_CYCLE] = "cycle", [PLAN_MOVED] = "moved",
		[PLAN_EXCHANGED] = "exchanged", [PLAN_REPLACED] = "replaced", [PLAN_ABSENT] = "absent",
		[PLAN_SLOW] = "slow",
	};

	return names[change];
}

const char *plan_end_name(const struct plan *plan, const struct plan_ports *places, const struct shape *shape,
			  uint32_t link, unsigned end, char *ret, size_t size)
{
	const struct plan_end *written = &plan->links[link].ends[end];
	uint32_t port = places->links[link].port[end];

	if (port != FABRIC_NONE)
		return shape_port_name(shape, port, ret, size);
	snprintf(ret, size, "%s%s%s", written->device, *written->port ? " " : "", written->port);
	return ret;
}

const char *plan_difference_device(const struct plan *plan, const struct plan_ports *places, const struct shape *shape,
				   const struct plan_diff *diff, const struct plan_difference *one)
{
	uint32_t link;

	if (one->node != FABRIC_NONE)
		return shape_unit_name(shape, one->node);
	if (!one->link_count)
		return "";
	/* The end whose name the fabric does not have. */
	link = diff->links[one->first_link];
	return plan->links[link].ends[places->links[link].known[0]].device;
}

/* What a text is about. */
struct subject {
	struct text *text;
	const struct plan *plan;
	const struct plan_ports *places;
	const struct shape *shape;
	const struct plan_diff *diff;
	const struct plan_difference *one;
};

static void append_port(const struct subject *subject, uint32_t port)
{
	char name[NODE_NAME_SIZE + 32];

	text_append(subject->text, shape_port_name(subject->shape, port, name, sizeof(name)));
}

/* A planned link of the difference. */
static const struct plan_place *place_of(const struct subject *subject, uint32_t at)
{
	return &subject->places->links[subject->diff->links[subject->one->first_link + at]];
}

static const struct plan_link *link_of(const struct subject *subject, uint32_t at)
{
	return &subject->plan->links[subject->diff->links[subject->one->first_link + at]];
}

static uint32_t present_port(const struct subject *subject, uint32_t at)
{
	return subject->diff->ports[subject->one->first_port + at];
}

static void append_end(const struct subject *subject, uint32_t link, unsigned end)
{
	char name[PLAN_END_SIZE];

	text_append(subject->text, plan_end_name(subject->plan, subject->places, subject->shape,
						 subject->diff->links[subject->one->first_link + link], end, name,
						 sizeof(name)));
}

static const char *device_name(const struct subject *subject)
{
	return plan_difference_device(subject->plan, subject->places, subject->shape, subject->diff, subject->one);
}

/* The switch ends first: these have the numbers to look for. */
static unsigned first_end(const struct subject *subject, uint32_t link)
{
	const struct plan_place *place = place_of(subject, link);
	const struct fabric *fabric = subject->shape->fabric;

	return place->port[0] == FABRIC_NONE ||
	       (place->port[1] != FABRIC_NONE && fabric->nodes[place->node[0]].type != NODE_SWITCH &&
		fabric->nodes[place->node[1]].type == NODE_SWITCH);
}

static void append_link(const struct subject *subject, uint32_t link)
{
	unsigned first = first_end(subject, link);

	append_end(subject, link, first);
	text_append(subject->text, " and ");
	append_end(subject, link, !first);
}

static void append_cable(const struct subject *subject, uint32_t at)
{
	const struct fabric *fabric = subject->shape->fabric;
	uint32_t a = present_port(subject, at), b = present_port(subject, at + 1);
	bool turned = fabric->nodes[fabric->ports[a].node].type != NODE_SWITCH;

	append_port(subject, turned ? b : a);
	text_append(subject->text, " and ");
	append_port(subject, turned ? a : b);
}

static void missing_text(const struct subject *subject)
{
	const struct plan_place *place = place_of(subject, 0);
	const struct port *ports = subject->shape->fabric->ports;

	if (place->port[0] != FABRIC_NONE && place->port[1] != FABRIC_NONE &&
	    ports[place->port[0]].peer == place->port[1]) {
		text_append(subject->text, "check the cable between ");
		append_link(subject, 0);
		text_append(subject->text, ": it was seen, and its link is down");
		return;
	}
	for (unsigned end = 0; end < 2; end++)
		if (place->port[end] != FABRIC_NONE && port_is_unidentified(&ports[place->port[end]])) {
			text_append(subject->text, "check the other end of the cable at ");
			append_port(subject, place->port[end]);
			text_append(subject->text, ", where a node does not respond: the plan has ");
			append_end(subject, 0, !end);
			return;
		}
	text_append(subject->text, "connect ");
	append_link(subject, 0);
	if (place->port[0] != FABRIC_NONE && place->port[1] != FABRIC_NONE) {
		text_append(subject->text, ": neither has a link");
	} else {
		text_append(subject->text, ": ");
		append_port(subject, place->port[place->port[0] == FABRIC_NONE]);
		text_append(subject->text, " has no link");
	}
}

static void moves_text(const struct subject *subject)
{
	const struct plan_difference *one = subject->one;

	if (one->port_count / 2 > one->link_count) {
		text_append(subject->text, "remove the cable between ");
		append_cable(subject, 0);
		text_append(subject->text, ", then ");
	}
	text_append(subject->text, "move the cable ");
	for (uint32_t i = 0; i < one->move_count && i < STEPS_MOST; i++) {
		text_append(subject->text, i ? ", then from " : "from ");
		append_port(subject, subject->diff->moves[one->first_move + i].from);
		text_append(subject->text, " to ");
		append_port(subject, subject->diff->moves[one->first_move + i].to);
	}
	if (one->move_count > STEPS_MOST)
		text_appendf(subject->text, ", and %u more moves", one->move_count - STEPS_MOST);
	if (one->port_count / 2 < one->link_count) {
		text_append(subject->text, ", then connect ");
		append_link(subject, one->link_count - 1);
	}
}

static void exchanges_text(const struct subject *subject)
{
	const struct plan_difference *one = subject->one;

	for (uint32_t i = 0; i < one->move_count && i < STEPS_MOST; i++) {
		text_append(subject->text, i ? ", then those at " : "exchange the cables at ");
		append_port(subject, subject->diff->moves[one->first_move + i].from);
		text_append(subject->text, " and ");
		append_port(subject, subject->diff->moves[one->first_move + i].to);
	}
	if (one->move_count > STEPS_MOST)
		text_appendf(subject->text, ", and %u more exchanges", one->move_count - STEPS_MOST);
}

static void append_separator(const struct subject *subject, uint32_t at, uint32_t count)
{
	if (at && at + 1 == count && count <= NAMES_MOST)
		text_append(subject->text, " and ");
	else if (at)
		text_append(subject->text, ", ");
}

/* Is a port one of the unit of the difference? */
static bool is_own(const struct subject *subject, uint32_t port)
{
	const struct shape *shape = subject->shape;
	uint32_t node = shape->fabric->ports[port].node, unit = subject->one->node;

	return node == unit || (shape->nodes[unit].host != SHAPE_NONE && shape->nodes[node].host ==
				shape->nodes[unit].host);
}

static void moved_text(const struct subject *subject)
{
	const struct plan_difference *one = subject->one;
	uint32_t count = one->link_count;

	if (one->other != FABRIC_NONE) {
		text_appendf(subject->text, "move %s, or its %u cable%s: it is in the place of %s",
			     device_name(subject), count, text_plural(count),
			     shape_unit_name(subject->shape, one->other));
		return;
	}
	text_appendf(subject->text, "move %s, or its %u cable%s, from ", device_name(subject), count,
		     text_plural(count));
	for (uint32_t i = 0; i < count && i < NAMES_MOST; i++) {
		uint32_t port = present_port(subject, 2 * i);

		append_separator(subject, i, count);
		append_port(subject, is_own(subject, port) ? present_port(subject, 2 * i + 1) : port);
	}
	text_append(subject->text, count > NAMES_MOST ? " ... to " : " to ");
	for (uint32_t i = 0; i < count && i < NAMES_MOST; i++) {
		append_separator(subject, i, count);
		append_end(subject, i, is_own(subject, place_of(subject, i)->port[0]));
	}
	text_append(subject->text, count > NAMES_MOST ? " ..." : "");
}

static void append_rate(const struct subject *subject, const struct port *port)
{
	text_appendf(subject->text, "%ux %s", link_width_lanes(port->width),
		     link_speed_name((enum link_speed)port->speed));
}

static void slow_text(const struct subject *subject)
{
	const struct plan_link *link = link_of(subject, 0);
	const struct port *ports = subject->shape->fabric->ports;
	const struct port *a = &ports[present_port(subject, 0)], *b = &ports[present_port(subject, 1)];

	text_append(subject->text, "check the cable between ");
	append_link(subject, 0);
	text_append(subject->text, ": its link runs at ");
	append_rate(subject, port_rate_bits_per_s(b) < port_rate_bits_per_s(a) ? b : a);
	text_append(subject->text, " instead of ");
	if (link->width)
		text_appendf(subject->text, "%ux%s", link_width_lanes(link->width),
			     link->speed != LINK_SPEED_NONE ? " " : "");
	if (link->speed != LINK_SPEED_NONE)
		text_append(subject->text, link_speed_name((enum link_speed)link->speed));
	if (link->mbits_per_s)
		text_appendf(subject->text, link->width || link->speed != LINK_SPEED_NONE ? " (%g Gb/s)" : "%g Gb/s",
			     link->mbits_per_s / 1e3);
}

void plan_difference_text(struct text *text, const struct plan *plan, const struct plan_ports *places,
			  const struct shape *shape, const struct plan_diff *diff,
			  const struct plan_difference *one)
{
	const struct subject subject = { text, plan, places, shape, diff, one };

	switch (one->change) {
	case PLAN_MISSING:
		missing_text(&subject);
		break;
	case PLAN_EXTRA:
		text_append(text, "remove the cable between ");
		append_cable(&subject, 0);
		text_append(text, ", or add it to the plan");
		break;
	case PLAN_WRONG_PORT:
		moves_text(&subject);
		break;
	case PLAN_SWAPPED:
	case PLAN_CYCLE:
		exchanges_text(&subject);
		break;
	case PLAN_MOVED:
		moved_text(&subject);
		break;
	case PLAN_EXCHANGED:
		text_appendf(text, "exchange %s and %s, or their %u cables: each is in the place of the other",
			     device_name(&subject), shape_unit_name(shape, one->other), one->link_count);
		break;
	case PLAN_REPLACED:
		/* Most names that the fabric does not have are written in another way in the plan. */
		if (one->node == FABRIC_NONE) {
			text_appendf(text, "change the name %s in the plan to %s, or replace that: it has the %u links "
				     "of %s", device_name(&subject), shape_unit_name(shape, one->other),
				     one->link_count, device_name(&subject));
			break;
		}
		text_appendf(text, "replace %s by %s, or change the plan: it has the %u links of %s",
			     shape_unit_name(shape, one->other), device_name(&subject), one->link_count,
			     device_name(&subject));
		break;
	case PLAN_ABSENT:
		text_appendf(text, "install or power on %s: it has none of its %u links", device_name(&subject),
			     one->link_count);
		break;
	case PLAN_SLOW:
		slow_text(&subject);
		break;
	case PLAN_CHANGE_COUNT:
		break;
	}
}
