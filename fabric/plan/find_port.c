/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan/find_port.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/plan/port_text.h"
#include "fabric/shape.h"

/* The text of a port without the name of its device in front: "node0001 mlx5_0". */
static const char *skip_name(const char *port, const char *name)
{
	size_t len = strlen(name), word;

	if (len && !strncasecmp(port, name, len) && port[len] && !isalnum((unsigned char)port[len]))
		return port + len;
	/* "node0001 mlx5_0" of "node0001.cluster". */
	word = strcspn(name, ".");
	if (name[word] && word && !strncasecmp(port, name, word) && (port[word] == ' ' || port[word] == '/'))
		return port + word;
	return port;
}

static const char *shown(const struct name_index *index, uint32_t node)
{
	return index->shape->fabric->names.shown[node];
}

/* A port by number, or why not. */
static uint32_t by_number(const struct name_index *index, uint32_t node, unsigned num, char why[PLAN_WHY_SIZE])
{
	const struct fabric *fabric = index->shape->fabric;
	uint32_t port = num && num <= UINT8_MAX ? fabric_node_port(fabric, node, (uint8_t)num) : FABRIC_NONE;

	if (port == FABRIC_NONE)
		snprintf(why, PLAN_WHY_SIZE, "%s has no port %u (it has %u)", shown(index, node), num,
			 fabric->nodes[node].port_count);
	return port;
}

/* The port of a switch at a cage, and its part there; 0: the only one. */
static uint32_t by_cage(const struct name_index *index, uint32_t node, unsigned cage, unsigned split,
			char why[PLAN_WHY_SIZE])
{
	const struct node *self = &index->shape->fabric->nodes[node];
	bool known = false, other = false;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct shape_port *place = &index->shape->ports[i];

		known |= place->cage;
		if (place->cage != cage || !cage)
			continue;
		if (place->split == split || (!place->split && split <= 1))
			return i;
		other = true;
	}
	if (!known)
		snprintf(why, PLAN_WHY_SIZE, "the cages of %s are not known: name its ports by number",
			 shown(index, node));
	else if (other && !split)
		snprintf(why, PLAN_WHY_SIZE, "cage %u of %s has two ports: name one, such as %u.1", cage,
			 shown(index, node), cage);
	else
		snprintf(why, PLAN_WHY_SIZE, "%s has no port %u.%u", shown(index, node), cage, split);
	return FABRIC_NONE;
}

static bool knows_cages(const struct name_index *index, uint32_t node, bool *ret_split)
{
	const struct node *self = &index->shape->fabric->nodes[node];
	uint32_t port = self->first_port;

	*ret_split = false;
	/* Port 0 has no cage. */
	for (; port < self->first_port + self->ports; port++)
		if (index->shape->ports[port].cage) {
			*ret_split = index->shape->ports[port].split;
			return true;
		}
	return false;
}

/* Switches with more ports have several in a cage. */
enum { SINGLE_PORTS_MAX = 65 };

/*
 * "6/2" and "6.2" are cage and port where a cage has two ports; with one port in each, "1/21" is slot and port, and
 * "21/1" port and its only part. Source: as of shape_find_cages(); ibdiagnet's net_dump ("Port/Split", "1/Cage/Port").
 */
static uint32_t by_pair(const struct name_index *index, uint32_t node, const struct port_text *text,
			char why[PLAN_WHY_SIZE])
{
	unsigned a = text->numbers[0], b = text->numbers[1];
	bool split, known = knows_cages(index, node, &split);

	if (known && split)
		return by_cage(index, node, a, b, why);
	if (text->dotted && !known)
		return by_cage(index, node, a, b, why);
	if (a == 1 && !text->dotted && (known || index->shape->fabric->nodes[node].port_count <= SINGLE_PORTS_MAX))
		return by_number(index, node, b, why);
	return by_cage(index, node, a, b, why);
}

/* The port of one switch, without module and ASIC. */
static uint32_t switch_port(const struct name_index *index, uint32_t node, const struct port_text *text,
			    char why[PLAN_WHY_SIZE])
{
	if (*text->device || text->hca || text->interface >= 0) {
		snprintf(why, PLAN_WHY_SIZE, "%s is a switch", shown(index, node));
		return FABRIC_NONE;
	}
	if (text->cage && !text->count)
		return by_cage(index, node, text->cage, text->split, why);
	switch (text->count) {
	case 0:
		snprintf(why, PLAN_WHY_SIZE, "no port of %s is given", shown(index, node));
		return FABRIC_NONE;
	case 1:
		return text->split ? by_cage(index, node, text->numbers[0], text->split, why) :
		       by_number(index, node, text->numbers[0], why);
	case 2:
		return by_pair(index, node, text, why);
	case 3:
		if (text->numbers[0] == 1)
			return by_cage(index, node, text->numbers[1], text->numbers[2], why);
		/* fall through */
	default:
		snprintf(why, PLAN_WHY_SIZE, "%s has one ASIC and no such port", shown(index, node));
		return FABRIC_NONE;
	}
}

/* The switch of a box with this line or spine module and ASIC. */
static uint32_t find_module(const struct name_index *index, const struct name_found *found,
			    const struct name_module *wanted, bool any_asic, size_t *ret_count)
{
	uint32_t node = FABRIC_NONE;

	*ret_count = 0;
	for (uint32_t at = found->entry; at != FABRIC_NONE; at = name_index_next(index, at)) {
		uint32_t what = index->entries[at].what;
		struct name_module module;

		if (!name_module(index->shape->fabric->nodes[what].name, &module) || module.module != wanted->module ||
		    module.kind != wanted->kind || (!any_asic && module.asic != wanted->asic))
			continue;
		node = what;
		++*ret_count;
	}
	return node;
}

/* The port of a director: "Blade 16_Port 2/20" is ASIC 2 of line module 16, port 20. */
static uint32_t box_port(const struct name_index *index, const char *device, const struct name_found *found,
			 struct port_text *text, uint32_t *ret_node, char why[PLAN_WHY_SIZE])
{
	struct name_module wanted = { text->module, text->module_number, text->asic };
	size_t count;

	if (!wanted.asic && text->count == 2 && !text->dotted) {
		wanted.asic = text->numbers[0];
		text->numbers[0] = text->numbers[1];
		text->count = 1;
	}
	*ret_node = find_module(index, found, &wanted, !wanted.asic, &count);
	if (count == 1)
		return switch_port(index, *ret_node, text, why);
	*ret_node = FABRIC_NONE;
	if (count)
		snprintf(why, PLAN_WHY_SIZE, "%zu switches of %s fit: give the ASIC, such as Port 1/%u", count,
			 device, text->count ? text->numbers[0] : 1);
	else if (!wanted.kind && !wanted.asic)
		snprintf(why, PLAN_WHY_SIZE, "%s has %zu switches: give module and ASIC, such as Blade 2_Port 1/20",
			 device, found->count);
	else if (wanted.kind)
		snprintf(why, PLAN_WHY_SIZE, "%s has no %s module %u with ASIC %u", device,
			 wanted.kind == 'L' ? "line" : "spine", wanted.module, wanted.asic ? wanted.asic : 1);
	else
		snprintf(why, PLAN_WHY_SIZE, "%s has no ASIC %u outside of modules", device, wanted.asic);
	return FABRIC_NONE;
}

/* The device of an HCA: "mlx5_0" of "node0001 mlx5_0". */
static bool device_of(const struct name_index *index, uint32_t node, char ret[64])
{
	struct host_words words;

	host_split(index->shape->fabric->nodes[node].name, &words);
	snprintf(ret, 64, "%.*s", (int)words.device_len, words.device_len ? words.device : "");
	return *ret;
}

/* The number of a device among those of its host, from 0: of "mlx5_3" and "HCA-4"; -1: it has none. */
static int device_number(const char *device)
{
	size_t len = strlen(device), digits = 0;
	bool counts_from_1 = !strncasecmp(device, "HCA-", 4);

	while (digits < len && digits < 6 && isdigit((unsigned char)device[len - 1 - digits]))
		digits++;
	return digits ? atoi(device + len - digits) - counts_from_1 : -1;
}

static bool is_numbered_device(const char *device)
{
	return !strncasecmp(device, "HCA-", 4) || (!strncasecmp(device, "mlx", 3) && strlen(device) > 5 &&
						   strspn(device + 5, "0123456789") == strlen(device + 5));
}

/* The HCA of a host with this device. "HCA-1" and "mlx5_0" are the first one in old and new drivers. */
static uint32_t find_device(const struct name_index *index, const struct shape_host *host, const char *device)
{
	char own[64];
	int number = is_numbered_device(device) ? device_number(device) : -1;

	for (uint32_t i = 0; i < host->count; i++) {
		uint32_t node = index->shape->host_nodes[host->first + i];

		if (device_of(index, node, own) && !strcasecmp(own, device))
			return node;
	}
	for (uint32_t i = 0; i < host->count && number >= 0; i++) {
		uint32_t node = index->shape->host_nodes[host->first + i];

		if (device_of(index, node, own) && is_numbered_device(own) &&
		    strncasecmp(own, device, 3) && device_number(own) == number)
			return node;
	}
	return FABRIC_NONE;
}

/* The port of an HCA: by number, the only one, or the only one that is cabled. */
static uint32_t hca_port(const struct name_index *index, uint32_t node, const struct port_text *text,
			 char why[PLAN_WHY_SIZE])
{
	const struct node *self = &index->shape->fabric->nodes[node];
	uint32_t port = self->first_port;
	size_t cabled = 0;

	if (text->module || text->cage || text->count > 1) {
		snprintf(why, PLAN_WHY_SIZE, "%s is an HCA", shown(index, node));
		return FABRIC_NONE;
	}
	if (text->count)
		return by_number(index, node, text->numbers[0], why);
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		if (index->shape->fabric->ports[i].peer == FABRIC_NONE)
			continue;
		port = i;
		cabled++;
	}
	/* Of several ports without a cable any may be meant. */
	if (self->ports && cabled <= 1)
		return port;
	snprintf(why, PLAN_WHY_SIZE, "%s has %zu cables: give its port", shown(index, node), cabled);
	return FABRIC_NONE;
}

/* The port with this number among all those of a host, in order of device; from 0. */
static uint32_t nth_port(const struct name_index *index, const struct shape_host *host, unsigned number)
{
	for (uint32_t i = 0; i < host->count; i++) {
		const struct node *node = &index->shape->fabric->nodes[index->shape->host_nodes[host->first + i]];

		if (number < node->ports)
			return node->first_port + number;
		number -= node->ports;
	}
	return FABRIC_NONE;
}

/* "mlx5_0, mlx5_1": the devices of a host. */
static void list_devices(const struct name_index *index, const struct shape_host *host, char *ret, size_t size)
{
	size_t len = 0;

	for (uint32_t i = 0; i < host->count && len + 1 < size; i++) {
		uint32_t node = index->shape->host_nodes[host->first + i];
		char device[64], guid[24];

		snprintf(guid, sizeof(guid), "0x%016" PRIx64, index->shape->fabric->nodes[node].guid);
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "",
					device_of(index, node, device) ? device : guid);
	}
}

/* Has the host a device with a number? */
static bool has_numbers(const struct name_index *index, const struct shape_host *host)
{
	char device[64];

	for (uint32_t i = 0; i < host->count; i++)
		if (device_of(index, index->shape->host_nodes[host->first + i], device) &&
		    is_numbered_device(device))
			return true;
	return false;
}

/* Is a port the one that its number, from 0, and the number of its device call it? "4" may be mlx5_3, or the fourth. */
static bool is_numbered(const struct name_index *index, uint32_t port, unsigned number)
{
	char device[64];

	return port != FABRIC_NONE && (!device_of(index, index->shape->fabric->ports[port].node, device) ||
				       !is_numbered_device(device) || device_number(device) == (int)number);
}

/* The HCA that a text names by device or number. FABRIC_NONE: none of the host; *ret_given: is one named? */
static uint32_t named_hca(const struct name_index *index, const struct shape_host *host, const struct port_text *text,
			  bool *ret_given)
{
	char name[24];
	uint32_t node;

	*ret_given = true;
	if (*text->device)
		return find_device(index, host, text->device);
	if (text->hca) {
		snprintf(name, sizeof(name), "HCA-%u", text->hca - 1);
		node = find_device(index, host, name);
		/* Devices without numbers: in their order. */
		if (node == FABRIC_NONE && text->hca >= 2 && text->hca - 2 < host->count &&
		    !has_numbers(index, host))
			node = index->shape->host_nodes[host->first + text->hca - 2];
		return node;
	}
	/* "U1/P1" of ibdiagnet: the first HCA. */
	if (text->asic)
		return text->asic <= host->count ? index->shape->host_nodes[host->first + text->asic - 1] :
		       FABRIC_NONE;
	*ret_given = false;
	return FABRIC_NONE;
}

static uint32_t host_port(const struct name_index *index, const struct shape_host *host, struct port_text *text,
			  uint32_t *ret_node, char why[PLAN_WHY_SIZE])
{
	char devices[200];
	uint32_t port = FABRIC_NONE;
	bool given;

	*ret_node = named_hca(index, host, text, &given);
	if (!given && host->count == 1)
		*ret_node = index->shape->host_nodes[host->first];
	if (*ret_node != FABRIC_NONE && text->interface < 0)
		return hca_port(index, *ret_node, text, why);
	list_devices(index, host, devices, sizeof(devices));
	if (given) {
		snprintf(why, PLAN_WHY_SIZE, "%s has no such HCA: it has %s", host->name, devices);
		return FABRIC_NONE;
	}
	/* "ib0" is the first port; "1" is mlx5_0, as tools for the validation of cables have it. */
	if (text->interface >= 0) {
		port = nth_port(index, host, (unsigned)text->interface);
	} else if (text->count == 1 && !text->named && text->numbers[0]) {
		port = nth_port(index, host, text->numbers[0] - 1);
		if (!is_numbered(index, port, text->numbers[0] - 1))
			port = FABRIC_NONE;
	}
	if (port == FABRIC_NONE) {
		snprintf(why, PLAN_WHY_SIZE, "%s has %u HCAs: name one of %s", host->name, host->count, devices);
		*ret_node = FABRIC_NONE;
		return port;
	}
	*ret_node = index->shape->fabric->ports[port].node;
	return port;
}

/* A node by its own name. */
static uint32_t node_port(const struct name_index *index, uint32_t node, const struct port_text *text,
			  char why[PLAN_WHY_SIZE])
{
	const struct node *self = &index->shape->fabric->nodes[node];
	const struct shape_host *host = index->shape->nodes[node].host == SHAPE_NONE ? NULL :
					&index->shape->hosts[index->shape->nodes[node].host];
	struct name_module module = { .asic = 1 };
	bool given;

	if (self->type == NODE_SWITCH) {
		name_module(self->name, &module);
		if ((text->module && (text->module != module.kind || text->module_number != module.module)) ||
		    (text->asic && text->asic != module.asic)) {
			snprintf(why, PLAN_WHY_SIZE, "%s has no such module or ASIC", shown(index, node));
			return FABRIC_NONE;
		}
		/* "2/20" below a module is ASIC 2. */
		if (text->module && text->count == 2 && !text->asic && !text->dotted) {
			if (text->numbers[0] == module.asic)
				return by_number(index, node, text->numbers[1], why);
			snprintf(why, PLAN_WHY_SIZE, "%s has no ASIC %u", shown(index, node), text->numbers[0]);
			return FABRIC_NONE;
		}
		return switch_port(index, node, text, why);
	}
	if (host && (*text->device || (text->hca && host->count > 1)) &&
	    named_hca(index, host, text, &given) != node) {
		char device[64];

		snprintf(why, PLAN_WHY_SIZE, "the HCA %s is not %s", shown(index, node),
			 *text->device ? text->device : "of that number");
		/* Without a device in its description, an HCA may be any. */
		if (device_of(index, node, device) || host->count > 1)
			return FABRIC_NONE;
	}
	return hca_port(index, node, text, why);
}

uint32_t plan_find_port(const struct name_index *index, const char *device, const struct name_found *found,
			const char *port, uint32_t *ret_node, char why[PLAN_WHY_SIZE])
{
	char joined[2 * NAME_MAX_SIZE];
	struct port_text text;

	*ret_node = found->named == NAMED_NODE ? found->what : found->named == NAMED_PORT ?
		    index->shape->fabric->ports[found->what].node : FABRIC_NONE;
	port = skip_name(port, device);
	if (*found->rest) {
		snprintf(joined, sizeof(joined), "%s %s", found->rest, port);
		port = joined;
	}
	if (!port_text_parse(port, &text)) {
		snprintf(why, PLAN_WHY_SIZE, "'%.100s' is no port%s", port, port_text_is_date(port) ?
			 ": the spreadsheet made a date of it, format the column as text" : "");
		return FABRIC_NONE;
	}
	switch (found->named) {
	case NAMED_NODE:
		return node_port(index, found->what, &text, why);
	case NAMED_PORT:
		if (text.count == 1 && text.numbers[0] != index->shape->fabric->ports[found->what].num)
			return hca_port(index, *ret_node, &text, why);
		return found->what;
	case NAMED_HOST:
		return host_port(index, &index->shape->hosts[found->what], &text, ret_node, why);
	case NAMED_BOX:
		return box_port(index, device, found, &text, ret_node, why);
	default:
		return FABRIC_NONE;
	}
}
