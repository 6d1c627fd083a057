/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client.h - ibsim's datagram protocol without umad2sim
 *
 * A client is attached to a node. A request to the LID of that node crosses no link and changes no
 * counter. Source: ibsim.c (sim_ctl_new_client, make_name), sim_mad.c (process_packet, lid_route_MAD).
 */
#ifndef IBWIRE_SIM_CLIENT_H
#define IBWIRE_SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sim/ibsim/packet.h"

struct error;

struct client {
	char sockname[64]; /* IBSIM_SOCKNAME */
	int ctl_fd, data_fd;
	unsigned number;   /* slot in ibsim */
	bool attached;
};

/* client_address - the abstract address of one of ibsim's sockets, "NAME:what". Return: its length. */
socklen_t client_address(struct sockaddr_un *address, const char *sockname, const char *what);

/* client_bind - a datagram socket with such an address. @flags: SOCK_NONBLOCK or 0. Return: -1 on failure (errno). */
int client_bind(const char *sockname, const char *what, int flags);

/* client_connect - connect a socket to such an address. Return: as connect(). */
int client_connect(int fd, const char *sockname, const char *what);

/* client_ibsim_is_listening - does an ibsim with this socket name accept clients? */
bool client_ibsim_is_listening(const char *sockname);

/* client_open - create the sockets; the client is not attached yet. Return: 0 or ERR_UNAVAILABLE. */
int client_open(struct client *client, const char *sockname, struct error *err);
void client_close(struct client *client);

/*
 * client_attach - attach to a node and detach from the previous one
 * @node_id:  "H-..." or "S-..." as in the net file
 *
 * Return: 0; ERR_UNAVAILABLE if ibsim has no free slot or no such node, or does not respond within 5 s.
 */
int client_attach(struct client *client, const char *node_id, struct error *err);
void client_detach(struct client *client);

/* A request, a PerfMgt Get. */
struct client_query {
	uint16_t lid;
	uint16_t attribute;
	uint8_t port;   /* PortSelect */
	bool answered;  /* false: timed out or error status */
	uint8_t data[PACKET_MAD_DATA_SIZE];
};

/*
 * client_query - send requests from the attached node and wait for all responses
 * Few are in flight at a time: ibsim's sockets queue ten datagrams.
 *
 * Return: 0 (see client_query.answered), or ERR_UNAVAILABLE if ibsim does not respond within 5 s.
 */
int client_query(struct client *client, struct client_query *queries, size_t count, struct error *err);

#endif
