/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A device that fails: functions of libibumad that are defined here stand before the library's. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/umad.h>

#include "base/err.h"
#include "wire/clear.h"
#include "wire/clear_mad.h"
#include "wire/hca.h"
#include "wire/mad.h"
#include "wire/transport.h"

#define BAD_LID 7

/* What the device says to each send: 0, or an errno. */
static int send_fails_with;
static unsigned sends;

/* Where the last MAD was to go, and by which agent (here: its class). */
static ib_mad_addr_t sent_to;
static int sent_by;

#define FD_GMP 1000
#define FD_SMP 1001

/* Descriptors: opened by name, open now, and by which the last MAD went. */
static int open_count;
static bool smi_fails, registers_fail;
static int sent_fd;

/* MADs that wait to be received, and at which device a wait was. */
static unsigned waiting[2];
static int waited_at, waited_ms;

int umad_open_port(const char *ca_name, int portnum)
{
	if (!strcmp(ca_name, "smi1") && (smi_fails || portnum != 2)) {
		errno = EACCES;
		return -EACCES;
	}
	open_count++;
	return strcmp(ca_name, "smi1") ? FD_GMP : FD_SMP;
}

int umad_close_port(int fd)
{
	assert_in_range(fd, FD_GMP, FD_SMP);
	open_count--;
	return 0;
}

int umad_register(int fd, int mgmt_class, int mgmt_version, uint8_t rmpp_version, long method_mask[16 / sizeof(long)])
{
	/* The aggregate has no QP0, the device for SMPs nothing else; an ordinary one has both. */
	if (registers_fail || (fd == FD_SMP && mgmt_class == CLASS_PERFORMANCE)) {
		errno = EINVAL;
		return -EINVAL;
	}
	(void)mgmt_version;
	(void)rmpp_version;
	(void)method_mask;
	return mgmt_class;
}

int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	sent_fd = fd;
	(void)length;
	(void)timeout_ms;
	(void)retries;
	sent_to = *umad_get_mad_addr(umad);
	sent_by = agent;
	sends++;
	errno = send_fails_with;
	return send_fails_with ? -EIO : 0;
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	(void)length;
	if (timeout_ms) {
		waited_at = fd;
		waited_ms = timeout_ms;
	}
	if (!waiting[fd - FD_GMP]) {
		errno = timeout_ms ? ETIMEDOUT : EWOULDBLOCK;
		return -errno;
	}
	waiting[fd - FD_GMP]--;
	*(uint8_t *)umad_get_mad(umad) = (uint8_t)(fd - FD_GMP);
	return 0;
}

static struct hca *open_device(void)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1 };
	struct hca *hca;

	assert_int_equal(hca_open(&local, &hca, NULL), 0);
	return hca;
}

static int send_one(struct hca *hca, uint16_t lid, struct error *err)
{
	const struct transport *transport = hca_transport(hca);
	uint8_t mad[MAD_SIZE];

	mad_init(mad, &(struct mad_header){ .mgmt_class = CLASS_PERFORMANCE, .method = METHOD_GET,
					    .attribute = PMA_PORT_COUNTERS });
	return transport->send(transport->ctx, &(struct mad_address){ .lid = lid }, mad, 100, err);
}

/* Memory is short for a moment, or one LID is refused: that question is lost, as on the wire. */
static void a_send_that_is_refused_is_a_lost_mad(void **state)
{
	struct hca *hca = open_device();
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		send_fails_with = i % 3 ? EINVAL : 0;
		assert_int_equal(send_one(hca, BAD_LID, NULL), 0);
	}
	hca_close(hca);
}

static void a_device_that_takes_nothing_is_gone(void **state)
{
	struct hca *hca = open_device();
	struct error err = { 0 };
	int i, code = 0;

	(void)state;
	send_fails_with = EIO;
	for (i = 0; i < 1000 && code == 0; i++)
		code = send_one(hca, BAD_LID, &err);
	assert_int_equal(code, ERR_UNAVAILABLE);
	assert_in_range(i, 10, 500);
	hca_close(hca);
}

static struct hca *open_split_device(void)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1, .smi_ca_name = "smi1", .smi_port = 2,
					.directed = true };
	struct hca *hca;

	assert_int_equal(hca_open(&local, &hca, NULL), 0);
	assert_int_equal(open_count, 2);
	return hca;
}

static void send_to(struct hca *hca, uint8_t mgmt_class, const struct mad_address *to)
{
	const struct transport *transport = hca_transport(hca);
	uint8_t mad[MAD_SIZE];

	mad_init(mad, &(struct mad_header){ .mgmt_class = mgmt_class, .method = METHOD_GET,
					    .attribute = mgmt_class != CLASS_PERFORMANCE ? SMP_NODE_INFO
										      : PMA_PORT_COUNTERS });
	assert_int_equal(transport->send(transport->ctx, to, mad, 100, NULL), 0);
	assert_int_equal(sent_by, mgmt_class);
	assert_int_equal(be16toh(sent_to.lid), to->lid);
}

static void an_address_is_that_of_its_class_or_its_own(void **state)
{
	const struct mad_address far = { .lid = 0x1234, .sl = 5, .qp = 0x42, .qkey = 0x80030000 };
	const struct mad_address near = { .lid = 0x1234 };
	struct hca *hca = open_device();

	(void)state;
	send_fails_with = 0;
	send_to(hca, CLASS_PERFORMANCE, &near);
	assert_int_equal(be32toh(sent_to.qpn), 1);
	assert_int_equal(be32toh(sent_to.qkey), 0x80010000);
	assert_int_equal(sent_to.sl, 0);
	send_to(hca, CLASS_PERFORMANCE, &far);
	assert_int_equal(be32toh(sent_to.qpn), 0x42);
	assert_int_equal(be32toh(sent_to.qkey), 0x80030000);
	assert_int_equal(sent_to.sl, 5);
	/* Subnet management has one queue pair, and no keys there. */
	send_to(hca, CLASS_SUBN_LID, &far);
	assert_int_equal(sent_to.qpn, 0);
	assert_int_equal(sent_to.qkey, 0);
	hca_close(hca);
}

static void a_split_hca_sends_each_class_by_its_device(void **state)
{
	const struct mad_address to = { .lid = 5 };
	struct hca *hca = open_split_device();

	(void)state;
	send_fails_with = 0;
	send_to(hca, CLASS_PERFORMANCE, &to);
	assert_int_equal(sent_fd, FD_GMP);
	send_to(hca, CLASS_SUBN_LID, &to);
	assert_int_equal(sent_fd, FD_SMP);
	send_to(hca, CLASS_SUBN_DIRECTED, &to);
	assert_int_equal(sent_fd, FD_SMP);
	assert_int_equal(sent_to.qpn, 0);
	hca_close(hca);
	assert_int_equal(open_count, 0);
	/* An ordinary one sends both by one. */
	hca = open_device();
	assert_int_equal(open_count, 1);
	send_to(hca, CLASS_SUBN_LID, &to);
	assert_int_equal(sent_fd, FD_GMP);
	hca_close(hca);
	assert_int_equal(open_count, 0);
}

static void both_devices_are_heard(void **state)
{
	struct hca *hca = open_split_device();
	const struct transport *transport = hca_transport(hca);
	unsigned from[2] = { 0, 0 }, i;
	uint8_t mad[MAD_SIZE];

	(void)state;
	/* Where there is plenty at both, neither starves the other. */
	waiting[0] = waiting[1] = 50;
	for (i = 0; i < 20; i++) {
		assert_int_equal(transport->receive(transport->ctx, mad, 1, NULL), TRANSPORT_MAD);
		from[mad[0]]++;
	}
	assert_int_equal(from[0], 10);
	assert_int_equal(from[1], 10);
	/* One alone is heard at each call, also without waiting. */
	waiting[0] = 0;
	for (i = 0; i < 20; i++)
		assert_int_equal(transport->receive(transport->ctx, mad, 0, NULL), TRANSPORT_MAD);
	waiting[1] = 0;
	waited_ms = 0;
	assert_int_equal(transport->receive(transport->ctx, mad, 7, NULL), TRANSPORT_NOTHING);
	assert_int_equal(waited_ms, 7);
	i = (unsigned)waited_at;
	assert_int_equal(transport->receive(transport->ctx, mad, 7, NULL), TRANSPORT_NOTHING);
	assert_int_not_equal(waited_at, i);
	hca_close(hca);
}

static void what_cannot_be_opened_is_named_and_nothing_stays_open(void **state)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1, .smi_ca_name = "smi1", .smi_port = 2 };
	struct error err = { 0 };
	struct hca *hca = NULL;

	(void)state;
	smi_fails = true;
	assert_int_equal(hca_open(&local, &hca, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "smi1 port 2"));
	assert_non_null(strstr(err.text, "no permission"));
	assert_int_equal(open_count, 0);
	smi_fails = false;
	registers_fail = true;
	assert_int_equal(hca_open(&local, &hca, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "rejects an agent"));
	assert_int_equal(open_count, 0);
	registers_fail = false;
	assert_null(hca);
}

/* How many MADs of every class, method and attribute, with a counter selected or without, leave a device. */
static unsigned count_sent(struct hca *hca, bool with_selection)
{
	const struct mad_address bad = { .lid = BAD_LID };
	const struct transport *transport = hca_transport(hca);
	unsigned mgmt_class, method, attribute, allowed = 0;
	uint8_t mad[MAD_SIZE];

	sends = 0;
	for (mgmt_class = 0; mgmt_class < 256; mgmt_class++)
		for (method = 0; method < 256; method++)
			for (attribute = 0; attribute < 0x40; attribute++) {
				/* This selection is right for each attribute that has one at this place. */
				clear_mad_init(mad, CLEAR_RCV_ERROR_DETAILS, 1, with_selection ? 0xf : 0, 1);
				mad[65] = with_selection;
				mad[1] = (uint8_t)mgmt_class;
				mad[3] = (uint8_t)method;
				put_be16(mad + 16, (uint16_t)attribute);
				allowed += transport->send(transport->ctx, &bad, mad, 100, NULL) == 0;
			}
	assert_int_equal(allowed, sends);
	return sends;
}

static bool leaves(struct hca *hca, uint8_t mgmt_class, uint8_t method, uint16_t attribute, uint64_t select)
{
	const struct mad_address bad = { .lid = BAD_LID };
	const struct transport *transport = hca_transport(hca);
	uint8_t mad[MAD_SIZE];

	clear_mad_init(mad, CLEAR_RCV_ERROR_DETAILS, select ? 1 : 0, select, 1);
	mad[1] = mgmt_class;
	mad[3] = method;
	put_be16(mad + 16, attribute);
	sends = 0;
	return transport->send(transport->ctx, &bad, mad, 100, NULL) == 0 && sends == 1;
}

/* The gate belongs to the opened device, and only clear_open() has the one that Sets pass. */
static void each_device_sends_what_its_gate_allows(void **state)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1 };
	struct hca *reader = open_device(), *writer;

	(void)state;
	send_fails_with = 0;
	assert_int_equal(clear_open(&local, &writer, NULL), 0);
	assert_true(leaves(reader, 0x04, 0x01, 0x12, 0));
	assert_false(leaves(reader, 0x04, 0x02, 0x12, 0xf));
	assert_true(leaves(writer, 0x04, 0x02, 0x12, 0xf));
	assert_false(leaves(writer, 0x04, 0x01, 0x12, 0));
	assert_false(leaves(writer, 0x01, 0x02, 0x15, 0xf));
	assert_true(leaves(writer, 0x01, 0x01, 0x11, 0));
	/* Two Gets; Sets of the five attributes whose CounterSelect stands there. */
	assert_int_equal(count_sent(writer, false), 2);
	assert_int_equal(count_sent(writer, true), 5);
	/* As many Gets as mad_test.c counts, whatever they hold, and no Set. */
	assert_int_equal(count_sent(reader, true), count_sent(reader, false));
	hca_close(reader);
	hca_close(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_that_is_refused_is_a_lost_mad),
		cmocka_unit_test(a_device_that_takes_nothing_is_gone),
		cmocka_unit_test(an_address_is_that_of_its_class_or_its_own),
		cmocka_unit_test(a_split_hca_sends_each_class_by_its_device),
		cmocka_unit_test(both_devices_are_heard),
		cmocka_unit_test(what_cannot_be_opened_is_named_and_nothing_stays_open),
		cmocka_unit_test(each_device_sends_what_its_gate_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
