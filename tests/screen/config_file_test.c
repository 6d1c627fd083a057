/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The file of settings: saving, loading, and invalid files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "storage/test/test_folder.h"
#include "tui/config_file.h"
#include "tui/tui.h"

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

static void saved_values_are_loaded(void **state)
{
	static struct config config, again;
	static const char *const pieces[] = {
		"a", "|", "=", "#", " ", "\xc3\xa4", "\"", "\\", "^(x)", "\xe6\xbc\xa2", "%s", ";",
	};
	struct error err = { 0 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		memset(&config, 0, sizeof(config));
		memset(&again, 0, sizeof(again));
		for (unsigned i = 0, count = below(CONFIG_MOST + 5); i < count; i++) {
			char name[16], value[2 * CONFIG_VALUE_SIZE] = "";

			for (unsigned left = below(200); left; left--)
				strcat(value, pieces[below(sizeof(pieces) / sizeof(pieces[0]))]);
			snprintf(name, sizeof(name), "n%u", i);
			config_put(&config, name, "%s", value);
		}
		assert_true(config_write(&config, "top.conf"));
		if (config_read(&again, "top.conf", &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(again.count, config.count);
		for (size_t i = 0; i < config.count; i++)
			assert_string_equal(config_get(&again, config.pairs[i].name), config.pairs[i].value);
	}
}

static void invalid_values_and_names_are_not_saved(void **state)
{
	static struct config config;
	char much[CONFIG_VALUE_SIZE + 1];

	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	config_put(&config, "a", "one\nb = two");
	config_put(&config, "c", "\033[2J");
	config_put(&config, "d", "\xff\xfe");
	config_put(&config, "e", "%s", much);
	config_put(&config, "", "x");
	config_put(&config, "with blank", "x");
	config_put(&config, "with=equals", "x");
	config_put(&config, "#comment", "x");
	config_put(&config, "much-too-long-a-name-for-what-a-screen-would-want-to-keep", "x");
	assert_int_equal(config.count, 0);
	much[sizeof(much) - 2] = '\0';
	config_put(&config, "e", "%s", much);
	config_put(&config, "f", "  in the middle  ");
	assert_int_equal(config.count, 2);
	assert_string_equal(config_get(&config, "e"), much);
	assert_string_equal(config_get(&config, "f"), "in the middle");
}

static void a_scope_is_a_prefix_of_names(void **state)
{
	static struct config config = { .scope = "links." };

	(void)state;
	config_put(&config, "sort", "%s", "AGE");
	assert_string_equal(config_get(&config, "links.sort"), "AGE");
	assert_null(config_get(&config, "sort"));
}

static void valid_lines_count_and_the_first_invalid_one_is_reported(void **state)
{
	static struct config config;
	struct error err = { 0 };

	(void)state;
	write_file("top.conf",
		   "# a comment\n\nscreen = Links\nwhat is this\nmouse=no\r\n= 5\nlinks.filter =\nmouse = yes");
	assert_int_equal(config_read(&config, "top.conf", &err), ERR_USAGE);
	assert_string_equal(err.text, "ignored: line 4 is not \"name = value\" (top.conf)");
	assert_string_equal(config_get(&config, "screen"), "Links");
	assert_string_equal(config_get(&config, "mouse"), "yes");
	assert_string_equal(config_get(&config, "links.filter"), "");
	assert_int_equal(config.count, 3);
}

static void random_bytes_are_handled(void **state)
{
	static struct config config;
	char bytes[3000];

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t len = below(sizeof(bytes));

		memset(&config, 0, sizeof(config));
		for (size_t i = 0; i < len; i++)
			bytes[i] = below(3) ? "ab=\n #.\r"[below(8)] : (char)below(256);
		config_parse(&config, bytes, len, NULL);
		assert_true(config.count <= CONFIG_MOST);
		for (size_t i = 0; i < config.count; i++)
			for (const char *at = config.pairs[i].value; *at; at++)
				assert_true((unsigned char)*at >= ' ');
	}
}

static void a_non_regular_file_is_reported_and_a_missing_one_is_not(void **state)
{
	static struct config config;
	struct error err = { 0 };
	FILE *file;

	(void)state;
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

static void only_changed_values_are_saved(void **state)
{
	static struct config file, before, now;

	(void)state;
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

static void folders_are_created_and_symlinks_kept(void **state)
{
	static struct config config;
	struct stat st;
	char here[512], path_of[600];

	(void)state;
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

static void a_failed_write_keeps_the_old_file(void **state)
{
	static struct config config;

	(void)state;
	config_put(&config, "mouse", "no");
	write_file("file", "mouse = yes\n");
	assert_false(config_write(&config, "file/top.conf"));
	assert_false(config_write(&config, "/proc/ibwire/top.conf"));
	assert_int_equal(mkdir("top.conf", 0700), 0);
	assert_false(config_write(&config, "top.conf"));
	assert_file("file", "mouse = yes\n");
}

static void the_path_follows_the_xdg_specification(void **state)
{
	char where[64];

	(void)state;
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

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(saved_values_are_loaded),
		cmocka_unit_test(invalid_values_and_names_are_not_saved),
		cmocka_unit_test(a_scope_is_a_prefix_of_names),
		IN_FOLDER(valid_lines_count_and_the_first_invalid_one_is_reported),
		cmocka_unit_test(random_bytes_are_handled),
		IN_FOLDER(a_non_regular_file_is_reported_and_a_missing_one_is_not),
		cmocka_unit_test(only_changed_values_are_saved),
		IN_FOLDER(folders_are_created_and_symlinks_kept),
		IN_FOLDER(a_failed_write_keeps_the_old_file),
		cmocka_unit_test(the_path_follows_the_xdg_specification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
