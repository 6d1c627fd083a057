/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* push_send.h - batches of a WriteRequest to a receiver over HTTP, until each is acknowledged or rejected */
#ifndef IBWIRE_CLI_PUSH_SEND_H
#define IBWIRE_CLI_PUSH_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/lib/http_post.h"

struct error;
struct push_request;

/* Attempts to send a batch with --once: 6 seconds in all if none of them blocks. */
#define PUSH_ATTEMPTS_ONCE 7
/* Requests in flight. A receiver processes each of them on one core. */
#define PUSH_PARALLEL 4

struct push_target {
	struct http_receiver receiver;
	bool once;
	bool reload;            /* SIGHUP: all of the above is to be read again */

	void *multi;
	struct push_request *requests;
	int64_t backoff_ms, retry_us;
	bool failing, rejected, halved; /* was logged */
	uint64_t samples_most;  /* of a batch, after 413; 0: no limit */
	uint64_t batches, samples, samples_rejected, bytes, attempts_failed;
};

/*
 * push_target_open - prepare requests to a target whose first members are set; nothing is sent
 * Return: 0; ERR_USAGE: the URL; ERR_IO: the certificates cannot be read; ERR_NOMEM.
 */
int push_target_open(struct push_target *target, struct error *err);
void push_target_close(struct push_target *target);

/* push_target_ends - was a stop or a reload requested? */
bool push_target_ends(struct push_target *target);

/*
 * push_target_send - compress one WriteRequest and begin to send it
 *
 * Up to PUSH_PARALLEL requests are in flight and may arrive in any order, so no two of them may have
 * samples of the same series: the caller calls push_target_finish() after the last batch of a sweep.
 *
 * Connection errors, 429 and 5xx are retried with exponential back-off or after the time of
 * Retry-After, without end. So are codes about the request (a token that has expired, a wrong path).
 * After 413 the batch is sent in halves, and later ones are that small. After 400, 409 and 422, which are
 * about the samples, and after 413 for a single sample, the batch is skipped and counted.
 *
 * Return: 1; 0: push_target_ends(); ERR_UNAVAILABLE with @once, also about an earlier batch; ERR_NOMEM.
 */
int push_target_send(struct push_target *target, const struct text *batch, uint64_t samples, struct error *err);

/* push_target_finish - wait until every batch is acknowledged or skipped. Return: as push_target_send(). */
int push_target_finish(struct push_target *target, struct error *err);

#endif
