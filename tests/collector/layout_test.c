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
#include "tests/world/lab.h"

static void planes_are_reported_once_and_not_polled(void **state)
{
	struct collector_report report;
	struct lab *lab = lab_create(1);
	size_t i;

	(void)state;
	lab->nodes[HOST].planes = lab->nodes[HOST + 1].planes = true;
	assert_int_equal(lab_run(lab, 12, &report, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_LAYOUT_UNSUPPORTED), 2);
	for (i = 0; strcmp(lab->events[i].kind, EVENT_LAYOUT_UNSUPPORTED) != 0; i++)
		;
	assert_true(lab->events[i].node_guid == lab_guid(HOST));
	assert_non_null(strstr(lab->events[i].text, "2 ports share one GUID"));
	assert_int_equal(lab->agents[HOST].queries + lab->agents[HOST].detail_queries, 0);
	assert_false(lab_port(lab, HOST, 1)->has_first);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_UNSUPPORTED);
	/* They delay no sweep, and are neither unresponsive nor locked. */
	assert_int_equal(report.ports_answered, report.ports_asked);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT) + lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	/* The connected switch ports are polled. */
	assert_true(lab_port(lab, LAB_SPINES, LAB_SPINES + 1)->has_first);
	assert_true(lab_port(lab, HOST + 2, 1)->has_first);
	assert_true(lab_check(lab) > 0);
	lab_destroy(lab);
}

/* Detail queries after the planes are known, and later. */
static unsigned slow_before;

static void add_planes(struct lab *lab)
{
	if (lab->sweeps == 64)
		slow_before = lab->agents[HOST].detail_queries;
	if (lab->sweeps == 3)
		lab->nodes[HOST].planes = true;
	if (lab->sweeps == 80)
		lab->nodes[HOST].planes = false;
}

/* New firmware makes two planes of a port, and one again: its counters stop and continue. */
static void planes_that_come_and_go_are_tracked(void **state)
{
	struct lab *lab = lab_create(2);

	(void)state;
	lab->before_sweep = add_planes;
	assert_int_equal(lab_run(lab, 79, NULL, NULL), 0);
	assert_true(slow_before > 0);
	assert_int_equal(lab->agents[HOST].detail_queries, slow_before);
	assert_int_equal(lab_events_of(lab, EVENT_LAYOUT_UNSUPPORTED), 1);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_UNSUPPORTED);
	assert_int_equal(lab_run(lab, 70, NULL, NULL), 0);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_OK);
	assert_true(lab_check(lab) > 0);
	lab_destroy(lab);
}

static void silence_all_others(struct lab *lab)
{
	size_t i;

	for (i = 0; i < OWN_HOST; i++)
		lab->agents[i].dead = lab->sweeps >= 2 && (i >= HOST || lab->sweeps >= 6);
}

/* Planes are not polled and do not respond, so they do not hide that all other nodes fail. */
static void planes_do_not_count_as_responses(void **state)
{
	struct lab *lab = lab_create(3);

	(void)state;
	lab->nodes[HOST].planes = lab->nodes[HOST + 1].planes = true;
	lab->before_sweep = silence_all_others;
	assert_int_equal(lab_run(lab, 5, NULL, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_HCAS_SILENT), 1);
	assert_int_equal(lab_run(lab, 4, NULL, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_FABRIC_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	lab_destroy(lab);
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
