/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * firmware.c - nodes of one kind with different firmware
 *
 * Nodes are of one kind if they have the same type, DeviceID and PSID: firmware is made for a PSID, so boards of an
 * OEM, which have releases of their own, are another kind. Nodes without a known version or PSID are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/map.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/device.h"
#include "fabric/names.h"

/* Names of nodes in the text; the others are counted. */
enum { NAMED_MOST = 6 };

/* A change within this time is part of an update that is under way. */
#define UPDATE_US (24 * HOUR_US)

struct entry {
	const struct node *node;
	const struct health_node *known;
	const char *label; /* name of its host, or of itself */
};

static int compare_kinds(const struct entry *a, const struct entry *b)
{
	int result = (int)a->node->type - b->node->type;

	if (!result)
		result = (int)a->node->device_id - b->node->device_id;
	return result ? result : strcmp(a->node->firmware.psid, b->node->firmware.psid);
}

/* By kind, then the newest version first, then by name. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int result = compare_kinds(a, b);

	if (!result)
		result = firmware_compare(&b->node->firmware, &a->node->firmware);
	return result ? result : names_compare(a->label, b->label);
}

/* The number of entries from @at on, of @count, with the same version. */
static size_t same_version(const struct entry *entries, size_t at, size_t count)
{
	size_t end = at + 1;

	while (end < count && !firmware_compare(&entries[end].node->firmware, &entries[at].node->firmware))
		end++;
	return end - at;
}

/* ": 28.38.1002 at node07, node08; 28.37.1014 at node12 and 3 more" */
static void append_others(struct text *text, const struct entry *entries, size_t count, size_t usual)
{
	size_t named = 0;

	for (size_t at = 0, equal; at < count; at += equal) {
		const char *last = NULL;
		char version[FIRMWARE_TEXT_SIZE];
		size_t left_out = 0;

		equal = same_version(entries, at, count);
		if (at == usual)
			continue;
		text_appendf(text, "%s%s at", named ? "; " : ": ",
			     firmware_format(&entries[at].node->firmware, version));
		for (size_t i = at; i < at + equal; i++) {
			if (last && !strcmp(last, entries[i].label))
				continue;
			if (named == NAMED_MOST) {
				left_out++;
			} else {
				text_appendf(text, "%s %.40s", last ? "," : "", entries[i].label);
				named++;
			}
			last = entries[i].label;
		}
		if (left_out)
			text_appendf(text, " and %zu more", left_out);
	}
}

/* "; the versions of 28 more HCAs with this DeviceID are unknown": their PSIDs, too, so they may be of another kind */
static void append_unknown(struct text *text, const struct fabric *fabric, const struct node *one)
{
	size_t unknown = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		unknown += node->type == one->type && node->device_id == one->device_id && !node->kept &&
			   (!node->firmware.source || !*node->firmware.psid);
	}
	if (unknown)
		text_appendf(text, "; the version%s of %zu more %s with this DeviceID %s unknown", text_plural(unknown),
			     unknown, one->type == NODE_SWITCH ? unknown == 1 ? "switch" : "switches" :
								 unknown == 1 ? "HCA" : "HCAs",
			     unknown == 1 ? "is" : "are");
}

static void hold(struct health *health, const struct entry *entries, size_t count, size_t usual, uint8_t tag)
{
	size_t usual_count = same_version(entries, usual, count), others = count - usual_count, versions = 0;
	int64_t first_us = INT64_MAX, last_us = 0;
	char model[DEVICE_MODEL_SIZE], version[FIRMWARE_TEXT_SIZE], since[WHEN_SIZE], last[WHEN_SIZE];
	const struct node *one = entries[usual].node;
	const char *name = device_model(one, model);
	char devices[DEVICE_MODEL_SIZE + 16];
	struct health_open_finding *open;
	struct health_set ports = { 0 };
	struct text text = { 0 };
	bool updating;

	snprintf(devices, sizeof(devices), name ? "%s %s" : "%.0s%s", name ? name : "",
		 one->type == NODE_SWITCH ? "switches" : "HCAs");

	for (size_t i = 0; i < count; i++) {
		int64_t changed_us = entries[i].node->firmware.changed_us;

		versions += !i || firmware_compare(&entries[i].node->firmware, &entries[i - 1].node->firmware);
		if (changed_us && changed_us > health->wall_us - UPDATE_US && changed_us < first_us)
			first_us = changed_us;
		if (changed_us > last_us)
			last_us = changed_us;
		if (i < usual || i >= usual + usual_count)
			health_set_add_links(&ports, entries[i].known);
	}
	updating = first_us != INT64_MAX;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_FIRMWARE_MIXED, .severity = FINDING_INFO, .tag = tag,
		.since = updating ? health_before(health, health->wall_us - first_us) : health_now(health),
		.cause = updating ? "update" : "versions", .subject = name ? name : "firmware" });
	append_others(&text, entries, count, usual);
	if (updating)
		text_appendf(&text, "; updated since %s", when_format_local(first_us, since));
	if (updating && last_us > first_us)
		text_appendf(&text, ", last %s", when_format_local(last_us, last));
	append_unknown(&text, health->fabric, one);
	health_text(open, others == 1 ? "%zu of %zu %s with PSID %s " TENSE("has", "had") " other firmware than %s%s" :
		    "%zu of %zu %s with PSID %s " TENSE("have", "had") " other firmware than %s%s", others, count,
		    devices, one->firmware.psid, firmware_format(&one->firmware, version), text_chars(&text));
	health->failed |= text_failed(&text);
	text_done(&text);
	health_number(open, "nodes_with_other", (double)others);
	health_number(open, "nodes", (double)count);
	health_number(open, "versions", (double)versions);
	open->extent = (double)others;
	health_list_set(open, &ports);
}

/* Findings, and their tags. Devices can report any PSID. */
enum { KINDS_MOST = 32 };

struct tags {
	bool used[UINT8_MAX + 1];
	unsigned count;
};

/* Two kinds of a fabric hardly have one tag; then the second one gets another. */
static uint8_t tag_of(const struct entry *entry)
{
	uint64_t hash = map_hash_text(MAP_HASH_START, entry->node->firmware.psid);

	return (uint8_t)(1 + map_mix(hash ^ (uint64_t)entry->node->device_id << 8 ^ entry->node->type) % UINT8_MAX);
}

static void judge_kind(struct health *health, const struct entry *entries, size_t count, struct tags *tags)
{
	size_t usual = 0, most = 0;
	uint8_t tag;

	for (size_t at = 0, equal; at < count; at += equal) {
		equal = same_version(entries, at, count);
		if (equal > most) {
			most = equal;
			usual = at;
		}
	}
	if (most == count || tags->count == KINDS_MOST)
		return;
	for (tag = tag_of(&entries[0]); tags->used[tag]; tag++)
		;
	tags->used[tag] = true;
	tags->count++;
	hold(health, entries, count, usual, tag);
}

static void sweep(struct health *health, void *ctx)
{
	const struct fabric *fabric = health->fabric;
	struct tags tags = { 0 };
	struct entry *entries = NULL;
	size_t count = 0;

	(void)ctx;
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		const struct health_node *known;

		if (!node->firmware.source || !*node->firmware.psid || node->kept)
			continue;
		known = health_find_node(health, node->guid);
		if (!entries && !(entries = calloc(fabric->node_count - i, sizeof(*entries)))) {
			health->failed = true;
			return;
		}
		entries[count++] = (struct entry){ node, known, known && known->host ? known->host->name :
								fabric->names.shown[i] };
	}
	if (count)
		qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t at = 0, end; at < count; at = end) {
		for (end = at + 1; end < count && !compare_kinds(&entries[at], &entries[end]); end++)
			;
		judge_kind(health, entries + at, end - at, &tags);
	}
	free(entries);
}

const struct health_rule health_firmware = { 0, sweep, NULL, NULL, NULL };
