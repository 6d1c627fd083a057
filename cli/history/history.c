/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.c - `ibwire history`: counters of ports, nodes or hosts over time */
#include "cli/history/history.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/status.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "facts/selection.h"
#include "facts/service_levels.h"
#include "storage/reader.h"

static struct history_subject *add_subject(struct subjects *subjects, const char *name)
{
	struct history_subject *items = array_grow(subjects->items, subjects->count, &subjects->capacity,
						   sizeof(*items));
	struct history_subject *added;

	if (!items)
		return NULL;
	subjects->items = items;
	added = &items[subjects->count];
	*added = (struct history_subject){ .name = strdup(name) };
	if (!added->name)
		return NULL;
	subjects->count++;
	return added;
}

/* Find the node of the marked ports, FABRIC_NONE if several. Return: number of ports. */
static size_t count_marked(const struct fabric *fabric, const bool *marked, uint32_t *ret_node)
{
	size_t count = 0;

	*ret_node = FABRIC_NONE;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!marked[i])
			continue;
		if (!count++)
			*ret_node = fabric->ports[i].node;
		else if (fabric->ports[i].node != *ret_node)
			*ret_node = FABRIC_NONE;
	}
	return count;
}

/*
 * Add a subject for up to @most ports. @single: it is the port @index and has its name instead of
 * @name.
 */
static struct history_subject *begin_subject(struct subjects *subjects, const struct history *history, const char *name,
				     bool single, uint32_t index, size_t most)
{
	struct history_subject *subject;
	char own[PORT_NAME_SIZE];

	if (single)
		order_port_name(&history->moment.names_shown, history->moment.fabric, index, own);
	subject = add_subject(subjects, single ? own : name);
	if (!subject)
		return NULL;
	subject->single = single;
	subject->ports = calloc(most, sizeof(*subject->ports));
	return subject->ports ? subject : NULL;
}

/* Add the marked ports as one subject, or one subject per port with @each. */
static int add_ports(struct subjects *subjects, const struct history *history, bool each, const char *name,
		     const bool *marked, struct error *err)
{
	const struct fabric *fabric = history->moment.fabric;
	struct history_subject *subject = NULL;
	uint32_t ignored;
	size_t count = count_marked(fabric, marked, &ignored);

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!marked[i])
			continue;
		if (!subject || each)
			subject = begin_subject(subjects, history, name, each || count == 1, i, each ? 1 : count);
		if (!subject)
			return err_nomem(err);
		subject->ports[subject->port_count++] = i;
	}
	return 0;
}

static void mark_peers(const struct fabric *fabric, bool *marked)
{
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (marked[i] && fabric->ports[i].peer != FABRIC_NONE && !marked[fabric->ports[i].peer])
			marked[fabric->ports[i].peer] = true;
}

static int add_argument(struct subjects *subjects, const struct history *history, const char *typed, bool *marked,
			struct error *err)
{
	const struct fabric *fabric = history->moment.fabric;
	struct selection selection;
	uint32_t node;
	bool named = false;
	int code = moment_select(&history->moment, (char *[]){ (char *)typed }, 1, &selection, err);

	if (code < 0)
		return code;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		marked[i] = selection.ports[i] &&
			    (selection.named[i] || port_is_pollable(fabric, &fabric->ports[i]));
		named |= selection.named[i];
	}
	selection_done(&selection);
	/* A node may have been given by GUID. */
	if (!named && count_marked(fabric, marked, &node) && node != FABRIC_NONE)
		typed = history->moment.names_shown.names[node];
	if (history->peers)
		mark_peers(fabric, marked);
	return add_ports(subjects, history, history->each || history->peers, typed, marked, err);
}

static void subjects_done(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++) {
		free(subjects->items[i].name);
		free(subjects->items[i].ports);
	}
	free(subjects->items);
	memset(subjects, 0, sizeof(*subjects));
}

static bool has_hosts(const struct fabric *fabric)
{
	char name[NODE_NAME_SIZE];

	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (host_name(&fabric->nodes[i], name))
			return true;
	return false;
}

/*
 * Resolve the arguments; none: "hosts", or "all" for single ports. With --each every port is a series, --peers adds
 * the peers of ports. Return: 0; ERR_USAGE for an unknown or ambiguous name; ERR_UNAVAILABLE; ERR_NOMEM.
 */
static int subjects_init(struct subjects *subjects, const struct history *history, struct error *err)
{
	const struct options *options = &history->options;
	bool *marked = calloc(history->moment.fabric->port_count + 1, sizeof(*marked));
	char *joined = NULL;
	int code = marked ? 0 : err_nomem(err);

	memset(subjects, 0, sizeof(*subjects));
	if (code == 0)
		code = selection_join(history->moment.fabric, options->argv, options->argc, &joined, err);
	/* The sum over all ports would count traffic at each hop. */
	if (code == 0 && history->options.argc == 0)
		code = add_argument(subjects, history, history->top || history->each || history->peers ||
				    !has_hosts(history->moment.fabric) ? "all" : "hosts", marked, err);
	for (int i = 0; code == 0 && i < (joined ? 1 : options->argc); i++)
		code = add_argument(subjects, history, joined ? joined : options->argv[i], marked, err);
	if (code == 0 && !subjects->count)
		code = err_set(err, ERR_UNAVAILABLE, "the selection has no port with counters");
	free(marked);
	free(joined);
	if (code < 0)
		subjects_done(subjects);
	return code;
}

/* --- the command line --- */

enum { DEFAULT_WINDOW_S = 3600 };

/* "rcv_bytes" or another key, up to the next comma. */
static int find_metric(const struct history *history, const char *option, const char *key, struct metric *ret,
		       struct error *err)
{
	/* The words of column titles, as for --sort of links. */
	static const struct { const char *word, *key; } words[] = {
		{ "load", "bytes" }, { "util", "utilization" }, { "tx", "xmit_bytes" }, { "rx", "rcv_bytes" },
		{ "tx%", "xmit_utilization" }, { "rx%", "rcv_utilization" }, { "XmitWait%", "stall" },
	};
	struct nearest nearest;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(words[i].word, key))
			key = words[i].key;
	if (metric_find(key, ret))
		return 0;
	nearest_init(&nearest, key);
	for (size_t i = 0; i < metric_count(); i++)
		nearest_offer(&nearest, metric_at(i).key);
	return err_set(err, ERR_USAGE, "%s: --%s: unknown counter '%.64s'%s", history->command->name, option, key,
		       nearest.best ? nearest_hint(&nearest) : ": use load, util, tx, rx, stall, errors, or a key of: "
		       "ibwire sql \"SELECT key, meaning FROM counter\"");
}

/* Is --by a detail counter? */
static bool find_detail(struct history *history)
{
	const struct detail_info *info;

	if (!history->by || !detail_by_key(history->by, &history->detail, &history->detail_number) ||
	    detail_is_state(history->detail))
		return false;
	info = detail_info(history->detail, history->detail_number);
	history->metrics[0] = (struct metric){
		.key = info->key, .unit = info->unit, .meaning = info->meaning, .kind = METRIC_COUNT, .factor = 1,
	};
	return history->is_detail = true;
}

static int find_metrics(struct history *history, struct error *err)
{
	char *keys, *rest, *key;
	int code;

	if (history->top) {
		history->metric_count = 1;
		if (find_detail(history))
			return 0;
		return find_metric(history, "by", history->by ? history->by : "load", &history->metrics[0], err);
	}
	keys = rest = strdup(history->counters ? history->counters : "xmit_bytes,rcv_bytes");
	code = keys ? 0 : err_nomem(err);
	while (code == 0 && (key = strsep(&rest, ","))) {
		if (history->metric_count == HISTORY_METRICS_MOST)
			code = options_usage_error(history->command, err, "--counter takes at most %d keys",
						   HISTORY_METRICS_MOST);
		else
			code = find_metric(history, "counter", key, &history->metrics[history->metric_count++], err);
	}
	free(keys);
	return code;
}

static int parse(const struct command *command, int argc, char **argv, struct history *ret, struct error *err)
{
	struct history history = { .command = command };
	const struct option_spec specs[] = {
		OPT_TEXT("counter", 'c', "KEY[,KEY]", &history.counters,
			 "rcv_bytes, xmit_utilization, stall, errors or a counter (xmit_bytes,rcv_bytes)"),
		OPT_SPAN("step", 0, &history.step_us, "time per point (default: by the window)"),
		OPT_FLAG("each", 0, &history.each, "one series per port, not summed"),
		OPT_FLAG("peers", 0, &history.peers, "one series for each end of each link"),
		OPT_FLAG("ascii", 0, &history.ascii, "draw plots in ASCII"),
		OPT_NUMBER("top", 0, "N", &history.top, 1, "list the N ports with the highest value over the window"),
		OPT_TEXT("by", 0, "KEY", &history.by,
			 "--top: load, util, tx, rx, stall, errors, a counter or a detail counter (load); else "
			 "sl: data by service level (6h)"),
		OPT_TEXT("html", 0, "FILE", &history.html,
			 "write a page of HTML with rate, stall, errors, findings and events to FILE (- is stdout)"),
		OPT_FLAG("links", 0, &history.links, "--html: with links to pages of ibwire metrics"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &history.options,
				 err);

	if (code)
		return code;
	history.levels = history.by && !strcmp(history.by, "sl");
	if (history.by && !history.top && !history.levels)
		return options_usage_error(command, err, "--by requires --top, or sl: by service level");
	if (history.levels && (history.top || history.counters || history.html))
		return options_usage_error(command, err, "--by sl cannot be combined with --top, --counter or --html");
	if (history.top && (history.counters || history.step_us || history.each || history.peers))
		return options_usage_error(command, err, "--top cannot be combined with --counter, --step, "
			"--each or --peers");
	if (history.html && (history.counters || history.step_us || history.top))
		return options_usage_error(command, err, "--html cannot be combined with --counter, --step or --top");
	if (history.links && !history.html)
		return options_usage_error(command, err, "--links requires --html");
	code = history.levels ? 0 : find_metrics(&history, err);
	if (code < 0)
		return code;
	history.until_us = history.options.until_us ? history.options.until_us : history.options.at_us;
	if (!history.until_us)
		history.until_us = history.options.now_us;
	history.since_us = history.options.since_us ? history.options.since_us :
						      history.until_us - (history.levels ? SERVICE_LEVELS_WINDOW_US :
									  DEFAULT_WINDOW_S * US_PER_S);
	*ret = history;
	return 0;
}

int history_nothing(const struct history *history, const struct history_subject *subject, struct error *err)
{
	char since[WHEN_SIZE], until[WHEN_SIZE], oldest[WHEN_SIZE], newest[WHEN_SIZE];
	const struct history_range *range = &history->range;

	when_format_local(history->since_us, since);
	when_format_local(history->until_us, until);
	if (!range->newest_us)
		return err_set(err, ERR_UNAVAILABLE, "the database has no sweep yet; wait for the collector, "
			"or start it with: ibwire collect");
	if (range->after == range->until)
		return err_set(err, ERR_UNAVAILABLE, "no samples between %s and %s; stored range: %s to %s "
			       "(--since, --until)", since, until, when_format_local(range->oldest_us, oldest),
			       when_format_local(range->newest_us, newest));
	if (history->damage.count)
		return err_set(err, ERR_IO,
			       "samples of %s between %s and %s are unreadable: the database is damaged; see: "
			       "ibwire db check", subject ? subject->name : "these ports", since, until);
	if (subject && subject->single && subject->ports) {
		const struct port_row *row = &history->moment.snapshot->rows[subject->ports[0]];

		return err_set(err, ERR_UNAVAILABLE, "%s was not read between %s and %s (at the end: %s)",
			       subject->name, since, until, sample_status_name(row->status));
	}
	return err_set(err, ERR_UNAVAILABLE, "no samples of %s between %s and %s",
		       subject ? subject->name : "these ports", since, until);
}

/* The fabric at a time, or the current one if that is no longer stored. */
static int open_moment(const struct history *history, int64_t at_us, struct moment *ret, struct error *err)
{
	struct options then = history->options;
	struct error first = { 0 };
	int code;

	then.since_us = then.until_us = 0;
	then.at_us = at_us;
	code = options_open_moment(&then, false, ret, &first);
	if (code == ERR_UNAVAILABLE && at_us) {
		then.at_us = 0;
		code = options_open_moment(&then, false, ret, &first);
	}
	return code < 0 ? err_set(err, code, "%s", first.text) : 0;
}

/* Resolve names at the end of the window, else at its start. */
static int find_subjects(struct history *history, struct subjects *subjects, struct error *err)
{
	struct error at_end = { 0 };
	struct history earlier = *history;
	int code = subjects_init(subjects, history, &at_end);

	if (code == ERR_USAGE && history->range.first_us) {
		memset(&earlier.moment, 0, sizeof(earlier.moment));
		if (open_moment(history, history->range.first_us, &earlier.moment, NULL) == 0) {
			if (subjects_init(subjects, &earlier, NULL) == 0) {
				moment_done(&history->moment);
				history->moment = earlier.moment;
				return 0;
			}
			moment_done(&earlier.moment);
		}
	}
	return code < 0 ? err_set(err, code, "%s", at_end.text) : 0;
}

static int show(struct history *history, struct error *err)
{
	struct subjects subjects;
	int code = reader_history_range(history->moment.reader, history->since_us, history->until_us, &history->range,
					err);

	if (code < 0)
		return code;
	history->since_us = history->range.since_us; /* no rows from before the oldest stored sweep */
	code = find_subjects(history, &subjects, err);
	if (code < 0)
		return code;
	if (history->range.after == history->range.until)
		code = history_nothing(history, NULL, err);
	else if (history->html)
		code = history_html(history, &subjects, err);
	else if (history->levels)
		code = history_levels(history, &subjects, err);
	else if (history->top)
		code = history_top(history, &subjects, err);
	else
		code = history_series(history, &subjects, err);
	options_warn_damage(history->damage.count, history->damage.first);
	subjects_done(&subjects);
	return code;
}

int history_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct history history;
	int code = parse(command, argc, argv, &history, err);

	if (code)
		return code < 0 ? code : 0;
	code = open_moment(&history, history.options.until_us ? history.options.until_us : history.options.at_us,
			   &history.moment, err);
	if (code < 0)
		return code;
	code = show(&history, err);
	moment_done(&history.moment);
	return code;
}
