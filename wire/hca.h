/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hca.h - a port of a local HCA, through libibumad
 *
 * An HCA whose port is an aggregate of planes (ConnectX-8 with XDR) has two devices: one for data and
 * GMPs, whose port has no subnet management (IsSMDisabled), and one for SMPs only, with a port for each
 * plane. Their ports have the same GUID. Source: rdma-core libibumad umad.c (after 44.0),
 * umad_get_smi_gsi_pairs(); Linux 6.11, "RDMA/mlx5: Support plane device and driver APIs to add and
 * delete it": a plane device supports queue pair 0 only.
 */
#ifndef IBWIRE_WIRE_HCA_H
#define IBWIRE_WIRE_HCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/pkeys.h"
#include "wire/mad.h"

struct error;
struct transport;
struct hca;

#define CA_NAME_SIZE 20

/* A port of a local device, InfiniBand or not. */
struct local_port {
	char ca_name[CA_NAME_SIZE];
	int port;
	uint64_t port_guid; /* 0: none */
	uint8_t state;      /* enum port_state */
	bool infiniband;
	bool sm_disabled;   /* PortInfo.CapabilityMask IsSMDisabled */
	uint16_t lid, sm_lid;
};

/* Indices into a list of ports; CHOICE_NONE: there is none. */
#define CHOICE_NONE SIZE_MAX

struct hca_choice {
	size_t gmp; /* sends performance MADs */
	size_t smp; /* sends SMPs: the same unless the HCA is split */
};

/*
 * hca_choose - the first Active port that matches, and its partner
 * @ca_name:  a device, the one for GMPs or the one for SMPs; or NULL: any
 * @port:     a port of that device; or 0: any
 *
 * Return: both indices, or both CHOICE_NONE. If no port for SMPs is Active, the first one is chosen.
 */
struct hca_choice hca_choose(const struct local_port *ports, size_t count, const char *ca_name, int port);

/* hca_is_split - is the HCA of this port (hca_choice.gmp) split into two devices? */
bool hca_is_split(const struct local_port *ports, size_t count, size_t index);

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
	bool planes;                    /* the HCA is split: its port is an aggregate of planes */
	bool vendor_class;              /* an agent of CLASS_VENDOR_MLNX */
	bool no_smps;                   /* no agents for SMPs, which a VF need not support: sending one fails */
	/* For performance MADs: */
	uint16_t pkey_index;            /* in the P_Key table of the port */
	uint16_t pkey;                  /* the P_Key there; 0: unknown */
	uint8_t sl;                     /* service level */
};

/*
 * hca_find - choose the local port, as the infiniband-diags do
 * @ca_name:  or NULL: the first device with an Active InfiniBand port
 * @port:     or 0: the first Active port of the device
 * @smi_ca:   "NAME" or "NAME:PORT" of the port that sends SMPs, or NULL: itself, or its partner
 *            if the HCA is split into two devices
 *
 * Return: 0; ERR_UNAVAILABLE: no InfiniBand device, no such one, no Active port, or no subnet manager, as
 * the text says; ERR_USAGE: @smi_ca is invalid; ERR_NOMEM.
 */
int hca_find(const char *ca_name, int port, const char *smi_ca, struct hca_port *ret, struct error *err);

/*
 * hca_choose_pkey - the index of a partition in a P_Key table, as a full member if possible
 * @wanted:  a P_Key; its membership bit is ignored
 * Return: the index; CHOICE_NONE: the port is not a member.
 */
size_t hca_choose_pkey(const uint16_t *pkeys, size_t count, uint16_t wanted);

/*
 * hca_set_pkey - choose the partition of performance MADs
 * @text:  a P_Key in hexadecimal; NULL: the default partition, or index 0 if the port is not a member
 * Return: 0; ERR_USAGE: @text is invalid; ERR_UNAVAILABLE: the port is not a member, or is gone.
 */
int hca_set_pkey(struct hca_port *local, const char *text, struct error *err);

/*
 * hca_open - open a port for sending Gets of SMPs and performance MADs
 * Return: 0; ERR_UNAVAILABLE: the device cannot be opened, e.g. without permission.
 */
int hca_open(const struct hca_port *local, struct hca **ret, struct error *err);

/* Decides which MADs a device may send; others fail. */
typedef bool mad_gate(const uint8_t mad[MAD_SIZE]);

/* hca_open_gated - hca_open() with another gate; only for wire/clear (tests/source_test.sh) */
int hca_open_gated(const struct hca_port *local, mad_gate *gate, struct hca **ret, struct error *err);
void hca_close(struct hca *hca);

/*
 * hca_was_removed - has the kernel removed the device? Then the handle only fails, even if the device returns.
 * Source: Linux user_mad.c, ib_umad_read (agents_dead).
 */
bool hca_was_removed(const struct hca *hca);

/*
 * hca_leave - free it, and leave closing the device to the end of the process
 * For a process that ends by _exit() while responses may still arrive. umad2sim crashes if one
 * arrives at a closed device, and hangs if one arrives during exit (ibsim 0.10, umad2sim.c,
 * __receiver and umad2sim_cleanup()).
 */
void hca_leave(struct hca *hca);

/* hca_transport - its transport (valid while it is open). */
const struct transport *hca_transport(struct hca *hca);

/*
 * hca_refresh - read the LID of the master SM again
 * One file of sysfs: umad_get_port() also reads the tables of P_Keys and GIDs, up to 128 files.
 * Return: 0 or ERR_UNAVAILABLE.
 */
int hca_refresh(struct hca_port *local, struct error *err);

#endif
