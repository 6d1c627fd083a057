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

enum { BACKOFF_FIRST_MS = 100, BACKOFF_MOST_MS = 30000, RETRY_AFTER_MOST_S = 3600 };

static size_t take_reply(char *bytes, size_t size, size_t count, void *ctx)
{
	struct push_target *target = ctx;
	size_t len = size * count;

	for (size_t i = 0; i < len && target->reply_len < sizeof(target->reply) - 1; i++)
		target->reply[target->reply_len++] = bytes[i];
	return len;
}

static int stop_if_requested(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	(void)ctx;
	(void)down_total;
	(void)down;
	(void)up_total;
	(void)up;
	return stop_requested();
}

/* "https://host:port/path", without what may be secret. Return: false: not an URL for HTTP. */
static bool show_url(const char *url, char *ret, size_t size)
{
	char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL;
	CURLU *parts = curl_url();
	bool good = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
		    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		    curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		    curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    curl_url_get(parts, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
		    (!strcmp(scheme, "http") || !strcmp(scheme, "https"));

	if (good)
		snprintf(ret, size, "%s://%s:%s%s", scheme, host, port, path);
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_url_cleanup(parts);
	return good;
}

int push_target_open(struct push_target *target, struct error *err)
{
	_Static_assert(sizeof(target->why) == CURL_ERROR_SIZE, "the library writes as much");
	if (!show_url(target->url, target->shown, sizeof(target->shown)))
		return err_set(err, ERR_USAGE, "--remote-write requires an URL that begins with http:// or https://");
	if (target->ca_path && access(target->ca_path, R_OK))
		return err_set(err, ERR_IO, "cannot read the certificates of --ca-file %s: %s", target->ca_path,
			       strerror(errno));
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_nomem(err);
	target->curl = curl_easy_init();
	if (!target->curl)
		return err_nomem(err);
	curl_easy_setopt(target->curl, CURLOPT_URL, target->url);
	if (target->ca_path)
		curl_easy_setopt(target->curl, CURLOPT_CAINFO, target->ca_path);
	curl_easy_setopt(target->curl, CURLOPT_ERRORBUFFER, target->why);
	curl_easy_setopt(target->curl, CURLOPT_USERAGENT, "ibwire/" PACKAGE_VERSION);
	curl_easy_setopt(target->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(target->curl, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(target->curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(target->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(target->curl, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(target->curl, CURLOPT_WRITEDATA, target);
	curl_easy_setopt(target->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(target->curl, CURLOPT_XFERINFOFUNCTION, stop_if_requested);
	return 0;
}

void push_target_close(struct push_target *target)
{
	if (target->curl)
		curl_easy_cleanup(target->curl);
	target->curl = NULL;
	text_done(&target->compressed);
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

/*
 * One request.
 * @ret_status:  of the response; 0: none, and @err has the reason
 * @ret_wait_s:  of Retry-After; 0: none
 */
static int attempt(struct push_target *target, long *ret_status, curl_off_t *ret_wait_s, struct error *err)
{
	struct curl_slist *headers = make_headers();
	int code = headers ? 0 : err_nomem(err);
	char why[sizeof(target->why)];
	CURLcode result;

	*ret_status = 0;
	*ret_wait_s = 0;
	if (code == 0 && target->token_path)
		code = add_token(target->token_path, &headers, err);
	if (code < 0) {
		curl_slist_free_all(headers);
		return code == ERR_NOMEM ? code : 0;
	}
	target->reply_len = 0;
	target->why[0] = '\0';
	curl_easy_setopt(target->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(target->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)target->compressed.len);
	curl_easy_setopt(target->curl, CURLOPT_POSTFIELDS, target->compressed.chars);
	result = curl_easy_perform(target->curl);
	if (result == CURLE_OK) {
		curl_easy_getinfo(target->curl, CURLINFO_RESPONSE_CODE, ret_status);
		curl_easy_getinfo(target->curl, CURLINFO_RETRY_AFTER, ret_wait_s);
	} else {
		/* Names in a certificate are the receiver's. */
		text_sanitise(target->why, strlen(target->why), why, sizeof(why));
		err_set(err, ERR_UNAVAILABLE, "%s", *why ? why : curl_easy_strerror(result));
	}
	curl_slist_free_all(headers);
	target->reply[target->reply_len] = '\0';
	target->reply[strcspn(target->reply, "\r\n")] = '\0';
	return 0;
}

static int compress_request(struct push_target *target, const struct text *request, struct error *err)
{
	size_t len = snappy_max_compressed_length(request->len);
	char *room;

	text_clear(&target->compressed);
	room = text_reserve(&target->compressed, len);
	if (!room)
		return err_nomem(err);
	if (snappy_compress(request->chars, request->len, room, &len) != SNAPPY_OK)
		return err_set(err, ERR_INTERNAL, "cannot compress a batch of %zu bytes", request->len);
	text_extend(&target->compressed, len);
	return 0;
}

/* Why the target has not taken a batch: of an HTTP response, or of @why. */
static void describe(const struct push_target *target, long status, const struct error *why, char *ret, size_t size)
{
	char reply[2 * sizeof(target->reply)];

	text_sanitise(target->reply, target->reply_len, reply, sizeof(reply));
	if (status)
		snprintf(ret, size, "HTTP status %ld%s%s", status, *reply ? ": " : "", reply);
	else
		snprintf(ret, size, "%s", why->text);
}

static void settle(struct push_target *target, long status, uint64_t samples)
{
	char reason[512];

	if (target->failing)
		log_info("%s responds again", target->shown);
	target->failing = false;
	target->batches++;
	target->bytes += target->compressed.len;
	if (status < 300) {
		target->samples += samples;
		return;
	}
	target->samples_rejected += samples;
	if (target->rejected)
		return;
	target->rejected = true;
	describe(target, status, NULL, reason, sizeof(reason));
	log_warning("%s rejects samples: %s; skipped a batch of %llu, more of them are only counted", target->shown,
		    reason, (unsigned long long)samples);
}

int push_target_send(struct push_target *target, const struct text *request, uint64_t samples, struct error *err)
{
	int64_t backoff_ms = BACKOFF_FIRST_MS, wait_us;
	int code = compress_request(target, request, err);
	struct error why = { 0 };
	curl_off_t wait_s;
	char reason[512];
	long status;

	for (unsigned tries = 1; code == 0; tries++) {
		if (stop_requested())
			return 0;
		code = attempt(target, &status, &wait_s, &why);
		if (code < 0 || stop_requested())
			break;
		if ((status >= 200 && status < 300) || status == 400) {
			settle(target, status, samples);
			return 1;
		}
		target->attempts_failed++;
		describe(target, status, &why, reason, sizeof(reason));
		if (target->once && tries == PUSH_ATTEMPTS_ONCE)
			return err_set(err, ERR_UNAVAILABLE, "%s: %.300s; the cursor has the last acknowledged sweep",
				       target->shown, reason);
		if (!target->failing)
			log_warning("%s: %s; trying again until it responds", target->shown, reason);
		target->failing = true;
		if (wait_s > RETRY_AFTER_MOST_S)
			wait_s = RETRY_AFTER_MOST_S;
		wait_us = wait_s > 0 ? wait_s * US_PER_S : backoff_ms * US_PER_MS;
		clock_system()->sleep_until(clock_system()->ctx, clock_boottime_us(clock_system()) + wait_us);
		backoff_ms = backoff_ms * 2 < BACKOFF_MOST_MS ? backoff_ms * 2 : BACKOFF_MOST_MS;
	}
	return stop_requested() ? 0 : code;
}
