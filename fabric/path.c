/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/path.h"

#include <stdlib.h>

#include "base/err.h"
#include "fabric/fabric.h"

struct search {
	const struct fabric *fabric;
	const bool *avoid;
	struct path *paths;
	uint32_t *queue; /* of nodes, in the order of discovery */
	size_t count;
};

/* Set the path of the node behind a port, if it has none yet. */
static void go_through(struct search *search, const struct port *port)
{
	const struct path *here = &search->paths[port->node];
	struct path *there;
	uint32_t node;

	if (port->peer == FABRIC_NONE || !port->num ||
	    (search->avoid && (search->avoid[port - search->fabric->ports] || search->avoid[port->peer])))
		return;
	node = search->fabric->ports[port->peer].node;
	there = &search->paths[node];
	if (there->hops != PATH_NONE || here->hops == PATH_HOPS_MAX)
		return;
	*there = *here;
	there->ports[there->hops++] = port->num;
	search->queue[search->count++] = node;
}

static void run(struct search *search)
{
	const struct fabric *fabric = search->fabric;

	search->paths[fabric->from_node].hops = 0;
	search->queue[search->count++] = fabric->from_node;
	for (size_t next = 0; next < search->count; next++) {
		const struct node *node = &fabric->nodes[search->queue[next]];
		bool is_first = search->queue[next] == fabric->from_node;

		if (!is_first && node->type != NODE_SWITCH)
			continue;
		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
			if (!is_first || node->type == NODE_SWITCH || fabric->ports[i].num == fabric->from_port)
				go_through(search, &fabric->ports[i]);
	}
}

int paths_find(const struct fabric *fabric, const bool *avoid, struct path **ret, struct error *err)
{
	size_t nodes = fabric->node_count ? fabric->node_count : 1;
	struct search search = {
		.fabric = fabric, .avoid = avoid,
		.paths = calloc(nodes, sizeof(*search.paths)),
		.queue = calloc(nodes, sizeof(*search.queue)),
	};

	if (!search.paths || !search.queue) {
		free(search.paths);
		free(search.queue);
		return err_nomem(err);
	}
	for (size_t i = 0; i < nodes; i++)
		search.paths[i].hops = PATH_NONE;
	if (fabric->from_node < fabric->node_count)
		run(&search);
	free(search.queue);
	*ret = search.paths;
	return 0;
}
