/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* general_info.h - decode GeneralInfo, a vendor-specific attribute of NVIDIA devices: the version of their firmware */
#ifndef IBWIRE_WIRE_GENERAL_INFO_H
#define IBWIRE_WIRE_GENERAL_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/firmware.h"
#include "wire/mad.h"

/*
 * general_info_read - the firmware from a response
 * @ret:  at_us and changed_us are kept; untouched if there is none
 *
 * Return: false: an error status, or no version.
 * Source: infiniband-diags vendstat.c: structs is3_general_info_t and is4_general_info_t, from byte 24 of the MAD
 * (libibmad mad.h, IB_VENDOR_RANGE1_DATA_OFFS). ibdiagnet uses the extended version unless it is 0, for any device
 * (its public header ibdiag_types.h, struct fw_version_obj); vendstat has a list of devices, which ends with
 * ConnectX-6. Older devices have their software version there.
 */
bool general_info_read(const uint8_t mad[MAD_SIZE], struct firmware *ret);

#endif
