/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * extension.h - put before every source of the loadable extension (the compiler's -include)
 *
 * So each call of SQLite goes to the program that loads it, whichever SQLite that has in it.
 */
#ifndef IBWIRE_STORAGE_EXTENSION_H
#define IBWIRE_STORAGE_EXTENSION_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
