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
};

/*
 * metrics_config_load - read a web configuration file
 * @path:  NULL: neither TLS nor authentication
 * @ret:   metrics_config_done() frees it, after errors too
 * Return: 0; ERR_USAGE for an invalid line (the text names file and line); ERR_IO; ERR_NOMEM.
 */
int metrics_config_load(const char *path, struct metrics_config *ret, struct error *err);
void metrics_config_done(struct metrics_config *config);

/* metrics_config_knows - is this the last password of the user that matched? That needs no hash. */
bool metrics_config_knows(const struct metrics_config *config, const char *name, const char *password);

/* metrics_config_hash - what a password is compared with; that of an unknown user takes as long as that of others. */
const char *metrics_config_hash(const struct metrics_config *config, const char *name);

/* metrics_config_matches - compute the hash of a password, which takes 50 ms or more; in any thread. */
bool metrics_config_matches(const char *password, const char *hash);

/*
 * metrics_config_admit - remember a password that matches metrics_config_hash()
 * Return: false: there is no such user.
 */
bool metrics_config_admit(struct metrics_config *config, const char *name, const char *password);

#endif
