/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_tree.c - CPU time of each step of `ibwire topology slurm --from FILE`, for generated fabrics
 *
 * The least of RUNS runs of: reading the text of the file, the shape, the tree of hosts, and the text for each
 * scheduler. The limit is that of shape, tree and topology.conf for 11,264 HCAs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "export/slurm.h"
#include "fabric/fabric.h"
#include "fabric/host_tree.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"
#include "sim/net_shape.h"
#include "tests/bench/measure.h"

enum { RUNS = 9, LIMIT_MS = 100 };

enum step { READ, SHAPE, TREE, CONF, YAML, LABELS, STEPS };

static const char *const step_names[STEPS] = {
	"reading the net file", "the shape", "the tree of hosts", "topology.conf", "topology.yaml", "labels",
};

static const char *const label_keys[] = { "leaf", "spine", "core" };

static void must(int code, const struct error *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	abort();
}

/* CPU time since the last call, to the least of a step. */
static void take(int64_t *least, int64_t *from)
{
	int64_t now = cpu_us();

	if (!*least || now - *from < *least)
		*least = now - *from;
	*from = cpu_us();
}

static void run(const struct text *net, int64_t least[STEPS])
{
	static const struct host_tree_options options = { .rules = HOST_TREE_SLURM };
	struct text text = { 0 };
	struct netfile_notes notes;
	struct error err = { 0 };
	struct fabric *fabric;
	struct host_tree *tree;
	struct shape *shape;
	int64_t from = cpu_us();

	must(netfile_read(text_chars(net), net->len, NULL, &fabric, &notes, &err), &err);
	take(&least[READ], &from);
	must(shape_create(fabric, NULL, &shape, &err), &err);
	take(&least[SHAPE], &from);
	must(host_tree_create(shape, &options, &tree, &err), &err);
	take(&least[TREE], &from);
	slurm_write_conf(&text, tree);
	take(&least[CONF], &from);
	text_clear(&text);
	slurm_write_yaml(&text, tree, 0);
	take(&least[YAML], &from);
	text_clear(&text);
	labels_write(&text, tree, label_keys, 3);
	take(&least[LABELS], &from);
	text_done(&text);
	host_tree_destroy(tree);
	shape_destroy(shape);
	fabric_destroy(fabric);
}

static void measure(const struct net_shape *net)
{
	struct text text = { 0 };
	struct error err = { 0 };
	struct fabric *fabric;
	int64_t least[STEPS] = { 0 };
	unsigned hcas = 0;
	char name[128];

	must(net_shape_build(net, &fabric, &err), &err);
	for (size_t i = 0; i < fabric->node_count; i++)
		hcas += fabric->nodes[i].type == NODE_CA;
	netfile_write(&text, fabric);
	fabric_destroy(fabric);
	for (int i = 0; i < RUNS; i++)
		run(&text, least);
	for (int i = 0; i < STEPS; i++) {
		snprintf(name, sizeof(name), "%u HCAs: %s", hcas, step_names[i]);
		figure(name, (double)least[i] / 1000, "ms", 0, NULL, 0);
	}
	snprintf(name, sizeof(name), "%u HCAs: shape, tree and topology.conf", hcas);
	figure(name, (double)(least[SHAPE] + least[TREE] + least[CONF]) / 1000, "ms",
	       hcas == 11264 ? LIMIT_MS : 0, NULL, 0);
	text_done(&text);
}

int main(void)
{
	struct net_shape tree = net_shape_default(NET_SHAPE_TREE3), rail = net_shape_default(NET_SHAPE_RAIL);

	rail.units = 31;
	rail.hosts = rail.spines = 32;
	rail.links = 1;
	rail.management = tree.management = 0;
	measure(&rail);
	tree.leafs = tree.hosts = tree.spines = 32;
	tree.rails = 1;
	tree.cores = 256;
	tree.units = 11;
	measure(&tree);
	tree.units = 16;
	measure(&tree);
	return 0;
}
