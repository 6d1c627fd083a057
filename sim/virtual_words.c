/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_words.c - "width leaf-1/33 1x for=10m": what is to happen, as typed */
#include "sim/virtual_words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "sim/virtual_state.h"

#define WORDS_MAX 16

/* A link flaps at most so often in one line. */
#define TIMES_MAX 100000

/* Errors in an hour, at most. */
#define ERRORS_MAX 1e15

int virtual_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err)
{
	char *from = line, *to;
	size_t count = 0;

	while (true) {
		bool quoted = false;

		from += strspn(from, " \t\r\n");
		if (!*from)
			break;
		if (count == room)
			return err_set(err, ERR_USAGE, "the line has more than %zu words", room);
		ret[count++] = to = from;
		while (*from && (quoted || !strchr(" \t\r\n", *from))) {
			if (*from == '"')
				quoted = !quoted;
			else
				*to++ = *from;
			from++;
		}
		if (quoted)
			return err_set(err, ERR_USAGE, "a quote is not closed");
		from += *from != '\0';
		*to = '\0';
	}
	*ret_count = count;
	return 0;
}

int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	/* strtoull() takes a sign and blanks. */
	if (!isdigit((unsigned char)*value) || *end || errno || number < least || number > most)
		return err_set(err, ERR_USAGE, "%s=%s: say a whole number from %" PRIu64 " to %" PRIu64, name, value,
			       least, most);
	*ret = number;
	return 0;
}

int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err)
{
	char *end;
	double number = strtod(value, &end);

	/* strtod() takes "nan" and "infinity": both are in no bounds. */
	if (end == value || *end || !(number >= least && number <= most))
		return err_set(err, ERR_USAGE, "%s=%s: say a number from %g to %g", name, value, least, most);
	*ret = number;
	return 0;
}

/* A command's words: those without "=" in order, options behind them. */
struct command {
	struct virtual *world;
	int64_t at_us;
	char *args[WORDS_MAX];
	size_t arg_count;
	char *options[WORDS_MAX];
	size_t option_count;
};

static const char *option(const struct command *command, const char *name)
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
static int put_both(const struct command *command, struct virtual_event event, enum event_what end, struct error *err)
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
	struct virtual_event event = { .what = EVENT_LINK_DOWN };
	int code = get_port(command, 1, &event.a, err);

	return code < 0 ? code : put_both(command, event, EVENT_LINK_UP, err);
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
		code = put(command, (int64_t)i * every_us, (struct virtual_event){ .what = EVENT_LINK_DOWN, .a = port },
			   err);
		if (code == 0)
			code = put(command, (int64_t)i * every_us + for_us,
				   (struct virtual_event){ .what = EVENT_LINK_UP, .a = port }, err);
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

static int do_width(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_WIDTH };
	int code = get_port(command, 1, &event.a, err);
	int64_t for_us;

	if (code == 0)
		code = span(command, "for", 0, &for_us, err);
	event.n = command->arg_count > 2 ? width_code(command->args[2]) : 0;
	if (code == 0 && !event.n)
		code = err_set(err, ERR_USAGE, "width wants a port and 1x, 2x or 4x");
	if (code == 0)
		code = put(command, 0, event, err);
	if (code == 0 && for_us) {
		event.n = command->world->width[event.a];
		code = put(command, for_us, event, err);
	}
	return code;
}

static int do_speed(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_SPEED };
	int code = get_port(command, 1, &event.a, err);
	int64_t for_us;

	if (code == 0)
		code = span(command, "for", 0, &for_us, err);
	event.n = command->arg_count > 2 ? (uint8_t)link_speed_by_name(command->args[2]) : 0;
	if (code == 0 && !event.n)
		code = err_set(err, ERR_USAGE, "speed wants a port and a speed such as EDR");
	if (code == 0)
		code = put(command, 0, event, err);
	if (code == 0 && for_us) {
		event.n = command->world->speed[event.a];
		code = put(command, for_us, event, err);
	}
	return code;
}

/* "errors leaf-1/3 symbol_errors=40": so many in an hour. */
static int do_errors(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_ERRORS };
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
			code = put_both(command, event, EVENT_ERRORS_END, err);
	}
	if (code == 0 && event.x <= 0)
		code = err_set(err, ERR_USAGE, "errors wants a counter and how many in an hour: symbol_errors=40");
	return code;
}

static int do_node(const struct command *command, enum event_what begin, enum event_what end, struct error *err)
{
	struct virtual_event event = { .what = begin };
	int code = get_node(command, 1, &event.a, err);

	return code < 0 ? code : put_both(command, event, end, err);
}

static int do_silent(const struct command *command, struct error *err)
{
	return do_node(command, EVENT_SILENT, EVENT_ANSWERS, err);
}

static int do_lock(const struct command *command, struct error *err)
{
	return do_node(command, EVENT_LOCK, EVENT_UNLOCK, err);
}

/* Hosts lose power, all of their HCAs within some seconds; with for= they return. */
static int switch_hosts(const struct command *command, int64_t for_us, struct error *err)
{
	struct virtual *world = command->world;
	bool *hosts = calloc(world->hosts.host_count + 1, sizeof(*hosts));
	size_t i;
	int code = hosts ? virtual_find_hosts(world, command->args[1] + 6, hosts, err) : err_nomem(err);

	for (i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		struct virtual_event event = { .what = EVENT_NODE_OFF };
		int64_t late_us = (int64_t)(2e6 * virtual_random(world));

		if (!hosts[world->hosts.hcas[i].host])
			continue;
		event.a = world->built->ports[world->hosts.hcas[i].port].node;
		code = put(command, late_us, event, err);
		event.what = EVENT_NODE_ON;
		if (code == 0 && for_us)
			code = put(command, for_us + late_us, event, err);
	}
	free(hosts);
	return code;
}

static int do_off(const struct command *command, struct error *err)
{
	int64_t for_us;
	const char *hosts = option(command, "hosts");
	struct command with = *command;
	int code = span(command, "for", 0, &for_us, err);

	if (code < 0)
		return code;
	if (!hosts)
		return do_node(command, EVENT_NODE_OFF, EVENT_NODE_ON, err);
	/* The list is behind "hosts=". */
	with.args[1] = (char *)hosts - 6;
	return switch_hosts(&with, for_us, err);
}

static int do_skew(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_SKEW };
	int code = get_node(command, 1, &event.a, err);
	uint64_t to = 0;

	if (code == 0)
		code = real(command, "part", 0, 1, 0.5, &event.x, err);
	if (code == 0)
		code = whole(command, "to", 1, 254, 0, &to, err);
	event.n = (uint8_t)to;
	if (code == 0 && (!event.n || fabric_node_port(command->world->built, event.a, event.n) == FABRIC_NONE))
		code = err_set(err, ERR_USAGE, "skew wants a switch and to=PORT");
	return code < 0 ? code : put_both(command, event, EVENT_SKEW_END, err);
}

static int do_reroute(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_ORDER };
	uint64_t order = 0;
	int code = whole(command, "order", 0, UINT8_MAX, 1, &order, err);

	event.n = (uint8_t)order;
	return code < 0 ? code : put(command, 0, event, err);
}

static int do_hole(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_BLACK_HOLE };
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
	struct virtual_event event = { .what = EVENT_CLEAR, .a = FABRIC_NONE, .b = FABRIC_NONE };
	struct error untold;
	int code = 0;

	if (command->arg_count < 2)
		return err_set(err, ERR_USAGE, "clear wants all, a node or a port");
	if (strcmp(command->args[1], "all") && get_node(command, 1, &event.a, &untold) < 0) {
		event.a = FABRIC_NONE;
		code = get_port(command, 1, &event.b, err);
	}
	return code < 0 ? code : put(command, 0, event, err);
}

static int do_sm(const struct command *command, struct error *err)
{
	static const struct { const char *word; enum event_what what; } words[] = {
		{ "stop", EVENT_SM_STOP }, { "start", EVENT_SM_START }, { "handover", EVENT_SM_HANDOVER },
		{ "two", EVENT_SM_TWO },
	};
	size_t i;

	for (i = 0; command->arg_count > 1 && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(command->args[1], words[i].word))
			return put_both(command, (struct virtual_event){ .what = words[i].what }, EVENT_SM_START, err);
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
	struct virtual_event event = { .what = EVENT_JOB_START };
	int code = get_job(command, &event.a, err);

	return code < 0 ? code : put_both(command, event, EVENT_JOB_STOP, err);
}

static int do_stop(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_JOB_STOP };
	int code = get_job(command, &event.a, err);

	return code < 0 ? code : put_both(command, event, EVENT_JOB_START, err);
}

/* "leave JOB "node0003 mlx5_2"": one HCA; "leave JOB hosts=node0003": all of a host's. */
static int do_leave(const struct command *command, struct error *err)
{
	struct virtual *world = command->world;
	struct virtual_event event = { .what = EVENT_JOB_LEAVE };
	const char *hosts = option(command, "hosts");
	int code = get_job(command, &event.a, err);
	size_t i;

	if (code < 0)
		return code;
	if (!hosts) {
		code = get_node(command, 2, &event.b, err);
		return code < 0 ? code : put(command, 0, event, err);
	}
	for (i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		if (strcmp(world->hosts.hosts[world->hosts.hcas[i].host].name, hosts))
			continue;
		event.b = world->built->ports[world->hosts.hcas[i].port].node;
		code = put(command, 0, event, err);
	}
	return code;
}

static int do_swap(const struct command *command, struct error *err)
{
	struct virtual_event event = { .what = EVENT_SWAP };
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
	struct virtual_event event = { .what = EVENT_UNPLUG };
	int code = get_port(command, 1, &event.a, err);

	return code < 0 ? code : put(command, 0, event, err);
}

static const struct {
	const char *name;
	int (*run)(const struct command *command, struct error *err);
} commands[] = {
	{ "down", do_down },   { "flap", do_flap },       { "width", do_width }, { "speed", do_speed },
	{ "errors", do_errors }, { "silent", do_silent }, { "lock", do_lock },   { "off", do_off },
	{ "skew", do_skew },   { "reroute", do_reroute }, { "hole", do_hole },   { "clear", do_clear },
	{ "sm", do_sm },       { "start", do_start },     { "stop", do_stop },   { "leave", do_leave },
	{ "swap", do_swap },   { "unplug", do_unplug },
};

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
	size_t count = 0, i;
	int code = copy ? virtual_split(copy, words, WORDS_MAX, &count, err) : err_nomem(err);

	if (code == 0 && !count)
		code = err_set(err, ERR_USAGE, "nothing is said to happen");
	if (code == 0) {
		sort_words(words, count, &command);
		code = err_set(err, ERR_USAGE, "\"%s\" is nothing that can happen", words[0]);
		for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (!strcmp(words[0], commands[i].name))
				code = commands[i].run(&command, err);
	}
	free(copy);
	return code;
}
