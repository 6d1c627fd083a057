/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scenarios.c - detection rate, delay, and false findings of scenarios
 *
 *	scenarios                       300 random scenarios on three shapes, a table by kind
 *	scenarios --count 50 --seed 7   others
 *	scenarios --life 24             24 hours of a fabric of 4,096 HCAs without faults
 *	scenarios --life 24 --faults 40 with faults
 *	scenarios FILE...               scenario files, with all findings
 *	scenarios --seed 7 --print      print a scenario
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "tests/bench/measure.h"
#include "tests/scenarios/compare.h"

#define KINDS_MAX 40

struct options {
	unsigned count, life, faults;
	uint64_t seed;
	bool print, verbose, has_faults;
};

/* The results of all expectations of one kind. */
struct row {
	char kind[2 * SCENARIO_WORD];
	size_t expected, kind_found, found, cause, severe, in_time, since;
	struct times delays;
};

struct total {
	struct row rows[KINDS_MAX];
	size_t row_count, scenarios, wrong, single, single_met, pair, pair_met, alarms, false_alarms, criticals, infos;
};

static struct row *row_of(struct total *total, const char *kind)
{
	size_t i;

	for (i = 0; i < total->row_count && strcmp(total->rows[i].kind, kind); i++)
		;
	if (i == KINDS_MAX)
		return &total->rows[0];
	if (i == total->row_count)
		snprintf(total->rows[total->row_count++].kind, sizeof(total->rows[0].kind), "%s", kind);
	return &total->rows[i];
}

static void count_truth(struct total *total, const struct compared_truth *truth, bool pair)
{
	char name[2 * SCENARIO_WORD];
	struct row *row;
	bool met = truth->found && truth->cause;

	snprintf(name, sizeof(name), "%s (%s)", truth->truth->kinds, truth->truth->fault);
	row = row_of(total, name);
	row->expected++;
	row->kind_found += truth->kind;
	row->found += truth->found;
	row->cause += met;
	row->severe += truth->found && truth->severe;
	row->in_time += truth->found && truth->in_time;
	row->since += truth->found && truth->since;
	if (truth->found)
		times_add(&row->delays, truth->delay_us);
	*(pair ? &total->pair : &total->single) += 1;
	*(pair ? &total->pair_met : &total->single_met) += met;
}

static void count_comparison(struct total *total, const struct comparison *comparison, bool pair)
{
	for (size_t i = 0; i < comparison->truth_count; i++)
		count_truth(total, &comparison->truths[i], pair);
	for (size_t i = 0; i < comparison->finding_count; i++)
		total->alarms += comparison->findings[i].worst >= FINDING_WARNING;
	total->false_alarms += comparison->false_alarms;
	total->criticals += comparison->false_criticals;
	total->infos += comparison->infos;
	total->scenarios++;
	total->wrong += !comparison_is_right(comparison);
}

static void print_table(struct total *total)
{
	printf("%-52s %5s %5s %5s %5s %5s %5s %9s %9s\n", "expected finding (event)", "n", "kind", "place", "cause",
	       "level", "time", "median s", "worst s");
	for (size_t i = 0; i < total->row_count; i++) {
		struct row *row = &total->rows[i];

		printf("%-52s %5zu %5zu %5zu %5zu %5zu %5zu %9.0f %9.0f\n", row->kind, row->expected, row->kind_found,
		       row->found, row->cause, row->severe, row->in_time, times_at_ms(&row->delays, 50) / 1000,
		       times_at_ms(&row->delays, 100) / 1000);
		times_done(&row->delays);
	}
}

static double share(size_t part, size_t whole)
{
	return whole ? (double)part / (double)whole : 1;
}

static void print_figures(const struct total *total, const char *prefix)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_recall_single", prefix);
	figure(name, share(total->single_met, total->single), "share", 0, NULL, 0);
	if (total->pair) {
		snprintf(name, sizeof(name), "%s_recall_pairs", prefix);
		figure(name, share(total->pair_met, total->pair), "share", 0, NULL, 0);
	}
	snprintf(name, sizeof(name), "%s_precision", prefix);
	figure(name, share(total->alarms - total->false_alarms, total->alarms), "share", 0, NULL, 0);
	snprintf(name, sizeof(name), "%s_false_warnings", prefix);
	figure(name, (double)total->false_alarms, "findings", 0, NULL, 0);
	snprintf(name, sizeof(name), "%s_false_criticals", prefix);
	figure(name, (double)total->criticals, "findings", 0, NULL, 0);
	printf("%zu scenarios, %zu of them with differences; %zu unexpected findings of severity info\n",
	       total->scenarios, total->wrong, total->infos);
}

/* Return: 0, or the error of a scenario that cannot be run; it is printed. */
static int run(const struct scenario *scenario, const char *name, bool pair, const struct options *options,
	       struct total *total)
{
	struct comparison comparison;
	struct text text = { 0 };
	struct error err;
	int code = compare_scenario(scenario, &comparison, &err);

	if (code < 0) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		return code;
	}
	comparison_describe(&comparison, options->verbose, &text);
	if (text.len)
		printf("%s: %s\n%s", name, comparison_is_right(&comparison) ? "as expected" : "DIFFERENT",
		       text_chars(&text));
	count_comparison(total, &comparison, pair);
	text_done(&text);
	comparison_done(&comparison);
	fflush(stdout);
	return 0;
}

static void run_text(struct text *text, const char *name, bool pair, const struct options *options,
		     struct total *total)
{
	struct scenario scenario;
	struct error err;

	if (options->print)
		printf("%s", text_chars(text));
	else if (scenario_read(text_chars(text), &scenario, &err) < 0)
		fprintf(stderr, "%s: %s\n", name, err.text);
	else {
		run(&scenario, name, pair, options, total);
		scenario_done(&scenario);
	}
	text_done(text);
}

static void run_random(const struct options *options, struct total *total)
{
	for (unsigned i = 0; i < options->count; i++) {
		uint64_t seed = options->seed + i;
		/* Of ten, one has no fault, six have one, three have two. */
		unsigned faults = options->has_faults ? options->faults : seed % 10 == 0 ? 0 : seed % 10 < 7 ? 1 : 2;
		struct text text = { 0 };
		char name[64];

		snprintf(name, sizeof(name), "--seed %" PRIu64 " --count 1", seed);
		scenario_draw(seed, faults, (enum net_shape_kind)(seed % 3), SCENARIO_MEDIUM, &text);
		run_text(&text, name, faults > 1, options, total);
	}
}

static void run_life(const struct options *options, struct total *total)
{
	struct text text = { 0 };
	char name[64];

	snprintf(name, sizeof(name), "%u hours, seed %" PRIu64, options->life, options->seed);
	scenario_draw_life(options->seed, options->life, options->faults, SCENARIO_LARGE, &text);
	run_text(&text, name, false, options, total);
}

static int usage(void)
{
	fputs("usage: scenarios [--count N] [--seed N] [--faults 0|1|2] [--verbose] [--print]\n"
	      "       scenarios --life HOURS [--faults N]\n       scenarios FILE...\n", stderr);
	return 64;
}

static uint64_t number(const char *typed)
{
	char *end;
	uint64_t value = strtoull(typed, &end, 10);

	if (end == typed || *end) {
		fprintf(stderr, "scenarios: \"%s\" is not a number\n", typed);
		exit(64);
	}
	return value;
}

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "count", required_argument, NULL, 'c' }, { "seed", required_argument, NULL, 's' },
		{ "faults", required_argument, NULL, 'f' }, { "life", required_argument, NULL, 'l' },
		{ "print", no_argument, NULL, 'p' }, { "verbose", no_argument, NULL, 'v' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			options->count = (unsigned)number(optarg);
			break;
		case 's':
			options->seed = number(optarg);
			break;
		case 'f':
			options->faults = (unsigned)number(optarg);
			options->has_faults = true;
			break;
		case 'l':
			options->life = (unsigned)number(optarg);
			break;
		case 'p':
			options->print = true;
			break;
		case 'v':
			options->verbose = true;
			break;
		default:
			return usage();
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { .count = 300, .seed = 1 };
	static struct total total;
	int code = parse(argc, argv, &options);

	if (code)
		return code;
	if (optind < argc)
		options.verbose = true;
	for (; optind < argc; optind++) {
		struct scenario scenario;
		struct error err;

		code = scenario_load(argv[optind], &scenario, &err);
		if (code < 0) {
			fprintf(stderr, "%s\n", err.text);
			return -code;
		}
		code = run(&scenario, argv[optind], false, &options, &total);
		scenario_done(&scenario);
		if (code < 0)
			return -code;
		code = 1;
	}
	if (options.life)
		run_life(&options, &total);
	else if (!code)
		run_random(&options, &total);
	if (options.print)
		return 0;
	print_table(&total);
	print_figures(&total, options.life ? "life" : "scenarios");
	return 0;
}
