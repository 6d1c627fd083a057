/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client.h - ibsim's datagram protocol, spoken without umad2sim
 *
 * ibsim answers on abstract unix sockets: one for control, one for each of ten
 * clients. A client sits at a node and may move to another at the price of two
 * datagrams. A question to the node's own LID crosses no link, so it adds
 * nothing to any counter: that is how counters are read here.
 * Source: ibsim.h (the structures), ibsim.c (sim_ctl_new_client, make_name),
 * sim_mad.c (process_packet, lid_route_MAD).
 */
#ifndef IBWIRE_SIM_CLIENT_H
#define IBWIRE_SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct error;

/* Lengths on the wire; everything in a MAD is big-endian, the rest is the host's. */
#define CLIENT_MAD_SIZE 256
#define CLIENT_MAD_DATA 64 /* where an attribute's bytes begin */

struct client {
	char sockname[64]; /* IBSIM_SOCKNAME */
	int ctl_fd, data_fd;
	unsigned number;   /* slot in ibsim */
	bool attached;
};

/* client_address - the abstract address of one of ibsim's sockets, "NAME:what". Return: its length. */
socklen_t client_address(struct sockaddr_un *address, const char *sockname, const char *what);

/* client_ibsim_is_listening - is an ibsim of this name there? */
bool client_ibsim_is_listening(const char *sockname);

/* client_open - make the sockets; nobody sits anywhere yet. Return: 0 or ERR_UNAVAILABLE. */
int client_open(struct client *client, const char *sockname, struct error *err);
void client_close(struct client *client);

/*
 * client_attach - sit down at a node (leaving another)
 * @node_id:  "H-..." or "S-..." as in the net file
 *
 * Return: 0; ERR_UNAVAILABLE where ibsim has no slot left, knows no such node
 * or does not answer within 5 s.
 */
int client_attach(struct client *client, const char *node_id, struct error *err);
void client_detach(struct client *client);

/* One question, a PerfMgt Get. */
struct client_query {
	uint16_t lid;
	uint16_t attribute;
	uint8_t port;   /* PortSelect */
	bool answered;  /* false: ibsim says timeout, or an error status */
	uint8_t data[CLIENT_MAD_SIZE - CLIENT_MAD_DATA];
};

/*
 * client_query - ask several questions from where the client sits, and wait for all answers
 * Few are in flight at a time: ibsim's sockets hold ten datagrams.
 *
 * Return: 0 (each query says whether it was answered), or ERR_UNAVAILABLE where
 * ibsim is silent for 5 s.
 */
int client_query(struct client *client, struct client_query *queries, size_t count, struct error *err);

#endif
