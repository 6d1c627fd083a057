/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/balance/flows.h"
#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/name_pattern.h"
#include "fabric/names.h"
#include "fabric/shape.h"

/*
 * Score of adaptive routing of a switch: a window with evidence for it adds two, one whose load
 * follows the tables subtracts three. Two windows are needed for it, because tables that changed
 * during the first one do not belong to its load. One window of an unknown switch is enough for a
 * routing fault, and a switch that routed adaptively for long needs several.
 */
enum { SCORE_MOST = 9, SCORE_ON = 3, SCORE_OFF = -3, SCORE_EVIDENCE = 2, SCORE_FOLLOWS = 3 };

/*
 * Even load that static tables produce with at least this probability is no evidence. At one switch
 * it is none either: the destinations whose entries are uneven may have no traffic from there.
 */
#define EVEN_BY_CHANCE 0.01
#define EVEN_SWITCHES_LEAST 3

/* Tolerance for members with a predicted load of zero: a prediction is an estimate. */
#define PREDICTED_FLOOR 0.001

/* Adaptive peers that make a switch not-following: this number, and half of the tier. */
#define PEERS_LEAST 3

/* The hottest member of an uneven window is its port number + HOTTEST. */
enum { HOTTEST_UNKNOWN, HOTTEST_NONE, HOTTEST };

/* What is known of one group in one direction, or of one switch. */
struct past {
	uint64_t overloaded[4]; /* of a group: bits of port numbers, by the tables at the end of its last window */
	bool tables_known;      /* there were such tables */
	uint16_t was_hottest[3]; /* in the last window and those before; unknown in one that was not active */
	uint8_t hottest[BALANCE_WINDOWS_MOST]; /* of a group: port numbers; 0: no possible collision */
	uint8_t next, count; /* of its last active windows */
	int8_t score;        /* of a switch */
};

struct balance_memory {
	struct map by_key;   /* index of pasts */
	struct past *pasts;
	size_t count, capacity;
};

/* State of one step; arrays are by node, except the last. */
struct step {
	struct balance_memory *memory;
	const struct shape *shape;
	const struct balance_settings *settings;
	struct balance *balance;
	uint8_t *evidence;   /* enum adaptive_routing of this window */
	uint8_t *adaptive;   /* set or inferred */
	bool *fed;           /* a routing fault elsewhere sends too much here */
	bool *reported;      /* by port: its bytes are reported as sent */
};

struct balance_memory *balance_memory_create(void)
{
	return calloc(1, sizeof(struct balance_memory));
}

struct balance_memory *balance_memory_copy(const struct balance_memory *memory)
{
	struct balance_memory *copy = balance_memory_create();
	bool failed = !copy;

	if (copy) {
		copy->pasts = calloc(memory->count + 1, sizeof(*copy->pasts));
		failed = !copy->pasts;
	}
	for (size_t i = 0; !failed && i < memory->by_key.capacity; i++)
		if (memory->by_key.slots[i].used)
			failed = map_put(&copy->by_key, memory->by_key.slots[i].key, memory->by_key.slots[i].value) < 0;
	if (failed) {
		balance_memory_destroy(copy);
		return NULL;
	}
	memcpy(copy->pasts, memory->pasts ? memory->pasts : copy->pasts, memory->count * sizeof(*copy->pasts));
	copy->count = memory->count;
	copy->capacity = memory->count + 1;
	return copy;
}

void balance_memory_destroy(struct balance_memory *memory)
{
	if (!memory)
		return;
	map_done(&memory->by_key);
	free(memory->pasts);
	free(memory);
}

/* Add it if @make; NULL: it does not exist, or no memory. */
static struct past *find_past(struct balance_memory *memory, uint64_t key, bool make)
{
	struct past *moved;
	uint32_t index;

	if (map_get(&memory->by_key, key, &index))
		return &memory->pasts[index];
	moved = make ? array_grow(memory->pasts, memory->count, &memory->capacity, sizeof(*moved)) : NULL;
	if (!moved)
		return NULL;
	memory->pasts = moved;
	if (map_put(&memory->by_key, key, (uint32_t)memory->count) < 0)
		return NULL;
	memset(&moved[memory->count], 0, sizeof(*moved));
	return &moved[memory->count++];
}

/* The key of a result; that of a switch is the hash of its GUID. */
static uint64_t key_of(const struct shape *shape, const struct balance_result *result)
{
	const struct shape_group *group = &shape->groups[result->group];
	uint64_t peer = group->peer == FABRIC_NONE ? 0 : shape->fabric->nodes[group->peer].guid;

	return map_mix(map_mix(shape->fabric->nodes[group->node].guid) ^ peer) + 2 * (uint64_t)group->kind +
	       (uint64_t)result->direction + 1;
}

static uint32_t members_of(const struct step *step, const struct balance_result *result)
{
	return step->shape->groups[result->group].count;
}

/*
 * Probability that flows placed by the tables are as even as measured: the multinomial probability
 * of their numbers. There are at least as many flows as members with load.
 */
static double chance_of_even(const struct balance_result *result, uint32_t count)
{
	double flows = floor(result->flows), loaded = 0, sum = 0, log_chance = 0;

	for (uint32_t i = 0; i < count; i++)
		loaded += result->members[i].measured > 0;
	flows = flows > loaded ? flows : loaded;
	for (uint32_t i = 0; i < count; i++) {
		const struct balance_member *member = &result->members[i];
		double here = member->measured > 0 ? round(flows * member->measured) : 0;
		double predicted = member->predicted > PREDICTED_FLOOR ? member->predicted : PREDICTED_FLOOR;

		sum += here;
		log_chance += here * log(predicted) - log_factorial(here);
	}
	return exp(log_chance + log_factorial(sum));
}

static bool spreads(const struct balance_result *result, uint32_t count)
{
	return result->tables_uneven && !result->load_uneven && result->predicted_known && result->flows >= 1 &&
	       chance_of_even(result, count) < EVEN_BY_CHANCE;
}

static uint8_t number_of(const struct shape *shape, const struct balance_member *member)
{
	return shape->fabric->ports[member->port].num;
}

bool balance_memory_explains(const struct balance_memory *memory, const struct shape *shape,
			     const struct balance_result *result, unsigned before)
{
	uint8_t num = number_of(shape, &result->members[result->hottest]);
	const struct past *past;
	uint32_t index;

	if (!map_get(&memory->by_key, key_of(shape, result), &index) || !memory->pasts[index].tables_known)
		return true;
	past = &memory->pasts[index];
	if (past->overloaded[num / 64] >> num % 64 & 1)
		return true;
	/* The load moves with the table, which may be read a window later. */
	for (unsigned i = before; i < before + 2; i++)
		if (past->was_hottest[i] != HOTTEST_UNKNOWN && past->was_hottest[i] != num + HOTTEST)
			return true;
	return false;
}

/* Tables that changed in this window are no cause of a load that was the same before. */
static void drop_newer_tables(struct step *step)
{
	for (size_t i = 0; i < step->balance->count; i++) {
		struct balance_result *result = &step->balance->results[i];

		if (result->direction != BALANCE_XMIT || !balance_follows(result, step->settings) ||
		    balance_memory_explains(step->memory, step->shape, result, 0))
			continue;
		result->tables_newer = true;
		if (result->cause == BALANCE_ROUTING)
			result->cause = BALANCE_NONE;
	}
}

static void add_evidence(struct step *step)
{
	size_t even[SHAPE_TIERS_MAX + 1] = { 0 };

	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		const struct shape_group *group = &step->shape->groups[result->group];
		uint8_t *evidence = &step->evidence[group->node];

		if (result->direction != BALANCE_XMIT || result->state != BALANCE_ACTIVE)
			continue;
		/* A missing or slow link explains uneven load, so it is no evidence. */
		if (balance_follows(result, step->settings) && !result->tables_newer &&
		    (result->cause == BALANCE_ROUTING || result->adaptive == ADAPTIVE_ON))
			*evidence = ADAPTIVE_OFF;
		else if (*evidence == ADAPTIVE_UNKNOWN && result->beyond_tables)
			*evidence = ADAPTIVE_ON;
		even[group->tier % (SHAPE_TIERS_MAX + 1)] += group->kind == GROUP_UP &&
							     spreads(result, members_of(step, result));
	}
	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		const struct shape_group *group = &step->shape->groups[result->group];

		if (result->direction == BALANCE_XMIT && result->state == BALANCE_ACTIVE && group->kind == GROUP_UP &&
		    step->evidence[group->node] == ADAPTIVE_UNKNOWN && spreads(result, members_of(step, result)) &&
		    even[group->tier % (SHAPE_TIERS_MAX + 1)] >= EVEN_SWITCHES_LEAST)
			step->evidence[group->node] = ADAPTIVE_ON;
	}
}

static int weigh_evidence(struct step *step, struct error *err)
{
	const struct fabric *fabric = step->shape->fabric;

	add_evidence(step);
	for (size_t i = 0; i < fabric->node_count; i++) {
		bool known = step->evidence[i] != ADAPTIVE_UNKNOWN;
		struct past *past = fabric->nodes[i].type == NODE_SWITCH ?
				    find_past(step->memory, map_mix(fabric->nodes[i].guid), known) : NULL;
		int sum;

		if (!past && known)
			return err_nomem(err);
		if (!past)
			continue;
		sum = past->score + SCORE_EVIDENCE * (step->evidence[i] == ADAPTIVE_ON) -
		      SCORE_FOLLOWS * (step->evidence[i] == ADAPTIVE_OFF);
		past->score = (int8_t)(sum > SCORE_MOST ? SCORE_MOST : sum < SCORE_OFF ? SCORE_OFF : sum);
		step->adaptive[i] = sum >= SCORE_ON ? ADAPTIVE_ON : sum <= SCORE_OFF ? ADAPTIVE_OFF :
				    ADAPTIVE_UNKNOWN;
	}
	return 0;
}

/* Configured states take precedence over inferred ones. */
static void apply_adaptive(struct step *step)
{
	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];

		if (result->direction == BALANCE_XMIT && result->adaptive != ADAPTIVE_UNKNOWN)
			step->adaptive[step->shape->groups[result->group].node] = (uint8_t)result->adaptive;
	}
	for (size_t i = 0; i < step->balance->count; i++) {
		struct balance_result *result = &step->balance->results[i];

		if (result->adaptive == ADAPTIVE_UNKNOWN) {
			result->adaptive = balance_decides(step->shape, result, step->adaptive);
			result->adaptive_inferred = result->adaptive != ADAPTIVE_UNKNOWN;
		}
		if (result->adaptive == ADAPTIVE_ON && result->cause == BALANCE_ROUTING)
			result->cause = BALANCE_NONE;
	}
}

/* Number of switches of a tier with busy uplinks, and of those that route adaptively. */
struct peers {
	size_t active, spreading;
};

static bool is_busy_uplink(const struct step *step, const struct balance_result *result)
{
	const struct shape_group *group = &step->shape->groups[result->group];

	return group->kind == GROUP_UP && group->tier <= SHAPE_TIERS_MAX && result->direction == BALANCE_XMIT &&
	       result->state == BALANCE_ACTIVE;
}

static void find_not_following(struct step *step)
{
	struct peers peers[SHAPE_TIERS_MAX + 1] = { 0 };

	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		struct peers *tier = &peers[step->shape->groups[result->group].tier % (SHAPE_TIERS_MAX + 1)];

		if (!is_busy_uplink(step, result))
			continue;
		tier->active++;
		tier->spreading += result->adaptive == ADAPTIVE_ON && !result->load_uneven;
	}
	for (size_t i = 0; i < step->balance->count; i++) {
		struct balance_result *result = &step->balance->results[i];
		const struct peers *tier = &peers[step->shape->groups[result->group].tier % (SHAPE_TIERS_MAX + 1)];

		if (is_busy_uplink(step, result) &&
		    (result->cause == BALANCE_ROUTING ||
		     (result->cause == BALANCE_NONE && result->adaptive == ADAPTIVE_ON)) &&
		    balance_follows(result, step->settings) && !result->tables_newer &&
		    tier->spreading >= PEERS_LEAST && 2 * tier->spreading >= tier->active - 1)
			result->cause = BALANCE_NOT_FOLLOWING;
	}
}

/* Mark switches that receive more than their share from a switch with uneven tables. */
static void find_fed(struct step *step)
{
	const struct fabric *fabric = step->shape->fabric;

	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		uint32_t peer;

		if (result->cause != BALANCE_ROUTING && result->cause != BALANCE_NOT_FOLLOWING)
			continue;
		peer = fabric->ports[result->members[result->hottest].port].peer;
		step->fed[fabric->ports[peer].node] = true;
	}
}

/*
 * A cable that was never there does not explain a lasting imbalance: see find_cause() in balance.c.
 */
static bool is_explained(const struct balance_result *result, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!result->members[i].works)
			return true;
	return result->cause != BALANCE_NONE && result->cause != BALANCE_MISSING_MEMBER;
}

/* This window looks like a collision of flows. */
static bool collides(const struct step *step, const struct balance_result *result)
{
	const struct fabric *fabric = step->shape->fabric;
	const struct shape_group *group = &step->shape->groups[result->group];
	uint32_t from;

	if (is_explained(result, group->count) || !result->load_uneven || !result->harmful ||
	    !result->tables_known || result->tables_uneven ||
	    !(result->excess >= result->chance_excess))
		return false;
	/* Load received over links to one switch is evaluated at the sender. */
	if (result->direction == BALANCE_RCV && group->kind != GROUP_UP)
		return false;
	from = result->direction == BALANCE_RCV ?
	       fabric->ports[fabric->ports[result->members[result->hottest].port].peer].node : group->node;
	return !step->fed[from];
}

static void remember_overloaded(struct past *past, const struct shape *shape, const struct balance_settings *settings,
				const struct balance_result *result)
{
	past->tables_known = result->tables_known;
	memset(past->overloaded, 0, sizeof(past->overloaded));
	for (uint32_t i = 0; result->tables_known && i < shape->groups[result->group].count; i++) {
		uint8_t num = number_of(shape, &result->members[i]);

		if (balance_overloads(&result->members[i], settings))
			past->overloaded[num / 64] |= UINT64_C(1) << num % 64;
	}
}

void balance_memory_reread(struct balance_memory *memory, const struct shape *shape,
			   const struct balance_settings *settings, const struct balance_result *result)
{
	struct past *past = find_past(memory, key_of(shape, result), false);

	if (past)
		remember_overloaded(past, shape, settings, result);
}

static int remember_tables(struct step *step, struct error *err)
{
	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		struct past *past;

		if (result->direction != BALANCE_XMIT)
			continue;
		past = find_past(step->memory, key_of(step->shape, result), true);
		if (!past)
			return err_nomem(err);
		past->was_hottest[2] = past->was_hottest[1];
		past->was_hottest[1] = past->was_hottest[0];
		past->was_hottest[0] = result->state != BALANCE_ACTIVE ? HOTTEST_UNKNOWN :
				       !result->load_uneven ? HOTTEST_NONE :
				       (uint16_t)(number_of(step->shape, &result->members[result->hottest]) + HOTTEST);
		remember_overloaded(past, step->shape, step->settings, result);
	}
	return 0;
}

static int remember_windows(struct step *step, struct error *err)
{
	const struct balance_settings *settings = step->settings;
	unsigned most = settings->windows < BALANCE_WINDOWS_MOST ? settings->windows : BALANCE_WINDOWS_MOST, same, j;

	for (size_t i = 0; i < step->balance->count; i++) {
		struct balance_result *result = &step->balance->results[i];
		struct past *past;
		uint8_t port = 0;

		if (result->state != BALANCE_ACTIVE || !most)
			continue;
		past = find_past(step->memory, key_of(step->shape, result), true);
		if (!past)
			return err_nomem(err);
		if (collides(step, result))
			port = step->shape->fabric->ports[result->members[result->hottest].port].num;
		past->next = (uint8_t)(past->next % most);
		past->hottest[past->next] = port;
		past->next = (uint8_t)((past->next + 1u) % most);
		past->count = (uint8_t)(past->count < most ? past->count + 1u : most);
		for (j = 0, same = 0; j < past->count; j++)
			same += past->hottest[j] == port;
		if (port && same >= settings->windows_same)
			result->cause = BALANCE_FLOWS;
	}
	return 0;
}

/*
 * The same bytes appear again as RCV of the next switch, and below it as XMIT of its downlinks.
 * They are reported where they were sent first.
 */
static void drop_echoes(struct step *step)
{
	const struct fabric *fabric = step->shape->fabric;

	for (size_t i = 0; i < step->balance->count; i++) {
		const struct balance_result *result = &step->balance->results[i];
		uint32_t port;

		if (result->direction != BALANCE_XMIT || result->cause < BALANCE_ROUTING)
			continue;
		port = result->members[result->hottest].port;
		step->reported[port] = true;
		step->fed[fabric->ports[fabric->ports[port].peer].node] = true;
	}
	for (size_t i = 0; i < step->balance->count; i++) {
		struct balance_result *result = &step->balance->results[i];
		uint32_t from;

		if (result->direction != BALANCE_RCV || result->cause != BALANCE_FLOWS)
			continue;
		from = fabric->ports[result->members[result->hottest].port].peer;
		if (step->reported[from] || step->fed[fabric->ports[from].node])
			result->cause = BALANCE_NONE;
	}
}

int balance_memory_step(struct balance_memory *memory, const struct shape *shape,
			const struct balance_settings *settings, struct balance *balance, struct error *err)
{
	size_t nodes = shape->fabric->node_count + 1;
	struct step step = { memory, shape, settings, balance, calloc(nodes, 1), calloc(nodes, 1),
			     calloc(nodes, sizeof(bool)), calloc(shape->fabric->port_count + 1, sizeof(bool)) };
	int code = 0;

	if (!step.evidence || !step.adaptive || !step.fed || !step.reported)
		code = err_nomem(err);
	if (code == 0) {
		drop_newer_tables(&step);
		code = weigh_evidence(&step, err);
	}
	if (code == 0) {
		apply_adaptive(&step);
		find_not_following(&step);
		find_fed(&step);
		code = remember_windows(&step, err);
	}
	if (code == 0)
		code = remember_tables(&step, err);
	if (code == 0)
		drop_echoes(&step);
	free(step.evidence);
	free(step.adaptive);
	free(step.fed);
	free(step.reported);
	return code;
}

static uint8_t adaptive_of(const struct shape_settings *settings, const struct fabric *fabric, const struct node *node)
{
	char shown[NODE_NAME_SIZE];
	const struct shape_adaptive_rule *rule = settings ? settings->adaptive : NULL;

	if (rule)
		names_display(fabric, node->name, shown);
	for (; rule && rule->pattern; rule++)
		if (name_pattern_matches(rule->pattern, node->name) || name_pattern_matches(rule->pattern, shown))
			return rule->on ? ADAPTIVE_ON : ADAPTIVE_OFF;
	return node->adaptive;
}

int balance_adaptive_create(const struct shape_settings *settings, const struct fabric *fabric, uint8_t **ret,
			    struct error *err)
{
	uint8_t *adaptive = calloc(fabric->node_count + 1, sizeof(*adaptive));
	bool known = false;

	if (!adaptive)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type == NODE_SWITCH)
			adaptive[i] = adaptive_of(settings, fabric, &fabric->nodes[i]);
		known |= adaptive[i] != ADAPTIVE_UNKNOWN;
	}
	if (!known) {
		free(adaptive);
		adaptive = NULL;
	}
	*ret = adaptive;
	return 0;
}
