/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_happen.c - parse events such as "width leaf-1/33 1x for=10m" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "tests/world/virtual_state.h"
#include "tests/world/virtual_words.h"

#define WORDS_MAX 16

/* A link flaps at most so often in one line. */
#define TIMES_MAX 100000

/* Errors in an hour, at most. */
#define ERRORS_MAX 1e15

/* A command's words: those without "=" in order, options behind them. */
struct command {
	struct virtual *world;
	int64_t at_us;
	char *args[WORDS_MAX];
	size_t arg_count;
	char *options[WORDS_MAX];
	size_t option_count;
};

static char *option(const struct command *command, const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < command->option_count; i++)
		if (!strncmp(command->options[i], name, len) && command->options[i][len] == '=')
			return command->options[i] + len + 1;
	return NULL;
}

static int span(const struct command *command, const char *name, int64_t fallback_us, int64_t *ret_us,
		struct error *err)
{
	const char *value = option(command, name);

	*ret_us = fallback_us;
	return value ? when_span_parse(value, ret_us, err) : 0;
}

static int whole(const struct command *command, const char *name, uint64_t least, uint64_t most, uint64_t fallback,
		 uint64_t *ret, struct error *err)
{
	const char *value = option(command, name);

	*ret = fallback;
	return value ? virtual_whole(name, value, least, most, ret, err) : 0;
}

static int real(const struct command *command, const char *name, double least, double most, double fallback,
		double *ret, struct error *err)
{
	const char *value = option(command, name);

	*ret = fallback;
	return value ? virtual_real(name, value, least, most, ret, err) : 0;
}

static int put(const struct command *command, int64_t after_us, struct virtual_event event, struct error *err)
{
	event.at_us = command->at_us + after_us;
	return virtual_schedule(command->world, &event) < 0 ? err_nomem(err) : 0;
}

/* What begins, and with for=TIME ends. */
static int put_both(const struct command *command, struct virtual_event event, enum change_kind end, struct error *err)
{
	int64_t for_us;
	int code = span(command, "for", 0, &for_us, err);

	if (code == 0)
		code = put(command, 0, event, err);
	if (code == 0 && for_us) {
		event.what = end;
		code = put(command, for_us, event, err);
	}
	return code;
}

static int get_port(const struct command *command, size_t arg, uint32_t *ret, struct error *err)
{
	if (arg >= command->arg_count)
		return err_set(err, ERR_USAGE, "%s wants a port", command->args[0]);
	return virtual_find_port(command->world->built, command->args[arg], ret, err);
}

static int get_node(const struct command *command, size_t arg, uint32_t *ret, struct error *err)
{
	if (arg >= command->arg_count)
		return err_set(err, ERR_USAGE, "%s wants a node", command->args[0]);
	return virtual_find_node(command->world->built, command->args[arg], ret, err);
}

static int do_down(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_LINK_DOWN };
	int code = get_port(command, 1, &event.a, err);

	return code < 0 ? code : put_both(command, event, CHANGE_LINK_UP, err);
}

static int do_flap(const struct command *command, struct error *err)
{
	uint64_t count = 0, i;
	int64_t every_us, for_us;
	uint32_t port;
	int code = get_port(command, 1, &port, err);

	if (code == 0)
		code = whole(command, "times", 1, TIMES_MAX, 3, &count, err);
	if (code == 0)
		code = span(command, "every", 120000000, &every_us, err);
	if (code == 0)
		code = span(command, "for", 3000000, &for_us, err);
	for (i = 0; code == 0 && i < count; i++) {
		code = put(command, (int64_t)i * every_us,
			   (struct virtual_event){ .what = CHANGE_LINK_DOWN, .a = port }, err);
		if (code == 0)
			code = put(command, (int64_t)i * every_us + for_us,
				   (struct virtual_event){ .what = CHANGE_LINK_UP, .a = port }, err);
	}
	return code;
}

/* "4x" as its code; 0: none. */
static uint8_t width_code(const char *word)
{
	char *end;
	unsigned long lanes = strtoul(word, &end, 10);

	return lanes <= 12 && (!*end || !strcmp(end, "x")) ? link_width_code((unsigned)lanes) : 0;
}

/* A link's width or speed is @n, and after for=TIME what it was before. */
static int put_link(const struct command *command, struct virtual_event event, uint8_t n, uint8_t before,
		    struct error *err)
{
	int64_t for_us;
	int code = span(command, "for", 0, &for_us, err);

	event.n = n;
	if (code == 0)
		code = put(command, 0, event, err);
	event.n = before;
	return code == 0 && for_us ? put(command, for_us, event, err) : code;
}

static int do_width(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_WIDTH };
	uint8_t n = command->arg_count > 2 ? width_code(command->args[2]) : 0;
	int code = get_port(command, 1, &event.a, err);

	if (code == 0 && !n)
		code = err_set(err, ERR_USAGE, "width wants a port and 1x, 2x or 4x");
	return code < 0 ? code : put_link(command, event, n, command->world->width[event.a], err);
}

static int do_speed(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_SPEED };
	uint8_t n = command->arg_count > 2 ? (uint8_t)link_speed_by_name(command->args[2]) : 0;
	int code = get_port(command, 1, &event.a, err);

	if (code == 0 && !n)
		code = err_set(err, ERR_USAGE, "speed wants a port and a speed such as EDR");
	return code < 0 ? code : put_link(command, event, n, command->world->speed[event.a], err);
}

/* "errors leaf-1/3 symbol_errors=40": so many in an hour. */
static int do_errors(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_ERRORS };
	int code = get_port(command, 1, &event.a, err);
	double share = 0;
	size_t i;

	if (code == 0)
		code = real(command, "echo", 0, 1, 0, &share, err);
	event.b = (uint32_t)(100 * share);
	for (i = 0; code == 0 && i < command->option_count; i++) {
		char *value = strchr(command->options[i], '=');
		enum counter counter;

		*value = '\0';
		counter = counter_by_key(command->options[i]);
		*value = '=';
		if (counter == COUNTER_COUNT)
			continue;
		if (counter < COUNTER_TRAFFIC_COUNT)
			return err_set(err, ERR_USAGE, "errors: %s counts none", command->options[i]);
		event.n = (uint8_t)counter;
		code = virtual_real(counter_info(counter)->key, value + 1, 0, ERRORS_MAX, &event.x, err);
		event.x /= 3600;
		if (code == 0)
			code = put_both(command, event, CHANGE_ERRORS_END, err);
	}
	if (code == 0 && event.x <= 0)
		code = err_set(err, ERR_USAGE, "errors wants a counter and how many in an hour: symbol_errors=40");
	return code;
}

static int do_node(const struct command *command, enum change_kind begin, enum change_kind end, struct error *err)
{
	struct virtual_event event = { .what = begin };
	int code = get_node(command, 1, &event.a, err);

	return code < 0 ? code : put_both(command, event, end, err);
}

static int do_silent(const struct command *command, struct error *err)
{
	return do_node(command, CHANGE_SILENT, CHANGE_ANSWERS, err);
}

static int do_lock(const struct command *command, struct error *err)
{
	return do_node(command, CHANGE_LOCK, CHANGE_UNLOCK, err);
}

/*
 * "hosts=LIST" in the place of the node that is word @arg.
 * @ret: flags by host, for free(); NULL where the option is not there
 */
static int get_hosts(const struct command *command, size_t arg, bool **ret, struct error *err)
{
	char *list = option(command, "hosts");
	bool *hosts;
	int code;

	*ret = NULL;
	if (!list)
		return 0;
	if (command->arg_count > arg)
		return err_set(err, ERR_USAGE, "%s wants a node or hosts=, and not both", command->args[0]);
	hosts = calloc(command->world->hosts.host_count + 1, sizeof(*hosts));
	code = hosts ? virtual_find_hosts(command->world, list, hosts, err) : err_nomem(err);
	if (code < 0)
		free(hosts);
	else
		*ret = hosts;
	return code;
}

/* Hosts lose power, all of their HCAs within some seconds; with for= they return. */
static int switch_hosts(const struct command *command, bool *hosts, int64_t for_us, struct error *err)
{
	struct virtual *world = command->world;
	size_t i;
	int code = 0;

	for (i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		struct virtual_event event = { .what = CHANGE_NODE_OFF };
		int64_t late_us = (int64_t)(2e6 * virtual_random(world));

		if (!hosts[world->hosts.hcas[i].host])
			continue;
		event.a = world->built->ports[world->hosts.hcas[i].port].node;
		code = put(command, late_us, event, err);
		event.what = CHANGE_NODE_ON;
		if (code == 0 && for_us)
			code = put(command, for_us + late_us, event, err);
	}
	return code;
}

static int do_off(const struct command *command, struct error *err)
{
	int64_t for_us;
	bool *hosts;
	int code = span(command, "for", 0, &for_us, err);

	if (code == 0)
		code = get_hosts(command, 1, &hosts, err);
	if (code < 0)
		return code;
	code = hosts ? switch_hosts(command, hosts, for_us, err) :
		       do_node(command, CHANGE_NODE_OFF, CHANGE_NODE_ON, err);
	free(hosts);
	return code;
}

static int do_skew(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_SKEW };
	int code = get_node(command, 1, &event.a, err);
	uint64_t to = 0;

	if (code == 0)
		code = real(command, "part", 0, 1, 0.5, &event.x, err);
	if (code == 0)
		code = whole(command, "to", 1, 254, 0, &to, err);
	event.n = (uint8_t)to;
	if (code == 0 && (!event.n || fabric_node_port(command->world->built, event.a, event.n) == FABRIC_NONE))
		code = err_set(err, ERR_USAGE, "skew wants a switch and to=PORT");
	return code < 0 ? code : put_both(command, event, CHANGE_SKEW_END, err);
}

static int do_reroute(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_ORDER };
	uint64_t order = 0;
	int code = whole(command, "order", 0, UINT8_MAX, 1, &order, err);

	event.n = (uint8_t)order;
	return code < 0 ? code : put(command, 0, event, err);
}

static int do_hole(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_BLACK_HOLE };
	uint32_t hca;
	int code = get_node(command, 1, &event.a, err);

	if (code == 0)
		code = get_node(command, 2, &hca, err);
	if (code < 0)
		return code;
	event.b = command->world->built->nodes[hca].first_port;
	return put(command, 0, event, err);
}

static int do_clear(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_CLEAR, .a = FABRIC_NONE, .b = FABRIC_NONE };
	struct error ignored;
	int code = 0;

	if (command->arg_count < 2)
		return err_set(err, ERR_USAGE, "clear wants all, a node or a port");
	if (strcmp(command->args[1], "all") && get_node(command, 1, &event.a, &ignored) < 0) {
		event.a = FABRIC_NONE;
		code = get_port(command, 1, &event.b, err);
	}
	return code < 0 ? code : put(command, 0, event, err);
}

static int do_sm(const struct command *command, struct error *err)
{
	static const struct { const char *word; enum change_kind what; } words[] = {
		{ "stop", CHANGE_SM_STOP }, { "start", CHANGE_SM_START }, { "handover", CHANGE_SM_HANDOVER },
		{ "two", CHANGE_SM_TWO },
	};
	size_t i;

	for (i = 0; command->arg_count > 1 && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(command->args[1], words[i].word))
			return put_both(command, (struct virtual_event){ .what = words[i].what }, CHANGE_SM_START, err);
	return err_set(err, ERR_USAGE, "sm wants stop, start, handover or two");
}

static int get_job(const struct command *command, uint32_t *ret, struct error *err)
{
	size_t i;

	for (i = 0; command->arg_count > 1 && i < command->world->job_count; i++) {
		if (strcmp(command->world->jobs[i].name, command->args[1]))
			continue;
		*ret = (uint32_t)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "%s wants the name of a job", command->args[0]);
}

static int do_start(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_JOB_START };
	int code = get_job(command, &event.a, err);

	return code < 0 ? code : put_both(command, event, CHANGE_JOB_STOP, err);
}

static int do_stop(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_JOB_STOP };
	int code = get_job(command, &event.a, err);

	return code < 0 ? code : put_both(command, event, CHANGE_JOB_START, err);
}

/* "leave JOB "node0003 mlx5_2"": one HCA; "leave JOB hosts=node0003": all of a host's. */
static int do_leave(const struct command *command, struct error *err)
{
	struct virtual *world = command->world;
	struct virtual_event event = { .what = CHANGE_JOB_LEAVE };
	bool *hosts = NULL;
	int code = get_job(command, &event.a, err);
	size_t i;

	if (code == 0)
		code = get_hosts(command, 2, &hosts, err);
	if (code == 0 && !hosts) {
		code = get_node(command, 2, &event.b, err);
		return code < 0 ? code : put(command, 0, event, err);
	}
	for (i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		if (!hosts[world->hosts.hcas[i].host])
			continue;
		event.b = world->built->ports[world->hosts.hcas[i].port].node;
		code = put(command, 0, event, err);
	}
	free(hosts);
	return code;
}

static int do_swap(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_SWAP };
	int code = get_node(command, 1, &event.a, err);

	if (code == 0)
		code = get_node(command, 2, &event.b, err);
	if (code < 0)
		return code;
	event.a = command->world->built->nodes[event.a].first_port;
	event.b = command->world->built->nodes[event.b].first_port;
	return put(command, 0, event, err);
}

static int do_unplug(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = CHANGE_UNPLUG };
	int code = get_port(command, 1, &event.a, err);

	return code < 0 ? code : put(command, 0, event, err);
}

struct happening {
	const char *name;
	int (*run)(const struct command *command, struct error *err);
	size_t args;         /* so many words behind it at most */
	const char *options; /* that it has, with spaces between */
	bool counters;       /* and every counter of errors */
};

static const struct happening happenings[] = {
	{ "down", do_down, 1, "for", false },
	{ "flap", do_flap, 1, "times every for", false },
	{ "width", do_width, 2, "for", false },
	{ "speed", do_speed, 2, "for", false },
	{ "errors", do_errors, 1, "echo for", true },
	{ "silent", do_silent, 1, "for", false },
	{ "lock", do_lock, 1, "for", false },
	{ "off", do_off, 1, "hosts for", false },
	{ "skew", do_skew, 1, "to part for", false },
	{ "reroute", do_reroute, 0, "order", false },
	{ "hole", do_hole, 2, "", false },
	{ "clear", do_clear, 1, "", false },
	{ "sm", do_sm, 1, "for", false },
	{ "start", do_start, 1, "for", false },
	{ "stop", do_stop, 1, "for", false },
	{ "leave", do_leave, 2, "hosts", false },
	{ "swap", do_swap, 2, "", false },
	{ "unplug", do_unplug, 1, "", false },
};

/* Is the name before "=" one of those? */
static bool has_option(const struct happening *happening, const char *typed)
{
	size_t len = strcspn(typed, "=");
	const char *word = happening->options;
	char name[64];

	for (; *word; word += strcspn(word, " "), word += *word == ' ')
		if (strcspn(word, " ") == len && !strncmp(word, typed, len))
			return true;
	snprintf(name, sizeof(name), "%.*s", (int)len, typed);
	return happening->counters && counter_by_key(name) != COUNTER_COUNT;
}

/* Misspelt options are errors. */
static int check_words(const struct happening *happening, const struct command *command, struct error *err)
{
	for (size_t i = 0; i < command->option_count; i++)
		if (!has_option(happening, command->options[i]))
			return err_set(err, ERR_USAGE, "%s has no option \"%.*s\"%s%s%s", happening->name,
				       (int)strcspn(command->options[i], "="), command->options[i],
				       *happening->options ? ": it has " : "", happening->options,
				       happening->counters ? " and the counters of errors" : "");
	if (command->arg_count > happening->args + 1)
		return err_set(err, ERR_USAGE, "%s: \"%s\" is too much", happening->name,
			       command->args[happening->args + 1]);
	return 0;
}

static int happen(const struct command *command, struct error *err)
{
	for (size_t i = 0; i < sizeof(happenings) / sizeof(happenings[0]); i++) {
		int code;

		if (strcmp(command->args[0], happenings[i].name))
			continue;
		code = check_words(&happenings[i], command, err);
		return code < 0 ? code : happenings[i].run(command, err);
	}
	return err_set(err, ERR_USAGE, "\"%s\" is nothing that can happen", command->args[0]);
}

static void sort_words(char **words, size_t count, struct command *command)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (i > 0 && strchr(words[i], '='))
			command->options[command->option_count++] = words[i];
		else
			command->args[command->arg_count++] = words[i];
	}
}

int virtual_at(struct virtual *world, int64_t at_us, const char *what, struct error *err)
{
	struct command command = { .world = world, .at_us = at_us };
	char *copy = strdup(what), *words[WORDS_MAX];
	size_t count = 0;
	int code = copy ? virtual_split(copy, words, WORDS_MAX, &count, err) : err_nomem(err);

	if (code == 0 && !count)
		code = err_set(err, ERR_USAGE, "nothing is said to happen");
	if (code == 0) {
		sort_words(words, count, &command);
		code = happen(&command, err);
	}
	free(copy);
	return code;
}
