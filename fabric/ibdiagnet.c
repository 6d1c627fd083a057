/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/ibdiagnet.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/ibdiagnet/files.h"

const char *ibdiagnet_section_name(enum ibdiagnet_section section)
{
	static const char *const names[IBDIAGNET_SECTIONS] = {
		[IBDIAGNET_NODES] = "nodes", [IBDIAGNET_CABLES] = "cables", [IBDIAGNET_COUNTERS] = "counters",
		[IBDIAGNET_BER] = "ber", [IBDIAGNET_PLACES] = "places", [IBDIAGNET_SENSORS] = "temperatures",
		[IBDIAGNET_FIRMWARE] = "firmware",
	};

	return names[section];
}

/* --- entries --- */

struct ibdiagnet_node *ibdiagnet_node(struct ibdiagnet *bundle, uint64_t guid)
{
	struct ibdiagnet_node *node;
	uint32_t at;

	if (map_get(&bundle->node_by_guid, guid, &at))
		return &bundle->nodes[at];
	if (map_put(&bundle->node_by_guid, guid, (uint32_t)bundle->node_count) < 0)
		return NULL;
	node = array_add(&bundle->nodes, &bundle->node_count, &bundle->node_capacity, sizeof(*node));
	if (node)
		*node = (struct ibdiagnet_node){ .guid = guid, .temperature_c = NAN };
	return node;
}

struct ibdiagnet_port *ibdiagnet_port(struct ibdiagnet *bundle, uint64_t guid, uint8_t port, bool by_port_guid)
{
	uint64_t key = map_mix(guid) ^ map_mix((uint64_t)port + 1);
	struct ibdiagnet_port *entry;
	uint32_t at;

	/* Two ports of one key have the next one. */
	while (map_get(&bundle->port_by_key, key, &at)) {
		if (bundle->ports[at].guid == guid && bundle->ports[at].port == port)
			return &bundle->ports[at];
		key++;
	}
	if (map_put(&bundle->port_by_key, key, (uint32_t)bundle->port_count) < 0)
		return NULL;
	entry = array_add(&bundle->ports, &bundle->port_count, &bundle->port_capacity, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->guid = guid;
	entry->port = port;
	entry->by_port_guid = by_port_guid;
	entry->temperature_c = entry->raw_ber = entry->effective_ber = entry->symbol_ber = NAN;
	entry->cage = entry->plane = -1;
	return entry;
}

int ibdiagnet_unread(struct ibdiagnet_file *file, enum ibdiagnet_section section)
{
	struct ibdiagnet_count *count = &file->bundle->counts[section];

	if (!count->unread++)
		count->first_unread = file->line;
	return 0;
}

void ibdiagnet_note(struct ibdiagnet_file *file, enum ibdiagnet_section section, struct ibdiagnet_port *port)
{
	file->bundle->counts[section].rows++;
	port->sections |= 1U << section;
}

/* --- values --- */

bool ibdiagnet_is_unknown(const char *value)
{
	return !*value || !strcasecmp(value, "N/A") || !strcasecmp(value, "NA");
}

bool ibdiagnet_guid(const char *value, uint64_t *ret)
{
	char *end;

	if (strncasecmp(value, "0x", 2) != 0 || !value[2])
		return false;
	errno = 0;
	*ret = strtoull(value + 2, &end, 16);
	return !*end && !errno && *ret;
}

bool ibdiagnet_number(const char *value, uint64_t *ret)
{
	bool hex = !strncasecmp(value, "0x", 2);
	char *end;

	if (!*value || *value == '-')
		return false;
	errno = 0;
	*ret = strtoull(value, &end, hex ? 16 : 10);
	return end != value && !*end && !errno;
}

double ibdiagnet_temperature(const char *value)
{
	char *end;
	double number = strtod(value, &end);

	while (*end == ' ')
		end++;
	/* What no sensor shows is no temperature. */
	return end == value || (*end && strcmp(end, "C") != 0) || !(number > -100 && number < 300) ? NAN : number;
}

double ibdiagnet_rate(const char *value)
{
	char *end;
	double number = strtod(value, &end);

	return end == value || *end || !(number >= 0 && number <= 1) ? NAN : number;
}

void ibdiagnet_set_text(struct ibdiagnet_port *port, enum ibdiagnet_text text, const char *value)
{
	if (!ibdiagnet_is_unknown(value))
		text_sanitise(value, strlen(value), port->texts[text], IBDIAGNET_TEXT_SIZE);
}

void ibdiagnet_add_lane(struct ibdiagnet_port *port, enum ibdiagnet_text text, const char *value)
{
	char *lanes = port->texts[text], lane[IBDIAGNET_TEXT_SIZE];
	size_t len = strlen(lanes);

	if (ibdiagnet_is_unknown(value))
		return;
	text_sanitise(value, strlen(value), lane, sizeof(lane));
	if (len + strlen(lane) + sizeof(" | ") > IBDIAGNET_TEXT_SIZE)
		return;
	if (len)
		len = (size_t)(stpcpy(lanes + len, " | ") - lanes);
	strcpy(lanes + len, lane);
}

int ibdiagnet_is_cut(const struct ibdiagnet_file *file, const char *what, struct error *err)
{
	return err_set(err, ERR_USAGE, "%s is cut: %s has no end; nothing was imported: copy it again, or run "
		       "ibdiagnet again", file->path, what);
}

char *ibdiagnet_trim(char *value)
{
	size_t len;

	value += strspn(value, " \t");
	len = strlen(value);
	while (len && strchr(" \t\r", value[len - 1]))
		value[--len] = '\0';
	return value;
}

/* --- files --- */

/* "2022-08-25 17:45:38 UTC +0000": the name of the zone is not unique, its offset is. */
static int64_t header_time(const char *value)
{
	char typed[32], zone[8] = "";
	int64_t us;
	int hours, minutes;

	if (sscanf(value, "%19[0-9 :-] %*s %7s", typed, zone) < 1 || strlen(typed) != 19)
		return 0;
	if (sscanf(zone, "%3d%2d", &hours, &minutes) == 2 && strlen(zone) == 5)
		snprintf(typed + 19, sizeof(typed) - 19, "%.3s:%.2s", zone, zone + 3);
	return when_parse(typed, 0, &us, NULL) == 0 && us > 0 ? us : 0;
}

/* A comment of the header. */
static void read_comment(struct ibdiagnet_file *file, const char *line)
{
	const char *value = strchr(line, ':');
	unsigned long long at_line;

	if (!value)
		return;
	value += 1 + strspn(value + 1, " ");
	if (strstr(line, "Running timestamp"))
		file->run_us = header_time(value);
	else if (strstr(line, "File created at"))
		file->created_us = header_time(value);
	else if (strstr(line, "Running version") && *value == '"')
		text_sanitise(value + 1, strcspn(value + 1, "\""), file->bundle->version,
			      sizeof(file->bundle->version));
	else if (strstr(line, "INDEX_TABLE") && strstr(line, "line:") &&
		 sscanf(strstr(line, "line:"), "line: %llu", &at_line) == 1)
		file->index_line = at_line;
}

static int cut(const char *path, const char *what, struct error *err)
{
	return err_set(err, ERR_USAGE, "%s is cut (%s): nothing was imported; copy it again, or run ibdiagnet again",
		       path, what);
}

static int read_lines(struct ibdiagnet_file *file, FILE *stream, ibdiagnet_line_fn *each, struct error *err)
{
	struct ibdiagnet *bundle = file->bundle;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int code = 0, end;

	while (code == 0 && (len = getline(&line, &size, stream)) > 0) {
		file->line++;
		bundle->digest = map_hash_text(bundle->digest, line);
		file->torn = line[len - 1] != '\n';
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		/* What follows a NUL is not text. */
		if (*line == '#')
			read_comment(file, line);
		else
			code = each(file, line, err);
	}
	if (code == 0 && ferror(stream))
		code = err_set(err, ERR_IO, "cannot read %s: %s", file->path, strerror(errno));
	free(line);
	end = each(file, NULL, code < 0 ? NULL : err);
	if (code == 0 && end == 0 && file->index_line > file->line)
		return cut(file->path, "before the table of its sections", err);
	return code < 0 ? code : end;
}

static int read_file(struct ibdiagnet *bundle, const char *path, ibdiagnet_line_fn *each, struct error *err)
{
	struct ibdiagnet_file file = { .bundle = bundle, .path = path };
	FILE *stream = fopen(path, "re");
	struct stat info;
	int64_t us;
	int code;

	if (!stream)
		return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	code = fstat(fileno(stream), &info) < 0 || S_ISDIR(info.st_mode) ?
		       err_set(err, ERR_USAGE, "%s is not a file", path) : read_lines(&file, stream, each, err);
	fclose(stream);
	if (code < 0)
		return code;
	bundle->file_count++;
	us = file.run_us ? file.run_us : file.created_us;
	/* All files of a run have the same header; without one, the newest file was written last. */
	if (us && !bundle->has_header_time)
		bundle->wall_us = 0;
	if (!us && bundle->has_header_time)
		return 0;
	bundle->has_header_time |= us != 0;
	if (!us)
		us = (int64_t)info.st_mtim.tv_sec * US_PER_S;
	if (us > bundle->wall_us)
		bundle->wall_us = us;
	return 0;
}

static const struct {
	const char *ending;
	ibdiagnet_line_fn *read;
} kinds[] = {
	{ ".db_csv", ibdiagnet_read_db_csv }, /* first: its cables and counters are used */
	{ ".cables", ibdiagnet_read_cables },
	{ ".pm", ibdiagnet_read_pm },
	{ ".net_dump_ext", ibdiagnet_read_net_dump_ext },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), end = strlen(ending);

	return len > end && !strcmp(name + len - end, ending);
}

/* The file of a kind in a folder: ibdiagnet2.NAME, or the only one. @ret: for free(), or NULL if there is none */
static int find_file(DIR *folder, const char *path, const char *ending, char **ret, struct error *err)
{
	char found[256] = "", usual[32];
	struct dirent *entry;
	size_t count = 0;

	snprintf(usual, sizeof(usual), "ibdiagnet2%s", ending);
	rewinddir(folder);
	while ((entry = readdir(folder))) {
		if (!ends_with(entry->d_name, ending))
			continue;
		if (!strcmp(entry->d_name, usual)) {
			snprintf(found, sizeof(found), "%s", usual);
			count = 1;
			break;
		}
		count++;
		snprintf(found, sizeof(found), "%s", entry->d_name);
	}
	if (count > 1)
		return err_set(err, ERR_USAGE, "%s has %zu files *%s and no %s: give the file to import", path, count,
			       ending, usual);
	if (count && asprintf(ret, "%s/%s", path, found) < 0)
		return err_nomem(err);
	return 0;
}

static int read_folder(struct ibdiagnet *bundle, DIR *folder, const char *path, struct error *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < KINDS; i++) {
		char *file = NULL;

		code = find_file(folder, path, kinds[i].ending, &file, err);
		if (file)
			code = read_file(bundle, file, kinds[i].read, err);
		free(file);
	}
	if (code == 0 && !bundle->file_count)
		code = err_set(err, ERR_USAGE, "%s has no file of ibdiagnet (ibdiagnet2.db_csv, .cables, .pm or "
			       ".net_dump_ext)", path);
	return code;
}

int ibdiagnet_read(struct ibdiagnet *ret, const char *path, struct error *err)
{
	DIR *folder = opendir(path);
	int code;

	ret->digest = MAP_HASH_START;
	if (folder) {
		code = read_folder(ret, folder, path, err);
		closedir(folder);
		return code;
	}
	if (errno != ENOTDIR)
		return err_set(err, errno == ENOENT ? ERR_USAGE : ERR_IO, "cannot read %s: %s", path, strerror(errno));
	for (size_t i = 0; i < KINDS; i++)
		if (ends_with(path, kinds[i].ending))
			return read_file(ret, path, kinds[i].read, err);
	return err_set(err, ERR_USAGE, "%s: the name of a file of ibdiagnet ends with .db_csv, .cables, .pm or "
		       ".net_dump_ext", path);
}

void ibdiagnet_done(struct ibdiagnet *bundle)
{
	map_done(&bundle->node_by_guid);
	map_done(&bundle->port_by_key);
	free(bundle->nodes);
	free(bundle->ports);
	*bundle = (struct ibdiagnet){ 0 };
}
