/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* device.h - product names of nodes */
#ifndef IBWIRE_FABRIC_DEVICE_H
#define IBWIRE_FABRIC_DEVICE_H

#include <stdbool.h>

struct node;

/* NodeInfo.VendorID, an OUI; Mellanox: also NVIDIA. Bull uses its chips. Source: libibnetdisc/chassis.h. */
enum { VENDOR_MELLANOX = 0x2c9, VENDOR_VOLTAIRE = 0x8f1, VENDOR_BULL = 0x119f };

/*
 * device_has_general_info - may the node respond to GeneralInfo of Mellanox's vendor class?
 * Source: infiniband-diags vendstat.c: its devices.
 */
bool device_has_general_info(const struct node *node);

/*
 * device_model - "Quantum-2 QM9700", "ConnectX-7"
 * By VendorID and DeviceID of NodeInfo; a managed switch has its model in the description,
 * "MF0;NAME:MQM9700/U1".
 * Return: @ret; NULL if the device is unknown.
 */
#define DEVICE_MODEL_SIZE 64
const char *device_model(const struct node *node, char ret[DEVICE_MODEL_SIZE]);

#endif
