/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A device that fails: functions of libibumad that are defined here stand before the library's. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "wire/clear.h"
#include "wire/clear_mad.h"
#include "wire/hca.h"
#include "wire/mad.h"
#include "wire/transport.h"

#define BAD_LID 7

/* Result of each send: 0, or an errno. */
static int send_fails_with;
static unsigned sends;

/* Destination and agent (here: the class) of the last MAD. */
static ib_mad_addr_t sent_to;
static int sent_by;
static int sent_pkey_index;

#define FD_GMP 1000
#define FD_SMP 1001

/* Open descriptors, failures, and the descriptor of the last MAD. */
static int open_count;
static bool smi_fails, registers_fail;
static int sent_fd;

/* MADs to be received by device, and the last wait. */
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
	/* The device for SMPs has only QP0. */
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

/* The library's own sets nothing before its umad_open_port() has found the version of the device. */
int umad_set_pkey(void *umad, int pkey_index)
{
	(void)umad;
	sent_pkey_index = pkey_index;
	return 0;
}

static int receive_fails_with;
static int receive_lacks; /* bytes of the next MADs */

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	if (receive_fails_with) {
		errno = receive_fails_with;
		return -errno;
	}
	*length -= receive_lacks;
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

/* The file in sysfs that was read last, and its contents. */
static char sysfs_path[128];
static const char *sysfs_text;
static unsigned sysfs_reads;

int open(const char *path, int flags, ...)
{
	int ends[2];

	if (strncmp(path, SYS_INFINIBAND, strlen(SYS_INFINIBAND)) != 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
	snprintf(sysfs_path, sizeof(sysfs_path), "%s", path);
	sysfs_reads++;
	if (!sysfs_text) {
		errno = ENOENT;
		return -1;
	}
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], sysfs_text, strlen(sysfs_text)), strlen(sysfs_text));
	close(ends[1]);
	return ends[0];
}

/* Each sweep does this, so it must not read the tables of the port. */
TEST(the_lid_of_the_sm_is_read_from_one_file)
{
	struct hca_port local = { .ca_name = "mlx5_0", .port = 2, .sm_lid = 3 };

	sysfs_text = "0x1a\n";
	assert_int_equal(hca_refresh(&local, NULL), 0);
	assert_int_equal(local.sm_lid, 0x1a);
	assert_string_equal(sysfs_path, SYS_INFINIBAND "/mlx5_0/ports/2/sm_lid");
	assert_int_equal(sysfs_reads, 1);
	sysfs_text = NULL;
	assert_int_equal(hca_refresh(&local, NULL), ERR_UNAVAILABLE);
	assert_int_equal(local.sm_lid, 0x1a);
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

TEST(a_single_failed_send_is_a_lost_mad)
{
	struct hca *hca = open_device();

	for (int i = 0; i < 1000; i++) {
		send_fails_with = i % 3 ? EINVAL : 0;
		assert_int_equal(send_one(hca, BAD_LID, NULL), 0);
	}
	hca_close(hca);
}

TEST(a_device_with_only_failed_sends_has_failed)
{
	struct hca *hca = open_device();
	struct error err = { 0 };
	int i, code = 0;

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

TEST(addresses_have_the_defaults_of_their_class)
{
	const struct mad_address far = { .lid = 0x1234, .sl = 5, .qp = 0x42, .qkey = 0x80030000 };
	const struct mad_address near = { .lid = 0x1234 };
	struct hca *hca = open_device();

	send_fails_with = 0;
	send_to(hca, CLASS_PERFORMANCE, &near);
	assert_int_equal(be32toh(sent_to.qpn), 1);
	assert_int_equal(be32toh(sent_to.qkey), 0x80010000);
	assert_int_equal(sent_to.sl, 0);
	send_to(hca, CLASS_PERFORMANCE, &far);
	assert_int_equal(be32toh(sent_to.qpn), 0x42);
	assert_int_equal(be32toh(sent_to.qkey), 0x80030000);
	assert_int_equal(sent_to.sl, 5);
	/* SMPs go to queue pair 0, which has no key. */
	send_to(hca, CLASS_SUBN_LID, &far);
	assert_int_equal(sent_to.qpn, 0);
	assert_int_equal(sent_to.qkey, 0);
	hca_close(hca);
}

TEST(performance_mads_have_the_chosen_partition_and_service_level)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1, .pkey_index = 3, .sl = 2 };
	const struct mad_address redirected = { .lid = 5, .qp = 0x42 }, usual = { .lid = 5 };
	struct hca *hca;

	assert_int_equal(hca_open(&local, &hca, NULL), 0);
	send_fails_with = 0;
	send_to(hca, CLASS_PERFORMANCE, &usual);
	assert_int_equal(sent_pkey_index, 3);
	assert_int_equal(sent_to.sl, 2);
	/* A redirection has a service level of its own. */
	send_to(hca, CLASS_PERFORMANCE, &redirected);
	assert_int_equal(sent_pkey_index, 3);
	assert_int_equal(sent_to.sl, 0);
	send_to(hca, CLASS_SUBN_LID, &usual);
	assert_int_equal(sent_pkey_index, 0);
	assert_int_equal(sent_to.sl, 0);
	hca_close(hca);
}

/* The P_Key table of the port, for umad_get_port(). */
static uint16_t pkey_table[] = { 0x8001, 0x7fff };

int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	(void)ca_name;
	*port = (umad_port_t){ .portnum = portnum, .pkeys = pkey_table, .pkeys_size = 2 };
	return 0;
}

int umad_release_port(umad_port_t *port)
{
	(void)port;
	return 0;
}

TEST(the_partition_is_that_of_the_option_or_the_default_one)
{
	static const char *const wrong[] = { "", "0", "0x10000", "0x8000", "0x8001x", "-1" };
	struct hca_port local = { .ca_name = "mlx5_0", .port = 1 };

	assert_int_equal(hca_set_pkey(&local, NULL, NULL), 0);
	assert_int_equal(local.pkey, 0x7fff);
	assert_int_equal(local.pkey_index, 1);
	assert_int_equal(hca_set_pkey(&local, "0x8001", NULL), 0);
	assert_int_equal(local.pkey_index, 0);
	assert_int_equal(hca_set_pkey(&local, "8002", NULL), ERR_UNAVAILABLE);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(hca_set_pkey(&local, wrong[i], NULL), ERR_USAGE);
	pkey_table[1] = 0x8002;
	assert_int_equal(hca_set_pkey(&local, NULL, NULL), 0);
	assert_int_equal(local.pkey, 0);
	assert_int_equal(local.pkey_index, 0);
}

TEST(a_split_hca_uses_one_device_per_class)
{
	const struct mad_address to = { .lid = 5 };
	struct hca *hca = open_split_device();

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
	/* Another HCA has one device for both. */
	hca = open_device();
	assert_int_equal(open_count, 1);
	send_to(hca, CLASS_SUBN_LID, &to);
	assert_int_equal(sent_fd, FD_GMP);
	hca_close(hca);
	assert_int_equal(open_count, 0);
}

TEST(a_truncated_mad_is_ignored)
{
	struct hca *hca = open_device();
	const struct transport *transport = hca_transport(hca);
	uint8_t mad[MAD_SIZE];

	waiting[0] = 2;
	receive_lacks = 200;
	assert_int_equal(transport->receive(transport->ctx, mad, 1, NULL), TRANSPORT_NOTHING);
	receive_lacks = 0;
	assert_int_equal(transport->receive(transport->ctx, mad, 1, NULL), TRANSPORT_MAD);
	hca_close(hca);
}

TEST(both_devices_receive)
{
	struct hca *hca = open_split_device();
	const struct transport *transport = hca_transport(hca);
	unsigned from[2] = { 0, 0 }, i;
	uint8_t mad[MAD_SIZE];

	/* MADs at both: alternating. */
	waiting[0] = waiting[1] = 50;
	for (i = 0; i < 20; i++) {
		assert_int_equal(transport->receive(transport->ctx, mad, 1, NULL), TRANSPORT_MAD);
		from[mad[0]]++;
	}
	assert_int_equal(from[0], 10);
	assert_int_equal(from[1], 10);
	/* MADs at one: each call, also without waiting. */
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

TEST(a_failed_open_names_the_device_and_leaves_none_open)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1, .smi_ca_name = "smi1", .smi_port = 2 };
	struct error err = { 0 };
	struct hca *hca = NULL;

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

TEST(a_removed_device_fails_at_once)
{
	struct hca *hca = open_device();
	const struct transport *transport = hca_transport(hca);
	struct error err = { 0 };
	uint8_t mad[MAD_SIZE];

	receive_fails_with = ENXIO;
	assert_int_equal(transport->receive(transport->ctx, mad, 0, &err), TRANSPORT_NOTHING);
	assert_false(hca_was_removed(hca));
	receive_fails_with = EIO;
	assert_int_equal(transport->receive(transport->ctx, mad, 0, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "was removed"));
	assert_true(hca_was_removed(hca));
	receive_fails_with = 0;
	hca_close(hca);
}

/* Number of MADs that are sent, of all classes, methods and attributes. */
static unsigned count_sent(struct hca *hca, bool with_selection)
{
	const struct mad_address bad = { .lid = BAD_LID };
	const struct transport *transport = hca_transport(hca);
	unsigned allowed = 0;
	uint8_t mad[MAD_SIZE];

	sends = 0;
	for (unsigned mgmt_class = 0; mgmt_class < 256; mgmt_class++)
		for (unsigned method = 0; method < 256; method++)
			for (unsigned attribute = 0; attribute < 0x40; attribute++) {
				/* Valid for each attribute with a selection at this offset. */
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

static bool is_sent(struct hca *hca, uint8_t mgmt_class, uint8_t method, uint16_t attribute, uint64_t select)
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

/* Only a device of clear_open() sends Sets. */
TEST(each_device_has_its_own_gate)
{
	const struct hca_port local = { .ca_name = "mlx5_0", .port = 1 };
	struct hca *reader = open_device(), *writer;

	send_fails_with = 0;
	assert_int_equal(clear_open(&local, &writer, NULL), 0);
	assert_true(is_sent(reader, 0x04, 0x01, 0x12, 0));
	assert_false(is_sent(reader, 0x04, 0x02, 0x12, 0xf));
	assert_true(is_sent(writer, 0x04, 0x02, 0x12, 0xf));
	assert_false(is_sent(writer, 0x04, 0x01, 0x12, 0));
	assert_false(is_sent(writer, 0x01, 0x02, 0x15, 0xf));
	assert_true(is_sent(writer, 0x01, 0x01, 0x11, 0));
	/* Two Gets; Sets of five attributes. */
	assert_int_equal(count_sent(writer, false), 2);
	assert_int_equal(count_sent(writer, true), 5);
	/* No Set. */
	assert_int_equal(count_sent(reader, true), count_sent(reader, false));
	hca_close(reader);
	hca_close(writer);
}
