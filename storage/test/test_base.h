/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_base.h - a small database with every kind of content (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_BASE_H
#define IBWIRE_STORAGE_TEST_BASE_H

struct model;

/*
 * test_base_store - store at path (test_folder.h): samples, sums, hours, events, findings, routes, snapshots, jobs
 * Return: the model that was stored (caller owns).
 */
struct model *test_base_store(void);

#endif
