/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_event.c - parse words and numbers, and events such as "width leaf-1/33 1x for=10m" */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/relay/key_values.h"
#include "tests/world/virtual.h"

#define WORDS_MAX 16

/* Limits: repetitions of a flap, and errors per hour. */
#define FLAPS_MAX 100000
#define ERRORS_MAX 1e15

int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	/* strtoull() accepts a sign and spaces. */
	if (!isdigit((unsigned char)*value) || *end || errno || number < least || number > most)
		return err_set(err, ERR_USAGE, "%s=%s must be a whole number from %" PRIu64 " to %" PRIu64, name, value,
			       least, most);
	*ret = number;
	return 0;
}

int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err)
{
	char *end;
	double number = strtod(value, &end);

	/* strtod() accepts "nan" and "infinity", which are outside all bounds. */
	if (end == value || *end || !(number >= least && number <= most))
		return err_set(err, ERR_USAGE, "%s=%s must be a number from %g to %g", name, value, least, most);
	*ret = number;
	return 0;
}

int virtual_choice(const char *name, const char *value, const char *yes, const char *no, bool *ret,
		   struct error *err)
{
	if (strcmp(value, yes) && strcmp(value, no))
		return err_set(err, ERR_USAGE, "%s=%s must be %s or %s", name, value, yes, no);
	*ret = !strcmp(value, yes);
	return 0;
}

/* A parsed line: words without "=" in their order, and options. */
struct line {
	struct virtual *world;
	int64_t at_us;
	char *args[WORDS_MAX];
	size_t arg_count;
	char *options[WORDS_MAX];
	size_t option_count;
};

/* --- options: @ret is unchanged if the option is absent --- */

static char *option(const struct line *line, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < line->option_count; i++)
		if (!strncmp(line->options[i], name, len) && line->options[i][len] == '=')
			return line->options[i] + len + 1;
	return NULL;
}

static int get_span(const struct line *line, const char *name, int64_t *ret_us, struct error *err)
{
	const char *value = option(line, name);

	return value ? when_span_parse(value, ret_us, err) : 0;
}

static int get_whole(const struct line *line, const char *name, uint64_t least, uint64_t most, uint64_t *ret,
		     struct error *err)
{
	const char *value = option(line, name);

	return value ? virtual_whole(name, value, least, most, ret, err) : 0;
}

static int get_share(const struct line *line, const char *name, double *ret, struct error *err)
{
	const char *value = option(line, name);

	return value ? virtual_real(name, value, 0, 1, ret, err) : 0;
}

/*
 * "hosts=LIST" in place of the node that is argument @arg.
 * @ret: flags by host, for free(); NULL if the option is absent
 */
static int get_hosts(const struct line *line, size_t arg, bool **ret, struct error *err)
{
	char *list = option(line, "hosts");
	bool *hosts;
	int code;

	*ret = NULL;
	if (!list)
		return 0;
	if (line->arg_count > arg)
		return err_set(err, ERR_USAGE, "%s needs a node or hosts=, not both", line->args[0]);
	hosts = virtual_alloc(line->world->hosts.host_count, sizeof(*hosts));
	code = job_parse_hosts(list, &line->world->hosts, hosts, err);
	if (code < 0)
		free(hosts);
	else
		*ret = hosts;
	return code;
}

/* --- arguments --- */

/* "4x" as its code; 0: none. */
static uint8_t width_code(const char *word)
{
	char *end;
	unsigned long lanes = strtoul(word, &end, 10);

	return lanes <= 12 && (!*end || !strcmp(end, "x")) ? link_width_code((unsigned)lanes) : 0;
}

static bool find_job(const struct virtual *world, const char *name, uint32_t *ret)
{
	for (*ret = 0; *ret < world->job_count; ++*ret)
		if (!strcmp(world->jobs[*ret].name, name))
			return true;
	return false;
}

/* The types of arguments; an argument of no type is parsed by the event's function. */
enum { PORT = 'P', NODE = 'N', FIRST_PORT = 'F', JOB = 'J', WIDTH = 'W', SPEED = 'S' };

static int get_node(const struct line *line, size_t arg, uint32_t *ret, struct error *err)
{
	if (arg >= line->arg_count)
		return err_set(err, ERR_USAGE, "%s needs a node", line->args[0]);
	return names_find_node(line->world->built, line->args[arg], ret, err);
}

/* The first argument is event->a, the second event->b; widths and speeds are event->n. */
static int parse_arg(const struct line *line, size_t arg, char type, struct virtual_event *event, struct error *err)
{
	const struct fabric *built = line->world->built;
	const char *word = arg < line->arg_count ? line->args[arg] : "", *needed = "a port";
	uint32_t *place = arg == 1 ? &event->a : &event->b;
	int code;

	switch (type) {
	case PORT:
		if (*word)
			return names_find_port(built, word, place, err);
		break;
	case NODE:
	case FIRST_PORT:
		code = get_node(line, arg, place, err);
		if (code == 0 && type == FIRST_PORT)
			*place = built->nodes[*place].first_port;
		return code;
	case JOB:
		if (find_job(line->world, word, place))
			return 0;
		needed = "the name of a job";
		break;
	case WIDTH:
		event->n = width_code(word);
		needed = "1x, 2x or 4x";
		break;
	case SPEED:
		event->n = (uint8_t)link_speed_by_name(word);
		needed = "a speed such as EDR";
		break;
	default:
		return 0;
	}
	return event->n ? 0 : err_set(err, ERR_USAGE, "%s needs %s", line->args[0], needed);
}

/* --- events --- */

static void put(const struct line *line, int64_t after_us, struct virtual_event event)
{
	event.at_us = line->at_us + after_us;
	virtual_schedule(line->world, &event);
}

/* Schedule an event, and with for=SPAN its end. */
static int put_both(const struct line *line, const struct virtual_event *event, const struct virtual_event *end,
		    struct error *err)
{
	int64_t for_us = 0;
	int code = get_span(line, "for", &for_us, err);

	if (code < 0)
		return code;
	put(line, 0, *event);
	if (for_us)
		put(line, for_us, *end);
	return 0;
}

static int put_until(const struct line *line, struct virtual_event event, enum change_kind end_kind, struct error *err)
{
	struct virtual_event end = event;

	end.what = end_kind;
	return put_both(line, &event, &end, err);
}

static int put_flap(const struct line *line, struct virtual_event event, struct error *err)
{
	struct virtual_event up = { .what = CHANGE_LINK_UP, .a = event.a };
	int64_t every_us = 120000000, for_us = 3000000;
	uint64_t count = 3;
	int code = get_whole(line, "times", 1, FLAPS_MAX, &count, err);

	if (code == 0)
		code = get_span(line, "every", &every_us, err);
	if (code == 0)
		code = get_span(line, "for", &for_us, err);
	for (uint64_t i = 0; code == 0 && i < count; i++) {
		put(line, (int64_t)i * every_us, event);
		put(line, (int64_t)i * every_us + for_us, up);
	}
	return code;
}

static int put_link(const struct line *line, struct virtual_event event, struct error *err)
{
	const struct virtual_port *port = &line->world->ports[event.a];
	struct virtual_event end = event;

	end.n = event.what == CHANGE_WIDTH ? port->width : port->speed;
	return put_both(line, &event, &end, err);
}

/* One lane. */
static int put_slow(const struct line *line, struct virtual_event event, struct error *err)
{
	event.n = LINK_WIDTH_1X;
	return put_link(line, event, err);
}

/* "errors leaf-1/3 symbol_errors=40": errors per hour. */
static int put_errors(const struct line *line, struct virtual_event event, struct error *err)
{
	double share = 0;
	int code = get_share(line, "echo", &share, err);

	event.b = (uint32_t)(100 * share);
	for (size_t i = 0; code == 0 && i < line->option_count; i++) {
		char *value = strchr(line->options[i], '=');
		enum counter counter;

		*value = '\0';
		counter = counter_by_key(line->options[i]);
		*value = '=';
		if (counter == COUNTER_COUNT)
			continue;
		if (counter < COUNTER_TRAFFIC_COUNT)
			return err_set(err, ERR_USAGE, "errors: %s is not an error counter", line->options[i]);
		event.n = (uint8_t)counter;
		code = virtual_real(counter_info(counter)->key, value + 1, 0, ERRORS_MAX, &event.x, err);
		event.x /= 3600;
		if (code == 0)
			code = put_until(line, event, CHANGE_ERRORS_END, err);
	}
	if (code == 0 && event.x <= 0)
		code = err_set(err, ERR_USAGE, "errors needs a counter and a number per hour: symbol_errors=40");
	return code;
}

/* One node; or hosts, all HCAs of which lose power within some seconds, and return with for=. */
static int put_off(const struct line *line, struct virtual_event event, struct error *err)
{
	struct virtual *world = line->world;
	int64_t for_us = 0;
	bool *hosts = NULL;
	int code = get_span(line, "for", &for_us, err);

	if (code == 0)
		code = get_hosts(line, 1, &hosts, err);
	if (code == 0 && !hosts) {
		code = get_node(line, 1, &event.a, err);
		return code < 0 ? code : put_until(line, event, CHANGE_NODE_ON, err);
	}
	for (size_t i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		int64_t late_us = (int64_t)(2e6 * virtual_random(world));

		if (!hosts[world->hosts.hcas[i].host])
			continue;
		event.a = world->built->ports[world->hosts.hcas[i].port].node;
		event.what = CHANGE_NODE_OFF;
		put(line, late_us, event);
		event.what = CHANGE_NODE_ON;
		if (for_us)
			put(line, for_us + late_us, event);
	}
	free(hosts);
	return code;
}

static int put_skew(const struct line *line, struct virtual_event event, struct error *err)
{
	uint64_t to = 0;
	int code;

	event.x = 0.5;
	code = get_share(line, "part", &event.x, err);
	if (code == 0 && line->arg_count > 1 && strchr(line->args[1], '/')) {
		uint32_t port = 0;

		code = names_find_port(line->world->built, line->args[1], &port, err);
		event.a = line->world->built->ports[port].node;
		to = line->world->built->ports[port].num;
	} else if (code == 0) {
		code = get_node(line, 1, &event.a, err);
		if (code == 0)
			code = get_whole(line, "to", 1, 254, &to, err);
	}
	event.n = (uint8_t)to;
	if (code == 0 && (!to || fabric_node_port(line->world->built, event.a, event.n) == FABRIC_NONE))
		code = err_set(err, ERR_USAGE, "skew needs a port, or a switch and to=PORT");
	return code < 0 ? code : put_until(line, event, CHANGE_SKEW_END, err);
}

static int put_reroute(const struct line *line, struct virtual_event event, struct error *err)
{
	uint64_t order = 1;
	int code = get_whole(line, "order", 0, UINT8_MAX, &order, err);

	event.n = (uint8_t)order;
	if (code == 0)
		put(line, 0, event);
	return code;
}

static int put_clear(const struct line *line, struct virtual_event event, struct error *err)
{
	struct error ignored;
	int code = 0;

	event.a = event.b = FABRIC_NONE;
	if (line->arg_count < 2)
		return err_set(err, ERR_USAGE, "clear needs all, a node or a port");
	if (strcmp(line->args[1], "all") && get_node(line, 1, &event.a, &ignored) < 0) {
		event.a = FABRIC_NONE;
		code = names_find_port(line->world->built, line->args[1], &event.b, err);
	}
	if (code == 0)
		put(line, 0, event);
	return code;
}

static int put_sm(const struct line *line, struct virtual_event event, struct error *err)
{
	static const struct { const char *word; enum change_kind what; } words[] = {
		{ "stop", CHANGE_SM_STOP }, { "start", CHANGE_SM_START }, { "handover", CHANGE_SM_HANDOVER },
		{ "two", CHANGE_SM_TWO },
	};

	for (size_t i = 0; line->arg_count > 1 && i < sizeof(words) / sizeof(words[0]); i++) {
		event.what = words[i].what;
		if (!strcmp(line->args[1], words[i].word))
			return put_until(line, event, CHANGE_SM_START, err);
	}
	return err_set(err, ERR_USAGE, "sm needs stop, start, handover or two");
}

/* leave JOB "node0003 mlx5_2": one HCA; leave JOB hosts=node0003: all HCAs of a host. */
static int put_leave(const struct line *line, struct virtual_event event, struct error *err)
{
	struct virtual *world = line->world;
	bool *hosts;
	int code = get_hosts(line, 2, &hosts, err);

	if (code == 0 && !hosts) {
		code = get_node(line, 2, &event.b, err);
		if (code == 0)
			put(line, 0, event);
		return code;
	}
	for (size_t i = 0; code == 0 && i < world->hosts.hca_count; i++) {
		event.b = world->built->ports[world->hosts.hcas[i].port].node;
		if (hosts[world->hosts.hcas[i].host])
			put(line, 0, event);
	}
	free(hosts);
	return code;
}

/* hang node0009, idle "node0003 mlx5_2": the HCAs of a host, or a node. A host that hangs is idle too. */
static int put_hosts(const struct line *line, struct virtual_event event, struct error *err)
{
	const struct virtual *world = line->world;
	const char *target = line->arg_count > 1 ? line->args[1] : "";
	bool idles = event.what == CHANGE_IDLE, found = false;
	int code = 0;

	for (size_t i = 0; code == 0 && i <= world->hosts.hca_count; i++) {
		const struct host_hca *hca = &world->hosts.hcas[i];

		if (i < world->hosts.hca_count && strcmp(world->hosts.hosts[hca->host].name, target))
			continue;
		if (i < world->hosts.hca_count)
			event.a = world->built->ports[hca->port].node;
		else if (found || (code = get_node(line, 1, &event.a, err)) < 0)
			break;
		found = true;
		event.what = CHANGE_IDLE;
		code = put_until(line, event, CHANGE_BUSY, err);
		event.what = CHANGE_HANG;
		if (code == 0 && !idles)
			code = put_until(line, event, CHANGE_HANG_END, err);
	}
	return code;
}

/* freeze JOB: its processes stop; straggle JOB part=0.3: its computation, or load without phases, is slower. */
static int put_pace(const struct line *line, struct virtual_event event, struct error *err)
{
	struct virtual_event end = event;
	double part = !strcmp(line->args[0], "freeze") ? 1 : 0.3;
	int code = get_share(line, "part", &part, err);

	event.x = 1 - part;
	end.x = 1;
	return code < 0 ? code : put_both(line, &event, &end, err);
}

static const struct verb {
	const char *name;
	const char *args;      /* types, '?': parsed by @put; as many words at most */
	const char *options;   /* separated by spaces */
	bool counters;         /* every error counter is an option too */
	enum change_kind begin, end;
	int (*put)(const struct line *line, struct virtual_event event, struct error *err); /* NULL: put_until() */
} verbs[] = {
	{ "down", "P", "for", false, CHANGE_LINK_DOWN, CHANGE_LINK_UP, NULL },
	{ "flap", "P", "times every for", false, CHANGE_LINK_DOWN, CHANGE_LINK_UP, put_flap },
	{ "width", "PW", "for", false, CHANGE_WIDTH, CHANGE_WIDTH, put_link },
	{ "slow", "P", "for", false, CHANGE_WIDTH, CHANGE_WIDTH, put_slow },
	{ "speed", "PS", "for", false, CHANGE_SPEED, CHANGE_SPEED, put_link },
	{ "errors", "P", "echo for", true, CHANGE_ERRORS, CHANGE_ERRORS_END, put_errors },
	{ "hang", "?", "for", false, CHANGE_HANG, CHANGE_HANG_END, put_hosts },
	{ "idle", "?", "for", false, CHANGE_IDLE, CHANGE_BUSY, put_hosts },
	{ "silent", "N", "for", false, CHANGE_SILENT, CHANGE_ANSWERS, NULL },
	{ "narrow", "N", "for", false, CHANGE_NARROW, CHANGE_WIDE, NULL },
	{ "lock", "N", "for", false, CHANGE_LOCK, CHANGE_UNLOCK, NULL },
	{ "adaptive", "N", "for", false, CHANGE_ADAPTIVE, CHANGE_STATIC, NULL },
	{ "off", "?", "hosts for", false, CHANGE_NODE_OFF, CHANGE_NODE_ON, put_off },
	{ "rename", "N", "", false, CHANGE_NAME, CHANGE_NAME, NULL },
	{ "skew", "?", "to part for", false, CHANGE_SKEW, CHANGE_SKEW_END, put_skew },
	{ "reroute", "", "order", false, CHANGE_ORDER, CHANGE_ORDER, put_reroute },
	{ "hole", "NF", "", false, CHANGE_BLACK_HOLE, CHANGE_BLACK_HOLE, NULL },
	{ "clear", "?", "", false, CHANGE_CLEAR, CHANGE_CLEAR, put_clear },
	{ "sm", "?", "for", false, CHANGE_SM_STOP, CHANGE_SM_START, put_sm },
	{ "start", "J", "for", false, CHANGE_JOB_START, CHANGE_JOB_STOP, NULL },
	{ "stop", "J", "for", false, CHANGE_JOB_STOP, CHANGE_JOB_START, NULL },
	{ "freeze", "J", "for", false, CHANGE_JOB_PACE, CHANGE_JOB_PACE, put_pace },
	{ "straggle", "J", "part for", false, CHANGE_JOB_PACE, CHANGE_JOB_PACE, put_pace },
	{ "leave", "J?", "hosts", false, CHANGE_JOB_LEAVE, CHANGE_JOB_LEAVE, put_leave },
	{ "swap", "FF", "", false, CHANGE_SWAP, CHANGE_SWAP, NULL },
	{ "unplug", "P", "", false, CHANGE_UNPLUG, CHANGE_UNPLUG, NULL },
};

/* Is the name before "=" an option of the event? */
static bool has_option(const struct verb *verb, const char *typed)
{
	size_t len = strcspn(typed, "=");
	const char *word = verb->options;
	char name[64];

	for (; *word; word += strcspn(word, " "), word += *word == ' ')
		if (strcspn(word, " ") == len && !strncmp(word, typed, len))
			return true;
	snprintf(name, sizeof(name), "%.*s", (int)len, typed);
	return verb->counters && counter_by_key(name) != COUNTER_COUNT;
}

static int check_words(const struct verb *verb, const struct line *line, struct error *err)
{
	size_t args = strlen(verb->args);

	for (size_t i = 0; i < line->option_count; i++)
		if (!has_option(verb, line->options[i]))
			return err_set(err, ERR_USAGE, "%s has no option \"%.*s\"%s%s%s", verb->name,
				       (int)strcspn(line->options[i], "="), line->options[i],
				       *verb->options ? ": it has " : "", verb->options,
				       verb->counters ? " and the error counters" : "");
	if (line->arg_count > args + 1)
		return err_set(err, ERR_USAGE, "%s: unexpected word \"%s\"", verb->name, line->args[args + 1]);
	return 0;
}

static int put_event(const struct verb *verb, const struct line *line, struct error *err)
{
	struct virtual_event event = { .what = verb->begin };
	int code = check_words(verb, line, err);

	for (size_t i = 0; code == 0 && verb->args[i]; i++)
		code = parse_arg(line, i + 1, verb->args[i], &event, err);
	if (code < 0)
		return code;
	return verb->put ? verb->put(line, event, err) : put_until(line, event, verb->end, err);
}

int virtual_at(struct virtual *world, int64_t at_us, const char *what, struct error *err)
{
	struct line line = { .world = world, .at_us = at_us };
	char *copy = strdup(what), *words[WORDS_MAX];
	size_t count = 0, i;
	int code = words_split(copy, words, WORDS_MAX, &count, err);

	for (i = 0; code == 0 && i < count; i++)
		if (i > 0 && strchr(words[i], '='))
			line.options[line.option_count++] = words[i];
		else
			line.args[line.arg_count++] = words[i];
	for (i = 0; code == 0 && count && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(words[0], verbs[i].name))
			break;
	if (code == 0 && (!count || i == sizeof(verbs) / sizeof(verbs[0])))
		code = err_set(err, ERR_USAGE, "\"%s\" is not an event", count ? words[0] : "");
	if (code == 0)
		code = put_event(&verbs[i], &line, err);
	free(copy);
	return code;
}
