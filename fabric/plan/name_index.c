/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan/name_index.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/shape.h"

/* Which names an entry is found by, in the order in which they count. */
enum space {
	SPACE_NAME,   /* complete names */
	SPACE_SHOWN,  /* displayed names */
	SPACE_FOLDED, /* both without regard to case */
	SPACE_CUT,    /* and without a domain */
	SPACE_HOST,   /* hosts, without regard to case */
	SPACE_HOST_CUT,
	SPACE_BOX,    /* nodes by the name of their box */
	SPACE_BOX_CUT,
	SPACE_ALIKE,       /* nodes that are switches by letters and numbers only */
	SPACE_ALIKE_HOST,  /* hosts */
};

/* Unknown names that are compared with all names for a hint, and comparisons for that; about 0.1 s. */
enum { SEARCHES_MAX = 100, COMPARISONS_MAX = 300000 };

/* Lower case, single blanks, without quotes around it. */
static void fold(const char *name, char ret[NAME_MAX_SIZE])
{
	size_t len = 0;
	char quote;

	name += strspn(name, " \t");
	quote = *name == '"' || *name == '\'' ? *name++ : '\0';
	for (; *name && len + 1 < NAME_MAX_SIZE; name++) {
		if (isspace((unsigned char)*name) && (!len || ret[len - 1] == ' '))
			continue;
		ret[len++] = isspace((unsigned char)*name) ? ' ' : (char)tolower((unsigned char)*name);
	}
	while (len && (ret[len - 1] == ' ' || (quote && ret[len - 1] == quote)))
		len--;
	ret[len] = '\0';
}

/* Remove domains: "node1.cluster mlx5_0". Parts that begin with a digit are none: "sw1.2". */
static bool cut_domain(char *name)
{
	char *to = name, *word = name;
	bool cut = false;

	for (const char *at = name; *at; at++) {
		if (*at == '.' && to > word && isalpha((unsigned char)at[1])) {
			cut = true;
			at += strcspn(at, " /:");
			if (!*at)
				break;
		}
		*to++ = *at;
		if (*at == ' ')
			word = to;
	}
	*to = '\0';
	return cut;
}

/* Letters, and numbers without leading zeros: "leaf1" of "Leaf-01" and "leaf_1". */
static void reduce(const char *name, char ret[NAME_MAX_SIZE])
{
	size_t len = 0;
	bool number = false;

	for (; *name && len + 2 < NAME_MAX_SIZE; name++) {
		unsigned char c = (unsigned char)*name;

		if (isdigit(c)) {
			if (c == '0' && !number && isdigit((unsigned char)name[1]))
				continue;
			/* "node1-2" is not "node12". */
			if (!number && len && isdigit((unsigned char)ret[len - 1]))
				ret[len++] = '-';
			number = true;
			ret[len++] = (char)c;
		} else {
			number = false;
			if (isalpha(c) || c >= 0x80)
				ret[len++] = (char)tolower(c);
		}
	}
	ret[len] = '\0';
}

static uint64_t hash_key(enum space space, const char *key)
{
	return map_hash_text(MAP_HASH_START + (uint64_t)space, key);
}

static int add(struct name_index *index, enum space space, const char *key, uint32_t what)
{
	uint64_t hash = hash_key(space, key);
	uint32_t head = FABRIC_NONE;
	struct name_entry *entry;

	map_get(&index->heads, hash, &head);
	entry = array_add(&index->entries, &index->count, &index->capacity, sizeof(*entry));
	if (!entry)
		return ERR_NOMEM;
	*entry = (struct name_entry){
		.key = plan_string(&index->strings, key, strlen(key)), .what = what, .next = head,
		.space = (uint8_t)space,
	};
	return entry->key ? map_put(&index->heads, hash, (uint32_t)(index->count - 1)) : ERR_NOMEM;
}

/* The entry of a name, from @entry on. */
static uint32_t seek(const struct name_index *index, uint32_t entry, enum space space, const char *key)
{
	while (entry != FABRIC_NONE &&
	       (index->entries[entry].space != space || strcmp(index->entries[entry].key, key)))
		entry = index->entries[entry].next;
	return entry;
}

static uint32_t find(const struct name_index *index, enum space space, const char *key)
{
	uint32_t head = FABRIC_NONE;

	map_get(&index->heads, hash_key(space, key), &head);
	return seek(index, head, space, key);
}

uint32_t name_index_next(const struct name_index *index, uint32_t entry)
{
	return seek(index, index->entries[entry].next, index->entries[entry].space, index->entries[entry].key);
}

/* A number after a letter: "U2", "L16". Return: what follows it; NULL: it is none. */
static const char *take_part(const char *at, const char *letters, char *ret_letter, unsigned *ret)
{
	char *end;

	*ret_letter = (char)toupper((unsigned char)*at);
	if (!*at || !strchr(letters, *ret_letter) || !isdigit((unsigned char)at[1]))
		return NULL;
	*ret = (unsigned)strtoul(at + 1, &end, 10);
	return end;
}

bool name_module(const char *name, struct name_module *ret)
{
	const char *colon = strncmp(name, "MF0;", 4) ? NULL : strchr(name, ':');
	const char *slash = colon ? strchr(colon, '/') : NULL;

	*ret = (struct name_module){ .asic = 1 };
	while (slash && *slash == '/') {
		unsigned number;
		char letter;
		const char *next = take_part(slash + 1, "LSMU", &letter, &number);

		if (!next)
			return false;
		if (letter == 'U') {
			ret->asic = number;
		} else {
			ret->kind = letter;
			ret->module = number;
		}
		slash = next;
	}
	return slash;
}

/* The name of its box: NAME of "MF0;NAME:MODEL/L16/U2". */
static bool box_name(const char *name, char ret[NAME_MAX_SIZE])
{
	const char *colon = strncmp(name, "MF0;", 4) ? NULL : strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name - 4) : 0;

	if (!len || len >= NAME_MAX_SIZE || !strchr(colon, '/'))
		return false;
	memcpy(ret, name + 4, len);
	ret[len] = '\0';
	return true;
}

/* Add a name in lower case, and without its domain. */
static int add_folded(struct name_index *index, enum space space, const char *name, uint32_t what)
{
	char folded[NAME_MAX_SIZE];
	int code;

	fold(name, folded);
	code = add(index, space, folded, what);
	if (code == 0 && cut_domain(folded))
		code = add(index, space + 1, folded, what);
	return code;
}

static int add_node(struct name_index *index, uint32_t at)
{
	const struct fabric *fabric = index->shape->fabric;
	const struct node *node = &fabric->nodes[at];
	const char *shown = fabric->names.shown[at];
	bool same = !strcmp(node->name, shown);
	char name[NAME_MAX_SIZE];
	int code = add(index, SPACE_NAME, node->name, at);

	if (code == 0 && !same)
		code = add(index, SPACE_SHOWN, shown, at);
	if (code == 0)
		code = add_folded(index, SPACE_FOLDED, node->name, at);
	if (code == 0 && !same)
		code = add_folded(index, SPACE_FOLDED, shown, at);
	if (node->type != NODE_SWITCH || code < 0)
		return code;
	if (box_name(node->name, name))
		code = add_folded(index, SPACE_BOX, name, at);
	else
		snprintf(name, sizeof(name), "%s", shown);
	if (code == 0) {
		char reduced[NAME_MAX_SIZE];

		cut_domain(name);
		reduce(name, reduced);
		code = add(index, SPACE_ALIKE, reduced, at);
	}
	return code;
}

static int add_host(struct name_index *index, uint32_t at)
{
	const struct shape_host *host = &index->shape->hosts[at];
	const struct node *node = &index->shape->fabric->nodes[index->shape->host_nodes[host->first]];
	char name[NODE_NAME_SIZE], reduced[NAME_MAX_SIZE];
	int code = add_folded(index, SPACE_HOST, host->name, at);

	/* Cloned hosts have a GUID in the name of the shape. */
	if (code == 0 && host_name(node, name) && strcmp(name, host->name))
		code = add_folded(index, SPACE_HOST, name, at);
	if (code < 0)
		return code;
	snprintf(name, sizeof(name), "%s", host->name);
	cut_domain(name);
	reduce(name, reduced);
	return add(index, SPACE_ALIKE_HOST, reduced, at);
}

int name_index_init(struct name_index *index, const struct shape *shape)
{
	const struct fabric *fabric = shape->fabric;
	int code = 0;

	*index = (struct name_index){ .shape = shape };
	/* From the end: of equal names the first is at the head. */
	for (uint32_t i = (uint32_t)fabric->node_count; i-- > 0 && code == 0;)
		code = add_node(index, i);
	for (uint32_t i = (uint32_t)shape->host_count; i-- > 0 && code == 0;)
		code = add_host(index, i);
	for (uint32_t i = 0; i < fabric->port_count && code == 0; i++)
		if (fabric->ports[i].guid && fabric->ports[i].num)
			code = map_put(&index->port_guids, fabric->ports[i].guid, i);
	return code;
}

void name_index_done(struct name_index *index)
{
	free(index->entries);
	map_done(&index->heads);
	map_done(&index->port_guids);
	plan_strings_done(&index->strings);
}

/* "0x2c5eab0300b87b40", the 16 digits alone, "S-2c5eab0300b87b40", "2c5e:ab03:00b8:7b40". */
static bool parse_guid(const char *typed, uint64_t *ret)
{
	char digits[17];
	size_t len = 0, least = 12;

	if (!strncasecmp(typed, "0x", 2)) {
		typed += 2;
		least = 1;
	} else if (typed[0] && strchr("SHRshr", typed[0]) && typed[1] == '-') {
		typed += strncasecmp(typed + 2, "0x", 2) ? 2 : 4;
	}
	for (; *typed; typed++) {
		if ((*typed == ':' || *typed == '-') && len && isxdigit((unsigned char)typed[1]))
			continue;
		if (!isxdigit((unsigned char)*typed) || len == 16)
			return false;
		digits[len++] = *typed;
	}
	digits[len] = '\0';
	*ret = strtoull(digits, NULL, 16);
	return len >= least;
}

static bool find_guid(const struct name_index *index, const char *typed, struct name_found *ret)
{
	const struct fabric *fabric = index->shape->fabric;
	uint64_t guid;

	if (!parse_guid(typed, &guid))
		return false;
	ret->what = fabric_find_node(fabric, guid);
	ret->named = NAMED_NODE;
	if (ret->what != FABRIC_NONE)
		return true;
	ret->named = NAMED_PORT;
	return map_get(&index->port_guids, guid, &ret->what);
}

/* Nodes that have one name: one, or HCAs of one host, or several. */
static bool take_nodes(const struct name_index *index, uint32_t entry, struct name_found *ret)
{
	const struct shape *shape = index->shape;
	uint32_t first, host;
	bool equal = true;

	if (entry == FABRIC_NONE)
		return false;
	first = index->entries[entry].what;
	host = shape->nodes[first].host;
	ret->count = 0;
	for (uint32_t at = entry; at != FABRIC_NONE; at = name_index_next(index, at)) {
		equal &= index->entries[at].what == first;
		if (shape->nodes[index->entries[at].what].host != host)
			host = SHAPE_NONE;
		ret->count++;
	}
	ret->entry = entry;
	ret->what = equal ? first : host;
	ret->named = equal ? NAMED_NODE : host != SHAPE_NONE ? NAMED_HOST : NAMED_SEVERAL;
	ret->hosts = false;
	return true;
}

static bool take_hosts(const struct name_index *index, uint32_t entry, struct name_found *ret)
{
	bool equal = true;

	if (entry == FABRIC_NONE)
		return false;
	ret->count = 0;
	for (uint32_t at = entry; at != FABRIC_NONE; at = name_index_next(index, at)) {
		equal &= index->entries[at].what == index->entries[entry].what;
		ret->count++;
	}
	ret->entry = entry;
	ret->what = index->entries[entry].what;
	ret->hosts = true;
	ret->named = equal ? NAMED_HOST : NAMED_SEVERAL;
	return true;
}

static bool take_box(const struct name_index *index, uint32_t entry, struct name_found *ret)
{
	if (!take_nodes(index, entry, ret))
		return false;
	if (ret->named == NAMED_SEVERAL)
		ret->named = NAMED_BOX;
	return true;
}

/* A name in lower case; @short: without a domain. */
static bool find_folded(const struct name_index *index, const char *folded, const char *short_name,
			struct name_found *ret)
{
	return take_nodes(index, find(index, SPACE_FOLDED, folded), ret) ||
	       take_hosts(index, find(index, SPACE_HOST, folded), ret) ||
	       take_box(index, find(index, SPACE_BOX, folded), ret) ||
	       take_nodes(index, find(index, SPACE_FOLDED, short_name), ret) ||
	       take_hosts(index, find(index, SPACE_HOST, short_name), ret) ||
	       take_box(index, find(index, SPACE_BOX, short_name), ret) ||
	       take_nodes(index, find(index, SPACE_CUT, short_name), ret) ||
	       take_hosts(index, find(index, SPACE_HOST_CUT, short_name), ret) ||
	       take_box(index, find(index, SPACE_BOX_CUT, short_name), ret);
}

static bool find_name(const struct name_index *index, const char *typed, struct name_found *ret)
{
	char folded[NAME_MAX_SIZE], short_name[NAME_MAX_SIZE];

	fold(typed, folded);
	strcpy(short_name, folded);
	cut_domain(short_name);
	return *folded && find_folded(index, folded, short_name, ret);
}

/* "MF0;leaf-a01:MQM8700/U1" and "leaf-a01:MQM8700/U1" where the fabric has another model, or leaf-a01. */
static bool find_managed(const struct name_index *index, const char *typed, struct name_found *ret)
{
	char full[NAME_MAX_SIZE], name[NAME_MAX_SIZE];
	struct name_module module;

	snprintf(full, sizeof(full), "%s%s", strncasecmp(typed, "MF0;", 4) ? "MF0;" : "", typed);
	memcpy(full, "MF0;", 4);
	if (!name_module(full, &module))
		return false;
	names_short(full, name);
	if (find_name(index, name, ret))
		return true;
	if (!box_name(full, name) || !find_name(index, name, ret) || (ret->named != NAMED_BOX && module.kind))
		return false;
	if (ret->named == NAMED_BOX && module.kind)
		snprintf(ret->rest, sizeof(ret->rest), "%c%u/U%u", module.kind, module.module, module.asic);
	else if (ret->named == NAMED_BOX)
		snprintf(ret->rest, sizeof(ret->rest), "U%u", module.asic);
	return true;
}

/* "node0001 mlx5_0", "leaf-a01/21", "core-1-A/L16", "leaf-a01 Port 21": a name, and a part of the port. */
static bool find_beginning(const struct name_index *index, const char *typed, struct name_found *ret)
{
	char name[NAME_MAX_SIZE];
	size_t len = strlen(typed);

	if (len >= sizeof(name))
		return false;
	for (size_t cut = len; cut-- > 1;) {
		if (!strchr("/ :", typed[cut]) || typed[cut - 1] == ' ')
			continue;
		memcpy(name, typed, cut);
		name[cut] = '\0';
		if (!find_name(index, name, ret))
			continue;
		snprintf(ret->rest, sizeof(ret->rest), "%s", typed + cut + 1);
		return true;
	}
	return false;
}

void name_index_find(const struct name_index *index, const char *typed, struct name_found *ret)
{
	*ret = (struct name_found){ .named = NAMED_NOTHING, .what = FABRIC_NONE };
	if (find_guid(index, typed, ret) || take_nodes(index, find(index, SPACE_NAME, typed), ret) ||
	    take_nodes(index, find(index, SPACE_SHOWN, typed), ret) || find_name(index, typed, ret) ||
	    find_managed(index, typed, ret) || find_beginning(index, typed, ret))
		return;
	*ret = (struct name_found){ .named = NAMED_NOTHING, .what = FABRIC_NONE };
}

static const char *name_of(const struct name_index *index, const struct name_entry *entry, char ret[NAME_MAX_SIZE])
{
	const struct shape *shape = index->shape;

	if (entry->space == SPACE_ALIKE_HOST)
		snprintf(ret, NAME_MAX_SIZE, "%s", shape->hosts[entry->what].name);
	else if (!box_name(shape->fabric->nodes[entry->what].name, ret))
		snprintf(ret, NAME_MAX_SIZE, "%s", shape->fabric->names.shown[entry->what]);
	return ret;
}

/* Append up to three different names. */
static size_t append_alike(const struct name_index *index, enum space space, const char *reduced, size_t count,
			   char last[NAME_MAX_SIZE], struct text *ret)
{
	char name[NAME_MAX_SIZE];

	for (uint32_t at = find(index, space, reduced); at != FABRIC_NONE && count < 3;
	     at = name_index_next(index, at)) {
		/* Modules of a box have one name. */
		if (!strcmp(name_of(index, &index->entries[at], name), last))
			continue;
		text_appendf(ret, "%s%s", count ? " or " : ": did you mean ", name);
		strcpy(last, name);
		count++;
	}
	return count;
}

/* The name with the fewest other letters. */
static void append_nearest(struct name_index *index, const char *typed, struct text *ret)
{
	struct nearest nearest;
	char folded[NAME_MAX_SIZE], name[NAME_MAX_SIZE];

	fold(typed, folded);
	nearest_init(&nearest, folded);
	index->searches++;
	for (size_t i = 0; i < index->count; i++) {
		const struct name_entry *entry = &index->entries[i];
		size_t len = strlen(entry->key), other = strlen(folded);

		if ((entry->space != SPACE_HOST && entry->space != SPACE_BOX && entry->space != SPACE_FOLDED) ||
		    len > other + other / 3 + 1 || other > len + other / 3 + 1 ||
		    (entry->space == SPACE_FOLDED && index->shape->fabric->nodes[entry->what].type != NODE_SWITCH) ||
		    !strncmp(entry->key, "mf0;", 4))
			continue;
		index->comparisons++;
		nearest_offer(&nearest, entry->key);
		if (nearest.best == entry->key) {
			if (entry->space == SPACE_HOST)
				snprintf(name, sizeof(name), "%s", index->shape->hosts[entry->what].name);
			else
				name_of(index, entry, name);
		}
	}
	if (nearest.best)
		text_appendf(ret, ": did you mean %s", name);
}

void name_index_similar(struct name_index *index, const char *typed, struct text *ret)
{
	char short_name[NAME_MAX_SIZE], reduced[NAME_MAX_SIZE], last[NAME_MAX_SIZE] = "";
	struct host_words words;
	size_t len = ret->len, count;

	fold(typed, short_name);
	/* Of "node7 mlx5_0" the host is unknown. */
	if (host_split(short_name, &words)) {
		memmove(short_name, words.host, words.host_len);
		short_name[words.host_len] = '\0';
	}
	cut_domain(short_name);
	reduce(short_name, reduced);
	count = append_alike(index, SPACE_ALIKE, reduced, 0, last, ret);
	count = append_alike(index, SPACE_ALIKE_HOST, reduced, count, last, ret);
	if (!count && index->searches < SEARCHES_MAX && index->comparisons < COMPARISONS_MAX)
		append_nearest(index, short_name, ret);
	if (ret->len > len)
		text_append(ret, "?");
}
