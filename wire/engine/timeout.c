/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/engine/timeout.h"

#include "base/clock.h"
#include "wire/engine/queue.h"

/*
 * The timeout of a request in response times of its node, and its minimum: other hosts query the
 * same agent, and this process is not scheduled in real time.
 */
#define TIMEOUT_FACTOR 4
#define TIMEOUT_MIN_US (20 * US_PER_MS)

/* Minimum timeout of a node without any response yet, which may be slow, for requests with retries. */
#define TIMEOUT_FIRST_US (200 * US_PER_MS)

/*
 * All tries of a request share its timeout: the last one is sent after these tenths of it, the
 * others at equal distances. No try times out before a quarter of it.
 */
#define LAST_TRY_TENTHS 7
#define TRY_SHARE 4

/* After a timeout the node is unresponsive for this time: no retries, shorter timeouts. */
#define UNRESPONSIVE_US (100 * US_PER_MS)

/*
 * The fabric is lossy when answered requests needed at least LOSSY_MIN retries, and one retry for
 * each LOSSY_SHARE requests. Then a request gets LOSSY_RETRIES more before its node counts as
 * unresponsive.
 */
#define LOSSY_MIN 8
#define LOSSY_SHARE 50
#define LOSSY_RETRIES 4

void timeout_init(struct response_timeout *timeout, const struct engine_settings *settings)
{
	*timeout = (struct response_timeout){ .max_us = (int64_t)settings->timeout_ms * US_PER_MS,
				       .retries = settings->retries };
}

void timeout_new_run(struct response_timeout *timeout)
{
	timeout->answered /= 2;
	timeout->repeated /= 2;
}

/* A moving average with weight 1/8; the first response and much slower ones replace it. */
static void average(int64_t *mean_us, int64_t response_us)
{
	if (!*mean_us || response_us > TIMEOUT_FACTOR * *mean_us)
		*mean_us = response_us;
	else
		*mean_us += (response_us - *mean_us) / 8;
}

void timeout_learn(struct response_timeout *timeout, struct node_queue *node_queue, int64_t response_us)
{
	node_queue->unresponsive_us = 0;
	if (response_us > timeout->max_us)
		return;
	average(&node_queue->response_us, response_us);
	average(&timeout->response_us, response_us);
}

void timeout_count_response(struct response_timeout *timeout, unsigned repeated)
{
	timeout->answered++;
	timeout->repeated += repeated;
}

static bool is_lossy(const struct response_timeout *timeout)
{
	return timeout->repeated >= LOSSY_MIN && timeout->repeated * LOSSY_SHARE >= timeout->answered;
}

/*
 * Another request to the node just timed out. Not for nodes without any response yet, which may be
 * slow; and not without retries: then the owner repeats requests and chooses the timeout itself.
 */
static bool is_unresponsive(const struct response_timeout *timeout, const struct node_queue *node_queue,
			    const struct entry *entry)
{
	return timeout->retries && node_queue->response_us && node_queue->unresponsive_us &&
	       entry->first_us - node_queue->unresponsive_us < UNRESPONSIVE_US;
}

/* Timeout of a request, with all its tries. */
static int64_t request_timeout_us(const struct response_timeout *timeout, const struct node_queue *node_queue,
				  const struct entry *entry)
{
	bool first = !node_queue->response_us && !entry->request.once;
	int64_t wait_us = TIMEOUT_FACTOR * (first ? timeout->response_us : node_queue->response_us);

	if (first && wait_us < TIMEOUT_FIRST_US)
		wait_us = TIMEOUT_FIRST_US;
	if (wait_us < TIMEOUT_MIN_US)
		wait_us = TIMEOUT_MIN_US;
	if (is_unresponsive(timeout, node_queue, entry))
		wait_us /= TRY_SHARE;
	return wait_us < timeout->max_us ? wait_us : timeout->max_us;
}

/* Timeout of the current try, from the first try on. */
static int64_t try_timeout_us(const struct response_timeout *timeout, const struct node_queue *node_queue,
			      const struct entry *entry, int64_t wait_us)
{
	int64_t least_us = node_queue->response_us * 3 / 2, share_us;

	if (!entry->retries_left || is_unresponsive(timeout, node_queue, entry))
		return wait_us;
	share_us = wait_us * LAST_TRY_TENTHS / 10 * (entry->tries + 1) / (entry->tries + entry->retries_left);
	return share_us > least_us ? share_us : least_us;
}

bool timeout_expired(const struct response_timeout *timeout, const struct node_queue *node_queue,
		     const struct entry *entry, int64_t sent_us, int64_t now_us)
{
	int64_t wait_us = request_timeout_us(timeout, node_queue, entry);

	return now_us - sent_us >= wait_us / TRY_SHARE &&
	       now_us - entry->first_us >= try_timeout_us(timeout, node_queue, entry, wait_us);
}

/* An unresponsive node gets no retries, except on a lossy fabric, where requests get more. */
bool timeout_allows_retry(const struct response_timeout *timeout, const struct node_queue *node_queue,
			  struct entry *entry)
{
	if (!is_lossy(timeout) && is_unresponsive(timeout, node_queue, entry))
		return false;
	if (!entry->retries_left && !entry->extended && !entry->request.once && timeout->retries && is_lossy(timeout)) {
		entry->extended = true;
		entry->retries_left = LOSSY_RETRIES;
	}
	return entry->retries_left > 0;
}

/* --- stalls of the fabric --- */

/* Time without any response after which a probe is sent. */
#define LIVENESS_PROBE_US (5 * US_PER_MS)

/* Time without any response, in spite of several probes, that counts as a stall. */
#define LIVENESS_STALL_US (LIVENESS_PROBE_US * 6)

void liveness_start(struct liveness *liveness, int64_t now_us)
{
	if (liveness->response_us < now_us)
		liveness->response_us = now_us;
}

void liveness_store_probe(struct liveness *liveness, const struct request *request)
{
	if (request->path)
		return;
	if (liveness->probe_count && liveness->probes[liveness->probe_newest].node != request->node)
		liveness->probe_newest = (liveness->probe_newest + 1) % LIVENESS_PROBES;
	if (liveness->probe_newest >= liveness->probe_count)
		liveness->probe_count = liveness->probe_newest + 1;
	liveness->probes[liveness->probe_newest] = *request;
}

const struct request *liveness_next_probe(struct liveness *liveness, int64_t now_us)
{
	if (!liveness->probe_count || now_us - liveness->response_us < LIVENESS_PROBE_US ||
	    now_us - liveness->probed_us < LIVENESS_PROBE_US)
		return NULL;
	liveness->probed_us = now_us;
	liveness->probe_next = (liveness->probe_next + 1) % liveness->probe_count;
	return &liveness->probes[liveness->probe_next];
}

int64_t liveness_response(struct liveness *liveness, int64_t sent_us, int64_t now_us, bool waiting)
{
	int64_t from_us;

	/* Without probes a stall cannot be distinguished from a slow node. */
	if (liveness->probe_count && waiting && now_us - liveness->response_us >= LIVENESS_STALL_US) {
		liveness->stall_from_us = liveness->response_us;
		liveness->stall_to_us = now_us;
	}
	liveness->response_us = now_us;
	if (sent_us > liveness->answered_sent_us)
		liveness->answered_sent_us = sent_us;
	from_us = sent_us > liveness->stall_from_us ? sent_us : liveness->stall_from_us;
	if (liveness->stall_to_us > from_us)
		return now_us - sent_us - (liveness->stall_to_us - from_us);
	return now_us - sent_us;
}

bool liveness_node_unresponsive(const struct liveness *liveness, int64_t sent_us, int64_t now_us)
{
	if (!liveness->probe_count || liveness->answered_sent_us - sent_us >= LIVENESS_PROBE_US / 2)
		return true;
	return now_us - sent_us >= LIVENESS_MAX_US && now_us - liveness->response_us >= LIVENESS_MAX_US;
}
