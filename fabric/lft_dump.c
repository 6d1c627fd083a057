/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/lft_dump.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
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

uint64_t lft_guid_of_line(const char *line)
{
	const char *guid = strstr(line, " guid 0x");

	return guid ? strtoull(guid + 6, NULL, 16) : 0;
}

static int begin_switch(struct parser *parser, const char *line)
{
	uint64_t guid = lft_guid_of_line(line);
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
