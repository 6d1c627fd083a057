/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Options that end with "=" take a value; subject= is an argument, and may be given several times. */
#define SELECTED "at= since= until= subject="

static const struct api_route {
	const char *path, *command, *options;
} routes[] = {
	{ "/", "status --html=- --links", "at=" },
	{ "/history", "history --html=- --links", "each peers " SELECTED },
	{ "/report", "report --html=- --links", SELECTED },
	{ "/job", "job report --html=-", "subject=" },
	{ "/api/status", "status", "at=" },
	{ "/api/health", "health", "all columns= sort= explain= " SELECTED },
	{ "/api/nodes", "nodes", "columns= sort= " SELECTED },
	{ "/api/ports", "ports", "all columns= errors counters details sort= top= " SELECTED },
	{ "/api/links", "links", "columns= degraded down errors sort= state= top= " SELECTED },
	{ "/api/errors", "errors", "columns= sort= " SELECTED },
	{ "/api/events", "events", "columns= sort= kind= limit= " SELECTED },
	{ "/api/history", "history", "counter= step= each peers top= by= " SELECTED },
	{ "/api/balance", "balance", "all columns= sort= rails " SELECTED },
	{ "/api/report", "report", SELECTED },
	{ "/api/topology/show", "topology show", "summary at=" },
	{ "/api/topology/route", "topology route", "at= subject=" },
	{ "/api/job/list", "job list", "columns= sort= since= until=" },
	{ "/api/job/report", "job report", "subject=" },
	{ "/api/snapshot/list", "snapshot list", "columns= sort=" },
};

static int add(struct metrics_api_call *call, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int add(struct metrics_api_call *call, struct error *err, const char *fmt, ...)
{
	va_list args;
	int len;

	if (call->argc == METRICS_API_ARGS)
		return err_set(err, ERR_USAGE, "too many options");
	va_start(args, fmt);
	len = vasprintf(&call->argv[call->argc], fmt, args);
	va_end(args);
	if (len < 0) {
		call->argv[call->argc] = NULL;
		return err_nomem(err);
	}
	call->argc++;
	return 0;
}

static int add_words(struct metrics_api_call *call, const char *words, struct error *err)
{
	int code = 0;

	while (code == 0 && *words) {
		size_t len = strcspn(words, " ");

		code = add(call, err, "%.*s", (int)len, words);
		words += len + (words[len] == ' ');
	}
	return code;
}

/* Is an option listed? @ret_value: does it take a value? */
static bool find_option(const char *options, const char *key, bool *ret_value)
{
	size_t len = strlen(key);

	while (*options) {
		size_t word = strcspn(options, " ");

		*ret_value = word && options[word - 1] == '=';
		if (len && word - *ret_value == len && !memcmp(options, key, len))
			return true;
		options += word + (options[word] == ' ');
	}
	return false;
}

static bool is_valid(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return false;
	return len > 0 && len <= METRICS_API_VALUE;
}

/* As a subject of health, these would be its commands `ack` and `unack`, which write. */
static bool is_command_word(const char *value)
{
	return !strcmp(value, "ack") || !strcmp(value, "unack");
}

static int check_pair(const struct api_route *route, const struct metrics_api_pair *pair, bool *ret_value,
		      struct error *err)
{
	const char *value = pair->value ? pair->value : "";

	if (!find_option(route->options, pair->key, ret_value))
		return err_set(err, ERR_USAGE, "%s has no option '%.32s'; options: %s", route->path, pair->key,
			       *route->options ? route->options : "none");
	if (*ret_value ? !is_valid(value) || is_command_word(value) : *value && strcmp(value, "1"))
		return err_set(err, ERR_USAGE, "%s: invalid value of %.32s", route->path, pair->key);
	return 0;
}

static int add_pairs(const struct api_route *route, const struct metrics_api_pair *pairs, size_t count,
		     bool subjects, struct metrics_api_call *call, struct error *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		bool has_value = false, is_subject = !strcmp(pairs[i].key, "subject");

		code = check_pair(route, &pairs[i], &has_value, err);
		if (code < 0 || is_subject != subjects)
			continue;
		if (is_subject)
			code = add(call, err, "%s", pairs[i].value);
		else
			code = add(call, err, "--%s%s%s", pairs[i].key, has_value ? "=" : "",
				   has_value ? pairs[i].value : "");
	}
	return code;
}

int metrics_api_parse(const char *path, const struct metrics_api_pair *pairs, size_t count,
		      const struct metrics_api_config *config, struct metrics_api_call *ret, struct error *err)
{
	const struct api_route *route = NULL;
	int code;

	*ret = (struct metrics_api_call){ 0 };
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(routes[i].path, path))
			route = &routes[i];
	if (!route)
		return err_set(err, ERR_UNAVAILABLE, "not found: the metrics are at /metrics, a page of the fabric at "
			       "/, JSON at /api/status and others (ibwire-metrics(1))");
	ret->html = strstr(route->command, "--html");
	ret->kind = route == &routes[0] && !count ? METRICS_FABRIC_PAGE : METRICS_COMMAND;
	code = add_words(ret, route->command, err);
	if (code == 0 && !ret->html)
		code = add(ret, err, "--format=json");
	if (code == 0)
		code = add(ret, err, "--db=%s", config->db);
	if (code == 0 && config->names)
		code = add(ret, err, "--node-name-map=%s", config->names);
	if (code == 0)
		code = add_pairs(route, pairs, count, false, ret, err);
	if (code == 0)
		code = add_words(ret, "--", err);
	if (code == 0)
		code = add_pairs(route, pairs, count, true, ret, err);
	if (code < 0)
		metrics_api_done(ret);
	return code;
}

void metrics_api_done(struct metrics_api_call *call)
{
	for (size_t i = 0; i < call->argc; i++)
		free(call->argv[i]);
	*call = (struct metrics_api_call){ 0 };
}
