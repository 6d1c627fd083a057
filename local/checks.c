/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "local/capture.h"

enum { VARIABLES_MOST = 1 << 16 };

/* All checks, in the order of the report. */
static const struct {
	const char *name;
	check_function *run;
} table[] = {
	{ "hca", check_hca },
	{ "devices", check_devices },
	{ "rate", check_rate },
	{ "link-layer", check_link_layer },
	{ "firmware", check_firmware },
	{ "lid", check_lid },
	{ "gid", check_gid },
	{ "mtu", check_mtu },
	{ "pcie", check_pcie },
	{ "gpudirect", check_gpudirect },
	{ "gpu-modules", check_gpu_modules },
	{ "gpu-link", check_gpu_link },
	{ "distance", check_distance },
	{ "iommu", check_iommu },
	{ "acs", check_acs },
	{ "memlock", check_memlock },
	{ "shm", check_shm },
	{ "flow-control", check_flow_control },
	{ "nccl-hca", check_nccl_hca },
	{ "nccl-net", check_nccl_net },
	{ "nccl-env", check_nccl_variables },
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
	result->item = result->common = NULL;
	checks->failed |= !result->text || (fix && !result->fix);
}

void check_fold_as(struct checks *checks, const char *item, const char *common)
{
	struct check_result *result = checks->failed || !checks->count ? NULL : &checks->results[checks->count - 1];

	if (!result)
		return;
	result->item = strdup(item);
	result->common = strdup(common);
	checks->failed |= !result->item || !result->common;
}

static bool is_alike(const struct check_result *a, const struct check_result *b)
{
	return a->status == b->status && a->check == b->check && !strcmp(a->fix ? a->fix : "", b->fix ? b->fix : "") &&
	       !strcmp(a->common ? a->common : a->text, b->common ? b->common : b->text);
}

bool checks_fold(const struct checks *checks, size_t index, struct text *ret)
{
	const struct check_result *first = &checks->results[index];
	struct text items = { 0 };

	for (size_t i = 0; i < index; i++)
		if (is_alike(&checks->results[i], first))
			return false;
	for (size_t i = index; i < checks->count; i++) {
		const struct check_result *result = &checks->results[i];
		const char *item = result->item ? result->item : result->subject;

		if (*item && is_alike(result, first))
			text_appendf(&items, "%s\n", item);
	}
	check_fold_names(text_chars(&items), ret);
	ret->failed |= text_failed(&items);
	text_done(&items);
	return true;
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

/* Does NCCL_IB_HCA select a port? Without the variable all are selected. */
static bool is_selected(const struct checks *checks, const struct local_hca *hca, const struct local_hca_port *port)
{
	char list[1024];

	return !check_variable(checks, "NCCL_IB_HCA", list, sizeof(list)) || check_matches(list, hca->name, port->num);
}

/* Are two ports of one card: an HCA, or functions of one PCI device? */
static bool same_card(const struct local_hca *a, const struct local_hca *b)
{
	const char *dot = strrchr(a->pci.address, '.');

	return a == b || (dot && !strncmp(a->pci.address, b->pci.address, (size_t)(dot - a->pci.address) + 1));
}

/* The place of a port on its card: function of the PCI device, and number. */
static bool same_place(const struct local_hca *a, const struct local_hca_port *x, const struct local_hca *b,
		       const struct local_hca_port *y)
{
	const char *dot = strrchr(a->pci.address, '.'), *other = strrchr(b->pci.address, '.');

	return x->num == y->num && !strcmp(dot ? dot : "", other ? other : "");
}

enum port_use check_port_use(const struct checks *checks, const struct local_hca *hca,
			     const struct local_hca_port *port)
{
	const struct local_host *host = &checks->host;
	bool physical_active = false, card_active = false, place_active = false, other_card = false;

	if (checks->selects && !is_selected(checks, hca, port))
		return PORT_EXCLUDED;
	if (port->state_code != 1)
		return PORT_USED;
	for (size_t i = 0; i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count; j++) {
			const struct local_hca *other = &host->hcas[i];

			other_card |= !strcmp(hca->board, other->board) && !same_card(hca, other);
			if (!check_is_active(&other->ports[j]))
				continue;
			physical_active |= !other->virtual_function;
			card_active |= same_card(hca, other);
			place_active |= !strcmp(hca->board, other->board) && same_place(hca, port, other,
			&other->ports[j]);
		}
	if (hca->virtual_function && physical_active)
		return PORT_IDLE_VF;
	if (!card_active || place_active)
		return PORT_USED;
	return other_card ? PORT_SPARE : PORT_PERHAPS_SPARE;
}

bool check_hca_is_used(const struct checks *checks, const struct local_hca *hca)
{
	bool used = !hca->port_count;

	for (size_t i = 0; i < hca->port_count; i++)
		used |= check_is_used(checks, hca, &hca->ports[i]);
	return used;
}

/* Length of the name at @line, and in @ret_number where its number at @prefix ends; NULL: there is none. */
static size_t split_name(const char *line, size_t prefix, unsigned long *ret_number, const char **ret_suffix)
{
	size_t len = strcspn(line, "\n");
	char *end = NULL;

	*ret_suffix = NULL;
	if (prefix < len && line[prefix] >= '0' && line[prefix] <= '9') {
		*ret_number = strtoul(line + prefix, &end, 10);
		*ret_suffix = end;
	}
	return len;
}

/* The last position at which the first two names differ in a number, if all others differ only there; else false. */
static bool find_prefix(const char *lines, size_t *ret)
{
	const char *second = strchr(lines, '\n') + 1, *suffix, *first_suffix;
	unsigned long number;
	size_t len, first_len, prefix = 0;

	while (lines[prefix] && lines[prefix] == second[prefix] && lines[prefix] != '\n')
		prefix++;
	while (prefix > 0 && lines[prefix - 1] >= '0' && lines[prefix - 1] <= '9')
		prefix--;
	first_len = split_name(lines, prefix, &number, &first_suffix);
	if (!first_suffix)
		return false;
	for (const char *line = second; *line; line += len + 1) {
		len = split_name(line, prefix, &number, &suffix);
		if (!suffix || strncmp(line, lines, prefix) ||
			line + len - suffix != lines + first_len - first_suffix ||
		    strncmp(suffix, first_suffix, (size_t)(line + len - suffix)))
			return false;
	}
	*ret = prefix;
	return true;
}

static void append_range(struct text *ret, unsigned long from, unsigned long to, char after)
{
	if (to > from)
		text_appendf(ret, "%lu-%lu%c", from, to, after);
	else
		text_appendf(ret, "%lu%c", from, after);
}

void check_fold_names(const char *lines, struct text *ret)
{
	const char *end = strchr(lines, '\n'), *suffix = NULL;
	unsigned long number = 0, from = 0, to = 0;
	size_t prefix = 0, len;
	bool first = true;

	if (!end || !end[1] || !find_prefix(lines, &prefix)) {
		for (const char *line = lines; *line; line += len + 1) {
			len = strcspn(line, "\n");
			text_appendf(ret, "%s%.*s", line == lines ? "" : ", ", (int)len, line);
		}
		return;
	}
	text_appendf(ret, "%.*s[", (int)prefix, lines);
	for (const char *line = lines; *line; line += len + 1) {
		len = split_name(line, prefix, &number, &suffix);
		if (!first && number == to + 1) {
			to = number;
			continue;
		}
		if (!first)
			append_range(ret, from, to, ',');
		from = to = number;
		first = false;
	}
	append_range(ret, from, to, ']');
	text_append_bytes(ret, suffix, strcspn(suffix, "\n"));
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
		check_add(checks, CHECK_WARN, "", NULL, "%u more file%s cannot be used", root->problem_count - shown,
			  text_plural(root->problem_count - shown));
}

static bool has_name(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, len) && (!list[len] || list[len] == ','))
			return true;
	return false;
}

/* Each name of the list is a check. */
static int verify_names(const char *list, struct error *err)
{
	for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
		char name[64];
		bool found = false;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","), list);
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			found |= !strcmp(table[i].name, name);
		if (!found)
			return err_set(err, ERR_USAGE, "'%s' is no check (ibwire doctor lists their names)", name);
	}
	return 0;
}

int checks_run(struct checks *checks, struct local_root *root, const char *skip, const struct fabric *fabric,
	       char *const *environment, struct error *err)
{
	int code = verify_names(skip, err);

	*checks = (struct checks){ .root = root, .fabric = fabric };
	if (code)
		return code;
	code = local_host_read(root, true, &checks->host, err);
	if (code)
		return code;
	read_variables(checks, environment);
	for (size_t i = 0; i < checks->host.hca_count; i++)
		for (size_t j = 0; j < checks->host.hcas[i].port_count; j++)
			checks->selects |= is_selected(checks, &checks->host.hcas[i], &checks->host.hcas[i].ports[j]);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		checks->current = table[i].name;
		if (!has_name(skip, table[i].name))
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
		free(checks->results[i].item);
		free(checks->results[i].common);
	}
	free(checks->results);
	text_done(&checks->variables);
	local_host_done(&checks->host);
	*checks = (struct checks){ .count = 0 };
}
