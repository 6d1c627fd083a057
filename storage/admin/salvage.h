/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * salvage.h - what can still be read of a damaged database, as a sound one (inside storage/ only)
 *
 * Tables are copied row by row in the order of their keys. Where a page cannot be read the copy goes on behind it: a
 * key further on is looked for, twice as far each time, and what lies between is halved until it can be read or is
 * small. A row that its table does not take, such as one without its key, is left out too.
 */
#ifndef IBWIRE_STORAGE_SALVAGE_H
#define IBWIRE_STORAGE_SALVAGE_H

#include <stdint.h>

#include "storage/admin.h"

struct error;
struct sqlite3;

/*
 * salvage_run - copy all tables to a new database
 * @source:    may be damaged; of this version of the schema
 * @path:      of the new one, which is not safe against a power cut
 * @missing:   called for each run of keys that is left out; NULL: nobody is told
 * @ret_missing: how often it was, or would have been
 *
 * Return: 0, however much is left out; ERR_IO where the new one cannot be written; ERR_NOMEM.
 */
int salvage_run(struct sqlite3 *source, const char *path, admin_fault_fn *missing, void *ctx, uint64_t *ret_missing,
		struct error *err);

#endif
