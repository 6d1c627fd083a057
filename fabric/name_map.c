/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/name_map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"

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

/* One line without its newline: 0x<guid> "name". Other lines are ignored. */
static int parse_line(struct name_map *map, const char *line, size_t len)
{
	char guid_text[24];
	const char *open, *close;
	size_t digits;
	uint64_t guid;
	char *end;

	while (len > 0 && isspace((unsigned char)*line)) {
		line++;
		len--;
	}
	open = memchr(line, '"', len);
	if (!len || *line == '#' || !open)
		return 0;
	close = memchr(open + 1, '"', (size_t)(line + len - open - 1));
	digits = (size_t)(open - line);
	if (!close || digits >= sizeof(guid_text))
		return 0;
	memcpy(guid_text, line, digits);
	guid_text[digits] = '\0';
	guid = strtoull(guid_text, &end, 16);
	if (end == guid_text || !guid || (*end && !isspace((unsigned char)*end)))
		return 0;
	return add_name(map, guid, open + 1, (size_t)(close - open - 1));
}

int name_map_parse(const char *chars, size_t len, struct name_map **ret, struct error *err)
{
	struct name_map *map = calloc(1, sizeof(*map));
	const char *end = chars + len;

	if (!map)
		return err_nomem(err);
	while (chars < end) {
		const char *newline = memchr(chars, '\n', (size_t)(end - chars));
		const char *stop = newline ? newline : end;

		if (parse_line(map, chars, (size_t)(stop - chars)) < 0) {
			name_map_destroy(map);
			return err_nomem(err);
		}
		chars = stop + 1;
	}
	*ret = map;
	return 0;
}

const char *name_map_find(const struct name_map *map, uint64_t guid)
{
	uint32_t index;

	return map_get(&map->by_guid, guid, &index) ? map->names[index] : NULL;
}
