/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MADs between a program and the socket of the relay, as the kernel's umad device transfers them.
 *
 * umad2sim has one data socket for all descriptors, and a thread that waits for it. The thread is left
 * with a socket that receives nothing. Of the threads that wait for a MAD, one polls the real socket;
 * the others wait for that one.
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

#include "sim/ibsim/packet.h"
#include "sim/ibsim/umad_preload.h"

/* Datagrams received per system call; a socket queues 10 (/proc/sys/net/unix/max_dgram_qlen). */
#define BATCH 12

#define NO_FD (-1)

/* Limits of umad2sim. Source: struct umad2sim_dev. */
#define AGENTS 32
#define DEVICES 8

/* The header before a MAD. Source: Linux, rdma/ib_user_mad.h, struct ib_user_mad_hdr. */
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

/* Received MADs that the program has not read yet: a ring buffer. */
struct queue {
	struct packet *packets;
	size_t first, count, capacity;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	int fd;           /* umad2sim's data socket, duplicated */
	bool polling;     /* a thread polls the socket; others wait for @arrived */
	struct {
		int fd;   /* NO_FD: not registered */
		uint8_t mgmt_class, qp;
	} agents[AGENTS];
	uint8_t agent_of[256]; /* by management class: the agent registered last */
	struct queue queues[DEVICES];
} umad = { .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER, .fd = NO_FD };

/*
 * Replaces umad2sim's socket by one that receives nothing, before the thread exists that waits for it.
 * The sockets of ibwire-sim itself (sim/ibsim/client.c) are closed on exec; umad2sim's is not.
 */
void mads_connected(int fd)
{
	int flags = fcntl(fd, F_GETFD), idle;

	if (flags < 0 || flags & FD_CLOEXEC || umad.fd != NO_FD)
		return;
	idle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (idle < 0)
		return;
	for (int i = 0; i < AGENTS; i++)
		umad.agents[i].fd = NO_FD;
	umad.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (umad.fd >= 0 && dup2(idle, fd) < 0) {
		next_calls.close(umad.fd);
		umad.fd = NO_FD;
	}
	next_calls.close(idle);
}

/* Descriptors emulated by umad2sim; the kernel's are below. Source: umad2sim.c, open and fd_to_dev. */
static bool is_umad(int fd)
{
	return fd >= 1024 && fd < 2048;
}

bool mads_own_fd(int fd)
{
	return is_umad(fd) && umad.fd != NO_FD;
}

/* A thread that holds the lock cannot be cancelled, except while it waits. */
static __thread int cancel_state;

static void lock(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&umad.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&umad.lock);
	pthread_setcancelstate(cancel_state, NULL);
}

static struct queue *queue_of(int fd)
{
	return &umad.queues[(unsigned)fd % DEVICES];
}

/* --- agents --- */

int mads_ioctl(int fd, unsigned long request, void *argument)
{
	struct registration *registration = argument;
	int result = next_calls.ioctl(fd, request, argument);
	uint32_t id;

	if (result < 0 || !argument)
		return result;
	lock();
	if (request == REGISTER_AGENT && registration->id < AGENTS) {
		id = registration->id;
		umad.agents[id].fd = fd;
		umad.agents[id].mgmt_class = registration->mgmt_class;
		umad.agents[id].qp = registration->qp;
		umad.agent_of[registration->mgmt_class] = (uint8_t)id;
	} else if (request == UNREGISTER_AGENT) {
		memcpy(&id, argument, sizeof(id));
		if (id < AGENTS)
			umad.agents[id].fd = NO_FD;
	}
	unlock();
	return result;
}

void mads_close(int fd)
{
	struct queue *queue = queue_of(fd);

	lock();
	for (int i = 0; i < AGENTS; i++)
		if (umad.agents[i].fd == fd)
			umad.agents[i].fd = NO_FD;
	free(queue->packets);
	*queue = (struct queue){ 0 };
	unlock();
}

/*
 * The agent that a packet is for. Responses and requests that timed out carry its number in the transaction
 * ID; requests go to the agent of their class.
 */
static uint32_t agent_for(const struct packet *packet)
{
	uint8_t mgmt_class = packet->mad[MAD_CLASS];
	uint32_t id = load_be16(packet->mad + MAD_TID + 2);

	if ((packet->mad[MAD_METHOD] & METHOD_RESPONSE || packet->status) && id < AGENTS &&
	    umad.agents[id].mgmt_class == mgmt_class)
		return id;
	return umad.agent_of[mgmt_class];
}

/* --- receiving; the lock is held --- */

static void queue_push(struct queue *queue, const struct packet *packet)
{
	if (queue->count == queue->capacity) {
		size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
		struct packet *packets = malloc(capacity * sizeof(*packets));

		/* Out of memory: the MAD is lost, as on a real wire. */
		if (!packets)
			return;
		for (size_t i = 0; i < queue->count; i++)
			packets[i] = queue->packets[(queue->first + i) % queue->capacity];
		free(queue->packets);
		*queue = (struct queue){ .packets = packets, .count = queue->count, .capacity = capacity };
	}
	queue->packets[(queue->first + queue->count++) % queue->capacity] = *packet;
}

/* Receive all packets in the socket. Must not be called while another thread polls it: that thread would miss them. */
static void receive(void)
{
	static struct packet packets[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int got;

	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ .iov_base = &packets[i], .iov_len = sizeof(packets[i]) };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	got = recvmmsg(umad.fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++) {
		uint32_t id = agent_for(&packets[i]);

		if (messages[i].msg_len == sizeof(packets[i]) && umad.agents[id].fd != NO_FD)
			queue_push(queue_of(umad.agents[id].fd), &packets[i]);
	}
}

/* --- sending; the lock is held --- */

/*
 * Wait until the socket has room, and receive meanwhile: ibsim blocks until its responses are received. The
 * lock is released while waiting.
 */
static void wait_for_room(void)
{
	bool alone = !umad.polling;

	if (alone)
		receive();
	pthread_cond_broadcast(&umad.arrived);
	pthread_mutex_unlock(&umad.lock);
	next_calls.poll(&(struct pollfd){ .fd = umad.fd, .events = alone ? POLLIN | POLLOUT : POLLOUT }, 1, 1);
	pthread_mutex_lock(&umad.lock);
}

/* --- waiting --- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The thread that polled the socket was cancelled: another one polls it. */
static void stop_polling(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&umad.lock);
	umad.polling = false;
	pthread_cond_broadcast(&umad.arrived);
	pthread_mutex_unlock(&umad.lock);
}

/* Return: as poll(). */
static int wait_for_socket(int timeout_ms)
{
	struct pollfd polled = { .fd = umad.fd, .events = POLLIN };
	int result;

	umad.polling = true;
	pthread_mutex_unlock(&umad.lock);
	pthread_cleanup_push(stop_polling, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	result = next_calls.poll(&polled, 1, timeout_ms);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&umad.lock);
	umad.polling = false;
	if (result > 0)
		receive();
	pthread_cond_broadcast(&umad.arrived);
	return result;
}

static void release_lock(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&umad.lock);
}

/* Wait until the polling thread has received something, or until @until_ms of the wall clock. */
static void wait_for_other(int64_t until_ms)
{
	struct timespec until = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };

	pthread_cleanup_push(release_lock, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	pthread_cond_timedwait(&umad.arrived, &umad.lock, &until);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
}

/* Wait for a MAD for a descriptor. The lock is held on entry and return. Return: as poll(). */
static int wait_for_mad(int fd, int timeout_ms)
{
	const struct queue *queue = queue_of(fd);
	int64_t until_ms = 0;
	int result = 1;

	if (!queue->count && !umad.polling)
		receive();
	if (!queue->count && timeout_ms > 0)
		until_ms = now_ms() + timeout_ms;
	while (!queue->count && timeout_ms && result >= 0) {
		int64_t left_ms = timeout_ms < 0 ? INT64_MAX : until_ms - now_ms();

		if (left_ms <= 0)
			break;
		/* A step of the wall clock delays this by a second at most. */
		if (left_ms > 1000 && umad.polling)
			left_ms = 1000;
		if (umad.polling)
			wait_for_other(now_ms() + left_ms);
		else
			result = wait_for_socket(timeout_ms < 0 ? -1 : (int)left_ms);
	}
	if (result >= 0)
		result = queue->count > 0;
	return result;
}

/* Like umad2sim, ignores all descriptors but the first one of a umad device. */
int mads_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct pollfd *own = NULL;
	nfds_t i;
	int result;

	for (i = 0; i < count; i++) {
		fds[i].revents = 0;
		if (!own && is_umad(fds[i].fd))
			own = &fds[i];
	}
	lock();
	result = wait_for_mad(own->fd, timeout_ms);
	unlock();
	if (result > 0)
		own->revents = POLLIN;
	return result;
}

/* Return: the number of bytes; -EWOULDBLOCK if there is no MAD, as umad2sim does (libibumad handles it). */
ssize_t mads_read(int fd, void *buffer, size_t size)
{
	struct queue *queue = queue_of(fd);
	struct umad_header header = { 0 };
	struct packet packet;

	lock();
	if (size < sizeof(header) || wait_for_mad(fd, 0) <= 0) {
		unlock();
		errno = EWOULDBLOCK;
		return -EWOULDBLOCK;
	}
	packet = queue->packets[queue->first];
	queue->first = (queue->first + 1) % queue->capacity;
	queue->count--;
	header.agent = agent_for(&packet);
	unlock();
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

ssize_t mads_write(int fd, const void *buffer, size_t size)
{
	struct umad_header header;
	size_t length = size - sizeof(header);
	struct packet packet;
	ssize_t result;
	uint64_t tid;

	(void)fd;
	memcpy(&header, buffer, size < sizeof(header) ? 0 : sizeof(header));
	if (size < sizeof(header) || header.agent >= AGENTS) {
		errno = EINVAL;
		return -1;
	}
	if (length > PACKET_MAD_SIZE)
		length = PACKET_MAD_SIZE;
	lock();
	/* Packets to the permissive LID carry it as their source too; ibsim replaces 0 by the sender's LID. */
	packet = (struct packet){ .dlid = header.lid, .slid = header.lid == 0xffff ? 0xffff : 0, .dqp = header.qp,
				  .sqp = htonl(umad.agents[header.agent].qp), .length = htobe64(length) };
	memcpy(packet.mad, (const char *)buffer + sizeof(header), length);
	tid = load_be64(packet.mad + MAD_TID);
	if (!(packet.mad[MAD_METHOD] & METHOD_RESPONSE))
		store_be64(packet.mad + MAD_TID,
			   (tid & UINT64_C(0xffff0000ffffffff)) | (uint64_t)header.agent << 32);
	while ((result = send(umad.fd, &packet, sizeof(packet), MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		wait_for_room();
	unlock();
	return result < 0 ? -1 : (ssize_t)size;
}
