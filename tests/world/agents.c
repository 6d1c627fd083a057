/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "tests/world/virtual.h"
#include "wire/pma.h"

/* MAD status. Source: IBA Vol 1, 13.4.7. */
enum { STATUS_BUSY = 0x0001, STATUS_REDIRECT = 0x0002, STATUS_UNSUPPORTED = 0x000c, STATUS_BAD_FIELD = 0x001c };

/* A redirection leads to this queue pair plus the number of the node, with this key. */
#define REDIRECT_QP 0x1000
#define REDIRECT_QKEY 0x1234

/* SMInfo.SMState. Source: IBA Vol 1, 14.2.5.13. */
enum { SM_STANDBY = 2, SM_MASTER = 3 };

static bool is_switch(const struct virtual *world, uint32_t port)
{
	return world->built->nodes[world->built->ports[port].node].type == NODE_SWITCH;
}

/* In zeroed bytes. Values above the maximum of the field saturate, as counters do. */
static void put_field(uint8_t *bytes, unsigned bit_offset, unsigned bits, uint64_t value)
{
	if (!value)
		return;
	if (bits < 64 && value > (UINT64_C(1) << bits) - 1)
		value = (UINT64_C(1) << bits) - 1;
	if (bits < 8) {
		bytes[bit_offset / 8] |= (uint8_t)(value << (8 - bits - bit_offset % 8));
		return;
	}
	for (unsigned i = 0; i < bits / 8; i++)
		bytes[bit_offset / 8 + i] = (uint8_t)(value >> (bits - 8 - 8 * i));
}

static void put_counters(struct virtual *world, uint32_t port, enum counter_attribute attribute, int64_t at_us,
			 uint8_t *data)
{
	uint64_t traffic[COUNTER_COUNT];
	const uint64_t *values = world->counters ? world->counters[port].value : traffic;
	const struct agent *agent = &world->agents[world->built->ports[port].node];
	const struct counter_field *fields;
	size_t count;

	if (!world->counters) {
		virtual_read_port(world, port, at_us, traffic);
		if (agent->wait_factor > 0)
			traffic[COUNTER_XMIT_WAIT] =
				(uint64_t)((double)traffic[COUNTER_XMIT_WAIT] * agent->wait_factor);
	}
	fields = counter_fields(&count);
	for (size_t i = 0; i < count; i++)
		if (fields[i].attribute == attribute &&
		    !(agent->errors_narrow && fields[i].bits == 64 && fields[i].counter >= COUNTER_TRAFFIC_COUNT))
			put_field(data, fields[i].bit_offset, fields[i].bits, values[fields[i].counter]);
}

/* Detail counters; those of FEC in the layout of the mode, for one lane. Source: libibmad fields.c. */
static void put_detail(const struct agent *agent, uint64_t (*details)[DETAIL_MAX],
		       enum detail_attribute attribute, uint8_t *data)
{
	static const uint8_t widths[DETAIL_ATTRIBUTE_COUNT] = {
		[DETAIL_OP_RCV] = 32, [DETAIL_FLOW_CTL] = 32, [DETAIL_VL_OP_DATA] = 32, [DETAIL_VL_FLOW_CTL_ERRORS] = 2,
		[DETAIL_RCV_CON_CTRL] = 32, [DETAIL_SL_RCV_FECN] = 32, [DETAIL_SL_RCV_BECN] = 32,
		[DETAIL_XMIT_CON_CTRL] = 32, [DETAIL_VL_XMIT_TIME_CONG] = 32, [DETAIL_XMIT_DATA_SL] = 32,
		[DETAIL_RCV_DATA_SL] = 32, [DETAIL_XMIT_DATA_SL_EXT] = 64, [DETAIL_RCV_DATA_SL_EXT] = 64,
	};
	const uint64_t *value = details[attribute];
	unsigned width = widths[attribute] ? widths[attribute] : 16;
	bool rs = agent->fec_mode >= 2;

	if (attribute != DETAIL_EXTENDED_SPEEDS) {
		for (unsigned i = 0; i < detail_count(attribute); i++)
			put_field(data, (width == 64 ? 64 : 32) + width * i, width, value[i]);
		return;
	}
	put_field(data, 8 * 16, 16, value[DETAIL_SYNC_HEADER_ERRORS]);
	put_field(data, 8 * 18, 16, value[DETAIL_UNKNOWN_BLOCKS]);
	for (unsigned i = 0; i < detail_count(DETAIL_LANE_ERRORS); i++)
		put_field(data, 8 * (20 + 2 * i), 16, details[DETAIL_LANE_ERRORS][i]);
	put_field(data, 8 * 44, 32, value[rs ? DETAIL_FEC_CORRECTED_SYMBOLS : DETAIL_FEC_CORRECTED_BLOCKS]);
	if (!rs)
		put_field(data, 8 * 92, 32, value[DETAIL_FEC_UNCORRECTED_BLOCKS]);
	for (unsigned i = 0; rs && i < 3; i++)
		put_field(data, 8 * (140 + 4 * i), 32, value[DETAIL_FEC_CORRECTED_BLOCKS + i]);
}

/* The status with which the node rejects a query; 0: it does not. */
static uint16_t rejection(struct agent *agent, uint16_t attribute)
{
	enum detail_attribute detail = pma_detail_attribute(attribute);

	if (agent->no_counters || (agent->no_caps && attribute == PMA_CLASS_PORT_INFO) ||
	    (agent->tick_rejected && attribute == PMA_PORT_SAMPLES_CONTROL) ||
	    (detail != DETAIL_ATTRIBUTE_COUNT && agent->rejected & 1u << detail))
		return STATUS_UNSUPPORTED;
	if (attribute == agent->busy_once) {
		agent->busy_once = 0;
		return STATUS_BUSY;
	}
	return attribute == PMA_PORT_COUNTERS_EXTENDED ? agent->extended_status : 0;
}

static void put_caps(const struct agent *agent, bool of_switch, uint8_t *data)
{
	static const struct pma_caps usual[] = { { .cap_mask = 0x5a00, .cap_mask2 = PMA_CAP2_EXTENDED_ERRORS },
						 { .cap_mask = 0x5300, .cap_mask2 = PMA_CAP2_EXTENDED_ERRORS } };
	const struct pma_caps *caps = agent->caps.known ? &agent->caps : &usual[of_switch];

	put_be16(data + 2, caps->cap_mask);
	put_be32(data + 4, caps->cap_mask2 << 5);
}

/*
 * 64-bit error counters, and PortXmitWait in units of 8 bytes: switches as Quantum, HCAs as published of ConnectX-7.
 * Nodes have the detail counters that a test sets. Return: the MAD's status.
 */
static uint16_t respond_pma(struct virtual *world, uint32_t port, uint16_t attribute, int64_t at_us, uint8_t *data)
{
	bool of_switch = is_switch(world, port);
	uint32_t node = world->built->ports[port].node;
	uint32_t selected = of_switch ? fabric_node_port(world->built, node, data[1]) : port;
	struct agent *agent = &world->agents[node];
	enum detail_attribute detail = pma_detail_attribute(attribute);
	uint16_t status = rejection(agent, attribute);

	if (status)
		return status;
	switch (attribute) {
	case PMA_CLASS_PORT_INFO:
		put_caps(agent, of_switch, data);
		return 0;
	case PMA_PORT_SAMPLES_CONTROL:
		data[2] = agent->tick ? agent->tick : 7;
		return 0;
	case PMA_PORT_COUNTERS:
	case PMA_PORT_COUNTERS_EXTENDED:
		if (selected == FABRIC_NONE)
			return STATUS_UNSUPPORTED;
		put_counters(world, selected, attribute == PMA_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS
									     : ATTRIBUTE_PORT_COUNTERS_EXTENDED,
			     at_us, data);
		return 0;
	default:
		if (!world->counters || detail == DETAIL_ATTRIBUTE_COUNT || selected == FABRIC_NONE)
			return STATUS_UNSUPPORTED;
		put_detail(agent, world->counters[selected].details, detail, data);
		return 0;
	}
}

/*
 * GeneralInfo of a device with an extended version, whose old one has the lower bytes. Written from byte 24 of the MAD
 * on, as the structures of vendstat.c are: 8 reserved bytes, hardware (32), firmware (36), extended version.
 */
static uint16_t respond_vendor(const struct agent *agent, uint16_t attribute, uint8_t mad[MAD_SIZE])
{
	const struct firmware *firmware = &agent->firmware;
	uint8_t *version = mad + 24 + 8 + 32, *extended = version + 36;
	char date[9];

	if (attribute != 0x17 || !firmware->source)
		return STATUS_UNSUPPORTED;
	version[1] = (uint8_t)firmware->major;
	version[2] = (uint8_t)firmware->minor;
	version[3] = (uint8_t)firmware->sub_minor;
	snprintf(date, sizeof(date), "%08u", firmware->built % 100000000);
	put_be16(version + 10, (uint16_t)strtoul((char[]){ date[0], date[1], date[2], date[3], 0 }, NULL, 16));
	put_be16(version + 8, (uint16_t)strtoul(date + 4, NULL, 16));
	memcpy(version + 16, firmware->psid, 16);
	put_be32(extended, firmware->major);
	put_be32(extended + 4, firmware->minor);
	put_be32(extended + 8, firmware->sub_minor);
	return 0;
}

static void put_node_info(const struct node *node, const struct port *at, uint8_t *data)
{
	data[2] = node->type;
	data[3] = node->port_count;
	put_be64(data + 4, node->system_guid);
	put_be64(data + 12, node->guid);
	put_be64(data + 20, at->guid ? at->guid : node->guid);
	put_be16(data + 28, node->partition_cap);
	put_be16(data + 30, node->device_id);
	put_be32(data + 36, (uint32_t)at->num << 24 | node->vendor_id);
}

static void put_port_info(const struct port *port, uint16_t lid, uint8_t *data)
{
	bool up = !port->num || port->state >= PORT_INIT;

	put_be16(data + 16, lid);
	put_be32(data + 20, port->cap_mask);
	data[31] = port->width;
	data[32] = port->state;
	data[33] = (uint8_t)((up ? PHYS_LINK_UP : PHYS_POLLING) << 4);
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

/*
 * The P_Keys that a test sets; without any, only the default partition. The modifier of a switch has the port above
 * the block. Return: whether the port has such a block.
 */
static bool put_pkeys(struct virtual *world, uint32_t port, uint32_t modifier, uint8_t *data)
{
	uint32_t node = world->built->ports[port].node, block = modifier & 0xffff;
	bool of_switch = is_switch(world, port);
	const struct pkey_table *table;

	if (of_switch)
		port = fabric_node_port(world->built, node, (uint8_t)(modifier >> 16));
	world->agents[node].pkey_queries++;
	if (port == FABRIC_NONE || (world->built->nodes[node].partition_cap && !of_switch &&
				    block * PKEYS_BLOCK >= world->built->nodes[node].partition_cap))
		return false;
	table = pkeys_of(&world->pkeys, world->built, port);
	if (!table && !block && !of_switch)
		put_be16(data, PKEY_DEFAULT);
	for (unsigned i = 0; table && i < PKEYS_BLOCK && block * PKEYS_BLOCK + i < table->count; i++)
		put_be16(data + (size_t)2 * i, table->keys[block * PKEYS_BLOCK + i]);
	return true;
}

/* Return: whether a subnet manager runs at the port. */
static bool put_sm_info(const struct virtual *world, uint32_t port, uint8_t *data)
{
	const struct port *at = &world->built->ports[port];
	const struct agent *agent = &world->agents[at->node];
	bool master = port == world->sm_port || world->sm_masters > 1;

	if (agent->sm_silent)
		return false;
	if (agent->sm_state) {
		put_be64(data, world->built->nodes[at->node].guid);
		put_be32(data + 16, world->act_count);
		data[20] = agent->sm_state;
		return true;
	}
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
	struct agent *agent = &world->agents[at->node];
	uint32_t selected;

	switch (header->attribute) {
	case SMP_NODE_INFO:
		put_node_info(node, at, data);
		return true;
	case SMP_NODE_DESCRIPTION:
		memcpy(data, node->desc, NODE_DESC_SIZE);
		return true;
	case SMP_SWITCH_INFO:
		put_be16(data + 6, node->lft_top);
		put_be16(data + 14, node->enforcement_cap);
		data[16] = 1 << 3; /* EnhancedPort0 */
		data[11] = agent->state_change ? 1 << 2 : 0;
		return true;
	case SMP_PORT_INFO:
		selected = port;
		if (is_switch(world, port) || header->modifier)
			selected = fabric_node_port(world->built, at->node, (uint8_t)header->modifier);
		if (selected == FABRIC_NONE)
			return false;
		put_port_info(&world->built->ports[selected], fabric_port_lid(world->built, at), data);
		return true;
	case SMP_PKEY_TABLE:
		return put_pkeys(world, port, header->modifier, data);
	case SMP_LINEAR_FORWARDING_TABLE:
		put_table_block(world, node->guid, header->modifier, data);
		return true;
	case SMP_SM_INFO:
		return put_sm_info(world, port, data);
	case SMP_PORT_INFO_EXTENDED:
		data[3] = world->counters != NULL;
		data[5] = agent->fec_mode;
		return true;
	case SMP_MLNX_ADAPTIVE_ROUTING_INFO:
		agent->adaptive_queries++;
		data[3] = agent->adaptive;
		return true;
	case SMP_MLNX_EXTENDED_PORT_INFO:
		data[17] = (uint8_t)(agent->vendor_fec_mode << 4);
		return true;
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

	for (unsigned hop = 1; hop <= mad[7]; hop++) {
		uint32_t out = fabric_node_port(built, built->ports[port].node, mad[128 + hop]);

		if (out == FABRIC_NONE || built->ports[out].state < PORT_INIT ||
		    (hop > 1 && !is_switch(world, port)))
			return FABRIC_NONE;
		port = built->ports[out].peer;
	}
	return port;
}

/*
 * Does the node that owns the port respond to this class? A switch, and the local host to its own SMPs,
 * need no link. A locked node drops only SMPs that are routed by LID, as in ibwire-sim.
 */
static bool is_responsive(const struct virtual *world, uint32_t port, uint8_t mgmt_class)
{
	const struct port *at = &world->built->ports[port];

	if (world->nodes[at->node].off || (mgmt_class == CLASS_SUBN_LID && world->nodes[at->node].locked) ||
	    (mgmt_class == CLASS_PERFORMANCE && world->nodes[at->node].silent))
		return false;
	return is_switch(world, port) || at->state >= PORT_INIT ||
	       (mgmt_class == CLASS_SUBN_DIRECTED && at->node == world->built->from_node);
}

/* The port that a MAD by LID arrives at; other queue pairs than 1 are those of redirections. */
static uint32_t find_by_lid(const struct virtual *world, const uint32_t port_of_lid[UINT16_MAX + 1],
			    const struct mad_address *to)
{
	uint32_t node = to->qp - REDIRECT_QP + world->qp_shift;

	if (to->qp < REDIRECT_QP || port_of_lid[to->lid] == FABRIC_NONE)
		return port_of_lid[to->lid];
	return to->qkey == REDIRECT_QKEY && node < world->built->node_count ? world->built->nodes[node].first_port
									      : FABRIC_NONE;
}

/* ClassPortInfo with the address to use. */
static void redirect(const struct virtual *world, uint32_t node, uint8_t *data)
{
	put_be16(data + 28, world->agents[node].redirect);
	put_be32(data + 32, REDIRECT_QP + node - world->qp_shift);
	put_be32(data + 36, REDIRECT_QKEY);
}

/* Count a Get. Return: whether the node responds to it. */
static bool receive(struct agent *agent, const struct mad_header *header, bool smp, uint64_t key)
{
	enum detail_attribute detail = smp ? DETAIL_ATTRIBUTE_COUNT : pma_detail_attribute(header->attribute);

	if (smp) {
		agent->table_queries += header->attribute == SMP_LINEAR_FORWARDING_TABLE;
		agent->sm_queries += header->attribute == SMP_SM_INFO;
		agent->smps++;
		agent->smps_dropped += agent->mkey && key != agent->mkey;
		if ((agent->mkey && key != agent->mkey) || (header->attribute == agent->ignored_smp &&
							     header->modifier == agent->ignored_port))
			return false;
		if (agent->responses_left && !--agent->responses_left) {
			agent->dead = true;
			return true;
		}
		return !agent->dead;
	}
	if (detail != DETAIL_ATTRIBUTE_COUNT)
		agent->detail_queries++;
	else
		agent->queries++;
	agent->queries_dropped += agent->pm_key && key != agent->pm_key;
	return !agent->dead && (!agent->pm_key || key == agent->pm_key) &&
	       (detail == DETAIL_ATTRIBUTE_COUNT || !(agent->ignored & 1u << detail));
}

/* Does a MAD from one port arrive at another one, along the forwarding tables? */
static bool is_routed(const struct virtual *world, uint32_t from, uint32_t to)
{
	const struct fabric *built = world->built;
	const struct port *target = &built->ports[to];
	uint16_t lid = fabric_port_lid(built, target);
	uint32_t at = from;

	for (unsigned hop = 0; hop < ROUTE_HOPS_MAX; hop++) {
		const struct route_table *table;
		const struct port *port;

		if (built->ports[at].node == target->node)
			return true;
		table = routes_find(&world->tables, built->nodes[built->ports[at].node].guid);
		if (table)
			at = fabric_node_port(built, built->ports[at].node, routes_out_port(table, lid));
		if (at == FABRIC_NONE)
			return false;
		port = &built->ports[at];
		if (port->peer == FABRIC_NONE || port->state != PORT_ACTIVE ||
		    built->ports[port->peer].state != PORT_ACTIVE)
			return false;
		at = port->peer;
		if (!is_switch(world, at))
			return built->ports[at].node == target->node;
	}
	return false;
}

/* The request and its response arrive. */
static bool is_reachable(const struct virtual *world, uint32_t port)
{
	const struct fabric *built = world->built;
	uint32_t own = built->nodes[built->from_node == FABRIC_NONE ? 0 : built->from_node].first_port;

	return built->ports[port].node == built->ports[own].node ||
	       (is_routed(world, own, port) && is_routed(world, port, own));
}

bool agents_respond(struct virtual *world, const uint32_t port_of_lid[UINT16_MAX + 1], const struct mad_address *to,
		    uint8_t mad[MAD_SIZE], int64_t at_us, const struct agent **ret_agent)
{
	struct mad_header header = mad_read_header(mad);
	bool directed = header.mgmt_class == CLASS_SUBN_DIRECTED, smp = mad_is_smp(mad);
	uint32_t port = directed ? follow_path(world, mad) : find_by_lid(world, port_of_lid, to);
	uint16_t status = directed ? 0x8000 : 0;
	struct agent *agent;
	uint32_t node;

	if (port == FABRIC_NONE || (!directed && world->wrong_routes && !is_reachable(world, port)))
		return false;
	node = world->built->ports[port].node;
	agent = &world->agents[node];
	*ret_agent = agent;
	if (header.mgmt_class == CLASS_VENDOR_MLNX) {
		agent->firmware_queries++;
		if (agent->dead || agent->vendor_silent || !is_responsive(world, port, CLASS_PERFORMANCE))
			return false;
		mad[3] = METHOD_GET_RESPONSE;
		put_be16(mad + 4, respond_vendor(agent, header.attribute, mad));
		return true;
	}
	if (!smp && to->qp >= REDIRECT_QP && agent->redirect_closed)
		return false;
	if (!receive(agent, &header, smp, get_be64(mad + 24)) || !is_responsive(world, port, header.mgmt_class))
		return false;
	if (!smp && agent->redirect && (!to->qp || agent->redirect_loop)) {
		status = STATUS_REDIRECT;
		redirect(world, node, mad + PMA_DATA_OFFSET);
	} else if (!smp) {
		status = respond_pma(world, port, header.attribute, at_us, mad + PMA_DATA_OFFSET);
		if (agent->no_port_select)
			mad[PMA_DATA_OFFSET + 1] = 0;
	} else if (header.attribute == agent->rejected_smp) {
		status |= STATUS_BAD_FIELD;
	} else if (!respond_smp(world, port, &header, mad + SMP_DATA_OFFSET)) {
		return false;
	}
	mad[3] = METHOD_GET_RESPONSE;
	put_be16(mad + 4, status);
	return true;
}
