/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/fault_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/names.h"
#include "sim/cmd.h"
#include "sim/control.h"
#include "sim/ibsim/attach.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/programs.h"
#include "sim/relay/key_values.h"
#include "sim/relay/relay.h"
#include "sim/traffic/driver.h"

/* The routes without faults, in the run directory. */
#define ROUTES_FILE "before.lfts"

/* Time for opensm to find a link that is back. */
#define LINK_WAIT_US (15 * US_PER_S)

/* --- what is sent to the simulation --- */

/* Without traffic there is nothing to change. */
static int send_command(const struct faults *faults, control_function *send, struct text *command, struct error *err)
{
	struct text response = { 0 };
	int code = text_failed(command) ? err_nomem(err)
					: send(faults->sockname, text_chars(command), &response, err);

	text_done(&response);
	text_done(command);
	return code == ERR_UNAVAILABLE && send == driver_control ? 0 : code;
}

/* @command: of ibsim's console, such as Unlink */
static int to_link(const struct faults *faults, const char *command, const struct fault *fault, struct error *err)
{
	char id[ATTACH_ID_SIZE], line[CONSOLE_MAX_LINE];
	struct text output = { 0 };
	uint32_t port;
	int code = names_find_port(faults->fabric, fault->target, &port, err);

	if (code < 0)
		return code;
	snprintf(line, sizeof(line), "%s \"%s\"[%u]", command,
		 attach_id(faults->fabric, faults->fabric->ports[port].node, id), faults->fabric->ports[port].num);
	code = console_run(faults->console, faults->dir, line, &output, err);
	text_done(&output);
	return code;
}

/* Settings of the agent of a port. */
static int to_port(const struct faults *faults, uint32_t port, const char *settings, struct error *err)
{
	const struct port *at = &faults->fabric->ports[port];
	struct text command = { 0 };

	text_appendf(&command, "pma 0x%" PRIx64 " port=%u %s", faults->fabric->nodes[at->node].guid, at->num, settings);
	return send_command(faults, relay_control, &command, err);
}

/* --- routes --- */

void faults_path(const struct faults *faults, const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", faults->dir, name);
}

/* The file is removed once it is loaded: otherwise opensm would not route around later changes of links. */
static void forget_tables(const struct faults *faults)
{
	char path[PATH_MAX];

	faults_path(faults, OPENSM_LFTS, path);
	remove(path);
}

static int routes(const struct faults *faults, const char *action, const char *argument, const char *share,
		  struct error *err)
{
	char *argv[] = { (char *)(uintptr_t) "routes", (char *)(uintptr_t)action, (char *)(uintptr_t)argument,
			 (char *)(uintptr_t)share, NULL };
	int code = cmd_routes(!argument ? 2 : share ? 4 : 3, argv, err);

	if (strcmp(action, "save"))
		forget_tables(faults);
	return code;
}

int faults_save_routes(const struct faults *faults, struct error *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < faults->count; i++)
		if (faults->list[i].kind->reroutes)
			return 0;
	faults_path(faults, ROUTES_FILE, path);
	return routes(faults, "save", path, NULL, err);
}

int faults_skew_loss(const struct faults *faults, struct fault *fault, double *ret, struct error *err)
{
	struct text command = { 0 }, response = { 0 };
	char name[NODE_NAME_SIZE];
	const struct port *port;
	unsigned index;
	int code;

	text_appendf(&command, "skew %s%s%s", fault->options + strlen("part="), *fault->target ? " " : "",
		     fault->target);
	code = text_failed(&command) ? err_nomem(err) :
				       driver_control(faults->sockname, text_chars(&command), &response, err);
	if (code == 0 && (sscanf(text_chars(&response), "%u %lf", &index, ret) != 2 ||
			  index >= faults->fabric->port_count))
		code = err_set(err, ERR_IO, "invalid response of the traffic: %s", text_chars(&response));
	if (code == 0 && !*fault->target) {
		port = &faults->fabric->ports[index];
		names_display(faults->fabric, faults->fabric->nodes[port->node].name, name);
		snprintf(fault->target, sizeof(fault->target), "%s/%u", name, port->num);
	}
	text_done(&command);
	text_done(&response);
	return code;
}

static int skew(const struct faults *faults, const struct fault *fault, struct error *err)
{
	return routes(faults, "skew", fault->target, fault->options + strlen("part="), err);
}

/* Load the routes from before the first fault: opensm keeps skewed ones, and those around a cable that is back. */
static int restore_routes(const struct faults *faults, struct error *err)
{
	char path[PATH_MAX];
	size_t cables = 0;
	int code;

	faults_path(faults, ROUTES_FILE, path);
	code = routes(faults, "load", path, NULL, err);
	for (size_t i = 0; code == 0 && i < faults->count; i++) {
		if (!strcmp(faults->list[i].kind->name, "skew"))
			code = skew(faults, &faults->list[i], err);
		else
			cables += faults->list[i].kind->reroutes;
	}
	return code == 0 && cables ? routes(faults, "reset", NULL, NULL, err) : code;
}

static int set_skew(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	return begin ? skew(faults, fault, err) : restore_routes(faults, err);
}

/* --- links --- */

/* A link that comes back is in use when opensm has configured it. */
static int relink(const struct faults *faults, const struct fault *fault, struct error *err)
{
	const struct timespec interval = { .tv_nsec = 20000000 };
	int64_t deadline_us = clock_boottime_us(clock_system()) + LINK_WAIT_US;
	unsigned before = opensm_routed_count(faults->dir);
	int code = to_link(faults, "ReLink", fault, err);

	while (code == 0 && opensm_routed_count(faults->dir) == before &&
	       clock_boottime_us(clock_system()) < deadline_us)
		nanosleep(&interval, NULL);
	return code < 0 ? code : restore_routes(faults, err);
}

static int set_unplugged(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	return begin ? to_link(faults, "Unlink", fault, err) : relink(faults, fault, err);
}

/* The link goes down and comes back with another width. */
static int set_slow(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	const char *width = begin ? "width=1x" : "width=ibsim";
	struct text narrow = { 0 };
	uint32_t port;
	int code = names_find_port(faults->fabric, fault->target, &port, err);

	if (code == 0)
		code = to_link(faults, "Unlink", fault, err);
	if (code == 0)
		code = to_port(faults, port, width, err);
	if (code == 0)
		code = to_port(faults, faults->fabric->ports[port].peer, width, err);
	if (code < 0)
		return code;
	text_append(&narrow, "narrow none");
	for (size_t i = 0; i < faults->count; i++)
		if (!strcmp(faults->list[i].kind->name, "slow"))
			text_appendf(&narrow, ",%s", faults->list[i].target);
	code = send_command(faults, driver_control, &narrow, err);
	return code < 0 ? code : relink(faults, fault, err);
}

/* Counters stay as they are after the repair. */
static int set_errors(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	char copy[sizeof(fault->options)], *word, *rest = NULL, *value;
	struct text settings = { 0 };
	uint32_t port;
	int code = names_find_port(faults->fabric, fault->target, &port, err);

	snprintf(copy, sizeof(copy), "%s", fault->options);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		value = strchr(word, '=');
		*value++ = '\0';
		text_appendf(&settings, "%s=%s/h ", word, begin ? value : "0");
	}
	if (code == 0)
		code = text_failed(&settings) ? err_nomem(err) : to_port(faults, port, text_chars(&settings), err);
	text_done(&settings);
	return code;
}

/* --- nodes --- */

int faults_find_nodes(const struct faults *faults, const char *target, bool *members, struct error *err)
{
	const struct host_table *hosts = &faults->hosts;
	bool found = false;

	for (size_t i = 0; i < hosts->hca_count; i++)
		if (!strcmp(hosts->hosts[hosts->hcas[i].host].name, target))
			members[faults->fabric->ports[hosts->hcas[i].port].node] = found = true;
	return found ? 0 : parse_nodes(faults->fabric, target, members, err);
}

/* Send a command with the nodes of all faults of these kinds, or "none". */
static int send_nodes(const struct faults *faults, control_function *send, const char *command, const char *kinds,
		      struct error *err)
{
	size_t count = faults->fabric->node_count;
	bool *members = calloc(count + 1, sizeof(*members)), *all = calloc(count + 1, sizeof(*all));
	struct text text = { 0 };
	int code = members && all ? 0 : err_nomem(err);

	for (size_t i = 0; code == 0 && i < faults->count; i++) {
		if (!strstr(kinds, faults->list[i].kind->name))
			continue;
		memset(members, 0, count * sizeof(*members));
		code = faults_find_nodes(faults, faults->list[i].target, members, err);
		for (size_t j = 0; j < count; j++)
			all[j] |= members[j];
	}
	text_appendf(&text, "%snone", command);
	for (size_t i = 0; code == 0 && i < count; i++)
		if (all[i])
			text_appendf(&text, ",0x%" PRIx64, faults->fabric->nodes[i].guid);
	free(members);
	free(all);
	if (code == 0)
		return send_command(faults, send, &text, err);
	text_done(&text);
	return code;
}

static int set_idle(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	(void)fault;
	(void)begin;
	return send_nodes(faults, driver_control, "idle ", "hang idle", err);
}

static int set_hang(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	int code = send_nodes(faults, relay_control, "wire dead=", "hang", err);

	return code < 0 ? code : set_idle(faults, fault, begin, err);
}

static int set_frozen(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	(void)fault;
	(void)begin;
	return send_nodes(faults, driver_control, "freeze ", "freeze", err);
}

/* All hosts that compute slower, with their "by=20%". */
static int set_slower(const struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	size_t count = faults->fabric->node_count;
	bool *members = calloc(count + 1, sizeof(*members));
	struct text text = { 0 };
	int code = members ? 0 : err_nomem(err);

	(void)fault;
	(void)begin;
	text_append(&text, "slower none");
	for (size_t i = 0; code == 0 && i < faults->count; i++) {
		const struct fault *one = &faults->list[i];

		if (strcmp(one->kind->name, "straggle") != 0)
			continue;
		memset(members, 0, count * sizeof(*members));
		code = faults_find_nodes(faults, one->target, members, err);
		for (size_t j = 0; code == 0 && j < count; j++)
			if (members[j])
				text_appendf(&text, ",0x%" PRIx64 "=%g", faults->fabric->nodes[j].guid,
					     strtod(one->options + strlen("by="), NULL) / 100);
	}
	free(members);
	if (code == 0)
		return send_command(faults, driver_control, &text, err);
	text_done(&text);
	return code;
}

const struct fault_kind fault_kinds[FAULT_KINDS] = {
	{ "skew", "[SWITCH/PORT] [part=0.5]", "route half of a switch's destinations through one of its uplinks",
	  "routes of %s skewed", "part=0.5", TARGET_UPLINK, true, set_skew },
	{ "unplug", "[NODE/PORT]", "disconnect a cable", "cable %s unplugged", "", TARGET_UPLINK, true, set_unplugged },
	{ "errors", "[NODE/PORT] [COUNTER=NUMBER]...", "count errors at a port, per hour (symbol_errors=7200)",
	  "errors at %s", "symbol_errors=7200", TARGET_UPLINK, false, set_errors },
	{ "slow", "[NODE/PORT]", "let a link come back with one lane", "link %s at one lane", "", TARGET_UPLINK, true,
	  set_slow },
	{ "hang", "[HOST|NODE]", "stop all agents of a host from responding; it leaves its jobs", "%s hangs", "",
	  TARGET_NODES, false, set_hang },
	{ "idle", "[HOST|HCA]", "leave a host, or one of its HCAs, out of its jobs", "%s unused by the job", "",
	  TARGET_NODES, false, set_idle },
	{ "freeze", "[HOST]", "stop the processes of a host: its ports stay up, and its jobs wait for it",
	  "processes of %s stopped", "", TARGET_NODES, false, set_frozen },
	{ "straggle", "[HOST] [by=20%]", "let a host compute longer than the others of its jobs",
	  "%s computes slower", "by=20%", TARGET_NODES, false, set_slower },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
