/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/service_levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/variant.h"
#include "facts/service_levels.h"
#include "pages/balance.h"
#include "pages/uplinks.h"

/* Rows in text without --all. */
enum { ROWS_MOST = 20 };

struct sl_group {
	struct uplinks at;
	struct level_rates sum;
};

struct sl_listing {
	const struct balance_report *report;
	struct level_data *data; /* level_data_read() */
	struct sl_group *groups;
	size_t count;
	uint32_t used;          /* bit 1 << SL */
	uint32_t read, links;   /* groups' links, in both directions */
};

/* Those whose largest service level but one carries most come first. */
static double rank_of(const struct sl_group *group)
{
	double most = 0, all = level_rates_total(&group->sum);

	for (unsigned sl = 0; sl < SERVICE_LEVELS; sl++)
		most = group->sum.rate[sl] > most ? group->sum.rate[sl] : most;
	return all - most;
}

static int compare_groups(const void *a, const void *b)
{
	const struct sl_group *left = a, *right = b;

	return uplinks_compare(&left->at, rank_of(left), &right->at, rank_of(right));
}

static void list_groups(struct sl_listing *of)
{
	const struct shape *shape = of->report->shape;

	for (uint32_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		if (!uplinks_are_listed(of->report, group))
			continue;
		for (int direction = BALANCE_XMIT; direction <= BALANCE_RCV; direction++) {
			struct sl_group *sum = &of->groups[of->count];

			*sum = (struct sl_group){ .at = { i, (enum balance_direction)direction } };
			for (uint32_t k = 0; k < group->count; k++)
				if (link_is_usable(shape->fabric, shape->members[group->first + k]))
					level_rates_add(&sum->sum, level_data_of(shape->fabric, of->data,
										 shape->members[group->first + k],
										 direction == BALANCE_XMIT));
			of->used |= sum->sum.used;
			of->read += sum->sum.known;
			of->links += sum->sum.count;
			of->count += sum->sum.count > 0;
		}
	}
	qsort(of->groups, of->count, sizeof(*of->groups), compare_groups);
}

/* --- the page --- */

enum { LINKS = UPLINKS_COLUMNS, KNOWN, FIRST, COLUMNS = FIRST + LEVEL_COLUMNS };

static const struct column first_columns[FIRST] = {
	UPLINKS_FIRST_COLUMNS,
	[LINKS] = { .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER },
	[KNOWN] = { .key = "links_read", .title = "READ", .kind = COLUMN_INTEGER },
};

static void put_group(struct result *result, const struct sl_listing *of, const struct sl_group *group)
{
	uplinks_put(result, of->report, &group->at);
	result_integer(result, LINKS, group->sum.count);
	result_integer(result, KNOWN, group->sum.known);
	level_rates_put(&group->sum, result, FIRST);
	result_end_row(result);
}

static void put_groups(struct result *result, const void *ctx)
{
	const struct sl_listing *of = ctx;
	bool is_limited = result_rendering(result) == PAGE_TEXT && !of->report->all;
	size_t i, shown = 0;

	for (i = 0; i < of->count && !(is_limited && shown == ROWS_MOST); i++) {
		if (is_limited && !of->groups[i].sum.known)
			continue;
		put_group(result, of, &of->groups[i]);
		shown++;
	}
	if (i < of->count)
		result_note(result, "and %zu more (--all)", of->count - i);
	result_none(result, "unknown: no port has two readings of data by service level in this window");
}

static struct column *columns_of(const struct sl_listing *of, struct page *page)
{
	struct column *columns = page_alloc(page, COLUMNS, sizeof(*columns));

	if (!columns)
		return NULL;
	memcpy(columns, first_columns, sizeof(first_columns));
	level_columns(of->used, columns + FIRST);
	return columns;
}

static void add_notes(const struct sl_listing *of, struct page *page)
{
	char since[WHEN_SIZE], until[WHEN_SIZE];

	page_add_note(page, PAGE_TEXT, false, "%s to %s: shares of the data that each service level carries",
		      when_format_local(of->report->since_us, since), when_format_local(of->report->until_us, until));
	if (of->read < of->links)
		page_add_note(page, PAGE_TEXT, true, "%u of %u links and directions have two readings in this window: "
			      "these counters are read seldom, and only of NVIDIA's devices that have them; a longer "
			      "--since has more", of->read, of->links);
	if (of->used && !(of->used & (of->used - 1)))
		page_add_note(page, PAGE_TEXT, false, "only service level %d is in use", __builtin_ctz(of->used));
}

int service_levels_page(const struct balance_report *report, struct page **ret, struct error *err)
{
	struct page *page = page_create("Load by service level");
	struct sl_listing *of = page_alloc(page, 1, sizeof(*of));
	struct column *columns = NULL;
	int code = of ? 0 : err_nomem(err);

	if (code == 0) {
		of->report = report;
		of->data = page_alloc(page, 2 * report->moment.fabric->port_count + 1, sizeof(*of->data));
		of->groups = page_alloc(page, 2 * report->shape->group_count + 1, sizeof(*of->groups));
		code = of->data && of->groups ? level_data_read(report->moment.reader, report->moment.fabric,
								report->since_us, report->until_us, false, of->data,
								err) : err_nomem(err);
	}
	if (code >= 0) {
		list_groups(of);
		columns = columns_of(of, page);
		code = columns ? 0 : err_nomem(err);
	}
	if (code < 0) {
		page_destroy(page);
		return code;
	}
	add_notes(of, page);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "", .space = SPACE_LINE,
					       .table = { columns, COLUMNS, put_groups, of } });
	*ret = page;
	return 0;
}
