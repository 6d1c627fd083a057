/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_send.h"

#include <curl/curl.h>
#include <errno.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "config.h"

enum { BACKOFF_FIRST_MS = 100, BACKOFF_MOST_MS = 30000, RETRY_AFTER_MOST_S = 3600, POLL_MS = 100 };

/* The body of a response is not needed: it is read so far, so that the connection can be used again. */
enum { BODY_MOST = 64 << 10, BODY_S = 5 };

/* A batch that is being sent. */
struct push_request {
	struct push_target *target;
	CURL *curl;
	struct curl_slist *headers;
	struct text compressed;
	uint64_t samples;
	struct text rest;   /* of the batch, not compressed: it is sent after this part */
	uint64_t rest_samples;
	enum { REQUEST_FREE, REQUEST_DUE, REQUEST_SENT } state;
	unsigned tries;
	bool while_failing; /* it was sent to find out whether the target responds again */
	char why[CURL_ERROR_SIZE];
	char reply[160];    /* the beginning of the response's first line */
	size_t reply_len, body_len;
	bool is_cut;        /* the response has its status, and a body that was not read to its end */
};

static size_t take_reply(char *bytes, size_t size, size_t count, void *ctx)
{
	struct push_request *request = ctx;
	size_t len = size * count;

	for (size_t i = 0; i < len && request->reply_len < sizeof(request->reply) - 1; i++)
		request->reply[request->reply_len++] = bytes[i];
	request->body_len += len;
	request->is_cut = request->body_len > BODY_MOST;
	return request->is_cut ? 0 : len;
}

/* Called about once a second. Return: not 0: end the transfer. */
static int check_time(void *ctx, curl_off_t wanted, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
	struct push_request *request = ctx;
	curl_off_t first_us = 0, total_us = 0;

	(void)wanted;
	(void)to_send;
	(void)sent;
	if (!received)
		return 0;
	curl_easy_getinfo(request->curl, CURLINFO_STARTTRANSFER_TIME_T, &first_us);
	curl_easy_getinfo(request->curl, CURLINFO_TOTAL_TIME_T, &total_us);
	request->is_cut |= first_us && total_us - first_us > BODY_S * US_PER_S;
	return request->is_cut;
}

/* "https://host:port/path", without user, password and query, which may be secret. */
static int show_url(const char *url, char *ret, size_t size, struct error *err)
{
	static const CURLUPart wanted[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT, CURLUPART_PATH };
	char *parts[4] = { NULL };
	CURLU *handle = curl_url();
	CURLUcode code = handle ? curl_url_set(handle, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
	bool good;

	for (int i = 0; i < 4 && code == CURLUE_OK; i++)
		code = curl_url_get(handle, wanted[i], &parts[i], CURLU_DEFAULT_PORT);
	good = code == CURLUE_OK && (!strcmp(parts[0], "http") || !strcmp(parts[0], "https"));
	if (good)
		snprintf(ret, size, "%s://%s:%s%s", parts[0], parts[1], parts[2], parts[3]);
	for (int i = 0; i < 4; i++)
		curl_free(parts[i]);
	curl_url_cleanup(handle);
	if (code == CURLUE_OUT_OF_MEMORY)
		return err_nomem(err);
	if (!good)
		return err_set(err, ERR_USAGE, "--remote-write requires an URL that begins with http:// or https://");
	return 0;
}

static bool open_request(struct push_request *request, struct push_target *target)
{
	CURL *curl = curl_easy_init();

	*request = (struct push_request){ .target = target, .curl = curl };
	/* Strings are copied, which may fail for lack of memory. */
	if (!curl || curl_easy_setopt(curl, CURLOPT_URL, target->url) ||
	    (target->ca_path && curl_easy_setopt(curl, CURLOPT_CAINFO, target->ca_path)) ||
	    curl_easy_setopt(curl, CURLOPT_USERAGENT, "ibwire/" PACKAGE_VERSION))
		return false;
	curl_easy_setopt(curl, CURLOPT_PRIVATE, request);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, request->why);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_time);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
	return true;
}

int push_target_open(struct push_target *target, struct error *err)
{
	int code = show_url(target->url, target->shown, sizeof(target->shown), err);

	if (code < 0)
		return code;
	if (target->ca_path && access(target->ca_path, R_OK))
		return err_set(err, ERR_IO, "cannot read the certificates of --ca-file %s: %s", target->ca_path,
			       strerror(errno));
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_nomem(err);
	target->multi = curl_multi_init();
	target->requests = calloc(PUSH_PARALLEL, sizeof(*target->requests));
	if (!target->multi || !target->requests)
		return err_nomem(err);
	for (int i = 0; i < PUSH_PARALLEL; i++)
		if (!open_request(&target->requests[i], target))
			return err_nomem(err);
	return 0;
}

void push_target_close(struct push_target *target)
{
	for (int i = 0; target->requests && i < PUSH_PARALLEL; i++) {
		struct push_request *request = &target->requests[i];

		if (request->state == REQUEST_SENT)
			curl_multi_remove_handle(target->multi, request->curl);
		curl_easy_cleanup(request->curl);
		curl_slist_free_all(request->headers);
		text_done(&request->compressed);
		text_done(&request->rest);
	}
	free(target->requests);
	target->requests = NULL;
	curl_multi_cleanup(target->multi);
	target->multi = NULL;
}

/* The token is read for each attempt: others replace it before it expires. */
static int add_token(const char *path, struct curl_slist **headers, struct error *err)
{
	struct text token = { 0 }, header = { 0 };
	struct curl_slist *more = NULL;
	int code = text_read_file(path, "the token ", 64 << 10, &token, err);

	while (code == 0 && token.len && strchr(" \t\r\n", token.chars[token.len - 1]))
		token.chars[--token.len] = '\0';
	if (code == 0 && (!token.len || !text_is_plain(token.chars, token.len)))
		code = err_set(err, ERR_IO, "%s:1: not a token in one line", path);
	if (code == 0) {
		text_appendf(&header, "Authorization: Bearer %s", token.chars);
		more = text_failed(&header) ? NULL : curl_slist_append(*headers, header.chars);
		if (more)
			*headers = more;
		else
			code = err_nomem(err);
	}
	text_done(&header);
	text_done(&token);
	return code;
}

static struct curl_slist *make_headers(void)
{
	static const char *const lines[] = { "Content-Type: application/x-protobuf", "Content-Encoding: snappy",
					     "X-Prometheus-Remote-Write-Version: 0.1.0", "Expect:" };
	struct curl_slist *headers = NULL;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct curl_slist *more = curl_slist_append(headers, lines[i]);

		if (!more) {
			curl_slist_free_all(headers);
			return NULL;
		}
		headers = more;
	}
	return headers;
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

/* Why the target has not taken a batch: its HTTP response, or the error. Both may contain text from the receiver. */
static void describe(const struct push_request *request, long status, char *ret, size_t size)
{
	const char *words = status ? request->reply : request->why;
	char clean[2 * CURL_ERROR_SIZE];

	text_sanitise(words, strcspn(words, "\r\n"), clean, sizeof(clean));
	if (status)
		snprintf(ret, size, "HTTP status %ld%s%.400s", status, *clean ? ": " : "", clean);
	else
		snprintf(ret, size, "%s", clean);
}

static int settle(struct push_request *request, long status, struct error *err)
{
	struct push_target *target = request->target;
	char reason[512];

	request->state = REQUEST_FREE;
	if (request->while_failing) {
		log_info("%s responds again", target->shown);
		target->failing = false;
	}
	target->backoff_ms = 0;
	describe(request, status, reason, sizeof(reason));
	if (status == 413 && request->samples > 1) {
		if (!target->halved)
			log_warning("%s: %s; sending batches of %llu samples in halves", target->shown, reason,
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
			    target->shown, reason, (unsigned long long)request->samples);
	}
	return request->rest_samples ? compress_rest(request, err) : 0;
}

/* @wait_s: of Retry-After; 0: none */
static int retry_later(struct push_request *request, long status, curl_off_t wait_s, struct error *err)
{
	struct push_target *target = request->target;
	int64_t now_us = clock_boottime_us(clock_system());
	char reason[512];

	request->state = REQUEST_DUE;
	target->attempts_failed++;
	describe(request, status, reason, sizeof(reason));
	if (target->once && ++request->tries == PUSH_ATTEMPTS_ONCE)
		return err_set(err, ERR_UNAVAILABLE, "%s: %.300s; the cursor has the last acknowledged sweep",
			       target->shown, reason);
	if (!target->failing)
		log_warning("%s: %s; trying again until it responds", target->shown, reason);
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
	struct push_target *target = request->target;
	struct error why = { 0 };
	int code = 0;

	request->while_failing = target->failing;
	request->reply_len = request->body_len = 0;
	request->is_cut = false;
	memset(request->reply, 0, sizeof(request->reply));
	request->why[0] = '\0';
	curl_slist_free_all(request->headers);
	request->headers = make_headers();
	if (!request->headers)
		return err_nomem(err);
	if (target->token_path)
		code = add_token(target->token_path, &request->headers, &why);
	if (code < 0) {
		snprintf(request->why, sizeof(request->why), "%.250s", why.text);
		return code == ERR_NOMEM ? err_nomem(err) : retry_later(request, 0, 0, err);
	}
	curl_easy_setopt(request->curl, CURLOPT_HTTPHEADER, request->headers);
	curl_easy_setopt(request->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->compressed.len);
	curl_easy_setopt(request->curl, CURLOPT_POSTFIELDS, request->compressed.chars);
	if (curl_multi_add_handle(target->multi, request->curl) != CURLM_OK)
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
	struct push_request *request = NULL;
	CURLcode result = message->data.result;
	curl_off_t wait_s = 0;
	long status = 0;

	curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
	if (result == CURLE_OK || request->is_cut) {
		curl_easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(request->curl, CURLINFO_RETRY_AFTER, &wait_s);
	} else if (!*request->why) {
		snprintf(request->why, sizeof(request->why), "%s", curl_easy_strerror(result));
	}
	curl_multi_remove_handle(target->multi, request->curl);
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
