/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/mad.h"

#include <stddef.h>
#include <string.h>

#include "fabric/path.h"

#define BASE_VERSION 1
#define CLASS_VERSION 1

uint16_t get_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

uint32_t get_be32(const uint8_t *bytes)
{
	return (uint32_t)get_be16(bytes) << 16 | get_be16(bytes + 2);
}

uint64_t get_be64(const uint8_t *bytes)
{
	return (uint64_t)get_be32(bytes) << 32 | get_be32(bytes + 4);
}

void put_be16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

void put_be32(uint8_t *bytes, uint32_t value)
{
	put_be16(bytes, (uint16_t)(value >> 16));
	put_be16(bytes + 2, (uint16_t)value);
}

void put_be64(uint8_t *bytes, uint64_t value)
{
	put_be32(bytes, (uint32_t)(value >> 32));
	put_be32(bytes + 4, (uint32_t)value);
}

void mad_init(uint8_t mad[MAD_SIZE], const struct mad_header *header)
{
	memset(mad, 0, MAD_SIZE);
	mad[0] = BASE_VERSION;
	mad[1] = header->mgmt_class;
	mad[2] = CLASS_VERSION;
	mad[3] = header->method;
	put_be32(mad + 12, header->tid);
	put_be16(mad + 16, header->attribute);
	put_be32(mad + 20, header->modifier);
}

void mad_put_mkey(uint8_t mad[MAD_SIZE], uint64_t mkey)
{
	put_be64(mad + 24, mkey);
}

void mad_put_path(uint8_t mad[MAD_SIZE], const struct path *path)
{
	mad[6] = 0;
	mad[7] = path->hops;
	put_be16(mad + 32, LID_PERMISSIVE);
	put_be16(mad + 34, LID_PERMISSIVE);
	memcpy(mad + 129, path->ports, path->hops);
}

bool mad_is_smp(const uint8_t mad[MAD_SIZE])
{
	return mad[1] == CLASS_SUBN_LID || mad[1] == CLASS_SUBN_DIRECTED;
}

struct mad_header mad_read_header(const uint8_t mad[MAD_SIZE])
{
	return (struct mad_header){
		.mgmt_class = mad[1],
		.method = mad[3],
		.status = get_be16(mad + 4),
		.tid = get_be32(mad + 12),
		.attribute = get_be16(mad + 16),
		.modifier = get_be32(mad + 20),
	};
}

bool mad_is_allowed(const uint8_t mad[MAD_SIZE])
{
	/* SMPs by either route. */
	static const struct {
		uint8_t mgmt_class;
		uint16_t attribute;
	} allowed[] = {
		{ CLASS_SUBN_LID, SMP_NODE_DESCRIPTION },
		{ CLASS_SUBN_LID, SMP_NODE_INFO },
		{ CLASS_SUBN_LID, SMP_SWITCH_INFO },
		{ CLASS_SUBN_LID, SMP_PORT_INFO },
		{ CLASS_SUBN_LID, SMP_PKEY_TABLE },
		{ CLASS_SUBN_LID, SMP_LINEAR_FORWARDING_TABLE },
		{ CLASS_SUBN_LID, SMP_SM_INFO },
		{ CLASS_SUBN_LID, SMP_PORT_INFO_EXTENDED },
		{ CLASS_SUBN_LID, SMP_MLNX_ADAPTIVE_ROUTING_INFO },
		{ CLASS_SUBN_LID, SMP_MLNX_EXTENDED_PORT_INFO },
		/* Discovery uses directed routes. */
		{ CLASS_SUBN_DIRECTED, SMP_MLNX_EXTENDED_PORT_INFO },
		{ CLASS_PERFORMANCE, PMA_CLASS_PORT_INFO },
		{ CLASS_PERFORMANCE, PMA_PORT_SAMPLES_CONTROL },
		{ CLASS_PERFORMANCE, PMA_PORT_COUNTERS },
		{ CLASS_PERFORMANCE, PMA_PORT_RCV_ERROR_DETAILS },
		{ CLASS_PERFORMANCE, PMA_PORT_XMIT_DISCARD_DETAILS },
		{ CLASS_PERFORMANCE, PMA_PORT_OP_RCV },
		{ CLASS_PERFORMANCE, PMA_PORT_FLOW_CTL },
		{ CLASS_PERFORMANCE, PMA_PORT_VL_OP_PACKETS },
		{ CLASS_PERFORMANCE, PMA_PORT_VL_OP_DATA },
		{ CLASS_PERFORMANCE, PMA_PORT_VL_FLOW_CTL_ERRORS },
		{ CLASS_PERFORMANCE, PMA_PORT_VL_XMIT_WAIT },
		{ CLASS_PERFORMANCE, PMA_PORT_COUNTERS_EXTENDED },
		{ CLASS_PERFORMANCE, PMA_PORT_EXTENDED_SPEEDS },
		{ CLASS_PERFORMANCE, PMA_SW_PORT_VL_CONGESTION },
		{ CLASS_PERFORMANCE, PMA_PORT_RCV_CON_CTRL },
		{ CLASS_PERFORMANCE, PMA_PORT_SL_RCV_FECN },
		{ CLASS_PERFORMANCE, PMA_PORT_SL_RCV_BECN },
		{ CLASS_PERFORMANCE, PMA_PORT_XMIT_CON_CTRL },
		{ CLASS_PERFORMANCE, PMA_PORT_VL_XMIT_TIME_CONG },
		{ CLASS_PERFORMANCE, PMA_PORT_XMIT_DATA_SL },
		{ CLASS_PERFORMANCE, PMA_PORT_RCV_DATA_SL },
		{ CLASS_PERFORMANCE, PMA_PORT_XMIT_DATA_SL_EXT },
		{ CLASS_PERFORMANCE, PMA_PORT_RCV_DATA_SL_EXT },
		{ CLASS_VENDOR_MLNX, MLNX_GENERAL_INFO },
	};
	uint8_t either_route = mad_is_smp(mad) ? CLASS_SUBN_LID : mad[1];
	uint16_t attribute = get_be16(mad + 16);

	if (mad[0] != BASE_VERSION || mad[2] != CLASS_VERSION || mad[3] != METHOD_GET)
		return false;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (attribute == allowed[i].attribute &&
		    (mad[1] == allowed[i].mgmt_class || either_route == allowed[i].mgmt_class))
			return true;
	return false;
}
