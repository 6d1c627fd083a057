/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/node_facts.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "fabric/device.h"
#include "fabric/fabric.h"
#include "fabric/pkeys.h"
#include "fabric/shape.h"
#include "facts/cells.h"
#include "facts/order.h"
#include "facts/port_facts.h"
#include "facts/port_marks.h"
#include "storage/findings.h"
#include "storage/reader.h"

/*
 * Status of a node: that of its linked ports; if they differ, the worst, where "ok" and "idle"
 * together are "ok".
 */
static enum port_status status_of(const uint32_t by_status[STATUS_COUNT])
{
	for (int status = STATUS_SILENT; status >= STATUS_NEW; status--)
		if (by_status[status])
			return (enum port_status)status;
	if (by_status[STATUS_OK])
		return STATUS_OK;
	return by_status[STATUS_IDLE] ? STATUS_IDLE : STATUS_DOWN;
}

void node_facts_of(const struct port_scope *scope, uint32_t index, bool locked, const char *adaptive_routing,
		   struct node_facts *ret)
{
	const struct fabric *fabric = scope->snapshot->fabric;
	const struct node *node = &fabric->nodes[index];
	uint32_t by_status[STATUS_COUNT] = { 0 };

	*ret = (struct node_facts){
		.scope = scope, .node = index, .adaptive_routing = adaptive_routing,
		.xmit_bytes_per_s = MEASURE_NONE, .rcv_bytes_per_s = MEASURE_NONE, .errors = MEASURE_NONE, .age_s = NAN,
	};
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *port = &fabric->ports[i];
		struct port_facts one;

		if (!port_is_pollable(fabric, port))
			continue;
		port_facts_of(scope, i, &one);
		ret->ports_active += port->num > 0 && port->state == PORT_ACTIVE;
		by_status[one.status]++;
		port_facts_add(&one, &ret->xmit_bytes_per_s, &ret->rcv_bytes_per_s);
		ret->errors = measure_add(ret->errors, one.errors);
		if (!isnan(one.age_s) && !(one.age_s >= ret->age_s))
			ret->age_s = one.age_s;
	}
	/* A node that does not respond to SMPs counts as a "locked" port. */
	by_status[STATUS_LOCKED] += locked;
	ret->status = status_of(by_status);
}

/* --- columns --- */

static const struct node *node_of(const struct node_facts *facts)
{
	return &facts->scope->snapshot->fabric->nodes[facts->node];
}

static const struct shape_node *place_of(const struct node_facts *facts)
{
	return facts->scope->shape ? &facts->scope->shape->nodes[facts->node] : NULL;
}

static double number_time(const void *row)
{
	return (double)((const struct node_facts *)row)->scope->snapshot->sweep.wall_us;
}

static void fill_name(struct result *result, size_t at, const void *row)
{
	const struct node_facts *facts = row;

	result_text(result, at, node_of(row)->name);
	result_show(result, at, facts->scope->order->names[facts->node], STYLE_PLAIN);
}

static void fill_type(struct result *result, size_t at, const void *row)
{
	result_text(result, at, node_type_name(node_of(row)->type));
}

static void fill_class(struct result *result, size_t at, const void *row)
{
	const struct shape_node *place = place_of(row);

	if (place)
		result_text(result, at, node_class_name(place->class));
}

static double number_tier(const void *row)
{
	const struct shape_node *place = place_of(row);

	return place && place->tier ? place->tier : NAN;
}

/* Other nodes than switches have none. */
static void fill_tier(struct result *result, size_t at, const void *row)
{
	double tier = number_tier(row);

	if (!isnan(tier))
		result_integer(result, at, (int64_t)tier);
	else if (node_of(row)->type != NODE_SWITCH)
		result_show(result, at, "", STYLE_PLAIN);
}

static void fill_host(struct result *result, size_t at, const void *row)
{
	const struct node_facts *facts = row;
	const struct shape_node *place = place_of(row);

	if (place && place->host != SHAPE_NONE)
		result_text(result, at, facts->scope->shape->hosts[place->host].name);
}

static void fill_rails(struct result *result, size_t at, const void *row)
{
	const struct node_facts *facts = row;
	const struct shape *shape = facts->scope->shape;
	const struct node *node = node_of(row);

	if (node->type == NODE_SWITCH || !shape)
		return;
	result_empty(result, at);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (shape->ports[i].rail != SHAPE_NONE)
			result_item(result, at, "%s", shape->rails[shape->ports[i].rail].name);
}

enum { NODE_GUID, SYSTEM_GUID, VENDOR_ID, REVISION };

static void fill_unsigned(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct node *node = node_of(row);

	result_unsigned(result, at, which == NODE_GUID   ? node->guid :
				    which == SYSTEM_GUID ? node->system_guid :
				    which == VENDOR_ID   ? node->vendor_id :
							   node->revision);
}

/* The LID of a switch, else the next one of its ports from @port on, which is set behind it; 0: none. */
static unsigned next_lid(const struct node_facts *facts, uint32_t *port)
{
	const struct node *node = node_of(facts);
	unsigned lid = 0;

	if (node->type == NODE_SWITCH) {
		lid = *port == node->first_port ? node->lid : 0;
		*port = node->first_port + 1;
		return lid;
	}
	while (!lid && *port < node->first_port + node->ports)
		lid = facts->scope->snapshot->fabric->ports[(*port)++].lid;
	return lid;
}

static double number_lid(const void *row)
{
	uint32_t port = node_of(row)->first_port;
	unsigned lid = next_lid(row, &port);

	return lid ? lid : NAN;
}

static void fill_lids(struct result *result, size_t at, const void *row)
{
	uint32_t port = node_of(row)->first_port;
	unsigned lid;

	result_empty(result, at);
	while ((lid = next_lid(row, &port)))
		result_item(result, at, "%u", lid);
}

static void fill_port_guids(struct result *result, size_t at, const void *row)
{
	const struct fabric *fabric = ((const struct node_facts *)row)->scope->snapshot->fabric;
	const struct node *node = node_of(row);
	uint32_t count = node->type == NODE_SWITCH && node->ports ? 1 : node->ports;

	result_empty(result, at);
	for (uint32_t i = node->first_port; i < node->first_port + count; i++)
		result_item(result, at, "0x%016" PRIx64, fabric_port_guid(fabric, i));
}

static double number_ports(const void *row)
{
	return node_of(row)->port_count;
}

static void fill_status(struct result *result, size_t at, const void *row)
{
	cells_status(result, at, ((const struct node_facts *)row)->status);
}

/* The worst finding at the node or one of its ports. */
static const struct finding_row *finding_of(const struct node_facts *facts)
{
	const struct port_scope *scope = facts->scope;
	const struct node *node = node_of(facts);
	size_t worst = scope->finding_of ? scope->finding_count : 0;

	for (size_t i = 0; i < worst; i++)
		if (scope->findings[i].finding.node_guid == node->guid)
			worst = i;
	for (uint32_t i = node->first_port; scope->finding_of && i < node->first_port + node->ports; i++)
		if (scope->finding_of[i] && scope->finding_of[i] - 1 < worst)
			worst = scope->finding_of[i] - 1;
	return scope->finding_of && worst < scope->finding_count ? &scope->findings[worst] : NULL;
}

static double number_finding(const void *row)
{
	const struct finding_row *finding = finding_of(row);

	return finding ? port_mark_of(finding) : NAN;
}

static void fill_finding(struct result *result, size_t at, const void *row)
{
	cells_finding(result, at, finding_of(row));
}

static void fill_errors(struct result *result, size_t at, const void *row)
{
	const struct node_facts *facts = row;

	result_measure(result, at, facts->errors);
	if (facts_has_errors(facts->errors))
		result_show(result, at, NULL, STYLE_WARNING);
}

static void fill_model(struct result *result, size_t at, const void *row)
{
	const struct node *node = node_of(row);
	char buffer[DEVICE_MODEL_SIZE];
	const char *model = device_model(node, buffer);

	result_text(result, at, model);
	/* To be looked up in pci.ids. */
	if (!model)
		result_showf(result, at, STYLE_DIM, "%#x:%#x", node->vendor_id, node->device_id);
}

static double number_device(const void *row)
{
	return node_of(row)->device_id;
}

static void fill_firmware(struct result *result, size_t at, const void *row)
{
	char version[FIRMWARE_TEXT_SIZE];

	result_text(result, at, firmware_format(&node_of(row)->firmware, version));
}

static void fill_psid(struct result *result, size_t at, const void *row)
{
	const struct firmware *firmware = &node_of(row)->firmware;

	result_text(result, at, *firmware->psid ? firmware->psid : NULL);
}

static void fill_firmware_built(struct result *result, size_t at, const void *row)
{
	uint32_t built = node_of(row)->firmware.built;
	char date[24];

	snprintf(date, sizeof(date), "%04u-%02u-%02u", built / 10000, built / 100 % 100, built % 100);
	result_text(result, at, built ? date : NULL);
}

static void fill_firmware_source(struct result *result, size_t at, const void *row)
{
	result_text(result, at, firmware_source_name((enum firmware_source)node_of(row)->firmware.source));
}

static double number_firmware_changed(const void *row)
{
	int64_t changed_us = node_of(row)->firmware.changed_us;

	return changed_us ? (double)changed_us : NAN;
}

static void fill_description(struct result *result, size_t at, const void *row)
{
	const struct node *node = node_of(row);
	char description[NODE_NAME_SIZE];

	text_sanitise(node->desc, sizeof(node->desc), description, sizeof(description));
	result_text(result, at, description);
}

/* Those of all its ports, each once. Unknown: no table was read. */
static void fill_pkeys(struct result *result, size_t at, const void *row)
{
	const struct port_scope *scope = ((const struct node_facts *)row)->scope;
	const struct node *node = node_of(row);
	bool any = false;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct pkey_table *table = pkeys_of(scope->pkeys, scope->snapshot->fabric, i);

		if (table && !any)
			result_empty(result, at);
		any |= table != NULL;
		for (unsigned j = 0; table && j < table->count; j++) {
			bool listed = !table->keys[j];

			for (uint32_t k = node->first_port; k <= i && !listed; k++) {
				const struct pkey_table *other = pkeys_of(scope->pkeys, scope->snapshot->fabric, k);

				for (unsigned n = 0; other && n < (k == i ? j : other->count) && !listed; n++)
					listed = other->keys[n] == table->keys[j];
			}
			if (!listed)
				result_item(result, at, "0x%04x", table->keys[j]);
		}
	}
}

#define MEMBER(member) COLUMN_MEMBER(struct node_facts, member)

const struct column node_columns[] = {
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE, .number = number_time,
	  .help = "time of the sweep that the numbers are of" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	  .fill = fill_name, .help = "name of the node" },
	{ .key = "type", .title = "TYPE", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE, .fill = fill_type,
	  .help = "node type: switch, CA, router" },
	{ .key = "class", .title = "CLASS", .kind = COLUMN_TEXT, .priority = 1, .fill = fill_class,
	  .help = "role of the node: switch, HCA, aggregation, router, ..." },
	{ .key = "tier", .title = "TIER", .kind = COLUMN_INTEGER, .priority = 6, .number = number_tier,
	  .fill = fill_tier, .help = "tier of a switch: 1 is next to the hosts" },
	{ .key = "host", .title = "HOST", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE, .fill = fill_host,
	  .help = "host that the HCA belongs to" },
	{ .key = "rails", .title = "RAILS", .kind = COLUMN_LIST, .flags = COLUMN_NO_TABLE, .fill = fill_rails,
	  .help = "rails of its ports" },
	{ .key = "node_guid", .title = "GUID", .kind = COLUMN_GUID, .priority = 5, .fill = fill_unsigned,
	  .which = NODE_GUID, .help = "node GUID" },
	{ .key = "system_guid", .title = "SYSTEM GUID", .kind = COLUMN_GUID, .flags = COLUMN_NO_TABLE,
	  .fill = fill_unsigned, .which = SYSTEM_GUID, .help = "system image GUID" },
	{ .key = "port_guids", .title = "PORT GUIDS", .kind = COLUMN_LIST, .flags = COLUMN_NO_TABLE,
	  .fill = fill_port_guids, .help = "GUIDs of its ports; a switch has one" },
	{ .key = "lid", .title = "LID", .kind = COLUMN_INTEGER, .priority = 4, .number = number_lid,
	  .help = "LID of the switch, or the first one of its ports" },
	{ .key = "lids", .title = "LIDS", .kind = COLUMN_LIST, .flags = COLUMN_NO_TABLE, .fill = fill_lids,
	  .help = "LIDs of all ports" },
	{ .key = "port_count", .title = "PORTS", .kind = COLUMN_INTEGER, .number = number_ports,
	  .help = "number of ports" },
	{ .key = "ports_active", .title = "ACTIVE", .kind = COLUMN_INTEGER, MEMBER(ports_active),
	  .help = "ports in PortState Active" },
	{ .key = "status", .title = "STATUS", .kind = COLUMN_TEXT, MEMBER(status), .fill = fill_status,
	  .help = "status of its linked ports; if they differ, the worst" },
	{ .key = "finding", .title = HEADING_FINDING, .kind = COLUMN_TEXT, .priority = 3, .number = number_finding,
	  .fill = fill_finding, .help = "severity and kind of the worst open finding at the node or its ports" },
	{ .key = "xmit_bytes_per_s", .title = "TX", .narrow = "TXb/s", .kind = COLUMN_RATE, .priority = 2,
	  MEMBER(xmit_bytes_per_s), .help = "data rate sent by all ports" },
	{ .key = "rcv_bytes_per_s", .title = "RX", .narrow = "RXb/s", .kind = COLUMN_RATE, .priority = 2,
	  MEMBER(rcv_bytes_per_s), .help = "data rate received by all ports" },
	{ .key = "ports_measured", .title = "MEASURED", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  MEMBER(xmit_bytes_per_s.exact), .help = "ports whose sent data rate is exact" },
	{ .key = "ports_linked", .title = "LINKED", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  MEMBER(xmit_bytes_per_s.parts),
	  .help = "ports with a link; with fewer measured ones the rates are lower bounds" },
	{ .key = "errors", .title = "ERRORS", .kind = COLUMN_INTEGER, .priority = 3, MEMBER(errors),
	  .fill = fill_errors, .help = "errors of all ports in the window" },
	{ .key = "model", .title = "MODEL", .kind = COLUMN_TEXT, .priority = 3, .fill = fill_model,
	  .help = "product name, or vendor and device ID" },
	{ .key = "firmware", .title = "FIRMWARE", .kind = COLUMN_TEXT, .priority = 4, .fill = fill_firmware,
	  .help = "firmware version, as read with collect --firmware or imported" },
	{ .key = "psid", .title = "PSID", .kind = COLUMN_TEXT, .priority = 5, .fill = fill_psid,
	  .help = "PSID: configuration of the board that the firmware is made for" },
	{ .key = "firmware_built", .title = "BUILT", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_firmware_built, .help = "date of the firmware" },
	{ .key = "firmware_source", .title = "SOURCE", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_firmware_source, .help = "origin of the version: read or imported" },
	{ .key = "firmware_changed", .title = "UPDATED", .kind = COLUMN_TIME, .flags = COLUMN_NO_TABLE,
	  .number = number_firmware_changed, .help = "time since when another version is replaced" },
	{ .key = "vendor_id", .title = "VENDOR", .kind = COLUMN_HEX, .flags = COLUMN_NO_TABLE, .fill = fill_unsigned,
	  .which = VENDOR_ID, .help = "vendor ID" },
	{ .key = "device_id", .title = "DEVICE", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  .number = number_device, .help = "device ID" },
	{ .key = "revision", .title = "REVISION", .kind = COLUMN_HEX, .flags = COLUMN_NO_TABLE,
	  .fill = fill_unsigned, .which = REVISION, .help = "hardware revision" },
	{ .key = "adaptive_routing", .title = "AR", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  MEMBER(adaptive_routing),
	  .help = "adaptive routing of a switch: on or off, by the settings or as read from it" },
	{ .key = "pkeys", .title = "P_KEYS", .kind = COLUMN_LIST, .flags = COLUMN_NO_TABLE, .fill = fill_pkeys,
	  .help = "P_Keys of its ports: of full members 0x8000 more; of a switch those that its ports enforce" },
	{ .key = "description", .title = "DESCRIPTION", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE,
	  .fill = fill_description, .help = "NodeDescription" },
	{ .key = "age_s", .title = "AGE", .kind = COLUMN_SPAN_S, .flags = COLUMN_NO_TABLE, MEMBER(age_s),
	  .help = "age of the newest reading of any of its ports" },
	{ 0 },
};
