/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wait_guard_test.c - a day of a fabric whose HCAs report Tick 7, of which some count PortXmitWait faster
 *
 * The truth is the traffic of the virtual fabric: what each port sent and how long it waited. A right device has a
 * stall in every window, and it is the true one. A wrong device has none within three sweeps after it seemed to send
 * and wait for more than the time, also after the collector's restart, and the past stays as it was seen. Findings are
 * those of a fabric whose HCAs report no such tick.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "facts/port_facts.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"
#include "tests/world/collect.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

/* Sweeps in which ticks are read after a start, and the last one after a wrong device has shown that it is one. */
enum { TICKS_READ = 12, SWEEPS_ALLOWED = 3, MOMENT_SWEEPS = 47 };

/* Tolerance of the truth: readings are spread over a few milliseconds, and noise changes rates in between. */
#define TOLERANCE_PERCENT 1.5

/* With more than this the guard can know it in one window: 1 %, and a quarter of a second. */
#define PROOF 1.02

/* All links are used to the full at times; a leaf is skewed, hosts reboot, a link gets slower and faster. */
static const char day[] =
	"shape rail units=2 hosts=8 rails=2 spines=2\ninterval 1m\nlength 24h\nrestart 13h\n"
	"job main alltoall fan=8 load=1 phase=5m/10m\n"
	"job dump incast hosts=node0002-node0008 targets=node0016 load=0.5 coupled=no phase=7m/30m\n"
	"at 1h skew leaf-u01-r1 to=5 part=0.6 for=40m\nat 4h off hosts=node0003 for=10m\n"
	"at 6h width leaf-u02-r0/3 1x for=30m\nat 8h clear all\nat 9h errors leaf-u01-r0/9 symbol_errors=900 for=1h\n"
	"at 15h skew leaf-u02-r0 to=6 part=0.6 for=40m\nat 17h off hosts=node0012 for=10m\n";

struct hca {
	bool wrong;
	double xmit, wait;     /* bits, as of the last sweep */
	uint64_t proven;       /* first sweep in which it seemed to send and wait for more than the time; 0: none */
	uint64_t contradicted; /* sweep of the event; 0: none */
	struct pma_caps caps;  /* as stored */
};

/* What a reader saw at a sweep, of each port. */
struct moment {
	int64_t wall_us;
	double *stall;
};

static struct life {
	struct virtual *world;
	const struct sink *sink;
	bool checked;
	struct hca *hcas; /* by node */
	uint64_t sweeps, started;
	int64_t at_us;
	uint64_t windows, right; /* of right devices, and those with a stall */
	struct moment *moments;
	size_t moment_count;
	struct text findings;
} life;

static double *read_stalls(int64_t at_us, int64_t *ret_wall_us)
{
	const struct snapshot_query query = { .at_us = at_us };
	struct reader *reader = check_open_reader(path);
	struct port_scope scope = { .newest = true };
	struct snapshot *snapshot;
	struct error err;
	double *stalls;

	if (snapshot_load(reader, &query, &snapshot, &err) < 0)
		fail_msg("%s", err.text);
	scope.snapshot = snapshot;
	stalls = virtual_alloc(life.world->built->port_count, sizeof(*stalls));
	for (uint32_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port *port = &snapshot->fabric->ports[i];
		struct port_facts facts;

		port_facts_of(&scope, i, &facts);
		stalls[fabric_find_port(life.world->built, snapshot->fabric->nodes[port->node].guid, port->num)] =
			facts.stall_percent.value;
	}
	*ret_wall_us = snapshot->sweep.wall_us;
	snapshot_destroy(snapshot);
	reader_close(reader);
	return stalls;
}

/* The state that is stored, as a reader sees it until the next sweep. */
static void record_moment(void)
{
	struct moment *moment = &life.moments[life.moment_count++];

	moment->stall = read_stalls(0, &moment->wall_us);
}

static void note_events(const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->event_count; i++) {
		const struct event *event = &sweep->events[i];
		struct hca *hca;

		if (strcmp(event->kind, EVENT_WAIT_CONTRADICTED))
			continue;
		hca = &life.hcas[fabric_find_node(life.world->built, event->node_guid)];
		assert_true(hca->wrong);
		assert_true(!hca->contradicted);
		hca->contradicted = life.sweeps;
	}
}

/* One HCA in one window of one sweep, against the traffic. */
static void check_hca(struct hca *hca, double factor, const struct sweep *sweep, const struct port_sample *sample,
		      double sent, double waited)
{
	const struct port *port = &sweep->fabric->ports[sample->port];
	double shown = stall_estimate(sample->delta, &sweep->fabric->nodes[port->node], port, &hca->caps).value;

	if (!hca->wrong) {
		life.windows++;
		life.right += !isnan(shown);
		if (fabs(shown - 100 * waited) > TOLERANCE_PERCENT)
			fail_msg("sweep %" PRIu64 ", %s: %g %%, waited %g %%", life.sweeps,
				 sweep->fabric->nodes[port->node].name, shown, 100 * waited);
		return;
	}
	if (!hca->proven && sent + factor * waited > PROOF)
		hca->proven = life.sweeps;
	/* The event is stored with its sweep, the capabilities after it. */
	if (hca->proven && life.sweeps >= hca->proven + SWEEPS_ALLOWED - 1)
		assert_true(hca->contradicted);
	if (hca->contradicted && life.sweeps > hca->contradicted)
		assert_true(isnan(shown));
}

static void check_hcas(const struct sweep *sweep)
{
	const struct fabric *built = life.world->built;
	double elapsed_s = (double)(life.world->now_us - life.at_us) / 1e6;

	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &sweep->fabric->ports[sample->port];
		uint32_t node = fabric_find_node(built, sweep->fabric->nodes[port->node].guid);
		struct hca *hca = &life.hcas[node];
		uint32_t index = fabric_node_port(built, node, port->num);
		const struct virtual_port *of = &life.world->ports[index];
		double bits_per_s = (double)port_rate_bits_per_s(&built->ports[index]);
		double sent = (of->xmit - hca->xmit) / bits_per_s / elapsed_s;
		double waited = (of->wait - hca->wait) / bits_per_s / elapsed_s;

		if (built->nodes[node].type == NODE_SWITCH)
			continue;
		hca->xmit = of->xmit;
		hca->wait = of->wait;
		/* Counters that restarted are lower bounds, and a window with a change of the link has no one rate. */
		if (life.sweeps > life.started + TICKS_READ && sample->delta && !sample->delta->reset &&
		    sample->delta->elapsed_us < 61 * US_PER_S &&
		    port_rate_bits_per_s(port) == port_rate_bits_per_s(&built->ports[index]))
			check_hca(hca, life.world->agents[node].wait_factor, sweep, sample, sent, waited);
	}
	life.at_us = life.world->now_us;
}

static void note_findings(const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->finding_count; i++)
		text_appendf(&life.findings, "%" PRIu64 " %s %s %s\n", life.sweeps,
			     finding_kind_name(sweep->findings[i]->kind), sweep->findings[i]->subject,
			     finding_severity_name(sweep->findings[i]->severity));
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	(void)ctx;
	note_findings(sweep);
	if (life.checked && life.sweeps > TICKS_READ && life.sweeps % MOMENT_SWEEPS == 0)
		record_moment();
	life.sweeps++;
	if (life.checked) {
		note_events(sweep);
		check_hcas(sweep);
	}
	return life.sink->store(life.sink->ctx, sweep, err);
}

static int store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		life.hcas[fabric_find_node(life.world->built, caps[i].node_guid)].caps = caps[i].caps;
	return life.sink->store_caps(life.sink->ctx, caps, count, err);
}

/* The second collector remembers what the first one found. */
static int restore(void *ctx, struct restored *ret, struct error *err)
{
	int code = life.sink->restore(life.sink->ctx, ret, err);

	(void)ctx;
	for (size_t i = 0; code == 0 && life.checked && i < ret->caps_count; i++) {
		const struct hca *hca =
			&life.hcas[fabric_find_node(life.world->built, ret->caps[i].node_guid)];

		assert_int_equal(ret->caps[i].caps.wait_contradicted, hca->contradicted != 0);
	}
	life.started = life.sweeps;
	return code;
}

/* @assumed: HCAs report Tick 7; else another one, of which nothing is assumed. Return: the findings (caller frees). */
static char *live(bool assumed)
{
	struct scenario scenario;
	struct sink sink;
	struct writer *writer;
	struct error err = { 0 };
	uint32_t nodes;

	test_folder_renew();
	life = (struct life){ .checked = assumed };
	if (scenario_read(day, &scenario, &err) < 0 || scenario_begin(&scenario, &life.world, &err) < 0)
		fail_msg("%s", err.text);
	nodes = (uint32_t)life.world->built->node_count;
	life.hcas = virtual_alloc(nodes, sizeof(*life.hcas));
	life.moments = virtual_alloc((size_t)(scenario.length_us / scenario.interval_us), sizeof(*life.moments));
	for (uint32_t i = 0; i < nodes; i++) {
		uint64_t random = map_mix(i + 1);

		life.world->agents[i].tick = assumed || life.world->built->nodes[i].type == NODE_SWITCH ? 7 : 6;
		if (life.world->built->nodes[i].type == NODE_SWITCH || random % 3)
			continue;
		life.hcas[i].wrong = true;
		life.world->agents[i].wait_factor = 2 + (double)(random / 3 % 7);
	}
	writer = check_open_writer(path);
	life.sink = writer_sink(writer);
	sink = *life.sink;
	sink.store = store;
	sink.store_caps = store_caps;
	sink.restore = restore;
	if (world_collect(life.world, scenario.interval_us, scenario.length_us, VIRTUAL_WALL_US, &sink, NULL, &err) < 0)
		fail_msg("%s", err.text);
	writer_close(writer);
	scenario_done(&scenario);
	return strdup(text_chars(&life.findings));
}

static void end(void)
{
	for (size_t i = 0; i < life.moment_count; i++)
		free(life.moments[i].stall);
	free(life.moments);
	free(life.hcas);
	text_done(&life.findings);
	virtual_destroy(life.world);
}

static void check_past(void)
{
	size_t known = 0;

	for (size_t i = 0; i < life.moment_count; i++) {
		int64_t wall_us;
		double *now = read_stalls(life.moments[i].wall_us, &wall_us);

		assert_true(wall_us == life.moments[i].wall_us);
		for (size_t port = 0; port < life.world->built->port_count; port++) {
			double then = life.moments[i].stall[port];

			assert_true(isnan(then) ? isnan(now[port]) : then == now[port]);
			known += !isnan(then);
		}
		free(now);
	}
	assert_true(life.moment_count > 20 && known > life.moment_count * 20);
}

/* Those of the two faults; the others are not more than information. */
static void check_findings(const char *findings)
{
	assert_true(strstr(findings, " congestion leaf-u02-r0/8 "));
	assert_true(strstr(findings, " link-degraded leaf-u02-r0/3 "));
	assert_true(strstr(findings, " symbol-errors leaf-u01-r0/9 "));
	for (const char *line = findings; *line; line = strchr(line, '\n') + 1) {
		int length = (int)strcspn(line, "\n");

		if (memmem(line, (size_t)length, " info", 5) || memmem(line, (size_t)length, " leaf-u02-r0/3 ", 15) ||
		    memmem(line, (size_t)length, " leaf-u01-r0/9 ", 15))
			continue;
		fail_msg("%.*s", length, line);
	}
}

TEST_WITH(a_day_with_right_and_wrong_ticks, test_folder_make, test_folder_remove)
{
	unsigned wrong = 0, proven = 0, found = 0;
	char *findings, *without;

	(void)state;
	findings = live(true);
	for (size_t i = 0; i < life.world->built->node_count; i++) {
		wrong += life.hcas[i].wrong;
		proven += life.hcas[i].proven != 0;
		found += life.hcas[i].contradicted != 0;
		assert_true(life.hcas[i].contradicted || !life.hcas[i].proven);
	}
	print_message("%" PRIu64 " sweeps, %" PRIu64 " windows of right devices, %" PRIu64 " with a stall; %u wrong "
		      "devices, %u with proof, %u found; %zu moments\n", life.sweeps, life.windows, life.right,
		      wrong, proven, found, life.moment_count);
	assert_true(proven >= 5);
	assert_true(life.windows > 20000);
	assert_true(life.right == life.windows);
	check_past();
	end();
	/* The stalls of HCAs, right or wrong, change no finding. */
	without = live(false);
	assert_string_equal(without, findings);
check_findings(findings);
	free(findings);
	free(without);
	end();
}
