/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/pkeys.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

void pkeys_done(struct pkeys *pkeys)
{
	for (size_t i = 0; i < pkeys->count; i++)
		free(pkeys->tables[i].keys);
	free(pkeys->tables);
	map_done(&pkeys->by_guid);
	*pkeys = (struct pkeys){ 0 };
}

/* Return: FABRIC_NONE: none. @ret_first: that of the node plus 1, or 0 */
static uint32_t find(const struct pkeys *pkeys, uint64_t node_guid, uint8_t port, uint32_t *ret_first)
{
	uint32_t at;

	*ret_first = 0;
	if (!map_get(&pkeys->by_guid, node_guid, &at))
		return FABRIC_NONE;
	*ret_first = at + 1;
	for (uint32_t i = at + 1; i; i = pkeys->tables[i - 1].next)
		if (pkeys->tables[i - 1].port == port)
			return i - 1;
	return FABRIC_NONE;
}

int64_t pkeys_slot(struct pkeys *pkeys, uint64_t node_guid, uint8_t port, struct error *err)
{
	uint32_t first, at = find(pkeys, node_guid, port, &first);
	struct pkey_table *tables;

	if (at != FABRIC_NONE)
		return at;
	tables = array_grow(pkeys->tables, pkeys->count, &pkeys->capacity, sizeof(*tables));
	if (!tables)
		return err_nomem(err);
	pkeys->tables = tables;
	if (map_put(&pkeys->by_guid, node_guid, (uint32_t)pkeys->count) < 0)
		return err_nomem(err);
	tables[pkeys->count] = (struct pkey_table){ .node_guid = node_guid, .port = port, .next = first };
	return (int64_t)pkeys->count++;
}

int pkeys_set(struct pkeys *pkeys, uint64_t node_guid, uint8_t port, const uint16_t *keys, size_t count,
	      uint8_t enforcement, struct error *err)
{
	int64_t at = pkeys_slot(pkeys, node_guid, port, err);
	struct pkey_table *table;
	uint16_t *copy;

	if (at < 0)
		return (int)at;
	table = &pkeys->tables[at];
	while (count && !keys[count - 1])
		count--;
	if (table->known && table->count == count && table->enforcement == enforcement &&
	    (!count || !memcmp(table->keys, keys, count * sizeof(*keys))))
		return 0;
	copy = malloc((count + 1) * sizeof(*copy));
	if (!copy)
		return err_nomem(err);
	if (count)
		memcpy(copy, keys, count * sizeof(*copy));
	free(table->keys);
	table->keys = copy;
	table->count = (uint16_t)count;
	table->enforcement = enforcement;
	table->known = true;
	return 1;
}

const struct pkey_table *pkeys_find(const struct pkeys *pkeys, uint64_t node_guid, uint8_t port)
{
	uint32_t first, at = find(pkeys, node_guid, port, &first);

	return at != FABRIC_NONE && pkeys->tables[at].known ? &pkeys->tables[at] : NULL;
}

const struct pkey_table *pkeys_of(const struct pkeys *pkeys, const struct fabric *fabric, uint32_t port)
{
	const struct port *at = &fabric->ports[port];

	return pkeys ? pkeys_find(pkeys, fabric->nodes[at->node].guid, at->num) : NULL;
}

uint16_t pkey_member(const struct pkey_table *table, uint16_t base)
{
	uint16_t found = 0;

	for (unsigned i = 0; base && i < table->count; i++)
		if ((table->keys[i] & PKEY_BASE) == base)
			found |= table->keys[i];
	return found;
}

bool pkeys_talk(const struct pkey_table *a, const struct pkey_table *b, bool *ret_limited)
{
	*ret_limited = false;
	for (unsigned i = 0; i < a->count; i++) {
		uint16_t other = pkey_member(b, a->keys[i] & PKEY_BASE);

		if (other && (other | a->keys[i]) & PKEY_FULL)
			return true;
		*ret_limited |= other != 0;
	}
	return false;
}

uint16_t pkeys_lacking(const struct pkey_table *table, const struct pkey_table *enforcing)
{
	for (unsigned i = 0; i < table->count; i++)
		if (table->keys[i] & PKEY_BASE && !pkey_member(enforcing, table->keys[i] & PKEY_BASE))
			return table->keys[i];
	return 0;
}

bool pkeys_is_member_port(const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	return node->type != NODE_SWITCH && !node_is_aggregation(node);
}

void pkeys_text(struct text *text, const struct pkey_table *table, unsigned most)
{
	unsigned written = 0, left = 0;

	for (unsigned i = 0; i < table->count; i++) {
		if (!table->keys[i])
			continue;
		if (most && written == most) {
			left++;
			continue;
		}
		text_appendf(text, "%s0x%04x", written++ ? " " : "", table->keys[i]);
	}
	if (left)
		text_appendf(text, " and %u more", left);
	if (!written)
		text_append(text, "none");
}

int64_t pkeys_partitions(const struct pkeys *pkeys, const struct fabric *fabric, struct partition **ret,
			 uint32_t *ret_known, uint32_t *ret_ports, struct error *err)
{
	struct partition *all = calloc((size_t)PKEY_BASE + 1, sizeof(*all));
	uint32_t known = 0, ports = 0;
	int64_t count = 0;

	if (!all)
		return err_nomem(err);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct pkey_table *table;

		if (!pkeys_is_member_port(fabric, i) || fabric->ports[i].state < PORT_INIT)
			continue;
		ports++;
		table = pkeys_of(pkeys, fabric, i);
		known += table != NULL;
		for (unsigned j = 0; table && j < table->count; j++) {
			uint16_t key = table->keys[j], base = key & PKEY_BASE;

			/* A port that has both keys of a partition counts once, as a full member. */
			if (!base || (!(key & PKEY_FULL) && pkey_member(table, base) & PKEY_FULL))
				continue;
			all[base].full += key >> 15;
			all[base].limited += !(key & PKEY_FULL);
		}
	}
	for (uint32_t base = 1; base <= PKEY_BASE; base++)
		if (all[base].full || all[base].limited)
			all[count++] = (struct partition){ (uint16_t)base, all[base].full, all[base].limited };
	if (ret_known)
		*ret_known = known;
	if (ret_ports)
		*ret_ports = ports;
	*ret = all;
	return count;
}
