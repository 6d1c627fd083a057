/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_server.h - HTTP for `ibwire metrics`
 *
 * One thread; sockets never block. The number of connections and the duration of requests and responses are limited,
 * so that slow or hostile clients do not delay others. Results and passwords are computed in threads
 * (metrics_command.h).
 */
#ifndef IBWIRE_CLI_METRICS_SERVER_H
#define IBWIRE_CLI_METRICS_SERVER_H

#include <stdbool.h>

struct error;
struct metrics_api_config;
struct metrics_server;
struct metrics_source;

#define METRICS_LISTEN "127.0.0.1:9683"

/*
 * metrics_listen - open a socket for servers
 * @listen:  HOST:PORT, [IPV6]:PORT, or :PORT for all addresses; port 0: a free one
 * Return: 0; ERR_USAGE: the address is invalid; ERR_UNAVAILABLE: it cannot be used.
 */
int metrics_listen(const char *listen, int *ret, struct error *err);

/*
 * metrics_server_create - begin to accept connections
 * @listen_fd:   of metrics_listen(); stays with the caller
 * @web_config:  path of the web configuration with TLS and users, which is read now; NULL: none
 * @source, @api:  borrowed; the metrics, commands of requests other than /metrics
 *
 * Return: 0; ERR_USAGE: the web configuration or its certificate is invalid; ERR_IO; ERR_UNAVAILABLE; ERR_NOMEM.
 */
int metrics_server_create(int listen_fd, const char *web_config, struct metrics_source *source,
			  const struct metrics_api_config *api, struct metrics_server **ret, struct error *err);

/* metrics_server_destroy - @graceful: requests that were received are answered before, for some seconds at most */
void metrics_server_destroy(struct metrics_server *server, bool graceful);

/* metrics_server_url - "http://127.0.0.1:9683/metrics" (borrowed). */
const char *metrics_server_url(const struct metrics_server *server);

/* metrics_server_run - serve until a signal (base/stop.h). Return: 1: a reload is requested; 0: the stop; ERR_IO. */
int metrics_server_run(struct metrics_server *server, struct error *err);

#endif
