/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * blocks.c - ibdiagnet2.cables and ibdiagnet2.pm: a block for each port
 *
 *	-------------------------------------------------------
 *	Port=1 Lid=0x00a4 GUID=0xf45214030046a0a1 Port Name=leaf01/U1/P1
 *	-------------------------------------------------------
 *	Vendor: Mellanox                 symbol_error_counter=0x0000
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "fabric/ibdiagnet/files.h"

struct state {
	enum ibdiagnet_section section;
	bool unused;      /* the .db_csv has the same */
	bool any;
	bool filled;      /* the block has a line that is known */
	size_t port;      /* index of its port, + 1; 0: none */
};

static void put_cable(struct ibdiagnet_port *port, const char *name, const char *value, bool *known)
{
	static const struct { const char *name; enum ibdiagnet_text text; } texts[] = {
		{ "SN", IBDIAGNET_SERIAL }, { "Vendor", IBDIAGNET_VENDOR }, { "PN", IBDIAGNET_PART },
		{ "Rev", IBDIAGNET_REVISION }, { "Length", IBDIAGNET_LENGTH }, { "Type", IBDIAGNET_TYPE },
		{ "FW Version", IBDIAGNET_CABLE_FIRMWARE },
	};
	unsigned lane;
	char what[8];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcasecmp(name, texts[i].name)) {
			ibdiagnet_set_text(port, texts[i].text, value);
			*known = true;
		}
	if (!strcasecmp(name, "Temperature"))
		port->temperature_c = ibdiagnet_temperature(value);
	else if (sscanf(name, "RX%1u %7s", &lane, what) == 2 && !strcmp(what, "Power"))
		ibdiagnet_add_lane(port, IBDIAGNET_RX_POWER, value);
	else if (sscanf(name, "TX%1u %7s", &lane, what) == 2 && !strcmp(what, "Power"))
		ibdiagnet_add_lane(port, IBDIAGNET_TX_POWER, value);
	else if (sscanf(name, "TX%1u %7s", &lane, what) == 2 && !strcmp(what, "Bias"))
		ibdiagnet_add_lane(port, IBDIAGNET_TX_BIAS, value);
}

static void put_counter(struct ibdiagnet_port *port, const char *name, const char *value, bool *known)
{
	static const struct { const char *name; enum ibdiagnet_counter counter; } counters[] = {
		{ "symbol_error_counter", IBDIAGNET_SYMBOL_ERRORS },
		{ "symbol_error_counter_extended", IBDIAGNET_SYMBOL_ERRORS },
		{ "link_error_recovery_counter", IBDIAGNET_LINK_RECOVERIES },
		{ "link_error_recovery_counter_extended", IBDIAGNET_LINK_RECOVERIES },
		{ "link_downed_counter", IBDIAGNET_LINK_DOWNED },
		{ "link_downed_counter_extended", IBDIAGNET_LINK_DOWNED },
		{ "port_rcv_errors", IBDIAGNET_RECEIVE_ERRORS },
		{ "port_rcv_errors_extended", IBDIAGNET_RECEIVE_ERRORS },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (!strcmp(name, counters[i].name) &&
		    ibdiagnet_number(value, &port->counters[counters[i].counter])) {
			port->counters_known |= 1U << counters[i].counter;
			*known = true;
		}
}

/* Count the block that ends. */
static void end_block(struct ibdiagnet_file *file, struct state *state)
{
	if (state->port && state->filled)
		ibdiagnet_note(file, state->section, &file->bundle->ports[state->port - 1]);
	else if (state->port)
		ibdiagnet_unread(file, state->section);
	state->port = 0;
}

static int begin_block(struct ibdiagnet_file *file, struct state *state, const char *line, struct error *err)
{
	const char *at = strstr(line, "GUID=");
	struct ibdiagnet_port *port;
	unsigned number = 256;
	char typed[32] = "";
	uint64_t guid;

	end_block(file, state);
	state->any = true;
	state->filled = false;
	if (sscanf(line, "Port=%3u", &number) != 1 || number > 255 || !at || sscanf(at, "GUID=%31s", typed) != 1 ||
	    !ibdiagnet_guid(typed, &guid))
		return ibdiagnet_unread(file, state->section);
	port = ibdiagnet_port(file->bundle, guid, (uint8_t)number, true);
	if (!port)
		return err_nomem(err);
	state->port = (size_t)(port - file->bundle->ports) + 1;
	return 0;
}

static int take_line(struct ibdiagnet_file *file, struct state *state, char *line, struct error *err)
{
	bool cables = state->section == IBDIAGNET_CABLES;
	char *value;

	if (!strncmp(line, "Port=", 5))
		return begin_block(file, state, line, err);
	value = strchr(line, cables ? ':' : '=');
	if (!state->port || !value)
		return 0;
	*value++ = '\0';
	(cables ? put_cable : put_counter)(&file->bundle->ports[state->port - 1], ibdiagnet_trim(line),
					   ibdiagnet_trim(value), &state->filled);
	return 0;
}

static int take(struct ibdiagnet_file *file, enum ibdiagnet_section section, char *line, struct error *err)
{
	struct state *state = file->state;
	int code = 0;

	if (!state) {
		state = file->state = calloc(1, sizeof(*state));
		if (!state)
			return err_nomem(err);
		state->section = section;
		state->unused = file->bundle->counts[section].rows;
	}
	if (line)
		return state->unused ? 0 : take_line(file, state, line, err);
	end_block(file, state);
	if (file->torn)
		code = ibdiagnet_is_cut(file, "its last line", err);
	else if (!state->any && !state->unused)
		code = err_set(err, ERR_USAGE, "%s has no block of a port (Port=1 Lid=... GUID=...)", file->path);
	free(state);
	return code;
}

int ibdiagnet_read_cables(struct ibdiagnet_file *file, char *line, struct error *err)
{
	return take(file, IBDIAGNET_CABLES, line, err);
}

int ibdiagnet_read_pm(struct ibdiagnet_file *file, char *line, struct error *err)
{
	return take(file, IBDIAGNET_COUNTERS, line, err);
}
