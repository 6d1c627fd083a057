/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pages of all subjects in a recording: layout, and values as in the database. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "fabric/shape.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "tests/screen/stage.h"
#include "tui/screens/subject_page.h"

#define MINUTE_US (60 * US_PER_S)

static const char *part_text(const struct text_page *page, size_t part)
{
	return page->chars.chars + page->parts[part].text;
}

/* Parts of a line do not overlap or exceed the page. */
static void check_page(const struct text_page *page)
{
	assert_false(page->failed);
	assert_true(page->line_count > 0);
	for (size_t i = 0; i < page->line_count; i++) {
		int end = 0;

		for (size_t p = page->lines[i].first; p < page->lines[i].first + page->lines[i].count; p++) {
			if (page->parts[p].x < end || page->parts[p].x + page->parts[p].columns > page->columns)
				fail_msg("line %zu of %d columns: '%s' at %d", i, page->columns, part_text(page, p),
					 page->parts[p].x);
			end = page->parts[p].x + page->parts[p].columns;
		}
	}
}

/* The line that contains a text; fail if there is none. */
static size_t line_with(const struct text_page *page, const char *text)
{
	for (size_t i = 0; i < page->line_count; i++)
		for (size_t p = page->lines[i].first; p < page->lines[i].first + page->lines[i].count; p++)
			if (strstr(part_text(page, p), text))
				return i;
	for (size_t i = 0; i < page->part_count; i++)
		print_message("# %s\n", part_text(page, i));
	fail_msg("no line has '%s'", text);
	return 0;
}

static bool has(const struct text_page *page, const char *text)
{
	for (size_t i = 0; i < page->part_count; i++)
		if (strstr(part_text(page, i), text))
			return true;
	return false;
}

static void check_widths(struct subject_page *detail, const struct subject *subject)
{
	static const int widths[] = { 40, 47, 59, 60, 69, 70, 79, 80, 99, 100, 120, 163, 200, 300 };

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		detail->rows = widths[i] / 4;
		subject_page_fill(detail, &stage.app, subject, widths[i]);
		check_page(&detail->page);
	}
}

TEST_ON_STAGE(pages_of_all_subjects_fit_every_width)
{
	struct subject_page detail = { .plot.window = 2 };
	const struct subject whole = { .kind = SUBJECT_FABRIC };
	const struct fabric *fabric;
	const struct shape *shape;

	stage_begin("routes-skewed-story", 0, 40, 120);
	fabric = stage.app.live->shown->fabric;
	shape = stage.app.context->shape;
	check_widths(&detail, &whole);
	for (uint32_t i = 0; i < fabric->port_count; i += 7) {
		const struct subject subject = subject_of_port(&stage.app, i);

		check_widths(&detail, &subject);
	}
	for (uint32_t i = 0; i < fabric->node_count; i += 5) {
		const struct subject subject = subject_of_node(&stage.app, i);

		check_widths(&detail, &subject);
	}
	for (uint32_t i = 0; i < shape->group_count; i++) {
		const struct subject subject = subject_of_group(&stage.app, &shape->groups[i]);

		assert_int_equal(subject_group(shape, &subject), i);
		check_widths(&detail, &subject);
	}
	for (size_t i = 0; i < stage.app.context->finding_count; i++) {
		const struct subject subject = { .kind = SUBJECT_FINDING,
						 .id = stage.app.context->findings[i].finding.id };

		check_widths(&detail, &subject);
	}
	page_done(&detail.page);
}

TEST_ON_STAGE(absent_subjects_are_reported)
{
	static const struct subject gone[] = {
		{ .kind = SUBJECT_PORT, .node_guid = 1, .port = 1 }, { .kind = SUBJECT_NODE, .node_guid = 1 },
		{ .kind = SUBJECT_GROUP, .node_guid = 1 },           { .kind = SUBJECT_FINDING, .id = 99999 },
		{ .kind = SUBJECT_GROUP, .node_guid = 1, .peer_guid = 2 },
	};
	struct subject_page detail = { .plot.window = 2 };

	stage_begin("nothing-idle", 0, 40, 120);
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++) {
		check_widths(&detail, &gone[i]);
		assert_true(has(&detail.page, "is not "));
		assert_false(history_plot_load(&detail.plot, &stage.app, &gone[i], 80) && !detail.plot.problem[0]);
	}
	page_done(&detail.page);
	history_plot_done(&detail.plot);
}

/* The imbalance finding of the recording. */
static const struct finding_row *imbalance(void)
{
	for (size_t i = 0; i < stage.app.context->finding_count; i++)
		if (stage.app.context->findings[i].finding.kind == FINDING_UPLINK_IMBALANCE)
			return &stage.app.context->findings[i];
	fail_msg("the story has no finding");
	return NULL;
}

TEST_ON_STAGE(a_finding_page_has_all_details_and_opens_its_subject)
{
	struct subject_page detail = { .plot.window = 2 };
	const struct finding_row *row;
	struct subject subject = { .kind = SUBJECT_FINDING };
	size_t at;

	stage_begin("routes-skewed-story", 0, 40, 120);
	row = imbalance();
	subject.id = row->finding.id;
	subject_page_fill(&detail, &stage.app, &subject, 300);
	line_with(&detail.page, row->finding.text);
	line_with(&detail.page, "routing");
	line_with(&detail.page, row->advice);
	line_with(&detail.page, "hottest port 20");
	line_with(&detail.page, finding_kind_info(row->finding.kind)->reason);
	line_with(&detail.page, "MEMBERS");
	line_with(&detail.page, "16 hosts: node[0017-0032]");
	at = line_with(&detail.page, "at");
	assert_int_equal(detail.page.lines[at].subject.kind, SUBJECT_GROUP);
	assert_int_equal(detail.page.lines[at].subject.node_guid, row->finding.node_guid);
	/* Before its begin the page reports that it is not open. */
	stage_open(path, STAGE_END_US + 3 * US_PER_S, STAGE_END_US - 10 * MINUTE_US, 40, 120);
	subject_page_fill(&detail, &stage.app, &subject, 80);
	line_with(&detail.page, "not open");
	page_done(&detail.page);
}

TEST_ON_STAGE(history_rises_when_the_routes_are_skewed_and_ends_at_the_shown_time)
{
	struct subject_page detail = { .plot.window = 2 };
	struct subject place;
	double before = 0, after = 0;
	size_t count_before = 0, count_after = 0;

	stage_begin("routes-skewed-story", 0, 40, 120);
	place = subject_of_finding(imbalance());
	place = (struct subject){ .kind = SUBJECT_PORT, .node_guid = place.node_guid, .port = 20 };
	assert_true(history_plot_load(&detail.plot, &stage.app, &place, 120));
	assert_string_equal(detail.plot.problem, "");
	assert_int_equal(detail.plot.series_count, 2);
	assert_int_equal(detail.plot.until_us, stage.app.live->shown->sweep.wall_us);
	/* An hour is selected, 12 minutes are stored. */
	assert_true(detail.plot.since_us >= STAGE_END_US - 12 * MINUTE_US);
	for (size_t i = 0; i < detail.plot.series[0].count; i++) {
		const struct series_step *step = &detail.plot.series[0].steps[i];

		assert_true(step->until_us > detail.plot.since_us && step->from_us < detail.plot.until_us);
		if (isnan(step->mean))
			continue;
		if (step->until_us < STAGE_END_US - 8 * MINUTE_US) {
			before += step->mean;
			count_before++;
		} else if (step->from_us > STAGE_END_US - 6 * MINUTE_US) {
			after += step->mean;
			count_after++;
		}
	}
	assert_true(count_before && count_after && after / count_after > 2 * before / count_before);
	/* Only another metric, window or width is read again. */
	assert_false(history_plot_load(&detail.plot, &stage.app, &place, 120));
	for (int i = 0; i < 6; i++) {
		history_plot_next(&detail.plot, &place);
		assert_true(history_plot_load(&detail.plot, &stage.app, &place, 120));
		assert_string_equal(detail.plot.problem, "");
		history_plot_zoom(&detail.plot, i % 2 ? 1 : -1);
		assert_true(history_plot_load(&detail.plot, &stage.app, &place, 120));
	}
	assert_true(history_plot_load(&detail.plot, &stage.app, &place, 60));
	history_plot_done(&detail.plot);
}

TEST_ON_STAGE(an_unknown_quantity_has_a_line_and_no_axis)
{
	stage_record("routes-skewed-story", path);
	/* The ticks of all HCAs are contradicted by their counters. */
	check_change(path, "INSERT INTO wait_contradicted SELECT id, 1 FROM node");
	stage_open(path, STAGE_END_US + 3 * US_PER_S, 0, 40, 120);
	stage_keys("2/node0001\r\r");
	stage_expect("60.0 %");
	stage_try("cc", "XmitWait % (estimate)");
	stage_expect("no data in this window");
	stage_hides("└");
}

TEST_ON_STAGE(plots_of_all_metrics_fit_every_size)
{
	struct subject_page detail = { .plot.window = 1 };
	struct subject places[3];

	stage_begin("routes-skewed-story", 0, 40, 120);
	places[0] = subject_of_finding(imbalance());
	places[1] = (struct subject){ .kind = SUBJECT_NODE, .node_guid = places[0].node_guid };
	places[2] = (struct subject){ .kind = SUBJECT_PORT, .node_guid = places[0].node_guid, .port = 20 };
	for (size_t i = 0; i < 3; i++)
		for (int metric = 0; metric < 6; metric++) {
			for (int columns = 40; columns <= 300; columns += 13) {
				struct text_page page = { 0 };

				history_plot_load(&detail.plot, &stage.app, &places[i], columns);
				assert_string_equal(detail.plot.problem, "");
				for (int height = 1; height < 20; height += 3) {
					page_begin(&page, columns);
					history_plot_put(&detail.plot, &page, height, columns % 2);
					check_page(&page);
				}
				page_done(&page);
			}
			history_plot_next(&detail.plot, &places[i]);
		}
	/* ASCII output has no other characters. */
	page_begin(&detail.page, 80);
	history_plot_put(&detail.plot, &detail.page, 10, false);
	for (size_t i = 0; i < detail.page.chars.len; i++)
		assert_true((unsigned char)detail.page.chars.chars[i] < 0x80);
	page_done(&detail.page);
	history_plot_done(&detail.plot);
}

TEST_ON_STAGE(a_group_page_has_shares_of_all_members_and_tables)
{
	stage_begin("routes-skewed-story", 0, 40, 120);
	/* The finding is the first on the overview; then its group. */
	stage_keys("2/leaf-u02-r3/20\r\r");
	assert_ptr_equal(app_screen(&stage.app), &screen_subject);
	stage_expect("leaf-u02-r3/20");
	stage_try("jj\r", "leaf-u02-r3 uplinks");
	stage_expect("busiest member now, leaf-u02-r3/20");
	/* The tables are read after the first draw. */
	stage_draw(60, 120);
	stage_draw(60, 120);
	stage_expect("TABLE");
	stage_expect("52.1");
	stage_key(KEY_ESCAPE);
	stage_keys("x");
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_PORT);
	assert_true(app_subject(&stage.app)->port != 20);
	stage_keys("x");
	assert_int_equal(app_subject(&stage.app)->port, 20);
	stage_key(KEY_ESCAPE);
	assert_ptr_equal(app_screen(&stage.app), &screen_links);
}

TEST_ON_STAGE(a_progress_message_precedes_a_long_query)
{
	struct history_plot plot = { .window = 2, .samples_at_once = 1 };
	struct subject node, port;
	struct text_page page = { 0 };

	stage_begin("routes-skewed-story", 0, 40, 120);
	node = subject_of_finding(imbalance());
	port = (struct subject){ .kind = SUBJECT_PORT, .node_guid = node.node_guid, .port = 20 };
	node.kind = SUBJECT_NODE;
	assert_true(history_plot_load(&plot, &stage.app, &node, 80));
	assert_true(plot.waits);
	page_begin(&page, 80);
	history_plot_put(&plot, &page, 10, true);
	line_with(&page, "reading");
	/* Another subject before it was read has a message first, too. */
	assert_true(history_plot_load(&plot, &stage.app, &port, 80));
	assert_true(plot.waits);
	assert_true(history_plot_load(&plot, &stage.app, &port, 80));
	assert_false(plot.waits);
	assert_int_equal(plot.series_count, 2);
	assert_false(history_plot_load(&plot, &stage.app, &port, 80));
	/* A step in time is read without a message. */
	stage_keys("<");
	assert_true(history_plot_load(&plot, &stage.app, &port, 80));
	assert_false(plot.waits);
	page_done(&page);
	history_plot_done(&plot);
}

/* An HCA at a leaf. */
static uint32_t peer_hca(const struct snapshot *shown, uint32_t leaf)
{
	const struct fabric *fabric = shown->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].node == leaf && fabric->ports[i].peer != FABRIC_NONE &&
		    fabric->nodes[fabric->ports[fabric->ports[i].peer].node].type == NODE_CA)
			return fabric->ports[fabric->ports[i].peer].node;
	fail_msg("no HCA is there");
	return FABRIC_NONE;
}

/* Port 0 of a switch also has counters, but no link. */
TEST_ON_STAGE(a_switch_is_the_sum_of_its_links)
{
	struct subject_page detail = { 0 };
	const struct snapshot *shown;
	struct subject subject;
	unsigned links = 0, words = 0;
	char text[64];
	uint32_t node;

	stage_begin("routes-skewed-story", 0, 40, 120);
	subject = subject_of_finding(imbalance());
	subject.kind = SUBJECT_NODE;
	shown = stage.app.live->shown;
	node = fabric_find_node(shown->fabric, subject.node_guid);
	assert_true(shown->fabric->nodes[node].enhanced_port0);
	for (uint32_t i = 0; i < shown->fabric->port_count; i++)
		links += shown->fabric->ports[i].node == node && shown->fabric->ports[i].peer != FABRIC_NONE;
	subject_page_fill(&detail, &stage.app, &subject, 160);
	snprintf(text, sizeof(text), "%u of %u ports measured", links + 1, links + 1);
	line_with(&detail.page, text);
	/* Its type is shown once. */
	for (size_t i = 0; i < detail.page.part_count; i++)
		words += strstr(part_text(&detail.page, i), "  switch  ") != NULL;
	assert_int_equal(words, 1);
	/* An HCA has one. */
	subject = (struct subject){ .kind = SUBJECT_NODE,
				    .node_guid = shown->fabric->nodes[peer_hca(shown, node)].guid };
	subject_page_fill(&detail, &stage.app, &subject, 160);
	line_with(&detail.page, "1 of 1 port measured");
	page_done(&detail.page);
	history_plot_done(&detail.plot);
}
