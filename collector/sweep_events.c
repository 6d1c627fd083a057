/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sweep_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"

/* Keys of a set of counters, as many as fit: "rcv_errors, xmit_discards". */
static void list_counters(counter_set set, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (int counter = 0; counter < COUNTER_COUNT; counter++) {
		const char *key = counter_info((enum counter)counter)->key;

		if (!(set & COUNTER_BIT(counter)))
			continue;
		if (len + strlen(key) + 6 >= size) {
			snprintf(ret + len, size - len, ", ...");
			return;
		}
		len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? ", " : "", key);
	}
}

/*
 * Counters of a port decreased: counted once per window. While the window has fewer than CLEARED_TOGETHER
 * ports, the event of the port is added to @pending.
 */
static void count_cleared(struct sweep_events *state, struct events *pending, int64_t now_us, int64_t wall_us,
			  const struct fabric *fabric, const struct port_sample *sample, struct port_entry *memory)
{
	const struct port *port = &fabric->ports[sample->port];
	char name[128], keys[128];

	if (!state->window_us) {
		state->window++;
		state->window_us = now_us;
	}
	if (memory->cleared_window == state->window)
		return;
	memory->cleared_window = state->window;
	if (++state->cleared >= CLEARED_TOGETHER)
		return;
	list_counters(sample->delta->reset, keys, sizeof(keys));
	events_add(pending, wall_us, EVENT_COUNTERS_CLEARED, EVENT_INFO, fabric, port->node, port->num,
		   "counters of %s were reset externally: %s",
		   events_port_name(fabric, sample->port, name, sizeof(name)), keys);
}

/*
 * Report resets at once, since the operator may just have cleared a port. If many ports follow, one event
 * replaces the events of the window.
 */
static void report_cleared(struct sweep_events *state, struct events *events, int64_t now_us, int64_t wall_us,
			   const struct events *pending, size_t cleared_before)
{
	char span[WHEN_SIZE];

	if (state->cleared == cleared_before)
		return;
	if (state->cleared >= CLEARED_TOGETHER) {
		events_add(events, wall_us, EVENT_COUNTERS_CLEARED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "counters of %zu ports were reset externally%s%s; a minute later `ibwire ports "
			   "finding:counters-cleared` lists them", state->cleared,
			   now_us > state->window_us ? " in " : "",
			   now_us > state->window_us ? when_format_span(now_us - state->window_us, span) : ""
			   )->replaces = state->reported;
		state->reported = 1;
		return;
	}
	for (size_t i = 0; i < pending->count; i++)
		*events_add(events, 0, EVENT_COUNTERS_CLEARED, EVENT_INFO, NULL, FABRIC_NONE, 0, "%s", "") =
			pending->list[i];
	state->reported = (unsigned)state->cleared;
}

/*
 * A 32-bit PortXmitWait of an HCA is full within a second of stalls (0.7 s at NDR): that is reported
 * once for all ports. Stalls towards a host are counted by its leaf.
 */
static counter_set without_narrow_wait(struct sweep_events *state, const struct fabric *fabric,
				       const struct port_sample *sample, counter_set fresh)
{
	counter_set wait = fresh & COUNTER_BIT(COUNTER_XMIT_WAIT) & ~sample->reading->wide;

	if (!wait || fabric->nodes[fabric->ports[sample->port].node].type != NODE_CA)
		return fresh;
	state->full_waits = true;
	return fresh & ~wait;
}

static void report_full_waits(struct sweep_events *state, struct events *events, int64_t wall_us)
{
	if (!state->full_waits || state->full_waits_reported)
		return;
	state->full_waits_reported = true;
	events_add(events, wall_us, EVENT_COUNTER_SATURATED, EVENT_INFO, NULL, FABRIC_NONE, 0,
		   "PortXmitWait is not available from HCAs that count it with 32 bits: it is full after a second of "
		   "stalls; stalls towards hosts are counted by their leaves");
}

/* Report a counter at its maximum once, and again after it was cleared. */
static void report_saturated(struct sweep_events *state, struct events *events, int64_t wall_us,
			     const struct fabric *fabric, const struct port_sample *sample, struct port_entry *port)
{
	const struct port *which = &fabric->ports[sample->port];
	const struct delta *delta = sample->delta;
	/* The delta shows it if it covers all counters; otherwise each one is checked. */
	counter_set now = delta && delta->known == sample->reading->present ? delta->saturated
									    : counters_saturated(sample->reading);
	counter_set fresh = without_narrow_wait(state, fabric, sample, now & ~port->saturated);
	char name[128], keys[128];

	port->saturated = now;
	if (!fresh)
		return;
	list_counters(fresh, keys, sizeof(keys));
	events_add(events, wall_us, EVENT_COUNTER_SATURATED, EVENT_INFO, fabric, which->node, which->num,
		   "counters of %s are saturated until they are cleared: %s",
		   events_port_name(fabric, sample->port, name, sizeof(name)), keys);
}

/* Report 64-bit error counters that contradict PortCounters (sweep_port.c). */
static void report_contradicted(struct events *events, int64_t wall_us, const struct fabric *fabric,
				const struct port_sample *sample, struct port_entry *port)
{
	const struct port *which = &fabric->ports[sample->port];
	char name[128], keys[128];

	if (!port->contradicted)
		return;
	list_counters(port->contradicted, keys, sizeof(keys));
	port->contradicted = 0;
	events_add(events, wall_us, EVENT_COUNTERS_CONTRADICT, EVENT_WARNING, fabric, which->node, which->num,
		   "64-bit error counters of %s are below those of PortCounters, which are used now: %s",
		   events_port_name(fabric, sample->port, name, sizeof(name)), keys);
}

/* Responses of one node in a sweep. The samples of a node are consecutive. */
struct node_responses {
	uint32_t node;
	size_t queried;    /* ports that were to be read */
	size_t responded;
};

/* The node of sample *i, which is advanced beyond it. */
static struct node_responses next_node(const struct fabric *fabric, const struct sweep_result *result, size_t *i)
{
	struct node_responses ret = { .node = fabric->ports[result->samples[*i].port].node };

	for (; *i < result->count && fabric->ports[result->samples[*i].port].node == ret.node; ++*i) {
		enum sample_status status = result->samples[*i].status;

		/* Planes are not polled, and do not show whether the node responds. */
		if (status == SAMPLE_UNSUPPORTED && port_is_plane(fabric, result->samples[*i].port))
			continue;
		ret.responded += status == SAMPLE_OK || status == SAMPLE_UNSUPPORTED;
		/* Ports in backoff count too: the node was sent one query for all of them. */
		ret.queried += status != SAMPLE_DOWN && status != SAMPLE_UNPLANNED && status != SAMPLE_UNFINISHED;
	}
	return ret;
}

/* Extent of unresponsiveness, without this host's node, which responds without a fabric. */
enum outage { OUTAGE_NONE, OUTAGE_HCAS, OUTAGE_ALL };

/* If no HCA responds while switches do, or no node at all, the cause is not in the nodes. */
static enum outage outage_of(const struct fabric *fabric, const struct sweep_result *result)
{
	size_t queried[2] = { 0 }, responded[2] = { 0 }, i = 0;

	while (i < result->count) {
		struct node_responses node = next_node(fabric, result, &i);
		bool is_switch = fabric->nodes[node.node].type == NODE_SWITCH;

		if (!node.queried || node.node == fabric->from_node)
			continue;
		queried[is_switch]++;
		responded[is_switch] += node.responded > 0;
	}
	if (queried[false] + queried[true] >= 2 && !responded[false] && !responded[true])
		return OUTAGE_ALL;
	return queried[false] >= 2 && !responded[false] ? OUTAGE_HCAS : OUTAGE_NONE;
}

static void report_together(struct events *events, int64_t wall_us, enum outage before, enum outage now)
{
	if (now == before)
		return;
	if (before == OUTAGE_ALL)
		events_add(events, wall_us, EVENT_FABRIC_ANSWERS, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the fabric responds again");
	if (now == OUTAGE_ALL)
		events_add(events, wall_us, EVENT_FABRIC_SILENT, EVENT_CRITICAL, NULL, FABRIC_NONE, 0,
			   "no node responds: this host's link, its switch or its device is down");
	if (before == OUTAGE_HCAS && now == OUTAGE_NONE)
		events_add(events, wall_us, EVENT_HCAS_ANSWER, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "HCAs respond to performance queries again");
	if (now == OUTAGE_HCAS)
		events_add(events, wall_us, EVENT_HCAS_SILENT, EVENT_CRITICAL, NULL, FABRIC_NONE, 0,
			   "no HCA responds to performance queries while switches do: a PM_Key is set, or this host "
			   "is not a full member of the default partition");
}

/* Is the node covered by an event about all nodes of its kind? */
static bool is_covered(const struct node *node, enum outage outage)
{
	return outage == OUTAGE_ALL || (outage == OUTAGE_HCAS && node->type != NODE_SWITCH);
}

/* Are all switches that the HCA is connected to unresponsive? Then it cannot be reached. */
static bool is_behind(const struct fabric *fabric, uint32_t index, struct node_memory *memory)
{
	const struct node *node = &fabric->nodes[index];
	bool behind = false;

	for (uint32_t i = node->first_port; node->type != NODE_SWITCH && i < node->first_port + node->ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == FABRIC_NONE)
			continue;
		if (!node_memory_node(memory, fabric->ports[peer].node)->unresponsive_sweeps)
			return false;
		behind = true;
	}
	return behind;
}

/* Is the node reported? While a discovery or the SM is active, only after a second sweep. */
static bool is_reported(const struct sweep_events *state, const struct node *node, const struct node_entry *entry)
{
	if (entry->unresponsive_reported)
		return true;
	return !is_covered(node, (enum outage)state->outage) && (!state->busy || entry->unresponsive_sweeps > 1);
}

/* Report nodes whose ports are planes of one port (fabric/planes.h), also if their number changed. */
static void report_planes(struct events *events, int64_t wall_us, const struct fabric *fabric,
			  struct node_memory *memory)
{
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		struct node_entry *entry = node_memory_node(memory, i);
		unsigned planes = node_planes(fabric, i);

		if (planes && planes != entry->planes_reported)
			events_add(events, wall_us, EVENT_LAYOUT_UNSUPPORTED, EVENT_WARNING, fabric, i, 0,
				   "%.100s: %u ports share one GUID, so they are planes of one port. What their own "
				   "counters count is unknown; the counters of the connected switch ports apply",
				   fabric->names.shown[i], planes);
		entry->planes_reported = (uint8_t)planes;
	}
}

/* Each switch whose adaptive routing changed, and a summary when some was read for the first time. */
static void report_adaptive(struct events *events, int64_t wall_us, const struct fabric *fabric,
			    struct node_memory *memory)
{
	unsigned switches[ADAPTIVE_ON + 1] = { 0 };
	bool is_first = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		struct node_entry *entry = node_memory_node(memory, i);

		switches[entry->adaptive]++;
		if (entry->adaptive != entry->adaptive_reported && entry->adaptive_reported)
			events_add(events, wall_us, EVENT_ADAPTIVE_ROUTING, EVENT_INFO, fabric, i, 0,
				   "adaptive routing of %.150s is now %s", fabric->names.shown[i],
				   balance_adaptive_name(entry->adaptive));
		is_first |= entry->adaptive != entry->adaptive_reported && !entry->adaptive_reported;
		entry->adaptive_reported = entry->adaptive;
	}
	if (is_first)
		events_add(events, wall_us, EVENT_ADAPTIVE_ROUTING, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "adaptive routing is on at %u switch%s and off at %u", switches[ADAPTIVE_ON],
			   switches[ADAPTIVE_ON] == 1 ? "" : "es",
			   switches[ADAPTIVE_OFF]);
}

/* Once for each node. */
static void report_port_select(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t node,
			       struct node_entry *entry)
{
	if (!entry->lacks_port_select || entry->lacks_port_select_reported)
		return;
	entry->lacks_port_select_reported = true;
	events_add(events, wall_us, EVENT_PORT_SELECT_ZERO, EVENT_INFO, fabric, node, 0,
		   "the performance agent of %.100s returns PortSelect 0 instead of the port: its responses are "
		   "accepted", fabric->names.shown[node]);
}

/*
 * A node is locked if it responds to PMA queries, but not to SMPs: its M_Key is not known, or a
 * firewall drops SMPs. Its counters are valid, but changes of its links are detected by a discovery
 * at best. A lost SMP does not make a node locked: it is queried again in the next sweeps, with
 * retries.
 */
static void update_locked(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t node,
			  struct node_memory *memory, bool pma_responded)
{
	struct node_entry *entry = node_memory_node(memory, node);
	enum smp_result result = entry->smp_result;

	entry->smp_result = SMP_NOT_SENT;
	if (result == SMP_RESPONDED) {
		if (entry->locked)
			events_add(events, wall_us, EVENT_NODE_UNLOCKED, EVENT_INFO, fabric, node, 0,
				   "%s responds to SMPs again", fabric->names.shown[node]);
		entry->locked = false;
		entry->smp_timeout_sweeps = 0;
	} else if (result == SMP_NO_RESPONSE && pma_responded && !entry->planes_reported && !entry->locked &&
		   ++entry->smp_timeout_sweeps >= LOCKED_AFTER_SWEEPS) {
		entry->locked = true;
		events_add(events, wall_us, EVENT_NODE_LOCKED, EVENT_WARNING, fabric, node, 0,
			   "%.100s responds to PMA queries, but not to SMPs: its M_Key is probably %s",
			   fabric->names.shown[node], memory->keys ? "not the configured one"
								  : "not configured (--security-keys)");
	}
}

/* Nodes that are unresponsive, locked, or respond again. */
static void report_nodes(struct sweep_events *state, struct events *events, int64_t wall_us,
			 const struct fabric *fabric, const struct sweep_result *result, struct node_memory *memory)
{
	enum outage before = (enum outage)state->outage, now = outage_of(fabric, result);
	size_t i = 0;

	report_together(events, wall_us, before, now);
	state->outage = now;
	while (i < result->count) {
		struct node_responses responses = next_node(fabric, result, &i);
		struct node_entry *entry = node_memory_node(memory, responses.node);

		if (responses.queried)
			entry->unresponsive_sweeps = responses.responded ? 0 : entry->unresponsive_sweeps + 1;
	}
	for (i = 0; i < result->count;) {
		struct node_responses responses = next_node(fabric, result, &i);
		const struct node *node = &fabric->nodes[responses.node];
		struct node_entry *entry = node_memory_node(memory, responses.node);
		bool was_reported = entry->unresponsive_reported;

		report_port_select(events, wall_us, fabric, responses.node, entry);
		update_locked(events, wall_us, fabric, responses.node, memory, responses.responded > 0);
		if (!responses.queried)
			continue;
		entry->unresponsive_reported = !responses.responded && is_reported(state, node, entry) &&
					       (was_reported || !is_behind(fabric, responses.node, memory));
		if (entry->unresponsive_reported && !was_reported)
			events_add(events, wall_us, EVENT_NODE_SILENT,
				   node->type == NODE_SWITCH ? EVENT_CRITICAL : EVENT_WARNING, fabric, responses.node,
				   0, "%s does not respond", fabric->names.shown[responses.node]);
		else if (responses.responded && was_reported)
			events_add(events, wall_us, EVENT_NODE_ANSWERS, EVENT_INFO, fabric, responses.node, 0,
				   "%s responds again", fabric->names.shown[responses.node]);
	}
}

void sweep_events_report(struct sweep_events *state, struct events *events, int64_t now_us, int64_t wall_us,
			 const struct sweep_result *result, struct node_memory *memory)
{
	const struct fabric *fabric = memory->fabric;
	struct events pending = { 0 };
	size_t cleared_before;

	if (state->window_us && now_us - state->window_us >= CLEARED_WINDOW_US) {
		state->window_us = 0;
		state->cleared = state->reported = 0;
	}
	cleared_before = state->cleared;
	report_planes(events, wall_us, fabric, memory);
	report_adaptive(events, wall_us, fabric, memory);
	report_nodes(state, events, wall_us, fabric, result, memory);
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		struct port_entry *port = node_memory_port(memory, sample->port);

		report_contradicted(events, wall_us, fabric, sample, port);
		if (sample->reading)
			report_saturated(state, events, wall_us, fabric, sample, port);
		if (sample->delta && sample->delta->reset)
			count_cleared(state, &pending, now_us, wall_us, fabric, sample, port);
	}
	report_full_waits(state, events, wall_us);
	report_cleared(state, events, now_us, wall_us, &pending, cleared_before);
	events_done(&pending);
}

/* A change of the wall clock against CLOCK_BOOTTIME that is a step, not slewing. */
#define CLOCK_STEP_US US_PER_S

void loop_events_sm(struct loop_events *state, struct events *events, int64_t wall_us,
		    const struct sweep_result *result)
{
	const struct sm_state *now = &result->sm, *last = &state->last_sm;

	/* The sweep ended before the response: the state is unknown. */
	if (result->sm_pending)
		return;
	if (last->known && !now->known)
		events_add(events, wall_us, EVENT_SM_LOST, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the subnet manager at LID %u does not respond", now->lid ? now->lid : last->lid);
	else if (now->known && last->guid && now->guid != last->guid)
		events_add(events, wall_us, EVENT_SM_CHANGED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the master subnet manager is 0x%016" PRIx64 ", was 0x%016" PRIx64, now->guid, last->guid);
	else if (now->known && last->guid && !last->known)
		events_add(events, wall_us, EVENT_SM_ANSWERS, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the subnet manager at LID %u responds again", now->lid);
	if (now->known)
		state->last_sm = *now;
	state->last_sm.known = now->known;
}

void loop_events_clock(struct loop_events *state, struct events *events, int64_t wall_us, int64_t boottime_us)
{
	int64_t offset_us = wall_us - boottime_us, step_us = offset_us - state->wall_offset_us;
	char by[WHEN_SIZE];

	if (state->wall_offset_us && (step_us >= CLOCK_STEP_US || step_us <= -CLOCK_STEP_US))
		events_add(events, wall_us, EVENT_CLOCK_STEPPED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the wall clock was set %s by %s; rates and the order of sweeps are not affected",
			   step_us > 0 ? "forward" : "back", when_format_span(step_us > 0 ? step_us : -step_us, by));
	state->wall_offset_us = offset_us;
}

bool loop_events_cut(struct loop_events *state, struct events *events, int64_t wall_us,
		     const struct sweep_result *result, int64_t interval_us)
{
	bool cut = result->cut && result->ports_unfinished && !stop_requested();
	char every[WHEN_SIZE];

	if (cut && !state->cut)
		events_add(events, wall_us, EVENT_SWEEP_CUT, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "%u of %u ports were not read within the interval of %s, and come first in the next "
			   "sweep; increase the interval or the limits to read all",
			   result->ports_unfinished, result->ports_polled, when_format_span(interval_us, every));
	state->cut = cut;
	return cut;
}

void loop_events_late(struct loop_events *state, struct events *events, int64_t wall_us, int64_t took_us,
		      int64_t interval_us)
{
	bool late = took_us >= interval_us;
	char took[WHEN_SIZE], every[WHEN_SIZE];

	if (late && !state->late)
		events_add(events, wall_us, EVENT_SWEEP_LATE, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "a sweep took %s, more than the interval of %s", when_format_span(took_us, took),
			   when_format_span(interval_us, every));
	state->late = late;
}
