/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ports of a plan in a fabric. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/plan/find_port.h"
#include "fabric/shape.h"

/* A name of the plan. */
struct plan_name {
	const char *name;
	uint64_t guid;
	struct name_found found;
	uint32_t file, line; /* where it is first */
	size_t links;        /* number of ends with this name */
	uint32_t next;       /* with the same hash, or FABRIC_NONE */
};

/* A port that is not found: reported once, with the number of its links. */
struct unknown_port {
	const struct plan_link *first; /* link and end that have it */
	int end;
	const char *why;
	size_t links;
};

struct resolver {
	const struct plan *plan;
	const struct shape *shape;
	const struct fabric *fabric;
	struct name_index index;
	struct plan_name **names;
	size_t name_count, name_capacity;
	struct map name_heads;
	struct unknown_port *unknown;
	size_t unknown_count, unknown_capacity;
	struct map unknown_heads;    /* hash of device, port and reason, to index into unknown */
	uint32_t *link_of;           /* by port: 1 + the link that has it */
	struct plan_ports ret;
	struct plan_strings strings; /* of the problems */
	bool failed;
};

static void add_problem(struct resolver *resolver, uint32_t file, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void add_problem(struct resolver *resolver, uint32_t file, uint32_t line, const char *fmt, ...)
{
	struct plan_problem *problem = array_add(&resolver->ret.problems, &resolver->ret.problem_count,
						 &resolver->ret.problem_capacity, sizeof(*problem));
	va_list args;

	if (!problem) {
		resolver->failed = true;
		return;
	}
	va_start(args, fmt);
	*problem = (struct plan_problem){ file, line, plan_problem_line(&resolver->strings, fmt, args) };
	va_end(args);
	if (!problem->text) {
		resolver->ret.problem_count--;
		resolver->failed = true;
	}
}

static void add_unknown_port(struct resolver *resolver, const struct plan_link *link, int end, const char *why)
{
	uint64_t device = map_hash_text(MAP_HASH_START, link->ends[end].device);
	uint64_t key = map_hash_text(map_hash_text(device, link->ends[end].port), why);
	struct unknown_port *unknown;
	uint32_t at;

	if (map_get(&resolver->unknown_heads, key, &at)) {
		resolver->unknown[at].links++;
		return;
	}
	unknown = array_add(&resolver->unknown, &resolver->unknown_count, &resolver->unknown_capacity,
			    sizeof(*unknown));
	if (!unknown || map_put(&resolver->unknown_heads, key, (uint32_t)(resolver->unknown_count - 1)) < 0) {
		resolver->unknown_count -= !!unknown;
		resolver->failed = true;
		return;
	}
	*unknown = (struct unknown_port){
		.first = link, .end = end, .links = 1, .why = plan_string(&resolver->strings, why, strlen(why)),
	};
	resolver->failed |= !unknown->why;
}

static void report_unknown_ports(struct resolver *resolver)
{
	for (size_t i = 0; i < resolver->unknown_count && !resolver->failed; i++) {
		const struct unknown_port *unknown = &resolver->unknown[i];
		const struct plan_end *end = &unknown->first->ends[unknown->end];
		char count[32] = "";

		if (unknown->links > 1)
			snprintf(count, sizeof(count), " (%zu links)", unknown->links);
		add_problem(resolver, unknown->first->file, unknown->first->line, "%s%s%s%s: %s", end->device,
			    *end->port ? ", " : "", end->port, count, unknown->why);
	}
}

static uint64_t hash_name(const struct plan_end *end)
{
	return end->guid ? map_mix(end->guid) : map_hash_text(MAP_HASH_START, end->device);
}

static void find_name(struct resolver *resolver, const struct plan_end *end, struct name_found *ret)
{
	if (!end->guid) {
		name_index_find(&resolver->index, end->device, ret);
		return;
	}
	*ret = (struct name_found){ .what = fabric_find_node(resolver->fabric, end->guid) };
	ret->named = ret->what == FABRIC_NONE ? NAMED_NOTHING : NAMED_NODE;
}

/* The name of an end, looked up once per name. Return: NULL: no memory. */
static struct plan_name *take_name(struct resolver *resolver, const struct plan_link *link, const struct plan_end *end)
{
	uint64_t hash = hash_name(end);
	uint32_t head = FABRIC_NONE;
	struct plan_name *name, **slot;

	map_get(&resolver->name_heads, hash, &head);
	for (uint32_t at = head; at != FABRIC_NONE; at = resolver->names[at]->next) {
		name = resolver->names[at];
		if (name->guid == end->guid && (end->guid || !strcmp(name->name, end->device)))
			return name;
	}
	name = calloc(1, sizeof(*name));
	slot = !name ? NULL : array_add(&resolver->names, &resolver->name_count, &resolver->name_capacity,
					sizeof(*slot));
	if (!slot || map_put(&resolver->name_heads, hash, (uint32_t)(resolver->name_count - 1)) < 0) {
		if (!slot)
			free(name);
		resolver->failed = true;
		return NULL;
	}
	*slot = name;
	name->name = end->device;
	name->guid = end->guid;
	name->file = link->file;
	name->line = link->line;
	name->next = head;
	find_name(resolver, end, &name->found);
	return name;
}

/* Of lines that contradict each other none is judged, as any may be wrong. */
static void set_aside(struct resolver *resolver, struct plan_place *place)
{
	if (place->contradicted)
		return;
	place->contradicted = true;
	memcpy(place->named, place->port, sizeof(place->named));
	place->port[0] = place->port[1] = FABRIC_NONE;
	resolver->ret.not_judged++;
}

/* A second link of a port: it is the same one with other names, or contradicts the first. */
static bool is_doubled(struct resolver *resolver, uint32_t at, struct plan_place *place)
{
	const struct plan_link *link = &resolver->plan->links[at];
	uint32_t firsts[2] = { resolver->link_of[place->port[0]], resolver->link_of[place->port[1]] };
	bool doubled = false;

	if (firsts[0] && firsts[0] == firsts[1]) {
		place->repeated = true;
		resolver->ret.repeated++;
		return true;
	}
	for (int i = 0; i < 2; i++) {
		const struct plan_link *first = firsts[i] ? &resolver->plan->links[firsts[i] - 1] : NULL;
		struct plan_place *other = first ? &resolver->ret.links[firsts[i] - 1] : NULL;
		char names[3][NODE_NAME_SIZE + 32];

		if (!first)
			continue;
		shape_port_name(resolver->shape, place->port[i], names[0], sizeof(names[0]));
		set_aside(resolver, other);
		shape_port_name(resolver->shape, other->named[other->named[0] == place->port[i]], names[1],
				sizeof(names[1]));
		shape_port_name(resolver->shape, place->port[1 - i], names[2], sizeof(names[2]));
		add_problem(resolver, link->file, link->line, "%s is cabled to %s in line %u%s%s, and here to %s",
			    names[0], names[1], first->line, first->file == link->file ? "" : " of ",
			    first->file == link->file ? "" : resolver->plan->files[first->file].name, names[2]);
		doubled = true;
	}
	return doubled;
}

/* The end of a damaged line, as far as it is known. */
static void resolve_rest(struct resolver *resolver, const struct plan_end *end, struct plan_place *place, int side)
{
	struct name_found found;
	char why[PLAN_WHY_SIZE];

	place->node[side] = place->port[side] = FABRIC_NONE;
	if (!*end->device)
		return;
	name_index_find(&resolver->index, end->device, &found);
	place->port[side] = plan_find_port(&resolver->index, end->device, &found, end->port, &place->node[side], why);
	/* Without a port an HCA is not surely the one that was meant. */
	if (!*end->port)
		place->port[side] = FABRIC_NONE;
}

static void resolve_link(struct resolver *resolver, uint32_t at)
{
	const struct plan_link *link = &resolver->plan->links[at];
	struct plan_place *place = &resolver->ret.links[at];
	bool loop;

	for (int i = 0; i < 2; i++) {
		struct plan_name *name = link->damaged ? NULL : take_name(resolver, link, &link->ends[i]);
		char why[PLAN_WHY_SIZE] = "";

		if (link->damaged)
			resolve_rest(resolver, &link->ends[i], place, i);
		else
			place->node[i] = place->port[i] = FABRIC_NONE;
		if (!name)
			continue;
		name->links++;
		place->port[i] = plan_find_port(&resolver->index, name->name, &name->found, link->ends[i].port,
						&place->node[i], why);
		/* A module that a director does not have may be absent. */
		place->known[i] = place->node[i] != FABRIC_NONE || name->found.named == NAMED_HOST ||
				  name->found.named == NAMED_SEVERAL;
		/* Unknown names are reported once, afterwards. */
		if (place->port[i] == FABRIC_NONE && name->found.named != NAMED_NOTHING &&
		    name->found.named != NAMED_SEVERAL)
			add_unknown_port(resolver, link, i, why);
	}
	if (place->port[0] == FABRIC_NONE || place->port[1] == FABRIC_NONE) {
		resolver->ret.not_judged++;
		return;
	}
	loop = place->port[0] == place->port[1];
	if (loop)
		add_problem(resolver, link->file, link->line, "both ends are %s, %s", link->ends[0].device,
			    link->ends[0].port);
	if (loop) {
		place->port[0] = place->port[1] = FABRIC_NONE;
		resolver->ret.not_judged++;
	} else if (!is_doubled(resolver, at, place)) {
		resolver->link_of[place->port[0]] = resolver->link_of[place->port[1]] = at + 1;
	} else if (place->repeated) {
		place->port[0] = place->port[1] = FABRIC_NONE;
	} else {
		set_aside(resolver, place);
	}
}

/* Nodes or hosts of one name: their GUIDs. */
static void list_guids(const struct resolver *resolver, const struct name_found *found, struct text *ret)
{
	size_t count = 0;

	for (uint32_t at = found->entry; at != FABRIC_NONE && count < 4; at = name_index_next(&resolver->index, at)) {
		uint32_t what = resolver->index.entries[at].what;
		uint32_t node = found->hosts ? resolver->shape->host_nodes[resolver->shape->hosts[what].first] : what;

		text_appendf(ret, "%s0x%016" PRIx64, count++ ? ", " : "", resolver->fabric->nodes[node].guid);
	}
	if (found->count > count)
		text_append(ret, ", ...");
}

static void report_name(struct resolver *resolver, const struct plan_name *name)
{
	const struct name_found *found = &name->found;
	struct text text = { 0 };

	if (found->named == NAMED_NOTHING && name->guid) {
		add_problem(resolver, name->file, name->line,
			    "the fabric has no node %s, 0x%016" PRIx64 " (%zu link%s)", name->name, name->guid,
			    name->links, text_plural(name->links));
	} else if (found->named == NAMED_NOTHING) {
		name_index_similar(&resolver->index, name->name, &text);
		add_problem(resolver, name->file, name->line, "the fabric has no device '%s' (%zu link%s)%s",
			    name->name, name->links, text_plural(name->links), text_chars(&text));
	} else if (found->named == NAMED_SEVERAL) {
		list_guids(resolver, found, &text);
		add_problem(resolver, name->file, name->line, "%zu %s are called '%s' (%zu link%s): give a GUID: %s",
			    found->count, found->hosts ? "hosts" : "devices", name->name, name->links,
			    text_plural(name->links), text_chars(&text));
	}
	resolver->failed |= text_failed(&text);
	text_done(&text);
}

static int compare_problems(const void *a, const void *b)
{
	const struct plan_problem *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void add_read_problems(struct resolver *resolver)
{
	for (size_t i = 0; i < resolver->plan->problem_count && !resolver->failed; i++) {
		struct plan_problem *problem = array_add(&resolver->ret.problems, &resolver->ret.problem_count,
							 &resolver->ret.problem_capacity, sizeof(*problem));

		resolver->failed |= !problem;
		if (problem)
			*problem = resolver->plan->problems[i];
	}
}

/* What is freed with the result. */
struct ports_memory {
	struct plan_strings strings;
};

int plan_resolve(const struct plan *plan, const struct shape *shape, struct plan_ports *ret, struct error *err)
{
	struct resolver resolver = { .plan = plan, .shape = shape, .fabric = shape->fabric };
	struct ports_memory *memory = calloc(1, sizeof(*memory));
	int code = name_index_init(&resolver.index, shape);

	resolver.ret.links = calloc(plan->link_count + 1, sizeof(*resolver.ret.links));
	resolver.link_of = calloc(shape->fabric->port_count + 1, sizeof(*resolver.link_of));
	resolver.failed = code < 0 || !memory || !resolver.ret.links || !resolver.link_of;
	for (uint32_t i = 0; i < plan->link_count && !resolver.failed; i++)
		resolve_link(&resolver, i);
	for (size_t i = 0; i < resolver.name_count && !resolver.failed; i++)
		report_name(&resolver, resolver.names[i]);
	report_unknown_ports(&resolver);
	add_read_problems(&resolver);
	for (size_t i = 0; i < resolver.name_count; i++)
		free(resolver.names[i]);
	free(resolver.unknown);
	map_done(&resolver.unknown_heads);
	free(resolver.names);
	free(resolver.link_of);
	map_done(&resolver.name_heads);
	name_index_done(&resolver.index);
	if (memory)
		memory->strings = resolver.strings;
	resolver.ret.memory = memory;
	if (resolver.failed) {
		if (!memory)
			plan_strings_done(&resolver.strings);
		plan_ports_done(&resolver.ret);
		return err_nomem(err);
	}
	if (resolver.ret.problem_count)
		qsort(resolver.ret.problems, resolver.ret.problem_count, sizeof(*resolver.ret.problems),
		      compare_problems);
	*ret = resolver.ret;
	return 0;
}

void plan_ports_done(struct plan_ports *ports)
{
	struct ports_memory *memory = ports->memory;

	if (memory)
		plan_strings_done(&memory->strings);
	free(memory);
	free(ports->links);
	free(ports->problems);
	*ports = (struct plan_ports){ 0 };
}
