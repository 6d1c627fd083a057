/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* hca.h - a port of a local HCA, through libibumad */
#ifndef IBWIRE_WIRE_HCA_H
#define IBWIRE_WIRE_HCA_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/hca_choice.h"
#include "wire/mad.h"

struct error;
struct transport;
struct hca;

/* A local port from which a collector polls. */
struct hca_port {
	char ca_name[CA_NAME_SIZE];
	int port;
	uint64_t port_guid;
	uint16_t lid;
	uint16_t sm_lid;
	char smi_ca_name[CA_NAME_SIZE]; /* sends SMPs: itself, unless the HCA is split */
	int smi_port;
	bool directed;                  /* SMPs use directed routes: LID-routed ones would not arrive */
	bool planes;                    /* the HCA is split: its port is an aggregate of planes (wire/hca_choice.h) */
};

/*
 * hca_find - choose the local port, as the infiniband-diags do
 * @ca_name:  or NULL: the first device with an Active InfiniBand port
 * @port:     or 0: the first Active port of the device
 * @smi_ca:   "NAME" or "NAME:PORT" of the port that sends SMPs, or NULL: itself, or its partner
 *            where the HCA is split into two devices (wire/hca_choice.h)
 *
 * Return: 0; ERR_UNAVAILABLE where there is no InfiniBand device, no such one, no Active port, or
 * no subnet manager: the text says which and what to do; ERR_USAGE where @smi_ca is of another
 * form; ERR_NOMEM.
 */
int hca_find(const char *ca_name, int port, const char *smi_ca, struct hca_port *ret, struct error *err);

/*
 * hca_open - open a port for sending Gets of SMPs and performance MADs
 * Return: 0; ERR_UNAVAILABLE where the device cannot be opened (the text names
 * the right that is missing).
 */
int hca_open(const struct hca_port *local, struct hca **ret, struct error *err);

/* Decides which MADs a device may send; others fail. */
typedef bool mad_gate(const uint8_t mad[MAD_SIZE]);

/*
 * hca_open_gated - hca_open() with another gate than mad_is_allowed()
 * Only for wire/clear, which writes; tests/source_test.sh checks that.
 */
int hca_open_gated(const struct hca_port *local, mad_gate *gate, struct hca **ret, struct error *err);
void hca_close(struct hca *hca);

/*
 * hca_leave - free it, and leave closing the device to the end of the process
 * For a process that ends by _exit() while responses may still arrive. umad2sim crashes if one
 * arrives at a closed device, and hangs if one arrives during exit (ibsim 0.10, umad2sim.c,
 * __receiver and umad2sim_cleanup()).
 */
void hca_leave(struct hca *hca);

/* hca_transport - its transport (valid while it is open). */
const struct transport *hca_transport(struct hca *hca);

/* hca_refresh - read LIDs again. Return: 0 or ERR_UNAVAILABLE. */
int hca_refresh(struct hca_port *local, struct error *err);

#endif
