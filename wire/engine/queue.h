/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * queue.h - the requests that wait to be sent, one queue for each node; private to the engine
 *
 * A node is ready when it has queued requests and fewer than per_node of its requests are in
 * flight. Ready nodes form two rings: nodes with many requests, such as a switch of 64 ports, are
 * served before the others, because their requests go one after the other and determine the end of
 * the run. The first node of a ring sends one request and moves to the end. With finish_nodes there
 * is one ring, and a node stays at its head until its queue is empty.
 *
 * An entry index is valid until queue_complete(). The pointer returned by queue_entry() is valid
 * until the next queue_put().
 */
#ifndef IBWIRE_WIRE_ENGINE_QUEUE_H
#define IBWIRE_WIRE_ENGINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/engine.h"

#define QUEUE_NONE UINT32_MAX

/* A node with more requests is served before the others. A port of an HCA has two or three. */
#define QUEUE_LONG 8

/* A request in the engine. */
struct entry {
	struct request request;
	unsigned retries_left;
	unsigned tries;   /* that timed out */
	bool extended;    /* has received the additional retries of a lossy fabric */
	uint32_t next;    /* next entry in its queue, or in the free list */
	uint32_t serial;  /* identifies the request; 0: it is answered, or the entry is free */
	uint32_t flight;  /* index in the engine of its newest try; QUEUE_NONE: it is queued */
	int64_t first_us; /* time of the first try; 0: not sent yet */
};

struct node_queue {
	uint32_t head, tail; /* entries; QUEUE_NONE: empty */
	uint32_t queued;     /* entries in its queue */
	unsigned in_flight;
	int64_t response_us;   /* moving average of the response time; 0: no response yet */
	int64_t unresponsive_us;   /* when a request to it timed out, without a response since; 0: it responded */
	bool ready;          /* it is in a ring */
	uint32_t next_ready; /* next node in the ring */
};

/* A list of ready nodes. */
struct ring {
	uint32_t head, tail; /* nodes; QUEUE_NONE: empty */
};

struct request_queue {
	unsigned per_node;               /* maximum number of requests in flight to one node */
	bool finish_nodes;               /* a node stays at the head of the ring until its queue is empty */
	size_t queued;                   /* entries that wait to be sent */
	struct entry *entries;
	size_t entry_capacity;
	uint32_t entries_used;           /* entries from the first on that were in use since all were free */
	uint32_t entries_live;           /* in use */
	uint32_t free_entry;             /* head of the free list */
	uint32_t serial;                 /* of the newest request */
	struct node_queue *queue;
	size_t count;
	/* first: nodes with more than QUEUE_LONG requests, unless finish_nodes is set. */
	struct ring first, others;
	uint32_t calling;                /* node whose request is being called back, or QUEUE_NONE */
};

void queue_init(struct request_queue *queue, unsigned per_node);
void queue_done(struct request_queue *queue);

/* queue_put - append a request to the queue of its node. Return: 0 or ERR_NOMEM. */
int queue_put(struct request_queue *queue, const struct request *request, unsigned retries, struct error *err);

/* queue_put_back - put an entry back to the head of the queue of its node, for a retry. */
void queue_put_back(struct request_queue *queue, uint32_t entry);

/* queue_has_ready - any node is ready. */
bool queue_has_ready(const struct request_queue *queue);

/* queue_next - remove the next entry to send; it counts as in flight. QUEUE_NONE: none is ready. */
uint32_t queue_next(struct request_queue *queue);

/* queue_pop_node - remove the first entry of a node, to cancel it. QUEUE_NONE: there is none. */
uint32_t queue_pop_node(struct request_queue *queue, uint32_t node);

/* queue_remove - remove an entry that was answered; it is valid until queue_complete(). */
void queue_remove(struct request_queue *queue, uint32_t entry);

/* queue_end_flight - a request is not in flight any more; before queue_complete(), queue_put_back() */
void queue_end_flight(struct request_queue *queue, uint32_t node);

/* queue_resume - make the node ready again if it has queued requests; after queue_end_flight(). */
void queue_resume(struct request_queue *queue, uint32_t node);

/* queue_complete - free an entry and call its owner back, which may submit more requests. */
void queue_complete(struct request_queue *queue, uint32_t entry, const struct response *response);

/* queue_cancel - the same without a response */
void queue_cancel(struct request_queue *queue, uint32_t entry);

static inline struct entry *queue_entry(struct request_queue *queue, uint32_t entry)
{
	return &queue->entries[entry];
}

static inline struct node_queue *queue_of_node(struct request_queue *queue, uint32_t node)
{
	return &queue->queue[node];
}

#endif
