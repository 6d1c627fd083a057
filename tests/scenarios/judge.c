/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/scenarios/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

/* While a scenario runs. */
struct judging {
	const struct scenario *scenario;
	struct virtual *world;
	struct judgement *judgement;
};

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->kind == b->kind && a->node_guid == b->node_guid && a->port == b->port && a->tag == b->tag;
}

/* The entry of an open finding, made where it is new; NULL: no memory. */
static struct judged_finding *find_open(struct judgement *judgement, const struct finding *finding, int64_t now_us)
{
	struct judged_finding *found;
	size_t i;

	for (i = judgement->finding_count; i-- > 0;)
		if (judgement->findings[i].closed_us < 0 && same_place(&judgement->findings[i].finding, finding))
			return &judgement->findings[i];
	found = array_grow(judgement->findings, judgement->finding_count, &judgement->finding_capacity,
			   sizeof(*found));
	if (!found)
		return NULL;
	judgement->findings = found;
	found += judgement->finding_count++;
	*found = (struct judged_finding){ .opened_us = now_us, .closed_us = -1, .worst = finding->severity };
	return found;
}

/* The findings after a sweep: new ones, and which of the others are still open. */
static int store_sweep(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct judging *judging = ctx;
	struct judgement *judgement = judging->judgement;
	int64_t interval_us = judging->scenario->interval_us;
	int64_t now_us = (sweep->wall_us - virtual_wall_us(judging->world, 0) + interval_us - 1) / interval_us *
			 interval_us;
	size_t i;

	judgement->sweeps++;
	for (i = 0; i < sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i];
		struct judged_finding *found = find_open(judgement, finding, now_us);

		if (!found)
			return err_nomem(err);
		found->finding = *finding;
		found->seen = judgement->sweeps;
		if (finding->severity > found->worst)
			found->worst = finding->severity;
	}
	for (i = 0; i < judgement->finding_count; i++)
		if (judgement->findings[i].closed_us < 0 && judgement->findings[i].seen != judgement->sweeps)
			judgement->findings[i].closed_us = now_us;
	return 0;
}

static int restore_nothing(void *ctx, struct restored *ret, struct error *err)
{
	(void)ctx;
	(void)ret;
	(void)err;
	return 0;
}

static int ignore_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	(void)ctx;
	(void)events;
	(void)count;
	(void)err;
	return 0;
}

static int ignore_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	(void)caps;
	(void)count;
	(void)err;
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

/* Does a finding speak of an HCA of this host? */
static bool is_of_host(const struct fabric *built, const struct finding *finding, const char *host)
{
	uint64_t guids[2] = { finding->node_guid, finding->peer_guid };
	size_t len = strlen(host);
	unsigned i;

	/* Several hosts that share a fate are one finding, which lists them. */
	for (i = 0; finding->port == 0 && i < finding->host_count; i++)
		if (!strcmp(finding->hosts[i], host))
			return true;

	for (i = 0; i < 2; i++) {
		uint32_t node = guids[i] ? fabric_find_node(built, guids[i]) : FABRIC_NONE;

		if (node != FABRIC_NONE && !strncmp(built->nodes[node].name, host, len) &&
		    built->nodes[node].name[len] == ' ')
			return true;
	}
	return false;
}

/* Either end of a link will do: "leaf-1/3" and what it is cabled to. */
static bool is_of_port(const struct fabric *built, const struct finding *finding, uint32_t port)
{
	uint32_t ends[2] = { port, built->ports[port].peer };
	int i;

	for (i = 0; i < 2; i++) {
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
		} else if (virtual_find_port(built, item, &index, NULL) == 0) {
			if (is_of_port(built, finding, index))
				return true;
		} else if (virtual_find_node(built, item, &index, NULL) == 0 &&
			   (finding->node_guid == built->nodes[index].guid ||
			    finding->peer_guid == built->nodes[index].guid)) {
			return true;
		}
	}
	return false;
}

static bool is_of_truth(const struct judging *judging, const struct judged_finding *found,
			const struct scenario_truth *truth)
{
	/* What opens in the sweep before cannot be of it. */
	return found->opened_us >= truth->at_us && in_list(truth->kinds, finding_kind_name(found->finding.kind)) &&
	       is_subject(virtual_built(judging->world), &found->finding, truth->subject);
}

/* Has a finding all that is said of it? Of several the best counts. */
static unsigned score(const struct judging *judging, const struct judged_finding *found, struct judged_truth *ret)
{
	const struct scenario_truth *truth = ret->truth;
	int64_t since_us = found->finding.since_us - virtual_wall_us(judging->world, truth->at_us);

	ret->kind = ret->found = true;
	ret->finding = found;
	ret->delay_us = found->opened_us - truth->at_us;
	ret->cause = !truth->causes[0] || (found->finding.cause && in_list(truth->causes, found->finding.cause));
	ret->severe = !truth->severity[0] || found->worst >= (strcmp(truth->severity, "critical") == 0 ?
		FINDING_CRITICAL : strcmp(truth->severity, "warning") == 0 ? FINDING_WARNING : FINDING_INFO);
	ret->in_time = !truth->within_us || ret->delay_us <= truth->within_us;
	ret->since = !truth->since_us || (since_us <= truth->since_us && since_us >= -truth->since_us);
	return 1u + ret->cause + ret->severe + ret->in_time + ret->since;
}

static void judge_truth(const struct judging *judging, struct judged_truth *truth)
{
	const struct judgement *judgement = judging->judgement;
	struct judged_truth best = *truth;
	unsigned best_score = 0;
	size_t i;

	for (i = 0; i < judgement->finding_count; i++) {
		const struct judged_finding *found = &judgement->findings[i];
		struct judged_truth now = *truth;
		unsigned points;

		best.kind |= found->opened_us >= truth->truth->at_us &&
			     in_list(truth->truth->kinds, finding_kind_name(found->finding.kind));
		if (!is_of_truth(judging, found, truth->truth))
			continue;
		points = score(judging, found, &now);
		if (points > best_score)
			best = now;
		best_score = points > best_score ? points : best_score;
	}
	*truth = best;
}

/* Count the findings that no truth explains. */
static void count_alarms(const struct judging *judging)
{
	struct judgement *judgement = judging->judgement;
	size_t i, j;

	for (i = 0; i < judgement->finding_count; i++) {
		struct judged_finding *found = &judgement->findings[i];

		for (j = 0; j < judging->scenario->truth_count; j++)
			found->explained |= is_of_truth(judging, found, &judging->scenario->truths[j]);
		if (found->explained)
			continue;
		judgement->infos += found->worst == FINDING_INFO;
		judgement->false_alarms += found->worst >= FINDING_WARNING;
		judgement->false_criticals += found->worst == FINDING_CRITICAL;
	}
}

static int conclude(const struct judging *judging, struct error *err)
{
	const struct scenario *scenario = judging->scenario;
	struct judgement *judgement = judging->judgement;
	size_t i;

	judgement->truths = calloc(scenario->truth_count + 1, sizeof(*judgement->truths));
	if (!judgement->truths)
		return err_nomem(err);
	for (i = 0; i < scenario->truth_count; i++) {
		struct judged_truth *truth = &judgement->truths[judgement->truth_count];

		if (!scenario->truths[i].expected)
			continue;
		*truth = (struct judged_truth){ .truth = &scenario->truths[i], .delay_us = -1 };
		judge_truth(judging, truth);
		judgement->truth_count++;
	}
	count_alarms(judging);
	return 0;
}

/* A misspelt kind would never be met, or allow nothing. */
static int check_kinds(const struct scenario *scenario, struct error *err)
{
	for (size_t i = 0; i < scenario->truth_count; i++) {
		char kinds[SCENARIO_WORD], *rest = NULL, *kind;

		snprintf(kinds, sizeof(kinds), "%s", scenario->truths[i].kinds);
		for (kind = strtok_r(kinds, "|", &rest); kind; kind = strtok_r(NULL, "|", &rest))
			if (finding_kind_find(kind) < 0)
				return err_set(err, ERR_USAGE, "\"%s\" is no kind of finding", kind);
	}
	return 0;
}

int judge_scenario(const struct scenario *scenario, struct judgement *ret, struct error *err)
{
	struct judging judging = { .scenario = scenario, .judgement = ret };
	const struct sink sink = { store_sweep, restore_nothing, ignore_events, ignore_caps, NULL, &judging };
	int code = check_kinds(scenario, err);

	*ret = (struct judgement){ .finding_count = 0 };
	if (code == 0)
		code = scenario_begin(scenario, &judging.world, err);
	if (code < 0)
		return code;
	code = world_collect(judging.world, scenario->interval_us, scenario->length_us,
			     virtual_wall_us(judging.world, 0), &sink, NULL, err);
	if (code == 0)
		code = conclude(&judging, err);
	virtual_destroy(judging.world);
	if (code < 0)
		judgement_done(ret);
	return code;
}

void judgement_done(struct judgement *judgement)
{
	free(judgement->findings);
	free(judgement->truths);
	memset(judgement, 0, sizeof(*judgement));
}

static bool is_met(const struct judged_truth *truth)
{
	return truth->found && truth->cause && truth->severe && truth->in_time && truth->since;
}

bool judgement_is_found(const struct judgement *judgement)
{
	size_t i;

	for (i = 0; i < judgement->truth_count; i++)
		if (!judgement->truths[i].found || !judgement->truths[i].cause || !judgement->truths[i].severe)
			return false;
	return judgement->false_alarms == 0;
}

bool judgement_is_right(const struct judgement *judgement)
{
	size_t i;

	for (i = 0; i < judgement->truth_count; i++)
		if (!is_met(&judgement->truths[i]))
			return false;
	return judgement->false_alarms == 0;
}

static const char *span_text(int64_t us, char ret[WHEN_SIZE])
{
	return us < 0 ? "never" : when_format_span(us, ret);
}

static void describe_truth(const struct judged_truth *truth, struct text *text)
{
	char at[WHEN_SIZE], delay[WHEN_SIZE];

	text_appendf(text, "  %s: %s of %s", is_met(truth) ? "met" : "NOT MET", truth->truth->kinds,
		     truth->truth->subject);
	if (truth->truth->causes[0])
		text_appendf(text, ", cause %s", truth->truth->causes);
	text_appendf(text, ", from %s on: %s", span_text(truth->truth->at_us, at),
		     !truth->found ? truth->kind ? "of others only" : "nothing of the kind" : "");
	if (truth->found)
		text_appendf(text, "after %s%s%s%s%s", span_text(truth->delay_us, delay),
			     truth->in_time ? "" : ", too late", truth->cause ? "" : ", wrong cause",
			     truth->severe ? "" : ", not severe enough", truth->since ? "" : ", wrong since");
	text_append(text, "\n");
}

void judgement_describe(const struct judgement *judgement, bool all, struct text *text)
{
	char opened[WHEN_SIZE], closed[WHEN_SIZE];
	size_t i;

	for (i = 0; i < judgement->truth_count; i++)
		if (all || !is_met(&judgement->truths[i]))
			describe_truth(&judgement->truths[i], text);
	for (i = 0; i < judgement->finding_count; i++) {
		const struct judged_finding *found = &judgement->findings[i];

		if (!all && (found->explained || found->worst == FINDING_INFO))
			continue;
		text_appendf(text, "  %s%s %s of %s, cause %s, %s - %s: %s\n",
			     found->explained ? "" : found->worst >= FINDING_WARNING ? "FALSE ALARM " : "unasked ",
			     finding_severity_name(found->worst), finding_kind_name(found->finding.kind),
			     found->finding.subject, found->finding.cause ? found->finding.cause : "-",
			     span_text(found->opened_us, opened),
			     found->closed_us < 0 ? "open" : span_text(found->closed_us, closed),
			     found->finding.text);
	}
}

int judge_load(const char *path, struct scenario *ret, struct error *err)
{
	FILE *file = fopen(path, "r");
	struct text text = { 0 };
	char chunk[4096];
	size_t got;
	int code;

	if (!file)
		return err_set(err, ERR_IO, "%s cannot be read", path);
	while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
		text_append_bytes(&text, chunk, got);
	fclose(file);
	code = text_failed(&text) ? err_nomem(err) : scenario_read(text_chars(&text), ret, err);
	if (code < 0)
		err_prefix(err, "%s", path);
	text_done(&text);
	return code;
}
