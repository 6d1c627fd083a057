/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/selection.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

/* The one node whose name is shown as @typed (tables leave out what tells no switch apart), or FABRIC_NONE. */
static uint32_t find_shown(const struct fabric *fabric, const char *typed)
{
	char shown[NODE_NAME_SIZE];
	uint32_t found = FABRIC_NONE, i;

	for (i = 0; i < fabric->node_count; i++) {
		const char *name = fabric->nodes[i].name;

		if (strlen(name) >= sizeof(shown))
			continue;
		names_short(name, shown);
		if (strcmp(shown, typed))
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = i;
	}
	return found;
}

int selection_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	struct error whole = { 0 };
	uint32_t shown;
	int code = names_find_node(fabric, typed, ret, &whole);

	if (code == 0)
		return 0;
	shown = find_shown(fabric, typed);
	if (shown == FABRIC_NONE)
		return err_set(err, whole.code, "%s", whole.text);
	*ret = shown;
	return 0;
}

/* NAME/PORT where NAME is a name as it is shown; other errors are those of names_find_port(). */
static int find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	struct error whole = { 0 };
	const char *slash = strrchr(typed, '/');
	int code = names_find_port(fabric, typed, ret, &whole);
	unsigned long num;
	uint32_t node;
	char *name, *end;

	if (code == 0)
		return 0;
	name = strndup(typed, (size_t)(slash - typed));
	if (!name)
		return err_nomem(err);
	node = find_shown(fabric, name);
	free(name);
	if (node == FABRIC_NONE)
		return err_set(err, whole.code, "%s", whole.text);
	num = strtoul(slash + 1, &end, 10);
	*ret = *end || num > UINT8_MAX ? FABRIC_NONE : fabric_node_port(fabric, node, (uint8_t)num);
	if (*ret == FABRIC_NONE)
		return err_set(err, ERR_USAGE, "%s has no port %s (it has %u)", fabric->nodes[node].name, slash + 1,
			       fabric->nodes[node].port_count);
	return 0;
}

/* A name may hold a slash itself: first as a node, then as a port. */
static int add(struct selection *selection, const struct fabric *fabric, const char *typed, struct error *err)
{
	const char *slash = strrchr(typed, '/');
	struct error as_node = { 0 };
	uint32_t index, i;
	int code = selection_find_node(fabric, typed, &index, &as_node);

	if (code == 0) {
		selection->nodes[index] = true;
		for (i = 0; i < fabric->nodes[index].ports; i++)
			selection->ports[fabric->nodes[index].first_port + i] = true;
		return 0;
	}
	if (!slash || !isdigit((unsigned char)slash[1]))
		return err_set(err, as_node.code, "%s", as_node.text);
	code = find_port(fabric, typed, &index, err);
	if (code < 0)
		return code;
	selection->nodes[fabric->ports[index].node] = true;
	selection->ports[index] = true;
	selection->named[index] = true;
	return 0;
}

int selection_init(struct selection *selection, const struct fabric *fabric, char **args, int count,
		   struct error *err)
{
	int i, code = 0;

	*selection = (struct selection){ .all = count == 0 };
	if (selection->all)
		return 0;
	selection->nodes = calloc(fabric->node_count + 1, sizeof(bool));
	selection->ports = calloc(fabric->port_count + 1, sizeof(bool));
	selection->named = calloc(fabric->port_count + 1, sizeof(bool));
	if (!selection->nodes || !selection->ports || !selection->named)
		code = err_nomem(err);
	for (i = 0; code == 0 && i < count; i++)
		code = add(selection, fabric, args[i], err);
	if (code < 0)
		selection_done(selection);
	return code;
}

void selection_done(struct selection *selection)
{
	free(selection->nodes);
	free(selection->ports);
	free(selection->named);
	*selection = (struct selection){ 0 };
}
