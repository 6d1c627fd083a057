/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* slurm.h - a tree of hosts in the formats of schedulers: Slurm, labels of Kubernetes */
#ifndef IBWIRE_EXPORT_SLURM_H
#define IBWIRE_EXPORT_SLURM_H

#include <stdint.h>
#include <stddef.h>

struct host_tree;
struct text;

/*
 * All append to @text, for a tree with at least one host. Two outputs differ only by what differs in the trees.
 * text_failed() reports whether memory ran out.
 */

/*
 * slurm_write_conf - topology.conf for topology/tree
 * A comment names the switches of the fabric that a switch stands for, if they are several.
 * Source: Slurm doc/man/man5/topology.conf.5; src/plugins/topology/tree/switch_record.c: a switch has hosts or
 * switches, not both.
 */
void slurm_write_conf(struct text *text, const struct host_tree *tree);

/*
 * slurm_write_yaml - topology.yaml: "tree", the default of the cluster, and "block", whose blocks are the leaves
 * @block_size:  hosts of a base block; 0: those of the smallest leaf. Leaves with fewer are no block.
 * Return: number of hosts that are in no block.
 * Source: Slurm 25.05 doc/man/man5/topology.yaml.5.
 */
size_t slurm_write_yaml(struct text *text, const struct host_tree *tree, uint32_t block_size);

/*
 * labels_write - labels of nodes in JSON, in natural order of node
 * The text is [{"node": "node1", "labels": {KEY: SWITCH, ...}}, ...].
 * @keys:  of the leaf, the switch above it and so on; switches above the last one have no label
 * Return: number of hosts with more switches above them than @count.
 */
size_t labels_write(struct text *text, const struct host_tree *tree, const char *const *keys, size_t count);

#endif
