/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/selection.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/names.h"

/* The one node whose shown name is @typed (tables omit common suffixes), or FABRIC_NONE. */
static uint32_t find_shown(const struct fabric *fabric, const char *typed)
{
	char shown[NODE_NAME_SIZE];
	uint32_t found = FABRIC_NONE;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const char *name = fabric->nodes[i].name;

		if (strlen(name) >= sizeof(shown))
			continue;
		names_short(name, shown);
		if (strcmp(shown, typed))
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = i;
	}
	return found;
}

static bool is_of_host(const struct node *node, const char *host)
{
	char name[NODE_NAME_SIZE];

	return host_name(node, name) && !strcmp(name, host);
}

/* Error for an unknown node name: @whole, or a hint that @typed is a host. */
static int no_node(const struct fabric *fabric, const char *typed, const struct error *whole, struct error *err)
{
	uint32_t first = FABRIC_NONE, count = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!is_of_host(&fabric->nodes[i], typed))
			continue;
		if (!strcmp(fabric->nodes[i].name, typed))
			return err_set(err, whole->code, "%s", whole->text);
		if (!count++ || strcmp(fabric->nodes[i].name, fabric->nodes[first].name) < 0)
			first = i;
	}
	if (!count)
		return err_set(err, whole->code, "%s", whole->text);
	return err_set(err, ERR_USAGE, "'%s' is a host with %u HCA%s: use %s '%s'", typed, count,
		       count == 1 ? "" : "s", count == 1 ? "it:" : "one of them, such as", fabric->nodes[first].name);
}

int selection_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	struct error whole = { 0 };
	uint32_t shown;
	int code = names_find_node(fabric, typed, ret, &whole);

	if (code == 0)
		return 0;
	shown = find_shown(fabric, typed);
	if (shown == FABRIC_NONE)
		return no_node(fabric, typed, &whole, err);
	*ret = shown;
	return 0;
}

/* NAME/PORT with a shown name; other errors are those of names_find_port(). */
static int find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	struct error whole = { 0 };
	const char *slash = strrchr(typed, '/');
	int code = names_find_port(fabric, typed, ret, &whole);
	unsigned long num;
	uint32_t node;
	char *name, *end;

	if (code == 0)
		return 0;
	name = strndup(typed, (size_t)(slash - typed));
	if (!name)
		return err_nomem(err);
	node = find_shown(fabric, name);
	if (node == FABRIC_NONE)
		code = no_node(fabric, name, &whole, err);
	free(name);
	if (node == FABRIC_NONE)
		return code;
	num = strtoul(slash + 1, &end, 10);
	*ret = *end || num > UINT8_MAX ? FABRIC_NONE : fabric_node_port(fabric, node, (uint8_t)num);
	if (*ret == FABRIC_NONE)
		return err_set(err, ERR_USAGE, "%s has no port %s (it has %u)", fabric->nodes[node].name, slash + 1,
			       fabric->nodes[node].port_count);
	return 0;
}

static void add_node(struct selection *selection, const struct fabric *fabric, uint32_t node)
{
	selection->nodes[node] = true;
	for (uint32_t i = 0; i < fabric->nodes[node].ports; i++)
		selection->ports[fabric->nodes[node].first_port + i] = true;
}

/* Select all HCAs of a host, unless nodes have this exact name. Return: whether there are any. */
static bool add_host(struct selection *selection, const struct fabric *fabric, const char *typed)
{
	bool found = false;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (!strcmp(fabric->nodes[i].name, typed))
			return false;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!is_of_host(&fabric->nodes[i], typed))
			continue;
		add_node(selection, fabric, i);
		found = true;
	}
	return found;
}

/* A name may contain a slash: try a node first, then a port. */
int selection_find(const struct fabric *fabric, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		   struct error *err)
{
	const char *slash = strrchr(typed, '/');
	struct error as_node = { 0 };
	int code = selection_find_node(fabric, typed, ret_node, &as_node);

	*ret_port = FABRIC_NONE;
	if (code == 0)
		return 0;
	if (!slash || !isdigit((unsigned char)slash[1]))
		return err_set(err, as_node.code, "%s", as_node.text);
	code = find_port(fabric, typed, ret_port, err);
	if (code == 0)
		*ret_node = fabric->ports[*ret_port].node;
	return code;
}

static int add(struct selection *selection, const struct fabric *fabric, const char *typed, bool hosts,
	       struct error *err)
{
	struct error as_name = { 0 };
	uint32_t node, port;
	int code = selection_find(fabric, typed, &node, &port, &as_name);

	if (code < 0)
		return hosts && add_host(selection, fabric, typed) ? 0 : err_set(err, code, "%s", as_name.text);
	if (port == FABRIC_NONE) {
		add_node(selection, fabric, node);
		return 0;
	}
	selection->nodes[node] = true;
	selection->ports[port] = true;
	selection->named[port] = true;
	return 0;
}

static int init(struct selection *selection, const struct fabric *fabric, char **args, int count, bool hosts,
		struct error *err)
{
	int code = 0;

	*selection = (struct selection){ .all = count == 0 };
	if (selection->all)
		return 0;
	selection->nodes = calloc(fabric->node_count + 1, sizeof(bool));
	selection->ports = calloc(fabric->port_count + 1, sizeof(bool));
	selection->named = calloc(fabric->port_count + 1, sizeof(bool));
	if (!selection->nodes || !selection->ports || !selection->named)
		code = err_nomem(err);
	for (int i = 0; code == 0 && i < count; i++)
		code = add(selection, fabric, args[i], hosts, err);
	if (code < 0)
		selection_done(selection);
	return code;
}

int selection_init(struct selection *selection, const struct fabric *fabric, char **args, int count,
		   struct error *err)
{
	return init(selection, fabric, args, count, false, err);
}

int selection_init_hosts(struct selection *selection, const struct fabric *fabric, char **args, int count,
			 struct error *err)
{
	return init(selection, fabric, args, count, true, err);
}

void selection_done(struct selection *selection)
{
	free(selection->nodes);
	free(selection->ports);
	free(selection->named);
	*selection = (struct selection){ 0 };
}
