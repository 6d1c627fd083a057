/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * service_levels.h - data that ports sent and received by service level
 *
 * From PortXmitDataSLExt and PortRcvDataSLExt of NVIDIA's devices, which are read seldom: each port has a window of its
 * own, between two of its readings.
 */
#ifndef IBWIRE_FACTS_SERVICE_LEVELS_H
#define IBWIRE_FACTS_SERVICE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/result.h"

struct error;
struct fabric;
struct reader;

enum { SERVICE_LEVELS = 16 };

/* Window without another one: a port that carries several service levels has two readings after about 240 sweeps. */
#define SERVICE_LEVELS_WINDOW_US (6 * 3600 * INT64_C(1000000))

/* What a port sent or received between its readings. */
struct level_data {
	double bytes[SERVICE_LEVELS];
	int64_t elapsed_us;
	bool known;    /* of all service levels */
	bool at_least; /* a counter was reset or is saturated */
};

/*
 * level_data_read - data of all ports of a fabric
 * @since_us, @until_us:  wall clock, of the readings
 * @inside:  only of time after @since_us; otherwise a reading there counts from the one before, which may be earlier
 * @ret:     by port of @fabric: sent at 2 * port, received at 2 * port + 1; zeroed by the caller
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored at or before @until_us; ERR_IO, ERR_NOMEM.
 */
int level_data_read(struct reader *reader, const struct fabric *fabric, int64_t since_us, int64_t until_us,
		    bool inside, struct level_data *ret, struct error *err);

/*
 * level_data_of - what a port sent or received, by its own counters or by those of the other end of its link
 * @data:  level_data_read()
 * Return: not known if neither end has two readings.
 */
const struct level_data *level_data_of(const struct fabric *fabric, const struct level_data *data, uint32_t port,
				       bool sent);

/* What several ports, each in one direction, carried: bytes per second. */
struct level_rates {
	double rate[SERVICE_LEVELS];
	uint32_t count, known; /* number of them, and of those that were read */
	uint32_t used;         /* bit 1 << SL */
	bool at_least;
};

/*
 * level_rates_add - add a port in one direction
 * level_rates_total - on all service levels; 0: nothing, or none is known
 */
void level_rates_add(struct level_rates *rates, const struct level_data *data);
double level_rates_total(const struct level_rates *rates);

/*
 * Columns of rates: the sum, and the share of each service level
 * level_columns - @used: those that a table has, others are only in data
 * level_rates_put - set their cells, from column @first on
 */
enum { LEVEL_LOAD, LEVEL_SL_0, LEVEL_COLUMNS = LEVEL_SL_0 + SERVICE_LEVELS };
void level_columns(uint32_t used, struct column ret[LEVEL_COLUMNS]);
void level_rates_put(const struct level_rates *rates, struct result *result, size_t first);

#endif
