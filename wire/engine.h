/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * engine.h - many questions in flight, each with its own deadline
 *
 * Requests are queued with engine_submit() and run by engine_run(), which calls
 * back once for each: answered, or not. A window limits what is in flight over
 * all, a second limit what is in flight to one node, so that no node's agent is
 * flooded while others idle; a rate limit spreads what the fabric feels. The
 * requests of one node are sent in the order in which they were submitted. A node with many of them, such as a
 * switch, is asked before those with few: they go one after the other, and the run ends with the last.
 * When a node has answered well its next question is sent first; owners are told when nothing more is here to be taken.
 *
 * How long an answer may take is learnt from each node: a question is given up when it
 * is older than four of its node's usual answer times, and at least 20 ms (200 ms
 * where the node was never heard). Within that time it is sent again, as often as there are
 * retries; the answer to any of these MADs is the question's. Then it is called back as timed out, and no
 * longer counts against the limits. So a dead node delays a run by 20 ms; the next question to one that has
 * just left a question open is sent once, and given up after 5 ms.
 * The answer to what was given up, should it still come, only teaches how slow the node is: the next
 * question is waited for longer.
 *
 * Where nobody at all is heard the nodes are not to blame: the wire stands still, or
 * this process did. So a MAD is given up only when one that was sent later was answered; in
 * a silence of 5 ms those who answered last are asked the same once more, to find out. Where they are
 * silent, too, a MAD is given up after 250 ms.
 *
 * A callback may submit further requests; they belong to the same run. A run may
 * have a deadline of its own, at which it ends with what it has.
 * One thread owns an engine and its transport.
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
	unsigned timeout_ms; /* how long an answer may take at most, however slow the node */
	unsigned retries;    /* how often a question is asked again before it is given up; on a lossy wire 4 more */
};

struct engine_counts {
	uint64_t sent;      /* MADs, retries included */
	uint64_t retried;
	uint64_t timed_out; /* MADs that nobody answered before the next try, or in time */
	uint64_t late;      /* answers to questions that had been given up, or answered */
	uint64_t ignored;   /* MADs that came and answered nothing that was asked */
	uint64_t probes;    /* questions that were repeated in a silence, to hear whether the wire is alive */
};

enum request_result { REQUEST_ANSWERED, REQUEST_TIMED_OUT, REQUEST_CANCELLED };

struct request;

/*
 * What a request's owner is told, once.
 * @mad:    the answer with its header; NULL unless answered. Its status may be
 *          an error: mad_read_header() tells.
 * @at_us:  CLOCK_BOOTTIME when the answer came
 */
typedef void request_done(void *ctx, const struct request *request, enum request_result result,
			  const uint8_t mad[MAD_SIZE], int64_t at_us);

struct request {
	uint32_t node;       /* a small number that stays the same for one node; what is learnt goes by it */
	struct mad_address to;
	uint8_t mgmt_class;
	uint8_t port_select; /* performance MADs: byte 1 of the attribute */
	bool once;           /* not sent again when it is given up */
	uint16_t attribute;
	uint32_t modifier;
	const struct path *path; /* of CLASS_SUBN_DIRECTED; borrowed until it is called back */
	uint64_t mkey;       /* SMPs: the node's M_Key, 0 where it has none */
	uint32_t tag;        /* the owner's own */
	request_done *done;
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

/*
 * engine_drop_node - give up what is queued for a node and not sent yet
 * Each is called back with REQUEST_CANCELLED. For a node that fell silent.
 */
void engine_drop_node(struct engine *engine, uint32_t node);

/*
 * engine_set_rate - other limits from now on; also from a callback, in mid run
 * @max_mads_per_s:  0: no limit
 * @window:          as in engine_settings; what is in flight beyond it stays there
 */
void engine_set_rate(struct engine *engine, unsigned max_mads_per_s, unsigned window);

/*
 * engine_finish_nodes - in which order nodes take turns, from now on
 * @on:  a node that was begun with comes before those that wait, until its queue is
 *       empty: a run that is cut leaves few nodes half asked. Else (at first) each
 *       node sends one and goes to the end, which keeps all of them busy.
 */
void engine_finish_nodes(struct engine *engine, bool on);

/*
 * engine_stop_when - a question that may cut every run short, asked with each MAD and each millisecond
 * @stopped:  as stop_requested() of base/stop.h; NULL: nothing does
 */
void engine_stop_when(struct engine *engine, bool (*stopped)(void));

/* What engine_run() returns where it came to an end before its requests did. */
#define ENGINE_CUT 1

/*
 * engine_run - send and receive until every request was called back
 * @deadline_us:  CLOCK_BOOTTIME at which the run is cut, within about a
 *                millisecond; 0: never
 *
 * At the deadline, or when engine_stop_when()'s question is answered with yes,
 * all that is queued or in flight is called back with REQUEST_CANCELLED. An answer to
 * what was in flight only teaches, as any late one. A callback that submits on
 * REQUEST_CANCELLED would be called for ever.
 * Return: 0; ENGINE_CUT; ERR_UNAVAILABLE where the device failed: then, too, the
 * rest was called back with REQUEST_CANCELLED.
 */
int engine_run(struct engine *engine, int64_t deadline_us, struct error *err);

/*
 * engine_listen - between runs: take a late answer, to learn from it
 * @timeout_ms:  how long to wait for one
 * Return: whether one may still come; false, at once, where none is expected.
 */
bool engine_listen(struct engine *engine, unsigned timeout_ms);

/* engine_counts - since the engine was created. */
struct engine_counts engine_counts(const struct engine *engine);

#endif
