/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/slurm.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/format.h"
#include "fabric/host_set.h"
#include "fabric/host_tree.h"
#include "fabric/names.h"
#include "fabric/shape.h"

/* Elements of a list in a comment. */
enum { BOXES_MOST = 32 };

/* Which switches of the fabric a switch stands for, if that is not clear from its name. */
static void append_comment(struct text *text, const struct host_tree *tree, const struct host_tree_switch *self,
			   const char *indent)
{
	size_t listed;

	if (self->boxes == 1)
		return;
	text_appendf(text, "%s# %s: ", indent, self->name);
	if (!self->boxes) {
		text_append(text, "no switch is above all of these\n");
		return;
	}
	text_appendf(text, "%u switches: ", self->boxes);
	listed = host_names_fold(tree->boxes + self->first_box, self->boxes, BOXES_MOST, text);
	text_append(text, listed < self->boxes ? ", ...\n" : "\n");
}

/* The hosts or switches below a switch. @names: room for those of all switches */
static void append_below(struct text *text, const struct host_tree *tree, const struct host_tree_switch *self,
			 const char **names)
{
	if (self->is_leaf) {
		host_names_list(tree->hosts + self->first, self->count, text);
		return;
	}
	for (uint32_t i = 0; i < self->count; i++)
		names[i] = tree->switches[tree->children[self->first + i]].name;
	host_names_list(names, self->count, text);
}

void slurm_write_conf(struct text *text, const struct host_tree *tree)
{
	const char **names = calloc(tree->switch_count + 1, sizeof(*names));

	text->failed |= !names;
	text_append(text, "# topology.conf of Slurm for topology/tree, made by \"ibwire topology slurm\"\n");
	for (size_t i = 0; i < tree->switch_count && names; i++) {
		const struct host_tree_switch *self = &tree->switches[i];

		append_comment(text, tree, self, "");
		text_appendf(text, "SwitchName=%s %s=", self->name, self->is_leaf ? "Nodes" : "Switches");
		append_below(text, tree, self, names);
		text_append(text, "\n");
	}
	free(names);
}

/* Names are quoted, since a scalar without quotes may be a number or a truth value. They contain no quotes. */
static void append_yaml_item(struct text *text, const struct host_tree *tree, const struct host_tree_switch *self,
			     const char *item, const char *below, const char **names)
{
	append_comment(text, tree, self, "    ");
	text_appendf(text, "    - %s: \"%s\"\n      %s: \"", item, self->name, below);
	append_below(text, tree, self, names);
	text_append(text, "\"\n");
}

size_t slurm_write_yaml(struct text *text, const struct host_tree *tree, uint32_t block_size)
{
	const char **names = calloc(tree->switch_count + 1, sizeof(*names));
	uint32_t least = block_size;
	size_t without = 0;

	text->failed |= !names;
	text_append(text, "# topology.yaml of Slurm 25.05 and later, made by \"ibwire topology slurm-yaml\"\n"
			  "- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n");
	for (size_t i = 0; i < tree->switch_count && names; i++) {
		const struct host_tree_switch *self = &tree->switches[i];

		append_yaml_item(text, tree, self, "switch", self->is_leaf ? "nodes" : "children", names);
		if (!block_size && self->is_leaf && (!least || self->count < least))
			least = self->count;
	}
	text_appendf(text, "- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n    - %u\n"
			   "    blocks:\n", least);
	for (size_t i = 0; i < tree->switch_count && names; i++) {
		const struct host_tree_switch *self = &tree->switches[i];

		if (self->is_leaf && self->count >= least)
			append_yaml_item(text, tree, self, "block", "nodes", names);
		else if (self->is_leaf)
			without += self->count;
	}
	free(names);
	return without;
}

struct labelled {
	const char *host;
	uint32_t leaf;
};

static int compare_labelled(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;
	int difference = names_compare(x->host, y->host);

	return difference ? difference : strcmp(x->host, y->host);
}

static void append_string(struct text *text, const char *chars)
{
	scalar_append_text(text, chars, strlen(chars));
}

/* Return: whether there are more switches above the leaf than keys. */
static bool append_labels(struct text *text, const struct host_tree *tree, uint32_t leaf, const char *const *keys,
			  size_t count)
{
	uint32_t at = leaf;

	for (size_t i = 0; i < count && at != SHAPE_NONE; i++, at = tree->switches[at].parent) {
		text_append(text, i ? ", " : "");
		append_string(text, keys[i]);
		text_append(text, ": ");
		append_string(text, tree->switches[at].name);
	}
	return at != SHAPE_NONE;
}

size_t labels_write(struct text *text, const struct host_tree *tree, const char *const *keys, size_t count)
{
	struct labelled *list = calloc(tree->host_count + 1, sizeof(*list));
	size_t more = 0;

	text->failed |= !list;
	for (size_t i = 0; i < tree->host_count && list; i++)
		list[i] = (struct labelled){ tree->hosts[i], tree->leaf_of[i] };
	if (list)
		qsort(list, tree->host_count, sizeof(*list), compare_labelled);
	text_append(text, "[");
	for (size_t i = 0; i < tree->host_count && list; i++) {
		text_append(text, i ? ",\n{\"node\": " : "\n{\"node\": ");
		append_string(text, list[i].host);
		text_append(text, ", \"labels\": {");
		more += append_labels(text, tree, list[i].leaf, keys, count);
		text_append(text, "}}");
	}
	text_append(text, "\n]\n");
	free(list);
	return more;
}
