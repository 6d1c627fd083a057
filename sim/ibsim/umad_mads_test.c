/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/ibsim/calls.h"
#include "sim/ibsim/packet.h"

enum { UMAD_FD = 1024, OTHER_FD = 1025, HEADER = 64 };

static uint32_t agents;

/* umad2sim's: agents are numbered as they register. */
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

struct calls next_calls = { .close = close, .ioctl = register_agent, .poll = poll };

static int umad2sim_fd, relay_fd;

static int set_up(void **state)
{
	int pair[2];
	char hello[64];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return -1;
	umad2sim_fd = pair[0];
	relay_fd = pair[1];
	mads_connected(umad2sim_fd);
	return recv(relay_fd, hello, sizeof(hello), MSG_DONTWAIT) == sizeof(PACKET_HELLO) &&
		packet_is_hello(hello, sizeof(PACKET_HELLO)) ? 0 : -1;
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

static void ask(int fd, uint32_t id, uint8_t mgmt_class, uint32_t number)
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

/* What the relay gets: questions, one or several in a datagram. Return: how many. */
static size_t take(struct packet packets[PACKET_BUNDLE])
{
	ssize_t got = recv(relay_fd, packets, PACKET_BUNDLE * sizeof(*packets), MSG_DONTWAIT);

	if (got < 0)
		return 0;
	assert_int_equal(got % (ssize_t)sizeof(*packets), 0);
	return (size_t)got / sizeof(*packets);
}

static void make_answer(struct packet *packet)
{
	size_t i;

	packet->mad[MAD_METHOD] = METHOD_GET_RESPONSE;
	packet->slid = packet->dlid;
	packet->sqp = packet->dqp;
	for (i = PACKET_MAD_DATA; i < PACKET_MAD_SIZE; i++)
		packet->mad[i] = (uint8_t)(i ^ packet->mad[MAD_TID + 7]);
}

/* Return: whether @fd has the answer to @number, whole. */
static bool read_answer(int fd, uint32_t id, uint32_t number)
{
	uint8_t umad[HEADER + PACKET_MAD_SIZE];
	uint32_t value;
	uint16_t lid;
	size_t i;

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
	for (i = PACKET_MAD_DATA; i < PACKET_MAD_SIZE; i++)
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

static void the_number_that_umad2sim_has_is_no_socket_that_anything_comes_to(void **state)
{
	struct pollfd polled = { .fd = umad2sim_fd, .events = POLLIN };

	(void)state;
	assert_true(mads_are_ours(UMAD_FD) && !mads_are_ours(5));
	assert_int_equal(send(relay_fd, "x", 1, 0), 1);
	assert_int_equal(poll(&polled, 1, 20), 0);
	assert_false(has_mad(UMAD_FD, 0));
}

static void a_question_goes_at_once_and_its_answer_comes_whole(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_PERFORMANCE);
	struct packet packets[PACKET_BUNDLE];
	uint8_t umad[HEADER + PACKET_MAD_SIZE];

	(void)state;
	errno = 0;
	assert_int_equal(mads_read(UMAD_FD, umad, sizeof(umad)), -EWOULDBLOCK);
	assert_int_equal(errno, EWOULDBLOCK);
	ask(UMAD_FD, id, CLASS_PERFORMANCE, 7);
	assert_int_equal(take(packets), 1);
	assert_int_equal(packets[0].dlid, htons(17));
	assert_int_equal(packets[0].dqp, htonl(1));
	assert_int_equal(packets[0].sqp, htonl(1));
	assert_int_equal(be64toh(packets[0].length), PACKET_MAD_SIZE);
	assert_int_equal(packets[0].mad[PACKET_MAD_SIZE - 1], 0x5a);
	/* The kernel's half of the transaction id has the agent in its lower 16 bits. */
	assert_int_equal(load_be32(packets[0].mad + MAD_TID), 0x12340000 | id);
	make_answer(&packets[0]);
	assert_int_equal(send(relay_fd, packets, sizeof(packets[0]), 0), sizeof(packets[0]));
	assert_true(has_mad(UMAD_FD, 100));
	assert_true(read_answer(UMAD_FD, id, 7));
	assert_false(has_mad(UMAD_FD, 5));
}

static void answers_go_to_the_agent_that_asked_whatever_descriptor_it_has(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_DIRECTED), other = agent(OTHER_FD, CLASS_SUBN_DIRECTED);
	struct packet packets[PACKET_BUNDLE], both[2];

	(void)state;
	ask(UMAD_FD, id, CLASS_SUBN_DIRECTED, 1);
	assert_int_equal(take(packets), 1);
	both[0] = packets[0];
	ask(OTHER_FD, other, CLASS_SUBN_DIRECTED, 2);
	assert_int_equal(take(packets), 1);
	both[1] = packets[0];
	make_answer(&both[0]);
	make_answer(&both[1]);
	assert_int_equal(send(relay_fd, both, sizeof(both), 0), sizeof(both));
	assert_true(has_mad(OTHER_FD, 100));
	assert_true(read_answer(OTHER_FD, other, 2));
	assert_false(has_mad(OTHER_FD, 0));
	assert_true(read_answer(UMAD_FD, id, 1));
	mads_close(OTHER_FD);
	/* What nobody registered for is dropped. */
	assert_int_equal(send(relay_fd, &both[1], sizeof(both[1]), 0), sizeof(both[1]));
	assert_false(has_mad(UMAD_FD, 5));
}

static void what_timed_out_comes_back_with_a_status(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_LID), status;
	struct packet packets[PACKET_BUNDLE];
	uint8_t umad[HEADER + PACKET_MAD_SIZE];

	(void)state;
	ask(UMAD_FD, id, CLASS_SUBN_LID, 3);
	assert_int_equal(take(packets), 1);
	packets[0].status = htonl(PACKET_TIMED_OUT);
	assert_int_equal(send(relay_fd, packets, sizeof(packets[0]), 0), sizeof(packets[0]));
	assert_int_equal(mads_read(UMAD_FD, umad, sizeof(umad)), sizeof(umad));
	memcpy(&status, umad + 4, sizeof(status));
	assert_int_equal(status, PACKET_TIMED_OUT);
	assert_int_equal(umad[0], id);
}

static void while_answers_wait_questions_go_together_and_none_is_forgotten(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_PERFORMANCE), i;
	struct packet packets[PACKET_BUNDLE], answers[4];

	(void)state;
	for (i = 0; i < 4; i++) {
		ask(UMAD_FD, id, CLASS_PERFORMANCE, i);
		assert_int_equal(take(packets), 1);
		answers[i] = packets[0];
		make_answer(&answers[i]);
	}
	assert_int_equal(send(relay_fd, answers, sizeof(answers), 0), sizeof(answers));
	for (i = 0; i < 4; i++) {
		assert_true(read_answer(UMAD_FD, id, i));
		assert_int_equal(take(packets), 0);
		if (i < 3)
			ask(UMAD_FD, id, CLASS_PERFORMANCE, 10 + i);
	}
	/* Who looks for more has sent all. */
	assert_false(has_mad(UMAD_FD, 0));
	assert_int_equal(take(packets), 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(load_be32(packets[i].mad + MAD_TID + 4), 10 + i);
}

static void *wait_long(void *unused)
{
	(void)unused;
	return has_mad(UMAD_FD, 10000) ? &relay_fd : NULL;
}

/* As opensm: one thread waits for answers, another one asks; and the one that waits is cancelled at the end. */
static void one_thread_may_wait_while_another_asks(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_SUBN_ADM);
	struct packet packets[PACKET_BUNDLE];
	pthread_t thread, both[2];
	void *result;
	int i;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_long, NULL), 0);
	usleep(20000);
	ask(UMAD_FD, id, CLASS_SUBN_ADM, 5);
	assert_int_equal(take(packets), 1);
	make_answer(&packets[0]);
	assert_int_equal(send(relay_fd, packets, sizeof(packets[0]), 0), sizeof(packets[0]));
	pthread_join(thread, &result);
	assert_non_null(result);
	assert_true(read_answer(UMAD_FD, id, 5));

	/* One waits for the socket, the other one for him. */
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&both[i], NULL, wait_long, NULL), 0);
	usleep(20000);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_cancel(both[i]), 0);
		pthread_join(both[i], &result);
		assert_ptr_equal(result, PTHREAD_CANCELED);
	}
	assert_false(has_mad(UMAD_FD, 5));
}

/* Past the relay ibsim stands still while its answers are not taken: so they are, while a question waits for room. */
static void *stubborn(void *unused)
{
	struct packet packets[PACKET_BUNDLE];
	size_t done = 0, count, i;

	(void)unused;
	while (done < 200) {
		ssize_t got = recv(relay_fd, packets, sizeof(packets), 0);

		count = got < 0 ? 0 : (size_t)got / sizeof(packets[0]);
		for (i = 0; i < count; i++) {
			make_answer(&packets[i]);
			if (send(relay_fd, &packets[i], sizeof(packets[i]), 0) < 0)
				return NULL;
		}
		done += count;
	}
	return &relay_fd;
}

static void many_in_flight_do_not_stop_each_other(void **state)
{
	uint32_t id = agent(UMAD_FD, CLASS_PERFORMANCE), i;
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stubborn, NULL), 0);
	for (i = 0; i < 200; i++)
		ask(UMAD_FD, id, CLASS_PERFORMANCE, i);
	for (i = 0; i < 200; i++) {
		assert_true(has_mad(UMAD_FD, 5000));
		assert_true(read_answer(UMAD_FD, id, i));
	}
	pthread_join(thread, &result);
	assert_non_null(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_that_umad2sim_has_is_no_socket_that_anything_comes_to),
		cmocka_unit_test(a_question_goes_at_once_and_its_answer_comes_whole),
		cmocka_unit_test(answers_go_to_the_agent_that_asked_whatever_descriptor_it_has),
		cmocka_unit_test(what_timed_out_comes_back_with_a_status),
		cmocka_unit_test(while_answers_wait_questions_go_together_and_none_is_forgotten),
		cmocka_unit_test(one_thread_may_wait_while_another_asks),
		cmocka_unit_test(many_in_flight_do_not_stop_each_other),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
