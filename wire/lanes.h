/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lanes.h - who is asked next: a queue of requests for each node, and the ring of nodes that may be asked
 *
 * Inside the engine. A node is in the ring when it has something queued and fewer
 * than per_node of its requests are in flight; the first in the ring is asked next, and then goes to its
 * end, or, where nodes are to be finished one after the other, stays at its head.
 *
 * There are two rings, but for finishing nodes: a node with much to be asked, such as a switch of 64 ports, is asked
 * before those with little. What it is asked comes one after the other, so it is what a run waits for in the end.
 *
 * Entries are numbers that stay valid until they are given back; what lanes_entry()
 * returns is valid until the next lanes_put().
 */
#ifndef IBWIRE_WIRE_LANES_H
#define IBWIRE_WIRE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/engine.h"

#define LANES_NONE UINT32_MAX

/* A node with more than so many requests waiting is asked before others: an HCA's port has two or three. */
#define LANES_LONG 8

/* A request on its way through the engine. */
struct entry {
	struct request request;
	unsigned retries_left;
	unsigned tries;   /* that nobody answered */
	bool extended;    /* has had the tries of a wire that loses MADs */
	uint32_t next;    /* behind it in its queue, or in the list of free ones */
	uint32_t serial;  /* which question it is; 0: it is answered, or there is none */
	uint32_t flight;  /* the engine's, of its newest try; LANES_NONE: it is in its queue */
	int64_t first_us; /* when it was sent first; 0: not yet */
};

struct lane {
	uint32_t head, tail; /* entries, LANES_NONE when empty */
	uint32_t queued;     /* entries in its queue */
	unsigned in_flight;
	int64_t answer_us;   /* the node's usual answer time: a mean that forgets; 0: none seen yet */
	int64_t silent_us;   /* when a question to it was given up, and it was not heard since; 0: it was */
	bool ready;          /* is in the ring */
	uint32_t next_ready; /* lane behind it in the ring */
};

/* Lanes that may be asked. */
struct ring {
	uint32_t head, tail; /* LANES_NONE when empty */
};

struct lanes {
	unsigned per_node;               /* of one node in flight, at most */
	bool finish_nodes;               /* lanes go back to the head of the ring */
	size_t queued;                   /* entries that wait to be sent */
	struct entry *entries;
	size_t entry_capacity;
	uint32_t entries_used;           /* so many from the first on were given out since all were free */
	uint32_t entries_live;           /* given out and not given back */
	uint32_t free_entry;             /* the list of those that came back */
	uint32_t serial;                 /* of the newest question */
	struct lane *lanes;
	size_t count;
	/* Lanes with more than LANES_LONG queued, where nodes are not to be finished. */
	struct ring first, others;
	uint32_t calling;                /* lane whose request is being called back, else LANES_NONE */
};

void lanes_init(struct lanes *lanes, unsigned per_node);
void lanes_done(struct lanes *lanes);

/* lanes_put - queue a request at the end of its node's queue. Return: 0 or ERR_NOMEM. */
int lanes_put(struct lanes *lanes, const struct request *request, unsigned retries, struct error *err);

/* lanes_put_back - queue an entry that was taken once more, before all others of its node */
void lanes_put_back(struct lanes *lanes, uint32_t entry);

/* lanes_are_ready - may any node be asked now? */
bool lanes_are_ready(const struct lanes *lanes);

/* lanes_take - the next entry to send; it counts as in flight. Return: LANES_NONE where no node may be asked. */
uint32_t lanes_take(struct lanes *lanes);

/* lanes_take_from - the first of a node's queue, not to be sent. Return: LANES_NONE where it is empty. */
uint32_t lanes_take_from(struct lanes *lanes, uint32_t node);

/* lanes_remove - take an entry out of its queue, not to be sent: it is answered. It lives until lanes_finish(). */
void lanes_remove(struct lanes *lanes, uint32_t entry);

/* lanes_land - one of a node's requests is in flight no more: before lanes_finish() or lanes_put_back() of it. */
void lanes_land(struct lanes *lanes, uint32_t node);

/* lanes_resume - what has landed is finished: the node may be asked again, if it has work. */
void lanes_resume(struct lanes *lanes, uint32_t node);

/* lanes_finish - give an entry back, and tell its owner, who may put more. */
void lanes_finish(struct lanes *lanes, uint32_t entry, enum request_result result, const uint8_t mad[MAD_SIZE],
		  int64_t at_us);

static inline struct entry *lanes_entry(struct lanes *lanes, uint32_t entry)
{
	return &lanes->entries[entry];
}

static inline struct lane *lanes_of(struct lanes *lanes, uint32_t node)
{
	return &lanes->lanes[node];
}

#endif
