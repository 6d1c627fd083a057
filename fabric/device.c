/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"

/*
 * Devices by NodeInfo.DeviceID, which is the PCI device id.
 * Source: pci.ids 2023.04.11, vendor 15b3. Of other sources: Linux,
 * drivers/net/ethernet/mellanox/mlx5/core/main.c (mlx5_core_pci_table): 0x1025, 0x1027;
 * drivers/net/ethernet/mellanox/mlxsw/pci.h: 0xc738, 0xcb20; 0xcf09: fabric/fabric.c.
 */
static const struct {
	uint16_t id;
	const char *name;
} devices[] = {
	{ 0x1003, "ConnectX-3" }, { 0x1007, "ConnectX-3 Pro" }, { 0x1011, "Connect-IB" }, { 0x1013, "ConnectX-4" },
	{ 0x1017, "ConnectX-5" }, { 0x1019, "ConnectX-5 Ex" }, { 0x101b, "ConnectX-6" }, { 0x101d, "ConnectX-6 Dx" },
	{ 0x1021, "ConnectX-7" }, { 0x1023, "ConnectX-8" }, { 0x1025, "ConnectX-9" }, { 0x1027, "ConnectX-10" },
	{ 0x5a44, "InfiniHost" }, { 0x6274, "InfiniHost III Lx" }, { 0x6282, "InfiniHost III Ex" },
	{ 0x6340, "ConnectX" }, { 0x634a, "ConnectX" }, { 0x6732, "ConnectX" }, { 0x673c, "ConnectX" },
	{ 0x6746, "ConnectX" },
	{ 0xa2d2, "BlueField" }, { 0xa2d6, "BlueField-2" }, { 0xa2dc, "BlueField-3" }, { 0xa2df, "BlueField-4" },
	{ 0xc738, "SwitchX" }, { 0xcb20, "Switch-IB" }, { 0xcf08, "Switch-IB 2" }, { 0xcf09, "aggregation node" },
	{ 0xd2f0, "Quantum" }, { 0xd2f2, "Quantum-2" }, { 0xd2f4, "Quantum-3" }, { 0xd2f6, "Quantum-3 CPO" },
};

bool device_has_general_info(const struct node *node)
{
	return node->vendor_id == VENDOR_MELLANOX || node->vendor_id == VENDOR_BULL;
}

/* Length of the model in "MF0;NAME:MODEL/U1", and where it begins; 0: not such a description. */
static int find_model(const char *desc, const char **ret)
{
	const char *colon = strncmp(desc, "MF0;", 4) ? NULL : strrchr(desc, ':');
	int len = colon ? (int)strcspn(colon + 1, "/") : 0;

	for (int i = 0; i < len; i++)
		if (!isalnum((unsigned char)colon[1 + i]))
			return 0;
	/* Order numbers have an M in front of the model, MQM9700 and MSB7800. */
	if (len > 2 && colon[1] == 'M' && isupper((unsigned char)colon[2]) && isupper((unsigned char)colon[3])) {
		colon++;
		len--;
	}
	*ret = len ? colon + 1 : NULL;
	return len;
}

const char *device_model(const struct node *node, char ret[DEVICE_MODEL_SIZE])
{
	const char *model;
	int len;

	for (size_t i = 0; node->vendor_id == VENDOR_MELLANOX && i < sizeof(devices) / sizeof(*devices); i++) {
		if (devices[i].id != node->device_id)
			continue;
		len = node->type == NODE_SWITCH ? find_model(node->desc, &model) : 0;
		if (len)
			snprintf(ret, DEVICE_MODEL_SIZE, "%s %.*s", devices[i].name, len > 32 ? 32 : len, model);
		else
			snprintf(ret, DEVICE_MODEL_SIZE, "%s", devices[i].name);
		return ret;
	}
	return NULL;
}
