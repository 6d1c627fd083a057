/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise.c - replacement of GUIDs and boot ids, and of names in sentences of events */
#include "storage/admin/anonymise.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "storage/admin/catalog.h"
#include "storage/file/db.h"

/* Locally administered. Source: IEEE, "Guidelines for Use of EUI": the U/L bit of the first byte. */
#define INVENTED_BASE "0x02fffe0000000000"

static const char create[] =
	"CREATE TEMP TABLE boot_alias (old TEXT PRIMARY KEY, new TEXT) WITHOUT ROWID;"
	"INSERT INTO boot_alias SELECT old, lower(printf('%s-%s-4000-8000-%s', hex(randomblob(4)), hex(randomblob(2)),"
	" hex(randomblob(6)))) FROM (SELECT boot_id AS old FROM source.boot UNION SELECT boot_id FROM source.snapshot"
	" UNION SELECT begin_boot_id FROM source.job"
	" UNION SELECT end_boot_id FROM source.job WHERE end_boot_id NOT NULL);"
	"CREATE TEMP TABLE guid_alias (old INTEGER PRIMARY KEY, new INTEGER)";

/*
 * GUIDs less than 16 after the first one of a device belong to it and keep their distances. Devices
 * are numbered in random order.
 */
static const char number_devices[] =
	"CREATE TEMP TABLE device (first INTEGER PRIMARY KEY, number INTEGER);"
	"INSERT INTO device WITH RECURSIVE d (first) AS (SELECT min(old) FROM guid_alias UNION ALL"
	" SELECT (SELECT min(old) FROM guid_alias WHERE old >= d.first + 16) FROM d WHERE d.first IS NOT NULL)"
	" SELECT first, row_number() OVER (ORDER BY random()) FROM d WHERE first IS NOT NULL;"
	"UPDATE guid_alias SET new = (SELECT " INVENTED_BASE " + (number << 8) + old - first FROM device"
	" WHERE first <= old ORDER BY first DESC LIMIT 1);"
	"INSERT INTO guid_alias VALUES (0, 0)";

static int gather_guids(sqlite3 *db, struct error *err)
{
	char sql[160];
	int result = 0;

	for (size_t i = 0; i < catalog_table_count; i++) {
		const struct catalog_column *columns = catalog_tables[i].columns;

		for (int j = 0; !result && j < CATALOG_COLUMNS_MAX && columns[j].name; j++) {
			if (!columns[j].hidden || !strstr(columns[j].hidden, "guid_alias"))
				continue;
			snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO guid_alias (old) SELECT %s FROM source.%s"
				 " WHERE %s <> 0", columns[j].name, catalog_tables[i].name, columns[j].name);
			result = db_exec(db, sql, err);
		}
	}
	return result;
}

/* The replacement of a GUID; a new one if it is only in a text. */
static int replace_guid(sqlite3 *db, int64_t guid, int64_t *ret, struct error *err)
{
	static const char find[] = "SELECT new FROM guid_alias WHERE old = ?1";
	static const char add[] = "INSERT INTO guid_alias SELECT ?1, (max(max(new), " INVENTED_BASE ") | 255) + 1"
				  " FROM guid_alias";
	int result = db_row(db, find, &guid, 1, ret, 1, err);

	if (!result)
		result = db_row(db, add, &guid, 1, ret, 1, err);
	/* RETURNING needs SQLite 3.35. */
	if (!result)
		result = db_row(db, find, &guid, 1, ret, 1, err);
	return result < 0 ? result : 0;
}

/*
 * Words of ibwire's events, of this and earlier versions. A missing one becomes an asterisk in an
 * anonymised copy, which is harmless; an unnecessary one could be a name.
 */
static const char own_words[] =
	" a active again agents ahead all amounts an and anew another answer answered answers are armed aside "
	"asked asking associated at b back backwards bad be because before belong belongs below beyond both "
	"but by bytes cabled called came cannot change changed changes cleared clock collector come count "
	"counted counters counts d damaged data database datagrams ddr default deltas description "
	"descriptions device devices differently disabled discarded discards discovered discovery disk do "
	"does down dropped during each edr elsewhere end ended ends error errorrecovery errors event events "
	"every explain explains fabric failed fast fdr fdr10 few file first folder follow for forward "
	"forwards found free from full gave gb gib given go goes going gone good grow guid h had half has "
	"have hca hcas hdr held here higher hold holds host host's hour hours in init instead interval is it "
	"its itself kb keep keeps kept key keys kib kind known last layout less lid lids like limit limits "
	"lines link links linkup local longer lost m m_key mad mads make management manager many master may "
	"mb member mib more most moved ms name names ndr nevertheless new next no nobody node nodes none "
	"normal not nothing now number of off old oldest on once one ones only open or order other others out "
	"over own owner packets part partition performance phytest planes pm_key point polling port port's "
	"ports probably qdr queries query question questions rate rates reach read reading receive received "
	"remove removed reports reset resets rights room running s said same samples saw say says sdr "
	"security see seen sent set share silent since size sleep sm smaller smp smps so some somebody space "
	"start started starts state stay stays step stopped stored subnet sums sweep sweeps switch switches "
	"symbol take takes tb than that the their them themselves there these they this thread till time "
	"times to told too took topology touched training two under unknown until up us wall was way were "
	"what when where which while who why will with within without would written x xdr "
	"added affected after apply attributes coming connected continues different entries externally "
	"increase lft lfts memory peer peers pma polled remains renamed respond responds saturated "
	"suppressed use already check exists permissions regular writable ";

static bool is_own(const char *word, size_t len)
{
	char wanted[40];

	if (len + 3 > sizeof(wanted))
		return false;
	wanted[0] = ' ';
	for (size_t i = 0; i < len; i++)
		wanted[i + 1] = (char)tolower((unsigned char)word[i]);
	strcpy(wanted + len + 1, " ");
	if (strstr(own_words, wanted))
		return true;
	wanted[len + 1] = '\0';
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (!strcmp(counter_info((enum counter)i)->key, wanted + 1))
			return true;
	return false;
}

/* Only "17", "31.2", "4x", "3h05m", "12m30s": a name may consist of digits and letters too. */
static bool is_number(const char *word, size_t len)
{
	size_t digits = 0, points = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)word[i]))
			digits++;
		else if (word[i] == '.')
			points++;
		else if (strchr("smhdwx", word[i]))
			letters++;
		else
			return false;
	}
	return digits && points <= 1 && letters <= 2 && isdigit((unsigned char)word[0]);
}

/* Characters of words; all others separate words. */
static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || strchr("_.-'\\", c);
}

static int compare_name(const void *name, const void *pair)
{
	return strcmp(name, *(char *const *)pair);
}

/* The longest name at the beginning of @rest. Return: its replacement, or NULL. */
static const char *name_at(const struct anonymiser *anonymiser, const char *rest, size_t *ret_len)
{
	char name[NODE_NAME_SIZE];

	for (size_t len = strnlen(rest, sizeof(name) - 1); len; len--) {
		char **found;

		if (is_of_word(rest[len - 1]) && rest[len] && is_of_word(rest[len]) && rest[len] != '.')
			continue;
		memcpy(name, rest, len);
		name[len] = '\0';
		/* The first two elements are titles. */
		found = bsearch(name, anonymiser->names + 2, (size_t)anonymiser->name_count,
				2 * sizeof(*anonymiser->names), compare_name);
		if (found) {
			*ret_len = len;
			return found[1];
		}
	}
	return NULL;
}

/* "0x" and 16 digits at the beginning of @rest. */
static bool guid_at(const char *rest, int64_t *ret)
{
	if (strncmp(rest, "0x", 2) || strspn(rest + 2, "0123456789abcdefABCDEF") != 16)
		return false;
	*ret = (int64_t)strtoull(rest, NULL, 16);
	return true;
}

static size_t word_length(const char *word)
{
	size_t len = 0;

	while (word[len] && is_of_word(word[len]))
		len++;
	/* Punctuation after a word is not part of it. */
	while (len > 1 && strchr(".-'", word[len - 1]))
		len--;
	return len;
}

static bool is_allowed(const char *word, size_t len)
{
	size_t part;

	if (is_own(word, len) || is_number(word, len) || strspn(word, ".-'") >= len)
		return true;
	/* The parts of a hyphenated word are checked separately. */
	for (size_t at = 0; at < len; at += part + 1) {
		for (part = 0; at + part < len && word[at + part] != '-'; part++)
			;
		if (part && !is_own(word + at, part) && !is_number(word + at, part))
			return false;
	}
	return true;
}

int anonymise_text(struct anonymiser *anonymiser, const char *text, struct text *ret, struct error *err)
{
	const char *rest = text;

	while (*rest) {
		const char *alias;
		int64_t guid;
		size_t len;

		if (guid_at(rest, &guid)) {
			int result = replace_guid(anonymiser->db, guid, &guid, err);

			if (result < 0)
				return result;
			text_appendf(ret, "0x%016" PRIx64, guid);
			rest += 18;
		} else if ((alias = name_at(anonymiser, rest, &len))) {
			text_append(ret, alias);
			rest += len;
		} else if (is_of_word(*rest)) {
			len = word_length(rest);
			if (is_allowed(rest, len))
				text_append_bytes(ret, rest, len);
			else
				text_append(ret, "*");
			rest += len;
		} else {
			text_append_bytes(ret, rest++, 1);
		}
	}
	return text_failed(ret) ? err_nomem(err) : 0;
}

static void hide_text(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *sentence = (const char *)sqlite3_value_text(values[0]);
	struct text text = { 0 };

	(void)count;
	if (!sentence)
		return;
	if (anonymise_text(sqlite3_user_data(context), sentence, &text, NULL) < 0)
		sqlite3_result_error(context, "a text cannot be anonymised", -1);
	else
		sqlite3_result_text(context, text_chars(&text), -1, SQLITE_TRANSIENT);
	text_done(&text);
}

/* text_sanitise() in SQL: the name that a description gives. */
static void sanitised(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *bytes = sqlite3_value_blob(values[0]);
	char name[NODE_NAME_SIZE];

	(void)count;
	text_sanitise(bytes ? bytes : "", (size_t)sqlite3_value_bytes(values[0]), name, sizeof(name));
	sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
}

int anonymise_begin(struct anonymiser *anonymiser, sqlite3 *db, struct error *err)
{
	int result;

	anonymiser->db = db;
	if (sqlite3_create_function(db, "sanitised", 1, SQLITE_UTF8, NULL, sanitised, NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(db, "hide_text", 1, SQLITE_UTF8, anonymiser, hide_text, NULL, NULL) != SQLITE_OK)
		return db_fail(db, err);
	result = db_exec(db, create, err);
	if (!result)
		result = gather_guids(db, err);
	if (!result)
		result = db_exec(db, number_devices, err);
	if (!result)
		result = anonymise_names(db, err);
	if (!result && sqlite3_get_table(db, "SELECT old, new FROM name_alias ORDER BY old", &anonymiser->names,
					 &anonymiser->name_count, NULL, NULL) != SQLITE_OK)
		result = db_fail(db, err);
	return result;
}

void anonymise_done(struct anonymiser *anonymiser)
{
	sqlite3_free_table(anonymiser->names);
	*anonymiser = (struct anonymiser){ 0 };
}
