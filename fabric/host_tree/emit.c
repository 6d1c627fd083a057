/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From groups and their parents to the tree: unique names, natural order, hosts and boxes of each switch. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/host_tree/build.h"
#include "fabric/names.h"
#include "fabric/shape.h"

struct named {
	const char *name;
	uint32_t parent, group;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int difference;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	difference = names_compare(x->name, y->name);
	return difference ? difference : x->group < y->group ? -1 : 1;
}

static int compare_only_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Groups with equal names get the GUIDs of their first boxes. */
static bool make_unique(struct host_build *build, struct named *list)
{
	uint32_t count = build->group_count, end;

	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct named){ build->groups[i].name, 0, i };
	qsort(list, count, sizeof(*list), compare_only_names);
	for (uint32_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(list[end].name, list[i].name);)
			end++;
		for (uint32_t j = i; j < end && end > i + 1; j++) {
			struct host_group *group = &build->groups[list[j].group];
			uint32_t box = group->box == SHAPE_NONE ? group->inside : group->box;
			char guid[20], *name;

			snprintf(guid, sizeof(guid), "-%016" PRIx64, host_build_guid(build, box));
			name = host_tree_switch_name("", group->name, strlen(group->name), guid, 0);
			if (!name)
				return false;
			/* The other entries of the list are still compared with the old name. */
			list[j].name = name;
		}
		for (uint32_t j = i; j < end && end > i + 1; j++) {
			free(build->groups[list[j].group].name);
			build->groups[list[j].group].name = (char *)list[j].name;
		}
	}
	return true;
}

static bool sort_groups(struct host_build *build)
{
	uint32_t count = build->group_count;
	struct named *list = malloc((count + 1) * sizeof(*list));
	bool ok;

	build->sorted = malloc((count + 1) * sizeof(*build->sorted));
	build->first_child = calloc(count + 2, sizeof(*build->first_child));
	build->place = malloc((count + 1) * sizeof(*build->place));
	ok = list && build->sorted && build->first_child && build->place && make_unique(build, list);
	for (uint32_t i = 0; i < count && ok; i++) {
		uint32_t parent = build->groups[i].parent == SHAPE_NONE ? count : build->groups[i].parent;

		list[i] = (struct named){ build->groups[i].name, parent, i };
	}
	if (ok && count)
		qsort(list, count, sizeof(*list), compare_named);
	for (uint32_t i = 0, parent = 0; i <= count && ok; i++) {
		uint32_t next = i < count ? list[i].parent : count + 1;

		for (; parent <= next && parent <= count; parent++)
			build->first_child[parent] = i;
		if (i < count)
			build->sorted[i] = list[i].group;
	}
	if (ok)
		build->first_child[count + 1] = count;
	free(list);
	return ok;
}

/* Add a group behind its children. @child: number of children so far */
static void emit(struct host_build *build, uint32_t number, uint32_t *child)
{
	const struct host_group *group = &build->groups[number];
	uint32_t from = build->first_child[number], to = build->first_child[number + 1];
	struct host_tree_switch *self;

	for (uint32_t i = from; i < to; i++)
		emit(build, build->sorted[i], child);
	build->place[number] = (uint32_t)build->tree->switch_count++;
	self = &build->tree->switches[build->place[number]];
	*self = (struct host_tree_switch){ .name = group->name, .parent = SHAPE_NONE, .is_leaf = group->tier == 1 };
	build->groups[number].name = NULL;
	build->tree->leaf_count += self->is_leaf;
	if (self->is_leaf)
		return;
	self->first = *child;
	self->count = to - from;
	for (uint32_t i = from; i < to; i++) {
		build->tree->children[(*child)++] = build->place[build->sorted[i]];
		build->tree->switches[build->place[build->sorted[i]]].parent = build->place[number];
	}
}

/* The hosts of each leaf; build->names are in natural order. */
static void place_hosts(struct host_build *build)
{
	struct host_tree *tree = build->tree;
	uint32_t sum = 0;

	for (size_t i = 0; i < build->names.count; i++)
		tree->switches[build->place[build->units.of_host[i]]].count++;
	for (size_t i = 0; i < tree->switch_count; i++) {
		if (!tree->switches[i].is_leaf)
			continue;
		tree->switches[i].first = sum;
		sum += tree->switches[i].count;
		tree->switches[i].count = 0;
	}
	for (size_t i = 0; i < build->names.count; i++) {
		uint32_t leaf = build->place[build->units.of_host[i]];
		uint32_t at = tree->switches[leaf].first + tree->switches[leaf].count++;

		tree->hosts[at] = build->names.list[i].name;
		tree->leaf_of[at] = leaf;
	}
	tree->host_count = sum;
}

/* The boxes of each switch of the tree; a spine with hosts is in two. */
static void place_boxes(struct host_build *build)
{
	struct host_tree *tree = build->tree;
	const uint32_t *unit_of = build->units.of_leaf;
	uint32_t sum = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < build->box_count; i++) {
			uint32_t places[] = { unit_of[i] == HOST_UNIT_NONE ? SHAPE_NONE : build->place[unit_of[i]],
					      build->group_of[i] == SHAPE_NONE ? SHAPE_NONE :
					      build->place[build->group_of[i]] };

			for (size_t j = 0; j < 2; j++) {
				struct host_tree_switch *self = &tree->switches[places[j]];

				if (places[j] == SHAPE_NONE)
					continue;
				if (pass)
					tree->boxes[self->first_box + self->boxes] =
						build->fabric->names.shown[build->node_of[i]];
				self->boxes++;
			}
		}
		for (size_t i = 0; i < tree->switch_count && !pass; i++) {
			tree->switches[i].first_box = sum;
			sum += tree->switches[i].boxes;
			tree->switches[i].boxes = 0;
		}
	}
}

bool host_build_emit(struct host_build *build)
{
	struct host_tree *tree = build->tree;
	uint32_t children = 0, roots = build->group_count;

	if (!sort_groups(build))
		return false;
	tree->switches = calloc(build->group_count + 1, sizeof(*tree->switches));
	tree->children = calloc(build->group_count + 1, sizeof(*tree->children));
	tree->boxes = calloc(2 * (size_t)build->box_count + 1, sizeof(*tree->boxes));
	tree->hosts = calloc(build->names.count + 1, sizeof(*tree->hosts));
	tree->leaf_of = calloc(build->names.count + 1, sizeof(*tree->leaf_of));
	if (!tree->switches || !tree->children || !tree->boxes || !tree->hosts || !tree->leaf_of)
		return false;
	for (uint32_t i = build->first_child[roots]; i < build->first_child[roots + 1]; i++)
		emit(build, build->sorted[i], &children);
	place_hosts(build);
	place_boxes(build);
	return true;
}
