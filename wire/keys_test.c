/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define UNIT_TEST_SETUP make_directory
#define UNIT_TEST_TEARDOWN remove_directory
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test_damage.h"
#include "base/unit_test.h"
#include "wire/keys.h"

/* 160 characters, most of them blanks. */
#define BLANKS "                                        "
#define LONG_LINE ("0x2 0x77" BLANKS BLANKS BLANKS BLANKS "\n")

static char directory[] = "keys_test.XXXXXX";

int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

int remove_directory(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/guid2mkey", directory);
	unlink(path);
	return rmdir(directory);
}

static void remove_file(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static void write_file(const char *name, const char *content)
{
	char path[64];
	FILE *file;

	remove_file(name);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int load(const char *content, mode_t mode, struct keys **ret, struct error *err)
{
	char path[64];

	write_file("guid2mkey", content);
	snprintf(path, sizeof(path), "%s/guid2mkey", directory);
	assert_int_equal(chmod(path, mode), 0);
	return keys_load(directory, ret, err);
}

/* As opensm writes it: an empty line after each key, unordered, all digits. */
TEST(the_file_of_the_subnet_manager_is_read)
{
	struct keys *keys;

	assert_int_equal(load("0x0002c90300a1b2c3 0x00000000deadbeef\n\n0x0002c90300a1b2c4 0xffffffffffffffff\n\n"
			      "0x0002c90300a1b2c5 0x0000000000000000\n\n", 0600, &keys, NULL), 0);
	assert_int_equal(keys_count(keys), 2);
	assert_true(keys_find(keys, 0x0002c90300a1b2c3) == 0xdeadbeef);
	assert_true(keys_find(keys, 0x0002c90300a1b2c4) == UINT64_MAX);
	/* A key of 0 is none. */
	assert_true(keys_find(keys, 0x0002c90300a1b2c5) == 0);
	assert_true(keys_find(keys, 7) == 0);
	assert_true(keys_find(NULL, 7) == 0);
	assert_false(keys_are_exposed(keys));
	keys_destroy(keys);
}

TEST(equivalent_formats_are_accepted)
{
	struct keys *keys;

	assert_int_equal(load("0X1\t 0xA \r\n\n\n\n0x2 0xB\n0x1 0xa", 0600, &keys, NULL), 0);
	assert_int_equal(keys_count(keys), 2);
	assert_true(keys_find(keys, 1) == 10);
	assert_true(keys_find(keys, 2) == 11);
	keys_destroy(keys);
	assert_int_equal(load("", 0600, &keys, NULL), 0);
	assert_int_equal(keys_count(keys), 0);
	keys_destroy(keys);
}

TEST(keys_of_performance_agents_are_separate)
{
	struct error err;
	struct keys *keys;

	write_file("guid2pmkey", "0x1 0x5\n0x3 0x7\n");
	assert_int_equal(load("0x1 0xa\n0x2 0xb\n", 0600, &keys, NULL), 0);
	assert_true(keys_find_pm(keys, 1) == 5 && keys_find(keys, 1) == 10);
	assert_true(keys_find_pm(keys, 2) == 0 && keys_find(keys, 3) == 0);
	assert_true(keys_find_pm(NULL, 1) == 0);
	assert_int_equal(keys_count(keys), 2);
	keys_destroy(keys);
	write_file("guid2pmkey", "0x1\n");
	assert_int_equal(load("0x1 0xa\n", 0600, &keys, &err), ERR_IO);
	assert_non_null(strstr(err.text, "guid2pmkey, line 1: the format is 0xGUID 0xKEY"));
	remove_file("guid2pmkey");
}

TEST(an_invalid_line_is_counted_without_its_key)
{
	static const char *const bad[] = {
		"0x2\n",                       /* no key */
		"0x2 \n",
		"0x2 77\n",                    /* decimal: opensm never writes it, and 77 may mean 0x77 */
		"2 0x77\n",
		"0x2 0x77 0x1\n",              /* more than two */
		"0x2 0x77secret\n",
		"0x2 0x12345678123456781\n",   /* 17 digits */
		"0x 0x77\n",
		"0x2 0x\n",
		"0x0 0x77\n",                  /* no GUID */
		" 0x2 0x77\n",                 /* opensm appends it to the line before */
		"# 0x2 0x77\n",
		"0x2,0x77\n",
		"0x1 0x77\n",                  /* GUID 1 has another key above */
		LONG_LINE,                     /* longer than any line is */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = { 0 };
		struct keys *keys = NULL;
		char content[400];

		snprintf(content, sizeof(content), "0x1 0x5ec2e7\n\n%s\n0x3 0x5ec2e7\n\n", bad[i]);
		assert_int_equal(load(content, 0600, &keys, &err), 0);
		assert_int_equal(keys_count(keys), 2);
		assert_true(keys_find(keys, 1) == 0x5ec2e7 && keys_find(keys, 3) == 0x5ec2e7);
		assert_int_equal(keys_file(keys, KEYS_OF_SMPS)->unread.lines, 1);
		assert_int_equal(keys_file(keys, KEYS_OF_SMPS)->unread.first, 3);
		assert_null(strstr(keys_file(keys, KEYS_OF_SMPS)->why, "77"));
		keys_destroy(keys);
		keys = NULL;
		if (strstr(bad[i], "0x1 0x77\n"))
			continue; /* valid without the line above */
		assert_int_equal(load(bad[i], 0600, &keys, &err), ERR_IO);
		assert_null(keys);
		assert_non_null(strstr(err.text, "guid2mkey, line 1: "));
		assert_null(strstr(err.text, "77"));
	}
}

/* Every byte of every line: the model knows only the two numbers. */
TEST(a_damaged_line_of_a_file_of_keys_is_named_and_the_rest_is_read)
{
	static const char whole[] = "0x0002c90300a1b2c1 0x00000000deadbee1\n\n0x0002c90300a1b2c2 0x00000000deadbee2\n\n"
				    "0x0002c90300a1b2c3 0x00000000deadbee3\n\n";

	for (size_t number = 1; number <= damage_lines(whole); number++) {
		for (int damage = 0; damage < DAMAGE_COUNT; damage++) {
			size_t most = damage < DAMAGE_CUT ? 0 : damage_bytes(whole, number);

			for (size_t at = 0; at <= most; at++) {
				char *line, *damaged = damage_line(whole, number, (enum damage)damage, at, &line);
				unsigned long long guid, key;
				int end = 0;
				bool valid = !line[0] || (sscanf(line, "0x%llx 0x%llx%n", &guid, &key, &end) == 2 &&
							  !line[end]);
				struct keys *keys;

				assert_int_equal(load(damaged, 0600, &keys, NULL), 0);
				for (size_t i = 1; i <= 3; i++)
					assert_true(number == 2 * i - 1 ||
						    keys_find(keys, 0x0002c90300a1b2c0 + i) == 0xdeadbee0 + i);
				assert_int_equal(keys_file(keys, KEYS_OF_SMPS)->unread.first, valid ? 0 : number);
				keys_destroy(keys);
				free(line);
				free(damaged);
			}
		}
	}
}

TEST(a_missing_file_is_reported_with_its_path)
{
	struct error err = { 0 };
	struct keys *keys = NULL;

	char path[64];

	snprintf(path, sizeof(path), "%s/guid2mkey", directory);
	unlink(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(keys_load(directory, &keys, &err), ERR_IO);
	assert_non_null(strstr(err.text, "not a regular file"));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(keys_load(directory, &keys, &err), ERR_IO);
	assert_non_null(strstr(err.text, "not a regular file"));
	unlink(path);
	assert_int_equal(keys_load("/nonexistent", &keys, &err), ERR_IO);
	assert_non_null(strstr(err.text, "/nonexistent/guid2mkey"));
	assert_non_null(strstr(err.text, "--security-keys"));
	/* A directory can be opened, but not read. */
	assert_int_equal(mkdir("keys_test.dir", 0700), 0);
	assert_int_equal(mkdir("keys_test.dir/guid2mkey", 0700), 0);
	assert_int_equal(keys_load("keys_test.dir", &keys, &err), ERR_IO);
	rmdir("keys_test.dir/guid2mkey");
	rmdir("keys_test.dir");
	assert_null(keys);
}

TEST(a_world_readable_file_is_detected)
{
	static const struct {
		mode_t mode;
		bool exposed;
	} cases[] = { { 0400, false }, { 0640, false }, { 0644, true }, { 0604, true } };
	struct keys *keys;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(load("0x1 0x2\n", cases[i].mode, &keys, NULL), 0);
		assert_int_equal(keys_are_exposed(keys), cases[i].exposed);
		keys_destroy(keys);
	}
}

TEST(a_discovery_uses_the_own_key_else_the_most_frequent_one)
{
	static const struct {
		const char *content;
		uint64_t own, key;
		size_t different;
	} cases[] = {
		{ "0x1 0xa\n\n0x2 0xb\n\n0x3 0xc\n\n0x4 0xb\n\n0x5 0xc\n\n0x6 0xb\n", 1, 0xa, 3 },
		{ "0x1 0xa\n\n0x2 0xb\n\n0x3 0xc\n\n0x4 0xb\n\n0x5 0xc\n\n0x6 0xb\n", 99, 0xb, 3 },
		{ "0x1 0xa\n\n0x2 0xa\n", 99, 0xa, 1 },
		{ "\n", 99, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t different;
		struct keys *keys;

		assert_int_equal(load(cases[i].content, 0600, &keys, NULL), 0);
		assert_true(keys_pick(keys, cases[i].own, &different) == cases[i].key);
		assert_int_equal(different, cases[i].different);
		keys_destroy(keys);
	}
}

/* As opensm writes it: both directions, GUIDs with 16 digits, an empty line after each. */
TEST(neighbors_are_found_by_guid_and_port)
{
	static const char *const invalid[] = {
		"0x1 0x2\n", "0x1:1\n", "0x1:256 0x2:1\n", "0x1:1 0x2:1 3\n", "1:1 2:1\n",
	};
	struct error err = { 0 };
	struct keys *keys;

	write_file("neighbors", "0x0002c90300a1b2c3:1 0x0002c90300000001:17\n\n"
		   "0x0002c90300000001:17 0x0002c90300a1b2c3:1\n\n0x0002c90300000001:3 0x0002c90300000002:36\n\n");
	assert_int_equal(load("0x1 0xa\n", 0600, &keys, NULL), 0);
	assert_true(keys_neighbor(keys, 0x0002c90300a1b2c3, 1) == 0x0002c90300000001);
	assert_true(keys_neighbor(keys, 0x0002c90300000001, 17) == 0x0002c90300a1b2c3);
	assert_true(keys_neighbor(keys, 0x0002c90300000001, 3) == 0x0002c90300000002);
	assert_true(keys_neighbor(keys, 0x0002c90300000001, 4) == 0);
	assert_true(keys_neighbor(NULL, 1, 1) == 0);
	keys_destroy(keys);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		write_file("neighbors", invalid[i]);
		assert_int_equal(load("0x1 0xa\n", 0600, &keys, &err), ERR_IO);
		assert_non_null(strstr(err.text, "neighbors, line 1: the format is 0xGUID:PORT 0xGUID:PORT"));
	}
	remove_file("neighbors");
}

TEST(all_of_thousands_of_keys_are_found)
{
	enum { COUNT = 20000 };
	char *content = malloc(COUNT * 40), *at = content;
	struct keys *keys;

	for (uint64_t i = 1; i <= COUNT; i++)
		at += sprintf(at, "0x%016lx 0x%016lx\n\n", (unsigned long)(i * 0x9e3779b97f4a7c15), (unsigned long)i);
	assert_int_equal(load(content, 0600, &keys, NULL), 0);
	assert_int_equal(keys_count(keys), COUNT);
	for (uint64_t i = 1; i <= COUNT; i++)
		assert_true(keys_find(keys, i * 0x9e3779b97f4a7c15) == i);
	keys_destroy(keys);
	free(content);
}
