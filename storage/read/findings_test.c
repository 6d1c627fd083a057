/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* findings_test.c - findings at any time, and acknowledgements */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "storage/findings.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { PLACES = 24, STEPS = 160 };

/* A finding at one place in one sweep. */
struct place_state {
	bool open;
	enum finding_severity severity;
	const char *cause;
	int64_t opened_us, since_us, last_seen_us;
};

struct history {
	struct model *model;
	struct place_state steps[STEPS][PLACES];
	int64_t wall_us[STEPS];
	struct finding findings[PLACES]; /* current state */
};

static const char *const causes[] = { "routing", "flows", "cable", "" };

static void init_place(struct finding *finding, int place)
{
	*finding = (struct finding){
		.kind = (enum finding_kind)(place % FINDING_KIND_COUNT),
		.node_guid = place % 7 ? UINT64_C(0xff00000000000000) + (uint64_t)(place % 5) : 0,
		.port = (uint8_t)(place % 3), .tag = (uint8_t)(place / FINDING_KIND_COUNT), .advice = "look \"there\"",
		.peer_guid = place % 2 ? 77 : 0, .peer_port = 3,
	};
}

/* The next sweep: findings open, change, close, or continue. */
static void move(struct history *history, int step, int64_t wall_us)
{
	for (int i = 0; i < PLACES; i++) {
		struct place_state *now = &history->steps[step][i];
		struct finding *finding = &history->findings[i];

		if (step)
			*now = history->steps[step - 1][i];
		if (!now->open && model_random(history->model, 8) == 0) {
			*now = (struct place_state){ .open = true, .opened_us = wall_us, .since_us = wall_us - 5000000,
					      .cause = causes[0] };
			init_place(finding, i);
		} else if (now->open && model_random(history->model, 10) == 0) {
			now->open = false;
		}
		if (!now->open)
			continue;
		if (model_random(history->model, 6) == 0)
			now->severity = (enum finding_severity)model_random(history->model, 3);
		if (model_random(history->model, 6) == 0)
			now->cause = causes[model_random(history->model, 4)];
		now->last_seen_us = wall_us;
		finding->severity = now->severity;
		finding->cause = now->cause;
		finding->since_us = now->since_us;
		finding->last_seen_us = now->last_seen_us;
		finding->increased_us = i % 3 ? now->since_us : 0;
		finding->stopped = i % 3 == 2;
		snprintf(finding->subject, sizeof(finding->subject), "place %d \\ \"x\"", i);
		snprintf(finding->text, sizeof(finding->text), "%s at %d", now->cause, i);
		finding->number_count = 2;
		finding->numbers[0] = (struct finding_number){ "symbol_errors_per_hour", 1.5 * i };
		finding->numbers[1] = (struct finding_number){ "stall_percent", __builtin_nan("") };
		finding->host_count = 1;
		finding->affected_hosts = 40;
		snprintf(finding->hosts[0], sizeof(finding->hosts[0]), "node%d", i);
		for (unsigned j = finding->port_count; j < (unsigned)i % 4; j++) {
			const struct fabric *fabric = history->model->sweep.fabric;
			const struct port *port = &fabric->ports[((unsigned)i + j) % fabric->port_count];

			finding->ports[finding->port_count++] =
				(struct finding_port){ fabric->nodes[port->node].guid, port->num };
		}
	}
}

static void store_step(struct history *history, struct writer *writer, int step, bool with_findings)
{
	const struct finding *open[PLACES + 1];
	struct sweep sweep = *model_step(history->model);

	history->wall_us[step] = sweep.wall_us;
	if (with_findings) {
		move(history, step, sweep.wall_us);
		for (int i = 0; i < PLACES; i++)
			if (history->steps[step][i].open)
				open[sweep.finding_count++] = &history->findings[i];
		sweep.findings = open;
	} else if (step) {
		memcpy(history->steps[step], history->steps[step - 1], sizeof(history->steps[0]));
	}
	check_store(writer, &sweep);
}

static struct history *make_history(uint64_t seed)
{
	struct history *history = calloc(1, sizeof(*history));
	struct writer *writer = check_open_writer(path);

	history->model = model_create(seed, 2, 6, 4);
	history->model->calm = history->model->no_details = true;
	for (int i = 0; i < PLACES; i++)
		init_place(&history->findings[i], i);
	for (int step = 0; step < STEPS; step++) {
		/* A collector that restarts continues with the stored findings. */
		if (step % 37 == 36) {
			writer_close(writer);
			writer = check_open_writer(path);
		}
		store_step(history, writer, step, step % 11 != 10);
	}
	writer_close(writer);
	return history;
}

static void free_history(struct history *history)
{
	model_destroy(history->model);
	free(history);
}

struct gathered {
	struct finding_row rows[4 * PLACES];
	int count;
};

static bool gather(void *ctx, const struct finding_row *row)
{
	struct gathered *gathered = ctx;

	assert_true(gathered->count < 4 * PLACES);
	gathered->rows[gathered->count] = *row;
	snprintf(gathered->rows[gathered->count].cause, sizeof(row->cause), "%s", row->finding.cause);
	gathered->count++;
	return true;
}

static const struct finding_row *find_place(const struct gathered *gathered, const struct finding *finding)
{
	for (int i = 0; i < gathered->count; i++) {
		const struct finding *one = &gathered->rows[i].finding;

		if (one->kind == finding->kind && one->node_guid == finding->node_guid && one->port == finding->port &&
		    one->tag == finding->tag)
			return &gathered->rows[i];
	}
	return NULL;
}

static void check_step(struct reader *reader, const struct history *history, int step)
{
	struct finding_query query = { .at_us = history->wall_us[step] };
	struct gathered gathered = { .count = 0 };
	int expected = 0;

	assert_int_equal(reader_findings(reader, &query, gather, &gathered, NULL), 0);
	for (int i = 0; i < PLACES; i++) {
		const struct place_state *steps = &history->steps[step][i];
		struct finding place;
		const struct finding_row *row;

		init_place(&place, i);
		row = find_place(&gathered, &place);
		assert_int_equal(row != NULL, steps->open);
		expected += steps->open;
		if (!steps->open)
			continue;
		assert_int_equal(row->finding.severity, steps->severity);
		assert_string_equal(row->cause, steps->cause);
		assert_int_equal(row->opened_us, steps->opened_us);
		assert_int_equal(row->finding.since_us, steps->since_us);
		assert_int_equal(row->finding.closed_us, 0);
		assert_int_equal(row->finding.peer_guid, place.peer_guid);
		assert_int_equal(row->finding.peer_port, 3);
		assert_string_equal(row->advice, "look \"there\"");
		assert_int_equal(row->finding.number_count, 2);
		assert_string_equal(row->keys[0], "symbol_errors_per_hour");
		assert_true(row->finding.numbers[0].value == 1.5 * i);
		assert_true(row->finding.numbers[1].value != row->finding.numbers[1].value);
		assert_int_equal(row->finding.host_count, 1);
		assert_int_equal(row->finding.affected_hosts, 40);
	}
	assert_int_equal(gathered.count, expected);
}

TEST_IN_FOLDER(every_sweep_shows_its_findings)
{
	for (uint64_t seed = 1; seed < 4; seed++) {
		struct history *history = make_history(seed);
		struct reader *reader = check_open_reader(path);

		for (int step = 0; step < STEPS; step++)
			check_step(reader, history, step);
		reader_close(reader);
		check_integrity(path);
		free_history(history);
		test_folder_renew();
	}
}

TEST_IN_FOLDER(a_window_shows_all_findings_open_in_it)
{
	struct history *history = make_history(9);
	struct reader *reader = check_open_reader(path);

	for (int from = 0; from + 20 < STEPS; from += 7) {
		int to = from + 1 + (int)model_random(history->model, 19), expected = 0;
		struct finding_query query = { .since_us = history->wall_us[from], .until_us = history->wall_us[to] };
		struct gathered gathered = { .count = 0 };

		assert_int_equal(reader_findings(reader, &query, gather, &gathered, NULL), 0);
		/* Each period in which a finding was open within (from, to] counts once. */
		for (int i = 0; i < PLACES; i++)
			for (int step = from + 1; step <= to; step++) {
				const struct place_state *now = &history->steps[step][i];
				const struct place_state *before = &history->steps[step - 1][i];

				expected += now->open && (step == from + 1 || !before->open ||
							  before->opened_us != now->opened_us);
			}
		assert_int_equal(gathered.count, expected);
	}
	reader_close(reader);
	free_history(history);
}

TEST_IN_FOLDER(a_new_collector_continues_with_open_findings)
{
	struct history *history = make_history(5);
	struct writer *writer = check_open_writer(path);
	struct restored restored = { 0 };
	int expected = 0;

	assert_int_equal(writer_sink(writer)->restore(writer, &restored, NULL), 0);
	for (int i = 0; i < PLACES; i++) {
		const struct place_state *steps = &history->steps[STEPS - 1][i];
		bool found = false;

		expected += steps->open;
		for (size_t j = 0; j < restored.finding_count; j++) {
			const struct finding *finding = &restored.findings[j].finding;

			if (finding->kind != history->findings[i].kind || finding->tag != history->findings[i].tag ||
			    finding->node_guid != history->findings[i].node_guid ||
			    finding->port != history->findings[i].port)
				continue;
			found = true;
			assert_string_equal(finding->cause, steps->cause);
			assert_int_equal(finding->severity, steps->severity);
			assert_int_equal(finding->since_us, steps->since_us);
			assert_string_equal(finding->text, history->findings[i].text);
			/* State to continue from. */
			assert_int_equal(finding->number_count, history->findings[i].number_count);
			assert_string_equal(finding->numbers[0].key, "symbol_errors_per_hour");
			assert_true(finding->numbers[0].value == history->findings[i].numbers[0].value);
			assert_int_equal(finding->host_count, history->findings[i].host_count);
			assert_string_equal(finding->hosts[0], history->findings[i].hosts[0]);
			assert_int_equal(finding->affected_hosts, history->findings[i].affected_hosts);
			assert_int_equal(finding->port_count, history->findings[i].port_count);
			for (unsigned k = 0; k < finding->port_count; k++) {
				assert_int_equal(finding->ports[k].node_guid, history->findings[i].ports[k].node_guid);
				assert_int_equal(finding->ports[k].port, history->findings[i].ports[k].port);
			}
		}
		assert_int_equal(found, steps->open);
	}
	assert_int_equal(restored.finding_count, expected);
	restored_done(&restored);
	writer_close(writer);
	free_history(history);
}

static struct finding_row only_row_of(struct reader *reader, const struct finding_query *query)
{
	struct gathered gathered = { .count = 0 };

	assert_int_equal(reader_findings(reader, query, gather, &gathered, NULL), 0);
	assert_int_equal(gathered.count, 1);
	return gathered.rows[0];
}

static struct finding_row only_row(struct reader *reader, int64_t at_us)
{
	return only_row_of(reader, &(struct finding_query){ .at_us = at_us });
}

static struct finding_row row_now(struct reader *reader, int64_t now_us)
{
	return only_row_of(reader, &(struct finding_query){ .now_us = now_us });
}

/* Text and state are those of the newest sweep; the sweep that opened a finding keeps its text. */
TEST_IN_FOLDER(an_open_finding_is_current)
{
	struct finding finding;
	const struct finding *open[] = { &finding };
	struct model *model = model_create(3, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct reader *reader = check_open_reader(path);
	int64_t opened_us = 0;

	init_place(&finding, 1);
	finding.since_us = 1;
	for (int step = 0; step < 8; step++) {
		struct sweep sweep = *model_step(model);
		struct finding_row row;

		snprintf(finding.text, sizeof(finding.text), "text %d", step);
		finding.last_seen_us = sweep.wall_us;
		finding.ok_since_us = step == 3 || step > 5 ? sweep.wall_us : 0;
		sweep.findings = open;
		sweep.finding_count = 1;
		check_store(writer, &sweep);
		opened_us = opened_us ? opened_us : sweep.wall_us;
		row = row_now(reader, sweep.wall_us);
		assert_string_equal(row.finding.text, finding.text);
		assert_int_equal(row.finding.ok_since_us, finding.ok_since_us);
		assert_int_equal(row.finding.number_count, 0);
		assert_int_equal(row.measured_us, sweep.wall_us);
		row = only_row(reader, opened_us);
		assert_string_equal(row.finding.text, "text 0");
		assert_int_equal(row.measured_us, opened_us);
	}
	/* The columns that seldom change are stored when it opens, and turns to clearing and back. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM finding_state"), 8);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM finding_state WHERE state_sweep IS NULL"), 4);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

/* Each group is at the place of its worst finding, origin first; one that is clearing stays below those that hold. */
TEST(consequences_follow_their_origin)
{
	static const struct { int64_t id, origin; bool clearing; } made[] = {
		{ 1, 4, false }, { 2, 4, false }, { 3, 0, false }, { 4, 0, false }, { 5, 8, false }, { 6, 99, false },
		{ 7, 0, false }, { 8, 0, true },
	};
	static const int64_t origins[] = { 4, 4, 0, 0, 8, 0, 0, 0 }, order[] = { 4, 1, 2, 3, 6, 7, 8, 5 };
	enum { COUNT = sizeof(made) / sizeof(made[0]) };
	struct finding_row *rows[COUNT], *all = calloc(COUNT, sizeof(*all));

	for (size_t i = 0; i < COUNT; i++) {
		rows[i] = &all[i];
		all[i].finding.id = made[i].id;
		all[i].finding.ok_since_us = made[i].clearing;
		all[i].origin = made[i].origin;
	}
	all[3].acknowledged = (struct acknowledgement){ .at_us = 5, .person = "ada" };
	assert_int_equal(findings_resolve_origins(rows, COUNT), 0);
	assert_int_equal(findings_fold(rows, COUNT), 0);
	for (size_t i = 0, at = 0; i < COUNT; i++, at = 0) {
		assert_int_equal(all[i].origin, origins[i]);
		assert_int_equal(all[i].acknowledged.at_us, origins[i] == 4 || i == 3 ? 5 : 0);
		for (size_t j = 0; j < COUNT; j++)
			at += all[j].rank < all[i].rank;
		assert_int_equal(order[at], all[i].finding.id);
	}
	assert_int_equal(all[3].echoes, 2);
	free(all);
}

TEST_IN_FOLDER(an_acknowledgement_holds_until_its_end)
{
	struct finding finding;
	const struct finding *open[] = { &finding };
	struct model *model = model_create(3, 2, 6, 4);
	struct writer *writer = check_open_writer(path);
	struct reader *reader;
	int64_t wall_us[6];
	struct acknowledgement ack = { .person = "ada", .reason = "cable is \"ordered\"" };

	model->calm = model->no_details = true;
	init_place(&finding, 4);
	finding.cause = "cable";
	for (int i = 0; i < 6; i++) {
		struct sweep sweep = *model_step(model);

		wall_us[i] = finding.last_seen_us = sweep.wall_us;
		finding.since_us = wall_us[0];
		sweep.findings = open;
		sweep.finding_count = 1;
		check_store(writer, &sweep);
	}
	ack.at_us = wall_us[1];
	ack.until_us = wall_us[3];
	assert_int_equal(finding_acknowledge(path, &finding, &ack, NULL), 0);
	reader = check_open_reader(path);
	assert_int_equal(only_row(reader, wall_us[0]).acknowledged.at_us, 0);
	assert_string_equal(only_row(reader, wall_us[1]).acknowledged.person, "ada");
	assert_string_equal(only_row(reader, wall_us[2]).acknowledged.reason, "cable is \"ordered\"");
	assert_int_equal(only_row(reader, wall_us[3]).acknowledged.at_us, 0);
	/* Without an end, and withdrawn. */
	ack.at_us = wall_us[4];
	ack.until_us = 0;
	assert_int_equal(finding_acknowledge(path, &finding, &ack, NULL), 0);
	assert_int_equal(only_row(reader, wall_us[4]).acknowledged.at_us, wall_us[4]);
	assert_int_equal(only_row(reader, 0).acknowledged.at_us, wall_us[4]);
	ack.at_us = ack.until_us = wall_us[5];
	assert_int_equal(finding_acknowledge(path, &finding, &ack, NULL), 0);
	assert_int_equal(only_row(reader, wall_us[4]).acknowledged.at_us, wall_us[4]);
	assert_int_equal(only_row(reader, wall_us[5]).acknowledged.at_us, 0);

	/* The current time is after the newest sweep: an acknowledgement counts until its end. */
	ack.at_us = wall_us[5] + 10;
	ack.until_us = wall_us[5] + 20;
	assert_int_equal(finding_acknowledge(path, &finding, &ack, NULL), 0);
	assert_int_equal(row_now(reader, wall_us[5] + 9).acknowledged.at_us, 0);
	assert_int_equal(row_now(reader, wall_us[5] + 10).acknowledged.until_us, ack.until_us);
	assert_int_equal(row_now(reader, wall_us[5] + 20).acknowledged.at_us, 0);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}
