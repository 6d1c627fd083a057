/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_config.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "cli/lib/options.h"

/* Sections come first. Any value of http2 is accepted. */
enum key { TLS, HTTP, USERS, HTTP2, CERT_FILE, KEY_FILE, MIN_VERSION, MAX_VERSION, CLIENT_AUTH, KEY_COUNT };

static const struct { const char *section, *name; } keys[KEY_COUNT] = {
	[TLS] = { "", "tls_server_config" }, [HTTP] = { "", "http_server_config" },
	[USERS] = { "", "basic_auth_users" },
	[HTTP2] = { "http_server_config", "http2" },
	[CERT_FILE] = { "tls_server_config", "cert_file" }, [KEY_FILE] = { "tls_server_config", "key_file" },
	[MIN_VERSION] = { "tls_server_config", "min_version" }, [MAX_VERSION] = { "tls_server_config", "max_version" },
	[CLIENT_AUTH] = { "tls_server_config", "client_auth_type" },
};

/* The document while it is read. */
struct reading_config {
	struct metrics_config *config;
	yaml_document_t document;
	yaml_node_t *values[KEY_COUNT]; /* NULL: the key is missing */
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
	const char *name = scalar(key);
	int i = 0;

	if (!strcmp(section, keys[USERS].name))
		return read_user(reading, key, value);
	while (i < KEY_COUNT && (strcmp(keys[i].section, section) || strcmp(keys[i].name, name)))
		i++;
	if (i == KEY_COUNT)
		return fail(reading, key, *section ? "unknown or unsupported key" : "unknown key", name);
	reading->values[i] = value;
	if (i == TLS)
		reading->config->tls_line = (int)key->start_mark.line + 1;
	if (i <= USERS)
		return read_section(reading, name, value);
	return scalar(value) || i == HTTP2 ? 0 : fail(reading, value, "a single value is expected for", name);
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
	if (named == reading->values[KEY_FILE])
		options_warn_exposed(full);
	if (text_read_file(full, what, TEXT_SMALL_MOST, ret, &why) == 0)
		return 0;
	return err_set(reading->err, ERR_USAGE, "the web configuration %s, line %zu: %s", path,
		       named->start_mark.line + 1, why.text);
}

static int finish_tls(struct reading_config *reading, const yaml_node_t *root)
{
	static const char *const priorities[2][2] = {
		{ "NORMAL:-VERS-ALL:+VERS-TLS1.2", "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3" },
	};
	struct metrics_config *config = reading->config;
	yaml_node_t *const *values = reading->values;
	int versions[2], code;

	config->tls = config->tls_line;
	if (!config->tls)
		return 0;
	if (values[CLIENT_AUTH] && strcmp(scalar(values[CLIENT_AUTH]), "NoClientCert"))
		return fail(reading, values[CLIENT_AUTH], "client certificates are not supported: use NoClientCert "
			    "instead of", scalar(values[CLIENT_AUTH]));
	if (!values[CERT_FILE] || !values[KEY_FILE])
		return fail(reading, root, "tls_server_config needs cert_file and key_file", NULL);
	for (int i = 0; i < 2; i++) {
		const yaml_node_t *node = values[i ? MAX_VERSION : MIN_VERSION];
		const char *name = node ? scalar(node) : i ? "TLS13" : "TLS12";

		if (strcmp(name, "TLS12") && strcmp(name, "TLS13"))
			return fail(reading, node, "a version is TLS12 or TLS13, not", name);
		versions[i] = name[4] - '2';
	}
	config->priorities = priorities[versions[0]][versions[1]];
	if (!config->priorities)
		return fail(reading, values[MAX_VERSION], "max_version is below min_version", NULL);
	code = read_named(reading, values[CERT_FILE], "the certificate ", &config->certificate);
	return code < 0 ? code : read_named(reading, values[KEY_FILE], "the key ", &config->key);
}

/* The document was loaded. */
static int read_document(struct reading_config *reading)
{
	yaml_node_t *root = yaml_document_get_root_node(&reading->document);
	int code = root ? read_section(reading, "", root) : 0;

	return root && code == 0 ? finish_tls(reading, root) : code;
}

int metrics_config_load(const char *path, struct metrics_config *ret, struct error *err)
{
	struct reading_config reading = { .config = ret, .err = err };
	struct text file = { 0 };
	yaml_parser_t parser;
	int code;

	*ret = (struct metrics_config){ .path = path };
	if (!path)
		return 0;
	code = text_read_file(path, "the web configuration ", TEXT_SMALL_MOST, &file, err);
	if (code == 0 && !yaml_parser_initialize(&parser))
		code = err_nomem(err);
	if (code == 0) {
		yaml_parser_set_input_string(&parser, (const unsigned char *)text_chars(&file), file.len);
		if (yaml_parser_load(&parser, &reading.document)) {
			code = read_document(&reading);
			yaml_document_delete(&reading.document);
		} else {
			code = err_set(err, ERR_USAGE, "the web configuration %s, line %zu: %s", path,
				       parser.problem_mark.line + 1, parser.problem ? parser.problem : "is no YAML");
		}
		yaml_parser_delete(&parser);
	}
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
