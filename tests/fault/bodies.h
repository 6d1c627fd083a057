/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bodies.h - what the cases of fault_test.c run, and how their results are checked
 *
 * Each body runs in a child process. The others run in the parent, before or after it.
 */
#ifndef IBWIRE_TESTS_FAULT_BODIES_H
#define IBWIRE_TESTS_FAULT_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault_case;
struct model;
struct writer;

extern struct model *model;
extern char *base; /* a database with all kinds of contents */
extern size_t base_len;
extern char copy_path[96]; /* the file that a case writes or reads */

/* renew - the database of a run is a copy of these bytes; NULL: there is none */
void fault_renew(const char *bytes, size_t len);

/*
 * fault_was_checked - most faults leave the same bytes, which need not be checked again
 * Return: whether a run of the current case with the same @result left the same files before.
 */
bool fault_was_checked(uint64_t result);
uint64_t fault_hash(uint64_t hash, const void *bytes, size_t len);

/* commands.c: @name is the words, separated by '|'; COPY and PAGE are the file, URL and ADDRESS those of a peer. */
void fault_command(void *name);
void fault_renew_database(void);
void fault_renew_database_and_log(void); /* COPY is a log of NCCL */
/* The change of the database and the file are complete, or both are absent and the next attempt makes them. */
const char *fault_check_files(bool failed);
extern bool fault_clock_runs; /* the monotonic clock of the command */

/*
 * peers.c: `ibwire push` to a receiver; `ibwire metrics`, which a client reads and then stops; `ibwire top`
 * on a terminal. fault_peer_stop - a teardown
 */
extern char fault_url[64];
int fault_peer_stop(void **state);
void fault_receiver_start(void);
void fault_push(void *name);
void fault_renew_pushed(void);
const char *fault_check_pushed(bool failed);
void fault_client_start(void);
void fault_serve(void *name);
const char *fault_check_served(bool failed);
void fault_terminal_open(void);
void fault_top(void *name);
const char *fault_check_terminal(bool failed);

/*
 * writer.c: @before: sweeps in the database of each run; @after: with those of the run
 * fault_writer_done - a teardown that also closes fault_writer: the next case would report it as a leak
 */
extern struct writer *fault_writer;
int fault_writer_done(void **state);
void fault_try_writer(const struct fault_case *tried, size_t before, size_t after, const char *change,
		      const char *class, const char *result);
struct writer *fault_open_again(void);
void fault_ingest(void *name);
void fault_take_snapshot(void *name);
void fault_renew_stored(void);
const char *fault_check_stored(bool failed);
const char *fault_check_snapshots(bool failed);

/* collector.c; renew_lab: the database of a few sweeps of the lab, which has uplinks */
void fault_collect(void *name);
void fault_prepare_collector(void);
void fault_renew_lab(void);
const char *fault_check_collected(bool failed);
void fault_write_records(void);
void fault_discover(void *name);

#endif
