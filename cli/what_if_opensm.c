/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/what_if_opensm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child_command.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/lft_dump.h"
#include "fabric/netfile.h"

/* A fabric of 16,384 HCAs comes up in a minute and a half. */
enum { WAIT_MS = 300000 };

/* ibwire-sim beside this program, or the name for PATH. */
static const char *find_program(char *ret, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (len > 0) {
		ret[len] = '\0';
		slash = strrchr(ret, '/');
		if (slash && (size_t)(slash + sizeof("/ibwire-sim") - ret) < size) {
			strcpy(slash, "/ibwire-sim");
			if (access(ret, X_OK) == 0)
				return ret;
		}
	}
	return "ibwire-sim";
}

static int write_net(const struct fabric *fabric, const char *path, struct error *err)
{
	struct text text = { 0 };
	FILE *file = fopen(path, "we");
	int code = file ? 0 : err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));

	netfile_write(&text, fabric);
	if (code == 0 && text_failed(&text))
		code = err_nomem(err);
	if (code == 0 && fwrite(text_chars(&text), 1, text.len, file) != text.len)
		code = err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	if (file && fclose(file) != 0 && code == 0)
		code = err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	text_done(&text);
	return code;
}

static int run(const char *net, uint64_t guid, const char *tables, struct error *err)
{
	char program[PATH_MAX], line[256] = "it is not installed, or ended without a message";
	const char *sim = find_program(program, sizeof(program));
	char node[24];
	const char *const argv[] = { "ibwire-sim", "run", "--net", net, "--sm", node, "--", sim, "routes", "save",
				     tables, NULL };
	struct child_command child = { 0 };
	int code;

	snprintf(node, sizeof(node), "0x%016" PRIx64, guid);
	code = child_command_start(&child, sim, argv, false, err);

	if (code < 0)
		return code;
	if (!child_command_wait(&child, WAIT_MS)) {
		code = err_set(err, ERR_UNAVAILABLE, "opensm has computed no tables in %d s", WAIT_MS / 1000);
	} else if (child.exit_status) {
		child_command_last_line(&child, line, sizeof(line));
		code = err_set(err, ERR_UNAVAILABLE, "--opensm requires ibwire-sim with ibsim and opensm: %s", line);
	}
	child_command_stop(&child, COMMAND_WAIT_MS);
	return code;
}

static int read_tables(const struct fabric *fabric, const char *path, struct lft *ret, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_file(path, "", TEXT_FABRIC_MOST, &text, err);

	if (code == 0)
		code = lft_parse(fabric, text_chars(&text), text.len, ret, err);
	text_done(&text);
	return code;
}

int what_if_run_opensm(const struct fabric *fabric, uint32_t node, struct lft *ret, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX - 16], net[PATH_MAX], tables[PATH_MAX];
	int code;

	snprintf(dir, sizeof(dir), "%s/ibwire-what-if.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return err_set(err, ERR_IO, "cannot make the folder %s: %s", dir, strerror(errno));
	snprintf(net, sizeof(net), "%s/net", dir);
	snprintf(tables, sizeof(tables), "%s/tables", dir);
	code = write_net(fabric, net, err);
	if (code == 0)
		code = run(net, fabric->nodes[node].guid, tables, err);
	if (code == 0)
		code = read_tables(fabric, tables, ret, err);
	unlink(net);
	unlink(tables);
	rmdir(dir);
	return code;
}
