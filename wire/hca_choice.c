/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/hca_choice.h"

#include <string.h>

#include "fabric/fabric.h"

static bool same_device(const struct local_port *a, const struct local_port *b)
{
	return !strcmp(a->ca_name, b->ca_name);
}

/* This port is the other part of a split HCA. */
static bool is_partner(const struct local_port *port, const struct local_port *other)
{
	return other->infiniband && other->port_guid == port->port_guid && !same_device(port, other) &&
	       other->sm_disabled != port->sm_disabled;
}

/* A port of another device with the same GUID, Active if possible. */
static size_t find_partner(const struct local_port *ports, size_t count, size_t index)
{
	size_t found = CHOICE_NONE, i;

	if (!ports[index].infiniband || !ports[index].port_guid)
		return CHOICE_NONE;
	for (i = 0; i < count; i++) {
		if (!is_partner(&ports[index], &ports[i]))
			continue;
		if (ports[i].state == PORT_ACTIVE)
			return i;
		if (found == CHOICE_NONE)
			found = i;
	}
	return found;
}

bool hca_is_split(const struct local_port *ports, size_t count, size_t index)
{
	return find_partner(ports, count, index) != CHOICE_NONE;
}

/* The named port is one of two. */
static struct hca_choice pair_up(const struct local_port *ports, size_t count, size_t index)
{
	size_t partner = find_partner(ports, count, index), i;
	struct hca_choice choice = { index, index };

	if (partner == CHOICE_NONE)
		return choice;
	if (!ports[index].sm_disabled)
		return (struct hca_choice){ .gmp = partner, .smp = index };
	choice.smp = partner;
	/*
	 * Planes may have GUIDs of their own in addition to the common one: use any Active one of
	 * the device.
	 */
	for (i = 0; i < count && ports[choice.smp].state != PORT_ACTIVE; i++)
		if (same_device(&ports[i], &ports[partner]) && ports[i].state == PORT_ACTIVE)
			choice.smp = i;
	return choice;
}

struct hca_choice hca_choose(const struct local_port *ports, size_t count, const char *ca_name, int port)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct hca_choice choice;

		if (!ports[i].infiniband || ports[i].state != PORT_ACTIVE || (port > 0 && ports[i].port != port) ||
		    (ca_name && strcmp(ports[i].ca_name, ca_name) != 0))
			continue;
		choice = pair_up(ports, count, i);
		if (ports[choice.gmp].state == PORT_ACTIVE)
			return choice;
	}
	return (struct hca_choice){ CHOICE_NONE, CHOICE_NONE };
}
