/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report_subject.c - the subject of a report, including removed nodes */
#include "pages/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/moment.h"
#include "facts/selection.h"
#include "pages/cable.h"
#include "storage/reader.h"

static int add_port(struct report *report, uint32_t port)
{
	uint32_t *ports = reallocarray(report->ports, report->port_count + 1, sizeof(*ports));

	if (!ports)
		return ERR_NOMEM;
	report->ports = ports;
	ports[report->port_count++] = port;
	return 0;
}

/* Add the ports that a node has had. */
static int add_node_ports(struct report *report, uint32_t index)
{
	const struct fabric *fabric = report->moment->fabric;
	const struct node *node = &fabric->nodes[index];
	int code = 0;

	for (uint32_t i = node->first_port; code == 0 && i < node->first_port + node->ports; i++)
		if (port_is_pollable(fabric, &fabric->ports[i]) && moment_port_was_seen(report->moment, i))
			code = add_port(report, i);
	return code;
}

/* Several HCAs of one host, none of which has the host's name as its own. Return: 1; 0: no such host; an error. */
static int find_host(struct report *report, const char *typed, struct error *err)
{
	const struct fabric *fabric = report->moment->fabric;
	int code = moment_find_shape(report->moment, err);
	const struct shape *shape = report->moment->shape;
	uint32_t host = code == 0 ? shape_find_host(shape, typed) : SHAPE_NONE;

	for (uint32_t i = 0; host != SHAPE_NONE && i < fabric->node_count; i++)
		if (!strcmp(fabric->nodes[i].name, typed))
			host = SHAPE_NONE;
	if (host == SHAPE_NONE || shape->hosts[host].count < 2)
		return code;
	snprintf(report->host, sizeof(report->host), "%s", shape->hosts[host].name);
	report->of_node = true;
	report->node = shape->host_nodes[shape->hosts[host].first];
	for (uint32_t i = 0; code == 0 && i < shape->hosts[host].count; i++)
		code = add_node_ports(report, shape->host_nodes[shape->hosts[host].first + i]);
	return code < 0 ? err_nomem(err) : 1;
}

/* Find the subject in the fabric of the moment. */
static int find_subject(struct report *report, const char *typed, struct error *err)
{
	const struct fabric *fabric = report->moment->fabric;
	uint32_t port;
	int code = find_host(report, typed, err);

	if (code)
		return code < 0 ? code : 0;
	code = moment_find(report->moment, typed, &report->node, &port, err);
	if (code < 0)
		return code;
	report->of_node = port == FABRIC_NONE;
	if (report->of_node) {
		code = add_node_ports(report, report->node);
	} else {
		code = add_port(report, port);
		if (code == 0 && fabric->ports[port].peer != FABRIC_NONE)
			code = add_port(report, fabric->ports[port].peer);
	}
	return code < 0 ? err_nomem(err) : 0;
}

/*
 * Find the last peers of unconnected ports. A removed cable has both ends, unless one is connected
 * elsewhere.
 */
static int find_past(struct report *report, struct error *err)
{
	const struct fabric *fabric = report->moment->fabric;
	size_t most = report->port_count + 1;
	int code = 0;

	report->past = calloc(most, sizeof(*report->past));
	if (!report->past)
		return err_nomem(err);
	for (size_t i = 0; code >= 0 && i < report->port_count; i++) {
		const struct port *port = &fabric->ports[report->ports[i]];
		uint32_t other;

		if (port->peer != FABRIC_NONE)
			continue;
		code = reader_last_peer(report->moment->reader, fabric->nodes[port->node].guid, port->num,
					report->moment->at_us, &report->past[i], err);
		if (code <= 0 || report->of_node || report->port_count > 1)
			continue;
		other = fabric_find_port(fabric, report->past[i].guid, report->past[i].port);
		if (other != FABRIC_NONE && fabric->ports[other].peer == FABRIC_NONE && add_port(report, other) < 0)
			code = err_nomem(err);
		/* The peer has the same removed cable. */
		if (code > 0 && report->port_count > 1)
			break;
	}
	return code < 0 ? code : 0;
}

/* --- removed nodes --- */

struct search {
	const struct moment *moment;
	const char *typed;     /* length of the node name */
	struct departed_node found;
	size_t count;
	struct text guids;     /* GUIDs of the first matches */
};

static bool is_of_host(const char *name, const char *typed)
{
	struct host_words words;

	return host_split(name, &words) && strlen(typed) == words.host_len &&
	       !memcmp(words.host, typed, words.host_len);
}

static bool has_name(const struct fabric *fabric, const char *name, const char *typed)
{
	char shown[NODE_NAME_SIZE];
	size_t len = strlen(name), was = strlen(NAMES_WAS);

	if (!strcmp(name, typed) || is_of_host(name, typed))
		return true;
	if (len > was && !strcmp(name + len - was, NAMES_WAS) && strlen(typed) == len - was &&
	    !strncmp(name, typed, len - was))
		return true;
	if (len >= sizeof(shown))
		return false;
	names_display(fabric, name, shown);
	return !strcmp(shown, typed);
}

static bool match_departed(void *ctx, const struct departed_node *departed)
{
	struct search *search = ctx;
	const char *mapped = search->moment->names ? name_map_find(search->moment->names, departed->guid) : NULL;
	char guid[32];

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, departed->guid);
	if (strcasecmp(guid, search->typed) &&
	    !has_name(search->moment->fabric, mapped ? mapped : departed->name, search->typed))
		return true;
	search->found = *departed;
	if (search->count++ < 4)
		text_appendf(&search->guids, "%s%s", search->count > 1 ? ", " : "", guid);
	return true;
}

/* Is there a present node of this name? It has precedence. */
static bool is_present(const struct fabric *fabric, const char *typed)
{
	for (size_t i = 0; i < fabric->node_count; i++)
		if (has_name(fabric, fabric->nodes[i].name, typed))
			return true;
	return false;
}

/* Return: 1 with the removed node; 0 if none; or an error. */
static int search_removed(const struct moment *moment, const char *typed, struct departed_node *ret, struct error *err)
{
	struct search search = { .moment = moment, .typed = typed };
	int code;

	if (is_present(moment->fabric, typed))
		return 0;
	code = reader_departed_nodes(moment->reader, moment->at_us, match_departed, &search, err);
	if (code == 0 && search.count > 1)
		code = err_set(err, ERR_USAGE, "%zu removed nodes had the name '%s': give a GUID: %s%s",
			       search.count, typed, text_chars(&search.guids), search.count > 4 ? ", ..." : "");
	else if (code == 0)
		code = (int)search.count;
	text_done(&search.guids);
	*ret = search.found;
	return code;
}

/*
 * Find a removed node or port. @ret_typed: the same by GUID, for free(). Return: as
 * search_removed().
 */
static int find_removed(const struct moment *moment, const char *typed, struct departed_node *ret, char **ret_typed,
			struct error *err)
{
	const char *slash = strrchr(typed, '/'), *rest = "";
	int code = search_removed(moment, typed, ret, err);
	char *name;

	if (code == 0 && slash && isdigit((unsigned char)slash[1])) {
		name = strndup(typed, (size_t)(slash - typed));
		if (!name)
			return err_nomem(err);
		code = search_removed(moment, name, ret, err);
		free(name);
		rest = slash;
	}
	if (code <= 0)
		return code;
	if (asprintf(ret_typed, "0x%016" PRIx64 "%s", ret->guid, rest) < 0)
		return err_nomem(err);
	return code;
}

/* Load the last sweep that had the removed node. */
static int load_removed(struct report *report, const struct departed_node *departed, const char *typed,
			struct error *err)
{
	const struct snapshot_query query = { .at_us = departed->seen_us };
	int code;

	if (!departed->seen_us)
		return err_set(err, ERR_UNAVAILABLE, "%s was removed, and no sweep with it is stored any more", typed);
	report->moment->reference_us = departed->seen_us;
	code = moment_load(report->moment, &query, err);
	if (code < 0)
		return code;
	report->departed_us = departed->departed_us;
	return find_subject(report, typed, err);
}

struct host_search {
	struct report *report;
	const char *typed;
};

static bool add_removed_hca(void *ctx, const struct departed_node *departed)
{
	const struct host_search *search = ctx;
	struct text *text = &search->report->removed_hcas;
	char since[WHEN_SIZE];

	if (is_of_host(departed->name, search->typed))
		text_appendf(text, "%s%s since %s", *text_chars(text) ? ", " : "", departed->name,
			     when_format_local(departed->departed_us, since));
	return true;
}

/* The removed HCAs of a present host. */
static int find_removed_hcas(struct report *report, const char *typed, struct error *err)
{
	struct host_search search = { report, typed };
	char name[NODE_NAME_SIZE];

	if (!report->of_node || !host_name(&report->moment->fabric->nodes[report->node], name) || strcmp(name, typed))
		return 0;
	return reader_departed_nodes(report->moment->reader, report->moment->at_us, add_removed_hca, &search, err);
}

int report_find(struct report *report, struct moment *moment, const char *typed, int64_t until_us, int64_t since_us,
		struct error *err)
{
	const int64_t day_us = 24 * 3600 * US_PER_S, default_us = 7 * day_us;
	struct error unknown = { 0 };
	struct departed_node departed;
	char *by_guid = NULL;
	int code, found;

	report->moment = moment;
	report->until_us = until_us;
	report->window_us[0] = 3600 * US_PER_S;
	report->window_us[1] = day_us;
	report->window_us[2] = since_us ? until_us - since_us : default_us;
	code = find_subject(report, typed, &unknown);
	if (code == ERR_USAGE) {
		found = find_removed(moment, typed, &departed, &by_guid, err);
		code = found < 0 ? found : found ? load_removed(report, &departed, by_guid, err) :
						   err_set(err, code, "%s", unknown.text);
		free(by_guid);
	} else if (code < 0) {
		err_set(err, code, "%s", unknown.text);
	}
	if (code == 0)
		code = find_removed_hcas(report, typed, err);
	/* A removed node is reported up to its last sweep. */
	if (report->departed_us && !since_us)
		report->window_us[2] += until_us - report->departed_us;
	return code < 0 ? code : find_past(report, err);
}

void report_done(struct report *report)
{
	for (int i = 0; i < REPORT_WINDOWS; i++)
		free(report->sums[i]);
	free(report->ports);
	free(report->past);
	free(report->findings);
	text_done(&report->removed_hcas);
	cable_report_destroy(report->cables);
	health_rows_done(&report->rows);
}
