/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* detail_group.c - links that can stand in for each other: what each carries, and what its share would be */
#include <math.h>
#include <stdio.h>

#include "fabric/shape.h"
#include "tui/screens/app.h"
#include "tui/screens/subject_page.h"
#include "tui/model/cell_text.h"

/* Sums over the members, before they are made shares. */
struct sums {
	double out, in, capacity, lids;
};

static struct sums sum_up(const struct app *app, const struct shape_group *group, const struct detail_known *known)
{
	const struct fabric *fabric = app->live.shown->fabric;
	struct sums sums = { 0 };

	for (uint32_t i = group->first; i < group->first + group->count; i++) {
		uint32_t index = app->moment.shape->members[i];
		const struct row_view *view = &app->table.views[index];

		sums.out += isnan(view->xmit_bytes_per_s) ? 0 : view->xmit_bytes_per_s;
		sums.in += isnan(view->rcv_bytes_per_s) ? 0 : view->rcv_bytes_per_s;
		sums.capacity += fabric->ports[index].state == PORT_ACTIVE ?
				 (double)port_rate_bits_per_s(&fabric->ports[index]) : 0;
		sums.lids += known->lids[fabric->ports[index].num];
	}
	return sums;
}

static const char *share_text(double part, double whole, char *ret, size_t size)
{
	return format_percent(whole > 0 ? 100 * part / whole : NAN, ret, size);
}

/* Columns from the right end of a peer's name on, each of 7 and a blank. */
enum { CELL = 7, FEW = 6, ALL = 8 };

static void put_cells(struct page *page, int x, enum role role, const char *const *texts, int count)
{
	for (int i = 0; i < count; i++)
		page_put(page, x + i * (CELL + 1), CELL, ALIGN_RIGHT, role, texts[i]);
}

static void put_member(struct page *page, const struct app *app, const struct detail_known *known,
		       const struct sums *sums, uint32_t index, int peer_columns, int cells)
{
	const struct fabric *fabric = app->live.shown->fabric;
	const struct port *port = &fabric->ports[index];
	const struct row_view *view = &app->table.views[index];
	const struct subject subject = subject_of_port(app, index);
	char out[16], in[16], share_out[16], share_in[16], fair[16], table[16], stall[16], errors[32] = "-";
	const char *const texts[ALL] = { out, share_out, in, share_in, fair, table, stall, errors };
	double load = fmax(view->xmit_percent, view->rcv_percent);
	char text[NODE_NAME_SIZE + 8] = "-";
	double capacity = port->state == PORT_ACTIVE ? (double)port_rate_bits_per_s(port) : 0;

	page_line(page, &subject);
	snprintf(text, sizeof(text), "%u", port->num);
	page_put(page, 0, 4, ALIGN_RIGHT, ROLE_STRONG, text);
	snprintf(text, sizeof(text), "-");
	if (port->peer != FABRIC_NONE)
		words_append_port(app->table.order.names[fabric->ports[port->peer].node], fabric->ports[port->peer].num,
				  text);
	page_put(page, 5, peer_columns, ALIGN_MIDDLE, port->state == PORT_ACTIVE ? ROLE_TEXT : ROLE_DOWN, text);
	format_percent(view->xmit_percent, out, sizeof(out));
	format_percent(view->rcv_percent, in, sizeof(in));
	share_text(view->xmit_bytes_per_s, sums->out, share_out, sizeof(share_out));
	share_text(view->rcv_bytes_per_s, sums->in, share_in, sizeof(share_in));
	share_text(capacity, sums->capacity, fair, sizeof(fair));
	share_text(known->routes == ROUTES_READ ? known->lids[port->num] : NAN, sums->lids, table, sizeof(table));
	format_percent(view->stall_percent, stall, sizeof(stall));
	if (!isnan(view->errors))
		format_count((uint64_t)view->errors, 6, errors, sizeof(errors));
	put_cells(page, 6 + peer_columns, isnan(load) ? ROLE_FAINT : theme_load_role(load), texts, cells);
}

static void put_members(struct page *page, const struct app *app, const struct detail_known *known,
			const struct shape_group *group)
{
	static const char *const heads[ALL] = { "OUT", "SHARE", "IN", "SHARE", "FAIR", "TABLE", "STALL", "ERRORS" };
	const struct sums sums = sum_up(app, group, known);
	int cells = page->columns >= 6 + 14 + ALL * (CELL + 1) ? ALL : page->columns >= 60 ? FEW : 3;
	int peer_columns = page->columns - 6 - cells * (CELL + 1);

	peer_columns = peer_columns < 4 ? 4 : peer_columns > 48 ? 48 : peer_columns;
	page_heading(page, "MEMBERS");
	page_line(page, NULL);
	page_put(page, 0, 4, ALIGN_RIGHT, ROLE_HEAD, "PORT");
	page_put(page, 5, peer_columns, ALIGN_LEFT, ROLE_HEAD, "PEER");
	put_cells(page, 6 + peer_columns, ROLE_HEAD, heads, cells);
	for (uint32_t i = group->first; i < group->first + group->count; i++)
		put_member(page, app, known, &sums, app->moment.shape->members[i], peer_columns, cells);
	page_line(page, NULL);
	page_wrap(page, NULL, 0, ROLE_FAINT,
		  "OUT, IN: of the link's rate. SHARE: of what all members carry. FAIR: by what each can carry. "
		  "TABLE: what the switch's forwarding table gives it of the destinations that leave by the group.");
}

void detail_put_group(struct detail *detail, const struct app *app, const struct subject *subject)
{
	const struct shape *shape = app->moment.shape;
	uint32_t index = subject_group(app->moment.shape, subject);
	const struct subject node = { .kind = SUBJECT_NODE, .node_guid = subject->node_guid };
	struct page *page = &detail->page;
	char name[NODE_NAME_SIZE * 2 + 16];
	const struct shape_group *group;

	page_line(page, subject);
	page_put(page, 0, -1, ALIGN_LEFT, ROLE_STRONG, subject_name(app, subject, name, sizeof(name)));
	if (index == SHAPE_NONE) {
		page_line(page, NULL);
		page_putf(page, 0, ROLE_WARNING, "There are no such links in the fabric that is shown.");
		detail_put_findings(detail, app, subject->node_guid, 0);
		return;
	}
	group = &shape->groups[index];
	page_line(page, &node);
	page_putf(page, 0, group->count < group->built ? ROLE_WARNING : ROLE_TEXT,
		  "%u links of %u built, of a switch of tier %u", group->count, group->built, group->tier);
	detail_put_findings(detail, app, subject->node_guid, 0);
	detail_put_plot(detail, app);
	put_members(page, app, &detail->known, group);
}
