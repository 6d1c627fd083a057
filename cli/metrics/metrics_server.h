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

struct error;
struct metrics_api_config;
struct metrics_config;
struct metrics_server;
struct metrics_source;

#define METRICS_LISTEN "127.0.0.1:9683"

/*
 * metrics_server_create - listen on an address
 * @listen:  HOST:PORT, [IPV6]:PORT, or :PORT for all addresses; port 0: a free one
 * @source, @config, @api:  borrowed; the metrics, TLS and users, commands of requests other than /metrics
 *
 * Return: 0; ERR_USAGE: the address or the certificate is invalid; ERR_UNAVAILABLE: the address cannot be used.
 */
int metrics_server_create(const char *listen, struct metrics_source *source, struct metrics_config *config,
			  const struct metrics_api_config *api, struct metrics_server **ret, struct error *err);
void metrics_server_destroy(struct metrics_server *server);

/* metrics_server_url - "http://127.0.0.1:9683/metrics" (borrowed). */
const char *metrics_server_url(const struct metrics_server *server);

/* metrics_server_run - serve until a stop is requested (base/stop.h). Return: 0 or ERR_IO. */
int metrics_server_run(struct metrics_server *server, struct error *err);

#endif
