/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_words.h - which results of balance.h people are shown, in which order, and in which words */
#ifndef IBWIRE_ANALYSIS_BALANCE_WORDS_H
#define IBWIRE_ANALYSIS_BALANCE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct balance;
struct balance_result;
struct shape;
struct text;

/* balance_is_told - is there something to say of it? */
bool balance_is_told(const struct balance_result *result);

/* balance_is_second - a lost or slow link, told once more of the other direction. */
bool balance_is_second(const struct balance_result *result);

/* balance_is_of_interest - can it be balanced at all, and is it said nowhere else? */
bool balance_is_of_interest(const struct shape *shape, const struct balance_result *result);

/* balance_is_echo - does a switch whose tables are uneven send too much through the one that this comes from? */
bool balance_is_echo(const struct shape *shape, const struct balance *balance, const struct balance_result *result);

/*
 * balance_compare - the worst first: a cause with harm, a cause, harm, the excess
 * For qsort_r of uint32_t, indices of results. @ctx: the struct balance
 */
int balance_compare(const void *a, const void *b, void *ctx);

/*
 * balance_order_members - the members of a result's group
 * What does not work comes first, then the fullest; what was not read last.
 * @count:  of them
 * @ret:    room for as many indices into result->members
 */
void balance_order_members(const struct balance_result *result, uint32_t count, uint32_t *ret);

/* balance_largest_share - of what members carry, what is predicted, and what would be fair; 0: nothing is known. */
double balance_largest_share(const struct balance_result *result, uint32_t count);

/* balance_test_letters - which of the three tests hold: "TMH", "-M-"; "?" where the tables are not known. */
const char *balance_test_letters(const struct balance_result *result);

/* balance_append_reason - why it is as it is, in a sentence without a full stop. */
void balance_append_reason(const struct shape *shape, const struct balance_result *result, struct text *text);

#endif
