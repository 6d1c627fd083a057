/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_words.h - display of balance results: selection, order and reasons in words */
#ifndef IBWIRE_ANALYSIS_BALANCE_WORDS_H
#define IBWIRE_ANALYSIS_BALANCE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct balance;
struct balance_result;
struct shape;
struct text;

/* balance_is_told - it has a cause, or is active and uneven. */
bool balance_is_told(const struct balance_result *result);

/* balance_is_second - a lost or slow link, which is already shown for the other direction. */
bool balance_is_second(const struct balance_result *result);

/* balance_is_of_interest - the group has several members, and no other result shows the same. */
bool balance_is_of_interest(const struct shape *shape, const struct balance_result *result);

/* balance_is_echo - the imbalance is caused by another switch with uneven tables. */
bool balance_is_echo(const struct shape *shape, const struct balance *balance, const struct balance_result *result);

/*
 * balance_compare - worst first: a cause with harm, a cause, harm, the excess
 * For qsort_r of uint32_t, indices of results. @ctx: the struct balance
 */
int balance_compare(const void *a, const void *b, void *ctx);

/*
 * balance_order_members - order the members of a result
 * Members that are down come first, then by utilization; members that were not read last.
 * @count:  of members
 * @ret:    @count indices into result->members
 */
void balance_order_members(const struct balance_result *result, uint32_t count, uint32_t *ret);

/* balance_largest_share - largest of the measured, predicted and fair shares; 0: all unknown. */
double balance_largest_share(const struct balance_result *result, uint32_t count);

/* balance_test_letters - the tests that hold: "TMH", "-M-"; "?" where tables are unknown. */
const char *balance_test_letters(const struct balance_result *result);

/* balance_append_reason - the reason for a result, as a sentence without a full stop. */
void balance_append_reason(const struct shape *shape, const struct balance_result *result, struct text *text);

#endif
