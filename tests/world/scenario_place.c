/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scenario_place.c - random places for faults, and the lines for them */
#include "fabric/fabric.h"
#include "tests/world/scenario_draw.h"

bool draw_is_switch(const struct draw *draw, uint32_t node)
{
	return draw->built->nodes[node].type == NODE_SWITCH;
}

uint32_t draw_node_of(const struct draw *draw, uint32_t port)
{
	return draw->built->ports[port].node;
}

uint32_t draw_peer_node(const struct draw *draw, uint32_t port)
{
	return draw->built->ports[draw->built->ports[port].peer].node;
}

/* An end of a trunk between two unused switches. */
bool draw_trunk(struct draw *draw, uint32_t *ret)
{
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		if (draw->used[draw_node_of(draw, port)] || draw->used[draw_peer_node(draw, port)])
			continue;
		draw->used[draw_node_of(draw, port)] = draw->used[draw_peer_node(draw, port)] = true;
		*ret = port;
		return true;
	}
	return false;
}

bool draw_switch(struct draw *draw, const uint32_t *switches, size_t count, uint32_t *ret)
{
	for (int tries = 0; count && tries < DRAW_TRIES; tries++) {
		uint32_t node = switches[draw_number(draw, count)];

		if (draw->used[node])
			continue;
		draw->used[node] = true;
		*ret = node;
		return true;
	}
	return false;
}

bool draw_host_is_free(const struct draw *draw, const struct host *host)
{
	for (size_t i = host->first_hca; i < host->first_hca + host->hca_count; i++)
		if (draw->used[draw_node_of(draw, draw->hosts.hcas[i].port)] ||
		    draw->used[draw_peer_node(draw, draw->hosts.hcas[i].port)])
			return false;
	return true;
}

void draw_use_host(struct draw *draw, const struct host *host)
{
	for (size_t i = host->first_hca; i < host->first_hca + host->hca_count; i++)
		draw->used[draw_node_of(draw, draw->hosts.hcas[i].port)] = true;
}

bool draw_host(struct draw *draw, size_t *ret)
{
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		size_t host = draw_number(draw, draw->hosts.host_count - draw->storage);

		if (!draw_host_is_free(draw, &draw->hosts.hosts[host]))
			continue;
		draw_use_host(draw, &draw->hosts.hosts[host]);
		*ret = host;
		return true;
	}
	return false;
}

bool draw_hca(struct draw *draw, uint32_t *ret)
{
	const struct host *host;
	size_t index;

	if (!draw_host(draw, &index))
		return false;
	host = &draw->hosts.hosts[index];
	*ret = draw->hosts.hcas[host->first_hca + draw_number(draw, host->hca_count)].port;
	return true;
}

bool draw_link(struct draw *draw, bool trunk, uint32_t *ret)
{
	uint32_t hca;

	if (trunk)
		return draw_trunk(draw, ret);
	if (!draw_hca(draw, &hca))
		return false;
	*ret = draw->built->ports[hca].peer;
	return true;
}

static bool say(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		const char *truth, const char *name)
{
	text_appendf(draw->text, "at %ds %s %s %s\nexpect %s %s %s\n", (int)at_s, what, name, rest, kind, name, truth);
	return true;
}

bool draw_say_port(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t port)
{
	char name[DRAW_NAME_SIZE];

	return say(draw, at_s, what, rest, kind, truth, draw_port_name(draw, port, name));
}

bool draw_say_node(struct draw *draw, int64_t at_s, const char *what, const char *rest, const char *kind,
		   const char *truth, uint32_t node)
{
	char name[DRAW_NAME_SIZE];

	return say(draw, at_s, what, rest, kind, truth, draw_node_name(draw, node, name));
}
