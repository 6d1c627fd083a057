/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which local ports send SMPs and performance MADs, and which P_Key they have. */
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "wire/hca.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

TEST(full_membership_is_preferred)
{
	static const struct {
		uint16_t pkeys[4], wanted;
		size_t index;
	} cases[] = {
		{ { 0xffff, 0, 0, 0 }, PKEY_DEFAULT, 0 },
		{ { 0x8001, 0x7fff, 0xffff, 0 }, PKEY_DEFAULT, 2 },
		{ { 0x8001, 0x7fff, 0, 0 }, PKEY_DEFAULT, 1 },
		{ { 0x8001, 0x0002, 0, 0 }, PKEY_DEFAULT, CHOICE_NONE },
		{ { 0xffff, 0x0001, 0x8001, 0 }, 0x0001, 2 },
		{ { 0xffff, 0x0001, 0, 0 }, 0x8001, 1 },
		/* 0 is a free entry. */
		{ { 0xffff, 0, 0, 0 }, 0x8000, CHOICE_NONE },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(hca_choose_pkey(cases[i].pkeys, 4, cases[i].wanted), cases[i].index);
}

static void assert_choice(const struct local_port *ports, size_t count, const char *ca_name, int port, size_t gmp,
			  size_t smp)
{
	struct hca_choice choice = hca_choose(ports, count, ca_name, port);

	assert_int_equal(choice.gmp, gmp);
	assert_int_equal(choice.smp, smp);
}

TEST(an_hca_that_is_not_split_sends_both_classes)
{
	static const struct local_port ports[] = {
		{ "mlx5_0", 1, 0xa1, PORT_DOWN, true, false, 0, 0 },
		{ "mlx5_1", 1, 0xa2, PORT_ACTIVE, false, false, 0, 0 }, /* Ethernet */
		{ "mlx5_2", 1, 0xa3, PORT_INIT, true, false, 0, 0 },
		{ "mlx5_2", 2, 0xa4, PORT_ACTIVE, true, false, 0, 0 },
		{ "mlx5_3", 1, 0xa5, PORT_ACTIVE, true, true, 0, 0 }, /* a virtual function: no partner */
	};

	assert_choice(ports, COUNT(ports), NULL, 0, 3, 3);
	assert_choice(ports, COUNT(ports), "mlx5_2", 0, 3, 3);
	assert_choice(ports, COUNT(ports), "mlx5_2", 2, 3, 3);
	assert_choice(ports, COUNT(ports), "mlx5_2", 1, CHOICE_NONE, CHOICE_NONE);
	assert_choice(ports, COUNT(ports), "mlx5_1", 0, CHOICE_NONE, CHOICE_NONE);
	assert_choice(ports, COUNT(ports), "mlx5_3", 0, 4, 4);
	assert_choice(ports, COUNT(ports), "mlx5_9", 0, CHOICE_NONE, CHOICE_NONE);
	assert_choice(ports, 0, NULL, 0, CHOICE_NONE, CHOICE_NONE);
	assert_false(hca_is_split(ports, COUNT(ports), 3));
}

/* ConnectX-8 in an XDR fabric: the aggregate, and the planes of its device for SMPs. */
static const struct local_port split[] = {
	{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
	{ "smi1", 2, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
	{ "smi1", 3, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
	{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
	{ "mlx5_1", 1, 0xb2, PORT_ACTIVE, true, false, 8, 1 },
};

TEST(a_split_hca_sends_smps_through_its_other_device)
{
	assert_choice(split, COUNT(split), "mlx5_0", 0, 3, 1);
	assert_choice(split, COUNT(split), "mlx5_0", 1, 3, 1);
	assert_choice(split, COUNT(split), "mlx5_1", 0, 4, 4);
	assert_true(hca_is_split(split, COUNT(split), 3));
	assert_false(hca_is_split(split, COUNT(split), 4));
	/* The device for SMPs stands for the HCA. */
	assert_choice(split, COUNT(split), NULL, 0, 3, 1);
	assert_choice(split, COUNT(split), "smi1", 0, 3, 1);
	assert_choice(split, COUNT(split), "smi1", 3, 3, 2);
}

TEST(the_order_of_devices_does_not_matter)
{
	static const struct local_port turned[] = {
		{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
		{ "smi1", 2, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
		{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
	};

	assert_choice(turned, COUNT(turned), NULL, 0, 0, 1);
	assert_choice(turned, COUNT(turned), "smi1", 0, 0, 1);
}

TEST(an_aggregate_that_is_down_is_not_chosen_for_a_plane_that_is_up)
{
	struct local_port ports[COUNT(split)];

	for (size_t i = 0; i < COUNT(split); i++)
		ports[i] = split[i];
	ports[3].state = PORT_DOWN;
	assert_choice(ports, COUNT(ports), NULL, 0, 4, 4);
	assert_choice(ports, COUNT(ports), "smi1", 0, CHOICE_NONE, CHOICE_NONE);
	/* Without an Active plane the first one is used. */
	ports[3].state = PORT_ACTIVE;
	ports[1].state = ports[2].state = PORT_INIT;
	assert_choice(ports, COUNT(ports), "mlx5_0", 0, 3, 0);
}

TEST(planes_may_have_guids_of_their_own)
{
	static const struct local_port ports[] = {
		{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
		{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
		{ "smi1", 2, 0xb2, PORT_ACTIVE, true, false, 0, 0 },
	};

	assert_choice(ports, COUNT(ports), NULL, 0, 0, 2);
}

/* Two ports of one device, or two devices with subnet management, may share a GUID. */
TEST(a_common_guid_alone_makes_no_pair)
{
	static const struct local_port ports[] = {
		{ "mlx5_0", 1, 0xc1, PORT_ACTIVE, true, false, 0, 0 },
		{ "mlx5_0", 2, 0xc1, PORT_ACTIVE, true, true, 0, 0 },
		{ "mlx5_1", 1, 0xc2, PORT_ACTIVE, true, false, 0, 0 },
		{ "mlx5_2", 1, 0xc2, PORT_ACTIVE, true, false, 0, 0 },
		{ "mlx5_3", 1, 0xc3, PORT_ACTIVE, true, true, 0, 0 },
		{ "mlx5_4", 1, 0xc3, PORT_ACTIVE, false, false, 0, 0 }, /* Ethernet */
		{ "mlx5_5", 1, 0, PORT_ACTIVE, true, true, 0, 0 },
		{ "mlx5_6", 1, 0, PORT_ACTIVE, true, false, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(ports); i++)
		if (ports[i].infiniband)
			assert_choice(ports, COUNT(ports), ports[i].ca_name, ports[i].port, i, i);
}
