/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"

/* Maximum line length: two numbers of 18 characters fit. */
#define LINE_SIZE 128

/* Maximum file size; a million ports take half of it. */
#define KEYS_SIZE_MOST (128 << 20)

struct keys {
	char *directory;
	struct map by_guid; /* GUID to index into list */
	uint64_t *list;     /* not grown by realloc(), which would leave copies of keys */
	size_t count, capacity;
	bool exposed;
};

void keys_destroy(struct keys *keys)
{
	if (!keys)
		return;
	if (keys->list)
		explicit_bzero(keys->list, keys->capacity * sizeof(*keys->list));
	free(keys->list);
	map_done(&keys->by_guid);
	free(keys->directory);
	free(keys);
}

static int add_key(struct keys *keys, uint64_t guid, uint64_t key)
{
	if (keys->count == keys->capacity) {
		size_t capacity = keys->capacity ? keys->capacity * 2 : 256;
		uint64_t *list = calloc(capacity, sizeof(*list));

		if (!list)
			return ERR_NOMEM;
		if (keys->list) {
			memcpy(list, keys->list, keys->count * sizeof(*list));
			explicit_bzero(keys->list, keys->capacity * sizeof(*list));
		}
		free(keys->list);
		keys->list = list;
		keys->capacity = capacity;
	}
	if (map_put(&keys->by_guid, guid, (uint32_t)keys->count) < 0)
		return ERR_NOMEM;
	keys->list[keys->count++] = key;
	return 0;
}

/* Parse "0x" and 1 to 16 hexadecimal digits. Return: the rest, or NULL: invalid. */
static const char *read_number(const char *chars, uint64_t *ret)
{
	size_t digits;
	char *end;

	if (chars[0] != '0' || (chars[1] != 'x' && chars[1] != 'X'))
		return NULL;
	digits = strspn(chars + 2, "0123456789abcdefABCDEF");
	if (digits < 1 || digits > 16)
		return NULL;
	*ret = strtoull(chars, &end, 16);
	return end;
}

/* Parse a line. Return: NULL, and @ret_guid and @ret_key (0: empty line), or the error. */
static const char *read_line(const char *line, uint64_t *ret_guid, uint64_t *ret_key)
{
	static const char form[] = "the format is 0xGUID 0xKEY";
	const char *at = line + strspn(line, " \t\r\n");

	*ret_guid = *ret_key = 0;
	if (!*at)
		return NULL;
	/* opensm treats a line that starts with a blank as a continuation. */
	if (at != line)
		return "it starts with a blank";
	at = read_number(at, ret_guid);
	if (!at || (*at != ' ' && *at != '\t'))
		return form;
	at = read_number(at + strspn(at, " \t"), ret_key);
	if (!at || at[strspn(at, " \t\r\n")])
		return form;
	return *ret_guid ? NULL : "the GUID is 0";
}

static int read_all(struct keys *keys, FILE *file, const char *path, struct error *err)
{
	char line[LINE_SIZE];
	unsigned number = 0;
	int code = 0;

	while (code == 0 && fgets(line, sizeof(line), file)) {
		uint64_t guid, key;
		const char *wrong = strchr(line, '\n') || feof(file) ? read_line(line, &guid, &key) : "it is too long";

		number++;
		if (!wrong && guid && keys_find(keys, guid) && keys_find(keys, guid) != key)
			wrong = "the GUID has another key in an earlier line";
		if (wrong)
			code = err_set(err, ERR_IO, "%s, line %u: %s; have the subnet manager write the file again, "
				       "or correct it", path, number, wrong);
		/* 0: a port without a key. */
		else if (guid && key && !keys_find(keys, guid) && add_key(keys, guid, key) < 0)
			code = err_nomem(err);
	}
	explicit_bzero(line, sizeof(line));
	if (code == 0 && ferror(file))
		code = err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	return code;
}

int keys_load(const char *directory, struct keys **ret, struct error *err)
{
	struct keys *keys = calloc(1, sizeof(*keys));
	char path[4096], buffer[BUFSIZ];
	struct stat status = { 0 };
	FILE *file;
	int code, fd;

	if (!keys)
		return err_nomem(err);
	keys->directory = strdup(directory);
	if (!keys->directory) {
		keys_destroy(keys);
		return err_nomem(err);
	}
	snprintf(path, sizeof(path), "%.4000s/" KEYS_FILE, directory);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	file = fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ? NULL : fdopen(fd, "r");
	if (!file || status.st_size > KEYS_SIZE_MOST) {
		code = err_set(err, ERR_IO, "cannot read %s: %s; --security-keys names the directory in which the "
			       "subnet manager writes " KEYS_FILE, path, file ? "it is too large" :
			       fd >= 0 && !S_ISREG(status.st_mode) ? "it is not a regular file" : strerror(errno));
		if (file)
			fclose(file);
		else if (fd >= 0)
			close(fd);
		keys_destroy(keys);
		return code;
	}
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	keys->exposed = status.st_mode & S_IROTH;
	code = read_all(keys, file, path, err);
	fclose(file);
	explicit_bzero(buffer, sizeof(buffer));
	if (code < 0)
		keys_destroy(keys);
	else
		*ret = keys;
	return code;
}

int keys_refresh(struct keys *keys, struct error *err)
{
	struct keys *fresh, before = *keys;
	int code = keys_load(keys->directory, &fresh, err);

	if (code < 0)
		return code;
	*keys = *fresh;
	*fresh = before;
	keys_destroy(fresh);
	return 0;
}

bool keys_are_exposed(const struct keys *keys)
{
	return keys->exposed;
}

size_t keys_count(const struct keys *keys)
{
	return keys->count;
}

uint64_t keys_find(const struct keys *keys, uint64_t guid)
{
	uint32_t index;

	return keys && map_get(&keys->by_guid, guid, &index) ? keys->list[index] : 0;
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Insert a key that @count GUIDs have into the ranking. */
static size_t insert_ranked(uint64_t *keys, size_t *counts, size_t ranked, size_t max, uint64_t key, size_t count)
{
	size_t at = ranked;

	while (at > 0 && counts[at - 1] < count)
		at--;
	if (at == max)
		return ranked;
	if (ranked < max)
		ranked++;
	for (size_t i = ranked - 1; i > at; i--) {
		keys[i] = keys[i - 1];
		counts[i] = counts[i - 1];
	}
	keys[at] = key;
	counts[at] = count;
	return ranked;
}

size_t keys_rank(const struct keys *keys, uint64_t *ret, size_t max, size_t *ret_different)
{
	size_t end, ranked = 0, *counts = calloc(max + 1, sizeof(*counts));
	uint64_t *sorted = keys ? calloc(keys->count + 1, sizeof(*sorted)) : NULL;

	*ret_different = 0;
	if (!counts || !sorted)
		goto out;
	if (keys->count)
		memcpy(sorted, keys->list, keys->count * sizeof(*sorted));
	qsort(sorted, keys->count, sizeof(*sorted), compare_keys);
	for (size_t start = 0; start < keys->count; start = end) {
		for (end = start + 1; end < keys->count && sorted[end] == sorted[start]; end++)
			;
		ranked = insert_ranked(ret, counts, ranked, max, sorted[start], end - start);
		++*ret_different;
	}
	explicit_bzero(sorted, (keys->count + 1) * sizeof(*sorted));
out:
	free(sorted);
	free(counts);
	return ranked;
}

uint64_t keys_pick(const struct keys *keys, uint64_t own_guid, size_t *ret_different)
{
	uint64_t most = 0, own = keys_find(keys, own_guid);

	keys_rank(keys, &most, 1, ret_different);
	return own ? own : most;
}
