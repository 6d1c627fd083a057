/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/relay_model.h"

#include <endian.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"

/* Requests in flight; more are refused. */
#define MADS_MAX 131072

/* Without hold, a request to which ibsim does not respond is dropped after this time. */
#define EXPIRY_NS (60 * US_PER_S * 1000)

/* A request is sent to ibsim at most this long before its node processes it. */
#define EARLY_NS 50000

/* The 48 bits of a transaction ID that ibsim does not change. Source: sim_mad.c, update_trid. */
#define TID_MASK ((UINT64_C(1) << 48) - 1)

/* A request, then its response. It is either in the heap of events or among the requests sent to ibsim. */
struct relay_mad {
	uint32_t generation;
	uint32_t node;
	uint8_t slot;
	bool returning;        /* it is the response */
	uint16_t redirected;   /* LID it was sent to if another node's agent responds; 0: not redirected */
	int64_t came_ns;       /* received from the client */
	int64_t ready_ns;      /* earliest time of the response to the client */
	struct exchange exchange;
	struct packet packet;  /* the request as received; then the response to the client */
};

static struct relay_mad *mad_alloc(struct relay_model *model)
{
	struct relay_mad *mad = model->in_flight < MADS_MAX ? calloc(1, sizeof(*mad)) : NULL;

	model->in_flight += mad != NULL;
	return mad;
}

static void mad_free(struct relay_model *model, struct relay_mad *mad)
{
	free(mad);
	model->in_flight--;
}

/* --- events: a binary heap by time; those of the same time keep their order, so no MAD overtakes another --- */

static bool is_before(const struct relay_event *a, const struct relay_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static int event_add(struct relay_model *model, int64_t at_ns, struct relay_mad *mad)
{
	struct relay_event event = { .at_ns = at_ns, .order = model->next_order, .mad = mad };
	struct relay_event *events = array_grow(model->events, model->event_count, &model->event_capacity,
						sizeof(*events));
	size_t i;

	if (!events)
		return ERR_NOMEM;
	model->events = events;
	model->next_order++;
	for (i = model->event_count++; i && is_before(&event, &events[(i - 1) / 2]); i = (i - 1) / 2)
		events[i] = events[(i - 1) / 2];
	events[i] = event;
	return 0;
}

static struct relay_event event_take(struct relay_model *model)
{
	struct relay_event *events = model->events, first = events[0], last = events[--model->event_count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < model->event_count) {
		if (child + 1 < model->event_count && is_before(&events[child + 1], &events[child]))
			child++;
		if (!is_before(&events[child], &last))
			break;
		events[i] = events[child];
		i = child;
	}
	events[i] = last;
	return first;
}

static bool random_percent(struct relay_model *model, double percent)
{
	if (percent <= 0)
		return false;
	model->random = map_mix(model->random + UINT64_C(0x9e3779b97f4a7c15));
	return (double)(model->random >> 11) * 0x1p-53 * 100 < percent;
}

/* --- requests sent to ibsim, in the order sent: ibsim usually responds to the first --- */

static int pending_add(struct relay_model *model, struct relay_mad *mad)
{
	struct relay_mad **pending = array_grow(model->pending, model->pending_count, &model->pending_capacity,
						sizeof(struct relay_mad *));

	if (!pending)
		return ERR_NOMEM;
	model->pending = pending;
	pending[model->pending_count++] = mad;
	return 0;
}

static void pending_remove(struct relay_model *model, size_t index)
{
	model->pending_count--;
	memmove(model->pending + index, model->pending + index + 1,
		(model->pending_count - index) * sizeof(struct relay_mad *));
}

/* Remove the request of a response: of two with one transaction ID the older. NULL: there is none. */
static struct relay_mad *pending_take(struct relay_model *model, unsigned slot, const uint8_t *response)
{
	for (size_t i = 0; i < model->pending_count; i++) {
		struct relay_mad *mad = model->pending[i];

		if (mad->slot != slot ||
		    responder_sent_class(mad->packet.mad[MAD_CLASS]) != response[MAD_CLASS] ||
		    (load_be64(mad->packet.mad + MAD_TID) ^ load_be64(response + MAD_TID)) & TID_MASK)
			continue;
		pending_remove(model, i);
		return mad;
	}
	return NULL;
}

/* --- processing of requests --- */

static void deliver(struct relay_model *model, struct relay_mad *mad)
{
	if (mad->packet.status == htonl(PACKET_TIMED_OUT))
		model->stats.timed_out++;
	else
		model->stats.responses++;
	if (model->slots[mad->slot].open && mad->generation == model->slots[mad->slot].generation)
		model->io.to_client(model->io.ctx, mad->slot, &mad->packet);
	mad_free(model, mad);
}

static void deliver_at(struct relay_model *model, struct relay_mad *mad, int64_t at_ns, int64_t now_ns)
{
	mad->returning = true;
	/* Out of memory: the response is early. */
	if (at_ns <= now_ns || event_add(model, at_ns, mad) < 0)
		deliver(model, mad);
}

/* Return the request to the client with the status of a timeout, as the kernel does, in ibsim's format. */
static void time_out(struct relay_model *model, struct relay_mad *mad, int64_t now_ns)
{
	int64_t at_ns = mad->came_ns + (model->settings.hold_ns ? model->settings.hold_ns : model->settings.latency_ns);

	mad->packet.status = htonl(PACKET_TIMED_OUT);
	store_be16(mad->packet.mad + MAD_TID, mad->slot);
	deliver_at(model, mad, at_ns, now_ns);
}

static bool is_dead(const struct relay_model *model, uint32_t node)
{
	return node != FABRIC_NONE && model->dead[node];
}

/*
 * Does a locked node drop this request? Its M_Key is its GUID. A real node drops directed-route SMPs too;
 * they pass here because opensm and discoveries need them.
 * Source: M_Key at byte 24 of an SMP, IBA Vol 1, 14.2.1.1.
 */
static bool drops_smp(const struct relay_model *model, uint32_t node, const uint8_t *mad)
{
	uint64_t mkey;

	if (node == FABRIC_NONE || !model->locked[node] || mad[MAD_CLASS] != CLASS_SUBN_LID)
		return false;
	memcpy(&mkey, mad + 24, sizeof(mkey));
	return be64toh(mkey) != model->fabric->nodes[node].guid;
}

/* If out of memory, the request is lost. */
static void send_to_ibsim(struct relay_model *model, struct relay_mad *mad, const uint8_t request[PACKET_MAD_SIZE])
{
	struct packet packet = mad->packet;

	memcpy(packet.mad, request, PACKET_MAD_SIZE);
	if (mad->redirected) {
		packet.dlid = htons(relay_map_lid(&model->map, mad->node, request[PACKET_MAD_DATA + 1]));
		packet.dqp = htonl(1);
	}
	if (pending_add(model, mad) < 0)
		mad_free(model, mad);
	else
		model->io.to_ibsim(model->io.ctx, mad->slot, &packet);
}

/* The request has arrived at its node, which is free. */
static void begin(struct relay_model *model, struct relay_mad *mad, int64_t now_ns)
{
	uint8_t request[PACKET_MAD_SIZE];

	if (!model->slots[mad->slot].open || mad->generation != model->slots[mad->slot].generation) {
		mad_free(model, mad);
		return;
	}
	if (is_dead(model, mad->node) || drops_smp(model, mad->node, mad->packet.mad)) {
		time_out(model, mad, now_ns);
		return;
	}
	memcpy(request, mad->packet.mad, PACKET_MAD_SIZE);
	responder_request(&model->responder, mad->node, &mad->exchange, request);
	send_to_ibsim(model, mad, request);
}

/* Methods that have a response. Source: IBA Vol 1, table 116 (common methods), 15.2.2 (subnet administration). */
static bool wants_response(const uint8_t *mad)
{
	switch (mad[MAD_METHOD]) {
	case METHOD_GET:
	case METHOD_SET:
	case 0x12: /* GetTable */
	case 0x13: /* GetTraceTable */
	case 0x14: /* GetMulti */
	case 0x15: /* Delete */
		return true;
	default:
		return false;
	}
}

static bool is_for_agent(const uint8_t *mad)
{
	return mad[MAD_CLASS] == CLASS_PERFORMANCE || mad[MAD_CLASS] == CLASS_SUBN_LID ||
		mad[MAD_CLASS] == CLASS_SUBN_DIRECTED;
}

/* Find the node; one node may respond for another that redirects to it. */
static void find_node(struct relay_model *model, struct relay_mad *mad)
{
	uint32_t qp = ntohl(mad->packet.dqp);

	mad->node = relay_map_find(&model->map, model->slots[mad->slot].origin, &mad->packet);
	mad->redirected = 0;
	if (mad->packet.mad[MAD_CLASS] == CLASS_PERFORMANCE && qp >= RESPONDER_REDIRECT_QP &&
	    qp - RESPONDER_REDIRECT_QP < model->fabric->node_count) {
		mad->node = qp - RESPONDER_REDIRECT_QP;
		mad->redirected = (uint16_t)mad->packet.dlid;
	}
	mad->exchange.redirected = mad->redirected;
}

/*
 * Queue a request at its node. Return: when to send it to ibsim. This is up to one latency before the node
 * processes it, so that the time taken by ibsim is not added, and a request that need not wait needs no event.
 */
static int64_t queue(struct relay_model *model, struct relay_mad *mad, int64_t arrives_ns)
{
	int64_t *free_ns = mad->node == FABRIC_NONE ? NULL : &model->free_ns[mad->node];
	int64_t service_ns = model->settings.service_ns, turn_ns = arrives_ns, early_ns = model->settings.latency_ns;

	if (early_ns > EARLY_NS)
		early_ns = EARLY_NS;
	if (!free_ns || !service_ns || !is_for_agent(mad->packet.mad) || is_dead(model, mad->node)) {
		mad->ready_ns = arrives_ns + model->settings.latency_ns;
		return arrives_ns - early_ns;
	}
	if (*free_ns > turn_ns)
		turn_ns = *free_ns;
	*free_ns = turn_ns + service_ns;
	mad->ready_ns = *free_ns + model->settings.latency_ns;
	return turn_ns - early_ns;
}

void relay_model_from_client(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns)
{
	bool smp = packet_is_smp(packet->mad);
	struct relay_mad *mad;
	int64_t turn_ns;

	if (!wants_response(packet->mad)) {
		if (random_percent(model, model->settings.loss))
			model->stats.lost++;
		else
			model->io.to_ibsim(model->io.ctx, slot, packet);
		return;
	}
	model->stats.requests++;
	model->slots[slot].is_sm |= smp && packet->mad[MAD_METHOD] == METHOD_SET;
	model->stats.smps += smp;
	model->stats.sm_smps += smp && model->slots[slot].is_sm;
	mad = mad_alloc(model);
	if (!mad) {
		model->stats.refused++;
		return;
	}
	mad->packet = *packet;
	mad->slot = (uint8_t)slot;
	mad->generation = model->slots[slot].generation;
	mad->came_ns = now_ns;
	find_node(model, mad);
	if (random_percent(model, model->settings.loss)) {
		model->stats.lost++;
		time_out(model, mad, now_ns);
		return;
	}
	turn_ns = queue(model, mad, now_ns + model->settings.latency_ns);
	if (turn_ns <= now_ns || event_add(model, turn_ns, mad) < 0)
		begin(model, mad, now_ns);
}

/* Send the client an additional response at about the same time. */
static void deliver_copy(struct relay_model *model, const struct relay_mad *mad, uint64_t tid_change, int64_t at_ns,
			 int64_t now_ns)
{
	struct relay_mad *copy = mad_alloc(model);

	if (!copy)
		return;
	*copy = *mad;
	store_be64(copy->packet.mad + MAD_TID, load_be64(copy->packet.mad + MAD_TID) ^ tid_change);
	deliver_at(model, copy, at_ns, now_ns);
}

/* Apply the faults configured for the node. Return: when its response arrives. */
static int64_t apply_faults(struct relay_model *model, struct relay_mad *mad, int64_t at_ns, int64_t now_ns)
{
	const struct responder_node *config = mad->node == FABRIC_NONE ? NULL : model->responder.nodes[mad->node];

	if (!config || mad->packet.mad[MAD_CLASS] != CLASS_PERFORMANCE)
		return at_ns;
	if (random_percent(model, config->garbled))
		responder_garble(mad->packet.mad, model->random);
	/* An unknown transaction ID, in bits that libraries do not reach by counting. */
	if (random_percent(model, config->foreign))
		deliver_copy(model, mad, 0x5aa50000u, at_ns, now_ns);
	if (random_percent(model, config->duplicated))
		deliver_copy(model, mad, 0, at_ns, now_ns);
	return random_percent(model, config->late) ? at_ns + config->late_ns : at_ns;
}

/* If the response arrives later than hold, a timeout is reported before it, as by the kernel. */
static void report_before(struct relay_model *model, const struct relay_mad *mad, const struct packet *request,
			  int64_t at_ns, int64_t now_ns)
{
	struct relay_mad *copy;

	if (!model->settings.hold_ns || at_ns <= mad->came_ns + model->settings.hold_ns)
		return;
	copy = mad_alloc(model);
	if (!copy)
		return;
	*copy = *mad;
	copy->packet = *request;
	time_out(model, copy, now_ns);
}

/*
 * ibsim's ports support and have enabled all speeds up to HDR and widths up to 12x. A port supports what
 * the fastest and the widest link of such a device has in the net file.
 * Source: PortInfo, IBA Vol 1, 14.2.5.6 (offsets as in libibmad fields.c).
 */
static void limit_port_info(const struct relay_model *model, uint32_t node, uint8_t mad[PACKET_MAD_SIZE])
{
	uint8_t *info = mad + PACKET_MAD_DATA, widths = 0;
	uint16_t device, speeds; /* set of 1 << enum link_speed */

	if (node == FABRIC_NONE || !packet_is_port_info(mad))
		return;
	device = model->fabric->nodes[node].device_id;
	speeds = (uint16_t)((2u << model->best[device].speed) - 1);
	for (uint8_t width = LINK_WIDTH_1X; width <= LINK_WIDTH_2X; width = (uint8_t)(width << 1))
		widths |= link_width_lanes(width) <= model->best[device].lanes ? width : 0;
	/* Without a link nothing is known. */
	if (!widths || !model->best[device].speed)
		return;
	info[29] &= widths; /* LinkWidthEnabled and Supported */
	info[30] &= widths;
	info[32] &= (uint8_t)((speeds >> LINK_SPEED_SDR & 7) << 4 | 15); /* LinkSpeedSupported, PortState */
	info[35] &= (uint8_t)(0xf0 | (speeds >> LINK_SPEED_SDR & 7));    /* LinkSpeedActive, Enabled */
	info[62] &= (uint8_t)(0xf0 | (speeds >> LINK_SPEED_FDR & 15));   /* LinkSpeedExtActive, ExtSupported */
	info[63] &= (uint8_t)(0xe0 | (speeds >> LINK_SPEED_FDR & 15));   /* LinkSpeedExtEnabled */
}

static void process_response(struct relay_model *model, struct relay_mad *mad, const struct packet *response,
			     int64_t now_ns)
{
	struct packet request = mad->packet, got = *response;
	int64_t at_ns;

	relay_map_learn(&model->map, mad->node, response->mad);
	limit_port_info(model, mad->node, got.mad);
	model->responder.now_ns = now_ns;
	if (!responder_response(&model->responder, mad->node, &mad->exchange, got.mad)) {
		send_to_ibsim(model, mad, got.mad);
		return;
	}
	if (random_percent(model, model->settings.loss)) {
		model->stats.lost++;
		time_out(model, mad, now_ns);
		return;
	}
	if (mad->redirected) {
		got.slid = request.dlid;
		got.sqp = request.dqp;
	}
	mad->packet = got;
	at_ns = apply_faults(model, mad, mad->ready_ns > now_ns ? mad->ready_ns : now_ns, now_ns);
	report_before(model, mad, &request, at_ns, now_ns);
	deliver_at(model, mad, at_ns, now_ns);
}

void relay_model_from_ibsim(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns)
{
	bool timed_out = packet->status == htonl(PACKET_TIMED_OUT);
	struct relay_mad *mad = NULL;

	if (timed_out || packet->mad[MAD_METHOD] & METHOD_RESPONSE)
		mad = pending_take(model, slot, packet->mad);
	/* A trap or a request of another client has been delayed already. */
	if (!mad)
		model->io.to_client(model->io.ctx, slot, packet);
	else if (timed_out)
		time_out(model, mad, now_ns);
	else
		process_response(model, mad, packet, now_ns);
}

static int64_t expiry_ns(const struct relay_model *model)
{
	return model->settings.hold_ns ? model->settings.hold_ns : EXPIRY_NS;
}

/* Requests that ibsim forwarded to a client that does not respond. */
static void expire_old(struct relay_model *model, int64_t now_ns)
{
	while (model->pending_count && model->pending[0]->came_ns + expiry_ns(model) <= now_ns) {
		struct relay_mad *mad = model->pending[0];

		pending_remove(model, 0);
		if (model->settings.hold_ns)
			time_out(model, mad, now_ns);
		else
			mad_free(model, mad);
	}
}

static void count_delay(struct relay_model *model, int64_t late_ns)
{
	model->stats.events++;
	model->stats.late_ns += late_ns;
	if (late_ns > model->stats.latest_ns)
		model->stats.latest_ns = late_ns;
}

void relay_model_run(struct relay_model *model, int64_t now_ns, int64_t slack_ns)
{
	while (model->event_count && model->events[0].at_ns <= now_ns + slack_ns) {
		struct relay_event event = event_take(model);

		count_delay(model, now_ns > event.at_ns ? now_ns - event.at_ns : 0);
		if (event.mad->returning)
			deliver(model, event.mad);
		else
			begin(model, event.mad, now_ns);
	}
	expire_old(model, now_ns);
}

int64_t relay_model_next_ns(const struct relay_model *model)
{
	int64_t next_ns = model->event_count ? model->events[0].at_ns : INT64_MAX;
	int64_t old_ns = model->pending_count ? model->pending[0]->came_ns + expiry_ns(model) : INT64_MAX;

	return old_ns < next_ns ? old_ns : next_ns;
}

void relay_model_open(struct relay_model *model, unsigned slot, const char *node_id)
{
	model->slots[slot].origin = relay_map_node(&model->map, node_id);
	model->slots[slot].generation++;
	model->slots[slot].open = true;
	model->slots[slot].is_sm = false;
}

void relay_model_close(struct relay_model *model, unsigned slot)
{
	size_t kept = 0;

	model->slots[slot].open = false;
	for (size_t i = 0; i < model->pending_count; i++)
		if (model->pending[i]->slot == slot)
			mad_free(model, model->pending[i]);
		else
			model->pending[kept++] = model->pending[i];
	model->pending_count = kept;
}

int relay_model_init(struct relay_model *model, const struct fabric *fabric, const struct relay_io *io,
		     struct error *err)
{
	size_t nodes = fabric->node_count ? fabric->node_count : 1;
	int code;

	memset(model, 0, sizeof(*model));
	model->fabric = fabric;
	model->io = *io;
	model->dead = calloc(nodes, sizeof(*model->dead));
	model->locked = calloc(nodes, sizeof(*model->locked));
	model->free_ns = calloc(nodes, sizeof(*model->free_ns));
	model->best = calloc(UINT16_MAX + 1, sizeof(*model->best));
	code = model->dead && model->locked && model->free_ns && model->best ?
		relay_map_init(&model->map, fabric, err) : err_nomem(err);
	for (size_t i = 0; code == 0 && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint16_t device = fabric->nodes[port->node].device_id;
		unsigned lanes = link_width_lanes(port->width);

		if (port->speed > model->best[device].speed)
			model->best[device].speed = port->speed;
		if (lanes > model->best[device].lanes)
			model->best[device].lanes = (uint8_t)lanes;
	}
	if (code == 0)
		code = responder_init(&model->responder, fabric, err);
	model->responder.map = &model->map;
	if (code < 0)
		relay_model_done(model);
	return code;
}

void relay_model_done(struct relay_model *model)
{
	for (size_t i = 0; i < model->event_count; i++)
		free(model->events[i].mad);
	for (size_t i = 0; i < model->pending_count; i++)
		free(model->pending[i]);
	free(model->events);
	free(model->pending);
	if (model->responder.fabric)
		responder_done(&model->responder);
	relay_map_done(&model->map);
	free(model->dead);
	free(model->locked);
	free(model->free_ns);
	free(model->best);
	memset(model, 0, sizeof(*model));
}
