/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * delta_table.h - what ports counted, as a table of SQL on this connection
 *
 * delta(sweep, port, elapsed_us, unknown, and a column for each traffic
 * counter): a row for each delta that is stored, whatever it is packed in.
 */
#ifndef IBWIRE_STORAGE_DELTA_TABLE_H
#define IBWIRE_STORAGE_DELTA_TABLE_H

#include <sqlite3.h>

struct error;

/* delta_table_register - Return: 0 or a negative error. */
int delta_table_register(sqlite3 *db, struct error *err);

#endif
