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

struct fault_case;
struct model;
struct writer;

extern struct model *model;
extern char *base; /* a database with all kinds of contents */
extern size_t base_len;
extern char copy_path[96]; /* the file that a case writes or reads */

/* renew - the database of a run is a copy of these bytes; NULL: there is none */
void fault_renew(const char *bytes, size_t len);

/* commands.c: @name is the words, separated by '|'; COPY and PAGE are the file, URL and ADDRESS those of a peer. */
void fault_command(void *name);
void fault_renew_database(void);
void fault_renew_database_and_log(void); /* COPY is a log of NCCL */
/* The file that a command writes is complete, and there is no other. */
const char *fault_check_files(bool reported);
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
const char *fault_check_pushed(bool reported);
void fault_client_start(void);
void fault_serve(void *name);
const char *fault_check_served(bool reported);
void fault_terminal_open(void);
void fault_top(void *name);
const char *fault_check_terminal(bool reported);

/*
 * writer.c: @before: sweeps in the database of each run; @after: with those of the run
 * fault_writer_done - a teardown that also closes fault_writer: the next case would report it as a leak
 */
extern struct writer *fault_writer;
int fault_writer_done(void **state);
void fault_try_writer(const struct fault_case *tried, size_t before, size_t after, const char *change);
struct writer *fault_open_again(void);
void fault_ingest(void *name);
void fault_take_snapshot(void *name);
void fault_renew_stored(void);
const char *fault_check_stored(bool reported);
const char *fault_check_snapshots(bool reported);

/* collector.c; renew_lab: the database of a few sweeps of the lab, which has uplinks */
void fault_collect(void *name);
void fault_renew_lab(void);
const char *fault_check_collected(bool reported);
void fault_write_records(void);
void fault_discover(void *name);

#endif
