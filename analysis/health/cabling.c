/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cabling.c - differences between the cabling plan and the fabric
 *
 * Compared when the plan or the topology changes. A link that was up and is down has a finding of its own, as has a
 * link that runs below what its ends support: neither is a fault of the cabling.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/text.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"

/* Above this number, differences of one severity are one finding; tags of these, and the first one of single ones. */
enum { MANY_DIFFERENCES = 10, TAG_MANY = 1, TAG_MANY_EXTRA, TAG_SINGLE };

/* Where a difference is, and since when. */
struct entry {
	uint64_t guid;
	uint8_t port; /* 0: a node */
	uint8_t change;
	bool holds;   /* in this step */
	struct health_time since;
};

struct cabling {
	bool compared;
	uint64_t plan_generation, generation; /* of the last comparison */
	struct plan_ports places;
	struct plan_diff diff;
	struct entry *entries; /* parallel to the differences */
};

static void forget(struct cabling *state)
{
	if (!state->compared)
		return;
	plan_ports_done(&state->places);
	plan_diff_done(&state->diff);
	free(state->entries);
	*state = (struct cabling){ 0 };
}

static void done(void *state)
{
	forget(state);
}

static struct health_open_finding *find_open(const struct health *health, const struct entry *entry)
{
	return health_find_open(health, FINDING_PLAN_DIFFERS, entry->guid, entry->port,
				(uint8_t)(TAG_SINGLE + entry->change));
}

/* The open finding about all differences of one severity, or NULL. */
static struct health_open_finding *find_many(const struct health *health, bool extra)
{
	return health_find_open(health, FINDING_PLAN_DIFFERS, 0, 0, extra ? TAG_MANY_EXTRA : TAG_MANY);
}

static void place_entry(const struct health *health, const struct cabling *state, size_t at)
{
	const struct plan_difference *one = &state->diff.list[at];
	const struct fabric *fabric = health->input->fabric;
	struct entry *entry = &state->entries[at];
	uint32_t peer, port = plan_difference_port(&state->places, health->input->shape, &state->diff, one, &peer);
	const struct health_open_finding *open;

	entry->change = (uint8_t)one->change;
	if (one->node != FABRIC_NONE) {
		entry->guid = fabric->nodes[one->node].guid;
	} else if (port != FABRIC_NONE) {
		entry->guid = fabric->nodes[fabric->ports[port].node].guid;
		entry->port = fabric->ports[port].num;
	}
	open = find_open(health, entry);
	entry->since = open ? open->since : health_now(health);
}

/* A difference that the last comparison found as well keeps its start. */
static void keep_starts(const struct cabling *before, const struct cabling *now)
{
	for (size_t i = 0; i < now->diff.count; i++)
		for (size_t j = 0; j < before->diff.count; j++) {
			const struct entry *was = &before->entries[j];
			struct entry *is = &now->entries[i];

			if (was->guid == is->guid && was->port == is->port && was->change == is->change)
				is->since = was->since;
		}
}

/* With more differences none keeps its start: all pairs are compared. */
enum { STARTS_MOST = 1000 };

static void compare(struct health *health, struct cabling *state)
{
	const struct health_input *input = health->input;
	struct cabling now = { .plan_generation = input->plan_generation, .generation = health->generation };

	if (plan_resolve(input->plan, input->shape, &now.places, NULL) < 0) {
		health->failed = true;
		return;
	}
	if (plan_compare(input->plan, &now.places, input->shape, &now.diff, NULL) == 0)
		now.entries = calloc(now.diff.count + 1, sizeof(*now.entries));
	if (!now.entries) {
		plan_ports_done(&now.places);
		plan_diff_done(&now.diff);
		health->failed = true;
		return;
	}
	for (size_t i = 0; i < now.diff.count; i++)
		place_entry(health, &now, i);
	if (state->compared && now.diff.count <= STARTS_MOST && state->diff.count <= STARTS_MOST)
		keep_starts(state, &now);
	now.compared = true;
	forget(state);
	*state = now;
}

/* Does another rule report that a planned link is down, or slow, or leads to a node that does not respond? */
static bool is_reported(const struct health *health, const struct cabling *state, const struct plan_difference *one)
{
	for (uint32_t i = one->first_link; i < one->first_link + one->link_count; i++) {
		const uint32_t *ports = state->places.links[state->diff.links[i]].port;
		bool known = false;

		for (unsigned end = 0; end < 2; end++) {
			const struct health_port *port = ports[end] == FABRIC_NONE ? NULL : health->port_of[ports[end]];

			known |= port && (one->change == PLAN_SLOW ? port->degraded != LINK_NOT_DEGRADED :
					  port->link == LINK_IS_DOWN ||
					  port_is_unidentified(&health->input->fabric->ports[ports[end]]));
		}
		if (!known)
			return false;
	}
	return one->change == PLAN_MISSING || one->change == PLAN_ABSENT || one->change == PLAN_SLOW;
}

static void add_ports(const struct health *health, const struct cabling *state, const struct plan_difference *one,
		      struct health_set *set)
{
	for (uint32_t i = one->first_port; i < one->first_port + one->port_count; i++)
		health_set_add(set, health->port_of[state->diff.ports[i]]);
	for (uint32_t i = one->first_link; !one->port_count && i < one->first_link + one->link_count; i++)
		for (unsigned end = 0; end < 2; end++) {
			uint32_t port = state->places.links[state->diff.links[i]].port[end];

			if (port != FABRIC_NONE)
				health_set_add(set, health->port_of[port]);
		}
}

static void hold_one(struct health *health, const struct cabling *state, size_t at)
{
	const struct plan_difference *one = &state->diff.list[at];
	const struct entry *entry = &state->entries[at];
	const struct plan *plan = health->input->plan;
	const struct plan_link *link = one->link_count ? &plan->links[state->diff.links[one->first_link]] : NULL;
	struct health_node *node = health_find_node(health, entry->guid);
	struct health_open_finding *open;
	struct health_set ports = { 0 };
	struct text text = { 0 };

	if (!node || entry->port >= node->slots)
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_PLAN_DIFFERS, .severity = one->change == PLAN_EXTRA ? FINDING_INFO : FINDING_WARNING,
		.node = node, .port = entry->port ? &node->ports[entry->port] : NULL,
		.tag = (uint8_t)(TAG_SINGLE + one->change), .since = entry->since,
		.cause = plan_change_name(one->change),
		.subject = !entry->port && node->host ? node->host->name : NULL });
	plan_difference_text(&text, plan, &state->places, health->input->shape, &state->diff, one);
	health->failed |= text_failed(&text);
	if (link && link->line)
		health_text(open, TENSE("differs", "differed") " from the cabling plan (%.80s:%u): %s",
			    plan->files[link->file].name, link->line, text_chars(&text));
	else
		health_text(open, TENSE("differs", "differed") " from the cabling plan: %s", text_chars(&text));
	text_done(&text);
	health_number(open, "links", one->change == PLAN_EXTRA ? 1 : one->link_count);
	health_number(open, "moves", one->move_count);
	open->extent = one->link_count;
	add_ports(health, state, one, &ports);
	health_list_set(open, &ports);
}

/* The number of each change: "3 swapped, 9 missing". */
static void count_changes(const struct cabling *state, bool extra, struct text *text)
{
	uint32_t counts[PLAN_CHANGE_COUNT] = { 0 };
	bool any = false;

	for (size_t i = 0; i < state->diff.count; i++)
		counts[state->diff.list[i].change] += state->entries[i].holds;
	for (int i = 0; i < PLAN_CHANGE_COUNT; i++) {
		if (!counts[i] || (i == PLAN_EXTRA) != extra)
			continue;
		text_appendf(text, "%s%u %s", any ? ", " : "", counts[i], plan_change_name((enum plan_change)i));
		any = true;
	}
}

static void hold_many(struct health *health, const struct cabling *state, bool extra, uint32_t count)
{
	struct health_set ports = { 0 };
	struct health_time since = { 0 };
	struct health_open_finding *open;
	struct text text = { 0 };

	for (size_t i = 0; i < state->diff.count; i++) {
		const struct entry *entry = &state->entries[i];

		if (!entry->holds || (entry->change == PLAN_EXTRA) != extra)
			continue;
		health_drop(find_open(health, entry));
		add_ports(health, state, &state->diff.list[i], &ports);
		if (!since.us || entry->since.us < since.us)
			since = entry->since;
	}
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_PLAN_DIFFERS, .severity = extra ? FINDING_INFO : FINDING_WARNING,
		.tag = extra ? TAG_MANY_EXTRA : TAG_MANY, .since = since, .cause = extra ? "extra" : "cabling",
		.subject = "cabling" });
	count_changes(state, extra, &text);
	health_text(open, "%u places " TENSE("differ", "differed") " from the cabling plan (%s): ibwire topology check "
		    "lists them", count, text_chars(&text));
	health->failed |= text_failed(&text);
	text_done(&text);
	health_number(open, "differences", count);
	open->extent = count;
	health_list_set(open, &ports);
}

/* Single findings while there are few, one for all otherwise; the other form closes at once. */
static void hold_all(struct health *health, struct cabling *state, bool extra, uint32_t count)
{
	if (count > MANY_DIFFERENCES) {
		hold_many(health, state, extra, count);
		return;
	}
	health_drop(count ? find_many(health, extra) : NULL);
	for (size_t i = 0; i < state->diff.count; i++)
		if (state->entries[i].holds && (state->entries[i].change == PLAN_EXTRA) == extra)
			hold_one(health, state, i);
}

static void sweep(struct health *health, void *ctx)
{
	const struct health_input *input = health->input;
	struct cabling *state = ctx;
	uint32_t counts[2] = { 0 };
	bool many[2];

	if (!input->plan) {
		forget(state);
		return;
	}
	if (!state->compared || state->plan_generation != input->plan_generation ||
	    state->generation != health->generation)
		compare(health, state);
	if (!state->compared || state->generation != health->generation)
		return;
	for (unsigned extra = 0; extra < 2; extra++)
		many[extra] = find_many(health, extra);
	for (size_t i = 0; i < state->diff.count; i++) {
		struct entry *entry = &state->entries[i];
		bool extra = entry->change == PLAN_EXTRA;

		entry->holds = (health->now_us - entry->since.us >= health->settings.degraded_after_us || many[extra] ||
				find_open(health, entry)) && !is_reported(health, state, &state->diff.list[i]);
		counts[extra] += entry->holds;
	}
	hold_all(health, state, false, counts[false]);
	hold_all(health, state, true, counts[true]);
}

const struct health_rule health_cabling = { .state_size = sizeof(struct cabling), .sweep = sweep, .done = done };
