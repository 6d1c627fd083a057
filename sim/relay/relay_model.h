/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_model.h - a wire that takes time, as a model: no clock and no sockets
 *
 * A question travels for the latency, waits until its node has answered those
 * that came before, occupies the node for the service time, and its answer travels for
 * the latency. ibsim is asked when it is the question's turn, up to 50 us early: counters are
 * those of that moment. What is to come is in a heap; the owner says what time it
 * is. Times are in nanoseconds of any one clock.
 */
#ifndef IBWIRE_SIM_RELAY_MODEL_H
#define IBWIRE_SIM_RELAY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/ibsim/packet.h"
#include "sim/relay/relay_heap.h"
#include "sim/relay/relay_map.h"
#include "sim/relay/responder.h"

struct error;
struct fabric;
struct text;

struct relay_settings {
	int64_t latency_ns; /* of each MAD, one way */
	int64_t service_ns; /* for which a node answers nobody else */
	int64_t hold_ns;    /* after which a question without an answer is reported as timed out; 0: as ibsim does */
	double loss;        /* percent of MADs, questions and answers alike */
	uint64_t seed;      /* of what is random */
};

/* Where datagrams go. They are copied, or sent, before the call returns. */
struct relay_io {
	void (*to_ibsim)(void *ctx, unsigned slot, const struct packet *packet);
	void (*to_client)(void *ctx, unsigned slot, const struct packet *packet);
	void *ctx;
};

struct relay_stats {
	uint64_t requests;  /* that came from clients and want an answer */
	uint64_t responses;    /* that they got */
	uint64_t timed_out;  /* reported to them as timed out */
	uint64_t lost;       /* MADs that were lost on purpose */
	uint64_t refused;    /* questions dropped because too many are under way */
	uint64_t events;     /* that were due */
	int64_t late_ns, latest_ns; /* sum and maximum of how late events were handled */
};

#define RELAY_BUCKETS 4096
#define RELAY_BLOCK 256
#define RELAY_BLOCKS_MAX 512

struct relay_mad;

struct relay_model {
	const struct fabric *fabric; /* borrowed */
	struct relay_settings settings;
	struct relay_io io;
	struct relay_map map;
	struct responder responder;
	struct relay_stats stats;
	bool *dead;          /* by node */
	bool *locked;        /* by node: it drops SMPs routed by LID whose M_Key is not its GUID */
	int64_t *free_ns;    /* by node: when it has answered all that it has been asked so far */
	struct {
		uint32_t origin;       /* node */
		uint32_t generation; /* counts the clients that had this slot */
		bool open;
	} slots[IBSIM_CLIENTS];
	struct relay_heap heap;
	struct relay_mad *blocks[RELAY_BLOCKS_MAX];
	size_t block_count;
	uint32_t unused;     /* head of a list */
	uint32_t buckets[RELAY_BUCKETS]; /* questions that ibsim has, by slot and transaction */
	uint32_t oldest, newest;         /* the same, as they were asked */
	uint64_t random;
	size_t under_way;
};

int relay_model_init(struct relay_model *model, const struct fabric *fabric, const struct relay_io *io,
		     struct error *err);
void relay_model_done(struct relay_model *model);

/*
 * relay_model_set - "latency=20us service=100us hold=1s loss=5 dead=NODES locked=NODES seed=1"
 * What is not named stays. Return: 0; ERR_USAGE (nothing changed); ERR_NOMEM.
 */
int relay_model_set(struct relay_model *model, const char *text, struct error *err);

/* relay_model_describe - settings and statistics, for a person. */
void relay_model_describe(const struct relay_model *model, struct text *text);

/* relay_model_open - a client sits down in a slot; relay_model_close - it is gone, and what it asked. */
void relay_model_open(struct relay_model *model, unsigned slot, const char *node_id);
void relay_model_close(struct relay_model *model, unsigned slot);

/* relay_model_from_client, relay_model_from_ibsim - a datagram came for or from this slot. */
void relay_model_from_client(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns);
void relay_model_from_ibsim(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns);

/* relay_model_run - do what is due now, or within @slack_ns. */
void relay_model_run(struct relay_model *model, int64_t now_ns, int64_t slack_ns);

/* relay_model_next_ns - when something will be due; INT64_MAX: not before a datagram comes. */
int64_t relay_model_next_ns(const struct relay_model *model);

#endif
