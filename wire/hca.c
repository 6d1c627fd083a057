/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/hca.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "wire/mad.h"
#include "wire/transport.h"

/* The well-known key of QP1. Source: IBA Vol 1, 3.5.3 and 13.5.1. */
#define QP1_QKEY 0x80010000

/* Errors of the device in a row, after which it is gone for good. */
#define ERRORS_UNTIL_GONE 100

struct hca {
	int fd;
	int smp_agent, pma_agent;
	mad_gate *gate;
	void *buffer; /* umad header and one MAD */
	unsigned errors_in_a_row;  /* of receiving */
	unsigned refused_in_a_row; /* sends */
	struct transport transport;
};

static bool is_infiniband(const umad_port_t *port)
{
	/* Kernels before 2.6.37, and the simulator, name no link layer. */
	return !port->link_layer[0] || !strcmp(port->link_layer, "InfiniBand") || !strcmp(port->link_layer, "IB");
}

static void fill_local(struct hca_port *local, const umad_port_t *port)
{
	snprintf(local->ca_name, sizeof(local->ca_name), "%s", port->ca_name);
	local->port = port->portnum;
	local->port_guid = be64toh(port->port_guid);
	local->lid = (uint16_t)port->base_lid;
	local->sm_lid = (uint16_t)port->sm_lid;
}

/* What was seen while looking for a port, to explain a failure. */
struct search {
	unsigned devices, infiniband_ports;
	char best[64]; /* "mlx5_0 port 1 is Down" */
};

/* Look through one device's ports for an Active one. */
static bool search_device(const char *ca_name, int wanted, struct search *search, struct hca_port *ret)
{
	bool found = false;
	umad_ca_t ca;
	int i;

	if (umad_get_ca(ca_name, &ca) < 0)
		return false;
	search->devices++;
	for (i = 0; i < UMAD_CA_MAX_PORTS && !found; i++) {
		const umad_port_t *port = ca.ports[i];

		if (!port || !is_infiniband(port) || (wanted > 0 && port->portnum != wanted))
			continue;
		search->infiniband_ports++;
		found = port->state == PORT_ACTIVE;
		if (found)
			fill_local(ret, port);
		else
			snprintf(search->best, sizeof(search->best), "%s port %d is %s", ca_name, port->portnum,
				 port_state_name((uint8_t)port->state));
	}
	umad_release_ca(&ca);
	return found;
}

static int explain(const char *ca_name, int port, const struct search *search, struct error *err)
{
	if (!search->devices && ca_name)
		return err_set(err, ERR_UNAVAILABLE, "there is no InfiniBand device '%s' here: 'ibstat -l' lists them",
			       ca_name);
	if (!search->devices)
		return err_set(err, ERR_UNAVAILABLE,
			       "there is no InfiniBand device on this host: load its driver and ib_umad, or go to a "
			       "host that has one");
	if (!search->infiniband_ports && port > 0)
		return err_set(err, ERR_UNAVAILABLE, "no device here has an InfiniBand port %d: 'ibstat' shows them",
			       port);
	if (!search->infiniband_ports)
		return err_set(err, ERR_UNAVAILABLE,
			       "the devices here have Ethernet ports only: ibwire needs InfiniBand");
	return err_set(err, ERR_UNAVAILABLE, "no port is Active (%s): check the cable, and that a subnet manager runs",
		       search->best);
}

int hca_find(const char *ca_name, int port, struct hca_port *ret, struct error *err)
{
	struct search search = { 0 };
	struct hca_port local = { 0 };
	bool found = false;

	if (ca_name) {
		found = search_device(ca_name, port, &search, &local);
	} else {
		struct umad_device_node *devices = umad_get_ca_device_list(), *device;

		for (device = devices; device && !found; device = device->next)
			found = search_device(device->ca_name, port, &search, &local);
		umad_free_ca_device_list(devices);
	}
	if (!found)
		return explain(ca_name, port, &search, err);
	if (!local.sm_lid || !local.lid)
		return err_set(err, ERR_UNAVAILABLE, "no subnet manager has configured %s port %d: start one (opensm)",
			       local.ca_name, local.port);
	*ret = local;
	return 0;
}

int hca_refresh(struct hca_port *local, struct error *err)
{
	umad_port_t port;

	if (umad_get_port(local->ca_name, local->port, &port) < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s port %d is gone: was its driver unloaded?", local->ca_name,
			       local->port);
	fill_local(local, &port);
	umad_release_port(&port);
	return 0;
}

/* The addressee of a MAD in the umad header: SMPs go to queue pair 0, which has no key. */
static void put_address(void *buffer, const struct mad_address *to, bool smp)
{
	uint32_t qp = to->qp ? to->qp : 1, qkey = to->qkey ? to->qkey : QP1_QKEY;

	umad_set_addr(buffer, to->lid, smp ? 0 : (int)qp, to->sl, smp ? 0 : (int)qkey);
	umad_set_pkey(buffer, smp ? 0 : to->pkey_index);
}

static int hca_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		    struct error *err)
{
	struct hca *hca = ctx;
	bool smp = mad[1] == CLASS_SUBN_LID;

	if (!hca->gate(mad))
		return err_set(err, ERR_INTERNAL,
			       "refused to send a MAD that is not allowed here (class 0x%02x, method 0x%02x)", mad[1],
			       mad[3]);
	memset(hca->buffer, 0, umad_size());
	memcpy(umad_get_mad(hca->buffer), mad, MAD_SIZE);
	put_address(hca->buffer, to, smp);
	if (umad_send(hca->fd, smp ? hca->smp_agent : hca->pma_agent, hca->buffer, MAD_SIZE, (int)timeout_ms, 0) == 0) {
		hca->refused_in_a_row = 0;
		return 0;
	}
	/* One is a MAD that is lost, and ends as others do; only many say something about the device. */
	if (++hca->refused_in_a_row < ERRORS_UNTIL_GONE)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "the InfiniBand device takes no MADs any more: %s", strerror(errno));
}

static int hca_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct hca *hca = ctx;
	int length = MAD_SIZE;

	if (umad_recv(hca->fd, hca->buffer, &length, (int)timeout_ms) < 0) {
		int cause = errno;

		if (cause == EAGAIN || cause == EWOULDBLOCK || cause == ETIMEDOUT || cause == EINTR) {
			hca->errors_in_a_row = 0;
			return TRANSPORT_NOTHING;
		}
		if (++hca->errors_in_a_row < ERRORS_UNTIL_GONE)
			return TRANSPORT_NOTHING;
		return err_set(err, ERR_UNAVAILABLE, "the InfiniBand device does not answer any more: %s",
			       strerror(cause));
	}
	hca->errors_in_a_row = 0;
	memcpy(mad, umad_get_mad(hca->buffer), MAD_SIZE);
	/* A MAD that nobody answered comes back with its own header and a status (ETIMEDOUT). */
	return umad_status(hca->buffer) ? TRANSPORT_TIMEOUT : TRANSPORT_MAD;
}

int hca_open(const struct hca_port *local, struct hca **ret, struct error *err)
{
	return hca_open_gated(local, mad_is_allowed, ret, err);
}

int hca_open_gated(const struct hca_port *local, mad_gate *gate, struct hca **ret, struct error *err)
{
	struct hca *hca = calloc(1, sizeof(*hca));
	int code = ERR_UNAVAILABLE;

	if (!hca)
		return err_nomem(err);
	errno = 0;
	hca->fd = umad_open_port(local->ca_name, local->port);
	if (hca->fd < 0) {
		int cause = errno ? errno : -hca->fd;

		if (cause == EACCES || cause == EPERM)
			err_set(err, ERR_UNAVAILABLE,
				"no right to open the umad device of %s port %d: run as root, or as the user that "
				"/dev/infiniband/umad* belongs to", local->ca_name, local->port);
		else
			err_set(err, ERR_UNAVAILABLE,
				"cannot open the umad device of %s port %d: %s (is ib_umad loaded?)", local->ca_name,
				local->port, strerror(cause));
		goto fail_open;
	}
	hca->smp_agent = umad_register(hca->fd, CLASS_SUBN_LID, 1, 0, NULL);
	hca->pma_agent = umad_register(hca->fd, CLASS_PERFORMANCE, 1, 0, NULL);
	if (hca->smp_agent < 0 || hca->pma_agent < 0) {
		err_set(err, ERR_UNAVAILABLE, "%s port %d takes no agents for management MADs: %s", local->ca_name,
			local->port, strerror(errno));
		goto fail_register;
	}
	/* umad_size() changes with the first open: only now is it right. */
	hca->buffer = calloc(1, umad_size() + MAD_SIZE);
	if (!hca->buffer) {
		code = err_nomem(err);
		goto fail_register;
	}
	hca->gate = gate;
	hca->transport.send = hca_send;
	hca->transport.receive = hca_receive;
	hca->transport.ctx = hca;
	*ret = hca;
	return 0;
fail_register:
	umad_close_port(hca->fd);
fail_open:
	free(hca);
	return code;
}

void hca_close(struct hca *hca)
{
	if (!hca)
		return;
	umad_close_port(hca->fd);
	free(hca->buffer);
	free(hca);
}

const struct transport *hca_transport(struct hca *hca)
{
	return &hca->transport;
}
