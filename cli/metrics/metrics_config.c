/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_config.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "cli/lib/options.h"

/* The document while it is read. */
struct reading_config {
	struct metrics_config *config;
	yaml_document_t document;
	yaml_node_t *cert_file, *key_file, *min_version, *max_version, *client_auth;
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

static int read_key(struct reading_config *reading, const char *section, yaml_node_t *key, yaml_node_t *value);

/* The keys of a section, or "" of the whole file. An empty section is none. */
static int read_section(struct reading_config *reading, const char *section, yaml_node_t *mapping)
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
		code = read_key(reading, section, key, value);
	}
	return code;
}

static int read_user(struct reading_config *reading, yaml_node_t *key, yaml_node_t *value)
{
	struct metrics_config *config = reading->config;
	struct metrics_user *user = &config->users[config->user_count];
	const char *hash = scalar(value);

	if (config->user_count == METRICS_USERS_MAX)
		return fail(reading, key, "more than 64 users", NULL);
	if (!hash || strncmp(hash, "$2", 2) || strlen(hash) != 60)
		return fail(reading, value, "no bcrypt hash (htpasswd -nBC 10 USER) for user", scalar(key));
	user->name = strdup(scalar(key));
	user->hash = strdup(hash);
	config->user_count++;
	return user->name && user->hash ? 0 : err_nomem(reading->err);
}

static int read_key(struct reading_config *reading, const char *section, yaml_node_t *key, yaml_node_t *value)
{
	const struct { const char *key; yaml_node_t **value; } files[] = {
		{ "cert_file", &reading->cert_file }, { "key_file", &reading->key_file },
		{ "min_version", &reading->min_version }, { "max_version", &reading->max_version },
		{ "client_auth_type", &reading->client_auth },
	};
	const char *name = scalar(key);
	bool is_tls = !strcmp(section, "tls_server_config");

	if (!strcmp(section, "basic_auth_users"))
		return read_user(reading, key, value);
	if (!*section && (!strcmp(name, "tls_server_config") || !strcmp(name, "http_server_config") ||
			  !strcmp(name, "basic_auth_users"))) {
		if (!strcmp(name, "tls_server_config"))
			reading->config->tls_line = (int)key->start_mark.line + 1;
		return read_section(reading, name, value);
	}
	if (!strcmp(section, "http_server_config") && !strcmp(name, "http2"))
		return 0;
	for (size_t i = 0; is_tls && i < sizeof(files) / sizeof(*files); i++) {
		if (strcmp(files[i].key, name))
			continue;
		*files[i].value = value;
		return scalar(value) ? 0 : fail(reading, value, "a single value is expected for", name);
	}
	return fail(reading, key, *section ? "unknown or unsupported key" : "unknown key", name);
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
	if (named == reading->key_file)
		options_warn_exposed(full);
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

	config->tls = config->tls_line;
	if (!config->tls)
		return 0;
	if (reading->client_auth && strcmp(scalar(reading->client_auth), "NoClientCert"))
		return fail(reading, reading->client_auth, "client certificates are not supported: use NoClientCert "
			    "instead of", scalar(reading->client_auth));
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
		code = read_section(reading, "", root);
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
