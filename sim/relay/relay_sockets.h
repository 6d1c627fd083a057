/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_sockets.h - both ends of the relay: ten clients on one side, ibsim on the other
 *
 * Nothing here blocks: what a full socket does not take waits in a backlog, and
 * reading goes on. (ibsim spins while a client's socket is full: that must not last.)
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

/* Packets that wait for a socket, first in first out. */
struct backlog {
	struct packet *packets;
	size_t first, count, capacity; /* first: those before it are sent */
};

struct relay_slot {
	int down_fd;  /* NAME:outN: the client's questions */
	int up_fd;    /* IBSIM:inPID: ibsim's answers; -1: nobody sits here */
	uint32_t pid;
	struct backlog down, up;
};

struct relay_sockets {
	const char *name, *ibsim_name; /* borrowed */
	struct relay_model *model;     /* borrowed */
	int ctl_fd;    /* NAME:ctl */
	int ibsim_ctl; /* to IBSIM:ctl */
	struct relay_slot slots[IBSIM_CLIENTS];
	/* The one control message that ibsim has not answered yet. */
	bool ctl_asked;
	struct ctl_message ctl;
	int ctl_up_fd; /* made for a client that connects */
	struct sockaddr_un ctl_from;
	socklen_t ctl_from_len;
};

int relay_sockets_open(struct relay_sockets *sockets, struct relay_model *model, const char *name,
		       const char *ibsim_name, struct error *err);
void relay_sockets_close(struct relay_sockets *sockets);

/* relay_sockets_send_up, relay_sockets_send_down - put a packet into a backlog; struct relay_io's functions. */
void relay_sockets_send_up(void *sockets, unsigned slot, const struct packet *packet);
void relay_sockets_send_down(void *sockets, unsigned slot, const struct packet *packet);

/* relay_sockets_flush - send what the sockets take. */
void relay_sockets_flush(struct relay_sockets *sockets);

/* What relay_sockets_poll() has filled in. */
#define RELAY_POLLS (2 + 2 * IBSIM_CLIENTS)


/* relay_sockets_poll - what to wait for. Return: how many of @polls (RELAY_POLLS) are in use. */
size_t relay_sockets_poll(const struct relay_sockets *sockets, struct pollfd *polls);

/* relay_sockets_read - take what has come, by the same list. Return: 0, or ERR_UNAVAILABLE: ibsim is gone. */
int relay_sockets_read(struct relay_sockets *sockets, const struct pollfd *polls, size_t count, int64_t now_ns,
		       struct error *err);

#endif
