/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* raw_sums.h - samples added up as they are unpacked, for the edges of sums (inside storage/ only) */
#ifndef IBWIRE_STORAGE_RAW_SUMS_H
#define IBWIRE_STORAGE_RAW_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;
struct port_sum;

/* Packed samples that could not be read, and are left out. */
struct raw_damage {
	size_t count;
	char first[96]; /* which the first of them are */
};

/*
 * raw_sums_add - add what ports counted in sweeps (@after, @until]
 * The same as port_sum_add_delta() of each delta that a delta_scan gives, in a tenth of the time: nothing
 * but the sums is kept of a sample.
 * @by_port:  of the ports from id @first on, @count of them; zeroed, or sums of earlier sweeps
 * @damage:   counts on; zeroed at first
 *
 * The caller's transaction is to be open.
 */
int raw_sums_add(sqlite3 *db, int64_t after, int64_t until, uint32_t first, struct port_sum *by_port, size_t count,
		 struct raw_damage *damage, struct error *err);

#endif
