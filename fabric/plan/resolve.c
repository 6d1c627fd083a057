/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ports of a plan in a fabric. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/plan/name_index.h"
#include "fabric/plan/port_text.h"
#include "fabric/shape.h"

enum { MESSAGE_SIZE = 500 };

/* A name of the plan. */
struct plan_name {
	const char *name;
	uint64_t guid;
	struct name_found found;
	uint32_t file, line; /* where it is first */
	size_t links;        /* number of ends with this name */
	uint32_t next;       /* with the same hash, or FABRIC_NONE */
};

/* A port that is not found: reported once, with the number of its links. */
struct unknown_port {
	const struct plan_link *first; /* link and end that have it */
	int end;
	const char *why;
	size_t links;
};

struct resolver {
	const struct plan *plan;
	const struct shape *shape;
	const struct fabric *fabric;
	struct name_index index;
	struct plan_name **names;
	size_t name_count, name_capacity;
	struct map name_heads;
	struct unknown_port *unknown;
	size_t unknown_count, unknown_capacity;
	struct map unknown_heads;    /* hash of device, port and reason, to index into unknown */
	uint32_t *link_of;           /* by port: 1 + the link that has it */
	struct plan_ports ret;
	struct plan_strings strings; /* of the problems */
	bool failed;
};

static void add_problem(struct resolver *resolver, uint32_t file, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void add_problem(struct resolver *resolver, uint32_t file, uint32_t line, const char *fmt, ...)
{
	struct plan_problem *problem = array_add(&resolver->ret.problems, &resolver->ret.problem_count,
						 &resolver->ret.problem_capacity, sizeof(*problem));
	va_list args;

	if (!problem) {
		resolver->failed = true;
		return;
	}
	va_start(args, fmt);
	*problem = (struct plan_problem){ file, line, plan_problem_line(&resolver->strings, fmt, args) };
	va_end(args);
	if (!problem->text) {
		resolver->ret.problem_count--;
		resolver->failed = true;
	}
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	while (*text++);
	return hash;
}

static void add_unknown_port(struct resolver *resolver, const struct plan_link *link, int end, const char *why)
{
	uint64_t key = hash_text(hash_text(hash_text(UINT64_C(0xcbf29ce484222325), link->ends[end].device),
					   link->ends[end].port), why);
	struct unknown_port *unknown;
	uint32_t at;

	if (map_get(&resolver->unknown_heads, key, &at)) {
		resolver->unknown[at].links++;
		return;
	}
	unknown = array_add(&resolver->unknown, &resolver->unknown_count, &resolver->unknown_capacity,
			    sizeof(*unknown));
	if (!unknown || map_put(&resolver->unknown_heads, key, (uint32_t)(resolver->unknown_count - 1)) < 0) {
		resolver->unknown_count -= !!unknown;
		resolver->failed = true;
		return;
	}
	*unknown = (struct unknown_port){
		.first = link, .end = end, .links = 1, .why = plan_string(&resolver->strings, why, strlen(why)),
	};
	resolver->failed |= !unknown->why;
}

static void report_unknown_ports(struct resolver *resolver)
{
	for (size_t i = 0; i < resolver->unknown_count && !resolver->failed; i++) {
		const struct unknown_port *unknown = &resolver->unknown[i];
		const struct plan_end *end = &unknown->first->ends[unknown->end];
		char count[32] = "";

		if (unknown->links > 1)
			snprintf(count, sizeof(count), " (%zu links)", unknown->links);
		add_problem(resolver, unknown->first->file, unknown->first->line, "%s%s%s%s: %s", end->device,
			    *end->port ? ", " : "", end->port, count, unknown->why);
	}
}

static uint64_t hash_name(const struct plan_end *end)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (const char *at = end->device; *at && !end->guid; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	return end->guid ? map_mix(end->guid) : hash;
}

static void find_name(struct resolver *resolver, const struct plan_end *end, struct name_found *ret)
{
	if (!end->guid) {
		name_index_find(&resolver->index, end->device, ret);
		return;
	}
	*ret = (struct name_found){ .what = fabric_find_node(resolver->fabric, end->guid) };
	ret->named = ret->what == FABRIC_NONE ? NAMED_NOTHING : NAMED_NODE;
}

/* The name of an end, looked up once per name. Return: NULL: no memory. */
static struct plan_name *take_name(struct resolver *resolver, const struct plan_link *link, const struct plan_end *end)
{
	uint64_t hash = hash_name(end);
	uint32_t head = FABRIC_NONE;
	struct plan_name *name, **slot;

	map_get(&resolver->name_heads, hash, &head);
	for (uint32_t at = head; at != FABRIC_NONE; at = resolver->names[at]->next) {
		name = resolver->names[at];
		if (name->guid == end->guid && (end->guid || !strcmp(name->name, end->device)))
			return name;
	}
	name = calloc(1, sizeof(*name));
	slot = !name ? NULL : array_add(&resolver->names, &resolver->name_count, &resolver->name_capacity,
					sizeof(*slot));
	if (!slot || map_put(&resolver->name_heads, hash, (uint32_t)(resolver->name_count - 1)) < 0) {
		if (!slot)
			free(name);
		resolver->failed = true;
		return NULL;
	}
	*slot = name;
	name->name = end->device;
	name->guid = end->guid;
	name->file = link->file;
	name->line = link->line;
	name->next = head;
	find_name(resolver, end, &name->found);
	return name;
}

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

static const char *shown(const struct resolver *resolver, uint32_t node)
{
	return resolver->fabric->names.shown[node];
}

/* A port by number, or why not. */
static uint32_t by_number(const struct resolver *resolver, uint32_t node, unsigned num, char why[MESSAGE_SIZE])
{
	uint32_t port = num && num <= UINT8_MAX ? fabric_node_port(resolver->fabric, node, (uint8_t)num) : FABRIC_NONE;

	if (port == FABRIC_NONE)
		snprintf(why, MESSAGE_SIZE, "%s has no port %u (it has %u)", shown(resolver, node), num,
			 resolver->fabric->nodes[node].port_count);
	return port;
}

/* The port of a switch at a cage, and its part there; 0: the only one. */
static uint32_t by_cage(const struct resolver *resolver, uint32_t node, unsigned cage, unsigned split,
			char why[MESSAGE_SIZE])
{
	const struct node *self = &resolver->fabric->nodes[node];
	bool known = false, other = false;

	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		const struct shape_port *place = &resolver->shape->ports[i];

		known |= place->cage;
		if (place->cage != cage || !cage)
			continue;
		if (place->split == split || (!place->split && split <= 1))
			return i;
		other = true;
	}
	if (!known)
		snprintf(why, MESSAGE_SIZE, "the cages of %s are not known: name its ports by number",
			 shown(resolver, node));
	else if (other && !split)
		snprintf(why, MESSAGE_SIZE, "cage %u of %s has two ports: name one, such as %u.1", cage,
			 shown(resolver, node), cage);
	else
		snprintf(why, MESSAGE_SIZE, "%s has no port %u.%u", shown(resolver, node), cage, split);
	return FABRIC_NONE;
}

static bool knows_cages(const struct resolver *resolver, uint32_t node, bool *ret_split)
{
	const struct node *self = &resolver->fabric->nodes[node];
	uint32_t port = self->first_port;

	*ret_split = false;
	/* Port 0 has no cage. */
	for (; port < self->first_port + self->ports; port++)
		if (resolver->shape->ports[port].cage) {
			*ret_split = resolver->shape->ports[port].split;
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
static uint32_t by_pair(const struct resolver *resolver, uint32_t node, const struct port_text *text,
			char why[MESSAGE_SIZE])
{
	unsigned a = text->numbers[0], b = text->numbers[1];
	bool split, known = knows_cages(resolver, node, &split);

	if (known && split)
		return by_cage(resolver, node, a, b, why);
	if (text->dotted && !known)
		return by_cage(resolver, node, a, b, why);
	if (a == 1 && !text->dotted && (known || resolver->fabric->nodes[node].port_count <= SINGLE_PORTS_MAX))
		return by_number(resolver, node, b, why);
	return by_cage(resolver, node, a, b, why);
}

/* The port of one switch, without module and ASIC. */
static uint32_t switch_port(const struct resolver *resolver, uint32_t node, const struct port_text *text,
			    char why[MESSAGE_SIZE])
{
	if (*text->device || text->hca || text->interface >= 0) {
		snprintf(why, MESSAGE_SIZE, "%s is a switch", shown(resolver, node));
		return FABRIC_NONE;
	}
	if (text->cage && !text->count)
		return by_cage(resolver, node, text->cage, text->split, why);
	switch (text->count) {
	case 0:
		snprintf(why, MESSAGE_SIZE, "no port of %s is given", shown(resolver, node));
		return FABRIC_NONE;
	case 1:
		return text->split ? by_cage(resolver, node, text->numbers[0], text->split, why) :
		       by_number(resolver, node, text->numbers[0], why);
	case 2:
		return by_pair(resolver, node, text, why);
	case 3:
		if (text->numbers[0] == 1)
			return by_cage(resolver, node, text->numbers[1], text->numbers[2], why);
		/* fall through */
	default:
		snprintf(why, MESSAGE_SIZE, "%s has one ASIC and no such port", shown(resolver, node));
		return FABRIC_NONE;
	}
}

/* The switch of a box with this line or spine module and ASIC. */
static uint32_t find_module(const struct resolver *resolver, const struct name_found *found,
			    const struct name_module *wanted, bool any_asic, size_t *ret_count)
{
	uint32_t node = FABRIC_NONE;

	*ret_count = 0;
	for (uint32_t at = found->entry; at != FABRIC_NONE; at = name_index_next(&resolver->index, at)) {
		uint32_t what = resolver->index.entries[at].what;
		struct name_module module;

		if (!name_module(resolver->fabric->nodes[what].name, &module) || module.module != wanted->module ||
		    module.kind != wanted->kind || (!any_asic && module.asic != wanted->asic))
			continue;
		node = what;
		++*ret_count;
	}
	return node;
}

/* The port of a director: "Blade 16_Port 2/20" is ASIC 2 of line module 16, port 20. */
static uint32_t box_port(const struct resolver *resolver, const struct plan_name *name, struct port_text *text,
			 uint32_t *ret_node, char why[MESSAGE_SIZE])
{
	struct name_module wanted = { text->module, text->module_number, text->asic };
	size_t count;

	if (!wanted.asic && text->count == 2 && !text->dotted) {
		wanted.asic = text->numbers[0];
		text->numbers[0] = text->numbers[1];
		text->count = 1;
	}
	*ret_node = find_module(resolver, &name->found, &wanted, !wanted.asic, &count);
	if (count == 1)
		return switch_port(resolver, *ret_node, text, why);
	*ret_node = FABRIC_NONE;
	if (count)
		snprintf(why, MESSAGE_SIZE, "%zu switches of %s fit: give the ASIC, such as Port 1/%u", count,
			 name->name, text->count ? text->numbers[0] : 1);
	else if (!wanted.kind && !wanted.asic)
		snprintf(why, MESSAGE_SIZE, "%s has %zu switches: give module and ASIC, such as Blade 2_Port 1/20",
			 name->name, name->found.count);
	else if (wanted.kind)
		snprintf(why, MESSAGE_SIZE, "%s has no %s module %u with ASIC %u", name->name,
			 wanted.kind == 'L' ? "line" : "spine", wanted.module, wanted.asic ? wanted.asic : 1);
	else
		snprintf(why, MESSAGE_SIZE, "%s has no ASIC %u outside of modules", name->name, wanted.asic);
	return FABRIC_NONE;
}

/* The device of an HCA: "mlx5_0" of "node0001 mlx5_0". */
static bool device_of(const struct resolver *resolver, uint32_t node, char ret[64])
{
	struct host_words words;

	host_split(resolver->fabric->nodes[node].name, &words);
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
static uint32_t find_device(const struct resolver *resolver, const struct shape_host *host, const char *device)
{
	char own[64];
	int number = is_numbered_device(device) ? device_number(device) : -1;

	for (uint32_t i = 0; i < host->count; i++) {
		uint32_t node = resolver->shape->host_nodes[host->first + i];

		if (device_of(resolver, node, own) && !strcasecmp(own, device))
			return node;
	}
	for (uint32_t i = 0; i < host->count && number >= 0; i++) {
		uint32_t node = resolver->shape->host_nodes[host->first + i];

		if (device_of(resolver, node, own) && is_numbered_device(own) &&
		    strncasecmp(own, device, 3) && device_number(own) == number)
			return node;
	}
	return FABRIC_NONE;
}

/* The port of an HCA: by number, the only one, or the only one that is cabled. */
static uint32_t hca_port(const struct resolver *resolver, uint32_t node, const struct port_text *text,
			 char why[MESSAGE_SIZE])
{
	const struct node *self = &resolver->fabric->nodes[node];
	uint32_t port = self->first_port;
	size_t cabled = 0;

	if (text->module || text->cage || text->count > 1) {
		snprintf(why, MESSAGE_SIZE, "%s is an HCA", shown(resolver, node));
		return FABRIC_NONE;
	}
	if (text->count)
		return by_number(resolver, node, text->numbers[0], why);
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++) {
		if (resolver->fabric->ports[i].peer == FABRIC_NONE)
			continue;
		port = i;
		cabled++;
	}
	/* Of several ports without a cable any may be meant. */
	if (self->ports && cabled <= 1)
		return port;
	snprintf(why, MESSAGE_SIZE, "%s has %zu cables: give its port", shown(resolver, node), cabled);
	return FABRIC_NONE;
}

/* The port with this number among all those of a host, in order of device; from 0. */
static uint32_t nth_port(const struct resolver *resolver, const struct shape_host *host, unsigned number)
{
	for (uint32_t i = 0; i < host->count; i++) {
		const struct node *node = &resolver->fabric->nodes[resolver->shape->host_nodes[host->first + i]];

		if (number < node->ports)
			return node->first_port + number;
		number -= node->ports;
	}
	return FABRIC_NONE;
}

/* "mlx5_0, mlx5_1": the devices of a host. */
static void list_devices(const struct resolver *resolver, const struct shape_host *host, char *ret, size_t size)
{
	size_t len = 0;

	for (uint32_t i = 0; i < host->count && len + 1 < size; i++) {
		uint32_t node = resolver->shape->host_nodes[host->first + i];
		char device[64], guid[24];

		snprintf(guid, sizeof(guid), "0x%016" PRIx64, resolver->fabric->nodes[node].guid);
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "",
					device_of(resolver, node, device) ? device : guid);
	}
}

/* Has the host a device with a number? */
static bool has_numbers(const struct resolver *resolver, const struct shape_host *host)
{
	char device[64];

	for (uint32_t i = 0; i < host->count; i++)
		if (device_of(resolver, resolver->shape->host_nodes[host->first + i], device) &&
		    is_numbered_device(device))
			return true;
	return false;
}

/* Is a port the one that its number, from 0, and the number of its device call it? "4" may be mlx5_3, or the fourth. */
static bool is_numbered(const struct resolver *resolver, uint32_t port, unsigned number)
{
	char device[64];

	return port != FABRIC_NONE && (!device_of(resolver, resolver->fabric->ports[port].node, device) ||
				       !is_numbered_device(device) || device_number(device) == (int)number);
}

/* The HCA that a text names by device or number. FABRIC_NONE: none of the host; *ret_given: is one named? */
static uint32_t named_hca(const struct resolver *resolver, const struct shape_host *host, const struct port_text *text,
			  bool *ret_given)
{
	char name[24];
	uint32_t node;

	*ret_given = true;
	if (*text->device)
		return find_device(resolver, host, text->device);
	if (text->hca) {
		snprintf(name, sizeof(name), "HCA-%u", text->hca - 1);
		node = find_device(resolver, host, name);
		/* Devices without numbers: in their order. */
		if (node == FABRIC_NONE && text->hca >= 2 && text->hca - 2 < host->count &&
		    !has_numbers(resolver, host))
			node = resolver->shape->host_nodes[host->first + text->hca - 2];
		return node;
	}
	/* "U1/P1" of ibdiagnet: the first HCA. */
	if (text->asic)
		return text->asic <= host->count ? resolver->shape->host_nodes[host->first + text->asic - 1] :
		       FABRIC_NONE;
	*ret_given = false;
	return FABRIC_NONE;
}

static uint32_t host_port(const struct resolver *resolver, const struct shape_host *host, struct port_text *text,
			  uint32_t *ret_node, char why[MESSAGE_SIZE])
{
	char devices[200];
	uint32_t port = FABRIC_NONE;
	bool given;

	*ret_node = named_hca(resolver, host, text, &given);
	if (!given && host->count == 1)
		*ret_node = resolver->shape->host_nodes[host->first];
	if (*ret_node != FABRIC_NONE && text->interface < 0)
		return hca_port(resolver, *ret_node, text, why);
	list_devices(resolver, host, devices, sizeof(devices));
	if (given) {
		snprintf(why, MESSAGE_SIZE, "%s has no such HCA: it has %s", host->name, devices);
		return FABRIC_NONE;
	}
	/* "ib0" is the first port; "1" is mlx5_0, as tools for the validation of cables have it. */
	if (text->interface >= 0) {
		port = nth_port(resolver, host, (unsigned)text->interface);
	} else if (text->count == 1 && !text->named && text->numbers[0]) {
		port = nth_port(resolver, host, text->numbers[0] - 1);
		if (!is_numbered(resolver, port, text->numbers[0] - 1))
			port = FABRIC_NONE;
	}
	if (port == FABRIC_NONE) {
		snprintf(why, MESSAGE_SIZE, "%s has %u HCAs: name one of %s", host->name, host->count, devices);
		*ret_node = FABRIC_NONE;
		return port;
	}
	*ret_node = resolver->fabric->ports[port].node;
	return port;
}

/* A node by its own name. */
static uint32_t node_port(const struct resolver *resolver, uint32_t node, const struct port_text *text,
			  char why[MESSAGE_SIZE])
{
	const struct node *self = &resolver->fabric->nodes[node];
	const struct shape_host *host = resolver->shape->nodes[node].host == SHAPE_NONE ? NULL :
					&resolver->shape->hosts[resolver->shape->nodes[node].host];
	struct name_module module = { .asic = 1 };
	bool given;

	if (self->type == NODE_SWITCH) {
		name_module(self->name, &module);
		if ((text->module && (text->module != module.kind || text->module_number != module.module)) ||
		    (text->asic && text->asic != module.asic)) {
			snprintf(why, MESSAGE_SIZE, "%s has no such module or ASIC", shown(resolver, node));
			return FABRIC_NONE;
		}
		/* "2/20" below a module is ASIC 2. */
		if (text->module && text->count == 2 && !text->asic && !text->dotted) {
			if (text->numbers[0] == module.asic)
				return by_number(resolver, node, text->numbers[1], why);
			snprintf(why, MESSAGE_SIZE, "%s has no ASIC %u", shown(resolver, node), text->numbers[0]);
			return FABRIC_NONE;
		}
		return switch_port(resolver, node, text, why);
	}
	if (host && (*text->device || (text->hca && host->count > 1)) &&
	    named_hca(resolver, host, text, &given) != node) {
		char device[64];

		snprintf(why, MESSAGE_SIZE, "the HCA %s is not %s", shown(resolver, node),
			 *text->device ? text->device : "of that number");
		/* Without a device in its description, an HCA may be any. */
		if (device_of(resolver, node, device) || host->count > 1)
			return FABRIC_NONE;
	}
	return hca_port(resolver, node, text, why);
}

/* Find the port of an end. @ret_node: its node, also without a port. Return: the port, or FABRIC_NONE and @why. */
static uint32_t find_port(struct resolver *resolver, const struct plan_name *name, const char *port,
			  uint32_t *ret_node, char why[MESSAGE_SIZE])
{
	const struct name_found *found = &name->found;
	char joined[2 * NAME_MAX_SIZE];
	struct port_text text;

	*ret_node = found->named == NAMED_NODE ? found->what : found->named == NAMED_PORT ?
		    resolver->fabric->ports[found->what].node : FABRIC_NONE;
	port = skip_name(port, name->name);
	if (*found->rest) {
		snprintf(joined, sizeof(joined), "%s %s", found->rest, port);
		port = joined;
	}
	if (!port_text_parse(port, &text)) {
		snprintf(why, MESSAGE_SIZE, "'%.100s' is no port%s", port, port_text_is_date(port) ?
			 ": the spreadsheet made a date of it, format the column as text" : "");
		return FABRIC_NONE;
	}
	switch (found->named) {
	case NAMED_NODE:
		return node_port(resolver, found->what, &text, why);
	case NAMED_PORT:
		if (text.count == 1 && text.numbers[0] != resolver->fabric->ports[found->what].num)
			return hca_port(resolver, *ret_node, &text, why);
		return found->what;
	case NAMED_HOST:
		return host_port(resolver, &resolver->shape->hosts[found->what], &text, ret_node, why);
	case NAMED_BOX:
		return box_port(resolver, name, &text, ret_node, why);
	default:
		return FABRIC_NONE;
	}
}

/* Of lines that contradict each other none is judged, as any may be wrong. */
static void set_aside(struct resolver *resolver, struct plan_place *place)
{
	if (place->contradicted)
		return;
	place->contradicted = true;
	memcpy(place->named, place->port, sizeof(place->named));
	place->port[0] = place->port[1] = FABRIC_NONE;
	resolver->ret.not_judged++;
}

/* A second link of a port: it is the same one with other names, or contradicts the first. */
static bool is_doubled(struct resolver *resolver, uint32_t at, struct plan_place *place)
{
	const struct plan_link *link = &resolver->plan->links[at];
	uint32_t firsts[2] = { resolver->link_of[place->port[0]], resolver->link_of[place->port[1]] };
	bool doubled = false;

	if (firsts[0] && firsts[0] == firsts[1]) {
		place->repeated = true;
		resolver->ret.repeated++;
		return true;
	}
	for (int i = 0; i < 2; i++) {
		const struct plan_link *first = firsts[i] ? &resolver->plan->links[firsts[i] - 1] : NULL;
		struct plan_place *other = first ? &resolver->ret.links[firsts[i] - 1] : NULL;
		char names[3][NODE_NAME_SIZE + 32];

		if (!first)
			continue;
		shape_port_name(resolver->shape, place->port[i], names[0], sizeof(names[0]));
		set_aside(resolver, other);
		shape_port_name(resolver->shape, other->named[other->named[0] == place->port[i]], names[1],
				sizeof(names[1]));
		shape_port_name(resolver->shape, place->port[1 - i], names[2], sizeof(names[2]));
		add_problem(resolver, link->file, link->line, "%s is cabled to %s in line %u%s%s, and here to %s",
			    names[0], names[1], first->line, first->file == link->file ? "" : " of ",
			    first->file == link->file ? "" : resolver->plan->files[first->file].name, names[2]);
		doubled = true;
	}
	return doubled;
}

/* The end of a damaged line, as far as it is known. */
static void resolve_rest(struct resolver *resolver, const struct plan_end *end, struct plan_place *place, int side)
{
	struct plan_name name = { .name = end->device };
	char why[MESSAGE_SIZE];

	place->node[side] = place->port[side] = FABRIC_NONE;
	if (!*end->device)
		return;
	name_index_find(&resolver->index, end->device, &name.found);
	place->port[side] = find_port(resolver, &name, end->port, &place->node[side], why);
	/* Without a port an HCA is not surely the one that was meant. */
	if (!*end->port)
		place->port[side] = FABRIC_NONE;
}

static void resolve_link(struct resolver *resolver, uint32_t at)
{
	const struct plan_link *link = &resolver->plan->links[at];
	struct plan_place *place = &resolver->ret.links[at];
	bool loop;

	for (int i = 0; i < 2; i++) {
		struct plan_name *name = link->damaged ? NULL : take_name(resolver, link, &link->ends[i]);
		char why[MESSAGE_SIZE] = "";

		if (link->damaged)
			resolve_rest(resolver, &link->ends[i], place, i);
		else
			place->node[i] = place->port[i] = FABRIC_NONE;
		if (!name)
			continue;
		name->links++;
		place->port[i] = find_port(resolver, name, link->ends[i].port, &place->node[i], why);
		/* A module that a director does not have may be absent. */
		place->known[i] = place->node[i] != FABRIC_NONE || name->found.named == NAMED_HOST ||
				  name->found.named == NAMED_SEVERAL;
		/* Unknown names are reported once, afterwards. */
		if (place->port[i] == FABRIC_NONE && name->found.named != NAMED_NOTHING &&
		    name->found.named != NAMED_SEVERAL)
			add_unknown_port(resolver, link, i, why);
	}
	if (place->port[0] == FABRIC_NONE || place->port[1] == FABRIC_NONE) {
		resolver->ret.not_judged++;
		return;
	}
	loop = place->port[0] == place->port[1];
	if (loop)
		add_problem(resolver, link->file, link->line, "both ends are %s, %s", link->ends[0].device,
			    link->ends[0].port);
	if (loop) {
		place->port[0] = place->port[1] = FABRIC_NONE;
		resolver->ret.not_judged++;
	} else if (!is_doubled(resolver, at, place)) {
		resolver->link_of[place->port[0]] = resolver->link_of[place->port[1]] = at + 1;
	} else if (place->repeated) {
		place->port[0] = place->port[1] = FABRIC_NONE;
	} else {
		set_aside(resolver, place);
	}
}

/* Nodes or hosts of one name: their GUIDs. */
static void list_guids(const struct resolver *resolver, const struct name_found *found, struct text *ret)
{
	size_t count = 0;

	for (uint32_t at = found->entry; at != FABRIC_NONE && count < 4; at = name_index_next(&resolver->index, at)) {
		uint32_t what = resolver->index.entries[at].what;
		uint32_t node = found->hosts ? resolver->shape->host_nodes[resolver->shape->hosts[what].first] : what;

		text_appendf(ret, "%s0x%016" PRIx64, count++ ? ", " : "", resolver->fabric->nodes[node].guid);
	}
	if (found->count > count)
		text_append(ret, ", ...");
}

static void report_name(struct resolver *resolver, const struct plan_name *name)
{
	const struct name_found *found = &name->found;
	struct text text = { 0 };

	if (found->named == NAMED_NOTHING && name->guid) {
		add_problem(resolver, name->file, name->line,
			    "the fabric has no node %s, 0x%016" PRIx64 " (%zu link%s)", name->name, name->guid,
			    name->links, text_plural(name->links));
	} else if (found->named == NAMED_NOTHING) {
		name_index_similar(&resolver->index, name->name, &text);
		add_problem(resolver, name->file, name->line, "the fabric has no device '%s' (%zu link%s)%s",
			    name->name, name->links, text_plural(name->links), text_chars(&text));
	} else if (found->named == NAMED_SEVERAL) {
		list_guids(resolver, found, &text);
		add_problem(resolver, name->file, name->line, "%zu %s are called '%s' (%zu link%s): give a GUID: %s",
			    found->count, found->hosts ? "hosts" : "devices", name->name, name->links,
			    text_plural(name->links), text_chars(&text));
	}
	resolver->failed |= text_failed(&text);
	text_done(&text);
}

static int compare_problems(const void *a, const void *b)
{
	const struct plan_problem *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* What is freed with the result. */
struct ports_memory {
	struct plan_strings strings;
};

int plan_resolve(const struct plan *plan, const struct shape *shape, struct plan_ports *ret, struct error *err)
{
	struct resolver resolver = { .plan = plan, .shape = shape, .fabric = shape->fabric };
	struct ports_memory *memory = calloc(1, sizeof(*memory));
	int code = name_index_init(&resolver.index, shape);

	resolver.ret.links = calloc(plan->link_count + 1, sizeof(*resolver.ret.links));
	resolver.link_of = calloc(shape->fabric->port_count + 1, sizeof(*resolver.link_of));
	resolver.failed = code < 0 || !memory || !resolver.ret.links || !resolver.link_of;
	for (uint32_t i = 0; i < plan->link_count && !resolver.failed; i++)
		resolve_link(&resolver, i);
	for (size_t i = 0; i < resolver.name_count && !resolver.failed; i++)
		report_name(&resolver, resolver.names[i]);
	report_unknown_ports(&resolver);
	for (size_t i = 0; i < resolver.name_count; i++)
		free(resolver.names[i]);
	free(resolver.unknown);
	map_done(&resolver.unknown_heads);
	free(resolver.names);
	free(resolver.link_of);
	map_done(&resolver.name_heads);
	name_index_done(&resolver.index);
	if (memory)
		memory->strings = resolver.strings;
	resolver.ret.memory = memory;
	if (resolver.failed) {
		if (!memory)
			plan_strings_done(&resolver.strings);
		plan_ports_done(&resolver.ret);
		return err_nomem(err);
	}
	if (resolver.ret.problem_count)
		qsort(resolver.ret.problems, resolver.ret.problem_count, sizeof(*resolver.ret.problems),
		      compare_problems);
	*ret = resolver.ret;
	return 0;
}

void plan_ports_done(struct plan_ports *ports)
{
	struct ports_memory *memory = ports->memory;

	if (memory)
		plan_strings_done(&memory->strings);
	free(memory);
	free(ports->links);
	free(ports->problems);
	*ports = (struct plan_ports){ 0 };
}
