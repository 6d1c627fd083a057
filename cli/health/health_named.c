/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_named.c - selection of findings by node and port
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

int health_named_init(struct health_named *named, const struct fabric *fabric, char **args, int count,
		      struct error *err)
{
	char **there = calloc((size_t)count + 1, sizeof(*there));
	int there_count = 0, code = 0;

	*named = (struct health_named){ .all = count == 0 };
	named->gone = calloc((size_t)count + 1, sizeof(*named->gone));
	named->found = calloc((size_t)count + 1, sizeof(*named->found));
	if (!there || !named->gone || !named->found)
		code = err_nomem(err);
	for (int i = 0; code == 0 && i < count; i++) {
		struct selection one;

		code = selection_init_hosts(&one, fabric, &args[i], 1, err);
		if (code == 0) {
			selection_done(&one);
			there[there_count++] = args[i];
		} else if (code == ERR_USAGE) {
			named->gone[named->gone_count++] = args[i];
			code = 0;
		}
	}
	if (code == 0 && there_count)
		code = selection_init_hosts(&named->there, fabric, there, there_count, err);
	free(there);
	if (code < 0)
		health_named_done(named);
	return code;
}

void health_named_done(struct health_named *named)
{
	selection_done(&named->there);
	free(named->gone);
	free(named->found);
	*named = (struct health_named){ 0 };
}

/* Is this end of a finding in the fabric, and selected? */
static bool is_there(const struct health_named *named, const struct fabric *fabric, uint64_t guid, uint8_t num)
{
	uint32_t node = guid && named->there.nodes ? fabric_find_node(fabric, guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE || !named->there.nodes[node])
		return false;
	port = num ? fabric_node_port(fabric, node, num) : FABRIC_NONE;
	return port == FABRIC_NONE || named->there.ports[port];
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

bool health_named_has(struct health_named *named, const struct fabric *fabric, const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	bool has = named->all || is_there(named, fabric, finding->node_guid, finding->port) ||
		   is_there(named, fabric, finding->peer_guid, finding->peer_port);

	for (int i = 0; i < named->gone_count; i++) {
		if (!is_gone_end(fabric, finding->node_guid, finding->port, row->node, named->gone[i]) &&
		    !is_gone_end(fabric, finding->peer_guid, finding->peer_port, row->peer, named->gone[i]))
			continue;
		named->found[i] = has = true;
	}
	return has;
}

int health_named_check(const struct health_named *named, const struct fabric *fabric, struct error *err)
{
	for (int i = 0; i < named->gone_count; i++) {
		struct selection one;

		/* Return the original error. */
		if (!named->found[i])
			return selection_init_hosts(&one, fabric, (char **)&named->gone[i], 1, err);
	}
	return 0;
}
