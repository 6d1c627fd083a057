/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * detail.h - detail counters, which are read less often and explain the others
 *
 * In addition to the counters of each sweep (fabric/counter.h) a port may have attributes that
 * split them up, or describe the link. They are read when the counter that they explain changed,
 * and in turn, a few ports per sweep; so each attribute of each port has readings and deltas of its
 * own. Fields saturate at their maximum; those of NVIDIA's data by service level have 64 bits, the others at most 32.
 * Together with fabric/counter.h they are what perfquery of infiniband-diags reads, and these two.
 */
#ifndef IBWIRE_FABRIC_DETAIL_H
#define IBWIRE_FABRIC_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values are stored: never renumber. */
enum detail_attribute {
	DETAIL_RCV_ERRORS,      /* PortRcvErrorDetails */
	DETAIL_XMIT_DISCARDS,   /* PortXmitDiscardDetails */
	DETAIL_VL_XMIT_WAIT,    /* PortVLXmitWait */
	DETAIL_EXTENDED_SPEEDS, /* PortExtendedSpeedsCounters: FEC */
	/* Seldom read: one of these of a port in its turn. The first two are parts of PortExtendedSpeedsCounters. */
	DETAIL_LANE_ERRORS,      /* errors detected, by lane; not with a Reed-Solomon code */
	DETAIL_LANE_UNCORRECTED, /* blocks that FEC could not correct, by lane; not with a Reed-Solomon code */
	DETAIL_OP_RCV,           /* PortOpRcvCounters */
	DETAIL_FLOW_CTL,         /* PortFlowCtlCounters */
	DETAIL_VL_OP_PACKETS,    /* PortVLOpPackets */
	DETAIL_VL_OP_DATA,       /* PortVLOpData */
	DETAIL_VL_FLOW_CTL_ERRORS, /* PortVLXmitFlowCtlUpdateErrors */
	DETAIL_VL_CONGESTION,    /* SwPortVLCongestion */
	DETAIL_RCV_CON_CTRL,     /* PortRcvConCtrl */
	DETAIL_SL_RCV_FECN,      /* PortSLRcvFECN */
	DETAIL_SL_RCV_BECN,      /* PortSLRcvBECN */
	DETAIL_XMIT_CON_CTRL,    /* PortXmitConCtrl */
	DETAIL_VL_XMIT_TIME_CONG, /* PortVLXmitTimeCong */
	DETAIL_XMIT_DATA_SL,     /* PortXmitDataSL */
	DETAIL_RCV_DATA_SL,      /* PortRcvDataSL */
	DETAIL_SAMPLES_CONTROL,  /* PortSamplesControl, without the selection: a state, not counters */
	DETAIL_SAMPLES_SELECT,   /* the counters that PortSamplesControl selects */
	DETAIL_XMIT_DATA_SL_EXT, /* PortXmitDataSLExt of NVIDIA: the same in 64 bits */
	DETAIL_RCV_DATA_SL_EXT,  /* PortRcvDataSLExt of NVIDIA */
	DETAIL_ATTRIBUTE_COUNT,
};

/* The attributes before this one are read in each turn of a port, and are those of snapshots. */
#define DETAIL_SELDOM DETAIL_LANE_ERRORS

/* detail_attribute_name - "rcv_error_details", "xmit_discard_details", "vl_xmit_wait", "extended_speeds" ... */
const char *detail_attribute_name(enum detail_attribute attribute);

/*
 * detail_wire - the attribute whose query on the wire also reads this one
 * DETAIL_EXTENDED_SPEEDS for those of lanes, DETAIL_SAMPLES_CONTROL for DETAIL_SAMPLES_SELECT; else the same.
 */
enum detail_attribute detail_wire(enum detail_attribute attribute);

/*
 * detail_missing_bit - bit of an attribute in pma_caps.missing (fabric/counter.h), which is stored: never renumber
 * Attributes of one query share a bit. Bits 5 and 6 have other meanings.
 */
uint32_t detail_missing_bit(enum detail_attribute attribute);

/* detail_is_state - its values are settings, not counters: they have no deltas. */
static inline bool detail_is_state(enum detail_attribute attribute)
{
	return attribute == DETAIL_SAMPLES_CONTROL || attribute == DETAIL_SAMPLES_SELECT;
}

/* Maximum number of counters of one attribute; they are numbered from 0. */
#define DETAIL_MAX 17

/* Numbers of the counters of DETAIL_EXTENDED_SPEEDS; the lanes' follow DETAIL_FEC_CORRECTED_LANE_0. */
enum {
	DETAIL_SYNC_HEADER_ERRORS,
	DETAIL_UNKNOWN_BLOCKS,
	DETAIL_FEC_CORRECTED_BLOCKS,
	DETAIL_FEC_UNCORRECTED_BLOCKS,
	DETAIL_FEC_CORRECTED_SYMBOLS, /* Reed-Solomon codes only */
	DETAIL_FEC_CORRECTED_LANE_0,
};

struct detail_info {
	const char *key;     /* in JSON and SQL: "fec_corrected_blocks" */
	const char *unit;    /* "packets", "ticks", "blocks", "words" of 4 bytes ... */
	const char *meaning; /* one line */
	bool is_error;       /* an increase is an error or a loss */
};

/* detail_count - number of counters of an attribute, up to DETAIL_MAX. */
unsigned detail_count(enum detail_attribute attribute);

/* detail_info - the entry of a counter (constant); @number < detail_count(). */
const struct detail_info *detail_info(enum detail_attribute attribute, unsigned number);

/* detail_by_key - Return: whether there is a counter of this key; then @ret_attribute and @ret_number say which. */
bool detail_by_key(const char *key, enum detail_attribute *ret_attribute, unsigned *ret_number);

/*
 * Layout of PortExtendedSpeeds, which depends on the FEC mode of the link. Values are stored: never
 * renumber.
 */
enum fec_layout {
	FEC_LAYOUT_UNKNOWN = 0, /* unknown: FEC counters cannot be decoded */
	FEC_LAYOUT_LANES = 1,   /* blocks, counted per lane */
	FEC_LAYOUT_RS = 2,      /* Reed-Solomon: blocks of the port, symbols per lane */
	FEC_LAYOUT_RS_544 = 3,  /* the same, known to be RS(544,514) */
	FEC_LAYOUT_COUNT,
};

/* fec_layout_name - "unknown", "lanes", "rs", "rs-544". */
const char *fec_layout_name(uint8_t layout);

/*
 * fec_block_errors - symbols that are wrong at least in an uncorrectable block: t + 1, where the
 * code corrects t = (n - k) / 2 symbols. 16 with RS(544,514), 8 with other Reed-Solomon codes
 * (RS(528,514) and RS(271,257) have the same t), else 1.
 * Source: IBA Vol 2, FEC; IEEE 802.3, clauses 91 and 134.
 */
unsigned fec_block_errors(enum fec_layout layout);

/*
 * One reading of one attribute of one port: absolute values at one time.
 */
struct detail_reading {
	uint8_t attribute; /* enum detail_attribute */
	uint8_t layout;    /* enum fec_layout; of DETAIL_EXTENDED_SPEEDS, else 0 */
	uint32_t present;  /* bit 1 << number */
	int64_t at_us;     /* CLOCK_BOOTTIME of the response */
	uint64_t value[DETAIL_MAX];
};

/*
 * detail_decode - decode the counters of an attribute
 * @layout:  of DETAIL_EXTENDED_SPEEDS and those of lanes; with an unknown layout no FEC counters are present
 * @bytes:   data of the attribute (MAD data from byte 64 on), @len bytes
 * @ret:     filled completely, except at_us
 */
void detail_decode(enum detail_attribute attribute, enum fec_layout layout, const uint8_t *bytes, size_t len,
		   struct detail_reading *ret);

/*
 * detail_put - write a value into the data of an attribute, limited to the maximum of its field
 * Not for FEC counters of DETAIL_EXTENDED_SPEEDS, whose position depends on the layout.
 * @bytes:  data of the attribute, 192 bytes
 */
void detail_put(enum detail_attribute attribute, unsigned number, uint64_t value, uint8_t *bytes);

/* detail_max - maximum of a counter, at which it saturates. */
uint64_t detail_max(enum detail_attribute attribute, unsigned number);

#endif
