/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* P_Key tables: against a model that is a list of (node, port, key). */
#include <stdlib.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/pkeys.h"
#include "fabric/test_net.h"

enum { NODES = 20, PORTS = 6, KEYS = 8, BASES = 5 };

/* Tables of few partitions, so that ports share some. */
static void draw(uint64_t *random, uint16_t keys[KEYS])
{
	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = net_random(random) % 2 ? 0 : (uint16_t)((1 + net_random(random) % BASES) |
								  (net_random(random) % 2 ? PKEY_FULL : 0));
}

TEST(tables_are_found_as_they_were_set)
{
	uint64_t random = 1;

	for (size_t round = 0; round < test_cases(20); round++) {
		static uint16_t model[NODES][PORTS][KEYS];
		bool known[NODES][PORTS] = { { false } };
		struct pkeys pkeys = { 0 };

		memset(model, 0, sizeof(model));
		for (unsigned i = 0; i < 300; i++) {
			unsigned node = (unsigned)(net_random(&random) % NODES);
			unsigned port = (unsigned)(net_random(&random) % PORTS);
			uint16_t keys[KEYS];
			bool changes;

			draw(&random, keys);
			changes = !known[node][port] || memcmp(model[node][port], keys, sizeof(keys)) != 0;
			assert_int_equal(pkeys_set(&pkeys, 77 + node, (uint8_t)port, keys, KEYS, 0, NULL), changes);
			memcpy(model[node][port], keys, sizeof(keys));
			known[node][port] = true;
		}
		for (unsigned node = 0; node < NODES; node++)
			for (unsigned port = 0; port < PORTS; port++) {
				const struct pkey_table *table = pkeys_find(&pkeys, 77 + node, (uint8_t)port);

				assert_int_equal(table != NULL, known[node][port]);
				for (unsigned i = 0; table && i < KEYS; i++)
					assert_int_equal(i < table->count ? table->keys[i] : 0, model[node][port][i]);
			}
		assert_null(pkeys_find(&pkeys, 5, 1));
		pkeys_done(&pkeys);
	}
}

/* Every pair of entries is tried: of one partition, not both limited. */
static bool talk(const uint16_t *a, const uint16_t *b, bool *ret_shared)
{
	bool talks = false;

	*ret_shared = false;
	for (unsigned i = 0; i < KEYS; i++)
		for (unsigned j = 0; j < KEYS; j++) {
			bool same = a[i] && b[j] && (a[i] & 0x7fff) == (b[j] & 0x7fff);

			*ret_shared |= same;
			talks |= same && (a[i] > 0x7fff || b[j] > 0x7fff);
		}
	return talks;
}

TEST(two_ports_communicate_unless_both_are_limited_members)
{
	uint64_t random = 2;

	for (size_t round = 0; round < test_cases(5000); round++) {
		uint16_t keys[2][KEYS];
		struct pkeys pkeys = { 0 };
		const struct pkey_table *a, *b;
		bool limited, shared, talks, lacks = false;

		for (unsigned i = 0; i < 2; i++) {
			draw(&random, keys[i]);
			assert_true(pkeys_set(&pkeys, 1 + i, 1, keys[i], KEYS, 0, NULL) > 0);
		}
		a = pkeys_find(&pkeys, 1, 1);
		b = pkeys_find(&pkeys, 2, 1);
		talks = talk(keys[0], keys[1], &shared);
		assert_int_equal(pkeys_talk(a, b, &limited), talks);
		assert_true(talks || limited == shared);
		for (unsigned i = 0; i < KEYS; i++) {
			bool has = !keys[0][i];

			for (unsigned j = 0; j < KEYS; j++)
				has |= (keys[0][i] & 0x7fff) == (keys[1][j] & 0x7fff);
			lacks |= !has;
		}
		assert_int_equal(pkeys_lacking(a, b) != 0, lacks);
		pkeys_done(&pkeys);
	}
}

TEST(partitions_have_their_full_and_limited_members)
{
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf");
	struct pkeys pkeys = { 0 };
	struct partition *list;
	uint32_t known, ports;
	struct text text = { 0 };
	static const uint16_t tables[3][3] = { { 0xffff, 0x8012 }, { 0x7fff, 0x0012, 0x8012 }, { 0x7fff, 0x0012 } };

	net_hosts(fabric, "h", 0, 4, leaf);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(pkeys_set(&pkeys, fabric->nodes[1 + i].guid, 1, tables[i], 3, 0, NULL) > 0);
	/* Of a switch port: it is no member. */
	assert_true(pkeys_set(&pkeys, fabric->nodes[0].guid, 1, tables[0], 3, PKEYS_INBOUND, NULL) > 0);
	assert_int_equal(pkeys_partitions(&pkeys, fabric, &list, &known, &ports, NULL), 2);
	assert_int_equal(list[0].base, 0x0012);
	assert_int_equal(list[0].full, 2);
	assert_int_equal(list[0].limited, 1);
	assert_int_equal(list[1].base, 0x7fff);
	assert_int_equal(list[1].full, 1);
	assert_int_equal(list[1].limited, 2);
	assert_int_equal(known, 3);
	assert_int_equal(ports, 4);
	pkeys_text(&text, pkeys_find(&pkeys, fabric->nodes[2].guid, 1), 2);
	assert_string_equal(text_chars(&text), "0x7fff 0x0012 and 1 more");
	text_done(&text);
	free(list);
	pkeys_done(&pkeys);
	net_done(fabric, NULL);
}
