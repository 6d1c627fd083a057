/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/selection.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

/* A name may hold a slash itself: first as a node, then as a port. */
static int add(struct selection *selection, const struct fabric *fabric, const char *typed, struct error *err)
{
	const char *slash = strrchr(typed, '/');
	struct error as_node = { 0 };
	uint32_t index, i;
	int code = names_find_node(fabric, typed, &index, &as_node);

	if (code == 0) {
		selection->nodes[index] = true;
		for (i = 0; i < fabric->nodes[index].ports; i++)
			selection->ports[fabric->nodes[index].first_port + i] = true;
		return 0;
	}
	if (!slash || !isdigit((unsigned char)slash[1]))
		return err_set(err, as_node.code, "%s", as_node.text);
	code = names_find_port(fabric, typed, &index, err);
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
