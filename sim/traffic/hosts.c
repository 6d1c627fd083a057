/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/net_shape.h"

/* Maximum device number of a rail: the rails of a job are bits of a 64-bit number. */
#define RAIL_MAX 63

/* An HCA before hosts are numbered. */
struct found {
	char host[NODE_NAME_SIZE];
	uint64_t system_guid;
	uint32_t port, rail;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = names_compare(x->host, y->host);

	if (order == 0 && x->rail != y->rail)
		order = x->rail < y->rail ? -1 : 1;
	if (order == 0)
		order = x->port < y->port ? -1 : x->port > y->port;
	return order;
}

/* The first port with a cable, or FABRIC_NONE. */
static uint32_t cabled_port(const struct fabric *fabric, const struct node *node)
{
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].peer != FABRIC_NONE)
			return i;
	return FABRIC_NONE;
}

/* "node0001 mlx5_3" is rail 3 of node0001; any other description is a host. */
static void name_found(const struct node *node, struct found *found)
{
	const char *space = strchr(node->name, ' '), *digits = node->name + strlen(node->name);

	strncpy(found->host, node->name, sizeof(found->host) - 1);
	while (digits > node->name && isdigit((unsigned char)digits[-1]))
		digits--;
	if (!space || strchr(space + 1, ' ') || !*digits || digits <= space)
		return;
	if (strtoul(digits, NULL, 10) > RAIL_MAX)
		return;
	found->host[space - node->name] = '\0';
	found->rail = (uint32_t)strtoul(digits, NULL, 10);
}

static size_t find_hcas(const struct fabric *fabric, struct found *found)
{
	size_t count = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		uint32_t port = cabled_port(fabric, node);

		if (node->type != NODE_CA || port == FABRIC_NONE || node_is_aggregation(node) ||
		    host_is_management(node->desc))
			continue;
		memset(&found[count], 0, sizeof(found[count]));
		found[count].port = port;
		found[count].system_guid = node->system_guid;
		name_found(node, &found[count]);
		count++;
	}
	return count;
}

/* Nodes with the same name and the same rail are separate hosts. */
static bool same_host(const struct found *a, const struct found *b)
{
	return !strcmp(a->host, b->host) && a->rail != b->rail;
}

int host_table_create(const struct fabric *fabric, struct host_table *ret, struct error *err)
{
	struct found *found = calloc(fabric->node_count + 1, sizeof(*found));
	struct host_table table = { 0 };
	size_t count = found ? find_hcas(fabric, found) : 0;

	table.hosts = calloc(count + 1, sizeof(*table.hosts));
	table.hcas = calloc(count + 1, sizeof(*table.hcas));
	if (!found || !table.hosts || !table.hcas)
		goto nomem;
	qsort(found, count, sizeof(*found), compare_found);
	for (size_t i = 0; i < count; i++) {
		struct host *host;

		if (i == 0 || !same_host(&found[i], &found[i - 1])) {
			host = &table.hosts[table.host_count++];
			host->name = strdup(found[i].host);
			if (!host->name)
				goto nomem;
			host->system_guid = found[i].system_guid;
			host->first_hca = i;
		}
		host = &table.hosts[table.host_count - 1];
		host->hca_count++;
		table.hcas[i].port = found[i].port;
		table.hcas[i].rail = found[i].rail;
		table.hcas[i].host = (uint32_t)table.host_count - 1;
	}
	table.hca_count = count;
	free(found);
	*ret = table;
	return 0;
nomem:
	free(found);
	host_table_done(&table);
	return err_nomem(err);
}

void host_table_done(struct host_table *table)
{
	for (size_t i = 0; table->hosts && i < table->host_count; i++)
		free(table->hosts[i].name);
	free(table->hosts);
	free(table->hcas);
	memset(table, 0, sizeof(*table));
}
