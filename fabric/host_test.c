/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hosts and devices in descriptions, as the field writes them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
		{ "hpc-000001 mlx5_ib0", "hpc-000001", "mlx5_ib0" },
		{ "vmss00000A sn1 mlx5_an0", "vmss00000A", "mlx5_an0" },
		{ "mlx5_ib0", "", "mlx5_ib0" }, { "Voltaire HCA410Ex-D", "", "" }, { "Voltaire HCA410", "", "" },
		{ "Intel Infiniband HCA node7", "node7", "" },
		{ "QLogic Infiniband HCA node7.example", "node7.example", "" },
		{ "Intel Infiniband HCA", "", "" }, { "kn\xc3\xb6ten7 mlx5_0", "kn\xc3\xb6ten7", "mlx5_0" },
		{ "\xe8\xa8\x88\xe7\xae\x97\x37", "\xe8\xa8\x88\xe7\xae\x97\x37", "" },
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

enum { HOSTS = 320, DEVICES = 4 };

/* Texts before and after the number of the host, before and after that of the device, and what the host is. */
static const struct form {
	const char *start, *host, *between, *device, *end;
	uint8_t class;
} forms[] = {
	{ "", "node", " ", "mlx5_", "", CLASS_COMPUTE }, { "", "node", " ", "HCA-", "", CLASS_COMPUTE },
	{ "", "db", " S 10.1.2.3 ", "HCA-", "", CLASS_COMPUTE },
	{ "", "cel", " C 10.1.2.3 ", "HCA-", "", CLASS_STORAGE },
	{ "", "cel", " C 10.1.2.3,10.1.3.3 ", "HCA-", "", CLASS_STORAGE },
	{ "", "node", " serial77 ", "mlx5_", "", CLASS_COMPUTE }, { "", "node", " ", "ibp", " (Maker)", CLASS_COMPUTE },
	{ "", "oss", " ", "mlx5_", "", CLASS_STORAGE }, { " ", "vmss00000", "  ", "mlx5_ib", " ", CLASS_COMPUTE },
	{ "", "hpc-login-", " ", "mlx5_an", "", CLASS_MANAGEMENT },
	{ "", "kn\xc3\xb6ten", " ", "mlx5_", "", CLASS_COMPUTE },
	{ "", "\xe8\xa8\x88\xe7\xae\x97", " ", "mlx5_", "", CLASS_COMPUTE },
	/* "sm" and "gw" are keywords as words of their own. */
	{ "", "\xc3\xa4sm", " ", "mlx5_", "", CLASS_COMPUTE }, { "", "gw\xc3\xa9", " ", "mlx5_", "", CLASS_COMPUTE },
	{ "", "pl\xc3\xa4tze-nas", " ", "mlx5_", "", CLASS_STORAGE },
	{ "Intel Infiniband HCA ", "qib", NULL, "", "", CLASS_COMPUTE },
	{ "Voltaire HCA410Ex-D", NULL, NULL, "", "", CLASS_COMPUTE },
	{ "MT4129 ConnectX7   Mellanox Technologies", NULL, NULL, "", "", CLASS_COMPUTE },
	{ "", NULL, NULL, "mlx4_", "", CLASS_COMPUTE },
};

/* "": no host, no device */
static void describe(const struct form *form, unsigned host, unsigned device, char *ret, char *ret_host,
		     char *ret_device)
{
	*ret_host = *ret_device = '\0';
	if (form->host)
		snprintf(ret_host, NODE_DESC_SIZE, "%s%04u", form->host, host);
	if (form->device[0])
		snprintf(ret_device, NODE_DESC_SIZE, "%s%u", form->device, device + 1);
	snprintf(ret, 3 * NODE_DESC_SIZE, "%s%s%s%s%s", form->start, ret_host, form->between ? form->between : "",
		 ret_device, form->end);
}

TEST(all_functions_agree_on_a_thousand_descriptions)
{
	const unsigned count = sizeof(forms) / sizeof(*forms);
	struct fabric *fabric = net_new();
	uint32_t leaf[DEVICES * 2], hcas[HOSTS * DEVICES];
	struct shape *shape;

	for (unsigned i = 0; i < DEVICES * 2; i++)
		leaf[i] = net_node(fabric, &(struct node){ .type = NODE_SWITCH, .port_count = 254 });
	for (unsigned i = 0; i < HOSTS * DEVICES; i++) {
		const struct form *form = &forms[i / DEVICES % count];
		char desc[3 * NODE_DESC_SIZE], host[NODE_DESC_SIZE], device[NODE_DESC_SIZE];

		describe(form, i / DEVICES, i % DEVICES, desc, host, device);
		assert_true(strlen(desc) < NODE_DESC_SIZE);
		hcas[i] = net_hca(fabric, 0x100000 + i / DEVICES, "%s", desc);
		net_link(fabric, hcas[i], leaf[i % (DEVICES * 2)]);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->host_count, HOSTS);
	for (unsigned i = 0; i < HOSTS * DEVICES; i++) {
		const struct form *form = &forms[i / DEVICES % count];
		const struct node *node = &fabric->nodes[hcas[i]];
		const struct shape_host *host = &shape->hosts[shape->nodes[hcas[i]].host];
		char desc[3 * NODE_DESC_SIZE], name[NODE_DESC_SIZE], device[NODE_DESC_SIZE], found[NODE_NAME_SIZE];
		struct host_words words;
		bool marked[HOSTS] = { false };

		describe(form, i / DEVICES, i % DEVICES, desc, name, device);
		assert_int_equal(host->count, DEVICES);
		assert_int_equal(host->class, form->class);
		assert_int_equal(shape->nodes[hcas[i]].class, form->class);
		assert_int_equal(host_split(node->name, &words), form->host != NULL);
		snprintf(found, sizeof(found), "%.*s", (int)words.device_len, words.device_len ? words.device : "");
		assert_string_equal(found, device);
		assert_true(host_name(node, found));
		if (!form->host) {
			assert_int_equal(strtoull(found, NULL, 16), node->guid);
			continue;
		}
		assert_string_equal(found, name);
		assert_string_equal(host->name, name);
		assert_ptr_equal(&shape->hosts[shape_find_host(shape, name)], host);
		assert_true(shape_mark_hosts(shape, name, marked, NULL, NULL) >= 0);
		assert_true(marked[host - shape->hosts]);
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
