/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.h - the SQL of the tables and views, each column with its unit
 *
 * The counters' columns stand between _begin and _end; they are made from the
 * catalogue (fabric/counter.h), in its order.
 */
#ifndef IBWIRE_STORAGE_TABLES_H
#define IBWIRE_STORAGE_TABLES_H

struct text;

extern const char tables_fixed[];
extern const char tables_history[], tables_chunk_error[];
extern const char tables_chunk_sum_begin[], tables_chunk_sum_end[];
extern const char tables_hour_sum_begin[], tables_hour_sum_end[];
extern const char tables_absolute_begin[], tables_absolute_end[];
extern const char tables_traffic_begin[], tables_traffic_end[];
extern const char tables_detail[];
extern const char tables_views[];
extern const char tables_drop_views[]; /* whatever version they are of; the two before make them again */

/* What version 4 added: tables_finding.c, tables_route.c. */
extern const char tables_finding[], tables_route[];

/* tables_append_snapshot - the tables of snapshots (tables_snapshot.c). */
void tables_append_snapshot(struct text *sql);

#endif
