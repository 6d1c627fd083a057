/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_explore.h - what wire/explore finds on a wiring (test_wiring.h), held against what is there (cmocka assertions)
 *
 * A test wires, or takes one of the wirings here, explores, and asks what was found.
 */
#ifndef IBWIRE_WIRE_TEST_EXPLORE_H
#define IBWIRE_WIRE_TEST_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "fabric/record.h"
#include "wire/test_wiring.h"

struct fabric;
struct keys;

/* The wiring that is explored, and of the newest exploration what it cost and what it noted. */
extern struct wiring wiring;
extern struct record_trailer trailer;
extern struct text notes;

/* test_explore - explore the wiring. Return: the fabric (caller owns), NULL where there is an error. */
struct fabric *test_explore(unsigned retries, const struct keys *keys);

/* Are they in the fabric? By the wiring's indexes. */
bool test_has_node(const struct fabric *fabric, uint32_t node);
bool test_has_link(const struct fabric *fabric, uint32_t a, uint8_t a_num, uint32_t b, uint8_t b_num);

/* test_reach - by node: can it be found, through those that lead on? */
void test_reach(bool *ret);

/* test_check_found - the fabric is exactly what can be reached. */
void test_check_found(const struct fabric *fabric);

/* test_below - a number of the wiring's own sequence, below @most. */
uint64_t test_below(uint64_t most);

/* test_draw - switches, HCAs with one or two ports and routers, cables between any two ports; some HCAs dead. */
void test_draw(uint64_t seed);

/* test_star - this host, a switch, and so many hosts behind it. */
void test_star(unsigned hosts);

/* test_forget - cmocka's tear-down of the group: frees the notes. */
int test_forget(void **state);

#endif
