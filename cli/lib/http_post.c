/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/http_post.h"

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "config.h"

/* The body of a response is not needed: it is read so far, so that the connection can be used again. */
enum { BODY_MOST = 64 << 10, BODY_S = 5 };

static size_t take_reply(char *bytes, size_t size, size_t count, void *ctx)
{
	struct http_post *post = ctx;
	size_t len = size * count, most = post->wanted ? post->wanted_most : BODY_MOST;

	for (size_t i = 0; i < len && post->reply_len < sizeof(post->reply) - 1; i++)
		post->reply[post->reply_len++] = bytes[i];
	post->body_len += len;
	post->is_cut = post->body_len > most;
	if (post->wanted && !post->is_cut)
		text_append_bytes(post->wanted, bytes, len);
	return post->is_cut ? 0 : len;
}

/* Called about once a second. Return: not 0: end the transfer. */
static int check_time(void *ctx, curl_off_t wanted, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
	struct http_post *post = ctx;
	curl_off_t first_us = 0, total_us = 0;

	(void)wanted;
	(void)to_send;
	(void)sent;
	if (post->ends_on_stop && stop_requested())
		return 1;
	if (!received)
		return 0;
	curl_easy_getinfo(post->curl, CURLINFO_STARTTRANSFER_TIME_T, &first_us);
	curl_easy_getinfo(post->curl, CURLINFO_TOTAL_TIME_T, &total_us);
	post->is_cut |= first_us && total_us - first_us > BODY_S * US_PER_S;
	return post->is_cut;
}

/* "https://host:port/path", without user, password and query, which may be secret. */
static int show_url(struct http_receiver *receiver, struct error *err)
{
	static const CURLUPart wanted[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT, CURLUPART_PATH };
	char *parts[4] = { NULL };
	CURLU *handle = curl_url();
	CURLUcode code = handle ? curl_url_set(handle, CURLUPART_URL, receiver->url, 0) : CURLUE_OUT_OF_MEMORY;
	bool good;

	for (int i = 0; i < 4 && code == CURLUE_OK; i++)
		code = curl_url_get(handle, wanted[i], &parts[i], CURLU_DEFAULT_PORT);
	good = code == CURLUE_OK && (!strcmp(parts[0], "http") || !strcmp(parts[0], "https"));
	if (good)
		snprintf(receiver->shown, sizeof(receiver->shown), "%s://%s:%s%s", parts[0], parts[1], parts[2],
			 parts[3]);
	for (int i = 0; i < 4; i++)
		curl_free(parts[i]);
	curl_url_cleanup(handle);
	if (code == CURLUE_OUT_OF_MEMORY)
		return err_nomem(err);
	if (!good)
		return err_set(err, ERR_USAGE, "--%s requires an URL that begins with http:// or https://",
			       receiver->option);
	return 0;
}

int http_receiver_check(struct http_receiver *receiver, struct error *err)
{
	int code = show_url(receiver, err);

	if (code < 0)
		return code;
	if (receiver->ca_path && access(receiver->ca_path, R_OK))
		return err_set(err, ERR_IO, "cannot read the certificates of --ca-file %s: %s", receiver->ca_path,
			       strerror(errno));
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : err_nomem(err);
}

bool http_post_open(struct http_post *post, const struct http_receiver *receiver, void *ctx)
{
	CURL *curl = curl_easy_init();

	_Static_assert(sizeof(post->why) >= CURL_ERROR_SIZE, "libcurl writes the text of an error there");
	*post = (struct http_post){ .receiver = receiver, .curl = curl, .ctx = ctx };
	/* Strings are copied, which may fail for lack of memory. */
	if (!curl || curl_easy_setopt(curl, CURLOPT_URL, receiver->url) ||
	    (receiver->ca_path && curl_easy_setopt(curl, CURLOPT_CAINFO, receiver->ca_path)) ||
	    curl_easy_setopt(curl, CURLOPT_USERAGENT, "ibwire/" PACKAGE_VERSION))
		return false;
	curl_easy_setopt(curl, CURLOPT_PRIVATE, post);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, post->why);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, post);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_time);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, post);
	return true;
}

void http_post_close(struct http_post *post)
{
	curl_easy_cleanup(post->curl);
	curl_slist_free_all(post->headers);
	*post = (struct http_post){ 0 };
}

static int add_header(struct http_post *post, const char *line, struct error *err)
{
	struct curl_slist *more = curl_slist_append(post->headers, line);

	if (!more)
		return err_nomem(err);
	post->headers = more;
	return 0;
}

/* The token is read for each attempt: others replace it before it expires. */
static int add_token(struct http_post *post, struct error *err)
{
	const char *path = post->receiver->token_path;
	struct text token = { 0 }, header = { 0 };
	int code = text_read_file(path, "the token ", 64 << 10, &token, err);

	while (code == 0 && token.len && strchr(" \t\r\n", token.chars[token.len - 1]))
		token.chars[--token.len] = '\0';
	if (code == 0 && (!token.len || !text_is_plain(token.chars, token.len)))
		code = err_set(err, ERR_IO, "%s:1: not a token in one line", path);
	if (code == 0) {
		text_appendf(&header, "Authorization: Bearer %s", token.chars);
		code = text_failed(&header) ? err_nomem(err) : add_header(post, header.chars, err);
	}
	text_done(&header);
	text_done(&token);
	return code;
}

int http_post_prepare(struct http_post *post, const char *const *headers, const char *body, size_t len,
		      struct error *err)
{
	struct error why = { 0 };
	int code = 0;

	post->reply_len = post->body_len = 0;
	post->is_cut = false;
	memset(post->reply, 0, sizeof(post->reply));
	post->why[0] = '\0';
	curl_slist_free_all(post->headers);
	post->headers = NULL;
	for (; code == 0 && *headers; headers++)
		code = add_header(post, *headers, err);
	if (code == 0 && post->receiver->token_path) {
		code = add_token(post, &why);
		if (code < 0)
			snprintf(post->why, sizeof(post->why), "%.250s", why.text);
		if (code < 0 && err)
			*err = why;
	}
	if (code < 0)
		return code;
	curl_easy_setopt(post->curl, CURLOPT_HTTPHEADER, post->headers);
	if (body) {
		curl_easy_setopt(post->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
		curl_easy_setopt(post->curl, CURLOPT_POSTFIELDS, body);
	} else {
		curl_easy_setopt(post->curl, CURLOPT_HTTPGET, 1L);
	}
	return 0;
}

long http_post_run(struct http_post *post)
{
	return http_post_status(post, (int)curl_easy_perform(post->curl), NULL);
}

long http_post_status(struct http_post *post, int result, long *ret_wait_s)
{
	curl_off_t wait_s = 0;
	long status = 0;

	if (result == CURLE_OK || post->is_cut) {
		curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(post->curl, CURLINFO_RETRY_AFTER, &wait_s);
	} else if (!*post->why) {
		snprintf(post->why, sizeof(post->why), "%s", curl_easy_strerror((CURLcode)result));
	}
	if (ret_wait_s)
		*ret_wait_s = wait_s > LONG_MAX ? LONG_MAX : (long)wait_s;
	return status;
}

void http_post_describe(const struct http_post *post, long status, char *ret, size_t size)
{
	const char *words = status ? post->reply : post->why;
	char clean[2 * sizeof(post->why)];

	text_sanitise(words, strcspn(words, "\r\n"), clean, sizeof(clean));
	if (status)
		snprintf(ret, size, "HTTP status %ld%s%.400s", status, *clean ? ": " : "", clean);
	else
		snprintf(ret, size, "%s", clean);
}
