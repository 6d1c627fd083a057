/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * timeout.h - response timeouts and retries of requests; private to the engine
 *
 * engine.h describes the behaviour. State of a node is in its struct node_queue, state of a request
 * in its struct entry; here is the loss rate of the fabric. No I/O, and no clock.
 */
#ifndef IBWIRE_WIRE_ENGINE_TIMEOUT_H
#define IBWIRE_WIRE_ENGINE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

struct engine_settings;
struct entry;
struct node_queue;

struct response_timeout {
	int64_t max_us;             /* upper limit of every timeout */
	unsigned retries;            /* of each request, from the settings of the engine */
	uint64_t answered, repeated; /* recent requests that were answered, and their retries */
};

void timeout_init(struct response_timeout *timeout, const struct engine_settings *settings);

/* timeout_new_run - halve the counts of earlier runs. */
void timeout_new_run(struct response_timeout *timeout);

/*
 * timeout_learn - update the response time of a node
 * @response_us:  of one response; values above the maximum timeout are ignored: the response waited
 *                to be read
 */
void timeout_learn(const struct response_timeout *timeout, struct node_queue *node_queue, int64_t response_us);

/* timeout_count_response - a request was answered after @repeated retries. */
void timeout_count_response(struct response_timeout *timeout, unsigned repeated);

/*
 * timeout_expired - this try of a request has timed out
 * All tries of a request share one timeout, which follows from the response time of the node.
 * @sent_us:  when this try was sent; same clock as @now_us
 */
bool timeout_expired(const struct response_timeout *timeout, const struct node_queue *node_queue,
		     const struct entry *entry, int64_t sent_us, int64_t now_us);

/* timeout_allows_retry - a request may be sent again; on a lossy fabric this adds retries to it. */
bool timeout_allows_retry(const struct response_timeout *timeout, const struct node_queue *node_queue,
			  struct entry *entry);

#endif
