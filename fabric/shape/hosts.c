/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which HCAs belong to one host.
 *
 * HCAs with the same host name in their descriptions do, unless two of them have the same device
 * name: then hosts were cloned, and the SystemImageGUID distinguishes them. The SystemImageGUID
 * also adds HCAs that have not received their name yet, or have an old one. Otherwise an HCA is a
 * host of its own; port numbers and neighboring GUIDs are not used.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/host_set.h"
#include "fabric/names.h"
#include "fabric/shape/build.h"

/* More HCAs with one SystemImageGUID than any host has: the firmware left it unset. */
#define HCAS_MAX 64

/* Between the name of cloned hosts and the GUID; no host name contains a blank. */
#define CLONE " (0x"

/* Maximum number of HCAs without a device name in one host. */
#define NAMELESS_DEVICES_MAX 8

struct sets {
	uint32_t *root;   /* by node */
	uint32_t *group;  /* by node: number of its host name, or SHAPE_NONE */
	uint32_t *size;   /* by group */
	bool *twice;      /* by group: a device name occurs twice */
	bool *nameless;   /* by group: no device has a name */
	struct shape_strings names;
};

/* Number the host names, and find those with a duplicate device name. */
static int number_names(const struct shape_build *build, struct sets *sets)
{
	struct shape_strings devices = { .count = 0 };
	struct map seen = { 0 };
	int code = 0;

	for (uint32_t i = 0; i < build->fabric->node_count && code == 0; i++) {
		uint32_t group, device, other;
		uint64_t key;

		if (!shape_is_hca(build, i) || !build->host_of[i])
			continue;
		code = shape_intern(&sets->names, build->host_of[i], &group);
		if (code == 0)
			code = shape_intern(&devices, build->device_of[i], &device);
		if (code < 0)
			break;
		sets->group[i] = group;
		sets->size[group]++;
		sets->nameless[group] |= !build->device_of[i][0];
		key = (uint64_t)group << 32 | device;
		sets->twice[group] |= map_get(&seen, key, &other);
		code = map_put(&seen, key, i);
	}
	map_done(&seen);
	shape_strings_done(&devices);
	return code;
}

/*
 * On sites without device names, two HCAs of one host name belong to one host. This requires other
 * hosts with different names: a description common to all HCAs is no host name.
 */
static void accept_nameless(struct sets *sets)
{
	uint32_t nameless = 0;

	for (uint32_t i = 0; i < sets->names.count; i++)
		nameless += sets->nameless[i];
	for (uint32_t i = 0; i < sets->names.count && nameless >= 3; i++)
		if (sets->nameless[i] && sets->size[i] <= NAMELESS_DEVICES_MAX)
			sets->twice[i] = false;
}

static int join_names(struct shape_build *build, struct sets *sets)
{
	uint32_t *first = shape_indexes(build, sets->names.count);

	if (!first)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < build->fabric->node_count; i++) {
		uint32_t group = sets->group[i];

		if (group == SHAPE_NONE || sets->twice[group])
			continue;
		if (first[group] == SHAPE_NONE)
			first[group] = i;
		shape_join(sets->root, first[group], i);
	}
	return 0;
}

/* A set contains an HCA with this device name; only small sets are searched. */
static bool has_device(const struct shape_build *build, const uint32_t *nodes, uint32_t count, uint32_t node)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *device = build->device_of[nodes[i]];

		/* Cloned hosts, and hosts that share an adapter, have the same device twice. */
		if (device[0] && !strcmp(device, build->device_of[node]))
			return true;
	}
	return false;
}

struct by_system {
	uint64_t system_guid;
	uint32_t node;
};

static int compare_systems(const void *a, const void *b)
{
	const struct by_system *x = a, *y = b;

	if (x->system_guid != y->system_guid)
		return x->system_guid < y->system_guid ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

/* Join HCAs with the same SystemImageGUID, unless their names contradict. */
static int join_systems(struct shape_build *build, struct sets *sets)
{
	struct by_system *list = shape_scratch(build, build->fabric->node_count, sizeof(*list));
	uint32_t nodes[HCAS_MAX], count = 0, j;

	if (!list)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < build->fabric->node_count; i++)
		if (shape_is_hca(build, i) && build->fabric->nodes[i].system_guid)
			list[count++] = (struct by_system){ build->fabric->nodes[i].system_guid, i };
	qsort(list, count, sizeof(*list), compare_systems);
	for (uint32_t i = 0; i < count; i = j) {
		for (j = i; j < count && list[j].system_guid == list[i].system_guid; j++)
			if (j - i < HCAS_MAX)
				nodes[j - i] = list[j].node;
		for (uint32_t k = 1; k < j - i && j - i <= HCAS_MAX; k++)
			if (!has_device(build, nodes, k, nodes[k]))
				shape_join(sets->root, nodes[0], nodes[k]);
	}
	return 0;
}

struct member {
	uint32_t set;       /* first node of the host */
	uint32_t node;
	const char *device;
	uint64_t guid;
};

/* The HCAs of a host in natural order of device. */
static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int difference = names_compare(x->device, y->device);

	if (difference)
		return difference;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

/* Most frequent host name of the HCAs of a host; NULL: none. */
static const char *common_name(const struct shape_build *build, const struct sets *sets, const struct member *members,
			       uint32_t count)
{
	uint32_t best = 0;
	const char *name = NULL;

	if (count > HCAS_MAX)
		count = HCAS_MAX;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t same = 0, group = sets->group[members[i].node];

		if (group == SHAPE_NONE)
			continue;
		for (uint32_t j = 0; j < count; j++)
			same += sets->group[members[j].node] == group;
		if (same > best) {
			best = same;
			name = build->host_of[members[i].node];
		}
	}
	return name;
}

static struct shape_host make_host(const struct shape_build *build, const struct sets *sets,
				   const struct member *members, uint32_t first, uint32_t count)
{
	const struct node *nodes = build->fabric->nodes;
	struct shape_host host = {
		.name = common_name(build, sets, members, count),
		.system_guid = nodes[members[0].node].system_guid,
		.class = build->shape->nodes[members[0].node].class,
		.first = first, .count = count,
	};

	for (uint32_t i = 1; i < count; i++) {
		const struct shape_node *node = &build->shape->nodes[members[i].node];

		if (nodes[members[i].node].system_guid != host.system_guid)
			host.system_guid = 0;
		/* An HCA with a class other than compute determines the class of the host. */
		if (host.class == CLASS_COMPUTE)
			host.class = node->class;
	}
	return host;
}

/*
 * Make names unique: cloned hosts get the GUID of their first HCA appended; hosts without a name
 * have only the GUID.
 */
static int name_hosts(struct shape_build *build, struct shape_host *hosts, size_t count)
{
	uint32_t *times = shape_scratch(build, count, sizeof(*times));
	uint32_t *number = shape_scratch(build, count, sizeof(*number));
	struct shape_strings names = { .count = 0 };
	int code = times && number ? 0 : ERR_NOMEM;

	for (size_t i = 0; i < count && code == 0; i++) {
		if (!hosts[i].name)
			continue;
		code = shape_intern(&names, hosts[i].name, &number[i]);
		if (code == 0)
			times[number[i]]++;
	}
	shape_strings_done(&names);
	for (size_t i = 0; i < count && code == 0; i++) {
		uint64_t guid = build->fabric->nodes[build->shape->host_nodes[hosts[i].first]].guid;
		char name[NODE_NAME_SIZE + 32];

		if (hosts[i].name && times[number[i]] == 1)
			continue;
		if (hosts[i].name)
			snprintf(name, sizeof(name), "%s" CLONE "%016" PRIx64 ")", hosts[i].name, guid);
		else
			snprintf(name, sizeof(name), "0x%016" PRIx64, guid);
		hosts[i].name = shape_string(build->shape, name, strlen(name));
		if (!hosts[i].name)
			code = ERR_NOMEM;
	}
	return code;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct shape_host *x = a, *y = b;

	return names_compare(x->name, y->name);
}

static void index_nodes(struct shape *shape)
{
	for (size_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (uint32_t j = host->first; j < host->first + host->count; j++) {
			shape->nodes[shape->host_nodes[j]].host = (uint32_t)i;
			shape->nodes[shape->host_nodes[j]].class = host->class;
		}
	}
}

/* Make the HCAs of a host adjacent. @place: by node, all 0. Return: number of HCAs. */
static uint32_t place_members(const struct shape_build *build, struct sets *sets, uint32_t *place,
			      struct member *members)
{
	const struct fabric *fabric = build->fabric;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (shape_is_hca(build, i))
			place[shape_root(sets->root, i)]++;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		uint32_t size = place[i];

		place[i] = sum;
		sum += size;
	}
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		uint32_t root;

		if (!shape_is_hca(build, i))
			continue;
		root = shape_root(sets->root, i);
		members[place[root]++] = (struct member){ root, i, build->device_of[i], fabric->nodes[i].guid };
	}
	return sum;
}

static int list_hosts(struct shape_build *build, struct sets *sets)
{
	size_t nodes = build->fabric->node_count;
	struct member *members = shape_scratch(build, nodes, sizeof(*members));
	uint32_t *place = shape_scratch(build, nodes, sizeof(*place)), count, j;
	struct shape *shape = build->shape;
	int code;

	shape->host_nodes = shape_memory(shape, nodes, sizeof(*shape->host_nodes));
	shape->hosts = shape_memory(shape, nodes, sizeof(*shape->hosts));
	if (!members || !place || !shape->host_nodes || !shape->hosts)
		return ERR_NOMEM;
	count = place_members(build, sets, place, members);
	for (uint32_t i = 0; i < count; i = j) {
		for (j = i; j < count && members[j].set == members[i].set;)
			j++;
		qsort(members + i, j - i, sizeof(*members), compare_members);
		for (j = i; j < count && members[j].set == members[i].set; j++)
			shape->host_nodes[j] = members[j].node;
		shape->hosts[shape->host_count++] = make_host(build, sets, members + i, i, j - i);
	}
	code = name_hosts(build, shape->hosts, shape->host_count);
	if (code < 0)
		return code;
	qsort(shape->hosts, shape->host_count, sizeof(*shape->hosts), compare_hosts);
	index_nodes(shape);
	return 0;
}

int shape_find_hosts(struct shape_build *build)
{
	size_t count = build->fabric->node_count;
	struct sets sets = {
		.root = shape_sets(build), .group = shape_indexes(build, count),
		.size = shape_scratch(build, count, sizeof(*sets.size)),
		.twice = shape_scratch(build, count, sizeof(*sets.twice)),
		.nameless = shape_scratch(build, count, sizeof(*sets.nameless)),
	};
	int code = sets.root && sets.group && sets.size && sets.twice && sets.nameless ? 0 : ERR_NOMEM;

	if (code == 0)
		code = number_names(build, &sets);
	if (code == 0) {
		accept_nameless(&sets);
		code = join_names(build, &sets);
	}
	if (code == 0)
		code = join_systems(build, &sets);
	if (code == 0)
		code = list_hosts(build, &sets);
	shape_strings_done(&sets.names);
	return code;
}

/* The first host whose name is not before this one, and begins with it; if @whole, has no more. Or SHAPE_NONE. */
static uint32_t host_from(const struct shape *shape, const char *name, bool whole)
{
	size_t from = 0, to = shape->host_count, len = strlen(name);

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (names_compare(shape->hosts[middle].name, name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == shape->host_count || strncmp(shape->hosts[from].name, name, len) ||
	    (whole && shape->hosts[from].name[len]))
		return SHAPE_NONE;
	return (uint32_t)from;
}

/* host_from() of the first @len bytes of a name, and what follows them. */
static uint32_t host_from_part(const struct shape *shape, const char *name, size_t len, const char *next, bool whole)
{
	char begin[NODE_NAME_SIZE + sizeof(CLONE)];

	snprintf(begin, sizeof(begin), "%.*s%s", (int)len, name, next);
	return host_from(shape, begin, whole);
}

uint32_t shape_hosts_named(const struct shape *shape, const char *name, uint32_t *ret_count)
{
	size_t len = strlen(name), host = strcspn(name, ".");
	uint32_t found = host_from(shape, name, true);
	const char *clone;

	*ret_count = found != SHAPE_NONE;
	if (found != SHAPE_NONE || host >= NODE_NAME_SIZE)
		return found;
	if (len < NODE_NAME_SIZE)
		found = host_from_part(shape, name, len, CLONE, false);
	if (found == SHAPE_NONE)
		found = host_from_part(shape, name, host, "", true);
	if (found == SHAPE_NONE)
		found = host_from_part(shape, name, host, CLONE, false);
	if (found == SHAPE_NONE)
		found = host_from_part(shape, name, host, ".", false);
	if (found == SHAPE_NONE)
		return found;
	name = shape->hosts[found].name;
	clone = strstr(name, CLONE);
	do
		++*ret_count;
	while (clone && found + *ret_count < shape->host_count &&
	       !strncmp(shape->hosts[found + *ret_count].name, name, (size_t)(clone - name) + strlen(CLONE)));
	return found;
}

uint32_t shape_find_host(const struct shape *shape, const char *name)
{
	uint32_t count, found = shape_hosts_named(shape, name, &count);

	return count == 1 ? found : SHAPE_NONE;
}

int shape_name_hosts(const struct shape *shape, const struct host_set *hosts, struct host_set *ret, struct error *err)
{
	for (size_t i = 0; i < hosts->count; i++) {
		uint32_t count, first = shape_hosts_named(shape, hosts->names[i], &count);

		for (uint32_t k = 0; k < count || k == 0; k++) {
			char **name = array_add(&ret->names, &ret->count, &ret->capacity, sizeof(*name));

			if (!name)
				return err_nomem(err);
			*name = count ? (char *)shape->hosts[first + k].name : hosts->names[i];
		}
	}
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return names_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Mark the hosts of a list; the names of @missing are moved there. */
static int mark_listed(const struct shape *shape, struct host_set *list, bool *ret, struct host_set *missing,
		       struct error *err)
{
	if (list->count && missing)
		qsort(list->names, list->count, sizeof(*list->names), compare_texts);
	for (size_t i = 0; i < list->count; i++) {
		uint32_t count, first = shape_hosts_named(shape, list->names[i], &count);
		char **name;

		memset(ret + (count ? first : 0), true, count * sizeof(*ret));
		/* A name may be listed twice. */
		if (count || !missing ||
		    (missing->count && !strcmp(missing->names[missing->count - 1], list->names[i])))
			continue;
		name = array_add(&missing->names, &missing->count, &missing->capacity, sizeof(*name));
		if (!name)
			return err_nomem(err);
		*name = list->names[i];
		list->names[i] = NULL;
	}
	return 0;
}

int shape_mark_hosts(const struct shape *shape, const char *list, bool *ret, struct host_set *missing,
		     struct error *err)
{
	struct host_set set = { 0 };
	size_t count = shape->host_count;
	int code = *list ? host_set_add(&set, list, err) : 0;

	for (size_t i = 0; !*list && i < count; i++)
		ret[i] = shape->hosts[i].class == CLASS_COMPUTE;
	if (*list)
		count = set.count;
	if (code == 0)
		code = mark_listed(shape, &set, ret, missing, err);
	host_set_done(&set);
	return code < 0 && code != ERR_USAGE ? code : (int)count;
}
