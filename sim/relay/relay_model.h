/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_model.h - latency, service time and loss of MADs, without clock and sockets (docs/simulation.md)
 * The caller provides the time, in nanoseconds of any clock.
 */
#ifndef IBWIRE_SIM_RELAY_MODEL_H
#define IBWIRE_SIM_RELAY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/ibsim/packet.h"
#include "sim/relay/relay_map.h"
#include "sim/relay/responder.h"

struct error;
struct fabric;
struct text;

struct relay_settings {
	int64_t latency_ns; /* of each MAD, one way */
	int64_t service_ns; /* during which a node processes no other request */
	int64_t hold_ns;    /* after which a timeout is reported; 0: as ibsim does */
	double loss;        /* percent of MADs, requests and responses */
	uint64_t seed;      /* of the random numbers */
};

/* Sends packets. They are copied or sent before the call returns. */
struct relay_io {
	void (*to_ibsim)(void *ctx, unsigned slot, const struct packet *packet);
	void (*to_client)(void *ctx, unsigned slot, const struct packet *packet);
	void *ctx;
};

struct relay_stats {
	uint64_t requests;  /* requests received from clients */
	uint64_t smps;      /* those of them that are SMPs */
	uint64_t sm_smps;   /* and those sent by clients that set something: subnet managers */
	uint64_t responses;    /* responses sent to them */
	uint64_t timed_out;  /* timeouts reported to them */
	uint64_t lost;       /* MADs dropped at random (loss) */
	uint64_t refused;    /* requests dropped because too many are in flight */
	uint64_t events;     /* events processed */
	int64_t late_ns, latest_ns; /* sum and maximum of the delay of events */
};

/* A request arrives at its node, or a response at the client. */
struct relay_event {
	int64_t at_ns;
	uint64_t order;
	struct relay_mad *mad;
};

struct relay_model {
	const struct fabric *fabric; /* borrowed */
	struct relay_settings settings;
	struct relay_io io;
	struct relay_map map;
	struct responder responder;
	struct relay_stats stats;
	bool *dead;          /* by node */
	bool *locked;        /* by node: it drops SMPs routed by LID whose M_Key is not its GUID */
	int64_t *free_ns;    /* by node: when it will have processed all requests so far */
	struct { uint8_t speed, lanes; } *best; /* by DeviceID: enum link_speed and width of its best links */
	struct {
		uint32_t origin;       /* node of the client */
		uint32_t generation; /* number of clients that have used this slot */
		bool open, is_sm;
	} slots[IBSIM_CLIENTS];
	struct relay_event *events;  /* a binary heap by time */
	size_t event_count, event_capacity;
	uint64_t next_order;
	struct relay_mad **pending;  /* requests sent to ibsim, oldest first */
	size_t pending_count, pending_capacity;
	uint64_t random;
	size_t in_flight;
};

int relay_model_init(struct relay_model *model, const struct fabric *fabric, const struct relay_io *io,
		     struct error *err);
void relay_model_done(struct relay_model *model);

/*
 * relay_model_set - "latency=20us service=100us hold=1s loss=5 dead=NODES locked=NODES seed=1"
 * Other settings are unchanged. Return: 0; ERR_USAGE (nothing changed); ERR_NOMEM.
 */
int relay_model_set(struct relay_model *model, const char *text, struct error *err);

/* relay_model_describe - append settings and statistics as text. */
void relay_model_describe(const struct relay_model *model, struct text *text);

/* relay_model_open, relay_model_close - a client attached to a slot; it detached: drop its requests. */
void relay_model_open(struct relay_model *model, unsigned slot, const char *node_id);
void relay_model_close(struct relay_model *model, unsigned slot);

/* relay_model_from_client, relay_model_from_ibsim - process a packet from a client, or from ibsim to it. */
void relay_model_from_client(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns);
void relay_model_from_ibsim(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns);

/* relay_model_run - process events due within @slack_ns. */
void relay_model_run(struct relay_model *model, int64_t now_ns, int64_t slack_ns);

/* relay_model_next_ns - time of the next event; INT64_MAX: none until a packet arrives. */
int64_t relay_model_next_ns(const struct relay_model *model);

#endif
