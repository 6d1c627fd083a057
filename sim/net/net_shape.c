/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net_shape.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "sim/net/mend.h"

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

/*
 * A fabric under construction. The number of ports of a switch is known when all its cables are, but a
 * struct fabric needs it first. After the first error nothing is added.
 */
struct builder {
	const struct net_shape *shape;
	const struct model *model;
	unsigned host_count, switch_count;
	struct node *nodes; /* port_count: the number of cables so far */
	size_t node_count, node_capacity;
	struct cable {
		uint32_t node[2];
		uint8_t port[2];
	} *cables;
	size_t cable_count, cable_capacity;
	/* The first node of each group. Hosts come first: see net_shape.h. */
	uint32_t management, hosts, leafs, spines, cores;
	unsigned leafs_per_unit, hosts_per_unit;
	int code;
	struct error *err;
};

static void add_node(struct builder *builder, const struct node *node)
{
	struct node *nodes = array_grow(builder->nodes, builder->node_count, &builder->node_capacity, sizeof(*nodes));

	if (!nodes)
		builder->code = err_nomem(builder->err);
	if (builder->code < 0)
		return;
	builder->nodes = nodes;
	nodes[builder->node_count++] = *node;
}

/* Add a host with its HCAs. */
static void add_host(struct builder *builder, const char *prefix, unsigned number, unsigned hcas)
{
	uint64_t guid = HCA_GUID_BASE + ((uint64_t)++builder->host_count << 12);

	for (unsigned i = 0; i < hcas; i++) {
		struct node node = {
			.type = NODE_CA, .guid = guid + (i << 4), .system_guid = guid,
			.vendor_id = VENDOR_MELLANOX, .device_id = builder->model->hca_id,
		};

		snprintf(node.desc, sizeof(node.desc), "%s%04u mlx5_%u", prefix, number, i);
		add_node(builder, &node);
	}
}

__attribute__((format(printf, 2, 3))) static void add_switch(struct builder *builder, const char *format, ...)
{
	uint64_t guid = SWITCH_GUID_BASE + ((uint64_t)++builder->switch_count << 6);
	struct node node = {
		.type = NODE_SWITCH, .guid = guid, .system_guid = guid, .enhanced_port0 = true,
		.vendor_id = VENDOR_MELLANOX, .device_id = builder->model->switch_id,
	};
	char name[48];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	snprintf(node.desc, sizeof(node.desc), "MF0;%.40s:%s/U1", name, builder->model->switch_model);
	add_node(builder, &node);
}

static void add_nodes(struct builder *builder)
{
	const struct net_shape *shape = builder->shape;

	builder->management = (uint32_t)builder->node_count;
	for (unsigned i = 1; i <= shape->management; i++)
		add_host(builder, "mgmt", i, 1);
	builder->hosts = (uint32_t)builder->node_count;
	for (unsigned i = 1; i <= builder->hosts_per_unit * shape->units; i++)
		add_host(builder, "node", i, shape->rails);
	builder->leafs = (uint32_t)builder->node_count;
	for (unsigned i = 1; i <= shape->units; i++) {
		for (unsigned j = 0; j < builder->leafs_per_unit; j++) {
			if (shape->kind == NET_SHAPE_RAIL)
				add_switch(builder, "leaf-u%02u-r%u", i, j);
			else if (shape->kind == NET_SHAPE_TREE2)
				add_switch(builder, "leaf-%03u", j + 1);
			else
				add_switch(builder, "leaf-p%02u-%02u", i, j + 1);
		}
	}
	builder->spines = (uint32_t)builder->node_count;
	if (shape->kind != NET_SHAPE_TREE3) {
		for (unsigned i = 1; i <= shape->spines; i++)
			add_switch(builder, "spine-%02u", i);
		return;
	}
	for (unsigned i = 1; i <= shape->units; i++)
		for (unsigned j = 1; j <= shape->spines; j++)
			add_switch(builder, "spine-p%02u-%02u", i, j);
	builder->cores = (uint32_t)builder->node_count;
	for (unsigned i = 1; i <= shape->cores; i++)
		add_switch(builder, "core-%03u", i);
}

/* Connect the next free ports of two nodes. */
static void add_cable(struct builder *builder, uint32_t a, uint32_t b)
{
	uint32_t ends[2] = { a, b };
	struct cable *cable, *cables;

	if (builder->code < 0)
		return;
	cables = array_grow(builder->cables, builder->cable_count, &builder->cable_capacity, sizeof(*cables));
	if (!cables) {
		builder->code = err_nomem(builder->err);
		return;
	}
	builder->cables = cables;
	cable = &cables[builder->cable_count++];
	for (int i = 0; i < 2; i++) {
		struct node *node = &builder->nodes[ends[i]];

		if (node->port_count >= MEND_MAX_PORTS)
			builder->code = err_set(builder->err, ERR_USAGE, "\"%s\" would need more than %d ports: use "
						"smaller units, more spines or fewer links", node->desc,
						MEND_MAX_PORTS);
		cable->node[i] = ends[i];
		cable->port[i] = ++node->port_count;
	}
}

static void cable_hosts(struct builder *builder)
{
	const struct net_shape *shape = builder->shape;

	for (unsigned host = 0; host < builder->hosts_per_unit * shape->units; host++)
		for (unsigned rail = 0; rail < shape->rails; rail++)
			add_cable(builder, builder->hosts + host * shape->rails + rail, builder->leafs +
				  (shape->kind == NET_SHAPE_RAIL ?
				   host / shape->hosts * builder->leafs_per_unit + rail : host / shape->hosts));
}

/* The number of uplinks of a switch with @down downlinks. */
static unsigned uplinks_for(unsigned down, unsigned oversubscription_milli)
{
	unsigned up = (down * 1000 + oversubscription_milli - 1) / oversubscription_milli;

	return up ? up : 1;
}

/*
 * Uplinks are distributed over the spines: the numbers of cables of two pairs differ by one at most. The
 * cables of a pair are on adjacent ports.
 */
static void cable_leafs(struct builder *builder)
{
	const struct net_shape *shape = builder->shape;
	unsigned down = shape->kind == NET_SHAPE_RAIL ? shape->hosts : shape->hosts * shape->rails;
	unsigned up = shape->links ? shape->links * shape->spines : uplinks_for(down, shape->oversubscription_milli);
	unsigned per_spine = (up + shape->spines - 1) / shape->spines;

	for (unsigned leaf = 0; leaf < builder->leafs_per_unit * shape->units; leaf++) {
		unsigned unit = shape->kind == NET_SHAPE_TREE3 ? leaf / builder->leafs_per_unit : 0;

		for (unsigned spine = 0; spine < shape->spines; spine++)
			for (unsigned nth = 0; nth < per_spine && nth * shape->spines + spine < up; nth++)
				add_cable(builder, builder->leafs + leaf,
					  builder->spines + unit * shape->spines + spine);
	}
}

/* The nth spine of each pod is connected to the nth group of cores. */
static void cable_spines(struct builder *builder)
{
	const struct net_shape *shape = builder->shape;
	unsigned group = shape->cores / shape->spines;

	for (unsigned i = 0; i < shape->units * shape->spines && builder->code == 0; i++) {
		unsigned up = uplinks_for(builder->nodes[builder->spines + i].port_count,
					  shape->core_oversubscription_milli);

		for (unsigned j = 0; j < up; j++)
			add_cable(builder, builder->spines + i,
				  builder->cores + i % shape->spines * group + j % group);
	}
}

static void add_cables(struct builder *builder)
{
	const struct net_shape *shape = builder->shape;

	cable_hosts(builder);
	cable_leafs(builder);
	if (shape->kind == NET_SHAPE_TREE3)
		cable_spines(builder);
	/* One per leaf, after the uplinks: their number does not change the ports of other hosts. */
	for (unsigned i = 0; i < shape->management; i++)
		add_cable(builder, builder->management + i,
			  builder->leafs + i % (builder->leafs_per_unit * shape->units));
}

static int check_shape(const struct builder *builder, struct error *err)
{
	const struct net_shape *shape = builder->shape;
	unsigned long long hcas = (unsigned long long)builder->hosts_per_unit * shape->units * shape->rails;

	if (!builder->model)
		return err_set(err, ERR_USAGE, "this link speed cannot be simulated");
	if (!shape->units || !builder->leafs_per_unit || !shape->hosts || !shape->rails || !shape->spines)
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

static int make_node(struct fabric *fabric, const struct node *planned, unsigned switch_ports, struct error *err)
{
	struct node node = *planned;
	bool is_switch = node.type == NODE_SWITCH;

	if (is_switch && node.port_count < switch_ports)
		node.port_count = (uint8_t)switch_ports;
	if (fabric_add_node(fabric, &node, err) < 0)
		return ERR_IO;
	for (unsigned i = is_switch ? 0 : 1; i <= node.port_count; i++) {
		struct port port = {
			.num = (uint8_t)i, .guid = is_switch && i ? 0 : node.guid + i,
			.state = i ? PORT_DOWN : PORT_ACTIVE, .phys_state = i ? PHYS_POLLING : PHYS_LINK_UP,
		};

		if (fabric_add_port(fabric, &port, err) < 0)
			return ERR_IO;
	}
	return 0;
}

static int make_link(struct fabric *fabric, const struct cable *cable, const struct net_shape *shape,
		     struct error *err)
{
	uint32_t ports[2];

	for (int end = 0; end < 2; end++) {
		struct port *port;

		/* The fabric has the nodes in the same order. */
		ports[end] = fabric_node_port(fabric, cable->node[end], cable->port[end]);
		port = &fabric->ports[ports[end]];
		port->state = PORT_ACTIVE;
		port->phys_state = PHYS_LINK_UP;
		port->speed = (uint8_t)shape->speed;
		port->width = shape->width;
	}
	return fabric_link(fabric, ports[0], ports[1], err);
}

static int make_fabric(const struct builder *builder, struct fabric **ret, struct error *err)
{
	struct fabric *fabric = fabric_create(err);
	int code = fabric ? 0 : ERR_NOMEM;

	for (size_t i = 0; i < builder->node_count && code == 0; i++)
		code = make_node(fabric, &builder->nodes[i], builder->model->switch_ports, err);
	for (size_t i = 0; i < builder->cable_count && code == 0; i++)
		code = make_link(fabric, &builder->cables[i], builder->shape, err);
	if (code == 0)
		code = fabric_finish(fabric, NULL, err);
	if (code < 0) {
		fabric_destroy(fabric);
		return code;
	}
	/* The first management host is for opensm, the second for the command. */
	fabric->from_node = builder->shape->management > 1 ? builder->management + 1 : 0;
	fabric->from_port = 1;
	*ret = fabric;
	return 0;
}

int net_shape_build(const struct net_shape *shape, struct fabric **ret, struct error *err)
{
	struct builder builder = {
		.shape = shape, .model = find_model(shape->speed), .err = err,
		.leafs_per_unit = shape->kind == NET_SHAPE_RAIL ? shape->rails : shape->leafs,
		.hosts_per_unit = shape->kind == NET_SHAPE_RAIL ? shape->hosts : shape->hosts * shape->leafs,
	};

	builder.code = check_shape(&builder, err);
	if (builder.code == 0)
		add_nodes(&builder);
	if (builder.code == 0)
		add_cables(&builder);
	if (builder.code == 0)
		builder.code = make_fabric(&builder, ret, err);
	free(builder.nodes);
	free(builder.cables);
	return builder.code;
}
