/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_sockets.h - the sockets of the relay: ten clients on one side, ibsim on the other
 *
 * No call blocks: packets that do not fit into a full socket wait in a backlog, and reading continues,
 * because ibsim spins while the socket of a client is full.
 */
#ifndef IBWIRE_SIM_RELAY_SOCKETS_H
#define IBWIRE_SIM_RELAY_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sim/ibsim/packet.h"

struct error;
struct pollfd;
struct relay_model;

/* Packets to be sent, first in, first out. */
struct backlog {
	struct packet *packets;
	size_t first, count, capacity; /* packets before @first have been sent */
};

struct relay_slot {
	int down_fd;  /* NAME:outN: to and from the client */
	int up_fd;    /* IBSIM:inPID: to and from ibsim; -1: the slot is free */
	uint32_t pid;
	struct backlog down, up;
};

struct relay_sockets {
	const char *name, *ibsim_name; /* borrowed */
	struct relay_model *model;     /* borrowed */
	int ctl_fd;    /* NAME:ctl */
	int ibsim_ctl; /* to IBSIM:ctl */
	struct relay_slot slots[IBSIM_CLIENTS];
	/* The control message that waits for a response of ibsim. */
	bool ctl_pending;
	struct ctl_message ctl;
	int ctl_up_fd; /* of a client that is connecting */
	struct sockaddr_un ctl_from;
	socklen_t ctl_from_len;
};

int relay_sockets_open(struct relay_sockets *sockets, struct relay_model *model, const char *name,
		       const char *ibsim_name, struct error *err);
void relay_sockets_close(struct relay_sockets *sockets);

/* relay_sockets_send_up, relay_sockets_send_down - add a packet to a backlog; functions of struct relay_io. */
void relay_sockets_send_up(void *sockets, unsigned slot, const struct packet *packet);
void relay_sockets_send_down(void *sockets, unsigned slot, const struct packet *packet);

/* relay_sockets_flush - send packets of the backlogs until the sockets are full. */
void relay_sockets_flush(struct relay_sockets *sockets);

/* Size of the array for relay_sockets_poll(). */
#define RELAY_POLLS (2 + 2 * IBSIM_CLIENTS)

/* relay_sockets_poll - fill in @polls (RELAY_POLLS elements). Return: the number of elements used. */
size_t relay_sockets_poll(const struct relay_sockets *sockets, struct pollfd *polls);

/* relay_sockets_read - receive packets, after poll(). Return: 0, or ERR_UNAVAILABLE if ibsim has ended. */
int relay_sockets_read(struct relay_sockets *sockets, const struct pollfd *polls, size_t count, int64_t now_ns,
		       struct error *err);

#endif
