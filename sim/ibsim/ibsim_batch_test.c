/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sim/ibsim/calls.h"
#include "sim/ibsim/packet.h"

/* A test has nothing to wait for. */
static int look(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct timeval at_once = { 0 };

	assert_null(timeout);
	return select(count, in, out, except, &at_once);
}

struct calls next_calls = { .poll = poll, .select = look, .write = write };

/* ibsim's end and a client's. Those of former tests stay known, as ibsim's do. */
struct ends {
	int ibsim, client;
};

static int set_up(void **state)
{
	static struct ends ends;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	ends = (struct ends){ .ibsim = pair[0], .client = pair[1] };
	if (!batch_is_ours(ends.ibsim))
		batch_bound(ends.ibsim);
	batch_connected(ends.ibsim);
	*state = &ends;
	return 0;
}

static int tear_down(void **state)
{
	struct ends *ends = *state;

	close(ends->ibsim);
	close(ends->client);
	return 0;
}

static struct packet numbered(uint32_t number)
{
	struct packet packet;

	memset(&packet, (int)number, sizeof(packet));
	packet.dlid = number;
	return packet;
}

static void give(int fd, uint32_t from, uint32_t count)
{
	struct packet packets[PACKET_BUNDLE];
	uint32_t i;

	for (i = 0; i < count; i++)
		packets[i] = numbered(from + i);
	assert_int_equal(send(fd, packets, count * sizeof(packets[0]), 0), count * sizeof(packets[0]));
}

static int ready(int fd)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	return batch_select(fd + 1, &in);
}

/* As ibsim: each packet is read, and answered. */
static void answer(int fd, uint32_t number)
{
	const struct packet packet = numbered(number);
	unsigned char buffer[512];

	assert_int_equal(ready(fd), 1);
	assert_int_equal(batch_read(fd, buffer, sizeof(buffer)), sizeof(packet));
	assert_memory_equal(buffer, &packet, sizeof(packet));
	assert_int_equal(batch_write(fd, buffer, sizeof(packet)), sizeof(packet));
}

static ssize_t next_datagram(int fd, void *buffer, size_t size)
{
	return recv(fd, buffer, size, MSG_DONTWAIT);
}

static void nothing_comes(int fd)
{
	char byte;

	assert_int_equal(next_datagram(fd, &byte, 1), -1);
}

/* Only select() may wait, so all answers are out by then. */
static void flush_all(const struct ends *ends)
{
	give(ends->client, 99, 1);
	assert_int_equal(ready(ends->ibsim), 1);
}

static void who_does_not_ask_for_bundles_gets_one_packet_in_a_datagram(void **state)
{
	const struct ends *ends = *state;
	struct packet got[PACKET_BUNDLE], sent;
	uint32_t i;

	for (i = 1; i <= 3; i++)
		give(ends->client, i, 1);
	for (i = 1; i <= 3; i++)
		answer(ends->ibsim, i);
	nothing_comes(ends->client);
	flush_all(ends);
	for (i = 1; i <= 3; i++) {
		sent = numbered(i);
		assert_int_equal(next_datagram(ends->client, got, sizeof(got)), sizeof(sent));
		assert_memory_equal(got, &sent, sizeof(sent));
	}
	nothing_comes(ends->client);
}

static void who_says_hello_gets_bundles_in_order_and_ibsim_never_sees_the_hello(void **state)
{
	const struct ends *ends = *state;
	struct packet got[PACKET_BUNDLE], sent;
	uint32_t i, count = 2 * PACKET_BUNDLE + 3;
	ssize_t size;

	assert_int_equal(send(ends->client, PACKET_HELLO, sizeof(PACKET_HELLO), 0), sizeof(PACKET_HELLO));
	for (i = 0; i < count; i += PACKET_BUNDLE)
		give(ends->client, i, count - i < PACKET_BUNDLE ? count - i : PACKET_BUNDLE);
	for (i = 0; i < count; i++)
		answer(ends->ibsim, i);
	flush_all(ends);
	for (i = 0; i < count; i++) {
		if (i % PACKET_BUNDLE == 0) {
			size = next_datagram(ends->client, got, sizeof(got));
			assert_int_equal(size, (count - i < PACKET_BUNDLE ? count - i : PACKET_BUNDLE) * sizeof(sent));
		}
		sent = numbered(i);
		assert_memory_equal(&got[i % PACKET_BUNDLE], &sent, sizeof(sent));
	}
	nothing_comes(ends->client);
}

static void what_is_too_short_is_read_as_it_came(void **state)
{
	const struct ends *ends = *state;
	char buffer[512];

	assert_int_equal(send(ends->client, "abc", 3, 0), 3);
	assert_int_equal(ready(ends->ibsim), 1);
	assert_int_equal(batch_read(ends->ibsim, buffer, sizeof(buffer)), 3);
	assert_memory_equal(buffer, "abc", 3);
	assert_int_equal(batch_read(ends->ibsim, buffer, sizeof(buffer)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void that_a_client_is_gone_is_told_with_the_next_answer(void **state)
{
	struct ends *ends = *state;
	const struct packet packet = numbered(2);

	give(ends->client, 1, 1);
	give(ends->client, 2, 1);
	answer(ends->ibsim, 1);
	close(ends->client);
	ends->client = -1;
	answer(ends->ibsim, 2);
	assert_int_equal(ready(ends->ibsim) >= 0, 1);
	assert_int_equal(batch_write(ends->ibsim, &packet, sizeof(packet)), -1);
	assert_true(errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET);
	/* The next client is not blamed. */
	batch_connected(ends->ibsim);
	assert_int_equal(batch_write(ends->ibsim, &packet, sizeof(packet)), sizeof(packet));
}

static void a_question_for_another_client_goes_at_once(void **state)
{
	const struct ends *ends = *state;
	const struct packet packet = numbered(5);
	struct packet got;
	int other[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, other), 0);
	batch_bound(other[0]);
	give(ends->client, 1, 1);
	answer(ends->ibsim, 1);
	assert_int_equal(batch_write(other[0], &packet, sizeof(packet)), sizeof(packet));
	assert_int_equal(next_datagram(other[1], &got, sizeof(got)), sizeof(got));
	assert_memory_equal(&got, &packet, sizeof(got));
	nothing_comes(ends->client);
	close(other[1]);
	assert_int_equal(batch_write(other[0], &packet, sizeof(packet)), -1);
	close(other[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_does_not_ask_for_bundles_gets_one_packet_in_a_datagram, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			who_says_hello_gets_bundles_in_order_and_ibsim_never_sees_the_hello, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_too_short_is_read_as_it_came, set_up, tear_down),
		cmocka_unit_test_setup_teardown(that_a_client_is_gone_is_told_with_the_next_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_question_for_another_client_goes_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
