/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibwire-sim break, repair and play: faults of a running simulation */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "sim/cmd.h"
#include "sim/faults.h"
#include "sim/relay/key_values.h"

#define STEPS_MAX 64

void cmd_break_help(void)
{
	puts("Faults; without a target one is chosen:");
	faults_print_kinds();
	puts("\nibwire-sim break lists what is broken, ibwire-sim repair repairs it.\n");
}

static int list(const struct faults *faults)
{
	struct text text = { 0 };

	for (size_t i = 0; i < faults->count; i++) {
		fault_describe(&faults->list[i], &text);
		text_append(&text, "\n");
	}
	fputs(faults->count ? text_chars(&text) : "nothing is broken; ibwire-sim break --help lists the faults\n",
	      stdout);
	text_done(&text);
	return 0;
}

int cmd_break(int argc, char **argv, struct error *err)
{
	struct text text = { 0 };
	struct faults faults;
	struct fault fault;
	int code = faults_open(&faults, err);

	if (code == 0 && argc == 1)
		code = list(&faults);
	else if (code == 0)
		code = fault_parse(&faults, argv + 1, (size_t)argc - 1, &fault, err);
	if (code == 0 && argc > 1) {
		fault_describe(&fault, &text);
		fault_describe_effect(&faults, &fault, &text);
		code = faults_begin(&faults, &fault, err);
	}
	if (code == 0 && argc > 1) {
		printf("%s; to repair it: ibwire-sim repair %s\n", text_chars(&text), argv[1]);
		faults_status(&faults, NULL);
	}
	text_done(&text);
	faults_close(&faults);
	return code;
}

int cmd_repair(int argc, char **argv, struct error *err)
{
	struct text repaired = { 0 };
	struct faults faults;
	int code;

	if (argc > 3)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim repair [FAULT [TARGET]]");
	code = faults_open(&faults, err);
	if (code == 0)
		code = faults_end(&faults, argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, &repaired, err);
	if (code == 0 && !repaired.len && argc > 1)
		code = err_set(err, ERR_USAGE, "there is no such fault: ibwire-sim break lists what is broken");
	if (code == 0)
		printf("%s%s", repaired.len ? "repaired:\n" : "nothing was broken\n", text_chars(&repaired));
	if (code == 0)
		faults_status(&faults, NULL);
	text_done(&repaired);
	faults_close(&faults);
	return code;
}

/* --- play --- */

/* The beginning or the end of a fault. */
struct step {
	int64_t at_us;
	bool end;
	struct fault fault;
};

struct scenario {
	struct step steps[STEPS_MAX];
	size_t count;
	int64_t length_us;
};

/* "at 30s skew leaf-1/20 part=0.5 for=40s" as words */
static int add_steps(struct scenario *scenario, const struct faults *faults, char **words, size_t count,
		     struct error *err)
{
	struct step step = { 0 };
	int64_t for_us = 0;
	int code = count < 3 ? err_set(err, ERR_USAGE, "a fault needs a time: at 30s skew for=40s")
			     : when_span_parse(words[1], &step.at_us, err);
	size_t kept = 2;

	for (size_t i = 2; code == 0 && i < count; i++)
		if (!strncmp(words[i], "for=", 4))
			code = when_span_parse(words[i] + 4, &for_us, err);
		else
			words[kept++] = words[i];
	if (code == 0)
		code = fault_parse(faults, words + 2, kept - 2, &step.fault, err);
	if (code == 0 && scenario->count + 2 > STEPS_MAX)
		code = err_set(err, ERR_USAGE, "there are more than %d faults", STEPS_MAX / 2);
	if (code < 0)
		return code;
	scenario->steps[scenario->count++] = step;
	step.at_us += for_us;
	step.end = true;
	if (for_us)
		scenario->steps[scenario->count++] = step;
	return 0;
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

/* Read the lines "at" and "length" of a scenario file (docs/scenarios.md). */
static int read_scenario(const char *path, struct scenario *scenario, struct error *err)
{
	char *words[FAULT_WORDS_MAX], *line, *rest = NULL;
	struct text text = { 0 };
	struct faults faults;
	size_t count;
	int code = faults_open(&faults, err);

	if (code == 0)
		code = text_read_file(path, "the scenario ", TEXT_FABRIC_MOST, &text, err);
	for (line = code == 0 && text.chars ? strtok_r(text.chars, "\n", &rest) : NULL; line && code == 0;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "at ", 3) && strncmp(line, "length ", 7))
			continue;
		code = words_split(line, words, FAULT_WORDS_MAX, &count, err);
		if (code == 0 && !strcmp(words[0], "at"))
			code = add_steps(scenario, &faults, words, count, err);
		else if (code == 0)
			code = when_span_parse(count > 1 ? words[1] : "", &scenario->length_us, err);
		if (code < 0)
			err_prefix(err, "%s", path);
	}
	text_done(&text);
	faults_close(&faults);
	if (code == 0 && !scenario->count)
		code = err_set(err, ERR_USAGE, "%s has no line such as \"at 30s skew for=40s\"", path);
	qsort(scenario->steps, scenario->count, sizeof(scenario->steps[0]), compare_steps);
	if (code == 0 && scenario->length_us <= scenario->steps[scenario->count - 1].at_us)
		scenario->length_us = scenario->steps[scenario->count - 1].at_us + US_PER_S;
	return code;
}

/* What is broken until when, or what will be next. @end_us: wall clock of the next step */
static void show_status(const struct scenario *scenario, size_t next, const struct faults *faults, int64_t end_us)
{
	time_t end = (time_t)(end_us / US_PER_S);
	struct text line = { 0 };
	struct tm local;
	char until[16];

	strftime(until, sizeof(until), "%H:%M:%S", localtime_r(&end, &local));
	text_append(&line, "SIMULATED: ");
	faults_describe(faults, &line);
	text_appendf(&line, "%s until %s", faults->count ? "" : "no faults", until);
	if (!faults->count && next < scenario->count) {
		text_append(&line, ", then ");
		fault_describe(&scenario->steps[next].fault, &line);
	}
	text_append(&line, ". q: quit, ./quickstart --quiet-fabric: no faults");
	if (!text_failed(&line))
		faults_status(faults, text_chars(&line));
	text_done(&line);
}

/* An error of one step does not prevent the others. */
static void run_step(struct faults *faults, const struct step *step)
{
	struct text ignored = { 0 };
	struct error err = { 0 };

	if ((step->end ? faults_end(faults, fault_name(&step->fault), step->fault.target, &ignored, &err)
		       : faults_begin(faults, &step->fault, &err)) < 0)
		log_warning("%s", err.text);
	text_done(&ignored);
}

/* Execute the steps of this time, which may take seconds, and show what is simulated. Return: the next step. */
static size_t run_steps(const struct scenario *scenario, size_t next, int64_t now_us, int64_t began_us)
{
	const struct clock *clock = clock_system();
	struct error err = { 0 };
	struct faults faults;
	int64_t until_us;

	if (faults_open(&faults, &err) < 0)
		log_warning("%s", err.text);
	for (; next < scenario->count && scenario->steps[next].at_us <= now_us; next++)
		if (faults.fd >= 0)
			run_step(&faults, &scenario->steps[next]);
	until_us = next < scenario->count ? scenario->steps[next].at_us : scenario->length_us;
	if (faults.fd >= 0)
		show_status(scenario, next, &faults,
			    clock_wall_us(clock) - clock_boottime_us(clock) + began_us + until_us);
	faults_close(&faults);
	return next;
}

static void play_once(const struct scenario *scenario)
{
	const struct clock *clock = clock_system();
	int64_t began_us = clock_boottime_us(clock), next_us = 0;
	size_t next = 0;

	while (next_us < scenario->length_us) {
		while (clock_boottime_us(clock) < began_us + next_us && !stop_requested())
			clock->sleep_until(clock->ctx, began_us + next_us);
		if (stop_requested())
			return;
		next = run_steps(scenario, next, next_us, began_us);
		next_us = next < scenario->count ? scenario->steps[next].at_us : scenario->length_us;
	}
	while (clock_boottime_us(clock) < began_us + scenario->length_us && !stop_requested())
		clock->sleep_until(clock->ctx, began_us + scenario->length_us);
}

int cmd_play(int argc, char **argv, struct error *err)
{
	bool loop = argc == 3 && !strcmp(argv[1], "--loop");
	struct scenario scenario = { 0 };
	int code;

	if (argc != 2 + loop)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim play [--loop] FILE");
	code = read_scenario(argv[argc - 1], &scenario, err);
	if (code < 0)
		return code;
	stop_install();
	do
		play_once(&scenario);
	while (loop && !stop_requested());
	return 0;
}
