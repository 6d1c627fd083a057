/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"

/* Maximum line length: two numbers of 18 characters fit. */
#define LINE_SIZE 128

/* Maximum file size; a million ports take half of it. */
#define KEYS_SIZE_MOST (128 << 20)

/* A line of the neighbors file: the port behind a port. */
struct neighbor {
	uint64_t guid, peer;
	uint64_t num;
};

/* The keys of one file. */
struct key_list {
	struct map by_guid; /* GUID to index into list */
	uint64_t *list;     /* not grown by realloc(), which would leave copies of keys */
	size_t count, capacity;
};

struct keys {
	char *directory;
	struct neighbor *neighbors; /* sorted by GUID and port */
	size_t neighbor_count, neighbor_capacity;
	struct key_list mkeys, pm_keys;
	struct keys_file files[KEYS_FILE_COUNT];
	bool exposed;
};

/* Parse a line without its newline. Return: NULL, or what is wrong. */
typedef const char *read_line_fn(struct keys *keys, const char *line);

static void destroy_list(struct key_list *keys)
{
	if (keys->list)
		explicit_bzero(keys->list, keys->capacity * sizeof(*keys->list));
	free(keys->list);
	map_done(&keys->by_guid);
}

void keys_destroy(struct keys *keys)
{
	if (!keys)
		return;
	destroy_list(&keys->mkeys);
	destroy_list(&keys->pm_keys);
	free(keys->neighbors);
	free(keys->directory);
	free(keys);
}

static uint64_t find_key(const struct key_list *keys, uint64_t guid)
{
	uint32_t index;

	return map_get(&keys->by_guid, guid, &index) ? keys->list[index] : 0;
}

static int add_key(struct key_list *keys, uint64_t guid, uint64_t key)
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

/* A line could not be stored. */
static const char no_memory[] = "no memory";

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

/* Parse a line of a file of keys. Return: NULL, or what is wrong. */
static const char *read_key(struct key_list *keys, const char *line)
{
	uint64_t guid, key;
	const char *at = read_number(line, &guid);

	if (at && (*at == ' ' || *at == '\t'))
		at = read_number(at + strspn(at, " \t"), &key);
	else
		at = NULL;
	if (!at || at[strspn(at, " \t\r\n")])
		return "the format is 0xGUID 0xKEY";
	if (!guid)
		return "the GUID is 0";
	if (find_key(keys, guid) && find_key(keys, guid) != key)
		return "the GUID has another key in an earlier line";
	/* 0: a port without a key. */
	return key && !find_key(keys, guid) && add_key(keys, guid, key) < 0 ? no_memory : NULL;
}

static const char *read_mkey(struct keys *keys, const char *line)
{
	return read_key(&keys->mkeys, line);
}

static const char *read_pm_key(struct keys *keys, const char *line)
{
	return read_key(&keys->pm_keys, line);
}

/* Parse "0xGUID:PORT". Return: the rest, or NULL: invalid. */
static const char *read_port(const char *at, uint64_t *ret_guid, uint64_t *ret_num)
{
	char *end;

	at = read_number(at, ret_guid);
	if (!at || at[0] != ':' || at[1] < '0' || at[1] > '9')
		return NULL;
	*ret_num = strtoull(at + 1, &end, 10);
	return *ret_num <= UINT8_MAX ? end : NULL;
}

/* Parse a line of the neighbors file. Return: NULL, or what is wrong. */
static const char *read_neighbor(struct keys *keys, const char *line)
{
	struct neighbor *grown, neighbor;
	uint64_t peer_num;
	const char *at = read_port(line, &neighbor.guid, &neighbor.num);

	if (at && (*at == ' ' || *at == '\t'))
		at = read_port(at + strspn(at, " \t"), &neighbor.peer, &peer_num);
	else
		at = NULL;
	if (!at || at[strspn(at, " \t\r\n")])
		return "the format is 0xGUID:PORT 0xGUID:PORT";
	grown = array_grow(keys->neighbors, keys->neighbor_count, &keys->neighbor_capacity, sizeof(*grown));
	if (!grown)
		return no_memory;
	keys->neighbors = grown;
	keys->neighbors[keys->neighbor_count++] = neighbor;
	return NULL;
}

static int compare_neighbors(const void *a, const void *b)
{
	const struct neighbor *left = a, *right = b;

	if (left->guid != right->guid)
		return left->guid < right->guid ? -1 : 1;
	return (left->num > right->num) - (left->num < right->num);
}

/* Read a line without its newline, cut to the size of @line. Return: false: there is none. */
static bool next_line(FILE *file, char line[LINE_SIZE], const char **ret_wrong)
{
	size_t len = 0;
	int c = getc(file);

	*ret_wrong = NULL;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc(file)) {
		if (len == LINE_SIZE - 1)
			*ret_wrong = "it is too long";
		else
			line[len++] = c ? (char)c : '?';
	}
	line[len] = '\0';
	/* opensm treats a line that starts with a blank as a continuation. */
	if (!*ret_wrong && line[strspn(line, " \t\r")] && (line[0] == ' ' || line[0] == '\t'))
		*ret_wrong = "it starts with a blank";
	return true;
}

/* An invalid line is counted, unless all are. */
static int read_lines(struct keys *keys, FILE *file, const char *path, read_line_fn *read_line,
		      struct keys_file *about, struct error *err)
{
	const char *wrong;
	char line[LINE_SIZE];
	size_t number = 0, valid = 0;
	int code = 0;

	while (code == 0 && next_line(file, line, &wrong)) {
		number++;
		if (!wrong && !line[strspn(line, " \t\r")])
			continue;
		if (!wrong)
			wrong = read_line(keys, line);
		valid += !wrong;
		if (wrong == no_memory)
			code = err_nomem(err);
		if (!wrong)
			continue;
		about->why = about->unread.lines ? about->why : wrong;
		unread_add(&about->unread, number);
	}
	explicit_bzero(line, sizeof(line));
	if (code == 0 && ferror(file))
		code = err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	else if (code == 0 && about->unread.lines && !valid)
		code = err_set(err, ERR_IO, "%s, line %zu: %s; have the subnet manager write the file again, "
			       "or correct it", path, about->unread.first, about->why);
	return code;
}

/* Read one of the files. */
static int load_file(struct keys *keys, enum keys_files which, read_line_fn *read_line, struct error *err)
{
	struct keys_file *about = &keys->files[which];

	char path[4096], buffer[BUFSIZ];
	struct stat status = { 0 };
	int code, fd;
	FILE *file;

	snprintf(path, sizeof(path), "%.4000s/%s", keys->directory, about->name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT && which != KEYS_OF_SMPS)
		return 0;
	file = fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ? NULL : fdopen(fd, "r");
	if (!file || status.st_size > KEYS_SIZE_MOST) {
		code = err_set(err, ERR_IO, "cannot read %s: %s; --security-keys names the directory in which the "
			       "subnet manager writes " KEYS_FILE, path, file ? "it is too large" :
			       fd >= 0 && !S_ISREG(status.st_mode) ? "it is not a regular file" : strerror(errno));
		if (file)
			fclose(file);
		else if (fd >= 0)
			close(fd);
		return code;
	}
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	if (read_line != read_neighbor)
		keys->exposed |= (status.st_mode & S_IROTH) != 0;
	code = read_lines(keys, file, path, read_line, about, err);
	fclose(file);
	explicit_bzero(buffer, sizeof(buffer));
	return code;
}

int keys_load(const char *directory, struct keys **ret, struct error *err)
{
	static const struct keys_file files[KEYS_FILE_COUNT] = {
		[KEYS_OF_SMPS] = { .name = KEYS_FILE }, [KEYS_OF_AGENTS] = { .name = KEYS_PM_FILE },
		[KEYS_NEIGHBORS] = { .name = KEYS_NEIGHBORS_FILE },
	};
	struct keys *keys = calloc(1, sizeof(*keys));
	int code;

	if (!keys)
		return err_nomem(err);
	memcpy(keys->files, files, sizeof(files));
	keys->directory = strdup(directory);
	code = keys->directory ? load_file(keys, KEYS_OF_SMPS, read_mkey, err) : err_nomem(err);
	if (code == 0)
		code = load_file(keys, KEYS_OF_AGENTS, read_pm_key, err);
	if (code == 0)
		code = load_file(keys, KEYS_NEIGHBORS, read_neighbor, err);
	if (code < 0) {
		keys_destroy(keys);
		return code;
	}
	if (keys->neighbor_count)
		qsort(keys->neighbors, keys->neighbor_count, sizeof(*keys->neighbors), compare_neighbors);
	*ret = keys;
	return 0;
}

int keys_refresh(struct keys *keys, struct error *err)
{
	struct keys *fresh, before = *keys;
	int code = keys_load(keys->directory, &fresh, err);

	if (code < 0)
		return code;
	for (int i = 0; i < KEYS_FILE_COUNT; i++) {
		if (fresh->files[i].unread.lines <= keys->files[i].unread.lines)
			continue;
		code = err_set(err, ERR_IO, "%s/%s, line %zu: %s", keys->directory, fresh->files[i].name,
			       fresh->files[i].unread.first, fresh->files[i].why);
		keys_destroy(fresh);
		return code;
	}
	*keys = *fresh;
	*fresh = before;
	keys_destroy(fresh);
	return 0;
}

bool keys_are_exposed(const struct keys *keys)
{
	return keys->exposed;
}

const struct keys_file *keys_file(const struct keys *keys, enum keys_files which)
{
	return &keys->files[which];
}

size_t keys_count(const struct keys *keys)
{
	return keys->mkeys.count;
}

uint64_t keys_find(const struct keys *keys, uint64_t guid)
{
	return keys ? find_key(&keys->mkeys, guid) : 0;
}

uint64_t keys_find_pm(const struct keys *keys, uint64_t guid)
{
	return keys ? find_key(&keys->pm_keys, guid) : 0;
}

uint64_t keys_neighbor(const struct keys *keys, uint64_t port_guid, uint8_t num)
{
	const struct neighbor wanted = { .guid = port_guid, .num = num };
	const struct neighbor *found = NULL;

	if (keys && keys->neighbor_count)
		found = bsearch(&wanted, keys->neighbors, keys->neighbor_count, sizeof(wanted), compare_neighbors);
	return found ? found->peer : 0;
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

uint64_t keys_pick(const struct keys *keys, uint64_t own_guid, size_t *ret_different)
{
	size_t count = keys ? keys->mkeys.count : 0;
	uint64_t *sorted = count ? calloc(count, sizeof(*sorted)) : NULL;
	uint64_t own = keys_find(keys, own_guid), most = 0;
	size_t end, most_count = 0;

	*ret_different = 0;
	if (!sorted)
		return own;
	memcpy(sorted, keys->mkeys.list, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_keys);
	for (size_t start = 0; start < count; start = end) {
		for (end = start + 1; end < count && sorted[end] == sorted[start]; end++)
			;
		if (end - start > most_count) {
			most_count = end - start;
			most = sorted[start];
		}
		++*ret_different;
	}
	explicit_bzero(sorted, count * sizeof(*sorted));
	free(sorted);
	return own ? own : most;
}
