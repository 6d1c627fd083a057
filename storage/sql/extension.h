/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * extension.h - included before every source of the loadable extension (the compiler's -include)
 *
 * All calls of SQLite go to the SQLite of the program that loads the extension.
 */
#ifndef IBWIRE_STORAGE_EXTENSION_H
#define IBWIRE_STORAGE_EXTENSION_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
