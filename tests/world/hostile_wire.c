/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The wire of hostile.h: responses are lost, changed, duplicated, late or of others. */
#include <string.h>

#include "tests/world/hostile.h"

static void fill_random(struct hostile *h, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_below(h, 256);
}

/* A field of the header that a response is matched by gets another value. */
static void change_header(struct hostile *h, uint8_t mad[MAD_SIZE])
{
	static const uint8_t classes[] = { CLASS_SUBN_LID, CLASS_SUBN_DIRECTED, CLASS_PERFORMANCE, 0x03, 0x07, 0x32 };
	static const uint8_t methods[] = { 0x01, 0x02, 0x05, 0x06, 0x07, 0x12, 0x92, 0xc1 };
	uint8_t was;

	switch (random_below(h, 4)) {
	case 0:
		was = mad[1];
		while (mad[1] == was)
			mad[1] = classes[random_below(h, sizeof(classes))];
		break;
	case 1:
		mad[3] = methods[random_below(h, sizeof(methods))];
		break;
	case 2:
		put_be16(mad + 16, (uint16_t)(get_be16(mad + 16) + 1 + random_below(h, 0x40)));
		break;
	default:
		/* Of no request in flight: a forged response to one cannot be recognized. */
		put_be32(mad + 12, get_be32(mad + 12) + (uint32_t)(1 + random_below(h, 0x1000)) * 0x100);
		break;
	}
}

static void push(struct wire *wire, enum transport_event event, const uint8_t mad[MAD_SIZE])
{
	size_t at = wire->pending_count;

	if (at == PENDING_MAX)
		at = random_below(wire->hostile, PENDING_MAX);
	else
		wire->pending_count++;
	wire->pending[at].event = event;
	memcpy(wire->pending[at].mad, mad, MAD_SIZE);
}

static bool occurs(struct hostile *h, enum wire_kind kind, unsigned percent)
{
	return h->wire_on[kind] && chance(h, percent);
}

static void push_garbage(struct wire *wire)
{
	uint8_t mad[MAD_SIZE];

	fill_random(wire->hostile, mad, sizeof(mad));
	push(wire, chance(wire->hostile, 80) ? TRANSPORT_MAD : TRANSPORT_TIMEOUT, mad);
}

/* Change a response, or add MADs that will be received later. */
static void disturb(struct wire *wire, uint8_t mad[MAD_SIZE])
{
	static const uint16_t statuses[] = { 0x0001, 0x0002, 0x0004, 0x0008, 0x000c, 0x001c, 0x7f00, 0xffff };
	struct hostile *h = wire->hostile;
	uint8_t copy[MAD_SIZE];

	if (occurs(h, DUPLICATES, 30))
		push(wire, TRANSPORT_MAD, mad);
	if (occurs(h, FOREIGN, 30)) {
		memcpy(copy, mad, MAD_SIZE);
		change_header(h, copy);
		fill_random(h, copy + 24, MAD_SIZE - 24);
		push(wire, TRANSPORT_MAD, copy);
	}
	if (occurs(h, GARBAGE, 20))
		push_garbage(wire);
	if (occurs(h, DAMAGED, 5))
		change_header(h, mad);
	if (occurs(h, WRONG_STATUS, 4)) {
		put_be16(mad + 4, statuses[random_below(h, sizeof(statuses) / sizeof(statuses[0]))]);
		/* A redirection to nowhere. */
		if (get_be16(mad + 4) == 0x0002)
			memset(mad + PMA_DATA_OFFSET, 0, MAD_SIZE - PMA_DATA_OFFSET);
	}
	if (mad[1] == CLASS_PERFORMANCE && get_be16(mad + 16) != PMA_CLASS_PORT_INFO && occurs(h, WRONG_PORT, 4))
		mad[PMA_DATA_OFFSET + 1] = (uint8_t)(mad[PMA_DATA_OFFSET + 1] + 1 + random_below(h, 200));
}

static int wire_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		     struct error *err)
{
	struct wire *wire = ctx;
	struct hostile *h = wire->hostile;
	int64_t late_us = occurs(h, LATE, 10) ? (int64_t)random_below(h, 2 * US_PER_S) : 0;
	struct agent *agents = h->lab->agents;
	int code;

	for (size_t i = 0; i < LAB_NODES; i++)
		agents[i].latency_us += late_us;
	code = wire->inner.send(wire->inner.ctx, to, mad, timeout_ms, err);
	for (size_t i = 0; i < LAB_NODES; i++)
		agents[i].latency_us -= late_us;
	return code;
}

static int wire_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct wire *wire = ctx;
	int event;

	/* Some stay until a later sweep. */
	if (wire->pending_count && chance(wire->hostile, 50)) {
		size_t at = random_below(wire->hostile, wire->pending_count);

		memcpy(mad, wire->pending[at].mad, MAD_SIZE);
		event = (int)wire->pending[at].event;
		wire->pending[at] = wire->pending[--wire->pending_count];
		return event;
	}
	event = wire->inner.receive(wire->inner.ctx, mad, timeout_ms, err);
	if (event == TRANSPORT_MAD)
		disturb(wire, mad);
	return event;
}

void hostile_set_wire(struct hostile *h, struct active *active, bool on)
{
	h->wire_on[active->what->wire] = on;
	h->lab->run.loss = h->wire_on[SILENCE] ? 1 : h->wire_on[LOSS] ? 0.2 : 0;
	h->lab->run.jitter_us = h->wire_on[REORDER] ? 15000 : 200;
}

static void wrap(struct wire *wire, struct transport *transport)
{
	*wire = (struct wire){ .hostile = hostile, .inner = *transport };
	*transport = (struct transport){ wire_send, wire_receive, wire };
}

static void on_explore(struct world_run *run, struct world_run *copy)
{
	(void)run;
	wrap(&hostile->explorer_wire, &copy->transport);
}

void hostile_wrap_wires(struct hostile *h)
{
	wrap(&h->sweeps_wire, &h->lab->run.transport);
	h->lab->run.explorer = true;
	h->lab->run.on_explore = on_explore;
}
