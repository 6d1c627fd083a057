/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/netfile.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/netfile_links.h"

/* One port line, kept until its node is complete. */
struct net_port {
	bool listed;
	struct port port;
	uint64_t peer_guid;
	uint8_t peer_num;
	size_t line;
};

struct net_reader {
	struct fabric *fabric;
	struct netfile_notes notes;
	/* Lines before the line of a node: they belong to the next node. */
	uint32_t vendor_id;
	struct firmware firmware;
	uint16_t device_id;
	uint64_t system_guid, guid;
	/* The current node. */
	bool has_node;
	struct node node;
	size_t node_line; /* number of its line */
	uint64_t id;      /* GUID of its id, or made from it */
	bool made;        /* it has no other GUID */
	struct map nodes; /* ids that are not GUIDs, to index of the node */
	struct net_port ports[UINT8_MAX + 1];
	struct net_link *links;
	size_t link_count, link_capacity;
	size_t line;      /* number of the current line */
	const char *last_line;
	bool line_of_node; /* it is part of a node, at least by its start */
	bool line_damaged; /* a part of it could not be read */
};

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* A number that ends with one of @ends or the line. Return: 0 if something else follows, which is damage. */
static unsigned long parse_number(struct net_reader *reader, const char *s, int base, const char *ends)
{
	char *end;
	unsigned long number = strtoul(s, &end, base);

	if (end > s && (!*end || strchr(ends, *end)))
		return number;
	reader->line_damaged = true;
	return 0;
}

/*
 * A GUID with an end that it has in a file; 0: none, counted if it has other characters (redacted).
 * ibdiagnet writes the label of a port instead: "1/1/1".
 */
static uint64_t parse_guid(struct net_reader *reader, const char *s)
{
	char *end;
	uint64_t guid = strtoull(s, &end, 16);

	if (s[strcspn(s, "/ \t()")] == '/')
		return 0;
	if (*end && !strchr(" \t()", *end)) {
		unread_add(&reader->notes.guids_unknown, reader->line);
		return 0;
	}
	reader->line_damaged |= end == s || (*end == '(' && !strchr(end, ')'));
	return guid;
}

/* Digits of a GUID in a node id. */
enum { ID_DIGITS = 16 };

/*
 * The GUID in a node id such as S-2c5eab0300b87b40. Of another text, such as the names in the net
 * files of ibsim (S-1 and H-1 are two of them), one is made: FNV-1a, with the bit of locally assigned
 * GUIDs.
 */
static uint64_t id_guid(struct net_reader *reader, const char *id, size_t len, bool *ret_made)
{
	uint64_t guid = 0xcbf29ce484222325ULL;
	char digits[ID_DIGITS + 1];
	size_t skip = len > 4 && id[2] == '0' && tolower((unsigned char)id[3]) == 'x' ? 4 : 2;
	char *end;

	*ret_made = false;
	if (len == skip + ID_DIGITS && id[1] == '-' && isxdigit((unsigned char)id[skip])) {
		memcpy(digits, id + skip, ID_DIGITS);
		digits[ID_DIGITS] = '\0';
		guid = strtoull(digits, &end, 16);
		if (!*end)
			return guid;
		guid = 0xcbf29ce484222325ULL;
	}
	for (size_t i = 0; i < len; i++) {
		guid = (guid ^ (unsigned char)id[i]) * 0x100000001b3ULL;
		reader->line_damaged |= !isprint((unsigned char)id[i]);
	}
	*ret_made = true;
	return (guid & 0xffffffffffffULL) | 0x0200000000000000ULL;
}

/* The first quoted string of a line. Return: the rest of the line, or NULL: none. */
static const char *take_quoted(const char *line, const char **ret, size_t *ret_len)
{
	const char *open = strchr(line, '"');
	const char *close = open ? strchr(open + 1, '"') : NULL;

	if (!close)
		return NULL;
	*ret = open + 1;
	*ret_len = (size_t)(close - open - 1);
	return close + 1;
}

/* A number up to @most behind the word @name, such as "lid 73". Return: whether it is present. */
static bool find_word_number(struct net_reader *reader, const char *s, const char *end, const char *name,
			     unsigned long most, unsigned long *ret)
{
	size_t len = strlen(name);

	for (; s + len < end; s++) {
		if (strncmp(s, name, len) || !isdigit((unsigned char)s[len]))
			continue;
		*ret = parse_number(reader, s + len, 10, " \t");
		reader->line_damaged |= *ret > most;
		return *ret <= most;
	}
	return false;
}

/* " 4xHDR" after the last LID of a comment. */
static void parse_speed_words(struct net_reader *reader, const char *comment, struct port *port)
{
	const char *s = strrchr(comment, '"');
	char name[8];
	size_t len = 0;

	for (s = s ? s : comment; *s; s++) {
		char *end;
		unsigned long lanes;

		if (!isdigit((unsigned char)*s) || (s > comment && s[-1] != ' '))
			continue;
		lanes = strtoul(s, &end, 10);
		if (*end != 'x' || !isupper((unsigned char)end[1]))
			continue;
		for (end++; len < sizeof(name) - 1 && isalnum((unsigned char)*end); end++)
			name[len++] = *end;
		name[len] = '\0';
		if (!strchr(" \t", *end)) {
			reader->line_damaged = true;
			return;
		}
		port->width = link_width_code((unsigned)lanes);
		port->speed = (uint8_t)link_speed_by_name(name);
		return;
	}
}

/* Masks w=, s=, e= of ibsim (width, speed, extended speed): the link uses the best bit. */
static void parse_options(const char *s, struct port *port)
{
	unsigned long width = 0, speed = 0, extended = 0;

	for (; *s; s++) {
		if (s[1] != '=' || !isdigit((unsigned char)s[2]))
			continue;
		if (*s == 'w')
			width = strtoul(s + 2, NULL, 10);
		else if (*s == 's')
			speed = strtoul(s + 2, NULL, 10);
		else if (*s == 'e')
			extended = strtoul(s + 2, NULL, 10);
	}
	if (width && width <= 31)
		port->width = link_width_best((uint8_t)width);
	/* Bit n of the field is the nth speed of its generation. */
	if (extended && extended <= 15)
		port->speed = (uint8_t)link_speed_best((uint16_t)(extended << LINK_SPEED_FDR));
	else if (speed && speed <= 7 && port->speed <= LINK_SPEED_QDR)
		port->speed = (uint8_t)link_speed_best((uint16_t)(speed << LINK_SPEED_SDR));
}

/* "# lid 70 lmc 0 "peer" lid 65 4xQDR": of an HCA its own LID, and the rate. */
static void parse_port_comment(struct net_reader *reader, const char *comment, struct port *port)
{
	const char *quote = strchr(comment, '"'), *last = strrchr(comment, '"');
	const char *words = skip_blanks(comment + 1);
	unsigned lid, lmc;
	unsigned long value;

	parse_speed_words(reader, comment, port);
	/* The peer's name is in quotes; without it this is another comment, or was cut at "# li". */
	reader->line_damaged |= quote ? quote == last || !strchr(" \t", last[1]) :
				!strncmp(words, "lid ", strlen(words) < 4 ? strlen(words) : 4) && !port->width;
	reader->line_damaged |= quote && *words != '"' && sscanf(words, "lid %5u lmc %1u", &lid, &lmc) != 2;
	if (reader->node.type == NODE_SWITCH || !quote)
		return;
	if (find_word_number(reader, comment, quote, " lid ", UINT16_MAX, &value))
		port->lid = (uint16_t)value;
	if (find_word_number(reader, comment, quote, " lmc ", 7, &value))
		port->lmc = (uint8_t)value;
}

/* "[20](guid)" behind the peer's id, then a comment, options such as "w=2", or nothing. */
static void check_peer_end(struct net_reader *reader, const char *rest)
{
	for (int i = 0; i < 2; i++) {
		size_t len = *rest == "[("[i] ? strcspn(rest, i ? ")" : "]") : 0;

		rest += len + (len && rest[len]);
	}
	rest = skip_blanks(rest);
	reader->line_damaged |= *rest && *rest != '#' && (!isalpha((unsigned char)*rest) || rest[1] != '=');
}

/* [1](portguid) "S-id"[20]... # lid 70 lmc 0 "peer" lid 65 4xQDR */
static bool parse_port_line(struct net_reader *reader, const char *line)
{
	unsigned long num = parse_number(reader, line + 1, 10, "]"), peer_num = 1;
	const char *bracket = strchr(line, ']'), *id, *rest, *comment, *quote;
	struct net_port *entry;
	uint64_t peer_guid;
	size_t id_len;
	bool made;

	rest = bracket ? take_quoted(line, &id, &id_len) : NULL;
	if (!rest || num < 1 || num > reader->node.port_count || !isdigit((unsigned char)line[1]))
		return false;
	peer_guid = id_guid(reader, id, id_len, &made);
	if (*rest == '[') {
		peer_num = parse_number(reader, rest + 1, 10, "]");
		reader->line_damaged |= !strchr(rest, ']');
	}
	entry = &reader->ports[num];
	if (!peer_guid || peer_num < 1 || peer_num > UINT8_MAX ||
	    (entry->listed && (entry->peer_guid != peer_guid || entry->peer_num != peer_num)))
		return false;
	entry->listed = true;
	entry->line = reader->line;
	entry->peer_guid = peer_guid;
	entry->peer_num = (uint8_t)peer_num;
	entry->port.state = PORT_ACTIVE;
	entry->port.phys_state = PHYS_LINK_UP;
	/* A switch has no GUID of its own for each port: there it is a label, which may look like a GUID. */
	if (bracket[1] == '(' && reader->node.type != NODE_SWITCH)
		entry->port.guid = parse_guid(reader, bracket + 2);
	comment = strchr(rest, '#');
	check_peer_end(reader, rest);
	if (comment) {
		parse_port_comment(reader, comment, &entry->port);
		/*
		 * Options may be before the comment, or after the speed in it (ibnetdiscover
		 * --full).
		 */
		quote = strrchr(comment, '"');
		rest = quote && !memchr(rest, '=', (size_t)(comment - rest)) ? quote + 1 : rest;
	}
	parse_options(rest, &entry->port);
	return true;
}

static int want_link(struct net_reader *reader, uint32_t port, const struct net_port *entry)
{
	struct net_link *links = array_grow(reader->links, reader->link_count, &reader->link_capacity,
					       sizeof(*links));

	if (!links)
		return ERR_NOMEM;
	reader->links = links;
	reader->links[reader->link_count++] = (struct net_link){ port, entry->peer_guid, entry->peer_num,
							     entry->line };
	return 0;
}

/* The current node is complete: add it and its ports to the fabric. */
static int flush_node(struct net_reader *reader, struct error *err)
{
	unsigned first = reader->node.type == NODE_SWITCH ? 0 : 1;

	if (!reader->has_node)
		return 0;
	reader->has_node = false;
	if (reader->made && fabric_find_node(reader->fabric, reader->node.guid) != FABRIC_NONE)
		return err_set(err, ERR_IO, "two nodes have the same id, one of them before line %zu, and no GUID: are "
			       "GUIDs redacted?", reader->line);
	if (fabric_add_node(reader->fabric, &reader->node, err) < 0)
		return ERR_IO;
	if (reader->made)
		unread_add(&reader->notes.guids_made, reader->node_line);
	if (reader->id != reader->node.guid &&
	    map_put(&reader->nodes, reader->id, (uint32_t)reader->fabric->node_count - 1) < 0)
		return err_nomem(err);
	for (unsigned i = first; i <= reader->node.port_count; i++) {
		struct net_port *entry = &reader->ports[i];
		int64_t index;

		entry->port.num = (uint8_t)i;
		if (i == 0) {
			entry->port.guid = reader->node.guid;
			entry->port.lid = reader->node.lid;
			entry->port.state = PORT_ACTIVE;
			entry->port.phys_state = PHYS_LINK_UP;
		} else if (!entry->listed) {
			entry->port.state = PORT_DOWN;
			entry->port.phys_state = PHYS_POLLING;
		}
		index = fabric_add_port(reader->fabric, &entry->port, err);
		if (index < 0)
			return ERR_IO;
		if (entry->listed && want_link(reader, (uint32_t)index, entry) < 0)
			return err_nomem(err);
	}
	return 0;
}

/*
 * End of a description without quotes: ibsim accepts these, which may contain a quote. Source:
 * ibsim sim_net.c, parse_node_desc.
 */
static const char *plain_desc_end(const char *desc)
{
	static const char *const words[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *end = desc + strlen(desc);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *found = strstr(desc, words[i]);

		if (found && found < end)
			end = found;
	}
	return end;
}

/*
 * The description after the id of a node. Quoted descriptions may contain quotes and end at the
 * last quote of the line. Return: the rest of the line.
 */
static const char *parse_desc(struct net_reader *reader, const char *rest, char ret[NODE_DESC_SIZE + 1])
{
	const char *hash = strchr(rest, '#'), *open, *close;
	size_t len;

	open = hash ? skip_blanks(hash + 1) : strchr(rest, '"');
	reader->line_damaged |= !strchr("#\"", *skip_blanks(rest));
	if (!open)
		return rest;
	if (*open == '"') {
		open++;
		close = strrchr(open, '"');
		rest = close ? close + 1 : rest;
		reader->line_damaged |= !close || !strchr(" \t", *rest);
	} else {
		close = plain_desc_end(open);
		reader->line_damaged |= close == open;
		rest = close;
	}
	if (!close)
		return rest;
	len = (size_t)(close - open);
	memcpy(ret, open, len < NODE_DESC_SIZE ? len : NODE_DESC_SIZE);
	return rest;
}

/* "enhanced port 0 lid 73 lmc 0" behind a description. */
static void parse_switch_end(struct net_reader *reader, const char *words, struct node *node)
{
	static const char *const ports[] = { "base port 0", "enhanced port 0" };
	unsigned lid, lmc;

	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		if (strncmp(words, ports[i], strlen(ports[i])))
			continue;
		node->enhanced_port0 = i == 1;
		words = skip_blanks(words + strlen(ports[i]));
		break;
	}
	reader->line_damaged |= *words && sscanf(words, "lid %5u lmc %1u", &lid, &lmc) != 2;
}

/* Switch 65 "S-id" # "description" enhanced port 0 lid 73 lmc 0 */
static bool parse_node_line(struct net_reader *reader, const char *line, uint8_t type)
{
	struct node node = { .type = type };
	const char *end = line + strlen(line), *id, *rest;
	unsigned long ports, value;
	size_t id_len;
	bool named;

	ports = parse_number(reader, line + strcspn(line, " \t0123456789"), 10, " \t\"");
	rest = take_quoted(line, &id, &id_len);
	if (!rest || ports < 1 || ports > UINT8_MAX)
		return false;
	/* Dumps of ibdiagnet have the SystemImageGUID of a director after "switchguid=". */
	node.guid = reader->id = id_guid(reader, id, id_len, &named);
	reader->made = named && !reader->guid;
	if (named && reader->guid)
		node.guid = reader->guid;
	if (!node.guid)
		return false;
	node.port_count = (uint8_t)ports;
	node.system_guid = reader->system_guid;
	node.vendor_id = reader->vendor_id;
	node.firmware = reader->firmware;
	node.device_id = reader->device_id;
	rest = parse_desc(reader, rest, node.desc);
	if (named && !*node.desc)
		memcpy(node.desc, id, id_len < NODE_DESC_SIZE ? id_len : NODE_DESC_SIZE);
	if (type == NODE_SWITCH) {
		parse_switch_end(reader, skip_blanks(rest), &node);
		if (find_word_number(reader, rest, end, " lid ", UINT16_MAX, &value))
			node.lid = (uint16_t)value;
	}
	memset(reader->ports, 0, sizeof(reader->ports));
	reader->node = node;
	reader->node_line = reader->line;
	reader->has_node = true;
	return true;
}

/* "name=0x..." Return: the value, or NULL: another line. */
static const char *assigned(const char *line, const char *name)
{
	size_t len = strlen(name);

	return strncmp(line, name, len) || line[len] != '=' ? NULL : line + len + 1;
}

static bool parse_assignment(struct net_reader *reader, const char *line)
{
	const char *value;

	if ((value = assigned(line, "vendid")))
		reader->vendor_id = (uint32_t)parse_number(reader, value, 0, " \t");
	else if ((value = assigned(line, "devid")))
		reader->device_id = (uint16_t)parse_number(reader, value, 0, " \t");
	else if ((value = assigned(line, "sysimgguid")))
		reader->system_guid = parse_guid(reader, value);
	else if ((value = assigned(line, "switchguid")) || (value = assigned(line, "caguid")) ||
		 (value = assigned(line, "rtguid")) || (value = assigned(line, "hcaguid")))
		reader->guid = parse_guid(reader, value);
	else
		return false;
	return true;
}

/* NETFILE_FIRMWARE of the next node; other comments are skipped. */
static void parse_firmware(struct net_reader *reader, const char *line)
{
	size_t prefix = strlen(NETFILE_FIRMWARE), len;
	const char *psid;

	if (strncmp(line, NETFILE_FIRMWARE, prefix))
		return;
	reader->firmware = (struct firmware){ 0 };
	len = firmware_parse(&reader->firmware, line + prefix);
	psid = strstr(line + prefix + len, " psid=");
	if (!len)
		return;
	reader->firmware.source = FIRMWARE_IMPORTED;
	if (psid)
		firmware_set_psid(&reader->firmware, psid + 6, strlen(psid + 6));
}

/* The type of node that a line starts, 0: none. */
static uint8_t node_line_type(const char *line)
{
	static const struct {
		const char *word;
		uint8_t type;
	} words[] = { { "Switch", NODE_SWITCH }, { "Ca", NODE_CA }, { "Hca", NODE_CA }, { "Rt", NODE_ROUTER } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);

		if (!strncasecmp(line, words[i].word, len) &&
		    (line[len] == ' ' || line[len] == '\t' || isdigit((unsigned char)line[len])))
			return words[i].type;
	}
	return 0;
}

static int read_line(struct net_reader *reader, const char *line, struct error *err)
{
	uint8_t type;
	bool known;

	line = skip_blanks(line);
	reader->line_of_node = reader->line_damaged = false;
	if (*line == '#')
		parse_firmware(reader, line);
	if (!*line || *line == '#')
		return 0;
	if (*line == '[') {
		known = reader->has_node && parse_port_line(reader, line);
		reader->line_of_node = isdigit((unsigned char)line[1]);
	} else if ((type = node_line_type(line))) {
		/* The line of the current node again. */
		if (reader->has_node && type == reader->node.type && reader->node_line + 1 == reader->line &&
		    !strcmp(line, reader->last_line))
			return 0;
		if (flush_node(reader, err) < 0)
			return ERR_IO;
		known = parse_node_line(reader, line, type);
		reader->line_of_node = true;
		reader->guid = reader->system_guid = 0;
		reader->firmware = (struct firmware){ 0 };
	} else {
		known = parse_assignment(reader, line);
		reader->line_of_node = known;
		/* Lines before a node belong to the next one: the current node ends. */
		if (known && flush_node(reader, err) < 0)
			return ERR_IO;
	}
	if (!known)
		unread_add(&reader->notes.ignored, reader->line);
	else if (reader->line_damaged)
		unread_add(&reader->notes.damaged, reader->line);
	return 0;
}

static int read_lines(struct net_reader *reader, char *chars, size_t len, struct error *err)
{
	char *end = chars + len;

	while (chars < end) {
		char *newline = memchr(chars, '\n', (size_t)(end - chars));
		char *stop = newline ? newline : end;

		*stop = '\0';
		for (size_t i = 0; chars + i < stop; i++)
			if (!chars[i] || chars[i] == '\r')
				chars[i] = ' ';
		reader->line++;
		if (read_line(reader, chars, err) < 0)
			return ERR_IO;
		reader->last_line = skip_blanks(chars);
		reader->notes.unfinished = !newline && reader->line_of_node;
		chars = stop + 1;
	}
	reader->notes.unfinished |= reader->guid || reader->system_guid; /* their node does not follow */
	if (flush_node(reader, err) < 0)
		return ERR_IO;
	if (!reader->fabric->node_count)
		return err_set(err, ERR_IO, "there is no node in it: is it the output of ibnetdiscover?");
	return 0;
}

void netfile_describe_counts(const struct netfile_note *kinds, size_t len, netfile_print *print, void *ctx)
{
	char line[200];

	for (size_t i = 0; i < len; i++) {
		const struct unread *where = &kinds[i].where;
		int end;

		if (!where->lines)
			continue;
		end = snprintf(line, sizeof(line), "%zu %.140s", where->lines,
			       where->lines == 1 ? kinds[i].one : kinds[i].many);
		if (where->first)
			snprintf(line + end, sizeof(line) - (size_t)end, ", the first is line %zu", where->first);
		print(ctx, line);
	}
}

void netfile_describe(const struct netfile_notes *notes, netfile_print *print, void *ctx)
{
	const struct netfile_note kinds[] = {
		{ notes->damaged, "line is damaged: read in part", "lines are damaged: read in part" },
		{ notes->peers_unknown, "cable to a node or port that is not in the file: omitted",
		  "cables to nodes or ports that are not in the file: omitted" },
		{ notes->peers_one_sided, "cable listed at one end only: other end added",
		  "cables listed at one end only: other ends added" },
		{ notes->peers_conflicting, "port whose peer lists another cable: omitted",
		  "ports whose peers list other cables: omitted" },
		{ notes->peers_self, "port that is its own peer: omitted", "ports that are their own peers: omitted" },
		{ notes->rates_unknown, "link without width and speed: its bandwidth is unknown",
		  "links without width and speed: their bandwidth is unknown" },
		{ notes->ends_unknown, "link without width or speed at one end: that of the other end counts",
		  "links without width or speed at one end: those of the other ends count" },
		{ notes->ends_differ, "link whose ends differ in width or speed: the lower rate counts",
		  "links whose ends differ in width or speed: the lower rate counts" },
		{ notes->guids_unknown, "GUID that is not hexadecimal (redacted?): unknown",
		  "GUIDs that are not hexadecimal (redacted?): unknown" },
		{ notes->guids_made, "node without a GUID: one is made up from its id",
		  "nodes without a GUID: made up from their ids" },
	};
	char line[UNREAD_SIZE];

	if (notes->unfinished)
		print(ctx, "the file ends inside a line or a node: the rest of the fabric may be missing");
	if (unread_describe(&notes->ignored, "part of a fabric", line))
		print(ctx, line);
	netfile_describe_counts(kinds, sizeof(kinds) / sizeof(kinds[0]), print, ctx);
}

int netfile_read(const char *chars, size_t len, const struct name_map *map, struct fabric **ret,
		 struct netfile_notes *ret_notes, struct error *err)
{
	struct net_reader *reader = calloc(1, sizeof(*reader));
	char *copy = malloc(len + 1);
	int code = ERR_NOMEM;
	uint32_t node;

	if (!reader || !copy || !(reader->fabric = fabric_create(NULL))) {
		err_nomem(err);
		goto out;
	}
	memcpy(copy, chars, len);
	copy[len] = '\0';
	code = read_lines(reader, copy, len, err);
	/* Ids that are names become GUIDs. */
	for (size_t i = 0; code == 0 && i < reader->link_count; i++)
		if (map_get(&reader->nodes, reader->links[i].peer_guid, &node))
			reader->links[i].peer_guid = reader->fabric->nodes[node].guid;
	if (code == 0)
		code = netfile_link(reader->fabric, reader->links, reader->link_count, &reader->notes, err);
	if (code == 0)
		code = fabric_finish(reader->fabric, map, err);
	if (code < 0)
		goto out;
	if (ret_notes)
		*ret_notes = reader->notes;
	*ret = reader->fabric;
	reader->fabric = NULL;
out:
	if (reader) {
		fabric_destroy(reader->fabric);
		map_done(&reader->nodes);
		free(reader->links);
	}
	free(reader);
	free(copy);
	return code;
}
