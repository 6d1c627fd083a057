/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * timeout.h - response timeouts and retries of requests, stalls of the fabric; private to the engine
 *
 * engine.h describes the behaviour. State of a node is in its struct node_queue, state of a request
 * in its struct entry; here is the loss rate of the fabric. No I/O, and no clock.
 */
#ifndef IBWIRE_WIRE_ENGINE_TIMEOUT_H
#define IBWIRE_WIRE_ENGINE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/engine.h"

struct entry;
struct node_queue;

struct response_timeout {
	int64_t max_us;             /* upper limit of every timeout */
	int64_t response_us;         /* moving average over all nodes; 0: no response yet */
	unsigned retries;            /* of each request, from the settings of the engine */
	uint64_t answered, repeated; /* recent requests that were answered, and their retries */
};

void timeout_init(struct response_timeout *timeout, const struct engine_settings *settings);

/* timeout_new_run - halve the counts of earlier runs. */
void timeout_new_run(struct response_timeout *timeout);

/*
 * timeout_learn - update the response times of a node and of the fabric
 * @response_us:  of one response; values above the maximum timeout are ignored: the response waited
 *                to be read
 */
void timeout_learn(struct response_timeout *timeout, struct node_queue *node_queue, int64_t response_us);

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

/*
 * The fabric may be stalled, or this process may not have been scheduled: then no node is at fault,
 * and no node has become slow. While requests are in flight and no response arrived for 5 ms, a
 * recently answered request is sent again as a probe. Its response proves that MADs arrive, so
 * older requests without a response are the fault of their nodes.
 */

/* Number of recently answered requests, of different nodes, that are kept as probes. */
#define LIVENESS_PROBES 8

/* Timeout of a try while no response arrives at all; each further try waits as long again. */
#define LIVENESS_MAX_US (250 * 1000)

/* A zeroed struct is the start. Times are CLOCK_BOOTTIME. */
struct liveness {
	struct request probes[LIVENESS_PROBES]; /* answered requests of different nodes */
	unsigned probe_count, probe_next, probe_newest;
	int64_t probed_us;                  /* when the last probe was sent */
	int64_t response_us;                   /* last response, or last time without requests in flight */
	int64_t answered_sent_us;                   /* send time of the newest request that was answered */
	int64_t stall_from_us, stall_to_us; /* the last stall */
};

/* liveness_start - responses are expected from now on, at the start of a run or after a pause */
void liveness_start(struct liveness *liveness, int64_t now_us);

/* liveness_store_probe - keep an answered request as a probe, unless its path may change */
void liveness_store_probe(struct liveness *liveness, const struct request *request);

/* liveness_next_probe - the probe to send now; NULL: not due, or no request was answered yet */
const struct request *liveness_next_probe(struct liveness *liveness, int64_t now_us);

/*
 * liveness_response - a response arrived
 * @sent_us:  when its request was sent
 * @waiting:  requests have been in flight since the previous response
 * Return: response time of the node in us, without the time of a stall.
 */
int64_t liveness_response(struct liveness *liveness, int64_t sent_us, int64_t now_us, bool waiting);

/*
 * liveness_node_unresponsive - an old request without a response is the fault of its node
 * True if a request that was sent well after it was answered, if there is no probe, or if no
 * response arrived for LIVENESS_MAX_US.
 */
bool liveness_node_unresponsive(const struct liveness *liveness, int64_t sent_us, int64_t now_us);

#endif
