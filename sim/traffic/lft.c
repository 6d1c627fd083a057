/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/lft.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"

struct parser {
	const struct fabric *fabric;
	struct lft lft;
	struct map guids;    /* ibsim's port GUID to port index */
	uint64_t guid;       /* of the current switch; 0: not in the fabric */
	unsigned block;      /* the current block of its table */
	uint8_t ports[ROUTES_BLOCK];
	bool has_entries;    /* the current block has entries */
	size_t begun, ended; /* switches */
};

static int index_guids(struct parser *parser)
{
	const struct fabric *fabric = parser->fabric;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct node *node = &fabric->nodes[port->node];

		if (node->type == NODE_SWITCH && port->num > 0)
			continue;
		if (map_put(&parser->guids, node->guid + port->num, (uint32_t)i) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

static int flush(struct parser *parser)
{
	int code = 0;

	if (parser->has_entries)
		code = routes_set_block(&parser->lft.routes, parser->guid, parser->block, parser->ports, NULL, NULL);
	parser->has_entries = false;
	memset(parser->ports, ROUTES_NO_PORT, sizeof(parser->ports));
	return code;
}

/* The GUID of "Unicast lids [0-7] of switch Lid 1 guid 0x0000000000000020 ('name'):"; 0: none. */
static uint64_t guid_of_line(const char *line)
{
	const char *guid = strstr(line, " guid 0x");

	return guid ? strtoull(guid + 6, NULL, 16) : 0;
}

static int begin_switch(struct parser *parser, const char *line)
{
	uint64_t guid = guid_of_line(line);
	bool known = fabric_find_node(parser->fabric, guid) != FABRIC_NONE;

	if (flush(parser) < 0)
		return ERR_NOMEM;
	parser->begun++;
	parser->guid = known ? guid : 0;
	return 0;
}

/* "0x0005 001 # Channel Adapter portguid 0x0000000000000011: 'node1'" */
static int add_entry(struct parser *parser, const char *line)
{
	char *end;
	unsigned long lid = strtoul(line, &end, 16), out = strtoul(end, &end, 10);
	const char *guid = strstr(end, " portguid 0x");
	uint32_t port;

	if (lid >= ROUTES_LIDS || out >= ROUTES_NO_PORT)
		return 0;
	if (parser->guid) {
		if (lid / ROUTES_BLOCK != parser->block && flush(parser) < 0)
			return ERR_NOMEM;
		parser->block = (unsigned)lid / ROUTES_BLOCK;
		parser->ports[lid % ROUTES_BLOCK] = (uint8_t)out;
		parser->has_entries = true;
	}
	/* With LMC a port has several LIDs: the base LID is its first. */
	if (guid && map_get(&parser->guids, strtoull(guid + 10, NULL, 16), &port) &&
	    (!parser->lft.port_lids[port] || lid < parser->lft.port_lids[port]))
		parser->lft.port_lids[port] = (uint16_t)lid;
	return 0;
}

static int parse_lines(struct parser *parser, const char *chars, size_t len, struct error *err)
{
	const char *end = chars + len;

	while (chars < end) {
		const char *newline = memchr(chars, '\n', (size_t)(end - chars));
		char line[192];
		size_t size;
		int code = 0;

		if (!newline)
			return err_set(err, ERR_IO, "the dump of the forwarding tables ends within a line");
		size = (size_t)(newline - chars) < sizeof(line) - 1 ? (size_t)(newline - chars) : sizeof(line) - 1;
		memcpy(line, chars, size);
		line[size] = '\0';
		chars = newline + 1;
		if (!strncmp(line, "Unicast lids ", 13))
			code = begin_switch(parser, line);
		else if (!strncmp(line, "0x", 2))
			code = add_entry(parser, line);
		else if (strstr(line, " lids dumped"))
			parser->ended++;
		if (code < 0)
			return err_nomem(err);
	}
	if (flush(parser) < 0)
		return err_nomem(err);
	if (!parser->begun || parser->begun != parser->ended)
		return err_set(err, ERR_IO, "the dump of the forwarding tables is incomplete");
	return 0;
}

int lft_parse(const struct fabric *fabric, const char *chars, size_t len, struct lft *ret, struct error *err)
{
	struct parser parser = { .fabric = fabric };
	int code;

	memset(parser.ports, ROUTES_NO_PORT, sizeof(parser.ports));
	parser.lft.port_lids = calloc(fabric->port_count + 1, sizeof(*parser.lft.port_lids));
	if (!parser.lft.port_lids || index_guids(&parser) < 0)
		code = err_nomem(err);
	else
		code = parse_lines(&parser, chars, len, err);
	if (code == 0) {
		*ret = parser.lft;
		memset(&parser.lft, 0, sizeof(parser.lft));
	}
	lft_done(&parser.lft);
	map_done(&parser.guids);
	return code;
}

void lft_done(struct lft *lft)
{
	routes_done(&lft->routes);
	free(lft->port_lids);
	memset(lft, 0, sizeof(*lft));
}

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
			table = routes_find(routes, guid_of_line(whole));
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
