/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * http_post.h - HTTP requests to a receiver: its URL, token and certificates, and what it responded
 *
 * The status of a response counts. Its body is read as far as a connection needs to be used again, unless it is wanted:
 * an endless or slow one neither delays nor fills anything.
 */
#ifndef IBWIRE_CLI_HTTP_POST_H
#define IBWIRE_CLI_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct error;

struct http_receiver {
	const char *option;     /* that the URL is of, for messages: "remote-write"; borrowed as the next three */
	const char *url;        /* http:// or https:// */
	const char *token_path; /* of a bearer token, read for each request; NULL: none */
	const char *ca_path;    /* of the certificates that the receiver's is verified with; NULL: the system's */
	char shown[256];        /* the URL without user, password and query, for messages */
};

struct http_post {
	const struct http_receiver *receiver;
	void *curl, *headers;
	void *ctx;              /* of the caller */
	struct text *wanted;    /* the body is appended, up to wanted_most bytes; NULL: it is not wanted */
	size_t wanted_most;
	char why[256];          /* no response */
	char reply[160];        /* the beginning of the body */
	size_t reply_len, body_len;
	bool ends_on_stop;      /* set by the caller: end a request if a stop is requested */
	bool is_cut;            /* the response has its status, and a body that was not read to its end */
};

/*
 * http_receiver_check - can requests be sent to it? Sets @shown; nothing is sent.
 * Return: 0; ERR_USAGE: the URL; ERR_IO: the certificates cannot be read; ERR_NOMEM.
 */
int http_receiver_check(struct http_receiver *receiver, struct error *err);

/* http_post_open - a connection for one request at a time. Return: false: no memory; http_post_close() frees it. */
bool http_post_open(struct http_post *post, const struct http_receiver *receiver, void *ctx);
void http_post_close(struct http_post *post);

/*
 * http_post_prepare - set the next request
 * @headers:  the last one is NULL
 * @body:     used until the request has ended; NULL: GET
 * Return: 0; ERR_IO: the token, with post->why; ERR_NOMEM.
 */
int http_post_prepare(struct http_post *post, const char *const *headers, const char *body, size_t len,
		      struct error *err);

/* http_post_run - send the request. Return: as http_post_status(). */
long http_post_run(struct http_post *post);

/*
 * http_post_status - the result of a request of curl_multi
 * @result:      CURLcode
 * @ret_wait_s:  of Retry-After, 0: none; or NULL
 * Return: the status of the response; 0: none, with post->why.
 */
long http_post_status(struct http_post *post, int result, long *ret_wait_s);

/* http_post_describe - why it was not accepted, in one line without bytes that are unsafe on a terminal. */
void http_post_describe(const struct http_post *post, long status, char *ret, size_t size);

#endif
