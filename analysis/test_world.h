/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_world.h - a small fat-tree whose sweeps are made up, for tests of health
 *
 * Leafs "leaf0"..., spines "spine0"..., hosts "h0"... with HCAs "h0 mlx5_0"... With one rail
 * hosts are spread over the leafs, in blocks; with several HCA r is on leaf r.
 * Ports of a leaf: 1... to hosts, 101... to spines.
 */
#ifndef IBWIRE_ANALYSIS_TEST_WORLD_H
#define IBWIRE_ANALYSIS_TEST_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/health.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"

#define WORLD_NODES 256
#define WORLD_LINKS 1024
#define WORLD_TOLD 256
/* CLOCK_BOOTTIME and the wall clock at the first sweep. */
#define WORLD_BOOT_US INT64_C(1000000000)
#define WORLD_WALL_US INT64_C(1700000000000000)

struct world_shape { unsigned leafs, spines, parallel, hosts, rails; };

struct world_node {
	char name[32];
	uint64_t guid;
	uint8_t type;
	uint8_t ports;
	bool dead, silent, locked;
	bool hung; /* discovery does not find it, but its links are up */
};

struct world_end { uint32_t node; uint8_t num; };

struct world_link {
	struct world_end end[2];
	bool down;
	uint8_t width, speed;
	/*
	 * Share of its rate that it carries, from end 0 to end 1 and back; stall of either end,
	 * 0..1.
	 */
	double load[2], stall[2];
};

/* What was told of a finding since the world began. */
struct world_told {
	struct finding finding; /* as it was told last */
	unsigned opened, closed;
	enum finding_severity worst;
	int64_t opened_us; /* after the first sweep */
};

struct world {
	struct world_shape made;
	struct world_node nodes[WORLD_NODES];
	uint32_t node_count;
	struct world_link links[WORLD_LINKS];
	uint32_t link_count;
	struct world_link *(*link_of)[256]; /* by node and port */
	/* Counted in the next sweep; by node and port. */
	uint64_t (*counts)[256][COUNTER_COUNT];
	counter_set (*resets)[256], (*full)[256];
	uint32_t (*fec)[256], (*mended)[256];
	bool counted;                /* there is something in those */
	int64_t now_us, interval_us; /* since the first sweep */
	bool stale;                  /* the fabric must be built anew */
	unsigned unread_percent;
	bool sm_lost;
	uint64_t sm_guid;
	unsigned sm_masters;
	int64_t log_bytes, stalled_us;
	struct fabric *fabric, *old_fabric;
	uint32_t node_of[WORLD_NODES]; /* by node of the fabric */
	struct shape *shape, *old_shape;
	uint8_t (*tables)[WORLD_NODES + 1]; /* as they are, by node and LID; LIDs are indices of nodes + 1 */
	uint32_t changes[WORLD_NODES];     /* entries that changed since they were read */
	struct routes routes;              /* as they were read */
	bool has_routes;
	uint64_t read_guids[WORLD_NODES], changed_guids[WORLD_NODES];
	uint32_t changed_entries[WORLD_NODES];
	size_t read_count, changed_count;
	unsigned shuffle;            /* samples in another order; 0: in order of port */
	struct health_settings settings;
	struct health *health;
	struct world_told told[WORLD_TOLD];
	size_t told_count;
};

struct world *world_create(const struct world_shape *shape);
void world_destroy(struct world *world);

/* world_sweeps - so many sweeps, with the traffic that is set. */
void world_sweeps(struct world *world, unsigned count);

/* world_restart - the collector ends and starts: only what is open is known then. */
void world_restart(struct world *world);

/*
 * world_run - carry out a script: commands with ';' between them
 *
 *   wait SECONDS          sweeps for so long
 *   down PORT, up PORT    a link; ports are "leaf0/1", "spine0/3", or "h0.2" for host 0's third HCA
 *   kill NODE, revive NODE  "leaf0", "h0.2"; "h0" is all HCAs of it
 *   silent NODE, answer NODE, lock NODE, unlock NODE, hang NODE, unhang NODE
 *   rate PORT LANES SPEED, e.g. "rate leaf0/101 1 NDR"
 *   count PORT COUNTER N  in the next sweep: symbol_errors, rcv_errors ...
 *   spread PORT COUNTER N SWEEPS  N in all, over so many sweeps, which pass
 *   reset PORT, full PORT COUNTER, fec PORT BLOCKS (given up), mended PORT SYMBOLS
 *   load PORT SHARE       what the port sends, of its rate; stall PORT SHARE
 *   loads SHARE           of all ports
 *   unread PERCENT        of the ports of each node, in each sweep
 *   routes                forwarding tables, even ones, are read
 *   skew LEAF PORT N      N destinations beyond the leaf leave by PORT from now on; nobody has read that yet
 *   reread NODE           its table is read
 *   sm lost|ok|GUID, masters N, log BYTES, restart, route-change NODE ENTRIES, swap PORT PORT
 */
void world_run(struct world *world, const char *script);

/*
 * world_summary - what was opened so far, sorted: "link-down warning leaf0/101; ..."
 * The severity is the worst that it had; what was opened twice has "x2" behind it, what closed
 * "closed".
 * @infos:  also those that were info all the time
 */
const char *world_summary(const struct world *world, bool infos, char *ret, size_t size);

/* A script and what it must find; the world is made for each. */
struct world_case { const char *name; const struct world_shape *shape; const char *script, *expected; };

/* world_check - run them, and print those that find something else. Return: how many those are. */
unsigned world_check(const struct world_case *cases, size_t count, bool infos);

/* world_find - what was told of a kind first, or NULL. */
const struct world_told *world_find(const struct world *world, enum finding_kind kind);

/*
 * The parts of it: is a link up; tables as a subnet manager makes them; one of them skewed; one of
 * them read.
 */
bool world_link_is_up(const struct world *world, const struct world_link *link);
void world_make_routes(struct world *world);
/*
 * world_settle_routes - the subnet manager makes all tables even; what was read of them stays as it
 * was.
 */
void world_settle_routes(struct world *world);
void world_skew(struct world *world, uint32_t at, uint8_t num, unsigned count);
void world_read_table(struct world *world, uint32_t at);

#endif
