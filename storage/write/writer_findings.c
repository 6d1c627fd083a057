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

/*
 * Rows are only added, so a past time shows what was shown then. A change of the severity, of the
 * cause or of the phase begins a row at its sweep, and so does a peak that exceeds the stored one by an eighth.
 * All else waits: for the next window, if the numbers are of windows; otherwise for an eighth of the age of that state,
 * at most a minute, and after an hour, if it is no count, for a sixtieth of it, at most ten minutes. With many findings
 * it waits so long that twenty are compared per second.
 */
#define TEXT_LONG_US (60 * US_PER_S)
#define TEXT_LONGEST_US (600 * US_PER_S)
#define COMPARED_PER_S 20

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
	result = db_prepare(writer->db, "SELECT f.id, f.kind, f.node_guid, f.port, f.tag,"
			    " coalesce(s.last_seen_us, f.last_seen_us), s.severity, b.cause,"
			    " instr(s.evidence, '\"" FINDINGS_OK_SINCE "\"'),"
			    " instr(s.evidence, '\"" FINDINGS_STOPPED "\"'), s.wall_us, s.peak, s.peak_us"
			    " FROM finding f"
			    " JOIN finding_state s ON s.finding = f.id AND s.from_sweep ="
			    " (SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id)"
			    " JOIN finding_state b ON b.finding = f.id AND b.from_sweep ="
			    " coalesce(s.state_sweep, s.from_sweep) WHERE f.closed_us IS NULL ORDER BY f.id", &rows,
			    err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		const char *kind = (const char *)sqlite3_column_text(rows, 1);
		const char *cause = (const char *)sqlite3_column_text(rows, 7);
		struct stored_finding stored = {
			.id = sqlite3_column_int64(rows, 0), .node_guid = db_u64(rows, 2),
			.port = (uint8_t)sqlite3_column_int(rows, 3), .tag = (uint8_t)sqlite3_column_int(rows, 4),
			.last_seen_us = db_us(rows, 5), .phase = sqlite3_column_int(rows, 8) ? FINDING_PHASE_CLEARING :
				 sqlite3_column_int(rows, 9) ? FINDING_PHASE_STOPPED : FINDING_PHASE_ACTIVE,
			.severity = (enum finding_severity)db_choice(rows, 6, FINDING_CRITICAL),
			.state_us = db_us(rows, 10), .peak_us = db_us(rows, 12),
			.peak = db_real(rows, 11), .peak_stored = db_real(rows, 11),
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

static void append_evidence(struct text *text, const struct finding *finding, int64_t origin)
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
	append_member(text, FINDINGS_ORIGIN, origin);
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

static uint64_t hash_of(uint64_t hash, const char *chars)
{
	for (; *chars; chars++)
		hash = map_mix(hash ^ (unsigned char)*chars);
	return map_mix(hash + 1);
}

/* Of the columns that a row with state_sweep does not have. */
static uint64_t hash_state(const struct finding *finding, const struct text *hosts, const struct text *ports)
{
	uint64_t hash = hash_of(hash_of(0, text_chars(hosts)), text_chars(ports));

	return hash_of(hash_of(hash, finding->subject), finding->advice ? finding->advice : "");
}

/* Of the others. Durations among the numbers change in every sweep: only the text and the measured window count. */
static uint64_t hash_text(const struct finding *finding, double peak)
{
	uint64_t hash = hash_of((uint64_t)finding->since_us, finding->text), bits;

	memcpy(&bits, &peak, sizeof(bits));
	hash = map_mix(map_mix(hash ^ finding->affected_hosts) ^ bits);
	/* What holds was last seen at each sweep; what has ended, and an event, at a time of its own. */
	if (finding->ok_since_us || finding_is_event(finding))
		hash = map_mix(hash ^ (uint64_t)finding->last_seen_us);
	for (unsigned i = 0; i < finding->number_count; i++)
		if (!strcmp(finding->numbers[i].key, FINDING_WINDOW_FROM))
			hash = map_mix(hash ^ (uint64_t)finding->numbers[i].value);
	return map_mix(hash ^ (uint64_t)finding->increased_us);
}

static int write_row(struct writer *writer, const struct finding *finding, const struct stored_finding *stored,
		     int64_t wall_us, int64_t id, const struct text *hosts, const struct text *ports, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_FINDING_STATE];
	bool complete = stored->state_sweep == id;
	const char *const texts[] = { finding->subject, finding->cause, finding->advice, text_chars(hosts),
				      text_chars(ports) };
	struct text evidence = { 0 };
	int result;

	append_evidence(&evidence, finding, stored->origin);
	DB_BIND(insert, 1, stored->id, id, wall_us, finding->severity, finding->since_us, finding->last_seen_us,
		finding->affected_hosts);
	db_bind_nonzero(insert, 8, complete ? 0 : (uint64_t)stored->state_sweep);
	/* NaN is stored as NULL. */
	sqlite3_bind_double(insert, 9, stored->peak);
	db_bind_nonzero(insert, 10, isnan(stored->peak) ? 0 : (uint64_t)stored->peak_us);
	sqlite3_bind_text(insert, 11, finding->text, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 12, text_chars(&evidence), -1, SQLITE_STATIC);
	for (int i = 0; i < 5; i++)
		sqlite3_bind_text(insert, 13 + i, complete && texts[i] ? texts[i] : "", -1, SQLITE_STATIC);
	result = text_failed(&evidence) || text_failed(hosts) || text_failed(ports) ? err_nomem(err) :
		 db_run(insert, err);
	text_done(&evidence);
	return result;
}

/* Add a row, unless the newest one is equal and @changed is false. */
static int store_state(struct writer *writer, const struct finding *finding, struct stored_finding *stored,
		       bool changed, int64_t wall_us, int64_t id, struct error *err)
{
	struct text hosts = { 0 }, ports = { 0 };
	uint64_t state_hash, text_hash = hash_text(finding, stored->peak);
	int result = 0;

	append_hosts(&hosts, finding);
	append_ports(&ports, &writer->cache, finding);
	state_hash = hash_state(finding, &hosts, &ports);
	if (changed || !stored->state_sweep || state_hash != stored->state_hash)
		stored->state_sweep = id;
	if (stored->state_sweep == id || text_hash != stored->text_hash)
		result = write_row(writer, finding, stored, wall_us, id, &hosts, &ports, err);
	stored->state_hash = state_hash;
	stored->text_hash = text_hash;
	stored->peak_stored = stored->peak;
	text_done(&hosts);
	text_done(&ports);
	return result;
}

/* The id of the finding that explains one; it was stored before it. 0: none. */
static int64_t find_origin(const struct writer *writer, const struct finding *finding)
{
	const struct stored_findings *findings = &writer->findings;

	for (size_t i = 0; finding->is_explained && i < findings->count; i++) {
		const struct stored_finding *one = &findings->list[i];

		if (one->kind == finding->origin.kind && one->node_guid == finding->origin.node_guid &&
		    one->port == finding->origin.port && one->tag == finding->origin.tag)
			return one->id;
	}
	return 0;
}

static int open_finding(struct writer *writer, const struct finding *finding, const struct sweep *sweep, int64_t id,
			struct error *err)
{
	sqlite3_stmt *insert = writer->statements[OPEN_FINDING];
	const struct finding_number *magnitude = finding_magnitude(finding);
	struct stored_finding stored = {
		.kind = finding->kind, .node_guid = finding->node_guid, .port = finding->port, .tag = finding->tag,
		.severity = finding->severity, .phase = finding_phase(finding), .last_seen_us = finding->last_seen_us,
		.state_us = sweep->start_us, .compared_us = sweep->start_us, .seen = true,
		.origin = find_origin(writer, finding),
		.peak = magnitude ? magnitude->value : NAN, .peak_stored = NAN, .peak_us = sweep->wall_us,
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
	result = store_state(writer, finding, &stored, true, sweep->wall_us, id, err);
	return result ? result : add_stored(&writer->findings, &stored, err);
}

/* Must a finding be compared with its newest rows in this sweep? */
static bool is_due(const struct stored_findings *findings, const struct stored_finding *stored,
		   const struct finding *finding, int64_t now_us)
{
	int64_t age_us = now_us - stored->state_us, since_us = now_us - stored->compared_us;
	int64_t wait_us = age_us / 8 < TEXT_LONG_US ? age_us / 8 : TEXT_LONG_US;
	int64_t all_us = (int64_t)findings->count * US_PER_S / COMPARED_PER_S, from_us, until_us;

	/* "last error 3 s ago" is a minute late at most. */
	if (age_us / 60 > wait_us && !finding->increased_us)
		wait_us = age_us / 60 < TEXT_LONGEST_US ? age_us / 60 : TEXT_LONGEST_US;
	if (finding_is_of_window(stored->kind) && finding_window(finding, &from_us, &until_us) && until_us > from_us)
		wait_us = until_us - from_us;
	return !stored->compared_us || since_us >= (wait_us > all_us ? wait_us : all_us);
}

/* Return: whether the peak exceeds the stored one by an eighth. */
static bool update_peak(struct stored_finding *stored, const struct finding *finding, int64_t wall_us)
{
	const struct finding_number *magnitude = finding_magnitude(finding);

	if (!magnitude || magnitude->value <= stored->peak)
		return false;
	stored->peak = magnitude->value;
	stored->peak_us = wall_us;
	return !(stored->peak < stored->peak_stored * 9 / 8);
}

static int update_finding(struct writer *writer, const struct finding *finding, struct stored_finding *stored,
			  const struct sweep *sweep, int64_t id, struct error *err)
{
	const char *cause = finding->cause ? finding->cause : "";
	int64_t origin = find_origin(writer, finding);
	bool changed = finding->severity != stored->severity || strcmp(cause, stored->cause) ||
		       finding_phase(finding) != stored->phase || origin != stored->origin;
	bool peaked = update_peak(stored, finding, sweep->wall_us);

	/* Of a previous run only the wall clock is known, which may have been set back since. */
	if (!stored->compared_us) {
		stored->state_us += sweep->start_us - sweep->wall_us;
		if (stored->state_us > sweep->start_us)
			stored->state_us = sweep->start_us;
	}
	stored->seen = true;
	stored->last_seen_us = finding->last_seen_us;
	if (!changed && !peaked && !is_due(&writer->findings, stored, finding, sweep->start_us))
		return 0;
	if (changed)
		stored->state_us = sweep->start_us;
	stored->phase = finding_phase(finding);
	stored->severity = finding->severity;
	stored->compared_us = sweep->start_us;
	stored->origin = origin;
	snprintf(stored->cause, sizeof(stored->cause), "%s", cause);
	return store_state(writer, finding, stored, changed, sweep->wall_us, id, err);
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
	/* Findings that explain others first, for their ids. */
	for (size_t i = 0; !result && i < 2 * sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i % sweep->finding_count];
		uint32_t at;

		if (finding->is_explained != (i >= sweep->finding_count))
			continue;
		if (map_get(&places, place_key(finding->kind, finding->node_guid, finding->port, finding->tag), &at) &&
		    is_same_place(&findings->list[at], finding))
			result = update_finding(writer, finding, &findings->list[at], sweep, id, err);
		else
			result = open_finding(writer, finding, sweep, id, err);
	}
	map_done(&places);
	return result ? result : close_findings(writer, sweep, id, err);
}
