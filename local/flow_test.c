/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* flow_test.c - responses of the kernel about pause frames and PFC, which need an Ethernet NIC to be had */
#include "local/flow.h"

#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/netlink.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"

/* Append an attribute, padded to 4 bytes as the kernel does. */
static void put(struct text *text, uint16_t type, const void *bytes, size_t len)
{
	const struct nlattr attr = { .nla_len = (uint16_t)(sizeof(attr) + len), .nla_type = type };

	text_append_bytes(text, (const char *)&attr, sizeof(attr));
	text_append_bytes(text, bytes, len);
	text_append_bytes(text, "\0\0\0", -len & 3);
}

static void put_u64(struct text *text, uint16_t type, uint64_t value)
{
	put(text, type, &value, sizeof(value));
}

static void make_pause(struct text *ret, bool statistics)
{
	struct text header = { 0 }, nest = { 0 };

	put(&header, ETHTOOL_A_HEADER_DEV_INDEX, "\2\0\0", 4);
	put(&header, ETHTOOL_A_HEADER_DEV_NAME, "eth2", 5);
	put(ret, ETHTOOL_A_PAUSE_HEADER | NLA_F_NESTED, header.chars, header.len);
	put(ret, ETHTOOL_A_PAUSE_AUTONEG, "\0", 1);
	put(ret, ETHTOOL_A_PAUSE_RX, "\1", 1);
	put(ret, ETHTOOL_A_PAUSE_TX, "\0", 1);
	put(&nest, ETHTOOL_A_PAUSE_STAT_PAD, "", 0);
	if (statistics) {
		put_u64(&nest, ETHTOOL_A_PAUSE_STAT_TX_FRAMES, 0x100000009);
		put_u64(&nest, ETHTOOL_A_PAUSE_STAT_RX_FRAMES, 7);
	}
	put(ret, ETHTOOL_A_PAUSE_STATS | NLA_F_NESTED, nest.chars, nest.len);
	text_done(&header);
	text_done(&nest);
}

static void make_pfc(struct text *ret)
{
	const struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 0x18, .requests = { [3] = 1000, [4] = 234 },
				      .indications = { [3] = 90, [7] = 9 } };
	const struct ieee_ets ets = { .ets_cap = 8 };
	struct text nest = { 0 };

	put(&nest, DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
	put(&nest, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
	put(ret, DCB_ATTR_IFNAME, "eth2", 5);
	put(ret, DCB_ATTR_IEEE, nest.chars, nest.len);
	text_done(&nest);
}

TEST(pause_with_frames)
{
	struct local_flow flow = { .pause_known = false };
	struct text text = { 0 };

	make_pause(&text, true);
	local_flow_decode_pause(text.chars, text.len, &flow);
	assert_true(flow.pause_known && flow.pause_rx && !flow.pause_tx && flow.frames_known);
	assert_int_equal(flow.pause_rx_frames, 7);
	assert_int_equal(flow.pause_tx_frames, 0x100000009);
	text_done(&text);
}

TEST(drivers_without_statistics_leave_the_frames_unknown)
{
	struct local_flow flow = { .pause_known = false };
	struct text text = { 0 };

	make_pause(&text, false);
	local_flow_decode_pause(text.chars, text.len, &flow);
	assert_true(flow.pause_known && !flow.frames_known);
	text_done(&text);
}

TEST(pfc_of_all_priorities)
{
	struct local_flow flow = { .pause_known = false };
	struct text text = { 0 };

	make_pfc(&text);
	local_flow_decode_pfc(text.chars, text.len, &flow);
	assert_true(flow.pfc_known);
	assert_int_equal(flow.pfc_enabled, 0x18);
	assert_int_equal(flow.pfc_requests, 1234);
	assert_int_equal(flow.pfc_indications, 99);
	text_done(&text);
}

TEST(damaged_and_cut_responses_are_read_within_their_bounds)
{
	struct text texts[2] = { { 0 }, { 0 } };
	struct local_flow flow;

	make_pause(&texts[0], true);
	make_pfc(&texts[1]);
	for (unsigned i = 0; i < test_cases(20000); i++) {
		const struct text *text = &texts[i % 2];
		size_t len = i % 3 ? text->len : (size_t)rand() % text->len;
		char *copy = malloc(len + 1); /* its end is where a sanitizer reports */

		assert_non_null(copy);
		memcpy(copy, text->chars, len);
		for (int j = rand() % 4; j > 0 && len; j--)
			copy[(size_t)rand() % len] = (char)rand();
		copy = realloc(copy, len ? len : 1);
		assert_non_null(copy);
		local_flow_decode_pause(copy, len, &flow);
		local_flow_decode_pfc(copy, len, &flow);
		free(copy);
	}
	text_done(&texts[0]);
	text_done(&texts[1]);
}
