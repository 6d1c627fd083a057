/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bridge - connects one software HCA (softhca.c) to a node of ibsim
 *
 * usage: bridge NAME NODE_ID [PKEY,PKEY,...]
 * Takes the identity of the node NODE_ID ("H-..." in the net file of the ibsim named by $IBSIM_SOCKNAME),
 * creates the device NAME with it, prints "ready", and relays MADs until SIGTERM, which removes the
 * device. Port 1 is the node's; other ports that the node has stay Down. With $HOSTILE it adds MADs to the
 * responses, and prints their numbers at the end.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "sim/ibsim/client.h"
#include "sim/ibsim/packet.h"
#include "tests/kernel/softhca.h"

#define POLL_MS 50 /* interval of PortInfo: state and LIDs of the port are set by opensm in ibsim */

#define CTL_SET_ISSM 9 /* Source: ibsim.h, SIM_CTL_SET_ISSM */
#define PERMISSIVE_LID 0xffff
#define UNUSED_LID 0xbfff /* the last unicast LID */
#define HOP_POINTER 6

/* Attributes of SMPs. */
enum { NODE_DESCRIPTION = 0x10, NODE_INFO = 0x11, PORT_INFO = 0x15 };

/*
 * ibsim replaces the upper 16 bits of transaction IDs. Those of the kernel are 0 there until it has
 * registered 65,536 agents. The next 16 bits mark the bridge's own queries.
 */
#define TID_KERNEL UINT64_C(0x0000ffffffffffff)
#define TID_BRIDGE 0x5f5f0000

enum hostile_kind { DUPLICATED, FOREIGN_TID, OTHER_CLASS, GARBAGE, LATE, TRUNCATED, REDIRECTED, HOSTILE_KINDS };

static const char *const hostile_names[HOSTILE_KINDS] = {
	"duplicated responses", "responses with a foreign transaction ID", "responses of another class",
	"garbage of each class", "late responses", "truncated responses", "redirections in a loop or to an unused LID",
};

struct hostile {
	unsigned sent[HOSTILE_KINDS];
	unsigned responses, seed;
	uint8_t mgmt_class;  /* of the next MAD of another class, and of garbage */
	uint16_t loop_lid;   /* of the agent that redirects */
	unsigned loop_left;  /* redirections of this loop */
	struct softhca_message held;
	int64_t held_until_ms; /* 0: none */
};

struct bridge {
	struct client client;
	struct softhca_device device;
	int fd; /* /dev/softhca */
	struct hostile hostile;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int fail(const char *what)
{
	fprintf(stderr, "bridge: %s: %s\n", what, strerror(errno));
	return -1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Query the bridge's own node: a directed route of 0 hops. */
static void send_query(struct bridge *bridge, uint16_t attribute)
{
	struct packet packet = { .dlid = htons(PERMISSIVE_LID), .slid = htons(PERMISSIVE_LID),
				 .length = htobe64(PACKET_MAD_SIZE) };

	packet.mad[MAD_BASE_VERSION] = 1;
	packet.mad[MAD_CLASS] = CLASS_SUBN_DIRECTED;
	packet.mad[MAD_CLASS_VERSION] = 1;
	packet.mad[MAD_METHOD] = METHOD_GET;
	store_be32(packet.mad + MAD_TID, TID_BRIDGE >> 16);
	store_be16(packet.mad + MAD_ATTRIBUTE, attribute);
	packet.mad[MAD_MODIFIER + 3] = attribute == PORT_INFO; /* port 1 */
	memset(packet.mad + 32, 0xff, 4); /* DrSLID, DrDLID */
	send(bridge->client.data_fd, &packet, sizeof(packet), 0);
}

static bool is_own_response(const struct packet *packet)
{
	return (load_be32(packet->mad + MAD_TID) & 0xffff) == TID_BRIDGE >> 16;
}

/* Offsets: IBA Vol 1, 14.2.5.6 (as in libibmad fields.c). */
static void read_port_info(const uint8_t *info, struct softhca_port *port)
{
	uint8_t extended = info[62] >> 4;

	port->gid_prefix = load_be64(info + 8);
	port->lid = load_be16(info + 16);
	port->sm_lid = load_be16(info + 18);
	port->cap_mask = load_be32(info + 20);
	port->width = info[31];
	port->state = info[32] & 0xf;
	port->phys_state = info[33] >> 4;
	port->lmc = info[34] & 7;
	port->speed = extended ? (uint16_t)(extended << 4) : info[35] >> 4;
	port->mtu = info[36] >> 4;
	port->sm_sl = info[36] & 0xf;
}

static void take_port_info(struct bridge *bridge, const uint8_t *info)
{
	struct softhca_update update = { .port = 1, .to = bridge->device.ports[0] };

	read_port_info(info, &update.to);
	if (!memcmp(&update.to, &bridge->device.ports[0], sizeof(update.to)))
		return;
	bridge->device.ports[0] = update.to;
	if (bridge->fd >= 0 && ioctl(bridge->fd, SOFTHCA_UPDATE, &update) < 0)
		fail("SOFTHCA_UPDATE");
}

static void take_own_response(struct bridge *bridge, const uint8_t *mad)
{
	const uint8_t *data = mad + PACKET_MAD_DATA;
	struct softhca_device *device = &bridge->device;

	switch (load_be16(mad + MAD_ATTRIBUTE)) {
	case NODE_DESCRIPTION:
		memcpy(device->description, data, sizeof(device->description));
		break;
	case NODE_INFO:
		device->port_count = data[3] < SOFTHCA_PORTS ? data[3] : SOFTHCA_PORTS;
		device->system_guid = load_be64(data + 4);
		device->node_guid = load_be64(data + 12);
		device->ports[0].guids[0] = load_be64(data + 20);
		break;
	case PORT_INFO:
		take_port_info(bridge, data);
		break;
	}
}

static void deliver(struct bridge *bridge, const struct softhca_message *message)
{
	if (write(bridge->fd, message, sizeof(*message)) < 0)
		fail("write to /dev/softhca");
}

/* MADs that follow a response. */
static void add_hostile(struct bridge *bridge, const struct softhca_message *response)
{
	struct hostile *hostile = &bridge->hostile;
	struct softhca_message message = *response;

	deliver(bridge, &message);
	hostile->sent[DUPLICATED]++;
	message.mad[MAD_TID + 4] ^= 0x55; /* no queries in flight differ there */
	deliver(bridge, &message);
	hostile->sent[FOREIGN_TID]++;
	message = *response;
	message.mad[MAD_CLASS] = hostile->mgmt_class;
	deliver(bridge, &message);
	hostile->sent[OTHER_CLASS]++;
	/* ib_mad only passes on MADs of a valid version and class; every second one has the TID of the response. */
	for (size_t i = MAD_METHOD; i < sizeof(message.mad); i++)
		if (i < MAD_TID || i >= MAD_TID + 8 || hostile->mgmt_class % 2)
			message.mad[i] = (uint8_t)rand_r(&hostile->seed);
	message.qp = !packet_is_smp(message.mad);
	deliver(bridge, &message);
	hostile->sent[GARBAGE]++;
	hostile->mgmt_class++;
}

/* Cut a response before its attribute ID ends, so that it matches no query. */
static void truncate_response(struct hostile *hostile, struct softhca_message *message)
{
	message->length = (uint16_t)(1 + rand_r(&hostile->seed) % MAD_ATTRIBUTE);
	hostile->sent[TRUNCATED]++;
}

/*
 * Begin another loop at times: an agent redirects to itself, or to a LID that no port has. Another agent would
 * return its own counters. Return: the LID; 0: no redirection.
 */
static uint16_t redirect_lid(struct hostile *hostile, uint16_t lid)
{
	if (hostile->responses % 512 == 32) {
		hostile->loop_lid = lid;
		hostile->loop_left = 8;
	}
	if (!hostile->loop_left || lid != hostile->loop_lid)
		return 0;
	hostile->loop_left--;
	return hostile->responses % 1024 < 512 ? UNUSED_LID : lid;
}

/* Offsets: IBA Vol 1, 13.4.8.1 (ClassPortInfo). */
static void redirect_response(struct hostile *hostile, struct softhca_message *message, uint16_t lid)
{
	uint8_t *info = message->mad + PACKET_MAD_DATA;

	memset(info, 0, PACKET_MAD_DATA_SIZE);
	store_be16(message->mad + MAD_STATUS, 2);
	store_be16(info + 28, lid);
	store_be16(info + 30, 0xffff); /* P_Key */
	store_be32(info + 32, 1); /* queue pair */
	store_be32(info + 36, 0x80010000); /* Q_Key */
	hostile->sent[REDIRECTED]++;
}

/*
 * With HOSTILE in the environment: every response is followed by others; now and then one is held back, and a
 * performance response is truncated or a redirection.
 */
static void deliver_hostile(struct bridge *bridge, struct softhca_message *message)
{
	struct hostile *hostile = &bridge->hostile;
	uint16_t lid;

	if (++hostile->responses % 64 == 0 && !hostile->held_until_ms) {
		hostile->held = *message;
		hostile->held_until_ms = now_ms() + (hostile->responses % 128 ? 2000 : 300);
		return;
	}
	lid = message->qp ? redirect_lid(hostile, message->lid) : 0;
	if (lid)
		redirect_response(hostile, message, lid);
	else if (message->qp && hostile->responses % 64 == 16)
		truncate_response(hostile, message);
	deliver(bridge, message);
	message->length = 0;
	add_hostile(bridge, message);
}

static void deliver_held(struct bridge *bridge)
{
	struct hostile *hostile = &bridge->hostile;

	if (!hostile->held_until_ms || now_ms() < hostile->held_until_ms)
		return;
	deliver(bridge, &hostile->held);
	hostile->held_until_ms = 0;
	hostile->sent[LATE]++;
}

/* A MAD for the kernel. Timeouts are left to it, so ibsim's own reports of them are dropped. */
static void to_kernel(struct bridge *bridge, const struct packet *packet)
{
	const uint8_t *mad = packet->mad;
	bool smp = packet_is_smp(mad), response = mad[MAD_METHOD] & METHOD_RESPONSE;
	struct softhca_message message = { .kind = SOFTHCA_MAD, .port = 1, .qp = !smp,
					   .lid = ntohs((uint16_t)packet->slid), .remote_qp = !smp };

	if (packet->status)
		return;
	memcpy(message.mad, mad, sizeof(message.mad));
	if (response)
		store_be64(message.mad + MAD_TID, load_be64(mad + MAD_TID) & TID_KERNEL);
	/* The kernel expects what the last hop makes of the pointer. Source: IBA Vol 1, 14.2.2. */
	if (mad[MAD_CLASS] == CLASS_SUBN_DIRECTED)
		message.mad[HOP_POINTER] = response ? 0 : mad[MAD_HOP_COUNT] + 1;
	if (response && getenv("HOSTILE"))
		deliver_hostile(bridge, &message);
	else
		deliver(bridge, &message);
}

static void from_ibsim(struct bridge *bridge)
{
	struct packet packet;

	if (recv(bridge->client.data_fd, &packet, sizeof(packet), MSG_DONTWAIT) != sizeof(packet))
		return;
	if (!is_own_response(&packet))
		to_kernel(bridge, &packet);
	else if (!packet.status)
		take_own_response(bridge, packet.mad);
}

static void set_is_sm(struct client *client, int32_t is_sm)
{
	struct ctl_message message = { .magic = CTL_MAGIC, .client = client->number, .type = CTL_SET_ISSM,
				       .len = sizeof(is_sm) };

	memcpy(message.data, &is_sm, sizeof(is_sm));
	if (send(client->ctl_fd, &message, sizeof(message), 0) < 0 ||
	    recv(client->ctl_fd, &message, sizeof(message), 0) < 0)
		fail("ibsim does not set IsSM");
}

static void from_kernel(struct bridge *bridge)
{
	struct softhca_message message;
	struct packet packet = { .length = htobe64(PACKET_MAD_SIZE) };

	if (read(bridge->fd, &message, sizeof(message)) != sizeof(message) || message.port != 1)
		return;
	if (message.kind == SOFTHCA_IS_SM) {
		set_is_sm(&bridge->client, message.sl);
		return;
	}
	packet.dlid = htons(message.lid);
	/* Packets to the permissive LID carry it as their source too; ibsim replaces 0 by the sender's LID. */
	packet.slid = message.lid == PERMISSIVE_LID ? htons(PERMISSIVE_LID) : 0;
	packet.sqp = htonl(message.qp);
	packet.dqp = htonl(message.remote_qp);
	memcpy(packet.mad, message.mad, sizeof(packet.mad));
	/* The kernel has made the first hop; ibsim makes it too, and drops MADs with another pointer. */
	if (packet.mad[MAD_CLASS] == CLASS_SUBN_DIRECTED)
		packet.mad[HOP_POINTER] = 0;
	if (send(bridge->client.data_fd, &packet, sizeof(packet), 0) < 0)
		fail("send to ibsim");
}

/* Wait for one packet of ibsim, or one message of the kernel. */
static void step(struct bridge *bridge)
{
	struct pollfd fds[] = { { .fd = bridge->client.data_fd, .events = POLLIN },
				{ .fd = bridge->fd, .events = POLLIN } };

	if (poll(fds, 2, POLL_MS) == 0)
		send_query(bridge, PORT_INFO);
	if (fds[0].revents & POLLIN)
		from_ibsim(bridge);
	if (fds[1].revents & POLLIN)
		from_kernel(bridge);
	deliver_held(bridge);
}

/* The identity must be known before the device is registered. */
static int read_identity(struct bridge *bridge)
{
	send_query(bridge, NODE_DESCRIPTION);
	send_query(bridge, NODE_INFO);
	for (int i = 0; i < 100 && !(bridge->device.node_guid && bridge->device.ports[0].state); i++)
		step(bridge);
	return bridge->device.node_guid && bridge->device.ports[0].state ? 0 : -1;
}

static void read_pkeys(const char *text, struct softhca_device *device)
{
	for (int i = 0; i < SOFTHCA_PKEYS && *text; i++) {
		char *end;

		device->ports[0].pkeys[i] = (uint16_t)strtoul(text, &end, 16);
		text = *end ? end + 1 : end;
	}
	for (uint32_t i = 1; i < SOFTHCA_PORTS; i++)
		memcpy(device->ports[i].pkeys, device->ports[0].pkeys, sizeof(device->ports[i].pkeys));
}

/* The ports that have no link: GUIDs as ibsim numbers them. */
static void fill_other_ports(struct softhca_device *device)
{
	for (uint32_t i = 1; i < SOFTHCA_PORTS; i++) {
		device->ports[i].guids[0] = device->ports[0].guids[0] + i;
		device->ports[i].gid_prefix = device->ports[0].gid_prefix;
		device->ports[i].state = 1; /* Down */
		device->ports[i].phys_state = 2; /* Polling */
		device->ports[i].width = 2;
		device->ports[i].speed = 1;
		device->ports[i].mtu = 5;
	}
}

static int create_device(struct bridge *bridge)
{
	int fd;

	fill_other_ports(&bridge->device);
	fd = open("/dev/softhca", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail("/dev/softhca");
	if (ioctl(fd, SOFTHCA_CREATE, &bridge->device) < 0) {
		close(fd);
		return fail("SOFTHCA_CREATE");
	}
	bridge->fd = fd;
	return 0;
}

int main(int argc, char **argv)
{
	const struct sigaction on_stop = { .sa_handler = stop };
	const char *name = getenv("IBSIM_SOCKNAME");
	struct bridge bridge = { .fd = -1 };
	struct error err = { 0 };
	int code;

	if (argc < 3 || argc > 4 || !name)
		return 64;
	sigaction(SIGTERM, &on_stop, NULL);
	snprintf(bridge.device.name, sizeof(bridge.device.name), "%s", argv[1]);
	read_pkeys(argc > 3 ? argv[3] : "ffff", &bridge.device);
	if (client_open(&bridge.client, name, &err) < 0 || client_attach(&bridge.client, argv[2], &err) < 0) {
		fprintf(stderr, "bridge: %s\n", err.text);
		return 69;
	}
	code = read_identity(&bridge);
	if (code == 0)
		code = create_device(&bridge);
	if (code == 0) {
		puts("ready");
		fflush(stdout);
	}
	while (code == 0 && !stopped)
		step(&bridge);
	for (int i = 0; i < HOSTILE_KINDS && getenv("HOSTILE"); i++)
		printf("%u %s\n", bridge.hostile.sent[i], hostile_names[i]);
	fflush(stdout); /* before the device is gone */
	if (bridge.fd >= 0)
		close(bridge.fd);
	client_close(&bridge.client);
	return code == 0 ? 0 : 69;
}
