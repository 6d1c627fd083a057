/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/partitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/pkeys.h"
#include "fabric/shape.h"

/* Elements of the folded list of hosts in text. */
enum { ELEMENTS_MOST = 12 };

struct listing {
	const struct shape *shape;
	const struct pkeys *pkeys;
	const struct partition *list;
	size_t count;
	uint32_t known, ports;
	const char **names; /* of hosts, room for all */
};

enum { PARTITION, FULL, LIMITED, HOST_COUNT, HOSTS, HOSTS_FOLDED, COLUMNS };

static const struct column columns[COLUMNS] = {
	[PARTITION] = { .key = "partition", .title = "PARTITION", .kind = COLUMN_TEXT },
	[FULL] = { .key = "ports_full", .title = "FULL", .kind = COLUMN_INTEGER },
	[LIMITED] = { .key = "ports_limited", .title = "LIMITED", .kind = COLUMN_INTEGER },
	[HOST_COUNT] = { .key = "host_count", .title = "HOSTS", .kind = COLUMN_INTEGER },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_LIST },
	[HOSTS_FOLDED] = { .title = "MEMBERS", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static bool is_member(const struct listing *listing, uint32_t node, uint16_t base)
{
	const struct fabric *fabric = listing->shape->fabric;
	const struct node *at = &fabric->nodes[node];

	for (uint32_t i = at->first_port; i < at->first_port + at->ports; i++) {
		const struct pkey_table *table = pkeys_of(listing->pkeys, fabric, i);

		if (table && fabric->ports[i].state >= PORT_INIT && pkey_member(table, base))
			return true;
	}
	return false;
}

/* The hosts of a partition, in natural order, then its routers. Return: their number. */
static size_t list_hosts(const struct listing *listing, uint16_t base)
{
	const struct shape *shape = listing->shape;
	size_t count = 0;

	for (size_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		bool any = false;

		for (uint32_t j = host->first; j < host->first + host->count && !any; j++)
			any = is_member(listing, shape->host_nodes[j], base);
		if (any)
			listing->names[count++] = host->name;
	}
	for (uint32_t i = 0; i < shape->fabric->node_count; i++)
		if (shape->nodes[i].host == SHAPE_NONE && shape->fabric->nodes[i].type != NODE_SWITCH &&
		    !node_is_aggregation(&shape->fabric->nodes[i]) && is_member(listing, i, base))
			listing->names[count++] = shape->fabric->nodes[i].name;
	return count;
}

static void put_partitions(struct result *result, const void *ctx)
{
	const struct listing *listing = ctx;
	struct text folded = { 0 };

	for (size_t i = 0; i < listing->count; i++) {
		const struct partition *one = &listing->list[i];
		size_t hosts = list_hosts(listing, one->base), shown;
		char key[16];

		snprintf(key, sizeof(key), "0x%04x", one->base);
		result_text(result, PARTITION, key);
		result_integer(result, FULL, one->full);
		result_integer(result, LIMITED, one->limited);
		result_integer(result, HOST_COUNT, (int64_t)hosts);
		result_empty(result, HOSTS);
		for (size_t j = 0; j < hosts; j++)
			result_item(result, HOSTS, "%s", listing->names[j]);
		text_clear(&folded);
		shown = host_names_fold(listing->names, hosts, ELEMENTS_MOST, &folded);
		if (shown < hosts)
			text_appendf(&folded, " and %zu more", hosts - shown);
		result_text(result, HOSTS_FOLDED, text_chars(&folded));
		result_end_row(result);
	}
	text_done(&folded);
	if (listing->known < listing->ports)
		result_note(result, "the P_Keys of %u of %u ports are not known", listing->ports - listing->known,
			    listing->ports);
	result_none(result, "no P_Key table was read yet");
}

int partitions_page(const struct shape *shape, const struct pkeys *pkeys, struct page **ret, struct error *err)
{
	struct page *page = page_create("Partitions");
	struct listing *listing = page_alloc(page, 1, sizeof(*listing));
	struct partition *found = NULL, *list = NULL;
	uint32_t known, ports;
	int64_t count = pkeys_partitions(pkeys, shape->fabric, &found, &known, &ports, err);

	if (count >= 0 && listing) {
		list = page_alloc(page, (size_t)count + 1, sizeof(*list));
		listing->names = page_alloc(page, shape->host_count + shape->fabric->node_count + 1,
					    sizeof(*listing->names));
	}
	if (count < 0 || !list || !listing->names) {
		free(found);
		page_destroy(page);
		return count < 0 ? (int)count : err_nomem(err);
	}
	memcpy(list, found, (size_t)count * sizeof(*list));
	free(found);
	listing->shape = shape;
	listing->pkeys = pkeys;
	listing->list = list;
	listing->count = (size_t)count;
	listing->known = known;
	listing->ports = ports;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "",
					       .table = { columns, COLUMNS, put_partitions, listing } });
	*ret = page;
	return 0;
}
