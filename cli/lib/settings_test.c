/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* settings_test.c - the settings file: valid settings, and errors for invalid ones */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_damage.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/lib/settings.h"
#include "collector/sink.h"
#include "storage/reader.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static int load(const char *lines, struct settings *ret, struct error *err)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(lines, file);
	fclose(file);
	return settings_load(path, ret, err);
}

TEST_IN_FOLDER(the_cabling_plan_is_a_list_of_files)
{
	struct settings settings;
	struct text text = { 0 };
	struct error err = { 0 };

	assert_int_equal(load("[plan]\nfile = a.csv  /etc/ibwire/b.csv\n  c.topo\n", &settings, NULL), 0);
	assert_int_equal(settings.plan_file_count, 3);
	assert_string_equal(settings.plan_files[0], "a.csv");
	assert_string_equal(settings.plan_files[1], "/etc/ibwire/b.csv");
	assert_string_equal(settings.plan_files[2], "c.topo");
	settings_append(&settings, &text);
	settings_done(&settings);
	assert_int_equal(load(text_chars(&text), &settings, &err), 0);
	assert_int_equal(settings.plan_file_count, 3);
	settings_done(&settings);
	text_done(&text);
	assert_int_equal(load("[plan]\nfiles = a.csv\n", &settings, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "[plan] files is not known: use file"));
	settings_done(&settings);
	assert_int_equal(load("", &settings, NULL), 0);
	assert_int_equal(settings.plan_file_count, 0);
	settings_done(&settings);
}

TEST_IN_FOLDER(ports_of_jobs_are_read_between_sweeps_if_it_is_set)
{
	struct settings settings;
	struct text text = { 0 };
	struct error err = { 0 };

	assert_int_equal(load("", &settings, NULL), 0);
	assert_int_equal(settings.fast_jobs_us, 0);
	settings_append(&settings, &text);
	settings_done(&settings);
	assert_int_equal(load(text_chars(&text), &settings, NULL), 0);
	assert_int_equal(settings.fast_jobs_us, 0);
	settings_done(&settings);
	text_done(&text);
	assert_int_equal(load("[jobs]\nfast = 500ms\n", &settings, NULL), 0);
	assert_int_equal(settings.fast_jobs_us, 500000);
	settings_append(&settings, &text);
	settings_done(&settings);
	assert_int_equal(load(text_chars(&text), &settings, NULL), 0);
	assert_int_equal(settings.fast_jobs_us, 500000);
	settings_done(&settings);
	text_done(&text);
	assert_int_equal(load("[jobs]\nfast = soon\n", &settings, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "[jobs] fast must be a time"));
	settings_done(&settings);
}

TEST_IN_FOLDER(jobs_are_found_if_it_is_set)
{
	struct settings settings;
	struct text text = { 0 };
	struct error err = { 0 };

	assert_int_equal(load("", &settings, NULL), 0);
	assert_false(settings.detect_jobs);
	settings_done(&settings);
	assert_int_equal(load("[jobs]\ndetect = yes\n", &settings, NULL), 0);
	assert_true(settings.detect_jobs);
	settings_append(&settings, &text);
	settings_done(&settings);
	assert_int_equal(load(text_chars(&text), &settings, NULL), 0);
	assert_true(settings.detect_jobs);
	settings_done(&settings);
	text_done(&text);
	assert_int_equal(load("[jobs]\ndetect = 1\n", &settings, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "[jobs] detect must be yes or no"));
	settings_done(&settings);
}

TEST_IN_FOLDER(unset_settings_have_defaults)
{
	struct health_settings defaults;
	struct settings settings;

	health_settings_default(&defaults);
	assert_int_equal(load("; comment\n[health]\nrecovery = 90s\nsilent_sweeps = 7\n"
			      "[balance]\nmeasured_excess = 35%\n"
			      "window = 2m\n[symbol-errors]\nwarning = 3.5\n[link-flapping]\noff = yes\n"
			      "[class]\nstorage = oss*, mds[0-9], ost[01,03]\n"
			      "management = login*\n[rail]\nrail7 = * mlx5_9\n",
			      &settings, NULL), 0);
	assert_int_equal(settings.health.recovery_us, 90000000);
	assert_int_equal(settings.health.balance.window_us, 120000000);
	assert_int_equal(settings.health.silent_sweeps, 7);
	assert_true(settings.health.balance.measured_excess == 0.35);
	assert_true(settings.health.limits[FINDING_SYMBOL_ERRORS].warning == 3.5);
	assert_true(settings.health.limits[FINDING_SYMBOL_ERRORS].critical ==
		    defaults.limits[FINDING_SYMBOL_ERRORS].critical);
	assert_true(settings.health.limits[FINDING_LINK_FLAPPING].off);
	assert_int_equal(settings.health.degraded_after_us, defaults.degraded_after_us);
	assert_string_equal(settings.shape.classes[0].pattern, "oss*");
	assert_int_equal(settings.shape.classes[0].class, CLASS_STORAGE);
	assert_string_equal(settings.shape.classes[1].pattern, "mds[0-9]");
	assert_string_equal(settings.shape.classes[2].pattern, "ost[01,03]");
	assert_int_equal(settings.shape.classes[3].class, CLASS_MANAGEMENT);
	assert_null(settings.shape.classes[4].pattern);
	assert_string_equal(settings.shape.rails[0].pattern, "* mlx5_9");
	assert_string_equal(settings.shape.rails[0].rail, "rail7");
	assert_null(settings.shape.rails[1].pattern);
	settings_done(&settings);
}

TEST_IN_FOLDER(invalid_setting_is_reported_with_its_line)
{
	static const struct { const char *lines, *line; } cases[] = {
		{ "[health]\nrecovery = soon\n", "line 2:" },
		{ "[health]\n\nrecovry = 5m\n", "did you mean 'recovery'?" },
		{ "[helth]\nrecovery = 5m\n", "line 2:" },
		{ "[health]\nsilent_sweeps = 0\n", "line 2:" },
		{ "[health]\nsilent_sweeps = 1.5\n", "line 2:" },
		{ "[balance]\nspread = -1%\n", "line 2:" },
		{ "[symbol-errors]\nwarning = many\n", "line 2:" },
		{ "[symbol-errors]\noff = maybe\n", "yes or no" },
		{ "[symbol-errors]\nwarn = 3\n", "use warning, critical or off" },
		{ "[class]\nstorag = oss*\n", "is not a class" },
		{ "[health]\njust words\n", "line 2:" },
		{ "recovery = 5m\n", "line 1:" },
		{ "[health]\nxx\n[symbol-errors]\nfoo = 3\n", "line 2: must be [section] or KEY = VALUE" },
		{ "[class]\nstorage = oss*\n  management = m*\n  manage = n*\n",
		  "line 4: [class] manage is not a class" },
		{ "[health] recovery = 5m\n", "line 1:" },
		{ "[class]\nstorage = \x1b[31moss*\n", "line 2: contains control characters" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct settings settings;
		struct error err = { 0 };

		if (load(cases[i].lines, &settings, &err) != ERR_USAGE || !strstr(err.text, cases[i].line))
			fail_msg("'%s': %s", cases[i].lines, err.text);
		settings_done(&settings);
	}
}

TEST_IN_FOLDER(printed_settings_round_trip)
{
	struct settings settings, again;
	struct text text = { 0 }, second = { 0 };

	assert_int_equal(load("[balance]\nharm_stall = 7.5%\n[health]\ntraining = 61s\n[coverage]\nwarning = 97\n",
			      &settings, NULL), 0);
	settings_append(&settings, &text);
	assert_int_equal(load(text_chars(&text), &again, NULL), 0);
	settings_append(&again, &second);
	assert_string_equal(text_chars(&text), text_chars(&second));
	assert_non_null(strstr(text_chars(&text), "harm_stall = 7.5%"));
	assert_non_null(strstr(text_chars(&text), "training = 61s"));
	text_done(&text);
	text_done(&second);
	settings_done(&settings);
	settings_done(&again);
}

TEST_IN_FOLDER(missing_settings_file_is_an_error)
{
	struct settings settings;
	struct error err = { 0 };

	assert_int_equal(settings_load("/nonexistent/ibwire.conf", &settings, &err), ERR_IO);
	settings_done(&settings);
	setenv("IBWIRE_SETTINGS", "/nonexistent/ibwire.conf", 1);
	assert_int_equal(settings_load(NULL, &settings, &err), ERR_IO);
	settings_done(&settings);
	unsetenv("IBWIRE_SETTINGS");
}

/* Longer than any buffer, and continued. */
TEST_IN_FOLDER(a_long_list_and_more_of_it_in_the_next_lines_is_read)
{
	struct text text = { 0 };
	struct settings settings;
	struct error err;

	text_append(&text, "[class]\nstorage = oss0*");
	for (int i = 1; i < 1000; i++)
		text_appendf(&text, "%s oss%d*", i % 100 ? "," : "\n\t", i);
	text_append(&text, " ; the last\nmanagement = login*\n");
	if (load(text_chars(&text), &settings, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(settings.class_count, 1001);
	assert_string_equal(settings.shape.classes[999].pattern, "oss999*");
	assert_int_equal(settings.shape.classes[1000].class, CLASS_MANAGEMENT);
	settings_done(&settings);
	text_done(&text);
}

/* The model: what a line may be. */
static bool is_whole(const char *line)
{
	static const char form[] = "^([ \t]*|[ \t]*[;#].*|\\[(health|symbol-errors|class)]"
				   "|recovery = [0-9.]+(s|m)?|silent_sweeps = [0-9]+"
				   "|warning = [0-9.]+|storage =( [][a-z0-9*, ;\"-]*)?)$";
	regex_t regex;
	bool found;

	assert_int_equal(regcomp(&regex, form, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&regex, line, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

TEST_IN_FOLDER(a_damaged_line_of_the_settings_is_an_error_that_names_it)
{
	static const char whole[] = "; thresholds\n[health]\nrecovery = 90s\nsilent_sweeps = 7\n\n[symbol-errors]\n"
				    "warning = 3.5\n[class]\nstorage = oss*, mds[0-9]\n";
	for (size_t number = 1; number <= damage_lines(whole); number++) {
		for (int damage = DAMAGE_DOUBLED; damage < DAMAGE_COUNT; damage++) {
			size_t most = damage < DAMAGE_CUT ? 0 : damage_bytes(whole, number);

			for (size_t at = 0; at <= most; at++) {
				char *line, *damaged = damage_line(whole, number, (enum damage)damage, at, &line);
				char where[32];
				struct settings settings;
				struct error err = { 0 };
				int code = load(damaged, &settings, &err);

				/* Without its section the next setting is the error. */
				snprintf(where, sizeof(where), ", line %zu: ", number + !*line);
				if (damage == DAMAGE_DOUBLED)
					assert_int_equal(code, 0);
				else if (!is_whole(line) || (code < 0 && !strchr(";[", *line)))
					if (code != ERR_USAGE || !strstr(err.text, where))
						fail_msg("line %zu, '%s': %s", number, line, err.text);
				settings_done(&settings);
				free(line);
				free(damaged);
			}
		}
	}
}

/* Through the store: readers use the settings of the collector, unless a file was named. */
TEST_IN_FOLDER(settings_of_the_collector_are_those_of_its_database)
{
	struct model *model = model_create(3, 2, 4, 2);
	struct settings collector, own;
	struct balance_settings balance;
	struct writer *writer;
	struct reader *reader;
	struct text text = { 0 };
	char db[sizeof(path) + 8];

	snprintf(db, sizeof(db), "%s.db", path);
	assert_int_equal(load("[balance]\nwindow = 5m\nmeasured_excess = 35%\n", &collector, NULL), 0);
	settings_append(&collector, &text);
	/* The file is replaced later, as by --new-fabric. */
	for (int set = 0; set < 3; set++) {
		assert_int_equal(writer_open(db, &writer, NULL), 0);
		if (set)
			assert_int_equal(writer_set_settings(writer, text_chars(&text), NULL), 0);
		if (set == 2)
			assert_int_equal(writer_forget_fabric(writer, NULL), 0);
		assert_int_equal(writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(model), NULL), 0);
		writer_close(writer);
		assert_int_equal(reader_open(db, &reader, NULL), 0);
		own = (struct settings){ 0 };
		health_settings_default(&own.health);
		assert_int_equal(settings_balance(&own, reader, &balance, NULL), 0);
		assert_int_equal(balance.window_us, set ? 300000000 : own.health.balance.window_us);
		assert_true(balance.measured_excess == (set ? 0.35 : own.health.balance.measured_excess));
		assert_true(balance.table_ratio == own.health.balance.table_ratio);
		own.is_given = true;
		assert_int_equal(settings_balance(&own, reader, &balance, NULL), 0);
		assert_memory_equal(&balance, &own.health.balance, sizeof(balance));
		reader_close(reader);
	}
	text_done(&text);
	settings_done(&collector);
	model_destroy(model);
}
