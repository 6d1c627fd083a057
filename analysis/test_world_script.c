/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The scripts of a test world: world_run(). */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/test_world.h"
#include "base/clock.h"

static void fail(const char *what, const char *which)
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
	fail("no such node", name);
	return 0;
}

static struct world_link *link_named(struct world *world, const char *name, struct world_end **ret_end)
{
	struct world_link *link;
	char node[32];
	unsigned num = 1;
	uint32_t at;

	if (sscanf(name, "%31[^/]/%u", node, &num) < 1)
		fail("no such port", name);
	at = node_named(world, node);
	link = world->link_of[at][num % 256];
	if (!link)
		fail("no such link", name);
	*ret_end = &link->end[world_end_of(link, at, num)];
	return link;
}

/* Commands of a node, or of all HCAs of a host: "h3". */
static bool run_node(struct world *world, const char *word, const char *name)
{
	static const struct { const char *word; size_t flag; bool value; } words[] = {
		{ "kill", offsetof(struct world_node, dead), true },
		{ "revive", offsetof(struct world_node, dead), false },
		{ "silent", offsetof(struct world_node, silent), true },
		{ "answer", offsetof(struct world_node, silent), false },
		{ "lock", offsetof(struct world_node, locked), true },
		{ "unlock", offsetof(struct world_node, locked), false },
		{ "refuse", offsetof(struct world_node, refuses), true },
		{ "accept", offsetof(struct world_node, refuses), false },
		{ "hang", offsetof(struct world_node, hung), true },
		{ "unhang", offsetof(struct world_node, hung), false },
	};
	char prefix[162]; /* the name of at most 159 bytes, a space */
	unsigned host;
	bool all = sscanf(name, "h%u", &host) == 1 && !strchr(name, '.');

	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
		uint32_t one;

		if (strcmp(word, words[w].word))
			continue;
		one = all ? 0 : node_named(world, name);
		snprintf(prefix, sizeof(prefix), "%s ", name);
		for (uint32_t i = 0; i < world->node_count; i++)
			if (all ? !strncmp(world->nodes[i].name, prefix, strlen(prefix)) : i == one)
				*((bool *)&world->nodes[i] + words[w].flag) = words[w].value;
		world->changed |= words[w].flag == offsetof(struct world_node, dead) ||
				  words[w].flag == offsetof(struct world_node, hung);
		return true;
	}
	return false;
}

/* "firmware h3 1002 MT_1": of all HCAs of a host, of all nodes whose names begin with "spine", ... */
static void set_firmware(struct world *world, const char *name, const char *version, const char *psid)
{
	for (uint32_t i = 0; i < world->node_count; i++) {
		struct world_node *node = &world->nodes[i];
		struct firmware now = { .source = FIRMWARE_READ, .major = 28, .minor = 39,
					.sub_minor = (uint32_t)atoi(version), .at_us = world->now_us + WORLD_WALL_US };
		size_t len = strlen(name);

		if (strncmp(node->name, name, len) || (node->name[len] >= '0' && node->name[len] <= '9' &&
						       name[len - 1] >= '0' && name[len - 1] <= '9'))
			continue;
		firmware_set_psid(&now, psid, strlen(psid));
		if (node->firmware.source)
			now.changed_us = now.at_us;
		node->firmware = now;
	}
	world->changed = true;
}

/* Commands of a port. */
static bool run_port(struct world *world, const char *word, char args[4][40])
{
	static const char words[] = " down up init active rate load stall swap move count spread reset full fec "
				    "corrected ";
	struct world_end *end, *other, kept;
	struct world_link *link;
	char padded[42];
	unsigned count, sweeps;

	snprintf(padded, sizeof(padded), " %s ", word);
	if (!strstr(words, padded))
		return false;
	link = link_named(world, args[0], &end);
	if (!strcmp(word, "load")) {
		end->load = atof(args[1]);
	} else if (!strcmp(word, "stall")) {
		end->stall = atof(args[1]);
	} else if (!strcmp(word, "count")) {
		end->counts[counter_by_key(args[1])] += (uint64_t)atoi(args[2]);
	} else if (!strcmp(word, "spread")) {
		count = (unsigned)atoi(args[2]);
		sweeps = (unsigned)atoi(args[3]);
		for (unsigned i = 0; i < sweeps; i++) {
			end->counts[counter_by_key(args[1])] += count * (i + 1) / sweeps - count * i / sweeps;
			world_sweeps(world, 1);
		}
	} else if (!strcmp(word, "reset")) {
		end->reset = COUNTER_BIT(COUNTER_SYMBOL_ERRORS);
	} else if (!strcmp(word, "full")) {
		end->saturated |= COUNTER_BIT(counter_by_key(args[1]));
	} else if (!strcmp(word, "fec")) {
		end->uncorrected = (uint32_t)atoi(args[1]);
	} else if (!strcmp(word, "corrected")) {
		end->corrected = (uint32_t)atoi(args[1]);
	} else {
		world->changed = true;
		if (!strcmp(word, "rate")) {
			link->width = link_width_code((unsigned)atoi(args[1]));
			link->speed = (uint8_t)link_speed_by_name(args[2]);
		} else if (!strcmp(word, "swap")) {
			/* The far ends of both links. */
			end = &link->end[end == link->end];
			link = link_named(world, args[1], &other);
			other = &link->end[other == link->end];
			kept = *end;
			*end = *other;
			*other = kept;
		} else if (!strcmp(word, "move")) {
			end->num = (uint8_t)atoi(args[1]);
		} else if (!strcmp(word, "init") || !strcmp(word, "active")) {
			link->init = !strcmp(word, "init");
		} else {
			link->down = !strcmp(word, "down");
		}
	}
	return true;
}

static void set_pkeys(struct world *world, uint32_t node, uint8_t port, char args[3][40], uint8_t enforcement)
{
	uint16_t keys[3];

	for (size_t i = 0; i < 3; i++)
		keys[i] = (uint16_t)strtoul(args[i], NULL, 16);
	assert(pkeys_set(&world->pkeys, world->nodes[node].guid, port, keys, 3, enforcement, NULL) >= 0);
	world->pkeys_revision++;
}

static void run_pkeys(struct world *world, const char *word, char args[4][40])
{
	static char usual[3][40] = { "ffff", "", "" };
	struct world_end *end;
	struct world_link *link;

	if (!strcmp(word, "pkey")) {
		set_pkeys(world, node_named(world, args[0]), 1, args + 1, 0);
	} else if (!strcmp(word, "enforce")) {
		link = link_named(world, args[0], &end);
		(void)link;
		set_pkeys(world, end->node, end->num, args + 1, PKEYS_INBOUND | PKEYS_OUTBOUND);
	}
	for (uint32_t i = 0; !strcmp(word, "pkeys") && i < world->node_count; i++)
		if (world->nodes[i].type == NODE_CA)
			set_pkeys(world, i, 1, usual, 0);
}

static void run_one(struct world *world, const char *command)
{
	char word[40] = "", args[4][40] = { "", "", "", "" };

	if (sscanf(command, "%39s %39s %39s %39s %39s", word, args[0], args[1], args[2], args[3]) < 1 ||
	    run_node(world, word, args[0]) || run_port(world, word, args))
		return;
	if (!strcmp(word, "cold"))
		return;
	if (!strcmp(word, "wait")) {
		world_sweeps(world, (unsigned)(atoll(args[0]) * 1000000 / world->interval_us));
	} else if (!strcmp(word, "loads")) {
		uint32_t node = *args[1] ? node_named(world, args[1]) : FABRIC_NONE;

		for (uint32_t i = 0; i < world->link_count; i++)
			if (node == FABRIC_NONE || world->links[i].end[0].node == node ||
			    world->links[i].end[1].node == node)
				world->links[i].end[0].load = world->links[i].end[1].load = atof(args[0]);
	} else if (!strcmp(word, "job") || !strcmp(word, "end")) {
		unsigned number = (unsigned)atoi(args[0]);

		world->jobs[number % WORLD_JOBS].number = *word == 'j' ? number : 0;
		world->jobs[number % WORLD_JOBS].first = (unsigned)atoi(args[1]);
		world->jobs[number % WORLD_JOBS].last = (unsigned)atoi(args[2]);
	} else if (!strcmp(word, "unread")) {
		world->unread_percent = (unsigned)atoi(args[0]);
	} else if (!strcmp(word, "sm")) {
		world->sm_lost = !strcmp(args[0], "lost");
		if (strcmp(args[0], "lost") != 0 && strcmp(args[0], "ok") != 0)
			world->sm_guid = strtoull(args[0], NULL, 0);
	} else if (!strcmp(word, "masters")) {
		world->sm_masters = (unsigned)atoi(args[0]);
	} else if (!strcmp(word, "firmware")) {
		set_firmware(world, args[0], args[1], args[2]);
	} else if (!strcmp(word, "log")) {
		world->log_bytes = atoll(args[0]);
	} else if (!strcmp(word, "left-out")) {
		world->left_out = (size_t)atoi(args[0]);
	} else if (!strcmp(word, "stalled")) {
		world->stalled_us = atoll(args[0]) * US_PER_S;
	} else if (!strcmp(word, "pkeys") || !strcmp(word, "pkey") || !strcmp(word, "enforce")) {
		run_pkeys(world, word, args);
	} else if (!strcmp(word, "unsettled") || !strcmp(word, "settled")) {
		world->pkeys_unsettled = !strcmp(word, "unsettled");
	} else if (!strcmp(word, "plan")) {
		world_plan(world);
	} else if (!strcmp(word, "restart")) {
		world_restart(world);
	} else if (!strcmp(word, "expect")) {
		world->settings.expected_hosts = (unsigned)atoi(args[0]);
		world->settings.expected_hcas = (unsigned)atoi(args[1]);
		world->settings.expected_switches = (unsigned)atoi(args[2]);
		world->settings.expected_links = (unsigned)atoi(args[3]);
		world_restart(world);
	} else if (!strcmp(word, "routes")) {
		world_make_routes(world);
	} else if (!strcmp(word, "skew")) {
		world_skew_routes(world, node_named(world, args[0]), (uint8_t)atoi(args[1]), (unsigned)atoi(args[2]));
	} else if (!strcmp(word, "avoid")) {
		uint32_t at = node_named(world, args[0]);

		for (uint32_t lid = 1; lid <= world->node_count; lid++) {
			if (world->tables[at][lid] != (uint8_t)atoi(args[1]))
				continue;
			world->tables[at][lid] = (uint8_t)atoi(args[2]);
			world->changes[at]++;
		}
	} else if (!strcmp(word, "reread")) {
		world_read_table(world, node_named(world, args[0]));
	} else if (!strcmp(word, "route-change")) {
		world->changed_entries[world->changed_count] = (uint32_t)atoi(args[1]);
		world->changed_guids[world->changed_count++] = world->nodes[node_named(world, args[0])].guid;
	} else {
		fail("no such command", command);
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
