/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_show.c - `ibwire topology show`: text, or JSON and CSV rows of nodes or of sums */
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "facts/cells.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"

enum {
	TIME, NODE, GUID, CLASS, TIER, WHY, PART, PLANE, BOX, HOST, RAILS, HCAS, DOWN, UP, UP_ACTIVE, UP_EXPECTED, OVER,
	OVER_NOW, COLUMN_COUNT,
};

static const struct column node_columns[COLUMN_COUNT] = {
	[TIME] = { .key = "time", .kind = COLUMN_TIME },
	[NODE] = { .key = "node", .kind = COLUMN_TEXT },
	[GUID] = { .key = "node_guid", .kind = COLUMN_GUID },
	[CLASS] = { .key = "class", .kind = COLUMN_TEXT },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER },
	[WHY] = { .key = "why", .kind = COLUMN_TEXT },
	[PART] = { .key = "part", .kind = COLUMN_INTEGER },
	[PLANE] = { .key = "plane", .kind = COLUMN_INTEGER },
	[BOX] = { .key = "box_guid", .kind = COLUMN_GUID },
	[HOST] = { .key = "host", .kind = COLUMN_TEXT },
	[RAILS] = { .key = "rails", .kind = COLUMN_LIST },
	[HCAS] = { .key = "hca_links", .kind = COLUMN_INTEGER },
	[DOWN] = { .key = "down_links", .kind = COLUMN_INTEGER },
	[UP] = { .key = "up_links", .kind = COLUMN_INTEGER },
	[UP_ACTIVE] = { .key = "up_links_active", .kind = COLUMN_INTEGER },
	[UP_EXPECTED] = { .key = "up_links_expected", .kind = COLUMN_INTEGER },
	[OVER] = { .key = "oversubscription", .kind = COLUMN_REAL },
	[OVER_NOW] = { .key = "oversubscription_now", .kind = COLUMN_REAL },
};

static void put_switch(struct result *result, const struct topology *topology, uint32_t node)
{
	const struct shape *shape = topology->shape;
	const struct fabric *fabric = topology->fabric;
	const struct node *self = &fabric->nodes[node];
	int64_t hcas = 0, down = 0, up = 0, up_active = 0, up_expected;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		uint8_t way = shape->ports[i].way;

		hcas += shape_serves_host(shape, i);
		down += way == WAY_DOWN;
		up += way == WAY_UP;
		up_active += way == WAY_UP && fabric_link_state(fabric, i) == PORT_ACTIVE;
	}
	up_expected = shape->nodes[node].up_group == SHAPE_NONE ? up :
		shape->groups[shape->nodes[node].up_group].built;
	if (shape->nodes[node].tier)
		result_integer(result, TIER, shape->nodes[node].tier);
	else
		result_text(result, WHY, shape_why_text(shape->nodes[node].why));
	if (shape->nodes[node].plane != SHAPE_NONE)
		result_integer(result, PLANE, shape->nodes[node].plane);
	result_unsigned(result, BOX, topology->fabric->nodes[shape->nodes[node].box].guid);
	result_integer(result, HCAS, hcas);
	result_integer(result, DOWN, down);
	result_integer(result, UP, up);
	result_integer(result, UP_ACTIVE, up_active);
	result_integer(result, UP_EXPECTED, up_expected);
	result_real(result, OVER, shape_oversubscription(shape, node, false));
	if (up_active)
		result_real(result, OVER_NOW, shape_oversubscription(shape, node, true));
}

static void put_hca(struct result *result, const struct topology *topology, uint32_t node)
{
	const struct shape *shape = topology->shape;
	const struct node *self = &topology->fabric->nodes[node];

	if (shape->nodes[node].host != SHAPE_NONE)
		result_text(result, HOST, shape->hosts[shape->nodes[node].host].name);
	result_empty(result, RAILS);
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++)
		if (shape->ports[i].rail != SHAPE_NONE)
			result_item(result, RAILS, "%s", shape->rails[shape->ports[i].rail].name);
}

static void put_node(struct result *result, const struct topology *topology, uint32_t node)
{
	const struct shape_node *found = &topology->shape->nodes[node];

	cells_nonzero(result, TIME, topology->wall_us);
	result_text(result, NODE, topology->fabric->nodes[node].name);
	result_unsigned(result, GUID, topology->fabric->nodes[node].guid);
	result_text(result, CLASS, node_class_name(found->class));
	if (found->part != 255)
		result_integer(result, PART, found->part);
	if (found->class == CLASS_SWITCH)
		put_switch(result, topology, node);
	else
		put_hca(result, topology, node);
	result_end_row(result);
}

static int put_nodes(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct result *result = output_begin(&options->common, false, node_columns, COLUMN_COUNT);

	for (uint32_t i = 0; i < topology->fabric->node_count; i++)
		put_node(result, topology, i);
	return output_end(result, 0, err);
}

enum {
	S_TIME, S_KIND, S_REASON, S_TIERS, S_SWITCHES, S_PARTS, S_PLANES, S_HOSTS, S_HCAS, S_RAILS, S_LINKS, S_UP,
	S_UP_ACTIVE, S_OVER, S_BISECTION, S_BISECTION_NOW, S_AT_MOST, S_CUT, S_ACROSS, S_SKIPS, S_LOOPS, S_NO_TIER,
	S_EMPTY, S_MISSING, S_SLOW, S_MISWIRED, S_COUNT,
};

static const struct column summary_columns[S_COUNT] = {
	[S_TIME] = { .key = "time", .kind = COLUMN_TIME },
	[S_KIND] = { .key = "kind", .kind = COLUMN_TEXT },
	[S_REASON] = { .key = "reason", .kind = COLUMN_TEXT },
	[S_TIERS] = { .key = "tiers", .kind = COLUMN_INTEGER },
	[S_SWITCHES] = { .key = "switches", .kind = COLUMN_INTEGER },
	[S_PARTS] = { .key = "parts", .kind = COLUMN_INTEGER },
	[S_PLANES] = { .key = "planes", .kind = COLUMN_INTEGER },
	[S_HOSTS] = { .key = "hosts", .kind = COLUMN_INTEGER },
	[S_HCAS] = { .key = "hcas", .kind = COLUMN_INTEGER },
	[S_RAILS] = { .key = "rails", .kind = COLUMN_LIST },
	[S_LINKS] = { .key = "links", .kind = COLUMN_INTEGER },
	[S_UP] = { .key = "up_links", .kind = COLUMN_INTEGER },
	[S_UP_ACTIVE] = { .key = "up_links_active", .kind = COLUMN_INTEGER },
	[S_OVER] = { .key = "oversubscription", .kind = COLUMN_REAL },
	[S_BISECTION] = { .key = "bisection_gbps", .kind = COLUMN_GBPS },
	[S_BISECTION_NOW] = { .key = "bisection_now_gbps", .kind = COLUMN_GBPS },
	[S_AT_MOST] = { .key = "bisection_at_most", .kind = COLUMN_BOOL },
	[S_CUT] = { .key = "bisection_cut", .kind = COLUMN_TEXT },
	[S_ACROSS] = { .key = "links_across", .kind = COLUMN_INTEGER },
	[S_SKIPS] = { .key = "links_past_a_tier", .kind = COLUMN_INTEGER },
	[S_LOOPS] = { .key = "links_within_a_switch", .kind = COLUMN_INTEGER },
	[S_NO_TIER] = { .key = "switches_without_tier", .kind = COLUMN_INTEGER },
	[S_EMPTY] = { .key = "leafs_without_hosts", .kind = COLUMN_INTEGER },
	[S_MISSING] = { .key = "cables_missing", .kind = COLUMN_LIST },
	[S_SLOW] = { .key = "links_slow", .kind = COLUMN_LIST },
	[S_MISWIRED] = { .key = "rail_miswired", .kind = COLUMN_LIST },
};

/* The name of a switch in a list: in full, or as it is shown where others have the same. */
static const char *list_name(const struct topology *topology, uint32_t node)
{
	const char *name = topology->fabric->nodes[node].name, *shown = topology->shown.names[node];
	char plain[NODE_NAME_SIZE];

	names_display(topology->fabric, name, plain);
	return strcmp(plain, shown) ? shown : name;
}

static void put_lists(struct result *result, const struct topology *topology)
{
	const struct shape *shape = topology->shape;
	const struct fabric *fabric = topology->fabric;
	char name[512], peer[512];

	result_empty(result, S_RAILS);
	result_empty(result, S_MISSING);
	result_empty(result, S_SLOW);
	result_empty(result, S_MISWIRED);
	for (size_t i = 0; i < shape->rail_count; i++)
		if (shape->rails[i].class == CLASS_COMPUTE)
			result_item(result, S_RAILS, "%s", shape->rails[i].name);
	for (size_t i = 0; i < shape->missing_count; i++)
		result_item(result, S_MISSING, "%s - %s: %u of %u", list_name(topology, shape->missing[i].low),
			    list_name(topology, shape->missing[i].high), shape->missing[i].links,
			    shape->missing[i].expected);
	for (size_t i = 0; i < shape->slow_count; i++)
		result_item(result, S_SLOW, "%s - %s: %.0f of %.0f Gb/s",
			    shape_port_name(shape, shape->slow[i].port, name, sizeof(name)),
			    shape_port_name(shape, fabric->ports[shape->slow[i].port].peer, peer, sizeof(peer)),
			    (double)shape->slow[i].bits_per_s / 1e9, (double)shape->slow[i].expected_bits_per_s / 1e9);
	for (size_t i = 0; i < shape->miswired_count; i++) {
		uint32_t port = shape->miswired[i].port;

		result_item(result, S_MISWIRED, "%s (rail %s) is on %s (rail %s)",
			    shape_port_name(shape, port, name, sizeof(name)),
			    shape->rails[shape->ports[port].rail].name,
			    shape_port_name(shape, fabric->ports[port].peer, peer, sizeof(peer)),
			    shape->rails[shape->miswired[i].leaf_rail].name);
	}
}

static void put_sums(struct result *result, const struct topology *topology)
{
	const struct shape *shape = topology->shape;
	int64_t switches = 0, hcas = 0, up = 0, up_active = 0;

	for (size_t i = 0; i <= SHAPE_TIERS_MAX; i++) {
		switches += shape->tiers[i].switches;
		up += shape->tiers[i].links_up;
		up_active += shape->tiers[i].links_up_active;
	}
	for (size_t i = 0; i < shape->host_count; i++)
		hcas += shape->hosts[i].count;
	cells_nonzero(result, S_TIME, topology->wall_us);
	result_text(result, S_KIND, shape_kind_name(shape->kind));
	result_text(result, S_REASON, shape->reason);
	result_integer(result, S_TIERS, shape->tier_count);
	result_integer(result, S_SWITCHES, switches);
	result_integer(result, S_PARTS, shape->parts);
	result_integer(result, S_PLANES, shape->plane_count);
	result_integer(result, S_HOSTS, (int64_t)shape->host_count);
	result_integer(result, S_HCAS, hcas);
	result_integer(result, S_LINKS, (int64_t)fabric_count_links(topology->fabric));
	result_integer(result, S_UP, up);
	result_integer(result, S_UP_ACTIVE, up_active);
	if (shape->tiers[1].up_bits_per_s)
		result_real(result, S_OVER,
			    (double)shape->tiers[1].down_bits_per_s / (double)shape->tiers[1].up_bits_per_s);
	if (shape->bisection_bits_per_s) {
		result_real(result, S_BISECTION, (double)shape->bisection_bits_per_s / 1e9);
		result_real(result, S_BISECTION_NOW, (double)shape->bisection_bits_per_s_now / 1e9);
		result_bool(result, S_AT_MOST, shape->bisection_at_most);
		result_text(result, S_CUT, shape->bisection_cut);
	}
	result_integer(result, S_ACROSS, shape->across);
	result_integer(result, S_SKIPS, shape->skips);
	result_integer(result, S_LOOPS, shape->loops);
	result_integer(result, S_NO_TIER, shape->tiers[0].switches);
	result_integer(result, S_EMPTY, shape->empty_leaves);
}

static int put_summary(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct result *result = output_begin(&options->common, true, summary_columns, S_COUNT);

	put_sums(result, topology);
	put_lists(result, topology);
	result_end_row(result);
	return output_end(result, 0, err);
}

static int print_text(const struct topology_options *options, const struct topology *topology, unsigned width,
		      struct error *err)
{
	struct text lines = { 0 }, text = { 0 };

	topology_summary(topology, &lines);
	if (!options->summary) {
		text_append(&lines, "\n");
		topology_tree(topology, &lines);
		topology_matrix(topology, width, &lines);
	}
	text_append_lines(&text, text_chars(&lines), width);
	text.failed |= text_failed(&lines);
	text_done(&lines);
	return output_text(&options->common, &text, err);
}

int topology_show(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct result_options output = options_result(&options->common);

	if (output.format == RESULT_TABLE)
		return print_text(options, topology, output.width, err);
	return (options->summary ? put_summary : put_nodes)(options, topology, err);
}
