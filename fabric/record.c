/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

#define FIRST_LINE "ibwire-fabric 1"

/* A line of numbers; those of @hex (a set of 1 << index) in base 16. */
static void write_numbers(struct text *text, const char *word, const uint64_t *values, size_t count, unsigned hex)
{
	text_append(text, word);
	for (size_t i = 0; i < count; i++) {
		text_append_bytes(text, " ", 1);
		text_append_number(text, values[i], hex >> i & 1 ? 16 : 10);
	}
}

static void write_node(struct text *text, const struct node *node)
{
	const uint64_t values[] = {
		node->guid, node->system_guid, node->type, node->port_count, node->vendor_id, node->device_id,
		node->revision, node->lid, node->lft_top, node->enhanced_port0 | (uint64_t)node->kept << 1,
		node->partition_cap, node->enforcement_cap,
	};
	size_t len = strlen(node->desc);

	write_numbers(text, "node", values, sizeof(values) / sizeof(values[0]), 1 << 0 | 1 << 1);
	text_append(text, " ");
	for (size_t i = 0; i < len; i++) {
		text_append_number(text, (unsigned char)node->desc[i] >> 4, 16);
		text_append_number(text, (unsigned char)node->desc[i] & 15, 16);
	}
	text_append(text, len ? "\n" : "-\n");
}

static void write_port(struct text *text, const struct fabric *fabric, const struct port *port)
{
	const struct port *peer = port->peer == FABRIC_NONE ? NULL : &fabric->ports[port->peer];
	const uint64_t values[] = {
		port->num, port->guid, port->lid, port->lmc, port->sm_lid, port->state, port->phys_state, port->width,
		port->width_enabled, port->width_supported, port->speed, port->speed_enabled, port->speed_supported,
		port->cap_mask, peer ? fabric->nodes[peer->node].guid : 0, peer ? peer->num : 0, port->enforcement,
	};

	write_numbers(text, "port", values, sizeof(values) / sizeof(values[0]), 1 << 1 | 1 << 14);
	text_append_bytes(text, "\n", 1);
}

void record_write(struct text *text, const struct fabric *fabric, const struct record_trailer *trailer)
{
	text_append(text, FIRST_LINE "\n");
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		write_node(text, node);
		for (size_t j = 0; j < node->ports; j++)
			write_port(text, fabric, &fabric->ports[node->first_port + j]);
	}
	if (fabric->from_node != FABRIC_NONE)
		text_appendf(text, "from %" PRIx64 " %u\n", fabric->nodes[fabric->from_node].guid, fabric->from_port);
	text_appendf(text, "end %zu %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		     fabric->node_count, fabric->port_count, trailer->smps, trailer->hops, trailer->took_us,
		     trailer->lost, trailer->silent, trailer->queries);
}

/* Peers may be named before their node is read; links are made at the end. */
struct wanted_link {
	uint32_t port;
	uint64_t peer_guid;
	uint8_t peer_num;
};

struct record_reader {
	struct fabric *fabric;
	struct wanted_link *links;
	size_t link_count, link_capacity;
	uint64_t from_guid;
	uint8_t from_port;
	bool ended;
	struct record_trailer trailer;
};

/* Read the next blank-separated number from *cursor. Return: false: missing, or above @max. */
static bool take(char **cursor, int base, uint64_t max, uint64_t *ret)
{
	char *end;

	while (**cursor == ' ')
		(*cursor)++;
	if (!**cursor || **cursor == '-' || **cursor == '+')
		return false;
	errno = 0;
	*ret = strtoull(*cursor, &end, base);
	if (end == *cursor || errno || (*end && *end != ' ') || *ret > max)
		return false;
	*cursor = end;
	return true;
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

static bool take_desc(char **cursor, char ret[NODE_DESC_SIZE + 1])
{
	size_t len = 0;

	while (**cursor == ' ')
		(*cursor)++;
	ret[0] = '\0';
	if (!strcmp(*cursor, "-"))
		return true;
	while (**cursor) {
		int high = hex_digit((*cursor)[0]);
		int low = high < 0 ? -1 : hex_digit((*cursor)[1]);

		if (low < 0 || len == NODE_DESC_SIZE)
			return false;
		ret[len++] = (char)(high << 4 | low);
		*cursor += 2;
	}
	ret[len] = '\0';
	return len > 0;
}

static bool read_node(struct record_reader *reader, char *cursor, struct error *err)
{
	enum { NUMBERS = 12 };
	uint64_t value[NUMBERS];
	static const struct {
		int base;
		uint64_t max;
	} form[NUMBERS] = {
		{ 16, UINT64_MAX }, { 16, UINT64_MAX }, { 10, 3 },          { 10, 255 },        { 10, UINT32_MAX },
		{ 10, UINT16_MAX }, { 10, UINT32_MAX }, { 10, UINT16_MAX }, { 10, UINT16_MAX }, { 10, 3 },
		{ 10, UINT16_MAX }, { 10, UINT16_MAX },
	};
	struct node node = { 0 };

	for (size_t i = 0; i < NUMBERS; i++)
		if (!take(&cursor, form[i].base, form[i].max, &value[i]))
			return false;
	if (!take_desc(&cursor, node.desc))
		return false;
	node.guid = value[0];
	node.system_guid = value[1];
	node.type = (uint8_t)value[2];
	node.port_count = (uint8_t)value[3];
	node.vendor_id = (uint32_t)value[4];
	node.device_id = (uint16_t)value[5];
	node.revision = (uint32_t)value[6];
	node.lid = (uint16_t)value[7];
	node.lft_top = (uint16_t)value[8];
	node.enhanced_port0 = value[9] & 1;
	node.kept = value[9] >> 1;
	node.partition_cap = (uint16_t)value[10];
	node.enforcement_cap = (uint16_t)value[11];
	return fabric_add_node(reader->fabric, &node, err) >= 0;
}

static int want_link(struct record_reader *reader, uint32_t port, uint64_t peer_guid, uint8_t peer_num)
{
	struct wanted_link *links = array_grow(reader->links, reader->link_count, &reader->link_capacity,
					       sizeof(*links));

	if (!links)
		return ERR_NOMEM;
	reader->links = links;
	reader->links[reader->link_count++] = (struct wanted_link){ port, peer_guid, peer_num };
	return 0;
}

static bool read_port(struct record_reader *reader, char *cursor, struct error *err)
{
	enum { NUM, GUID, LID, LMC, SM_LID, STATE, PHYS, WIDTH, WIDTH_ENABLED, WIDTH_SUPPORTED, SPEED, SPEED_ENABLED,
	       SPEED_SUPPORTED, CAP_MASK, PEER_GUID, PEER_NUM, ENFORCEMENT, COUNT };
	static const uint64_t max[COUNT] = {
		[NUM] = 255, [GUID] = UINT64_MAX, [LID] = UINT16_MAX, [LMC] = 7, [SM_LID] = UINT16_MAX, [STATE] = 15,
		[PHYS] = 15, [WIDTH] = 255, [WIDTH_ENABLED] = 255, [WIDTH_SUPPORTED] = 255,
		[SPEED] = LINK_SPEED_COUNT - 1, [SPEED_ENABLED] = UINT16_MAX, [SPEED_SUPPORTED] = UINT16_MAX,
		[CAP_MASK] = UINT32_MAX, [PEER_GUID] = UINT64_MAX, [PEER_NUM] = 255, [ENFORCEMENT] = 3,
	};
	uint64_t value[COUNT];
	struct port port = { 0 };
	int64_t index;

	for (int i = 0; i < COUNT; i++)
		if (!take(&cursor, i == GUID || i == PEER_GUID ? 16 : 10, max[i], &value[i]))
			return false;
	if (*cursor)
		return false;
	port.num = (uint8_t)value[NUM];
	port.guid = value[GUID];
	port.lid = (uint16_t)value[LID];
	port.lmc = (uint8_t)value[LMC];
	port.sm_lid = (uint16_t)value[SM_LID];
	port.state = (uint8_t)value[STATE];
	port.phys_state = (uint8_t)value[PHYS];
	port.width = (uint8_t)value[WIDTH];
	port.width_enabled = (uint8_t)value[WIDTH_ENABLED];
	port.width_supported = (uint8_t)value[WIDTH_SUPPORTED];
	port.speed = (uint8_t)value[SPEED];
	port.speed_enabled = (uint16_t)value[SPEED_ENABLED];
	port.speed_supported = (uint16_t)value[SPEED_SUPPORTED];
	port.cap_mask = (uint32_t)value[CAP_MASK];
	port.enforcement = (uint8_t)value[ENFORCEMENT];
	index = fabric_add_port(reader->fabric, &port, err);
	if (index < 0)
		return false;
	if (value[PEER_GUID] && want_link(reader, (uint32_t)index, value[PEER_GUID], (uint8_t)value[PEER_NUM]) < 0)
		return err_nomem(err) == 0;
	return true;
}

static bool read_from(struct record_reader *reader, char *cursor)
{
	uint64_t guid, port;

	if (!take(&cursor, 16, UINT64_MAX, &guid) || !take(&cursor, 10, 255, &port))
		return false;
	reader->from_guid = guid;
	reader->from_port = (uint8_t)port;
	return true;
}

static bool read_end(struct record_reader *reader, char *cursor)
{
	uint64_t nodes, ports;

	if (!take(&cursor, 10, UINT32_MAX, &nodes) || !take(&cursor, 10, UINT32_MAX, &ports) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.smps) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.hops) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.took_us) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.lost) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.silent) ||
	    !take(&cursor, 10, UINT64_MAX, &reader->trailer.queries))
		return false;
	reader->ended = nodes == reader->fabric->node_count && ports == reader->fabric->port_count;
	return reader->ended;
}

static bool read_line(struct record_reader *reader, char *line, size_t number, struct error *err)
{
	if (reader->ended)
		return false;
	if (number == 1)
		return !strcmp(line, FIRST_LINE);
	if (!strncmp(line, "node ", 5))
		return read_node(reader, line + 5, err);
	if (!strncmp(line, "port ", 5))
		return read_port(reader, line + 5, err);
	if (!strncmp(line, "from ", 5))
		return read_from(reader, line + 5);
	if (!strncmp(line, "end ", 4))
		return read_end(reader, line + 4);
	return false;
}

static int read_lines(struct record_reader *reader, char *chars, size_t len, struct error *err)
{
	size_t number = 0;
	char *end = chars + len;

	while (chars < end) {
		char *newline = memchr(chars, '\n', (size_t)(end - chars));
		struct error cause = { 0 };

		number++;
		if (!newline)
			return err_set(err, ERR_IO, "line %zu is cut off", number);
		*newline = '\0';
		if (strlen(chars) != (size_t)(newline - chars) || !read_line(reader, chars, number, &cause)) {
			if (cause.code == ERR_NOMEM)
				return err_nomem(err);
			return err_set(err, ERR_IO, "line %zu does not fit%s%s", number, cause.code ? ": " : "",
				       cause.text);
		}
		chars = newline + 1;
	}
	return reader->ended ? 0 : err_set(err, ERR_IO, "the text ends before its end line");
}

static int link_ports(struct record_reader *reader, struct error *err)
{
	for (size_t i = 0; i < reader->link_count; i++) {
		const struct wanted_link *link = &reader->links[i];
		uint32_t peer = fabric_find_port(reader->fabric, link->peer_guid, link->peer_num);

		/*
		 * A peer that did not respond is not in the fabric: its end of the cable is
		 * unknown.
		 */
		if (peer != FABRIC_NONE && fabric_link(reader->fabric, link->port, peer, err) < 0)
			return ERR_IO;
	}
	return 0;
}

int record_read(const char *chars, size_t len, struct fabric **ret,
		struct record_trailer *ret_trailer, struct error *err)
{
	struct record_reader reader = { .fabric = fabric_create(err) };
	char *copy = malloc(len + 1);
	int code = ERR_NOMEM;

	if (!reader.fabric || !copy) {
		err_nomem(err);
		goto out;
	}
	memcpy(copy, chars, len);
	copy[len] = '\0';
	code = read_lines(&reader, copy, len, err);
	if (code == 0)
		code = link_ports(&reader, err);
	if (code == 0)
		code = fabric_finish(reader.fabric, NULL, err);
	if (code < 0)
		goto out;
	if (reader.from_guid) {
		reader.fabric->from_node = fabric_find_node(reader.fabric, reader.from_guid);
		reader.fabric->from_port = reader.from_port;
	}
	if (ret_trailer)
		*ret_trailer = reader.trailer;
	*ret = reader.fabric;
	reader.fabric = NULL;
out:
	fabric_destroy(reader.fabric);
	free(reader.links);
	free(copy);
	return code;
}
