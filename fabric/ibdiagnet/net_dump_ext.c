/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * net_dump_ext.c - ibdiagnet2.net_dump_ext: bit error rates of ports
 *
 *	Ty : # : #IB : GUID : LID : Sta : ... : Raw BER : Effective BER : Symbol BER : Symbol Err : ... : Node Desc
 *
 * The last column is the name of the node, which may contain colons.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "fabric/ibdiagnet/files.h"

enum { COLUMNS_MOST = 64 };

enum field { GUID, PORT, RAW, EFFECTIVE, SYMBOL, FIELDS };

static const char *const names[FIELDS] = {
	[GUID] = "GUID", [PORT] = "#IB", [RAW] = "Raw BER", [EFFECTIVE] = "Effective BER", [SYMBOL] = "Symbol BER",
};

struct state {
	size_t count;       /* of columns; 0: before the line with their names */
	size_t at[FIELDS];  /* column, or COLUMNS_MOST */
	char *cells[COLUMNS_MOST];
};

/* At most @most cells; the last one has the rest. */
static size_t split(char *line, char **cells, size_t most)
{
	size_t count = 0;

	for (char *at = line; at && count < most;) {
		char *end = count + 1 < most ? strchr(at, ':') : NULL;

		if (end)
			*end = '\0';
		cells[count++] = ibdiagnet_trim(at);
		at = end ? end + 1 : NULL;
	}
	return count;
}

static void find_columns(struct state *state, char *line)
{
	state->count = split(line, state->cells, COLUMNS_MOST);
	for (size_t i = 0; i < FIELDS; i++) {
		state->at[i] = COLUMNS_MOST;
		for (size_t column = 0; column < state->count; column++)
			if (!strcasecmp(state->cells[column], names[i]))
				state->at[i] = column;
	}
}

static const char *value(const struct state *state, enum field field)
{
	return state->at[field] < COLUMNS_MOST ? state->cells[state->at[field]] : "";
}

static int take_line(struct ibdiagnet_file *file, struct state *state, char *line, struct error *err)
{
	struct ibdiagnet_port *port;
	uint64_t guid, number;

	if (!state->count) {
		if (!strncmp(line, "Ty", 2) && strstr(line, "BER"))
			find_columns(state, line);
		return 0;
	}
	if (!*ibdiagnet_trim(line))
		return 0;
	if (split(line, state->cells, state->count) != state->count || !ibdiagnet_guid(value(state, GUID), &guid) ||
	    !ibdiagnet_number(value(state, PORT), &number) || number > 255)
		return ibdiagnet_unread(file, IBDIAGNET_BER);
	port = ibdiagnet_port(file->bundle, guid, (uint8_t)number, true);
	if (!port)
		return err_nomem(err);
	port->raw_ber = ibdiagnet_rate(value(state, RAW));
	port->effective_ber = ibdiagnet_rate(value(state, EFFECTIVE));
	port->symbol_ber = ibdiagnet_rate(value(state, SYMBOL));
	ibdiagnet_note(file, IBDIAGNET_BER, port);
	return 0;
}

int ibdiagnet_read_net_dump_ext(struct ibdiagnet_file *file, char *line, struct error *err)
{
	struct state *state = file->state;
	int code = 0;

	if (!state) {
		state = file->state = calloc(1, sizeof(*state));
		if (!state)
			return err_nomem(err);
	}
	if (line)
		return take_line(file, state, line, err);
	if (!state->count)
		code = err_set(err, ERR_USAGE, "%s has no line with the names of its columns (Ty : # : #IB : GUID ...)",
			       file->path);
	else if (file->torn)
		code = ibdiagnet_is_cut(file, "its last line", err);
	free(state);
	return code;
}
