/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net_shape.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "sim/net/plan.h"

#define VENDOR_MELLANOX 0x2c9

/* GUIDs have Mellanox's prefix; the low bits number hosts and HCAs, or switches, with room for port GUIDs. */
#define HCA_GUID_BASE 0x0c42a10300000000ULL
#define SWITCH_GUID_BASE 0xb8cef60300000000ULL

#define RAILS_MAX 16

/* The models of a fabric of each speed. Source: device ids in the pci.ids and rdma-core's providers (mlx5.c). */
static const struct model {
	enum link_speed speed;
	uint16_t switch_id, hca_id;
	uint8_t switch_ports;
	const char *switch_model;
} models[] = {
	{ LINK_SPEED_FDR, 0xc738, 4113, 36, "MSX6036" },
	{ LINK_SPEED_EDR, 0xcf08, 4119, 36, "MSB7800" },
	{ LINK_SPEED_HDR, 0xd2f0, 4123, 40, "MQM8700" },
	{ LINK_SPEED_NDR, 0xd2f2, 4129, 64, "MQM9700" },
};

static const struct model *find_model(enum link_speed speed)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (models[i].speed == speed)
			return &models[i];
	return NULL;
}

struct net_shape net_shape_default(enum net_shape_kind kind)
{
	struct net_shape shape = {
		.kind = kind, .units = 2, .leafs = 8, .hosts = 16, .rails = 1, .spines = 8, .management = 2,
		.oversubscription_milli = 1000, .core_oversubscription_milli = 1000,
		.speed = LINK_SPEED_HDR, .width = LINK_WIDTH_4X,
	};

	switch (kind) {
	case NET_SHAPE_RAIL:
		shape.rails = 8;
		break;
	case NET_SHAPE_TREE2:
		shape.units = 1;
		break;
	case NET_SHAPE_TREE3:
		shape.units = 4;
		shape.leafs = 4;
		shape.hosts = 8;
		shape.spines = 4;
		shape.cores = 8;
		break;
	}
	return shape;
}

static int parse_count(const char *name, const char *value, unsigned max, unsigned *ret, struct error *err)
{
	char *end;
	unsigned long count = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)*value) || *end || count > max)
		return err_set(err, ERR_USAGE, "--%s must be a number up to %u, not \"%s\"", name, max, value);
	*ret = (unsigned)count;
	return 0;
}

static int parse_ratio(const char *name, const char *value, unsigned *ret_milli, struct error *err)
{
	char *end;
	double ratio = strtod(value, &end);

	if (!strcmp(end, ":1"))
		end += 2;
	if (end == value || *end || !(ratio >= 0.1 && ratio <= 100))
		return err_set(err, ERR_USAGE, "--%s must be a ratio such as 2:1 or 1.5 (0.1 to 100), not \"%s\"", name,
			       value);
	*ret_milli = (unsigned)(ratio * 1000 + 0.5);
	return 0;
}

static int parse_width(const char *value, uint8_t *ret, struct error *err)
{
	char *end;
	unsigned long lanes = strtoul(value, &end, 10);
	uint8_t code = lanes <= 12 ? link_width_code((unsigned)lanes) : LINK_WIDTH_NONE;

	if (code == LINK_WIDTH_NONE || (*end && strcasecmp(end, "x")))
		return err_set(err, ERR_USAGE, "--width must be 1x, 2x, 4x, 8x or 12x, not \"%s\"", value);
	*ret = code;
	return 0;
}

int net_shape_option(struct net_shape *shape, const char *name, const char *value, struct error *err)
{
	const struct {
		const char *name;
		unsigned *count;
		unsigned max;
	} counts[] = {
		{ "units", &shape->units, 1024 },   { "pods", &shape->units, 1024 },
		{ "leafs", &shape->leafs, 2048 },   { "hosts", &shape->hosts, NET_SHAPE_MAX_HCAS },
		{ "rails", &shape->rails, RAILS_MAX }, { "spines", &shape->spines, 1024 },
		{ "cores", &shape->cores, 2048 },   { "links", &shape->links, 64 },
		{ "management", &shape->management, 64 },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!strcmp(name, counts[i].name))
			return parse_count(name, value, counts[i].max, counts[i].count, err);
	if (!strcmp(name, "oversubscription"))
		return parse_ratio(name, value, &shape->oversubscription_milli, err);
	if (!strcmp(name, "core-oversubscription"))
		return parse_ratio(name, value, &shape->core_oversubscription_milli, err);
	if (!strcmp(name, "width"))
		return parse_width(value, &shape->width, err);
	if (strcmp(name, "speed"))
		return err_set(err, ERR_USAGE, "a net has no option \"%s\"", name);
	if (!find_model(link_speed_by_name(value)))
		return err_set(err, ERR_USAGE, "--speed must be FDR, EDR, HDR or NDR, not \"%s\"", value);
	shape->speed = link_speed_by_name(value);
	return 0;
}

bool host_is_management(const char *desc)
{
	return !strncmp(desc, "mgmt", 4) && isdigit((unsigned char)desc[4]);
}

struct builder {
	const struct net_shape *shape;
	const struct model *model;
	struct plan plan;
	unsigned host_count, switch_count;
};

/* Add a host with its HCAs. Return: the index of its first HCA (the others follow), or an error. */
static int64_t add_host(struct builder *builder, const char *prefix, unsigned number, unsigned hcas,
			struct error *err)
{
	uint64_t guid = HCA_GUID_BASE + ((uint64_t)++builder->host_count << 12);
	int64_t first = ERR_NOMEM;

	for (unsigned i = 0; i < hcas; i++) {
		struct node node = {
			.type = NODE_CA, .guid = guid + (i << 4), .system_guid = guid,
			.vendor_id = VENDOR_MELLANOX, .device_id = builder->model->hca_id,
		};
		int64_t index;

		snprintf(node.desc, sizeof(node.desc), "%s%04u mlx5_%u", prefix, number, i);
		index = plan_add(&builder->plan, &node, err);
		if (index < 0)
			return index;
		if (i == 0)
			first = index;
	}
	return first;
}

static int64_t add_switch(struct builder *builder, const char *name, struct error *err)
{
	uint64_t guid = SWITCH_GUID_BASE + ((uint64_t)++builder->switch_count << 6);
	struct node node = {
		.type = NODE_SWITCH, .guid = guid, .system_guid = guid, .enhanced_port0 = true,
		.vendor_id = VENDOR_MELLANOX, .device_id = builder->model->switch_id,
	};

	snprintf(node.desc, sizeof(node.desc), "MF0;%.40s:%s/U1", name, builder->model->switch_model);
	return plan_add(&builder->plan, &node, err);
}

/* The number of uplinks of a switch with @down downlinks. */
static unsigned uplinks_for(unsigned down, unsigned oversubscription_milli)
{
	unsigned up = (down * 1000 + oversubscription_milli - 1) / oversubscription_milli;

	return up ? up : 1;
}

/* The first index of each group of nodes in the plan. Hosts come first: see net_shape.h. */
struct places {
	uint32_t management, hosts, leafs, spines, cores;
	unsigned leafs_per_unit, hosts_per_unit;
};

static int add_nodes(struct builder *builder, struct places *places, struct error *err)
{
	const struct net_shape *shape = builder->shape;
	unsigned hosts = places->hosts_per_unit * shape->units;
	unsigned spine_units = shape->kind == NET_SHAPE_TREE3 ? shape->units : 1;
	char name[48];

	places->management = (uint32_t)builder->plan.node_count;
	for (unsigned i = 0; i < shape->management; i++)
		if (add_host(builder, "mgmt", i + 1, 1, err) < 0)
			return ERR_NOMEM;
	places->hosts = (uint32_t)builder->plan.node_count;
	for (unsigned i = 0; i < hosts; i++)
		if (add_host(builder, "node", i + 1, shape->rails, err) < 0)
			return ERR_NOMEM;
	places->leafs = (uint32_t)builder->plan.node_count;
	for (unsigned i = 0; i < shape->units; i++) {
		for (unsigned j = 0; j < places->leafs_per_unit; j++) {
			if (shape->kind == NET_SHAPE_RAIL)
				snprintf(name, sizeof(name), "leaf-u%02u-r%u", i + 1, j);
			else if (shape->kind == NET_SHAPE_TREE2)
				snprintf(name, sizeof(name), "leaf-%03u", j + 1);
			else
				snprintf(name, sizeof(name), "leaf-p%02u-%02u", i + 1, j + 1);
			if (add_switch(builder, name, err) < 0)
				return ERR_NOMEM;
		}
	}
	places->spines = (uint32_t)builder->plan.node_count;
	for (unsigned i = 0; i < spine_units; i++) {
		for (unsigned j = 0; j < shape->spines; j++) {
			if (shape->kind == NET_SHAPE_TREE3)
				snprintf(name, sizeof(name), "spine-p%02u-%02u", i + 1, j + 1);
			else
				snprintf(name, sizeof(name), "spine-%02u", j + 1);
			if (add_switch(builder, name, err) < 0)
				return ERR_NOMEM;
		}
	}
	places->cores = (uint32_t)builder->plan.node_count;
	for (unsigned i = 0; shape->kind == NET_SHAPE_TREE3 && i < shape->cores; i++) {
		snprintf(name, sizeof(name), "core-%03u", i + 1);
		if (add_switch(builder, name, err) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

static int cable_hosts(struct builder *builder, const struct places *places, struct error *err)
{
	const struct net_shape *shape = builder->shape;
	unsigned hosts = places->hosts_per_unit * shape->units;
	int code;

	for (unsigned host = 0; host < hosts; host++) {
		for (unsigned rail = 0; rail < shape->rails; rail++) {
			unsigned leaf = shape->kind == NET_SHAPE_RAIL ?
				host / shape->hosts * places->leafs_per_unit + rail : host / shape->hosts;

			code = plan_cable(&builder->plan, places->hosts + host * shape->rails + rail,
					  places->leafs + leaf, err);
			if (code < 0)
				return code;
		}
	}
	return 0;
}

/* Uplinks are distributed over the spines: the numbers of cables of two pairs differ by one at most. */
static int cable_leafs(struct builder *builder, const struct places *places, struct error *err)
{
	const struct net_shape *shape = builder->shape;
	unsigned leafs = places->leafs_per_unit * shape->units;
	unsigned down = shape->kind == NET_SHAPE_RAIL ? shape->hosts : shape->hosts * shape->rails;
	unsigned up = shape->links ? shape->links * shape->spines : uplinks_for(down, shape->oversubscription_milli);
	int code;

	for (unsigned leaf = 0; leaf < leafs; leaf++) {
		unsigned unit = shape->kind == NET_SHAPE_TREE3 ? leaf / places->leafs_per_unit : 0;
		unsigned per_spine = (up + shape->spines - 1) / shape->spines;

		/* Spine by spine: the cables of a pair are on adjacent ports. */
		for (unsigned i = 0; i < per_spine * shape->spines; i++) {
			unsigned spine = i / per_spine, nth = i % per_spine;

			if (nth * shape->spines + spine >= up)
				continue;
			code = plan_cable(&builder->plan, places->leafs + leaf,
					  places->spines + unit * shape->spines + spine, err);
			if (code < 0)
				return code;
		}
	}
	return 0;
}

/* The nth spine of each pod is connected to the nth group of cores. */
static int cable_spines(struct builder *builder, const struct places *places, struct error *err)
{
	const struct net_shape *shape = builder->shape;
	unsigned group = shape->cores / shape->spines;
	int code;

	for (unsigned unit = 0; unit < shape->units; unit++) {
		for (unsigned spine = 0; spine < shape->spines; spine++) {
			uint32_t node = places->spines + unit * shape->spines + spine;
			unsigned up = uplinks_for(builder->plan.nodes[node].port_count,
						  shape->core_oversubscription_milli);

			for (unsigned i = 0; i < up; i++) {
				code = plan_cable(&builder->plan, node, places->cores + spine * group + i % group, err);
				if (code < 0)
					return code;
			}
		}
	}
	return 0;
}

/* One per leaf, after the uplinks: their number does not change the ports of other hosts. */
static int cable_management(struct builder *builder, const struct places *places, struct error *err)
{
	unsigned leafs = places->leafs_per_unit * builder->shape->units;
	int code;

	for (unsigned i = 0; i < builder->shape->management; i++) {
		code = plan_cable(&builder->plan, places->management + i, places->leafs + i % leafs, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_shape(const struct net_shape *shape, const struct places *places, struct error *err)
{
	unsigned long long hcas = (unsigned long long)places->hosts_per_unit * shape->units * shape->rails;

	if (!shape->units || !places->leafs_per_unit || !shape->hosts || !shape->rails || !shape->spines)
		return err_set(err, ERR_USAGE, "units, leafs, hosts, rails and spines must be at least 1");
	if (hcas > NET_SHAPE_MAX_HCAS)
		return err_set(err, ERR_USAGE, "%llu HCAs exceed the maximum of %d", hcas,
			       NET_SHAPE_MAX_HCAS);
	if (shape->kind == NET_SHAPE_TREE3 && (shape->cores < shape->spines || shape->cores % shape->spines))
		return err_set(err, ERR_USAGE,
			       "the number of cores (%u) must be a multiple of the spines of a pod (%u)", shape->cores,
			       shape->spines);
	return 0;
}

static int add_cables(struct builder *builder, const struct places *places, struct error *err)
{
	int code = cable_hosts(builder, places, err);

	if (code == 0)
		code = cable_leafs(builder, places, err);
	if (code == 0 && builder->shape->kind == NET_SHAPE_TREE3)
		code = cable_spines(builder, places, err);
	if (code == 0)
		code = cable_management(builder, places, err);
	return code;
}

int net_shape_build(const struct net_shape *shape, struct fabric **ret, struct error *err)
{
	struct builder builder = { .shape = shape, .model = find_model(shape->speed) };
	struct places places = {
		.leafs_per_unit = shape->kind == NET_SHAPE_RAIL ? shape->rails : shape->leafs,
		.hosts_per_unit = shape->kind == NET_SHAPE_RAIL ? shape->hosts : shape->hosts * shape->leafs,
	};
	uint32_t from_node;
	int code;

	if (!builder.model)
		return err_set(err, ERR_USAGE, "this link speed cannot be simulated");
	code = check_shape(shape, &places, err);
	if (code == 0)
		code = add_nodes(&builder, &places, err);
	if (code == 0)
		code = add_cables(&builder, &places, err);
	if (code == 0) {
		/* The first management host is for opensm, the second for the command. */
		from_node = shape->management > 1 ? places.management + 1 : 0;
		code = plan_build(&builder.plan, builder.model->switch_ports, shape->speed, shape->width, from_node,
				  ret, err);
	}
	plan_done(&builder.plan);
	return code;
}
