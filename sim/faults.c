/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/cmd.h"
#include "sim/fault_kinds.h"
#include "sim/relay/key_values.h"
#include "sim/rundir.h"

/* Files in the run directory: the list, and the last line of the screen. */
#define FAULTS_FILE "faults"
#define STATUS_FILE "status"

void faults_print_kinds(void)
{
	for (size_t i = 0; i < FAULT_KINDS; i++)
		printf("  %-7s %-33s %s\n", fault_kinds[i].name, fault_kinds[i].arguments, fault_kinds[i].help);
}

const char *fault_name(const struct fault *fault)
{
	return fault->kind->name;
}

void fault_describe(const struct fault *fault, struct text *text)
{
	const char *target = strstr(fault->kind->status, "%s");

	text_appendf(text, "%.*s%s%s", (int)(target - fault->kind->status), fault->kind->status, fault->target,
		     target + 2);
}

void faults_describe(const struct faults *faults, struct text *text)
{
	for (size_t i = 0; i < faults->count; i++) {
		text_append(text, i ? ", " : "");
		fault_describe(&faults->list[i], text);
	}
}

/* --- parsing --- */

static bool is_uplink(const struct fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return peer != FABRIC_NONE && fabric->nodes[fabric->ports[peer].node].type == NODE_SWITCH;
}

static bool has_hosts(const struct fabric *fabric, const struct node *node)
{
	for (uint32_t i = node->first_port; node->type == NODE_SWITCH && i < node->first_port + node->ports; i++)
		if (fabric->ports[i].peer != FABRIC_NONE && !is_uplink(fabric, i))
			return true;
	return false;
}

/* A target for each kind: uplinks of different leaves, and different hosts. */
static int choose_target(const struct faults *faults, struct fault *fault, struct error *err)
{
	const struct fabric *fabric = faults->fabric;
	size_t number = (size_t)(fault->kind - fault_kinds), seen = 0;
	uint32_t last = FABRIC_NONE;
	char name[NODE_NAME_SIZE];
	double loss;

	/* A second one is refused, not somewhere else. */
	for (size_t i = 0; i < faults->count && !strcmp(fault->kind->name, "skew"); i++)
		if (faults->list[i].kind == fault->kind)
			snprintf(fault->target, sizeof(fault->target), "%s", faults->list[i].target);
	/* Where it hurts; without traffic it does so nowhere. */
	if (*fault->target ||
	    (!strcmp(fault->kind->name, "skew") && faults_skew_loss(faults, fault, &loss, NULL) == 0))
		return 0;
	if (fault->kind->target == TARGET_NODES && faults->hosts.host_count) {
		const struct host *host = &faults->hosts.hosts[(number + 4) % faults->hosts.host_count];
		const struct host_hca *hca = &faults->hosts.hcas[host->first_hca + host->hca_count - 1];

		snprintf(fault->target, sizeof(fault->target), "%s", strcmp(fault->kind->name, "idle") ? host->name :
			 fabric->nodes[fabric->ports[hca->port].node].name);
		return 0;
	}
	for (size_t i = 0; i < fabric->node_count && seen <= number; i++) {
		const struct node *node = &fabric->nodes[i];
		uint32_t uplink = FABRIC_NONE;

		for (uint32_t j = node->first_port; has_hosts(fabric, node) && j < node->first_port + node->ports; j++)
			uplink = is_uplink(fabric, j) && uplink == FABRIC_NONE ? j : uplink;
		if (uplink == FABRIC_NONE)
			continue;
		last = uplink;
		seen++;
	}
	if (last == FABRIC_NONE)
		return err_set(err, ERR_USAGE, "%s needs a target in this fabric: %s", fault->kind->name,
			       fault->kind->arguments);
	names_display(fabric, fabric->nodes[fabric->ports[last].node].name, name);
	snprintf(fault->target, sizeof(fault->target), "%s/%u", name, fabric->ports[last].num);
	return 0;
}

static int check_target(const struct faults *faults, const struct fault *fault, struct error *err)
{
	const struct fabric *fabric = faults->fabric;
	bool *members;
	uint32_t port;
	int code;

	if (fault->kind->target == TARGET_UPLINK) {
		code = names_find_port(fabric, fault->target, &port, err);
		if (code == 0 && fabric->ports[port].peer == FABRIC_NONE)
			code = err_set(err, ERR_USAGE, "%s has no cable", fault->target);
		return code;
	}
	members = calloc(fabric->node_count + 1, sizeof(*members));
	code = members ? faults_find_nodes(faults, fault->target, members, err) : err_nomem(err);
	free(members);
	return code;
}

/* skew and straggle have one option with a number; those of errors are validated by the relay. */
static int add_option(struct fault *fault, const char *word, struct error *err)
{
	size_t key = strcspn(fault->kind->options, "="), len = strlen(fault->options);
	char *end;

	if (!*fault->kind->options ||
	    (strcmp(fault->kind->name, "errors") != 0 && strncmp(word, fault->kind->options, key + 1) != 0))
		return err_set(err, ERR_USAGE, "%s has no option \"%s\": %s", fault->kind->name, word,
			       fault->kind->arguments);
	if (!(strtod(strchr(word, '=') + 1, &end) >= 0) ||
	    strcmp(end, strchr(fault->kind->options, '%') && *end ? "%" : "") != 0 || end[-1] == '=')
		return err_set(err, ERR_USAGE, "%s needs a number", word);
	if (len + strlen(word) + 2 > sizeof(fault->options))
		return err_set(err, ERR_USAGE, "%s has too many options", fault->kind->name);
	snprintf(fault->options + len, sizeof(fault->options) - len, "%s%s", len ? " " : "", word);
	return 0;
}

int fault_parse(const struct faults *faults, char *const *words, size_t count, struct fault *ret, struct error *err)
{
	struct fault fault = { 0 };
	int code = 0;

	for (size_t i = 0; count && i < FAULT_KINDS; i++)
		if (!strcmp(fault_kinds[i].name, words[0]))
			fault.kind = &fault_kinds[i];
	if (!fault.kind)
		return err_set(err, ERR_USAGE, "\"%s\" is not a fault: see ibwire-sim break --help",
			       count ? words[0] : "");
	if (count > FAULT_WORDS_MAX)
		code = err_set(err, ERR_USAGE, "%s has too many options", fault.kind->name);
	for (size_t i = 1; code == 0 && i < count; i++) {
		if (strchr(words[i], '='))
			code = add_option(&fault, words[i], err);
		else if (*fault.target || strlen(words[i]) >= sizeof(fault.target))
			code = err_set(err, ERR_USAGE, "%s: unexpected word \"%s\"", fault.kind->name, words[i]);
		else
			snprintf(fault.target, sizeof(fault.target), "%s", words[i]);
	}
	if (code == 0 && !*fault.options)
		snprintf(fault.options, sizeof(fault.options), "%s", fault.kind->options);
	if (code == 0)
		code = *fault.target ? check_target(faults, &fault, err) : choose_target(faults, &fault, err);
	if (code == 0)
		*ret = fault;
	return code;
}

/* --- the list --- */

static int read_list(struct faults *faults, struct error *err)
{
	char path[PATH_MAX], *words[FAULT_WORDS_MAX], *line, *rest = NULL;
	struct text text = { 0 };
	size_t count;
	int code;

	faults_path(faults, FAULTS_FILE, path);
	code = text_read_file(path, "", TEXT_FABRIC_MOST, &text, err);
	for (line = code == 0 && text.chars ? strtok_r(text.chars, "\n", &rest) : NULL; line && code == 0;
	     line = strtok_r(NULL, "\n", &rest)) {
		code = words_split(line, words, FAULT_WORDS_MAX, &count, err);
		if (code == 0 && faults->count < FAULTS_MAX)
			code = fault_parse(faults, words, count, &faults->list[faults->count], err);
		faults->count += code == 0;
	}
	text_done(&text);
	return code;
}

int faults_open(struct faults *faults, struct error *err)
{
	char path[PATH_MAX];
	int code;

	*faults = (struct faults){
		.sockname = getenv("IBSIM_SOCKNAME"), .dir = getenv("IBWIRE_SIM_DIR"),
		.console = getenv("IBWIRE_SIM_CONSOLE"), .fd = -1,
	};
	if (!faults->sockname || !faults->dir || !faults->console)
		return err_set(err, ERR_UNAVAILABLE, "IBWIRE_SIM_DIR is not set: no simulation is running");
	code = cmd_load_fabric(faults->dir, &faults->fabric, err);
	if (code == 0)
		code = host_table_create(faults->fabric, &faults->hosts, err);
	if (code < 0)
		return code;
	faults_path(faults, FAULTS_FILE, path);
	faults->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (faults->fd < 0 || flock(faults->fd, LOCK_EX) < 0)
		return err_set(err, ERR_IO, "cannot lock %s: %s", path, strerror(errno));
	code = read_list(faults, err);
	if (code == 0)
		return 0;
	/* A list that cannot be read is not replaced. */
	close(faults->fd);
	faults->fd = -1;
	return err_prefix(err, "%s", path);
}

void faults_close(struct faults *faults)
{
	struct text text = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < faults->count; i++)
		text_appendf(&text, "%s \"%s\" %s\n", faults->list[i].kind->name, faults->list[i].target,
			     faults->list[i].options);
	if (faults->fd >= 0 && (text_failed(&text) ? err_nomem(&err)
	    : rundir_write(faults->dir, FAULTS_FILE, text_chars(&text), text.len, &err)) < 0)
		log_warning("the list of faults is not updated: %s", err.text);
	if (faults->fd >= 0)
		close(faults->fd);
	text_done(&text);
	host_table_done(&faults->hosts);
	fabric_destroy(faults->fabric);
}

void fault_describe_effect(const struct faults *faults, const struct fault *fault, struct text *text)
{
	struct fault copy = *fault;
	double loss = 0;
	int code;

	if (strcmp(fault->kind->name, "skew"))
		return;
	code = faults_skew_loss(faults, &copy, &loss, NULL);
	if (code == ERR_UNAVAILABLE)
		text_append(text, "; no load changes, because there is no traffic (ibwire-sim run --traffic)");
	else if (code == 0 && loss < 0.005)
		text_append(text, "; no job becomes slower: this switch sends nothing to the moved destinations");
	else if (code == 0)
		text_appendf(text, "; the jobs lose %.0f %% of their rate", 100 * loss);
}

int faults_begin(struct faults *faults, const struct fault *fault, struct error *err)
{
	int code;

	for (size_t i = 0; i < faults->count; i++)
		if (faults->list[i].kind == fault->kind && !strcmp(faults->list[i].target, fault->target))
			return err_set(err, ERR_USAGE, "%s %s is broken already: ibwire-sim repair ends it",
				       fault->kind->name, fault->target);
	if (faults->count == FAULTS_MAX)
		return err_set(err, ERR_USAGE, "%d faults is the maximum: ibwire-sim repair ends them", FAULTS_MAX);
	code = fault->kind->reroutes ? faults_save_routes(faults, err) : 0;
	if (code < 0)
		return code;
	faults->list[faults->count++] = *fault;
	code = fault->kind->set(faults, fault, true, err);
	if (code < 0) {
		faults->count--;
		/* A part of it may have taken effect. */
		fault->kind->set(faults, fault, false, NULL);
	}
	return code;
}

/* @reroutes: only faults of this kind are ended */
static int end_some(struct faults *faults, bool reroutes, const char *kind, const char *target, struct text *repaired,
		    struct error *err)
{
	for (size_t i = 0; i < faults->count;) {
		struct fault fault = faults->list[i];
		int code;

		if (fault.kind->reroutes != reroutes || (kind && strcmp(fault.kind->name, kind)) ||
		    (target && strcmp(fault.target, target))) {
			i++;
			continue;
		}
		faults->count--;
		memmove(&faults->list[i], &faults->list[i + 1], (faults->count - i) * sizeof(fault));
		code = fault.kind->set(faults, &fault, false, err);
		if (code < 0) {
			faults->list[faults->count++] = fault;
			return code;
		}
		fault_describe(&fault, repaired);
		text_append(repaired, "\n");
	}
	return 0;
}

/* Nodes respond before tables are restored: opensm sets none of a switch that does not. */
int faults_end(struct faults *faults, const char *kind, const char *target, struct text *repaired, struct error *err)
{
	int code = end_some(faults, false, kind, target, repaired, err);

	return code < 0 ? code : end_some(faults, true, kind, target, repaired, err);
}

/* The file is written under another name and renamed, so that `ibwire top` never reads a part of it. */
void faults_status(const struct faults *faults, const char *line)
{
	char path[PATH_MAX], new_path[PATH_MAX];
	struct text text = { 0 };

	faults_path(faults, STATUS_FILE, path);
	faults_path(faults, STATUS_FILE ".new", new_path);
	text_append(&text, line ? line : "SIMULATED: ");
	if (!line)
		faults_describe(faults, &text);
	if (!line)
		text_append(&text, faults->count ? ". ibwire-sim repair ends it" :
			    "no faults. From another terminal: ibwire-sim break --help");
	if (!text_failed(&text) && rundir_write(NULL, new_path, text_chars(&text), text.len, NULL) == 0 &&
	    rename(new_path, path) < 0)
		remove(new_path);
	text_done(&text);
}
