/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_nccl.h - a log that a test reads, and the lines of its verdict */
#ifndef IBWIRE_ANALYSIS_NCCL_TEST_NCCL_H
#define IBWIRE_ANALYSIS_NCCL_TEST_NCCL_H

#include "analysis/nccl.h"

/* What NCCL writes before a message of the host alpha. */
#define PREFIX "alpha:70:81 [0] NCCL INFO "

extern struct nccl_log text_log;
extern struct nccl_verdict verdict;

/* The output of all_reduce_perf with 6 ranks on the hosts alpha, beta and gamma. */
extern const char tests_table[];

/* read_bytes, read_text - read a log into text_log, in place of the last one. */
void read_bytes(const char *bytes, size_t len);
void read_text(const char *text);

/* check - compare text_log with ports; the lines are in `verdict`. */
void check(const struct nccl_port *ports, size_t count);

/* line_with - Return: the line that contains @words, or NULL. assert_line - there is one, of this severity. */
const struct nccl_line *line_with(const char *words);
void assert_line(enum nccl_severity severity, const char *words);

#endif
