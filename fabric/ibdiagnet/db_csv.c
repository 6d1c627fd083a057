/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* db_csv.c - ibdiagnet2.db_csv: sections of comma-separated rows */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/ibdiagnet/files.h"

/* More columns than any section has: 300 in a CABLE_INFO of 2025. */
enum { COLUMNS_MOST = 2048 };

/* Columns that are used, of all sections. */
enum field {
	NODE_GUID, PORT_GUID, PORT, SERIAL, VENDOR, PART, REVISION, LENGTH, LENGTH_COPPER, LENGTH_SINGLE, TYPE,
	CABLE_FIRMWARE, TEMPERATURE, SYMBOLS, SYMBOLS_EXT, RECOVERIES, RECOVERIES_EXT, DOWNED, DOWNED_EXT, RECEIVE,
	RECEIVE_EXT, CAGE, PLANE, MAJOR, MINOR, SUB_MINOR, MAJOR_EXT, MINOR_EXT, SUB_MINOR_EXT, PSID,
	YEAR, MONTH, DAY,
	FIELDS,
};

/* Their names in any case, as versions write them. */
static const char *const names[FIELDS][3] = {
	[NODE_GUID] = { "NodeGuid" }, [PORT_GUID] = { "PortGuid" }, [PORT] = { "PortNum", "PortNumber" },
	[SERIAL] = { "SN", "SerialNumber" }, [VENDOR] = { "Vendor" }, [PART] = { "PN", "PartNumber" },
	[REVISION] = { "Rev" }, [LENGTH] = { "LengthDesc" }, [LENGTH_COPPER] = { "LengthCopperOrActive" },
	[LENGTH_SINGLE] = { "LengthSMFiber" }, [TYPE] = { "TypeDesc" }, [CABLE_FIRMWARE] = { "FWVersion" },
	[TEMPERATURE] = { "Temperature", "CurrentTemperature", "Current_Temperature" },
	[SYMBOLS] = { "SymbolErrorCounter" }, [SYMBOLS_EXT] = { "SymbolErrorCounterExt" },
	[RECOVERIES] = { "LinkErrorRecoveryCounter" }, [RECOVERIES_EXT] = { "LinkErrorRecoveryCounterExt" },
	[DOWNED] = { "LinkDownedCounter" }, [DOWNED_EXT] = { "LinkDownedCounterExt" },
	[RECEIVE] = { "PortRcvErrors" }, [RECEIVE_EXT] = { "PortRcvErrorsExt" },
	[CAGE] = { "Cage" }, [PLANE] = { "Plane" },
	[MAJOR] = { "FWInfo_Major" }, [MINOR] = { "FWInfo_Minor" }, [SUB_MINOR] = { "FWInfo_SubMinor" },
	[MAJOR_EXT] = { "FWInfo_Extended_Major" }, [MINOR_EXT] = { "FWInfo_Extended_Minor" },
	[SUB_MINOR_EXT] = { "FWInfo_Extended_SubMinor" }, [PSID] = { "FWInfo_PSID" }, [YEAR] = { "FWInfo_Year" },
	[MONTH] = { "FWInfo_Month" }, [DAY] = { "FWInfo_Day" },
};

enum { LANES = 8 };

static const struct {
	const char *prefix, *suffix;
	enum ibdiagnet_text text;
} lanes[] = {
	{ "RX", "Power", IBDIAGNET_RX_POWER }, { "TX", "Power", IBDIAGNET_TX_POWER },
	{ "TX", "Bias", IBDIAGNET_TX_BIAS },
};
enum { LANE_KINDS = sizeof(lanes) / sizeof(*lanes) };

static const struct {
	const char *name;
	enum ibdiagnet_section section;
	bool of_port;
	enum field needed; /* a column without which the section is not understood */
} sections[] = {
	{ "NODES", IBDIAGNET_NODES, false, NODE_GUID }, { "CABLE_INFO", IBDIAGNET_CABLES, true, SERIAL },
	{ "PM_INFO", IBDIAGNET_COUNTERS, true, PORT }, { "PORT_HIERARCHY_INFO", IBDIAGNET_PLACES, true, PORT },
	{ "TEMP_SENSING", IBDIAGNET_SENSORS, false, TEMPERATURE },
	{ "NODES_INFO", IBDIAGNET_FIRMWARE, false, NODE_GUID },
};
enum { SECTIONS = sizeof(sections) / sizeof(*sections) };

struct state {
	char section[64];    /* "": between sections */
	size_t index;        /* in sections; SECTIONS: it is not used */
	bool has_columns;
	bool any;            /* a section was found */
	size_t column_count;
	size_t at[FIELDS];   /* column, or COLUMNS_MOST */
	size_t lane_at[LANE_KINDS][LANES];
	char *cells[COLUMNS_MOST];
	struct text copy;
};

/*
 * Split a row into cells, in place.
 * @doubled:  quotes in a quoted cell are doubled; otherwise they are printed as they are
 * @skip:     number of quotes before a comma that do not end the first quoted cell: "a", "b" may be one name
 * Return: number of cells; above COLUMNS_MOST: too many.
 */
static size_t split(char *line, char **cells, bool doubled, size_t skip)
{
	size_t count = 0;
	char *at = line;

	for (;;) {
		char *start = at, *to = at;

		if (count == COLUMNS_MOST)
			return COLUMNS_MOST + 1;
		if (*at == '"') {
			start = to = ++at;
			while (*at) {
				bool ends = *at == '"' && (at[1] == ',' || !at[1]);

				if (doubled && *at == '"' && at[1] == '"' && !(ends && !skip))
					at++;
				else if (ends && !skip)
					break;
				else if (ends && at[1])
					skip--;
				*to++ = *at++;
			}
			at += *at == '"';
		} else {
			at += strcspn(at, ",");
			to = at;
		}
		cells[count++] = start;
		if (*at != ',') {
			*to = '\0';
			return count;
		}
		*to = '\0';
		at++;
	}
}

/* Quotes and commas in a name may need another reading, until the number of cells is that of the columns. */
static bool split_row(struct state *state, char *line)
{
	enum { SKIP_MOST = 16 };
	bool quoted = strchr(line, '"');

	if (quoted) {
		text_clear(&state->copy);
		text_append(&state->copy, line);
	}
	if (split(line, state->cells, true, 0) == state->column_count)
		return true;
	for (size_t skip = 0; quoted && skip <= SKIP_MOST && !text_failed(&state->copy); skip++) {
		memcpy(line, text_chars(&state->copy), state->copy.len + 1);
		if (split(line, state->cells, false, skip) == state->column_count)
			return true;
	}
	return false;
}

static void find_columns(struct state *state, char *line)
{
	char name[24];

	state->column_count = split(line, state->cells, true, 0);
	for (size_t i = 0; i < FIELDS; i++)
		state->at[i] = COLUMNS_MOST;
	for (size_t i = 0; i < LANE_KINDS; i++)
		for (size_t lane = 0; lane < LANES; lane++)
			state->lane_at[i][lane] = COLUMNS_MOST;
	for (size_t column = 0; column < state->column_count && column < COLUMNS_MOST; column++) {
		const char *cell = ibdiagnet_trim(state->cells[column]);

		for (size_t i = 0; i < FIELDS; i++)
			for (size_t j = 0; j < 3 && names[i][j]; j++)
				if (!strcasecmp(names[i][j], cell))
					state->at[i] = column;
		for (size_t i = 0; i < LANE_KINDS; i++)
			for (unsigned lane = 0; lane < LANES; lane++) {
				snprintf(name, sizeof(name), "%s%u%s", lanes[i].prefix, lane + 1, lanes[i].suffix);
				if (!strcasecmp(name, cell))
					state->lane_at[i][lane] = column;
			}
	}
	state->has_columns = true;
}

/* A value of the row; "": the section has no such column. */
static const char *value(struct state *state, enum field field)
{
	return state->at[field] < COLUMNS_MOST ? ibdiagnet_trim(state->cells[state->at[field]]) : "";
}

static void put_cable(struct state *state, struct ibdiagnet_port *port)
{
	static const struct { enum ibdiagnet_text text; enum field field; } texts[] = {
		{ IBDIAGNET_SERIAL, SERIAL }, { IBDIAGNET_VENDOR, VENDOR }, { IBDIAGNET_PART, PART },
		{ IBDIAGNET_REVISION, REVISION }, { IBDIAGNET_LENGTH, LENGTH }, { IBDIAGNET_TYPE, TYPE },
		{ IBDIAGNET_CABLE_FIRMWARE, CABLE_FIRMWARE },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ibdiagnet_set_text(port, texts[i].text, value(state, texts[i].field));
	/* The description has the unit; the fields that it is made of are meters. */
	for (enum field field = LENGTH_COPPER; field <= LENGTH_SINGLE; field++) {
		uint64_t meters;
		char text[40];

		if (*port->texts[IBDIAGNET_LENGTH] || !ibdiagnet_number(value(state, field), &meters) || !meters)
			continue;
		snprintf(text, sizeof(text), "%llu m", (unsigned long long)meters);
		ibdiagnet_set_text(port, IBDIAGNET_LENGTH, text);
	}
	port->temperature_c = ibdiagnet_temperature(value(state, TEMPERATURE));
	for (size_t i = 0; i < LANE_KINDS; i++) {
		*port->texts[lanes[i].text] = '\0';
		for (size_t lane = 0; lane < LANES; lane++)
			if (state->lane_at[i][lane] < COLUMNS_MOST)
				ibdiagnet_add_lane(port, lanes[i].text,
						   ibdiagnet_trim(state->cells[state->lane_at[i][lane]]));
	}
}

static void put_counters(struct state *state, struct ibdiagnet_port *port)
{
	/* The second one of each has more bits. */
	static const enum field of[IBDIAGNET_COUNTER_COUNT][2] = {
		[IBDIAGNET_SYMBOL_ERRORS] = { SYMBOLS, SYMBOLS_EXT },
		[IBDIAGNET_LINK_RECOVERIES] = { RECOVERIES, RECOVERIES_EXT },
		[IBDIAGNET_LINK_DOWNED] = { DOWNED, DOWNED_EXT },
		[IBDIAGNET_RECEIVE_ERRORS] = { RECEIVE, RECEIVE_EXT },
	};

	for (size_t i = 0; i < IBDIAGNET_COUNTER_COUNT; i++)
		for (size_t j = 0; j < 2; j++)
			if (ibdiagnet_number(value(state, of[i][j]), &port->counters[i]))
				port->counters_known |= 1U << i;
}

static void put_place(struct state *state, struct ibdiagnet_port *port)
{
	uint64_t number;

	if (ibdiagnet_number(value(state, CAGE), &number) && number < 1000)
		port->cage = (int)number;
	if (ibdiagnet_number(value(state, PLANE), &number) && number < 1000)
		port->plane = (int)number;
}

static int put_port(struct ibdiagnet_file *file, struct state *state, uint64_t guid, struct error *err)
{
	enum ibdiagnet_section section = sections[state->index].section;
	struct ibdiagnet_port *port;
	uint64_t number;

	if (!ibdiagnet_number(value(state, PORT), &number) || number > 255)
		return ibdiagnet_unread(file, section);
	port = ibdiagnet_port(file->bundle, guid, (uint8_t)number, false);
	if (!port)
		return err_nomem(err);
	if (section == IBDIAGNET_CABLES)
		put_cable(state, port);
	else if (section == IBDIAGNET_COUNTERS)
		put_counters(state, port);
	else
		put_place(state, port);
	ibdiagnet_note(file, section, port);
	return 0;
}

/* 0x2022, 0x08 and 0x25 are a year, a month and a day: digits, not a number. */
static uint32_t built(struct state *state)
{
	uint64_t parts[3];
	uint32_t date = 0;

	for (size_t i = 0; i < 3; i++) {
		char digits[24];

		if (!ibdiagnet_number(value(state, (enum field)(YEAR + i)), &parts[i]))
			return 0;
		snprintf(digits, sizeof(digits), "%llx", (unsigned long long)parts[i]);
		parts[i] = strtoull(digits, NULL, 10);
		if (parts[i] > (i ? 99 : 9999))
			return 0;
		date = date * (i ? 100 : 1) + (uint32_t)parts[i];
	}
	return date;
}

static void put_firmware(struct state *state, struct firmware *firmware)
{
	static const enum field fields[2][3] = { { MAJOR_EXT, MINOR_EXT, SUB_MINOR_EXT },
						 { MAJOR, MINOR, SUB_MINOR } };
	const char *psid = value(state, PSID);
	uint64_t parts[3];

	/* The version of three small fields is cut where the extended one is known. */
	for (size_t i = 0; i < 2 && !firmware->source; i++) {
		bool known = true;

		for (size_t j = 0; j < 3; j++)
			known &= ibdiagnet_number(value(state, fields[i][j]), &parts[j]) && parts[j] <= UINT32_MAX;
		if (known && (parts[0] || parts[1] || parts[2]))
			*firmware = (struct firmware){ .major = (uint32_t)parts[0], .minor = (uint32_t)parts[1],
						       .sub_minor = (uint32_t)parts[2], .built = built(state),
						       .source = FIRMWARE_IMPORTED };
	}
	if (firmware->source && !ibdiagnet_is_unknown(psid))
		firmware_set_psid(firmware, psid, strlen(psid));
}

static int put_row(struct ibdiagnet_file *file, struct state *state, char *line, struct error *err)
{
	enum ibdiagnet_section section = sections[state->index].section;
	struct ibdiagnet_node *node;
	uint64_t guid;

	if (!split_row(state, line))
		return text_failed(&state->copy) ? err_nomem(err) : ibdiagnet_unread(file, section);
	if (!ibdiagnet_guid(value(state, NODE_GUID), &guid))
		return ibdiagnet_unread(file, section);
	if (sections[state->index].of_port)
		return put_port(file, state, guid, err);
	node = ibdiagnet_node(file->bundle, guid);
	if (!node)
		return err_nomem(err);
	if (section == IBDIAGNET_NODES)
		node->listed = true;
	else if (section == IBDIAGNET_SENSORS)
		node->temperature_c = ibdiagnet_temperature(value(state, TEMPERATURE));
	else
		put_firmware(state, &node->firmware);
	file->bundle->counts[section].rows++;
	return 0;
}

static int begin(struct ibdiagnet_file *file, struct state *state, const char *name, struct error *err)
{
	if (*state->section)
		return err_set(err, ERR_USAGE, "%s:%zu: section %s begins before the end of %s: the file is damaged, "
			       "nothing was imported", file->path, file->line, name, state->section);
	snprintf(state->section, sizeof(state->section), "%s", name);
	state->has_columns = false;
	state->any = true;
	for (state->index = 0; state->index < SECTIONS; state->index++)
		if (!strcmp(sections[state->index].name, name))
			break;
	file->bundle->other_sections += state->index == SECTIONS;
	return 0;
}

static int take_line(struct ibdiagnet_file *file, struct state *state, char *line, struct error *err)
{
	if (!strncmp(line, "START_", 6) && line[6] && !strpbrk(line, ", \""))
		return begin(file, state, line + 6, err);
	if (!*state->section)
		return 0;
	if (!strncmp(line, "END_", 4) && !strcmp(line + 4, state->section)) {
		*state->section = '\0';
		return 0;
	}
	if (state->index == SECTIONS || !*line)
		return 0;
	if (state->has_columns)
		return put_row(file, state, line, err);
	find_columns(state, line);
	/* Each of its rows is then one that is not understood. */
	if (state->at[NODE_GUID] == COLUMNS_MOST || state->at[sections[state->index].needed] == COLUMNS_MOST)
		state->column_count = COLUMNS_MOST + 2;
	return 0;
}

int ibdiagnet_read_db_csv(struct ibdiagnet_file *file, char *line, struct error *err)
{
	struct state *state = file->state;
	char open_section[sizeof(state->section) + 12];
	int code = 0;

	if (!state) {
		state = file->state = calloc(1, sizeof(*state));
		if (!state)
			return err_nomem(err);
	}
	if (line)
		return take_line(file, state, line, err);
	if (*state->section) {
		snprintf(open_section, sizeof(open_section), "its section %s", state->section);
		code = ibdiagnet_is_cut(file, open_section, err);
	} else if (!state->any) {
		code = err_set(err, ERR_USAGE, "%s has no section (START_NODES, ...): it is no db_csv of ibdiagnet",
			       file->path);
	}
	text_done(&state->copy);
	free(state);
	return code;
}
