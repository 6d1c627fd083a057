/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a script of the made world says. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/clock.h"

static void die(const char *what, const char *which)
{
	fprintf(stderr, "test world: %s: %s\n", what, which);
	abort();
}

/* "leaf0", "h0.2", "h0 mlx5_2" */
static uint32_t node_named(const struct world *world, const char *name)
{
	unsigned host, rail;
	char hca[32];

	if (sscanf(name, "h%u.%u", &host, &rail) == 2) {
		snprintf(hca, sizeof(hca), "h%u mlx5_%u", host, rail);
		name = hca;
	}
	for (uint32_t i = 0; i < world->node_count; i++)
		if (!strcmp(world->nodes[i].name, name))
			return i;
	die("no such node", name);
	return 0;
}

static struct world_end port_named(const struct world *world, const char *name)
{
	char node[32];
	unsigned num = 1;

	if (sscanf(name, "%31[^/]/%u", node, &num) < 1)
		die("no such port", name);
	return (struct world_end){ node_named(world, node), (uint8_t)num };
}

static struct world_link *link_named(struct world *world, const char *name, int *ret_end)
{
	struct world_end at = port_named(world, name);
	struct world_link *link = world->link_of[at.node][at.num];

	if (!link)
		die("no such link", name);
	*ret_end = link->end[1].node == at.node && link->end[1].num == at.num;
	return link;
}

/* A node, or all HCAs of a host: "h3". */
static void set_nodes(struct world *world, const char *name, const char *what, bool to)
{
	char prefix[162]; /* the name of at most 159 bytes, a space */
	unsigned host;
	bool all = sscanf(name, "h%u", &host) == 1 && !strchr(name, '.');
	uint32_t one = all ? 0 : node_named(world, name);

	snprintf(prefix, sizeof(prefix), "%s ", name);
	for (uint32_t i = 0; i < world->node_count; i++) {
		struct world_node *node = &world->nodes[i];

		if (all ? strncmp(node->name, prefix, strlen(prefix)) != 0 : i != one)
			continue;
		if (!strcmp(what, "dead"))
			node->dead = to;
		else if (!strcmp(what, "silent"))
			node->silent = to;
		else if (!strcmp(what, "hung"))
			node->hung = to;
		else
			node->locked = to;
	}
	world->stale |= !strcmp(what, "dead") || !strcmp(what, "hung");
}

static void spread(struct world *world, const char *port, const char *counter, unsigned count, unsigned sweeps)
{
	struct world_end at = port_named(world, port);

	for (unsigned i = 0; i < sweeps; i++) {
		world->counted = true;
		world->counts[at.node][at.num][counter_by_key(counter)] +=
			count * (i + 1) / sweeps - count * i / sweeps;
		world_sweeps(world, 1);
	}
}

static bool run_link(struct world *world, const char *word, char args[4][40])
{
	struct world_link *link, kept;
	int end, other_end;
	struct world_link *other;

	if (!strcmp(word, "down") || !strcmp(word, "up")) {
		link_named(world, args[0], &end)->down = !strcmp(word, "down");
		world->stale = true;
	} else if (!strcmp(word, "rate")) {
		link = link_named(world, args[0], &end);
		link->width = link_width_code((unsigned)atoi(args[1]));
		link->speed = (uint8_t)link_speed_by_name(args[2]);
		world->stale = true;
	} else if (!strcmp(word, "load")) {
		link_named(world, args[0], &end);
		link_named(world, args[0], &end)->load[end] = atof(args[1]);
	} else if (!strcmp(word, "stall")) {
		link = link_named(world, args[0], &end);
		link->stall[end] = atof(args[1]);
	} else if (!strcmp(word, "loads")) {
		for (size_t i = 0; i < world->link_count; i++)
			world->links[i].load[0] = world->links[i].load[1] = atof(args[0]);
	} else if (!strcmp(word, "swap")) {
		link = link_named(world, args[0], &end);
		other = link_named(world, args[1], &other_end);
		kept = *link;
		link->end[!end] = other->end[!other_end];
		other->end[!other_end] = kept.end[!end];
		world->stale = true;
	} else {
		return false;
	}
	return true;
}

static bool run_count(struct world *world, const char *word, char args[4][40])
{
	struct world_end at;

	if (!strcmp(word, "spread")) {
		spread(world, args[0], args[1], (unsigned)atoi(args[2]), (unsigned)atoi(args[3]));
		return true;
	}
	if (strcmp(word, "count") != 0 && strcmp(word, "reset") != 0 && strcmp(word, "full") != 0 &&
	    strcmp(word, "fec") != 0 && strcmp(word, "mended") != 0)
		return false;
	at = port_named(world, args[0]);
	world->counted = true;
	if (!strcmp(word, "count"))
		world->counts[at.node][at.num][counter_by_key(args[1])] += (uint64_t)atoi(args[2]);
	else if (!strcmp(word, "reset"))
		world->resets[at.node][at.num] = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	else if (!strcmp(word, "full"))
		world->full[at.node][at.num] |= COUNTER_BIT(counter_by_key(args[1]));
	else if (!strcmp(word, "fec"))
		world->fec[at.node][at.num] = (uint32_t)atoi(args[1]);
	else
		world->mended[at.node][at.num] = (uint32_t)atoi(args[1]);
	return true;
}

static bool run_node(struct world *world, const char *word, char args[4][40])
{
	static const struct { const char *word, *what; bool to; } words[] = {
		{ "kill", "dead", true }, { "revive", "dead", false }, { "silent", "silent", true },
		{ "answer", "silent", false }, { "lock", "locked", true }, { "unlock", "locked", false },
		{ "hang", "hung", true }, { "unhang", "hung", false },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word)) {
			set_nodes(world, args[0], words[i].what, words[i].to);
			return true;
		}
	return false;
}

static void run_one(struct world *world, const char *command)
{
	char word[40] = "", args[4][40] = { "", "", "", "" };

	if (sscanf(command, "%39s %39s %39s %39s %39s", word, args[0], args[1], args[2], args[3]) < 1)
		return;
	if (run_link(world, word, args) || run_count(world, word, args) || run_node(world, word, args))
		return;
	if (!strcmp(word, "wait")) {
		world_sweeps(world, (unsigned)(atoll(args[0]) * 1000000 / world->interval_us));
	} else if (!strcmp(word, "unread")) {
		world->unread_percent = (unsigned)atoi(args[0]);
	} else if (!strcmp(word, "sm")) {
		world->sm_lost = !strcmp(args[0], "lost");
		if (strcmp(args[0], "lost") != 0 && strcmp(args[0], "ok") != 0)
			world->sm_guid = strtoull(args[0], NULL, 0);
	} else if (!strcmp(word, "masters")) {
		world->sm_masters = (unsigned)atoi(args[0]);
	} else if (!strcmp(word, "log")) {
		world->log_bytes = atoll(args[0]);
	} else if (!strcmp(word, "stalled")) {
		world->stalled_us = atoll(args[0]) * US_PER_S;
	} else if (!strcmp(word, "restart")) {
		world_restart(world);
	} else if (!strcmp(word, "routes")) {
		world_make_routes(world);
	} else if (!strcmp(word, "skew")) {
		world_skew(world, node_named(world, args[0]), (uint8_t)atoi(args[1]), (unsigned)atoi(args[2]));
	} else if (!strcmp(word, "reread")) {
		world_read_table(world, node_named(world, args[0]));
	} else if (!strcmp(word, "route-change")) {
		world->changed_entries[world->changed_count] = (uint32_t)atoi(args[1]);
		world->changed_guids[world->changed_count++] = world->nodes[node_named(world, args[0])].guid;
	} else {
		die("no such command", command);
	}
}

void world_run(struct world *world, const char *script)
{
	char copy[4096], *rest = copy, *command;

	assert(strlen(script) < sizeof(copy));
	snprintf(copy, sizeof(copy), "%s", script);
	while ((command = strsep(&rest, ";")))
		run_one(world, command);
}
