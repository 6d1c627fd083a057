/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/agents.h"

#include <string.h>

#include "fabric/fabric.h"
#include "tests/world/virtual_state.h"
#include "wire/pma.h"

/* MAD status: unsupported method or attribute. Source: IBA Vol 1, 13.4.7. */
#define STATUS_UNSUPPORTED 0x000c

/* SMInfo.SMState. Source: IBA Vol 1, 14.2.5.13. */
enum { SM_STANDBY = 2, SM_MASTER = 3 };

static bool is_switch(const struct virtual *world, uint32_t port)
{
	return world->built->nodes[world->built->ports[port].node].type == NODE_SWITCH;
}

/* In zeroed bytes. Values above the maximum of the field saturate, as counters do. */
static void put_field(uint8_t *bytes, const struct counter_field *field, uint64_t value)
{
	unsigned i;

	if (!value)
		return;
	if (field->bits < 64 && value > (UINT64_C(1) << field->bits) - 1)
		value = (UINT64_C(1) << field->bits) - 1;
	if (field->bits == 4) {
		bytes[field->bit_offset / 8] |= (uint8_t)(value << (4 - field->bit_offset % 8));
		return;
	}
	for (i = 0; i < field->bits / 8u; i++)
		bytes[field->bit_offset / 8 + i] = (uint8_t)(value >> (field->bits - 8 - 8 * i));
}

static void put_counters(struct virtual *world, uint32_t port, enum counter_attribute attribute, int64_t at_us,
			 uint8_t *data)
{
	uint64_t values[COUNTER_COUNT];
	const struct counter_field *fields;
	size_t count, i;

	virtual_read_port(world, port, at_us, values);
	fields = counter_fields(&count);
	for (i = 0; i < count; i++)
		if (fields[i].attribute == attribute)
			put_field(data, &fields[i], values[fields[i].counter]);
}

/*
 * Switches as Quantum: 64-bit error counters, PortXmitWait in units of 8 bytes. HCAs have 32-bit error
 * counters and no PortSamplesControl. No node has detail counters. Return: the MAD's status.
 */
static uint16_t respond_pma(struct virtual *world, uint32_t port, uint16_t attribute, int64_t at_us, uint8_t *data)
{
	bool of_switch = is_switch(world, port);
	uint32_t selected = of_switch ? fabric_node_port(world->built, world->built->ports[port].node, data[1]) : port;

	switch (attribute) {
	case PMA_CLASS_PORT_INFO:
		put_be16(data + 2, of_switch ? 0x5300 : 0x5a00);
		put_be32(data + 4, of_switch ? PMA_CAP2_EXTENDED_ERRORS << 5 : 0);
		return 0;
	case PMA_PORT_SAMPLES_CONTROL:
		data[2] = 7;
		return of_switch ? 0 : STATUS_UNSUPPORTED;
	case PMA_PORT_COUNTERS:
	case PMA_PORT_COUNTERS_EXTENDED:
		if (selected == FABRIC_NONE)
			return STATUS_UNSUPPORTED;
		put_counters(world, selected, attribute == PMA_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS
									     : ATTRIBUTE_PORT_COUNTERS_EXTENDED,
			     at_us, data);
		return 0;
	default:
		return STATUS_UNSUPPORTED;
	}
}

static void put_port_info(const struct port *port, uint16_t lid, uint8_t *data)
{
	put_be16(data + 16, lid);
	data[31] = port->width;
	data[32] = port->state;
	if (port->speed >= LINK_SPEED_SDR && port->speed <= LINK_SPEED_QDR)
		data[35] = (uint8_t)(1u << (port->speed - LINK_SPEED_SDR) << 4);
	else if (port->speed >= LINK_SPEED_FDR && port->speed <= LINK_SPEED_NDR)
		data[62] = (uint8_t)(1u << (port->speed - LINK_SPEED_FDR) << 4);
	else if (port->speed == LINK_SPEED_XDR)
		data[56] = 1 << 5;
}

static void put_table_block(const struct virtual *world, uint64_t guid, uint32_t block, uint8_t *data)
{
	const struct route_table *table = routes_find(&world->tables, guid);
	uint32_t first = block * ROUTES_BLOCK;

	memset(data, ROUTES_NO_PORT, ROUTES_BLOCK);
	if (table && first < table->lids)
		memcpy(data, table->ports + first, ROUTES_BLOCK);
}

/* Return: whether a subnet manager runs at the port. */
static bool put_sm_info(const struct virtual *world, uint32_t port, uint8_t *data)
{
	const struct port *at = &world->built->ports[port];
	bool master = port == world->sm_port || world->sm_masters > 1;

	if (!world->sm_runs || (port != world->sm_port && port != world->sm_other))
		return false;
	put_be64(data, at->guid ? at->guid : world->built->nodes[at->node].guid);
	put_be32(data + 16, (uint32_t)(world->now_us / 1000000));
	data[20] = (uint8_t)(14 << 4 | (master ? SM_MASTER : SM_STANDBY));
	return true;
}

/* @port: at which the SMP arrives */
static bool respond_smp(struct virtual *world, uint32_t port, const struct mad_header *header, uint8_t *data)
{
	const struct port *at = &world->built->ports[port];
	const struct node *node = &world->built->nodes[at->node];
	uint32_t selected;

	switch (header->attribute) {
	case SMP_NODE_INFO:
		put_be64(data + 12, node->guid);
		data[36] = at->num;
		return true;
	case SMP_SWITCH_INFO:
		put_be16(data + 6, node->lft_top);
		return true;
	case SMP_PORT_INFO:
		selected = is_switch(world, port) ? fabric_node_port(world->built, at->node, (uint8_t)header->modifier)
						  : port;
		if (selected == FABRIC_NONE)
			return false;
		put_port_info(&world->built->ports[selected], fabric_port_lid(world->built, at), data);
		return true;
	case SMP_LINEAR_FORWARDING_TABLE:
		put_table_block(world, node->guid, header->modifier, data);
		return true;
	case SMP_SM_INFO:
		return put_sm_info(world, port, data);
	default:
		return true;
	}
}

/* The port at which a directed SMP arrives, hop by hop; FABRIC_NONE: it is lost. */
static uint32_t follow_path(const struct virtual *world, const uint8_t mad[MAD_SIZE])
{
	const struct fabric *built = world->built;
	uint32_t node = built->from_node == FABRIC_NONE ? 0 : built->from_node;
	uint32_t port = built->nodes[node].first_port;
	unsigned hop;

	for (hop = 1; hop <= mad[7]; hop++) {
		uint32_t out = fabric_node_port(built, built->ports[port].node, mad[128 + hop]);

		if (out == FABRIC_NONE || built->ports[out].state != PORT_ACTIVE ||
		    (hop > 1 && !is_switch(world, port)))
			return FABRIC_NONE;
		port = built->ports[out].peer;
	}
	return port;
}

/*
 * Does the node that owns the port respond to this class? A switch does without any link. A locked node
 * drops SMPs that are routed by LID only, as in ibwire-sim: a discovery finds it.
 */
static bool is_responsive(const struct virtual *world, uint32_t port, uint8_t mgmt_class)
{
	const struct port *at = &world->built->ports[port];

	if (world->nodes[at->node].off || (mgmt_class == CLASS_SUBN_LID && world->nodes[at->node].locked) ||
	    (mgmt_class == CLASS_PERFORMANCE && world->nodes[at->node].silent))
		return false;
	return is_switch(world, port) || at->state == PORT_ACTIVE;
}

bool agents_respond(struct virtual *world, const uint32_t port_of_lid[UINT16_MAX + 1], const struct mad_address *to,
		    uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct mad_header header = mad_read_header(mad);
	bool directed = header.mgmt_class == CLASS_SUBN_DIRECTED, smp = mad_is_smp(mad);
	uint32_t port = directed ? follow_path(world, mad) : port_of_lid[to->lid];
	uint16_t status = directed ? 0x8000 : 0;

	if (port == FABRIC_NONE || !is_responsive(world, port, header.mgmt_class))
		return false;
	if (!smp)
		status = respond_pma(world, port, header.attribute, at_us, mad + PMA_DATA_OFFSET);
	else if (!respond_smp(world, port, &header, mad + SMP_DATA_OFFSET))
		return false;
	mad[3] = METHOD_GET_RESPONSE;
	put_be16(mad + 4, status);
	return true;
}
