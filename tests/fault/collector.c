/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on the fabric of lab.h, and the helper of discovery, in fault_test.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/health.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "storage/history.h"
#include "storage/reader.h"
#include "storage/test/test_history.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"
#include "tests/fault/bodies.h"
#include "tests/fault/inject.h"
#include "tests/fault/points.h"
#include "tests/world/lab.h"
#include "wire/discovery.h"

/* Functions of the virtual fabric, in which nothing fails. */
static struct transport real_transport;
static struct discoverer real_discoverer;
static struct clock real_clock;
static struct sink real_sink, real_lab_sink;

static int resumed(int code)
{
	fault_resume();
	return code;
}

static int send_paused(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		       struct error *err)
{
	fault_pause();
	return resumed(real_transport.send(ctx, to, mad, timeout_ms, err));
}

static int start_paused(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
			struct error *err)
{
	fault_pause();
	return resumed(real_discoverer.start(ctx, last, ports, count, err));
}

static int step_paused(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
		       struct error *err)
{
	fault_pause();
	return resumed(real_discoverer.step(ctx, timeout_ms, ret, trailer, err));
}

static void sleep_paused(void *ctx, int64_t until_us)
{
	fault_pause();
	real_clock.sleep_until(ctx, until_us);
	fault_resume();
}

/* Store in the database, and then in the store of the lab, which compares with the counters of the ports. */
static int store_both(void *ctx, const struct sweep *sweep, struct error *err)
{
	int code = real_sink.store(ctx, sweep, err);

	fault_pause();
	return resumed(code ? code : real_lab_sink.store(real_lab_sink.ctx, sweep, err));
}

static struct lab *make_lab(void)
{
	static struct health_settings health;
	struct lab *lab = lab_create(1);

	health_settings_default(&health);
	lab->run.settings.health = &health;
	lab->run.settings.routes_interval_us = 10 * US_PER_S;
	lab_set_tables(lab);
	lab_during(lab, &lab_port(lab, LEAF, 3)->down, 2, 3);
	real_transport = lab->run.transport;
	lab->run.transport.send = send_paused;
	real_discoverer = lab->run.discoverer;
	lab->run.discoverer.start = start_paused;
	lab->run.discoverer.step = step_paused;
	real_clock = lab->run.clock;
	lab->run.clock.sleep_until = sleep_paused;
	return lab;
}

/* The sum of each port that was stored, from the child. */
static struct delta (*sums)[LAB_NODES][LAB_SWITCH_PORTS + 1];

static void keep_sums(const struct lab *lab)
{
	for (size_t node = 0; node < LAB_NODES; node++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++)
			(*sums)[node][num] = lab->nodes[node].ports[num].sum;
}

/* A collector that fails is started again, and continues with exact sums. */
void fault_collect(void *name)
{
	struct lab *lab;

	(void)name;
	fault_pause();
	lab = make_lab();
	real_lab_sink = lab->sink;
	log_init("ibwire", LOG_LEVEL_WARNING);
	fault_resume();
	for (uint64_t until = 4; until <= 6; until += 2) {
		struct writer *writer = fault_open_again();

		lab->sink = real_sink = *writer_sink(writer);
		lab->sink.store = store_both;
		while (lab->sweeps < until && fault_again(lab_try(lab, until - lab->sweeps), &lab->err))
			;
		writer_close(writer);
	}
	fault_pause();
	lab_check(lab);
	lab_check_details(lab);
	keep_sums(lab);
	/* No output, whose write() could fail. */
	if (lab->sweeps < 5)
		exit(3);
}

void fault_renew_lab(void)
{
	static char *bytes;
	static size_t len;
	struct fault_plan plan;
	struct fault_run run;

	if (!bytes) {
		fault_prepare_collector();
		fault_count(fault_collect, NULL, false, &plan, &run);
		bytes = test_file_read(path, &len);
		fault_plan_done(&plan);
		fault_run_done(&run);
	}
	fault_renew(bytes, len);
}

/* The counters of all ports, as `ibwire history` reads them. */
static bool sums_are_stored(void)
{
	struct history_query query = { .counters = COUNTER_BIT(COUNTER_COUNT) - 1 };
	struct history_port ports[LAB_NODES * LAB_SWITCH_PORTS];
	struct history_sum stored[LAB_NODES * LAB_SWITCH_PORTS];
	struct reader *reader = check_open_reader(path);
	struct history_range range;
	bool right = true;

	for (size_t node = 0; node < LAB_NODES; node++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++)
			if ((*sums)[node][num].elapsed_us)
				ports[query.port_count++] = (struct history_port){ lab_guid(node), (uint8_t)num };
	assert_int_equal(reader_history_range(reader, 0, 0, &range, NULL), 0);
	query.ports = ports;
	query.after = range.after;
	query.until = range.until;
	assert_int_equal(reader_history_sums(reader, &query, stored, NULL), 0);
	reader_close(reader);
	for (size_t i = 0; i < query.port_count; i++) {
		const struct delta *truth = &(*sums)[ports[i].node_guid - lab_guid(0)][ports[i].num];
		const struct delta *sum = &stored[i].sum;

		right = right && sum->elapsed_us == truth->elapsed_us && sum->known == truth->known;
		for (int c = 0; c < COUNTER_COUNT; c++)
			right = right && (!(truth->known & COUNTER_BIT(c)) || sum->value[c] == truth->value[c]);
	}
	return right && query.port_count >= LIVE_PORTS - 2;
}

const char *fault_check_collected(bool failed)
{
	(void)failed;
	if (fault_was_checked(fault_hash(0, sums, sizeof(*sums))))
		return NULL;
	check_sound(path);
	if (!sums_are_stored())
		return "wrong sums";
	return check_integer(path, "SELECT count(*) >= 5 FROM sweep") ? NULL : "too few sweeps";
}

void fault_prepare_collector(void)
{
	if (!sums)
		sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(sums != MAP_FAILED);
	memset(sums, 0, sizeof(*sums));
	fault_renew(NULL, 0);
}

void fault_discover(void *name)
{
	char script[128];
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct discovery_settings settings = { .argv = argv, .deadline_us = 60 * US_PER_S };
	struct record_trailer trailer;
	struct fabric *fabric = NULL;
	struct text records = { 0 };
	struct error err = { 0 };

	(void)name;
	snprintf(script, sizeof(script), "cat '%s'", copy_path);
	while (fault_again(discovery_run(&settings, clock_system(), &fabric, &trailer, &err), &err))
		;
	fault_pause();
	record_write(&records, fabric, &trailer);
	fwrite(text_chars(&records), 1, records.len, stdout);
	text_done(&records);
	fault_resume();
	fabric_destroy(fabric);
	if (fflush(stdout)) {
		log_error("cannot write the records");
		exit(74);
	}
}

void fault_write_records(void)
{
	struct text records = { 0 };

	record_write(&records, model->fabrics[0], &(struct record_trailer){ .smps = 1 });
	test_file_write(copy_path, text_chars(&records), records.len);
	text_done(&records);
}
