/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise_names.c - replacement of names; their structure remains */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/admin/anonymise.h"
#include "storage/file/db.h"

/* Parts of a name: "MF0;HOST:MODEL/U1", "HOST DEVICE" or HOST alone. */
struct parts {
	char host[NODE_NAME_SIZE];
	char before[8], behind[NODE_NAME_SIZE]; /* not replaced */
};

/* "mlx5_0", "HCA-1", "hfi1_0": stems of drivers with a short number. */
static bool is_device(const char *word)
{
	static const char *const stems[] = { "mlx4_", "mlx5_", "mlx5_bond_", "HCA-", "hfi1_", "qib" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		size_t len = strlen(stems[i]), digits;

		if (strncmp(word, stems[i], len))
			continue;
		digits = strspn(word + len, "0123456789");
		if (digits && digits < 4 && !word[len + digits])
			return true;
	}
	return false;
}

/* "MQM8700", "SX6036", "IS5200": 2 to 4 capitals and 4 digits. */
static bool is_model(const char *model, size_t len)
{
	size_t letters = 0;

	while (letters < len && isupper((unsigned char)model[letters]))
		letters++;
	return letters >= 2 && letters <= 4 && len - letters == 4 && strspn(model + letters, "0123456789") >= 4;
}

/* "/U1", "/L12/U1", "/S3/U1" */
static bool is_module(const char *module)
{
	return strlen(module) < 12 && strspn(module, "/LSU0123456789") == strlen(module);
}

static bool split_managed(const char *name, struct parts *ret)
{
	const char *colon = strncmp(name, "MF0;", 4) ? NULL : strchr(name, ':');
	const char *slash = colon ? strchr(colon, '/') : NULL;
	size_t model;

	if (!slash || colon == name + 4)
		return false;
	strcpy(ret->before, "MF0;");
	snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(colon - name - 4), name + 4);
	model = (size_t)(slash - colon - 1);
	snprintf(ret->behind, sizeof(ret->behind), ":%.*s%s", is_model(colon + 1, model) ? (int)model : 6,
		 is_model(colon + 1, model) ? colon + 1 : "SW0000", is_module(slash) ? slash : "/U1");
	return true;
}

static void split(const char *name, struct parts *ret)
{
	const char *space = strchr(name, ' ');

	ret->before[0] = ret->behind[0] = '\0';
	if (split_managed(name, ret))
		return;
	if (space && space > name && is_device(space + 1)) {
		snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(space - name), name);
		snprintf(ret->behind, sizeof(ret->behind), "%s", space);
	} else {
		snprintf(ret->host, sizeof(ret->host), "%s", name);
	}
}

/* Words of vendors, which identify no node. */
static bool is_vendor_word(const char *word, size_t len)
{
	static const char *const words[] = {
		"-", "Mellanox", "Technologies", "Aggregation", "Node", "InfiniHost", "InfiniHostEx", "Infiniscale-III",
		"Infiniscale-IV", "SwitchX", "SwitchIB", "Switch-IB", "Quantum", "Quantum-2", "Quantum-3", "localhost",
		"localhost.localdomain", "(none)", "ConnectX",
	};
	char copy[24];

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, word, len);
	copy[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(copy, words[i]))
			return true;
	if (!strncmp(copy, "MT", 2) || !strncmp(copy, "ConnectX", 8)) {
		const char *digits = copy + (copy[0] == 'M' ? 2 : 8);

		return strspn(digits, "0123456789") == strlen(digits) && strlen(digits) < 6;
	}
	return is_device(copy);
}

/* A name of vendor words only: many nodes have it, and it is not replaced. */
static bool is_vendor_name(const char *name)
{
	size_t len;

	for (; *name; name += len) {
		name += strspn(name, " ");
		len = strcspn(name, " ");
		if (len && !is_vendor_word(name, len))
			return false;
	}
	return true;
}

/* The scheme of a name: each number becomes "#". */
static void stem_of(const char *host, char *ret)
{
	for (; *host; host++) {
		if (!isdigit((unsigned char)*host))
			*ret++ = *host;
		else if (!isdigit((unsigned char)host[1]))
			*ret++ = '#';
	}
	*ret = '\0';
}

/* "a" to "z", then "ba" and so on. */
static void scheme_letters(size_t scheme, char ret[16])
{
	char digits[16];
	size_t len = 0;

	do {
		digits[len++] = (char)('a' + scheme % 26);
		scheme /= 26;
	} while (scheme);
	for (size_t i = 0; i < len; i++)
		ret[i] = digits[len - 1 - i];
	ret[len] = '\0';
}

/* SQL functions: the host of a name (NULL: it is not replaced), the scheme of a host, the new name. */
static void name_host(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	struct parts parts;

	(void)count;
	if (!name || is_vendor_name(name))
		return;
	split(name, &parts);
	sqlite3_result_text(context, parts.host, -1, SQLITE_TRANSIENT);
}

static void name_stem(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *host = (const char *)sqlite3_value_text(values[0]);
	char stem[NODE_NAME_SIZE];

	(void)count;
	stem_of(host ? host : "", stem);
	sqlite3_result_text(context, stem, -1, SQLITE_TRANSIENT);
}

static void name_new(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	bool on_switch = sqlite3_value_int(values[1]);
	struct parts parts;
	char letters[16], *new;

	(void)count;
	split(name ? name : "", &parts);
	scheme_letters((size_t)sqlite3_value_int64(values[2]), letters);
	new = sqlite3_mprintf("%s%s-%s-%lld%s", parts.before, on_switch ? "switch" : "host", letters,
			      sqlite3_value_int64(values[3]), parts.behind);
	if (new)
		sqlite3_result_text(context, new, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(context);
}

/* The order of names on screens: numbers by value. */
static int compare_in_order(void *ctx, int a_len, const void *a, int b_len, const void *b)
{
	char left[NODE_NAME_SIZE], right[NODE_NAME_SIZE];

	(void)ctx;
	snprintf(left, sizeof(left), "%.*s", a_len, (const char *)a);
	snprintf(right, sizeof(right), "%.*s", b_len, (const char *)b);
	return names_compare(left, right);
}

/* Stored names, and names made from descriptions. */
#define NAMES_OF(table) \
	"SELECT sanitised(name) AS old, type = 2 AS on_switch FROM source." table \
	" UNION SELECT sanitised(description), type = 2 FROM source." table

/* A GUID in place of a name is not one. The hosts of a scheme are numbered in natural order. */
static const char create[] =
	"CREATE TEMP TABLE name_alias (old TEXT PRIMARY KEY, on_switch INTEGER, host TEXT, new TEXT) WITHOUT ROWID;"
	"INSERT INTO name_alias (old, on_switch, host) SELECT old, max(on_switch), name_host(old) FROM ("
	NAMES_OF("node_version") " UNION " NAMES_OF("snapshot_node") ")"
	" WHERE NOT (length(old) = 18 AND old GLOB '0x*' AND substr(old, 3) NOT GLOB '*[^0-9a-f]*') GROUP BY old;"
	"CREATE TEMP TABLE host_alias (host TEXT PRIMARY KEY, on_switch INTEGER, scheme INTEGER, number INTEGER)"
	" WITHOUT ROWID;"
	"INSERT INTO host_alias SELECT host, on_switch, dense_rank() OVER (PARTITION BY on_switch ORDER BY stem) - 1,"
	" row_number() OVER (PARTITION BY on_switch, stem ORDER BY host COLLATE name_order) FROM"
	" (SELECT host, max(on_switch) AS on_switch, name_stem(host) AS stem FROM name_alias WHERE host IS NOT NULL"
	" GROUP BY host);"
	"UPDATE name_alias SET new = coalesce((SELECT name_new(old, h.on_switch, h.scheme, h.number) FROM host_alias h"
	" WHERE h.host = name_alias.host), old)";

int anonymise_names(sqlite3 *db, struct error *err)
{
	if (sqlite3_create_function(db, "name_host", 1, SQLITE_UTF8, NULL, name_host, NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(db, "name_stem", 1, SQLITE_UTF8, NULL, name_stem, NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(db, "name_new", 4, SQLITE_UTF8, NULL, name_new, NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_collation(db, "name_order", SQLITE_UTF8, NULL, compare_in_order) != SQLITE_OK)
		return db_fail(db, err);
	return db_exec(db, create, err);
}
