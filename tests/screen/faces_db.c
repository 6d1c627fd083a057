/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * faces_db.c - store a small fabric in which ports are in every state, for tests/integration/faces_test.py
 *
 * faces_db PATH STAGE END
 *
 * STAGE is the last of the stages that are stored: healthy, fault, clearing or reset. The last sweep begins at END
 * (seconds since 1970). Two spines, two leaves, eight hosts, a host whose HCA has four planes, an aggregation node
 * and a router. From the fault on:
 *
 * leaf01/1 - spine01/1   Init at the leaf only
 * leaf01/2 - spine02/1   Armed
 * node0002               silent
 * node0003               locked
 * node0004               the link is down, and its cable in the topology
 * node0005               the link is down, and its cable no longer in the topology
 * node0006               one lane instead of four
 * node0007, node0008     without counters; those of the peer of node0008 are not read either
 * leaf02/1 - spine01/2   symbol errors, and a receive error counter at its maximum
 * leaf02/5               relay errors, which are no fault
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/writer.h"
#include "tests/screen/record.h"

enum { SPINES = 2, LEAVES = 2, HOSTS = 8, PLANES = 4, PORTS_MAX = 96, FINDINGS_MAX = 8 };
enum stage { HEALTHY, FAULT, CLEARING, RESET, STAGES };
enum { SWEEPS_OF_STAGE = 8, INTERVAL_S = 10 };

#define SPINE_GUID UINT64_C(0x30)
#define LEAF_GUID UINT64_C(0x20)
#define HOST_GUID UINT64_C(0x1000)
#define PLANES_GUID UINT64_C(0x2000)
#define AGGREGATION_GUID UINT64_C(0x3000)
#define ROUTER_GUID UINT64_C(0x4000)

struct play {
	struct fabric *fabrics[STAGES];
	struct reading readings[PORTS_MAX];
	struct delta deltas[PORTS_MAX];
	struct port_sample samples[PORTS_MAX];
	struct finding findings[FINDINGS_MAX];
	const struct finding *open[FINDINGS_MAX];
	struct event events[1];
	int64_t fault_us, clearing_us; /* wall clock */
	int64_t job;               /* number of the running job; 0: none */
	struct job_minute minute;
};

static void add_node(struct fabric *fabric, uint64_t guid, uint8_t type, uint8_t ports, const char *desc)
{
	struct node node = { .guid = guid, .system_guid = guid, .type = type, .port_count = ports,
			     .enhanced_port0 = guid == SPINE_GUID + 1 };
	uint16_t lid = (uint16_t)(fabric->node_count + 1);

	snprintf(node.desc, sizeof(node.desc), "%s", desc);
	node.lid = type == NODE_SWITCH ? lid : 0;
	if (fabric_add_node(fabric, &node, NULL) < 0)
		abort();
	for (unsigned num = type == NODE_SWITCH ? 0 : 1; num <= ports; num++) {
		struct port port = {
			.num = (uint8_t)num, .state = num ? PORT_DOWN : PORT_ACTIVE,
			.phys_state = num ? PHYS_POLLING : PHYS_LINK_UP,
			.speed_enabled = 1 << LINK_SPEED_HDR, .speed_supported = 1 << LINK_SPEED_HDR,
			.width_enabled = LINK_WIDTH_4X, .width_supported = LINK_WIDTH_4X,
			.lid = type == NODE_SWITCH && num ? 0 : lid,
			/* The planes of an HCA share their GUID; its fifth port has one of its own. */
			.guid = type == NODE_SWITCH && num ? 0 : guid + (num > PLANES ? num : 1),
		};

		if (fabric_add_port(fabric, &port, NULL) < 0)
			abort();
	}
}

static uint32_t port_at(const struct fabric *fabric, uint64_t guid, unsigned num)
{
	uint32_t port = fabric_find_port(fabric, guid, (uint8_t)num);

	if (port == FABRIC_NONE)
		abort();
	return port;
}

static void set_link(struct fabric *fabric, uint32_t port, uint8_t state, uint8_t width)
{
	struct port *to = &fabric->ports[port];

	to->state = state;
	to->phys_state = state == PORT_DOWN ? PHYS_POLLING : PHYS_LINK_UP;
	to->speed = state == PORT_DOWN ? LINK_SPEED_NONE : LINK_SPEED_HDR;
	to->width = state == PORT_DOWN ? 0 : width;
}

static void cable(struct fabric *fabric, uint64_t guid, unsigned num, uint64_t peer_guid, unsigned peer_num)
{
	uint32_t a = port_at(fabric, guid, num), b = port_at(fabric, peer_guid, peer_num);

	set_link(fabric, a, PORT_ACTIVE, LINK_WIDTH_4X);
	set_link(fabric, b, PORT_ACTIVE, LINK_WIDTH_4X);
	if (fabric_link(fabric, a, b, NULL) < 0)
		abort();
}

/* Ports 3 to 6 of a leaf are cabled to hosts. */
static uint64_t leaf_of(unsigned host)
{
	return LEAF_GUID + (host - 1) / 4 + 1;
}

static unsigned leaf_port_of(unsigned host)
{
	return 3 + (host - 1) % 4;
}

/* @limited: by configuration; else what the ends support is unknown, and comparable links are faster */
static void slow_down(struct fabric *fabric, uint32_t port, enum link_speed speed, bool limited)
{
	struct port *ends[] = { &fabric->ports[port], &fabric->ports[fabric->ports[port].peer] };

	for (unsigned i = 0; i < 2; i++) {
		ends[i]->speed = speed;
		ends[i]->speed_enabled = limited ? (uint16_t)(1 << speed) : 0;
		if (!limited)
			ends[i]->speed_supported = ends[i]->width_enabled = ends[i]->width_supported = 0;
	}
}

static void break_links(struct fabric *fabric, bool clearing)
{
	uint32_t port = port_at(fabric, LEAF_GUID + 1, 1);

	if (!clearing)
		fabric->ports[port].state = PORT_INIT;
	port = port_at(fabric, LEAF_GUID + 1, 2);
	fabric->ports[port].state = fabric->ports[fabric->ports[port].peer].state = PORT_ARMED;
	port = port_at(fabric, HOST_GUID + 4, 1);
	set_link(fabric, fabric->ports[port].peer, PORT_DOWN, 0);
	set_link(fabric, port, PORT_DOWN, 0);
	port = port_at(fabric, HOST_GUID + 6, 1);
	set_link(fabric, fabric->ports[port].peer, PORT_ACTIVE, LINK_WIDTH_1X);
	set_link(fabric, port, PORT_ACTIVE, LINK_WIDTH_1X);
	slow_down(fabric, port_at(fabric, HOST_GUID + 8, 1), LINK_SPEED_EDR, true);
	slow_down(fabric, port_at(fabric, LEAF_GUID + 2, 2), LINK_SPEED_EDR, false);
}

static struct fabric *make_fabric(enum stage stage)
{
	struct fabric *fabric = fabric_create(NULL);
	bool bad = stage == FAULT || stage == CLEARING;
	char desc[NODE_DESC_SIZE];

	if (!fabric)
		abort();
	for (unsigned i = 1; i <= SPINES; i++) {
		snprintf(desc, sizeof(desc), "spine%02u", i);
		add_node(fabric, SPINE_GUID + i, NODE_SWITCH, 8, desc);
	}
	for (unsigned i = 1; i <= LEAVES; i++) {
		snprintf(desc, sizeof(desc), "MF0;leaf%02u:MQM8700/U1", i);
		add_node(fabric, LEAF_GUID + i, NODE_SWITCH, 14, desc);
	}
	for (unsigned i = 1; i <= HOSTS; i++) {
		snprintf(desc, sizeof(desc), "node%04u mlx5_0", i);
		add_node(fabric, HOST_GUID + i, NODE_CA, 1, desc);
	}
	add_node(fabric, PLANES_GUID, NODE_CA, PLANES + 1, "gpu0001 mlx5_0");
	add_node(fabric, AGGREGATION_GUID, NODE_CA, 1, "Mellanox Technologies Aggregation Node");
	add_node(fabric, ROUTER_GUID, NODE_ROUTER, 1, "router01");
	for (unsigned leaf = 1; leaf <= LEAVES; leaf++)
		for (unsigned spine = 1; spine <= SPINES; spine++)
			cable(fabric, LEAF_GUID + leaf, spine, SPINE_GUID + spine, leaf);
	for (unsigned i = 1; i <= HOSTS; i++)
		if (!bad || i != 5)
			cable(fabric, HOST_GUID + i, 1, leaf_of(i), leaf_port_of(i));
	for (unsigned i = 1; i <= PLANES + 1; i++)
		cable(fabric, PLANES_GUID, i, LEAF_GUID + 2, 6 + i);
	cable(fabric, AGGREGATION_GUID, 1, LEAF_GUID + 1, 9);
	cable(fabric, ROUTER_GUID, 1, LEAF_GUID + 2, 13);
	if (bad)
		break_links(fabric, stage == CLEARING);
	if (fabric_finish(fabric, NULL, NULL) < 0)
		abort();
	return fabric;
}

static enum sample_status status_of(const struct fabric *fabric, const struct port *port, enum stage stage)
{
	uint64_t guid = fabric->nodes[port->node].guid;
	uint64_t peer = port->peer == FABRIC_NONE ? 0 : fabric->nodes[fabric->ports[port->peer].node].guid;

	if (port->state == PORT_DOWN)
		return SAMPLE_DOWN;
	if ((guid == PLANES_GUID && port->num <= PLANES) || guid == HOST_GUID + 7 || guid == HOST_GUID + 8 ||
	    peer == HOST_GUID + 8)
		return guid == HOST_GUID + 7 ? SAMPLE_UNPLANNED : SAMPLE_UNSUPPORTED;
	if (stage != FAULT)
		return SAMPLE_OK;
	if (guid == HOST_GUID + 2)
		return SAMPLE_SILENT;
	if (guid == HOST_GUID + 3)
		return SAMPLE_LOCKED;
	return guid == AGGREGATION_GUID ? SAMPLE_UNFINISHED : SAMPLE_OK;
}

static void fill_delta(const struct fabric *fabric, uint32_t index, enum stage stage, unsigned number,
		       struct delta *delta)
{
	const struct port *port = &fabric->ports[index];
	uint64_t guid = fabric->nodes[port->node].guid;
	/* Words in an interval: of up to 25 GB/s that an HDR link carries. */
	uint64_t words = (1 + map_mix(guid * 256 + port->num) % 90) * UINT64_C(600000000);
	uint64_t back = port->peer == FABRIC_NONE ? 0 :
		(1 + map_mix(fabric->nodes[fabric->ports[port->peer].node].guid * 256 +
			     fabric->ports[port->peer].num) % 90) * UINT64_C(600000000);

	*delta = (struct delta){ .elapsed_us = INTERVAL_S * US_PER_S, .known = COUNTER_BIT(COUNTER_COUNT) - 1 };
	/* An idle link. */
	if (guid == ROUTER_GUID || (port->peer != FABRIC_NONE &&
				    fabric->nodes[fabric->ports[port->peer].node].guid == ROUTER_GUID))
		words = back = 0;
	delta->value[COUNTER_XMIT_DATA] = words;
	delta->value[COUNTER_RCV_DATA] = back;
	delta->value[COUNTER_XMIT_PACKETS] = words / 512;
	delta->value[COUNTER_RCV_PACKETS] = back / 512;
	delta->value[COUNTER_XMIT_WAIT] = words / 4096;
	if (guid == LEAF_GUID + 2 && port->num == 5)
		delta->value[COUNTER_RCV_SWITCH_RELAY_ERRORS] = 3;
	if (stage != HEALTHY && guid == LEAF_GUID + 2 && port->num == 1) {
		delta->value[COUNTER_SYMBOL_ERRORS] = stage == FAULT ? 7 : 0;
		delta->value[COUNTER_RCV_ERRORS] = number == SWEEPS_OF_STAGE ? 2 : 0;
		delta->saturated = stage == RESET ? 0 : COUNTER_BIT(COUNTER_RCV_ERRORS);
	}
	if (stage == RESET && number == RESET * SWEEPS_OF_STAGE && port->num == 1) {
		delta->reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS) | COUNTER_BIT(COUNTER_RCV_ERRORS);
		delta->known &= ~delta->reset;
	}
}

/* Add the delta to the reading; after a reset it counts from 0. */
static void fill_reading(const struct delta *delta, int64_t end_us, struct reading *reading)
{
	reading->at_us = end_us;
	reading->present = COUNTER_BIT(COUNTER_COUNT) - 1;
	reading->wide = COUNTER_TRAFFIC_SET;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		reading->value[i] = delta->reset & COUNTER_BIT(i) ? 0 : reading->value[i] + delta->value[i];
}

static struct finding *add_finding(struct play *play, size_t *count, enum finding_kind kind,
				   enum finding_severity severity, const char *subject, const char *cause)
{
	struct finding *finding = &play->findings[*count];

	*finding = (struct finding){ .id = finding->id, .kind = kind, .severity = severity, .cause = cause,
				     .since_us = play->fault_us, .last_seen_us = play->clearing_us,
				     .ok_since_us = play->clearing_us, .advice = finding_kind_info(kind)->advice };
	snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
	snprintf(finding->text, sizeof(finding->text), "%s: %s", subject, finding_kind_info(kind)->means);
	play->open[*count] = finding;
	++*count;
	return finding;
}

static size_t fill_findings(struct play *play, int64_t wall_us, enum stage stage)
{
	size_t count = 0;
	struct finding *finding;

	if (stage != FAULT && stage != CLEARING)
		return 0;
	finding = add_finding(play, &count, FINDING_LINK_DOWN, FINDING_CRITICAL, "node0005 mlx5_0/1 - leaf02/3",
			      "cable");
	finding->node_guid = HOST_GUID + 5;
	finding->port = 1;
	finding->peer_guid = leaf_of(5);
	finding->peer_port = (uint8_t)leaf_port_of(5);
	finding = add_finding(play, &count, FINDING_LINK_NOT_ACTIVE, FINDING_WARNING, "leaf01/2 - spine02/1", "");
	finding->node_guid = LEAF_GUID + 1;
	finding->port = 2;
	finding->peer_guid = SPINE_GUID + 2;
	finding->peer_port = 1;
	finding = add_finding(play, &count, FINDING_LINK_DEGRADED, FINDING_WARNING, "node0006 mlx5_0/1 - leaf02/4",
			      "width");
	finding->node_guid = HOST_GUID + 6;
	finding->port = 1;
	finding->peer_guid = leaf_of(6);
	finding->peer_port = (uint8_t)leaf_port_of(6);
	finding = add_finding(play, &count, FINDING_NODE_SILENT, FINDING_WARNING, "node0002 mlx5_0", "");
	finding->node_guid = HOST_GUID + 2;
	finding = add_finding(play, &count, FINDING_SYMBOL_ERRORS, FINDING_WARNING, "leaf02/1 - spine01/2", "cable");
	finding->node_guid = LEAF_GUID + 2;
	finding->port = 1;
	finding->peer_guid = SPINE_GUID + 1;
	finding->peer_port = 2;
	finding->numbers[0] = (struct finding_number){ "symbol_errors_per_hour", 2520 };
	finding->number_count = 1;
	for (size_t i = 0; i < count && stage == FAULT; i++) {
		play->findings[i].last_seen_us = wall_us;
		play->findings[i].ok_since_us = 0;
	}
	/* Those of links that are still bad hold. */
	for (size_t i = 0; i < 3 && stage == CLEARING; i++) {
		play->findings[i].last_seen_us = wall_us;
		play->findings[i].ok_since_us = 0;
	}
	return count;
}

static void fill_samples(struct play *play, enum stage stage, unsigned number, struct sweep *sweep)
{
	const struct fabric *fabric = sweep->fabric;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct port_sample *to = &play->samples[sweep->sample_count];

		if (!port_is_pollable(fabric, &fabric->ports[i]))
			continue;
		*to = (struct port_sample){ .port = i, .status = status_of(fabric, &fabric->ports[i], stage) };
		sweep->sample_count++;
		sweep->ports_planned++;
		sweep->ports_polled += to->status == SAMPLE_OK || to->status == SAMPLE_SILENT ||
				       to->status == SAMPLE_LOCKED || to->status == SAMPLE_UNFINISHED;
		sweep->ports_unfinished += to->status == SAMPLE_UNFINISHED;
		if (to->status != SAMPLE_OK)
			continue;
		sweep->ports_answered++;
		fill_delta(fabric, i, stage, number, &play->deltas[i]);
		fill_reading(&play->deltas[i], sweep->end_us, &play->readings[i]);
		to->reading = &play->readings[i];
		to->delta = number ? &play->deltas[i] : NULL;
	}
	sweep->samples = play->samples;
}

/* Rhythms of the job; since_us: before the sweep. */
static const struct job_minute minutes[STAGES] = {
	[HEALTHY] = { .rhythm = { RHYTHM_PERIODIC, 4.21, 0.1, 0.31, 2.5e10, 2, 40, NAN }, .phase = JOB_PHASE_RUNS,
		      .slower = NAN, .before_s = 4.1 },
	[FAULT] = { .rhythm = { RHYTHM_PERIODIC, 4.21, 0.1, 0.31, 2.5e10, 2, 40, NAN }, .phase = JOB_PHASE_STALLED,
		    .since_us = 20 * US_PER_S, .slower = NAN, .before_s = NAN },
	[CLEARING] = { .rhythm = { RHYTHM_PERIODIC, 5.3, 0.1, 0.26, 2.0e10, 2, 40, NAN }, .phase = JOB_PHASE_SLOWER,
		       .since_us = 400 * US_PER_S, .slower = 1.26, .before_s = 4.21 },
	[RESET] = { .rhythm = { RHYTHM_UNRESOLVABLE, NAN, NAN, NAN, 2.5e10, 20, 0, NAN }, .phase = JOB_PHASE_RUNS,
		    .slower = NAN, .before_s = NAN },
};

static int store(struct play *play, struct writer *writer, unsigned number, int64_t wall_us, struct error *err)
{
	enum stage stage = number / SWEEPS_OF_STAGE;
	int64_t start_us = 1000 * US_PER_S + number * INTERVAL_S * US_PER_S;
	struct sweep sweep = {
		.wall_us = wall_us, .start_us = start_us, .end_us = start_us + 31 * US_PER_MS,
		.interval_us = INTERVAL_S * US_PER_S, .boot_id = "faces", .fabric = play->fabrics[stage],
		.generation = (uint64_t)stage + 1, .spread_us = 30 * US_PER_MS, .node_spread_us = 3 * US_PER_MS,
		.mads_sent = 60 + number, .mads_timed_out = stage == FAULT, .mads_retried = stage == FAULT,
		.discovery_us = number % SWEEPS_OF_STAGE ? 0 : 40 * US_PER_MS,
		.discovery_smps = number % SWEEPS_OF_STAGE ? 0 : 200,
		.sm = { true, 5, HOST_GUID + 1 + 1, 3, 14, 1000 + number },
	};
	size_t findings;

	if (number == FAULT * SWEEPS_OF_STAGE)
		play->fault_us = wall_us;
	if (number == CLEARING * SWEEPS_OF_STAGE)
		play->clearing_us = wall_us;
	if (number % SWEEPS_OF_STAGE == 0 && number) {
		play->events[0] = (struct event){ .kind = "link-down", .severity = EVENT_WARNING, .wall_us = wall_us,
						  .node_guid = HOST_GUID + 5, .port = 1, .peer_guid = leaf_of(5) };
		snprintf(play->events[0].text, sizeof(play->events[0].text), "the link changed in stage %d",
			 (int)stage);
		sweep.events = play->events;
		sweep.event_count = 1;
	}
	findings = fill_findings(play, wall_us, stage);
	sweep.findings = play->open;
	sweep.finding_count = findings;
	/* Of the job, from its begin on. */
	if (play->job) {
		play->minute = minutes[stage];
		play->minute.job = play->job;
		play->minute.wall_us = wall_us;
		play->minute.since_us = minutes[stage].since_us ? wall_us - minutes[stage].since_us : 0;
		sweep.job_minutes = &play->minute;
		sweep.job_minute_count = 1;
	}
	fill_samples(play, stage, number, &sweep);
	return writer_sink(writer)->store(writer_sink(writer)->ctx, &sweep, err);
}

int main(int argc, char **argv)
{
	static const char *const names[STAGES] = { "healthy", "fault", "clearing", "reset" };
	static struct play play;
	struct error err = { 0 };
	struct writer *writer;
	int stage = 0, code;
	unsigned count;

	while (argc == 4 && stage < STAGES && strcmp(argv[2], names[stage]))
		stage++;
	if (argc != 4 || stage == STAGES) {
		fprintf(stderr, "usage: faces_db PATH healthy|fault|clearing|reset END\n");
		return 64;
	}
	code = writer_open(argv[1], &writer, &err);
	for (int i = 0; i < STAGES; i++)
		play.fabrics[i] = make_fabric((enum stage)i);
	count = ((unsigned)stage + 1) * SWEEPS_OF_STAGE;
	for (unsigned i = 0; i < count && code == 0; i++) {
		int64_t wall_us = (atoll(argv[3]) - (int64_t)(count - 1 - i) * INTERVAL_S) * US_PER_S;

		code = store(&play, writer, i, wall_us, &err);
		if (code == 0 && (i + 7 == count || i + 1 == count))
			code = record_job(argv[1], "17", wall_us, 1000 * US_PER_S + i * INTERVAL_S * US_PER_S,
					  i + 1 == count, &err);
		/* The first one of the database. */
		if (i + 7 == count)
			play.job = 1;
	}
	for (int i = 0; i < STAGES; i++)
		fabric_destroy(play.fabrics[i]);
	writer_close(writer);
	if (code < 0)
		fprintf(stderr, "faces_db: %s\n", err.text);
	return code < 0 ? -code : 0;
}
