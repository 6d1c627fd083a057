/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scenario.h - scenario files (docs/scenarios.md): a fabric, its events, and the expected findings
 *
 * tests/scenarios/compare.h compares the collector's findings with the expected ones.
 */
#ifndef IBWIRE_TESTS_WORLD_SCENARIO_H
#define IBWIRE_TESTS_WORLD_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/net_shape.h"

struct error;
struct text;
struct virtual;

#define SCENARIO_WORD 160

/* An expected or allowed finding. */
struct scenario_truth {
	bool expected;                /* else allowed */
	char kinds[SCENARIO_WORD];    /* "link-down|node-missing" */
	char subject[SCENARIO_WORD];  /* "leaf-1/3" (either end of the link), "leaf-1", "host:node0003", "any" */
	char causes[SCENARIO_WORD];   /* "routing|flows"; empty: any */
	char severity[16];            /* at least; empty: any */
	int64_t at_us;                /* time of the event */
	int64_t within_us;            /* longest time until it opens; 0: until the end */
	int64_t since_us;             /* tolerance of its `since`; 0: any */
	int64_t ends_us;              /* longest time from the event until it closes; 0: it need not close */
	char fault[32];               /* the first word of the event, for reports */
};

struct scenario_event { int64_t at_us; char *text; };

struct scenario {
	struct net_shape shape;
	int64_t interval_us, length_us;
	int64_t restart_us;           /* of the collector; 0: never */
	uint64_t seed;
	char *settings;               /* path of a settings file, relative to the scenario; NULL: the defaults */
	char **jobs;
	size_t job_count, job_capacity;
	struct scenario_event *events;
	size_t event_count, event_capacity;
	struct scenario_truth *truths;
	size_t truth_count, truth_capacity;
};

/*
 * scenario_read - parse the text of a scenario file
 * @chars:  NUL-terminated
 * Return: 0; ERR_USAGE, with the line number.
 */
int scenario_read(const char *chars, struct scenario *ret, struct error *err);
void scenario_done(struct scenario *scenario);

/* scenario_load - read a scenario file. Return: 0; ERR_IO; ERR_USAGE, with its name. */
int scenario_load(const char *path, struct scenario *ret, struct error *err);

/* scenario_begin - create the fabric of a scenario and schedule its events. Return: 0 or ERR_USAGE. */
int scenario_begin(const struct scenario *scenario, struct virtual **ret, struct error *err);

/* Sizes of the fabrics of random scenarios. */
enum scenario_size { SCENARIO_SMALL, SCENARIO_MEDIUM, SCENARIO_LARGE };

/*
 * scenario_draw - the text of a random scenario
 * @faults:  0, 1 or 2; two faults can be distinguished by their findings
 * @text:    the scenario is appended
 *
 * Equal arguments give equal scenarios.
 */
void scenario_draw(uint64_t seed, unsigned faults, enum net_shape_kind kind, enum scenario_size size,
		   struct text *text);

/*
 * scenario_draw_life - normal operation of a large fabric, with or without faults
 * @hours:   duration
 * @faults:  number of faults, spread over the duration
 */
void scenario_draw_life(uint64_t seed, unsigned hours, unsigned faults, enum scenario_size size,
			struct text *text);

#endif
