/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * partitions.c - ports whose P_Keys do not fit: of a job, of the fabric, of the switch port at the other end
 *
 * While the subnet manager changes partitions, tables are those of two configurations. So they are evaluated only
 * when all of them were read after the last change (collector/pkey_read.h); until then, what was found remains.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/health/state.h"
#include "base/array.h"
#include "base/text.h"
#include "fabric/pkeys.h"
#include "fabric/shape.h"

/* Above this number, problems of one kind are one finding. */
enum { MANY = 10 };

/* Distinct tables of the ports of a job on one rail; further ones are not compared. */
enum { PROFILES_MOST = 64 };

/* At most one of so many ports may be unread when the members of a partition are counted. */
enum { UNREAD_ONE_IN = 20 };

enum cause { DEFAULT_MISSING, LEFT_BEHIND, SWITCH_PORT, NO_COMMON, LIMITED, CAUSES };

static const struct { const char *name, *many; enum finding_severity severity; } causes[CAUSES] = {
	[DEFAULT_MISSING] = { "default-missing", "ports are not members of the default partition", FINDING_WARNING },
	[LEFT_BEHIND] = { "left-behind", "ports have a P_Key that no other port has", FINDING_INFO },
	[SWITCH_PORT] = { "switch-port", "switch ports drop packets of a partition of their host", FINDING_WARNING },
	[NO_COMMON] = { "no-common-partition", "job ports have no partition in common with others", FINDING_WARNING },
	[LIMITED] = { "limited-members", "job ports are limited members only, as their peers", FINDING_WARNING },
};

/* Tags: of single findings by cause, then of the findings about many. */
enum { TAG_SINGLE = 1, TAG_MANY = TAG_SINGLE + CAUSES };

struct problem {
	uint64_t guid;
	uint8_t port;
	uint8_t cause;
	int64_t job;            /* its number; 0: of no job */
	char text[320];
	unsigned port_count;    /* of a job: those that cannot communicate */
	struct finding_port ports[16];
};

struct partitions {
	bool evaluated;
	uint64_t revision, generation, jobs; /* of the last evaluation; jobs: hash */
	struct problem *list;
	size_t count, capacity;
	uint32_t *holders;      /* by base: ports that have it */
};

static void done(void *ctx)
{
	struct partitions *state = ctx;

	free(state->list);
	free(state->holders);
}

static struct problem *add(struct health *health, struct partitions *state, enum cause cause, uint32_t port)
{
	const struct fabric *fabric = health->input->fabric;
	struct problem *list = array_grow(state->list, state->count, &state->capacity, sizeof(*list)), *problem;

	if (!list) {
		health->failed = true;
		return NULL;
	}
	state->list = list;
	problem = &list[state->count++];
	*problem = (struct problem){ .guid = fabric->nodes[fabric->ports[port].node].guid,
				     .port = fabric->ports[port].num, .cause = (uint8_t)cause };
	return problem;
}

static bool is_live(const struct fabric *fabric, uint32_t port)
{
	return pkeys_is_member_port(fabric, port) && fabric->ports[port].state == PORT_ACTIVE;
}

static bool is_own(const struct fabric *fabric, uint32_t port)
{
	return fabric->ports[port].node == fabric->from_node && fabric->ports[port].num == fabric->from_port;
}

/* --- the fabric --- */

static void find_left_behind(struct health *health, struct partitions *state, uint32_t port,
			     const struct pkey_table *table)
{
	for (unsigned i = 0; i < table->count; i++) {
		uint16_t base = table->keys[i] & PKEY_BASE;
		struct problem *problem;

		if (!base || base == (PKEY_DEFAULT & PKEY_BASE) || state->holders[base] != 1)
			continue;
		problem = add(health, state, LEFT_BEHIND, port);
		if (problem)
			snprintf(problem->text, sizeof(problem->text),
				 TENSE("has", "had") " P_Key 0x%04x, which no other port " TENSE("has", "had"),
				 table->keys[i]);
		return;
	}
}

static void find_enforced(struct health *health, struct partitions *state, uint32_t port,
			  const struct pkey_table *table)
{
	static const char *const ways[] = { "", "outbound", "inbound", "both ways" };
	const struct fabric *fabric = health->input->fabric;
	uint32_t peer = fabric->ports[port].peer;
	const struct pkey_table *enforcing =
		peer == FABRIC_NONE ? NULL : pkeys_of(health->input->pkeys, fabric, peer);
	uint16_t lacking = enforcing && enforcing->enforcement ? pkeys_lacking(table, enforcing) : 0;
	struct problem *problem = lacking ? add(health, state, SWITCH_PORT, peer) : NULL;

	if (problem)
		snprintf(problem->text, sizeof(problem->text), TENSE("enforces", "enforced") " partitions (%s) and "
			 TENSE("lacks", "lacked") " P_Key 0x%04x of %.80s/%u: its packets " TENSE("are", "were")
			 " dropped", ways[enforcing->enforcement & 3], lacking,
			 fabric->names.shown[fabric->ports[port].node], fabric->ports[port].num);
}

/* Count the ports that have each P_Key, departed ones included: a host that restarts is still a member. */
static void count_holders(const struct health *health, struct partitions *state)
{
	const struct pkeys *pkeys = health->input->pkeys;

	memset(state->holders, 0, ((size_t)PKEY_BASE + 1) * sizeof(*state->holders));
	for (size_t i = 0; i < pkeys->count; i++) {
		const struct pkey_table *table = &pkeys->tables[i];

		for (unsigned j = 0; table->known && !table->enforcement && j < table->count; j++) {
			uint16_t base = table->keys[j] & PKEY_BASE;

			/* Once for each port: from the first entry that has it. */
			for (unsigned k = 0; k < j && base; k++)
				if ((table->keys[k] & PKEY_BASE) == base)
					base = 0;
			state->holders[base]++;
		}
	}
}

static void evaluate_fabric(struct health *health, struct partitions *state)
{
	const struct fabric *fabric = health->input->fabric;
	uint32_t live = 0, known = 0, with_default = 0;

	count_holders(health, state);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct pkey_table *table = is_live(fabric, i) ? pkeys_of(health->input->pkeys, fabric, i) : NULL;

		live += is_live(fabric, i);
		known += table != NULL;
		with_default += table && pkey_member(table, PKEY_DEFAULT & PKEY_BASE);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct pkey_table *table = is_live(fabric, i) ? pkeys_of(health->input->pkeys, fabric, i) : NULL;
		struct problem *problem;

		if (!table)
			continue;
		if ((live - known) * UNREAD_ONE_IN <= live)
			find_left_behind(health, state, i, table);
		find_enforced(health, state, i, table);
		/* A fabric may be without the default partition as a whole. */
		if (2 * with_default < known || pkey_member(table, PKEY_DEFAULT & PKEY_BASE))
			continue;
		problem = add(health, state, DEFAULT_MISSING, i);
		if (problem)
			snprintf(problem->text, sizeof(problem->text), "%s" TENSE("is", "was") " not a member of the "
				 "default partition 0x7fff, as %u of %u ports are%s",
				 is_own(fabric, i) ? "the port of this collector " : "", with_default, known,
				 is_own(fabric, i) ? ": performance queries get no response" : "");
	}
}

/* --- jobs --- */

/* Ports of a job on one rail with the same table. */
struct profile {
	const struct pkey_table *table;
	uint32_t count;
	bool fails; /* cannot communicate with the largest one, or with another one */
};

struct profiles {
	struct profile list[PROFILES_MOST];
	unsigned count;
	uint32_t ports;
};

static bool is_same(const struct pkey_table *a, const struct pkey_table *b)
{
	return a->count == b->count && (!a->count || !memcmp(a->keys, b->keys, a->count * sizeof(*a->keys)));
}

static struct profile *find_profile(struct profiles *profiles, const struct pkey_table *table)
{
	for (unsigned i = 0; i < profiles->count; i++)
		if (is_same(profiles->list[i].table, table))
			return &profiles->list[i];
	return NULL;
}

/* Is a port of a job one of this rail? Of SHAPE_NONE: all of them, in a fabric without rails. */
static bool is_of_rail(const struct health *health, uint32_t port, uint32_t rail)
{
	return is_live(health->input->fabric, port) && health->input->shape->ports[port].rail == rail;
}

static void list_profiles(const struct health *health, const struct health_job *job, uint32_t rail,
			  struct profiles *ret)
{
	*ret = (struct profiles){ 0 };
	for (size_t i = 0; i < job->port_count; i++) {
		const struct pkey_table *table = is_of_rail(health, job->ports[i], rail) ?
			pkeys_of(health->input->pkeys, health->input->fabric, job->ports[i]) : NULL;
		struct profile *profile = table ? find_profile(ret, table) : NULL;

		if (table && !profile && ret->count < PROFILES_MOST) {
			profile = &ret->list[ret->count++];
			profile->table = table;
		}
		if (profile) {
			profile->count++;
			ret->ports++;
		}
	}
}

/*
 * Mark the tables whose ports cannot communicate with ports of the largest group of equal ones; of the others, those
 * that cannot with each other. @ret_limited: two limited members of a partition are the reason. Return: whether there
 * are any.
 */
static bool mark_failing(struct profiles *profiles, struct profile *main, bool *ret_limited)
{
	bool failed[PROFILES_MOST], any = false, limited;

	*ret_limited = false;
	for (unsigned i = 0; i < profiles->count; i++) {
		struct profile *one = &profiles->list[i];

		if ((one == main && one->count < 2) || pkeys_talk(main->table, one->table, &limited))
			continue;
		one->fails = true;
		*ret_limited |= limited;
	}
	for (unsigned i = 0; i < profiles->count; i++)
		failed[i] = profiles->list[i].fails;
	for (unsigned i = 0; i < profiles->count; i++)
		for (unsigned j = i; j < profiles->count; j++) {
			struct profile *one = &profiles->list[i], *other = &profiles->list[j];

			if (failed[i] || failed[j] || (i == j && one->count < 2) ||
			    pkeys_talk(one->table, other->table, &limited))
				continue;
			one->fails = other->fails = true;
			*ret_limited |= limited;
		}
	for (unsigned i = 0; i < profiles->count; i++)
		any |= profiles->list[i].fails;
	return any;
}

static void list_ports(const struct health *health, const struct health_job *job, uint32_t rail,
		       struct profiles *profiles, struct problem *problem)
{
	const struct fabric *fabric = health->input->fabric;

	for (size_t i = 0; i < job->port_count; i++) {
		const struct port *port = &fabric->ports[job->ports[i]];
		const struct pkey_table *table = is_of_rail(health, job->ports[i], rail) ?
			pkeys_of(health->input->pkeys, fabric, job->ports[i]) : NULL;
		const struct profile *profile = table ? find_profile(profiles, table) : NULL;

		if (!profile || !profile->fails)
			continue;
		if (!problem->port_count) {
			problem->guid = fabric->nodes[port->node].guid;
			problem->port = port->num;
		}
		if (problem->port_count < sizeof(problem->ports) / sizeof(*problem->ports))
			problem->ports[problem->port_count++] =
				(struct finding_port){ fabric->nodes[port->node].guid, port->num };
	}
}

static void describe_job(const struct health *health, const struct health_job *job, uint32_t rail,
			 const struct profiles *profiles, const struct profile *main, struct problem *problem)
{
	const struct profile *first = NULL;
	struct text keys = { 0 }, others = { 0 };
	char where[48] = "";
	uint32_t failing = 0;

	for (unsigned i = 0; i < profiles->count; i++) {
		const struct profile *one = &profiles->list[i];

		failing += one->fails ? one->count : 0;
		if (one->fails && (!first || first == main))
			first = one;
	}
	if (rail != SHAPE_NONE)
		snprintf(where, sizeof(where), " on rail %.30s", health->input->shape->rails[rail].name);
	pkeys_text(&keys, first->table, 4);
	pkeys_text(&others, main->table, 4);
	if (problem->cause == LIMITED)
		snprintf(problem->text, sizeof(problem->text), "%u of %u ports of job %.40s%s " TENSE("are", "were")
			 " limited members (%.40s) of what they share with the others: two limited members cannot "
			 "communicate", failing, profiles->ports, job->id, where, text_chars(&keys));
	else
		snprintf(problem->text, sizeof(problem->text), "%u of %u ports of job %.40s%s " TENSE("have", "had")
			 " no partition in common with the others (%.50s; others %.50s)", failing, profiles->ports,
			 job->id, where, text_chars(&keys), text_chars(&others));
	text_done(&keys);
	text_done(&others);
}

static void evaluate_rail(struct health *health, struct partitions *state, const struct health_job *job, uint32_t rail)
{
	struct profiles profiles;
	struct profile *main;
	struct problem *problem;
	bool limited;

	list_profiles(health, job, rail, &profiles);
	main = profiles.list;
	for (unsigned i = 1; i < profiles.count; i++)
		if (profiles.list[i].count > main->count)
			main = &profiles.list[i];
	if (profiles.ports < 2 || !mark_failing(&profiles, main, &limited))
		return;
	problem = add(health, state, limited ? LIMITED : NO_COMMON, job->ports[0]);
	if (!problem)
		return;
	problem->job = job->number;
	list_ports(health, job, rail, &profiles, problem);
	describe_job(health, job, rail, &profiles, main, problem);
}

/* The ports of a job communicate with those of its other hosts on the same rail. */
static void evaluate_job(struct health *health, struct partitions *state, const struct health_job *job)
{
	const struct shape *shape = health->input->shape;
	bool any = false;

	for (uint32_t rail = 0; rail < shape->rail_count; rail++) {
		if (shape->rails[rail].class != CLASS_COMPUTE)
			continue;
		any = true;
		evaluate_rail(health, state, job, rail);
	}
	if (!any)
		evaluate_rail(health, state, job, SHAPE_NONE);
}

/* --- findings --- */

static uint64_t hash_jobs(const struct health_input *input)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < input->job_count; i++)
		hash += map_mix((uint64_t)input->jobs[i].number ^ map_mix(input->jobs[i].port_count + 1));
	return hash;
}

static void evaluate(struct health *health, struct partitions *state)
{
	const struct health_input *input = health->input;
	uint64_t jobs = hash_jobs(input);

	if (!input->pkeys_settled || (state->evaluated && state->revision == input->pkeys_revision &&
				      state->generation == health->generation && state->jobs == jobs))
		return;
	if (!state->holders)
		state->holders = calloc((size_t)PKEY_BASE + 1, sizeof(*state->holders));
	if (!state->holders) {
		health->failed = true;
		return;
	}
	state->count = 0;
	evaluate_fabric(health, state);
	for (size_t i = 0; i < input->job_count; i++)
		evaluate_job(health, state, &input->jobs[i]);
	state->evaluated = true;
	state->revision = input->pkeys_revision;
	state->generation = health->generation;
	state->jobs = jobs;
}

static bool is_running(const struct health *health, int64_t job)
{
	for (size_t i = 0; i < health->input->job_count; i++)
		if (health->input->jobs[i].number == job)
			return true;
	return !job;
}

static struct health_port *find_port(const struct health *health, uint64_t guid, uint8_t num)
{
	struct health_node *node = health_find_node(health, guid);

	return node && num < node->slots ? &node->ports[num] : NULL;
}

static void hold_one(struct health *health, const struct problem *problem)
{
	const struct health_port *port = find_port(health, problem->guid, problem->port);
	struct health_open_finding *open;
	struct health_set set = { 0 };

	if (!port || !is_running(health, problem->job))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_PARTITION, .severity = causes[problem->cause].severity, .port = port,
		.tag = (uint8_t)(TAG_SINGLE + problem->cause), .cause = causes[problem->cause].name });
	health_text(open, "%s", problem->text);
	for (unsigned i = 0; i < problem->port_count; i++) {
		const struct health_port *other =
			find_port(health, problem->ports[i].node_guid, problem->ports[i].port);

		if (other)
			health_set_add(&set, other);
	}
	health_list_set(open, &set);
	health_affected_link(health, open, port);
}

static void hold_many(struct health *health, const struct partitions *state, enum cause cause, unsigned count)
{
	struct health_open_finding *open;
	struct health_set set = { 0 };

	for (size_t i = 0; i < state->count; i++) {
		const struct problem *problem = &state->list[i];
		const struct health_port *port = find_port(health, problem->guid, problem->port);

		if (problem->cause != cause || !port)
			continue;
		health_drop(health_find_open(health, FINDING_PARTITION, problem->guid, problem->port,
					     (uint8_t)(TAG_SINGLE + cause)));
		health_set_add(&set, port);
	}
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_PARTITION, .severity = causes[cause].severity, .tag = (uint8_t)(TAG_MANY + cause),
		.cause = causes[cause].name, .subject = "partitions" });
	health_text(open, "%u %s: ibwire ports --pkeys lists the P_Keys", count, causes[cause].many);
	health_number(open, "ports", count);
	open->extent = count;
	health_list_set(open, &set);
}

/* Nothing was evaluated in this run yet: findings of an earlier one remain. */
static void extend_restored(struct health *health)
{
	for (size_t i = 0; i < health->open.count; i++)
		if (health_open_at(health, i)->finding.kind == FINDING_PARTITION)
			health_extend(health, health_open_at(health, i));
}

static void sweep(struct health *health, void *ctx)
{
	struct partitions *state = ctx;
	unsigned counts[CAUSES] = { 0 };

	if (!health->input->pkeys) {
		state->evaluated = false;
		return;
	}
	evaluate(health, state);
	if (!state->evaluated) {
		extend_restored(health);
		return;
	}
	for (size_t i = 0; i < state->count; i++)
		counts[state->list[i].cause] += is_running(health, state->list[i].job);
	for (unsigned cause = 0; cause < CAUSES; cause++) {
		if (counts[cause] > MANY && cause < NO_COMMON)
			hold_many(health, state, (enum cause)cause, counts[cause]);
		for (size_t i = 0; (counts[cause] <= MANY || cause >= NO_COMMON) && i < state->count; i++)
			if (state->list[i].cause == cause)
				hold_one(health, &state->list[i]);
	}
}

const struct health_rule health_partitions = { .state_size = sizeof(struct partitions), .sweep = sweep, .done = done };
