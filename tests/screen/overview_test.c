/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The overview on recorded scenarios: findings, keys, acknowledging. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/writer.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"
#include "tui/model/layout.h"
#include "tui/model/port_table.h"
#include "tui/model/test_sample.h"
#include "tui/model/trend.h"
#include "tui/screens/overview_view.h"

#define MINUTE_US (60 * US_PER_S)

struct acknowledged_rows {
	size_t count, acknowledged;
	struct acknowledgement last;
};

static bool count_row(void *ctx, const struct finding_row *row)
{
	struct acknowledged_rows *stored = ctx;

	if (row->finding.severity < FINDING_WARNING)
		return true;
	stored->count++;
	if (row->acknowledged.at_us) {
		stored->acknowledged++;
		stored->last = row->acknowledged;
	}
	return true;
}

/* The acknowledgement as stored in the database. */
static struct acknowledged_rows read_acknowledged(void)
{
	const struct finding_query query = { .now_us = stage.wall_us };
	struct acknowledged_rows stored = { 0 };
	struct reader *reader;
	struct error err = { 0 };

	if (reader_open(path, &reader, &err) < 0 || reader_findings(reader, &query, count_row, &stored, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
	return stored;
}

TEST_ON_STAGE(a_finding_is_acknowledged_and_unacknowledged)
{
	struct acknowledged_rows stored;

	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_expect("PROBLEMS 2");
	stage_hides("acknowledged");
	stage_try("ja", "reason to acknowledge");
	/* In a prompt, keys of commands are text. */
	stage_try("q3 cable is ordered\r", "duration (8h");
	stage_try("8h\r", "PROBLEMS 1, acknowledged 1");
	stage_expect("acknowledged until");
	stage_expect("q3 cable is ordered");
	stored = read_acknowledged();
	assert_int_equal(stored.count, 2);
	assert_int_equal(stored.acknowledged, 1);
	assert_string_equal(stored.last.reason, "q3 cable is ordered");
	assert_true(stored.last.at_us == stage.wall_us);
	assert_true(stored.last.until_us == stage.wall_us + 8 * 60 * MINUTE_US);
	assert_true(stored.last.person[0]);
	stage_try("an\r", "acknowledgement unchanged");
	stage_try("a", "revoke the acknowledgement?");
	stage_try("y\r", "PROBLEMS 2");
	assert_int_equal(read_acknowledged().acknowledged, 0);
}

/* Also at 80 columns, the typed text stays visible. */
TEST_ON_STAGE(the_prompt_of_an_acknowledgement_has_the_whole_name)
{
	const char *name;

	stage_begin("pair-two-bad-cables", 0, 24, 80);
	name = stage.app.context->findings[1].finding.subject;
	assert_true(strlen(name) > 30);
	stage_keys("ja");
	stage_expect(name);
	stage_try("the cable is ordered and will be replaced at the next maintenance", "next maintenance_");
}

TEST_ON_STAGE(an_acknowledgement_without_an_end_lasts)
{
	struct acknowledged_rows stored;

	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_keys("aknown\r\r");
	stored = read_acknowledged();
	assert_int_equal(stored.acknowledged, 1);
	assert_int_equal(stored.last.until_us, 0);
}

TEST_ON_STAGE(invalid_input_reopens_or_cancels_the_prompt)
{
	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_try("a  \r", "not acknowledged: a reason is required");
	stage_try("aknown\rsoon\r", "duration (8h");
	stage_expect("soon");
	stage_key(KEY_ESCAPE);
	assert_int_equal(read_acknowledged().acknowledged, 0);
	/* The cursor on a group without a problem: nothing to acknowledge. */
	stage_try("Gkka", "no open finding selected");
}

TEST_ON_STAGE(a_read_only_database_is_reported)
{
	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_keys("aknown\r");
	assert_int_equal(rename(path, "elsewhere"), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	app_key(&stage.app, '\r');
	stage_draw(30, 120);
	stage_expect("not written: ");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename("elsewhere", path), 0);
	assert_int_equal(read_acknowledged().acknowledged, 0);
}

TEST_ON_STAGE(an_acknowledgement_in_the_past_applies_from_now)
{
	stage_begin("pair-two-bad-cables", STAGE_END_US - MINUTE_US, 30, 120);
	stage_expect("PROBLEMS 2");
	stage_try("aknown\r\r", "the screen shows an earlier time");
	stage_expect("PROBLEMS 2");
	assert_int_equal(read_acknowledged().acknowledged, 1);
	stage_try("L", "PROBLEMS 1, acknowledged 1");
}

/* No subnet manager from 10 to 8 min before the end: the header is of the shown time. */
TEST_ON_STAGE(a_finding_is_clearing_when_its_condition_has_ended)
{
	stage_begin("sm-returns", STAGE_END_US - 9 * MINUTE_US, 30, 120);
	stage_expect("PROBLEMS 1 ");
	stage_expect("CRIT subnet manager");
	stage_hides("ok   subnet manager");
	stage_open(path, STAGE_END_US, STAGE_END_US - 7 * MINUTE_US - MINUTE_US / 2, 30, 120);
	stage_expect("PROBLEMS 0, clearing 1");
	stage_expect("ok   subnet manager");
	stage_expect("CLEARING (ok for 20s): sm-lost: no master SM had responded for 2 min");
	stage_expect("SM mgmt0001 ok");
	stage_try("\r", "clearing sm-lost");
	stage_expect("ok since");
	stage_open(path, STAGE_END_US, STAGE_END_US - 6 * MINUTE_US, 30, 120);
	stage_expect("no problems: all");
}

/* The topology has neither the cable nor its other end any more. */
TEST_ON_STAGE(a_pulled_cable_is_down_and_keeps_its_peer)
{
	stage_begin("cable-pulled", 0, 40, 120);
	stage_expect("link-down: down for");
	stage_keys("3");
	stage_expect("link down, was up");
	stage_keys("1p");
	stage_expect("(was)");
	stage_try("1\r\r", "none; the last one was ");
	/* Before the finding opens. */
	stage_open(path, STAGE_END_US, STAGE_END_US - 15 * MINUTE_US + MINUTE_US / 3, 40, 120);
	stage_expect("PROBLEMS 0");
	stage_keys("3");
	stage_expect("link down, was up");
}

/* The origin comes first, also if what followed is more severe, and leads to it. */
TEST_ON_STAGE(consequences_are_folded_under_their_origin)
{
	stage_begin("leaf-hangs", 0, 40, 120);
	stage_expect("PROBLEMS 1 ");
	stage_expect("leaf-u01-r2  +8 related");
	stage_hides("CRIT leaf-u01-r0 ");
	stage_keys("\r");
	stage_draw(48, 120);
	stage_expect("RELATED");
	stage_expect("CRITICAL  leaf-u01-r0  black-hole");
	stage_expect("uplinks of 2 switches  traffic-fell");
}

/* Sparklines and the map shrink first. */
TEST_ON_STAGE(names_of_the_busiest_links_are_whole_while_there_is_room)
{
	static const int columns[] = { 80, 100, 120, 140, 200 };
	char line[CANVAS_LINE_SIZE];

	stage_begin("routes-skewed-story", 0, 40, 80);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		int row, x, links = 0;

		stage_draw(40, columns[i]);
		row = canvas_find("TOP LINKS");
		assert_true(row >= 0);
		x = (int)(strstr(canvas_line(row, line), "TOP LINKS") - line);
		for (int y = row + 1; y < 39; y++) {
			bool is_link = false;

			for (int at = x; strcmp(canvas.glyphs[y][at], "%") && at < columns[i]; at++) {
				is_link |= canvas.glyphs[y][at][0] == '>';
				if (!strcmp(canvas.glyphs[y][at], "\xe2\x80\xa6"))
					fail_msg("%d columns: %s", columns[i], canvas_line(y, line));
			}
			links += is_link;
		}
		assert_true(links >= 4);
	}
}

TEST_ON_STAGE(a_reboot_is_one_event_and_no_finding)
{
	stage_begin("host-reboots", STAGE_END_US - 10 * MINUTE_US, 30, 120);
	stage_expect("PROBLEMS 0");
	stage_expect("no problems: all");
	stage_expect("node0007: ");
	stage_expect("restart 1");
}

TEST_ON_STAGE(cleared_counters_are_one_event)
{
	stage_begin("counters-cleared", 0, 30, 120);
	stage_expect("counters of 272 ports");
	stage_expect("PROBLEMS 0");
}

TEST_ON_STAGE(skewed_routes_have_a_row_and_lead_to_the_switch)
{
	stage_begin("routes-skewed-story", 0, 40, 120);
	stage_expect("CRIT leaf-");
	stage_expect(" uplinks ");
	stage_expect("leaf up other");
	stage_expect("CRIT routing");
	/* The first group is that of the switch. */
	stage_try("j\r", " uplinks");
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_GROUP);
}

TEST_ON_STAGE(a_group_leads_to_its_links)
{
	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_keys("jj\r");
	assert_ptr_equal(app_screen(&stage.app), &screen_links);
	stage_expect("/class:compute");
	stage_expect("64 of ");
	stage_try("1Gk\r", "/role:leaf-uplink");
	stage_hides("node0001");
}

TEST_ON_STAGE(the_cursor_stays_on_its_finding_when_another_is_acknowledged)
{
	struct subject before = { .kind = SUBJECT_NONE }, after = { .kind = SUBJECT_NONE };
	struct error err = { 0 };
	struct acknowledgement given = { .person = "admin", .reason = "known" };

	stage_begin("pair-two-bad-cables", 0, 30, 120);
	stage_keys("j");
	screen_overview.subject(screen_state(&stage.app, &screen_overview), &stage.app, &before);
	given.at_us = stage.wall_us;
	assert_int_equal(finding_acknowledge(path, &stage.app.context->findings[0].finding, &given, &err), 0);
	stage.app.stale = true;
	stage_key(KEY_SPECIAL(KEY_F(20)));
	screen_overview.subject(screen_state(&stage.app, &screen_overview), &stage.app, &after);
	assert_true(before.id && subject_equal(&before, &after));
}

TEST_ON_STAGE(a_click_selects_a_finding_and_a_double_click_opens_it)
{
	struct mouse mouse = { 0 };

	stage_begin("pair-two-bad-cables", 0, 30, 120);
	mouse.y = stage.app.body.y + 3;
	mouse.twice = true;
	stage_mouse(&mouse);
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_FINDING);
}

TEST_ON_STAGE(the_last_line_is_that_of_the_status_file)
{
	char status[128], line[CANVAS_LINE_SIZE];
	FILE *file;

	stage_begin("nothing", 0, 24, 80);
	assert_non_null(strstr(canvas_line(23, line), "? help"));
	snprintf(status, sizeof(status), "%s/status", folder);
	stage.options.status_path = status;
	/* Without the file the line belongs to the screen. */
	stage_draw(24, 80);
	assert_non_null(strstr(canvas_line(23, line), "? help"));
	file = fopen(status, "w");
	assert_non_null(file);
	fprintf(file, "SIMULATED: \033[1mnode0009 hangs\n");
	fclose(file);
	stage_draw(24, 80);
	assert_string_equal(canvas_line(23, line), "SIMULATED: \\x1b[1mnode0009 hangs");
	assert_non_null(strstr(canvas_line(22, line), "? help"));
	/* Not on a terminal that is too small otherwise. */
	stage_draw(LAYOUT_MIN_ROWS, 80);
	stage_hides("SIMULATED");
}

TEST_ON_STAGE(a_large_terminal_has_the_plot_the_map_and_the_busiest_links)
{
	stage_begin("routes-skewed-story", 0, 24, 80);
	stage_hides("TOP LINKS");
	stage_draw(30, 100);
	stage_keys("");
	stage_key(KEY_SPECIAL(KEY_DOWN));
	stage_expect("LAST 10m00s  TX and RX of hosts");
	stage_expect("LEAF-SPINE max ");
	stage_expect("leaf-u02-r3/20");
	stage_expect("TOP HOSTS");
	stage_expect("14:13:20");
	/* At a past time the plot ends there: sweeps in memory are not read again, others are. */
	stage_try("<", "14:13:10");
	stage_hides("14:13:20");
	stage_try("t-9m\r", "14:04:20");
	stage_hides("14:13:");
	stage_draw(27, 99);
	stage_hides("TOP LINKS");
}

/* --- the trend, against what was stored --- */

static struct trend_world {
	struct sample sample;
	struct writer *writer;
	unsigned number;
	int64_t wall_us;
	struct trend_point truth[TREND_POINTS];
} made;

static void add_to(double *sum, double more)
{
	*sum = isnan(*sum) ? more : *sum + more;
}

/* Bytes sent and received by the HCAs; for one without counters, by the other end of its link. */
static void sum_hosts(const struct sweep *sweep, struct trend_point *ret)
{
	const struct fabric *fabric = made.sample.fabric;

	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &fabric->ports[sample->port];
		/* Counted at the other end. */
		bool mirrored = !sample->delta && port->peer != FABRIC_NONE;
		const struct delta *delta = &made.sample.deltas[mirrored ? port->peer : sample->port];

		if (sample->delta)
			add_to(&ret->errors.value, (double)delta->value[COUNTER_SYMBOL_ERRORS]);
		if (fabric->nodes[port->node].type != NODE_CA || !(sample->delta || mirrored) || !delta->elapsed_us)
			continue;
		add_to(&ret->xmit_bytes_per_s.value, 4e6 / (double)delta->elapsed_us *
		       (double)delta->value[mirrored ? COUNTER_RCV_DATA : COUNTER_XMIT_DATA]);
		add_to(&ret->rcv_bytes_per_s.value, 4e6 / (double)delta->elapsed_us *
		       (double)delta->value[mirrored ? COUNTER_XMIT_DATA : COUNTER_RCV_DATA]);
	}
}

/* Store a sweep with other traffic than the one before. @errors: of one port; @silent: no port responds */
static void add_sweep(int64_t elapsed_us, uint64_t errors, bool silent)
{
	struct trend_point *point = &made.truth[made.number];
	struct sweep sweep;

	memset(made.sample.deltas, 0, made.sample.fabric->port_count * sizeof(*made.sample.deltas));
	sample_sweep(&made.sample, silent ? 0 : made.number, made.wall_us + elapsed_us, elapsed_us, &sweep);
	sweep.start_us = sweep.wall_us - STAGE_END_US / 2;
	sweep.end_us = sweep.start_us + US_PER_MS;
	sweep.interval_us = 2 * US_PER_S;
	sweep.generation = 1;
	for (size_t i = 0; i < sweep.sample_count; i++) {
		struct port_sample *sample = &made.sample.samples[i];
		struct delta *delta = &made.sample.deltas[sample->port];

		if (silent)
			*sample = (struct port_sample){ .port = sample->port, .status = SAMPLE_SILENT };
		made.sample.readings[sample->port].at_us = sweep.end_us;
		delta->value[COUNTER_XMIT_DATA] = delta->value[COUNTER_XMIT_DATA] / 7 * (made.number % 7 + 1);
		delta->value[COUNTER_RCV_DATA] = delta->value[COUNTER_RCV_DATA] / 9 * (made.number % 9 + 1);
		delta->value[COUNTER_SYMBOL_ERRORS] = i ? 0 : errors;
		delta->value[COUNTER_RCV_ERRORS] = 0;
	}
	if (silent)
		memset(made.sample.deltas, 0, made.sample.fabric->port_count * sizeof(*made.sample.deltas));
	*point = (struct trend_point){ made.wall_us, sweep.wall_us, MEASURE_NONE, MEASURE_NONE,
					MEASURE_NONE, MEASURE_NONE };
	if (made.number)
		sum_hosts(&sweep, point);
	made.wall_us = sweep.wall_us;
	made.number++;
	assert_int_equal(writer_sink(made.writer)->store(writer_sink(made.writer)->ctx, &sweep, NULL), 0);
}

static void same_sum(double got, double wanted)
{
	if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) <= 1e-9 * wanted))
		fail_msg("%.17g instead of %.17g", got, wanted);
}

/* The trend has the last @count stored sweeps. */
static void compare_trend(size_t count)
{
	const struct trend *trend = stage.app.trend;

	assert_int_equal(trend->total - trend_first(trend), count);
	assert_int_equal(trend_until(trend, made.wall_us), trend->total);
	for (size_t i = 1; i <= count; i++) {
		const struct trend_point *point = &trend->points[(trend->total - i) % TREND_POINTS];
		const struct trend_point *truth = &made.truth[made.number - i];

		assert_int_equal(point->wall_us, truth->wall_us);
		if (i < count)
			assert_int_equal(point->from_us, truth->from_us);
		same_sum(point->xmit_bytes_per_s.value, truth->xmit_bytes_per_s.value);
		same_sum(point->rcv_bytes_per_s.value, truth->rcv_bytes_per_s.value);
		same_sum(point->errors.value, truth->errors.value);
	}
}

/* Open the screen, which reads at most 200,000 readings at once (trend.c). */
static void open_made(void)
{
	size_t most = 200000 / (made.sample.fabric->port_count + 1);

	stage_open(path, made.wall_us + US_PER_S, 0, 30, 100);
	stage_keys("1");
	compare_trend(made.number < most ? made.number : most);
}

TEST_ON_STAGE(the_trend_has_the_traffic_of_the_hosts_in_each_sweep)
{
	char line[CANVAS_LINE_SIZE];

	made = (struct trend_world){ .wall_us = STAGE_END_US };
	assert_int_equal(sample_create(&made.sample, 2, false, NULL), 0);
	assert_int_equal(writer_open(path, &made.writer, NULL), 0);
	for (int i = 0; i < 20; i++)
		add_sweep(2 * US_PER_S, 0, false);
	open_made();
	/* It follows new sweeps: a gap, no responses, a new collector. */
	for (int i = 0; i < 6; i++) {
		if (i == 4) {
			writer_close(made.writer);
			assert_int_equal(writer_open(path, &made.writer, NULL), 0);
		}
		add_sweep((i == 1 ? 8 : 2) * US_PER_S, 0, i == 2);
		stage.wall_us = made.wall_us + US_PER_S;
		stage.boot_us += 2 * US_PER_S;
		stage_key(KEY_SPECIAL(KEY_UP));
		compare_trend(made.number);
	}
	/* The same sweeps read at once, also after a gap that was too long to follow. */
	open_made();
	add_sweep(60 * US_PER_S, 0, false);
	open_made();
	/* More sweeps than columns: a single one with errors remains visible, and is the maximum. */
	for (int i = 0; i < 150; i++)
		add_sweep(2 * US_PER_S, i == 100 ? 4711 : 0, false);
	open_made();
	canvas_line(canvas_find(" ERRORS"), line);
	assert_non_null(strstr(line, "█"));
	assert_null(strstr(strstr(line, "█") + strlen("█"), "█"));
	writer_close(made.writer);
	sample_destroy(&made.sample);
}

TEST_ON_STAGE(the_hot_cell_of_the_map_has_the_colour_of_its_group)
{
	int map, group, hot = 0;

	stage_begin("routes-skewed-story", 0, 40, 120);
	map = canvas_find("LOAD leaf to spine");
	group = canvas_find(" leaf-u02-r3 up ");
	assert_true(map > 0 && group > 0);
	for (int y = map + 1; y < map + 9; y++)
		for (int x = 1; x < 17; x++) {
			bool is_hot = !strcmp(canvas.glyphs[y][x], "\u2588");

			hot += is_hot;
			assert_int_equal(canvas.roles[y][x], is_hot ? ROLE_CRITICAL : ROLE_LOAD_LOW);
		}
	assert_int_equal(hot, 1);
	/* The state of the group. */
	for (int x = 0, found = 0; !found; x++) {
		assert_true(x < canvas.columns);
		found = !strcmp(canvas.glyphs[group][x], "C") && !strcmp(canvas.glyphs[group][x + 1], "R");
		assert_true(!found || canvas.roles[group][x] == ROLE_CRITICAL);
	}
}

TEST_ON_STAGE(the_highest_xmit_wait_has_the_name_of_its_port)
{
	const struct port_table *table;
	char name[PORT_NAME_SIZE], text[PORT_NAME_SIZE + 64];
	uint32_t most = 0;

	stage_begin("incast-for-ever", 0, 40, 120);
	table = stage.app.table;
	for (uint32_t i = 1; i < table->snapshot->fabric->port_count; i++)
		if (table->ports[i].stall_percent.value > table->ports[most].stall_percent.value ||
		    isnan(table->ports[most].stall_percent.value))
			most = i;
	assert_true(table->ports[most].stall_percent.value > 0);
	port_table_name(table, most, name);
	snprintf(text, sizeof(text), "highest XmitWait%% (now %s)", name);
	stage_expect(text);
}

/* Up and Down go on to the busiest links and hosts, which are lists like others. */
TEST_ON_STAGE(the_busiest_links_and_hosts_are_lists)
{
	const struct overview_view *view;
	struct mouse mouse = { 0 };

	stage_begin("routes-skewed-story", 0, 60, 200);
	view = screen_state(&stage.app, &screen_overview);
	stage_key(KEY_SPECIAL(KEY_END));
	stage_key(KEY_SPECIAL(KEY_DOWN));
	stage_expect(" busy links");
	stage_keys("/spine\r");
	assert_in_range(view->link_list.table.row_count, 1, view->links.count - 1);
	stage_keys("\r");
	assert_int_equal(app_subject(&stage.app)->kind, SUBJECT_PORT);
	stage_key(KEY_ESCAPE);
	stage_key(KEY_ESCAPE);
	stage_key(KEY_SPECIAL(KEY_END));
	stage_key(KEY_SPECIAL(KEY_DOWN));
	stage_expect(" busy hosts");
	mouse.y = view->host_list.list.y - 1;
	mouse.x = view->host_list.x;
	stage_mouse(&mouse);
	for (size_t i = 1; i < view->host_list.table.row_count; i++)
		assert_true(strcmp(view->hosts.rows[view->host_list.table.rows[i - 1]].name,
				   view->hosts.rows[view->host_list.table.rows[i]].name) < 0);
	stage_key(KEY_SPECIAL(KEY_UP));
	stage_expect(" busy links");
	stage_draw(24, 60);
	stage_hides(" busy links");
}

/* With three problems, each has its action. */
TEST_ON_STAGE(at_80x24_actions_come_before_older_changes)
{
	unsigned actions = 0;

	stage_begin("pair-two-bad-cables", 0, 24, 80);
	stage_expect("PROBLEMS 2");
	for (int y = 0; y < canvas.rows; y++)
		actions += !strcmp(canvas.glyphs[y][6], ">");
	assert_int_equal(actions, 2);
}

TEST_ON_STAGE(a_high_terminal_of_80_columns_is_filled)
{
	char line[CANVAS_LINE_SIZE];

	stage_begin("routes-skewed-story", 0, 40, 80);
	for (int y = 24; y < canvas.rows; y++)
		if (!*canvas_line(y, line))
			fail_msg("row %d of 40 is empty", y);
	/* Names of links are whole: the busiest hosts have no room. */
	stage_expect("leaf-u02-r3/20 > spine-02/24");
	stage_hides("TOP HOSTS");
}
