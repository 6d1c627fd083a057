/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/selection.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/host_set.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/select.h"

/* --- what a subject selects --- */

static void clear(struct selection *match, const struct fabric *fabric)
{
	memset(match->nodes, 0, fabric->node_count * sizeof(*match->nodes));
	memset(match->ports, 0, fabric->port_count * sizeof(*match->ports));
	memset(match->named, 0, fabric->port_count * sizeof(*match->named));
}

static void mark_node(struct selection *match, const struct fabric *fabric, uint32_t node)
{
	match->nodes[node] = true;
	for (uint32_t i = 0; i < fabric->nodes[node].ports; i++)
		match->ports[fabric->nodes[node].first_port + i] = true;
}

static void mark_port(struct selection *match, const struct fabric *fabric, uint32_t port)
{
	match->nodes[fabric->ports[port].node] = true;
	match->ports[port] = match->named[port] = true;
}

/* The name that tables show; a name map may have longer names than fit: "". */
static const char *shown_name(const struct node *node, char ret[NODE_NAME_SIZE])
{
	*ret = '\0';
	if (strlen(node->name) < NODE_NAME_SIZE)
		names_short(node->name, ret);
	return ret;
}

/* Mark the HCAs of a host; NULL: of all hosts. */
static bool mark_host(struct selection *match, const struct fabric *fabric, const char *host)
{
	char name[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!host_name(&fabric->nodes[i], name) || (host && strcmp(name, host)))
			continue;
		mark_node(match, fabric, i);
		found = true;
	}
	return found;
}

bool selection_is_lid(const struct fabric *fabric, uint32_t index, const char *typed)
{
	const struct port *port = &fabric->ports[index];
	uint16_t base = fabric_port_lid(fabric, port);
	char *end;
	unsigned long lid = strtoul(typed, &end, 0);

	if (!isdigit((unsigned char)*typed) || *end || !base ||
	    (fabric->nodes[port->node].type == NODE_SWITCH && port->num > 0))
		return false;
	return lid >= base && lid < base + (1ul << (port->lmc & 7));
}

static bool mark_lid(struct selection *match, const struct fabric *fabric, const char *typed)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!selection_is_lid(fabric, i, typed))
			continue;
		if (fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH)
			mark_node(match, fabric, fabric->ports[i].node);
		else
			mark_port(match, fabric, i);
		return true;
	}
	return false;
}

static bool is_glob(const char *typed)
{
	return strpbrk(typed, "*?[");
}

/* Names show unsafe bytes as \xHH, so a backslash escapes nothing. */
static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, FNM_NOESCAPE);
}

static bool mark_glob(struct selection *match, const struct fabric *fabric, const char *pattern)
{
	char shown[NODE_NAME_SIZE], host[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; is_glob(pattern) && i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (!matches(pattern, node->name) && !matches(pattern, shown_name(node, shown)) &&
		    !(host_name(node, host) && matches(pattern, host)))
			continue;
		mark_node(match, fabric, i);
		found = true;
	}
	return found;
}

/* "node[001-016]", "node[1,10]" of batch systems; "node[1-4]" is the same as a pattern. */
static bool is_host_list(const char *typed)
{
	const char *open = strchr(typed, '['), *end = open ? open + 1 + strspn(open + 1, "0123456789,-") : NULL;
	bool found = false;

	/* "@FILE" of options is not allowed: a request must not open files. */
	if (!open || *end != ']' || *typed == '@')
		return false;
	for (const char *at = open + 1; at < end; at++)
		found |= *at == ',' || (isdigit((unsigned char)at[0]) && isdigit((unsigned char)at[1]));
	return found;
}

static int mark_host_list(struct selection *match, const struct fabric *fabric, const char *typed, struct error *err)
{
	struct host_set hosts = { 0 };
	int code = host_set_add(&hosts, typed, err);

	for (size_t i = 0; code == 0 && i < hosts.count; i++)
		if (!mark_host(match, fabric, hosts.names[i]))
			code = err_set(err, ERR_USAGE, "no HCA of host '%s': 'ibwire nodes' lists them",
				       hosts.names[i]);
	host_set_done(&hosts);
	return code;
}

/* The number at the end of "mlx5_3" or "rail 3"; -1: none. */
static long trailing_number(const char *name)
{
	size_t len = strlen(name);

	while (len && isdigit((unsigned char)name[len - 1]))
		len--;
	return name[len] ? strtol(name + len, NULL, 10) : -1;
}

static bool mark_rail(struct selection *match, const struct shape *shape, const char *typed)
{
	bool by_name = false, found = false, is_number = isdigit((unsigned char)*typed) && trailing_number(typed) >= 0;

	for (size_t i = 0; i < shape->rail_count; i++)
		by_name |= !strcmp(shape->rails[i].name, typed);
	for (size_t i = 0; i < shape->rail_count; i++) {
		const struct shape_rail *rail = &shape->rails[i];

		if (by_name ? strcmp(rail->name, typed) != 0 :
		    !matches(typed, rail->name) &&
		    !(is_number && trailing_number(rail->name) == strtol(typed, NULL, 10)))
			continue;
		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			mark_port(match, shape->fabric, shape->rail_ports[j]);
		found = true;
	}
	return found;
}

static bool mark_tier(struct selection *match, const struct shape *shape, const char *typed)
{
	char *end;
	unsigned long tier = strtoul(typed, &end, 10);
	bool found = false;

	for (uint32_t i = 0; tier && !*end && i < shape->fabric->node_count; i++) {
		if (shape->fabric->nodes[i].type != NODE_SWITCH || shape->nodes[i].tier != tier)
			continue;
		mark_node(match, shape->fabric, i);
		found = true;
	}
	return found;
}

/* Replace the marked switches by their uplinks. */
static bool keep_uplinks(struct selection *match, const struct shape *shape)
{
	const struct fabric *fabric = shape->fabric;
	bool found = false;

	memset(match->nodes, 0, fabric->node_count * sizeof(*match->nodes));
	memset(match->named, 0, fabric->port_count * sizeof(*match->named));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t group = shape->ports[i].group;
		bool kept = match->ports[i] && group != SHAPE_NONE && shape->groups[group].kind == GROUP_UP;

		match->ports[i] = false;
		if (kept)
			mark_port(match, fabric, i);
		found |= kept;
	}
	return found;
}

/* --- the notation --- */

struct resolver {
	struct select_facts *facts;
	const struct fabric *fabric;
	struct selection match; /* of one subject */
};

static int find_shape(struct resolver *resolver, struct error *err)
{
	struct select_facts *facts = resolver->facts;

	return facts->shape || !facts->load ? 0 : facts->load(facts, SELECT_NEEDS_SHAPE, err);
}

/* Rails that exist, for an error. */
static int no_rail(const struct shape *shape, const char *typed, struct error *err)
{
	char names[160] = "";
	size_t len = 0;

	for (size_t i = 0; i < shape->rail_count && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "", shape->rails[i].name);
	return err_set(err, ERR_USAGE, "no rail is called '%s': the rails are %s", typed, *names ? names : "unknown");
}

/* Subjects with a keyword. Return: 1; 0 without one; or an error. */
static int resolve_keyword(struct resolver *resolver, const char *typed, struct error *err)
{
	bool rail = !strncmp(typed, "rail:", 5), tier = !strncmp(typed, "tier:", 5);
	const struct shape *shape;
	int code;

	if (!strcmp(typed, "all")) {
		for (uint32_t i = 0; i < resolver->fabric->node_count; i++)
			mark_node(&resolver->match, resolver->fabric, i);
		return 1;
	}
	if (!strcmp(typed, "hosts"))
		return mark_host(&resolver->match, resolver->fabric, NULL);
	if (!rail && !tier)
		return 0;
	code = find_shape(resolver, err);
	if (code < 0)
		return code;
	shape = resolver->facts->shape;
	if (rail && !mark_rail(&resolver->match, shape, typed + 5))
		return no_rail(shape, typed + 5, err);
	if (tier && !mark_tier(&resolver->match, shape, typed + 5))
		return err_set(err, ERR_USAGE, "no switch is of tier '%s': tiers are 1 to %u", typed + 5,
			       shape->tier_count);
	return 1;
}

/* A subject without /PORTS and uplinks. */
static int resolve_name(struct resolver *resolver, const char *typed, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	struct selection *match = &resolver->match;
	uint32_t node;
	char *end;
	int code;

	if (names_find_node(fabric, typed, &node, NULL) == 0) {
		mark_node(match, fabric, node);
		return 0;
	}
	if (mark_host(match, fabric, typed))
		return 0;
	code = resolve_keyword(resolver, typed, err);
	if (code)
		return code < 0 ? code : 0;
	if (is_host_list(typed))
		return mark_host_list(match, fabric, typed, err);
	if (mark_lid(match, fabric, typed) || mark_glob(match, fabric, typed))
		return 0;
	if (isdigit((unsigned char)*typed) && strtoul(typed, &end, 10) < 0x10000 && !*end)
		return err_set(err, ERR_USAGE, "no port has LID %s", typed);
	if (is_glob(typed))
		return err_set(err, ERR_USAGE, "no node or host matches '%s': 'ibwire nodes' lists them", typed);
	return err ? names_find_node(fabric, typed, &node, err) : ERR_USAGE;
}

/* "3", "17-20", "1,4,7-9" or a pattern. */
static bool has_number(const char *list, unsigned num)
{
	char digits[4];

	snprintf(digits, sizeof(digits), "%u", num & 255u);
	if (is_glob(list))
		return matches(list, digits);
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (num >= first && num <= last)
			return true;
		list = end + (*end == ',');
	}
	return false;
}

static bool is_list(const char *typed)
{
	return is_glob(typed) || (isdigit((unsigned char)*typed) && !typed[strspn(typed, "0123456789-,")]);
}

/* Keep the marked ports of these numbers. */
static int keep_ports(struct resolver *resolver, const char *list, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	struct selection *match = &resolver->match;
	const struct node *first = NULL;
	char shown[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (match->nodes[i] && !first)
			first = node;
		match->nodes[i] = false;
		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			bool kept = match->ports[port] && has_number(list, fabric->ports[port].num);

			match->ports[port] = match->named[port] = kept;
			match->nodes[i] |= kept;
			found |= kept;
		}
	}
	if (found || !first)
		return 0;
	return err_set(err, ERR_USAGE, "%s has no port %s (it has %u)", shown_name(first, shown), list,
		       first->port_count);
}

/*
 * A name may contain a slash or a blank, so each shorter subject is tried only if the longer one is unknown: the
 * suffixes are cut off one after the other, and then applied once each.
 */
static int resolve(struct resolver *resolver, const char *typed, struct error *err)
{
	static const char suffix[] = " uplinks";
	const size_t suffix_len = sizeof(suffix) - 1;
	char *name = strdup(typed), *list = NULL, *slash;
	bool uplinks = false, ports_last = false;
	int code = name ? ERR_USAGE : err_nomem(err);

	while (code == ERR_USAGE) {
		size_t len = strlen(name);
		bool has_suffix = len > suffix_len && !strcmp(name + len - suffix_len, suffix);

		clear(&resolver->match, resolver->fabric); /* of a list of hosts, some may be marked */
		slash = list ? NULL : strrchr(name, '/');
		if (slash && !is_list(slash + 1))
			slash = NULL;
		code = resolve_name(resolver, name, has_suffix || slash ? NULL : err);
		if (code != ERR_USAGE || (!has_suffix && !slash))
			break;
		if (has_suffix) {
			name[len - suffix_len] = '\0';
			uplinks = true;
		} else {
			*slash = '\0';
			list = slash + 1;
			ports_last = !uplinks;
		}
	}
	if (code == 0 && list && !ports_last)
		code = keep_ports(resolver, list, err);
	if (code == 0 && uplinks)
		code = find_shape(resolver, err);
	if (code == 0 && uplinks && !keep_uplinks(&resolver->match, resolver->facts->shape))
		code = err_set(err, ERR_USAGE, "%s has no uplinks: see ibwire topology show", name);
	if (code == 0 && list && ports_last)
		code = keep_ports(resolver, list, err);
	free(name);
	return code;
}

static int allocate(struct selection *selection, const struct fabric *fabric, struct error *err)
{
	selection->nodes = calloc(fabric->node_count + 1, sizeof(bool));
	selection->ports = calloc(fabric->port_count + 1, sizeof(bool));
	selection->named = calloc(fabric->port_count + 1, sizeof(bool));
	return selection->nodes && selection->ports && selection->named ? 0 : err_nomem(err);
}

static int add(struct selection *selection, struct resolver *resolver, const char *typed, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	int code = allocate(&resolver->match, fabric, err);

	if (code == 0)
		code = resolve(resolver, typed, err);
	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++)
		selection->nodes[i] |= resolver->match.nodes[i];
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		selection->ports[i] |= resolver->match.ports[i];
		selection->named[i] |= resolver->match.named[i];
	}
	selection_done(&resolver->match);
	return code;
}

int selection_init(struct selection *selection, struct select_facts *facts, char **args, int count, struct error *err)
{
	struct resolver resolver = { .facts = facts, .fabric = facts->fabric };
	int code;

	*selection = (struct selection){ .all = count == 0 };
	if (selection->all)
		return 0;
	code = allocate(selection, facts->fabric, err);
	for (int i = 0; code == 0 && i < count; i++)
		code = add(selection, &resolver, args[i], err);
	if (code < 0)
		selection_done(selection);
	return code;
}

/* The first of the natural order, among nodes with a mark. */
static uint32_t first_node(const struct fabric *fabric, const struct selection *selection, size_t *ret_count)
{
	uint32_t first = FABRIC_NONE;

	*ret_count = 0;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!selection->nodes[i])
			continue;
		if (!(*ret_count)++ || names_compare(fabric->nodes[i].name, fabric->nodes[first].name) < 0)
			first = i;
	}
	return first;
}

int selection_find(struct select_facts *facts, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		   struct error *err)
{
	const struct fabric *fabric = facts->fabric;
	struct selection selection;
	struct error ambiguous = { 0 };
	uint32_t node, port = FABRIC_NONE;
	size_t nodes, ports = 0;
	char shown[NODE_NAME_SIZE];
	/* Equal names of several nodes are an error here, even if they are a host. */
	int code = names_find_node(fabric, typed, &node, &ambiguous);

	if (code == 0) {
		*ret_node = node;
		*ret_port = FABRIC_NONE;
		return 0;
	}
	code = selection_init(&selection, facts, (char *[]){ (char *)typed }, 1, err);
	if (code < 0)
		return code;
	node = first_node(fabric, &selection, &nodes);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!selection.named[i])
			continue;
		if (!ports++)
			port = i;
	}
	selection_done(&selection);
	if (nodes > 1 && !strcmp(fabric->nodes[node].name, typed))
		return err_set(err, ambiguous.code, "%s", ambiguous.text);
	if (nodes > 1)
		return err_set(err, ERR_USAGE, "'%s' selects %zu nodes: give one, such as '%s'", typed, nodes,
			       shown_name(&fabric->nodes[node], shown));
	if (ports > 1)
		return err_set(err, ERR_USAGE, "'%s' selects %zu ports: give one, such as '%s/%u'", typed, ports,
			       shown_name(&fabric->nodes[node], shown), fabric->ports[port].num);
	*ret_node = node;
	*ret_port = port;
	return 0;
}

void selection_done(struct selection *selection)
{
	free(selection->nodes);
	free(selection->ports);
	free(selection->named);
	*selection = (struct selection){ 0 };
}
