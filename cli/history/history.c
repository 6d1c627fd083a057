/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.c - `ibwire history`: counters of ports, nodes or hosts over time */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/status.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/history/history.h"
#include "cli/lib/nearest.h"
#include "storage/reader.h"

enum { DEFAULT_WINDOW_S = 3600 };

/* "rcv_bytes" or another key, up to the next comma. */
static int find_metric(const struct history *history, const char *option, const char *key, struct metric *ret,
		       struct error *err)
{
	struct nearest nearest;

	if (metric_find(key, ret))
		return 0;
	nearest_init(&nearest, key);
	for (size_t i = 0; i < metric_count(); i++)
		nearest_offer(&nearest, metric_at(i).key);
	return err_set(err, ERR_USAGE, "%s: --%s: unknown counter '%.64s'%s; use xmit_bytes, rcv_bytes, "
		       "xmit_utilization_percent, rcv_utilization_percent, stall_percent, errors, or a key of: "
		       "ibwire sql \"SELECT key, meaning FROM counter\"", history->command->name, option, key,
		       nearest_hint(&nearest));
}

static int find_metrics(struct history *history, struct error *err)
{
	char *keys, *rest, *key;
	int code;

	if (history->top) {
		history->metric_count = 1;
		return find_metric(history, "by", history->by ? history->by : "rcv_bytes", &history->metrics[0], err);
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
		{ .name = "counter", .letter = 'c', .kind = OPTION_TEXT, .argument = "KEY[,KEY]",
		  .help = "rcv_bytes, xmit_utilization, stall, errors or a counter (xmit_bytes,rcv_bytes)",
		  .target = &history.counters },
		{ .name = "step", .kind = OPTION_SPAN, .argument = "SPAN",
		  .help = "time per point (default: by the window)", .target = &history.step_us },
		{ .name = "each", .kind = OPTION_FLAG, .help = "one series per port, not summed",
		  .target = &history.each },
		{ .name = "peers", .kind = OPTION_FLAG, .help = "one series for each end of each link",
		  .target = &history.peers },
		{ .name = "ascii", .kind = OPTION_FLAG, .help = "draw plots in ASCII", .target = &history.ascii },
		{ .name = "top", .kind = OPTION_NUMBER, .argument = "N",
		  .help = "list the N ports with the highest value over the window", .target = &history.top,
		  .least = 1 },
		{ .name = "by", .kind = OPTION_TEXT, .argument = "KEY",
		  .help = "--top: sort key, as for --counter (rcv_bytes)", .target = &history.by },
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &history.options,
				 err);

	if (code)
		return code;
	if (history.by && !history.top)
		return options_usage_error(command, err, "--by requires --top");
	if (history.top && (history.counters || history.step_us || history.each || history.peers))
		return options_usage_error(command, err, "--top cannot be combined with --counter, --step, "
			"--each or --peers");
	code = find_metrics(&history, err);
	if (code < 0)
		return code;
	history.until_us = history.options.until_us ? history.options.until_us : history.options.at_us;
	if (!history.until_us)
		history.until_us = history.options.now_us;
	history.since_us = history.options.since_us ? history.options.since_us :
						      history.until_us - DEFAULT_WINDOW_S * US_PER_S;
	*ret = history;
	return 0;
}

int history_nothing(const struct history *history, const struct subject *subject, struct error *err)
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
	if (subject && subject->single && subject->indices) {
		const struct port_row *row = &history->view.snapshot->rows[subject->indices[0]];

		return err_set(err, ERR_UNAVAILABLE, "%s was not read between %s and %s (at the end: %s)",
			       subject->name, since, until, sample_status_name(row->status));
	}
	return err_set(err, ERR_UNAVAILABLE, "no samples of %s between %s and %s",
		       subject ? subject->name : "these ports", since, until);
}

/* The fabric at a time, or the current one if that is no longer stored. */
static int open_view(const struct history *history, int64_t at_us, struct view *ret, struct error *err)
{
	struct options then = history->options;
	struct error first = { 0 };
	int code;

	then.since_us = then.until_us = 0;
	then.at_us = at_us;
	code = view_open(&then, false, ret, &first);
	if (code == ERR_UNAVAILABLE && at_us) {
		then.at_us = 0;
		code = view_open(&then, false, ret, &first);
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
		memset(&earlier.view, 0, sizeof(earlier.view));
		if (open_view(history, history->range.first_us, &earlier.view, NULL) == 0) {
			if (subjects_init(subjects, &earlier, NULL) == 0) {
				view_done(&history->view);
				history->view = earlier.view;
				return 0;
			}
			view_done(&earlier.view);
		}
	}
	return code < 0 ? err_set(err, code, "%s", at_end.text) : 0;
}

static int show(struct history *history, struct error *err)
{
	struct subjects subjects;
	int code = reader_history_range(history->view.reader, history->since_us, history->until_us, &history->range,
					err);

	if (code < 0)
		return code;
	code = find_subjects(history, &subjects, err);
	if (code < 0)
		return code;
	if (history->range.after == history->range.until)
		code = history_nothing(history, NULL, err);
	else if (history->top)
		code = history_top(history, &subjects, err);
	else
		code = history_series(history, &subjects, err);
	view_warn_damage(history->damage.count, history->damage.first);
	subjects_done(&subjects);
	return code;
}

int history_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct history history;
	int code = parse(command, argc, argv, &history, err);

	if (code)
		return code < 0 ? code : 0;
	code = open_view(&history, history.options.until_us ? history.options.until_us : history.options.at_us,
			 &history.view, err);
	if (code < 0)
		return code;
	code = show(&history, err);
	view_done(&history.view);
	return code;
}
