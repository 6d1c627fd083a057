/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include <infiniband/mad.h>

#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/path.h"
#include "fabric/speed.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/smp.h"

TEST(only_listed_gets_are_allowed)
{
	static const struct {
		uint8_t mgmt_class;
		uint16_t attribute;
	} expected[] = {
		{ 0x01, 0x10 }, { 0x01, 0x11 }, { 0x01, 0x12 }, { 0x01, 0x15 }, { 0x01, 0x16 }, { 0x01, 0x19 },
		{ 0x01, 0x20 }, { 0x01, 0x33 }, { 0x04, 0x01 }, { 0x04, 0x10 }, { 0x04, 0x12 },
		{ 0x04, 0x15 }, { 0x04, 0x16 }, { 0x04, 0x17 }, { 0x04, 0x18 }, { 0x04, 0x19 },
		{ 0x04, 0x1a }, { 0x04, 0x1b }, { 0x04, 0x1c }, { 0x04, 0x1d }, { 0x04, 0x1f },
		{ 0x04, 0x30 }, { 0x04, 0x31 }, { 0x04, 0x32 }, { 0x04, 0x33 }, { 0x04, 0x34 },
		{ 0x04, 0x35 }, { 0x04, 0x36 }, { 0x04, 0x37 }, { 0x04, 0x38 }, { 0x04, 0x39 },
		{ 0x0a, 0x17 },
	};
	unsigned allowed = 0;
	uint8_t mad[MAD_SIZE];

	for (unsigned mgmt_class = 0; mgmt_class < 256; mgmt_class++)
		for (unsigned method = 0; method < 256; method++)
			for (unsigned attribute = 0; attribute < 0x100; attribute++) {
				mad_init(mad, &(struct mad_header){ .mgmt_class = (uint8_t)mgmt_class,
								    .method = (uint8_t)method,
								    .attribute = (uint16_t)attribute });
				allowed += mad_is_allowed(mad);
			}
	/* The eight SMPs by both routes. */
	assert_int_equal(allowed, sizeof(expected) / sizeof(expected[0]) + 8);
	for (unsigned attribute = 0; attribute < sizeof(expected) / sizeof(expected[0]); attribute++) {
		mad_init(mad, &(struct mad_header){ .mgmt_class = expected[attribute].mgmt_class, .method = 0x01,
						    .attribute = expected[attribute].attribute });
		assert_true(mad_is_allowed(mad));
		mad[1] = 0x81;
		assert_true(mad_is_allowed(mad) || expected[attribute].mgmt_class == 0x04 ||
			    expected[attribute].mgmt_class == 0x0a);
	}
}

/* Also vendor-specific ones of Mellanox. */
TEST(no_other_attribute_is_allowed)
{
	uint8_t mad[MAD_SIZE];

	for (unsigned attribute = 0x100; attribute <= 0xffff; attribute++) {
		mad_init(mad, &(struct mad_header){ .mgmt_class = 0x01, .method = 0x01,
						    .attribute = (uint16_t)attribute });
		/* Of Mellanox: AdaptiveRoutingInfo; ExtendedPortInfo, for FEC modes and FDR10. */
		assert_true(mad_is_allowed(mad) == (attribute == 0xff20 || attribute == 0xff90));
		mad[1] = 0x04;
		assert_false(mad_is_allowed(mad));
		mad[1] = 0x0a;
		assert_false(mad_is_allowed(mad));
		mad[1] = 0x81;
		assert_true(mad_is_allowed(mad) == (attribute == 0xff20 || attribute == 0xff90));
	}
}

TEST(another_version_is_not_allowed)
{
	uint8_t mad[MAD_SIZE];

	mad_init(mad, &(struct mad_header){ .mgmt_class = 0x04, .method = 0x01, .attribute = 0x12 });
	assert_true(mad_is_allowed(mad));
	mad[0] = 2;
	assert_false(mad_is_allowed(mad));
	mad[0] = 1;
	mad[2] = 2;
	assert_false(mad_is_allowed(mad));
}

/* No part by LID, the first byte of the path unused. */
TEST(a_path_is_written_hop_by_hop)
{
	const struct path path = { .hops = 3, .ports = { 1, 17, 255 } };
	uint8_t mad[MAD_SIZE];

	mad_init(mad, &(struct mad_header){ .mgmt_class = 0x81, .method = 0x01, .attribute = 0x11 });
	mad_put_path(mad, &path);
	mad_put_mkey(mad, 0x1122334455667788);
	assert_int_equal(mad[6], 0);
	assert_int_equal(mad[7], 3);
	assert_int_equal(get_be32(mad + 24), 0x11223344);
	assert_int_equal(get_be32(mad + 32), 0xffffffff);
	assert_int_equal(get_be32(mad + 128), 0x000111ff);
	assert_int_equal(mad[132], 0);
	assert_true(mad_is_smp(mad));
	assert_true(mad_is_allowed(mad));
}

TEST(header_reads_back_what_was_written)
{
	const struct mad_header header = { .mgmt_class = 0x04, .method = 0x01, .tid = 0x89abcdef, .attribute = 0x1d,
					   .modifier = 0x01020304 };
	struct mad_header back;
	uint8_t mad[MAD_SIZE];

	mad_init(mad, &header);
	back = mad_read_header(mad);
	assert_int_equal(back.mgmt_class, header.mgmt_class);
	assert_int_equal(back.method, header.method);
	assert_int_equal(back.tid, header.tid);
	assert_int_equal(back.attribute, header.attribute);
	assert_int_equal(back.modifier, header.modifier);
	assert_int_equal(get_be32(mad + 8), 0);
}

TEST(statuses_have_their_meaning)
{
	static const struct {
		uint16_t status;
		enum answer_status expected;
	} cases[] = {
		{ 0x0000, ANSWER_OK },          { 0x0001, ANSWER_BUSY }, { 0x0002, ANSWER_REDIRECT },
		{ 0x0008, ANSWER_UNSUPPORTED }, { 0x000c, ANSWER_UNSUPPORTED }, { 0x0004, ANSWER_BAD },
		{ 0x001c, ANSWER_BAD },         { 0x8000, ANSWER_BAD },
	};
	uint8_t mad[MAD_SIZE] = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_be16(mad + 4, cases[i].status);
		assert_int_equal(answer_status(mad), cases[i].expected);
	}
}

TEST(caps_are_27_bits_and_a_response_time)
{
	uint8_t mad[MAD_SIZE] = { 0 };
	struct pma_caps caps;

	put_be16(mad + 66, 0x5300);
	put_be32(mad + 68, 0x2u << 5 | 18);
	caps = pma_read_caps(mad);
	assert_true(caps.known);
	assert_int_equal(caps.cap_mask, 0x5300);
	assert_int_equal(caps.cap_mask2, 2);
	assert_int_equal(caps.resp_time, 18);
}

TEST(a_response_for_another_port_is_rejected)
{
	const struct pma_caps caps = { .known = true };
	struct reading reading = { 0 };
	uint8_t mad[MAD_SIZE] = { 0 };

	mad[65] = 7;
	assert_int_equal(pma_read_counters(mad, ATTRIBUTE_PORT_COUNTERS, 8, &caps, &reading), ANSWER_BAD);
	assert_int_equal(reading.present, 0);
	assert_int_equal(pma_read_counters(mad, ATTRIBUTE_PORT_COUNTERS, 7, &caps, &reading), ANSWER_OK);
	assert_int_not_equal(reading.present, 0);
	assert_false(pma_lacks_port_select(mad, 7));
}

TEST(a_response_without_a_port_is_accepted)
{
	const struct pma_caps caps = { .known = true };
	struct detail_reading detail;
	struct reading reading = { 0 };
	uint8_t mad[MAD_SIZE] = { 0 };

	assert_int_equal(pma_read_counters(mad, ATTRIBUTE_PORT_COUNTERS, 8, &caps, &reading), ANSWER_OK);
	assert_int_not_equal(reading.present, 0);
	assert_int_equal(pma_read_detail(mad, DETAIL_RCV_ERRORS, 8, FEC_LAYOUT_UNKNOWN, &detail), ANSWER_OK);
	assert_true(pma_lacks_port_select(mad, 8));
	/* Port 0 of a switch. */
	assert_false(pma_lacks_port_select(mad, 0));
}

/* 4x, Active, QDR in the old field, HDR in the extended one, XDR in the newest. */
TEST(the_newest_speed_field_counts)
{
	uint8_t mad[MAD_SIZE] = { 0 }, *info = mad + SMP_DATA_OFFSET;
	struct smp_link link;

	info[31] = 2;
	info[32] = 0x74;
	info[35] = 0x47;
	info[62] = 0x41;
	link = smp_read_link(mad, 0);
	assert_int_equal(link.state, 4);
	assert_int_equal(link.width, LINK_WIDTH_4X);
	assert_int_equal(link.speed, LINK_SPEED_QDR);
	link = smp_read_link(mad, 1 << 14);
	assert_int_equal(link.speed, LINK_SPEED_HDR);
	info[56] = 0x20;
	assert_int_equal(smp_read_link(mad, 1 << 14).speed, LINK_SPEED_HDR);
	assert_int_equal(smp_read_link(mad, 1 << 14 | 1 << 15).speed, LINK_SPEED_XDR);
	put_be16(info + 60, 1 << 11);
	assert_int_equal(smp_read_link(mad, 1 << 14 | 1 << 15).speed, LINK_SPEED_XDR);
	assert_false(smp_read_port_state_change(mad));
	info[11] = 4;
	assert_true(smp_read_port_state_change(mad));
}

TEST(detail_attributes_have_their_ids_and_no_others)
{
	/* In the order of the catalogue; lanes are parts of 0x1f, the selection of 0x10. */
	static const uint16_t ids[] = { 0x15, 0x16, 0x1c, 0x1f, 0x1f, 0x1f, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x30, 0x31,
					0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x10, 0x10, 0x38, 0x39 };
	unsigned found = 0;

	assert_int_equal(sizeof(ids) / sizeof(ids[0]), DETAIL_ATTRIBUTE_COUNT);
	for (int attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
		assert_int_equal(pma_detail_attribute_id((enum detail_attribute)attribute), ids[attribute]);
		assert_int_equal(pma_detail_attribute(ids[attribute]), detail_wire((enum detail_attribute)attribute));
	}
	for (unsigned id = 0; id <= 0xffff; id++)
		found += pma_detail_attribute((uint16_t)id) != DETAIL_ATTRIBUTE_COUNT;
	assert_int_equal(found, DETAIL_ATTRIBUTE_COUNT - 3);
}

/* Each byte has a different value, so a wrong offset gives another number. */
TEST(detail_counters_are_read_at_their_offsets)
{
	struct detail_reading reading;
	uint8_t mad[MAD_SIZE] = { 0 };

	for (unsigned i = 0; i < PMA_DATA_SIZE; i++)
		mad[PMA_DATA_OFFSET + i] = (uint8_t)i;
	assert_int_equal(pma_read_detail(mad, DETAIL_RCV_ERRORS, 1, FEC_LAYOUT_UNKNOWN, &reading), ANSWER_OK);
	assert_int_equal(reading.present, 0x3f);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(reading.value[i], (4 + 2 * i) << 8 | (5 + 2 * i));
	assert_int_equal(pma_read_detail(mad, DETAIL_EXTENDED_SPEEDS, 1, FEC_LAYOUT_RS, &reading), ANSWER_OK);
	assert_int_equal(reading.value[DETAIL_SYNC_HEADER_ERRORS], 0x1011);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_BLOCKS], 0x8c8d8e8f);
	assert_int_equal(reading.value[DETAIL_FEC_UNCORRECTED_BLOCKS], 0x90919293);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_SYMBOLS], 0x94959697);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_LANE_0 + 11], 0x58595a5b);
	assert_int_equal(pma_read_tick(mad), 2);
	/* Of 64 bits, behind a reserved word: bytes 8 to 135. */
	assert_int_equal(pma_read_detail(mad, DETAIL_XMIT_DATA_SL_EXT, 1, FEC_LAYOUT_UNKNOWN, &reading), ANSWER_OK);
	assert_int_equal(reading.present, 0xffff);
	assert_true(reading.value[0] == 0x08090a0b0c0d0e0f && reading.value[15] == 0x8081828384858687);
	assert_int_equal(pma_read_detail(mad, DETAIL_RCV_DATA_SL_EXT, 1, FEC_LAYOUT_UNKNOWN, &reading), ANSWER_OK);
	assert_true(reading.value[1] == 0x1011121314151617);
}

/*
 * The fields of each attribute as perfquery decodes them, in the order of the catalogue. Lanes and settings with 64
 * bits are compared below.
 */
TEST(details_are_those_of_libibmad_for_any_bytes)
{
	static const struct {
		enum detail_attribute attribute;
		enum MAD_FIELDS first;
	} attributes[] = {
		{ DETAIL_RCV_ERRORS, IB_PC_RCV_LOCAL_PHY_ERR_F }, { DETAIL_XMIT_DISCARDS, IB_PC_XMT_INACT_DISC_F },
		{ DETAIL_VL_XMIT_WAIT, IB_PC_PORT_VL_XMIT_WAIT0_F },
		{ DETAIL_LANE_ERRORS, IB_PESC_ERR_DET_CTR_LANE0_F },
		{ DETAIL_LANE_UNCORRECTED, IB_PESC_FEC_UNCORR_BLOCK_CTR_LANE0_F },
		{ DETAIL_OP_RCV, IB_PC_PORT_OP_RCV_PKTS_F }, { DETAIL_FLOW_CTL, IB_PC_PORT_XMIT_FLOW_PKTS_F },
		{ DETAIL_VL_OP_PACKETS, IB_PC_PORT_VL_OP_PACKETS0_F }, { DETAIL_VL_OP_DATA, IB_PC_PORT_VL_OP_DATA0_F },
		{ DETAIL_VL_FLOW_CTL_ERRORS, IB_PC_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS0_F },
		{ DETAIL_VL_CONGESTION, IB_PC_SW_PORT_VL_CONGESTION0_F },
		{ DETAIL_RCV_CON_CTRL, IB_PC_RCV_CON_CTRL_PKT_RCV_FECN_F },
		{ DETAIL_SL_RCV_FECN, IB_PC_SL_RCV_FECN0_F },
		{ DETAIL_SL_RCV_BECN, IB_PC_SL_RCV_BECN0_F }, { DETAIL_XMIT_CON_CTRL, IB_PC_XMIT_CON_CTRL_TIME_CONG_F },
		{ DETAIL_VL_XMIT_TIME_CONG, IB_PC_VL_XMIT_TIME_CONG0_F }, { DETAIL_XMIT_DATA_SL, IB_PC_XMT_DATA_SL0_F },
		{ DETAIL_RCV_DATA_SL, IB_PC_RCV_DATA_SL0_F }, { DETAIL_SAMPLES_SELECT, IB_PSC_COUNTER_SEL0_F },
	};
	static const enum MAD_FIELDS samples[] = {
		IB_PSC_OPCODE_F, IB_PSC_TICK_F, IB_PSC_COUNTER_WIDTH_F, IB_PSC_COUNTER_MASK0_F,
		IB_PSC_COUNTER_MASKS1TO9_F, IB_PSC_COUNTER_MASKS10TO14_F, IB_PSC_SAMPLE_MECHS_F, IB_PSC_SAMPLE_STATUS_F,
		IB_PSC_OPTION_MASK_F, IB_PSC_VENDOR_MASK_F, IB_PSC_SAMPLE_START_F, IB_PSC_SAMPLE_INTVL_F, IB_PSC_TAG_F,
		IB_PSC_SAMPLES_ONLY_OPT_MASK_F,
	};
	struct detail_reading reading;
	uint64_t random = 11;

	for (int i = 0; i < 200; i++) {
		uint8_t data[PMA_DATA_SIZE];
		unsigned at = 0;

		for (size_t byte = 0; byte < sizeof(data); byte++)
			data[byte] = (uint8_t)map_mix(random++);
		for (size_t a = 0; a < sizeof(attributes) / sizeof(*attributes); a++) {
			enum detail_attribute attribute = attributes[a].attribute;

			detail_decode(attribute, FEC_LAYOUT_LANES, data, sizeof(data), &reading);
			for (unsigned number = 0; number < detail_count(attribute); number++)
				assert_int_equal(reading.value[number],
						 mad_get_field(data, 0, (enum MAD_FIELDS)((int)attributes[a].first +
											  (int)number)));
		}
		detail_decode(DETAIL_SAMPLES_CONTROL, FEC_LAYOUT_UNKNOWN, data, sizeof(data), &reading);
		for (size_t s = 0; s < sizeof(samples) / sizeof(*samples); s++, at++) {
			if (samples[s] != IB_PSC_OPTION_MASK_F && samples[s] != IB_PSC_VENDOR_MASK_F &&
			    samples[s] != IB_PSC_SAMPLES_ONLY_OPT_MASK_F) {
				assert_int_equal(reading.value[at], mad_get_field(data, 0, samples[s]));
				continue;
			}
			assert_true(((uint64_t)reading.value[at] << 32 | reading.value[at + 1]) ==
				    mad_get_field64(data, 0, samples[s]));
			at++;
		}
		assert_int_equal(at, detail_count(DETAIL_SAMPLES_CONTROL));
	}
}

TEST(a_rejected_detail_query_changes_nothing)
{
	struct detail_reading reading = { .present = 77 };
	uint8_t mad[MAD_SIZE] = { 0 };

	mad[65] = 3;
	assert_int_equal(pma_read_detail(mad, DETAIL_VL_XMIT_WAIT, 4, FEC_LAYOUT_UNKNOWN, &reading), ANSWER_BAD);
	put_be16(mad + 4, 0x000c);
	assert_int_equal(pma_read_detail(mad, DETAIL_VL_XMIT_WAIT, 3, FEC_LAYOUT_UNKNOWN, &reading),
			 ANSWER_UNSUPPORTED);
	assert_int_equal(reading.present, 77);
}

TEST(a_redirection_is_read_at_its_offsets)
{
	struct mad_address to = { .lid = 99 };
	uint8_t mad[MAD_SIZE] = { 0 };

	for (unsigned i = 0; i < PMA_DATA_SIZE; i++)
		mad[PMA_DATA_OFFSET + i] = (uint8_t)(0xa0 + i);
	assert_false(pma_read_redirect(mad, &to));
	assert_int_equal(to.lid, 99);
	put_be16(mad + 4, 0x0002);
	assert_true(pma_read_redirect(mad, &to));
	assert_int_equal(to.sl, 0xb9 >> 4);
	assert_int_equal(to.lid, 0xbcbd);
	assert_int_equal(to.qp, 0xc1c2c3);
	assert_int_equal(to.qkey, 0xc4c5c6c7);
	/* Not with another status bit, and not by GID only. */
	put_be16(mad + 4, 0x0003);
	assert_false(pma_read_redirect(mad, &to));
	put_be16(mad + 4, 0x001e);
	assert_false(pma_read_redirect(mad, &to));
	put_be16(mad + 4, 0x0002);
	put_be16(mad + PMA_DATA_OFFSET + 28, 0);
	assert_false(pma_read_redirect(mad, &to));
	assert_int_equal(to.lid, 0xbcbd);
}

TEST(the_fec_layout_follows_the_active_mode)
{
	static const enum fec_layout by_mode[] = {
		FEC_LAYOUT_LANES, FEC_LAYOUT_LANES, FEC_LAYOUT_RS, FEC_LAYOUT_RS, FEC_LAYOUT_RS_544,
		FEC_LAYOUT_UNKNOWN, FEC_LAYOUT_UNKNOWN, FEC_LAYOUT_UNKNOWN, FEC_LAYOUT_RS, FEC_LAYOUT_RS,
		FEC_LAYOUT_RS, FEC_LAYOUT_RS, FEC_LAYOUT_UNKNOWN, FEC_LAYOUT_RS_544, FEC_LAYOUT_RS, FEC_LAYOUT_UNKNOWN,
	};
	const struct pma_caps with = { .known = true, .cap_mask = 1 << 14 }, without = { .known = true };
	uint8_t mad[MAD_SIZE] = { 0 };

	put_be32(mad + 64, 1);
	for (uint16_t mode = 0; mode < 16; mode++) {
		put_be16(mad + 68, mode);
		assert_int_equal(smp_read_fec_layout(mad, &with), by_mode[mode]);
		/* Without Reed-Solomon counters there is one layout. */
		assert_int_equal(smp_read_fec_layout(mad, &without), FEC_LAYOUT_LANES);
	}
	/* The vendor's attribute has the same modes; 0 may be a reserved field. */
	for (uint32_t mode = 0; mode < 16; mode++) {
		put_be32(mad + 64 + 16, mode << 20 | 0xff0fffff);
		assert_int_equal(smp_read_vendor_fec_layout(mad), mode ? by_mode[mode] : FEC_LAYOUT_UNKNOWN);
	}
	put_be16(mad + 68, 2);
	assert_int_equal(smp_read_fec_layout(mad, &(struct pma_caps){ .cap_mask = 1 << 14 }), FEC_LAYOUT_UNKNOWN);
	assert_int_equal(smp_read_fec_layout(NULL, &with), FEC_LAYOUT_UNKNOWN);
	assert_int_equal(smp_read_fec_layout(NULL, &without), FEC_LAYOUT_LANES);
	put_be16(mad + 4, 0x000c);
	assert_int_equal(smp_read_fec_layout(mad, &with), FEC_LAYOUT_UNKNOWN);
	/* The status of a directed SMP contains its direction. */
	put_be16(mad + 4, 0x8000);
	assert_int_equal(smp_read_fec_layout(mad, &with), FEC_LAYOUT_RS);
	put_be16(mad + 4, 0);
	put_be32(mad + 64, 0xfffffffe);
	assert_int_equal(smp_read_fec_layout(mad, &with), FEC_LAYOUT_UNKNOWN);
}
