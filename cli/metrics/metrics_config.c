/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_config.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"

/* The document while it is read. */
struct reading_config {
	struct metrics_config *config;
	yaml_document_t document;
	yaml_node_t *cert_file, *key_file, *min_version, *max_version;
	struct error *err;
};

static int fail(const struct reading_config *reading, const yaml_node_t *at, const char *what, const char *name)
{
	return err_set(reading->err, ERR_USAGE, "the web configuration %s, line %zu: %s%s%.64s%s",
		       reading->config->path, at->start_mark.line + 1, what, name ? " '" : "", name ? name : "",
		       name ? "'" : "");
}

static const char *scalar(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

typedef int key_fn(struct reading_config *reading, const char *key, yaml_node_t *key_node, yaml_node_t *value);

/* Call @each for the keys of a mapping. An empty section is none. */
static int each_key(struct reading_config *reading, yaml_node_t *mapping, key_fn *each)
{
	yaml_node_pair_t *pair;
	int code = 0;

	if (scalar(mapping) && !*scalar(mapping))
		return 0;
	if (mapping->type != YAML_MAPPING_NODE)
		return fail(reading, mapping, "keys and values are expected", NULL);
	for (pair = mapping->data.mapping.pairs.start; code == 0 && pair < mapping->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&reading->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(&reading->document, pair->value);

		if (!scalar(key) || !value)
			return fail(reading, mapping, "a key is no word", NULL);
		code = each(reading, scalar(key), key, value);
	}
	return code;
}

static int tls_key(struct reading_config *reading, const char *key, yaml_node_t *key_node, yaml_node_t *value)
{
	if (!scalar(value))
		return fail(reading, value, "a single value is expected for", key);
	if (!strcmp(key, "cert_file"))
		reading->cert_file = value;
	else if (!strcmp(key, "key_file"))
		reading->key_file = value;
	else if (!strcmp(key, "min_version"))
		reading->min_version = value;
	else if (!strcmp(key, "max_version"))
		reading->max_version = value;
	else if (strcmp(key, "client_auth_type"))
		return fail(reading, key_node, "unknown or unsupported key", key);
	else if (strcmp(scalar(value), "NoClientCert"))
		return fail(reading, value, "client certificates are not supported: use NoClientCert instead of",
			    scalar(value));
	return 0;
}

static int http_key(struct reading_config *reading, const char *key, yaml_node_t *key_node, yaml_node_t *value)
{
	(void)value;
	return strcmp(key, "http2") ? fail(reading, key_node, "unknown or unsupported key", key) : 0;
}

static int user_key(struct reading_config *reading, const char *key, yaml_node_t *key_node, yaml_node_t *value)
{
	struct metrics_config *config = reading->config;
	struct metrics_user *user = &config->users[config->user_count];
	const char *hash = scalar(value);

	if (config->user_count == METRICS_USERS_MAX)
		return fail(reading, key_node, "more than 64 users", NULL);
	if (!hash || strncmp(hash, "$2", 2) || strlen(hash) != 60)
		return fail(reading, value, "no bcrypt hash (htpasswd -nBC 10 USER) for user", key);
	user->name = strdup(key);
	user->hash = strdup(hash);
	config->user_count++;
	return user->name && user->hash ? 0 : err_nomem(reading->err);
}

static int section_key(struct reading_config *reading, const char *key, yaml_node_t *key_node, yaml_node_t *value)
{
	if (!strcmp(key, "tls_server_config")) {
		reading->config->tls = true;
		reading->config->tls_line = (int)key_node->start_mark.line + 1;
		return each_key(reading, value, tls_key);
	}
	if (!strcmp(key, "http_server_config"))
		return each_key(reading, value, http_key);
	if (!strcmp(key, "basic_auth_users"))
		return each_key(reading, value, user_key);
	return fail(reading, key_node, "unknown key", key);
}

/* Relative names are relative to the folder of the configuration. */
static int read_named(struct reading_config *reading, const yaml_node_t *named, const char *what, struct text *ret)
{
	const char *path = reading->config->path, *slash = strrchr(path, '/'), *name = scalar(named);
	char full[4096];
	struct error why;

	if (*name == '/' || !slash)
		snprintf(full, sizeof(full), "%s", name);
	else
		snprintf(full, sizeof(full), "%.*s/%s", (int)(slash - path), path, name);
	if (text_read_file(full, what, TEXT_SMALL_MOST, ret, &why) == 0)
		return 0;
	return err_set(reading->err, ERR_USAGE, "the web configuration %s, line %zu: %s", path,
		       named->start_mark.line + 1, why.text);
}

static int read_version(const struct reading_config *reading, const yaml_node_t *node, int other, int *ret)
{
	*ret = other;
	if (!node)
		return 0;
	if (!strcmp(scalar(node), "TLS12") || !strcmp(scalar(node), "TLS13")) {
		*ret = scalar(node)[4] - '0';
		return 0;
	}
	return fail(reading, node, "a version is TLS12 or TLS13, not", scalar(node));
}

static int finish_tls(struct reading_config *reading, const yaml_node_t *root)
{
	static const char *const priorities[2][2] = {
		{ "NORMAL:-VERS-ALL:+VERS-TLS1.2", "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3" },
	};
	struct metrics_config *config = reading->config;
	int least, most, code;

	if (!config->tls)
		return 0;
	if (!reading->cert_file || !reading->key_file)
		return fail(reading, root, "tls_server_config needs cert_file and key_file", NULL);
	code = read_version(reading, reading->min_version, 2, &least);
	if (code == 0)
		code = read_version(reading, reading->max_version, 3, &most);
	if (code < 0)
		return code;
	config->priorities = priorities[least - 2][most - 2];
	if (!config->priorities)
		return fail(reading, reading->max_version, "max_version is below min_version", NULL);
	code = read_named(reading, reading->cert_file, "the certificate ", &config->certificate);
	return code < 0 ? code : read_named(reading, reading->key_file, "the key ", &config->key);
}

static int parse(struct reading_config *reading, const struct text *file)
{
	yaml_parser_t parser;
	yaml_node_t *root;
	int code = 0;

	if (!yaml_parser_initialize(&parser))
		return err_nomem(reading->err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text_chars(file), file->len);
	if (!yaml_parser_load(&parser, &reading->document)) {
		code = err_set(reading->err, ERR_USAGE, "the web configuration %s, line %zu: %s", reading->config->path,
			       parser.problem_mark.line + 1, parser.problem ? parser.problem : "is no YAML");
		yaml_parser_delete(&parser);
		return code;
	}
	root = yaml_document_get_root_node(&reading->document);
	if (root)
		code = each_key(reading, root, section_key);
	if (root && code == 0)
		code = finish_tls(reading, root);
	yaml_document_delete(&reading->document);
	yaml_parser_delete(&parser);
	return code;
}

int metrics_config_load(const char *path, struct metrics_config *ret, struct error *err)
{
	struct reading_config reading = { .config = ret, .err = err };
	struct text file = { 0 };
	int code;

	*ret = (struct metrics_config){ .path = path };
	if (!path)
		return 0;
	code = text_read_file(path, "the web configuration ", TEXT_SMALL_MOST, &file, err);
	if (code == 0)
		code = parse(&reading, &file);
	text_done(&file);
	return code;
}

void metrics_config_done(struct metrics_config *config)
{
	for (size_t i = 0; i < config->user_count; i++) {
		free(config->users[i].name);
		free(config->users[i].hash);
		free(config->users[i].password);
	}
	text_done(&config->certificate);
	text_done(&config->key);
	*config = (struct metrics_config){ 0 };
}

/* Takes the same time wherever two strings of one length differ. */
static bool is_equal(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char differ = 0;

	if (len != strlen(b))
		return false;
	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

bool metrics_config_matches(const char *password, const char *hash)
{
	struct crypt_data *data = calloc(1, sizeof(*data)); /* 32 KB */
	/* As crypt_r(), which AddressSanitizer replaces: then libcrypt is not linked, and the call crashes. */
	const char *computed = data ? crypt_rn(password, hash, data, sizeof(*data)) : NULL;
	bool matches = computed && is_equal(computed, hash);

	free(data);
	return matches;
}

static const struct metrics_user *find_user(const struct metrics_config *config, const char *name)
{
	const struct metrics_user *user = NULL;

	for (size_t i = 0; i < config->user_count; i++)
		if (is_equal(config->users[i].name, name))
			user = &config->users[i];
	return user;
}

bool metrics_config_knows(const struct metrics_config *config, const char *name, const char *password)
{
	const struct metrics_user *user = find_user(config, name);

	return user && user->password && is_equal(user->password, password);
}

const char *metrics_config_hash(const struct metrics_config *config, const char *name)
{
	const struct metrics_user *user = find_user(config, name);

	return user ? user->hash : config->users[0].hash;
}

bool metrics_config_admit(struct metrics_config *config, const char *name, const char *password)
{
	struct metrics_user *user = (struct metrics_user *)find_user(config, name);

	if (!user)
		return false;
	free(user->password);
	user->password = strdup(password);
	return true;
}
