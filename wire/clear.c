/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/clear.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/bucket.h"
#include "wire/hca.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/smp.h"
#include "wire/transport.h"

/* Number of LIDs processed at a time, each with one MAD in flight. */
#define SLOTS 128

/*
 * MADs in flight and per second, the defaults of `ibwire collect`. A MAD that is older than any
 * response time of a working node does not count, so unresponsive nodes delay no others.
 */
#define WINDOW 32
#define ANSWER_MOST_US (200 * US_PER_MS)
#define MADS_PER_S 20000

/* Maximum number of redirections that are followed. */
#define REDIRECTS_MOST 3

/* Delay after a busy status. */
#define BUSY_US (50 * US_PER_MS)

/* Maximum time until the kernel returns MADs without a response. */
#define GRACE_US (50 * US_PER_MS)

/* Maximum wait for a MAD: others may be due. */
#define WAIT_MOST_MS 10
#define WAIT_HELD_MS 1 /* while a MAD is held back */

enum phase { QUERY_NODE, QUERY_CAPS, CLEAR, FINISHED };

/* A LID with ports to clear. */
struct agent {
	size_t first, end;  /* its ports */
	struct mad_address pma; /* address of its performance agent */
	unsigned redirects;
	struct pma_caps caps;
	uint8_t lacking;    /* attributes that it lacks: bits 1 << enum clear_attribute */
	uint8_t seen;       /* attributes that it responded to */
	uint8_t phase;      /* enum phase */
	uint8_t attribute;  /* CLEAR: enum clear_attribute */
	size_t port;        /* CLEAR: index into the ports */
	unsigned tries;     /* of the current MAD */
	bool again;         /* CLEAR: second Set, because errors remained after the first one (left) */
	struct reading left;
};

/* A slot of the window. */
struct slot {
	struct agent *agent; /* NULL: free */
	bool in_flight;
	uint32_t tid;
	int64_t sent_us;
	int64_t due_us;      /* in flight: its timeout; else when it is sent */
};

struct clear {
	const struct transport *transport;
	const struct clock *clock;
	struct clear_settings settings;
	struct clear_port *ports;
	struct agent *agents;
	size_t agent_count, next; /* the next one that gets a slot */
	bool writing;
	bool held;          /* a MAD is delayed by the window or the rate */
	size_t turn;        /* slot that is served first: the one that was delayed */
	struct bucket bucket;
	uint32_t generation;
	struct slot slots[SLOTS];
};

int clear_open(const struct hca_port *local, struct hca **ret, struct error *err)
{
	return hca_open_gated(local, mad_is_clear, ret, err);
}

int clear_create(const struct transport *transport, const struct clock *clock, const struct clear_settings *settings,
		 struct clear_port *ports, size_t count, struct clear **ret, struct error *err)
{
	struct clear *clear = calloc(1, sizeof(*clear));

	if (!clear)
		return err_nomem(err);
	clear->agents = calloc(count ? count : 1, sizeof(*clear->agents));
	if (!clear->agents) {
		free(clear);
		return err_nomem(err);
	}
	clear->transport = transport;
	clear->clock = clock;
	clear->settings = *settings;
	clear->ports = ports;
	for (size_t i = 0; i < count; i++) {
		ports[i].outcome = CLEAR_UNTRIED;
		ports[i].attribute = CLEAR_ATTRIBUTE_COUNT;
		if (i == 0 || ports[i].lid != ports[i - 1].lid || ports[i].node_guid != ports[i - 1].node_guid)
			clear->agents[clear->agent_count++].first = i;
		clear->agents[clear->agent_count - 1].end = i + 1;
	}
	*ret = clear;
	return 0;
}

void clear_destroy(struct clear *clear)
{
	if (!clear)
		return;
	free(clear->agents);
	free(clear);
}

size_t clear_planned(const struct clear *clear, enum clear_attribute attribute)
{
	size_t count = 0;

	for (size_t i = 0; i < clear->agent_count; i++) {
		const struct agent *agent = &clear->agents[i];

		if (clear->ports[agent->first].outcome == CLEAR_UNTRIED &&
		    clear_select(attribute, &agent->caps, clear->settings.errors_only))
			count += agent->end - agent->first;
	}
	return count;
}

/* --- what an agent does next --- */

/* The agent is not queried any more: set the outcome of its remaining ports. */
static void give_up(struct clear *clear, struct agent *agent, enum clear_outcome outcome)
{
	for (size_t i = agent->first; i < agent->end; i++) {
		struct clear_port *port = &clear->ports[i];

		if (port->outcome != CLEAR_UNTRIED)
			continue;
		port->outcome = (uint8_t)outcome;
		port->attribute = agent->phase == CLEAR ? agent->attribute : CLEAR_ATTRIBUTE_COUNT;
	}
	agent->phase = FINISHED;
}

/* The current port is not cleared completely: skip its other attributes. Return: the port. */
static struct clear_port *fail_port(struct clear *clear, struct agent *agent, enum clear_outcome outcome)
{
	struct clear_port *port = &clear->ports[agent->port];

	port->outcome = (uint8_t)outcome;
	port->attribute = agent->attribute;
	return port;
}

/* Go to the next attribute, of this port or the next one, that the agent can clear. */
static void advance(struct clear *clear, struct agent *agent)
{
	agent->again = false;
	while (agent->port < agent->end) {
		if (agent->attribute == CLEAR_ATTRIBUTE_COUNT) {
			if (clear->ports[agent->port].outcome == CLEAR_UNTRIED)
				clear->ports[agent->port].outcome = CLEAR_DONE;
			agent->port++;
			agent->attribute = 0;
			continue;
		}
		if (!(agent->lacking & 1u << agent->attribute) &&
		    clear_select((enum clear_attribute)agent->attribute, &agent->caps, clear->settings.errors_only))
			return;
		agent->attribute++;
	}
	agent->phase = FINISHED;
}

static void start_clearing(struct clear *clear, struct agent *agent)
{
	agent->phase = CLEAR;
	agent->port = agent->first;
	agent->attribute = 0;
	advance(clear, agent);
}

static void next_attribute(struct clear *clear, struct agent *agent)
{
	agent->attribute++;
	advance(clear, agent);
}

/* Class and attribute of the current MAD of the agent. */
static struct mad_header current_header(const struct agent *agent)
{
	switch (agent->phase) {
	case QUERY_NODE:
		return (struct mad_header){ .mgmt_class = CLASS_SUBN_LID, .method = METHOD_GET,
					    .attribute = SMP_NODE_INFO };
	case QUERY_CAPS:
		return (struct mad_header){ .mgmt_class = CLASS_PERFORMANCE, .method = METHOD_GET,
					    .attribute = PMA_CLASS_PORT_INFO };
	default:
		return (struct mad_header){ .mgmt_class = CLASS_PERFORMANCE,
					    .attribute = clear_attribute_id((enum clear_attribute)agent->attribute) };
	}
}

static void build(const struct clear *clear, const struct agent *agent, uint32_t tid, uint8_t mad[MAD_SIZE])
{
	enum clear_attribute attribute = (enum clear_attribute)agent->attribute;
	struct mad_header header = current_header(agent);

	header.tid = tid;
	if (agent->phase == CLEAR)
		clear_mad_init(mad, attribute, clear->ports[agent->port].num,
			       clear_select(attribute, &agent->caps, clear->settings.errors_only), tid);
	else
		mad_init(mad, &header);
}

/* --- responses --- */

static void on_node_info(struct clear *clear, struct agent *agent, const uint8_t *mad)
{
	const struct clear_port *port = &clear->ports[agent->first];
	struct smp_node info;

	if (!smp_is_ok(mad)) {
		give_up(clear, agent, CLEAR_UNPROVEN);
		return;
	}
	info = smp_read_node(mad + SMP_DATA_OFFSET);
	if (info.node.guid != port->node_guid || (!port->is_switch && info.port != port->num))
		give_up(clear, agent, CLEAR_MOVED);
	else if (clear->writing)
		start_clearing(clear, agent);
	else
		agent->phase = QUERY_CAPS;
}

static void on_caps(struct clear *clear, struct agent *agent, const uint8_t *mad)
{
	enum answer_status status = answer_status(mad);

	if (status == ANSWER_REDIRECT) {
		give_up(clear, agent, CLEAR_REDIRECTED);
		return;
	}
	/* Every agent has the others. */
	agent->caps = status == ANSWER_OK ? pma_read_caps(mad) : (struct pma_caps){ 0 };
	agent->phase = FINISHED;
}

/* Error counters that are not zero, of those that the Set selected. */
static counter_set errors_left(const struct agent *agent, const uint8_t *mad, struct reading *ret)
{
	counter_set left = 0;

	*ret = (struct reading){ 0 };
	reading_decode(ret, agent->attribute == CLEAR_PORT_COUNTERS ? ATTRIBUTE_PORT_COUNTERS :
								      ATTRIBUTE_PORT_COUNTERS_EXTENDED,
		       mad + PMA_DATA_OFFSET, PMA_DATA_SIZE, &agent->caps);
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (ret->present & COUNTER_BIT(counter) && ret->value[counter])
			left |= COUNTER_BIT(counter);
	return left;
}

/*
 * Check the result of a Set. A counter above zero after it may have counted since, or the response
 * may be older; so the Set is repeated, and counters that are not smaller after that were kept.
 * Return: whether this Set is finished.
 */
static bool check_cleared(struct clear *clear, struct agent *agent, const uint8_t *mad)
{
	struct reading now;
	counter_set left, kept = 0;

	if (agent->attribute > CLEAR_EXTENDED)
		return true;
	left = errors_left(agent, mad, &now);
	if (left && !agent->again) {
		agent->again = true;
		agent->left = now;
		return false;
	}
	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		if (left & agent->left.present & COUNTER_BIT(counter) && agent->left.value[counter] &&
		    now.value[counter] >= agent->left.value[counter])
			kept |= COUNTER_BIT(counter);
	if (agent->again && kept)
		fail_port(clear, agent, CLEAR_KEPT)->kept |= kept;
	return true;
}

static void on_set(struct clear *clear, struct agent *agent, const uint8_t *mad)
{
	switch (answer_status(mad)) {
	case ANSWER_OK:
		agent->seen |= 1u << agent->attribute;
		if (mad[PMA_DATA_OFFSET + 1] != clear->ports[agent->port].num)
			fail_port(clear, agent, CLEAR_REFUSED)->status = 0;
		else if (!check_cleared(clear, agent, mad))
			return;
		break;
	case ANSWER_REDIRECT:
		give_up(clear, agent, CLEAR_REDIRECTED);
		return;
	case ANSWER_UNSUPPORTED:
		if (agent->attribute != CLEAR_PORT_COUNTERS && !(agent->seen & 1u << agent->attribute)) {
			agent->lacking |= 1u << agent->attribute;
			break;
		}
		/* fall through */
	default:
		fail_port(clear, agent, CLEAR_REFUSED)->status = get_be16(mad + 4);
		break;
	}
	next_attribute(clear, agent);
}

/* All tries timed out. */
static void on_timeout(struct clear *clear, struct agent *agent)
{
	if (agent->phase == CLEAR && agent->attribute > CLEAR_EXTENDED && !(agent->seen & 1u << agent->attribute)) {
		/* Some agents do not respond to unsupported attributes. */
		agent->lacking |= 1u << agent->attribute;
		next_attribute(clear, agent);
	} else {
		give_up(clear, agent, CLEAR_SILENT);
	}
}

/* --- the loop --- */

static void slot_idle(struct clear *clear, struct slot *slot, int64_t due_us)
{
	slot->in_flight = false;
	slot->due_us = due_us;
	if (slot->agent && slot->agent->phase == FINISHED)
		slot->agent = NULL;
	while (!slot->agent && clear->next < clear->agent_count) {
		struct agent *agent = &clear->agents[clear->next++];

		if (clear->ports[agent->first].outcome != CLEAR_UNTRIED)
			continue;
		agent->phase = QUERY_NODE;
		agent->tries = 0;
		slot->agent = agent;
	}
}

/* A try failed: retry at @due_us, or give up. */
static void slot_failed(struct clear *clear, struct slot *slot, int64_t due_us)
{
	if (slot->agent->tries > clear->settings.retries) {
		slot->agent->tries = 0;
		on_timeout(clear, slot->agent);
	}
	slot_idle(clear, slot, due_us);
}

static int slot_send(struct clear *clear, struct slot *slot, int64_t now_us, struct error *err)
{
	struct agent *agent = slot->agent;
	struct mad_address to = { .lid = clear->ports[agent->first].lid };
	uint8_t mad[MAD_SIZE];

	if (agent->phase != QUERY_NODE && agent->redirects)
		to = agent->pma;
	slot->tid = ++clear->generation << 8 | (uint32_t)(slot - clear->slots);
	build(clear, agent, slot->tid, mad);
	agent->tries++;
	bucket_take(&clear->bucket);
	slot->in_flight = true;
	slot->sent_us = now_us;
	slot->due_us = now_us + clear->settings.timeout_ms * US_PER_MS + GRACE_US;
	return clear->transport->send(clear->transport->ctx, &to, mad, clear->settings.timeout_ms, err);
}

static void handle_response(struct clear *clear, struct slot *slot, const uint8_t *mad, int64_t now_us)
{
	struct agent *agent = slot->agent;

	if (agent->phase != QUERY_NODE && answer_status(mad) == ANSWER_BUSY &&
	    agent->tries <= clear->settings.retries) {
		slot_idle(clear, slot, now_us + BUSY_US);
		return;
	}
	agent->tries = 0;
	if (agent->phase != QUERY_NODE && agent->redirects < REDIRECTS_MOST && pma_read_redirect(mad, &agent->pma))
		agent->redirects++;
	else if (agent->phase == QUERY_NODE)
		on_node_info(clear, agent, mad);
	else if (agent->phase == QUERY_CAPS)
		on_caps(clear, agent, mad);
	else
		on_set(clear, agent, mad);
	slot_idle(clear, slot, now_us);
}

/* Process a received MAD; late and unknown ones are ignored. */
static void handle_mad(struct clear *clear, enum transport_event event, const uint8_t *mad, int64_t now_us)
{
	struct mad_header header = mad_read_header(mad), expected;
	struct slot *slot = &clear->slots[header.tid % SLOTS];

	if (!slot->agent || !slot->in_flight || slot->tid != header.tid)
		return;
	expected = current_header(slot->agent);
	if (header.mgmt_class != expected.mgmt_class || header.attribute != expected.attribute)
		return;
	if (event == TRANSPORT_TIMEOUT)
		slot_failed(clear, slot, now_us);
	else if (header.method == METHOD_GET_RESPONSE)
		handle_response(clear, slot, mad, now_us);
}

static unsigned count_in_flight(const struct clear *clear, int64_t now_us)
{
	unsigned count = 0;

	for (size_t i = 0; i < SLOTS; i++)
		count += clear->slots[i].in_flight && now_us - clear->slots[i].sent_us < ANSWER_MOST_US;
	return count;
}

/* Send due MADs and time out old ones. Return: number of active agents, or an error. */
static int serve_slots(struct clear *clear, int64_t now_us, struct error *err)
{
	unsigned in_flight = count_in_flight(clear, now_us);
	size_t first = clear->turn;
	int busy = 0, code;

	clear->held = false;
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &clear->slots[(first + i) % SLOTS];

		if (slot->in_flight && now_us >= slot->due_us)
			slot_failed(clear, slot, now_us);
		else if (!slot->agent)
			slot_idle(clear, slot, now_us);
		if (!slot->agent)
			continue;
		busy++;
		if (slot->in_flight || now_us < slot->due_us)
			continue;
		if (!clear->held && (in_flight >= WINDOW || !bucket_has_token(&clear->bucket, now_us))) {
			clear->held = true;
			clear->turn = (first + i) % SLOTS;
		}
		if (clear->held)
			continue;
		in_flight++;
		code = slot_send(clear, slot, now_us, err);
		if (code < 0)
			return code;
	}
	return busy;
}

static int work(struct clear *clear, bool writing, struct error *err)
{
	uint8_t mad[MAD_SIZE];
	int busy, event;

	clear->writing = writing;
	clear->next = 0;
	bucket_set(&clear->bucket, MADS_PER_S, clock_boottime_us(clear->clock));
	bucket_resume(&clear->bucket, clock_boottime_us(clear->clock));
	for (size_t i = 0; i < SLOTS; i++)
		clear->slots[i] = (struct slot){ 0 };
	while (!clear->settings.stop || !clear->settings.stop()) {
		busy = serve_slots(clear, clock_boottime_us(clear->clock), err);
		if (busy <= 0)
			return busy;
		event = clear->transport->receive(clear->transport->ctx, mad, clear->held ? WAIT_HELD_MS : WAIT_MOST_MS,
						  err);
		while (event > TRANSPORT_NOTHING) {
			handle_mad(clear, (enum transport_event)event, mad, clock_boottime_us(clear->clock));
			event = clear->transport->receive(clear->transport->ctx, mad, 0, err);
		}
		if (event < 0)
			return event;
	}
	return 0;
}

int clear_survey(struct clear *clear, struct error *err)
{
	return work(clear, false, err);
}

int clear_write(struct clear *clear, struct error *err)
{
	return work(clear, true, err);
}
