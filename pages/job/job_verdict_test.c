/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Verdicts of given numbers, which the fabrics of tests/job/ do not have. */
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "pages/job/job_work.h"

/* Four hosts with two equal HCAs each. */
static struct numbers {
	struct job_port ports[8];
	struct job_host hosts[4];
	struct job_rail rails[2];
	struct job_report report;
} numbers;

static int make_numbers(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	(void)state;
	numbers = (struct numbers){ .rails = { { .name = "mlx5_0" }, { .name = "mlx5_1" } } };
	numbers.report = (struct job_report){
		.source = JOB_SOURCE_SNAPSHOTS, .fabric = fabric_create(NULL), .ports = numbers.ports,
		.hosts = numbers.hosts, .rails = numbers.rails, .port_count = 8, .host_count = 4, .rail_count = 2,
		.slowest = UINT32_MAX, .duration_us = 600 * INT64_C(1000000), .total.known = 8,
	};
	for (uint32_t i = 0; i < 8; i++)
		numbers.ports[i] = (struct job_port){ .host = i / 2, .rail = i % 2, .peer_stall = measure_of(1, true),
						      .sum = { .known = 1, .mean_xmit = measure_of(1e9, true),
							       .mean_rcv = measure_of(1e9, true) } };
	for (uint32_t i = 0; i < 4; i++)
		numbers.hosts[i] = (struct job_host){ .name = names[i], .first = 2 * i, .count = 2, .used = 2,
						      .sum.known = 2 };
	return numbers.report.fabric ? 0 : -1;
}

static int free_numbers(void **state)
{
	(void)state;
	fabric_destroy((struct fabric *)(uintptr_t)numbers.report.fabric);
	job_report_forget(&numbers.report);
	return 0;
}

TEST_WITH(the_host_that_switches_wait_for_is_the_slowest, make_numbers, free_numbers)
{
	(void)state;
	numbers.ports[2].peer_stall = measure_of(34, true);
	numbers.ports[3].peer_stall = measure_of(30, true);
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.slowest, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_SLOW_HOST);
	assert_string_equal(numbers.report.verdict[0].text, "b is the slowest host: the switch ports to it waited 32 % "
			    "of the time, those to the others 1.0 % (median)");
}

/* Counters that were reset have counted at least 0: their port may have carried as much as the others. */
TEST_WITH(nothing_is_concluded_from_a_port_that_is_not_exactly_known, make_numbers, free_numbers)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		numbers.ports[i].sum.mean_xmit = numbers.ports[i].sum.mean_rcv = measure_of(0, i != 0);
	numbers.hosts[0].used = 0;
	numbers.hosts[0].sum.mean_xmit = numbers.hosts[0].sum.mean_rcv = measure_of(0, false);
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	assert_int_equal(job_host_stands_out(&numbers.report, 0), 0);
	numbers.ports[0].sum.mean_xmit = numbers.ports[0].sum.mean_rcv = measure_of(0, true);
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_NO_TRAFFIC);
}

/* All ports wait for the slowest one, which may be a link that the job does not use. */
TEST_WITH(a_job_that_became_slower_with_a_fault_elsewhere_is_not_clean, make_numbers, free_numbers)
{
	static char subject[] = "leaf3 uplinks", text[] = "of its traffic";
	struct job_finding finding = { .kind = FINDING_UPLINK_IMBALANCE, .severity = FINDING_CRITICAL,
				       .subject = subject };

	(void)state;
	numbers.report.total.part[JOB_EARLY] = measure_of(2e9, true);
	numbers.report.total.part[JOB_LATE] = measure_of(1e9, true);
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	numbers.report.findings = &finding;
	numbers.report.finding_count = 1;
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict_count, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_DROP);
	assert_non_null(strstr(numbers.report.verdict[0].text,
			       "elsewhere in the fabric: uplink-imbalance leaf3 uplinks"));
	/* A finding about its own traffic is the verdict, in place of the comparison. */
	for (int i = 0; i < 2; i++) {
		finding.kind = i ? FINDING_JOB_SLOWER : FINDING_JOB_STALLED;
		finding.on_job = true;
		finding.text = text;
		numbers.report.verdict_count = 0;
		assert_int_equal(job_judge(&numbers.report, NULL), 0);
		assert_int_equal(numbers.report.verdict_count, 1);
		assert_int_equal(numbers.report.verdict[0].verdict, i ? JOB_VERDICT_DROP : JOB_VERDICT_STALLED);
		assert_non_null(strstr(numbers.report.verdict[0].text, "of its traffic"));
	}
	numbers.report.findings = NULL;
	numbers.report.finding_count = 0;
}

/* HCAs for storage are idle during most jobs. */
TEST_WITH(an_unused_rail_of_slower_links_is_no_fault, make_numbers, free_numbers)
{
	(void)state;
	numbers.rails[1].slower = true;
	numbers.report.ports_unused = 4;
	for (uint32_t i = 0; i < 4; i++) {
		numbers.ports[2 * i + 1].unused = true;
		numbers.hosts[i].used = 1;
	}
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	assert_int_equal(numbers.report.verdict[1].verdict, JOB_VERDICT_NIC_UNUSED);
	assert_int_equal(numbers.report.verdict[1].severity, FINDING_INFO);
	numbers.rails[1].slower = false;
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_NIC_UNUSED);
}

TEST_WITH(a_host_that_did_not_respond_is_named, make_numbers, free_numbers)
{
	static char subject[] = "node0003", text[] = "";
	struct job_finding finding = { .kind = FINDING_NODE_SILENT, .severity = FINDING_WARNING, .on_job = true,
				       .subject = subject, .text = text, .since_us = 1 };

	(void)state;
	numbers.report.findings = &finding;
	numbers.report.finding_count = 1;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict_count, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_NOT_RESPONDING);
	assert_int_equal(numbers.report.verdict[0].severity, FINDING_WARNING);
	assert_non_null(strstr(numbers.report.verdict[0].text, "node0003 did not respond from "));
	finding.refusal = true;
	numbers.report.verdict_count = 0;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_non_null(strstr(numbers.report.verdict[0].text, "node0003 refused queries from "));
	numbers.report.verdict_count = 0;
	finding.past = true;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_CLEAN);
	numbers.report.findings = NULL;
	numbers.report.finding_count = 0;
}

/* Hosts that cannot communicate are no error of a link. */
TEST_WITH(partitions_have_a_verdict_of_their_own, make_numbers, free_numbers)
{
	static char subject[] = "node0003 mlx5_0/1", text[] = "is in no partition of the other ports of job 7";
	struct job_finding finding = { .kind = FINDING_PARTITION, .severity = FINDING_CRITICAL, .on_job = true,
				       .subject = subject, .text = text, .since_us = 1 };

	(void)state;
	numbers.report.findings = &finding;
	numbers.report.finding_count = 1;
	assert_int_equal(job_judge(&numbers.report, NULL), 0);
	assert_int_equal(numbers.report.verdict_count, 1);
	assert_int_equal(numbers.report.verdict[0].verdict, JOB_VERDICT_PARTITION);
	numbers.report.findings = NULL;
	numbers.report.finding_count = 0;
}
