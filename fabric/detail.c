/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/detail.h"

#include <string.h>

#include "fabric/counter.h"

/* FEC fields whose position depends on the layout. */
#define BY_LAYOUT UINT16_MAX

#define LANES 12

/*
 * Positions of the FEC counters in PortExtendedSpeeds. Source: libibmad fields.c, IB_PESC_PORT_*
 * and IB_PESC_RSFEC_*.
 */
enum {
	LANES_CORRECTED = 44,   /* per lane: blocks; with a Reed-Solomon code symbols */
	LANES_UNCORRECTED = 92, /* per lane: blocks; not with a Reed-Solomon code */
	RS_CORRECTED_BLOCKS = 140,
	RS_UNCORRECTED_BLOCKS = 144,
	RS_CORRECTED_SYMBOLS = 148,
};

struct detail_field {
	struct detail_info info;
	uint16_t bit; /* in the attribute, most significant first, or BY_LAYOUT */
	uint8_t bits; /* width: 1 to 32, or 64 */
};

/* A field for each of 12 lanes, 15 or 16 virtual lanes or service levels. */
#define TIMES_12(FIELD) \
	FIELD(0), FIELD(1), FIELD(2), FIELD(3), FIELD(4), FIELD(5), FIELD(6), FIELD(7), FIELD(8), FIELD(9), FIELD(10), \
	FIELD(11)
#define TIMES_15(FIELD) TIMES_12(FIELD), FIELD(12), FIELD(13), FIELD(14)
#define TIMES_16(FIELD) TIMES_15(FIELD), FIELD(15)

#define WAIT(vl) \
	{ { "xmit_wait_vl" #vl, "ticks", "the part of PortXmitWait on VL " #vl "", false }, 32 + 16 * (vl), 16 }
#define LANE(lane) \
	{ { "fec_corrected_lane" #lane, "corrections", \
	    "corrected on lane " #lane ": symbols with a Reed-Solomon code, else blocks", false }, BY_LAYOUT, 32 }

/* Source: libibmad fields.c: PortRcvErrorDetails, PortXmitDiscardDetails, PortVLXmitWait, PortExtendedSpeeds. */
static const struct detail_field rcv_errors[] = {
	{ { "local_physical_errors", "packets", "received with a checksum error or a physical error", true }, 32, 16 },
	{ { "malformed_packet_errors", "packets", "received with a wrong length, LVer or VL", true }, 48, 16 },
	{ { "buffer_overrun_errors", "packets", "received without a free buffer", true }, 64, 16 },
	{ { "dlid_mapping_errors", "packets", "received for a LID without a forwarding entry", true }, 80, 16 },
	{ { "vl_mapping_errors", "packets", "received with a service level that maps to no VL", true }, 96, 16 },
	{ { "looping_errors", "packets", "received and routed back to the port of arrival", true }, 112, 16 },
};

static const struct detail_field xmit_discards[] = {
	{ { "inactive_discards", "packets", "discarded because the port was not active", true }, 32, 16 },
	{ { "neighbor_mtu_discards", "packets", "discarded because they exceed the MTU of the neighbor", true }, 48,
	  16 },
	{ { "switch_lifetime_discards", "packets", "discarded because their switch lifetime expired", true }, 64, 16 },
	{ { "switch_hoq_discards", "packets", "discarded because their head-of-queue lifetime expired", true }, 80,
	  16 },
};

static const struct detail_field vl_xmit_wait[] = { TIMES_16(WAIT) };

static const struct detail_field extended_speeds[] = {
	[DETAIL_SYNC_HEADER_ERRORS] = { { "sync_header_errors", "errors", "blocks with an invalid header", true }, 128,
					16 },
	[DETAIL_UNKNOWN_BLOCKS] = { { "unknown_blocks", "blocks", "blocks of an unknown type", true }, 144, 16 },
	[DETAIL_FEC_CORRECTED_BLOCKS] = { { "fec_corrected_blocks", "blocks", "blocks corrected by FEC: harmless",
					    false }, BY_LAYOUT, 32 },
	[DETAIL_FEC_UNCORRECTED_BLOCKS] = { { "fec_uncorrected_blocks", "blocks",
					      "blocks that FEC could not correct: their data is lost", true },
					    BY_LAYOUT, 32 },
	[DETAIL_FEC_CORRECTED_SYMBOLS] = { { "fec_corrected_symbols", "symbols", "symbols corrected by FEC", false },
					   BY_LAYOUT, 32 },
	TIMES_12(LANE),
};

/* --- seldom read. Source: libibmad fields.c: IB_PESC_*, IB_PC_PORT_*, IB_PC_SW_PORT_*, IB_PC_*_SL*, IB_PSC_* --- */

#define LANE_ERRORS(lane) \
	{ { "detected_errors_lane" #lane, "errors", "errors detected on lane " #lane, true }, 160 + 16 * (lane), 16 }
#define LANE_UNCORRECTED(lane) \
	{ { "fec_uncorrected_lane" #lane, "blocks", "blocks that FEC could not correct on lane " #lane, true }, \
	  736 + 32 * (lane), 32 }
static const struct detail_field lane_errors[] = { TIMES_12(LANE_ERRORS) };
static const struct detail_field lane_uncorrected[] = { TIMES_12(LANE_UNCORRECTED) };

static const struct detail_field op_rcv[] = {
	{ { "op_rcv_packets", "packets", "received with the operation code that the agent counts", false }, 32, 32 },
	{ { "op_rcv_data", "words", "data received with that operation code, in words of 4 bytes", false }, 64, 32 },
};

static const struct detail_field flow_ctl[] = {
	{ { "xmit_flow_packets", "packets", "flow control packets sent", false }, 32, 32 },
	{ { "rcv_flow_packets", "packets", "flow control packets received", false }, 64, 32 },
};

#define OP_PACKETS(vl) \
	{ { "op_packets_vl" #vl, "packets", "received on VL " #vl " with the operation code that the agent counts", \
	    false }, 32 + 16 * (vl), 16 }
#define OP_DATA(vl) \
	{ { "op_data_vl" #vl, "words", "data received on VL " #vl " with that operation code, in words of 4 bytes", \
	    false }, 32 + 32 * (vl), 32 }
#define FLOW_CTL_ERRORS(vl) \
	{ { "flow_ctl_update_errors_vl" #vl, "errors", "flow control updates with an error on VL " #vl, true }, \
	  32 + 2 * (vl), 2 }
#define CONGESTION(vl) \
	{ { "congestion_vl" #vl, "events", "congestion on VL " #vl " of the switch port", false }, \
	  32 + 16 * (vl), 16 }
static const struct detail_field vl_op_packets[] = { TIMES_16(OP_PACKETS) };
static const struct detail_field vl_op_data[] = { TIMES_16(OP_DATA) };
static const struct detail_field vl_flow_ctl_errors[] = { TIMES_16(FLOW_CTL_ERRORS) };
static const struct detail_field vl_congestion[] = { TIMES_16(CONGESTION) };

static const struct detail_field rcv_con_ctrl[] = {
	{ { "rcv_fecn_packets", "packets", "received with FECN", false }, 32, 32 },
	{ { "rcv_becn_packets", "packets", "received with BECN", false }, 64, 32 },
};

#define FECN(sl) \
	{ { "rcv_fecn_sl" #sl, "packets", "received with FECN on SL " #sl, false }, 32 + 32 * (sl), 32 }
#define BECN(sl) \
	{ { "rcv_becn_sl" #sl, "packets", "received with BECN on SL " #sl, false }, 32 + 32 * (sl), 32 }
static const struct detail_field sl_rcv_fecn[] = { TIMES_16(FECN) };
static const struct detail_field sl_rcv_becn[] = { TIMES_16(BECN) };

static const struct detail_field xmit_con_ctrl[] = {
	{ { "xmit_time_congested", "ticks", "time in which congestion control held packets back", false }, 32, 32 },
};

#define TIME_CONG(vl) \
	{ { "xmit_time_congested_vl" #vl, "ticks", "the same for packets of VL " #vl, \
	    false }, 32 + 32 * (vl), 32 }
static const struct detail_field vl_xmit_time_cong[] = { TIMES_15(TIME_CONG) };

#define XMIT_DATA(sl) \
	{ { "xmit_data_sl" #sl, "words", "data sent on SL " #sl ", in words of 4 bytes", false }, 32 + 32 * (sl), 32 }
#define RCV_DATA(sl) \
	{ { "rcv_data_sl" #sl, "words", "data received on SL " #sl ", in words of 4 bytes", false }, 32 + 32 * (sl), \
	  32 }
static const struct detail_field xmit_data_sl[] = { TIMES_16(XMIT_DATA) };
static const struct detail_field rcv_data_sl[] = { TIMES_16(RCV_DATA) };

/*
 * A word of 32 bits is reserved before the counters. Source: NVIDIA's ibis, packets_layouts.h: struct
 * PM_PortRcvXmitCntrsSlVl, RawData_PM_PortRcvXmitCntrsSl64. Nothing published states the unit: that of the attributes
 * with 32 bits is assumed.
 */
#define XMIT_DATA_EXT(sl) \
	{ { "xmit_data_sl" #sl "_ext", "words", "data sent on SL " #sl ", in words of 4 bytes", false }, \
	  64 + 64 * (sl), 64 }
#define RCV_DATA_EXT(sl) \
	{ { "rcv_data_sl" #sl "_ext", "words", "data received on SL " #sl ", in words of 4 bytes", false }, \
	  64 + 64 * (sl), 64 }
static const struct detail_field xmit_data_sl_ext[] = { TIMES_16(XMIT_DATA_EXT) };
static const struct detail_field rcv_data_sl_ext[] = { TIMES_16(RCV_DATA_EXT) };

/* Masks of 64 bits are two fields. */
static const struct detail_field samples_control[] = {
	{ { "samples_op_code", "code", "OpCode of PortSamplesControl", false }, 0, 8 },
	{ { "samples_tick", "code", "Tick: duration of a tick", false }, 16, 8 },
	{ { "samples_counter_width", "code", "CounterWidth of the sample counters", false }, 29, 3 },
	{ { "samples_counter_mask0", "mask", "CounterMask0: events that sample counter 0 supports", false }, 34, 3 },
	{ { "samples_counter_mask1_9", "mask", "CounterMasks1to9", false }, 37, 27 },
	{ { "samples_counter_mask10_14", "mask", "CounterMasks10to14", false }, 65, 15 },
	{ { "samples_mechanisms", "count", "SampleMechanisms of the node", false }, 80, 8 },
	{ { "samples_status", "code", "SampleStatus: 0 done, 1 running, 2 about to start", false }, 94, 2 },
	{ { "samples_option_mask_high", "mask", "OptionMask, bits 63 to 32: optional counters that exist", false }, 96,
	  32 },
	{ { "samples_option_mask_low", "mask", "OptionMask, bits 31 to 0", false }, 128, 32 },
	{ { "samples_vendor_mask_high", "mask", "VendorMask, bits 63 to 32: counters of the vendor", false }, 160, 32 },
	{ { "samples_vendor_mask_low", "mask", "VendorMask, bits 31 to 0", false }, 192, 32 },
	{ { "samples_start", "ticks", "SampleStart: delay until the sample begins", false }, 224, 32 },
	{ { "samples_interval", "ticks", "SampleInterval: duration of the sample", false }, 256, 32 },
	{ { "samples_tag", "code", "Tag of the sample", false }, 288, 16 },
	{ { "samples_only_mask_high", "mask", "SamplesOnlyOptionMask, bits 63 to 32", false }, 576, 32 },
	{ { "samples_only_mask_low", "mask", "SamplesOnlyOptionMask, bits 31 to 0", false }, 608, 32 },
};

#define SELECT(counter) \
	{ { "samples_select" #counter, "code", "CounterSelect" #counter ": event of sample counter " #counter, \
	    false }, 304 + 16 * (counter), 16 }
static const struct detail_field samples_select[] = { TIMES_15(SELECT) };

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

#define ATTRIBUTE(name, fields) { name, fields, COUNT(fields) }

static const struct {
	const char *name;
	const struct detail_field *fields;
	unsigned count;
} attributes[DETAIL_ATTRIBUTE_COUNT] = {
	[DETAIL_RCV_ERRORS] = ATTRIBUTE("rcv_error_details", rcv_errors),
	[DETAIL_XMIT_DISCARDS] = ATTRIBUTE("xmit_discard_details", xmit_discards),
	[DETAIL_VL_XMIT_WAIT] = ATTRIBUTE("vl_xmit_wait", vl_xmit_wait),
	[DETAIL_EXTENDED_SPEEDS] = ATTRIBUTE("extended_speeds", extended_speeds),
	[DETAIL_LANE_ERRORS] = ATTRIBUTE("lane_errors", lane_errors),
	[DETAIL_LANE_UNCORRECTED] = ATTRIBUTE("lane_uncorrected", lane_uncorrected),
	[DETAIL_OP_RCV] = ATTRIBUTE("op_rcv_counters", op_rcv),
	[DETAIL_FLOW_CTL] = ATTRIBUTE("flow_ctl_counters", flow_ctl),
	[DETAIL_VL_OP_PACKETS] = ATTRIBUTE("vl_op_packets", vl_op_packets),
	[DETAIL_VL_OP_DATA] = ATTRIBUTE("vl_op_data", vl_op_data),
	[DETAIL_VL_FLOW_CTL_ERRORS] = ATTRIBUTE("vl_flow_ctl_update_errors", vl_flow_ctl_errors),
	[DETAIL_VL_CONGESTION] = ATTRIBUTE("vl_congestion", vl_congestion),
	[DETAIL_RCV_CON_CTRL] = ATTRIBUTE("rcv_con_ctrl", rcv_con_ctrl),
	[DETAIL_SL_RCV_FECN] = ATTRIBUTE("sl_rcv_fecn", sl_rcv_fecn),
	[DETAIL_SL_RCV_BECN] = ATTRIBUTE("sl_rcv_becn", sl_rcv_becn),
	[DETAIL_XMIT_CON_CTRL] = ATTRIBUTE("xmit_con_ctrl", xmit_con_ctrl),
	[DETAIL_VL_XMIT_TIME_CONG] = ATTRIBUTE("vl_xmit_time_cong", vl_xmit_time_cong),
	[DETAIL_XMIT_DATA_SL] = ATTRIBUTE("xmit_data_sl", xmit_data_sl),
	[DETAIL_RCV_DATA_SL] = ATTRIBUTE("rcv_data_sl", rcv_data_sl),
	[DETAIL_SAMPLES_CONTROL] = ATTRIBUTE("samples_control", samples_control),
	[DETAIL_SAMPLES_SELECT] = ATTRIBUTE("samples_select", samples_select),
	[DETAIL_XMIT_DATA_SL_EXT] = ATTRIBUTE("xmit_data_sl_ext", xmit_data_sl_ext),
	[DETAIL_RCV_DATA_SL_EXT] = ATTRIBUTE("rcv_data_sl_ext", rcv_data_sl_ext),
};

_Static_assert(COUNT(vl_xmit_wait) <= DETAIL_MAX && COUNT(extended_speeds) <= DETAIL_MAX &&
	       COUNT(samples_control) <= DETAIL_MAX, "DETAIL_MAX is too small");
_Static_assert(COUNT(extended_speeds) == DETAIL_FEC_CORRECTED_LANE_0 + LANES, "one counter for each lane");

enum detail_attribute detail_wire(enum detail_attribute attribute)
{
	switch (attribute) {
	case DETAIL_LANE_ERRORS:
	case DETAIL_LANE_UNCORRECTED:
		return DETAIL_EXTENDED_SPEEDS;
	case DETAIL_SAMPLES_SELECT:
		return DETAIL_SAMPLES_CONTROL;
	default:
		return attribute;
	}
}

uint32_t detail_missing_bit(enum detail_attribute attribute)
{
	attribute = detail_wire(attribute);
	if (attribute == DETAIL_SAMPLES_CONTROL)
		return PMA_MISSING_SAMPLES_CONTROL;
	return UINT32_C(1) << (attribute < 5 ? attribute : attribute + 3);
}

const char *detail_attribute_name(enum detail_attribute attribute)
{
	return attributes[attribute].name;
}

unsigned detail_count(enum detail_attribute attribute)
{
	return attributes[attribute].count;
}

const struct detail_info *detail_info(enum detail_attribute attribute, unsigned number)
{
	return &attributes[attribute].fields[number].info;
}

bool detail_by_key(const char *key, enum detail_attribute *ret_attribute, unsigned *ret_number)
{
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++)
		for (unsigned number = 0; number < attributes[attribute].count; number++)
			if (!strcmp(key, attributes[attribute].fields[number].info.key)) {
				*ret_attribute = (enum detail_attribute)attribute;
				*ret_number = number;
				return true;
			}
	return false;
}

uint64_t detail_max(enum detail_attribute attribute, unsigned number)
{
	return UINT64_MAX >> (64 - attributes[attribute].fields[number].bits);
}

/* A number of up to 32 bits of any bytes, or of 64 bits of whole bytes. */
static uint64_t read_bits(const uint8_t *bytes, unsigned bit, unsigned bits)
{
	unsigned last = bit + bits - 1;
	uint64_t value = 0;

	for (unsigned at = bit / 8; at <= last / 8; at++)
		value = value << 8 | bytes[at];
	return value >> (7 - last % 8) & UINT64_MAX >> (64 - bits);
}

static uint32_t read_number(const uint8_t *bytes, unsigned bits)
{
	return (uint32_t)read_bits(bytes, 0, bits);
}

void detail_put(enum detail_attribute attribute, unsigned number, uint64_t value, uint8_t *bytes)
{
	const struct detail_field *field = &attributes[attribute].fields[number];

	if (value > detail_max(attribute, number))
		value = detail_max(attribute, number);
	for (unsigned i = 0; i < field->bits && field->bit != BY_LAYOUT; i++) {
		unsigned at = field->bit + field->bits - 1u - i;
		uint8_t mask = (uint8_t)(0x80 >> at % 8);

		bytes[at / 8] = (uint8_t)(value >> i & 1 ? bytes[at / 8] | mask : bytes[at / 8] & ~mask);
	}
}

static void put(struct detail_reading *reading, unsigned number, uint64_t value)
{
	reading->value[number] = value;
	reading->present |= UINT32_C(1) << number;
}

/* Sum of twelve counters; saturated if one of them is. */
static uint32_t sum_lanes(const uint8_t *bytes)
{
	uint32_t sum = 0;

	for (int lane = 0; lane < LANES; lane++)
		if (__builtin_add_overflow(sum, read_number(bytes + 4 * lane, 32), &sum))
			return UINT32_MAX;
	return sum;
}

const char *fec_layout_name(uint8_t layout)
{
	static const char *const names[] = {
		[FEC_LAYOUT_UNKNOWN] = "unknown",
		[FEC_LAYOUT_LANES] = "lanes",
		[FEC_LAYOUT_RS] = "rs",
		[FEC_LAYOUT_RS_544] = "rs-544",
	};

	return names[layout < FEC_LAYOUT_COUNT ? layout : FEC_LAYOUT_UNKNOWN];
}

unsigned fec_block_errors(enum fec_layout layout)
{
	return layout == FEC_LAYOUT_RS_544 ? 16 : layout == FEC_LAYOUT_RS ? 8 : 1;
}

static void decode_fec(struct detail_reading *reading, const uint8_t *bytes)
{
	if (reading->layout >= FEC_LAYOUT_RS) {
		put(reading, DETAIL_FEC_CORRECTED_BLOCKS, read_number(bytes + RS_CORRECTED_BLOCKS, 32));
		put(reading, DETAIL_FEC_UNCORRECTED_BLOCKS, read_number(bytes + RS_UNCORRECTED_BLOCKS, 32));
		put(reading, DETAIL_FEC_CORRECTED_SYMBOLS, read_number(bytes + RS_CORRECTED_SYMBOLS, 32));
	} else {
		put(reading, DETAIL_FEC_CORRECTED_BLOCKS, sum_lanes(bytes + LANES_CORRECTED));
		put(reading, DETAIL_FEC_UNCORRECTED_BLOCKS, sum_lanes(bytes + LANES_UNCORRECTED));
	}
	for (unsigned lane = 0; lane < LANES; lane++)
		put(reading, DETAIL_FEC_CORRECTED_LANE_0 + lane, read_number(bytes + LANES_CORRECTED + 4 * lane, 32));
}

void detail_decode(enum detail_attribute attribute, enum fec_layout layout, const uint8_t *bytes, size_t len,
		   struct detail_reading *ret)
{
	bool by_lane = attribute == DETAIL_LANE_ERRORS || attribute == DETAIL_LANE_UNCORRECTED;

	memset(ret, 0, sizeof(*ret));
	ret->attribute = (uint8_t)attribute;
	/* Their bytes are reserved with other layouts. */
	if (by_lane && layout != FEC_LAYOUT_LANES)
		return;
	for (unsigned number = 0; number < attributes[attribute].count; number++) {
		const struct detail_field *field = &attributes[attribute].fields[number];

		if (field->bit != BY_LAYOUT && field->bit + field->bits <= 8 * len)
			put(ret, number, read_bits(bytes, field->bit, field->bits));
	}
	if (attribute != DETAIL_EXTENDED_SPEEDS || len < RS_CORRECTED_SYMBOLS + 4)
		return;
	ret->layout = (uint8_t)layout;
	if (layout != FEC_LAYOUT_UNKNOWN)
		decode_fec(ret, bytes);
}
