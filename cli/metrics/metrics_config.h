/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metrics_config.h - TLS and basic authentication, from the web configuration file of Prometheus
 *
 * Source of the format: Prometheus exporter-toolkit, web-configuration.md. Supported are
 * tls_server_config (cert_file, key_file, min_version, max_version, client_auth_type:
 * NoClientCert), http_server_config (http2, which has no effect) and basic_auth_users.
 */
#ifndef IBWIRE_CLI_METRICS_CONFIG_H
#define IBWIRE_CLI_METRICS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct error;

#define METRICS_USERS_MAX 64

struct metrics_user {
	char *name, *hash; /* bcrypt */
	char *password;    /* the last one that matched: bcrypt takes 50 ms or more; NULL: none */
};

struct metrics_config {
	const char *path;     /* borrowed; NULL: no file */
	bool tls;
	int tls_line;
	struct text certificate, key; /* contents of the files */
	const char *priorities;       /* TLS versions, for GnuTLS */
	struct metrics_user users[METRICS_USERS_MAX];
	size_t user_count;    /* 0: no authentication */
	int64_t attempts_us;  /* CLOCK_BOOTTIME of the first of the failed attempts that are counted */
	unsigned attempts;
};

/*
 * metrics_config_load - read a web configuration file
 * @path:  NULL: neither TLS nor authentication
 * @ret:   metrics_config_done() frees it, after errors too
 * Return: 0; ERR_USAGE for an invalid line (the text names file and line); ERR_IO; ERR_NOMEM.
 */
int metrics_config_load(const char *path, struct metrics_config *ret, struct error *err);
void metrics_config_done(struct metrics_config *config);

/*
 * metrics_config_admits - do user and password match?
 * @now_us:  CLOCK_BOOTTIME. Only METRICS_ATTEMPTS_MAX wrong passwords are checked per second, so that guessing
 *           does not delay others; a password that matched before is always accepted
 * Return: METRICS_ADMITTED, _REFUSED, or _BUSY: too many attempts.
 */
enum metrics_admission { METRICS_ADMITTED, METRICS_REFUSED, METRICS_BUSY };
#define METRICS_ATTEMPTS_MAX 4
enum metrics_admission metrics_config_admits(struct metrics_config *config, const char *name, const char *password,
					     int64_t now_us);

#endif
