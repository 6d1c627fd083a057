/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * balance_property_test.c - balance on random fabrics with random jobs and known causes
 *
 * IBWIRE_CASES=2000 for more than the usual number of cases; IBWIRE_TEST_SHORT for fewer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/balance/bed.h"

static unsigned cases(void)
{
	const char *wanted = getenv("IBWIRE_CASES");

	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : test_cases(200);
}

/* One to three jobs side by side, of any kind. */
static void random_jobs(struct bed *bed)
{
	size_t jobs = 1 + bed_below(bed, 3), hosts = bed->hosts.host_count;

	bed_no_jobs(bed);
	for (size_t job = 0; job < jobs; job++)
		bed_job(bed, (enum bed_pattern)bed_below(bed, BED_PATTERNS), hosts * job / jobs,
			hosts * (job + 1) / jobs, 1 + bed_below(bed, 16), 0.2 + bed_below(bed, 80) / 100.0);
}

/* Enough flows that uneven tables have an effect, and no full uplinks without them. */
static void busy_job(struct bed *bed)
{
	bed_no_jobs(bed);
	bed_job(bed, BED_ALL_TO_ALL, 0, bed->hosts.host_count, 24, 0.6);
}

static const struct shape_group *uplinks_of(const struct bed *bed, uint32_t node)
{
	return &bed->shape->groups[bed->shape->nodes[node].up_group];
}

/* A random uplink of a random leaf with at least @least uplinks, or FABRIC_NONE. */
static uint32_t random_uplink(struct bed *bed, uint32_t least)
{
	uint32_t leaf = bed_leaf(bed, bed_below(bed, 1000), least);

	if (leaf == FABRIC_NONE)
		return FABRIC_NONE;
	return bed->shape->members[uplinks_of(bed, leaf)->first + bed_below(bed, uplinks_of(bed, leaf)->count)];
}

TEST(even_tables_are_never_routing)
{
	unsigned windows = 0, reported = 0;

	for (unsigned seed = 1; seed <= cases(); seed++) {
		struct net_shape shape = bed_random_shape(seed);
		struct bed bed;

		bed_init(&bed, &shape, seed);
		random_jobs(&bed);
		for (unsigned window = 0; window < 12; window++) {
			/* Some jobs end, others begin. */
			if (window == 6 && seed % 2)
				random_jobs(&bed);
			bed_run(&bed, NULL);
			assert_int_equal(bed_count(&bed, BALANCE_ROUTING), 0);
			assert_int_equal(bed_count(&bed, BALANCE_MISSING_MEMBER), 0);
			assert_int_equal(bed_count(&bed, BALANCE_DEGRADED_MEMBER), 0);
			assert_int_equal(bed_count(&bed, BALANCE_NOT_FOLLOWING), 0);
			for (size_t i = 0; i < bed.balance.count; i++) {
				if (bed.balance.results[i].tables_uneven)
					fail_msg("seed %u: even tables are reported to be uneven", seed);
				windows += bed.balance.results[i].state == BALANCE_ACTIVE;
			}
			reported += bed_count(&bed, BALANCE_FLOWS);
		}
		bed_done(&bed);
	}
	print_message("# note: %u of %u windows of healthy groups had a finding (flows)\n", reported, windows);
	assert_true(windows > 50 * cases());
	assert_true(reported * 1000.0 <= windows);
}

/* The fault is visible: the port has far more flows than its siblings. */
static bool shows(const struct bed *bed, uint32_t port)
{
	const struct shape_group *group = &bed->shape->groups[bed->shape->ports[port].group];
	unsigned here = bed_flows(bed, port), most = 0, sum = here, flows;

	for (unsigned i = 0; i < group->count; i++) {
		if (bed->shape->members[group->first + i] == port)
			continue;
		flows = bed_flows(bed, bed->shape->members[group->first + i]);
		most = flows > most ? flows : most;
		sum += flows;
	}
	return here > 1.5 * most && here * group->count > 1.5 * sum;
}

/*
 * A random fabric with a busy job, in which a random leaf with at least @least uplinks routes @part
 * of its destinations through one of them, *@ret_port. Return: false: no such leaf, or not visible.
 */
static bool init_skewed(struct bed *bed, unsigned seed, uint32_t least, double part, uint32_t *ret_port)
{
	struct net_shape shape = bed_random_shape(seed);

	bed_init(bed, &shape, seed);
	*ret_port = random_uplink(bed, least);
	if (*ret_port != FABRIC_NONE) {
		bed_skew(bed, *ret_port, part);
		busy_job(bed);
		if (shows(bed, *ret_port))
			return true;
	}
	bed_done(bed);
	return false;
}

/* Half of a leaf's destinations leave by one uplink. */
TEST(skewed_tables_are_found)
{
	unsigned skewed = 0, found = 0;

	for (unsigned seed = 1; skewed < cases(); seed++) {
		const struct balance_result *result;
		struct bed bed;
		uint32_t port;

		if (!init_skewed(&bed, seed, 3, 0.5, &port))
			continue;
		for (unsigned window = 0; window < 12; window++) {
			bed_run(&bed, NULL);
			result = bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT);
			/* No other result has a cause, and each fault has one. */
			assert_int_equal(bed_count(&bed, BALANCE_ROUTING), result->cause == BALANCE_ROUTING);
			assert_int_equal(bed_count(&bed, BALANCE_FLOWS), 0);
			/* In the first window. */
			if (window == 0)
				found += result->cause == BALANCE_ROUTING && result->hottest == bed_member(&bed, port);
		}
		skewed++;
		bed_done(&bed);
	}
	print_message("# note: %u of %u skewed leafs found, each with its uplink\n", found, skewed);
	assert_true(found * 100 >= skewed * 99);
}

/* With uniform all-to-all traffic, predictions equal the load on every link and direction. */
TEST(predictions_equal_the_load_of_all_to_all_traffic)
{
	unsigned checked = 0;

	for (unsigned seed = 1; seed <= cases() / 2; seed++) {
		struct net_shape shape = bed_random_shape(seed);
		struct bed bed;
		uint32_t port, j;

		shape.kind = seed % 2 ? NET_SHAPE_TREE2 : NET_SHAPE_TREE3;
		shape.units = seed % 2 ? 1 : 3;
		shape.rails = 1;
		shape.leafs = 3;
		shape.hosts = 4;
		bed_init(&bed, &shape, seed);
		port = random_uplink(&bed, 2);
		if (port != FABRIC_NONE && seed % 3)
			bed_skew(&bed, port, 0.5);
		for (size_t from = 0; from < bed.hosts.host_count; from++)
			for (size_t to = 0; to < bed.hosts.host_count; to++)
				if (to != from)
					bed_flow(&bed, bed.hosts.hcas[bed.hosts.hosts[from].first_hca].port,
						 bed.hosts.hcas[bed.hosts.hosts[to].first_hca].port,
						 0.1 / (double)bed.hosts.host_count);
		bed_run(&bed, NULL);
		for (size_t i = 0; i < bed.balance.count; i++) {
			const struct balance_result *result = &bed.balance.results[i];

			/* A bundle over which nothing comes has no shares. */
			for (j = 0; j < bed.shape->groups[result->group].count && result->mean_utilization > 0; j++) {
				if (!(fabs(result->members[j].predicted - result->members[j].measured) < 0.01))
					fail_msg("seed %u: %g is not %g", seed, result->members[j].predicted,
						 result->members[j].measured);
				checked++;
			}
		}
		bed_done(&bed);
	}
	assert_true(checked > 20 * cases());
}

static void take_down(struct bed *bed, uint32_t port)
{
	bed->fabric->ports[port].state = bed->fabric->ports[bed->fabric->ports[port].peer].state = PORT_DOWN;
	bed_route(bed);
	bed_reshape(bed);
}

static void slow_down(struct bed *bed, uint32_t port)
{
	bed->fabric->ports[port].width = bed->fabric->ports[bed->fabric->ports[port].peer].width = LINK_WIDTH_1X;
	bed_reshape(bed);
}

/* From the link state, at once, with and without traffic, and no other cause. */
TEST(a_lost_or_slow_uplink_is_the_cause)
{
	unsigned done = 0;

	for (unsigned seed = 1; done < cases(); seed++) {
		struct net_shape shape = bed_random_shape(seed);
		enum balance_cause cause = seed % 2 ? BALANCE_MISSING_MEMBER : BALANCE_DEGRADED_MEMBER;
		struct bed bed;
		uint32_t port, group;

		bed_init(&bed, &shape, seed);
		port = random_uplink(&bed, 2);
		if (port == FABRIC_NONE) {
			bed_done(&bed);
			continue;
		}
		(seed % 2 ? take_down : slow_down)(&bed, port);
		if (seed % 3)
			random_jobs(&bed);
		bed_run(&bed, NULL);
		group = bed.shape->ports[port].group;
		assert_int_equal(bed_result(&bed, group, BALANCE_XMIT)->cause, cause);
		assert_int_equal(bed_result(&bed, group, BALANCE_RCV)->cause, cause);
		for (size_t i = 0; i < bed.balance.count; i++) {
			const struct balance_result *result = &bed.balance.results[i];

			/* The group at the other end of the link may have the cause, too. */
			if (result->cause != BALANCE_NONE && result->group != group &&
			    result->group != bed.shape->ports[bed.fabric->ports[port].peer].group)
				fail_msg("seed %u: %s elsewhere", seed, balance_cause_name(result->cause));
		}
		done++;
		bed_done(&bed);
	}
}

static bool *all_switches(const struct bed *bed, bool which)
{
	bool *spread = calloc(bed->fabric->node_count, sizeof(*spread));

	assert_non_null(spread);
	memset(spread, which, bed->fabric->node_count * sizeof(*spread));
	return spread;
}

/* With adaptive routing everywhere, uneven tables have no effect and no finding. */
TEST(adaptive_routing_is_inferred_and_never_routing)
{
	unsigned done = 0, inferred = 0;

	for (unsigned seed = 1; done < cases(); seed++) {
		struct bed bed;
		uint32_t port;
		bool *spread;

		if (!init_skewed(&bed, seed, 4, 0.7, &port))
			continue;
		spread = all_switches(&bed, true);
		for (unsigned window = 0; window < 6; window++) {
			bed_run(&bed, spread);
			assert_int_equal(bed_count(&bed, BALANCE_ROUTING), 0);
			assert_int_equal(bed_count(&bed, BALANCE_NOT_FOLLOWING), 0);
		}
		inferred += bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT)->adaptive == ADAPTIVE_ON;
		free(spread);
		done++;
		bed_done(&bed);
	}
	/* At one leaf, only a port that sends more than its destinations receive is evidence. */
	print_message("# note: adaptive routing inferred at %u of %u leafs with uneven tables\n", inferred, done);
	assert_true(inferred * 5 > done);
}

/* Also where the destinations of uneven tables have no traffic, and tables change between windows. */
TEST(static_routing_is_never_taken_for_adaptive_routing)
{
	unsigned uneven = 0;

	for (unsigned seed = 1; seed <= cases(); seed++) {
		struct net_shape shape = bed_random_shape(seed);
		struct bed bed;

		bed_init(&bed, &shape, seed);
		for (unsigned window = 0; window < 12; window++) {
			uint32_t port = window % 4 == 1 ? random_uplink(&bed, 2) : FABRIC_NONE;

			if (window % 6 == 0)
				random_jobs(&bed);
			if (port != FABRIC_NONE)
				bed_skew(&bed, port, 0.3 + bed_below(&bed, 6) / 10.0);
			bed_run(&bed, NULL);
			for (size_t i = 0; i < bed.balance.count; i++) {
				const struct balance_result *result = &bed.balance.results[i];

				uneven += result->tables_uneven && !result->load_uneven &&
					  result->state == BALANCE_ACTIVE;
				if (result->adaptive == ADAPTIVE_ON)
					fail_msg("seed %u, window %u: %s", seed, window,
						 bed.fabric->nodes[bed.shape->groups[result->group].node].name);
			}
		}
		bed_done(&bed);
	}
	print_message("# note: %u results with uneven tables and even load\n", uneven);
	assert_true(uneven > cases() / 10);
}

/* 8 leafs of 16 hosts, 8 uplinks each. */
static void init_tree(struct bed *bed, uint64_t seed)
{
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);

	shape.oversubscription_milli = 2000;
	shape.management = 0;
	bed_init(bed, &shape, seed);
}

static uint32_t first_leaf(const struct bed *bed)
{
	return bed_leaf(bed, 0, 2);
}

static void set_adaptive(struct bed *bed, enum adaptive_routing adaptive)
{
	bed->adaptive = calloc(bed->fabric->node_count, 1);
	assert_non_null(bed->adaptive);
	memset(bed->adaptive, adaptive, bed->fabric->node_count);
}

/* A ring between neighbours: the entries that are uneven are those of destinations without traffic from there. */
TEST(uneven_entries_without_traffic_are_no_evidence)
{
	struct bed bed;
	uint32_t leaf, port;
	uint8_t *table;

	init_tree(&bed, 1);
	leaf = first_leaf(&bed);
	port = bed.shape->members[uplinks_of(&bed, leaf)->first + 3];
	table = bed_table(&bed, leaf);
	for (size_t from = 0; from < bed.hosts.host_count; from++) {
		uint32_t own = bed.hosts.hcas[bed.hosts.hosts[from].first_hca].port;
		size_t to = (from + 16) % bed.hosts.host_count;

		bed_flow(&bed, own, bed.hosts.hcas[bed.hosts.hosts[to].first_hca].port, 0.4);
	}
	/* Not those of the second leaf, to which this one sends. */
	for (size_t i = 32; i < bed.hosts.host_count; i++)
		table[bed.fabric->ports[bed.hosts.hcas[bed.hosts.hosts[i].first_hca].port].lid] =
			bed.fabric->ports[port].num;
	bed_reroute(&bed);
	for (unsigned window = 0; window < 12; window++) {
		const struct balance_result *result;

		bed_run(&bed, NULL);
		result = bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT);
		assert_true(result->tables_uneven && !result->load_uneven && result->state == BALANCE_ACTIVE);
		assert_int_equal(result->adaptive, ADAPTIVE_UNKNOWN);
	}
	bed_done(&bed);
}

/* Adaptive routing is configured, or inferred at its peers; only this leaf follows its table. */
TEST(a_single_switch_that_follows_its_tables_is_reported)
{
	for (unsigned seed = 1; seed <= cases() / 10 + 1; seed++) {
		bool configured = seed % 2, *spread;
		struct bed bed;
		uint32_t port, leaf;

		init_tree(&bed, seed);
		leaf = bed_leaf(&bed, seed, 2);
		port = bed.shape->members[uplinks_of(&bed, leaf)->first + bed_below(&bed, 8)];
		for (uint32_t i = 0; i < 8; i++)
			if (!configured)
				bed_skew(&bed, bed.shape->members[uplinks_of(&bed, bed_leaf(&bed, i, 2))->first + 3],
					 bed_leaf(&bed, i, 2) == leaf ? 0 : 0.7);
		bed_skew(&bed, port, 0.7);
		if (configured)
			set_adaptive(&bed, ADAPTIVE_ON);
		busy_job(&bed);
		spread = all_switches(&bed, true);
		spread[leaf] = false;
		for (unsigned window = 0; window < 6; window++) {
			bed_run(&bed, spread);
			assert_int_equal(bed_count(&bed, BALANCE_ROUTING), !configured && window < 1);
		}
		assert_int_equal(bed_count(&bed, BALANCE_NOT_FOLLOWING), 1);
		assert_int_equal(bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT)->cause,
				 BALANCE_NOT_FOLLOWING);
		assert_int_equal(bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT)->hottest,
				 bed_member(&bed, port));
		free(spread);
		bed_done(&bed);
	}
}

/*
 * A leaf's table is even, but the few destinations that are busy all leave by one uplink.
 * @ret_port:  that uplink
 */
static void collide(struct bed *bed, uint32_t leaf, uint32_t *ret_port)
{
	const struct shape_group *group = uplinks_of(bed, leaf);
	uint8_t *table = bed_table(bed, leaf);
	unsigned busy = 0, other = 0;

	*ret_port = bed->shape->members[group->first + 2];
	bed_no_jobs(bed);
	for (unsigned host = 0; host < bed->hosts.host_count; host++) {
		uint32_t to = bed->hosts.hcas[bed->hosts.hosts[host].first_hca].port, out;
		uint16_t lid = bed->fabric->ports[to].lid;

		if (bed->fabric->ports[bed->fabric->ports[to].peer].node == leaf)
			continue;
		if (busy < 14) {
			busy++;
			out = *ret_port;
			/* All hosts of the leaf send to it; they are hosts 0 to 15. */
			for (unsigned from = 0; from < 16; from++)
				bed_flow(bed, bed->hosts.hcas[bed->hosts.hosts[from].first_hca].port, to, 0.9 / 14);
		} else {
			out = bed->shape->members[group->first + (2 + 1 + other++ % 7) % 8];
		}
		table[lid] = bed->fabric->ports[out].num;
	}
	bed_reroute(bed);
}

/* In 8 of 10 active windows; idle windows neither count nor reset. */
TEST(lasting_collisions_are_reported)
{
	const struct balance_result *result;
	unsigned reported_at = 0;
	struct bed bed;
	uint32_t port;

	init_tree(&bed, 1);
	collide(&bed, first_leaf(&bed), &port);
	for (unsigned window = 1; window <= 30 && !reported_at; window++) {
		size_t flows = bed.flows.count;

		if (window % 3 == 0)
			bed.flows.count = 0;
		bed_run(&bed, NULL);
		bed.flows.count = flows;
		result = bed_result(&bed, bed.shape->ports[port].group, BALANCE_XMIT);
		assert_false(result->tables_uneven);
		if (window % 3 == 0)
			assert_int_equal(result->state, BALANCE_IDLE);
		if (result->cause == BALANCE_FLOWS) {
			assert_int_equal(result->hottest, bed_member(&bed, port));
			reported_at = window;
		}
	}
	assert_int_equal(reported_at, 11); /* the 8th active one */
	assert_int_equal(bed_count(&bed, BALANCE_FLOWS), 1);
	bed_done(&bed);
}
