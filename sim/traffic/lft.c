/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/lft.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

int lft_write(const char *chars, size_t len, const struct routes *routes, struct text *ret, struct error *err)
{
	const struct route_table *table = NULL;
	const char *end = chars + len;

	while (chars < end) {
		const char *newline = memchr(chars, '\n', (size_t)(end - chars));
		size_t size = newline ? (size_t)(newline + 1 - chars) : (size_t)(end - chars);
		char line[64] = "";

		memcpy(line, chars, size < sizeof(line) - 1 ? size : sizeof(line) - 1);
		if (!strncmp(line, "Unicast lids ", 13)) {
			char *whole = strndup(chars, size);

			if (!whole)
				return err_nomem(err);
			table = routes_find(routes, lft_guid_of_line(whole));
			free(whole);
		} else if (!strncmp(line, "0x", 2) && size > 10) {
			uint8_t out = routes_out_port(table, (uint16_t)strtoul(line, NULL, 16));

			/* "0x0005 001 ...": the port is in columns 7 to 9. */
			if (out != ROUTES_NO_PORT) {
				text_appendf(ret, "%.7s%03u", line, out);
				chars += 10;
				size -= 10;
			}
		}
		text_append_bytes(ret, chars, size);
		chars += size;
	}
	return text_failed(ret) ? err_nomem(err) : 0;
}

/* --- a routing fault: too many destinations are routed through one port --- */

struct skew {
	const struct fabric *fabric;
	const struct lft *lft;
	struct routes routes;
	uint32_t port;
	unsigned leaving[256]; /* by port number: HCAs routed through it to another switch */
	unsigned all, moved;
};

static bool is_switch(const struct fabric *fabric, uint32_t port)
{
	return fabric->nodes[fabric->ports[port].node].type == NODE_SWITCH;
}

/* The port of the switch through which an HCA is routed to another switch; 0: none. */
static uint8_t out_port_of(const struct skew *skew, uint32_t hca)
{
	const struct fabric *fabric = skew->fabric;
	uint32_t node = fabric->ports[skew->port].node, port;
	uint16_t lid = is_switch(fabric, hca) ? 0 : skew->lft->port_lids[hca];
	uint8_t out;

	if (!lid)
		return 0;
	out = routes_out_port(routes_find(&skew->routes, fabric->nodes[node].guid), lid);
	port = out == ROUTES_NO_PORT ? FABRIC_NONE : fabric_node_port(fabric, node, out);
	if (port == FABRIC_NONE || fabric->ports[port].peer == FABRIC_NONE)
		return 0;
	return is_switch(fabric, fabric->ports[port].peer) ? out : 0;
}

static int set_out(struct skew *skew, uint16_t lid, uint8_t out, struct error *err)
{
	uint64_t guid = skew->fabric->nodes[skew->fabric->ports[skew->port].node].guid;
	uint8_t ports[ROUTES_BLOCK];

	memcpy(ports, routes_find(&skew->routes, guid)->ports + lid / ROUTES_BLOCK * ROUTES_BLOCK, sizeof(ports));
	ports[lid % ROUTES_BLOCK] = out;
	return routes_set_block(&skew->routes, guid, lid / ROUTES_BLOCK, ports, NULL, err);
}

/* Route an HCA through the port, if it remains reachable. */
static int move(struct skew *skew, uint32_t hca, struct error *err)
{
	const struct fabric *fabric = skew->fabric;
	uint16_t lid = skew->lft->port_lids[hca];
	uint8_t before = out_port_of(skew, hca), num = fabric->ports[skew->port].num;
	struct route_trace trace;
	int code = set_out(skew, lid, num, err);

	if (code < 0)
		return code;
	routes_trace(&skew->routes, fabric, skew->port, hca, lid, &trace);
	if (trace.end != ROUTE_ARRIVES)
		return set_out(skew, lid, before, err);
	skew->moved++;
	skew->leaving[num]++;
	skew->leaving[before]--;
	return 0;
}

/* The other port with the most destinations left; 0: none. */
static uint8_t fullest_other(const struct skew *skew, const bool exhausted[256])
{
	uint8_t fullest = 0, num = skew->fabric->ports[skew->port].num;

	for (unsigned out = 1; out < 256; out++)
		if (out != num && !exhausted[out] && skew->leaving[out] > 0 &&
		    (!fullest || skew->leaving[out] > skew->leaving[fullest]))
			fullest = (uint8_t)out;
	return fullest;
}

static int move_share(struct skew *skew, double share, struct error *err)
{
	uint8_t num = skew->fabric->ports[skew->port].num, from;
	bool exhausted[256] = { false };
	uint32_t next[256] = { 0 };

	while (skew->leaving[num] < share * skew->all && (from = fullest_other(skew, exhausted)) > 0) {
		uint32_t hca = next[from];

		while (hca < skew->fabric->port_count && out_port_of(skew, hca) != from)
			hca++;
		next[from] = hca + 1;
		exhausted[from] = hca >= skew->fabric->port_count;
		if (!exhausted[from] && move(skew, hca, err) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

int skew_routes(const struct fabric *fabric, const struct lft *lft, uint32_t port, double share, struct routes *ret,
		unsigned *ret_moved, unsigned *ret_all, struct error *err)
{
	struct skew skew = { .fabric = fabric, .lft = lft, .port = port };
	uint32_t peer = fabric->ports[port].peer;
	int code;

	if (!is_switch(fabric, port) || peer == FABRIC_NONE || !is_switch(fabric, peer))
		return err_set(err, ERR_USAGE, "%s/%u is not a port of a switch connected to another switch",
			       fabric->nodes[fabric->ports[port].node].name, fabric->ports[port].num);
	if (!(share > 0 && share <= 1))
		return err_set(err, ERR_USAGE, "a share must be more than 0 and at most 1");
	code = routes_copy(&lft->routes, &skew.routes, err);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint8_t out = out_port_of(&skew, i);

		skew.leaving[out] += out > 0;
		skew.all += out > 0;
	}
	code = move_share(&skew, share, err);
	if (code < 0) {
		routes_done(&skew.routes);
		return code;
	}
	*ret = skew.routes;
	*ret_moved = skew.moved;
	*ret_all = skew.all;
	return 0;
}
