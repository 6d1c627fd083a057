/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot_diff.c - differences of two snapshots by port, link, host and switch */
#include "facts/snapshot_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/names.h"

/* --- ports --- */

const struct fabric *diff_fabric(const struct diff *diff, const struct diff_port *port, uint32_t *ret_index)
{
	bool is_there = port->after != FABRIC_NONE;

	*ret_index = is_there ? port->after : port->before;
	return is_there ? diff->after->fabric : diff->before->fabric;
}

static uint32_t find_in(const struct fabric *fabric, const struct fabric *from, uint32_t port)
{
	if (port == FABRIC_NONE)
		return FABRIC_NONE;
	return fabric_find_port(fabric, from->nodes[from->ports[port].node].guid, from->ports[port].num);
}

/* Offset of the later times to the time base of the earlier ones. */
static int64_t boot_offset_us(const struct saved_info *before, const struct saved_info *after)
{
	if (!strcmp(before->boot_id, after->boot_id))
		return 0;
	/* Across a reboot only the wall clock is comparable. */
	return (after->wall_us - after->start_us) - (before->wall_us - before->start_us);
}

static bool is_recabled(const struct diff *diff, uint32_t before, uint32_t after)
{
	uint32_t was = diff->before->fabric->ports[before].peer, is = diff->after->fabric->ports[after].peer;

	/* A link that is down has no peer, which is not a different peer. */
	return was != FABRIC_NONE && is != FABRIC_NONE && find_in(diff->before->fabric, diff->after->fabric, is) != was;
}

static void note_resets(void *ctx, uint64_t node_guid, uint8_t port, counter_set counters)
{
	struct diff *diff = ctx;
	uint32_t index = fabric_find_port(diff->after->fabric, node_guid, port);

	if (index != FABRIC_NONE)
		difference_note_resets(&diff->ports[index].difference, counters);
}

static void compare_ports(struct diff *diff)
{
	const struct fabric *before = diff->before->fabric, *after = diff->after->fabric;
	int64_t offset_us = boot_offset_us(&diff->before->info, &diff->after->info);

	memset(diff->of_before, 0xff, before->port_count * sizeof(*diff->of_before)); /* FABRIC_NONE */
	for (uint32_t i = 0; i < after->port_count; i++) {
		struct diff_port *port = &diff->ports[diff->port_count++];
		uint32_t was = find_in(before, after, i);

		*port = (struct diff_port){ .before = was, .after = i };
		if (was != FABRIC_NONE)
			diff->of_before[was] = i;
		port->recabled = was != FABRIC_NONE && is_recabled(diff, was, i);
		difference_between(was == FABRIC_NONE ? NULL : &diff->before->readings[was], &diff->after->readings[i],
				   offset_us, &port->difference);
	}
	for (uint32_t i = 0; i < before->port_count; i++) {
		struct diff_port *port = &diff->ports[diff->port_count];

		if (diff->of_before[i] != FABRIC_NONE)
			continue;
		diff->of_before[i] = (uint32_t)diff->port_count++;
		*port = (struct diff_port){ .before = i, .after = FABRIC_NONE };
		difference_between(&diff->before->readings[i], NULL, offset_us, &port->difference);
	}
}

int diff_init(struct diff *diff, struct reader *reader, const struct saved *before, const struct saved *after,
	      struct error *err)
{
	size_t most = before->fabric->port_count + after->fabric->port_count;
	int code;

	*diff = (struct diff){ .before = before, .after = after };
	diff->ports = calloc(most + 1, sizeof(*diff->ports));
	diff->of_before = calloc(before->fabric->port_count + 1, sizeof(*diff->of_before));
	if (!diff->ports || !diff->of_before) {
		diff_done(diff);
		return err_nomem(err);
	}
	compare_ports(diff);
	code = saved_resets(reader, before->info.sweep, after->info.sweep, note_resets, diff, err);
	if (code < 0)
		diff_done(diff);
	return code;
}

void diff_done(struct diff *diff)
{
	free(diff->ports);
	free(diff->of_before);
	*diff = (struct diff){ 0 };
}

/* --- rows --- */

static struct diff_row *add_row(struct diff_rows *rows, struct error *err)
{
	struct diff_row *grown = array_grow(rows->rows, rows->count, &rows->capacity, sizeof(*rows->rows));

	if (!grown) {
		err_nomem(err);
		return NULL;
	}
	rows->rows = grown;
	grown[rows->count] = (struct diff_row){ .place = rows->count };
	return &grown[rows->count++];
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

/* Compute the sort keys of a row. */
static void set_sort_keys(struct diff_row *row)
{
	for (size_t side = 0; side < 2; side++) {
		const struct counted *counters = row->sides[side].counters;

		if (!counters)
			continue;
		row->errors = add_up(row->errors, counted_errors(counters));
		for (size_t i = COUNTER_XMIT_DATA; i <= COUNTER_RCV_DATA; i++)
			row->traffic = add_up(row->traffic, counters[i].known ? counters[i].value : 0);
		for (size_t i = 0; i < COUNTED_COUNT; i++)
			row->known |= counters[i].known;
	}
}

static void set_side(struct diff_side *side, const struct diff_port *port)
{
	*side = (struct diff_side){ port, port->difference.counters };
}

static int rows_by_port(struct diff_rows *rows, const struct diff *diff, struct error *err)
{
	for (size_t i = 0; i < diff->port_count; i++) {
		struct diff_row *row = add_row(rows, err);

		if (!row)
			return ERR_NOMEM;
		set_side(&row->sides[0], &diff->ports[i]);
		set_sort_keys(row);
	}
	return 0;
}

static int add_link(struct diff_rows *rows, const struct diff_port *a, const struct diff_port *b, bool added,
		    bool removed, struct error *err)
{
	struct diff_row *row = add_row(rows, err);

	if (!row)
		return ERR_NOMEM;
	set_side(&row->sides[0], a);
	set_side(&row->sides[1], b);
	row->added = added;
	row->removed = removed;
	set_sort_keys(row);
	return 0;
}

/* Links of the later fabric, then those only in the earlier one. */
static int rows_by_link(struct diff_rows *rows, const struct diff *diff, struct error *err)
{
	const struct fabric *before = diff->before->fabric, *after = diff->after->fabric;
	int code = 0;

	for (uint32_t i = 0; i < after->port_count && code == 0; i++) {
		uint32_t peer = after->ports[i].peer, was = diff->ports[i].before;

		if (peer == FABRIC_NONE || peer < i)
			continue;
		was = was == FABRIC_NONE ? FABRIC_NONE : before->ports[was].peer;
		code = add_link(rows, &diff->ports[i], &diff->ports[peer],
				was == FABRIC_NONE || diff->of_before[was] != peer, false, err);
	}
	for (uint32_t i = 0; i < before->port_count && code == 0; i++) {
		uint32_t peer = before->ports[i].peer, a, b;

		if (peer == FABRIC_NONE || peer < i)
			continue;
		a = diff->of_before[i];
		b = diff->of_before[peer];
		if (a >= after->port_count || b >= after->port_count || after->ports[a].peer != b)
			code = add_link(rows, &diff->ports[a], &diff->ports[b], false, true, err);
	}
	return code;
}

/* A port and the name of its group. */
struct member {
	char *name;
	uint64_t guid; /* of a switch: names may not be unique */
	const struct diff_port *port;
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int by_name = names_compare(a->name, b->name);

	if (by_name)
		return by_name;
	return a->guid < b->guid ? -1 : a->guid > b->guid;
}

/* Return: number of members, or ERR_NOMEM; members own their names in both cases. */
static int64_t list_members(const struct diff *diff, enum diff_by by, struct member *members)
{
	int64_t count = 0;

	for (size_t i = 0; i < diff->port_count; i++) {
		uint32_t index;
		const struct fabric *fabric = diff_fabric(diff, &diff->ports[i], &index);
		const struct node *node = &fabric->nodes[fabric->ports[index].node];
		char name[NODE_NAME_SIZE];

		if (by == DIFF_BY_HOST ? !host_name(node, name) : node->type != NODE_SWITCH)
			continue;
		members[count].name = strdup(by == DIFF_BY_HOST ? name : node->name);
		members[count].guid = by == DIFF_BY_HOST ? 0 : node->guid;
		members[count].port = &diff->ports[i];
		if (!members[count].name)
			return ERR_NOMEM;
		count++;
	}
	return count;
}

/* Add a row for the group that starts at @first. Return: the start of the next group. */
static size_t add_group(struct diff_rows *rows, struct member *members, size_t first, size_t count, struct error *err)
{
	struct diff_row *row = add_row(rows, err);
	struct difference_sum sum;
	size_t i;

	if (row)
		row->sum = calloc(COUNTED_COUNT, sizeof(*row->sum));
	if (!row || !row->sum) {
		err_nomem(err);
		return count + 1;
	}
	memset(&sum, 0, sizeof(sum));
	for (i = first; i < count && !compare_members(&members[first], &members[i]); i++)
		difference_add(&sum, &members[i].port->difference);
	for (size_t place = 0; place < COUNTED_COUNT; place++)
		row->sum[place] = difference_sum_counter(&sum, place);
	row->sides[0].counters = row->sum;
	row->name = members[first].name;
	members[first].name = NULL;
	row->node_guid = members[first].guid;
	row->ports = sum.ports;
	row->ports_unknown = sum.ports_unknown;
	set_sort_keys(row);
	return i;
}

static int rows_by_sum(struct diff_rows *rows, const struct diff *diff, enum diff_by by, struct error *err)
{
	struct member *members = calloc(diff->port_count + 1, sizeof(*members));
	int64_t count = members ? list_members(diff, by, members) : ERR_NOMEM;
	size_t i;
	int code = 0;

	if (count < 0) {
		code = err_nomem(err);
	} else {
		qsort(members, (size_t)count, sizeof(*members), compare_members);
		for (i = 0; i < (size_t)count; )
			i = add_group(rows, members, i, (size_t)count, err);
		if (i > (size_t)count)
			code = ERR_NOMEM;
	}
	for (i = 0; members && i < diff->port_count; i++)
		free(members[i].name);
	free(members);
	return code;
}

/* --- order of rows --- */

/* Name and port number that a row is sorted by. */
static const char *row_name(const struct diff *diff, const struct diff_row *row, unsigned *ret_number)
{
	const struct fabric *fabric;
	uint32_t index;

	*ret_number = 0;
	if (row->name)
		return row->name;
	fabric = diff_fabric(diff, row->sides[0].port, &index);
	*ret_number = fabric->ports[index].num;
	return fabric->nodes[fabric->ports[index].node].name;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct diff_row *a = left, *b = right;
	unsigned a_number, b_number;
	const char *a_name, *b_name;
	int by_name;

	if (a->errors != b->errors)
		return a->errors > b->errors ? -1 : 1;
	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->traffic != b->traffic)
		return a->traffic > b->traffic ? -1 : 1;
	a_name = row_name(ctx, a, &a_number);
	b_name = row_name(ctx, b, &b_number);
	/* Ports of a node share its name. */
	by_name = a_name == b_name ? 0 : names_compare(a_name, b_name);
	if (by_name)
		return by_name;
	if (a_number != b_number)
		return a_number < b_number ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

int diff_rows_init(struct diff_rows *rows, const struct diff *diff, enum diff_by by, struct error *err)
{
	int code;

	*rows = (struct diff_rows){ 0 };
	if (by == DIFF_BY_PORT)
		code = rows_by_port(rows, diff, err);
	else if (by == DIFF_BY_LINK)
		code = rows_by_link(rows, diff, err);
	else
		code = rows_by_sum(rows, diff, by, err);
	if (code < 0)
		diff_rows_done(rows);
	else if (rows->count)
		qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, (void *)(uintptr_t)diff);
	return code;
}

void diff_rows_done(struct diff_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].name);
		free(rows->rows[i].sum);
	}
	free(rows->rows);
	*rows = (struct diff_rows){ 0 };
}
