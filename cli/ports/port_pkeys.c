/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/ports/port_pkeys.h"

#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "fabric/pkeys.h"
#include "facts/cells.h"
#include "facts/moment.h"
#include "facts/port_facts.h"

enum { NAME, NODE_GUID, NODE, NUMBER, KEYS, ENFORCEMENT, PEER_NAME, PEER_GUID, PEER, PEER_NUMBER, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[KEYS] = { .key = "pkeys", .title = "P_KEYS", .kind = COLUMN_LIST, .flags = COLUMN_FLEXIBLE },
	[ENFORCEMENT] = { .key = "enforcement", .title = "ENFORCED", .kind = COLUMN_TEXT },
	[PEER_NAME] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_PEER_COLUMNS(PEER_GUID),
};

bool port_pkeys_has(const struct moment *moment, uint32_t port)
{
	const struct pkey_table *table = pkeys_of(&moment->pkeys, moment->fabric, port);

	return pkeys_is_member_port(moment->fabric, port) || (table && table->enforcement);
}

static void put_row(struct result *result, const struct moment *moment, uint32_t port)
{
	static const char *const ways[] = { "", "outbound", "inbound", "both" };
	const struct pkey_table *table = pkeys_of(&moment->pkeys, moment->fabric, port);
	uint32_t peer = moment->fabric->ports[port].peer;

	cells_port_name(result, NAME, &moment->names_shown, moment->fabric, port);
	cells_port(result, NODE_GUID, moment->fabric, port);
	if (table) {
		result_empty(result, KEYS);
		for (unsigned i = 0; i < table->count; i++)
			if (table->keys[i])
				result_item(result, KEYS, "0x%04x", table->keys[i]);
		result_text(result, ENFORCEMENT, ways[table->enforcement & 3]);
	}
	if (peer != FABRIC_NONE) {
		cells_port_name(result, PEER_NAME, &moment->names_shown, moment->fabric, peer);
		cells_port(result, PEER_GUID, moment->fabric, peer);
	}
	result_end_row(result);
}

int port_pkeys_print(const struct moment *moment, const struct options *options, const struct port_facts *ports,
		     size_t count, struct error *err)
{
	struct result_options output = options_result(options);
	struct result *result = result_create(options->out, &output, columns, COLUMNS);
	size_t unknown = 0;

	for (size_t i = 0; i < count; i++) {
		put_row(result, moment, ports[i].port);
		unknown += !pkeys_of(&moment->pkeys, moment->fabric, ports[i].port);
	}
	if (unknown)
		result_note(result, "%zu of these tables were not read yet", unknown);
	result_none(result, "the selection has no port with P_Keys");
	return output_end(result, 0, err);
}
