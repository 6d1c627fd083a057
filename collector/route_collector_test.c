/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables through the whole collector, from a simulated fabric to the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/events.h"
#include "collector/test_model.h"
#include "fabric/routes.h"

static void give_tables(struct model *model)
{
	unsigned i, lid;

	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++) {
		model->nodes[i].lft_top = 150;
		for (lid = 0; lid < MODEL_LIDS; lid++)
			model->nodes[i].lft[lid] = (uint8_t)(model_random(model) % (MODEL_PORTS_MAX + 1));
	}
}

static bool has_all(const struct model *model)
{
	unsigned i;

	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++) {
		const struct route_table *table = routes_find(&model->routes, model_guid(i));

		if (!table || table->lids != 192 || memcmp(table->ports, model->nodes[i].lft, 192) != 0)
			return false;
	}
	return true;
}

static struct model *with_tables(uint64_t seed)
{
	struct model *model = model_create(seed);

	model->routes_interval_us = 600 * US_PER_S;
	model->traffic = false;
	give_tables(model);
	return model;
}

static void a_single_sweep_reads_and_stores_all_tables(void **state)
{
	struct model *model = with_tables(1);

	(void)state;
	assert_int_equal(model_run(model, 1, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 0);
	/* The next collector restores the tables and reports what changed in between. */
	model->nodes[3].lft[17] ^= 1;
	assert_int_equal(model_run(model, 1, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 1);
	routes_done(&model->routes);
	free(model);
}

static void fail_occasionally(struct model *model)
{
	model->store_fails = model_random(model) % 3 == 0;
	if (model_random(model) % 2)
		model->nodes[model_random(model) % (MODEL_SPINES + MODEL_LEAFS)].lft[model_random(model) % 192] ^= 1;
}

static void a_store_that_fails_loses_no_change(void **state)
{
	struct model *model = with_tables(2);
	unsigned i;

	(void)state;
	model->before_sweep = fail_occasionally;
	model->routes_interval_us = 60 * US_PER_S;
	/* The sink compares what it receives with the tables. */
	assert_int_equal(model_run(model, 150, NULL, NULL), 0);
	model->before_sweep = NULL;
	model->store_fails = false;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_true(has_all(model));
	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++)
		assert_true(model->nodes[i].lft_reads > 25 * 3);
	routes_done(&model->routes);
	free(model);
}

/* The SM restarts and exchanges the LIDs of two switches; only a discovery detects it. */
static void swap_lids(struct model *model)
{
	uint16_t lid = model->nodes[2].lid;

	if (model->sweeps != 9)
		return;
	model->nodes[2].lid = model->nodes[3].lid;
	model->nodes[3].lid = lid;
	model->sm_act_count = 0;
}

static void a_table_is_not_read_from_the_new_owner_of_a_lid(void **state)
{
	struct model *model = with_tables(3);

	(void)state;
	model->sm_act_count = 7;
	model->routes_interval_us = 10 * US_PER_S; /* all in every sweep */
	model->before_sweep = swap_lids;
	assert_int_equal(model_run(model, 30, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 0);
	assert_true(model->nodes[2].lft_reads > 25 * 3);
	routes_done(&model->routes);
	free(model);
}

static void tables_are_read_by_path_if_smps_are_directed(void **state)
{
	struct model *model = with_tables(4);

	(void)state;
	model->wire.directed_smps = true;
	assert_int_equal(model_run(model, 3, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model->smps_by_lid, 0);
	routes_done(&model->routes);
	free(model);
}

static unsigned reads_of(const struct model *model)
{
	unsigned reads = 0, i;

	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++)
		reads += model->nodes[i].lft_reads;
	return reads;
}

static uint64_t throttled_at;
static unsigned reads_then;

/* A node drops a datagram in each sweep, forever; a table changes while tables are deferred. */
static void drop_forever(struct model *model)
{
	model->nodes[LEAF].ports[1].value[COUNTER_VL15_DROPPED] += model->sweeps >= 2;
	if (!model_events_of(model, EVENT_THROTTLED))
		return;
	if (!throttled_at) {
		throttled_at = model->sweeps;
		reads_then = reads_of(model);
		model->nodes[2].lft[17] ^= 1;
	}
	if (model->sweeps == throttled_at + 5)
		assert_int_equal(reads_of(model), reads_then);
}

static void tables_are_deferred_for_a_minute_at_most(void **state)
{
	struct model *model = with_tables(5);

	(void)state;
	throttled_at = 0;
	model->routes_interval_us = 30 * US_PER_S;
	model->before_sweep = drop_forever;
	assert_int_equal(model_run(model, 30, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 0);
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 1);
	assert_true(has_all(model));
	routes_done(&model->routes);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_sweep_reads_and_stores_all_tables),
		cmocka_unit_test(a_store_that_fails_loses_no_change),
		cmocka_unit_test(a_table_is_not_read_from_the_new_owner_of_a_lid),
		cmocka_unit_test(tables_are_read_by_path_if_smps_are_directed),
		cmocka_unit_test(tables_are_deferred_for_a_minute_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
