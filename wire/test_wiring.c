/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/test_wiring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "fabric/fabric.h"

uint64_t wiring_random(struct wiring *wiring)
{
	return wiring->random = map_mix(wiring->random + 0x9e3779b97f4a7c15ULL);
}

uint16_t wiring_lid(uint32_t node, uint8_t num)
{
	return (uint16_t)(node * 64 + num + 1);
}

uint64_t wiring_port_guid(const struct wiring *wiring, uint32_t node, uint8_t num)
{
	return wiring->nodes[node].guid + (wiring->nodes[node].type == NODE_SWITCH ? 0 : num);
}

static int64_t now_us(void *ctx)
{
	return ((struct wiring *)ctx)->now_us;
}

/* Where a path ends, and by which port it came in. Return: false where it leads nowhere. */
static bool walk(const struct wiring *wiring, const uint8_t mad[MAD_SIZE], uint32_t *ret, uint8_t *ret_num)
{
	uint32_t node = 0;
	uint8_t num = wiring->nodes[0].type == NODE_SWITCH ? 0 : 1, hop;

	for (hop = 1; hop <= mad[7]; hop++) {
		const struct wiring_node *here = &wiring->nodes[node];
		uint8_t out = mad[128 + hop];

		assert_true(hop < 64);
		if (out > here->port_count || !out || here->peer[out].node == WIRING_NONE ||
		    (hop > 1 && here->type != NODE_SWITCH))
			return false;
		num = here->peer[out].num;
		node = here->peer[out].node;
	}
	*ret = node;
	*ret_num = num;
	return true;
}

static void fill_node_info(const struct wiring *wiring, uint32_t index, uint8_t num, uint8_t *info)
{
	const struct wiring_node *node = &wiring->nodes[index];

	info[2] = node->type;
	info[3] = node->port_count;
	put_be64(info + 4, node->guid);
	put_be64(info + 12, node->guid);
	put_be64(info + 20, wiring_port_guid(wiring, index, num));
	put_be16(info + 30, 0x1234);
	put_be32(info + 36, (uint32_t)num << 24 | 0x2c9);
}

static void fill_port_info(const struct wiring *wiring, uint32_t index, uint8_t num, uint8_t *info)
{
	const struct wiring_node *node = &wiring->nodes[index];
	bool up = num && node->peer[num].node != WIRING_NONE;

	put_be16(info + 16, wiring_lid(index, num));
	put_be32(info + 20, num ? 0 : 1 << 14);
	info[31] = 2;
	info[32] = 0x70 | (up || !num ? PORT_ACTIVE : PORT_DOWN);
	info[33] = (uint8_t)((up || !num ? PHYS_LINK_UP : PHYS_POLLING) << 4);
	info[35] = 0x47;
	info[62] = 0x80;
}

/* Return: does it answer? */
static bool answer(struct wiring *wiring, uint8_t mad[MAD_SIZE], uint32_t index, uint8_t came_in)
{
	struct wiring_node *node = &wiring->nodes[index];
	uint16_t attribute = get_be16(mad + 16);
	uint8_t num = (uint8_t)get_be32(mad + 20);

	wiring->asked[index]++;
	if (node->dead || (node->mkey && get_be64(mad + 24) != node->mkey) ||
	    (node->drops == attribute && node->drops_port == num))
		return false;
	if (node->answers_left && --node->answers_left == 0)
		node->dead = true;
	mad[3] = METHOD_GET_RESPONSE;
	put_be16(mad + 4, 0x8000 | (node->refuses == attribute ? 0x0c : 0));
	if (attribute == SMP_NODE_INFO)
		fill_node_info(wiring, index, came_in, mad + SMP_DATA_OFFSET);
	else if (attribute == SMP_PORT_INFO)
		fill_port_info(wiring, index, num, mad + SMP_DATA_OFFSET);
	else if (attribute == SMP_SWITCH_INFO)
		mad[SMP_DATA_OFFSET + 16] = 8;
	else
		snprintf((char *)mad + SMP_DATA_OFFSET, 64, "node %u", index);
	return true;
}

static int wiring_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		       struct error *err)
{
	struct wiring *wiring = ctx;
	uint8_t num, answered[MAD_SIZE];
	uint32_t index;

	(void)timeout_ms;
	(void)err;
	assert_int_equal(to->lid, LID_PERMISSIVE);
	wiring->not_allowed += !mad_is_allowed(mad);
	wiring->now_us++;
	if (++wiring->sent == wiring->change_at)
		wiring->change(wiring);
	memcpy(answered, mad, MAD_SIZE);
	if (mad[7] && get_be16(mad + 16) == SMP_NODE_INFO) {
		memcpy(answered, mad, MAD_SIZE);
		answered[7]--;
		if (walk(wiring, answered, &index, &num))
			wiring->probes[index][mad[128 + mad[7]]]++;
		answered[7]++;
	}
	if (!walk(wiring, mad, &index, &num) || wiring_random(wiring) % 100 < wiring->loss_percent ||
	    !answer(wiring, answered, index, num))
		return 0;
	assert_true(wiring->flying_count < WIRING_FLYING);
	memcpy(wiring->flying[wiring->flying_count].mad, answered, MAD_SIZE);
	wiring->flying[wiring->flying_count++].at_us = wiring->now_us + wiring->nodes[index].answer_us +
						       (int64_t)(wiring_random(wiring) % 50);
	return 0;
}

static int wiring_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct wiring *wiring = ctx;
	int64_t until_us = wiring->now_us + timeout_ms * US_PER_MS;
	size_t best = 0, i;

	(void)err;
	for (i = 1; i < wiring->flying_count; i++)
		if (wiring->flying[i].at_us < wiring->flying[best].at_us)
			best = i;
	if (!wiring->flying_count || wiring->flying[best].at_us > until_us) {
		wiring->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (wiring->flying[best].at_us > wiring->now_us)
		wiring->now_us = wiring->flying[best].at_us;
	memcpy(mad, wiring->flying[best].mad, MAD_SIZE);
	wiring->flying[best] = wiring->flying[--wiring->flying_count];
	return TRANSPORT_MAD;
}

void wiring_init(struct wiring *wiring, uint64_t seed)
{
	memset(wiring, 0, sizeof(*wiring));
	wiring->random = seed;
	wiring->now_us = US_PER_S;
	wiring->clock = (struct clock){ .boottime_us = now_us, .wall_us = now_us, .ctx = wiring };
	wiring->transport = (struct transport){ wiring_send, wiring_receive, wiring };
}

uint32_t wiring_add(struct wiring *wiring, uint8_t type, uint8_t port_count)
{
	struct wiring_node *node = &wiring->nodes[wiring->count];
	unsigned num;

	assert_true(wiring->count < WIRING_NODES && port_count <= WIRING_PORTS);
	*node = (struct wiring_node){ .guid = 0x1000 * (wiring->count + 1), .type = type, .port_count = port_count,
				      .answer_us = 100 };
	for (num = 0; num <= WIRING_PORTS; num++)
		node->peer[num].node = WIRING_NONE;
	return wiring->count++;
}

void wiring_link(struct wiring *wiring, uint32_t a, uint8_t a_num, uint32_t b, uint8_t b_num)
{
	wiring->nodes[a].peer[a_num].node = b;
	wiring->nodes[a].peer[a_num].num = b_num;
	wiring->nodes[b].peer[b_num].node = a;
	wiring->nodes[b].peer[b_num].num = a_num;
}

void wiring_cut(struct wiring *wiring, uint32_t a, uint8_t a_num)
{
	uint32_t b = wiring->nodes[a].peer[a_num].node;

	if (b == WIRING_NONE)
		return;
	wiring->nodes[b].peer[wiring->nodes[a].peer[a_num].num].node = WIRING_NONE;
	wiring->nodes[a].peer[a_num].node = WIRING_NONE;
}
