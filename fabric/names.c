/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"

/* "0x" and up to 16 digits, nothing else. */
static bool parse_guid(const char *typed, uint64_t *ret)
{
	char *end;

	if (strncmp(typed, "0x", 2) || !isxdigit((unsigned char)typed[2]) || strlen(typed) > 18)
		return false;
	*ret = strtoull(typed, &end, 16);
	return !*end;
}

/* Unknown name: report it with the most similar name. */
static int no_such_node(const struct fabric *fabric, const char *typed, struct error *err)
{
	size_t best = strlen(typed) / 3 + 2;
	const char *nearest = NULL;

	/* The distances take most of the time of a failed search. */
	for (size_t i = 0; err && i < fabric->node_count; i++) {
		size_t distance = text_distance(typed, fabric->nodes[i].name);

		if (distance < best) {
			best = distance;
			nearest = fabric->nodes[i].name;
		}
	}
	if (nearest)
		return err_set(err, ERR_USAGE, "no node is called '%s': did you mean '%s'?", typed, nearest);
	return err_set(err, ERR_USAGE, "no node is called '%s': 'ibwire nodes' lists them", typed);
}

/* Several nodes have this name: list the first few GUIDs. */
static int several_nodes(const struct fabric *fabric, const char *typed, size_t count, struct error *err)
{
	struct text list = { 0 };
	size_t shown = 0;
	int code;

	for (size_t i = 0; i < fabric->node_count && shown < 4; i++) {
		if (strcmp(fabric->nodes[i].name, typed))
			continue;
		text_appendf(&list, "%s0x%016" PRIx64, shown ? ", " : "", fabric->nodes[i].guid);
		shown++;
	}
	code = err_set(err, ERR_USAGE, "%zu nodes are called '%s': give a GUID: %s%s", count, typed, text_chars(&list),
		       shown < count ? ", ..." : "");
	text_done(&list);
	return code;
}

/*
 * The node of a name as it is displayed where several have it: "NAME (3f80)", with the last digits
 * of its GUID. FABRIC_NONE: none or several.
 */
static uint32_t find_digits(const struct fabric *fabric, const char *typed)
{
	const char *open = strrchr(typed, '(');
	size_t digits = open ? strspn(open + 1, "0123456789abcdef") : 0;
	uint32_t found = FABRIC_NONE;
	char name[NODE_NAME_SIZE], guid[17];

	if (digits < 4 || digits > 16 || strcmp(open + 1 + digits, ")") || open < typed + 2 || open[-1] != ' ')
		return FABRIC_NONE;
	for (size_t i = 0; i < fabric->node_count; i++) {
		names_display(fabric, fabric->nodes[i].name, name);
		snprintf(guid, sizeof(guid), "%016" PRIx64, fabric->nodes[i].guid);
		if (strlen(name) != (size_t)(open - 1 - typed) || memcmp(name, typed, strlen(name)) ||
		    memcmp(guid + 16 - digits, open + 1, digits))
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = (uint32_t)i;
	}
	return found;
}

/* The node without a name whose last name was this one; FABRIC_NONE: none or several. */
static uint32_t find_was(const struct fabric *fabric, const char *typed)
{
	uint32_t found = FABRIC_NONE;
	size_t len = strlen(typed);

	for (size_t i = 0; i < fabric->node_count; i++) {
		const char *name = fabric->nodes[i].name;

		if (strncmp(name, typed, len) || strcmp(name + len, NAMES_WAS))
			continue;
		if (found != FABRIC_NONE)
			return FABRIC_NONE;
		found = (uint32_t)i;
	}
	return found;
}

/* Displayed names are unique: equal ones have digits of the GUID. */
static uint32_t find_shown(const struct fabric *fabric, const char *typed)
{
	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (!strcmp(fabric->names.shown[i], typed))
			return i;
	return FABRIC_NONE;
}

int names_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	uint32_t found = FABRIC_NONE;
	size_t count = 0;
	uint64_t guid;

	for (size_t i = 0; i < fabric->node_count; i++) {
		if (strcmp(fabric->nodes[i].name, typed))
			continue;
		found = (uint32_t)i;
		count++;
	}
	if (count == 0)
		found = find_was(fabric, typed);
	if (found == FABRIC_NONE)
		found = find_digits(fabric, typed);
	if (count > 1)
		return several_nodes(fabric, typed, count, err);
	if (found == FABRIC_NONE)
		found = find_shown(fabric, typed);
	if (found == FABRIC_NONE && parse_guid(typed, &guid)) {
		found = fabric_find_node(fabric, guid);
		if (found == FABRIC_NONE)
			return err_set(err, ERR_USAGE, "no node has the GUID %s: 'ibwire nodes' lists them", typed);
	}
	if (found == FABRIC_NONE)
		return no_such_node(fabric, typed, err);
	*ret = found;
	return 0;
}

int names_find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err)
{
	const char *slash = strrchr(typed, '/');
	uint32_t node, port;
	char *name, *end;
	unsigned long num;
	int code;

	if (!slash || !isdigit((unsigned char)slash[1]))
		return err_set(err, ERR_USAGE, "'%s' is no port: write NAME/PORT or 0xGUID/PORT", typed);
	errno = 0;
	num = strtoul(slash + 1, &end, 10);
	if (*end || errno || num > UINT8_MAX)
		return err_set(err, ERR_USAGE, "'%s' is no port: its number must be 0 to 255", typed);
	name = strndup(typed, (size_t)(slash - typed));
	if (!name)
		return err_nomem(err);
	code = names_find_node(fabric, name, &node, err);
	free(name);
	if (code < 0)
		return code;
	port = fabric_node_port(fabric, node, (uint8_t)num);
	if (port == FABRIC_NONE)
		return err_set(err, ERR_USAGE, "%s has no port %lu (it has %u)", fabric->nodes[node].name, num,
			       fabric->nodes[node].port_count);
	*ret = port;
	return 0;
}

static const char *skip_zeros(const char *digits)
{
	while (digits[0] == '0' && isdigit((unsigned char)digits[1]))
		digits++;
	return digits;
}

int names_compare(const char *a, const char *b)
{
	const char *whole_a = a, *whole_b = b;
	size_t same = 0;

	/* Skip the common prefix, back to the start of a number that differs. */
	while (a[same] && a[same] == b[same])
		same++;
	while (same > 0 && isdigit((unsigned char)a[same - 1]))
		same--;
	a += same;
	b += same;
	while (*a && *b) {
		size_t a_len, b_len;
		int difference;

		if (!isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) {
			if (*a != *b)
				return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
			a++;
			b++;
			continue;
		}
		a = skip_zeros(a);
		b = skip_zeros(b);
		a_len = strspn(a, "0123456789");
		b_len = strspn(b, "0123456789");
		if (a_len != b_len)
			return a_len < b_len ? -1 : 1;
		difference = strncmp(a, b, a_len);
		if (difference)
			return difference;
		a += a_len;
		b += b_len;
	}
	if (*a || *b)
		return *a ? 1 : -1;
	return strcmp(whole_a, whole_b);
}

size_t names_short(const char *name, char *ret)
{
	static const char managed[] = "MF0;";
	const char *start = name + strlen(managed), *colon, *slash;
	size_t len;

	if (!strncmp(name, managed, strlen(managed)) && (colon = strchr(start, ':')) && colon > start &&
	    (slash = strchr(colon, '/'))) {
		len = (size_t)(colon - start);
		memcpy(ret, start, len);
		ret[len] = '\0';
		if (strncmp(slash, "/U1", 3) || (slash[3] && strcmp(slash + 3, NAMES_WAS)))
			strcpy(ret + len, slash);
		else
			strcpy(ret + len, slash + 3);
	} else {
		strcpy(ret, name);
	}
	return strlen(ret) + 1;
}

/* The part of a managed switch's name before its suffix: "MF0;NAME:MODEL". Return: its hash; 0: another name. */
static uint64_t hash_box(const char *name, const char **ret_suffix)
{
	const char *colon = strncmp(name, "MF0;", strlen("MF0;")) ? NULL : strchr(name, ':');
	const char *slash = colon ? strchr(colon, '/') : NULL;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (!slash)
		return 0;
	for (; name < slash; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	*ret_suffix = slash;
	return hash | 1;
}

/* Find boxes of several ASICs. Only "/U2" and the like: modules of a director have a name of their own. */
static int find_boxes(struct names *names, const struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		const char *suffix;
		uint64_t box = hash_box(node->name, &suffix);

		if (box && node->type == NODE_SWITCH && suffix[1] == 'U' && strncmp(suffix, "/U1", 3) &&
		    map_put(&names->boxes, box, 1) < 0)
			return ERR_NOMEM;
	}
	return 0;
}

static size_t display(const struct names *names, const char *name, char *ret)
{
	size_t len = names_short(name, ret) - 1, was = strlen(NAMES_WAS);
	const char *suffix;
	uint64_t box = hash_box(name, &suffix);
	uint32_t found;

	if (!box || strncmp(suffix, "/U1", 3) || (suffix[3] && strcmp(suffix + 3, NAMES_WAS)) ||
	    !map_get(&names->boxes, box, &found))
		return len + 1;
	len -= suffix[3] ? was : 0;
	strcpy(ret + len, suffix);
	return strlen(ret) + 1;
}

size_t names_display(const struct fabric *fabric, const char *name, char *ret)
{
	return fabric ? display(&fabric->names, name, ret) : names_short(name, ret);
}

/*
 * "mlx5_0", "hfi1_0", "HCA-1": descriptions that these drivers set before a host has a name, a narrower rule than that
 * of host_split(); the views of the database repeat it (TABLES_IS_GENERIC).
 */
static bool is_device(const char *word, size_t len)
{
	size_t digits = 0;

	while (digits < len && isdigit((unsigned char)word[len - 1 - digits]))
		digits++;
	if (!digits || digits == len)
		return false;
	len -= digits;
	return (len == 4 && !strncmp(word, "HCA-", 4)) || (len == 5 && !strncmp(word, "mlx", 3) && word[4] == '_') ||
	       (len == 5 && !strncmp(word, "hfi", 3) && word[4] == '_');
}

bool names_is_generic(const char *desc)
{
	static const char maker[] = "Mellanox Technologies";
	static const char *const placeholders[] = { "localhost", "localhost.localdomain", "(none)" };
	size_t len, first;

	desc += strspn(desc, " ");
	len = strlen(desc);
	while (len && desc[len - 1] == ' ')
		len--;
	if (!len)
		return true;
	if (len >= sizeof(maker) - 1 && !strncmp(desc + len - (sizeof(maker) - 1), maker, sizeof(maker) - 1))
		return true;
	for (first = 0; first < len && desc[first] != ' ';)
		first++;
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++)
		if (strlen(placeholders[i]) == first && !strncmp(desc, placeholders[i], first))
			return true;
	return first == len && is_device(desc, len);
}

/* Room for the digits of a GUID in a name: " (", 16 digits, ")". */
#define DIGITS_SIZE 19

/* Sort key of a node. */
struct named_node {
	const char *name;
	uint64_t guid;
	uint32_t index;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct named_node *left = a, *right = b;
	int by_name = names_compare(left->name, right->name);

	if (by_name)
		return by_name;
	return left->guid < right->guid ? -1 : left->guid > right->guid;
}

/* Append the last digits of the GUIDs to @count equal names: 4, or as many as are needed. */
static void distinguish(struct names *names, const struct fabric *fabric, const struct named_node *equal,
			size_t count)
{
	unsigned digits = 4;

	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++)
			while (digits < 16 && !((equal[i].guid ^ equal[j].guid) << (64 - 4 * digits)))
				digits++;
	for (size_t i = 0; i < count; i++) {
		char *name = names->shown[equal[i].index];
		size_t len = strlen(name);

		names->equal_switches += fabric->nodes[equal[i].index].type == NODE_SWITCH;
		if (len + digits + 3 < NODE_NAME_SIZE)
			snprintf(name + len, DIGITS_SIZE + 1, " (%0*" PRIx64 ")", (int)digits,
				 digits < 16 ? equal[i].guid & ((UINT64_C(1) << 4 * digits) - 1) : equal[i].guid);
	}
}

void names_done(struct names *names)
{
	free(names->shown);
	free(names->sorted);
	free(names->chars);
	map_done(&names->boxes);
	memset(names, 0, sizeof(*names));
}

int names_show(struct names *ret, const struct fabric *fabric, struct error *err)
{
	struct named_node *sorted = calloc(fabric->node_count + 1, sizeof(*sorted));
	struct names names = { .shown = calloc(fabric->node_count + 1, sizeof(*names.shown)),
			       .sorted = calloc(fabric->node_count + 1, sizeof(*names.sorted)) };
	size_t size = 1, end;
	char *to;

	for (size_t i = 0; i < fabric->node_count; i++)
		size += strlen(fabric->nodes[i].name) + 1 + DIGITS_SIZE;
	names.chars = to = malloc(size);
	*ret = (struct names){ 0 };
	if (!sorted || !names.shown || !names.sorted || !to || find_boxes(&names, fabric) < 0) {
		free(sorted);
		names_done(&names);
		return err_nomem(err);
	}
	for (size_t i = 0; i < fabric->node_count; i++) {
		names.shown[i] = to;
		to += display(&names, fabric->nodes[i].name, to) + DIGITS_SIZE;
		sorted[i] = (struct named_node){ names.shown[i], fabric->nodes[i].guid, (uint32_t)i };
	}
	qsort(sorted, fabric->node_count, sizeof(*sorted), compare_nodes);
	for (size_t i = 0; i < fabric->node_count; i = end) {
		names.sorted[i] = sorted[i].index;
		for (end = i + 1; end < fabric->node_count && !strcmp(sorted[end].name, sorted[i].name); end++)
			names.sorted[end] = sorted[end].index;
		if (end > i + 1)
			distinguish(&names, fabric, sorted + i, end - i);
	}
	free(sorted);
	*ret = names;
	return 0;
}
