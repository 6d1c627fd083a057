/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shape of fabrics that people have published, from their ibnetdiscover outputs: in the folder topology of
 * IBWIRE_SHARED_DATA, or of shared/data beside the sources. What must be found was counted in the files by other means.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

#define FILE_MAX (8u << 20)

/* Of one file. A list of switches per tier ends with 0. */
struct wanted {
	const char *file;
	enum shape_kind kind;
	uint32_t switches[SHAPE_TIERS_MAX], boxes[SHAPE_TIERS_MAX];
	size_t hosts, rails, missing, miswired, slow, empty_leaves;
	size_t classes[CLASS_COUNT]; /* of hosts */
};

static struct fabric *load(const char *file)
{
	FILE *stream = unit_test_open_shared("topology", file);
	struct fabric *fabric = NULL;
	struct error err = { 0 };
	char *chars;
	size_t len;

	chars = malloc(FILE_MAX);
	assert_non_null(chars);
	len = fread(chars, 1, FILE_MAX, stream);
	fclose(stream);
	if (netfile_read(chars, len, NULL, &fabric, NULL, &err) < 0)
		fail_msg("%s: %s", file, err.text);
	free(chars);
	return fabric;
}

static void check_tiers(const struct wanted *wanted, const struct shape *shape)
{
	for (unsigned tier = 0; tier < SHAPE_TIERS_MAX; tier++) {
		assert_int_equal(shape->tiers[tier + 1].switches, wanted->switches[tier]);
		assert_int_equal(shape->tiers[tier + 1].boxes, wanted->boxes[tier]);
	}
	assert_int_equal(shape->tiers[0].switches, 0);
}

static void check_one_more_host(const char *file)
{
	struct fabric *fabric = load(file);

	net_add_host_anywhere(fabric);
	fabric_destroy(fabric);
}

static struct shape *check(const struct wanted *wanted, struct fabric **ret_fabric)
{
	struct fabric *fabric = load(wanted->file);
	size_t classes[CLASS_COUNT] = { 0 };
	struct error err = { 0 };
	struct shape *shape;

	*ret_fabric = fabric;
	assert_int_equal(shape_create(fabric, NULL, &shape, &err), 0);
	assert_int_equal(shape->kind, wanted->kind);
	assert_int_equal(shape->parts, 1);
	check_tiers(wanted, shape);
	assert_int_equal(shape->host_count, wanted->hosts);
	assert_int_equal(shape->rail_count, wanted->rails);
	assert_int_equal(shape->missing_count, wanted->missing);
	assert_int_equal(shape->miswired_count, wanted->miswired);
	assert_int_equal(shape->slow_count, wanted->slow);
	assert_int_equal(shape->empty_leaves, wanted->empty_leaves);
	for (size_t i = 0; i < shape->host_count; i++)
		classes[shape->hosts[i].class]++;
	for (size_t i = 0; i < CLASS_COUNT; i++)
		assert_int_equal(classes[i], wanted->classes[i]);
	check_one_more_host(wanted->file);
	return shape;
}

static void done(struct fabric *fabric, struct shape *shape)
{
	shape_destroy(shape);
	fabric_destroy(fabric);
}

static const char *node_name(const struct shape *shape, uint32_t node)
{
	return shape->fabric->nodes[node].name;
}

TEST(a_dgx_cluster_lacks_sixteen_pairs_cables_and_two_are_swapped)
{
	static const struct wanted wanted = {
		.file = "dgx-ndr-582ca-40sw.ibnetdiscover", .kind = SHAPE_FAT_TREE, .switches = { 31, 9 },
		/* 119 DGX hosts, 69 HCAs without a name, 3 of "localhost", "ubuntu", and the UFM server. */
		.boxes = { 31, 9 }, .hosts = 119 + 69 + 3 + 2, .rails = 4, .missing = 16, .miswired = 2,
		.classes = { [CLASS_COMPUTE] = 192, [CLASS_MANAGEMENT] = 1 },
	};
	static const char *const rails[] = { "HCA-1", "HCA-2", "HCA-5", "HCA-6" };
	struct fabric *fabric;
	struct shape *shape = check(&wanted, &fabric);
	size_t none = 0, dgx = 0;

	for (size_t i = 0; i < shape->missing_count; i++) {
		assert_int_equal(shape->missing[i].expected, 2);
		assert_non_null(strstr(node_name(shape, shape->missing[i].low), "IBLEAF"));
		assert_non_null(strstr(node_name(shape, shape->missing[i].high), "IBSPINE"));
		none += shape->missing[i].links == 0;
	}
	assert_int_equal(none, 10);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(shape->rails[i].name, rails[i]);
	/* The leaf of the third rail in the first unit is not in the file. */
	assert_int_equal(shape->rails[0].leaves, 8);
	assert_int_equal(shape->rails[2].leaves, 7);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(node_name(shape, fabric->ports[shape->miswired[i].port].node),
				       "dgx-08-c01 HCA-"));
	for (size_t i = 0; i < shape->host_count; i++)
		dgx += strstr(shape->hosts[i].name, "-dgx-") != NULL;
	assert_int_equal(dgx, 119);
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].device_id == 53001)
			assert_int_equal(shape->nodes[i].class, CLASS_AGGREGATION);
	done(fabric, shape);
}

TEST(four_tiers_with_a_director_have_one_slow_trunk_and_lack_one_cable)
{
	static const struct wanted wanted = {
		.file = "taurus-fdr-2104ca-211sw.ibnetdiscover", .kind = SHAPE_FAT_TREE, .switches = { 121, 72, 12, 6 },
		.boxes = { 121, 72, 1, 1 }, .hosts = 2038, .rails = 4, .missing = 1, .slow = 1,
		.classes = { [CLASS_COMPUTE] = 2000, [CLASS_STORAGE] = 27, [CLASS_MANAGEMENT] = 11 },
	};
	struct fabric *fabric;
	struct shape *shape = check(&wanted, &fabric);

	assert_int_equal(shape->slow[0].bits_per_s / 1000000000, 8);
	assert_int_equal(shape->slow[0].expected_bits_per_s / 1000000000, 32);
	assert_int_equal(shape->missing[0].links, 1);
	assert_int_equal(shape->missing[0].expected, 2);
	done(fabric, shape);
}

TEST(a_trunk_has_three_of_four_cables_and_a_core_has_three_hosts)
{
	static const struct wanted wanted = {
		.file = "fdr10-144ca-8sw.ibnetdiscover", .kind = SHAPE_FAT_TREE, .switches = { 6, 2 },
		.boxes = { 6, 2 }, .hosts = 144, .rails = 1, .missing = 1, .classes = { [CLASS_COMPUTE] = 144 },
	};
	struct fabric *fabric;
	struct shape *shape = check(&wanted, &fabric);

	assert_int_equal(shape->missing[0].links, 3);
	assert_int_equal(shape->missing[0].expected, 4);
	assert_non_null(strstr(node_name(shape, shape->missing[0].low), "ib1:"));
	assert_non_null(strstr(node_name(shape, shape->missing[0].high), "ib8:"));
	/* One HCA is cabled on both of its ports. */
	assert_int_equal(shape->rails[0].count, 145);
	done(fabric, shape);
}

TEST(hcas_of_one_description_are_hosts_and_an_empty_switch_a_leaf)
{
	static const struct wanted wanted = {
		.file = "qdr-ddr-89ca-11sw.ibnetdiscover", .kind = SHAPE_FAT_TREE, .switches = { 7, 4 },
		.boxes = { 7, 4 }, .hosts = 89, .empty_leaves = 1, .classes = { [CLASS_COMPUTE] = 89 },
	};
	struct fabric *fabric;
	struct shape *shape = check(&wanted, &fabric);

	done(fabric, shape);
}

TEST(a_directors_modules_are_tiers_two_and_three)
{
	static const struct wanted wanted = {
		.file = "hdr-director-faked.ibnetdiscover", .kind = SHAPE_FAT_TREE, .switches = { 5, 2, 1 },
		.boxes = { 5, 1, 1 }, .hosts = 10, .rails = 1, .classes = { [CLASS_COMPUTE] = 10 },
	};
	struct fabric *fabric;
	struct shape *shape = check(&wanted, &fabric);

	done(fabric, shape);
}

TEST(two_switches_with_hosts_are_two_leaves_and_a_trunk)
{
	static const struct wanted mixed = {
		.file = "mixed-6ca-2sw.ibnetdiscover", .kind = SHAPE_IRREGULAR, .switches = { 2 }, .boxes = { 2 },
		.hosts = 5, .rails = 2, .classes = { [CLASS_COMPUTE] = 5 },
	}, sdr = {
		.file = "sdr-4ca-2sw.ibnetdiscover", .kind = SHAPE_IRREGULAR, .switches = { 2 }, .boxes = { 2 },
		.hosts = 4, .slow = 2, .classes = { [CLASS_COMPUTE] = 4 },
	};
	struct fabric *fabric;
	struct shape *shape = check(&mixed, &fabric);

	done(fabric, shape);
	shape = check(&sdr, &fabric);
	done(fabric, shape);
}
