/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/lib/settings.h"
#include "fabric/fabric.h"
#include "sim/relay/key_values.h"
#include "tests/world/virtual.h"

#define WORDS_MAX 32

static int read_shape(struct scenario *scenario, char *rest, struct error *err)
{
	static const char *const kinds[] = { "rail", "tree2", "tree3" };
	char *words[WORDS_MAX];
	size_t count, i;
	int code = words_split(rest, words, WORDS_MAX, &count, err);

	for (i = 0; code == 0 && count && i < 3; i++)
		if (!strcmp(words[0], kinds[i]))
			break;
	if (code == 0 && (!count || i == 3))
		return err_set(err, ERR_USAGE, "a shape is rail, tree2 or tree3");
	if (code == 0)
		scenario->shape = net_shape_default((enum net_shape_kind)i);
	for (i = 1; code == 0 && i < count; i++) {
		char *value = strchr(words[i], '=');

		if (!value)
			return err_set(err, ERR_USAGE, "\"%s\" is not an option of a shape such as hosts=32", words[i]);
		*value = '\0';
		code = net_shape_option(&scenario->shape, words[i], value + 1, err);
	}
	return code;
}

static int read_seed(struct scenario *scenario, char *rest, struct error *err)
{
	char *word;
	size_t count;
	int code = words_split(rest, &word, 1, &count, err);

	return code < 0 ? code : virtual_whole("seed", count ? word : "", 0, UINT64_MAX, &scenario->seed, err);
}

/* "0" is a valid time, but not a span. */
static int read_time(const char *typed, int64_t *ret_us, struct error *err)
{
	*ret_us = 0;
	return !strcmp(typed, "0") ? 0 : when_span_parse(typed, ret_us, err);
}

static int read_at(struct scenario *scenario, char *rest, struct error *err)
{
	char *text = rest + strcspn(rest, " \t");
	int64_t at_us;

	if (*text)
		*text++ = '\0';
	if (read_time(rest, &at_us, err) < 0)
		return ERR_USAGE;
	scenario->events = virtual_grow(scenario->events, scenario->event_count, &scenario->event_capacity,
					sizeof(*scenario->events));
	scenario->events[scenario->event_count++] = (struct scenario_event){ at_us, strdup(text) };
	return 0;
}

static int read_truth_option(struct scenario_truth *truth, char *word, struct error *err)
{
	char *value = strchr(word, '=');

	if (!value)
		return err_set(err, ERR_USAGE, "\"%s\" is not an option such as cause=routing", word);
	*value++ = '\0';
	if (!strcmp(word, "within"))
		return when_span_parse(value, &truth->within_us, err);
	if (!strcmp(word, "since"))
		return when_span_parse(value, &truth->since_us, err);
	if (!strcmp(word, "ends"))
		return when_span_parse(value, &truth->ends_us, err);
	if (!strcmp(word, "at"))
		return read_time(value, &truth->at_us, err);
	if (!strcmp(word, "severity") && strcmp(value, "info") && strcmp(value, "warning") &&
	    strcmp(value, "critical"))
		return err_set(err, ERR_USAGE, "severity=%s must be info, warning or critical", value);
	if (!strcmp(word, "cause"))
		snprintf(truth->causes, sizeof(truth->causes), "%s", value);
	else if (!strcmp(word, "severity"))
		snprintf(truth->severity, sizeof(truth->severity), "%s", value);
	else
		return err_set(err, ERR_USAGE, "unknown option %s=: cause, severity, within, since, ends, at", word);
	return 0;
}

static int read_truth(struct scenario *scenario, char *rest, bool expected, struct error *err)
{
	struct scenario_truth *truth;
	char *words[WORDS_MAX];
	size_t count, last = scenario->event_count;
	int code = words_split(rest, words, WORDS_MAX, &count, err);

	if (code < 0)
		return code;
	if (count < 2)
		return err_set(err, ERR_USAGE, "a finding needs a kind and a subject, such as link-down leaf-1/3");
	scenario->truths = virtual_grow(scenario->truths, scenario->truth_count, &scenario->truth_capacity,
					sizeof(*scenario->truths));
	truth = &scenario->truths[scenario->truth_count++];
	*truth = (struct scenario_truth){ .expected = expected };
	snprintf(truth->kinds, sizeof(truth->kinds), "%s", words[0]);
	snprintf(truth->subject, sizeof(truth->subject), "%s", words[1]);
	if (last) {
		truth->at_us = scenario->events[last - 1].at_us;
		snprintf(truth->fault, sizeof(truth->fault), "%.*s",
			 (int)strcspn(scenario->events[last - 1].text, " "), scenario->events[last - 1].text);
	}
	for (size_t i = 2; code == 0 && i < count; i++)
		code = read_truth_option(truth, words[i], err);
	return code;
}

static void add_job(struct scenario *scenario, const char *spec)
{
	scenario->jobs = virtual_grow(scenario->jobs, scenario->job_count, &scenario->job_capacity,
				      sizeof(*scenario->jobs));
	scenario->jobs[scenario->job_count++] = strdup(spec);
}

static int read_line(struct scenario *scenario, char *line, struct error *err)
{
	char *rest;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	rest = line + strcspn(line, " \t");
	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	if (!strcmp(line, "interval"))
		return when_span_parse(rest, &scenario->interval_us, err);
	if (!strcmp(line, "length"))
		return when_span_parse(rest, &scenario->length_us, err);
	if (!strcmp(line, "restart"))
		return when_span_parse(rest, &scenario->restart_us, err);
	if (!strcmp(line, "shape"))
		return read_shape(scenario, rest, err);
	if (!strcmp(line, "seed"))
		return read_seed(scenario, rest, err);
	if (!strcmp(line, "at"))
		return read_at(scenario, rest, err);
	if (!strcmp(line, "expect") || !strcmp(line, "allow"))
		return read_truth(scenario, rest, *line == 'e', err);
	if (!strcmp(line, "settings")) {
		free(scenario->settings);
		scenario->settings = strdup(rest);
		return 0;
	}
	if (!strcmp(line, "job"))
		add_job(scenario, rest);
	else if (strcmp(line, "about"))
		return err_set(err, ERR_USAGE, "\"%s\" is not a keyword", line);
	return 0;
}

int scenario_read(const char *chars, struct scenario *ret, struct error *err)
{
	struct scenario scenario = { .shape = net_shape_default(NET_SHAPE_RAIL), .interval_us = 10000000,
				     .length_us = 1800000000, .seed = 1 };
	char *copy = strdup(chars), *rest = copy, *line;
	unsigned number = 0;
	int code = 0;

	while (code == 0 && (line = strsep(&rest, "\n"))) {
		number++;
		code = read_line(&scenario, line, err);
	}
	free(copy);
	if (code < 0) {
		err_prefix(err, "line %u", number);
		scenario_done(&scenario);
		return code;
	}
	*ret = scenario;
	return 0;
}

int scenario_load(const char *path, struct scenario *ret, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_file(path, "the scenario ", TEXT_FABRIC_MOST, &text, err);

	if (code == 0) {
		code = scenario_read(text_chars(&text), ret, err);
		if (code < 0)
			err_prefix(err, "%s", path);
	}
	text_done(&text);
	if (code == 0 && ret->settings) {
		char *full = NULL;
		int dir = (int)(strrchr(path, '/') ? strrchr(path, '/') + 1 - path : 0);

		if (asprintf(&full, "%.*s%s", dir, path, ret->settings) < 0)
			abort();
		free(ret->settings);
		ret->settings = full;
	}
	return code;
}

void scenario_done(struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->job_count; i++)
		free(scenario->jobs[i]);
	for (size_t i = 0; i < scenario->event_count; i++)
		free(scenario->events[i].text);
	free(scenario->jobs);
	free(scenario->settings);
	free(scenario->events);
	free(scenario->truths);
	memset(scenario, 0, sizeof(*scenario));
}

static int load_settings(const char *path, struct virtual *world, struct error *err)
{
	struct settings settings;
	int code = settings_load(path, &settings, err);

	if (code == 0) {
		world->health = virtual_alloc(1, sizeof(*world->health));
		*world->health = settings.health;
	}
	settings_done(&settings);
	return code;
}

int scenario_begin(const struct scenario *scenario, struct virtual **ret, struct error *err)
{
	struct fabric *built;
	struct virtual *world;
	int code = net_shape_build(&scenario->shape, &built, err);

	if (code < 0)
		return code;
	world = virtual_create(built, scenario->interval_us, scenario->seed);
	world->restart_us = scenario->restart_us;
	for (size_t i = 0; code == 0 && i < scenario->job_count; i++) {
		code = virtual_job(world, scenario->jobs[i], err);
		if (code < 0)
			err_prefix(err, "job %s", scenario->jobs[i]);
	}
	for (size_t i = 0; code == 0 && i < scenario->event_count; i++) {
		code = virtual_at(world, scenario->events[i].at_us, scenario->events[i].text, err);
		if (code < 0)
			err_prefix(err, "at %s", scenario->events[i].text);
	}
	if (code == 0 && scenario->settings)
		code = load_settings(scenario->settings, world, err);
	if (code < 0) {
		virtual_destroy(world);
		return code;
	}
	*ret = world;
	return 0;
}
