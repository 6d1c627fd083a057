/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * names.c - `ibwire names suggest`: a node-name-map for unnamed switches
 *
 * A switch gets a name if its NodeDescription is the firmware default or not unique: by tier and
 * rail, in the order of the hosts below it. Unique names are listed as comments. HCAs get no name,
 * because rdma-ndd on the host sets it and cabling does not identify the host.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"

struct suggestion {
	const struct topology *topology;
	struct map known;      /* hashes of existing and suggested names, and their counts */
	uint32_t *place;       /* by node: of a switch, its first host, or a value above all hosts */
	unsigned *counted;     /* names given so far, by kind; see suggest_one() */
};

/* On a collision both names count as known. */
static uint64_t hash_name(const char *name)
{
	return map_hash_text(MAP_HASH_START, name);
}

static uint32_t times_known(const struct suggestion *suggestion, const char *name)
{
	uint32_t times = 0;

	map_get(&suggestion->known, hash_name(name), &times);
	return times;
}

static int note_name(struct suggestion *suggestion, const char *name)
{
	return map_put(&suggestion->known, hash_name(name), times_known(suggestion, name) + 1);
}

static bool is_nameless(const struct suggestion *suggestion, uint32_t node)
{
	const char *name = suggestion->topology->fabric->nodes[node].name;

	return names_is_generic(name) || !strncmp(name, "0x", 2) || times_known(suggestion, name) > 1;
}

/* The first host on or below each switch: leaf01 connects node0001. */
static void find_positions(struct suggestion *suggestion)
{
	const struct topology *topology = suggestion->topology;
	const struct fabric *fabric = topology->fabric;

	memset(suggestion->place, 0xff, (fabric->node_count + 1) * sizeof(*suggestion->place));
	for (unsigned tier = 1; tier <= topology->shape->tier_count; tier++) {
		for (uint32_t i = 0; i < fabric->node_count; i++) {
			const struct node *node = &fabric->nodes[i];

			if (topology->shape->nodes[i].tier != tier)
				continue;
			for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++) {
				uint8_t way = topology->shape->ports[j].way;
				uint32_t peer, place;

				if (way != WAY_HOST && way != WAY_DOWN)
					continue;
				peer = fabric->ports[fabric->ports[j].peer].node;
				place = way == WAY_HOST ? topology->shape->nodes[peer].host : suggestion->place[peer];
				if (place < suggestion->place[i])
					suggestion->place[i] = place;
			}
		}
	}
}

struct nameless {
	uint32_t place, rail;
	unsigned tier;
	uint64_t guid;
	uint32_t node;
};

static int compare_nameless(const void *a, const void *b)
{
	const struct nameless *x = a, *y = b;

	if (x->tier != y->tier)
		return x->tier < y->tier ? -1 : 1;
	if (x->rail != y->rail)
		return x->rail < y->rail ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

/*
 * Find the rail of each leaf; SHAPE_NONE if it has several or none.
 * Return: does each rail have its own leaves, about as many as the others? Otherwise leaf names
 * omit the rail.
 */
static bool find_rails(const struct topology *topology, uint32_t *ret_rails)
{
	const uint32_t several = SHAPE_NONE - 1;
	const struct shape *shape = topology->shape;
	uint32_t most = 0, least = UINT32_MAX, shared = 0, leaves = 0;
	size_t rails = 0;

	memset(ret_rails, 0xff, (topology->fabric->node_count + 1) * sizeof(*ret_rails)); /* SHAPE_NONE */
	for (; rails < shape->rail_count && shape->rails[rails].class == CLASS_COMPUTE; rails++) {
		const struct shape_rail *rail = &shape->rails[rails];

		most = rail->leaves > most ? rail->leaves : most;
		least = rail->leaves < least ? rail->leaves : least;
		for (uint32_t i = 0; i < rail->leaves; i++) {
			uint32_t *known = &ret_rails[shape->rail_leaves[rail->first_leaf + i]];

			leaves += *known == SHAPE_NONE;
			shared += *known < several;
			*known = *known == SHAPE_NONE ? (uint32_t)rails : several;
		}
	}
	for (size_t i = 0; i < topology->fabric->node_count; i++)
		ret_rails[i] = ret_rails[i] == several ? SHAPE_NONE : ret_rails[i];
	return rails > 1 && least * 2 >= most && shared * 10 <= leaves;
}

/* Make an unused name. */
static int suggest_one(struct suggestion *suggestion, const struct nameless *nameless, char ret[64])
{
	unsigned slot = nameless->rail == SHAPE_NONE ? nameless->tier : SHAPE_TIERS_MAX + 1 + nameless->rail;
	char kind[SHAPE_TIER_SIZE];

	shape_tier_name(nameless->tier, kind);
	do {
		suggestion->counted[slot]++;
		if (nameless->rail != SHAPE_NONE)
			snprintf(ret, 64, "%s-r%u-%02u", kind, nameless->rail, suggestion->counted[slot]);
		else	/* "leaf01", but "tier4-01" */
			snprintf(ret, 64, "%s%s%02u", kind, nameless->tier > 3 ? "-" : "", suggestion->counted[slot]);
	} while (times_known(suggestion, ret));
	return note_name(suggestion, ret);
}

static int suggest_switches(struct suggestion *suggestion, struct text *text)
{
	const struct topology *topology = suggestion->topology;
	const struct fabric *fabric = topology->fabric;
	struct nameless *list = malloc((fabric->node_count + 1) * sizeof(*list));
	uint32_t *rails = malloc((fabric->node_count + 1) * sizeof(*rails)), count = 0;
	int code = list && rails ? 0 : ERR_NOMEM;
	bool by_rail = code == 0 && find_rails(topology, rails);
	char name[64];

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++)
		if (fabric->nodes[i].type == NODE_SWITCH && is_nameless(suggestion, i))
			list[count++] = (struct nameless){
				.place = suggestion->place[i],
				.rail = by_rail ? rails[i] : SHAPE_NONE,
				.tier = topology->shape->nodes[i].tier, .guid = fabric->nodes[i].guid, .node = i,
			};
	if (code == 0)
		qsort(list, count, sizeof(*list), compare_nameless);
	if (count)
		text_append(text, "\n# Switches without a name of their own\n");
	for (uint32_t i = 0; i < count && code == 0; i++) {
		code = suggest_one(suggestion, &list[i], name);
		text_appendf(text, "0x%016" PRIx64 " \"%s\" # %s\n", list[i].guid, name,
			     fabric->nodes[list[i].node].name);
	}
	free(list);
	free(rails);
	return code;
}

static void list_switches(const struct suggestion *suggestion, struct text *text)
{
	const struct topology *topology = suggestion->topology;
	uint32_t j, named = 0;

	for (unsigned tier = 0; tier <= topology->shape->tier_count; tier++) {
		uint32_t count = 0, *nodes = topology_order(topology, tier, &count);

		if (!nodes) {
			text->failed = true;
			return;
		}
		for (uint32_t i = 0; i < count; i++) {
			j = nodes[i];
			if (is_nameless(suggestion, j))
				continue;
			if (!named++)
				text_append(text, "\n# Switches with a name\n");
			text_appendf(text, "# 0x%016" PRIx64 " \"%s\"\n", topology->fabric->nodes[j].guid,
				     topology->fabric->nodes[j].name);
		}
		free(nodes);
	}
}

static void list_hcas(const struct suggestion *suggestion, struct text *text)
{
	const struct topology *topology = suggestion->topology;
	const struct fabric *fabric = topology->fabric;
	uint32_t count = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (topology->shape->nodes[i].host == SHAPE_NONE || !is_nameless(suggestion, i))
			continue;
		if (!count++)
			text_append(text, "\n# HCAs without a host name (rdma-ndd sets it), and their peers\n");
		text_appendf(text, "# 0x%016" PRIx64 " \"%s\"", node->guid, node->name);
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++) {
			const struct port *peer;

			if (fabric->ports[j].peer == FABRIC_NONE)
				continue;
			peer = &fabric->ports[fabric->ports[j].peer];
			text_appendf(text, " 0x%016" PRIx64 "/%u", fabric->nodes[peer->node].guid, peer->num);
		}
		text_append(text, "\n");
	}
}

static int suggest(struct suggestion *suggestion, struct text *text)
{
	const struct fabric *fabric = suggestion->topology->fabric;
	int code = 0;

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++)
		code = note_name(suggestion, fabric->nodes[i].name);
	find_positions(suggestion);
	text_append(text, "# A node-name-map as the infiniband-diags and ibwire read it (--node-name-map).\n"
		    "# Check the names, edit them as needed, and save the file as\n# "
		    OPTIONS_DEFAULT_NAME_MAP ".\n");
	if (code == 0)
		code = suggest_switches(suggestion, text);
	list_switches(suggestion, text);
	list_hcas(suggestion, text);
	return code;
}

static int print_map(const struct options *options, const struct topology *topology, struct error *err)
{
	size_t slots = SHAPE_TIERS_MAX + 1 + topology->shape->rail_count + 1;
	struct suggestion suggestion = {
		.topology = topology,
		.place = malloc((topology->fabric->node_count + 1) * sizeof(*suggestion.place)),
		.counted = calloc(slots, sizeof(*suggestion.counted)),
	};
	struct text text = { 0 };
	int code = suggestion.place && suggestion.counted ? suggest(&suggestion, &text) : ERR_NOMEM;

	if (code == 0) {
		code = output_text(options, &text, err);
	} else {
		text_done(&text);
		code = err_nomem(err);
	}
	map_done(&suggestion.known);
	free(suggestion.place);
	free(suggestion.counted);
	return code;
}

int names_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct topology_options options = { .from = NULL };
	const struct option_spec specs[] = {
		TOPOLOGY_SOURCE_OPTIONS(options),
		{ 0 },
	};
	struct topology topology;
	int code = options_parse(command, COMMON_NAMES | COMMON_DB | COMMON_AT, specs, argc, argv, &options.common,
				 err);

	if (code)
		return code < 0 ? code : 0;
	if (options.common.argc != 1 || strcmp(options.common.argv[0], "suggest"))
		return options_usage_error(command, err, "give a sub-command: suggest");
	if (options.from && (options.common.at_us || options.common.db))
		return options_usage_error(command, err, "--from cannot be combined with --db or --at");
	code = topology_open(&options, &topology, err);
	if (code < 0)
		return code;
	code = print_map(&options.common, &topology, err);
	topology_close(&topology);
	return code;
}
