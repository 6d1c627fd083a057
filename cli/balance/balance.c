/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance.c - `ibwire balance`: load distribution over equivalent links */
#include "cli/balance/balance.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance_words.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/command.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"

int balance_read(struct balance_answer *answer, int64_t since_us, int64_t until_us, bool round, const uint32_t *ports,
		 size_t count, struct balance_load *loads, struct error *err)
{
	const struct load_query query = {
		.since_us = since_us, .until_us = until_us, .round = round, .snapshot = answer->view.snapshot,
		.ports = ports, .port_count = count, .damage = &answer->damage,
	};

	return reader_history_loads(answer->view.reader, &query, loads, err);
}

const struct shape_group *balance_group_of(const struct balance_answer *answer, const struct balance_result *result)
{
	return &answer->shape->groups[result->group];
}

bool balance_is_ascii(const struct balance_answer *answer)
{
	return answer->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static int parse(const struct command *command, int argc, char **argv, struct balance_answer *ret, struct error *err)
{
	const struct option_spec specs[] = {
		{ .name = "all", .letter = 'a', .kind = OPTION_FLAG,
		  .help = "include idle and even groups, and all members", .target = &ret->all },
		{ .name = "rails", .kind = OPTION_FLAG, .help = "compare rails of hosts, spines and planes",
		  .target = &ret->rails },
		{ .name = "ascii", .kind = OPTION_FLAG, .help = "draw bars in ASCII", .target = &ret->ascii },
		{ .name = "settings", .kind = OPTION_TEXT, .argument = "FILE",
		  .help = "settings file (/etc/ibwire/ibwire.conf)",
		  .target = &ret->settings_path },
		{ .name = NULL },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv,
				 clock_wall_us(clock_system()), &ret->options, err);

	if (code == 0 && ret->rails && ret->options.argc)
		return options_usage_error(command, err, "--rails covers the whole fabric and does not take "
			"NODE");
	return code;
}

static int nothing_read(struct error *err)
{
	return err_set(err, ERR_UNAVAILABLE, "no samples in the window: 'ibwire db' shows the stored time range");
}

/* The window ends with the newest sweep or at the selected time. */
static int find_window(struct balance_answer *answer, struct error *err)
{
	const struct sweep_info *sweep = &answer->view.snapshot->sweep;
	const struct options *options = &answer->options;

	answer->window_us = balance_window_us(sweep->interval_us);
	answer->until_us = sweep->wall_us;
	answer->since_us = options->since_us ? options->since_us : answer->until_us - answer->window_us;
	if (answer->since_us >= answer->until_us)
		return nothing_read(err);
	return 0;
}

/* Missing forwarding tables are not an error: there is no prediction then. */
static int read_routes(struct balance_answer *answer, struct error *err)
{
	int code = reader_routes(answer->view.reader, answer->until_us, &answer->routes, err);

	if (code < 0)
		return code;
	answer->routes_known = answer->routes.count > 0;
	return 0;
}

/*
 * Feed the windows before: members that stay the busiest, and groups that spread load despite
 * uneven tables.
 */
static int step_past(struct balance_answer *answer, struct balance_memory *memory, struct error *err)
{
	struct balance_input input = {
		.shape = answer->shape, .routes = answer->routes_known ? &answer->routes : NULL,
		.loads = answer->loads, .adaptive = answer->adaptive, .window_us = (double)answer->window_us,
	};
	int code = 0, i;
	size_t j;

	answer->was_even = calloc(2 * answer->shape->group_count + 1, sizeof(*answer->was_even));
	answer->was_uneven = calloc(2 * answer->shape->group_count + 1, sizeof(*answer->was_uneven));
	if (!answer->was_even || !answer->was_uneven)
		return err_nomem(err);
	/* The last window is the displayed one. */
	for (i = BALANCE_PAST_WINDOWS - 1; code >= 0 && i > 0; i--) {
		int64_t until_us = answer->until_us - i * answer->window_us;

		code = balance_read(answer, until_us - answer->window_us, until_us, false, NULL, 0, answer->loads,
				    err);
		if (code <= 0)
			continue;
		code = balance_judge(&input, answer->limits, &answer->balance, err);
		if (code < 0)
			break;
		for (j = 0; j < answer->balance.count; j++) {
			const struct balance_result *result = &answer->balance.results[j];

			if (result->state == BALANCE_ACTIVE)
				*(result->m ? &answer->was_uneven[j] : &answer->was_even[j]) |= 1u << i;
		}
		code = balance_memory_step(memory, answer->shape, answer->limits, &answer->balance, err);
		balance_done(&answer->balance);
	}
	return code < 0 ? code : 0;
}

static int judge(struct balance_answer *answer, struct error *err)
{
	struct balance_memory *memory = balance_memory_create();
	struct balance_input input = {
		.shape = answer->shape, .routes = answer->routes_known ? &answer->routes : NULL,
		.loads = answer->loads, .adaptive = answer->adaptive,
		.window_us = (double)(answer->until_us - answer->since_us),
	};
	int code = memory ? 0 : err_nomem(err);

	if (code == 0 && !answer->rails)
		code = step_past(answer, memory, err);
	if (code == 0)
		code = balance_read(answer, answer->since_us, answer->until_us, false, NULL, 0, answer->loads,
				    err);
	if (code == 0)
		code = nothing_read(err);
	if (code > 0)
		code = balance_judge(&input, answer->limits, &answer->balance, err);
	if (code == 0)
		code = balance_memory_step(memory, answer->shape, answer->limits, &answer->balance, err);
	balance_memory_destroy(memory);
	return code;
}

/* A group is selected by its switch or one of its ports. */
static bool is_selected(const struct balance_answer *answer, const struct balance_result *result)
{
	const struct shape_group *group = balance_group_of(answer, result);
	uint32_t i;

	for (i = 0; i < group->count; i++)
		if (selection_has_port(&answer->selection, answer->shape->members[group->first + i]))
			return true;
	return false;
}

static int choose_shown(struct balance_answer *answer, struct error *err)
{
	size_t i;

	answer->shown = calloc(answer->balance.count + 1, sizeof(*answer->shown));
	answer->began = calloc(answer->balance.count + 1, sizeof(*answer->began));
	if (!answer->shown || !answer->began)
		return err_nomem(err);
	for (i = 0; i < answer->balance.count; i++) {
		const struct balance_result *result = &answer->balance.results[i];

		if (!balance_is_of_interest(answer->shape, result) || !is_selected(answer, result))
			continue;
		if (answer->all || !answer->selection.all || balance_is_told(result))
			answer->shown[answer->shown_count++] = (uint32_t)i;
		else if (result->state == BALANCE_ACTIVE)
			answer->fine++;
		else if (result->state == BALANCE_IDLE)
			answer->idle++;
		else
			answer->unknown++;
	}
	qsort_r(answer->shown, answer->shown_count, sizeof(*answer->shown), balance_compare, &answer->balance);
	return 0;
}

static int answer_groups(struct balance_answer *answer, struct error *err)
{
	int code = choose_shown(answer, err);

	if (code == 0)
		code = balance_find_began(answer, err);
	if (code == 0)
		code = answer->options.format == RESULT_TABLE ? balance_print(answer, err) : balance_data(answer, err);
	return code;
}

static int answer_all(struct balance_answer *answer, struct error *err)
{
	int code = selection_init(&answer->selection, answer->view.fabric, answer->options.argv, answer->options.argc,
				  err);

	if (code < 0)
		return code;
	answer->limits = &answer->settings.health.balance;
	code = settings_load(answer->settings_path, &answer->settings, err);
	if (code == 0)
		code = find_window(answer, err);
	if (code == 0)
		answer->loads = calloc(answer->view.fabric->port_count + 1, sizeof(*answer->loads));
	if (code == 0 && !answer->loads)
		code = err_nomem(err);
	if (code == 0)
		code = shape_create(answer->view.fabric, &answer->settings.shape, &answer->shape, err);
	if (code == 0)
		code = balance_adaptive_create(&answer->settings.shape, answer->view.fabric, &answer->adaptive, err);
	if (code == 0)
		code = read_routes(answer, err);
	if (code == 0)
		code = judge(answer, err);
	if (code == 0)
		code = answer->rails ? balance_rails(answer, err) : answer_groups(answer, err);
	view_warn_damage(answer->damage.count, answer->damage.first);
	selection_done(&answer->selection);
	return code;
}

static void done(struct balance_answer *answer)
{
	settings_done(&answer->settings);
	free(answer->adaptive);
	balance_done(&answer->balance);
	routes_done(&answer->routes);
	shape_destroy(answer->shape);
	free(answer->loads);
	free(answer->began);
	free(answer->was_even);
	free(answer->was_uneven);
	free(answer->shown);
	view_done(&answer->view);
}

int balance_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct balance_answer answer = { .command = command };
	struct options then;
	int code = parse(command, argc, argv, &answer, err);

	if (code)
		return code < 0 ? code : 0;
	/* The fabric at the end of the window; loads are read per window. */
	then = answer.options;
	then.at_us = then.until_us ? then.until_us : then.at_us;
	then.since_us = then.until_us = 0;
	code = view_open(&then, false, &answer.view, err);
	if (code < 0)
		return code;
	code = answer_all(&answer, err);
	done(&answer);
	return code;
}
