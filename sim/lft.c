/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/lft.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"

#define LID_COUNT 0xc000 /* unicast LIDs */

struct parser {
	const struct fabric *fabric;
	struct lft lft;
	struct map guids; /* port GUID as ibsim makes it, to port index */
	uint8_t *table;   /* of the switch in hand, NULL for one that the fabric does not hold */
	size_t begun, ended; /* switches */
};

static int index_guids(struct parser *parser)
{
	const struct fabric *fabric = parser->fabric;
	size_t i;

	for (i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct node *node = &fabric->nodes[port->node];

		if (node->type == NODE_SWITCH && port->num > 0)
			continue;
		if (map_put(&parser->guids, node->guid + port->num, (uint32_t)i) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

/* "Unicast lids [0-7] of switch Lid 1 guid 0x0000000000000020 ('name'):" */
static int begin_switch(struct parser *parser, const char *line)
{
	const char *guid = strstr(line, " guid 0x");
	uint32_t node = guid ? fabric_find_node(parser->fabric, strtoull(guid + 6, NULL, 16)) : FABRIC_NONE;

	parser->begun++;
	parser->table = NULL;
	if (node == FABRIC_NONE)
		return 0;
	if (!parser->lft.tables[node]) {
		parser->lft.tables[node] = malloc(parser->lft.table_size);
		if (!parser->lft.tables[node])
			return ERR_NOMEM;
		parser->lft.switch_count++;
	}
	parser->table = parser->lft.tables[node];
	memset(parser->table, LFT_NO_PORT, parser->lft.table_size);
	return 0;
}

/* "0x0005 001 # Channel Adapter portguid 0x0000000000000011: 'node1'" */
static void take_entry(struct parser *parser, const char *line)
{
	char *end;
	unsigned long lid = strtoul(line, &end, 16), out = strtoul(end, &end, 10);
	const char *guid = strstr(end, " portguid 0x");
	uint32_t port;

	if (lid >= parser->lft.table_size || out >= LFT_NO_PORT)
		return;
	if (parser->table)
		parser->table[lid] = (uint8_t)out;
	/* With LMC a port has several LIDs: the base LID is its first. */
	if (guid && map_get(&parser->guids, strtoull(guid + 10, NULL, 16), &port) &&
	    (!parser->lft.port_lids[port] || lid < parser->lft.port_lids[port]))
		parser->lft.port_lids[port] = (uint16_t)lid;
}

static int parse_lines(struct parser *parser, const char *chars, size_t len, struct error *err)
{
	const char *end = chars + len;

	while (chars < end) {
		const char *newline = memchr(chars, '\n', (size_t)(end - chars));
		char line[192];
		size_t size;

		if (!newline)
			return err_set(err, ERR_IO, "the dump of the forwarding tables ends within a line");
		size = (size_t)(newline - chars) < sizeof(line) - 1 ? (size_t)(newline - chars) : sizeof(line) - 1;
		memcpy(line, chars, size);
		line[size] = '\0';
		chars = newline + 1;
		if (!strncmp(line, "Unicast lids ", 13)) {
			if (begin_switch(parser, line) < 0)
				return err_nomem(err);
		} else if (!strncmp(line, "0x", 2)) {
			take_entry(parser, line);
		} else if (strstr(line, " lids dumped")) {
			parser->ended++;
		}
	}
	if (!parser->begun || parser->begun != parser->ended)
		return err_set(err, ERR_IO, "the dump of the forwarding tables is not complete");
	return 0;
}

/* The largest LID that a line begins with, so that tables are no larger than they need to be. */
static size_t find_table_size(const char *chars, size_t len)
{
	const char *end = chars + len, *line = chars;
	unsigned long top = 0;

	while (line && end - line > 6) {
		if (line[0] == '0' && line[1] == 'x') {
			unsigned long lid = strtoul(line, NULL, 16);

			if (lid > top && lid < LID_COUNT)
				top = lid;
		}
		line = memchr(line, '\n', (size_t)(end - line));
		line = line ? line + 1 : NULL;
	}
	return top + 1;
}

int lft_parse(const struct fabric *fabric, const char *chars, size_t len, struct lft *ret, struct error *err)
{
	struct parser parser = { .fabric = fabric };
	char *copy = malloc(len + 1); /* a NUL behind the text, for strtoul */
	int code = ERR_NOMEM;

	parser.lft.node_count = fabric->node_count;
	parser.lft.tables = calloc(fabric->node_count + 1, sizeof(*parser.lft.tables));
	parser.lft.port_lids = calloc(fabric->port_count + 1, sizeof(*parser.lft.port_lids));
	if (!copy || !parser.lft.tables || !parser.lft.port_lids || index_guids(&parser) < 0) {
		err_nomem(err);
		goto out;
	}
	memcpy(copy, chars, len);
	copy[len] = '\0';
	parser.lft.table_size = find_table_size(copy, len);
	code = parse_lines(&parser, copy, len, err);
	if (code == 0) {
		*ret = parser.lft;
		memset(&parser.lft, 0, sizeof(parser.lft));
	}
out:
	lft_done(&parser.lft);
	map_done(&parser.guids);
	free(copy);
	return code;
}

void lft_done(struct lft *lft)
{
	size_t i;

	for (i = 0; lft->tables && i < lft->node_count; i++)
		free(lft->tables[i]);
	free(lft->tables);
	free(lft->port_lids);
	memset(lft, 0, sizeof(*lft));
}

uint8_t lft_out_port(const struct lft *lft, uint32_t node, uint16_t lid)
{
	const uint8_t *table = node < lft->node_count ? lft->tables[node] : NULL;

	return table && lid < lft->table_size ? table[lid] : LFT_NO_PORT;
}
