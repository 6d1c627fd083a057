/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/process.h"
#include "sim/rundir.h"

/* --- ibsim --- */

/* Sizes that ibsim needs as options; at least its defaults. Source: ibsim sim.h. */
struct net_size {
	size_t nodes, switches, ports;
	unsigned linear_cap;
};

static struct net_size measure_net(const struct fabric *fabric)
{
	struct net_size size = { .nodes = 2048, .switches = 256, .ports = 13312, .linear_cap = 30720 };
	size_t switches = 0, ports = 0, lids = 0, i;
	uint16_t top = 0;

	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		switches += node->type == NODE_SWITCH;
		ports += node->port_count + 1u;
		lids += node->type == NODE_SWITCH ? 1 : node->port_count;
		top = node->lid > top ? node->lid : top;
	}
	for (i = 0; i < fabric->port_count; i++)
		top = fabric->ports[i].lid > top ? fabric->ports[i].lid : top;
	if (fabric->node_count > size.nodes)
		size.nodes = fabric->node_count;
	if (switches > size.switches)
		size.switches = switches;
	if (ports > size.ports)
		size.ports = ports;
	/* Room for LIDs that opensm assigns above those in the file. */
	if (top + lids + 64 > size.linear_cap)
		size.linear_cap = 0xc000;
	return size;
}

int ibsim_start(const struct ibsim_place *place, pid_t *ret, int *ret_output_fd, struct error *err)
{
	struct net_size size = measure_net(place->fabric);
	char nodes[24], switches[24], ports[24], cap[24], sockname[80];
	char *argv[] = { (char[]){ "ibsim" }, (char[]){ "-s" }, (char[]){ "-N" }, nodes, (char[]){ "-S" }, switches,
			 (char[]){ "-P" }, ports, (char[]){ "-L" }, cap, (char[]){ IBSIM_NET_FILE }, NULL };
	struct process_spec spec = {
		.argv = argv, .dir = place->dir, .env = { sockname }, .own_group = true, .death_signal = SIGKILL,
	};
	int pipe_ends[2], code;

	snprintf(nodes, sizeof(nodes), "%zu", size.nodes);
	snprintf(switches, sizeof(switches), "%zu", size.switches);
	snprintf(ports, sizeof(ports), "%zu", size.ports);
	snprintf(cap, sizeof(cap), "%u", size.linear_cap);
	snprintf(sockname, sizeof(sockname), "IBSIM_SOCKNAME=%s", place->sockname);
	if (pipe2(pipe_ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_NOMEM, "cannot make a pipe: %s", strerror(errno));
	/* ibsim blocks while the pipe is full: make it large if permitted. */
	fcntl(pipe_ends[0], F_SETPIPE_SZ, 1 << 20);
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	spec.in = open(place->console, O_RDONLY | O_CLOEXEC);
	spec.out = pipe_ends[1];
	code = spec.in < 0 ? err_set(err, ERR_IO, "cannot open %s: %s", place->console, strerror(errno)) :
		process_start(&spec, ret, err);
	if (code == ERR_UNAVAILABLE)
		err_set(err, code, "ibsim is missing: install the package ibsim-utils (RHEL, Fedora, SUSE: ibsim)");
	close(spec.in);
	close(pipe_ends[1]);
	*ret_output_fd = pipe_ends[0];
	return code;
}

/* --- opensm --- */

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

/* --- preloaded libraries --- */

/* The library described in sim/ibsim/umad_preload.h. */
#define OWN_LIBRARY "ibwire-sim-umad.so"

int preload_find(char ret[PATH_MAX], struct error *err)
{
	static const char *const patterns[] = {
		"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib64/umad2sim/libumad2sim.so",
		"/usr/lib/umad2sim/libumad2sim.so", "/usr/local/lib*/umad2sim/libumad2sim.so",
	};
	const char *chosen = getenv("IBWIRE_UMAD2SIM");
	size_t i;

	if (chosen && *chosen) {
		if (access(chosen, R_OK) < 0)
			return err_set(err, ERR_UNAVAILABLE, "IBWIRE_UMAD2SIM=%s cannot be read", chosen);
		snprintf(ret, PATH_MAX, "%s", chosen);
		return 0;
	}
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) == 0) {
			snprintf(ret, PATH_MAX, "%s", found.gl_pathv[0]);
			globfree(&found);
			return 0;
		}
	}
	return err_set(err, ERR_UNAVAILABLE, "libumad2sim.so is missing: install ibsim-utils (Debian, Ubuntu) or ibsim "
		       "(RHEL, Fedora, SUSE)");
}

/* Search the directory of this program, the installed one relative to it, then the configured one. */
static int find_own(char ret[PATH_MAX], struct error *err)
{
	static const char *const places[] = { OWN_LIBRARY, "../lib/ibwire/" OWN_LIBRARY };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	for (i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)(slash - self), self, places[i]) < PATH_MAX &&
		    access(ret, R_OK) == 0)
			return 0;
	snprintf(ret, PATH_MAX, "%s", IBWIRE_PKGLIBDIR "/" OWN_LIBRARY);
	if (access(ret, R_OK) == 0)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, OWN_LIBRARY " is neither in the directory of ibwire-sim nor in "
		       IBWIRE_PKGLIBDIR ": build and install it with make and make install");
}

int preload_value(const char *umad2sim, const char *dir, char ret[PRELOAD_SIZE], struct error *err)
{
	char own[PATH_MAX], link[PATH_MAX + 32];
	int code = find_own(own, err);

	if (code < 0)
		return code;
	if (!strpbrk(own, " :")) {
		snprintf(ret, PRELOAD_SIZE, "%s:%s", own, umad2sim);
		return 0;
	}
	snprintf(link, sizeof(link), "%s/" OWN_LIBRARY, dir);
	if (strpbrk(link, " :"))
		return err_set(err, ERR_IO, "%s cannot be preloaded: set TMPDIR to a path without spaces and colons",
			       link);
	if (symlink(own, link) < 0)
		return err_set(err, ERR_IO, "cannot make the link %s: %s", link, strerror(errno));
	snprintf(ret, PRELOAD_SIZE, "%s:%s", link, umad2sim);
	return 0;
}
