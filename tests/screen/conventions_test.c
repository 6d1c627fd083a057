/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conventions of all screens: dimmed old values, saved settings, the mouse, complete help. */
#include <ctype.h>
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/shape.h"
#include "facts/amount.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"
#include "tui/screens/balance_view.h"
#include "tui/screens/links_view.h"
#include "tui/draw/draw.h"

/* Roles of values from the fabric. */
static bool is_value(enum role role)
{
	return role != ROLE_FAINT && role != ROLE_HEAD && role != ROLE_SORTED && role != ROLE_KEY && role != ROLE_GOOD;
}

/* A recording without a collector is old. */
TEST_ON_STAGE(old_numbers_are_dimmed_on_every_screen)
{
	static const char *const ways[] = { "1", "2", "3", "3g", "3H", "4", "4v", "1\r", "2\r", "3\r", "4\r" };
	char line[CANVAS_LINE_SIZE];

	stage_record("routes-skewed-story", path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct rect *body = &stage.app.body;

		stage_open(path, STAGE_END_US + 3600 * US_PER_S, 0, 50, 140);
		stage_keys(ways[i]);
		for (int y = body->y; y < body->y + body->rows; y++)
			for (int x = 0; x < canvas.columns; x++)
				if (isdigit((unsigned char)canvas.glyphs[y][x][0]) && is_value(canvas.roles[y][x]) &&
				    !(canvas.flags[y][x] & DRAW_DIM))
					fail_msg("keys %s: a number at row %d, column %d is not dimmed: %s", ways[i], y,
						 x, canvas_line(y, line));
	}
}

TEST_ON_STAGE(settings_are_saved_and_restored)
{
	static const char keys[] = "2xdI()s\033\r3vdsgHi4vv5sfK62/a\r1S\t jk2)";
	static struct config kept, again;
	char wrong[160];

	stage_record("dead-spine", path);
	for (int round = 0; round < (int)test_cases(40); round++) {
		stage_open(path, STAGE_END_US + US_PER_S, 0, 40, 120);
		for (unsigned left = 5 + stage_random(60); left; left--)
			stage_key(stage_random(8) ? keys[stage_random(sizeof(keys) - 1)] : KEY_SPECIAL(KEY_RIGHT));
		memset(&kept, 0, sizeof(kept));
		memset(&again, 0, sizeof(again));
		setup_save(&stage.app, &kept);
		stage_open(path, STAGE_END_US + US_PER_S, 0, 40, 120);
		if (!setup_restore(&stage.app, &kept, wrong, sizeof(wrong)))
			fail_msg("round %d: %s was not restored", round, wrong);
		setup_save(&stage.app, &again);
		stage_draw(40, 120);
		assert_int_equal(again.count, kept.count);
		for (size_t i = 0; i < kept.count; i++)
			assert_string_equal(config_get(&again, kept.pairs[i].name), kept.pairs[i].value);
	}
}

/* Restore the settings of the screen in a screen opened again. */
static void reopen(int rows, int columns)
{
	static struct config kept;
	char wrong[160];

	memset(&kept, 0, sizeof(kept));
	setup_save(&stage.app, &kept);
	stage_open(path, STAGE_END_US + US_PER_S, 0, rows, columns);
	assert_true(setup_restore(&stage.app, &kept, wrong, sizeof(wrong)));
	stage_keys("2");
}

TEST_ON_STAGE(moved_columns_of_links_are_saved)
{
	stage_begin("routes-skewed-story", 0, 24, 80);
	stage_try("2", "LINK    TXb/s  TX%  RXb/s  RX%  ERR");
	/* Sorted by LOAD%, which has no room here. */
	stage_try("(", "LOAD% is not shown");
	stage_key(KEY_SPECIAL(KEY_RIGHT));
	stage_try(")", "LINK    TX% TXb/s\xe2\x96\xbc  RXb/s  RX%");
	stage_key(KEY_SPECIAL(KEY_SRIGHT));
	stage_expect("LINK    TX%  RXb/s TXb/s\xe2\x96\xbc  RX%");
	for (int i = 0; i < 3; i++)
		stage_key(KEY_SPECIAL(KEY_SLEFT));
	stage_expect("STATUS TXb/s\xe2\x96\xbc LINK    TX%  RXb/s  RX%");
	/* Left and Right follow the order on the screen. */
	stage_key(KEY_SPECIAL(KEY_RIGHT));
	stage_expect("STATUS  TXb/s LINK\xe2\x96\xb2   TX%  RXb/s  RX%");
	reopen(24, 80);
	stage_expect("STATUS  TXb/s LINK\xe2\x96\xb2   TX%  RXb/s  RX%");
}

TEST_ON_STAGE(invalid_settings_are_handled)
{
	static const char *const values[] = {
		"", "yes", "no", "-1", "99999999999999999999", "(((((", "Links", "%n%n%s", "LID,LID,,", "PORT",
		"critical", "tier:999999 rail:-1 !!|||", "\xf0\x9f\x92\xa9",
	};
	static struct config all, some;
	char wrong[160];

	stage_record("nothing", path);
	for (int round = 0; round < 60; round++) {
		stage_open(path, STAGE_END_US + US_PER_S, 0, 30, 100);
		memset(&all, 0, sizeof(all));
		memset(&some, 0, sizeof(some));
		setup_save(&stage.app, &all);
		for (size_t i = 0; i < all.count; i++)
			config_put(&some, all.pairs[stage_random((unsigned)all.count)].name,
				 values[stage_random(sizeof(values) / sizeof(values[0]))]);
		config_put(&some, "links.", "x");
		config_put(&some, "of.another.version", "x");
		setup_restore(&stage.app, &some, wrong, sizeof(wrong));
		stage_keys("123456\r\033S");
	}
}

TEST_ON_STAGE(unknown_settings_are_ignored_and_invalid_values_reported)
{
	static struct config config;
	char wrong[160] = "";

	stage_begin("nothing", 0, 30, 100);
	config_put(&config, "racks.sort", "name");
	assert_true(setup_restore(&stage.app, &config, wrong, sizeof(wrong)));
	config_put(&config, "links.sort", "beauty");
	assert_false(setup_restore(&stage.app, &config, wrong, sizeof(wrong)));
	assert_string_equal(wrong, "links.sort = beauty");
}

TEST_ON_STAGE(hidden_columns_are_not_shown)
{
	struct list_screen *links;

	stage_begin("nothing", 0, 30, 100);
	stage_try("2", "AGE");
	stage_key(KEY_SPECIAL(KEY_F(2)));
	stage_expect("COLUMNS OF LINKS");
	links = screen_list(&stage.app, &screen_links);
	while (links->table.hidden != 1u << LINK_AGE) {
		links->table.hidden = 0;
		stage_key(KEY_SPECIAL(KEY_DOWN));
		stage_key(' ');
	}
	stage_key(KEY_ESCAPE);
	stage_expect("PEER");
	stage_hides("AGE");
}

TEST_ON_STAGE(refresh_intervals_are_cyclic)
{
	int64_t before_us;

	stage_begin("nothing", 0, 30, 100);
	before_us = stage.app.live->refresh_us;
	stage_keys("Sjj");
	for (int i = 0; i < 6; i++) {
		stage_key(KEY_SPECIAL(KEY_RIGHT));
		assert_true(i == 5 || stage.app.live->refresh_us > 0);
	}
	assert_int_equal(stage.app.live->refresh_us, before_us);
	stage_key(KEY_SPECIAL(KEY_LEFT));
	stage_expect("60 s");
	assert_int_equal(stage.app.live->refresh_us, 60 * US_PER_S);
}

/* On every screen with rows a click moves the cursor, and a second one opens the row. */
TEST_ON_STAGE(a_double_click_opens_the_selected_row)
{
	static const char tabs[] = "1235";

	stage_record("routes-skewed-story", path);
	for (size_t i = 0; tabs[i]; i++) {
		struct mouse mouse = { .x = 20 };

		stage_open(path, STAGE_END_US + US_PER_S, 0, 40, 120);
		stage_key(tabs[i]);
		/* There are rows in the upper half. */
		for (mouse.y = stage.app.body.y + 1; mouse.y < 20 && stage.app.depth == 1; mouse.y++) {
			stage_mouse(&mouse);
			assert_int_equal(stage.app.depth, 1);
			stage_mouse(&mouse);
			stage.boot_us += 10 * US_PER_S;
		}
		if (tabs[i] != '5' && stage.app.depth == 1) {
			stage_print();
			fail_msg("two clicks open nothing on screen %c", tabs[i]);
		}
	}
}

/* Open the recording of skewed routes. */
static void open_story(int rows, int columns)
{
	stage_begin("routes-skewed-story", 0, rows, columns);
}

TEST_ON_STAGE(clicks_on_different_rows_open_nothing)
{
	struct mouse mouse = { .x = 20 };

	open_story(40, 120);
	stage_key('2');
	mouse.y = stage.app.body.y + 5;
	for (int i = 0; i < 10; i++) {
		mouse.y += i % 2 ? 2 : -2;
		stage_mouse(&mouse);
	}
	stage_mouse(&(struct mouse){ .y = mouse.y, .x = mouse.x, .wheel = 1 });
	stage_mouse(&mouse);
	stage_key(KEY_SPECIAL(KEY_DOWN));
	stage_mouse(&mouse);
	assert_int_equal(stage.app.depth, 1);
}

TEST_ON_STAGE(a_click_below_all_rows_selects_nothing)
{
	const struct balance_view *view;
	struct mouse mouse = { .x = 20 };

	open_story(90, 120);
	stage_keys("3H");
	view = screen_state(&stage.app, &screen_balance);
	assert_true(view->host_count > 2 && (int)view->host_count < view->hosts.list.height);
	mouse.y = stage.app.body.y + 2 + (int)view->host_count;
	stage_mouse(&mouse);
	assert_int_equal(view->hosts.list.cursor, 0);
	mouse.y--;
	stage_mouse(&mouse);
	assert_int_equal(view->hosts.list.cursor, view->host_count - 1);
}

/* A fabric without tiers has a message above its groups. */
TEST_ON_STAGE(a_click_selects_the_row_drawn_there)
{
	const struct balance_view *view;
	struct mouse mouse = { .x = 20 };

	open_story(60, 120);
	stage.app.context->shape->tier_count = 1;
	stage_try("3i", "no map of tiers");
	view = screen_state(&stage.app, &screen_balance);
	mouse.y = canvas_find("GROUP ") + 3;
	stage_mouse(&mouse);
	assert_int_equal(view->groups.list.cursor, 2);
	assert_true(canvas.flags[mouse.y][5] & DRAW_CURSOR);
}

/* Blank lines at the end of the body. */
static int blank_rows(const struct app *app)
{
	char line[CANVAS_LINE_SIZE];
	int count = 0;

	while (count < app->body.rows && !*canvas_line(app->body.y + app->body.rows - 1 - count, line))
		count++;
	return count;
}

/* No group is omitted while lines are blank, except those reserved for the details of the selected group. */
TEST_ON_STAGE(groups_use_all_available_rows)
{
	const struct balance_view *view;
	int shown_before = 0;

	open_story(60, 200);
	stage_keys("3g");
	view = screen_state(&stage.app, &screen_balance);
	assert_true(view->result_count > 30);
	for (int rows = 24; rows <= 100; rows++) {
		int shown;

		stage_draw(rows, 200);
		shown = view->groups.list.height;
		assert_true(shown >= shown_before);
		if ((size_t)shown < view->result_count)
			assert_in_range(blank_rows(&stage.app), 0, 2);
		shown_before = shown;
	}
	assert_true((size_t)shown_before >= view->result_count);
	/* The number does not depend on the cursor. */
	stage_draw(50, 200);
	shown_before = view->groups.list.height;
	stage_key(KEY_SPECIAL(KEY_END));
	stage_draw(50, 200);
	assert_int_equal(view->groups.list.height, shown_before);
}

TEST_ON_STAGE(equally_uneven_hosts_are_sorted_by_name)
{
	const struct balance_view *view;
	size_t same = 0;

	open_story(60, 120);
	stage_keys("3H");
	view = screen_state(&stage.app, &screen_balance);
	for (size_t i = 1; i < view->host_count; i++) {
		char above[16], here[16];

		snprintf(above, sizeof(above), "%.0f", 100 * view->host_rows[i - 1].amount.excess);
		snprintf(here, sizeof(here), "%.0f", 100 * view->host_rows[i].amount.excess);
		assert_true(atoi(above) >= atoi(here));
		if (strcmp(above, here))
			continue;
		same++;
		assert_true(canvas_find(stage.app.context->shape->hosts[view->host_rows[i - 1].amount.index].name) <
			    canvas_find(stage.app.context->shape->hosts[view->host_rows[i].amount.index].name));
		assert_true(view->host_rows[i - 1].amount.index < view->host_rows[i].amount.index);
	}
	assert_true(same > 10);
}

TEST_ON_STAGE(hosts_are_filtered_and_sorted_like_other_lists)
{
	struct mouse mouse = { 0 };

	open_story(60, 120);
	stage_try("3H/node000[3-5]\r", "3 of 32 hosts");
	mouse.y = canvas_find("HOST ");
	stage_mouse(&mouse);
	stage_mouse(&mouse);
	assert_true(canvas_find("node0005 ") < canvas_find("node0004 "));
	assert_true(canvas_find("node0004 ") < canvas_find("node0003 "));
	stage_expect("node0005 mlx5_");
	stage_keys("\r");
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_PORT);
	stage_key(KEY_ESCAPE);
	stage_key(KEY_ESCAPE);
	stage_expect("32 of 32 hosts");
}

TEST_ON_STAGE(a_double_click_does_not_confirm_a_prompt)
{
	struct mouse mouse = { .x = 20, .twice = true };

	open_story(40, 120);
	stage_keys("5thalf a w");
	mouse.y = stage.app.body.y + 3;
	stage_mouse(&mouse);
	assert_non_null(stage.app.prompt->done);
	assert_string_equal(stage.app.prompt->text, "half a w");
}

/* All words of a screen's help appear while scrolling through it. */
static void check_help(const char *tab, int rows, int columns)
{
	static char seen[400000];
	char line[CANVAS_LINE_SIZE], before[CANVAS_LINE_SIZE] = "";
	const struct key_help *help;
	size_t len = 0;

	stage_open(path, STAGE_END_US + US_PER_S, 0, rows, columns);
	stage_keys(tab);
	help = app_screen(&stage.app)->help;
	stage_key(KEY_SPECIAL(KEY_F(1)));
	for (int i = 0; i < 400 && len + CANVAS_LINE_SIZE < sizeof(seen); i++) {
		canvas_line(stage.app.body.y, line);
		if (i && !strcmp(line, before))
			continue;
		len += (size_t)snprintf(seen + len, sizeof(seen) - len, "%s ", line);
		strcpy(before, line);
		stage_key(KEY_SPECIAL(KEY_DOWN));
	}
	for (int y = stage.app.body.y; y < stage.app.body.y + stage.app.body.rows; y++)
		len += (size_t)snprintf(seen + len, sizeof(seen) - len, "%s ", canvas_line(y, line));
	assert_null(strstr(seen, "\xe2\x80\xa6"));
	for (; help->keys; help++) {
		char words[512], *next = words, *word;

		snprintf(words, sizeof(words), "%s", help->text ? help->text : help->keys);
		while ((word = strsep(&next, " ")) != NULL)
			if (!strstr(seen, word))
				fail_msg("%dx%d: help of screen %s does not show \"%s\"", columns, rows, tab, word);
	}
}

TEST_ON_STAGE(help_of_every_screen_is_complete_at_every_size)
{
	static const char *const tabs[] = { "1", "2", "3", "4", "5", "6", "S", "1\r" };

	stage_record("routes-skewed-story", path);
	for (size_t i = 0; i < sizeof(tabs) / sizeof(tabs[0]); i++) {
		check_help(tabs[i], 24, 80);
		check_help(tabs[i], 10, 40);
	}
}

static bool help_has(const struct screen *screen, const char *word)
{
	for (const struct key_help *help = screen->help; help->keys; help++)
		if (strstr(help->keys, word) || strstr(help->text, word))
			return true;
	return false;
}

/* Abbreviations are explained. */
TEST(help_of_balance_explains_its_columns_and_causes)
{
	static const char *const heads[] = { "TESTS", "AR", "CAUSE", "MAX UTIL%", "IMBALANCE%", "(echo)" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (!help_has(&screen_balance, heads[i]))
			fail_msg("%s is not explained", heads[i]);
	for (int cause = BALANCE_NONE + 1; cause < BALANCE_CAUSE_COUNT; cause++)
		if (!help_has(&screen_balance, balance_cause_name((enum balance_cause)cause)))
			fail_msg("%s is not explained", balance_cause_name((enum balance_cause)cause));
}

/* The row that has most cells of the cursor, or -1. */
static int selected_row(void)
{
	for (int y = stage.app.body.y; y < stage.app.body.y + stage.app.body.rows; y++) {
		int cells = 0;

		for (int x = 0; x < canvas.columns; x++)
			cells += canvas.flags[y][x] & DRAW_CURSOR ? 1 : 0;
		if (cells > canvas.columns / 2)
			return y;
	}
	return -1;
}

TEST_ON_STAGE(the_selected_row_is_one_bar)
{
	static const char *const ways[] = { "1", "1j", "2", "2j", "3g", "5", "N" };
	char line[CANVAS_LINE_SIZE];

	stage_record("routes-skewed-story", path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (int columns = 80; columns <= 200; columns += 40) {
			int y;

			stage_open(path, STAGE_END_US + US_PER_S, 0, 24, columns);
			stage_keys(ways[i]);
			y = selected_row();
			assert_true(y >= 0);
			for (int x = 0; x < canvas.columns; x++)
				if (!(canvas.flags[y][x] & DRAW_CURSOR))
					fail_msg("keys %s: column %d is not selected: %s", ways[i], x,
						 canvas_line(y, line));
		}
}

TEST_ON_STAGE(an_unknown_key_is_named)
{
	static const struct { int key; const char *name; } keys[] = {
		{ 'W', "W" }, { KEY_CTRL('y'), "^Y" }, { KEY_SPECIAL(KEY_F(9)), "F9" }, { 0xe9, "\u00e9" },
		{ KEY_SPECIAL(KEY_DC), "DC" },
	};
	static const char *const ways[] = { "1", "2", "3", "3g", "3H", "4", "5", "6", "7", "1\r", "2\r", "N" };

	stage_record("routes-skewed-story", path);
	stage_open(path, STAGE_END_US + US_PER_S, 0, 24, 80);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (size_t j = 0; j < sizeof(keys) / sizeof(keys[0]); j++) {
			char text[64];

			stage_keys(ways[i]);
			stage.app.message[0] = '\0';
			stage_key(keys[j].key);
			snprintf(text, sizeof(text), "%s has no function here; ? lists the keys", keys[j].name);
			stage_expect(text);
		}
	/* Keys with a function need no message. */
	stage.app.message[0] = '\0';
	stage_keys("1jk?q2jkgG");
	stage_hides("has no function");
}
