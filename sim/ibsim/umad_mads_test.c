/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#define UNIT_TEST_SETUP set_up

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "sim/ibsim/packet.h"
#include "sim/ibsim/umad_preload.h"

enum { UMAD_FD = 1024, OTHER_FD = 1025, HEADER = 64 };

static uint32_t agents;

/* Stands in for umad2sim's ioctl: agents are numbered in order of registration. */
static int register_agent(int fd, unsigned long request, ...)
{
	va_list arguments;

	(void)fd;
	(void)request;
	va_start(arguments, request);
	*va_arg(arguments, uint32_t *) = agents++;
	va_end(arguments);
	return 0;
}

struct next_calls next_calls = { .close = close, .ioctl = register_agent, .poll = poll };

static int umad2sim_fd, relay_fd;

int set_up(void **state)
{
	int pair[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return -1;
	umad2sim_fd = pair[0];
	relay_fd = pair[1];
	mads_connected(umad2sim_fd);
	return 0;
}

static uint32_t agent(int fd, uint8_t mgmt_class)
{
	struct {
		uint32_t id, methods[4];
		uint8_t qp, mgmt_class, rest[6];
	} registration = { .qp = mgmt_class == CLASS_PERFORMANCE, .mgmt_class = mgmt_class };

	assert_int_equal(mads_ioctl(fd, _IOWR(0x1b, 1, char[28]), &registration), 0);
	return registration.id;
}

static void put_32(uint8_t *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

static void send_request(int fd, uint32_t id, uint8_t mgmt_class, uint32_t number)
{
	uint8_t umad[HEADER + PACKET_MAD_SIZE] = { 0 }, *mad = umad + HEADER;
	uint16_t lid = htons(17);

	put_32(umad, id);
	put_32(umad + 20, htonl(1));
	memcpy(umad + 28, &lid, sizeof(lid));
	mad[MAD_CLASS] = mgmt_class;
	mad[MAD_METHOD] = METHOD_GET;
	store_be32(mad + MAD_TID, 0x12345678);
	store_be32(mad + MAD_TID + 4, number);
	mad[PACKET_MAD_SIZE - 1] = 0x5a;
	assert_int_equal(mads_write(fd, umad, sizeof(umad)), sizeof(umad));
}

/* Receive a request at the relay's end. Return: whether there was one. */
static bool receive_request(struct packet *packet)
{
	return recv(relay_fd, packet, sizeof(*packet), MSG_DONTWAIT) == sizeof(*packet);
}

static void make_response(struct packet *packet)
{
	packet->mad[MAD_METHOD] = METHOD_GET_RESPONSE;
	packet->slid = packet->dlid;
	packet->sqp = packet->dqp;
	for (size_t i = PACKET_MAD_DATA; i < PACKET_MAD_SIZE; i++)
		packet->mad[i] = (uint8_t)(i ^ packet->mad[MAD_TID + 7]);
}

/* Return: whether @fd has the complete response to request @number. */
static bool read_response(int fd, uint32_t id, uint32_t number)
{
	uint8_t umad[HEADER + PACKET_MAD_SIZE];
	uint32_t value;
	uint16_t lid;

	if (mads_read(fd, umad, sizeof(umad)) != sizeof(umad))
		return false;
	memcpy(&value, umad, sizeof(value));
	assert_int_equal(value, id);
	memcpy(&value, umad + 4, sizeof(value));
	assert_int_equal(value, 0);
	memcpy(&value, umad + 16, sizeof(value));
	assert_int_equal(value, sizeof(umad));
	memcpy(&lid, umad + 28, sizeof(lid));
	assert_int_equal(ntohs(lid), 17);
	assert_int_equal(load_be32(umad + HEADER + MAD_TID + 4), number);
	for (size_t i = PACKET_MAD_DATA; i < PACKET_MAD_SIZE; i++)
		assert_int_equal(umad[HEADER + i], (uint8_t)(i ^ number));
	return true;
}

static bool has_mad(int fd, int timeout_ms)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	int result = mads_poll(&polled, 1, timeout_ms);

	assert_int_equal(polled.revents, result > 0 ? POLLIN : 0);
	return result > 0;
}

TEST(umad2sims_descriptor_receives_nothing)
{
	struct pollfd polled = { .fd = umad2sim_fd, .events = POLLIN };

	assert_true(mads_own_fd(UMAD_FD) && !mads_own_fd(5));
	assert_int_equal(send(relay_fd, "x", 1, 0), 1);
	assert_int_equal(poll(&polled, 1, 20), 0);
	assert_false(has_mad(UMAD_FD, 0));
}

TEST(a_response_arrives_complete)
{
	uint32_t id = agent(UMAD_FD, CLASS_PERFORMANCE);
	struct packet packet;
	uint8_t umad[HEADER + PACKET_MAD_SIZE];

	errno = 0;
	assert_int_equal(mads_read(UMAD_FD, umad, sizeof(umad)), -EWOULDBLOCK);
	assert_int_equal(errno, EWOULDBLOCK);
	send_request(UMAD_FD, id, CLASS_PERFORMANCE, 7);
	assert_true(receive_request(&packet));
	assert_int_equal(packet.dlid, htons(17));
	assert_int_equal(packet.dqp, htonl(1));
	assert_int_equal(packet.sqp, htonl(1));
	assert_int_equal(be64toh(packet.length), PACKET_MAD_SIZE);
	assert_int_equal(packet.mad[PACKET_MAD_SIZE - 1], 0x5a);
	/* Bits 32 to 47 of the transaction ID are the agent. */
	assert_int_equal(load_be32(packet.mad + MAD_TID), 0x12340000 | id);
	make_response(&packet);
	assert_int_equal(send(relay_fd, &packet, sizeof(packet), 0), sizeof(packet));
	assert_true(has_mad(UMAD_FD, 100));
	assert_true(read_response(UMAD_FD, id, 7));
	assert_false(has_mad(UMAD_FD, 5));
}

TEST(responses_go_to_the_requesting_agent)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_DIRECTED), other = agent(OTHER_FD, CLASS_SUBN_DIRECTED);
	struct packet both[2];

	send_request(UMAD_FD, id, CLASS_SUBN_DIRECTED, 1);
	assert_true(receive_request(&both[0]));
	send_request(OTHER_FD, other, CLASS_SUBN_DIRECTED, 2);
	assert_true(receive_request(&both[1]));
	make_response(&both[0]);
	make_response(&both[1]);
	assert_int_equal(send(relay_fd, &both[0], sizeof(both[0]), 0), sizeof(both[0]));
	assert_int_equal(send(relay_fd, &both[1], sizeof(both[1]), 0), sizeof(both[1]));
	assert_true(has_mad(OTHER_FD, 100));
	assert_true(read_response(OTHER_FD, other, 2));
	assert_false(has_mad(OTHER_FD, 0));
	assert_true(read_response(UMAD_FD, id, 1));
	mads_close(OTHER_FD);
	/* A MAD without a registered agent is dropped. */
	assert_int_equal(send(relay_fd, &both[1], sizeof(both[1]), 0), sizeof(both[1]));
	assert_false(has_mad(UMAD_FD, 5));
}

TEST(a_timeout_is_reported_by_status)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_LID), status;
	struct packet packet;
	uint8_t umad[HEADER + PACKET_MAD_SIZE];

	send_request(UMAD_FD, id, CLASS_SUBN_LID, 3);
	assert_true(receive_request(&packet));
	packet.status = htonl(PACKET_TIMED_OUT);
	assert_int_equal(send(relay_fd, &packet, sizeof(packet), 0), sizeof(packet));
	assert_int_equal(mads_read(UMAD_FD, umad, sizeof(umad)), sizeof(umad));
	memcpy(&status, umad + 4, sizeof(status));
	assert_int_equal(status, PACKET_TIMED_OUT);
	assert_int_equal(umad[0], id);
}

static void *wait_long(void *unused)
{
	(void)unused;
	return has_mad(UMAD_FD, 10000) ? &relay_fd : NULL;
}

/* Like opensm: one thread waits for responses and is cancelled at the end, another one sends. */
TEST(one_thread_waits_while_another_sends)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_ADM);
	struct packet packet;
	pthread_t thread, both[2];
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, wait_long, NULL), 0);
	usleep(20000);
	send_request(UMAD_FD, id, CLASS_SUBN_ADM, 5);
	assert_true(receive_request(&packet));
	make_response(&packet);
	assert_int_equal(send(relay_fd, &packet, sizeof(packet), 0), sizeof(packet));
	pthread_join(thread, &result);
	assert_non_null(result);
	assert_true(read_response(UMAD_FD, id, 5));

	/* One thread polls the socket, the other one waits for it. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&both[i], NULL, wait_long, NULL), 0);
	usleep(20000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_cancel(both[i]), 0);
		pthread_join(both[i], &result);
		assert_ptr_equal(result, PTHREAD_CANCELED);
	}
	assert_false(has_mad(UMAD_FD, 5));
}

/* ibsim blocks until its responses are received: they must be, while a request waits for room in the socket. */
static void *respond_blocking(void *unused)
{
	struct packet packet;
	size_t done = 0;

	(void)unused;
	while (done < 200) {
		if (recv(relay_fd, &packet, sizeof(packet), 0) != sizeof(packet))
			return NULL;
		make_response(&packet);
		if (send(relay_fd, &packet, sizeof(packet), 0) < 0)
			return NULL;
		done++;
	}
	return &relay_fd;
}

TEST(many_in_flight_do_not_deadlock)
{
	uint32_t id = agent(UMAD_FD, CLASS_PERFORMANCE);
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, respond_blocking, NULL), 0);
	for (uint32_t i = 0; i < 200; i++)
		send_request(UMAD_FD, id, CLASS_PERFORMANCE, i);
	for (uint32_t i = 0; i < 200; i++) {
		assert_true(has_mad(UMAD_FD, 5000));
		assert_true(read_response(UMAD_FD, id, i));
	}
	pthread_join(thread, &result);
	assert_non_null(result);
}
