/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hosts and devices in descriptions, as the field writes them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"
#include "fabric/host.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

TEST(descriptions_of_all_forms_name_their_host_and_device)
{
	static const struct { const char *desc, *host, *device; } cases[] = {
		{ "node0001 mlx5_0", "node0001", "mlx5_0" }, { "node0001 HCA-1", "node0001", "HCA-1" },
		{ "node0001", "node0001", "" }, { "node0001 ibp11s0f0", "node0001", "ibp11s0f0" },
		{ "node0001 rack4", "node0001", "rack4" },
		{ "n1.cluster.example mlx5_10", "n1.cluster.example", "mlx5_10" },
		{ "rk1db01 S 10.9.8.1 HCA-1", "rk1db01", "HCA-1" },
		{ "rk1cel02 C 10.9.8.2 HCA-1", "rk1cel02", "HCA-1" },
		{ "rk1db01 S 10.9.8.1,10.9.8.2 HCA-2", "rk1db01", "HCA-2" },
		{ "node7 sn4711 mlx5_1", "node7", "mlx5_1" }, { "node7 HCA-2 (Mellanox HCA)", "node7", "HCA-2" },
		{ "node7 (vendor)", "node7", "" }, { "  node7   mlx4_0 ", "node7", "mlx4_0" },
		{ "node7 mlx5_0 (was)", "node7", "mlx5_0" }, { "mlx5_0", "", "mlx5_0" }, { "hfi1_0", "", "hfi1_0" },
		{ "localhost mlx5_0", "", "mlx5_0" }, { "(none) mlx5_0", "", "mlx5_0" },
		{ "MT4129 ConnectX7   Mellanox Technologies", "", "" },
		{ "MT23108 InfiniHost Mellanox Technologies", "", "" },
		{ "SUN IB QDR GW switch", "", "" }, { "MF0;gw01:MODEL/U1", "", "" }, { "", "", "" }, { "   ", "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct host_words words;
		char host[NODE_NAME_SIZE], device[NODE_NAME_SIZE];

		assert_int_equal(host_split(cases[i].desc, &words), cases[i].host[0] != '\0');
		snprintf(host, sizeof(host), "%.*s", (int)words.host_len, words.host_len ? words.host : "");
		snprintf(device, sizeof(device), "%.*s", (int)words.device_len, words.device_len ? words.device : "");
		assert_string_equal(host, cases[i].host);
		assert_string_equal(device, cases[i].device);
	}
}

enum { HOSTS = 250 };

/* A description of one of the forms. @ret_class: of the host */
static void make_desc(unsigned form, unsigned host, unsigned device, char *ret, size_t size, uint8_t *ret_class)
{
	*ret_class = CLASS_COMPUTE;
	switch (form) {
	case 0:
		snprintf(ret, size, "node%04u mlx5_%u", host, device);
		break;
	case 1:
		snprintf(ret, size, "node%04u HCA-%u", host, device + 1);
		break;
	case 2:
		snprintf(ret, size, "db%04u S 10.1.2.%u HCA-%u", host, host % 250, device + 1);
		break;
	case 3:
		snprintf(ret, size, "cel%04u C 10.1.2.%u%s HCA-%u", host, host % 250, host % 2 ? ",10.1.3.1" : "",
			 device + 1);
		*ret_class = CLASS_STORAGE;
		break;
	case 4:
		snprintf(ret, size, "node%04u serial%u mlx5_%u", host, host * 7, device);
		break;
	case 5:
		snprintf(ret, size, "node%04u ibp%us0 (Maker)", host, device);
		break;
	default:
		snprintf(ret, size, "oss%04u mlx5_%u", host, device);
		*ret_class = CLASS_STORAGE;
		break;
	}
}

TEST(all_functions_agree_on_a_thousand_descriptions)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[4], hcas[HOSTS * 4];
	uint8_t classes[HOSTS];
	struct shape *shape;

	for (unsigned i = 0; i < 4; i++)
		leaf[i] = net_node(fabric, &(struct node){ .type = NODE_SWITCH, .port_count = 254 });
	for (unsigned host = 0; host < HOSTS; host++) {
		for (unsigned device = 0; device < 4; device++) {
			char desc[NODE_DESC_SIZE];

			make_desc(host % 7, host, device, desc, sizeof(desc), &classes[host]);
			hcas[host * 4 + device] = net_hca(fabric, 0, "%s", desc);
			net_link(fabric, hcas[host * 4 + device], leaf[device]);
		}
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, HOSTS);
	for (unsigned i = 0; i < HOSTS * 4; i++) {
		const struct shape_node *node = &shape->nodes[hcas[i]];
		char name[NODE_NAME_SIZE];

		assert_true(host_name(&fabric->nodes[hcas[i]], name));
		assert_string_equal(name, shape->hosts[node->host].name);
		assert_int_equal(node->class, classes[i / 4]);
		assert_int_equal(shape->hosts[node->host].count, 4);
	}
	net_done(fabric, shape);
}

TEST(a_keyword_in_the_names_of_all_hosts_is_no_class)
{
	for (unsigned others = 0; others < 2; others++) {
		struct fabric *fabric = net_new();
		uint32_t leaf = net_switch(fabric, "leaf");
		struct shape *shape;

		net_hosts(fabric, "r-ufm", 1, 8, leaf);
		net_hosts(fabric, others ? "gpu" : "r-ufm", 100, 8, leaf);
		shape = net_shape(fabric, NULL);
		for (size_t i = 0; i < shape->host_count; i++)
			assert_int_equal(shape->hosts[i].class, others && shape->hosts[i].name[0] == 'r' ?
					 CLASS_MANAGEMENT : CLASS_COMPUTE);
		net_done(fabric, shape);
	}
}
