/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/engine/queue.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

#define NONE QUEUE_NONE

void queue_init(struct request_queue *queue, unsigned per_node)
{
	*queue = (struct request_queue){
		.per_node = per_node, .free_entry = NONE, .calling = NONE,
		.first = { NONE, NONE }, .others = { NONE, NONE },
	};
}

void queue_done(struct request_queue *queue)
{
	free(queue->entries);
	free(queue->queue);
}

static bool grow_nodes(struct request_queue *queue, uint32_t node)
{
	size_t count = queue->count ? queue->count : 64;
	struct node_queue *grown;

	if (node < queue->count)
		return true;
	while (count <= node)
		count *= 2;
	grown = reallocarray(queue->queue, count, sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = queue->count; i < count; i++)
		grown[i] = (struct node_queue){ .head = NONE, .tail = NONE, .next_ready = NONE };
	queue->queue = grown;
	queue->count = count;
	return true;
}

static bool grow_entries(struct request_queue *queue)
{
	struct entry *entries;

	if (queue->free_entry != NONE)
		return true;
	entries = array_grow(queue->entries, queue->entries_used, &queue->entry_capacity, sizeof(*entries));
	if (entries)
		queue->entries = entries;
	return entries != NULL;
}

/* Allocate an entry; there is room. A run starts with all free, so those of a node are adjacent. */
static uint32_t new_entry(struct request_queue *queue)
{
	uint32_t index = queue->free_entry;

	queue->entries_live++;
	if (index == NONE)
		return queue->entries_used++;
	queue->free_entry = queue->entries[index].next;
	return index;
}

static void free_entry(struct request_queue *queue, uint32_t index)
{
	queue->entries[index].serial = 0;
	queue->entries[index].next = queue->free_entry;
	queue->free_entry = index;
	if (--queue->entries_live == 0) {
		queue->free_entry = NONE;
		queue->entries_used = 0;
	}
}

/* The next entry of a node is needed soon and not in the cache. */
static void fetch_entry(const struct request_queue *queue, uint32_t index)
{
	__builtin_prefetch(&queue->entries[index]);
	__builtin_prefetch(&queue->entries[index].next);
}

/*
 * Put a node into its ring if it is ready: at the end, or with finish_nodes and @before at the
 * head.
 */
static void make_ready(struct request_queue *queue, uint32_t node, bool before)
{
	struct node_queue *node_queue = &queue->queue[node];
	struct ring *ring;

	if (node_queue->ready || node_queue->head == NONE || node_queue->in_flight >= queue->per_node)
		return;
	node_queue->ready = true;
	ring = node_queue->queued > QUEUE_LONG && !queue->finish_nodes ? &queue->first : &queue->others;
	if ((before || node == queue->calling) && queue->finish_nodes && ring->head != NONE) {
		node_queue->next_ready = ring->head;
		ring->head = node;
		return;
	}
	node_queue->next_ready = NONE;
	if (ring->tail == NONE)
		ring->head = node;
	else
		queue->queue[ring->tail].next_ready = node;
	ring->tail = node;
}

int queue_put(struct request_queue *queue, const struct request *request, unsigned retries, struct error *err)
{
	struct node_queue *node_queue;
	uint32_t index;

	if (!grow_nodes(queue, request->node) || !grow_entries(queue))
		return err_nomem(err);
	index = new_entry(queue);
	if (++queue->serial == 0)
		queue->serial = 1;
	queue->entries[index] = (struct entry){
		.request = *request, .retries_left = retries, .next = NONE, .serial = queue->serial, .flight = NONE,
	};
	node_queue = &queue->queue[request->node];
	if (node_queue->tail == NONE)
		node_queue->head = index;
	else
		queue->entries[node_queue->tail].next = index;
	node_queue->tail = index;
	node_queue->queued++;
	queue->queued++;
	make_ready(queue, request->node, false);
	return 0;
}

void queue_put_back(struct request_queue *queue, uint32_t entry)
{
	struct node_queue *node_queue = &queue->queue[queue->entries[entry].request.node];

	queue->entries[entry].next = node_queue->head;
	node_queue->head = entry;
	if (node_queue->tail == NONE)
		node_queue->tail = entry;
	node_queue->queued++;
	queue->queued++;
}

uint32_t queue_pop_node(struct request_queue *queue, uint32_t node)
{
	struct node_queue *node_queue = &queue->queue[node];
	uint32_t index = node_queue->head;

	if (index == NONE)
		return NONE;
	node_queue->head = queue->entries[index].next;
	if (node_queue->head == NONE)
		node_queue->tail = NONE;
	else
		fetch_entry(queue, node_queue->head);
	node_queue->queued--;
	queue->queued--;
	return index;
}

void queue_remove(struct request_queue *queue, uint32_t entry)
{
	struct node_queue *node_queue = &queue->queue[queue->entries[entry].request.node];
	uint32_t before = NONE, i = node_queue->head;

	while (i != entry) {
		before = i;
		i = queue->entries[i].next;
	}
	if (before == NONE)
		node_queue->head = queue->entries[entry].next;
	else
		queue->entries[before].next = queue->entries[entry].next;
	if (node_queue->tail == entry)
		node_queue->tail = before;
	node_queue->queued--;
	queue->queued--;
}

bool queue_has_ready(const struct request_queue *queue)
{
	return queue->first.head != NONE || queue->others.head != NONE;
}

uint32_t queue_next(struct request_queue *queue)
{
	while (queue_has_ready(queue)) {
		struct ring *ring = queue->first.head != NONE ? &queue->first : &queue->others;
		uint32_t node = ring->head, index;
		struct node_queue *node_queue = &queue->queue[node];

		ring->head = node_queue->next_ready;
		if (ring->head == NONE)
			ring->tail = NONE;
		node_queue->ready = false;
		/* Its requests may have been cancelled meanwhile. */
		index = queue_pop_node(queue, node);
		if (index == NONE)
			continue;
		node_queue->in_flight++;
		make_ready(queue, node, true);
		return index;
	}
	return NONE;
}

void queue_end_flight(struct request_queue *queue, uint32_t node)
{
	queue->queue[node].in_flight--;
}

void queue_resume(struct request_queue *queue, uint32_t node)
{
	make_ready(queue, node, true);
}

void queue_complete(struct request_queue *queue, uint32_t entry, const struct response *response)
{
	/* The callback may submit requests, which can move the array. */
	struct request request = queue->entries[entry].request;

	free_entry(queue, entry);
	queue->calling = request.node;
	request.done(request.ctx, &request, response);
	queue->calling = NONE;
}

void queue_cancel(struct request_queue *queue, uint32_t entry)
{
	queue_complete(queue, entry, &(struct response){ .result = REQUEST_CANCELLED });
}
