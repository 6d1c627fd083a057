/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collect.h - run the collector on a virtual fabric, in virtual time
 *
 * collector_run() itself, with the settings of `ibwire collect`. The virtual fabric implements its
 * transport, clock and discoverer: every node responds to the Gets that the collector sends.
 */
#ifndef IBWIRE_TESTS_WORLD_COLLECT_H
#define IBWIRE_TESTS_WORLD_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "collector/collector.h"
#include "collector/sink.h"
#include "fabric/record.h"
#include "wire/discovery.h"
#include "wire/transport.h"

struct collector_report;
struct error;
struct virtual;

/* The n-th sweep begins this part of the interval before n intervals have passed, and ends before that. */
#define WORLD_LEAD_PART 50

/* Responses on their way: the engine's window, retries included. */
#define WORLD_RESPONSES_MAX 1024

/* A collector on a virtual fabric. world_run_init() sets the defaults; a test may change all fields. */
struct world_run {
	struct virtual *world;
	struct collector_settings settings;
	struct collector_wire wire;
	struct clock clock;
	struct transport transport;
	struct discoverer discoverer;
	int64_t now_us;            /* since the beginning of the fabric */
	int64_t boot_us, wall_us;  /* CLOCK_BOOTTIME and wall clock at the beginning */
	char boot_id[BOOT_ID_SIZE];
	double loss;               /* share of the responses that are lost */
	int64_t jitter_us;         /* maximum random delay of a response */
	int64_t discovery_us;      /* duration of a discovery */
	int64_t discovery_end_us;  /* of the last one */
	bool discovery_fails;
	bool removed;              /* the local device: the transport fails */
	bool lid_smps_lost;        /* SMPs that are routed by LID, as between planes */
	uint16_t (*sm_lid)(struct world_run *run); /* MasterSMLID of the collector's host */
	/* Called when the collector sleeps or waits for a discovery, and before each MAD; or NULL. */
	void (*on_sleep)(struct world_run *run);
	void (*on_send)(struct world_run *run, const uint8_t mad[MAD_SIZE]);
	unsigned discoveries;      /* of the whole fabric */
	unsigned parts;            /* explorations of ports, and their SMPs */
	uint64_t part_smps;
	bool exploring;            /* the running discovery is one */
	bool parts_fail;           /* they are not possible */
	bool explorer;             /* the explorer discovers the whole fabric, too */
	/* Called before the explorer runs on a copy of the run, whose transport may be replaced; or NULL. */
	void (*on_explore)(struct world_run *run, struct world_run *copy);
	const char *difference;    /* between the engines, in a discovery of the whole fabric; or NULL */
	struct fabric *part;       /* the result of the running one */
	struct record_trailer part_trailer;
	struct error part_error;
	unsigned smps_by_lid, smps_by_path;
	struct world_response { int64_t at_us; uint8_t mad[MAD_SIZE]; } responses[WORLD_RESPONSES_MAX]; /* a ring */
	size_t first, count;
	uint32_t port_of_lid[UINT16_MAX + 1];
};

void world_run_init(struct world_run *run, struct virtual *world);

/* world_run_lids - LIDs of the virtual fabric have changed. */
void world_run_lids(struct world_run *run);

/*
 * world_collect - poll a virtual fabric from its beginning
 * @interval_us: between sweeps
 * @length_us:   of the run; less than two intervals is one sweep. If world->restart_us is not 0, a second collector
 *               continues after that time
 * @wall_us:     wall clock at the beginning
 * @ret:         or NULL
 *
 * Return: as collector_run().
 */
int world_collect(struct virtual *world, int64_t interval_us, int64_t length_us, int64_t wall_us,
		  const struct sink *sink, struct collector_report *ret, struct error *err);

/* world_sink - a sink that passes each sweep to @store, restores nothing, and ignores events and capabilities */
struct sink world_sink(int (*store)(void *ctx, const struct sweep *sweep, struct error *err), void *ctx);

#endif
