/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engine.h - sends requests and receives responses, with many MADs in flight
 *
 * Requests are queued with engine_submit() and processed by engine_run(), which calls back once for
 * each request: on its response, timeout or cancellation. The window limits all MADs in flight, a second
 * limit the MADs in flight to one node, so that no agent is flooded while others idle; a rate limit spreads the load
 * on the fabric. Requests of one node are sent in the order of submission. Nodes with many
 * requests, such as switches, are served first, because their requests go one after the other and
 * the run ends with the last. After a response, the next request to the node is sent before the
 * callback; callbacks run when no more MADs are waiting to be received.
 *
 * Timeouts adapt to each node: a request times out after four response times of its node, at least
 * 20 ms; for a node without any response yet, after four recent response times of others, at least
 * 200 ms. Retries are sent within that time, and the first response to any of them completes the
 * request. A request that timed out no longer counts against the limits. An unresponsive node thus
 * delays a run by 20 ms; the next request to it is sent once and times out after 5 ms. A late response
 * updates the response time of the node, which lengthens its next timeout, and is passed on only to a
 * request with a callback for late responses.
 *
 * When no response arrives from any node, the fabric or this process is stalled, and no node is at
 * fault. So a MAD times out only after a response to a MAD that was sent later. After 5 ms without
 * responses, recently completed requests are repeated as probes. If the probes get no response either,
 * a MAD times out after 250 ms.
 *
 * A callback may submit further requests, which belong to the same run. A run may have a deadline,
 * at which it ends with the requests completed so far. One thread owns an engine and its transport.
 */
#ifndef IBWIRE_WIRE_ENGINE_H
#define IBWIRE_WIRE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/mad.h"

struct clock;
struct engine;
struct error;
struct path;
struct transport;

/* The kernel's send queue of QP1 holds 128, and ibsim stops at 384 outstanding. */
#define ENGINE_WINDOW_MAX 128

struct engine_settings {
	unsigned window;     /* MADs in flight over all, 1..ENGINE_WINDOW_MAX */
	unsigned per_node;   /* MADs in flight to one node, 1.. */
	unsigned max_mads_per_s; /* 0: no limit */
	unsigned timeout_ms; /* maximum response timeout, for any node */
	unsigned retries;    /* of a request before it times out; 4 more on a lossy fabric */
	unsigned waiting_ms; /* a MAD to a node without any response yet leaves the window after this time; 0: never */
};

struct engine_counts {
	uint64_t sent;      /* MADs, retries included */
	uint64_t retried;
	uint64_t timed_out; /* MADs without a response before the next try or the timeout */
	uint64_t late;      /* responses to requests that had timed out, or were answered already */
	uint64_t ignored;   /* received MADs that match no request */
	uint64_t probes;    /* requests repeated to detect a stall of the fabric */
};

enum request_result { REQUEST_ANSWERED, REQUEST_TIMED_OUT, REQUEST_CANCELLED };

struct request;

/* How a request ended. */
struct response {
	enum request_result result;
	const uint8_t *mad; /* with its header, maybe with an error status; NULL unless answered */
	int64_t at_us;      /* CLOCK_BOOTTIME of the response */
};

/* The callback of a request, called once. */
typedef void request_done(void *ctx, const struct request *request, const struct response *response);

struct request {
	uint32_t node;       /* a small number that identifies the node; response times are kept by it */
	struct mad_address to;
	uint8_t mgmt_class;
	uint8_t port_select; /* performance MADs: byte 1 of the attribute */
	bool once;           /* no retries */
	uint16_t attribute;
	uint32_t modifier;
	const struct path *path; /* of CLASS_SUBN_DIRECTED; borrowed until it is called back */
	uint64_t mkey;       /* M_Key of the node, or PM_Key of the performance agent; 0: none */
	uint32_t tag;        /* for the owner */
	request_done *done;
	request_done *late;  /* of each response after the timeout, during a run; @ctx stays valid. NULL: ignored */
	void *ctx;
};

/*
 * engine_create - an engine over a transport
 * @transport, @clock:  borrowed, must outlive the engine
 * Return: 0 or ERR_NOMEM.
 */
int engine_create(const struct transport *transport, const struct clock *clock, const struct engine_settings *settings,
		  struct engine **ret, struct error *err);
void engine_destroy(struct engine *engine);

/* engine_submit - queue one request (copied). Return: 0 or ERR_NOMEM. */
int engine_submit(struct engine *engine, const struct request *request, struct error *err);

/* engine_drop_node - cancel the queued requests of a node: REQUEST_CANCELLED */
void engine_drop_node(struct engine *engine, uint32_t node);

/*
 * engine_set_rate - change the limits, also from a callback
 * @max_mads_per_s:  0: no limit
 * @window:          as in engine_settings; MADs already in flight beyond it are not cancelled
 */
void engine_set_rate(struct engine *engine, unsigned max_mads_per_s, unsigned window);

/*
 * engine_finish_nodes - change the order in which nodes are served
 * @on:  a node is served until its queue is empty, so that a run that is cut leaves few nodes half
 *       polled. Otherwise (the default) nodes take turns with one request each, which keeps all
 *       busy.
 */
void engine_finish_nodes(struct engine *engine, bool on);

/*
 * engine_stop_when - a condition that cuts every run, checked with each MAD and each millisecond
 * @stopped:  such as stop_requested() of base/stop.h; NULL: none
 */
void engine_stop_when(struct engine *engine, bool (*stopped)(void));

/* engine_run() ended before all requests were completed. */
#define ENGINE_CUT 1

/*
 * engine_run - send and receive until all requests are called back
 * @deadline_us:  CLOCK_BOOTTIME at which the run is cut, within about a millisecond; 0: never
 *
 * At the deadline, or when the condition of engine_stop_when() holds, all remaining requests are
 * called back with REQUEST_CANCELLED. A callback must not submit requests on REQUEST_CANCELLED: the
 * run would never end. Responses to cancelled requests count as late.
 * Return: 0; ENGINE_CUT; ERR_UNAVAILABLE where the device failed: the remaining requests are called
 * back with REQUEST_CANCELLED as well.
 */
int engine_run(struct engine *engine, int64_t deadline_us, struct error *err);

/*
 * engine_finish - engine_run() also after a failed submission, since queued requests refer to their owner
 * @code:  of the submissions
 * Return: as engine_run(); without an error of its own, @code.
 */
int engine_finish(struct engine *engine, int code, int64_t deadline_us, struct error *err);

/*
 * engine_listen - between runs: receive a late response, to update response times
 * @timeout_ms:  maximum time to wait
 * Return: whether more may arrive; false at once if none is expected.
 */
bool engine_listen(struct engine *engine, unsigned timeout_ms);

/* engine_counts - since the engine was created. */
struct engine_counts engine_counts(const struct engine *engine);

#endif
