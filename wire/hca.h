/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hca.h - the wire itself: one port of a local HCA, through libibumad
 */
#ifndef IBWIRE_WIRE_HCA_H
#define IBWIRE_WIRE_HCA_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/hca_choice.h"
#include "wire/mad.h"

struct error;
struct transport;
struct hca;

/* A local port that a collector can ask from. */
struct hca_port {
	char ca_name[CA_NAME_SIZE];
	int port;
	uint64_t port_guid;
	uint16_t lid;
	uint16_t sm_lid;
	char smi_ca_name[CA_NAME_SIZE]; /* who sends SMPs: itself, but where the HCA is split */
	int smi_port;
	bool directed;                  /* SMPs are routed along paths: by LID they would not arrive */
	bool planes;                    /* the HCA is split: its port is an aggregate of planes (wire/hca_choice.h) */
};

/*
 * hca_find - choose the local port, as the infiniband-diags do
 * @ca_name:  or NULL: the first device with an Active InfiniBand port
 * @port:     or 0: the first Active port of the device
 * @smi_ca:   "NAME" or "NAME:PORT" of the port that sends SMPs, or NULL: itself, or its partner where
 *            the HCA is split into two devices (wire/hca_choice.h)
 *
 * Return: 0; ERR_UNAVAILABLE where there is no InfiniBand device, no such one,
 * no Active port, or no subnet manager: the text says which and what to do;
 * ERR_USAGE where @smi_ca is of another form; ERR_NOMEM.
 */
int hca_find(const char *ca_name, int port, const char *smi_ca, struct hca_port *ret, struct error *err);

/*
 * hca_open - open a port for sending Gets of SMPs and performance MADs
 * Return: 0; ERR_UNAVAILABLE where the device cannot be opened (the text names
 * the right that is missing).
 */
int hca_open(const struct hca_port *local, struct hca **ret, struct error *err);

/* Which MADs a device sends: the others are an error of the send. */
typedef bool mad_gate(const uint8_t mad[MAD_SIZE]);

/*
 * hca_open_gated - the same with another gate than mad_is_allowed()
 * For wire/clear alone, the one that writes: tests/source_test.sh sees to it.
 */
int hca_open_gated(const struct hca_port *local, mad_gate *gate, struct hca **ret, struct error *err);
void hca_close(struct hca *hca);

/*
 * hca_leave - free it, and leave it to the end of the process to close the device
 * For a process that ends by _exit() while answers may still come. umad2sim crashes where one
 * meets a closed device, and hangs where one comes while it exits (ibsim 0.10, umad2sim.c,
 * __receiver and umad2sim_cleanup()).
 */
void hca_leave(struct hca *hca);

/* hca_transport - its table of functions (valid while it is open). */
const struct transport *hca_transport(struct hca *hca);

/* hca_refresh - read LIDs again: they change. Return: 0 or ERR_UNAVAILABLE. */
int hca_refresh(struct hca_port *local, struct error *err);

#endif
