/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "wire/hca.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void assert_choice(const struct local_port *ports, size_t count, const char *ca_name, int port, size_t gmp,
			  size_t smp)
{
	struct hca_choice choice = hca_choose(ports, count, ca_name, port);

	assert_int_equal(choice.gmp, gmp);
	assert_int_equal(choice.smp, smp);
}

static void an_ordinary_hca_does_both(void **state)
{
	static const struct local_port ports[] = {
		{ "mlx5_0", 1, 0xa1, PORT_DOWN, true, false, 0, 0 },
		{ "mlx5_1", 1, 0xa2, PORT_ACTIVE, false, false, 0, 0 }, /* Ethernet */
		{ "mlx5_2", 1, 0xa3, PORT_INIT, true, false, 0, 0 },
		{ "mlx5_2", 2, 0xa4, PORT_ACTIVE, true, false, 0, 0 },
		{ "mlx5_3", 1, 0xa5, PORT_ACTIVE, true, true, 0, 0 }, /* a virtual function: no partner */
	};

	(void)state;
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

/* As a host with ConnectX-8 in an XDR fabric lists them: the aggregate, and the planes of its device for SMPs. */
static const struct local_port split[] = {
	{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
	{ "smi1", 2, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
	{ "smi1", 3, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
	{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
	{ "mlx5_1", 1, 0xb2, PORT_ACTIVE, true, false, 8, 1 },
};

static void a_split_hca_sends_smps_by_its_other_device(void **state)
{
	(void)state;
	assert_choice(split, COUNT(split), "mlx5_0", 0, 3, 1);
	assert_choice(split, COUNT(split), "mlx5_0", 1, 3, 1);
	assert_choice(split, COUNT(split), "mlx5_1", 0, 4, 4);
	assert_true(hca_is_split(split, COUNT(split), 3));
	assert_false(hca_is_split(split, COUNT(split), 4));
	/* Whoever names the part for SMPs, or takes what comes first, means the HCA. */
	assert_choice(split, COUNT(split), NULL, 0, 3, 1);
	assert_choice(split, COUNT(split), "smi1", 0, 3, 1);
	assert_choice(split, COUNT(split), "smi1", 3, 3, 2);
}

static void the_order_of_devices_does_not_matter(void **state)
{
	static const struct local_port turned[] = {
		{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
		{ "smi1", 2, 0xb1, PORT_ACTIVE, true, false, 0, 0 },
		{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
	};

	(void)state;
	assert_choice(turned, COUNT(turned), NULL, 0, 0, 1);
	assert_choice(turned, COUNT(turned), "smi1", 0, 0, 1);
}

static void an_aggregate_that_is_down_is_not_chosen_for_a_plane_that_is_up(void **state)
{
	struct local_port ports[COUNT(split)];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(split); i++)
		ports[i] = split[i];
	ports[3].state = PORT_DOWN;
	assert_choice(ports, COUNT(ports), NULL, 0, 4, 4);
	assert_choice(ports, COUNT(ports), "smi1", 0, CHOICE_NONE, CHOICE_NONE);
	/* The other way round, SMPs have to be tried at a plane that is down. */
	ports[3].state = PORT_ACTIVE;
	ports[1].state = ports[2].state = PORT_INIT;
	assert_choice(ports, COUNT(ports), "mlx5_0", 0, 3, 0);
}

static void planes_with_guids_of_their_own_belong_to_their_device(void **state)
{
	static const struct local_port ports[] = {
		{ "mlx5_0", 1, 0xb1, PORT_ACTIVE, true, true, 7, 1 },
		{ "smi1", 1, 0xb1, PORT_DOWN, true, false, 0, 0 },
		{ "smi1", 2, 0xb2, PORT_ACTIVE, true, false, 0, 0 },
	};

	(void)state;
	assert_choice(ports, COUNT(ports), NULL, 0, 0, 2);
}

/* Two ports of one device, or two devices that both manage, share a GUID by mistake or by bonding: no planes. */
static void a_guid_in_common_alone_pairs_nobody(void **state)
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
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(ports); i++)
		if (ports[i].infiniband)
			assert_choice(ports, COUNT(ports), ports[i].ca_name, ports[i].port, i, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_hca_does_both),
		cmocka_unit_test(a_split_hca_sends_smps_by_its_other_device),
		cmocka_unit_test(the_order_of_devices_does_not_matter),
		cmocka_unit_test(an_aggregate_that_is_down_is_not_chosen_for_a_plane_that_is_up),
		cmocka_unit_test(planes_with_guids_of_their_own_belong_to_their_device),
		cmocka_unit_test(a_guid_in_common_alone_pairs_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
