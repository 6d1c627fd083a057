/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/host_set.h"

/* Move the names of two sets of one size to the map. Return: 0 or ERR_NOMEM. */
static int add_pairs(struct host_map *map, struct host_set *from, struct host_set *to)
{
	for (size_t i = 0; i < from->count; i++) {
		struct host_map_entry *entry = array_add(&map->entries, &map->count, &map->capacity, sizeof(*entry));

		if (!entry)
			return ERR_NOMEM;
		*entry = (struct host_map_entry){ from->names[i], to->names[i] };
		from->names[i] = to->names[i] = NULL;
	}
	return 0;
}

/* Return: 0; ERR_USAGE: not two lists of one length; ERR_NOMEM. */
static int add_line(struct host_map *map, char *line)
{
	struct host_set from = { 0 }, to = { 0 };
	struct error why = { 0 };
	char *save, *first, *second;
	int code;

	line[strcspn(line, "#")] = '\0';
	first = strtok_r(line, " \t\r", &save);
	second = first ? strtok_r(NULL, " \t\r", &save) : NULL;
	if (!first)
		return 0;
	if (!second || strtok_r(NULL, " \t\r", &save))
		return ERR_USAGE;
	code = host_set_add(&from, first, &why);
	if (code == 0)
		code = host_set_add(&to, second, &why);
	if (code == 0)
		code = from.count == to.count ? add_pairs(map, &from, &to) : ERR_USAGE;
	host_set_done(&from);
	host_set_done(&to);
	return code;
}

int host_map_read(const char *path, struct host_map *ret, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_file(path, "the map of hosts ", TEXT_SMALL_MOST, &text, err);
	char *line, *end;

	*ret = (struct host_map){ 0 };
	text_append(&text, "\n");
	if (code == 0 && text_failed(&text))
		code = err_nomem(err);
	line = text.chars;
	end = line + text.len;
	for (size_t number = 1; code == 0 && line < end; number++) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		int one;

		*newline = '\0';
		one = strlen(line) < (size_t)(newline - line) ? ERR_USAGE : add_line(ret, line);
		if (one == ERR_USAGE)
			unread_add(&ret->unread, number);
		else if (one < 0)
			code = err_nomem(err);
		line = newline + 1;
	}
	text_done(&text);
	return code;
}

void host_map_done(struct host_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		free(map->entries[i].from);
		free(map->entries[i].to);
	}
	free(map->entries);
	memset(map, 0, sizeof(*map));
}
