/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/name_map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/unread.h"

struct name_map {
	struct map by_guid; /* GUID to index into names */
	char **names;
	size_t count, capacity;
};

void name_map_destroy(struct name_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->count; i++)
		free(map->names[i]);
	free(map->names);
	map_done(&map->by_guid);
	free(map);
}

static int add_name(struct name_map *map, uint64_t guid, const char *chars, size_t len)
{
	char **names = array_grow(map->names, map->count, &map->capacity, sizeof(*names));

	if (!names)
		return ERR_NOMEM;
	map->names = names;
	map->names[map->count] = strndup(chars, len);
	if (!map->names[map->count])
		return ERR_NOMEM;
	return map_put(&map->by_guid, guid, (uint32_t)map->count++);
}

/*
 * One line without its newline: a GUID and a name, as util/node_name_map.c of rdma-core 50 reads them:
 * quotes may be left out; a name begins after the quotes and '#' that follow the GUID, and ends at
 * the next one. Of several names of a GUID the first one counts. A NUL byte is part of no name.
 *
 * Return: 1; 0: it is neither that nor empty; ERR_NOMEM.
 */
static int parse_line(struct name_map *map, const char *line, size_t len)
{
	char guid_text[24];
	size_t digits = 0, start, name = 0;
	uint64_t guid;
	uint32_t known;
	char *end;

	for (; len > 0 && isspace((unsigned char)*line); len--)
		line++;
	if (!len || *line == '#')
		return 1;
	while (digits < len && !isspace((unsigned char)line[digits]) && line[digits] != '#')
		digits++;
	if (digits >= sizeof(guid_text))
		return 0;
	memcpy(guid_text, line, digits);
	guid_text[digits] = '\0';
	guid = strtoull(guid_text, &end, 0);
	for (start = digits; start < len && (isspace((unsigned char)line[start]) || strchr("\"#", line[start]));)
		start++;
	while (start + name < len && line[start + name] != '"' && line[start + name] != '#')
		name++;
	while (name && isspace((unsigned char)line[start + name - 1]))
		name--;
	if (*end || end == guid_text || !guid || !name || memchr(line, '\0', len))
		return 0;
	return map_get(&map->by_guid, guid, &known) ? 1 : add_name(map, guid, line + start, name) < 0 ? ERR_NOMEM : 1;
}

int name_map_parse(const char *chars, size_t len, struct name_map **ret, struct unread *ret_unread,
		   struct error *err)
{
	struct name_map *map = calloc(1, sizeof(*map));
	struct unread unread = { 0 };
	const char *end = chars + len;
	size_t number = 0;

	if (!map)
		return err_nomem(err);
	while (chars < end) {
		const char *newline = memchr(chars, '\n', (size_t)(end - chars));
		const char *stop = newline ? newline : end;
		int code = parse_line(map, chars, (size_t)(stop - chars));

		number++;
		if (code < 0) {
			name_map_destroy(map);
			return err_nomem(err);
		}
		if (!code)
			unread_add(&unread, number);
		chars = stop + 1;
	}
	if (ret_unread)
		*ret_unread = unread;
	*ret = map;
	return 0;
}

const char *name_map_find(const struct name_map *map, uint64_t guid)
{
	uint32_t index;

	return map_get(&map->by_guid, guid, &index) ? map->names[index] : NULL;
}
