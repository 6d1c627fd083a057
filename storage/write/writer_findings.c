/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_findings.c - findings that open, change and close */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/findings.h"
#include "storage/write/writer_internal.h"

/* Interval of updates of an open finding; its severity, cause and text are updated at once. */
#define REFRESH_US (60 * US_PER_S)

/* Keys of two places may be equal: is_same_place() compares the finding itself. */
static uint64_t place_key(enum finding_kind kind, uint64_t guid, uint8_t port, uint8_t tag)
{
	return map_mix(guid ^ map_mix((uint64_t)kind << 16 | (uint64_t)port << 8 | tag));
}

static bool is_same_place(const struct stored_finding *stored, const struct finding *finding)
{
	return stored->kind == finding->kind && stored->node_guid == finding->node_guid &&
	       stored->port == finding->port && stored->tag == finding->tag;
}

void stored_findings_done(struct stored_findings *findings)
{
	free(findings->list);
	memset(findings, 0, sizeof(*findings));
}

static int add_stored(struct stored_findings *findings, const struct stored_finding *stored, struct error *err)
{
	struct stored_finding *list = array_grow(findings->list, findings->count, &findings->capacity,
						 sizeof(*findings->list));

	if (!list)
		return err_nomem(err);
	findings->list = list;
	findings->list[findings->count++] = *stored;
	return 0;
}

static int load(struct writer *writer, struct error *err)
{
	struct stored_findings *findings = &writer->findings;
	sqlite3_stmt *rows;
	int result;

	findings->count = 0;
	result = db_prepare(writer->db, "SELECT f.id, f.kind, f.node_guid, f.port, f.tag, f.last_seen_us, s.from_sweep,"
			    " s.severity, s.cause, f.opened_us FROM finding f JOIN finding_state s ON s.finding = f.id"
			    " AND s.from_sweep = (SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id)"
			    " WHERE f.closed_us IS NULL ORDER BY f.id", &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		const char *kind = (const char *)sqlite3_column_text(rows, 1);
		const char *cause = (const char *)sqlite3_column_text(rows, 8);
		struct stored_finding stored = {
			.id = sqlite3_column_int64(rows, 0), .node_guid = db_u64(rows, 2),
			.port = (uint8_t)sqlite3_column_int(rows, 3), .tag = (uint8_t)sqlite3_column_int(rows, 4),
			.last_seen_us = db_us(rows, 5), .state_sweep = sqlite3_column_int64(rows, 6),
			.opened_us = db_us(rows, 9),
			.severity = (enum finding_severity)db_choice(rows, 7, FINDING_CRITICAL),
		};
		int known = kind ? finding_kind_find(kind) : -1;

		/* A kind of a later version: it does not change. */
		if (known < 0)
			continue;
		stored.kind = (enum finding_kind)known;
		snprintf(stored.cause, sizeof(stored.cause), "%s", cause ? cause : "");
		result = add_stored(findings, &stored, err);
	}
	sqlite3_finalize(rows);
	findings->loaded = result >= 0;
	return result < 0 ? result : 0;
}

/* As JSON. The strings are sanitised. */
static void append_string(struct text *text, const char *chars)
{
	text_append(text, "\"");
	for (; *chars; chars++) {
		if (*chars == '"' || *chars == '\\')
			text_append(text, "\\");
		if ((unsigned char)*chars >= ' ')
			text_append_bytes(text, chars, 1);
	}
	text_append(text, "\"");
}

static void append_member(struct text *text, const char *key, int64_t value)
{
	if (value)
		text_appendf(text, "%s\"%s\":%" PRId64, text->len > 1 ? "," : "", key, value);
}

static void append_evidence(struct text *text, const struct finding *finding)
{
	text_append(text, "{");
	for (unsigned i = 0; i < finding->number_count; i++) {
		double value = finding->numbers[i].value;

		text_append(text, i ? "," : "");
		append_string(text, finding->numbers[i].key);
		/* JSON has neither infinity nor NaN. Times in us have 16 digits. */
		if (value - value == 0)
			text_appendf(text, value == floor(value) && fabs(value) < 9e15 ? ":%.0f" : ":%.9g", value);
		else
			text_append(text, ":null");
	}
	append_member(text, FINDINGS_OK_SINCE, finding->ok_since_us);
	append_member(text, FINDINGS_INCREASED, finding->increased_us);
	append_member(text, FINDINGS_STOPPED, finding->stopped);
	text_append(text, "}");
}

static void append_hosts(struct text *text, const struct finding *finding)
{
	text_append(text, "[");
	for (unsigned i = 0; i < finding->host_count; i++) {
		text_append(text, i ? "," : "");
		append_string(text, finding->hosts[i]);
	}
	text_append(text, "]");
}

static void append_ports(struct text *text, const struct writer_cache *cache, const struct finding *finding)
{
	for (unsigned i = 0; i < finding->port_count; i++) {
		uint32_t node = writer_cache_find_node(cache, finding->ports[i].node_guid);
		uint32_t port = node ? writer_cache_find_port(cache, node, finding->ports[i].port) : 0;

		if (port)
			text_appendf(text, "%s%" PRIu32, text->len ? "," : "[", port);
	}
	text_append(text, text->len ? "]" : "[]");
}

static int write_state(struct writer *writer, const struct finding *finding, const struct stored_finding *stored,
		       int64_t wall_us, struct error *err)
{
	sqlite3_stmt *replace = writer->statements[WRITE_FINDING_STATE];
	struct text evidence = { 0 }, hosts = { 0 }, ports = { 0 };
	int result;

	append_evidence(&evidence, finding);
	append_hosts(&hosts, finding);
	append_ports(&ports, &writer->cache, finding);
	if (text_failed(&evidence) || text_failed(&hosts) || text_failed(&ports)) {
		result = err_nomem(err);
	} else {
		DB_BIND(replace, 1, stored->id, stored->state_sweep, wall_us, finding->severity);
		sqlite3_bind_text(replace, 5, finding->subject, -1, SQLITE_STATIC);
		sqlite3_bind_text(replace, 6, finding->cause ? finding->cause : "", -1, SQLITE_STATIC);
		sqlite3_bind_text(replace, 7, finding->text, -1, SQLITE_STATIC);
		sqlite3_bind_text(replace, 8, finding->advice ? finding->advice : "", -1, SQLITE_STATIC);
		sqlite3_bind_text(replace, 9, text_chars(&evidence), -1, SQLITE_STATIC);
		sqlite3_bind_text(replace, 10, text_chars(&hosts), -1, SQLITE_STATIC);
		sqlite3_bind_int64(replace, 11, finding->affected_hosts);
		sqlite3_bind_text(replace, 12, text_chars(&ports), -1, SQLITE_STATIC);
		result = db_run(replace, err);
	}
	text_done(&evidence);
	text_done(&hosts);
	text_done(&ports);
	return result;
}

/* Changes when the text, its count or the measured window does; durations among the numbers change in every sweep. */
static uint64_t hash_text(const struct finding *finding)
{
	uint64_t hash = 0;

	for (const char *at = finding->text; *at; at++)
		hash = map_mix(hash ^ (unsigned char)*at);
	for (unsigned i = 0; i < finding->number_count; i++)
		if (!strcmp(finding->numbers[i].key, FINDING_WINDOW_FROM))
			hash = map_mix(hash ^ (uint64_t)finding->numbers[i].value);
	return map_mix(hash ^ (uint64_t)finding->increased_us);
}

static int open_finding(struct writer *writer, const struct finding *finding, const struct sweep *sweep, int64_t id,
			struct error *err)
{
	sqlite3_stmt *insert = writer->statements[OPEN_FINDING];
	struct stored_finding stored = {
		.kind = finding->kind, .node_guid = finding->node_guid, .port = finding->port, .tag = finding->tag,
		.severity = finding->severity, .last_seen_us = finding->last_seen_us, .refreshed_us = sweep->wall_us,
		.opened_us = sweep->wall_us, .state_sweep = id, .state_us = sweep->wall_us, .first = true,
		.text_hash = hash_text(finding), .seen = true,
	};
	int result;

	sqlite3_bind_text(insert, 1, finding_kind_name(finding->kind), -1, SQLITE_STATIC);
	db_bind_nonzero(insert, 2, finding->node_guid);
	sqlite3_bind_int(insert, 3, finding->port);
	db_bind_nonzero(insert, 4, finding->peer_guid);
	DB_BIND(insert, 5, finding->peer_port, finding->tag, finding->since_us, sweep->wall_us, id,
		finding->last_seen_us);
	result = db_run(insert, err);
	if (result < 0)
		return result;
	stored.id = sqlite3_last_insert_rowid(writer->db);
	snprintf(stored.cause, sizeof(stored.cause), "%s", finding->cause ? finding->cause : "");
	result = write_state(writer, finding, &stored, sweep->wall_us, err);
	return result ? result : add_stored(&writer->findings, &stored, err);
}

/*
 * Begin a new state, or replace the newest one. A change of severity or cause is a new state, and the first state
 * of it is never replaced. Others are new after a minute, later after an eighth of the age of the finding: so their
 * number grows with its logarithm.
 */
static void choose_state(struct stored_finding *stored, bool changed, int64_t wall_us, int64_t id)
{
	int64_t least_us = (wall_us - stored->opened_us) / 8;

	if (!changed && !stored->first && wall_us - stored->state_us < (least_us > REFRESH_US ? least_us : REFRESH_US))
		return;
	stored->state_sweep = id;
	stored->state_us = wall_us;
	stored->first = changed;
}

static int update_finding(struct writer *writer, const struct finding *finding, struct stored_finding *stored,
			  const struct sweep *sweep, int64_t id, struct error *err)
{
	const char *cause = finding->cause ? finding->cause : "";
	bool changed = finding->severity != stored->severity || strcmp(cause, stored->cause);
	bool turned = stored->phase != finding_phase(finding);
	uint64_t text_hash = hash_text(finding);
	sqlite3_stmt *update = writer->statements[SEE_FINDING];
	int result;

	stored->seen = true;
	stored->last_seen_us = finding->last_seen_us;
	/* If the wall clock was set back, it is written once more, which is harmless. */
	if (!changed && !turned && text_hash == stored->text_hash && sweep->wall_us >= stored->refreshed_us &&
	    sweep->wall_us - stored->refreshed_us < REFRESH_US)
		return 0;
	choose_state(stored, changed, sweep->wall_us, id);
	stored->phase = finding_phase(finding);
	stored->text_hash = text_hash;
	stored->severity = finding->severity;
	stored->refreshed_us = sweep->wall_us;
	snprintf(stored->cause, sizeof(stored->cause), "%s", cause);
	DB_BIND(update, 1, stored->id, finding->since_us, finding->last_seen_us);
	result = db_run(update, err);
	return result ? result : write_state(writer, finding, stored, sweep->wall_us, err);
}

/* Close the open findings that this sweep does not contain. */
static int close_findings(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	sqlite3_stmt *update = writer->statements[CLOSE_FINDING];
	struct stored_findings *findings = &writer->findings;
	size_t open = 0;
	int result = 0;

	for (size_t i = 0; !result && i < findings->count; i++) {
		struct stored_finding *stored = &findings->list[i];

		if (stored->seen) {
			findings->list[open++] = *stored;
			continue;
		}
		DB_BIND(update, 1, stored->id, stored->last_seen_us, sweep->wall_us, id);
		result = db_run(update, err);
	}
	if (!result)
		findings->count = open;
	return result;
}

/* Index the open findings by their places. */
static int index_places(struct stored_findings *findings, struct map *ret, struct error *err)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct stored_finding *stored = &findings->list[i];

		stored->seen = false;
		if (map_put(ret, place_key(stored->kind, stored->node_guid, stored->port, stored->tag), (uint32_t)i))
			return err_nomem(err);
	}
	return 0;
}

int writer_store_findings(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	struct stored_findings *findings = &writer->findings;
	struct map places = { 0 };
	int result = 0;

	if (!sweep->findings)
		return 0;
	if (!findings->loaded)
		result = load(writer, err);
	if (!result)
		result = index_places(findings, &places, err);
	for (size_t i = 0; !result && i < sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i];
		uint32_t at;

		if (map_get(&places, place_key(finding->kind, finding->node_guid, finding->port, finding->tag), &at) &&
		    is_same_place(&findings->list[at], finding))
			result = update_finding(writer, finding, &findings->list[at], sweep, id, err);
		else
			result = open_finding(writer, finding, sweep, id, err);
	}
	map_done(&places);
	return result ? result : close_findings(writer, sweep, id, err);
}
