/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_cache.h - the newest rows of the database, in memory for the writer (private to storage/)
 *
 * All of it is what the database says, kept at hand. A store() changes it while
 * its transaction runs; where the transaction fails, the whole is thrown away
 * and loaded again before the next one. So it can never say more than the file.
 *
 * Nodes and ports are found by id: node 1 stands at nodes[1], entry 0 is unused.
 */
#ifndef IBWIRE_STORAGE_WRITER_CACHE_H
#define IBWIRE_STORAGE_WRITER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/map.h"
#include "collector/sink.h"
#include "fabric/detail.h"
#include "fabric/fabric.h"
#include "storage/read/readings.h"
#include "storage/read/topology.h"

struct error;

struct known_node {
	uint64_t guid;
	int64_t from_sweep; /* of its open version; 0: not in the fabric */
	uint64_t stamp;     /* of the last topology that had it */
	struct node now;    /* its open version */
	char name[NODE_NAME_SIZE];
	uint32_t *ports;    /* port ids by number, 0: none known */
	size_t port_slots;
};

struct known_port {
	uint32_t node;      /* id */
	uint8_t num;
	bool pollable;      /* it is one to have samples, or once was */
	int64_t from_sweep; /* of its open version; 0: not in the fabric */
	uint64_t stamp;
	struct port now;    /* its open version; node and peer are not used */
	uint32_t peer;      /* id, 0: none */
	int64_t span_from;  /* of its open span; 0: none */
	int span_why;
	int64_t detailed[DETAIL_ATTRIBUTE_COUNT]; /* the same of its slow counters, since the database was opened */
	struct stored_reading last;
};

struct writer_cache {
	struct known_node *nodes;
	size_t node_count, node_capacity; /* with entry 0 */
	struct known_port *ports;
	size_t port_count, port_capacity;
	struct map by_guid;
	uint64_t stamp;         /* rises with each topology */
	int64_t sweep;          /* the newest; 0: none */
	int64_t loaded_sweep;   /* the newest when this was loaded */
	struct topology loaded; /* as it was then; empty once it was taken */
	int64_t sweep_wall_us, sweep_start_us;
	int64_t topology;       /* its column */
	uint32_t from_node;     /* id */
	uint8_t from_port;
	int64_t boot;           /* its row, 0: none */
	char boot_id[BOOT_ID_SIZE];
};

/* writer_cache_load - read it all. @ret is only written on success. writer_cache_done frees. */
int writer_cache_load(sqlite3 *db, struct writer_cache *ret, struct error *err);
void writer_cache_done(struct writer_cache *cache);

/* writer_cache_find_node - Return: the id of a GUID, 0 where it was never seen. */
uint32_t writer_cache_find_node(const struct writer_cache *cache, uint64_t guid);

/* writer_cache_add_node, writer_cache_add_port - a new one. Return: its id, or a negative error. */
int64_t writer_cache_add_node(struct writer_cache *cache, uint64_t guid, struct error *err);
int64_t writer_cache_add_port(struct writer_cache *cache, uint32_t node, uint8_t num, struct error *err);

/* writer_cache_find_port - Return: its id, 0 where it was never seen. */
uint32_t writer_cache_find_port(const struct writer_cache *cache, uint32_t node, uint8_t num);

#endif
