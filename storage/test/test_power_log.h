/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_power_log.h - what test_power.c records of a run, from which test_power_fail.c makes folders */
#ifndef IBWIRE_STORAGE_TEST_POWER_LOG_H
#define IBWIRE_STORAGE_TEST_POWER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { NAMES_MAX = 32, NAME_BYTES = 48, FILES_MAX = 256, NO_FILE = -1, FOLDER = -2 };

enum kind { WRITE, TRUNCATE, FLUSH, FAILED_FLUSH, CREATE, RENAME, REMOVE, FLUSH_FOLDER };

struct operation {
	enum kind kind;
	int file;
	int64_t at;    /* of a write; size of a truncation */
	size_t len;
	char *bytes;
	char name[NAME_BYTES], to[NAME_BYTES];
	const char *phase;
};

/* Which name is which file: an index of files_at_start. */
struct names {
	char name[NAMES_MAX][NAME_BYTES];
	int file[NAMES_MAX];
	size_t count;
};

struct content {
	char *bytes;
	size_t size, capacity;
};

struct power_log {
	struct operation *operations; /* in the order of the run */
	size_t count, capacity;
	struct names at_start;
	struct content files_at_start[FILES_MAX];
	int file_count; /* with those that the run created */
};

extern struct power_log power_log;

/* power_apply_name - create, rename or remove a name */
void power_apply_name(struct names *names, const struct operation *operation);

/* check_allocated - @pointer; aborts without memory, as the compactor's thread cannot fail a test */
static inline void *check_allocated(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

#endif
