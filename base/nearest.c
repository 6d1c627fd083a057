/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Words of other programs, and ours with the same meaning. */
static const struct {
	const char *typed, *meant, *value;
} meanings[] = {
	/* options */
	{ "json", "format", " json" }, { "csv", "format", " csv" }, { "output", "format", "" },
	{ "watch", "follow", "" }, { "tail", "follow", "" }, { "follow", "watch", "" },
	{ "from", "since", "" }, { "start", "since", "" }, { "begin", "since", "" }, { "to", "until", "" },
	{ "end", "until", "" }, { "time", "at", "" }, { "order", "sort", "" }, { "fields", "columns", "" },
	{ "database", "db", "" }, { "no-color", "color", " never" }, { "refresh", "interval", "" },
	{ "refresh", "follow", "" }, { "interval", "follow", "" },
	/* commands of ibwire */
	{ "host", "nodes", "" }, { "hosts", "nodes", "" }, { "switch", "nodes", "" }, { "switches", "nodes", "" },
	{ "hca", "nodes", "" }, { "hcas", "nodes", "" }, { "counters", "ports", "" }, { "traffic", "ports", "" },
	{ "cables", "links", "" }, { "route", "topology", " route" }, { "routes", "topology", " route" },
	{ "findings", "health", "" }, { "alerts", "health", "" }, { "problems", "health", "" },
	{ "log", "events", "" }, { "watch", "top", "" }, { "monitor", "top", "" }, { "reset", "clear", "" },
	{ "start", "collect", "" }, { "daemon", "collect", "" },
	/* commands of ibwire-sim */
	{ "fault", "break", "" }, { "inject", "break", "" }, { "fix", "repair", "" }, { "start", "run", "" },
	{ "shell", "exec", "" }, { "load", "traffic", "" }, { "sm", "opensm", "" }, { "scenario", "play", "" },
	{ "convert", "mend", "" }, { "gen", "net", "" }, { "generate", "net", "" },
};

void nearest_init(struct nearest *nearest, const char *typed)
{
	*nearest = (struct nearest){ .typed = typed, .value = "", .distance = SIZE_MAX };
}

static void set_best(struct nearest *nearest, const char *word, const char *value, size_t distance, size_t letters)
{
	nearest->best = word;
	nearest->value = value;
	nearest->distance = distance;
	nearest->letters = letters;
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t typed = strlen(nearest->typed), len = strlen(word), shorter = typed < len ? typed : len;
	size_t letters = text_distance(nearest->typed, word), distance = letters;

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]) && nearest->distance; i++)
		if (!strcmp(meanings[i].typed, nearest->typed) && !strcmp(meanings[i].meant, word))
			set_best(nearest, word, meanings[i].value, 0, 0);
	/* A word with two wrong letters has the right first one. */
	if (!typed || (distance > 1 && *nearest->typed != *word))
		return;
	if (shorter >= 3 && !strncmp(nearest->typed, word, shorter))
		distance = 1;
	if (distance > typed / 3 + 1 || distance >= len || distance > nearest->distance ||
	    (distance == nearest->distance && letters >= nearest->letters))
		return;
	set_best(nearest, word, "", distance, letters);
}

const char *nearest_hint(struct nearest *nearest)
{
	if (nearest->best)
		snprintf(nearest->hint, sizeof(nearest->hint), ": did you mean '%.64s%s'?", nearest->best,
			 nearest->value);
	return nearest->hint;
}
