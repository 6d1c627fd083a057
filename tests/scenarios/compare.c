/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/scenarios/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

/* A scenario that runs. */
struct run {
	const struct scenario *scenario;
	struct virtual *world;
	struct comparison *comparison;
};

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->kind == b->kind && a->node_guid == b->node_guid && a->port == b->port && a->tag == b->tag;
}

/* The entry of an open finding; it is added if it is new. */
static struct observed_finding *find_open(struct comparison *comparison, const struct finding *finding, int64_t now_us)
{
	struct observed_finding *found;

	for (size_t i = comparison->finding_count; i-- > 0;)
		if (comparison->findings[i].closed_us < 0 && same_place(&comparison->findings[i].finding, finding))
			return &comparison->findings[i];
	comparison->findings = virtual_grow(comparison->findings, comparison->finding_count,
					    &comparison->finding_capacity, sizeof(*found));
	found = &comparison->findings[comparison->finding_count++];
	*found = (struct observed_finding){ .opened_us = now_us, .closed_us = -1 };
	return found;
}

/* Record the findings of a sweep: which are new, and which of the earlier ones have closed. */
static int store_sweep(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct run *run = ctx;
	struct comparison *comparison = run->comparison;
	int64_t interval_us = run->scenario->interval_us;
	int64_t now_us = (sweep->wall_us - VIRTUAL_WALL_US + interval_us - 1) / interval_us *
			 interval_us;

	(void)err;
	comparison->sweeps++;
	for (size_t i = 0; i < sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i];
		struct observed_finding *found = find_open(comparison, finding, now_us);

		found->finding = *finding;
		found->seen = comparison->sweeps;
		/* What another finding explains is shown below that. */
		if (finding->severity > found->worst && !finding->is_explained)
			found->worst = finding->severity;
	}
	for (size_t i = 0; i < comparison->finding_count; i++)
		if (comparison->findings[i].closed_us < 0 && comparison->findings[i].seen != comparison->sweeps)
			comparison->findings[i].closed_us = now_us;
	return 0;
}

static bool in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t item = strcspn(list, "|");

		if (item == len && !memcmp(list, word, len))
			return true;
		list += item;
		list += *list == '|';
	}
	return false;
}

/* Is a finding about an HCA of this host? */
static bool is_of_host(const struct fabric *built, const struct finding *finding, const char *host)
{
	uint64_t guids[2] = { finding->node_guid, finding->peer_guid };
	size_t len = strlen(host);

	/* Several hosts that fail together are one finding, which lists them. */
	for (unsigned i = 0; finding->port == 0 && i < finding->host_count; i++)
		if (!strcmp(finding->hosts[i], host))
			return true;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t node = guids[i] ? fabric_find_node(built, guids[i]) : FABRIC_NONE;

		if (node != FABRIC_NONE && !strncmp(built->nodes[node].name, host, len) &&
		    built->nodes[node].name[len] == ' ')
			return true;
	}
	return false;
}

/* A finding about either end of a link matches: "leaf-1/3" or its peer. */
static bool is_of_port(const struct fabric *built, const struct finding *finding, uint32_t port)
{
	uint32_t ends[2] = { port, built->ports[port].peer };

	for (int i = 0; i < 2; i++) {
		uint64_t guid = ends[i] == FABRIC_NONE ? 0 : built->nodes[built->ports[ends[i]].node].guid;

		if (!guid)
			continue;
		if (guid == finding->node_guid && built->ports[ends[i]].num == finding->port)
			return true;
		if (guid == finding->peer_guid && built->ports[ends[i]].num == finding->peer_port)
			return true;
	}
	return false;
}

static bool is_subject(const struct fabric *built, const struct finding *finding, const char *subject)
{
	char copy[SCENARIO_WORD], *rest = NULL, *item;
	uint32_t index;

	snprintf(copy, sizeof(copy), "%s", subject);
	for (item = strtok_r(copy, "|", &rest); item; item = strtok_r(NULL, "|", &rest)) {
		if (!strcmp(item, "any") || (!strcmp(item, "fabric") && !finding->node_guid))
			return true;
		if (!strncmp(item, "host:", 5)) {
			if (is_of_host(built, finding, item + 5))
				return true;
		} else if (names_find_port(built, item, &index, NULL) == 0) {
			if (is_of_port(built, finding, index))
				return true;
		} else if (names_find_node(built, item, &index, NULL) == 0 &&
			   (finding->node_guid == built->nodes[index].guid ||
			    finding->peer_guid == built->nodes[index].guid)) {
			return true;
		}
	}
	return false;
}

static bool is_of_truth(const struct run *run, const struct observed_finding *found,
			const struct scenario_truth *truth)
{
	/* A finding that opened before the event is not caused by it. */
	return found->opened_us >= truth->at_us && in_list(truth->kinds, finding_kind_name(found->finding.kind)) &&
	       is_subject(run->world->built, &found->finding, truth->subject);
}

/* Compare a finding with an expectation. Return: the number of matching properties, at least 1. */
static unsigned score(const struct observed_finding *found, struct compared_truth *ret)
{
	const struct scenario_truth *truth = ret->truth;
	int64_t since_us = found->finding.since_us - VIRTUAL_WALL_US - truth->at_us;

	ret->kind = ret->found = true;
	ret->finding = found;
	ret->delay_us = found->opened_us - truth->at_us;
	ret->cause = !truth->causes[0] || (found->finding.cause && in_list(truth->causes, found->finding.cause));
	ret->severe = !truth->severity[0] || found->worst >= (strcmp(truth->severity, "critical") == 0 ?
		FINDING_CRITICAL : strcmp(truth->severity, "warning") == 0 ? FINDING_WARNING : FINDING_INFO);
	ret->in_time = !truth->within_us || ret->delay_us <= truth->within_us;
	ret->since = !truth->since_us || (since_us <= truth->since_us && since_us >= -truth->since_us);
	ret->ended = !truth->ends_us || (found->closed_us >= 0 && found->closed_us - truth->at_us <= truth->ends_us);
	return 1u + ret->ended + ret->cause + ret->severe + ret->in_time + ret->since;
}

static void compare_truth(const struct run *run, struct compared_truth *truth)
{
	const struct comparison *comparison = run->comparison;
	struct compared_truth best = *truth;
	unsigned best_score = 0;

	for (size_t i = 0; i < comparison->finding_count; i++) {
		const struct observed_finding *found = &comparison->findings[i];
		struct compared_truth now = *truth;
		unsigned points;

		best.kind |= found->opened_us >= truth->truth->at_us &&
			     in_list(truth->truth->kinds, finding_kind_name(found->finding.kind));
		if (!is_of_truth(run, found, truth->truth))
			continue;
		points = score(found, &now);
		if (points > best_score)
			best = now;
		best_score = points > best_score ? points : best_score;
	}
	*truth = best;
}

/* Count the findings that the scenario neither expects nor allows. */
static void count_alarms(const struct run *run)
{
	struct comparison *comparison = run->comparison;

	for (size_t i = 0; i < comparison->finding_count; i++) {
		struct observed_finding *found = &comparison->findings[i];

		for (size_t j = 0; j < run->scenario->truth_count; j++)
			found->explained |= is_of_truth(run, found, &run->scenario->truths[j]);
		if (found->explained)
			continue;
		comparison->infos += found->worst == FINDING_INFO;
		comparison->false_alarms += found->worst >= FINDING_WARNING;
		comparison->false_criticals += found->worst == FINDING_CRITICAL;
	}
}

static void conclude(const struct run *run)
{
	const struct scenario *scenario = run->scenario;
	struct comparison *comparison = run->comparison;

	comparison->truths = virtual_alloc(scenario->truth_count, sizeof(*comparison->truths));
	for (size_t i = 0; i < scenario->truth_count; i++) {
		struct compared_truth *truth = &comparison->truths[comparison->truth_count];

		if (!scenario->truths[i].expected)
			continue;
		*truth = (struct compared_truth){ .truth = &scenario->truths[i], .delay_us = -1 };
		compare_truth(run, truth);
		comparison->truth_count++;
	}
	count_alarms(run);
}

/* A misspelt kind would match no finding. */
static int check_kinds(const struct scenario *scenario, struct error *err)
{
	for (size_t i = 0; i < scenario->truth_count; i++) {
		char kinds[SCENARIO_WORD], *rest = NULL, *kind;

		snprintf(kinds, sizeof(kinds), "%s", scenario->truths[i].kinds);
		for (kind = strtok_r(kinds, "|", &rest); kind; kind = strtok_r(NULL, "|", &rest))
			if (finding_kind_find(kind) < 0)
				return err_set(err, ERR_USAGE, "\"%s\" is not a kind of finding", kind);
	}
	return 0;
}

/* The jobs of the scenario that run are registered, as a batch system does. */
static bool running_jobs(void *ctx, struct running_jobs *jobs)
{
	const struct run *run = ctx;
	const struct virtual *world = run->world;
	size_t count = 0;
	bool changed = false;

	for (size_t i = 0; i < world->job_count; i++) {
		if (!world->jobs[i].runs)
			continue;
		changed |= count >= jobs->count || jobs->list[count].number != (int64_t)i + 1;
		count++;
	}
	if (!changed && count == jobs->count)
		return false;
	running_jobs_done(jobs);
	jobs->list = virtual_alloc(count + 1, sizeof(*jobs->list));
	for (size_t i = 0; i < world->job_count; i++) {
		struct text hosts = { 0 };

		if (!world->jobs[i].runs)
			continue;
		for (size_t j = 0; j < world->hosts.host_count; j++)
			if (world->jobs[i].hosts[j] || world->jobs[i].targets[j])
				text_appendf(&hosts, "%s%s", hosts.len ? "," : "", world->hosts.hosts[j].name);
		jobs->list[jobs->count++] = (struct running_job){ .number = (int64_t)i + 1,
								  .id = strdup(world->jobs[i].name),
								  .hosts = strdup(text_chars(&hosts)) };
		text_done(&hosts);
	}
	return true;
}

int compare_scenario(const struct scenario *scenario, struct comparison *ret, struct error *err)
{
	struct run run = { .scenario = scenario, .comparison = ret };
	struct sink sink = world_sink(store_sweep, &run);
	int code = check_kinds(scenario, err);

	*ret = (struct comparison){ .finding_count = 0 };
	if (code == 0)
		code = scenario_begin(scenario, &run.world, err);
	if (code < 0)
		return code;
	sink.running_jobs = running_jobs;
	code = world_collect(run.world, scenario->interval_us, scenario->length_us,
			     VIRTUAL_WALL_US, &sink, NULL, err);
	if (code == 0)
		conclude(&run);
	virtual_destroy(run.world);
	if (code < 0)
		comparison_done(ret);
	return code;
}

void comparison_done(struct comparison *comparison)
{
	free(comparison->findings);
	free(comparison->truths);
	memset(comparison, 0, sizeof(*comparison));
}

static bool is_met(const struct compared_truth *truth)
{
	return truth->found && truth->cause && truth->severe && truth->in_time && truth->since && truth->ended;
}

/* @when: compare times too */
static bool matches(const struct comparison *comparison, bool when)
{
	for (size_t i = 0; i < comparison->truth_count; i++) {
		const struct compared_truth *truth = &comparison->truths[i];

		if (!truth->found || !truth->cause || !truth->severe || (when && !is_met(truth)))
			return false;
	}
	return comparison->false_alarms == 0;
}

bool comparison_is_found(const struct comparison *comparison)
{
	return matches(comparison, false);
}

bool comparison_is_right(const struct comparison *comparison)
{
	return matches(comparison, true);
}

static const char *span_text(int64_t us, char ret[WHEN_SIZE])
{
	return us < 0 ? "never" : when_format_span(us, ret);
}

static void describe_truth(const struct compared_truth *truth, struct text *text)
{
	char at[WHEN_SIZE], delay[WHEN_SIZE];

	text_appendf(text, "  %s: %s of %s", is_met(truth) ? "met" : "NOT MET", truth->truth->kinds,
		     truth->truth->subject);
	if (truth->truth->causes[0])
		text_appendf(text, ", cause %s", truth->truth->causes);
	text_appendf(text, ", from %s: %s", span_text(truth->truth->at_us, at),
		     !truth->found ? truth->kind ? "other subjects only" : "no finding of this kind" : "");
	if (truth->found)
		text_appendf(text, "after %s%s%s%s%s%s", span_text(truth->delay_us, delay),
			     truth->in_time ? "" : ", too late", truth->cause ? "" : ", wrong cause",
			     truth->severe ? "" : ", not severe enough", truth->since ? "" : ", wrong since",
			     truth->ended ? "" : ", not closed in time");
	text_append(text, "\n");
}

void comparison_describe(const struct comparison *comparison, bool all, struct text *text)
{
	char opened[WHEN_SIZE], closed[WHEN_SIZE];

	for (size_t i = 0; i < comparison->truth_count; i++)
		if (all || !is_met(&comparison->truths[i]))
			describe_truth(&comparison->truths[i], text);
	for (size_t i = 0; i < comparison->finding_count; i++) {
		const struct observed_finding *found = &comparison->findings[i];

		if (!all && (found->explained || found->worst == FINDING_INFO))
			continue;
		text_appendf(text, "  %s%s %s of %s, cause %s, %s - %s: %s\n",
			     found->explained ? "" : found->worst >= FINDING_WARNING ? "FALSE ALARM " : "unexpected ",
			     finding_severity_name(found->worst), finding_kind_name(found->finding.kind),
			     found->finding.subject, found->finding.cause ? found->finding.cause : "-",
			     span_text(found->opened_us, opened),
			     found->closed_us < 0 ? "open" : span_text(found->closed_us, closed),
			     found->finding.text);
	}
}
