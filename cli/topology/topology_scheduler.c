/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_scheduler.c - `ibwire topology slurm | slurm-yaml | labels` */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/topology/topology.h"
#include "export/slurm.h"
#include "fabric/host_map.h"
#include "fabric/host_set.h"
#include "fabric/host_tree.h"
#include "fabric/shape.h"

/* Elements of a list of hosts in a warning. */
enum { LISTED_MOST = 8 };

/*
 * Keys of NVIDIA/topograph 0.3 to 0.5, from the leaf up. Version 0.1 had block and datacenter instead of leaf and
 * core; from 1.0 on they are fabric.topograph.run/tier-0, tier-1 and so on.
 * Source: the documents of these versions about the Kubernetes engine and about node labels.
 */
static const char *const default_keys[] = {
	"network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/core",
};

static bool is_labels(const char *word)
{
	return !strcmp(word, "labels");
}

/* A name of at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends. */
static bool is_label_name(const char *name, size_t len)
{
	bool ok = len && len <= 63 && isalnum((unsigned char)name[0]) && isalnum((unsigned char)name[len - 1]);

	for (size_t i = 0; i < len && ok; i++)
		ok = isalnum((unsigned char)name[i]) || strchr("-_.", name[i]);
	return ok;
}

/* Kubernetes, "Labels and Selectors": an optional domain with a slash, and a name. */
static bool is_label_key(const char *key)
{
	const char *slash = strchr(key, '/');
	char domain[256];

	if (!slash)
		return is_label_name(key, strlen(key));
	if ((size_t)(slash - key) >= sizeof(domain))
		return false;
	memcpy(domain, key, (size_t)(slash - key));
	domain[slash - key] = '\0';
	return host_tree_accepts(HOST_TREE_KUBERNETES, domain) && is_label_name(slash + 1, strlen(slash + 1));
}

int topology_scheduler_check(const struct command *command, const struct topology_options *options, const char *word,
			     struct error *err)
{
	const struct scheduler_options *own = &options->scheduler;
	bool yaml = !strcmp(word, "slurm-yaml"), any = yaml || is_labels(word) || !strcmp(word, "slurm");

	if ((own->output || own->hosts_map || own->all_hosts) && !any)
		return options_usage_error(command, err, "%s requires slurm, slurm-yaml or labels",
					   own->output ? "--output" : own->hosts_map ? "--hosts-map" : "--all-hosts");
	if (own->block_size && !yaml)
		return options_usage_error(command, err, "--block-size requires slurm-yaml");
	if (own->keys.count && !is_labels(word))
		return options_usage_error(command, err, "--label-key requires labels");
	for (size_t i = 0; i < own->keys.count; i++)
		if (!is_label_key(own->keys.items[i]))
			return options_usage_error(command, err, "'%s' is not the key of a label", own->keys.items[i]);
	return 0;
}

/* One line for each reason. */
static void warn_left(const struct host_tree *tree, bool kubernetes)
{
	const char *const reasons[HOST_LEFT_COUNT] = {
		[HOST_LEFT_CLASS] = "storage or management; --all-hosts includes them",
		[HOST_LEFT_UNNAMED] = "no name in the fabric; --hosts-map gives one",
		[HOST_LEFT_NAME] = kubernetes ? "a name that Kubernetes does not accept; --hosts-map gives another" :
				   "a name that Slurm does not accept; --hosts-map gives another",
		[HOST_LEFT_TWICE] = "the name of another host; --hosts-map by GUID gives another",
		[HOST_LEFT_UNCABLED] = "no cable to a switch of the compute network",
	};

	for (size_t i = 0; i < HOST_LEFT_COUNT; i++) {
		struct text text = { 0 };
		size_t count = tree->left_count[i], listed;

		if (!count)
			continue;
		text_appendf(&text, "%zu host%s left out (%s): ", count, text_plural(count), reasons[i]);
		listed = host_names_fold(tree->left[i], count, LISTED_MOST, &text);
		text_append(&text, listed < count ? ", ..." : "");
		/* Storage is left out on purpose. */
		if (i == HOST_LEFT_CLASS)
			log_info("%s", text_chars(&text));
		else
			log_warning("%s", text_chars(&text));
		text_done(&text);
	}
}

static void write_format(const struct topology_options *options, const struct host_tree *tree, const char *word,
			 struct text *text)
{
	const struct option_list *keys = &options->scheduler.keys;
	size_t count = keys->count, left;

	if (is_labels(word)) {
		left = count ? labels_write(text, tree, keys->items, count) :
		       labels_write(text, tree, default_keys, sizeof(default_keys) / sizeof(*default_keys));
		if (left && !count)
			log_warning("%zu host%s below more than three switches: give the keys with --label-key", left,
				    left == 1 ? " is" : "s are");
	} else if (!strcmp(word, "slurm")) {
		slurm_write_conf(text, tree);
	} else {
		uint32_t block = options->scheduler.block_size > HOST_SET_MOST ? HOST_SET_MOST :
				 (uint32_t)options->scheduler.block_size;

		left = slurm_write_yaml(text, tree, block);
		if (left)
			log_warning("%zu host%s in no block, because their leaves have less than %u hosts", left,
				    left == 1 ? " is" : "s are", block);
	}
}

static int create_tree(const struct topology_options *options, const struct topology *topology, bool kubernetes,
		       struct host_tree **ret, struct error *err)
{
	const char *path = options->scheduler.hosts_map;
	struct host_map map = { 0 };
	struct host_tree_options how = {
		.rules = kubernetes ? HOST_TREE_KUBERNETES : HOST_TREE_SLURM,
		.all = options->scheduler.all_hosts,
		.map = &map,
	};
	int code = path ? host_map_read(path, &map, err) : 0;

	if (code == 0) {
		options_warn_unread(path, &map.unread, "two names, or two lists of equal length");
		code = host_tree_create(topology->shape, &how, ret, err);
	}
	host_map_done(&map);
	return code;
}

int topology_scheduler(const struct topology_options *options, const struct topology *topology, const char *word,
		       struct error *err)
{
	const char *path = options->scheduler.output;
	struct host_tree *tree;
	struct text text = { 0 };
	int code = create_tree(options, topology, is_labels(word), &tree, err);

	if (code < 0)
		return code;
	warn_left(tree, is_labels(word));
	if (topology->shape->kind == SHAPE_NO_TREE)
		log_warning("%s: each switch is a leaf, and all are below one root", topology->shape->reason);
	if (tree->host_count) {
		write_format(options, tree, word, &text);
		code = path ? output_file(&options->common, &text, path, err) :
		       output_text(&options->common, &text, err);
	} else {
		code = err_set(err, ERR_UNAVAILABLE, "nothing to write: the fabric has no host that can be in it");
	}
	host_tree_destroy(tree);
	return code;
}
