/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fault_test.c - a failed allocation or system call is absorbed or reported, and never changes a number
 *
 * Each case runs code (bodies.h) in a child process in which one call fails, once for each point
 * (points.h, which lists the variables that select them).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_TEST_SETUP set_up
#define UNIT_TEST_TEARDOWN tear_down
#include "base/unit_test.h"
#include "storage/test/test_base.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "tests/fault/bodies.h"
#include "tests/fault/points.h"

/* What is checked, for reports. */
#define RIGHT_OUTPUT "output as without a fault, or its beginning and an error"
#define RIGHT_SWEEPS "every sweep is stored and exact, db check"

TEST_WITH(commands_print_the_right_numbers_or_one_error, NULL, fault_name_point)
{
	static const char *const lines[] = {
		"status", "status|--format|json", "ports", "ports|--format|csv|--since|2026-11-18",
		"ports|--counters|--all", "ports|--details", "ports|--at|2026-11-18T11:40:00Z", "nodes",
		"links|--format|json", "history|--top|3|--since|2026-11-18",
		"history|all|--since|2026-11-18|--step|1h|--format|csv",
		"history|all|--since|2026-11-18|--each", "events|--since|2026-11-18", "health|--all",
		"health|--format|json", "health|--since|2026-11-18", "balance|--all|--since|2026-11-18",
		"sql|SELECT * FROM traffic", "sql|SELECT * FROM port_sum", "sql|SELECT * FROM errors",
		"sql|SELECT * FROM details",
		"sql|SELECT * FROM ports, nodes, gaps, findings, events, sweeps LIMIT 100", "db",
		"snapshot|list", "job|list", "job|report|1", "job|report|1|--format|json", "job|compare|1|2",
		"snapshot|diff|one|two|--all", "topology|show", "topology|dot", "names|suggest",
		"metrics|--once", "db|check", "report|0xb7a4712c74562915",
		"topology|route|0xb7a4712c74562915|0x1e535eede31428f1", "status|--html=-|--links",
		"history|all|--html=-|--since|2026-11-18", "job|report|1|--nccl|COPY", "doctor",
	};
	struct fault_case cases[sizeof(lines) / sizeof(*lines)];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cases[i] = (struct fault_case){ .name = lines[i], .body = fault_command,
						.prepare = fault_renew_database_and_log,
						.no_calls = !strcmp(lines[i], "doctor") };
	fault_try_cases(cases, sizeof(lines) / sizeof(*lines), "Failed calls in commands", RIGHT_OUTPUT);
}

TEST_WITH(the_status_of_a_running_collector_is_right_or_an_error, NULL, fault_writer_done)
{
	static const struct fault_case cases[] = {
		{ .name = "status|--at|2026-11-18T11:40:00Z", .body = fault_command },
		{ .name = "db|--format|json", .body = fault_command },
	};

	fault_renew_database();
	fault_writer = check_open_writer(path);
	fault_try_cases(cases, 2, "Failed calls in commands while a collector runs", RIGHT_OUTPUT);
}

TEST_WITH(commands_that_write_do_it_completely_or_not_at_all, NULL, fault_name_point)
{
	static const char *const lines[] = {
		"health|ack|1|--reason|known", "snapshot|remove|one", "job|end|3|--no-snapshot|--status|1",
		"job|begin|7|--no-snapshot", "job|remove|2", "db|compact", "db|backup|COPY", "db|export|COPY",
		"db|export|COPY|--anonymise", "job|report|1|--html|PAGE", "topology|save|PAGE",
	};
	struct fault_case cases[sizeof(lines) / sizeof(*lines)];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cases[i] = (struct fault_case){ .name = lines[i], .body = fault_command,
						.prepare = fault_renew_database, .check = fault_check_files };
	fault_try_cases(cases, sizeof(lines) / sizeof(*lines), "Failed calls in commands that write",
			"database and file as without a fault, or unchanged and the next attempt succeeds");
}

TEST_WITH(samples_are_pushed_exactly_once_or_again, NULL, fault_peer_stop)
{
	fault_receiver_start();
	fault_try_cases(&(struct fault_case){ .name = "push|--once|--remote-write|URL|--cursor|COPY|--batch|400|"
						      "--since|2026-11-18T13:07:18Z", .body = fault_push,
					      .prepare = fault_renew_pushed, .check = fault_check_pushed },
			1, "Failed calls in ibwire push",
			"each request as without a fault, after one more start at most");
}

TEST_WITH(a_scrape_is_right_or_fails_and_the_next_is_right, NULL, fault_peer_stop)
{
	fault_try_cases(&(struct fault_case){ .name = "metrics|--listen|ADDRESS", .body = fault_serve,
					      .prepare = fault_client_start, .check = fault_check_served },
			1, "Failed calls in ibwire metrics", "the response, or the next one, is right");
}

TEST_WITH(the_screen_ends_with_a_restored_terminal, NULL, fault_peer_stop)
{
	fault_try_cases(&(struct fault_case){ .name = "top|--at|2026-11-18T13:07:18Z", .body = fault_top,
					      .prepare = fault_terminal_open, .check = fault_check_terminal },
			1, "Failed calls in ibwire top", "the terminal is restored");
}

#define WRITER_CASE(text, run, verify, ...) (&(struct fault_case){ \
	.name = text, .body = run, .prepare = fault_renew_stored, .check = verify, ##__VA_ARGS__ })

TEST_WITH(a_new_database_has_every_sweep, NULL, fault_writer_done)
{
	fault_try_writer(WRITER_CASE("creation", fault_ingest, fault_check_stored), 0, 1, NULL,
			 "Failed calls while a database is created", RIGHT_SWEEPS);
}

TEST_WITH(no_sweep_is_lost_by_a_fault_of_the_writer, NULL, fault_writer_done)
{
	fault_try_writer(WRITER_CASE("ingest", fault_ingest, fault_check_stored, .flushes = true), 12, 15, "",
			 "Failed calls while sweeps are stored", RIGHT_SWEEPS);
}

TEST_WITH(no_sweep_is_lost_by_a_fault_of_compaction_or_retention, NULL, fault_writer_done)
{
	fault_try_writer(WRITER_CASE("compaction", fault_ingest, fault_check_stored), 44, 48, "",
			 "Failed calls in compaction and retention", RIGHT_SWEEPS);
}

TEST_WITH(a_snapshot_is_stored_completely_or_not_at_all, NULL, fault_writer_done)
{
	fault_try_writer(WRITER_CASE("snapshots", fault_take_snapshot, fault_check_snapshots), 12, 12, "",
			 "Failed calls while snapshots are taken and removed", "both complete, " RIGHT_SWEEPS);
}

TEST_WITH(a_migration_is_complete_or_absent, NULL, fault_writer_done)
{
	fault_try_writer(WRITER_CASE("migration", fault_ingest, fault_check_stored), 12, 13,
			 DROP_TABLES_OF_VERSION_7 " PRAGMA user_version = 1; DROP TABLE job;"
			 " DELETE FROM code WHERE kind = 'job_ending'",
			 "Failed calls in a schema migration", RIGHT_SWEEPS);
}

TEST_WITH(the_sums_of_a_collector_are_exact_after_a_fault, NULL, fault_writer_done)
{
	fault_try_writer(&(struct fault_case){ .name = "collector", .body = fault_collect,
					       .prepare = fault_prepare_collector, .check = fault_check_collected },
			 0, 0, NULL, "Failed calls in the collector", "the stored sums are exact, db check");
}

TEST_WITH(a_discovered_fabric_is_complete, NULL, fault_name_point)
{
	fault_try_cases(&(struct fault_case){ .name = "discovery", .body = fault_discover,
					      .prepare = fault_write_records },
			1, "Failed calls in discovery", RIGHT_OUTPUT);
}

TEST_WITH(commands_of_a_fabric_with_uplinks_print_the_right_numbers_or_one_error, NULL, fault_name_point)
{
	static const char *const lines[] = {
		"balance|node03|node02|--at|2026-11-20T14:00:30Z", "status|--html=-|--at|2026-11-20T14:00:30Z",
		"topology|show|--summary", "metrics|--once|--compat|treydock",
	};
	struct fault_case cases[sizeof(lines) / sizeof(*lines)];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cases[i] = (struct fault_case){ .name = lines[i], .body = fault_command,
						.prepare = fault_renew_lab };
	fault_try_cases(cases, sizeof(lines) / sizeof(*lines), "Failed calls in commands, fabric with uplinks",
			RIGHT_OUTPUT);
}

int set_up(void **state)
{
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC0", 1);
	unsetenv("IBWIRE_DB");
	test_folder_make(state);
	snprintf(copy_path, sizeof(copy_path), "%s/copy.db", folder);
	tzset();
	model = test_base_store();
	base = test_file_read(path, &base_len);
	return 0;
}

int tear_down(void **state)
{
	free(base);
	model_destroy(model);
	model = NULL;
	return test_folder_remove(state);
}
