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
	static const char words[] = "# Initiated from node ";
	const char *found = memmem(chars, len, words, sizeof(words) - 1);
	char digits[17] = "";
	size_t left;

	if (!found)
		return FABRIC_NONE;
	found += sizeof(words) - 1;
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

void mend_describe(const struct mend_notes *notes, void (*say)(void *ctx, const char *line), void *ctx)
{
	const struct {
		size_t count;
		const char *one, *many;
	} kinds[] = {
		{ notes->read.lines_ignored, "line is no part of a fabric: passed over",
		  "lines are no part of a fabric: passed over" },
		{ notes->read.peers_unknown, "cable leads to a node or port that the file does not hold: left out",
		  "cables lead to nodes or ports that the file does not hold: left out" },
		{ notes->read.peers_one_sided, "cable is named at one end only: the other end added",
		  "cables are named at one end only: the other ends added" },
		{ notes->read.peers_conflicting, "port whose cable its other end contradicts: left out",
		  "ports whose cables their other ends contradict: left out" },
		{ notes->written.speeds_lowered, "link is faster than HDR, the most that ibsim 0.10 knows: made HDR",
		  "links are faster than HDR, the most that ibsim 0.10 knows: made HDR" },
		{ notes->written.ends_differed, "link whose ends differ in speed or width: the lower one taken",
		  "links whose ends differ in speed or width: the lower one taken" },
		{ notes->written.speeds_unknown, "link of unknown speed or width: made SDR or 4x",
		  "links of unknown speed or width: made SDR or 4x" },
		{ notes->written.descs_changed, "NodeDescription that ibsim cannot hold as it is: changed a little",
		  "NodeDescriptions that ibsim cannot hold as they are: changed a little" },
		{ notes->written.ports_cut, "link of a port above 254, which ibsim does not have: left out",
		  "links of ports above 254, which ibsim does not have: left out" },
		{ notes->written.lids_dropped, "LID outside the unicast range: left to opensm",
		  "LIDs outside the unicast range: left to opensm" },
		{ notes->written.port_guids_clash,
		  "port whose GUID, as ibsim makes it (node GUID plus port), another port has: opensm may complain",
		  "ports whose GUIDs, as ibsim makes them (node GUID plus port), others have: opensm may complain" },
	};
	char line[160];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count)
			continue;
		snprintf(line, sizeof(line), "%zu %s", kinds[i].count,
			 kinds[i].count == 1 ? kinds[i].one : kinds[i].many);
		say(ctx, line);
	}
}
