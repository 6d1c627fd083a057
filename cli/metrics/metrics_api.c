/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/metrics/metrics_api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

/* Options that end with "=" take a value; subject= is an argument, and may be given several times. */
#define SELECTED "at= since= until= subject="

static const struct api_route {
	const char *path, *command, *options;
} routes[] = {
	{ "/", "status --html=- --links", "at=" },
	{ "/history", "history --html=- --links", "each peers " SELECTED },
	{ "/report", "report --html=- --links", SELECTED },
	{ "/job", "job report --html=-", "cluster= subject=" },
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
	{ "/api/job/list", "job list", "at= columns= sort= since= until=" },
	{ "/api/job/report", "job report", "cluster= subject=" },
	{ "/api/snapshot/list", "snapshot list", "columns= sort=" },
};

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

/* As a subject of health, "ack" and "unack" would be its commands, which write. */
static bool is_valid(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return false;
	return len > 0 && len <= METRICS_API_VALUE && strcmp(value, "ack") && strcmp(value, "unack");
}

/* Append an option and its value, or with @subjects an argument. */
static int add_pair(const struct api_route *route, const struct metrics_api_pair *pair, bool subjects,
		    struct text *arguments, struct error *err)
{
	const char *value = pair->value ? pair->value : "";
	bool has_value = false;

	if (!find_option(route->options, pair->key, &has_value))
		return err_set(err, ERR_USAGE, "%s has no option '%.32s'; options: %s", route->path, pair->key,
			       *route->options ? route->options : "none");
	if (has_value ? !is_valid(value) : *value && strcmp(value, "1"))
		return err_set(err, ERR_USAGE, "%s: invalid value of %.32s", route->path, pair->key);
	if (subjects && !strcmp(pair->key, "subject"))
		text_appendf(arguments, "%s%c", value, '\0');
	else if (!subjects && strcmp(pair->key, "subject"))
		text_appendf(arguments, "--%s%s%s%c", pair->key, has_value ? "=" : "", has_value ? value : "", '\0');
	return 0;
}

/* List the arguments, each of which ends with NUL. */
static int list_arguments(struct metrics_api_call *call, struct error *err)
{
	struct text *all = &call->arguments;

	if (text_failed(all))
		return err_nomem(err);
	for (size_t at = 0; at < all->len; at += strlen(all->chars + at) + 1) {
		if (call->argc == METRICS_API_ARGS)
			return err_set(err, ERR_USAGE, "too many options");
		call->argv[call->argc++] = all->chars + at;
	}
	return 0;
}

int metrics_api_parse(const char *path, const struct metrics_api_pair *pairs, size_t count,
		      const struct metrics_api_config *config, struct metrics_api_call *ret, struct error *err)
{
	const struct api_route *route = NULL;
	struct text *arguments = &ret->arguments;
	int code = 0;

	*ret = (struct metrics_api_call){ 0 };
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(routes[i].path, path))
			route = &routes[i];
	if (!route)
		return err_set(err, ERR_UNAVAILABLE, "not found: the metrics are at /metrics, a page of the fabric at "
			       "/, JSON at /api/status and others (ibwire-metrics(1))");
	ret->html = strstr(route->command, "--html");
	ret->kind = route == &routes[0] && !count ? METRICS_FABRIC_PAGE : METRICS_COMMAND;
	text_appendf(arguments, "%s%s --db=", route->command, ret->html ? "" : " --format=json");
	for (size_t i = 0; i < arguments->len; i++)
		if (arguments->chars[i] == ' ')
			arguments->chars[i] = '\0';
	text_appendf(arguments, "%s%c", config->db, '\0');
	if (config->names)
		text_appendf(arguments, "--node-name-map=%s%c", config->names, '\0');
	for (size_t i = 0; code == 0 && i < count; i++)
		code = add_pair(route, &pairs[i], false, arguments, err);
	text_append_bytes(arguments, "--", sizeof("--"));
	for (size_t i = 0; code == 0 && i < count; i++)
		code = add_pair(route, &pairs[i], true, arguments, err);
	if (code == 0)
		code = list_arguments(ret, err);
	if (code < 0)
		metrics_api_done(ret);
	return code;
}

void metrics_api_done(struct metrics_api_call *call)
{
	text_done(&call->arguments);
	*call = (struct metrics_api_call){ 0 };
}

/* Length of an element of a list, or of a part of it, without the blanks at its end. */
static size_t trimmed(const char *text, const char *end)
{
	size_t len = strcspn(text, end);

	while (len && strchr(" \t", text[len - 1]))
		len--;
	return len;
}

double metrics_api_weight(const char *list, const char *word)
{
	for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
		double weight = 1;

		at += strspn(at, " \t");
		if (trimmed(at, ",;") != strlen(word) || strncasecmp(at, word, strlen(word)) != 0)
			continue;
		for (const char *part = at + strcspn(at, ",;"); *part == ';'; part += strcspn(part, ",;")) {
			part += 1 + strspn(part + 1, " \t");
			if (strncasecmp(part, "q=", 2) == 0)
				weight = strtod(part + 2, NULL);
		}
		return weight;
	}
	return 0;
}
