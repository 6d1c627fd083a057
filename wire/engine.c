/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/engine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/bucket.h"
#include "wire/lanes.h"
#include "wire/patience.h"
#include "wire/pma.h"
#include "wire/silence.h"
#include "wire/transport.h"

/* MADs that were given up are remembered for their late answers: so many beside the window. */
#define FLIGHTS 256

/* Answers that are here, and whose owners are told once nothing else is to be taken or sent. */
#define ANSWERS 64

/* A MAD in flight. Its index is the lowest byte of the transaction id. */
enum flight_state { FLIGHT_FREE, FLIGHT_OPEN, FLIGHT_GIVEN_UP };

struct flight {
	enum flight_state state;
	uint8_t mgmt_class;
	uint16_t attribute;
	uint32_t node;
	uint32_t entry;  /* not of a probe */
	uint32_t serial; /* of that entry when it was sent: it may be another question by now */
	bool probe;      /* a repeated question that nobody waits for */
	uint32_t tid;
	int64_t sent_us;
};

struct answer {
	uint32_t entry;
	int64_t at_us; /* when it came */
	uint8_t mad[MAD_SIZE];
};

struct engine {
	const struct transport *transport;
	const struct clock *clock;
	struct engine_settings settings;
	struct engine_counts counts;
	struct lanes lanes;          /* what waits to be sent */
	struct flight flights[FLIGHTS];
	uint32_t next_slot;          /* of flights: where a free one is looked for */
	unsigned in_flight;          /* open ones */
	struct answer answers[ANSWERS];
	unsigned answer_count;
	struct silence silence;      /* does the wire move at all? */
	struct patience patience;    /* how long is an answer waited for? */
	uint32_t generation;         /* upper three bytes of transaction ids */
	bool (*stopped)(void);       /* may be NULL */
	struct bucket bucket;        /* the rate limit */
};

static unsigned clamp_window(unsigned window)
{
	if (window < 1)
		return 1;
	return window < ENGINE_WINDOW_MAX ? window : ENGINE_WINDOW_MAX;
}

int engine_create(const struct transport *transport, const struct clock *clock, const struct engine_settings *settings,
		  struct engine **ret, struct error *err)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return err_nomem(err);
	engine->transport = transport;
	engine->clock = clock;
	engine->settings = *settings;
	engine->settings.window = clamp_window(settings->window);
	lanes_init(&engine->lanes, settings->per_node > 1 ? settings->per_node : 1);
	patience_init(&engine->patience, settings);
	engine->bucket.max_per_s = settings->max_mads_per_s;
	/* A number of our own to start from: answers to a former process must not fit. */
	engine->generation = (uint32_t)clock_boottime_us(clock) & 0xffffff;
	*ret = engine;
	return 0;
}

void engine_destroy(struct engine *engine)
{
	if (!engine)
		return;
	lanes_done(&engine->lanes);
	free(engine);
}

struct engine_counts engine_counts(const struct engine *engine)
{
	return engine->counts;
}

int engine_submit(struct engine *engine, const struct request *request, struct error *err)
{
	return lanes_put(&engine->lanes, request, request->once ? 0 : engine->settings.retries, err);
}

void engine_drop_node(struct engine *engine, uint32_t node)
{
	uint32_t entry;

	while (node < engine->lanes.count && (entry = lanes_take_from(&engine->lanes, node)) != LANES_NONE)
		lanes_finish(&engine->lanes, entry, REQUEST_CANCELLED, NULL, 0);
}

/* A free flight, else the one that was given up first: its late answer is then ignored. */
static uint32_t find_slot(const struct engine *engine)
{
	uint32_t oldest = FLIGHTS, i;

	for (i = 0; i < FLIGHTS; i++) {
		uint32_t slot = (engine->next_slot + i) % FLIGHTS;
		const struct flight *flight = &engine->flights[slot];

		if (flight->state == FLIGHT_FREE)
			return slot;
		if (flight->state == FLIGHT_GIVEN_UP &&
		    (oldest == FLIGHTS || flight->sent_us < engine->flights[oldest].sent_us))
			oldest = slot;
	}
	return oldest;
}

/* Write a request's MAD and send it. @ret_flight: free, but with all that its answer is known by. */
static int send_request(struct engine *engine, const struct request *request, int64_t now_us,
			struct flight **ret_flight, struct error *err)
{
	uint32_t slot = find_slot(engine);
	struct flight *flight = &engine->flights[slot];
	uint8_t mad[MAD_SIZE];
	int code;

	flight->state = FLIGHT_FREE;
	engine->next_slot = slot + 1;
	engine->generation = (engine->generation + 1) & 0xffffff;
	flight->tid = engine->generation << 8 | slot;
	mad_init(mad, &(struct mad_header){ .mgmt_class = request->mgmt_class, .method = METHOD_GET, .tid = flight->tid,
					    .attribute = request->attribute, .modifier = request->modifier });
	if (request->mgmt_class == CLASS_PERFORMANCE)
		mad[PMA_DATA_OFFSET + 1] = request->port_select;
	else
		mad_put_mkey(mad, request->mkey);
	if (request->mgmt_class == CLASS_SUBN_DIRECTED)
		mad_put_path(mad, request->path);
	code = engine->transport->send(engine->transport->ctx, &request->to, mad, engine->settings.timeout_ms, err);
	if (code < 0)
		return code;
	flight->probe = false;
	flight->node = request->node;
	flight->mgmt_class = request->mgmt_class;
	flight->attribute = request->attribute;
	flight->sent_us = now_us;
	engine->counts.sent++;
	*ret_flight = flight;
	return 0;
}

static int send_entry(struct engine *engine, uint32_t index, int64_t now_us, struct error *err)
{
	struct flight *flight;
	struct entry *entry;
	int code = send_request(engine, &lanes_entry(&engine->lanes, index)->request, now_us, &flight, err);

	if (code < 0)
		return code;
	entry = lanes_entry(&engine->lanes, index);
	entry->flight = (uint32_t)(flight - engine->flights);
	if (!entry->first_us)
		entry->first_us = now_us;
	flight->state = FLIGHT_OPEN;
	flight->entry = index;
	flight->serial = entry->serial;
	/* Silence begins when there is something to hear. */
	if (!engine->in_flight++)
		silence_begins(&engine->silence, flight->sent_us);
	return 0;
}

/* Nobody is heard: ask somebody who answered last once more, beside all limits. */
static int probe_silence(struct engine *engine, int64_t now_us, struct error *err)
{
	const struct request *probe = engine->in_flight ? silence_probe(&engine->silence, now_us) : NULL;
	struct flight *flight;
	int code;

	if (!probe)
		return 0;
	code = send_request(engine, probe, now_us, &flight, err);
	if (code < 0)
		return code;
	flight->state = FLIGHT_GIVEN_UP;
	flight->probe = true;
	engine->counts.probes++;
	return 0;
}

void engine_set_rate(struct engine *engine, unsigned max_mads_per_s, unsigned window)
{
	bucket_set(&engine->bucket, max_mads_per_s, clock_boottime_us(engine->clock));
	engine->settings.window = clamp_window(window);
}

void engine_finish_nodes(struct engine *engine, bool on)
{
	engine->lanes.finish_nodes = on;
}

void engine_stop_when(struct engine *engine, bool (*stopped)(void))
{
	engine->stopped = stopped;
}

/* Send while the window, the lanes and the rate allow. The clock is read for each but the first. */
static int send_more(struct engine *engine, int64_t now_us, struct error *err)
{
	while (lanes_are_ready(&engine->lanes) && engine->in_flight < engine->settings.window &&
	       bucket_has_one(&engine->bucket, now_us)) {
		uint32_t entry = lanes_take(&engine->lanes), node;
		int code;

		if (entry == LANES_NONE)
			break;
		node = lanes_entry(&engine->lanes, entry)->request.node;
		code = send_entry(engine, entry, now_us, err);
		if (code < 0) {
			lanes_land(&engine->lanes, node);
			lanes_finish(&engine->lanes, entry, REQUEST_CANCELLED, NULL, 0);
			return code;
		}
		bucket_take(&engine->bucket);
		if (lanes_are_ready(&engine->lanes) && engine->in_flight < engine->settings.window)
			now_us = clock_boottime_us(engine->clock);
	}
	return 0;
}

/* An open flight has ended, as @state says. Return: the entry that was in it. */
static uint32_t land(struct engine *engine, struct flight *flight, enum flight_state state)
{
	flight->state = state;
	engine->in_flight--;
	lanes_land(&engine->lanes, flight->node);
	return flight->entry;
}

/* The flight that a received MAD belongs to, or NULL. */
static struct flight *match(struct engine *engine, const struct mad_header *header)
{
	struct flight *flight = &engine->flights[header->tid % FLIGHTS];

	if (flight->state == FLIGHT_FREE || flight->tid != header->tid || flight->mgmt_class != header->mgmt_class ||
	    flight->attribute != header->attribute)
		return NULL;
	return flight;
}

/* Is an open flight to be given up? Not while it may be the wire that stands still. */
static bool is_overdue(struct engine *engine, const struct flight *flight, int64_t now_us)
{
	const struct lane *lane = lanes_of(&engine->lanes, flight->node);
	const struct entry *entry = lanes_entry(&engine->lanes, flight->entry);

	if (!patience_is_over(&engine->patience, lane, entry, flight->sent_us, now_us))
		return false;
	return silence_is_nodes(&engine->silence, flight->sent_us, now_us) ||
	       now_us - flight->sent_us >= engine->patience.most_us;
}

/*
 * Nobody answered: ask again at the head of the node's queue, or tell.
 * @state:  FLIGHT_GIVEN_UP where an answer may still come, else FLIGHT_FREE
 */
static void time_out(struct engine *engine, struct flight *flight, enum flight_state state)
{
	uint32_t index = land(engine, flight, state), node = flight->node;
	struct entry *entry = lanes_entry(&engine->lanes, index);

	engine->counts.timed_out++;
	entry->tries++;
	entry->flight = LANES_NONE;
	if (!patience_has_retry(&engine->patience, lanes_of(&engine->lanes, node), entry)) {
		lanes_of(&engine->lanes, node)->silent_us = clock_boottime_us(engine->clock);
		lanes_finish(&engine->lanes, index, REQUEST_TIMED_OUT, NULL, 0);
	} else {
		entry->retries_left--;
		lanes_put_back(&engine->lanes, index);
		engine->counts.retried++;
	}
	lanes_resume(&engine->lanes, node);
}

/* Owners hear of what was answered, in the order in which it came. */
static void tell_answers(struct engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->answer_count; i++) {
		const struct answer *answer = &engine->answers[i];

		lanes_finish(&engine->lanes, answer->entry, REQUEST_ANSWERED, answer->mad, answer->at_us);
	}
	engine->answer_count = 0;
}

/*
 * An answer came to this flight. Is it what somebody waits for? Also where it was given up, while
 * its question is being asked again: the answer is no worse for that, and the question is answered.
 */
static bool take_flight(struct engine *engine, struct flight *flight)
{
	struct entry *entry = lanes_entry(&engine->lanes, flight->entry);
	unsigned repeated = 0;

	if (flight->state == FLIGHT_OPEN) {
		land(engine, flight, FLIGHT_FREE);
		repeated = entry->tries;
	} else {
		flight->state = FLIGHT_FREE;
		if (flight->probe || entry->serial != flight->serial)
			return false;
		if (entry->flight == LANES_NONE)
			lanes_remove(&engine->lanes, flight->entry);
		else
			land(engine, &engine->flights[entry->flight], FLIGHT_GIVEN_UP);
	}
	entry->serial = 0;
	patience_answered(&engine->patience, repeated);
	return true;
}

/*
 * A MAD came, into the place of the next answer. Its node may be asked the next question at
 * once; its owner is told by tell_answers().
 */
static void take_mad(struct engine *engine, enum transport_event event, int64_t now_us)
{
	struct answer *answer = &engine->answers[engine->answer_count];
	struct mad_header header = mad_read_header(answer->mad);
	struct flight *flight = match(engine, &header);
	uint32_t node;

	if (flight && event == TRANSPORT_TIMEOUT) {
		tell_answers(engine);
		if (flight->state == FLIGHT_OPEN)
			time_out(engine, flight, FLIGHT_FREE);
		else
			flight->state = FLIGHT_FREE;
		return;
	}
	if (!flight || header.method != METHOD_GET_RESPONSE) {
		engine->counts.ignored++;
		return;
	}
	node = flight->node;
	patience_learn(&engine->patience, lanes_of(&engine->lanes, node),
		       silence_heard(&engine->silence, flight->sent_us, now_us, engine->in_flight > 0));
	if (!take_flight(engine, flight)) {
		engine->counts.late += !flight->probe;
		return;
	}
	answer->at_us = now_us;
	answer->entry = flight->entry;
	silence_keep(&engine->silence, &lanes_entry(&engine->lanes, answer->entry)->request);
	engine->answer_count++;
	/* A refusal may be a reason to ask the node no more. */
	if (answer_status(answer->mad) != ANSWER_OK)
		tell_answers(engine);
	lanes_resume(&engine->lanes, node);
}

static void check_deadlines(struct engine *engine)
{
	int64_t now_us = clock_boottime_us(engine->clock);
	size_t i;

	for (i = 0; i < FLIGHTS; i++) {
		struct flight *flight = &engine->flights[i];

		if (flight->state == FLIGHT_OPEN && is_overdue(engine, flight, now_us))
			time_out(engine, flight, FLIGHT_GIVEN_UP);
	}
}

/*
 * The run is over: everything that is open or queued is called back.
 * @state:  of the open ones: FLIGHT_GIVEN_UP where answers may still come, else FLIGHT_FREE
 */
static void cancel_all(struct engine *engine, enum flight_state state)
{
	uint32_t i;

	for (i = 0; i < FLIGHTS; i++)
		if (engine->flights[i].state == FLIGHT_OPEN)
			lanes_finish(&engine->lanes, land(engine, &engine->flights[i], state), REQUEST_CANCELLED,
				     NULL, 0);
	/* What callbacks submit now is cancelled, too. */
	while (engine->lanes.queued)
		for (i = 0; i < engine->lanes.count; i++)
			engine_drop_node(engine, i);
}

bool engine_listen(struct engine *engine, unsigned timeout_ms)
{
	int64_t now_us = clock_boottime_us(engine->clock);
	int64_t most_us = (int64_t)engine->settings.timeout_ms * US_PER_MS;
	bool waiting = false;
	size_t i;
	int event;

	for (i = 0; i < FLIGHTS; i++)
		waiting |= engine->flights[i].state == FLIGHT_GIVEN_UP &&
			   now_us - engine->flights[i].sent_us <= most_us;
	if (!waiting)
		return false;
	event = engine->transport->receive(engine->transport->ctx, engine->answers[0].mad, timeout_ms, NULL);
	if (event > TRANSPORT_NOTHING)
		take_mad(engine, (enum transport_event)event, clock_boottime_us(engine->clock));
	return true;
}

/*
 * Take one MAD, or wait a millisecond for it: as fine as the wait can be; the rate's bucket holds more.
 * What is here is taken first, and what may be asked then is sent; only when nothing more is here, or no more can be
 * kept, owners are told of their answers, which takes longer.
 * Return: 0, or what the transport returns.
 */
static int receive(struct engine *engine, int64_t *now_us, struct error *err)
{
	uint8_t *mad = engine->answers[engine->answer_count].mad;
	int event = engine->transport->receive(engine->transport->ctx, mad, engine->answer_count ? 0 : 1, err);

	if (event < 0)
		return event;
	*now_us = clock_boottime_us(engine->clock);
	if (event != TRANSPORT_NOTHING)
		take_mad(engine, (enum transport_event)event, *now_us);
	if (engine->answer_count && (event == TRANSPORT_NOTHING || engine->answer_count == ANSWERS)) {
		tell_answers(engine);
		*now_us = clock_boottime_us(engine->clock);
	}
	return 0;
}

/* Each millisecond: what is overdue? */
static int look_at_time(struct engine *engine, int64_t now_us, int64_t *checked_us, struct error *err)
{
	if (now_us - *checked_us < US_PER_MS)
		return 0;
	*checked_us = now_us;
	tell_answers(engine);
	check_deadlines(engine);
	return probe_silence(engine, now_us, err);
}

int engine_run(struct engine *engine, int64_t deadline_us, struct error *err)
{
	int64_t now_us = clock_boottime_us(engine->clock), checked_us = now_us;
	int code = 0;

	bucket_resume(&engine->bucket, now_us);
	silence_begins(&engine->silence, now_us);
	patience_new_run(&engine->patience);
	while (code == 0 && (engine->lanes.queued || engine->in_flight || engine->answer_count)) {
		if ((deadline_us && now_us >= deadline_us) || (engine->stopped && engine->stopped())) {
			tell_answers(engine);
			cancel_all(engine, FLIGHT_GIVEN_UP);
			return ENGINE_CUT;
		}
		code = send_more(engine, now_us, err);
		if (code == 0)
			code = receive(engine, &now_us, err);
		if (code == 0)
			code = look_at_time(engine, now_us, &checked_us, err);
	}
	if (code < 0) {
		tell_answers(engine);
		cancel_all(engine, FLIGHT_FREE);
	}
	return code;
}
