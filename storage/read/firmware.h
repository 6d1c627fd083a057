/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* firmware.h - stored firmware of nodes (inside storage/ only) */
#ifndef IBWIRE_STORAGE_FIRMWARE_H
#define IBWIRE_STORAGE_FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "fabric/firmware.h"

struct error;
struct topology;

/* Columns of the tables firmware and snapshot_firmware that firmware_read_row() reads. */
#define FIRMWARE_COLUMNS "at_us, changed_us, source, major, minor, sub_minor, built, psid"

/* firmware_read_row - FIRMWARE_COLUMNS, from @column on */
void firmware_read_row(sqlite3_stmt *row, int column, struct firmware *ret);

/*
 * firmware_state - a number that is another one if other firmware was known at a sweep
 * Return: 0 or an error.
 */
int firmware_state(sqlite3 *db, int64_t sweep, int64_t *ret, struct error *err);

/* firmware_load - set the firmware of all nodes of a topology as it was known at a sweep. Return: 0 or an error. */
int firmware_load(sqlite3 *db, int64_t sweep, const struct topology *topology, struct error *err);

/* What firmware_put() found. */
enum firmware_put {
	FIRMWARE_PUT_FIRST,   /* nothing was known of the node */
	FIRMWARE_PUT_CHANGED, /* another version was */
	FIRMWARE_PUT_MORE,    /* the same version, without its PSID or date, or not until now */
	FIRMWARE_PUT_SAME,    /* the same; nothing was stored */
	FIRMWARE_PUT_OLDER,   /* something else that is known since later; nothing was stored */
};

/*
 * firmware_put - store the firmware of a node in a transaction of the caller
 * @node:     node.id
 * @sweep:    the newest one
 * @ret_old:  what was known
 * Return: enum firmware_put, or a negative error.
 */
int firmware_put(sqlite3 *db, int64_t node, int64_t sweep, const struct firmware *firmware, struct firmware *ret_old,
		 struct error *err);

/* firmware_forget - what is known of a node is not valid any more. Return: 0 or an error. */
int firmware_forget(sqlite3 *db, int64_t node, int64_t sweep, struct error *err);

#endif
