/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/scenarios/incidents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "sim/net_shape.h"
#include "tests/world/collect.h"
#include "tests/world/scenario.h"
#include "tests/world/virtual.h"

/* The first fault begins at BEGIN_S, the others up to LATER_S later; nic-unused needs 10 active minutes. */
enum { BEGIN_S = 180, LATER_S = 120, LENGTH_S = BEGIN_S + LATER_S + 1080, INTERVAL_S = 10 };

enum place { AT_TRUNK, AT_HOST_LINK, AT_OWN_LINK, AT_HOST, AT_HCA, AT_LEAF, AT_SPINE, AT_OWN_LEAF, AT_SM };

static const struct kind {
	const char *name;
	const char *event;   /* of a scenario file; %s: the place */
	enum place place;
	bool of_load;        /* seen in the traffic of jobs, which other faults change */
	bool hides;          /* what is behind the node cannot be reached */
	bool info;           /* may be a finding of severity info only */
} fault_kinds[] = {
	{ .name = "skew", .event = "skew %s part=0.5", .place = AT_TRUNK, .of_load = true },
	{ .name = "unplug-trunk", .event = "down %s", .place = AT_TRUNK },
	{ .name = "unplug-host", .event = "down %s", .place = AT_HOST_LINK },
	{ .name = "errors-trunk", .event = "errors %s symbol_errors=7200", .place = AT_TRUNK },
	{ .name = "errors-host", .event = "errors %s symbol_errors=7200", .place = AT_HOST_LINK },
	{ .name = "slow-trunk", .event = "slow %s", .place = AT_TRUNK },
	{ .name = "slow-host", .event = "slow %s", .place = AT_HOST_LINK },
	{ .name = "hang-host", .event = "hang %s", .place = AT_HOST, .hides = true },
	{ .name = "hang-hca", .event = "hang %s", .place = AT_HCA, .hides = true },
	{ .name = "hang-leaf", .event = "hang %s", .place = AT_LEAF, .hides = true },
	{ .name = "hang-spine", .event = "hang %s", .place = AT_SPINE, .hides = true },
	{ .name = "hang-own-leaf", .event = "hang %s", .place = AT_OWN_LEAF, .hides = true },
	{ .name = "idle-host", .event = "idle %s", .place = AT_HOST, .of_load = true, .info = true },
	{ .name = "idle-hca", .event = "idle %s", .place = AT_HCA, .of_load = true },
	{ .name = "sm-stop", .event = "sm stop", .place = AT_SM },
	{ .name = "off-host", .event = "off hosts=%s", .place = AT_HOST, .hides = true },
	{ .name = "off-leaf", .event = "off %s", .place = AT_LEAF, .hides = true },
	{ .name = "off-spine", .event = "off %s", .place = AT_SPINE, .hides = true },
	{ .name = "unplug-own", .event = "down %s", .place = AT_OWN_LINK },
};

/* A fault at its place: a port of a link (of a switch), a node, or a host. */
struct fault {
	const struct kind *kind;
	uint32_t port, node; /* FABRIC_NONE: not this */
	char host[NODE_NAME_SIZE];
	int64_t at_s;
	bool visible, found;
};

struct run {
	struct scenario scenario;
	struct virtual *world;
	const struct fabric *built;
	uint64_t random;
	struct fault faults[INCIDENT_FAULTS_MAX];
	unsigned count;
	struct incident result;
	struct text *text;
};

size_t incident_kinds(void)
{
	return sizeof(fault_kinds) / sizeof(fault_kinds[0]);
}

const char *incident_kind_name(size_t kind)
{
	return fault_kinds[kind].name;
}

bool incident_is_right(const struct incident *incident)
{
	return incident->shown <= incident->faults && !incident->wrong && !incident->missing;
}

static uint32_t draw(struct run *run, size_t below)
{
	run->random = map_mix(run->random + UINT64_C(0x9e3779b97f4a7c15));
	return (uint32_t)(run->random >> 16) % (uint32_t)below;
}

/* --- places --- */

static bool is_switch(const struct run *run, uint32_t node)
{
	return run->built->nodes[node].type == NODE_SWITCH;
}

static uint32_t peer_node(const struct run *run, uint32_t port)
{
	uint32_t peer = run->built->ports[port].peer;

	return peer == FABRIC_NONE ? FABRIC_NONE : run->built->ports[peer].node;
}

static uint32_t own_port(const struct run *run)
{
	uint32_t node = run->built->from_node == FABRIC_NONE ? 0 : run->built->from_node;

	return run->built->nodes[node].first_port;
}

static bool is_management(const struct run *run, uint32_t node)
{
	return host_is_management(run->built->nodes[node].desc);
}

static bool has_hosts(const struct run *run, uint32_t node)
{
	const struct node *at = &run->built->nodes[node];

	for (uint32_t i = at->first_port; i < at->first_port + at->ports; i++)
		if (peer_node(run, i) != FABRIC_NONE && !is_switch(run, peer_node(run, i)))
			return true;
	return false;
}

static bool suits_port(const struct run *run, enum place place, uint32_t port)
{
	uint32_t node = run->built->ports[port].node, peer = peer_node(run, port);

	if (place == AT_OWN_LINK)
		return run->built->ports[port].peer == own_port(run);
	if (peer == FABRIC_NONE || !is_switch(run, node))
		return false;
	if (place == AT_TRUNK)
		return is_switch(run, peer) && has_hosts(run, node);
	return !is_switch(run, peer) && !is_management(run, peer);
}

static bool suits_node(const struct run *run, enum place place, uint32_t node)
{
	uint32_t own_leaf = peer_node(run, own_port(run)), sm_leaf = peer_node(run, run->world->sm_port);

	switch (place) {
	case AT_HOST:
	case AT_HCA:
		return !is_switch(run, node) && !is_management(run, node);
	case AT_LEAF:
		return is_switch(run, node) && has_hosts(run, node) && node != own_leaf && node != sm_leaf;
	case AT_SPINE:
		return is_switch(run, node) && !has_hosts(run, node);
	case AT_OWN_LEAF:
		return node == own_leaf;
	default:
		return false;
	}
}

static bool is_free(const struct run *run, const struct fault *fault)
{
	for (unsigned i = 0; i < run->count; i++) {
		const struct fault *other = &run->faults[i];

		if (other->port == fault->port && other->node == fault->node && !strcmp(other->host, fault->host))
			return false;
		/* A host and one of its HCAs or links. */
		if (*fault->host && !strcmp(other->host, fault->host))
			return false;
	}
	return true;
}

static void host_of(const struct run *run, uint32_t node, char ret[NODE_NAME_SIZE])
{
	if (node == FABRIC_NONE || is_switch(run, node) || !host_name(&run->built->nodes[node], ret))
		*ret = 0;
}

/* @ret: at a random place. Return: false without a free one. */
static bool choose(struct run *run, struct fault *ret)
{
	enum place place = ret->kind->place;
	bool of_port = place <= AT_OWN_LINK;
	size_t count = of_port ? run->built->port_count : run->built->node_count;
	uint32_t first = draw(run, count);

	ret->port = ret->node = FABRIC_NONE;
	*ret->host = 0;
	if (place == AT_SM)
		return is_free(run, ret);
	for (size_t i = 0; i < count; i++) {
		uint32_t at = (uint32_t)((first + i) % count);

		if (of_port ? !suits_port(run, place, at) : !suits_node(run, place, at))
			continue;
		ret->port = of_port ? at : FABRIC_NONE;
		ret->node = of_port || place == AT_HOST ? FABRIC_NONE : at;
		host_of(run, of_port ? peer_node(run, at) : at, ret->host);
		if (is_free(run, ret))
			return true;
	}
	return false;
}

static void add_fault(struct run *run, const struct fault *fault, struct text *text)
{
	const struct fabric *built = run->built;
	char place[NODE_NAME_SIZE + 16];
	const char *target = strstr(fault->kind->event, "%s");

	if (fault->port != FABRIC_NONE)
		snprintf(place, sizeof(place), "\"%s/%u\"", built->nodes[built->ports[fault->port].node].name,
			 built->ports[fault->port].num);
	else if (fault->node != FABRIC_NONE)
		snprintf(place, sizeof(place), "\"%s\"", built->nodes[fault->node].name);
	else
		snprintf(place, sizeof(place), "%s", fault->host);
	if (target)
		text_appendf(text, "at %ds %.*s%s%s\n", (int)fault->at_s, (int)(target - fault->kind->event),
			     fault->kind->event, place, target + 2);
	else
		text_appendf(text, "at %ds %s\n", (int)fault->at_s, fault->kind->event);
}

/* --- what can be seen from the collector's port --- */

static bool is_of_fault(const struct run *run, const struct fault *fault, uint32_t node)
{
	char host[NODE_NAME_SIZE];

	if (fault->node != FABRIC_NONE || fault->port != FABRIC_NONE)
		return fault->node == node;
	host_of(run, node, host);
	return *host && !strcmp(host, fault->host);
}

static bool is_hidden(const struct run *run, uint32_t node)
{
	for (unsigned i = 0; i < run->count; i++)
		if (run->faults[i].kind->hides && is_of_fault(run, &run->faults[i], node))
			return true;
	return false;
}

static bool is_cut(const struct run *run, uint32_t port)
{
	for (unsigned i = 0; i < run->count; i++)
		if (!strcmp(run->faults[i].kind->event, "down %s") &&
		    (run->faults[i].port == port || run->faults[i].port == run->built->ports[port].peer))
			return true;
	return false;
}

/* Nodes that respond, by paths of such nodes. */
static bool *find_seen(const struct run *run)
{
	const struct fabric *built = run->built;
	bool *seen = virtual_alloc(built->node_count, sizeof(*seen)), more = true;

	seen[built->ports[own_port(run)].node] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < built->port_count; i++) {
			uint32_t peer = peer_node(run, i);

			if (!seen[built->ports[i].node] || peer == FABRIC_NONE || seen[peer] || is_hidden(run, peer) ||
			    is_cut(run, i) || (i == own_port(run) && is_hidden(run, peer)))
				continue;
			more = seen[peer] = true;
		}
	}
	return seen;
}

static bool has_seen_neighbor(const struct run *run, const bool *seen, uint32_t node)
{
	const struct node *at = &run->built->nodes[node];

	for (uint32_t i = at->first_port; i < at->first_port + at->ports; i++)
		if (peer_node(run, i) != FABRIC_NONE && seen[peer_node(run, i)] && !is_cut(run, i))
			return true;
	return false;
}

/* Other faults may change the traffic in which it would be seen. */
static bool is_load_certain(const struct run *run, const struct fault *fault)
{
	for (unsigned i = 0; i < run->count; i++)
		if (&run->faults[i] != fault && strncmp(run->faults[i].kind->name, "errors", 6) != 0)
			return false;
	return true;
}

static bool has_more_hcas(const struct run *run, const struct fault *fault)
{
	char host[NODE_NAME_SIZE];

	for (uint32_t i = 0; i < run->built->node_count; i++) {
		host_of(run, i, host);
		if (i != fault->node && !strcmp(host, fault->host))
			return true;
	}
	return false;
}

static void find_visible(struct run *run)
{
	bool *seen = find_seen(run);

	for (unsigned i = 0; i < run->count; i++) {
		struct fault *fault = &run->faults[i];

		if (fault->kind->info || (fault->kind->of_load && !is_load_certain(run, fault)))
			continue;
		/* Idleness of the only HCA of a host is that of the host. */
		if (fault->kind->of_load && fault->kind->place == AT_HCA && !has_more_hcas(run, fault))
			continue;
		if (fault->kind->place == AT_SM || fault->kind->place == AT_OWN_LINK) {
			fault->visible = fault->kind->place == AT_OWN_LINK ||
					 seen[run->built->ports[run->world->sm_port].node];
		} else if (fault->port != FABRIC_NONE) {
			fault->visible = seen[run->built->ports[fault->port].node] &&
					 (seen[peer_node(run, fault->port)] ||
					  (is_cut(run, fault->port) && !is_hidden(run, peer_node(run, fault->port))));
		} else {
			for (uint32_t n = 0; n < run->built->node_count; n++)
				fault->visible |= is_of_fault(run, fault, n) && has_seen_neighbor(run, seen, n);
		}
	}
	free(seen);
}

/* --- findings --- */

static bool names_node(const struct run *run, const struct fault *fault, uint64_t guid)
{
	uint32_t node = guid ? fabric_find_node(run->built, guid) : FABRIC_NONE;

	return node != FABRIC_NONE && is_of_fault(run, fault, node);
}

static bool names_port(const struct run *run, const struct fault *fault, uint64_t guid, uint8_t num)
{
	uint32_t port = guid && num ? fabric_find_port(run->built, guid, num) : FABRIC_NONE;

	return port != FABRIC_NONE && (port == fault->port || run->built->ports[port].peer == fault->port);
}

/* Is a finding at the place of a fault? */
static bool is_at(const struct run *run, const struct fault *fault, const struct finding *finding)
{
	if (fault->kind->place == AT_SM)
		return finding->kind == FINDING_SM_LOST;
	if (fault->port == FABRIC_NONE)
		return names_node(run, fault, finding->node_guid) || names_node(run, fault, finding->peer_guid);
	/* The imbalance of a switch, and the only HCA of a link that is down. */
	if (!finding->port && finding->node_guid &&
	    (finding->node_guid == run->built->nodes[run->built->ports[fault->port].node].guid
	     ? finding->kind == FINDING_UPLINK_IMBALANCE && fault->kind->of_load
	     : finding->node_guid == run->built->nodes[peer_node(run, fault->port)].guid &&
	       !is_switch(run, peer_node(run, fault->port))))
		return true;
	return names_port(run, fault, finding->node_guid, finding->port) ||
	       names_port(run, fault, finding->peer_guid, finding->peer_port);
}

static int store_sweep(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct run *run = ctx;
	struct incident *result = &run->result;
	int64_t now_us = sweep->wall_us - VIRTUAL_WALL_US;
	bool last = now_us >= (LENGTH_S - INTERVAL_S - INTERVAL_S / 2) * INT64_C(1000000);

	(void)err;
	result->shown = result->wrong = result->infos = 0;
	for (size_t i = 0; i < sweep->finding_count; i++) {
		const struct finding *finding = sweep->findings[i];
		bool right = false;

		if (last && run->text)
			text_appendf(run->text, "%s %s %s%s since %ds: %s\n", finding_severity_name(finding->severity),
				     finding_kind_name(finding->kind), finding->subject,
				     finding->ok_since_us ? " (clearing)" : finding->is_explained ? " (explained)" : "",
				     (int)((finding->since_us - VIRTUAL_WALL_US) / 1000000), finding->text);
		result->infos += finding->severity == FINDING_INFO;
		if (finding->severity < FINDING_WARNING || finding->ok_since_us || finding->is_explained)
			continue;
		result->shown++;
		for (unsigned f = 0; f < run->count; f++) {
			bool at = is_at(run, &run->faults[f], finding);

			run->faults[f].found |= at && last;
			right |= at;
		}
		result->wrong += !right;
	}
	if (result->shown > result->most)
		result->most = result->shown;
	if (result->wrong > result->early)
		result->early = result->wrong;
	return 0;
}

/* --- running --- */

static const char *const shapes[] = {
	"rail units=2 hosts=6 rails=4 spines=4", "tree2 leafs=6 hosts=5 spines=4",
	"tree3 pods=3 leafs=3 hosts=4 spines=2 cores=4",
};

static void must(int code, const struct error *err)
{
	if (code < 0) {
		fprintf(stderr, "incidents: %s\n", err->text);
		abort();
	}
}

static void begin(struct run *run, const char *chars)
{
	struct error err = { 0 };

	must(scenario_read(chars, &run->scenario, &err), &err);
	must(scenario_begin(&run->scenario, &run->world, &err), &err);
	run->built = run->world->built;
}

static void end(struct run *run)
{
	virtual_destroy(run->world);
	scenario_done(&run->scenario);
}

struct incident incident_run(const size_t *kinds, unsigned count, uint64_t seed, struct text *text)
{
	struct run run = { .random = seed, .text = text };
	const struct sink sink = world_sink(store_sweep, &run);
	struct text scenario = { 0 };
	struct error err = { 0 };

	text_appendf(&scenario, "about Several faults\nshape %s\nlength %ds\nseed %" PRIu64 "\n"
		     "job main alltoall fan=8 load=0.4 noise=0.1\n", shapes[draw(&run, 3)], LENGTH_S, seed % 1000 + 1);
	begin(&run, text_chars(&scenario));
	for (unsigned i = 0; i < count; i++) {
		struct fault *fault = &run.faults[run.count];

		*fault = (struct fault){ .kind = &fault_kinds[kinds[i]], .at_s = BEGIN_S };
		if (i)
			fault->at_s += draw(&run, LATER_S);
		if (!choose(&run, fault))
			continue;
		run.count++;
		add_fault(&run, fault, &scenario);
	}
	find_visible(&run);
	end(&run);
	begin(&run, text_chars(&scenario));
	if (text)
		text_append(text, text_chars(&scenario));
	must(world_collect(run.world, run.scenario.interval_us, run.scenario.length_us, VIRTUAL_WALL_US, &sink, NULL,
			   &err), &err);
	run.result.faults = run.count;
	for (unsigned i = 0; i < run.count; i++) {
		run.result.missing += run.faults[i].visible && !run.faults[i].found;
		if (text && run.faults[i].visible && !run.faults[i].found)
			text_appendf(text, "NOT FOUND: %s\n", run.faults[i].kind->name);
	}
	end(&run);
	text_done(&scenario);
	return run.result;
}
