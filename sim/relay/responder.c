/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/responder.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "sim/relay/relay_map.h"

/* Attributes. Source: IBA Vol 1, tables 140 (SubnMgt) and 188 (PerfMgt), as in libibmad mad.h. */
enum {
	SMP_NODE_INFO = 0x11, SMP_PORT_INFO_EXTENDED = 0x33,
	PMA_CLASS_PORT_INFO = 0x01, PMA_SAMPLES_CONTROL = 0x10, PMA_COUNTERS = 0x12, PMA_RCV_ERROR_DETAILS = 0x15,
	PMA_XMIT_DISCARD_DETAILS = 0x16, PMA_VL_XMIT_WAIT = 0x1c, PMA_COUNTERS_EXTENDED = 0x1d,
	PMA_EXTENDED_SPEEDS = 0x1f,
};

/* Attributes of the vendor class. Source: infiniband-diags vendstat.c, which reads both. */
enum { VENDOR_CLASS_PORT_INFO = 0x01, VENDOR_GENERAL_INFO = 0x17 };

/* MAD status. Source: IBA Vol 1, 13.4.7. */
enum { STATUS_REDIRECT = 0x0002, STATUS_NO_ATTRIBUTE = 0x000c, STATUS_BAD_FIELD = 0x001c };

#define SMP_DATA_SIZE 64
#define PORT_SELECT 1
#define ALL_PORTS 255
#define QKEY_PMA 0x80010000u
#define DEFAULT_PKEY 0xffff

static bool is_among(uint16_t attribute, const uint16_t *known, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (attribute == known[i])
			return true;
	return false;
}

/* The attributes that ibsim implements. Source: ibsim sim_mad.c, smp_handlers_array. */
static bool ibsim_knows_pma(uint16_t attribute)
{
	static const uint16_t known[] = { 0x01, 0x12, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d };

	return is_among(attribute, known, sizeof(known) / sizeof(known[0]));
}

/* SMInfo (0x20) is included because ibsim passes it to opensm. */
static bool ibsim_knows_smp(uint16_t attribute)
{
	static const uint16_t known[] = { 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x20, 0xff90 };

	return is_among(attribute, known, sizeof(known) / sizeof(known[0]));
}

int responder_init(struct responder *responder, const struct fabric *fabric, struct error *err)
{
	memset(responder, 0, sizeof(*responder));
	responder->fabric = fabric;
	responder->nodes = calloc(fabric->node_count ? fabric->node_count : 1, sizeof(struct responder_node *));
	return responder->nodes ? 0 : err_nomem(err);
}

struct responder_detail *responder_details(struct responder_port *port)
{
	if (!port->detail)
		port->detail = calloc(DETAIL_ATTRIBUTE_COUNT, sizeof(*port->detail));
	return port->detail;
}

void responder_free_ports(struct responder_port *ports, unsigned port_count)
{
	for (unsigned i = 0; ports && i <= port_count; i++)
		free(ports[i].detail);
	free(ports);
}

void responder_done(struct responder *responder)
{
	for (size_t i = 0; responder->nodes && i < responder->fabric->node_count; i++) {
		if (responder->nodes[i])
			responder_free_ports(responder->nodes[i]->ports, responder->fabric->nodes[i].port_count);
		free(responder->nodes[i]);
	}
	free(responder->nodes);
	memset(responder, 0, sizeof(*responder));
}

static const struct responder_node *config_of(const struct responder *responder, uint32_t node)
{
	return node == FABRIC_NONE ? NULL : responder->nodes[node];
}

static bool is_refused(const struct responder_node *config, uint16_t attribute)
{
	return config && is_among(attribute, config->refused, config->refused_count);
}

/* Is the response made here? */
static bool response_is_ours(const struct responder_node *config, const struct exchange *exchange, const uint8_t *mad)
{
	uint16_t attribute = load_be16(mad + MAD_ATTRIBUTE);

	if (mad[MAD_CLASS] == CLASS_PERFORMANCE)
		return !ibsim_knows_pma(attribute) || is_refused(config, attribute) ||
			(config && config->redirect != FABRIC_NONE && !exchange->redirected);
	if (mad[MAD_CLASS] == CLASS_VENDOR_MLNX)
		return true;
	return packet_is_smp(mad) && !ibsim_knows_smp(attribute);
}

uint8_t responder_sent_class(uint8_t mgmt_class)
{
	return mgmt_class == CLASS_VENDOR_MLNX ? CLASS_PERFORMANCE : mgmt_class;
}

void responder_request(const struct responder *responder, uint32_t node, struct exchange *exchange,
			uint8_t mad[PACKET_MAD_SIZE])
{
	const struct responder_node *config = config_of(responder, node);

	exchange->ours = exchange->widening = false;
	exchange->sets = mad[MAD_CLASS] == CLASS_PERFORMANCE && mad[MAD_METHOD] == METHOD_SET;
	if (node == FABRIC_NONE || !response_is_ours(config, exchange, mad))
		return;
	exchange->ours = true;
	memcpy(exchange->saved, mad, PACKET_MAD_SIZE);
	mad[MAD_CLASS] = responder_sent_class(mad[MAD_CLASS]);
	mad[MAD_METHOD] = METHOD_GET;
	store_be16(mad + MAD_ATTRIBUTE, packet_is_smp(mad) ? SMP_NODE_INFO : PMA_CLASS_PORT_INFO);
}

/* --- detail attributes --- */

#define LANES 12

/* Number of lanes of a 4x link. */
#define LANES_USED 4

/* Byte offsets in PortExtendedSpeedsCounters. Source: libibmad fields.c, IB_PESC_* and IB_PESC_RSFEC_*. */
enum {
	SYNC_HEADER_ERRORS = 16, UNKNOWN_BLOCKS = 18, LANES_CORRECTED = 44, LANES_UNCORRECTED = 92,
	RS_CORRECTED_BLOCKS = 140, RS_UNCORRECTED_BLOCKS = 144, RS_CORRECTED_SYMBOLS = 148,
};

/* The counters of an attribute of a port. */
static const struct responder_detail *detail_of(const struct responder_port *port, enum detail_attribute attribute)
{
	static const struct responder_detail none;

	return port->detail ? &port->detail[attribute] : &none;
}

static uint32_t smaller(uint64_t value, uint32_t max)
{
	return value > max ? max : (uint32_t)value;
}

/* Divide a total among the lanes of a 4x link, with the remainder in the first; fields have 32 bits. */
static void spread(uint64_t total, uint8_t *at)
{
	for (unsigned lane = 0; lane < LANES_USED; lane++)
		store_be32(at + 4 * lane, smaller(total / LANES_USED + (lane ? 0 : total % LANES_USED), UINT32_MAX));
}

/* Write the lane counters if any is set, else the divided total of the port. */
static void put_corrected(const struct responder_detail *detail, unsigned total, uint8_t *at)
{
	if (!(detail->set >> DETAIL_FEC_CORRECTED_LANE_0)) {
		spread(detail->value[total], at);
		return;
	}
	for (unsigned lane = 0; lane < LANES; lane++)
		store_be32(at + 4 * lane, smaller(detail->value[DETAIL_FEC_CORRECTED_LANE_0 + lane], UINT32_MAX));
}

static void put_detail(const struct responder_port *port, enum detail_attribute attribute, uint8_t *data)
{
	const struct responder_detail *detail = detail_of(port, attribute);

	for (unsigned number = 0; number < detail_count(attribute); number++)
		if (detail->set >> number & 1)
			detail_put(attribute, number, detail->value[number], data);
}

static void put_extended_speeds(const struct responder_port *port, enum fec_mode mode, uint8_t *data)
{
	const struct responder_detail *detail = detail_of(port, DETAIL_EXTENDED_SPEEDS);
	const uint64_t *value = detail->value;

	memset(data + SYNC_HEADER_ERRORS, 0, PACKET_MAD_DATA_SIZE - SYNC_HEADER_ERRORS);
	store_be16(data + SYNC_HEADER_ERRORS, (uint16_t)smaller(value[DETAIL_SYNC_HEADER_ERRORS], UINT16_MAX));
	store_be16(data + UNKNOWN_BLOCKS, (uint16_t)smaller(value[DETAIL_UNKNOWN_BLOCKS], UINT16_MAX));
	if (mode == FEC_RS || mode == FEC_LOW_LATENCY_RS || mode == FEC_RS2) {
		put_corrected(detail, DETAIL_FEC_CORRECTED_SYMBOLS, data + LANES_CORRECTED);
		store_be32(data + RS_CORRECTED_BLOCKS, smaller(value[DETAIL_FEC_CORRECTED_BLOCKS], UINT32_MAX));
		store_be32(data + RS_UNCORRECTED_BLOCKS, smaller(value[DETAIL_FEC_UNCORRECTED_BLOCKS], UINT32_MAX));
		store_be32(data + RS_CORRECTED_SYMBOLS, smaller(value[DETAIL_FEC_CORRECTED_SYMBOLS], UINT32_MAX));
	} else if (mode == FEC_FIRECODE) {
		put_corrected(detail, DETAIL_FEC_CORRECTED_BLOCKS, data + LANES_CORRECTED);
		spread(value[DETAIL_FEC_UNCORRECTED_BLOCKS], data + LANES_UNCORRECTED);
		if (detail_of(port, DETAIL_LANE_UNCORRECTED)->set)
			memset(data + LANES_UNCORRECTED, 0, 4 * LANES);
		put_detail(port, DETAIL_LANE_UNCORRECTED, data);
	}
	if (mode == FEC_NONE || mode == FEC_FIRECODE)
		put_detail(port, DETAIL_LANE_ERRORS, data);
}

static void clear_detail(struct responder_port *port, enum detail_attribute attribute, const uint8_t *data)
{
	for (unsigned number = 0; port->detail && number < DETAIL_MAX; number++)
		/* The 64 select bits of PortExtendedSpeeds are not distinguished: any bit clears all. */
		if (detail_wire(attribute) == DETAIL_EXTENDED_SPEEDS ? load_be64(data + 8) != 0 :
		    !detail_is_state(attribute) && load_be16(data + 2) >> number & 1)
			port->detail[attribute].value[number] = 0;
}

/* --- responses made here --- */

static void set_status(uint8_t *mad, uint16_t status)
{
	/* The top bit of a directed-route SMP is the direction. */
	store_be16(mad + MAD_STATUS, (uint16_t)((load_be16(mad + MAD_STATUS) & 0x8000) | status));
}

/* Source: IBA Vol 1, 13.4.8.1 ClassPortInfo; offsets as in libibmad fields.c (IB_CPI_*). */
static void put_caps(const struct responder_node *config, uint8_t *info)
{
	uint32_t word = load_be32(info + 4);

	if (config->cap_mask != UINT32_MAX)
		store_be16(info + 2, (uint16_t)config->cap_mask);
	if (config->cap_mask2 != UINT32_MAX)
		word = config->cap_mask2 << 5 | (word & 31);
	if (config->resp_time != UINT32_MAX)
		word = (word & ~31u) | (config->resp_time & 31);
	store_be32(info + 4, word);
}

static void put_redirect(const struct responder *responder, uint32_t node, uint8_t *mad)
{
	const struct responder_node *config = responder->nodes[node];
	uint8_t *info = mad + PACKET_MAD_DATA;

	memset(info, 0, PACKET_MAD_DATA_SIZE);
	info[0] = info[1] = 1;
	put_caps(config, info);
	store_be16(info + 28, responder->map ? relay_map_lid(responder->map, config->redirect, 1) : 0);
	store_be16(info + 30, DEFAULT_PKEY);
	store_be32(info + 32, RESPONDER_REDIRECT_QP + node);
	store_be32(info + 36, QKEY_PMA);
	set_status(mad, STATUS_REDIRECT);
}

/* Attribute of the wire, without those that have their bytes in it. */
static bool is_detail(uint16_t attribute, enum detail_attribute *ret)
{
	static const uint16_t ids[DETAIL_ATTRIBUTE_COUNT] = {
		[DETAIL_RCV_ERRORS] = PMA_RCV_ERROR_DETAILS, [DETAIL_XMIT_DISCARDS] = PMA_XMIT_DISCARD_DETAILS,
		[DETAIL_VL_XMIT_WAIT] = PMA_VL_XMIT_WAIT, [DETAIL_EXTENDED_SPEEDS] = PMA_EXTENDED_SPEEDS,
		[DETAIL_OP_RCV] = 0x17, [DETAIL_FLOW_CTL] = 0x18, [DETAIL_VL_OP_PACKETS] = 0x19,
		[DETAIL_VL_OP_DATA] = 0x1a, [DETAIL_VL_FLOW_CTL_ERRORS] = 0x1b, [DETAIL_VL_CONGESTION] = 0x30,
		[DETAIL_RCV_CON_CTRL] = 0x31, [DETAIL_SL_RCV_FECN] = 0x32, [DETAIL_SL_RCV_BECN] = 0x33,
		[DETAIL_XMIT_CON_CTRL] = 0x34, [DETAIL_VL_XMIT_TIME_CONG] = 0x35, [DETAIL_XMIT_DATA_SL] = 0x36,
		[DETAIL_RCV_DATA_SL] = 0x37, [DETAIL_XMIT_DATA_SL_EXT] = 0x38, [DETAIL_RCV_DATA_SL_EXT] = 0x39,
	};

	for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		if (ids[i] == attribute && attribute) {
			*ret = (enum detail_attribute)i;
			return true;
		}
	return false;
}

/* PortSamplesControl: no sampling in progress. Source: IBA Vol 1, 16.1.3.2 (IB_PSC_* in libibmad fields.c). */
static void put_samples_control(const struct responder_node *config, const struct responder_port *port, uint8_t *data)
{
	uint8_t number = data[PORT_SELECT];

	memset(data, 0, PACKET_MAD_DATA_SIZE);
	data[PORT_SELECT] = number;
	data[2] = (uint8_t)config->tick;
	put_detail(port, DETAIL_SAMPLES_CONTROL, data);
	put_detail(port, DETAIL_SAMPLES_SELECT, data);
}

/* Attributes of detail counters that ibsim lacks exist on a node where one of their counters is set. */
static bool has_detail(const struct responder_node *config, unsigned port_count, enum detail_attribute attribute)
{
	for (unsigned port = 0; port <= port_count; port++)
		if (detail_of(&config->ports[port], attribute)->set)
			return true;
	return false;
}

static void put_other_detail(const struct responder_port *port, enum detail_attribute attribute, uint8_t *data)
{
	memset(data + 2, 0, PACKET_MAD_DATA_SIZE - 2);
	put_detail(port, attribute, data);
}

/* PortInfoExtended: CapMask bit 0 means that FECModeActive is valid. Source: perfquery.c, libibmad IB_PORT_EXT_*. */
static void put_port_info_extended(const struct responder_node *config, uint8_t *data)
{
	memset(data, 0, SMP_DATA_SIZE);
	store_be32(data, 1);
	store_be16(data + 4, (uint16_t)config->fec);
}

/* "20231005" as 0x10, 0x05, 0x2023 */
static void put_date(uint32_t built, uint8_t *at)
{
	uint8_t digits[4] = { 0 };

	for (unsigned i = 0; i < 8; i++, built /= 10)
		digits[3 - i / 2] |= (uint8_t)(built % 10 << 4 * (i % 2));
	at[0] = digits[2];
	at[1] = digits[3];
	at[2] = digits[0];
	at[3] = digits[1];
}

/* GeneralInfo, at its offsets in the MAD. Source: infiniband-diags vendstat.c, struct is4_general_info_t. */
static void put_general_info(const struct node *node, const struct firmware *firmware, uint8_t *mad)
{
	memset(mad + 24, 0, PACKET_MAD_SIZE - 24);
	store_be16(mad + 34, node->device_id);
	mad[65] = (uint8_t)firmware->major;
	mad[66] = (uint8_t)firmware->minor;
	mad[67] = (uint8_t)firmware->sub_minor;
	put_date(firmware->built, mad + 72);
	memcpy(mad + 80, firmware->psid, FIRMWARE_PSID_SIZE - 1);
	store_be32(mad + 100, firmware->major);
	store_be32(mad + 104, firmware->minor);
	store_be32(mad + 108, firmware->sub_minor);
}

static void make_vendor_response(const struct responder *responder, uint32_t node, uint8_t *mad)
{
	const struct responder_node *config = config_of(responder, node);
	uint16_t attribute = load_be16(mad + MAD_ATTRIBUTE);

	if (config && config->firmware.source && attribute == VENDOR_GENERAL_INFO)
		put_general_info(&responder->fabric->nodes[node], &config->firmware, mad);
	else if (!config || !config->firmware.source || attribute != VENDOR_CLASS_PORT_INFO)
		set_status(mad, STATUS_NO_ATTRIBUTE);
}

static void make_response(const struct responder *responder, uint32_t node, bool redirected, uint8_t *mad)
{
	const struct responder_node *config = config_of(responder, node);
	uint16_t attribute = load_be16(mad + MAD_ATTRIBUTE);
	unsigned port_count = responder->fabric->nodes[node].port_count;
	uint8_t *data = mad + PACKET_MAD_DATA;
	enum detail_attribute detail;

	if (mad[MAD_CLASS] == CLASS_VENDOR_MLNX) {
		make_vendor_response(responder, node, mad);
	} else if (packet_is_smp(mad)) {
		if (attribute == SMP_PORT_INFO_EXTENDED && config && config->fec != FEC_UNKNOWN)
			put_port_info_extended(config, data);
		else
			set_status(mad, STATUS_NO_ATTRIBUTE);
	} else if (config && config->redirect != FABRIC_NONE && !redirected) {
		put_redirect(responder, node, mad);
	} else if (is_refused(config, attribute) || !config) {
		set_status(mad, STATUS_NO_ATTRIBUTE);
	} else if (data[PORT_SELECT] > port_count) {
		set_status(mad, STATUS_BAD_FIELD);
	} else if (attribute == PMA_SAMPLES_CONTROL && config->tick != UINT32_MAX) {
		put_samples_control(config, &config->ports[data[PORT_SELECT]], data);
	} else if (attribute == PMA_EXTENDED_SPEEDS && config->fec != FEC_UNKNOWN) {
		put_extended_speeds(&config->ports[data[PORT_SELECT]], config->fec, data);
	} else if (attribute != PMA_EXTENDED_SPEEDS && is_detail(attribute, &detail) &&
		   has_detail(config, port_count, detail)) {
		put_other_detail(&config->ports[data[PORT_SELECT]], detail, data);
	} else {
		set_status(mad, STATUS_NO_ATTRIBUTE);
	}
}

/* --- responses of ibsim, extended --- */

/* Write a field, limited to its maximum; fields that start within a byte do not cross bytes. */
static void put_bits(uint8_t *bytes, unsigned offset, unsigned bits, uint64_t value)
{
	uint64_t max = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	value = value > max ? max : value;
	if (bits < 8) {
		unsigned shift = 8 - offset % 8 - bits;

		bytes[offset / 8] = (uint8_t)((bytes[offset / 8] & ~(max << shift)) | value << shift);
		return;
	}
	for (unsigned i = bits / 8; i > 0; i--, value >>= 8)
		bytes[offset / 8 + i - 1] = (uint8_t)value;
}

/* Write set values, and counters of PortCounters (@narrow) that ibsim lacks, into the fields of an attribute. */
static void put_counters(const struct responder_port *port, enum counter_attribute attribute,
			 const struct reading *narrow, const struct pma_caps *caps, uint8_t *data)
{
	size_t count;
	const struct counter_field *fields = counter_fields(&count);

	for (size_t i = 0; i < count; i++) {
		const struct counter_field *field = &fields[i];
		counter_set bit = COUNTER_BIT(field->counter);

		if (field->attribute != attribute || !pma_caps_meet(caps, field->need))
			continue;
		if (port->set & bit)
			put_bits(data, field->bit_offset, field->bits, port->value[field->counter]);
		else if (narrow && field->need == NEED_EXTENDED_ERRORS && narrow->present & bit)
			put_bits(data, field->bit_offset, field->bits, narrow->value[field->counter]);
	}
}

/*
 * Counters that a Set clears. PortCountersExtended has the order of the table: CounterSelect, then
 * CounterSelect2 where it has 64-bit errors (@wide). PortCounters has the errors first.
 * Source: IBA Vol 1, 16.1.3.5 CounterSelect (IB_PC_* masks of opensm ib_types.h); perfquery.c.
 */
static counter_set cleared_by(uint16_t attribute, bool wide, const uint8_t *data)
{
	static const uint8_t order[] = {
		COUNTER_XMIT_DATA, COUNTER_RCV_DATA, COUNTER_XMIT_PACKETS, COUNTER_RCV_PACKETS,
		COUNTER_UNICAST_XMIT_PACKETS, COUNTER_UNICAST_RCV_PACKETS, COUNTER_MULTICAST_XMIT_PACKETS,
		COUNTER_MULTICAST_RCV_PACKETS,
		COUNTER_SYMBOL_ERRORS, COUNTER_LINK_ERROR_RECOVERY, COUNTER_LINK_DOWNED, COUNTER_RCV_ERRORS,
		COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, COUNTER_RCV_SWITCH_RELAY_ERRORS, COUNTER_XMIT_DISCARDS,
		COUNTER_XMIT_CONSTRAINT_ERRORS, COUNTER_RCV_CONSTRAINT_ERRORS, COUNTER_LOCAL_LINK_INTEGRITY_ERRORS,
		COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, COUNTER_VL15_DROPPED, COUNTER_XMIT_WAIT, COUNTER_QP1_DROPPED,
	};
	uint64_t select = load_be16(data + 2);
	counter_set set = 0;

	if (attribute == PMA_COUNTERS)
		/* 12 errors, data and packets, XmitWait and QP1Dropped */
		select = (select & 0xfff) << 8 | (select >> 12) | (uint64_t)(data[18] & 3) << 20;
	else
		select = (select & 0xff) | (wide ? (uint64_t)load_be32(data + 4) << 8 : 0);
	for (size_t i = 0; i < sizeof(order); i++)
		if (select & UINT64_C(1) << i)
			set |= COUNTER_BIT(order[i]);
	return set;
}

static struct pma_caps caps_of(const struct responder_node *config)
{
	return (struct pma_caps){
		.known = true,
		.cap_mask = config->cap_mask != UINT32_MAX ? (uint16_t)config->cap_mask : UINT16_MAX,
		.cap_mask2 = config->cap_mask2 != UINT32_MAX ? config->cap_mask2 : 0,
	};
}

void responder_count(struct responder_port *port, int64_t now_ns)
{
	double elapsed_s = (double)(now_ns - port->counted_ns) / 1e9;

	for (unsigned counter = 0; counter < COUNTER_COUNT; counter++) {
		double more = port->fraction[counter] + port->per_s[counter] * elapsed_s;

		port->value[counter] += (uint64_t)more;
		port->fraction[counter] = more - (double)(uint64_t)more;
	}
	port->counted_ns = now_ns;
}

/* Return: whether the response is complete. */
static bool extend_counters(const struct responder_node *config, unsigned port_count, uint16_t attribute,
			    struct exchange *exchange, uint8_t *mad)
{
	uint8_t *data = mad + PACKET_MAD_DATA;
	struct pma_caps caps = caps_of(config);
	struct responder_port *port;

	if (data[PORT_SELECT] > port_count)
		return true;
	port = &config->ports[data[PORT_SELECT]];
	if (attribute == PMA_COUNTERS) {
		put_counters(port, ATTRIBUTE_PORT_COUNTERS, NULL, &caps, data);
		return true;
	}
	if (!(caps.cap_mask2 & PMA_CAP2_EXTENDED_ERRORS)) {
		put_counters(port, ATTRIBUTE_PORT_COUNTERS_EXTENDED, NULL, &caps, data);
		return true;
	}
	exchange->widening = true;
	memcpy(exchange->saved, mad, PACKET_MAD_SIZE);
	mad[MAD_METHOD] = METHOD_GET;
	store_be16(mad + MAD_ATTRIBUTE, PMA_COUNTERS);
	memset(data + 2, 0, PACKET_MAD_DATA_SIZE - 2);
	return false;
}

/* Complete a saved PortCountersExtended by PortCounters. */
static void widen(const struct responder_node *config, struct exchange *exchange, uint8_t *mad)
{
	const struct pma_caps all = { .known = true, .cap_mask = UINT16_MAX }, caps = caps_of(config);
	struct reading narrow = { 0 };
	uint8_t *data = exchange->saved + PACKET_MAD_DATA;

	reading_decode(&narrow, ATTRIBUTE_PORT_COUNTERS, mad + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE, &all);
	memcpy(mad, exchange->saved, PACKET_MAD_SIZE);
	/* ibsim does not write the bytes of attributes that it lacks. */
	memset(data + 72, 0, PACKET_MAD_DATA_SIZE - 72);
	memcpy(mad + PACKET_MAD_DATA, data, PACKET_MAD_DATA_SIZE);
	put_counters(&config->ports[data[PORT_SELECT]], ATTRIBUTE_PORT_COUNTERS_EXTENDED, &narrow, &caps,
		     mad + PACKET_MAD_DATA);
}

static void clear_set_values(struct responder_node *config, unsigned port_count, uint16_t attribute,
			     const uint8_t *data)
{
	bool wide = caps_of(config).cap_mask2 & PMA_CAP2_EXTENDED_ERRORS;
	counter_set cleared = cleared_by(attribute, wide, data);

	for (unsigned port = 0; port <= port_count; port++)
		for (unsigned counter = 0; counter < COUNTER_COUNT; counter++)
			if ((data[PORT_SELECT] == port || data[PORT_SELECT] == ALL_PORTS) &&
			    cleared & COUNTER_BIT(counter))
				config->ports[port].value[counter] = 0;
}

/* A Set of a detail attribute clears the values set here; ibsim clears its own. */
static void clear_details(struct responder_node *config, unsigned port_count, uint16_t attribute, const uint8_t *data)
{
	enum detail_attribute detail;

	for (unsigned port = 0; is_detail(attribute, &detail) && port <= port_count; port++)
		for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
			if (detail_wire((enum detail_attribute)i) == detail &&
			    (data[PORT_SELECT] == port || data[PORT_SELECT] == ALL_PORTS))
				clear_detail(&config->ports[port], (enum detail_attribute)i, data);
}

/* Set the capability bits of PortInfoExtended. Source: perfquery.c; IBA Vol 1, 14.2.5.6 CapabilityMask(2). */
static void announce_extended(const struct responder_node *config, uint8_t *mad)
{
	uint8_t *info = mad + PACKET_MAD_DATA;

	if (config->fec == FEC_UNKNOWN)
		return;
	store_be32(info + 20, load_be32(info + 20) | 1u << 15);
	store_be16(info + 60, load_be16(info + 60) | 1u << 1);
}

/* Source: IBA Vol 1, 14.2.5.6 PortInfo: LocalPortNum and LinkWidthActive (IB_PORT_* in libibmad fields.c). */
static void put_width(const struct responder_node *config, unsigned port_count, uint8_t *mad)
{
	uint8_t *info = mad + PACKET_MAD_DATA, port = (uint8_t)load_be32(mad + MAD_MODIFIER);

	port = port ? port : info[28];
	if (port <= port_count && config->ports[port].width)
		info[31] = config->ports[port].width;
}

bool responder_response(struct responder *responder, uint32_t node, struct exchange *exchange,
		      uint8_t mad[PACKET_MAD_SIZE])
{
	struct responder_node *config = node == FABRIC_NONE ? NULL : responder->nodes[node];
	uint16_t attribute = load_be16(mad + MAD_ATTRIBUTE), status = load_be16(mad + MAD_STATUS) & 0x7fff;
	unsigned port_count = config ? responder->fabric->nodes[node].port_count : 0;
	enum detail_attribute detail;

	if (exchange->ours) {
		/* The path in the response is ibsim's; attribute and data are those of the request. */
		mad[MAD_CLASS] = exchange->saved[MAD_CLASS];
		store_be16(mad + MAD_ATTRIBUTE, load_be16(exchange->saved + MAD_ATTRIBUTE));
		memcpy(mad + PACKET_MAD_DATA, exchange->saved + PACKET_MAD_DATA,
		       packet_is_smp(mad) ? SMP_DATA_SIZE : PACKET_MAD_DATA_SIZE);
		set_status(mad, 0);
		if (config && exchange->sets)
			clear_details(config, port_count, load_be16(mad + MAD_ATTRIBUTE), mad + PACKET_MAD_DATA);
		make_response(responder, node, exchange->redirected, mad);
		return true;
	}
	if (!config || status)
		return true;
	if (packet_is_smp(mad)) {
		if (attribute == SMP_PORT_INFO) {
			announce_extended(config, mad);
			put_width(config, port_count, mad);
		}
		return true;
	}
	if (mad[MAD_CLASS] != CLASS_PERFORMANCE)
		return true;
	if (mad[PACKET_MAD_DATA + PORT_SELECT] <= port_count)
		responder_count(&config->ports[mad[PACKET_MAD_DATA + PORT_SELECT]], responder->now_ns);
	if (exchange->widening) {
		widen(config, exchange, mad);
		exchange->widening = false;
		return true;
	}
	if (attribute == PMA_CLASS_PORT_INFO)
		put_caps(config, mad + PACKET_MAD_DATA);
	if (is_detail(attribute, &detail)) {
		if (exchange->sets)
			clear_details(config, port_count, attribute, mad + PACKET_MAD_DATA);
		if (mad[PACKET_MAD_DATA + PORT_SELECT] <= port_count)
			put_detail(&config->ports[mad[PACKET_MAD_DATA + PORT_SELECT]], detail,
					     mad + PACKET_MAD_DATA);
		return true;
	}
	if (attribute != PMA_COUNTERS && attribute != PMA_COUNTERS_EXTENDED)
		return true;
	if (exchange->sets)
		clear_set_values(config, port_count, attribute, mad + PACKET_MAD_DATA);
	return extend_counters(config, port_count, attribute, exchange, mad);
}

void responder_wait(struct responder *responder, uint64_t node_guid, unsigned port, double per_s)
{
	uint32_t node = fabric_find_node(responder->fabric, node_guid);
	const struct responder_node *config = config_of(responder, node);
	struct responder_port *at;

	if (!config || !(caps_of(config).cap_mask2 & PMA_CAP2_EXTENDED_ERRORS) ||
	    port > responder->fabric->nodes[node].port_count)
		return;
	at = &config->ports[port];
	responder_count(at, responder->now_ns);
	at->per_s[COUNTER_XMIT_WAIT] = per_s;
	at->set |= COUNTER_BIT(COUNTER_XMIT_WAIT);
}

void responder_garble(uint8_t mad[PACKET_MAD_SIZE], uint64_t random)
{
	for (size_t i = 0; i < PACKET_MAD_DATA_SIZE; i++)
		mad[PACKET_MAD_DATA + i] = (uint8_t)(map_mix(random + i) >> 24);
	if (random & 1)
		store_be16(mad + MAD_ATTRIBUTE, (uint16_t)(random >> 32));
}
