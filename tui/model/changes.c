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
#include "facts/event_text.h"

/* Events of one topic are combined. */
enum topic {
	TOPIC_PLACE,    /* of a node: becomes TOPIC_HOSTS or TOPIC_SWITCHES */
	TOPIC_HOSTS,
	TOPIC_SWITCHES,
	TOPIC_NAMES,
	TOPIC_KEYS,
	TOPIC_ROUTES,
	TOPIC_COUNTERS, /* one change per kind */
	TOPIC_SM,
	TOPIC_SWEEP,
	TOPIC_CLOSED,   /* closed findings, one change per kind */
	TOPIC_INFO,     /* informational findings, one change per kind */
	TOPIC_OTHER,    /* other events, one change per kind */
};

/* Event kinds of the database (collector/events.h); others are displayed as they are. */
static const struct kind {
	const char *name;
	enum topic topic;
	const char *word; /* in a list with counts */
} kinds[] = {
	{ "host-restart", TOPIC_HOSTS, "restart" },
	{ "link-down", TOPIC_PLACE, "link down" },
	{ "link-up", TOPIC_PLACE, "link up" },
	{ "link-state", TOPIC_PLACE, "link state changed" },
	{ "link-rate", TOPIC_PLACE, "link rate changed" },
	{ "peer-changed", TOPIC_PLACE, "recabled" },
	{ "node-added", TOPIC_PLACE, "new" },
	{ "node-removed", TOPIC_PLACE, "removed" },
	{ "node-silent", TOPIC_PLACE, "silent" },
	{ "node-answers", TOPIC_PLACE, "responds again" },
	{ "hcas-silent", TOPIC_HOSTS, "HCAs silent" },
	{ "hcas-answer", TOPIC_HOSTS, "HCAs respond again" },
	{ "node-renamed", TOPIC_NAMES, "renamed" },
	{ "node-lid-changed", TOPIC_NAMES, "LID changed" },
	{ "node-locked", TOPIC_KEYS, "locked" },
	{ "node-unlocked", TOPIC_KEYS, "unlocked" },
	{ "routes-changed", TOPIC_ROUTES, "routes changed" },
	{ "counters-cleared", TOPIC_COUNTERS, "counters cleared" },
	{ "counter-saturated", TOPIC_COUNTERS, "counters saturated" },
	{ "sm-changed", TOPIC_SM, "SM changed" },
	{ "sm-lost", TOPIC_SM, "SM lost" },
	{ "sm-answers", TOPIC_SM, "SM responds again" },
	{ "sweep-late", TOPIC_SWEEP, "sweep late" },
	{ "sweep-cut", TOPIC_SWEEP, "sweep cut" },
	{ "collector-throttled", TOPIC_SWEEP, "throttled" },
	{ "collector-unthrottled", TOPIC_SWEEP, "full rate" },
};

/* Findings that are not reported if there are events of these kinds. */
static const struct {
	enum finding_kind finding;
	const char *events[4];
} duplicates[] = {
	{ FINDING_ROUTES_CHANGED, { "routes-changed" } },
	{ FINDING_TOPOLOGY_CHANGED, { "node-added", "node-removed", "peer-changed", "link-up" } },
	{ FINDING_COUNTERS_CLEARED, { "counters-cleared" } },
	{ FINDING_COUNTER_SATURATED, { "counter-saturated" } },
	{ FINDING_LOCKED, { "node-locked", "node-unlocked" } },
	{ FINDING_SM_LOST, { "sm-lost", "sm-answers", "sm-changed" } },
};

#define WORDS_MOST 10
#define NAMES_MOST 3

/* A change while its events are being added. */
struct cluster {
	struct change change;
	enum topic topic;
	struct { const char *word; size_t count; } words[WORDS_MOST];
	size_t word_count;
	uint64_t *places;    /* hosts or nodes, each once */
	size_t place_count, place_capacity;
	char names[NAMES_MOST][NODE_NAME_SIZE];
	bool of_fabric;      /* an event is about the whole fabric */
};

struct clusters {
	struct cluster *list;
	size_t count, capacity;
	const struct snapshot_context *context;
};

/* A single event. */
struct entry {
	const struct recent_event *event;
	enum topic topic;
	const char *word; /* what happened: of a table, or of the event */
	uint64_t place;   /* 0: the fabric */
	char name[NODE_NAME_SIZE];
	char text[320];
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static bool is_of_finding(const struct recent_event *event)
{
	return !strncmp(event->kind, "finding-", strlen("finding-"));
}

/* The kind of finding that an event is about, which is the first word of its text; or -1. */
static int finding_of(const struct recent_event *event)
{
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(event->text, " "), event->text);
	return finding_kind_find(word);
}

static bool has_event(const struct snapshot_context *context, const char *kind)
{
	for (size_t i = 0; kind && i < context->recent_event_count; i++)
		if (!strcmp(context->recent_events[i].kind, kind))
			return true;
	return false;
}

static bool is_duplicate(const struct snapshot_context *context, enum finding_kind kind)
{
	enum { EVENTS = sizeof(duplicates[0].events) / sizeof(duplicates[0].events[0]) };

	for (size_t i = 0; i < sizeof(duplicates) / sizeof(duplicates[0]); i++)
		for (size_t event = 0; duplicates[i].finding == kind && event < EVENTS; event++)
			if (has_event(context, duplicates[i].events[event]))
				return true;
	return false;
}

bool changes_was_info(const struct snapshot_context *context, const struct recent_event *closed)
{
	int kind = finding_of(closed);
	bool found = false;

	for (size_t i = 0; i < context->recent_event_count; i++) {
		const struct recent_event *event = &context->recent_events[i];

		if (event->node_guid != closed->node_guid || event->port != closed->port || !is_of_finding(event) ||
		    !strcmp(event->kind, closed->kind) || finding_of(event) != kind)
			continue;
		if (event->severity != EVENT_INFO)
			return false;
		found = true;
	}
	return found || kind == FINDING_HOST_RESTART || kind == FINDING_ROUTES_CHANGED ||
	       kind == FINDING_COUNTERS_CLEARED || kind == FINDING_COUNTER_SATURATED || kind == FINDING_LOCKED;
}

/* Return: false if the change is reported elsewhere. */
static bool classify_finding(const struct snapshot_context *context, struct entry *entry)
{
	const struct recent_event *event = entry->event;
	bool closed = !strcmp(event->kind, "finding-closed");
	int kind = finding_of(event);

	if (kind < 0 || !strcmp(event->kind, "finding-changed") || is_duplicate(context, (enum finding_kind)kind))
		return false;
	/* Open findings are shown as problems; the end of an informational one is not reported. */
	if (closed ? changes_was_info(context, event) : event->severity != EVENT_INFO)
		return false;
	entry->word = finding_kind_name((enum finding_kind)kind);
	entry->topic = closed ? TOPIC_CLOSED : TOPIC_INFO;
	if (kind == FINDING_HOST_RESTART) {
		entry->topic = TOPIC_HOSTS;
		entry->word = find_kind("host-restart")->word;
	}
	return true;
}

/* Whether a node is an HCA. A removed node of unknown kind is counted as one, as most nodes are. */
static bool is_host(const struct clusters *clusters, uint64_t guid, const struct recent_event *event)
{
	const struct shape *shape = clusters->context->shape;
	uint32_t node = shape && guid ? fabric_find_node(shape->fabric, guid) : FABRIC_NONE;

	if (node != FABRIC_NONE)
		return shape->fabric->nodes[node].type != NODE_SWITCH;
	return guid && event->severity != EVENT_CRITICAL;
}

/* The place of an event: for a link of a host, and for its HCAs, the host. */
static void find_place(const struct clusters *clusters, struct entry *entry)
{
	const struct recent_event *event = entry->event;
	const struct shape *shape = clusters->context->shape;
	bool peer_is_host = event->peer_guid && is_host(clusters, event->peer_guid, event) &&
			    !is_host(clusters, event->node_guid, event);
	uint32_t node;

	entry->place = entry->topic == TOPIC_PLACE && peer_is_host ? event->peer_guid : event->node_guid;
	if (entry->topic == TOPIC_PLACE)
		entry->topic = is_host(clusters, entry->place, event) ? TOPIC_HOSTS : TOPIC_SWITCHES;
	snprintf(entry->name, sizeof(entry->name), "%s", event->node);
	node = shape && entry->place ? fabric_find_node(shape->fabric, entry->place) : FABRIC_NONE;
	if (node == FABRIC_NONE)
		return;
	names_display(shape->fabric, shape->fabric->nodes[node].name, entry->name);
	if (entry->topic == TOPIC_HOSTS && shape->nodes[node].host != SHAPE_NONE) {
		const struct shape_host *host = &shape->hosts[shape->nodes[node].host];

		entry->place = shape->fabric->nodes[shape->host_nodes[host->first]].guid;
		snprintf(entry->name, sizeof(entry->name), "%s", host->name);
	}
}

/* Return: false if the event is not reported. */
static bool classify(const struct clusters *clusters, const struct recent_event *event, struct entry *ret)
{
	const struct kind *kind = find_kind(event->kind);

	*ret = (struct entry){ .event = event, .topic = kind ? kind->topic : TOPIC_OTHER,
			       .word = kind ? kind->word : event->kind };
	if (!kind && is_of_finding(event) && !classify_finding(clusters->context, ret))
		return false;
	snprintf(ret->text, sizeof(ret->text), "%s%s", ret->topic == TOPIC_CLOSED ? "closed: " : "", event->text);
	find_place(clusters, ret);
	return true;
}

static bool has_one_kind(enum topic topic)
{
	return topic >= TOPIC_CLOSED || topic == TOPIC_COUNTERS;
}

/* The newest cluster of the same topic, unless it is too far away. */
static struct cluster *find_cluster(const struct clusters *clusters, const struct entry *entry)
{
	for (size_t i = clusters->count; i-- > 0;) {
		struct cluster *cluster = &clusters->list[i];

		if (cluster->topic == entry->topic && (!has_one_kind(entry->topic) ||
		    !strcmp(cluster->words[0].word, entry->word)))
			return cluster->change.first_us - entry->event->wall_us <= CHANGE_APART_US ? cluster : NULL;
	}
	return NULL;
}

static struct cluster *add_cluster(struct clusters *clusters, const struct entry *entry)
{
	struct cluster *list = array_grow(clusters->list, clusters->count, &clusters->capacity, sizeof(*list)), *added;

	if (!list)
		return NULL;
	clusters->list = list;
	added = &list[clusters->count++];
	*added = (struct cluster){ .topic = entry->topic, .change.last_us = entry->event->wall_us };
	snprintf(added->change.text, sizeof(added->change.text), "%s", entry->text);
	return added;
}

static int add_place(struct cluster *cluster, const struct entry *entry)
{
	uint64_t *places;

	cluster->of_fabric |= !entry->place;
	if (!entry->place)
		return 0;
	for (size_t i = 0; i < cluster->place_count; i++)
		if (cluster->places[i] == entry->place)
			return 0;
	places = array_grow(cluster->places, cluster->place_count, &cluster->place_capacity, sizeof(*places));
	if (!places)
		return ERR_NOMEM;
	cluster->places = places;
	if (cluster->place_count < NAMES_MOST)
		memcpy(cluster->names[cluster->place_count], entry->name, sizeof(entry->name));
	places[cluster->place_count++] = entry->place;
	return 0;
}

static void add_word(struct cluster *cluster, const char *word)
{
	size_t i;

	for (i = 0; i < cluster->word_count && strcmp(cluster->words[i].word, word) != 0; i++)
		;
	if (i == WORDS_MOST)
		return;
	cluster->words[i].word = word;
	cluster->words[i].count++;
	cluster->word_count += i == cluster->word_count;
}

static int add_entry(struct clusters *clusters, const struct entry *entry)
{
	struct cluster *cluster = find_cluster(clusters, entry);

	if (!cluster)
		cluster = add_cluster(clusters, entry);
	if (!cluster || add_place(cluster, entry) < 0)
		return ERR_NOMEM;
	add_word(cluster, entry->word);
	cluster->change.first_us = entry->event->wall_us;
	cluster->change.count++;
	return 0;
}

static const char *places_name(enum topic topic)
{
	return topic == TOPIC_HOSTS ? "hosts" : topic == TOPIC_SWITCHES || topic == TOPIC_ROUTES ? "switches" : "nodes";
}

/* "40 hosts: restart 40 (node0001, node0002, node0003, ...)" */
static void write_places(const struct cluster *cluster, const char *counts, struct text *ret)
{
	text_appendf(ret, "%zu %s: %s (", cluster->place_count, places_name(cluster->topic), counts);
	for (size_t i = 0; i < cluster->place_count && i < NAMES_MOST; i++)
		text_appendf(ret, "%s%.40s", i ? ", " : "", cluster->names[i]);
	text_append(ret, cluster->place_count > NAMES_MOST ? ", ...)" : ")");
}

/* Several events in one line: counts, and places. */
static void write_combined(struct cluster *cluster)
{
	struct change *change = &cluster->change;
	struct text counts = { 0 }, text = { 0 };

	for (size_t i = 0; i < cluster->word_count; i++)
		text_appendf(&counts, "%s%s %zu", i ? ", " : "", cluster->words[i].word, cluster->words[i].count);
	if (cluster->topic == TOPIC_CLOSED && !cluster->of_fabric && cluster->place_count)
		text_append(&text, "closed: ");
	if (cluster->of_fabric || !cluster->place_count)
		text_appendf(&text, "%.200s (last of %zu)", change->text, change->count);
	else if (cluster->place_count == 1)
		text_appendf(&text, "%.100s: %s", cluster->names[0], text_chars(&counts));
	else
		write_places(cluster, text_chars(&counts), &text);
	snprintf(change->text, sizeof(change->text), "%s", text_chars(&text));
	text_done(&counts);
	text_done(&text);
}

static void write_brief(struct cluster *cluster)
{
	struct change *change = &cluster->change;
	const char *word = cluster->words[0].word, *closed = cluster->topic == TOPIC_CLOSED ? " closed" : "";

	/* Of the whole fabric: without the explanation behind a colon. */
	if ((cluster->of_fabric || !cluster->place_count) && *closed)
		snprintf(change->brief, sizeof(change->brief), "%s%s", word, closed);
	else if (cluster->of_fabric || !cluster->place_count)
		snprintf(change->brief, sizeof(change->brief), "%.*s", (int)strcspn(change->text, ":"), change->text);
	else if (cluster->place_count == 1)
		snprintf(change->brief, sizeof(change->brief), "%.40s %s%s", cluster->names[0], word, closed);
	else
		snprintf(change->brief, sizeof(change->brief), "%zu %s %s%s", cluster->place_count,
			 places_name(cluster->topic), word, closed);
}

static int add_events(struct clusters *clusters, int64_t since_us, int64_t until_us, struct error *err)
{
	const struct snapshot_context *context = clusters->context;

	for (size_t i = 0; i < context->recent_event_count; i++) {
		const struct recent_event *event = &context->recent_events[i];
		struct entry entry;

		if (event->wall_us > until_us || event->wall_us <= since_us || !classify(clusters, event, &entry))
			continue;
		if (add_entry(clusters, &entry) < 0)
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
	int status = add_events(&clusters, since_us, until_us, err);

	changes_done(ret);
	if (status == 0 && clusters.count) {
		ret->list = calloc(clusters.count, sizeof(*ret->list));
		status = ret->list ? 0 : err_nomem(err);
	}
	for (size_t i = 0; i < clusters.count; i++) {
		struct cluster *cluster = &clusters.list[i];

		if (status == 0) {
			if (cluster->change.count > 1)
				write_combined(cluster);
			write_brief(cluster);
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
