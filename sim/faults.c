/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/cmd.h"
#include "sim/control.h"
#include "sim/ibsim/attach.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/programs.h"
#include "sim/relay/key_values.h"
#include "sim/relay/relay.h"
#include "sim/rundir.h"
#include "sim/traffic/driver.h"

/* Files in the run directory: the list, the routes without faults, and the last line of the screen. */
#define FAULTS_FILE "faults"
#define ROUTES_FILE "before.lfts"
#define STATUS_FILE "status"

/* Time for opensm to find a link that is back. */
#define LINK_WAIT_US (15 * US_PER_S)

typedef int fault_function(struct faults *faults, const struct fault *fault, struct error *err);

enum target { TARGET_UPLINK, TARGET_NODES };

struct fault_kind {
	const char *name;
	const char *arguments, *help;
	const char *status;  /* what is shown, with the target */
	const char *options; /* their default; "": it has none */
	enum target target;
	bool reroutes;       /* opensm changes routes because of it */
	fault_function *begin, *end;
};

/* --- what is sent to the simulation --- */

static int send_command(const struct faults *faults, control_function *send, struct text *command, struct error *err)
{
	struct text response = { 0 };
	int code = text_failed(command) ? err_nomem(err)
					: send(faults->sockname, text_chars(command), &response, err);

	text_done(&response);
	text_done(command);
	return code;
}

/* Without traffic there is nothing to change. */
static int to_driver(const struct faults *faults, struct text *command, struct error *err)
{
	int code = send_command(faults, driver_control, command, err);

	return code == ERR_UNAVAILABLE ? 0 : code;
}

/* @command: of ibsim's console, such as Unlink */
static int to_link(const struct faults *faults, const char *command, const struct fault *fault, struct error *err)
{
	char id[ATTACH_ID_SIZE], line[CONSOLE_MAX_LINE];
	struct text output = { 0 };
	uint32_t port;
	int code = parse_port(faults->fabric, fault->target, &port, err);

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

static void path_of(const struct faults *faults, const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", faults->dir, name);
}

/* Tables that opensm has loaded stay; later changes of links are routed by opensm itself. */
static void forget_tables(const struct faults *faults)
{
	char path[PATH_MAX];

	path_of(faults, OPENSM_LFTS, path);
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

static int save_routes(const struct faults *faults, struct error *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < faults->count; i++)
		if (faults->list[i].kind->reroutes)
			return 0;
	path_of(faults, ROUTES_FILE, path);
	return routes(faults, "save", path, NULL, err);
}

static int skew(struct faults *faults, const struct fault *fault, struct error *err)
{
	return routes(faults, "skew", fault->target, fault->options + strlen("part="), err);
}

/* The routes of the beginning: opensm keeps those around a cable that is back, and skewed ones. */
static int restore_routes(struct faults *faults, struct error *err)
{
	char path[PATH_MAX];
	size_t cables = 0;
	int code;

	path_of(faults, ROUTES_FILE, path);
	code = routes(faults, "load", path, NULL, err);
	for (size_t i = 0; code == 0 && i < faults->count; i++) {
		if (!strcmp(faults->list[i].kind->name, "skew"))
			code = skew(faults, &faults->list[i], err);
		else
			cables += faults->list[i].kind->reroutes;
	}
	return code == 0 && cables ? routes(faults, "reset", NULL, NULL, err) : code;
}

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
	return code;
}

/* --- faults --- */

/* The nodes of a target: the HCAs of a host, or a node. */
static int find_nodes(const struct faults *faults, const char *target, bool *members, struct error *err)
{
	const struct host_table *hosts = &faults->hosts;
	bool found = false;

	for (size_t i = 0; i < hosts->hca_count; i++)
		if (!strcmp(hosts->hosts[hosts->hcas[i].host].name, target))
			members[faults->fabric->ports[hosts->hcas[i].port].node] = found = true;
	return found ? 0 : parse_nodes(faults->fabric, target, members, err);
}

/* Append the nodes of all faults of these kinds, or "none". */
static int append_nodes(const struct faults *faults, const char *kinds, struct text *text, struct error *err)
{
	size_t count = faults->fabric->node_count;
	bool *members = calloc(count + 1, sizeof(*members)), *all = calloc(count + 1, sizeof(*all));
	int code = members && all ? 0 : err_nomem(err);

	for (size_t i = 0; code == 0 && i < faults->count; i++) {
		if (!strstr(kinds, faults->list[i].kind->name))
			continue;
		memset(members, 0, count * sizeof(*members));
		code = find_nodes(faults, faults->list[i].target, members, err);
		for (size_t j = 0; j < count; j++)
			all[j] |= members[j];
	}
	text_append(text, "none");
	for (size_t i = 0; code == 0 && i < count; i++)
		if (all[i])
			text_appendf(text, ",0x%" PRIx64, faults->fabric->nodes[i].guid);
	free(members);
	free(all);
	return code;
}

static int set_idle(struct faults *faults, const struct fault *fault, struct error *err)
{
	struct text command = { 0 };
	int code;

	(void)fault;
	text_append(&command, "idle ");
	code = append_nodes(faults, "hang idle", &command, err);
	if (code == 0)
		return to_driver(faults, &command, err);
	text_done(&command);
	return code;
}

static int set_hang(struct faults *faults, const struct fault *fault, struct error *err)
{
	struct text command = { 0 };
	int code;

	text_append(&command, "wire dead=");
	code = append_nodes(faults, "hang", &command, err);
	if (code == 0)
		code = send_command(faults, relay_control, &command, err);
	else
		text_done(&command);
	return code < 0 ? code : set_idle(faults, fault, err);
}

static int unplug(struct faults *faults, const struct fault *fault, struct error *err)
{
	return to_link(faults, "Unlink", fault, err);
}

static int plug(struct faults *faults, const struct fault *fault, struct error *err)
{
	int code = relink(faults, fault, err);

	return code < 0 ? code : restore_routes(faults, err);
}

/* The link goes down and comes back with another width. */
static int set_width(struct faults *faults, const struct fault *fault, const char *width, struct error *err)
{
	struct text narrow = { 0 };
	uint32_t port;
	int code = parse_port(faults->fabric, fault->target, &port, err);

	if (code == 0)
		code = unplug(faults, fault, err);
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
	code = to_driver(faults, &narrow, err);
	return code < 0 ? code : plug(faults, fault, err);
}

static int slow(struct faults *faults, const struct fault *fault, struct error *err)
{
	return set_width(faults, fault, "width=1x", err);
}

static int speed_up(struct faults *faults, const struct fault *fault, struct error *err)
{
	return set_width(faults, fault, "width=ibsim", err);
}

/* @begin: count errors; else the counters stay as they are */
static int set_errors(struct faults *faults, const struct fault *fault, bool begin, struct error *err)
{
	char copy[sizeof(fault->options)], *word, *rest = NULL, *value;
	struct text settings = { 0 };
	uint32_t port;
	int code = parse_port(faults->fabric, fault->target, &port, err);

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

static int count_errors(struct faults *faults, const struct fault *fault, struct error *err)
{
	return set_errors(faults, fault, true, err);
}

static int stop_errors(struct faults *faults, const struct fault *fault, struct error *err)
{
	return set_errors(faults, fault, false, err);
}

static int unskew(struct faults *faults, const struct fault *fault, struct error *err)
{
	(void)fault;
	return restore_routes(faults, err);
}

static const struct fault_kind kinds[] = {
	{ "skew", "[SWITCH/PORT] [part=0.5]", "route half of a switch's destinations through one of its uplinks",
	  "routes of %s skewed", "part=0.5", TARGET_UPLINK, true, skew, unskew },
	{ "unplug", "[NODE/PORT]", "disconnect a cable", "cable %s unplugged", "", TARGET_UPLINK, true, unplug, plug },
	{ "errors", "[NODE/PORT] [COUNTER=NUMBER]...", "count errors at a port, per hour (symbol_errors=7200)",
	  "errors at %s", "symbol_errors=7200", TARGET_UPLINK, false, count_errors, stop_errors },
	{ "slow", "[NODE/PORT]", "let a link come back with one lane", "link %s at one lane", "", TARGET_UPLINK, true,
	  slow, speed_up },
	{ "hang", "[HOST|NODE]", "stop all agents of a host from responding; it leaves its jobs", "%s hangs", "",
	  TARGET_NODES, false, set_hang, set_hang },
	{ "idle", "[HOST|HCA]", "leave a host, or one of its HCAs, out of its jobs", "%s unused by the job", "",
	  TARGET_NODES, false, set_idle, set_idle },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

void faults_print_kinds(void)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		printf("  %-7s %-33s %s\n", kinds[i].name, kinds[i].arguments, kinds[i].help);
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
	size_t number = (size_t)(fault->kind - kinds), seen = 0;
	uint32_t last = FABRIC_NONE;
	char name[NODE_NAME_SIZE];

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
	names_short(fabric->nodes[fabric->ports[last].node].name, name);
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
		code = parse_port(fabric, fault->target, &port, err);
		if (code == 0 && fabric->ports[port].peer == FABRIC_NONE)
			code = err_set(err, ERR_USAGE, "%s has no cable", fault->target);
		return code;
	}
	members = calloc(fabric->node_count + 1, sizeof(*members));
	code = members ? find_nodes(faults, fault->target, members, err) : err_nomem(err);
	free(members);
	return code;
}

/* skew has one option with a number; those of errors are validated by the relay. */
static int add_option(struct fault *fault, const char *word, struct error *err)
{
	size_t key = strcspn(fault->kind->options, "="), len = strlen(fault->options);
	char *end;

	if (!*fault->kind->options || (fault->kind->begin == skew && strncmp(word, fault->kind->options, key + 1)))
		return err_set(err, ERR_USAGE, "%s has no option \"%s\": %s", fault->kind->name, word,
			       fault->kind->arguments);
	if (!(strtod(strchr(word, '=') + 1, &end) >= 0) || *end || end[-1] == '=')
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

	for (size_t i = 0; count && i < KIND_COUNT; i++)
		if (!strcmp(kinds[i].name, words[0]))
			fault.kind = &kinds[i];
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

	path_of(faults, FAULTS_FILE, path);
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
	path_of(faults, FAULTS_FILE, path);
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

	for (size_t i = 0; i < faults->count; i++)
		text_appendf(&text, "%s \"%s\" %s\n", faults->list[i].kind->name, faults->list[i].target,
			     faults->list[i].options);
	if (faults->fd >= 0 && !text_failed(&text))
		rundir_write(faults->dir, FAULTS_FILE, text_chars(&text), text.len, NULL);
	if (faults->fd >= 0)
		close(faults->fd);
	text_done(&text);
	host_table_done(&faults->hosts);
	fabric_destroy(faults->fabric);
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
	code = fault->kind->reroutes ? save_routes(faults, err) : 0;
	if (code < 0)
		return code;
	faults->list[faults->count++] = *fault;
	code = fault->kind->begin(faults, fault, err);
	if (code < 0) {
		faults->count--;
		/* A part of it may have taken effect. */
		fault->kind->end(faults, fault, NULL);
	}
	return code;
}

int faults_end(struct faults *faults, const char *kind, const char *target, struct text *repaired, struct error *err)
{
	for (size_t i = 0; i < faults->count;) {
		struct fault fault = faults->list[i];
		int code;

		if ((kind && strcmp(fault.kind->name, kind)) || (target && strcmp(fault.target, target))) {
			i++;
			continue;
		}
		faults->count--;
		memmove(&faults->list[i], &faults->list[i + 1], (faults->count - i) * sizeof(fault));
		code = fault.kind->end(faults, &fault, err);
		if (code < 0) {
			faults->list[faults->count++] = fault;
			return code;
		}
		fault_describe(&fault, repaired);
		text_append(repaired, "\n");
	}
	return 0;
}

/* Renamed, so that a reader never gets a part of it. */
void faults_status(const struct faults *faults, const char *line)
{
	char path[PATH_MAX], new_path[PATH_MAX];
	struct text text = { 0 };

	path_of(faults, STATUS_FILE, path);
	path_of(faults, STATUS_FILE ".new", new_path);
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
