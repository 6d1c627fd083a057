/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/opensm.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "sim/rundir.h"

/* Flags of osm_log.h: errors and information; tables are dumped with the flag for routing. */
#define LOG_FLAGS 0x03
#define LOG_FLAGS_DUMPS 0x43

int opensm_configure(const char *dir, uint64_t port_guid, bool dumps, const char *const *lines, size_t count,
		     struct error *err)
{
	static const char *const files[][2] = {
		{ "log_file", OPENSM_LOG }, { "dump_files_dir", "" }, { "partition_config_file", "partitions.conf" },
		{ "prefix_routes_file", "prefix-routes.conf" }, { "qos_policy_file", "qos-policy.conf" },
	};
	struct text text = { 0 };
	size_t i;
	int code;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		text_appendf(&text, "%s %s/%s\n", files[i][0], dir, files[i][1]);
	text_appendf(&text, "guid 0x%016" PRIx64 "\n", port_guid);
	text_appendf(&text, "log_flags 0x%x\nforce_log_flush TRUE\nconsole off\ndaemon FALSE\n",
		     dumps ? LOG_FLAGS_DUMPS : LOG_FLAGS);
	for (i = 0; i < count; i++)
		text_appendf(&text, "%s\n", lines[i]);
	code = text_failed(&text) ? err_nomem(err) :
		rundir_write(dir, OPENSM_CONF, text_chars(&text), text.len, err);
	text_done(&text);
	return code;
}

static char *read_log(const char *dir, size_t *ret_len)
{
	char path[PATH_MAX + 32], *chars;

	snprintf(path, sizeof(path), "%s/" OPENSM_LOG, dir);
	return rundir_read(path, &chars, ret_len, NULL) < 0 ? NULL : chars;
}

bool opensm_is_up(const char *dir)
{
	size_t len;
	char *chars = read_log(dir, &len);
	bool up = chars && strstr(chars, "SUBNET UP");

	free(chars);
	return up;
}

void opensm_explain(const char *dir, struct error *err)
{
	size_t len, used = err ? strlen(err->text) : 0;
	char *chars = read_log(dir, &len), *line;

	if (chars && err) {
		while (len > 0 && chars[len - 1] == '\n')
			chars[--len] = '\0';
		line = strrchr(chars, '\n');
		line = line ? line + 1 : chars;
		if (*line)
			snprintf(err->text + used, sizeof(err->text) - used, "; last it said: %s", line);
	}
	free(chars);
}
