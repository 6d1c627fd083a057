/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan/header.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "fabric/plan/build.h"

enum kind {
	KIND_NONE, /* words of a title without a meaning of their own */
	KIND_DEVICE, KIND_GUID, KIND_PORT, KIND_HCA, KIND_RACK, KIND_UNIT, KIND_LOCATION,
	KIND_SPEED, KIND_WIDTH, KIND_TYPE, KIND_STATE, KIND_CABLE, KIND_OTHER,
};

enum side { SIDE_NONE, SIDE_A, SIDE_B };

/* Words of titles that name an end of the link. "End" does only without another one: "A-end". */
static const struct {
	const char *text;
	uint8_t side;
} side_words[] = {
	{ "start", SIDE_A }, { "from", SIDE_A }, { "source", SIDE_A }, { "src", SIDE_A }, { "local", SIDE_A },
	{ "near", SIDE_A }, { "origin", SIDE_A }, { "begin", SIDE_A }, { "a", SIDE_A }, { "1", SIDE_A },
	{ "von", SIDE_A }, { "quelle", SIDE_A }, { "to", SIDE_B }, { "destination", SIDE_B }, { "dest", SIDE_B },
	{ "dst", SIDE_B }, { "target", SIDE_B }, { "remote", SIDE_B }, { "far", SIDE_B }, { "peer", SIDE_B },
	{ "neighbor", SIDE_B }, { "neighbour", SIDE_B }, { "b", SIDE_B }, { "z", SIDE_B }, { "2", SIDE_B },
	{ "nach", SIDE_B }, { "ziel", SIDE_B }, { "end", SIDE_B }, { "quell", SIDE_A }, { "depuis", SIDE_A },
	{ "vers", SIDE_B },
};

/* What a column holds. Device words have a class, by which "Host Port" belongs to "Host"; 0: none. */
static const struct {
	const char *text;
	uint8_t kind, class;
} kind_words[] = {
	{ "device", KIND_DEVICE, 1 }, { "devices", KIND_DEVICE, 1 }, { "node", KIND_DEVICE, 2 },
	{ "host", KIND_DEVICE, 3 }, { "hostname", KIND_DEVICE, 3 }, { "server", KIND_DEVICE, 3 },
	{ "switch", KIND_DEVICE, 4 }, { "sw", KIND_DEVICE, 4 }, { "leaf", KIND_DEVICE, 5 },
	{ "spine", KIND_DEVICE, 6 }, { "core", KIND_DEVICE, 7 }, { "system", KIND_DEVICE, 1 },
	{ "equipment", KIND_DEVICE, 1 }, { "machine", KIND_DEVICE, 3 }, { "chassis", KIND_DEVICE, 4 },
	{ "asset", KIND_DEVICE, 1 }, { "nodename", KIND_DEVICE, 2 }, { "devicename", KIND_DEVICE, 1 },
	{ "compute", KIND_DEVICE, 3 }, { "gpu", KIND_DEVICE, 3 }, { "tor", KIND_DEVICE, 4 },
	{ "edge", KIND_DEVICE, 4 }, { "endpoint", KIND_DEVICE, 1 }, { "termination", KIND_PORT, 0 },
	{ "guid", KIND_GUID, 0 }, { "port", KIND_PORT, 0 }, { "ports", KIND_PORT, 0 },
	{ "interface", KIND_PORT, 0 }, { "if", KIND_PORT, 0 }, { "intf", KIND_PORT, 0 }, { "portname", KIND_PORT, 0 },
	{ "hca", KIND_HCA, 0 }, { "nic", KIND_HCA, 0 }, { "adapter", KIND_HCA, 0 }, { "rail", KIND_OTHER, 0 },
	{ "rack", KIND_RACK, 0 }, { "cabinet", KIND_RACK, 0 }, { "racks", KIND_RACK, 0 }, { "schrank", KIND_RACK, 0 },
	{ "u", KIND_UNIT, 0 }, { "ru", KIND_UNIT, 0 }, { "unit", KIND_UNIT, 0 }, { "height", KIND_UNIT, 0 },
	{ "elevation", KIND_UNIT, 0 }, { "position", KIND_UNIT, 0 }, { "he", KIND_UNIT, 0 },
	{ "location", KIND_LOCATION, 0 }, { "loc", KIND_LOCATION, 0 }, { "row", KIND_LOCATION, 0 },
	{ "room", KIND_LOCATION, 0 }, { "place", KIND_LOCATION, 0 }, { "site", KIND_LOCATION, 0 },
	{ "speed", KIND_SPEED, 0 }, { "rate", KIND_SPEED, 0 }, { "bandwidth", KIND_SPEED, 0 },
	{ "bw", KIND_SPEED, 0 }, { "width", KIND_WIDTH, 0 }, { "type", KIND_TYPE, 0 }, { "protocol", KIND_TYPE, 0 },
	{ "state", KIND_STATE, 0 }, { "status", KIND_STATE, 0 }, { "cable", KIND_CABLE, 0 },
	{ "length", KIND_CABLE, 0 }, { "color", KIND_CABLE, 0 }, { "colour", KIND_CABLE, 0 },
	{ "part", KIND_CABLE, 0 }, { "pn", KIND_CABLE, 0 }, { "sku", KIND_CABLE, 0 }, { "connector", KIND_OTHER, 0 },
	{ "module", KIND_OTHER, 0 }, { "transceiver", KIND_OTHER, 0 }, { "optic", KIND_OTHER, 0 },
	{ "mpo", KIND_OTHER, 0 }, { "lid", KIND_OTHER, 0 }, { "domain", KIND_OTHER, 0 }, { "tier", KIND_OTHER, 0 },
	{ "role", KIND_OTHER, 0 }, { "vendor", KIND_OTHER, 0 }, { "model", KIND_OTHER, 0 },
	{ "serial", KIND_OTHER, 0 }, { "ip", KIND_OTHER, 0 }, { "mac", KIND_OTHER, 0 }, { "notes", KIND_OTHER, 0 },
	{ "note", KIND_OTHER, 0 }, { "comment", KIND_OTHER, 0 }, { "comments", KIND_OTHER, 0 },
	{ "remarks", KIND_OTHER, 0 }, { "description", KIND_OTHER, 0 }, { "index", KIND_OTHER, 0 },
	{ "line", KIND_OTHER, 0 }, { "plane", KIND_OTHER, 0 },
	{ "upstream", KIND_DEVICE, 6 },
	/* German and French; letters with accents as in UTF-8. */
	{ "gerät", KIND_DEVICE, 1 }, { "geraet", KIND_DEVICE, 1 }, { "knoten", KIND_DEVICE, 2 },
	{ "rechner", KIND_DEVICE, 3 }, { "rechnername", KIND_DEVICE, 3 }, { "anschluss", KIND_PORT, 0 },
	{ "höheneinheit", KIND_UNIT, 0 }, { "raum", KIND_LOCATION, 0 }, { "standort", KIND_LOCATION, 0 },
	{ "geschwindigkeit", KIND_SPEED, 0 }, { "zustand", KIND_STATE, 0 }, { "kabel", KIND_CABLE, 0 },
	{ "länge", KIND_CABLE, 0 }, { "laenge", KIND_CABLE, 0 }, { "farbe", KIND_CABLE, 0 },
	{ "bemerkung", KIND_OTHER, 0 }, { "bemerkungen", KIND_OTHER, 0 }, { "kommentar", KIND_OTHER, 0 },
	{ "équipement", KIND_DEVICE, 1 }, { "Équipement", KIND_DEVICE, 1 }, { "equipement", KIND_DEVICE, 1 },
	{ "appareil", KIND_DEVICE, 1 }, { "nœud", KIND_DEVICE, 2 }, { "noeud", KIND_DEVICE, 2 },
	{ "hôte", KIND_DEVICE, 3 }, { "serveur", KIND_DEVICE, 3 }, { "commutateur", KIND_DEVICE, 4 },
	{ "baie", KIND_RACK, 0 }, { "emplacement", KIND_LOCATION, 0 }, { "salle", KIND_LOCATION, 0 },
	{ "débit", KIND_SPEED, 0 }, { "vitesse", KIND_SPEED, 0 }, { "état", KIND_STATE, 0 },
	{ "câble", KIND_CABLE, 0 }, { "longueur", KIND_CABLE, 0 }, { "couleur", KIND_CABLE, 0 },
	{ "remarque", KIND_OTHER, 0 }, { "remarques", KIND_OTHER, 0 }, { "commentaire", KIND_OTHER, 0 },
};

static const char *const other_words[] = {
	"side", "name", "id", "number", "no", "num", "nr", "of", "the", "ib", "infiniband", "label", "fields", "full",
	"link", "connected", "connection", "uplink", "downlink", "data", "gb", "gbps", "gbit", "mb", "mbps", "mbit",
	"s", "m", "meters", "metres", "ft", "lfd", "nom", "numéro", "de", "du", "des", "la", "le", "l",
};

struct word {
	bool is_end;
	uint8_t kind, side, class;
};

/* A column as described by its title. */
struct column {
	uint8_t kind, side;
	uint8_t class;   /* that of a device word; 0: none */
	bool numbered;   /* its side is a number */
	bool letter;     /* it is nothing but "A" or "B" */
	bool titled;
	bool weak;       /* "From", "Name": a device, unless another column is */
};

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || ((unsigned char)c & 0x80);
}

static bool is_text(const char *text, const char *at, size_t len)
{
	return !strncasecmp(text, at, len) && !text[len];
}

static bool find_word(const char *at, size_t len, struct word *ret)
{
	*ret = (struct word){ .is_end = is_text("end", at, len) };
	for (size_t i = 0; i < sizeof(side_words) / sizeof(side_words[0]); i++)
		if (is_text(side_words[i].text, at, len)) {
			ret->side = side_words[i].side;
			return true;
		}
	for (size_t i = 0; i < sizeof(kind_words) / sizeof(kind_words[0]); i++)
		if (is_text(kind_words[i].text, at, len)) {
			ret->kind = kind_words[i].kind;
			ret->class = kind_words[i].class;
			return true;
		}
	for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++)
		if (is_text(other_words[i], at, len))
			return true;
	return false;
}

/* The next word of a title: of "StartDevice", "start_device", "Switch1", "ToR". Return: its length; 0: the end. */
static size_t next_word(const char **at)
{
	const char *s = *at;
	struct word whole;
	size_t len = 1;

	while (*s && !is_letter(*s) && !isdigit((unsigned char)*s))
		s++;
	*at = s;
	if (!*s)
		return 0;
	if (isdigit((unsigned char)*s))
		return strspn(s, "0123456789");
	while (is_letter(s[len]))
		len++;
	if (find_word(s, len, &whole))
		return len;
	len = 1;
	while (is_letter(s[len]) && !(isupper((unsigned char)s[len]) && islower((unsigned char)s[len - 1])))
		len++;
	return len;
}

/* A word, or two in one, as "srcport". Return: their number; 0: not known. */
static int find_words(const char *at, size_t len, struct word ret[2])
{
	if (find_word(at, len, &ret[0]))
		return 1;
	for (size_t cut = 2; cut + 2 <= len; cut++)
		if (find_word(at, cut, &ret[0]) && find_word(at + cut, len - cut, &ret[1]))
			return 2;
	return 0;
}

/* Which of two kinds a title with both words has: "Switch Port" is a port, "Device Location" a location. */
static uint8_t stronger(uint8_t a, uint8_t b)
{
	static const uint8_t order[] = {
		KIND_OTHER, KIND_CABLE, KIND_SPEED, KIND_WIDTH, KIND_TYPE, KIND_STATE, KIND_LOCATION, KIND_UNIT,
		KIND_RACK, KIND_GUID, KIND_PORT, KIND_HCA, KIND_DEVICE, KIND_NONE,
	};

	for (size_t i = 0; i < sizeof(order); i++)
		if (order[i] == a || order[i] == b)
			return order[i];
	return KIND_NONE;
}

/* Is a cell a title of known words? */
static bool read_title(const char *cell, struct column *ret)
{
	struct column column = { .titled = *cell };
	const char *at = cell;
	bool end = false, letter = false;
	size_t len, count = 0;

	/* Longer ones are prose. */
	if (strlen(cell) > 60)
		return false;
	for (; (len = next_word(&at)); at += len, count++) {
		struct word found[2];
		int words = find_words(at, len, found);

		if (!words)
			return false;
		for (int i = 0; i < words; i++) {
			const struct word *word = &found[i];

			if (word->is_end) {
				end = true;
			} else if (word->side) {
				column.side = word->side;
				letter = len == 1;
				column.numbered = isdigit((unsigned char)*at);
			}
			if (word->class)
				column.class = word->class;
			column.kind = stronger(column.kind, word->kind);
		}
	}
	/* "_2" of a library is no title; a number alone is data. */
	if (count == 1 && column.numbered && *cell == '_') {
		*ret = (struct column){ .kind = KIND_NONE };
		return true;
	}
	if (count == 1 && column.numbered)
		return false;
	/* "U height_1": the second of two equal titles. */
	if (column.numbered && column.kind >= KIND_UNIT && strchr(cell, '_')) {
		column.side = SIDE_NONE;
		column.numbered = false;
	}
	if (end && !column.side)
		column.side = SIDE_B;
	/* French "De" is "from" only alone: "Port de destination". */
	if (!strcasecmp(cell, "de"))
		column.side = SIDE_A;
	column.letter = column.kind == KIND_NONE && letter && count == 1;
	/* "From", "Peer", "A-end", "Name" are devices; "#" is nothing. */
	if (column.kind == KIND_NONE && ((column.side && !column.letter) || strcasestr(cell, "name"))) {
		column.kind = KIND_DEVICE;
		column.weak = true;
	}
	/* "Device Type", "Node Width" and the like do not describe the link. */
	if ((column.kind == KIND_TYPE || column.kind == KIND_STATE) &&
	    (column.side || column.class || strcasestr(cell, "hca")))
		column.kind = KIND_OTHER;
	*ret = column;
	return true;
}

static bool has_side(const struct column *columns, size_t count, uint8_t side)
{
	for (size_t i = 0; i < count; i++)
		if (columns[i].side == side && (columns[i].kind == KIND_DEVICE || columns[i].kind == KIND_PORT ||
						columns[i].kind == KIND_GUID))
			return true;
	return false;
}

static bool is_of_end(uint8_t kind)
{
	return kind >= KIND_DEVICE && kind <= KIND_LOCATION;
}

/* Titles name both sides: columns between them belong to the one before, in front of all to the one behind. */
static void side_by_titles(struct column *columns, size_t count)
{
	uint8_t before = SIDE_NONE;
	bool in_front = false;

	for (size_t i = 0; i < count; i++) {
		uint8_t behind = SIDE_NONE;

		if (columns[i].side && is_of_end(columns[i].kind)) {
			before = columns[i].side;
			continue;
		}
		if (columns[i].side || !is_of_end(columns[i].kind))
			continue;
		for (size_t k = i + 1; k < count && !behind; k++)
			behind = is_of_end(columns[k].kind) ? columns[k].side : SIDE_NONE;
		if (!before)
			in_front = columns[i].kind >= KIND_RACK;
		columns[i].side = !before || (in_front && behind && columns[i].kind >= KIND_RACK) ? behind : before;
	}
}

/*
 * "Device, Port, Remote Device, Remote Port": the columns without a side are the other one; of two of a kind, as in
 * "Device, Port, Connected to, Port", the first.
 */
static void side_by_other(struct column *columns, size_t count, uint8_t named)
{
	bool seen[KIND_OTHER + 1] = { false };

	for (size_t i = 0; i < count; i++) {
		if (columns[i].side || !is_of_end(columns[i].kind))
			continue;
		columns[i].side = (named == SIDE_A) != seen[columns[i].kind] ? SIDE_B : SIDE_A;
		seen[columns[i].kind] = true;
	}
}

/* No title names a side: the second of a kind is of the second end, "Host Port" is of "Host". */
static void side_by_order(struct column *columns, size_t count)
{
	uint8_t side = SIDE_A, class[3] = { 0 };
	bool seen[KIND_OTHER + 1] = { false };

	for (size_t i = 0; i < count; i++) {
		struct column *column = &columns[i];
		bool place = column->kind >= KIND_RACK;

		if (!is_of_end(column->kind))
			continue;
		if (column->class && column->kind != KIND_DEVICE &&
		    (column->class == class[SIDE_A]) != (column->class == class[SIDE_B])) {
			column->side = column->class == class[SIDE_A] ? SIDE_A : SIDE_B;
			continue;
		}
		if (side == SIDE_A && seen[column->kind] && (seen[KIND_DEVICE] || seen[KIND_GUID] || place))
			side = SIDE_B;
		/* A place behind both parts of the first end may be of the second one, if it has no place yet. */
		seen[column->kind] |= side == SIDE_A;
		column->side = side;
		if (column->kind == KIND_DEVICE)
			class[side] = column->class;
	}
}

static void set_once(int *to, size_t column)
{
	if (*to == HEADER_NONE)
		*to = (int)column;
}

static bool has_port(const struct column *columns, size_t count, uint8_t side)
{
	for (size_t i = 0; i < count; i++)
		if (columns[i].side == side && (columns[i].kind == KIND_PORT || columns[i].kind == KIND_HCA))
			return true;
	return false;
}

static void set_end(struct header *header, const struct column *columns, size_t at)
{
	struct header_end *end = &header->ends[columns[at].side == SIDE_B];

	switch (columns[at].kind) {
	case KIND_DEVICE:
		/* "side_a_device, side_a_name": the name of a port. */
		if (end->device != HEADER_NONE && columns[at].weak && !columns[end->device].weak)
			set_once(&end->port, at);
		/* The last one before the port: "Rack, Name, Name, Port" has a wrong title. */
		else if (end->port == HEADER_NONE || end->device == HEADER_NONE)
			end->device = (int)at;
		break;
	case KIND_PORT:
		set_once(&end->port, at);
		break;
	case KIND_HCA:
		set_once(&end->hca, at);
		break;
	case KIND_RACK:
		set_once(&end->rack, at);
		break;
	case KIND_UNIT:
		set_once(&end->unit, at);
		break;
	case KIND_LOCATION:
		set_once(&end->location, at);
		break;
	default:
		break;
	}
}

/* Is it a column without a title between two of the cable: "Speed,,Cable Length"? */
static bool continues_cable(const struct column *columns, size_t count, size_t at)
{
	size_t next = at + 1;

	if (!at || columns[at].titled || (columns[at - 1].kind != KIND_SPEED && columns[at - 1].kind != KIND_CABLE))
		return false;
	while (next < count && !columns[next].titled)
		next++;
	return next < count && columns[next].kind == KIND_CABLE;
}

static void set_link(struct header *header, const struct column *columns, size_t at)
{
	bool continues = continues_cable(columns, header->columns, at);

	if (columns[at].kind == KIND_SPEED && !columns[at].side)
		set_once(&header->speed, at);
	else if (columns[at].kind == KIND_WIDTH)
		set_once(&header->width, at);
	else if (columns[at].kind == KIND_TYPE)
		set_once(&header->type, at);
	else if (columns[at].kind == KIND_STATE)
		set_once(&header->state, at);
	else if ((columns[at].kind == KIND_CABLE || continues) && header->cable_count < HEADER_CABLES)
		header->cables[header->cable_count++] = (int)at;
}

/* "A, A Port, B, B Port": letters are devices if both ends have ports, and there is no other device. */
static size_t take_letters(struct column *columns, size_t count)
{
	size_t taken = 0;

	if (!has_port(columns, count, SIDE_A) || !has_port(columns, count, SIDE_B))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (columns[i].letter) {
			columns[i].kind = KIND_DEVICE;
			taken++;
		}
	return taken;
}

bool header_find(const struct cells *cells, struct header *ret)
{
	struct header header = { .speed = HEADER_NONE, .width = HEADER_NONE, .type = HEADER_NONE,
				 .state = HEADER_NONE, .columns = cells->count };
	struct column columns[CELLS_MAX] = { 0 };
	bool sides[3] = { false }, numbered = false;
	size_t devices = 0;

	for (size_t i = 0; i < cells->count; i++) {
		const char *cell = cells->cells[i];

		if (!read_title(cell, &columns[i]))
			columns[i] = (struct column){ .kind = KIND_OTHER, .titled = true };
		devices += columns[i].kind == KIND_DEVICE || columns[i].kind == KIND_GUID;
		header.is_ndt |= !!strcasestr(cell, "StartDevice");
	}
	if (!devices)
		devices = take_letters(columns, cells->count);
	if (devices < 2)
		return false;
	sides[SIDE_A] = has_side(columns, cells->count, SIDE_A);
	sides[SIDE_B] = has_side(columns, cells->count, SIDE_B);
	if (sides[SIDE_A] && sides[SIDE_B])
		side_by_titles(columns, cells->count);
	else if (sides[SIDE_A] || sides[SIDE_B])
		side_by_other(columns, cells->count, sides[SIDE_A] ? SIDE_A : SIDE_B);
	else
		side_by_order(columns, cells->count);
	for (int i = 0; i < 2; i++)
		header.ends[i] = (struct header_end){ HEADER_NONE, HEADER_NONE, HEADER_NONE, HEADER_NONE, HEADER_NONE,
						      HEADER_NONE };
	for (size_t i = 0; i < cells->count; i++) {
		numbered |= columns[i].numbered;
		if (is_of_end(columns[i].kind))
			set_end(&header, columns, i);
		else
			set_link(&header, columns, i);
	}
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < cells->count && header.ends[i].device == HEADER_NONE; k++)
			if (columns[k].kind == KIND_GUID && (columns[k].side == SIDE_B) == i)
				header.ends[i].device = (int)k;
	if (header.ends[0].device == HEADER_NONE || header.ends[1].device == HEADER_NONE)
		return false;
	/* "Host, HCA, Switch, Port": an HCA without a port beside it is one. */
	for (int i = 0; i < 2; i++)
		if (header.ends[i].port == HEADER_NONE && header.ends[i].hca != HEADER_NONE) {
			header.ends[i].port = header.ends[i].hca;
			header.ends[i].hca = HEADER_NONE;
		}
	/* "leaf1, 1, spine2, 2" are data. */
	if (numbered && header.ends[0].port == HEADER_NONE && header.ends[1].port == HEADER_NONE)
		return false;
	*ret = header;
	return true;
}
