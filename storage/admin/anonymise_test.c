/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise_test.c - replacements keep the structure of names and GUIDs and nothing else */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_TEST_SETUP set_up
#define UNIT_TEST_TEARDOWN tear_down
#include "base/err.h"
#include "base/unit_test.h"
#include "storage/admin/anonymise.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/test/test_folder.h"

static sqlite3 *db;
static struct anonymiser anonymiser;

/* ?1 is a name, ?2 a number, ?3 a type. */
static void insert(const char *sql, int type, const char *name, int64_t number)
{
	sqlite3_stmt *statement;

	assert_int_equal(db_prepare(db, sql, &statement, NULL), 0);
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	DB_BIND(statement, 2, number, type);
	assert_int_equal(db_run(statement, NULL), 0);
	sqlite3_finalize(statement);
}

int set_up(void **state)
{
	static const char version[] =
		"INSERT INTO source.node_version (from_sweep, node, name, description, type, port_count, system_guid,"
		" vendor_id, device_id, revision, lid, lft_top, enhanced_port0)"
		" VALUES (1, ?2, ?1, CAST(?1 AS BLOB), ?3, 1, 0, 0, 0, 0, 0, 0, 0)";
	static const char *const names[] = {
		"gpu-010 mlx5_0", "gpu-010 mlx5_1", "gpu-010 mlx5_bond_0", "gpu-9 mlx5_0", "gpu-011 mlx5_0",
		"login HCA-1", "RMD1 ibp65s0f1",
		"MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0", "",
		"Mellanox Technologies Aggregation Node", "secret Mellanox Technologies",
		/* Switches. */
		"MF0;leaf-01:MQM8700/U1", "MF0;leaf-02:MQM8700/U1", "MF0;spine-1:MCS7520/L01/U1",
		"MF0;odd:CASTLE/tower", "core switch of building 7",
	};
	static const int64_t guids[] = { 0x248a070300a1b2c0, 0x248a070300a1b2c1, 0x248a070300a1b2c2,
					 0x248a070300a1b2c3, 0x0002c90300000001 };
	char attach[128];
	struct error err = { 0 };

	test_folder_make(state);
	assert_int_equal(schema_create(path, NULL), 0);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS source", path);
	assert_int_equal(db_exec(db, attach, NULL), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		insert(version, i < 12 ? 1 : 2, names[i], (int64_t)i + 1);
	for (size_t i = 0; i < sizeof(guids) / sizeof(*guids); i++)
		insert("INSERT INTO source.node (id, guid) VALUES (?3, ?2)", (int)i + 1, NULL, guids[i]);
	if (anonymise_begin(&anonymiser, db, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

int tear_down(void **state)
{
	anonymise_done(&anonymiser);
	sqlite3_close(db);
	return test_folder_remove(state);
}

/* NULL: not a stored name. */
static const char *new_name(const char *old)
{
	for (int i = 1; i <= anonymiser.name_count; i++)
		if (!strcmp(anonymiser.names[2 * i], old))
			return anonymiser.names[2 * i + 1];
	return NULL;
}

static int64_t new_guid(int64_t old)
{
	int64_t new = -1;

	assert_int_equal(db_row(db, "SELECT new FROM guid_alias WHERE old = ?1", &old, 1, &new, 1, NULL), 1);
	return new;
}

/* Up to the last "-NUMBER" of a name's first word. */
static size_t stem(const char *name)
{
	size_t len = strcspn(name, " :");

	while (len && name[len - 1] != '-')
		len--;
	return len;
}

TEST(names_of_one_scheme_keep_a_common_stem_and_their_order)
{
	const char *nine, *ten, *ten_b, *bond, *eleven, *leaf;

	nine = new_name("gpu-9 mlx5_0");
	ten = new_name("gpu-010 mlx5_0");
	ten_b = new_name("gpu-010 mlx5_1");
	bond = new_name("gpu-010 mlx5_bond_0");
	eleven = new_name("gpu-011 mlx5_0");
	assert_int_equal(strncmp(nine, "host-", 5), 0);
	assert_int_equal(strncmp(nine, ten, stem(nine)), 0);
	assert_int_equal(strncmp(ten, ten_b, strcspn(ten, " ")), 0);
	assert_string_equal(strchr(ten_b, ' '), " mlx5_1");
	assert_int_equal(strncmp(ten, bond, strcspn(ten, " ") + 1), 0);
	assert_string_equal(strchr(bond, ' '), " mlx5_bond_0");
	assert_true(atoi(nine + stem(nine)) + 1 == atoi(ten + stem(ten)));
	assert_true(atoi(ten + stem(ten)) + 1 == atoi(eleven + stem(eleven)));
	assert_int_not_equal(strncmp(new_name("login HCA-1"), ten, stem(ten)), 0);
	leaf = new_name("MF0;leaf-01:MQM8700/U1");
	assert_int_equal(strncmp(leaf, "MF0;switch-", 11), 0);
	assert_string_equal(strchr(leaf, ':'), ":MQM8700/U1");
	assert_int_equal(strncmp(leaf, new_name("MF0;leaf-02:MQM8700/U1"), stem(leaf)), 0);
	assert_int_not_equal(strncmp(leaf, new_name("MF0;spine-1:MCS7520/L01/U1"), stem(leaf)), 0);
}

TEST(generic_names_remain_and_others_are_replaced)
{
	static const char *const staying[] = { "MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0", "",
					       "Mellanox Technologies Aggregation Node" };

	for (size_t i = 0; i < sizeof(staying) / sizeof(*staying); i++)
		assert_string_equal(new_name(staying[i]), staying[i]);
	assert_null(strstr(new_name("secret Mellanox Technologies"), "secret"));
	assert_null(strstr(new_name("core switch of building 7"), "building"));
	assert_null(strstr(new_name("MF0;odd:CASTLE/tower"), "CASTLE"));
	assert_null(strstr(new_name("MF0;odd:CASTLE/tower"), "tower"));
	assert_null(new_name("never added"));
}

TEST(guids_of_a_device_keep_their_distances)
{
	int64_t first = new_guid(0x248a070300a1b2c0), other = new_guid(0x0002c90300000001);

	assert_int_equal(new_guid(0x248a070300a1b2c3) - first, 3);
	assert_int_equal(first >> 40, 0x02fffe);
	assert_true(llabs(other - first) >= 256);
	assert_int_equal(new_guid(0), 0);
}

/* @template: %s is the replacement of @name. */
static void assert_sentence(const char *sentence, const char *template, const char *name)
{
	struct text text = { 0 };
	char expected[512];
	const char *gap = strstr(template, "%s");

	if (gap)
		snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(gap - template), template,
			 new_name(name), gap + 2);
	else
		snprintf(expected, sizeof(expected), "%s", template);
	assert_int_equal(anonymise_text(&anonymiser, sentence, &text, NULL), 0);
	assert_string_equal(text_chars(&text), expected);
	text_done(&text);
}

TEST(sentences_keep_their_words_and_not_their_names)
{
	struct text text = { 0 };
	const char *words;

	assert_sentence("gpu-010 mlx5_0 is gone from the fabric", "%s is gone from the fabric",
			"gpu-010 mlx5_0");
	assert_sentence("MF0;leaf-01:MQM8700/U1/12: 2x EDR -> 4x HDR",
			"%s/12: 2x EDR -> 4x HDR", "MF0;leaf-01:MQM8700/U1");
	/* A truncated name, one of another map, a path, an address. */
	assert_sentence("gpu-01 does not answer", "* does not answer", NULL);
	assert_sentence("gpu-010x does not answer", "* does not answer", NULL);
	assert_sentence("cannot read /srv/acme/fabric.db: 10.1.2.3", "cannot read /*/*/*: *", NULL);
	assert_sentence("12,345 packets in 12m30s, 31.2 ms, 4.5", "12,345 packets in 12m30s, 31.2 ms, 4.5",
			NULL);
	assert_sentence("counters of 3 ports are full: symbol_errors, ...",
			"counters of 3 ports are full: symbol_errors, ...", NULL);
	/* A GUID of the fabric, and twice one that is only in the text. */
	assert_int_equal(anonymise_text(&anonymiser, "the subnet manager is now 0x248a070300a1b2c1,"
					" 0xdeadbeefdeadbeef 0xdeadbeefdeadbeef", &text, NULL), 0);
	assert_null(strstr(text_chars(&text), "248a07"));
	assert_null(strstr(text_chars(&text), "beef"));
	words = strstr(text_chars(&text), "the subnet manager is now 0x02fffe");
	assert_non_null(words);
	assert_memory_equal(words + 46, words + 65, 18);
	text_done(&text);
}
