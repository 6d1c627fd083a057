/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/file/schema.h"
#include "storage/file/tables.h"

/*
 * ?1 the sweep of the requested time, ?2 the first sweep of the window, ?3 that time, ?4 a node or 0, ?5 the wall clock
 * of the sweep.
 */
#define STATE_THEN "(SELECT max(l.from_sweep) FROM finding_state l WHERE l.finding = f.id AND l.from_sweep <= ?1)"
#define IS_CLOSED "f.closed_sweep <= ?1"
static const char findings_sql[] =
	"SELECT f.id, f.kind, f.node_guid, f.port, f.peer_guid, f.peer_port, f.tag, coalesce(s.since_us, f.since_us),"
	" f.opened_us, CASE WHEN " IS_CLOSED " THEN f.last_seen_us ELSE coalesce(s.last_seen_us, f.last_seen_us) END,"
	" CASE WHEN " IS_CLOSED " THEN f.closed_us END, s.severity, b.subject, b.cause, s.text,"
	" b.advice, s.evidence, b.hosts, s.affected_hosts, b.ports, s.wall_us, a.at_us, a.until_us, a.person, a.reason,"
	" " TABLES_NAME_AT("f.node_guid", "?1") ", " TABLES_NAME_AT("f.peer_guid", "?1") ", s.peak, s.peak_us, ?5"
	" FROM finding f JOIN finding_state s ON s.finding = f.id AND s.from_sweep = " STATE_THEN
	" JOIN finding_state b ON b.finding = f.id AND b.from_sweep = coalesce(s.state_sweep, s.from_sweep)"
	" LEFT JOIN acknowledgement a ON a.id = (SELECT max(o.id) FROM acknowledgement o WHERE o.kind = f.kind"
	" AND o.node_guid IS f.node_guid AND o.port = f.port AND o.tag = f.tag AND o.at_us <= ?3)"
	" AND (a.until_us IS NULL OR a.until_us > ?3)"
	" WHERE f.opened_sweep <= ?1 AND (f.closed_sweep IS NULL OR f.closed_sweep > ?2)"
	" AND (?4 = 0 OR f.node_guid = ?4 OR f.peer_guid = ?4 OR EXISTS (SELECT 1 FROM json_each(b.ports) j"
	" JOIN port p ON p.id = j.value JOIN node n ON n.id = p.node WHERE n.guid = ?4)) ORDER BY f.id";

enum {
	ID, KIND, NODE, PORT, PEER, PEER_PORT, TAG, SINCE, OPENED, LAST_SEEN, CLOSED, SEVERITY, SUBJECT, CAUSE, TEXT,
	ADVICE, EVIDENCE, HOSTS, HOSTS_TOUCHED, PORTS, MEASURED, ACK_AT, ACK_UNTIL, ACK_PERSON, ACK_REASON,
	NODE_NAME, PEER_NAME, PEAK, PEAK_AT, SWEEP_AT,
};

static void copy_text(sqlite3_stmt *row, int at, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, at);

	snprintf(ret, size, "%s", text ? text : "");
}

/* Adds a member of the JSON text in column EVIDENCE, HOSTS or PORTS. Return: whether more are possible. */
static bool add_member(sqlite3_stmt *member, int column, struct finding_row *ret)
{
	struct finding *finding = &ret->finding;
	struct finding_number *number = &finding->numbers[finding->number_count];
	char *key = ret->keys[finding->number_count];

	if (column == PORTS) {
		finding->ports[finding->port_count++] =
			(struct finding_port){ db_u64(member, 2), (uint8_t)sqlite3_column_int(member, 3) };
		return finding->port_count < FINDING_PORTS_MAX;
	}
	if (column == HOSTS) {
		copy_text(member, 1, finding->hosts[finding->host_count++], sizeof(finding->hosts[0]));
		return finding->host_count < FINDING_HOSTS_MAX;
	}
	copy_text(member, 0, key, sizeof(ret->keys[0]));
	if (!strcmp(key, FINDINGS_OK_SINCE)) {
		finding->ok_since_us = db_us(member, 1);
		return true;
	}
	if (!strcmp(key, FINDINGS_INCREASED)) {
		finding->increased_us = db_us(member, 1);
		return true;
	}
	if (!strcmp(key, FINDINGS_STOPPED)) {
		finding->stopped = sqlite3_column_int(member, 1) != 0;
		return true;
	}
	if (!strcmp(key, FINDINGS_ORIGIN)) {
		ret->origin = sqlite3_column_int64(member, 1);
		return true;
	}
	*number = (struct finding_number){ key, sqlite3_column_type(member, 1) == SQLITE_NULL ? __builtin_nan("") :
						sqlite3_column_double(member, 1) };
	return ++finding->number_count < FINDING_NUMBERS_MAX;
}

static int read_members(sqlite3_stmt *members, sqlite3_stmt *row, int column, struct finding_row *ret,
			struct error *err)
{
	int result;

	/* It copies the text. */
	if (sqlite3_bind_value(members, 1, sqlite3_column_value(row, column)) != SQLITE_OK)
		return err_nomem(err);
	while ((result = db_step(members, err)) > 0 && add_member(members, column, ret))
		;
	sqlite3_reset(members);
	return result < 0 ? result : 0;
}

/* Return: 1; 0 for a kind of a newer version; or an error. */
static int read_row(sqlite3_stmt *members, sqlite3_stmt *ports, sqlite3_stmt *row, struct finding_row *ret,
		    struct error *err)
{
	const char *word = (const char *)sqlite3_column_text(row, KIND);
	struct finding *finding = &ret->finding;
	int kind = word ? finding_kind_find(word) : -1, result;

	memset(ret, 0, sizeof(*ret));
	if (kind < 0)
		return 0;
	finding->id = sqlite3_column_int64(row, ID);
	finding->kind = (enum finding_kind)kind;
	finding->node_guid = db_u64(row, NODE);
	finding->port = (uint8_t)sqlite3_column_int(row, PORT);
	finding->peer_guid = db_u64(row, PEER);
	finding->peer_port = (uint8_t)sqlite3_column_int(row, PEER_PORT);
	finding->tag = (uint8_t)sqlite3_column_int(row, TAG);
	finding->since_us = db_us(row, SINCE);
	ret->opened_us = db_us(row, OPENED);
	ret->measured_us = db_us(row, MEASURED);
	ret->peak = db_real(row, PEAK);
	ret->peak_us = db_us(row, PEAK_AT);
	finding->last_seen_us = db_us(row, LAST_SEEN);
	finding->closed_us = db_us(row, CLOSED);
	finding->severity = (enum finding_severity)db_choice(row, SEVERITY, FINDING_CRITICAL);
	copy_text(row, SUBJECT, finding->subject, sizeof(finding->subject));
	copy_text(row, CAUSE, ret->cause, sizeof(ret->cause));
	copy_text(row, TEXT, finding->text, sizeof(finding->text));
	copy_text(row, ADVICE, ret->advice, sizeof(ret->advice));
	finding->cause = ret->cause;
	finding->advice = ret->advice;
	finding->affected_hosts = (unsigned)sqlite3_column_int64(row, HOSTS_TOUCHED);
	ret->acknowledged.at_us = db_us(row, ACK_AT);
	ret->acknowledged.until_us = db_us(row, ACK_UNTIL);
	copy_text(row, ACK_PERSON, ret->acknowledged.person, sizeof(ret->acknowledged.person));
	copy_text(row, ACK_REASON, ret->acknowledged.reason, sizeof(ret->acknowledged.reason));
	copy_text(row, NODE_NAME, ret->node, sizeof(ret->node));
	copy_text(row, PEER_NAME, ret->peer, sizeof(ret->peer));
	result = read_members(members, row, EVIDENCE, ret, err);
	if (!result)
		result = read_members(members, row, HOSTS, ret, err);
	if (finding->closed_us)
		finding->ok_since_us = 0;
	if (!finding->closed_us && !finding->ok_since_us && !finding_is_event(finding) && db_us(row, SWEEP_AT))
		finding->last_seen_us = db_us(row, SWEEP_AT);
	if (!result)
		result = read_members(ports, row, PORTS, ret, err);
	return result ? result : 1;
}

static int report_rows(sqlite3_stmt *members, sqlite3_stmt *ports, sqlite3_stmt *rows, reader_finding_fn *each,
		       void *ctx, struct error *err)
{
	struct finding_row row;
	int result;

	while ((result = db_step(rows, err)) > 0) {
		result = read_row(members, ports, rows, &row, err);
		if (result < 0)
			return result;
		if (result > 0 && !each(ctx, &row))
			return 0;
	}
	return result;
}

/* @args: ?1 to ?5. */
static int report(sqlite3 *db, const int64_t args[5], reader_finding_fn *each, void *ctx, struct error *err)
{
	sqlite3_stmt *rows = NULL, *members = NULL, *ports = NULL;
	int result = db_prepare(db, findings_sql, &rows, err);

	if (!result)
		result = db_prepare(db, "SELECT key, value FROM json_each(?1)", &members, err);
	if (!result)
		result = db_prepare(db, "SELECT NULL, NULL, n.guid, p.number FROM json_each(?1) j JOIN port p"
				    " ON p.id = j.value JOIN node n ON n.id = p.node ORDER BY j.key", &ports, err);
	if (!result) {
		db_bind_integers(rows, 1, args, 5);
		result = report_rows(members, ports, rows, each, ctx, err);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(members);
	sqlite3_finalize(ports);
	return result;
}

int reader_findings(struct reader *reader, const struct finding_query *query, reader_finding_fn *each, void *ctx,
		    struct error *err)
{
	int64_t at_us = query->since_us ? query->until_us : query->at_us, after;
	/* Acknowledgements after the newest sweep count too. */
	int64_t now_us = at_us ? at_us : query->now_us ? query->now_us : clock_wall_us(clock_system());
	struct stored_sweep last, first = { 0 };
	int result = reader_begin_at(reader, at_us, &last, err);

	if (result < 0)
		return result;
	after = last.info.id;
	/* A finding that the first sweep closed was not open in the window. */
	if (query->since_us && reader_find_sweep(reader, query->since_us, &first, NULL) < 0)
		after = 0;
	else if (query->since_us && first.info.id < last.info.id)
		after = first.info.id + 1;
	result = report(reader->db, (int64_t[]){ last.info.id, after, now_us, (int64_t)query->node_guid,
						 last.info.wall_us }, each, ctx, err);
	reader_end(reader);
	return result;
}

struct place { int64_t id; size_t at; };

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* By row the place of its origin; @count: it has none in these rows. Return: NULL: no memory; freed by the caller. */
static size_t *find_origins(struct finding_row *const *rows, size_t count)
{
	struct place *places = calloc(count + 1, sizeof(*places)), *found;
	size_t *ret = places ? calloc(count + 1, sizeof(*ret)) : NULL;

	for (size_t i = 0; ret && i < count; i++)
		places[i] = (struct place){ rows[i]->finding.id, i };
	if (ret)
		qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; ret && i < count; i++) {
		const struct place wanted = { .id = rows[i]->origin };

		found = wanted.id ? bsearch(&wanted, places, count, sizeof(*places), compare_places) : NULL;
		ret[i] = found ? found->at : count;
	}
	free(places);
	return ret;
}

int findings_fold(struct finding_row *const *rows, size_t count)
{
	size_t *origins = find_origins(rows, count);

	if (!origins)
		return ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		rows[i]->echoes = 0;
		rows[i]->rank = i * (count + 1);
	}
	for (size_t i = 0; i < count; i++) {
		struct finding_row *origin = origins[i] < count ? rows[origins[i]] : NULL;

		if (!origin) {
			rows[i]->origin = 0;
			continue;
		}
		origin->echoes++;
		/* A group is at the place of its worst finding. */
		if (i * (count + 1) < origin->rank && !origin->finding.ok_since_us)
			origin->rank = i * (count + 1);
	}
	for (size_t i = 0; i < count; i++)
		if (origins[i] < count)
			rows[i]->rank = rows[origins[i]]->rank + 1 + i;
	free(origins);
	return 0;
}

int findings_resolve_origins(struct finding_row *const *rows, size_t count)
{
	size_t *origins = find_origins(rows, count);

	if (!origins)
		return ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		if (origins[i] == count)
			rows[i]->origin = 0;
		else if (!rows[i]->acknowledged.at_us)
			rows[i]->acknowledged = rows[origins[i]]->acknowledged;
	}
	free(origins);
	return 0;
}

int findings_open(struct sqlite3 *db, reader_finding_fn *each, void *ctx, struct error *err)
{
	int64_t newest_us;
	int result = db_integer(db, "SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1", 0, &newest_us, err);

	return result ? result : report(db, (int64_t[]){ INT64_MAX, INT64_MAX, 0, 0, newest_us }, each, ctx, err);
}

int finding_acknowledge(const char *path, const struct finding *finding, const struct acknowledgement *given,
			struct error *err)
{
	sqlite3_stmt *insert = NULL;
	sqlite3 *db = NULL;
	int result = schema_open_writer(path, &db, err);

	/* The collector checkpoints the log. */
	if (!result)
		result = db_exec(db, "PRAGMA wal_autocheckpoint = 0", err);
	if (!result)
		result = db_prepare(db, "INSERT INTO acknowledgement (kind, node_guid, port, tag, at_us, until_us,"
				    " person, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);
	if (!result) {
		sqlite3_bind_text(insert, 1, finding_kind_name(finding->kind), -1, SQLITE_STATIC);
		if (finding->node_guid)
			db_bind_u64(insert, 2, finding->node_guid);
		DB_BIND(insert, 3, finding->port, finding->tag, given->at_us);
		if (given->until_us)
			sqlite3_bind_int64(insert, 6, given->until_us);
		sqlite3_bind_text(insert, 7, given->person, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 8, given->reason, -1, SQLITE_STATIC);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	sqlite3_close(db);
	return result;
}
