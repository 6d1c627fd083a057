/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host_units.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Hosts with the same leaves, next to each other in the order of the work. */
struct same {
	uint32_t first, count;
	uint32_t host, leaves; /* the first host, and its number of leaves */
};

struct ordered {
	const uint32_t *leaves;
	uint32_t count, host;
};

struct work {
	const struct host_leaves *hosts;
	struct host_units units;
	struct ordered *order;          /* hosts by set of leaves */
	struct same *sets;
	uint32_t set_count;
	bool *shared;                   /* by leaf */
	uint32_t *first_host, *host_of; /* by leaf: the hosts that it serves */
	uint32_t *tally;                /* by unit, all 0 between uses */
};

static int compare_leaves(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int difference;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	difference = memcmp(x->leaves, y->leaves, x->count * sizeof(*x->leaves));
	return difference ? difference : x->host < y->host ? -1 : 1;
}

static int compare_sets(const void *a, const void *b)
{
	const struct same *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->leaves != y->leaves)
		return x->leaves > y->leaves ? -1 : 1;
	return x->host < y->host ? -1 : 1;
}

static void find_sets(struct work *work)
{
	const struct host_leaves *hosts = work->hosts;
	uint32_t end;

	for (uint32_t i = 0; i < hosts->host_count; i++)
		work->order[i] = (struct ordered){ hosts->leaves + hosts->first[i],
						   hosts->first[i + 1] - hosts->first[i], i };
	qsort(work->order, hosts->host_count, sizeof(*work->order), compare_leaves);
	for (uint32_t i = 0; i < hosts->host_count; i = end) {
		const struct ordered *one = &work->order[i];

		for (end = i + 1; end < hosts->host_count; end++)
			if (work->order[end].count != one->count ||
			    memcmp(work->order[end].leaves, one->leaves, one->count * sizeof(*one->leaves)))
				break;
		work->sets[work->set_count++] = (struct same){ i, end - i, one->host, one->count };
	}
	qsort(work->sets, work->set_count, sizeof(*work->sets), compare_sets);
}

/* Are all leaves of a host shared? Then they count. */
static bool has_only_shared(const struct work *work, const struct ordered *host)
{
	for (uint32_t i = 0; i < host->count; i++)
		if (!work->shared[host->leaves[i]])
			return false;
	return true;
}

/* The unit that has more of the leaves of a set than have none, or HOST_UNIT_NONE. */
static uint32_t known_unit(struct work *work, const struct ordered *host, bool all)
{
	uint32_t best = HOST_UNIT_NONE, without = 0, most = 0;

	for (uint32_t i = 0; i < host->count; i++) {
		uint32_t unit = work->units.of_leaf[host->leaves[i]];

		if (!all && work->shared[host->leaves[i]])
			continue;
		if (unit == HOST_UNIT_NONE)
			without++;
		else
			work->tally[unit]++;
	}
	for (uint32_t i = 0; i < host->count; i++) {
		uint32_t unit = work->units.of_leaf[host->leaves[i]];

		if (unit == HOST_UNIT_NONE || work->tally[unit] < most || !work->tally[unit])
			continue;
		if (work->tally[unit] > most || unit < best)
			best = unit;
		most = work->tally[unit];
	}
	for (uint32_t i = 0; i < host->count; i++)
		if (work->units.of_leaf[host->leaves[i]] != HOST_UNIT_NONE)
			work->tally[work->units.of_leaf[host->leaves[i]]] = 0;
	return most > without ? best : HOST_UNIT_NONE;
}

static void assign_units(struct work *work)
{
	struct host_units *units = &work->units;

	units->count = 0;
	for (uint32_t i = 0; i < work->hosts->leaf_count; i++)
		units->of_leaf[i] = HOST_UNIT_NONE;
	for (uint32_t i = 0; i < work->set_count; i++) {
		const struct same *set = &work->sets[i];
		const struct ordered *hosts = &work->order[set->first];
		bool all = has_only_shared(work, hosts);
		uint32_t unit = known_unit(work, hosts, all);

		if (unit == HOST_UNIT_NONE) {
			unit = units->count++;
			for (uint32_t j = 0; j < hosts->count; j++) {
				uint32_t *of = &units->of_leaf[hosts->leaves[j]];

				if (*of == HOST_UNIT_NONE && (all || !work->shared[hosts->leaves[j]]))
					*of = unit;
			}
		}
		for (uint32_t j = 0; j < set->count; j++)
			units->of_host[hosts[j].host] = unit;
	}
}

/* The hosts that each leaf serves. */
static void list_hosts(struct work *work)
{
	const struct host_leaves *hosts = work->hosts;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < hosts->first[hosts->host_count]; i++)
		work->first_host[hosts->leaves[i]]++;
	for (uint32_t i = 0; i <= hosts->leaf_count; i++) {
		uint32_t count = work->first_host[i];

		work->first_host[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < hosts->host_count; i++)
		for (uint32_t j = hosts->first[i]; j < hosts->first[i + 1]; j++)
			work->host_of[work->first_host[hosts->leaves[j]]++] = i;
	for (uint32_t i = hosts->leaf_count; i; i--)
		work->first_host[i] = work->first_host[i - 1];
	work->first_host[0] = 0;
}

/* The unit of at least three quarters of the hosts of a leaf, or HOST_UNIT_NONE. */
static uint32_t main_unit(struct work *work, uint32_t leaf)
{
	uint32_t from = work->first_host[leaf], to = work->first_host[leaf + 1], most = 0, best = HOST_UNIT_NONE;

	for (uint32_t i = from; i < to; i++) {
		uint32_t unit = work->units.of_host[work->host_of[i]];

		if (++work->tally[unit] > most) {
			most = work->tally[unit];
			best = unit;
		}
	}
	for (uint32_t i = from; i < to; i++)
		work->tally[work->units.of_host[work->host_of[i]]] = 0;
	return most * 4 >= (to - from) * 3 ? best : HOST_UNIT_NONE;
}

/* Return: whether hosts of several units share a leaf of which this was not known. */
static bool find_shared(struct work *work)
{
	bool any = false;

	for (uint32_t i = 0; i < work->hosts->leaf_count; i++) {
		if (work->shared[i] || work->first_host[i] == work->first_host[i + 1])
			continue;
		work->shared[i] = main_unit(work, i) == HOST_UNIT_NONE;
		any |= work->shared[i];
	}
	return any;
}

/* A leaf that no set has claimed belongs to the unit of its hosts. */
static void add_unclaimed(struct work *work)
{
	for (uint32_t i = 0; i < work->hosts->leaf_count; i++)
		if (work->units.of_leaf[i] == HOST_UNIT_NONE && work->first_host[i] < work->first_host[i + 1])
			work->units.of_leaf[i] = main_unit(work, i);
}

int host_units_find(const struct host_leaves *hosts, struct host_units *ret, struct error *err)
{
	size_t count = hosts->host_count, leaves = hosts->leaf_count;
	struct work work = {
		.hosts = hosts,
		.units.of_host = calloc(count + 1, sizeof(uint32_t)),
		.units.of_leaf = calloc(leaves + 1, sizeof(uint32_t)),
		.order = calloc(count + 1, sizeof(*work.order)),
		.sets = calloc(count + 1, sizeof(*work.sets)),
		.shared = calloc(leaves + 1, sizeof(*work.shared)),
		.first_host = calloc(leaves + 2, sizeof(*work.first_host)),
		.host_of = calloc((size_t)hosts->first[count] + 1, sizeof(*work.host_of)),
		.tally = calloc(count + 1, sizeof(*work.tally)),
	};
	bool ok = work.units.of_host && work.units.of_leaf && work.order && work.sets && work.shared &&
		  work.first_host && work.host_of && work.tally;

	if (ok) {
		for (size_t i = 0; hosts->others && i < leaves; i++)
			work.shared[i] = hosts->others[i];
		find_sets(&work);
		list_hosts(&work);
		assign_units(&work);
		if (find_shared(&work))
			assign_units(&work);
		add_unclaimed(&work);
		*ret = work.units;
	} else {
		host_units_done(&work.units);
	}
	free(work.order);
	free(work.sets);
	free(work.shared);
	free(work.first_host);
	free(work.host_of);
	free(work.tally);
	return ok ? 0 : err_nomem(err);
}

void host_units_done(struct host_units *units)
{
	free(units->of_host);
	free(units->of_leaf);
	memset(units, 0, sizeof(*units));
}
