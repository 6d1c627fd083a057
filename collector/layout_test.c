/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* HCAs whose ports are planes of one port: reported once, and not polled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "collector/events.h"
#include "collector/test_model.h"

static void planes_are_reported_once_and_not_polled(void **state)
{
	struct collector_report report;
	struct model *model = model_create(1);
	size_t i;

	(void)state;
	model->nodes[HOST].planes = model->nodes[HOST + 1].planes = true;
	assert_int_equal(model_run(model, 12, &report, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_LAYOUT_UNSUPPORTED), 2);
	for (i = 0; strcmp(model->events[i].kind, EVENT_LAYOUT_UNSUPPORTED) != 0; i++)
		;
	assert_true(model->events[i].node_guid == model_guid(HOST));
	assert_non_null(strstr(model->events[i].text, "2 ports share one GUID"));
	assert_int_equal(model->requests_to[HOST] + model->slow_requests_to[HOST], 0);
	assert_false(model->nodes[HOST].ports[1].has_first);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_UNSUPPORTED);
	/* They delay no sweep, and are neither unresponsive nor locked. */
	assert_int_equal(report.ports_answered, report.ports_asked);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT) + model_events_of(model, EVENT_NODE_LOCKED), 0);
	/* The connected switch ports are polled. */
	assert_true(model->nodes[MODEL_SPINES].ports[MODEL_SPINES + 1].has_first);
	assert_true(model->nodes[HOST + 2].ports[1].has_first);
	assert_true(model_check(model) > 0);
	free(model);
}

/* Detail queries after the planes are known, and later. */
static unsigned slow_before;

static void add_planes(struct model *model)
{
	if (model->sweeps == 64)
		slow_before = model->slow_requests_to[HOST];
	if (model->sweeps == 3)
		model->nodes[HOST].planes = true;
	if (model->sweeps == 80)
		model->nodes[HOST].planes = false;
}

/* New firmware makes two planes of a port, and one again: its counters stop and continue. */
static void planes_that_come_and_go_are_tracked(void **state)
{
	struct model *model = model_create(2);

	(void)state;
	model->before_sweep = add_planes;
	assert_int_equal(model_run(model, 79, NULL, NULL), 0);
	assert_true(slow_before > 0);
	assert_int_equal(model->slow_requests_to[HOST], slow_before);
	assert_int_equal(model_events_of(model, EVENT_LAYOUT_UNSUPPORTED), 1);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_UNSUPPORTED);
	assert_int_equal(model_run(model, 70, NULL, NULL), 0);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_OK);
	assert_true(model_check(model) > 0);
	free(model);
}

static void silence_all_others(struct model *model)
{
	size_t i;

	for (i = 0; i < MODEL_OWN_NODE; i++)
		model->nodes[i].silent = model->sweeps >= 2 && (i >= HOST || model->sweeps >= 6);
}

/* Planes are not polled and do not respond, so they do not hide that all other nodes fail. */
static void planes_do_not_count_as_responses(void **state)
{
	struct model *model = model_create(3);

	(void)state;
	model->nodes[HOST].planes = model->nodes[HOST + 1].planes = true;
	model->before_sweep = silence_all_others;
	assert_int_equal(model_run(model, 5, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_HCAS_SILENT), 1);
	assert_int_equal(model_run(model, 4, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_FABRIC_SILENT), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planes_are_reported_once_and_not_polled),
		cmocka_unit_test(planes_that_come_and_go_are_tracked),
		cmocka_unit_test(planes_do_not_count_as_responses),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
