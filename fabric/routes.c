/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contents of forwarding tables; route_walk.c evaluates them. */
#include "fabric/routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

static void table_done(struct route_table *table)
{
	free(table->ports);
	free(table->read);
	table->ports = NULL;
	table->read = NULL;
	table->lids = 0;
}

void routes_done(struct routes *routes)
{
	for (size_t i = 0; i < routes->count; i++)
		table_done(&routes->tables[i]);
	free(routes->tables);
	map_done(&routes->by_guid);
	*routes = (struct routes){ 0 };
}

static struct route_table *find(const struct routes *routes, uint64_t node_guid)
{
	uint32_t index;

	return map_get(&routes->by_guid, node_guid, &index) ? &routes->tables[index] : NULL;
}

const struct route_table *routes_find(const struct routes *routes, uint64_t node_guid)
{
	const struct route_table *table = find(routes, node_guid);

	return table && table->lids ? table : NULL;
}

static uint32_t whole_blocks(uint32_t lids)
{
	return (lids + ROUTES_BLOCK - 1) / ROUTES_BLOCK * ROUTES_BLOCK;
}

static struct route_table *find_or_add(struct routes *routes, uint64_t node_guid)
{
	struct route_table *table = find(routes, node_guid);

	if (table)
		return table;
	table = array_grow(routes->tables, routes->count, &routes->capacity, sizeof(*table));
	if (!table)
		return NULL;
	routes->tables = table;
	if (map_put(&routes->by_guid, node_guid, (uint32_t)routes->count) < 0)
		return NULL;
	table = &routes->tables[routes->count++];
	*table = (struct route_table){ .node_guid = node_guid };
	return table;
}

/* Room for @lids entries; new ones are not read yet. */
static int grow(struct route_table *table, uint32_t lids)
{
	uint32_t blocks = lids / ROUTES_BLOCK, old_blocks = table->lids / ROUTES_BLOCK;
	uint8_t *ports;
	bool *read;

	if (lids <= table->lids)
		return 0;
	ports = realloc(table->ports, lids);
	if (!ports)
		return ERR_NOMEM;
	table->ports = ports;
	read = realloc(table->read, blocks * sizeof(*read));
	if (!read)
		return ERR_NOMEM;
	table->read = read;
	memset(ports + table->lids, ROUTES_NO_PORT, lids - table->lids);
	memset(read + old_blocks, 0, (blocks - old_blocks) * sizeof(*read));
	table->lids = lids;
	return 0;
}

int routes_size(struct routes *routes, uint64_t node_guid, uint32_t lids, struct error *err)
{
	struct route_table *table;

	lids = whole_blocks(lids < ROUTES_LIDS ? lids : ROUTES_LIDS);
	routes_cut(routes, node_guid, lids);
	if (!lids)
		return 0;
	table = find_or_add(routes, node_guid);
	return table && grow(table, lids) == 0 ? 0 : err_nomem(err);
}

void routes_cut(struct routes *routes, uint64_t node_guid, uint32_t lids)
{
	struct route_table *table = find(routes, node_guid);

	lids = whole_blocks(lids < ROUTES_LIDS ? lids : ROUTES_LIDS);
	if (!table || lids >= table->lids)
		return;
	if (lids)
		table->lids = lids;
	else
		table_done(table);
}

int routes_set_block(struct routes *routes, uint64_t node_guid, unsigned block, const uint8_t ports[ROUTES_BLOCK],
		     unsigned *ret_changed, struct error *err)
{
	struct route_table *table;
	unsigned changed = 0;
	uint8_t *here;

	if (block >= ROUTES_BLOCKS)
		return err_set(err, ERR_IO, "a forwarding table has no block %u: unicast LIDs end below %#x", block,
			       ROUTES_LIDS);
	table = find_or_add(routes, node_guid);
	if (!table || grow(table, (block + 1) * ROUTES_BLOCK) < 0)
		return err_nomem(err);
	here = table->ports + block * ROUTES_BLOCK;
	/* Entries that were not read are NO_PORT: both kinds of change are a difference. */
	for (unsigned i = 0; i < ROUTES_BLOCK; i++)
		changed += here[i] != ports[i];
	memcpy(here, ports, ROUTES_BLOCK);
	table->read[block] = true;
	if (ret_changed)
		*ret_changed = changed;
	return 0;
}

int routes_copy(const struct routes *routes, struct routes *ret, struct error *err)
{
	struct routes copy = { 0 };

	for (size_t i = 0; i < routes->count; i++) {
		const struct route_table *from = &routes->tables[i];
		struct route_table *to;

		if (!from->lids)
			continue;
		to = find_or_add(&copy, from->node_guid);
		if (!to || grow(to, from->lids) < 0) {
			routes_done(&copy);
			return err_nomem(err);
		}
		memcpy(to->ports, from->ports, from->lids);
		memcpy(to->read, from->read, from->lids / ROUTES_BLOCK * sizeof(*from->read));
	}
	*ret = copy;
	return 0;
}

uint8_t routes_out_port(const struct route_table *table, uint16_t lid)
{
	return table && lid < table->lids ? table->ports[lid] : ROUTES_NO_PORT;
}

bool routes_is_read(const struct route_table *table, uint16_t lid)
{
	return table && lid < table->lids && table->read[lid / ROUTES_BLOCK];
}

/* Entries that were read in @a are the same in @b. */
static bool holds(const struct routes *a, const struct routes *b)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct route_table *table = &a->tables[i], *other = find(b, table->node_guid);

		for (uint32_t block = 0; block < table->lids / ROUTES_BLOCK; block++)
			if (table->read[block] &&
			    (!routes_is_read(other, (uint16_t)(block * ROUTES_BLOCK)) ||
			     memcmp(table->ports + block * ROUTES_BLOCK, other->ports + block * ROUTES_BLOCK,
				    ROUTES_BLOCK) != 0))
				return false;
	}
	return true;
}

bool routes_same(const struct routes *a, const struct routes *b)
{
	return holds(a, b) && holds(b, a);
}
