/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Settings and statistics of relay_model.h as text. */
#include "sim/relay/relay_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/relay/key_values.h"

/* Maximum number of dead or locked nodes listed by name; the others are counted. */
#define NAMED_MAX 10

/* New settings, until all of them are validated. */
struct draft {
	struct relay_settings settings;
	bool *dead, *locked; /* by node */
};

static int set_pair(const struct fabric *fabric, struct draft *draft, const struct key_value *pair, struct error *err)
{
	struct relay_settings *settings = &draft->settings;

	if (!strcmp(pair->key, "latency"))
		return parse_time(pair->key, pair->value, &settings->latency_ns, err);
	if (!strcmp(pair->key, "service"))
		return parse_time(pair->key, pair->value, &settings->service_ns, err);
	if (!strcmp(pair->key, "hold"))
		return parse_time(pair->key, pair->value, &settings->hold_ns, err);
	if (!strcmp(pair->key, "loss"))
		return parse_percent(pair->key, pair->value, &settings->loss, err);
	if (!strcmp(pair->key, "seed"))
		return parse_number(pair->key, pair->value, 0, UINT64_MAX, &settings->seed, err);
	if (!strcmp(pair->key, "dead"))
		return parse_nodes(fabric, pair->value, draft->dead, err);
	if (!strcmp(pair->key, "locked"))
		return parse_nodes(fabric, pair->value, draft->locked, err);
	return err_set(err, ERR_USAGE, "\"%s\" is not latency, service, hold, loss, dead, locked or seed",
		       *pair->key ? pair->key : pair->value);
}

/* Return: a copy that the caller frees. */
static bool *copy_nodes(const bool *nodes, size_t count)
{
	bool *copy = malloc(count ? count * sizeof(*copy) : 1);

	if (copy && count)
		memcpy(copy, nodes, count * sizeof(*copy));
	return copy;
}

int relay_model_set(struct relay_model *model, const char *text, struct error *err)
{
	size_t count = model->fabric->node_count;
	struct draft draft = {
		.settings = model->settings,
		.dead = copy_nodes(model->dead, count),
		.locked = copy_nodes(model->locked, count),
	};
	struct key_values pairs = { 0 };
	int code = draft.dead && draft.locked ? key_values_split(text, &pairs, err) : err_nomem(err);

	for (size_t i = 0; i < pairs.count && code == 0; i++)
		code = set_pair(model->fabric, &draft, &pairs.pairs[i], err);
	key_values_done(&pairs);
	if (code < 0) {
		free(draft.dead);
		free(draft.locked);
		return code;
	}
	if (draft.settings.seed != model->settings.seed)
		model->random = draft.settings.seed;
	model->settings = draft.settings;
	free(model->dead);
	free(model->locked);
	model->dead = draft.dead;
	model->locked = draft.locked;
	return 0;
}

static void describe_nodes(const struct fabric *fabric, const char *key, const bool *nodes, struct text *text)
{
	size_t count = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		if (!nodes[i])
			continue;
		if (!count++)
			text_appendf(text, " %s=", key);
		if (count <= NAMED_MAX)
			text_appendf(text, "%s%s", count > 1 ? "," : "", fabric->nodes[i].name);
	}
	if (count > NAMED_MAX)
		text_appendf(text, " and %zu more", count - NAMED_MAX);
}

void relay_model_describe(const struct relay_model *model, struct text *text)
{
	const struct relay_settings *settings = &model->settings;
	const struct relay_stats *stats = &model->stats;

	text_appendf(text, "latency=%gus service=%gus hold=%gms loss=%g%%", (double)settings->latency_ns / 1e3,
		     (double)settings->service_ns / 1e3, (double)settings->hold_ns / 1e6, settings->loss);
	describe_nodes(model->fabric, "dead", model->dead, text);
	describe_nodes(model->fabric, "locked", model->locked, text);
	text_appendf(text, "\n%" PRIu64 " requests (%" PRIu64 " SMPs), %" PRIu64 " responses, %" PRIu64
		     " timed out, %" PRIu64 " MADs lost, %zu in flight, %" PRIu64 " refused\n", stats->requests,
		     stats->smps, stats->responses, stats->timed_out, stats->lost, model->in_flight, stats->refused);
	text_appendf(text, "%" PRIu64 " of the SMPs sent by subnet managers\n", stats->sm_smps);
	if (stats->events)
		text_appendf(text, "precision: %.1f us late on average, %.1f us at most\n",
			     (double)stats->late_ns / (double)stats->events / 1e3, (double)stats->latest_ns / 1e3);
}
