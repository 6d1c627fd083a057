/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A dump of ibnetdiscover, or our own baseline: its links are the planned ones, by GUID and port number. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/plan/build.h"

static const char *const node_words[] = { "Switch", "Ca", "Hca", "Rt" };

/* "Switch  41 "S-..."". */
static bool is_node_line(const char *line)
{
	for (size_t i = 0; i < sizeof(node_words) / sizeof(node_words[0]); i++) {
		size_t len = strlen(node_words[i]);
		const char *at = line + len;

		if (strncmp(line, node_words[i], len))
			continue;
		at += strspn(at, " \t");
		if (!isdigit((unsigned char)*at))
			continue;
		at += strspn(at, "0123456789");
		at += strspn(at, " \t");
		if (*at == '"')
			return true;
	}
	return false;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

bool plan_is_dump(const char *chars)
{
	for (; *chars; chars = next_line(chars))
		if (is_node_line(chars))
			return true;
	return false;
}

/*
 * The line of each port: "[7]" below the line of its node. Nodes are in the order of the file.
 * Return: by port, 0: not known; NULL: no memory, or other lines are nodes, too.
 */
static uint32_t *find_lines(const struct fabric *fabric, const char *chars)
{
	uint32_t *lines = calloc(fabric->port_count + 1, sizeof(*lines)), number = 0;
	size_t node = SIZE_MAX;

	for (; *chars && lines; chars = next_line(chars)) {
		uint32_t port;
		unsigned long num;

		number++;
		node += is_node_line(chars);
		if (*chars != '[' || node >= fabric->node_count)
			continue;
		num = strtoul(chars + 1, NULL, 10);
		port = num && num <= UINT8_MAX ? fabric_node_port(fabric, (uint32_t)node, (uint8_t)num) : FABRIC_NONE;
		if (port != FABRIC_NONE)
			lines[port] = number;
	}
	if (lines && node + 1 != fabric->node_count)
		memset(lines, 0, (fabric->port_count + 1) * sizeof(*lines));
	return lines;
}

static void add_note(void *reader, const char *line)
{
	plan_add_problem(reader, 0, "%s", line);
}

/* Problems of a plan: cables without a rate are none. */
static void add_notes(struct plan_reader *reader, const struct netfile_notes *notes)
{
	struct netfile_notes of_plan = *notes;

	of_plan.peers_one_sided = of_plan.rates_unknown = of_plan.ends_unknown = of_plan.ends_differ =
		(struct unread){ 0 };
	netfile_describe(&of_plan, add_note, reader);
	reader->plan.incomplete |= notes->unfinished;
}

static void add_port(struct plan_reader *reader, const struct fabric *fabric, uint32_t at, const uint32_t *lines)
{
	const struct port *ports[2] = { &fabric->ports[at], &fabric->ports[fabric->ports[at].peer] };
	struct plan_link link = { .width = ports[0]->width, .speed = ports[0]->speed, .cable = "", .line = lines[at] };
	char nums[2][8];

	for (int i = 0; i < 2; i++) {
		snprintf(nums[i], sizeof(nums[i]), "%u", ports[i]->num);
		link.ends[i] = (struct plan_end){
			.guid = fabric->nodes[ports[i]->node].guid, .device = fabric->names.shown[ports[i]->node],
			.port = nums[i], .place = "",
		};
	}
	plan_add_link(reader, &link);
}

int plan_read_dump(struct plan_reader *reader, struct error *err)
{
	struct fabric *fabric = NULL;
	struct netfile_notes notes;
	uint32_t *lines;
	int code = netfile_read(reader->chars, reader->len, NULL, &fabric, &notes, err);

	if (code < 0)
		return code;
	lines = find_lines(fabric, reader->chars);
	for (uint32_t i = 0; lines && i < fabric->port_count && !reader->failed; i++)
		if (fabric->ports[i].peer != FABRIC_NONE && fabric->ports[i].peer > i)
			add_port(reader, fabric, i, lines);
	reader->failed |= !lines;
	add_notes(reader, &notes);
	free(lines);
	fabric_destroy(fabric);
	return 0;
}
