/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "local/capture.h"

enum { VARIABLES_MOST = 1 << 16 };

/* All checks, in the order of the report. */
static const struct {
	const char *name;
	check_function *run;
} table[] = {
	{ "hca", check_hca },
	{ "rate", check_rate },
	{ "link-layer", check_link_layer },
	{ "firmware", check_firmware },
	{ "lid", check_lid },
	{ "gid", check_gid },
	{ "mtu", check_mtu },
	{ "pcie", check_pcie },
	{ "gpudirect", check_gpudirect },
	{ "distance", check_distance },
	{ "iommu", check_iommu },
	{ "acs", check_acs },
	{ "memlock", check_memlock },
	{ "shm", check_shm },
	{ "flow-control", check_flow_control },
	{ "nccl-hca", check_nccl_hca },
	{ "nccl-net", check_nccl_net },
	{ "sharp", check_sharp },
};

const char *check_status_name(enum check_status status)
{
	static const char *const names[CHECK_STATUS_COUNT] = { "pass", "warn", "fail", "skip" };

	return names[status];
}

void check_add(struct checks *checks, enum check_status status, const char *subject, const char *fix, const char *fmt,
	       ...)
{
	struct check_result *result = array_add(&checks->results, &checks->count, &checks->capacity, sizeof(*result));
	va_list args;

	if (!result) {
		checks->failed = true;
		return;
	}
	result->status = status;
	result->check = checks->current;
	snprintf(result->subject, sizeof(result->subject), "%.95s", subject);
	va_start(args, fmt);
	if (vasprintf(&result->text, fmt, args) < 0)
		result->text = NULL;
	va_end(args);
	result->fix = fix ? strdup(fix) : NULL;
	checks->failed |= !result->text || (fix && !result->fix);
}

const char *check_port_name(const struct local_hca *hca, const struct local_hca_port *port, char ret[96])
{
	snprintf(ret, 96, "%s/%u", hca->name, port->num);
	return ret;
}

bool check_variable(const struct checks *checks, const char *name, char *ret, size_t size)
{
	const char *line = text_chars(&checks->variables), *next;
	size_t len = strlen(name);

	for (; *line; line = *next ? next + 1 : next) {
		next = line + strcspn(line, "\n");
		if (strncmp(line, name, len) || line[len] != '=')
			continue;
		text_sanitise(line + len + 1, (size_t)(next - line) - len - 1, ret, size);
		return true;
	}
	return false;
}

bool check_matches(const char *list, const char *name, unsigned port)
{
	bool excludes = *list == '^', whole, found = false;

	list += excludes;
	whole = *list == '=';
	list += whole;
	while (*list && !found) {
		size_t len = strcspn(list, ","), end = len;
		const char *colon = port ? memchr(list, ':', len) : NULL;

		if (colon)
			end = (size_t)(colon - list);
		if (end && !strncmp(name, list, end) && (!whole || !name[end]) &&
		    (!colon || strtoul(colon + 1, NULL, 10) == port))
			found = true;
		list += len + (list[len] == ',');
	}
	return found != excludes;
}

/* Variables of the environment, then of the files that NCCL reads: the first of a name counts. */
static void read_variables(struct checks *checks, char *const *environment)
{
	struct text file = { 0 };

	for (; checks->root->live && environment && *environment; environment++)
		if (!strncmp(*environment, "NCCL_", 5) && !strchr(*environment, '\n'))
			text_appendf(&checks->variables, "%s\n", *environment);
	if (checks->root->live)
		capture_file(checks->root->capture, "ibwire/environment", text_chars(&checks->variables),
			     checks->variables.len);
	else
		local_read_text(checks->root, &checks->variables, VARIABLES_MOST, "ibwire/environment");
	if (local_read_text(checks->root, &file, VARIABLES_MOST, "etc/nccl.conf"))
		text_appendf(&checks->variables, "\n%s", text_chars(&file));
	checks->failed |= text_failed(&checks->variables) || text_failed(&file);
	text_done(&file);
}

static void add_problems(struct checks *checks)
{
	const struct local_root *root = checks->root;
	unsigned shown = root->problem_count < LOCAL_PROBLEMS_MOST ? root->problem_count : LOCAL_PROBLEMS_MOST;

	checks->current = "files";
	for (unsigned i = 0; i < shown; i++)
		check_add(checks, CHECK_WARN, "", "values of this file are not known; check the tree", "%s",
			  root->problems[i]);
	if (root->problem_count > shown)
		check_add(checks, CHECK_WARN, "", NULL, "%u more files cannot be used", root->problem_count - shown);
}

int checks_run(struct checks *checks, struct local_root *root, const struct fabric *fabric, char *const *environment,
	       struct error *err)
{
	int code;

	*checks = (struct checks){ .root = root, .fabric = fabric };
	code = local_host_read(root, true, &checks->host, err);
	if (code)
		return code;
	read_variables(checks, environment);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		checks->current = table[i].name;
		table[i].run(checks);
	}
	add_problems(checks);
	if (!checks->failed)
		return 0;
	checks_done(checks);
	return err_nomem(err);
}

void checks_done(struct checks *checks)
{
	for (size_t i = 0; i < checks->count; i++) {
		free(checks->results[i].text);
		free(checks->results[i].fix);
	}
	free(checks->results);
	text_done(&checks->variables);
	local_host_done(&checks->host);
	*checks = (struct checks){ .count = 0 };
}
