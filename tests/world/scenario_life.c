/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scenario_life.c - normal operation of a large fabric, with or without faults */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "tests/world/scenario_draw.h"

#define JOBS_MAX 24

/* Jobs have a random number of consecutive hosts. The last hosts are storage. */
static void write_life_jobs(struct draw *draw, int64_t length_s)
{
	static const char *const patterns[] = { "alltoall fan=4", "ring stride=33", "shuffle", "ring", "tree",
						"alltoall fan=6", "ring stride=5" };
	size_t at = 0, last = draw->hosts.host_count - draw->storage;
	unsigned number = 0;

	while (at + 8 < last && number < JOBS_MAX) {
		size_t size = (size_t)draw_between(draw, (int64_t)last / 24 + 2, (int64_t)last / 8 + 2);
		const char *pattern = patterns[draw_number(draw, sizeof(patterns) / sizeof(patterns[0]))];

		if (at + size > last)
			size = last - at;
		text_appendf(draw->text, "job j%u %s hosts=%s-%s starts=later load=%.2f noise=%.2f phase=%ds/%ds "
			     "seed=%d", number, pattern, draw->hosts.hosts[at].name,
			     draw->hosts.hosts[at + size - 1].name,
			     0.1 + 0.7 * draw_share(draw), 0.3 * draw_share(draw), (int)draw_between(draw, 3, 25),
			     (int)draw_between(draw, 1, 15), (int)draw_between(draw, 1, 10000));
		/* Some use four rails of eight, some all; some are routed adaptively. */
		if (draw->kind == NET_SHAPE_RAIL && !draw_number(draw, 4))
			text_append(draw->text, draw_number(draw, 2) ? " rails=0-3" : " rails=4-7");
		if (!draw_number(draw, 3))
			text_append(draw->text, " spread=adaptive");
		text_append(draw->text, "\n");
		at += size + (size_t)draw_between(draw, 0, 3);
		number++;
	}
	if (draw->storage)
		text_appendf(draw->text, "job checkpoint incast hosts=%s-%s targets=%s-%s load=0.4 phase=45s/1755s\n",
			     draw->hosts.hosts[0].name, draw->hosts.hosts[last / 3].name,
			     draw->hosts.hosts[last].name, draw->hosts.hosts[draw->hosts.host_count - 1].name);
	/* Jobs begin and end at random times; each begins at least once. */
	while (number-- > 0) {
		int64_t t = draw_between(draw, 0, length_s / 8);

		while (t < length_s) {
			int64_t runs = draw_between(draw, 1200, 14000);

			text_appendf(draw->text, "at %ds start j%u for=%ds\n", (int)t, number, (int)runs);
			t += runs + draw_between(draw, 60, 3600);
		}
	}
}

/* A third of the hosts is rebooted, one after the other, except those with a fault. */
static void write_reboots(struct draw *draw, int64_t length_s)
{
	size_t last = draw->hosts.host_count - draw->storage, host = 0;
	int64_t t = length_s / 4;

	for (; host < last && t < length_s - 1000; host++, t += draw_between(draw, 40, 240)) {
		const struct host *h = &draw->hosts.hosts[host];

		if (draw_number(draw, 3) || draw->used[draw_node_of(draw, draw->hosts.hcas[h->first_hca].port)])
			continue;
		text_appendf(draw->text, "at %ds off hosts=%s for=%ds\n", (int)t, h->name,
			     (int)draw_between(draw, 90, 400));
	}
}

/* Background events of every fabric, without a finding: a few errors, a link that retrained once. */
static void write_trifles(struct draw *draw, int64_t length_s)
{
	char name[DRAW_NAME_SIZE];

	for (int i = 0; i < 40; i++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		text_appendf(draw->text, "at 0 errors %s symbol_errors=%.2f\n", draw_port_name(draw, port, name),
			     0.02 + 0.3 * draw_share(draw));
	}
	for (int i = 0; i < 6; i++) {
		uint32_t port = draw->trunks[draw_number(draw, draw->trunk_count)];

		if (!draw->used[draw_node_of(draw, port)])
			text_appendf(draw->text, "at %ds down %s for=2s\n", (int)draw_between(draw, 600, length_s),
				     draw_port_name(draw, port, name));
	}
	text_appendf(draw->text, "at %ds clear all\nat %ds clear all\nat %ds sm handover\nat %ds reroute order=3\n",
		     (int)(length_s / 3), (int)(length_s * 3 / 4), (int)(length_s / 2), (int)(length_s * 5 / 8));
}

static void write_faults(struct draw *draw, unsigned faults, int64_t length_s)
{
	size_t count;
	const struct draw_fault *all = draw_faults(&count);
	unsigned drawn = 0;

	for (unsigned tries = 0; drawn < faults && tries < 20 * faults; tries++) {
		const struct draw_fault *fault = &all[draw_number(draw, count)];

		/* This fabric has no job "main", and always traffic. */
		if (fault->needs != NEEDS_NOTHING)
			continue;
		drawn += draw_fault(draw, fault, 600 + (length_s - 2000) * (drawn + 1) / (faults + 1));
	}
}

int scenario_draw_life(uint64_t seed, unsigned hours, unsigned faults, enum scenario_size size, struct text *text,
		       struct error *err)
{
	int64_t length_s = (int64_t)hours * 3600;
	struct text lines = { 0 };
	struct draw draw;
	int code = draw_begin(&draw, seed, NET_SHAPE_RAIL, size, text, err);

	if (code < 0)
		return code;
	draw.storage = draw.hosts.host_count / 32 + 1;
	text_appendf(text, "interval 10s\nlength %us\n", hours * 3600);
	draw.text = &lines;
	write_faults(&draw, faults, length_s);
	draw.text = text;
	write_life_jobs(&draw, length_s);
	write_reboots(&draw, length_s);
	write_trifles(&draw, length_s);
	return draw_end(&draw, &lines, err);
}
