/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "sim/ibsim/packet.h"

#define TIMEOUT_S 5

/* In flight: fewer than /proc/sys/net/unix/max_dgram_qlen (10), or ibsim spins on a full socket. */
#define WINDOW 8

#define PORT_SELECT (PACKET_MAD_DATA + 1)

socklen_t client_address(struct sockaddr_un *address, const char *sockname, const char *what)
{
	int len;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	len = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 2, "%s:%s", sockname, what);
	/* The final NUL is part of ibsim's names. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len + 1);
}

int client_bind(const char *sockname, const char *what, int flags)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, sockname, what);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) == 0)
		return fd;
	close(fd);
	return -1;
}

int client_connect(int fd, const char *sockname, const char *what)
{
	struct sockaddr_un address;
	socklen_t len = client_address(&address, sockname, what);

	return connect(fd, (const struct sockaddr *)&address, len);
}

bool client_ibsim_is_listening(const char *sockname)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool listens;

	if (fd < 0)
		return false;
	listens = client_connect(fd, sockname, "ctl") == 0;
	close(fd);
	return listens;
}

static int open_socket(const char *sockname, const char *kind)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	char what[32];
	int fd;

	snprintf(what, sizeof(what), "%s%ld", kind, (long)getpid());
	fd = client_bind(sockname, what, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	}
	return fd;
}

int client_open(struct client *client, const char *sockname, struct error *err)
{
	memset(client, 0, sizeof(*client));
	snprintf(client->sockname, sizeof(client->sockname), "%s", sockname);
	client->ctl_fd = open_socket(sockname, "ctl");
	client->data_fd = open_socket(sockname, "in");
	if (client->ctl_fd >= 0 && client->data_fd >= 0 && client_connect(client->ctl_fd, sockname, "ctl") == 0)
		return 0;
	err_set(err, ERR_UNAVAILABLE, "cannot reach ibsim \"%s\": %s", sockname, strerror(errno));
	client_close(client);
	return ERR_UNAVAILABLE;
}

void client_close(struct client *client)
{
	client_detach(client);
	if (client->ctl_fd >= 0)
		close(client->ctl_fd);
	if (client->data_fd >= 0)
		close(client->data_fd);
	client->ctl_fd = client->data_fd = -1;
}

/*
 * Sockets with a timeout return EINTR after a signal, and after the process or the machine was stopped. They are
 * retried: a response that is not received would be taken for the next one.
 */
static bool send_all(int fd, const void *data, size_t len)
{
	ssize_t sent;

	do
		sent = send(fd, data, len, 0);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)len;
}

static bool receive_all(int fd, void *data, size_t len)
{
	ssize_t got;

	do
		got = recv(fd, data, len, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)len;
}

static int control(struct client *client, enum ctl_type type, void *data, size_t len)
{
	struct ctl_message message = { .magic = CTL_MAGIC, .client = client->number, .type = type };

	message.len = (uint32_t)len;
	if (len)
		memcpy(message.data, data, len);
	if (!send_all(client->ctl_fd, &message, sizeof(message)) ||
	    !receive_all(client->ctl_fd, &message, sizeof(message)) || message.type == CTL_ERROR)
		return -1;
	if (len)
		memcpy(data, message.data, len);
	return 0;
}

int client_attach(struct client *client, const char *node_id, struct error *err)
{
	struct ctl_connect connect = { .id = (uint32_t)getpid() };
	char what[32];

	client_detach(client);
	snprintf(connect.node, sizeof(connect.node), "%s", node_id);
	client->number = 0;
	if (control(client, CTL_CONNECT, &connect, sizeof(connect)) < 0)
		return err_set(err, ERR_UNAVAILABLE, "ibsim does not attach a client to %s", node_id);
	client->number = connect.id;
	client->attached = true;
	snprintf(what, sizeof(what), "out%u", client->number);
	if (client_connect(client->data_fd, client->sockname, what) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot reach ibsim: %s", strerror(errno));
	return 0;
}

void client_detach(struct client *client)
{
	const struct sockaddr unconnected = { .sa_family = AF_UNSPEC };

	if (!client->attached)
		return;
	control(client, CTL_DISCONNECT, NULL, 0);
	/* The next slot may be another one, and ibsim exits if it cannot connect to a socket with another peer. */
	connect(client->data_fd, &unconnected, sizeof(unconnected));
	client->attached = false;
}

static void fill_packet(struct packet *packet, const struct client_query *query, size_t index)
{
	memset(packet, 0, sizeof(*packet));
	packet->dlid = htons(query->lid); /* ibsim sets the source: the attached node */
	packet->dqp = packet->sqp = htonl(1);
	packet->mad[MAD_BASE_VERSION] = 1;
	packet->mad[MAD_CLASS] = CLASS_PERFORMANCE;
	packet->mad[MAD_CLASS_VERSION] = 1;
	packet->mad[MAD_METHOD] = METHOD_GET;
	/* ibsim overwrites the upper part of the transaction ID with its slot. */
	store_be32(packet->mad + MAD_TID + 4, (uint32_t)index);
	store_be16(packet->mad + MAD_ATTRIBUTE, query->attribute);
	packet->mad[PORT_SELECT] = query->port;
}

/* Return: false if the packet is not a response to one of these requests, but a late one to an earlier request. */
static bool take_response(const struct packet *packet, struct client_query *queries, size_t count)
{
	uint32_t tid = load_be32(packet->mad + MAD_TID + 4);

	if (tid >= count)
		return false;
	queries[tid].answered = packet->status == 0 && !load_be16(packet->mad + MAD_STATUS);
	memcpy(queries[tid].data, packet->mad + PACKET_MAD_DATA, sizeof(queries[tid].data));
	return true;
}

int client_query(struct client *client, struct client_query *queries, size_t count, struct error *err)
{
	size_t sent = 0, taken = 0;
	struct packet packet;

	for (size_t i = 0; i < count; i++)
		queries[i].answered = false;
	while (taken < count) {
		while (sent < count && sent - taken < WINDOW) {
			fill_packet(&packet, &queries[sent], sent);
			if (!send_all(client->data_fd, &packet, sizeof(packet)))
				return err_set(err, ERR_UNAVAILABLE, "cannot send to ibsim: %s", strerror(errno));
			sent++;
		}
		if (!receive_all(client->data_fd, &packet, sizeof(packet)))
			return err_set(err, ERR_UNAVAILABLE, "ibsim does not respond: %s", strerror(errno));
		if (take_response(&packet, queries, count))
			taken++;
	}
	return 0;
}
