/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The file of settings: saving, loading, and invalid files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "storage/test/test_folder.h"
#include "tui/config_file.h"
#include "tui/tui.h"

static int enter(void **state);
static int leave(void **state);

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_file(const char *name, const char *text)
{
	char read[4096] = "";
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	read[fread(read, 1, sizeof(read) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(read, text);
}

static uint64_t chance = 7;

static unsigned below(unsigned limit)
{
	chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(chance >> 33) % limit;
}

TEST_WITH(saved_values_are_loaded, enter, leave)
{
	static struct config config, again;
	static const char *const pieces[] = {
		"a", "|", "=", "#", " ", "\xc3\xa4", "\"", "\\", "^(x)", "\xe6\xbc\xa2", "%s", ";",
	};
	struct error err = { 0 };

	for (int round = 0; round < 300; round++) {
		memset(&config, 0, sizeof(config));
		memset(&again, 0, sizeof(again));
		for (unsigned i = 0, count = below(CONFIG_MOST + 5); i < count; i++) {
			char name[16], value[2 * CONFIG_VALUE_SIZE] = "";

			for (unsigned left = below(200); left; left--)
				strcat(value, pieces[below(sizeof(pieces) / sizeof(pieces[0]))]);
			snprintf(name, sizeof(name), "n%u", i);
			config_put(&config, name, value);
		}
		assert_true(config_write(&config, "top.conf"));
		if (config_read(&again, "top.conf", &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(again.count, config.count);
		for (size_t i = 0; i < config.count; i++)
			assert_string_equal(config_get(&again, config.pairs[i].name), config.pairs[i].value);
	}
}

TEST(invalid_values_and_names_are_not_saved)
{
	static struct config config;
	char much[CONFIG_VALUE_SIZE + 1];

	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	config_put(&config, "a", "one\nb = two");
	config_put(&config, "c", "\033[2J");
	config_put(&config, "d", "\xff\xfe");
	config_put(&config, "e", much);
	config_put(&config, "", "x");
	config_put(&config, "with blank", "x");
	config_put(&config, "with=equals", "x");
	config_put(&config, "#comment", "x");
	config_put(&config, "much-too-long-a-name-for-what-a-screen-would-want-to-keep", "x");
	assert_int_equal(config.count, 0);
	much[sizeof(much) - 2] = '\0';
	config_put(&config, "e", much);
	config_put(&config, "f", "  in the middle  ");
	assert_int_equal(config.count, 2);
	assert_string_equal(config_get(&config, "e"), much);
	assert_string_equal(config_get(&config, "f"), "in the middle");
}

TEST_WITH(valid_lines_count_and_the_first_invalid_one_is_reported, enter, leave)
{
	static struct config config;
	struct error err = { 0 };

	write_file("top.conf",
		   "# a comment\n\nscreen = Links\nwhat is this\nmouse=no\r\n= 5\nlinks.filter =\nmouse = yes");
	assert_int_equal(config_read(&config, "top.conf", &err), ERR_USAGE);
	assert_string_equal(err.text, "ignored: line 4 is not \"name = value\" (top.conf)");
	assert_string_equal(config_get(&config, "screen"), "Links");
	assert_string_equal(config_get(&config, "mouse"), "yes");
	assert_string_equal(config_get(&config, "links.filter"), "");
	assert_int_equal(config.count, 3);
}

TEST_WITH(random_bytes_are_handled, enter, leave)
{
	static struct config config;
	char bytes[3000];

	for (int round = 0; round < 1000; round++) {
		size_t len = below(sizeof(bytes));

		memset(&config, 0, sizeof(config));
		for (size_t i = 0; i < len; i++)
			bytes[i] = below(3) ? "ab=\n #.\r"[below(8)] : (char)below(256);
		test_file_write("top.conf", bytes, len);
		config_read(&config, "top.conf", NULL);
		assert_true(config.count <= CONFIG_MOST);
		for (size_t i = 0; i < config.count; i++)
			for (const char *at = config.pairs[i].value; *at; at++)
				assert_true((unsigned char)*at >= ' ');
	}
}

TEST_WITH(a_non_regular_file_is_reported_and_a_missing_one_is_not, enter, leave)
{
	static struct config config;
	struct error err = { 0 };
	FILE *file;

	assert_int_equal(config_read(&config, "missing.conf", &err), 0);
	assert_int_equal(config_read(&config, "nowhere/missing.conf", &err), 0);
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(config_read(&config, "folder", &err), ERR_IO);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(config_read(&config, "pipe", &err), ERR_IO);
	file = fopen("long.conf", "w");
	assert_non_null(file);
	for (int i = 0; i < 10000; i++)
		fputs("name = 1\n", file);
	fclose(file);
	assert_int_equal(config_read(&config, "long.conf", &err), ERR_USAGE);
	assert_int_equal(config.count, 0);
}

TEST(only_changed_values_are_saved)
{
	static struct config file, before, now;

	config_put(&file, "theirs", "1");
	config_put(&file, "sort", "AGE");
	config_put(&before, "sort", "LID");
	config_put(&before, "mouse", "yes");
	config_put(&now, "sort", "LID");
	config_put(&now, "mouse", "yes");
	assert_false(config_update(&file, &before, &now));
	config_put(&now, "mouse", "no");
	assert_true(config_update(&file, &before, &now));
	assert_string_equal(config_get(&file, "mouse"), "no");
	assert_string_equal(config_get(&file, "sort"), "AGE");
	assert_string_equal(config_get(&file, "theirs"), "1");
}

TEST_WITH(folders_are_created_and_symlinks_kept, enter, leave)
{
	static struct config config;
	struct stat st;
	char here[512], path_of[600];

	config_put(&config, "mouse", "no");
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(path_of, sizeof(path_of), "%s/config/ibwire/top.conf", here);
	assert_true(config_write(&config, path_of));
	assert_file(path_of, "# ibwire top: written on exit if settings were changed\nmouse = no\n");
	assert_int_equal(symlink(path_of, "linked.conf"), 0);
	config_put(&config, "mouse", "yes");
	assert_true(config_write(&config, "linked.conf"));
	assert_int_equal(lstat("linked.conf", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file(path_of, "# ibwire top: written on exit if settings were changed\nmouse = yes\n");
	assert_int_equal(stat(path_of, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(a_failed_write_keeps_the_old_file, enter, leave)
{
	static struct config config;

	config_put(&config, "mouse", "no");
	write_file("file", "mouse = yes\n");
	assert_false(config_write(&config, "file/top.conf"));
	assert_false(config_write(&config, "/proc/ibwire/top.conf"));
	assert_int_equal(mkdir("top.conf", 0700), 0);
	assert_false(config_write(&config, "top.conf"));
	assert_file("file", "mouse = yes\n");
}

TEST(the_path_follows_the_xdg_specification)
{
	char where[64];

	setenv("HOME", "/home/ann", 1);
	setenv("XDG_CONFIG_HOME", "/etc/ann", 1);
	assert_true(tui_config_path(where, sizeof(where)));
	assert_string_equal(where, "/etc/ann/ibwire/top.conf");
	setenv("XDG_CONFIG_HOME", "not/absolute", 1);
	assert_true(tui_config_path(where, sizeof(where)));
	assert_string_equal(where, "/home/ann/.config/ibwire/top.conf");
	unsetenv("XDG_CONFIG_HOME");
	assert_false(tui_config_path(where, 20));
	unsetenv("HOME");
	assert_false(tui_config_path(where, sizeof(where)));
}

static int enter(void **state)
{
	return test_folder_make(state) || chdir(folder) < 0 ? -1 : 0;
}

static int leave(void **state)
{
	return chdir("/") < 0 ? -1 : test_folder_remove(state);
}
