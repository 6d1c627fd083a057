/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * softhca.h - interface of /dev/softhca, between the module softhca.c and the program bridge.c
 *
 * Each open file is one HCA: SOFTHCA_CREATE registers it with its identity, closing the file removes it
 * (hot unplug). read() returns one struct softhca_message that the HCA sends; write() delivers one MAD.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SOFTHCA_PORTS 2
#define SOFTHCA_PKEYS 16
#define SOFTHCA_GUIDS 4
#define SOFTHCA_MAD_SIZE 256

/* Values as in PortInfo, in host order, except the speed: that of enum ib_port_speed. */
struct softhca_port {
	__u64 gid_prefix;
	__u64 guids[SOFTHCA_GUIDS]; /* the first is the port GUID */
	__u32 cap_mask;
	__u16 lid, sm_lid;
	__u16 speed;
	__u8 state, phys_state, width, lmc, sm_sl, mtu;
	__u16 pkeys[SOFTHCA_PKEYS];
};

struct softhca_device {
	char name[32];
	char description[64];
	__u64 node_guid, system_guid;
	__u32 port_count, reserved;
	struct softhca_port ports[SOFTHCA_PORTS]; /* port 1 is the first */
};

struct softhca_update {
	__u32 port, reserved;
	struct softhca_port to;
};

enum softhca_kind { SOFTHCA_MAD, SOFTHCA_IS_SM };

struct softhca_message {
	__u8 kind, port;
	__u8 qp; /* 0 or 1 */
	__u8 sl; /* SOFTHCA_IS_SM: 1 if a subnet manager runs at this port, else 0 */
	__u16 lid; /* of the other side */
	__u16 length; /* to the kernel: less than SOFTHCA_MAD_SIZE if the MAD is truncated; 0: all of it */
	__u32 remote_qp;
	__u8 mad[SOFTHCA_MAD_SIZE];
};

#define SOFTHCA_CREATE _IOW('h', 1, struct softhca_device)
#define SOFTHCA_UPDATE _IOW('h', 2, struct softhca_update)

#endif
