/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hca_choice.h - which local port asks, and which one sends its SMPs
 *
 * An HCA whose port is an aggregate of planes (ConnectX-8 with XDR) shows as two
 * devices: one for data and GMPs, whose port says that it has no subnet
 * management (IsSMDisabled), and one for SMPs alone, with a port for each plane.
 * They belong together by the GUID of their ports.
 *
 * Source: rdma-core libibumad umad.c (after 44.0), umad_get_smi_gsi_pairs(); Linux
 * 6.11, "RDMA/mlx5: Support plane device and driver APIs to add and delete it":
 * a plane device supports queue pair 0 only.
 */
#ifndef IBWIRE_WIRE_HCA_CHOICE_H
#define IBWIRE_WIRE_HCA_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Indices into the list of ports; CHOICE_NONE: there is none. */
#define CHOICE_NONE SIZE_MAX

struct hca_choice {
	size_t gmp; /* sends performance MADs; its LID is ours */
	size_t smp; /* sends SMPs: the same where the HCA is one device */
};

/*
 * hca_choose - the first Active port that fits, and its partner
 * @ca_name:  or NULL: any device. The one for SMPs stands for its partner, too.
 * @port:     or 0: any. Of the device that is named.
 *
 * Return: both indices, or both CHOICE_NONE. A device that is split, but whose
 * part for SMPs is not Active, gets SMPs through a port of it all the same, the first.
 */
struct hca_choice hca_choose(const struct local_port *ports, size_t count, const char *ca_name, int port);

/*
 * hca_is_split - is this port's HCA split into two devices?
 * @index:  a choice's gmp
 */
bool hca_is_split(const struct local_port *ports, size_t count, size_t index);

#endif
