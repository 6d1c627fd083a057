/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/engine.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/bucket.h"
#include "wire/engine/queue.h"
#include "wire/engine/timeout.h"
#include "wire/pma.h"
#include "wire/transport.h"

/* MADs in flight, and MADs that timed out, which are kept to recognize their late responses. */
#define FLIGHTS 256

/* Responses that wait for their callbacks, which run when no more MADs can be received or sent. */
#define ANSWERS 64

/* A MAD in flight. Its index is the lowest byte of its transaction id. */
enum flight_state { FLIGHT_FREE, FLIGHT_OPEN, FLIGHT_GIVEN_UP };

struct flight {
	enum flight_state state;
	uint8_t mgmt_class;
	uint16_t attribute;
	uint32_t node;
	uint32_t entry;  /* not for probes */
	uint32_t serial; /* of that entry when it was sent: the entry may have been reused */
	bool in_window;  /* it is open and counts against the window */
	bool probe;      /* a repeated request whose response has no owner */
	uint32_t tid;
	request_done *late; /* of the request, with its ctx; may be NULL */
	void *ctx;
	int64_t sent_us;
};

struct answer {
	uint32_t entry;
	int64_t at_us; /* when it arrived */
	uint8_t mad[MAD_SIZE];
};

struct engine {
	const struct transport *transport;
	const struct clock *clock;
	struct engine_settings settings;
	struct engine_counts counts;
	struct request_queue queue;          /* requests that wait to be sent */
	struct flight flights[FLIGHTS];
	uint32_t next_slot;          /* of flights: where the search for a free one starts */
	unsigned in_flight;          /* flights in state FLIGHT_OPEN */
	unsigned in_window;          /* of them, those that count against the window */
	struct answer answers[ANSWERS];
	unsigned answer_count;
	struct liveness liveness;      /* detects stalls of the fabric */
	struct response_timeout timeout;    /* response timeouts */
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
	queue_init(&engine->queue, settings->per_node > 1 ? settings->per_node : 1);
	timeout_init(&engine->timeout, settings);
	engine->bucket.max_per_s = settings->max_mads_per_s;
	/* Differs between processes: responses to an earlier process must not match. */
	engine->generation = (uint32_t)clock_boottime_us(clock) & 0xffffff;
	*ret = engine;
	return 0;
}

void engine_destroy(struct engine *engine)
{
	if (!engine)
		return;
	queue_done(&engine->queue);
	free(engine);
}

struct engine_counts engine_counts(const struct engine *engine)
{
	return engine->counts;
}

int engine_submit(struct engine *engine, const struct request *request, struct error *err)
{
	return queue_put(&engine->queue, request, request->once ? 0 : engine->settings.retries, err);
}

void engine_drop_node(struct engine *engine, uint32_t node)
{
	uint32_t entry;

	while (node < engine->queue.count && (entry = queue_pop_node(&engine->queue, node)) != QUEUE_NONE)
		queue_cancel(&engine->queue, entry);
}

/* A free flight, or the one that timed out first: its late response will be ignored. */
static uint32_t find_slot(const struct engine *engine)
{
	uint32_t oldest = FLIGHTS;

	for (uint32_t i = 0; i < FLIGHTS; i++) {
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

/*
 * Build and send the MAD of a request. @ret_flight: still free, but set up to match the response.
 */
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
	flight->late = request->late;
	flight->ctx = request->ctx;
	flight->sent_us = now_us;
	engine->counts.sent++;
	*ret_flight = flight;
	return 0;
}

static int send_entry(struct engine *engine, uint32_t index, int64_t now_us, struct error *err)
{
	struct flight *flight;
	struct entry *entry;
	int code = send_request(engine, &queue_entry(&engine->queue, index)->request, now_us, &flight, err);

	if (code < 0)
		return code;
	entry = queue_entry(&engine->queue, index);
	entry->flight = (uint32_t)(flight - engine->flights);
	if (!entry->first_us)
		entry->first_us = now_us;
	flight->state = FLIGHT_OPEN;
	flight->in_window = true;
	engine->in_window++;
	flight->entry = index;
	flight->serial = entry->serial;
	/* Responses are expected from the first MAD in flight on. */
	if (!engine->in_flight++)
		liveness_start(&engine->liveness, flight->sent_us);
	return 0;
}

/* No responses: repeat an answered request, outside of all limits. */
static int send_probe(struct engine *engine, int64_t now_us, struct error *err)
{
	const struct request *probe = engine->in_flight ? liveness_next_probe(&engine->liveness, now_us) : NULL;
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
	engine->queue.finish_nodes = on;
}

void engine_stop_when(struct engine *engine, bool (*stopped)(void))
{
	engine->stopped = stopped;
}

/* One more MAD may be sent now. */
static bool can_send(const struct engine *engine)
{
	return queue_has_ready(&engine->queue) && engine->in_window < engine->settings.window &&
	       engine->in_flight < ENGINE_WINDOW_MAX;
}

/* Send while the window, the queues and the rate allow. */
static int send_more(struct engine *engine, int64_t now_us, struct error *err)
{
	while (can_send(engine) && bucket_has_token(&engine->bucket, now_us)) {
		uint32_t entry = queue_next(&engine->queue), node;
		int code;

		if (entry == QUEUE_NONE)
			break;
		node = queue_entry(&engine->queue, entry)->request.node;
		code = send_entry(engine, entry, now_us, err);
		if (code < 0) {
			queue_end_flight(&engine->queue, node);
			queue_cancel(&engine->queue, entry);
			return code;
		}
		bucket_take(&engine->bucket);
		if (can_send(engine))
			now_us = clock_boottime_us(engine->clock);
	}
	return 0;
}

static void leave_window(struct engine *engine, struct flight *flight)
{
	engine->in_window -= flight->in_window;
	flight->in_window = false;
}

/* The node behind an open flight seems to be unresponsive: waiting for it is no load on the fabric. */
static bool only_waits(struct engine *engine, const struct flight *flight, int64_t now_us)
{
	int64_t waiting_us = (int64_t)engine->settings.waiting_ms * US_PER_MS;

	return waiting_us && now_us - flight->sent_us >= waiting_us &&
	       !queue_of_node(&engine->queue, flight->node)->response_us;
}

/* End an open flight with @state. Return: its entry. */
static uint32_t end_flight(struct engine *engine, struct flight *flight, enum flight_state state)
{
	flight->state = state;
	leave_window(engine, flight);
	engine->in_flight--;
	queue_end_flight(&engine->queue, flight->node);
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

/* An open flight has timed out, and not because of a stall of the fabric. */
static bool is_overdue(struct engine *engine, const struct flight *flight, int64_t now_us)
{
	const struct node_queue *node_queue = queue_of_node(&engine->queue, flight->node);
	const struct entry *entry = queue_entry(&engine->queue, flight->entry);

	if (!timeout_expired(&engine->timeout, node_queue, entry, flight->sent_us, now_us))
		return false;
	return liveness_node_unresponsive(&engine->liveness, flight->sent_us, now_us) ||
	       now_us - flight->sent_us >= engine->timeout.max_us;
}

/*
 * A try timed out: retry at the head of the queue of the node, or call back.
 * @state:  FLIGHT_GIVEN_UP if a response may still arrive, else FLIGHT_FREE
 */
static void time_out(struct engine *engine, struct flight *flight, enum flight_state state)
{
	uint32_t index = end_flight(engine, flight, state), node = flight->node;
	struct entry *entry = queue_entry(&engine->queue, index);

	engine->counts.timed_out++;
	entry->tries++;
	entry->flight = QUEUE_NONE;
	if (!timeout_allows_retry(&engine->timeout, queue_of_node(&engine->queue, node), entry)) {
		queue_of_node(&engine->queue, node)->unresponsive_us = clock_boottime_us(engine->clock);
		queue_complete(&engine->queue, index, &(struct response){ .result = REQUEST_TIMED_OUT });
	} else {
		entry->retries_left--;
		queue_put_back(&engine->queue, index);
		engine->counts.retried++;
	}
	queue_resume(&engine->queue, node);
}

/* Run the callbacks of received responses, in the order of arrival. */
static void deliver_responses(struct engine *engine)
{
	for (unsigned i = 0; i < engine->answer_count; i++) {
		const struct answer *answer = &engine->answers[i];

		queue_complete(&engine->queue, answer->entry, &(struct response){
			.result = REQUEST_ANSWERED, .mad = answer->mad, .at_us = answer->at_us });
	}
	engine->answer_count = 0;
}

/*
 * A response to this flight arrived. Return: whether it completes a pending request. The flight may
 * have timed out while its request is being retried: the response completes the request as well.
 */
static bool accept_response(struct engine *engine, struct flight *flight)
{
	struct entry *entry = queue_entry(&engine->queue, flight->entry);
	unsigned repeated = 0;

	if (flight->state == FLIGHT_OPEN) {
		end_flight(engine, flight, FLIGHT_FREE);
		repeated = entry->tries;
	} else {
		flight->state = FLIGHT_FREE;
		if (flight->probe || entry->serial != flight->serial)
			return false;
		if (entry->flight == QUEUE_NONE)
			queue_remove(&engine->queue, flight->entry);
		else
			end_flight(engine, &engine->flights[entry->flight], FLIGHT_GIVEN_UP);
	}
	entry->serial = 0;
	timeout_count_response(&engine->timeout, repeated);
	return true;
}

/*
 * Process a MAD that was received into the next free response. The next request to its node may be
 * sent at once; deliver_responses() runs the callback.
 */
static void handle_mad(struct engine *engine, enum transport_event event, int64_t now_us)
{
	struct answer *answer = &engine->answers[engine->answer_count];
	struct mad_header header = mad_read_header(answer->mad);
	struct flight *flight = match(engine, &header);
	uint32_t node;

	if (flight && event == TRANSPORT_TIMEOUT) {
		deliver_responses(engine);
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
	timeout_learn(&engine->timeout, queue_of_node(&engine->queue, node),
		       liveness_response(&engine->liveness, flight->sent_us, now_us, engine->in_flight > 0));
	if (!accept_response(engine, flight)) {
		engine->counts.late += !flight->probe;
		if (flight->late && !flight->probe)
			flight->late(flight->ctx, NULL, &(struct response){ REQUEST_ANSWERED, answer->mad, now_us });
		return;
	}
	answer->at_us = now_us;
	answer->entry = flight->entry;
	liveness_store_probe(&engine->liveness, &queue_entry(&engine->queue, answer->entry)->request);
	engine->answer_count++;
	/* After an error status the owner may cancel further requests to the node. */
	if (answer_status(answer->mad) != ANSWER_OK)
		deliver_responses(engine);
	queue_resume(&engine->queue, node);
}

static void check_deadlines(struct engine *engine)
{
	int64_t now_us = clock_boottime_us(engine->clock);

	for (size_t i = 0; i < FLIGHTS; i++) {
		struct flight *flight = &engine->flights[i];

		if (flight->state == FLIGHT_OPEN && is_overdue(engine, flight, now_us))
			time_out(engine, flight, FLIGHT_GIVEN_UP);
		else if (flight->state == FLIGHT_OPEN && only_waits(engine, flight, now_us))
			leave_window(engine, flight);
	}
}

/*
 * End of a run: cancel everything in flight or queued.
 * @state:  of the open flights: FLIGHT_GIVEN_UP if responses may still arrive, else FLIGHT_FREE
 */
static void cancel_all(struct engine *engine, enum flight_state state)
{
	for (uint32_t i = 0; i < FLIGHTS; i++)
		if (engine->flights[i].state == FLIGHT_OPEN)
			queue_cancel(&engine->queue, end_flight(engine, &engine->flights[i], state));
	/* Requests that callbacks submit now are cancelled, too. */
	while (engine->queue.queued)
		for (uint32_t i = 0; i < engine->queue.count; i++)
			engine_drop_node(engine, i);
}

bool engine_listen(struct engine *engine, unsigned timeout_ms)
{
	int64_t now_us = clock_boottime_us(engine->clock);
	int64_t max_us = (int64_t)engine->settings.timeout_ms * US_PER_MS;
	bool waiting = false;
	int event;

	for (size_t i = 0; i < FLIGHTS; i++)
		waiting |= engine->flights[i].state == FLIGHT_GIVEN_UP && now_us - engine->flights[i].sent_us <= max_us;
	if (!waiting)
		return false;
	event = engine->transport->receive(engine->transport->ctx, engine->answers[0].mad, timeout_ms, NULL);
	if (event > TRANSPORT_NOTHING)
		handle_mad(engine, (enum transport_event)event, clock_boottime_us(engine->clock));
	return true;
}

/*
 * Receive one MAD, waiting at most a millisecond, the finest timeout there is. Callbacks take
 * longer than receiving and sending, so they run only when no MAD is waiting, or no more responses
 * can be stored.
 * Return: 0, or the error of the transport.
 */
static int receive(struct engine *engine, int64_t *now_us, struct error *err)
{
	uint8_t *mad = engine->answers[engine->answer_count].mad;
	int event = engine->transport->receive(engine->transport->ctx, mad, engine->answer_count ? 0 : 1, err);

	if (event < 0)
		return event;
	*now_us = clock_boottime_us(engine->clock);
	if (event != TRANSPORT_NOTHING)
		handle_mad(engine, (enum transport_event)event, *now_us);
	if (engine->answer_count && (event == TRANSPORT_NOTHING || engine->answer_count == ANSWERS)) {
		deliver_responses(engine);
		*now_us = clock_boottime_us(engine->clock);
	}
	return 0;
}

/* Once per millisecond: timeouts and probes. */
static int check_time(struct engine *engine, int64_t now_us, int64_t *checked_us, struct error *err)
{
	if (now_us - *checked_us < US_PER_MS)
		return 0;
	*checked_us = now_us;
	deliver_responses(engine);
	check_deadlines(engine);
	return send_probe(engine, now_us, err);
}

int engine_run(struct engine *engine, int64_t deadline_us, struct error *err)
{
	int64_t now_us = clock_boottime_us(engine->clock), checked_us = now_us;
	int code = 0;

	bucket_resume(&engine->bucket, now_us);
	liveness_start(&engine->liveness, now_us);
	timeout_new_run(&engine->timeout);
	while (code == 0 && (engine->queue.queued || engine->in_flight || engine->answer_count)) {
		if ((deadline_us && now_us >= deadline_us) || (engine->stopped && engine->stopped())) {
			deliver_responses(engine);
			cancel_all(engine, FLIGHT_GIVEN_UP);
			return ENGINE_CUT;
		}
		code = send_more(engine, now_us, err);
		if (code == 0)
			code = receive(engine, &now_us, err);
		if (code == 0)
			code = check_time(engine, now_us, &checked_us, err);
	}
	if (code < 0) {
		deliver_responses(engine);
		cancel_all(engine, FLIGHT_FREE);
	}
	return code;
}

int engine_finish(struct engine *engine, int code, int64_t deadline_us, struct error *err)
{
	int ran = engine_run(engine, deadline_us, err);

	return ran < 0 || code == 0 ? ran : code;
}
