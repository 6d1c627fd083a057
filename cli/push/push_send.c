/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_send.h"

#include <curl/curl.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"

enum { BACKOFF_FIRST_MS = 100, BACKOFF_MOST_MS = 30000, RETRY_AFTER_MOST_S = 3600, POLL_MS = 100 };

/* A batch that is being sent. */
struct push_request {
	struct push_target *target;
	struct http_post post;
	struct text compressed;
	uint64_t samples;
	struct text rest;   /* of the batch, not compressed: it is sent after this part */
	uint64_t rest_samples;
	enum { REQUEST_FREE, REQUEST_DUE, REQUEST_SENT } state;
	unsigned tries;
	bool while_failing; /* it was sent to find out whether the target responds again */
};

int push_target_open(struct push_target *target, struct error *err)
{
	int code = http_receiver_check(&target->receiver, err);

	if (code < 0)
		return code;
	target->multi = curl_multi_init();
	target->requests = calloc(PUSH_PARALLEL, sizeof(*target->requests));
	if (!target->multi || !target->requests)
		return err_nomem(err);
	for (int i = 0; i < PUSH_PARALLEL; i++) {
		struct push_request *request = &target->requests[i];

		request->target = target;
		if (!http_post_open(&request->post, &target->receiver, request))
			return err_nomem(err);
	}
	return 0;
}

void push_target_close(struct push_target *target)
{
	for (int i = 0; target->requests && i < PUSH_PARALLEL; i++) {
		struct push_request *request = &target->requests[i];

		if (request->state == REQUEST_SENT)
			curl_multi_remove_handle(target->multi, request->post.curl);
		http_post_close(&request->post);
		text_done(&request->compressed);
		text_done(&request->rest);
	}
	free(target->requests);
	target->requests = NULL;
	curl_multi_cleanup(target->multi);
	target->multi = NULL;
}

/* The length of so many series, each a byte and a length before its bytes, at the beginning of a batch. */
static size_t series_length(const struct text *batch, uint64_t count)
{
	size_t at = 0;

	for (; count; count--) {
		uint64_t len = 0;
		unsigned shift = 0;

		at++;
		do {
			len |= (uint64_t)(batch->chars[at] & 0x7f) << shift;
			shift += 7;
		} while (batch->chars[at++] & 0x80);
		at += len;
	}
	return at;
}

/* Compress the rest, or as many samples of it as the target takes. They are then due. */
static int compress_rest(struct push_request *request, struct error *err)
{
	uint64_t most = request->target->samples_most;
	struct text *rest = &request->rest;
	size_t taken = rest->len, len;
	char *room;

	request->samples = request->rest_samples;
	if (most && request->samples > most) {
		request->samples = most;
		taken = series_length(rest, most);
	}
	len = snappy_max_compressed_length(taken);
	text_clear(&request->compressed);
	room = text_reserve(&request->compressed, len);
	if (!room)
		return err_nomem(err);
	if (snappy_compress(rest->chars, taken, room, &len) != SNAPPY_OK)
		return err_set(err, ERR_INTERNAL, "cannot compress a batch of %zu bytes", taken);
	text_extend(&request->compressed, len);
	request->rest_samples -= request->samples;
	rest->len -= taken;
	memmove(rest->chars, rest->chars + taken, rest->len);
	request->tries = 0;
	request->state = REQUEST_DUE;
	return 0;
}

/* The target does not take so many samples: put them back, and send half of them. */
static int halve(struct push_request *request, struct error *err)
{
	struct push_target *target = request->target;
	struct text whole = { 0 };
	char *room;
	size_t len;

	if (snappy_uncompressed_length(request->compressed.chars, request->compressed.len, &len) != SNAPPY_OK)
		return err_set(err, ERR_INTERNAL, "cannot read a batch back");
	room = text_reserve(&whole, len);
	if (room && snappy_uncompress(request->compressed.chars, request->compressed.len, room, &len) == SNAPPY_OK)
		text_extend(&whole, len);
	text_append_bytes(&whole, text_chars(&request->rest), request->rest.len);
	text_done(&request->rest);
	request->rest = whole;
	request->rest_samples += request->samples;
	if (!target->samples_most || target->samples_most > request->samples / 2)
		target->samples_most = request->samples / 2;
	return text_failed(&whole) ? err_nomem(err) : compress_rest(request, err);
}

static int settle(struct push_request *request, long status, struct error *err)
{
	struct push_target *target = request->target;
	char reason[512];

	request->state = REQUEST_FREE;
	if (request->while_failing) {
		log_info("%s responds again", target->receiver.shown);
		target->failing = false;
	}
	target->backoff_ms = 0;
	http_post_describe(&request->post, status, reason, sizeof(reason));
	if (status == 413 && request->samples > 1) {
		if (!target->halved)
			log_warning("%s: %s; sending batches of %llu samples in halves", target->receiver.shown, reason,
				    (unsigned long long)request->samples);
		target->halved = true;
		return halve(request, err);
	}
	target->batches++;
	target->bytes += request->compressed.len;
	if (status < 300)
		target->samples += request->samples;
	else
		target->samples_rejected += request->samples;
	if (status >= 300 && !target->rejected) {
		target->rejected = true;
		log_warning("%s rejects samples: %s; skipped a batch of %llu, more of them are only counted",
			    target->receiver.shown, reason, (unsigned long long)request->samples);
	}
	return request->rest_samples ? compress_rest(request, err) : 0;
}

/* @wait_s: of Retry-After; 0: none */
static int retry_later(struct push_request *request, long status, long wait_s, struct error *err)
{
	struct push_target *target = request->target;
	int64_t now_us = clock_boottime_us(clock_system());
	char reason[512];

	request->state = REQUEST_DUE;
	target->attempts_failed++;
	http_post_describe(&request->post, status, reason, sizeof(reason));
	if (target->once && ++request->tries == PUSH_ATTEMPTS_ONCE)
		return err_set(err, ERR_UNAVAILABLE, "%s: %.300s; the cursor has the last acknowledged sweep",
			       target->receiver.shown, reason);
	if (!target->failing)
		log_warning("%s: %s; trying again until it responds", target->receiver.shown, reason);
	/* Requests that fail together double the time once. */
	if (!target->failing || request->while_failing) {
		target->backoff_ms = target->backoff_ms ? target->backoff_ms * 2 : BACKOFF_FIRST_MS;
		if (target->backoff_ms > BACKOFF_MOST_MS)
			target->backoff_ms = BACKOFF_MOST_MS;
		target->retry_us = now_us + target->backoff_ms * US_PER_MS;
	}
	target->failing = true;
	if (wait_s > RETRY_AFTER_MOST_S)
		wait_s = RETRY_AFTER_MOST_S;
	if (target->retry_us < now_us + wait_s * US_PER_S)
		target->retry_us = now_us + wait_s * US_PER_S;
	return 0;
}

static int start(struct push_request *request, struct error *err)
{
	static const char *const headers[] = { "Content-Type: application/x-protobuf", "Content-Encoding: snappy",
					       "X-Prometheus-Remote-Write-Version: 0.1.0", "Expect:", NULL };
	struct push_target *target = request->target;
	int code = http_post_prepare(&request->post, headers, request->compressed.chars, request->compressed.len, err);

	request->while_failing = target->failing;
	if (code < 0)
		return code == ERR_NOMEM ? code : retry_later(request, 0, 0, err);
	if (curl_multi_add_handle(target->multi, request->post.curl) != CURLM_OK)
		return err_nomem(err);
	request->state = REQUEST_SENT;
	return 0;
}

/* A target that fails gets one request at a time. */
static int start_due(struct push_target *target, struct error *err)
{
	unsigned sent = 0;
	int code = 0;

	for (int i = 0; i < PUSH_PARALLEL; i++)
		sent += target->requests[i].state == REQUEST_SENT;
	for (int i = 0; i < PUSH_PARALLEL && code == 0; i++) {
		if (target->failing && (sent || clock_boottime_us(clock_system()) < target->retry_us))
			break;
		if (target->requests[i].state != REQUEST_DUE)
			continue;
		code = start(&target->requests[i], err);
		sent++;
	}
	return code;
}

static int complete(struct push_target *target, const CURLMsg *message, struct error *err)
{
	struct push_request *request;
	struct http_post *post = NULL;
	long wait_s, status;

	curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &post);
	request = post->ctx;
	status = http_post_status(post, (int)message->data.result, &wait_s);
	curl_multi_remove_handle(target->multi, post->curl);
	if ((status >= 200 && status < 300) || status == 400 || status == 409 || status == 413 || status == 422)
		return settle(request, status, err);
	return retry_later(request, status, wait_s, err);
}

bool push_target_ends(struct push_target *target)
{
	target->reload |= stop_take_reload();
	return target->reload || stop_requested();
}

/* Send and receive until so many requests are free. Return: 1; 0: push_target_ends(); or an error. */
static int run_until(struct push_target *target, unsigned free_wanted, struct error *err)
{
	while (!push_target_ends(target)) {
		unsigned free_count = 0;
		const CURLMsg *message;
		int code = start_due(target, err), running, left, completed = 0;

		curl_multi_perform(target->multi, &running);
		for (; code == 0 && (message = curl_multi_info_read(target->multi, &left)); completed++)
			code = complete(target, message, err);
		if (code < 0)
			return code;
		for (int i = 0; i < PUSH_PARALLEL; i++)
			free_count += target->requests[i].state == REQUEST_FREE;
		if (free_count >= free_wanted)
			return 1;
		/* The rest of a batch may be due. */
		if (!completed)
			curl_multi_poll(target->multi, NULL, 0, POLL_MS, NULL);
	}
	return 0;
}

int push_target_send(struct push_target *target, const struct text *batch, uint64_t samples, struct error *err)
{
	struct push_request *request = target->requests;
	int code = run_until(target, 1, err);

	if (code <= 0)
		return code;
	while (request->state != REQUEST_FREE)
		request++;
	text_clear(&request->rest);
	text_append_bytes(&request->rest, batch->chars, batch->len);
	request->rest_samples = samples;
	code = text_failed(&request->rest) ? err_nomem(err) : compress_rest(request, err);
	return code < 0 ? code : run_until(target, 0, err);
}

int push_target_finish(struct push_target *target, struct error *err)
{
	return run_until(target, PUSH_PARALLEL, err);
}
