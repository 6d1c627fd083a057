/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which finding explains which, and which is shown by itself. */
#include <stdio.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"

static const struct world_shape rails = { 4, 4, 2, 8, 4 };
/* 4 leaves with 8 hosts each, 8 uplinks. */
static const struct world_shape single = { 4, 8, 1, 32, 1 };

#define UNEVEN(leaf) "skew " leaf " 101 12; load " leaf "/101 0.8; load " leaf "/102 0.1; load " leaf "/103 0.1; " \
	"load " leaf "/104 0.1; load " leaf "/105 0.1; load " leaf "/106 0.1; load " leaf "/107 0.1; " \
	"load " leaf "/108 0.1; "

/* Does another finding explain the one of this kind? @script: after which it is open */
static void is_explained(const struct world_shape *shape, const char *script, enum finding_kind kind, bool expected)
{
	struct world *world = world_create(shape);
	const struct finding *const *open;
	unsigned found = 0, explained = 0;

	world_run(world, "wait 60; ");
	world_run(world, script);
	for (size_t i = 0, count = health_open(world->health, &open); i < count; i++) {
		found += open[i]->kind == kind && !open[i]->ok_since_us;
		explained += open[i]->kind == kind && !open[i]->ok_since_us && open[i]->is_explained;
	}
	if (!found || explained != (expected ? found : 0))
		fail_msg("%s: %u %s, %u of them explained", script, found, finding_kind_name(kind), explained);
	world_destroy(world);
}

/* A subnet manager routes around switches and links between them, and moves no other route for a host. */
TEST(what_carries_no_transit_explains_no_uneven_tables)
{
	static const struct { const char *fault; bool expected; } cases[] = {
		{ "down leaf2/102", true }, { "down spine2/3", true }, { "silent spine3", true },
		{ "down leaf0/1", false }, { "down h9.0", false }, { "kill h9", false }, { "silent h9", false },
		{ "init leaf1/2", false }, { "kill h0; kill h1; kill h2; kill h3; kill h4", false },
	};
	char script[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(script, sizeof(script), "routes; loads 0.2; wait 120; %s; wait 10; " UNEVEN("leaf0")
			 UNEVEN("leaf1") "wait 120", cases[i].fault);
		is_explained(&single, script, FINDING_UPLINK_IMBALANCE, cases[i].expected);
	}
}

/* A node that does not respond forwards and sends as before: its load has a cause of its own, but for none at all. */
TEST(silence_does_not_explain_load)
{
	is_explained(&rails, "loads 0.3; wait 60; silent h3.1; load h3.1 0.2; load leaf1/4 0.2; wait 700",
		     FINDING_RAIL_IMBALANCE, false);
	is_explained(&rails, "loads 0.3; wait 60; silent h3.1; load h3.1 0; load leaf1/4 0; wait 1300",
		     FINDING_NIC_UNUSED, true);
	is_explained(&single, "loads 0.2; wait 60; silent h0; load leaf0/1 0.2; stall leaf0/1 0.5; wait 400",
		     FINDING_CONGESTION, false);
}

static bool is_open(const struct world *world, const struct finding_place *place)
{
	const struct finding *const *open;

	for (size_t i = 0, count = health_open(world->health, &open); i < count; i++)
		if (open[i]->kind == place->kind && open[i]->node_guid == place->node_guid &&
		    open[i]->port == place->port && open[i]->tag == place->tag)
			return true;
	return false;
}

/* What explains each finding is open now. */
static unsigned check_origins(const struct world *world, const char *after)
{
	const struct finding *const *open;
	unsigned explained = 0;

	for (size_t i = 0, count = health_open(world->health, &open); i < count; i++) {
		explained += open[i]->is_explained;
		if (open[i]->is_explained && !is_open(world, &open[i]->origin))
			fail_msg("%s: %s of %s is explained by a finding that is not open", after,
				 finding_kind_name(open[i]->kind), open[i]->subject);
	}
	return explained;
}

/* The origin of a black hole that is clearing becomes part of the finding of a group, which replaces it. */
TEST(an_origin_that_a_group_replaces_is_forgotten)
{
	struct world *world = world_create(&single);
	unsigned explained = 0;
	char script[40];

	world_run(world, "wait 60; routes; wait 60; init leaf0/101; wait 30; reread leaf0");
	for (unsigned i = 0; i < 16; i++) {
		snprintf(script, sizeof(script), "init leaf%u/%u", 1 + i / 8, 101 + i % 8);
		world_run(world, script);
	}
	for (unsigned i = 0; i < 20; i++) {
		world_sweeps(world, 1);
		explained += check_origins(world, "many links are in Init");
		if (i == 3)
			world_run(world, "active leaf0/101");
	}
	assert_true(explained > 0 && world_find(world, FINDING_LINK_NOT_ACTIVE)->closed);
	world_destroy(world);
}

static const struct { const char *command, *rest; } events[] = {
	{ "down leaf", "/101" }, { "down leaf", "/102" }, { "up leaf", "/101" }, { "up leaf", "/102" },
	{ "init leaf", "/101" }, { "active leaf", "/101" }, { "kill spine", "" }, { "revive spine", "" },
	{ "silent leaf", "" }, { "answer leaf", "" }, { "silent spine", "" }, { "answer spine", "" },
	{ "reread leaf", "" }, { "reread spine", "" }, { "kill leaf", "" }, { "revive leaf", "" },
	{ "skew leaf", " 99 1" }, { "kill h", "" }, { "revive h", "" }, { "routes; reread leaf", "" },
	{ "sm lost; reread leaf", "" }, { "sm ok; reread leaf", "" },
};

/* Every third time another event. */
static void happen(struct world *world, uint64_t random)
{
	size_t at = random / 8 % (sizeof(events) / sizeof(events[0]));
	char script[80];

	if (random % 3)
		return;
	snprintf(script, sizeof(script), "%s%u%s", events[at].command, (unsigned)(random / 1024 % 2),
		 events[at].rest);
	world_run(world, script);
}

/* After each step of random faults and repairs, what explains a finding is open. */
TEST(an_origin_is_open)
{
	unsigned explained = 0;

	for (unsigned seed = 1; seed <= test_cases(40); seed++) {
		struct world *world = world_create(&single);
		uint64_t random = seed;
		char where[80];

		world_run(world, "wait 60; routes; wait 60");
		for (unsigned step = 0; step < 120; step++) {
			random = map_mix(random + UINT64_C(0x9e3779b97f4a7c15));
			happen(world, random);
			world_sweeps(world, 1);
			snprintf(where, sizeof(where), "seed %u, step %u", seed, step);
			explained += check_origins(world, where);
		}
		world_destroy(world);
	}
	assert_true(explained > 100);
}

/* What is open, without labels of time. */
static const char *list_open(const struct world *world, struct text *ret)
{
	const struct finding *const *open;

	text_clear(ret);
	for (size_t i = 0, count = health_open(world->health, &open); i < count; i++) {
		const struct finding *finding = open[i];

		text_appendf(ret, "%s %s, severity %d%s, explained by %s of 0x%llx: %s; hosts",
			     finding_kind_name(finding->kind), finding->subject, finding->severity,
			     finding->ok_since_us ? ", clearing" : "",
			     finding->is_explained ? finding_kind_name(finding->origin.kind) : "none",
			     (unsigned long long)finding->origin.node_guid, finding->text);
		for (unsigned host = 0; host < finding->host_count; host++)
			text_appendf(ret, " %s", finding->hosts[host]);
		text_append(ret, "\n");
	}
	assert_false(text_failed(ret));
	return text_chars(ret);
}

/* Times of before and after a step of the wall clock are compared by CLOCK_BOOTTIME. */
TEST(steps_of_the_wall_clock_change_no_finding)
{
	static const int64_t clocks_s[] = { 0, 30, -30, 90, -90, 3600, -3600, 86400, -86400, -1600000000 };
	struct text shown = { 0 }, expected = { 0 };

	for (unsigned seed = 1; seed <= test_cases(40); seed++) {
		struct world *steady = world_create(&single), *stepped = world_create(&single);
		uint64_t random = seed;

		world_run(steady, "wait 60; routes; wait 60");
		world_run(stepped, "wait 60; routes; wait 60");
		for (unsigned step = 0; step < 120; step++) {
			random = map_mix(random + UINT64_C(0x9e3779b97f4a7c15));
			happen(steady, random);
			happen(stepped, random);
			if (random / 4096 % 8 == 0)
				stepped->clock_us = US_PER_S * clocks_s[random / 32768 % 10];
			world_sweeps(steady, 1);
			world_sweeps(stepped, 1);
			if (strcmp(list_open(stepped, &shown), list_open(steady, &expected)))
				fail_msg("seed %u, step %u:\n%s\nwithout steps:\n%s", seed, step, text_chars(&shown),
					 text_chars(&expected));
		}
		world_destroy(steady);
		world_destroy(stepped);
	}
	text_done(&shown);
	text_done(&expected);
}
