/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In clients: MADs between the program and the wire, as the kernel's umad device
 * carries them. umad2sim stays in charge of all else: sysfs, descriptors, agents.
 *
 * umad2sim has one datagram socket for all, which its own thread waits for. That
 * thread is left with a socket to which nobody sends, and whoever waits for a MAD
 * waits for the real one: one of them at a time, the others for him.
 * Source: umad2sim.c (umad2sim_read, umad2sim_write, register_agent), sim_client.c.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sim/ibsim/calls.h"
#include "sim/ibsim/packet.h"

/* More datagrams do not wait in a socket (/proc/sys/net/unix/max_dgram_qlen is 10). */
#define BATCH 12

#define NOBODY (-1)

/* As many as umad2sim has. Source: struct umad2sim_dev. */
#define AGENTS 32
#define DEVICES 8

/* What stands before a MAD. Source: Linux, rdma/ib_user_mad.h, struct ib_user_mad_hdr. */
struct umad_header {
	uint32_t agent, status, timeout_ms, retries, length;
	uint32_t qp, qkey; /* big-endian, and so is the lid */
	uint16_t lid;
	uint8_t sl, path_bits, has_grh, rest[31];
};

_Static_assert(sizeof(struct umad_header) == 64, "a umad header with a P_Key has 64 bytes");

/* Source: the same, struct ib_user_mad_reg_req and IB_USER_MAD_..._AGENT. */
struct registration {
	uint32_t id, methods[4];
	uint8_t qp, mgmt_class, version, oui[3], rmpp_version;
};

#define REGISTER_AGENT _IOWR(0x1b, 1, struct registration)
#define UNREGISTER_AGENT _IOW(0x1b, 2, uint32_t)

/* MADs that wait for the program: a ring. */
struct queue {
	struct packet *packets;
	size_t first, count, capacity;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	int fd;              /* umad2sim's socket, under another number */
	bool somebody_waits; /* in poll(), for the socket; others wait for him */
	struct {
		int fd;      /* NOBODY: no such agent */
		uint8_t mgmt_class, qp;
	} agents[AGENTS];
	uint8_t agent_of[256]; /* by class: the one that registered last */
	struct queue queues[DEVICES];
	size_t unread;         /* in all queues */
	struct packet out[PACKET_BUNDLE];
	size_t out_count;
} wire = { .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER, .fd = NOBODY };

/*
 * umad2sim's socket: its number gets one that nothing comes to, before there is a thread to wait
 * for it. What programs of ours ask without umad2sim (sim/ibsim/client.c) is closed on exec; its is not.
 */
void mads_connected(int fd)
{
	int flags = fcntl(fd, F_GETFD), idle, i;

	if (flags < 0 || flags & FD_CLOEXEC || wire.fd != NOBODY)
		return;
	idle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (idle < 0)
		return;
	for (i = 0; i < AGENTS; i++)
		wire.agents[i].fd = NOBODY;
	wire.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (wire.fd >= 0 && dup2(idle, fd) < 0) {
		next_calls.close(wire.fd);
		wire.fd = NOBODY;
	}
	if (wire.fd >= 0)
		send(wire.fd, PACKET_HELLO, sizeof(PACKET_HELLO), MSG_NOSIGNAL);
	next_calls.close(idle);
}

bool mads_are_ours(int fd)
{
	return is_umad(fd) && wire.fd != NOBODY;
}

/* The lock, and what a thread that has it may not do: be cancelled. It may while it waits. */
static __thread int cancel_state;

static void begin(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&wire.lock);
}

static void end(void)
{
	pthread_mutex_unlock(&wire.lock);
	pthread_setcancelstate(cancel_state, NULL);
}

static struct queue *queue_of(int fd)
{
	return &wire.queues[(unsigned)fd % DEVICES];
}

/* --- agents --- */

int mads_ioctl(int fd, unsigned long request, void *argument)
{
	struct registration *registration = argument;
	int result = next_calls.ioctl(fd, request, argument);
	uint32_t id;

	if (result < 0 || !argument)
		return result;
	begin();
	if (request == REGISTER_AGENT && registration->id < AGENTS) {
		id = registration->id;
		wire.agents[id].fd = fd;
		wire.agents[id].mgmt_class = registration->mgmt_class;
		wire.agents[id].qp = registration->qp;
		wire.agent_of[registration->mgmt_class] = (uint8_t)id;
	} else if (request == UNREGISTER_AGENT) {
		memcpy(&id, argument, sizeof(id));
		if (id < AGENTS)
			wire.agents[id].fd = NOBODY;
	}
	end();
	return result;
}

void mads_close(int fd)
{
	struct queue *queue = queue_of(fd);
	int i;

	begin();
	for (i = 0; i < AGENTS; i++)
		if (wire.agents[i].fd == fd)
			wire.agents[i].fd = NOBODY;
	wire.unread -= queue->count;
	free(queue->packets);
	*queue = (struct queue){ 0 };
	end();
}

/*
 * The agent that a datagram is for. What answers a question, or is one that nobody
 * answered, has its number in the transaction id; anything else goes by class.
 */
static uint32_t agent_for(const struct packet *packet)
{
	uint8_t mgmt_class = packet->mad[MAD_CLASS];
	uint32_t id = load_be16(packet->mad + MAD_TID + 2);

	if ((packet->mad[MAD_METHOD] & METHOD_RESPONSE || packet->status) && id < AGENTS &&
	    wire.agents[id].mgmt_class == mgmt_class)
		return id;
	return wire.agent_of[mgmt_class];
}

/* --- what comes; the lock is held --- */

static void put(struct queue *queue, const struct packet *packet)
{
	if (queue->count == queue->capacity) {
		size_t capacity = queue->capacity ? 2 * queue->capacity : 64, i;
		struct packet *packets = malloc(capacity * sizeof(*packets));

		/* Without memory the MAD is lost, as on any wire. */
		if (!packets)
			return;
		for (i = 0; i < queue->count; i++)
			packets[i] = queue->packets[(queue->first + i) % queue->capacity];
		free(queue->packets);
		*queue = (struct queue){ .packets = packets, .count = queue->count, .capacity = capacity };
	}
	queue->packets[(queue->first + queue->count++) % queue->capacity] = *packet;
	wire.unread++;
}

/* All that waits in the socket. Nobody else may be waiting for that socket: he would miss it. */
static void receive(void)
{
	static struct packet packets[BATCH][PACKET_BUNDLE];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int got, i;
	size_t k;

	for (i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ .iov_base = packets[i], .iov_len = sizeof(packets[i]) };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	got = recvmmsg(wire.fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (i = 0; i < got; i++)
		for (k = 0; (k + 1) * sizeof(struct packet) <= messages[i].msg_len; k++) {
			uint32_t id = agent_for(&packets[i][k]);

			if (wire.agents[id].fd != NOBODY)
				put(queue_of(wire.agents[id].fd), &packets[i][k]);
		}
}

/* --- what goes; the lock is held --- */

/*
 * Where the wire is full what comes is taken meanwhile, here or by who waits for it: past the
 * relay ibsim stands still until its answers are. The lock is given away for that time.
 */
static void wait_for_room(void)
{
	bool alone = !wire.somebody_waits;

	if (alone)
		receive();
	pthread_cond_broadcast(&wire.arrived);
	pthread_mutex_unlock(&wire.lock);
	next_calls.poll(&(struct pollfd){ .fd = wire.fd, .events = alone ? POLLIN | POLLOUT : POLLOUT }, 1, 1);
	pthread_mutex_lock(&wire.lock);
}

/* Send all that was written. Return: 0, or -1 and errno. */
static int flush(void)
{
	int result = 0;

	while (wire.out_count) {
		if (send(wire.fd, wire.out, wire.out_count * sizeof(wire.out[0]), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
			wire.out_count = 0;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
			wait_for_room();
		} else {
			wire.out_count = 0;
			result = -1;
		}
	}
	return result;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* He who waited for the socket was cancelled: another one may. */
static void leave(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&wire.lock);
	wire.somebody_waits = false;
	pthread_cond_broadcast(&wire.arrived);
	pthread_mutex_unlock(&wire.lock);
}

/* Return: as poll(). */
static int wait_for_socket(int timeout_ms)
{
	struct pollfd polled = { .fd = wire.fd, .events = POLLIN };
	int result;

	wire.somebody_waits = true;
	pthread_mutex_unlock(&wire.lock);
	pthread_cleanup_push(leave, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	result = next_calls.poll(&polled, 1, timeout_ms);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&wire.lock);
	wire.somebody_waits = false;
	if (result > 0)
		receive();
	pthread_cond_broadcast(&wire.arrived);
	return result;
}

static void unlock(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&wire.lock);
}

/* Until the one who waits for the socket has taken something, or @until_ms. */
static void wait_for_other(int64_t until_ms)
{
	struct timespec until = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };

	pthread_cleanup_push(unlock, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	pthread_cond_timedwait(&wire.arrived, &wire.lock, &until);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
}

/* Wait until there is a MAD for a descriptor. The lock is held before and after. Return: as poll(). */
static int wait_for_mad(int fd, int timeout_ms)
{
	const struct queue *queue = queue_of(fd);
	int64_t until_ms = 0;
	int result = 1;

	/* Who has read all, or looks for more, wants an answer to what he wrote. */
	if (!queue->count || !wire.unread)
		flush();
	if (!queue->count && !wire.somebody_waits)
		receive();
	if (!queue->count && timeout_ms > 0)
		until_ms = now_ms() + timeout_ms;
	while (!queue->count && timeout_ms && result >= 0) {
		int64_t left_ms = timeout_ms < 0 ? INT64_MAX : until_ms - now_ms();

		if (left_ms <= 0)
			break;
		/* So that a step of the wall clock is no long sleep. */
		if (left_ms > 1000 && wire.somebody_waits)
			left_ms = 1000;
		if (wire.somebody_waits)
			wait_for_other(now_ms() + left_ms);
		else
			result = wait_for_socket(timeout_ms < 0 ? -1 : (int)left_ms);
	}
	if (result >= 0)
		result = queue->count > 0;
	return result;
}

/* As umad2sim's, it looks at its own descriptor only. */
int mads_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct pollfd *ours = NULL;
	nfds_t i;
	int result;

	for (i = 0; i < count; i++) {
		fds[i].revents = 0;
		if (!ours && is_umad(fds[i].fd))
			ours = &fds[i];
	}
	begin();
	result = wait_for_mad(ours->fd, timeout_ms);
	end();
	if (result > 0)
		ours->revents = POLLIN;
	return result;
}

/* Return: bytes; where there is none, as umad2sim does, which libibumad knows. */
ssize_t mads_read(int fd, void *buffer, size_t size)
{
	struct queue *queue = queue_of(fd);
	struct umad_header header = { 0 };
	struct packet packet;

	begin();
	if (size < sizeof(header) || wait_for_mad(fd, 0) <= 0) {
		end();
		errno = EWOULDBLOCK;
		return -EWOULDBLOCK;
	}
	packet = queue->packets[queue->first];
	queue->first = (queue->first + 1) % queue->capacity;
	queue->count--;
	wire.unread--;
	header.agent = agent_for(&packet);
	end();
	header.status = ntohl(packet.status);
	header.length = (uint32_t)(sizeof(header) + be64toh(packet.length));
	header.qp = packet.sqp;
	header.lid = (uint16_t)packet.slid;
	memcpy(buffer, &header, sizeof(header));
	size -= sizeof(header);
	if (size > PACKET_MAD_SIZE)
		size = PACKET_MAD_SIZE;
	memcpy((char *)buffer + sizeof(header), packet.mad, size);
	return (ssize_t)(sizeof(header) + size);
}

/*
 * Where answers wait to be read, their reader will be back for more, so what is written meanwhile goes
 * in one datagram: when all is read, or a few are together. Else it goes at once.
 */
ssize_t mads_write(int fd, const void *buffer, size_t size)
{
	struct umad_header header;
	struct packet *packet;
	size_t length = size - sizeof(header);
	int result = 0;
	uint64_t tid;

	(void)fd;
	memcpy(&header, buffer, size < sizeof(header) ? 0 : sizeof(header));
	if (size < sizeof(header) || header.agent >= AGENTS) {
		errno = EINVAL;
		return -1;
	}
	if (length > PACKET_MAD_SIZE)
		length = PACKET_MAD_SIZE;
	begin();
	/* Another thread's, which waits for room. */
	if (wire.out_count == PACKET_BUNDLE)
		flush();
	packet = &wire.out[wire.out_count++];
	/* The permissive LID is sent from as well; else ibsim fills in the sender's. */
	*packet = (struct packet){ .dlid = header.lid, .slid = header.lid == 0xffff ? 0xffff : 0, .dqp = header.qp,
				   .sqp = htonl(wire.agents[header.agent].qp), .length = htobe64(length) };
	memcpy(packet->mad, (const char *)buffer + sizeof(header), length);
	tid = load_be64(packet->mad + MAD_TID);
	if (!(packet->mad[MAD_METHOD] & METHOD_RESPONSE))
		store_be64(packet->mad + MAD_TID,
			   (tid & UINT64_C(0xffff0000ffffffff)) | (uint64_t)header.agent << 32);
	if (wire.out_count == PACKET_BUNDLE || !wire.unread)
		result = flush();
	end();
	return result < 0 ? -1 : (ssize_t)size;
}
