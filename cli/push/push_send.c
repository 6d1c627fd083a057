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

/* A batch that is being sent. */
struct push_request {
	struct push_target *target;
	CURL *curl;
	struct curl_slist *headers;
	struct text compressed;
	uint64_t samples;
	enum { REQUEST_FREE, REQUEST_DUE, REQUEST_SENT } state;
	unsigned tries;
	bool while_failing; /* it was sent to find out whether the target responds again */
	char why[CURL_ERROR_SIZE];
	char reply[160];    /* the beginning of the response's first line */
	size_t reply_len;
};

static size_t take_reply(char *bytes, size_t size, size_t count, void *ctx)
{
	struct push_request *request = ctx;
	size_t len = size * count;

	for (size_t i = 0; i < len && request->reply_len < sizeof(request->reply) - 1; i++)
		request->reply[request->reply_len++] = bytes[i];
	return len;
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

static int compress_request(struct push_request *request, const struct text *batch, struct error *err)
{
	size_t len = snappy_max_compressed_length(batch->len);
	char *room;

	text_clear(&request->compressed);
	room = text_reserve(&request->compressed, len);
	if (!room)
		return err_nomem(err);
	if (snappy_compress(batch->chars, batch->len, room, &len) != SNAPPY_OK)
		return err_set(err, ERR_INTERNAL, "cannot compress a batch of %zu bytes", batch->len);
	text_extend(&request->compressed, len);
	return 0;
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

static void settle(struct push_request *request, long status)
{
	struct push_target *target = request->target;
	char reason[512];

	request->state = REQUEST_FREE;
	if (request->while_failing) {
		log_info("%s responds again", target->shown);
		target->failing = false;
	}
	target->backoff_ms = 0;
	target->batches++;
	target->bytes += request->compressed.len;
	if (status < 300) {
		target->samples += request->samples;
		return;
	}
	target->samples_rejected += request->samples;
	if (target->rejected)
		return;
	target->rejected = true;
	describe(request, status, reason, sizeof(reason));
	log_warning("%s rejects samples: %s; skipped a batch of %llu, more of them are only counted", target->shown,
		    reason, (unsigned long long)request->samples);
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
	request->reply_len = 0;
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
	if (result == CURLE_OK) {
		curl_easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(request->curl, CURLINFO_RETRY_AFTER, &wait_s);
	} else if (!*request->why) {
		snprintf(request->why, sizeof(request->why), "%s", curl_easy_strerror(result));
	}
	curl_multi_remove_handle(target->multi, request->curl);
	if ((status < 200 || status >= 300) && status != 400)
		return retry_later(request, status, wait_s, err);
	settle(request, status);
	return 0;
}

/* Send and receive until so many requests are free. Return: 1; 0: a stop was requested; or an error. */
static int run_until(struct push_target *target, unsigned free_wanted, struct error *err)
{
	while (!stop_requested()) {
		unsigned free_count = 0;
		const CURLMsg *message;
		int code = start_due(target, err), running, left;

		curl_multi_perform(target->multi, &running);
		while (code == 0 && (message = curl_multi_info_read(target->multi, &left)))
			code = complete(target, message, err);
		if (code < 0)
			return code;
		for (int i = 0; i < PUSH_PARALLEL; i++)
			free_count += target->requests[i].state == REQUEST_FREE;
		if (free_count >= free_wanted)
			return 1;
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
	code = compress_request(request, batch, err);
	if (code < 0)
		return code;
	request->samples = samples;
	request->tries = 0;
	request->state = REQUEST_DUE;
	return run_until(target, 0, err);
}

int push_target_finish(struct push_target *target, struct error *err)
{
	return run_until(target, PUSH_PARALLEL, err);
}
