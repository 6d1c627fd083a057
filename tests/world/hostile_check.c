/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checks of hostile.h: each stored sweep against the counters of the ports and the disturbances. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "tests/heap.h"
#include "tests/world/hostile.h"

/* More sweeps than the interval of discoveries of the whole fabric has. */
enum { DETECTED = 75 };

/* Findings that are reported in time although there are other disturbances. */
#define DESPITE_OTHERS (BIT(NODE_SILENT) | BIT(LINK_DOWN) | BIT(LINK_DEGRADED))

/* Findings about what has happened, which close although it lasts. */
#define ONCE (BIT(TOPOLOGY_CHANGED) | BIT(COUNTERS_CLEARED))

/* Freed memory in the thread cache of glibc counts as allocated: 7 chunks of each size up to 1 KB, 240 KB. */
enum { HEAP_SLACK = 256 << 10 };

static size_t node_of(uint64_t guid)
{
	return guid ? guid - lab_guid(0) : LAB_NODES;
}

/*
 * A delta that is neither reset nor saturated is the difference of two readings. A reset is reported
 * only after one; others may be suspected.
 */
static void check_delta(struct hostile *h, size_t node, unsigned num, const struct port_sample *sample)
{
	const struct lab_port *port = lab_port(h->lab, node, num);
	const struct delta *delta = sample->delta;

	assert_true(delta->elapsed_us == sample->reading->at_us - port->last.at_us);
	if (delta->reset & ~sample->suspected && !h->cleared[node][num])
		fail_msg("a reset of node %zu port %u, which was not reset", node, num);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);

		if (!(delta->known & bit) || (delta->reset | delta->saturated) & bit)
			continue;
		assert_true(port->last.value[i] + delta->value[i] == sample->reading->value[i]);
		h->deltas += delta->value[i] != 0;
	}
	h->cleared[node][num] = false;
}

static bool finding_concerns_node(const struct finding *finding, size_t node)
{
	for (unsigned i = 0; i < finding->port_count; i++)
		if (node_of(finding->ports[i].node_guid) == node)
			return true;
	return node_of(finding->node_guid) == node || node_of(finding->peer_guid) == node;
}

static void check_finding(struct hostile *h, const struct finding *finding)
{
	size_t node = node_of(finding->node_guid), peer = node_of(finding->peer_guid);

	h->findings_seen++;
	if (h->allowed[node][finding->kind] < h->undisturbed_sweeps &&
	    (!finding->peer_guid || h->allowed[peer][finding->kind] < h->undisturbed_sweeps))
		fail_msg("without a cause: %s %s: %s", finding_kind_name(finding->kind), finding->subject,
			 finding->text);
}

/* Of the links of hosts, findings concern the host. */
static size_t place_of(const struct active *active)
{
	return active->what->target == HOST_LINK ? active->peer : active->node;
}

static bool is_required(const struct active *active, const struct finding *finding)
{
	return active->what->required & UINT64_C(1) << finding->kind &&
	       (!finding->node_guid || finding_concerns_node(finding, place_of(active)));
}

static void check_others(struct hostile *h, struct active *active)
{
	bool hidden = false;

	for (size_t i = 0; i < ACTIVE_MAX; i++) {
		const struct active *other = &h->active[i];

		if (other == active || !other->what)
			continue;
		hidden |= other->what->wide || !(active->what->required & DESPITE_OTHERS);
		active->unverifiable |= other->what->group == OF_CABLES &&
					(other->what->wide || other->node == active->node ||
					 other->peer == active->node);
	}
	active->visible = hidden ? 0 : active->visible + 1;
	active->unverifiable |= hidden && active->what->required & ONCE;
}

static void check_required(struct hostile *h, struct active *active, const struct sweep *sweep)
{
	unsigned detected = active->what->detected ? active->what->detected : DETECTED;
	bool found = false;

	check_others(h, active);
	for (size_t i = 0; i < sweep->finding_count; i++)
		found |= is_required(active, sweep->findings[i]);
	active->reported |= found;
	active->unverifiable |= found && h->sweep == active->since;
	if (active->visible <= detected || active->unverifiable)
		return;
	if (!found && !(active->what->required & ONCE && active->reported))
		fail_msg("not reported: %s, node %zu port %u", active->what->name, active->node, active->num);
	h->verified[active->what - hostile_disturbances] += active->visible == detected + 1;
}

static void check_findings(struct hostile *h, const struct sweep *sweep)
{
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what)
			hostile_justify(h, &h->active[i]);
	for (size_t i = 0; i < sweep->finding_count; i++)
		check_finding(h, sweep->findings[i]);
	for (size_t i = 0; i < ACTIVE_MAX; i++)
		if (h->active[i].what && h->active[i].what->required)
			check_required(h, &h->active[i], sweep);
}

static void measure_heap(struct hostile *h)
{
	struct mallinfo2 heap = mallinfo2();

	if (h->heap_count < HEAPS_MAX)
		h->heaps[h->heap_count++] = heap.uordblks + heap.hblkhd;
}

/*
 * The least heap at quiet times: no more in the last third than in the second one. A leak raises it; the
 * thread that packs samples in a week does not.
 */
void hostile_check_heap(const struct hostile *h)
{
	size_t least[3] = { SIZE_MAX, SIZE_MAX, SIZE_MAX };

	if (h->heap_count < 3)
		return;
	for (size_t i = 0; i < h->heap_count; i++)
		if (h->heaps[i] < least[3 * i / h->heap_count])
			least[3 * i / h->heap_count] = h->heaps[i];
	print_message("# heap at quiet times: at least %zu, %zu, %zu bytes in thirds of %" PRIu64 " sweeps\n",
		      least[0], least[1], least[2], h->sweep);
	/* A short run has a few measurements. */
	assert_true(least[2] <= least[1] + HEAP_SLACK || (h->week && h->heap_count < 30));
}

/* All counters that its agent has are read again. */
static void check_counters(const struct hostile *h, size_t node, const struct delta *delta)
{
	const struct counter_field *fields;
	counter_set all = 0;
	size_t count;

	fields = counter_fields(&count);
	for (size_t i = 0; i < count; i++)
		if (pma_caps_meet(&h->lab->agents[node].caps, (enum counter_need)fields[i].need))
			all |= COUNTER_BIT(fields[i].counter);
	assert_true(delta->known == all);
}

/* The end of a round: nothing of the disturbances is left. */
static void check_quiet(struct hostile *h, const struct sweep *sweep)
{
	assert_int_equal(sweep->ports_polled, LIVE_PORTS);
	assert_int_equal(sweep->ports_answered, LIVE_PORTS);
	assert_int_equal(sweep->fabric->node_count, LAB_NODES);
	assert_int_equal(fabric_count_links(sweep->fabric), LIVE_PORTS / 2);
	for (size_t i = 0; i < sweep->finding_count; i++)
		if (sweep->findings[i]->kind != FINDING_LINK_FLAPPING)
			fail_msg("still open: %s %s: %s", finding_kind_name(sweep->findings[i]->kind),
				 sweep->findings[i]->subject, sweep->findings[i]->text);
	for (size_t i = 0; i < sweep->sample_count; i++)
		if (sweep->samples[i].status == SAMPLE_OK)
			check_counters(h, lab_node_of(sweep->fabric, sweep->samples[i].port), sweep->samples[i].delta);
	lab_check(h->lab);
	lab_check_details(h->lab);
	for (size_t i = 0; i < LAB_NODES; i++)
		for (unsigned num = 1; num <= LAB_SWITCH_PORTS; num++) {
			struct lab_port *port = lab_port(h->lab, i, num);

			port->first = port->last;
			port->sum = (struct delta){ 0 };
		}
	h->lab->event_count = 0;
	measure_heap(h);
	if (h->week)
		hostile_week_check_days();
}

/* Sweeps begin in each interval, or an event reports the first of consecutive late ones. */
static void check_pace(struct hostile *h, const struct sweep *sweep)
{
	int64_t interval_us = h->lab->run.settings.interval_us;
	bool late = h->last_start_us && sweep->start_us - h->last_start_us > interval_us * 11 / 10;

	for (size_t i = 0; i < sweep->event_count; i++) {
		h->late_reported |= !strcmp(sweep->events[i].kind, EVENT_SWEEP_LATE);
		/* The list of events is in order of time, but for those that could not be stored before. */
		assert_true(strcmp(sweep->events[i].kind, EVENT_COUNTERS_CLEARED) ||
			    sweep->events[i].wall_us >= h->last_event_us);
		h->last_event_us = sweep->events[i].wall_us;
	}
	h->late += late;
	assert_true(!late || h->late_reported);
	h->late_reported &= late;
	h->last_start_us = sweep->start_us;
}

int hostile_store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct hostile *h = hostile;
	struct lab *lab = h->lab;

	(void)ctx;
	for (size_t i = 0; i < sweep->sample_count && !lab->store_fails; i++) {
		size_t node = lab_node_of(sweep->fabric, sweep->samples[i].port);
		unsigned num = sweep->fabric->ports[sweep->samples[i].port].num;

		if (lab->nodes[node].guid_ambiguous)
			h->cleared[node][num] = true;
		else if (sweep->samples[i].delta)
			check_delta(h, node, num, &sweep->samples[i]);
	}
	check_findings(h, sweep);
	check_pace(h, sweep);
	h->events += lab->store_fails ? 0 : sweep->event_count;
	if (h->lab_sink.store(h->lab_sink.ctx, sweep, err) < 0)
		return ERR_IO;
	if (h->week)
		hostile_week_store(sweep);
	if (h->sweep % ROUND == ROUND - 2)
		check_quiet(h, sweep);
	/* A late sweep is followed by the next one without a pause. */
	if (lab->store_us)
		hostile_before_sweep(lab);
	return 0;
}
