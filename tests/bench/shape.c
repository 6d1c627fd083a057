/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How long it takes to find the shape of a fabric: of generated ones, or of files that are named. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"
#include "sim/net_shape.h"
#include "tests/bench/figure.h"

#define RUNS 9

/* What a sweep's analysis may take is 100 ms for 65,536 port ends; the shape, once for each change, three tenths. */
static void measure(const char *name, const struct fabric *fabric, double must_ms)
{
	struct times times = { 0 };
	struct error err = { 0 };
	char line[128];
	size_t ends = 0, i;
	int run;

	for (i = 0; i < fabric->port_count; i++)
		ends += fabric->ports[i].peer != FABRIC_NONE;
	for (run = 0; run < RUNS; run++) {
		struct shape *shape;
		int64_t before = cpu_us();

		if (shape_create(fabric, NULL, &shape, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
		times_add(&times, cpu_us() - before);
		shape_destroy(shape);
	}
	snprintf(line, sizeof(line), "shape of %s, %zu ports with a cable", name, ends);
	figure(line, times_at_ms(&times, 50), "ms", must_ms, NULL, 0);
	times_done(&times);
}

static void measure_net(const char *name, const struct net_shape *net, double must_ms)
{
	struct fabric *fabric;
	struct error err = { 0 };

	if (net_shape_build(net, &fabric, &err) < 0) {
		fprintf(stderr, "%s: %s\n", name, err.text);
		exit(1);
	}
	measure(name, fabric, must_ms);
	fabric_destroy(fabric);
}

static void measure_file(const char *path)
{
	char *chars = malloc(16u << 20);
	FILE *file = fopen(path, "r");
	struct fabric *fabric;
	struct error err = { 0 };
	size_t len;

	if (!chars || !file) {
		perror(path);
		exit(1);
	}
	len = fread(chars, 1, 16u << 20, file);
	fclose(file);
	if (netfile_read(chars, len, NULL, &fabric, NULL, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		exit(1);
	}
	measure("a file", fabric, 0);
	fabric_destroy(fabric);
	free(chars);
}

int main(int argc, char *argv[])
{
	struct net_shape rail = net_shape_default(NET_SHAPE_RAIL), tree = net_shape_default(NET_SHAPE_TREE3);
	int i;

	for (i = 1; i < argc; i++)
		measure_file(argv[i]);
	if (argc > 1)
		return 0;
	/* 1,984 hosts of 8 HCAs: 15,872 links down and as many up; a switch has 254 ports at most, so 31 units. */
	rail.units = 31;
	rail.hosts = 64;
	rail.spines = 64;
	rail.management = 0;
	rail.speed = LINK_SPEED_NDR;
	measure_net("8 rails", &rail, 30);
	/* 10,816 hosts of one HCA, three tiers of as many links each. */
	tree.units = 26;
	tree.leafs = 26;
	tree.hosts = 16;
	tree.spines = 16;
	tree.cores = 256;
	tree.management = 0;
	measure_net("3 tiers", &tree, 30);
	return 0;
}
