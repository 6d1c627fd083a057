/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/hca.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/mad.h"
#include "wire/transport.h"

/* The well-known key of QP1. Source: IBA Vol 1, 3.5.3 and 13.5.1. */
#define QP1_QKEY 0x80010000

/* PortInfo.CapabilityMask IsSMDisabled. Source: IBA Vol 1, 14.2.5.6; libibumad umad.c. */
#define CAP_SM_DISABLED (1 << 10)

/* Consecutive errors after which the device counts as failed. */
#define ERRORS_UNTIL_GONE 100

/* Two devices if the HCA is split, else one for both. */
enum device { DEVICE_GMP, DEVICE_SMP, DEVICE_COUNT };

struct hca {
	int fd[DEVICE_COUNT]; /* DEVICE_SMP: -1 if the other one is used */
	int smp_agent, directed_agent, pma_agent, vendor_agent;
	enum device turn; /* device that is checked first */
	mad_gate *gate;
	uint16_t pkey_index; /* of performance MADs */
	uint8_t sl;
	void *buffer; /* umad header and one MAD */
	unsigned errors_in_a_row;  /* of receiving */
	unsigned refused_in_a_row; /* sends */
	bool removed;
	struct transport transport;
};

static bool is_infiniband(const umad_port_t *port)
{
	/* Kernels before 2.6.37, and the simulator, report no link layer. */
	return !port->link_layer[0] || !strcmp(port->link_layer, "InfiniBand") || !strcmp(port->link_layer, "IB");
}

static struct local_port read_port(const umad_port_t *from)
{
	struct local_port to = {
		.port = from->portnum,
		.port_guid = be64toh(from->port_guid),
		.state = (uint8_t)from->state,
		.infiniband = is_infiniband(from),
		.sm_disabled = be32toh(from->capmask) & CAP_SM_DISABLED,
		.lid = (uint16_t)from->base_lid,
		.sm_lid = (uint16_t)from->sm_lid,
	};

	snprintf(to.ca_name, sizeof(to.ca_name), "%s", from->ca_name);
	return to;
}

static bool same_device(const struct local_port *a, const struct local_port *b)
{
	return !strcmp(a->ca_name, b->ca_name);
}

/* This port is the other part of a split HCA. */
static bool is_partner(const struct local_port *port, const struct local_port *other)
{
	return other->infiniband && other->port_guid == port->port_guid && !same_device(port, other) &&
	       other->sm_disabled != port->sm_disabled;
}

/* A port of another device with the same GUID, Active if possible. */
static size_t find_partner(const struct local_port *ports, size_t count, size_t index)
{
	size_t found = CHOICE_NONE;

	if (!ports[index].infiniband || !ports[index].port_guid)
		return CHOICE_NONE;
	for (size_t i = 0; i < count; i++) {
		if (!is_partner(&ports[index], &ports[i]))
			continue;
		if (ports[i].state == PORT_ACTIVE)
			return i;
		if (found == CHOICE_NONE)
			found = i;
	}
	return found;
}

bool hca_is_split(const struct local_port *ports, size_t count, size_t index)
{
	return find_partner(ports, count, index) != CHOICE_NONE;
}

/* The named port is one of two. */
static struct hca_choice pair_up(const struct local_port *ports, size_t count, size_t index)
{
	size_t partner = find_partner(ports, count, index);
	struct hca_choice choice = { index, index };

	if (partner == CHOICE_NONE)
		return choice;
	if (!ports[index].sm_disabled)
		return (struct hca_choice){ .gmp = partner, .smp = index };
	choice.smp = partner;
	/* Planes may also have GUIDs of their own: use any Active one of the device. */
	for (size_t i = 0; i < count && ports[choice.smp].state != PORT_ACTIVE; i++)
		if (same_device(&ports[i], &ports[partner]) && ports[i].state == PORT_ACTIVE)
			choice.smp = i;
	return choice;
}

struct hca_choice hca_choose(const struct local_port *ports, size_t count, const char *ca_name, int port)
{
	for (size_t i = 0; i < count; i++) {
		struct hca_choice choice;

		if (!ports[i].infiniband || ports[i].state != PORT_ACTIVE || (port > 0 && ports[i].port != port) ||
		    (ca_name && strcmp(ports[i].ca_name, ca_name) != 0))
			continue;
		choice = pair_up(ports, count, i);
		if (ports[choice.gmp].state == PORT_ACTIVE)
			return choice;
	}
	return (struct hca_choice){ CHOICE_NONE, CHOICE_NONE };
}

/* The ports of all local devices. */
struct port_list {
	struct local_port *ports;
	size_t count, capacity;
};

static int add_device(struct port_list *list, const char *ca_name, struct error *err)
{
	int code = 0;
	umad_ca_t ca;

	if (umad_get_ca(ca_name, &ca) < 0)
		return 0;
	for (int i = 0; i < UMAD_CA_MAX_PORTS && code == 0; i++) {
		struct local_port *ports;

		if (!ca.ports[i])
			continue;
		ports = array_grow(list->ports, list->count, &list->capacity, sizeof(*ports));
		if (!ports) {
			code = err_nomem(err);
			break;
		}
		list->ports = ports;
		list->ports[list->count++] = read_port(ca.ports[i]);
	}
	umad_release_ca(&ca);
	return code;
}

static int list_ports(struct port_list *list, struct error *err)
{
	struct umad_device_node *devices = umad_get_ca_device_list(), *device;
	int code = 0;

	for (device = devices; device && code == 0; device = device->next)
		code = add_device(list, device->ca_name, err);
	umad_free_ca_device_list(devices);
	return code;
}

/* Explain why no port was found. */
static int explain(const char *ca_name, int port, const struct port_list *list, struct error *err)
{
	const struct local_port *best = NULL;
	bool named = false;

	for (size_t i = 0; i < list->count; i++) {
		if (ca_name && strcmp(list->ports[i].ca_name, ca_name) != 0)
			continue;
		named = true;
		if (list->ports[i].infiniband && (port <= 0 || list->ports[i].port == port) &&
		    (!best || list->ports[i].state > best->state))
			best = &list->ports[i];
	}
	if (!named && ca_name)
		return err_set(err, ERR_UNAVAILABLE, "there is no InfiniBand device '%s' here: 'ibstat -l' lists them",
			       ca_name);
	if (!named)
		return err_set(err, ERR_UNAVAILABLE,
			       "there is no InfiniBand device on this host: load its driver and ib_umad, or use a "
			       "host with such a device");
	if (!best && port > 0)
		return err_set(err, ERR_UNAVAILABLE, "no device here has an InfiniBand port %d: 'ibstat' shows them",
			       port);
	if (!best)
		return err_set(err, ERR_UNAVAILABLE,
			       "the devices here have Ethernet ports only: ibwire needs InfiniBand");
	return err_set(err, ERR_UNAVAILABLE,
		       "no port is Active (%s port %d is %s): check the cable, and that a subnet manager runs",
		       best->ca_name, best->port, port_state_name(best->state));
}

/* "NAME" or "NAME:PORT": the configured port for SMPs. */
static int find_smp_port(const struct port_list *list, const char *text, size_t *ret, struct error *err)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text), found = CHOICE_NONE;
	long port = colon ? strtol(colon + 1, NULL, 10) : -1;

	if (!len || (colon && (!colon[1] || port > 255 || colon[1 + strspn(colon + 1, "0123456789")])))
		return err_set(err, ERR_USAGE, "--smi-ca must be NAME or NAME:PORT, such as smi1:1, not '%s'", text);
	for (size_t i = 0; i < list->count; i++) {
		const struct local_port *one = &list->ports[i];

		if (!one->infiniband || strlen(one->ca_name) != len || strncmp(one->ca_name, text, len) != 0 ||
		    (port >= 0 && one->port != port))
			continue;
		if (found == CHOICE_NONE || (list->ports[found].state != PORT_ACTIVE && one->state == PORT_ACTIVE))
			found = i;
	}
	if (found == CHOICE_NONE)
		return err_set(err, ERR_UNAVAILABLE, "there is no InfiniBand port '%s' here: 'ibstat' shows them",
			       text);
	*ret = found;
	return 0;
}

static void fill_local(struct hca_port *local, const struct local_port *port)
{
	memcpy(local->ca_name, port->ca_name, sizeof(local->ca_name));
	local->port = port->port;
	local->port_guid = port->port_guid;
	local->lid = port->lid;
	local->sm_lid = port->sm_lid;
}

/* Without ib_umad, umad_open_port() prints a warning of its own. Source: libibumad umad.c, get_abi_version. */
static bool umad_is_loaded(void)
{
	int fd = open(SYS_INFINIBAND_MAD "/abi_version", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int hca_find(const char *ca_name, int port, const char *smi_ca, struct hca_port *ret, struct error *err)
{
	struct port_list list = { 0 };
	struct hca_port local = { 0 };
	struct hca_choice choice;
	int code = list_ports(&list, err);

	if (code < 0)
		goto out;
	choice = hca_choose(list.ports, list.count, ca_name, port);
	if (choice.gmp == CHOICE_NONE) {
		code = explain(ca_name, port, &list, err);
		goto out;
	}
	local.planes = local.directed = hca_is_split(list.ports, list.count, choice.gmp);
	if (smi_ca)
		code = find_smp_port(&list, smi_ca, &choice.smp, err);
	if (code < 0)
		goto out;
	fill_local(&local, &list.ports[choice.gmp]);
	memcpy(local.smi_ca_name, list.ports[choice.smp].ca_name, sizeof(local.smi_ca_name));
	local.smi_port = list.ports[choice.smp].port;
	if (!umad_is_loaded())
		code = err_set(err, ERR_UNAVAILABLE, "%s port %d has no umad device: load ib_umad (modprobe ib_umad)",
			       local.ca_name, local.port);
	else if (local.sm_lid && local.lid)
		*ret = local;
	else
		code = err_set(err, ERR_UNAVAILABLE, "no subnet manager has configured %s port %d: start one (opensm)",
			       local.ca_name, local.port);
out:
	free(list.ports);
	return code;
}

int hca_refresh(struct hca_port *local, struct error *err)
{
	char path[128], text[16];
	ssize_t len = -1;
	long lid = 0;
	int fd;

	snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/ports/%d/sm_lid", local->ca_name, local->port);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (len > 0) {
		text[len] = '\0';
		lid = strtol(text, NULL, 0);
	}
	if (len <= 0 || lid < 0 || lid > UINT16_MAX)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d is gone: was its driver unloaded?", local->ca_name,
			       local->port);
	local->sm_lid = (uint16_t)lid;
	return 0;
}

size_t hca_choose_pkey(const uint16_t *pkeys, size_t count, uint16_t wanted)
{
	size_t found = CHOICE_NONE;

	for (size_t i = 0; i < count; i++) {
		if (pkeys[i] == (wanted | PKEY_FULL))
			return i;
		if (pkeys[i] == (wanted & ~PKEY_FULL) && pkeys[i])
			found = i;
	}
	return found;
}

int hca_set_pkey(struct hca_port *local, const char *text, struct error *err)
{
	long wanted = PKEY_DEFAULT;
	size_t index;
	umad_port_t port;
	char *end;

	if (text) {
		wanted = strtol(text, &end, 16);
		if (end == text || *end || wanted < 1 || wanted > UINT16_MAX || wanted == PKEY_FULL)
			return err_set(err, ERR_USAGE,
				       "--pkey must be a P_Key in hexadecimal, such as 0x8001, not '%s'", text);
	}
	if (umad_get_port(local->ca_name, local->port, &port) < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d is gone: was its driver unloaded?", local->ca_name,
			       local->port);
	index = hca_choose_pkey(port.pkeys, port.pkeys_size, (uint16_t)wanted);
	local->pkey_index = index == CHOICE_NONE ? 0 : (uint16_t)index;
	local->pkey = index == CHOICE_NONE ? 0 : port.pkeys[index];
	umad_release_port(&port);
	if (text && index == CHOICE_NONE)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d is not a member of partition 0x%04lx: its P_Keys "
			       "are in " SYS_INFINIBAND "/%s/ports/%d/pkeys", local->ca_name, local->port, wanted,
			       local->ca_name, local->port);
	return 0;
}

/*
 * Set the destination in the umad header: SMPs go to queue pair 0, which has no keys. A redirection
 * has its own service level.
 */
static void put_address(const struct hca *hca, const struct mad_address *to, bool smp)
{
	uint32_t qp = to->qp ? to->qp : 1, qkey = to->qkey ? to->qkey : QP1_QKEY;
	uint8_t sl = to->qp || smp ? to->sl : hca->sl;

	umad_set_addr(hca->buffer, to->lid, smp ? 0 : (int)qp, sl, smp ? 0 : (int)qkey);
	umad_set_pkey(hca->buffer, smp ? 0 : hca->pkey_index);
}

static int hca_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		    struct error *err)
{
	struct hca *hca = ctx;
	bool smp = mad_is_smp(mad);
	int agent = mad[1] == CLASS_PERFORMANCE ? hca->pma_agent :
		    mad[1] == CLASS_VENDOR_MLNX ? hca->vendor_agent :
		    mad[1] == CLASS_SUBN_LID ? hca->smp_agent : hca->directed_agent;
	int fd = hca->fd[smp && hca->fd[DEVICE_SMP] >= 0 ? DEVICE_SMP : DEVICE_GMP];

	if (!hca->gate(mad) || agent < 0)
		return err_set(err, ERR_INTERNAL,
			       "refused to send a MAD that is not allowed here (class 0x%02x, method 0x%02x)", mad[1],
			       mad[3]);
	memset(hca->buffer, 0, umad_size());
	memcpy(umad_get_mad(hca->buffer), mad, MAD_SIZE);
	put_address(hca, to, smp);
	if (umad_send(fd, agent, hca->buffer, MAD_SIZE, (int)timeout_ms, 0) == 0) {
		hca->refused_in_a_row = 0;
		return 0;
	}
	/* A single error is a lost MAD; only many indicate a failed device. */
	if (++hca->refused_in_a_row < ERRORS_UNTIL_GONE)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "the InfiniBand device accepts no MADs any more: %s", strerror(errno));
}

/* Receive from one device. Return: as umad_recv(), errno is set if it is negative. */
static int receive_from(struct hca *hca, enum device device, unsigned timeout_ms)
{
	int length = MAD_SIZE, code;

	errno = 0;
	code = umad_recv(hca->fd[device], hca->buffer, &length, (int)timeout_ms);
	if (code < 0 || length >= MAD_SIZE || umad_status(hca->buffer))
		return code;
	/* The rest of the buffer is from an earlier MAD. */
	errno = EAGAIN;
	return -EAGAIN;
}

static bool is_nothing(int cause)
{
	return cause == EAGAIN || cause == EWOULDBLOCK || cause == ETIMEDOUT || cause == EINTR;
}

/* Check one device and wait for the other: the simulator's descriptors support no common poll(). */
static int receive_from_both(struct hca *hca, unsigned timeout_ms)
{
	enum device first = hca->turn;
	int code;

	hca->turn = first == DEVICE_GMP ? DEVICE_SMP : DEVICE_GMP;
	code = receive_from(hca, first, 0);
	if (code >= 0 || !is_nothing(errno))
		return code;
	return receive_from(hca, hca->turn, timeout_ms);
}

static int hca_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct hca *hca = ctx;
	int code = hca->fd[DEVICE_SMP] >= 0 ? receive_from_both(hca, timeout_ms)
					    : receive_from(hca, DEVICE_GMP, timeout_ms);

	if (code < 0) {
		int cause = errno;

		if (is_nothing(cause)) {
			hca->errors_in_a_row = 0;
			return TRANSPORT_NOTHING;
		}
		hca->removed = cause == EIO;
		if (hca->removed)
			return err_set(err, ERR_UNAVAILABLE,
				       "the InfiniBand device was removed (was its driver unloaded?)");
		if (++hca->errors_in_a_row < ERRORS_UNTIL_GONE)
			return TRANSPORT_NOTHING;
		return err_set(err, ERR_UNAVAILABLE, "the InfiniBand device does not respond any more: %s",
			       strerror(cause));
	}
	hca->errors_in_a_row = 0;
	memcpy(mad, umad_get_mad(hca->buffer), MAD_SIZE);
	/* A MAD without a response is returned with its own header and a status (ETIMEDOUT). */
	return umad_status(hca->buffer) ? TRANSPORT_TIMEOUT : TRANSPORT_MAD;
}

static int open_device(const char *ca_name, int port, int *ret_fd, struct error *err)
{
	int fd, cause;

	errno = 0;
	fd = umad_open_port(ca_name, port);
	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	cause = errno ? errno : -fd;
	if (cause == EACCES || cause == EPERM)
		return err_set(err, ERR_UNAVAILABLE,
			       "no permission to open the umad device of %s port %d: run as root, or as the "
			       "owner of /dev/infiniband/umad*", ca_name, port);
	return err_set(err, ERR_UNAVAILABLE,
		       "cannot open the umad device of %s port %d: %s; see the kernel log (dmesg)", ca_name, port,
		       strerror(cause));
}

/* Register one agent for each class, at the device that supports it. */
static int register_agents(struct hca *hca, const struct hca_port *local, struct error *err)
{
	int fd = hca->fd[hca->fd[DEVICE_SMP] >= 0 ? DEVICE_SMP : DEVICE_GMP];

	hca->smp_agent = local->no_smps ? -1 : umad_register(fd, CLASS_SUBN_LID, 1, 0, NULL);
	hca->directed_agent = local->no_smps ? -1 : umad_register(fd, CLASS_SUBN_DIRECTED, 1, 0, NULL);
	if (!local->no_smps && (hca->smp_agent < 0 || hca->directed_agent < 0))
		return err_set(err, ERR_UNAVAILABLE, "%s port %d rejects an agent for SMPs: %s", local->smi_ca_name,
			       local->smi_port, strerror(errno));
	hca->pma_agent = umad_register(hca->fd[DEVICE_GMP], CLASS_PERFORMANCE, 1, 0, NULL);
	if (hca->pma_agent < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d rejects an agent for performance MADs: %s",
			       local->ca_name, local->port, strerror(errno));
	hca->vendor_agent = local->vendor_class ?
			    umad_register(hca->fd[DEVICE_GMP], CLASS_VENDOR_MLNX, 1, 0, NULL) : -1;
	if (local->vendor_class && hca->vendor_agent < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d rejects an agent for the vendor class of firmware "
			       "queries: %s; collect without --firmware", local->ca_name, local->port,
			       strerror(errno));
	return 0;
}

int hca_open(const struct hca_port *local, struct hca **ret, struct error *err)
{
	return hca_open_gated(local, mad_is_allowed, ret, err);
}

int hca_open_gated(const struct hca_port *local, mad_gate *gate, struct hca **ret, struct error *err)
{
	bool split = local->smi_ca_name[0] && !local->no_smps &&
		     (strcmp(local->ca_name, local->smi_ca_name) != 0 || local->port != local->smi_port);
	struct hca *hca = calloc(1, sizeof(*hca));
	int code;

	if (!hca)
		return err_nomem(err);
	hca->fd[DEVICE_GMP] = hca->fd[DEVICE_SMP] = -1;
	code = open_device(local->ca_name, local->port, &hca->fd[DEVICE_GMP], err);
	if (code == 0 && split)
		code = open_device(local->smi_ca_name, local->smi_port, &hca->fd[DEVICE_SMP], err);
	if (code == 0)
		code = register_agents(hca, local, err);
	if (code < 0)
		goto fail;
	/* umad_size() is correct only after the first open. */
	hca->buffer = calloc(1, umad_size() + MAD_SIZE);
	if (!hca->buffer) {
		code = err_nomem(err);
		goto fail;
	}
	hca->gate = gate;
	hca->pkey_index = local->pkey_index;
	hca->sl = local->sl;
	hca->transport.send = hca_send;
	hca->transport.receive = hca_receive;
	hca->transport.ctx = hca;
	*ret = hca;
	return 0;
fail:
	hca_close(hca);
	return code;
}

void hca_close(struct hca *hca)
{
	if (!hca)
		return;
	for (int i = 0; i < DEVICE_COUNT; i++)
		if (hca->fd[i] >= 0)
			umad_close_port(hca->fd[i]);
	hca_leave(hca);
}

bool hca_was_removed(const struct hca *hca)
{
	return hca->removed;
}

void hca_leave(struct hca *hca)
{
	if (!hca)
		return;
	free(hca->buffer);
	free(hca);
}

const struct transport *hca_transport(struct hca *hca)
{
	return &hca->transport;
}
