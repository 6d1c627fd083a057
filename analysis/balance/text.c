/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include <math.h>
#include <stdlib.h>

#include "analysis/balance.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

bool balance_is_reported(const struct balance_result *result)
{
	return result->cause != BALANCE_NONE ||
	       (result->state == BALANCE_ACTIVE && (result->load_uneven || result->tables_uneven));
}

static bool is_within_chance(const struct balance_result *result)
{
	return result->cause == BALANCE_NONE && result->state == BALANCE_ACTIVE && result->load_uneven &&
	       !result->tables_uneven && result->excess < result->chance_excess;
}

bool balance_is_second(const struct balance_result *result)
{
	return result->direction == BALANCE_RCV &&
	       (result->cause == BALANCE_MISSING_MEMBER || result->cause == BALANCE_DEGRADED_MEMBER);
}

/*
 * A single link cannot be balanced. The load received over several links to one switch is shown by
 * the group of the sender; a link that is down or slow is shown once for both directions.
 */
bool balance_is_of_interest(const struct shape *shape, const struct balance_result *result)
{
	const struct shape_group *group = &shape->groups[result->group];

	if (group->count < 2)
		return false;
	return result->direction == BALANCE_XMIT ||
	       (group->kind == GROUP_UP && (!balance_is_second(result) || result->load_uneven));
}

/* Sort key: a cause with harm, a cause, harm, the excess. */
static double badness(const struct balance_result *result)
{
	double excess = isnan(result->excess) ? 0 : result->excess;

	return (result->cause != BALANCE_NONE && !balance_is_second(result)) * 4e6 +
	       (result->harmful && result->load_uneven) * 2e6 + (result->state == BALANCE_ACTIVE) * 1e6 +
	       (result->load_uneven ? excess : excess / 1e3);
}

int balance_compare(const void *a, const void *b, void *ctx)
{
	const struct balance *balance = ctx;
	double left = badness(&balance->results[*(const uint32_t *)a]);
	double right = badness(&balance->results[*(const uint32_t *)b]);

	if (left != right)
		return left > right ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int compare_members(const void *a, const void *b, void *ctx)
{
	const struct balance_result *result = ctx;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct balance_member *x = &result->members[left], *y = &result->members[right];
	double full_x = isnan(x->utilization) ? -1 : x->utilization;
	double full_y = isnan(y->utilization) ? -1 : y->utilization;

	if (x->works != y->works)
		return x->works - y->works;
	if (full_x != full_y)
		return full_x > full_y ? -1 : 1;
	return left < right ? -1 : left > right;
}

void balance_order_members(const struct balance_result *result, uint32_t count, uint32_t *ret)
{
	for (uint32_t i = 0; i < count; i++)
		ret[i] = i;
	qsort_r(ret, count, sizeof(*ret), compare_members, (void *)result);
}

double balance_largest_share(const struct balance_result *result, uint32_t count)
{
	double most = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fmax(result->members[i].measured,
				       fmax(result->members[i].predicted, result->members[i].capacity)));
	return most;
}

/* A switch with uneven tables sends too much through the switch that this load comes from. */
bool balance_is_echo(const struct shape *shape, const struct balance *balance, const struct balance_result *result)
{
	const struct fabric *fabric = shape->fabric;
	uint32_t from;

	if (result->direction != BALANCE_RCV || !result->load_uneven || result->hottest == UINT32_MAX)
		return false;
	from = fabric->ports[fabric->ports[result->members[result->hottest].port].peer].node;
	for (size_t i = 0; i < balance->count; i++) {
		const struct balance_result *other = &balance->results[i];

		if (other->direction == BALANCE_XMIT && other->cause >= BALANCE_ROUTING &&
		    fabric->ports[fabric->ports[other->members[other->hottest].port].peer].node == from)
			return true;
	}
	return false;
}

const char *balance_tests(const struct balance_result *result)
{
	static const char *const names[8] = { "-", "harm", "load", "load, harm", "tables", "tables, harm",
					      "tables, load", "tables, load, harm" };
	static const char *const unknown[4] = { "tables ?", "tables ?, harm", "tables ?, load",
						"tables ?, load, harm" };
	unsigned measured = 2 * result->load_uneven + result->harmful;

	return result->tables_known ? names[4 * result->tables_uneven + measured] : unknown[measured];
}

static int percent(double part)
{
	return (int)lround(100 * part);
}

/* "17" or "17, 18", at most PORTS_SHOWN. */
static void append_ports(const struct shape *shape, const struct balance_result *result, bool down,
			 struct text *text)
{
	enum { PORTS_SHOWN = 6 };
	const struct shape_group *group = &shape->groups[result->group];
	uint32_t count = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct balance_member *member = &result->members[i];

		if (down ? member->works : !member->works || !link_is_degraded(shape, member->port))
			continue;
		if (count < PORTS_SHOWN)
			text_appendf(text, "%s%u", count ? ", " : "", shape->fabric->ports[member->port].num);
		else if (count == PORTS_SHOWN)
			text_append(text, ", ...");
		count++;
	}
}

/* Its degraded links; nothing if there are none. @before: the text before them */
static void append_degraded(const struct shape *shape, const struct balance_result *result, const char *before,
			    struct text *text)
{
	struct text ports = { 0 };

	append_ports(shape, result, false, &ports);
	if (ports.len)
		text_appendf(text, "%sdegraded links: port %s", before, text_chars(&ports));
	text_done(&ports);
}

static void append_missing(const struct shape *shape, const struct balance_result *result, struct text *text)
{
	const struct shape_group *group = &shape->groups[result->group];
	uint32_t down = 0;

	for (uint32_t i = 0; i < group->count; i++)
		down += !result->members[i].works;
	if (down) {
		text_appendf(text, "%u of %u links %s not up (port ", down, group->count, down == 1 ? "is" : "are");
		append_ports(shape, result, true, text);
		text_append(text, "); the other links carry the load");
	} else {
		text_appendf(text, "the group has %u link%s, most comparable groups have %u", group->count,
			     text_plural(group->count),
			     group->built);
	}
}

static void append_routing(const struct shape *shape, const struct balance_result *result, struct text *text)
{
	const struct balance_member *hottest = &result->members[result->hottest];
	const struct shape_group *group = &shape->groups[result->group];
	struct measure share = balance_share(result, hottest);
	uint32_t lids = 0;

	for (uint32_t i = 0; i < group->count; i++)
		lids += result->members[i].lids;
	text_appendf(text,
		     "the tables route %d %% of %u LIDs through port %u (fair share: %d %%), which carries %s%d %% "
		     "of the load",
		     percent(hottest->destinations), lids, shape->fabric->ports[hottest->port].num,
		     percent(hottest->capacity), measure_is_exact(share) ? "" : "at least ", percent(share.value));
}

/* Uneven and harmful, without a cause so far. */
static void append_chance(const struct balance_result *result, struct text *text)
{
	if (result->tables_newer)
		text_append(text, "uneven before the tables changed in this window");
	else if (result->tables_uneven)
		text_append(text, "load and tables are uneven, but on different ports");
	else if (result->excess >= result->chance_excess)
		text_append(text, "uneven beyond chance, with even tables; reported as flows if it lasts");
	else if (isfinite(result->chance_excess))
		text_appendf(text, "imbalance is within chance for %.0f flows: up to %d %% above the mean",
			     floor(result->flows), percent(result->chance_excess));
	else
		text_append(text, "imbalance is within chance for this few flows");
}

const char *balance_adaptive_cell(const struct balance_result *result)
{
	static const char *const cells[2][3] = { { "?", "off", "on" }, { "?", "~off", "~on" } };

	return cells[result->adaptive_inferred][result->adaptive];
}

void balance_append_adaptive(const struct balance_result *result, struct text *text)
{
	text_appendf(text, "adaptive routing %s%s", balance_adaptive_name(result->adaptive),
		     result->adaptive_inferred ? ", inferred from the load" : "");
}

bool balance_is_chance(const struct shape *shape, const struct balance *balance, const struct balance_result *result)
{
	return is_within_chance(result) && !balance_is_echo(shape, balance, result);
}

/* What the numbers of a group are without: links that were not read, or whose counters were reset or are saturated. */
static void append_unknown(const struct shape *shape, const struct balance_result *result, struct text *text)
{
	const struct shape_group *group = &shape->groups[result->group];
	uint32_t working = 0, unknown = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		working += result->members[i].works;
		unknown += result->members[i].works && !result->members[i].known;
	}
	if (unknown)
		text_appendf(text, "; %u of %u %slinks not exactly known", unknown, working,
			     group->kind == GROUP_UP ? "up" : "");
}

/* A link of many without any load hardly changes their mean: the group is "even" although the link is not used. */
static void append_unused(const struct shape *shape, const struct balance_result *result, struct text *text)
{
	const struct shape_group *group = &shape->groups[result->group];
	uint32_t unused = 0, first = 0;

	if (result->state != BALANCE_ACTIVE || result->cause != BALANCE_NONE)
		return;
	for (uint32_t i = group->count; i-- > 0;) {
		const struct balance_member *member = &result->members[i];

		if (member->works && member->known && member->measured < 0.005) {
			unused++;
			first = shape->fabric->ports[member->port].num;
		}
	}
	if (unused == 1)
		text_appendf(text, "; port %u carries none of it", first);
	else if (unused)
		text_appendf(text, "; %u links carry none of it, port %u first", unused, first);
}

void balance_append_reason(const struct shape *shape, const struct balance_result *result, struct text *text)
{
	switch (result->cause) {
	case BALANCE_MISSING_MEMBER:
		append_missing(shape, result, text);
		append_degraded(shape, result, "; ", text);
		break;
	case BALANCE_DEGRADED_MEMBER:
		append_degraded(shape, result, "", text);
		break;
	case BALANCE_ROUTING:
		append_routing(shape, result, text);
		break;
	case BALANCE_NOT_FOLLOWING:
		append_routing(shape, result, text);
		text_append(text, "; its peers route adaptively, this switch does not");
		break;
	case BALANCE_FLOWS:
		text_appendf(text, "the tables are even, but flows repeatedly collide on port %u: %d %% above the mean "
			     "(threshold: %d %%)", shape->fabric->ports[result->members[
			     result->hottest].port].num, percent(result->excess), percent(result->chance_excess));
		break;
	default:
		if (result->state == BALANCE_UNKNOWN)
			text_append(text, "unknown: too few ports were read, or at times too far apart");
		else if (result->state == BALANCE_IDLE)
			text_append(text, "idle: not enough load to evaluate");
		else if (result->tables_uneven && !result->load_uneven)
			text_append(text, "the tables are uneven, the load is even");
		else if (result->load_uneven && !result->harmful)
			text_append(text, is_within_chance(result) ? "within chance, without harm" :
					  "uneven, without harm");
		else if (result->load_uneven && result->adaptive == ADAPTIVE_ON)
			text_append(text, "uneven although adaptive routing is on; static tables are not the cause");
		else if (result->load_uneven && !result->tables_known)
			text_append(text, "uneven; the cause is unknown because the tables were not read");
		else if (result->load_uneven)
			append_chance(result, text);
		else
			text_append(text, "even");
		break;
	}
	append_unused(shape, result, text);
	append_unknown(shape, result, text);
}
