/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net/mend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

/* "# Initiated from node 0002c9030004e938 port ...", which ibnetdiscover writes at the top. */
static uint32_t find_from_node(const struct fabric *fabric, const char *chars, size_t len)
{
	static const char prefix[] = "# Initiated from node ";
	const char *found = memmem(chars, len, prefix, sizeof(prefix) - 1);
	char digits[17] = "";
	size_t left;

	if (!found)
		return FABRIC_NONE;
	found += sizeof(prefix) - 1;
	left = len - (size_t)(found - chars);
	memcpy(digits, found, left < 16 ? left : 16);
	return fabric_find_node(fabric, strtoull(digits, NULL, 16));
}

int mend(const char *chars, size_t len, struct text *net, struct fabric **ret, struct mend_notes *ret_notes,
	 struct error *err)
{
	struct mend_notes notes = { 0 };
	struct fabric *fabric;
	int code = netfile_read(chars, len, NULL, &fabric, &notes.read, err);

	if (code < 0)
		return code;
	fabric->from_node = find_from_node(fabric, chars, len);
	netwrite(net, fabric, fabric->from_node, &notes.written);
	if (text_failed(net)) {
		fabric_destroy(fabric);
		return err_nomem(err);
	}
	*ret = fabric;
	*ret_notes = notes;
	return 0;
}

void mend_describe(const struct mend_notes *notes, void (*print)(void *ctx, const char *line), void *ctx)
{
	const struct {
		size_t count;
		const char *one, *many;
	} kinds[] = {
		{ notes->read.lines_ignored, "line is not part of a fabric: ignored",
		  "lines are not part of a fabric: ignored" },
		{ notes->read.peers_unknown, "cable to a node or port that is not in the file: omitted",
		  "cables to nodes or ports that are not in the file: omitted" },
		{ notes->read.peers_one_sided, "cable listed at one end only: other end added",
		  "cables listed at one end only: other ends added" },
		{ notes->read.peers_conflicting, "port whose peer lists another cable: omitted",
		  "ports whose peers list other cables: omitted" },
		{ notes->written.speeds_lowered, "link faster than HDR, the maximum of ibsim 0.10: set to HDR",
		  "links faster than HDR, the maximum of ibsim 0.10: set to HDR" },
		{ notes->written.ends_differed, "link whose ends differ in speed or width: set to the lower one",
		  "links whose ends differ in speed or width: set to the lower one" },
		{ notes->written.speeds_unknown, "link of unknown speed or width: set to SDR or 4x",
		  "links of unknown speed or width: set to SDR or 4x" },
		{ notes->written.descs_changed, "NodeDescription that ibsim cannot represent: modified",
		  "NodeDescriptions that ibsim cannot represent: modified" },
		{ notes->written.ports_cut, "link of a port above 254, the maximum of ibsim: omitted",
		  "links of ports above 254, the maximum of ibsim: omitted" },
		{ notes->written.lids_dropped, "LID outside the unicast range: opensm assigns it",
		  "LIDs outside the unicast range: opensm assigns them" },
		{ notes->written.port_guids_clash,
		  "port whose GUID in ibsim (node GUID plus port) is a duplicate: opensm may report it",
		  "ports whose GUIDs in ibsim (node GUID plus port) are duplicates: opensm may report them" },
	};
	char line[160];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count)
			continue;
		snprintf(line, sizeof(line), "%zu %s", kinds[i].count,
			 kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
		print(ctx, line);
	}
}
