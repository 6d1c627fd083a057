/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host.h"

#include <stdio.h>
#include <string.h>

bool host_name(const struct node *node, char ret[NODE_NAME_SIZE])
{
	if (node->type != NODE_CA || node_is_aggregation(node))
		return false;
	snprintf(ret, NODE_NAME_SIZE, "%.*s", (int)strcspn(node->name, " "), node->name);
	return true;
}
