/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "tui/model/table.h"

/* The rows are rooms of a house. */
struct room {
	const char *name;
	double area;
	uint64_t number;
};

static struct room rooms[] = {
	{ "room10", 12, 3 }, { "room2", 30, 1 }, { "cellar", NAN, 2 }, { "hall", 12, 4 },
};

static void fill_name(struct result *result, size_t at, const void *row)
{
	result_text(result, at, ((const struct room *)row)->name);
}

enum { NAME, AREA, SECRET, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .title = "NAME", .fill = fill_name, .flags = COLUMN_FLEXIBLE },
	[AREA] = { .title = "AREA", .kind = COLUMN_REAL, COLUMN_MEMBER(struct room, area), .priority = 1 },
	[SECRET] = { .key = "secret", .fill = fill_name },
};

static struct house {
	struct room *rooms;
	size_t room_count;
} house = { .rooms = rooms };

static struct table_id identity(const struct table *table, size_t index)
{
	return (struct table_id){ 0, ((const struct room *)table_row(table, index))->number };
}

static const struct table_view view = {
	.name = "rooms", .noun = "room", .plural = "rooms", .none = "no rooms", .columns = columns,
	.column_count = COLUMNS, .fixed = 1 << NAME, .sort = NAME, .tags = true,
	.array = TABLE_ARRAY(struct house, rooms, room_count), .id = identity,
};

static void begin(struct table *table)
{
	house.room_count = sizeof(rooms) / sizeof(rooms[0]);
	table_init(table, &view, &house, NULL);
	table_arrange(table, true);
}

/* The names of the rows. */
static const char *names(struct table *table, char ret[256])
{
	enum role role;

	ret[0] = '\0';
	for (size_t row = 0; row < table->row_count; row++)
		sprintf(ret + strlen(ret), "%s%s", row ? " " : "", table_cell(table, row, NAME, 20, &role));
	return ret;
}

TEST(texts_are_in_natural_order_and_unknown_numbers_last_in_both_orders)
{
	struct table table;
	char text[256];

	begin(&table);
	assert_string_equal(names(&table, text), "cellar hall room2 room10");
	table.descending = true;
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "room10 room2 hall cellar");
	/* Numbers begin with the largest one; equal ones keep the order of the data. */
	table_sort_by(&table, AREA);
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "room2 room10 hall cellar");
	table.descending = false;
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "room10 hall room2 cellar");
	table_done(&table);
}

TEST(a_filter_reads_all_shown_columns_and_its_match_is_found)
{
	struct table table;
	char text[256];
	size_t len = 0;

	begin(&table);
	filter_set(&table.filter, "ROOM");
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "room2 room10");
	assert_int_equal(table.count, 4);
	assert_string_equal(table_match(&table, "my room2", &len), "room2");
	assert_int_equal(len, 4);
	assert_null(table_match(&table, "hall", &len));
	filter_set(&table.filter, "30|hall");
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "hall room2");
	filter_set(&table.filter, "!room");
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "cellar hall");
	assert_null(table_match(&table, "room2", &len));
	filter_set(&table.filter, "m[0-9]$");
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "room2");
	table_done(&table);
}

TEST(tags_stay_on_their_rows)
{
	struct table table;
	char text[256];
	enum role role;

	begin(&table);
	assert_int_equal(table_tag(&table, 1, NULL), 0);
	assert_true(table_is_tagged(&table, (struct table_id){ 0, 4 }));
	house.room_count = 2;
	table_arrange(&table, true);
	house.room_count = 4;
	table_arrange(&table, true);
	table.tagged_only = true;
	table_arrange(&table, false);
	assert_string_equal(names(&table, text), "hall");
	assert_string_equal(table_cell(&table, 0, COLUMNS, 1, &role), "*");
	assert_int_equal(table_find(&table, (struct table_id){ 0, 4 }), 0);
	assert_int_equal(table_find(&table, (struct table_id){ 0, 1 }), table.row_count);
	table_untag_all(&table);
	table_arrange(&table, false);
	assert_int_equal(table.row_count, 4);
	table_done(&table);
}

TEST(columns_that_each_list_has_are_appended)
{
	static const struct column source[] = {
		{ .key = "secret", .title = "SECRET", .fill = fill_name, .flags = COLUMN_APPEND },
		{ .key = "unlisted", .title = "UNLISTED", .fill = fill_name },
		{ .key = "more", .title = "MORE", .kind = COLUMN_REAL, COLUMN_MEMBER(struct room, area),
		  .flags = COLUMN_APPEND },
		{ 0 },
	};
	static const struct column_step steps[] = {
		{ NAME, 6, 0 }, { COLUMNS, 1, 0 }, { AREA, 6, 0 }, { NAME, 90, 0 },
	};
	struct table_view with = view;
	struct column_place places[TABLE_COLUMNS];
	struct table table;
	enum role role;
	size_t more;

	house.room_count = sizeof(rooms) / sizeof(rooms[0]);
	with.sources[0] = with.sources[1] = source;
	for (int stepped = 0; stepped < 2; stepped++) {
		with.steps = stepped ? steps : NULL;
		with.step_count = stepped ? sizeof(steps) / sizeof(steps[0]) : 0;
		table_init(&table, &with, &house, NULL);
		table_arrange(&table, true);
		/* Not again if the view names it, and once of a table that two structs have. */
		assert_int_equal(table.column_count, COLUMNS + 2);
		assert_true(table_find_column(&table, "MORE", &more));
		table_places(&table, 40, places);
		assert_true(places[more].columns > 0 && places[more].x > places[AREA].x);
		table_places(&table, 9, places);
		assert_int_equal(places[more].columns, 0);
		assert_string_equal(table_cell(&table, 1, more, 9, &role), "12");
		table.sort = more;
		table.descending = true;
		table_arrange(&table, false);
		assert_string_equal(table_cell(&table, 0, NAME, 9, &role), "room2");
		table_done(&table);
	}
}

TEST(columns_fit_any_width_and_those_without_a_title_are_not_shown)
{
	struct column_place places[TABLE_COLUMNS];
	struct table table;
	char head[TABLE_HEAD_SIZE];

	begin(&table);
	for (int width = 6; width < 40; width++) {
		table_places(&table, width, places);
		assert_true(places[NAME].columns > 0);
		assert_int_equal(places[SECRET].columns, 0);
		/* Nothing is tagged. */
		assert_int_equal(places[COLUMNS].columns, 0);
		for (size_t i = 0; i < table.column_count; i++)
			assert_true(!places[i].columns || places[i].x + places[i].columns <= width);
	}
	assert_true(places[AREA].x > places[NAME].x);
	assert_string_equal(table_head(&table, NAME, places[NAME].columns, false, head), "NAME^");
	assert_string_equal(table_head(&table, NAME, 4, false, head), "NAME");
	assert_string_equal(table_head(&table, AREA, places[AREA].columns, false, head), "AREA");
	/* The name is fixed, also where the settings hide it. */
	table.hidden = UINT64_MAX;
	table_places(&table, 40, places);
	assert_true(places[NAME].columns > 0 && !places[AREA].columns);
	assert_false(table_can_hide(&table, NAME));
	table_done(&table);
}
