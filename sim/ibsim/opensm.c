/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/opensm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "sim/ibsim/preload.h"
#include "sim/process.h"
#include "sim/rundir.h"

/* Flags of osm_log.h: errors and information; the flag for routing enables dumps of tables. */
#define LOG_FLAGS 0x03
#define LOG_FLAGS_DUMPS 0x43

int opensm_configure(const char *dir, uint64_t port_guid, bool dumps, const char *const *lines, size_t count,
		     struct error *err)
{
	static const char *const files[][2] = {
		{ "log_file", OPENSM_LOG }, { "dump_files_dir", "" }, { "partition_config_file", "partitions.conf" },
		{ "prefix_routes_file", "prefix-routes.conf" }, { "qos_policy_file", "qos-policy.conf" },
		{ "lfts_file", OPENSM_LFTS },
	};
	struct text text = { 0 };
	size_t i;
	int code;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		text_appendf(&text, "%s %s/%s\n", files[i][0], dir, files[i][1]);
	text_appendf(&text, "guid 0x%016" PRIx64 "\n", port_guid);
	text_appendf(&text, "log_flags 0x%x\nforce_log_flush TRUE\nconsole off\ndaemon FALSE\n"
		     /* Loads lfts_file whenever it routes; without the file it uses minhop. */
		     "routing_engine file\n",
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

int opensm_start(const struct opensm_place *place, pid_t *ret, struct error *err)
{
	char *argv[] = { (char[]){ "opensm" }, (char[]){ "-F" }, (char[]){ OPENSM_CONF }, NULL };
	char sockname[80], host[48], preload[PRELOAD_SIZE + 16], tmp[PATH_MAX + 16], cache[PATH_MAX + 24], path[4096];
	const char *old_path = getenv("PATH");
	struct process_spec spec = {
		.argv = argv, .dir = place->dir, .env = { sockname, host, preload, tmp, cache, path },
		.in = -1, .own_group = true, .death_signal = SIGKILL,
	};
	char out[PATH_MAX + 32];
	int code;

	snprintf(sockname, sizeof(sockname), "IBSIM_SOCKNAME=%s", place->sockname);
	snprintf(host, sizeof(host), "SIM_HOST=%s", place->node_id);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", place->preload);
	snprintf(tmp, sizeof(tmp), "OSM_TMP_DIR=%s", place->dir);
	snprintf(cache, sizeof(cache), "OSM_CACHE_DIR=%s", place->dir);
	/* opensm is in sbin, which may not be in PATH. */
	snprintf(path, sizeof(path), "PATH=%s:/usr/sbin:/sbin:/usr/local/sbin", old_path ? old_path : "/usr/bin");
	snprintf(out, sizeof(out), "%s/opensm.out", place->dir);
	spec.out = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (spec.out < 0)
		return err_set(err, ERR_IO, "cannot write %s: %s", out, strerror(errno));
	code = process_start(&spec, ret, err);
	close(spec.out);
	return code == ERR_UNAVAILABLE ? err_set(err, code, "opensm is missing: install the package opensm") : code;
}

static unsigned count_lines(const char *dir, const char *message)
{
	size_t len;
	char *chars = read_log(dir, &len), *at = chars;
	unsigned count = 0;

	while (at && (at = strstr(at, message))) {
		count++;
		at++;
	}
	free(chars);
	return count;
}

unsigned opensm_subnet_up_count(const char *dir)
{
	return count_lines(dir, "SUBNET UP");
}

unsigned opensm_routed_count(const char *dir)
{
	return count_lines(dir, "tables configured on all switches");
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
			snprintf(err->text + used, sizeof(err->text) - used, "; last message: %s", line);
	}
	free(chars);
}
