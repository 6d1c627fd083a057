/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host_tree/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host_map.h"
#include "fabric/names.h"
#include "fabric/shape.h"

/* A name whose last number has more digits is no number to Slurm: hostlist.c reads it with strtoul(). */
enum { DIGITS_MOST = 18, KUBERNETES_MOST = 253 };

#define SMALL "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ" SMALL

static bool is_letter(char c)
{
	return c && strchr(LETTERS, c);
}

static size_t last_digits(const char *name)
{
	size_t len = strlen(name), digits = 0;

	while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
		digits++;
	return digits;
}

/* @name with '-' for each run of other characters, and none of them at the ends. Return: its length. */
static size_t plain_name(const char *name, size_t len, char ret[NODE_NAME_SIZE])
{
	size_t count = 0;
	bool replaced = false;

	for (size_t i = 0; i < len && count < NODE_NAME_SIZE - 1; i++) {
		bool is_plain = is_letter(name[i]) || strchr("._-", name[i]);

		if (!count && !is_letter(name[i]))
			continue;
		if (is_plain && !(replaced && name[i] == '-'))
			ret[count++] = name[i];
		else if (!is_plain && ret[count - 1] != '-')
			ret[count++] = '-';
		replaced = !is_plain || (replaced && name[i] == '-');
	}
	while (count && !is_letter(ret[count - 1]))
		count--;
	ret[count] = '\0';
	return count;
}

char *host_tree_switch_name(const char *prefix, const char *name, size_t len, const char *end, uint64_t guid)
{
	char plain[NODE_NAME_SIZE + 20], digits[20], *ret;
	size_t room = HOST_TREE_NAME_MOST - strlen(prefix) - strlen(end), was = strlen(NAMES_WAS), count;

	/* The last known name of a switch that has none now. */
	if (len > was && !strncmp(name + len - was, NAMES_WAS, was))
		len -= was;
	count = plain_name(name, len, plain);
	snprintf(digits, sizeof(digits), "-%016" PRIx64, guid);
	if (!count)
		snprintf(plain, sizeof(plain), "switch%s", digits);
	else if (count > room && !*end)
		strcpy(plain + plain_name(plain, room - strlen(digits), plain), digits);
	else if (count > room)
		plain_name(plain, room, plain);
	else if (!*end && last_digits(plain) > DIGITS_MOST)
		plain[count - 1] = 'x';
	if (asprintf(&ret, "%s%s%s", prefix, plain, end) < 0)
		return NULL;
	return ret;
}

/* RFC 1123: labels of small letters, digits and '-', which begin and end with neither '.' nor '-'. */
static bool kubernetes_accepts(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > KUBERNETES_MOST || strspn(name, SMALL "-.") != len)
		return false;
	for (size_t i = 0; i <= len; i++)
		if ((i == 0 || i == len || name[i] == '.') &&
		    ((i && !strchr(SMALL, name[i - 1])) || (i < len && name[i] == '.' && !strchr(SMALL, name[i + 1])) ||
		     (!i && !strchr(SMALL, name[0]))))
			return false;
	return true;
}

bool host_tree_accepts(enum host_tree_rules rules, const char *name)
{
	size_t len = strlen(name);

	if (rules == HOST_TREE_KUBERNETES)
		return kubernetes_accepts(name);
	return len && len <= HOST_TREE_NAME_MOST && strspn(name, LETTERS "._-") == len && is_letter(name[0]) &&
	       last_digits(name) <= DIGITS_MOST && strcasecmp(name, "DEFAULT") && strcasecmp(name, "ALL");
}

/* A name that the tree owns. Return: NULL: no memory. */
static const char *own_name(struct host_tree *tree, const char *chars, size_t len, bool small_letters)
{
	char **name = array_add(&tree->changed, &tree->changed_count, &tree->changed_capacity, sizeof(*name));

	if (!name)
		return NULL;
	*name = strndup(chars, len);
	for (char *c = *name; c && *c && small_letters; c++)
		*c = (char)tolower((unsigned char)*c);
	return *name;
}

static bool leave(struct host_tree *tree, enum host_tree_left why, const char *name, size_t most)
{
	if (!tree->left[why])
		tree->left[why] = calloc(most + 1, sizeof(*tree->left[why]));
	if (!tree->left[why])
		return false;
	tree->left[why][tree->left_count[why]++] = name;
	return true;
}

/* Cloned hosts have the GUID in parentheses behind their name, which contains no blank. */
static size_t without_guid(const char *name)
{
	return strcspn(name, " ");
}

static bool is_unnamed(const char *name)
{
	return !strncmp(name, "0x", 2) && strlen(name) == 18;
}

/* The name in the fabric as the scheduler has it. Return: NULL: no memory. */
static const char *usual_name(struct host_tree *tree, enum host_tree_rules rules, const char *name)
{
	size_t len = without_guid(name), host = strcspn(name, ".");

	if (rules == HOST_TREE_SLURM) {
		/* Not of an address. */
		if (host < len && host && strspn(name, "0123456789") < host)
			len = host;
		return name[len] ? own_name(tree, name, len, false) : name;
	}
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)name[i]))
			return own_name(tree, name, len, true);
	return name[len] ? own_name(tree, name, len, false) : name;
}

/* New names by host, of the entries of a map that name one host; the first counts. */
static void find_mapped(const struct shape *shape, const struct host_map *map, const char **ret)
{
	for (size_t i = 0; map && i < map->count; i++) {
		const char *from = map->entries[i].from;
		char *end;
		uint64_t guid = strncmp(from, "0x", 2) ? 0 : strtoull(from, &end, 16);
		uint32_t node = guid && !*end ? fabric_find_node(shape->fabric, guid) : FABRIC_NONE;
		uint32_t host = node == FABRIC_NONE ? shape_find_host(shape, from) : shape->nodes[node].host;

		if (host != SHAPE_NONE && !ret[host])
			ret[host] = map->entries[i].to;
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct host_name *x = a, *y = b;
	int difference = names_compare(x->name, y->name);

	/* "node1" and "node01" are equal in natural order. */
	difference = difference ? difference : strcmp(x->name, y->name);
	return difference ? difference : x->host < y->host ? -1 : 1;
}

static void sort_names(struct host_names *names)
{
	size_t sorted = 1;

	/* Hosts are in this order already, unless names were changed. */
	while (sorted < names->count && compare_names(&names->list[sorted - 1], &names->list[sorted]) < 0)
		sorted++;
	if (sorted < names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_names);
}

/* Among hosts with one name, those with a domain have their complete names. @change: otherwise they are left out. */
static bool resolve_equal(struct host_names *names, const struct shape *shape, struct host_tree *tree, bool change)
{
	size_t kept = 0, end, most = names->count;

	sort_names(names);
	for (size_t i = 0; i < names->count; i = end) {
		for (end = i + 1; end < names->count && !strcmp(names->list[end].name, names->list[i].name);)
			end++;
		for (size_t j = i; j < end; j++) {
			struct host_name one = names->list[j];
			const char *full = shape->hosts[one.host].name;
			size_t len = strlen(one.name);

			if (end > i + 1 && change && !strncmp(full, one.name, len) && full[len] == '.' &&
			    host_tree_accepts(HOST_TREE_SLURM, full))
				one.name = full;
			if (end == i + 1 || change)
				names->list[kept++] = one;
			else if (!leave(tree, HOST_LEFT_TWICE, full, most))
				return false;
		}
	}
	names->count = kept;
	return true;
}

int host_names_find(struct host_names *ret, const struct shape *shape, const struct host_tree_options *options,
		    bool (*is_cabled)(void *context, uint32_t host), void *context, struct host_tree *tree,
		    struct error *err)
{
	size_t most = shape->host_count;
	const char **mapped = calloc(most + 1, sizeof(*mapped));
	bool ok;

	*ret = (struct host_names){ .list = calloc(most + 1, sizeof(*ret->list)) };
	ok = mapped && ret->list;
	if (ok)
		find_mapped(shape, options->map, mapped);
	for (uint32_t i = 0; i < most && ok; i++) {
		const char *full = shape->hosts[i].name, *name;

		if (!options->all && shape->hosts[i].class != CLASS_COMPUTE) {
			ok = leave(tree, HOST_LEFT_CLASS, full, most);
			continue;
		}
		if (!mapped[i] && is_unnamed(full)) {
			ok = leave(tree, HOST_LEFT_UNNAMED, full, most);
			continue;
		}
		name = mapped[i] ? own_name(tree, mapped[i], strlen(mapped[i]), false) :
		       usual_name(tree, options->rules, full);
		if (!name)
			ok = false;
		else if (!host_tree_accepts(options->rules, name))
			ok = leave(tree, HOST_LEFT_NAME, name, most);
		else if (!is_cabled(context, i))
			ok = leave(tree, HOST_LEFT_UNCABLED, name, most);
		else
			ret->list[ret->count++] = (struct host_name){ name, i };
	}
	if (ok && options->rules == HOST_TREE_SLURM)
		ok = resolve_equal(ret, shape, tree, true);
	ok = ok && resolve_equal(ret, shape, tree, false);
	free(mapped);
	return ok ? 0 : err_nomem(err);
}

void host_names_done(struct host_names *names)
{
	free(names->list);
	memset(names, 0, sizeof(*names));
}
