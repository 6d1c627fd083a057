/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise_test.c - replacements keep the structure of names and GUIDs and nothing else */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "storage/admin/anonymise.h"

static void add_all(struct anonymiser *anonymiser)
{
	static const char *const hosts[] = {
		"gpu-010 mlx5_0", "gpu-010 mlx5_1", "gpu-010 mlx5_bond_0", "gpu-9 mlx5_0", "gpu-011 mlx5_0",
		"login HCA-1", "RMD1 ibp65s0f1",
		"MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0", "",
		"Mellanox Technologies Aggregation Node", "secret Mellanox Technologies",
	};
	static const char *const switches[] = {
		"MF0;leaf-01:MQM8700/U1", "MF0;leaf-02:MQM8700/U1", "MF0;spine-1:MCS7520/L01/U1",
		"MF0;odd:CASTLE/tower", "core switch of building 7",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		assert_int_equal(anonymise_add_name(anonymiser, hosts[i], false, NULL), 0);
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		assert_int_equal(anonymise_add_name(anonymiser, switches[i], true, NULL), 0);
	for (uint64_t guid = 0x248a070300a1b2c0; guid < 0x248a070300a1b2c4; guid++)
		assert_int_equal(anonymise_add_guid(anonymiser, guid, NULL), 0);
	assert_int_equal(anonymise_add_guid(anonymiser, 0x0002c90300000001, NULL), 0);
	assert_int_equal(anonymise_complete(anonymiser, NULL), 0);
}

/* Up to the last "-NUMBER" of a name's first word. */
static size_t stem(const char *name)
{
	size_t len = strcspn(name, " :");

	while (len && name[len - 1] != '-')
		len--;
	return len;
}

TEST(names_of_one_scheme_keep_a_common_stem_and_their_order)
{
	struct anonymiser anonymiser = { 0 };
	const char *nine, *ten, *ten_b, *bond, *eleven, *leaf;

	add_all(&anonymiser);
	nine = anonymise_name(&anonymiser, "gpu-9 mlx5_0");
	ten = anonymise_name(&anonymiser, "gpu-010 mlx5_0");
	ten_b = anonymise_name(&anonymiser, "gpu-010 mlx5_1");
	bond = anonymise_name(&anonymiser, "gpu-010 mlx5_bond_0");
	eleven = anonymise_name(&anonymiser, "gpu-011 mlx5_0");
	assert_int_equal(strncmp(nine, "host-", 5), 0);
	assert_int_equal(strncmp(nine, ten, stem(nine)), 0);
	assert_int_equal(strncmp(ten, ten_b, strcspn(ten, " ")), 0);
	assert_string_equal(strchr(ten_b, ' '), " mlx5_1");
	assert_int_equal(strncmp(ten, bond, strcspn(ten, " ") + 1), 0);
	assert_string_equal(strchr(bond, ' '), " mlx5_bond_0");
	assert_true(atoi(nine + stem(nine)) + 1 == atoi(ten + stem(ten)));
	assert_true(atoi(ten + stem(ten)) + 1 == atoi(eleven + stem(eleven)));
	assert_int_not_equal(strncmp(anonymise_name(&anonymiser, "login HCA-1"), ten, stem(ten)), 0);
	leaf = anonymise_name(&anonymiser, "MF0;leaf-01:MQM8700/U1");
	assert_int_equal(strncmp(leaf, "MF0;switch-", 11), 0);
	assert_string_equal(strchr(leaf, ':'), ":MQM8700/U1");
	assert_int_equal(strncmp(leaf, anonymise_name(&anonymiser, "MF0;leaf-02:MQM8700/U1"), stem(leaf)), 0);
	assert_int_not_equal(strncmp(leaf, anonymise_name(&anonymiser, "MF0;spine-1:MCS7520/L01/U1"), stem(leaf)), 0);
	anonymise_done(&anonymiser);
}

TEST(generic_names_remain_and_others_are_replaced)
{
	static const char *const staying[] = { "MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0", "",
					       "Mellanox Technologies Aggregation Node" };
	struct anonymiser anonymiser = { 0 };

	add_all(&anonymiser);
	for (size_t i = 0; i < sizeof(staying) / sizeof(*staying); i++)
		assert_string_equal(anonymise_name(&anonymiser, staying[i]), staying[i]);
	assert_null(strstr(anonymise_name(&anonymiser, "secret Mellanox Technologies"), "secret"));
	assert_null(strstr(anonymise_name(&anonymiser, "core switch of building 7"), "building"));
	assert_null(strstr(anonymise_name(&anonymiser, "MF0;odd:CASTLE/tower"), "CASTLE"));
	assert_null(strstr(anonymise_name(&anonymiser, "MF0;odd:CASTLE/tower"), "tower"));
	assert_null(anonymise_name(&anonymiser, "never added"));
	anonymise_done(&anonymiser);
}

TEST(guids_of_a_device_keep_their_distances)
{
	struct anonymiser anonymiser = { 0 };
	uint64_t first, other, unknown, again;

	add_all(&anonymiser);
	assert_int_equal(anonymise_guid(&anonymiser, 0x248a070300a1b2c0, &first, NULL), 0);
	assert_int_equal(anonymise_guid(&anonymiser, 0x248a070300a1b2c3, &other, NULL), 0);
	assert_int_equal(other - first, 3);
	assert_int_equal(first >> 40, 0x02fffe);
	assert_int_equal(anonymise_guid(&anonymiser, 0x0002c90300000001, &other, NULL), 0);
	assert_true(other - first > 256 || first - other > 256 || other == first + 256 || first == other + 256);
	assert_int_equal(anonymise_guid(&anonymiser, 0xdeadbeefdeadbeef, &unknown, NULL), 0);
	assert_int_equal(anonymise_guid(&anonymiser, 0xdeadbeefdeadbeef, &again, NULL), 0);
	assert_int_equal(unknown, again);
	assert_true(unknown != first && unknown != other);
	assert_int_equal(anonymise_guid(&anonymiser, 0, &unknown, NULL), 0);
	assert_int_equal(unknown, 0);
	anonymise_done(&anonymiser);
}

/* @template: %s is the replacement of @name. */
static void assert_sentence(struct anonymiser *anonymiser, const char *sentence, const char *template, const char *name)
{
	struct text text = { 0 };
	char expected[512];
	const char *gap = strstr(template, "%s");

	if (gap)
		snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(gap - template), template,
			 anonymise_name(anonymiser, name), gap + 2);
	else
		snprintf(expected, sizeof(expected), "%s", template);
	assert_int_equal(anonymise_text(anonymiser, sentence, &text, NULL), 0);
	assert_string_equal(text_chars(&text), expected);
	text_done(&text);
}

TEST(sentences_keep_their_words_and_not_their_names)
{
	struct anonymiser anonymiser = { 0 };
	struct text text = { 0 };

	add_all(&anonymiser);
	assert_sentence(&anonymiser, "gpu-010 mlx5_0 is gone from the fabric", "%s is gone from the fabric",
			"gpu-010 mlx5_0");
	assert_sentence(&anonymiser, "MF0;leaf-01:MQM8700/U1/12: now 4x HDR, before 2x EDR",
			"%s/12: now 4x HDR, before 2x EDR", "MF0;leaf-01:MQM8700/U1");
	/* A truncated name, one of another map, a path, an address. */
	assert_sentence(&anonymiser, "gpu-01 does not answer", "* does not answer", NULL);
	assert_sentence(&anonymiser, "gpu-010x does not answer", "* does not answer", NULL);
	assert_sentence(&anonymiser, "cannot read /srv/acme/fabric.db: 10.1.2.3", "cannot read /*/*/*: *", NULL);
	assert_sentence(&anonymiser, "12,345 packets in 12m30s, 31.2 ms, 4.5", "12,345 packets in 12m30s, 31.2 ms, 4.5",
			NULL);
	assert_sentence(&anonymiser, "counters of 3 ports are full: symbol_errors, ...",
			"counters of 3 ports are full: symbol_errors, ...", NULL);
	assert_int_equal(anonymise_text(&anonymiser, "the subnet manager is now 0x248a070300a1b2c1", &text, NULL), 0);
	assert_null(strstr(text_chars(&text), "248a07"));
	assert_non_null(strstr(text_chars(&text), "the subnet manager is now 0x02fffe"));
	text_done(&text);
	anonymise_done(&anonymiser);
}
