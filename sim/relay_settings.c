/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the wire is told, and what it says of itself. */
#include "sim/relay_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/relay_words.h"

/* Dead nodes that are named in a description; the others are counted. */
#define NAMED_MAX 10

static int set_pair(const struct fabric *fabric, struct relay_settings *settings, bool *dead,
		    const struct word_pair *pair, struct error *err)
{
	if (!strcmp(pair->key, "latency"))
		return words_time(pair->key, pair->value, &settings->latency_ns, err);
	if (!strcmp(pair->key, "service"))
		return words_time(pair->key, pair->value, &settings->service_ns, err);
	if (!strcmp(pair->key, "hold"))
		return words_time(pair->key, pair->value, &settings->hold_ns, err);
	if (!strcmp(pair->key, "loss"))
		return words_percent(pair->key, pair->value, &settings->loss, err);
	if (!strcmp(pair->key, "seed"))
		return words_number(pair->key, pair->value, UINT64_MAX, &settings->seed, err);
	if (!strcmp(pair->key, "dead"))
		return words_nodes(fabric, pair->value, dead, err);
	return err_set(err, ERR_USAGE, "wire knows latency, service, hold, loss, dead and seed, not \"%s\"",
		       *pair->key ? pair->key : pair->value);
}

int relay_model_set(struct relay_model *model, const char *text, struct error *err)
{
	size_t size = (model->fabric->node_count ? model->fabric->node_count : 1) * sizeof(bool), i;
	struct relay_settings settings = model->settings;
	bool *dead = malloc(size);
	struct words words = { 0 };
	int code = dead ? words_split(text, &words, err) : err_nomem(err);

	if (code == 0)
		memcpy(dead, model->dead, size);
	for (i = 0; i < words.count && code == 0; i++)
		code = set_pair(model->fabric, &settings, dead, &words.pairs[i], err);
	words_done(&words);
	if (code < 0) {
		free(dead);
		return code;
	}
	if (settings.seed != model->settings.seed)
		model->random = settings.seed;
	model->settings = settings;
	free(model->dead);
	model->dead = dead;
	return 0;
}

static void describe_dead(const struct relay_model *model, struct text *text)
{
	size_t dead = 0, i;

	for (i = 0; i < model->fabric->node_count; i++)
		if (model->dead[i] && dead++ < NAMED_MAX)
			text_appendf(text, "%s%s", dead > 1 ? "," : " dead=", model->fabric->nodes[i].name);
	if (dead > NAMED_MAX)
		text_appendf(text, " and %zu more", dead - NAMED_MAX);
}

void relay_model_describe(const struct relay_model *model, struct text *text)
{
	const struct relay_settings *settings = &model->settings;
	const struct relay_stats *stats = &model->stats;

	text_appendf(text, "latency=%gus service=%gus hold=%gms loss=%g%%", (double)settings->latency_ns / 1e3,
		     (double)settings->service_ns / 1e3, (double)settings->hold_ns / 1e6, settings->loss);
	describe_dead(model, text);
	text_appendf(text, "\n%" PRIu64 " questions, %" PRIu64 " answers, %" PRIu64 " timed out, %" PRIu64
		     " MADs lost, %zu under way, %" PRIu64 " refused\n", stats->questions, stats->answers,
		     stats->timed_out, stats->lost, model->under_way, stats->refused);
	if (stats->events)
		text_appendf(text, "precision: %.1f us late on average, at most %.1f us\n",
			     (double)stats->late_ns / (double)stats->events / 1e3, (double)stats->latest_ns / 1e3);
}
