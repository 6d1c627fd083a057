/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_names.c - selection of findings by node and port
 *
 * A removed node is not in the fabric; its findings are matched by the name stored with them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/health/health.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

int health_names_init(struct health_names *named, const struct fabric *fabric, char **args, int count,
		      struct error *err)
{
	char **present = calloc((size_t)count + 1, sizeof(*present));
	int there_count = 0, code = 0;

	*named = (struct health_names){ .all = count == 0 };
	named->missing = calloc((size_t)count + 1, sizeof(*named->missing));
	named->found = calloc((size_t)count + 1, sizeof(*named->found));
	if (!present || !named->missing || !named->found)
		code = err_nomem(err);
	for (int i = 0; code == 0 && i < count; i++) {
		struct selection one;

		code = selection_init_hosts(&one, fabric, &args[i], 1, err);
		if (code == 0) {
			selection_done(&one);
			present[there_count++] = args[i];
		} else if (code == ERR_USAGE) {
			named->missing[named->missing_count++] = args[i];
			code = 0;
		}
	}
	if (code == 0 && there_count)
		code = selection_init_hosts(&named->present, fabric, present, there_count, err);
	free(present);
	if (code < 0)
		health_names_done(named);
	return code;
}

void health_names_done(struct health_names *named)
{
	selection_done(&named->present);
	free(named->missing);
	free(named->found);
	*named = (struct health_names){ 0 };
}

/* Is this end of a finding in the fabric, and selected? */
static bool is_there(const struct health_names *named, const struct fabric *fabric, uint64_t guid, uint8_t num)
{
	uint32_t node = guid && named->present.nodes ? fabric_find_node(fabric, guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE || !named->present.nodes[node])
		return false;
	port = num ? fabric_node_port(fabric, node, num) : FABRIC_NONE;
	return port == FABRIC_NONE || named->present.ports[port];
}

/* Is @typed a name, or a name and "/port"? */
static bool is_called(const char *name, uint8_t num, const char *typed)
{
	size_t len = strlen(name);

	if (!len || strncmp(name, typed, len))
		return false;
	return !typed[len] || (typed[len] == '/' && num && atoi(typed + len + 1) == num);
}

static bool is_gone_end(const struct fabric *fabric, uint64_t guid, uint8_t num, const char *name, const char *typed)
{
	char shown[NODE_NAME_SIZE], hex[24];

	if (!guid || !*name || fabric_find_node(fabric, guid) != FABRIC_NONE)
		return false;
	names_short(name, shown);
	snprintf(hex, sizeof(hex), "0x%016" PRIx64, guid);
	return is_called(name, num, typed) || is_called(shown, num, typed) || is_called(hex, num, typed);
}

bool health_names_has(struct health_names *named, const struct fabric *fabric, const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	bool has = named->all || is_there(named, fabric, finding->node_guid, finding->port) ||
		   is_there(named, fabric, finding->peer_guid, finding->peer_port);

	for (int i = 0; i < named->missing_count; i++) {
		if (!is_gone_end(fabric, finding->node_guid, finding->port, row->node, named->missing[i]) &&
		    !is_gone_end(fabric, finding->peer_guid, finding->peer_port, row->peer, named->missing[i]))
			continue;
		named->found[i] = has = true;
	}
	return has;
}

int health_names_check(const struct health_names *named, const struct fabric *fabric, struct error *err)
{
	for (int i = 0; i < named->missing_count; i++) {
		struct selection one;

		/* Return the original error. */
		if (!named->found[i])
			return selection_init_hosts(&one, fabric, (char **)&named->missing[i], 1, err);
	}
	return 0;
}
