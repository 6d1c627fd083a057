/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* keep.h - for how long the collector keeps what, as it is typed */
#ifndef IBWIRE_CLI_KEEP_H
#define IBWIRE_CLI_KEEP_H

#include <stdint.h>

struct error;

/*
 * keep_parse_size - a size such as "500M", "20G" or "1.5T" (powers of 1000), or bytes
 * @ret_bytes:  untouched on error
 * Return: 0 or ERR_USAGE.
 */
int keep_parse_size(const char *typed, int64_t *ret_bytes, struct error *err);

/*
 * keep_default_size - 20 GB, or half of what the database and the free space of its disk are together
 * @path:  of the database, which may not be there yet
 * Return: bytes; 20 GB where the disk does not say.
 */
int64_t keep_default_size(const char *path);

#endif
