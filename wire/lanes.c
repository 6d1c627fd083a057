/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/lanes.h"

#include <stdlib.h>

#include "base/err.h"

#define NONE LANES_NONE

void lanes_init(struct lanes *lanes, unsigned per_node)
{
	*lanes = (struct lanes){
		.per_node = per_node, .free_entry = NONE, .calling = NONE,
		.first = { NONE, NONE }, .others = { NONE, NONE },
	};
}

void lanes_done(struct lanes *lanes)
{
	free(lanes->entries);
	free(lanes->lanes);
}

static bool grow_lanes(struct lanes *lanes, uint32_t node)
{
	size_t count = lanes->count ? lanes->count : 64, i;
	struct lane *grown;

	if (node < lanes->count)
		return true;
	while (count <= node)
		count *= 2;
	grown = reallocarray(lanes->lanes, count, sizeof(*grown));
	if (!grown)
		return false;
	for (i = lanes->count; i < count; i++)
		grown[i] = (struct lane){ .head = NONE, .tail = NONE, .next_ready = NONE };
	lanes->lanes = grown;
	lanes->count = count;
	return true;
}

static bool grow_entries(struct lanes *lanes)
{
	size_t capacity = lanes->entry_capacity ? lanes->entry_capacity * 2 : 256;
	struct entry *entries;

	if (lanes->free_entry != NONE || lanes->entries_used < lanes->entry_capacity)
		return true;
	entries = reallocarray(lanes->entries, capacity, sizeof(*entries));
	if (!entries)
		return false;
	lanes->entries = entries;
	lanes->entry_capacity = capacity;
	return true;
}

/* One that is free; there is one. What a node is asked stands together in memory: a run begins with none in use. */
static uint32_t new_entry(struct lanes *lanes)
{
	uint32_t index = lanes->free_entry;

	lanes->entries_live++;
	if (index == NONE)
		return lanes->entries_used++;
	lanes->free_entry = lanes->entries[index].next;
	return index;
}

static void free_entry(struct lanes *lanes, uint32_t index)
{
	lanes->entries[index].serial = 0;
	lanes->entries[index].next = lanes->free_entry;
	lanes->free_entry = index;
	if (--lanes->entries_live == 0) {
		lanes->free_entry = NONE;
		lanes->entries_used = 0;
	}
}

/* It is needed soon, and has not been touched for long. */
static void fetch_entry(const struct lanes *lanes, uint32_t index)
{
	__builtin_prefetch(&lanes->entries[index]);
	__builtin_prefetch(&lanes->entries[index].next);
}

/* Put a lane into its ring, if it has work and room and is not there: at its end, or where it was @before. */
static void make_ready(struct lanes *lanes, uint32_t node, bool before)
{
	struct lane *lane = &lanes->lanes[node];
	struct ring *ring;

	if (lane->ready || lane->head == NONE || lane->in_flight >= lanes->per_node)
		return;
	lane->ready = true;
	ring = lane->queued > LANES_LONG && !lanes->finish_nodes ? &lanes->first : &lanes->others;
	if ((before || node == lanes->calling) && lanes->finish_nodes && ring->head != NONE) {
		lane->next_ready = ring->head;
		ring->head = node;
		return;
	}
	lane->next_ready = NONE;
	if (ring->tail == NONE)
		ring->head = node;
	else
		lanes->lanes[ring->tail].next_ready = node;
	ring->tail = node;
}

int lanes_put(struct lanes *lanes, const struct request *request, unsigned retries, struct error *err)
{
	struct lane *lane;
	uint32_t index;

	if (!grow_lanes(lanes, request->node) || !grow_entries(lanes))
		return err_nomem(err);
	index = new_entry(lanes);
	if (++lanes->serial == 0)
		lanes->serial = 1;
	lanes->entries[index] = (struct entry){
		.request = *request, .retries_left = retries, .next = NONE, .serial = lanes->serial, .flight = NONE,
	};
	lane = &lanes->lanes[request->node];
	if (lane->tail == NONE)
		lane->head = index;
	else
		lanes->entries[lane->tail].next = index;
	lane->tail = index;
	lane->queued++;
	lanes->queued++;
	make_ready(lanes, request->node, false);
	return 0;
}

void lanes_put_back(struct lanes *lanes, uint32_t entry)
{
	struct lane *lane = &lanes->lanes[lanes->entries[entry].request.node];

	lanes->entries[entry].next = lane->head;
	lane->head = entry;
	if (lane->tail == NONE)
		lane->tail = entry;
	lane->queued++;
	lanes->queued++;
}

uint32_t lanes_take_from(struct lanes *lanes, uint32_t node)
{
	struct lane *lane = &lanes->lanes[node];
	uint32_t index = lane->head;

	if (index == NONE)
		return NONE;
	lane->head = lanes->entries[index].next;
	if (lane->head == NONE)
		lane->tail = NONE;
	else
		fetch_entry(lanes, lane->head);
	lane->queued--;
	lanes->queued--;
	return index;
}

void lanes_remove(struct lanes *lanes, uint32_t entry)
{
	struct lane *lane = &lanes->lanes[lanes->entries[entry].request.node];
	uint32_t before = NONE, i = lane->head;

	while (i != entry) {
		before = i;
		i = lanes->entries[i].next;
	}
	if (before == NONE)
		lane->head = lanes->entries[entry].next;
	else
		lanes->entries[before].next = lanes->entries[entry].next;
	if (lane->tail == entry)
		lane->tail = before;
	lane->queued--;
	lanes->queued--;
}

bool lanes_are_ready(const struct lanes *lanes)
{
	return lanes->first.head != NONE || lanes->others.head != NONE;
}

uint32_t lanes_take(struct lanes *lanes)
{
	while (lanes_are_ready(lanes)) {
		struct ring *ring = lanes->first.head != NONE ? &lanes->first : &lanes->others;
		uint32_t node = ring->head, index;
		struct lane *lane = &lanes->lanes[node];

		ring->head = lane->next_ready;
		if (ring->head == NONE)
			ring->tail = NONE;
		lane->ready = false;
		/* What was in its queue may have been dropped meanwhile. */
		index = lanes_take_from(lanes, node);
		if (index == NONE)
			continue;
		lane->in_flight++;
		make_ready(lanes, node, true);
		return index;
	}
	return NONE;
}

void lanes_land(struct lanes *lanes, uint32_t node)
{
	lanes->lanes[node].in_flight--;
}

void lanes_resume(struct lanes *lanes, uint32_t node)
{
	make_ready(lanes, node, true);
}

void lanes_finish(struct lanes *lanes, uint32_t entry, enum request_result result, const uint8_t mad[MAD_SIZE],
		  int64_t at_us)
{
	/* Its owner may put more, and so move the array. */
	struct request request = lanes->entries[entry].request;

	free_entry(lanes, entry);
	lanes->calling = request.node;
	request.done(request.ctx, &request, result, mad, at_us);
	lanes->calling = NONE;
}
