/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/changes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "tui/model/context.h"
#include "view/event_text.h"

/* What belongs together. */
enum sort {
	SORT_PLACE,    /* of a node: hosts or switches, which is found out */
	SORT_HOSTS,
	SORT_SWITCHES,
	SORT_NAMES,
	SORT_KEYS,
	SORT_ROUTES,
	SORT_COUNTERS,
	SORT_SM,
	SORT_SWEEP,
	SORT_CLOSED,   /* one for each kind of finding */
	SORT_TOLD,     /* informational finding */
	SORT_ALONE,    /* events of its own kind only */
};

struct kind {
	const char *name;
	enum sort sort;
	const char *word; /* in a list with counts */
};

/* Event kinds of the database (collector/events.h); others are displayed as they are. */
static const struct kind kinds[] = {
	{ "host-restart", SORT_HOSTS, "restart" },
	{ "link-down", SORT_PLACE, "link down" },
	{ "link-up", SORT_PLACE, "link up" },
	{ "link-state", SORT_PLACE, "link state" },
	{ "link-rate", SORT_PLACE, "link rate" },
	{ "peer-changed", SORT_PLACE, "recabled" },
	{ "node-added", SORT_PLACE, "new" },
	{ "node-removed", SORT_PLACE, "removed" },
	{ "node-silent", SORT_PLACE, "silent" },
	{ "node-answers", SORT_PLACE, "responds again" },
	{ "hcas-silent", SORT_HOSTS, "HCAs silent" },
	{ "hcas-answer", SORT_HOSTS, "HCAs respond again" },
	{ "node-renamed", SORT_NAMES, "renamed" },
	{ "node-lid-changed", SORT_NAMES, "LID changed" },
	{ "node-locked", SORT_KEYS, "locked" },
	{ "node-unlocked", SORT_KEYS, "unlocked" },
	{ "routes-changed", SORT_ROUTES, "routes changed" },
	{ "counters-cleared", SORT_COUNTERS, "counters cleared" },
	{ "counter-saturated", SORT_COUNTERS, "counters saturated" },
	{ "sm-changed", SORT_SM, "SM changed" },
	{ "sm-lost", SORT_SM, "SM lost" },
	{ "sm-answers", SORT_SM, "SM responds again" },
	{ "sweep-late", SORT_SWEEP, "sweep late" },
	{ "sweep-cut", SORT_SWEEP, "sweep cut" },
	{ "collector-throttled", SORT_SWEEP, "throttled" },
	{ "collector-unthrottled", SORT_SWEEP, "full rate" },
};

/* Findings that duplicate events of these kinds. */
static const struct {
	enum finding_kind finding;
	const char *events[4];
} told_by_events[] = {
	{ FINDING_ROUTES_CHANGED, { "routes-changed" } },
	{ FINDING_TOPOLOGY_CHANGED, { "node-added", "node-removed", "peer-changed", "link-up" } },
	{ FINDING_COUNTERS_CLEARED, { "counters-cleared" } },
	{ FINDING_COUNTER_SATURATED, { "counter-saturated" } },
	{ FINDING_LOCKED, { "node-locked", "node-unlocked" } },
	{ FINDING_SM_LOST, { "sm-lost", "sm-answers", "sm-changed" } },
};

#define WORDS_MAX 10
#define NAMES_MAX 3

struct cluster {
	struct change change;
	enum sort sort;
	char kind[32];       /* SORT_CLOSED, SORT_TOLD: kind of the finding; SORT_ALONE: of the event */
	struct { const char *word; size_t count; } words[WORDS_MAX];
	size_t word_count;
	uint64_t *places;    /* hosts or nodes, each once */
	size_t place_count, place_capacity;
	char names[NAMES_MAX][NODE_NAME_SIZE];
	bool nowhere;        /* some of it is about the whole fabric */
};

struct clusters {
	struct cluster *list;
	size_t count, capacity;
	const struct snapshot_context *context;
};

/* Text of a single event. */
struct saying {
	const struct recent_event *recent_event;
	enum sort sort;
	char kind[32];
	const char *word;
	uint64_t place; /* 0: the fabric */
	char name[NODE_NAME_SIZE];
	char text[320];
};

static const struct kind *find_kind(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* Which finding an event speaks of: its text begins with the kind. Return: the kind, or -1. */
static int finding_of(const struct recent_event *recent_event)
{
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(recent_event->text, " "), recent_event->text);
	return finding_kind_find(word);
}

static bool has_event(const struct snapshot_context *context, const char *kind)
{
	size_t i;

	for (i = 0; kind && i < context->recent_event_count; i++)
		if (!strcmp(context->recent_events[i].kind, kind))
			return true;
	return false;
}

static bool told_by_event(const struct snapshot_context *context, enum finding_kind kind)
{
	enum { EVENTS = sizeof(told_by_events[0].events) / sizeof(told_by_events[0].events[0]) };
	size_t i, event;

	for (i = 0; i < sizeof(told_by_events) / sizeof(told_by_events[0]); i++)
		for (event = 0; told_by_events[i].finding == kind && event < EVENTS; event++)
			if (has_event(context, told_by_events[i].events[event]))
				return true;
	return false;
}

/* Was it never more than an info? Where its opening is not known any more: is it of a kind that is none? */
static bool was_info(const struct snapshot_context *context, const struct recent_event *closed, int kind)
{
	bool found = false;
	size_t i;

	for (i = 0; i < context->recent_event_count; i++) {
		const struct recent_event *recent_event = &context->recent_events[i];

		if (recent_event->node_guid != closed->node_guid || recent_event->port != closed->port ||
		    strncmp(recent_event->kind, "finding-", strlen("finding-")) ||
		    !strcmp(recent_event->kind, closed->kind) || finding_of(recent_event) != kind)
			continue;
		if (recent_event->severity != EVENT_INFO)
			return false;
		found = true;
	}
	return found || kind == FINDING_HOST_RESTART || kind == FINDING_ROUTES_CHANGED ||
	       kind == FINDING_COUNTERS_CLEARED || kind == FINDING_COUNTER_SATURATED || kind == FINDING_LOCKED;
}

/* Return: false if the change is reported elsewhere. */
static bool sort_finding(const struct snapshot_context *context, struct saying *saying)
{
	const struct recent_event *recent_event = saying->recent_event;
	bool closed = !strcmp(recent_event->kind, "finding-closed");
	int kind = finding_of(recent_event);

	if (kind < 0 || !strcmp(recent_event->kind, "finding-changed") ||
	    told_by_event(context, (enum finding_kind)kind))
		return false;
	/* Open findings are shown as problems; the end of an informational one is not reported. */
	if (closed ? was_info(context, recent_event, kind) : recent_event->severity != EVENT_INFO)
		return false;
	snprintf(saying->kind, sizeof(saying->kind), "%s", finding_kind_name((enum finding_kind)kind));
	saying->word = saying->kind;
	saying->sort = closed ? SORT_CLOSED : SORT_TOLD;
	if (kind == FINDING_HOST_RESTART) {
		saying->sort = SORT_HOSTS;
		saying->word = find_kind("host-restart")->word;
	}
	return true;
}

/* Whether a node is an HCA. A removed node of unknown kind is counted as one, as most nodes are. */
static bool is_host(const struct clusters *clusters, uint64_t guid, const struct recent_event *recent_event)
{
	const struct shape *shape = clusters->context->shape;
	uint32_t node = shape && guid ? fabric_find_node(shape->fabric, guid) : FABRIC_NONE;

	if (node != FABRIC_NONE)
		return shape->fabric->nodes[node].type != NODE_SWITCH;
	return guid && recent_event->severity != EVENT_CRITICAL;
}

/* Where it happened: of a link of a host the host, of hosts' HCAs the host. */
static void find_place(const struct clusters *clusters, struct saying *saying)
{
	const struct recent_event *recent_event = saying->recent_event;
	const struct shape *shape = clusters->context->shape;
	bool peer_is_host = recent_event->peer_guid && is_host(clusters, recent_event->peer_guid, recent_event) &&
			    !is_host(clusters, recent_event->node_guid, recent_event);
	uint32_t node;

	saying->place = saying->sort == SORT_PLACE && peer_is_host ? recent_event->peer_guid : recent_event->node_guid;
	if (saying->sort == SORT_PLACE)
		saying->sort = is_host(clusters, saying->place, recent_event) ? SORT_HOSTS : SORT_SWITCHES;
	names_short(recent_event->node, saying->name);
	node = shape && saying->place ? fabric_find_node(shape->fabric, saying->place) : FABRIC_NONE;
	if (node == FABRIC_NONE)
		return;
	names_short(shape->fabric->nodes[node].name, saying->name);
	if (saying->sort == SORT_HOSTS && shape->nodes[node].host != SHAPE_NONE) {
		const struct shape_host *host = &shape->hosts[shape->nodes[node].host];

		saying->place = shape->fabric->nodes[shape->host_nodes[host->first]].guid;
		snprintf(saying->name, sizeof(saying->name), "%s", host->name);
	}
}

/* Return: false where nothing has to be said. */
static bool read_happening(const struct clusters *clusters, const struct recent_event *recent_event, struct saying *ret)
{
	const struct kind *kind = find_kind(recent_event->kind);
	char text[256];

	*ret = (struct saying){ .recent_event = recent_event, .sort = SORT_ALONE };
	snprintf(ret->kind, sizeof(ret->kind), "%s", kind ? "" : recent_event->kind);
	ret->word = kind ? kind->word : recent_event->kind;
	if (kind)
		ret->sort = kind->sort;
	else if (!strncmp(recent_event->kind, "finding-", strlen("finding-")) && !sort_finding(clusters->context, ret))
		return false;
	snprintf(ret->text, sizeof(ret->text), "%s%s", ret->sort == SORT_CLOSED ? "closed: " : "",
		 event_text(recent_event->text, text, sizeof(text)));
	find_place(clusters, ret);
	return true;
}

static struct cluster *find_cluster(struct clusters *clusters, const struct saying *saying)
{
	size_t i;

	for (i = clusters->count; i-- > 0;) {
		struct cluster *cluster = &clusters->list[i];

		int64_t apart_us = cluster->change.first_us - saying->recent_event->wall_us;

		if (cluster->sort == saying->sort &&
		    (saying->sort < SORT_CLOSED || !strcmp(cluster->kind, saying->kind)))
			return apart_us <= CHANGE_APART_US ? cluster : NULL;
	}
	return NULL;
}

static struct cluster *add_cluster(struct clusters *clusters, const struct saying *saying)
{
	struct cluster *list = array_grow(clusters->list, clusters->count, &clusters->capacity, sizeof(*list)), *added;

	if (!list)
		return NULL;
	clusters->list = list;
	added = &list[clusters->count++];
	*added = (struct cluster){ .sort = saying->sort };
	memcpy(added->kind, saying->kind, sizeof(added->kind));
	added->change.last_us = saying->recent_event->wall_us;
	snprintf(added->change.text, sizeof(added->change.text), "%s", saying->text);
	return added;
}

static int add_place(struct cluster *cluster, const struct saying *saying)
{
	uint64_t *places;
	size_t i;

	if (!saying->place) {
		cluster->nowhere = true;
		return 0;
	}
	for (i = 0; i < cluster->place_count; i++)
		if (cluster->places[i] == saying->place)
			return 0;
	places = array_grow(cluster->places, cluster->place_count, &cluster->place_capacity, sizeof(*places));
	if (!places)
		return ERR_NOMEM;
	cluster->places = places;
	if (cluster->place_count < NAMES_MAX)
		memcpy(cluster->names[cluster->place_count], saying->name, sizeof(saying->name));
	places[cluster->place_count++] = saying->place;
	return 0;
}

static void add_word(struct cluster *cluster, const char *word)
{
	size_t i;

	/* The words of a finding's kind lie in the saying: they are the cluster's own kind. */
	if (cluster->sort == SORT_CLOSED || cluster->sort == SORT_TOLD)
		word = finding_kind_name((enum finding_kind)finding_kind_find(cluster->kind));
	else if (cluster->sort == SORT_ALONE)
		word = NULL;
	for (i = 0; i < cluster->word_count; i++)
		if (cluster->words[i].word == word) {
			cluster->words[i].count++;
			return;
		}
	if (cluster->word_count == WORDS_MAX)
		return;
	cluster->words[cluster->word_count].word = word;
	cluster->words[cluster->word_count++].count = 1;
}

static int add_saying(struct clusters *clusters, const struct saying *saying)
{
	struct cluster *cluster = find_cluster(clusters, saying);

	if (!cluster)
		cluster = add_cluster(clusters, saying);
	if (!cluster || add_place(cluster, saying) < 0)
		return ERR_NOMEM;
	add_word(cluster, saying->word);
	cluster->change.first_us = saying->recent_event->wall_us;
	cluster->change.count++;
	return 0;
}

static const char *places_word(enum sort sort)
{
	return sort == SORT_HOSTS ? "hosts" : sort == SORT_SWITCHES || sort == SORT_ROUTES ? "switches" : "nodes";
}

static size_t words_of(const struct cluster *cluster, char *ret, size_t size)
{
	size_t i, len = 0;

	ret[0] = '\0';
	for (i = 0; i < cluster->word_count && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s %zu", i ? ", " : "",
					cluster->words[i].word ? cluster->words[i].word : cluster->kind,
					cluster->words[i].count);
	return len;
}

/* Several events in one line: how many of what, and where. */
static void say_many(struct cluster *cluster)
{
	struct change *change = &cluster->change;
	char words[160], newest[240];
	const char *closed = cluster->sort == SORT_CLOSED ? "closed: " : "";
	size_t len, i;

	words_of(cluster, words, sizeof(words));
	if (cluster->nowhere || !cluster->place_count) {
		snprintf(newest, sizeof(newest), "%.200s", change->text);
		snprintf(change->text, sizeof(change->text), "%s (last of %zu)", newest, change->count);
	} else if (cluster->place_count == 1) {
		snprintf(change->text, sizeof(change->text), "%s%.100s: %s", closed, cluster->names[0], words);
	} else {
		len = (size_t)snprintf(change->text, sizeof(change->text), "%s%zu %s: %s (", closed,
				       cluster->place_count, places_word(cluster->sort), words);
		for (i = 0; i < cluster->place_count && i < NAMES_MAX && len < sizeof(change->text); i++)
			len += (size_t)snprintf(change->text + len, sizeof(change->text) - len, "%s%.40s",
						i ? ", " : "", cluster->names[i]);
		if (len < sizeof(change->text))
			snprintf(change->text + len, sizeof(change->text) - len, "%s)",
				 cluster->place_count > NAMES_MAX ? ", ..." : "");
	}
}

static void say_brief(struct cluster *cluster)
{
	struct change *change = &cluster->change;
	const char *word = cluster->words[0].word ? cluster->words[0].word : cluster->kind;
	const char *closed = cluster->sort == SORT_CLOSED ? " closed" : "";

	if (cluster->nowhere || !cluster->place_count)
		snprintf(change->brief, sizeof(change->brief), "%.70s", change->text);
	else if (cluster->place_count == 1)
		snprintf(change->brief, sizeof(change->brief), "%.40s %s%s", cluster->names[0], word, closed);
	else
		snprintf(change->brief, sizeof(change->brief), "%zu %s %s%s", cluster->place_count,
			 places_word(cluster->sort), word, closed);
}

static int gather(struct clusters *clusters, int64_t since_us, int64_t until_us, struct error *err)
{
	const struct snapshot_context *context = clusters->context;
	size_t i;

	for (i = 0; i < context->recent_event_count; i++) {
		const struct recent_event *recent_event = &context->recent_events[i];
		struct saying saying;

		if (recent_event->wall_us > until_us || recent_event->wall_us <= since_us)
			continue;
		if (read_happening(clusters, recent_event, &saying) && add_saying(clusters, &saying) < 0)
			return err_nomem(err);
	}
	return 0;
}

void changes_done(struct changes *changes)
{
	free(changes->list);
	*changes = (struct changes){ 0 };
}

int changes_make(const struct snapshot_context *context, int64_t since_us, int64_t until_us, struct changes *ret,
		 struct error *err)
{
	struct clusters clusters = { .context = context };
	int status = gather(&clusters, since_us, until_us, err);
	size_t i;

	changes_done(ret);
	if (status == 0 && clusters.count) {
		ret->list = calloc(clusters.count, sizeof(*ret->list));
		status = ret->list ? 0 : err_nomem(err);
	}
	for (i = 0; i < clusters.count; i++) {
		struct cluster *cluster = &clusters.list[i];

		if (status == 0) {
			if (cluster->change.count > 1)
				say_many(cluster);
			say_brief(cluster);
			ret->list[ret->count++] = cluster->change;
		}
		free(cluster->places);
	}
	free(clusters.list);
	ret->since_us = since_us;
	if (context->recent_event_count == CONTEXT_EVENTS &&
	    context->recent_events[CONTEXT_EVENTS - 1].wall_us > since_us)
		ret->since_us = context->recent_events[CONTEXT_EVENTS - 1].wall_us;
	return status;
}
