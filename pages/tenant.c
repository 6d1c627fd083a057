/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/tenant.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/predict.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/pkeys.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "pages/balance.h"
#include "pages/uplinks.h"

/* Rows in text without --all. */
enum { ROWS_MOST = 20 };

/* --- the ports of a tenant --- */

static int mark_ports(struct tenant_load *tenant, const struct shape *shape, const bool *hosts, struct error *err)
{
	const struct fabric *fabric = shape->fabric;
	bool *counted = calloc(shape->host_count + 1, sizeof(*counted));

	if (!tenant->ports)
		tenant->ports = calloc(fabric->port_count + 1, sizeof(*tenant->ports));
	if (!tenant->ports || !counted) {
		free(counted);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t host = shape->nodes[fabric->ports[i].node].host;

		if (hosts)
			tenant->ports[i] = host != SHAPE_NONE && hosts[host] && link_is_usable(fabric, i);
		if (!tenant->ports[i])
			continue;
		tenant->port_count++;
		tenant->hosts += host != SHAPE_NONE && !counted[host];
		if (host != SHAPE_NONE)
			counted[host] = true;
	}
	free(counted);
	return 0;
}

/* Is the port in another partition than this and the default one? */
static bool has_others(const struct pkey_table *table, uint16_t base)
{
	for (uint16_t i = 0; i < table->count; i++) {
		uint16_t other = table->keys[i] & PKEY_BASE;

		if (other && other != base && other != (PKEY_DEFAULT & PKEY_BASE))
			return true;
	}
	return false;
}

int tenant_of_partition(struct tenant_load *tenant, const struct shape *shape, const struct pkeys *pkeys, uint16_t base,
			struct error *err)
{
	const struct fabric *fabric = shape->fabric;
	bool is_default = base == (PKEY_DEFAULT & PKEY_BASE);
	uint32_t members = 0, shared = 0;

	if (!pkeys->count)
		return err_set(err, ERR_UNAVAILABLE, "no P_Key table was read at this time: --partition requires them");
	tenant->ports = calloc(fabric->port_count + 1, sizeof(*tenant->ports));
	if (!tenant->ports)
		return err_nomem(err);
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			const struct pkey_table *table = pkeys_of(pkeys, fabric, i);

			if (!table || !pkeys_is_member_port(fabric, i) || !link_is_usable(fabric, i) ||
			    !pkey_member(table, base))
				continue;
			members += !pass;
			shared += !pass && !is_default && has_others(table, base);
			if (pass)
				tenant->ports[i] = is_default || shared == members || !has_others(table, base);
		}
	tenant->is_partition = true;
	if (!members)
		return err_set(err, ERR_USAGE, "no port is a member of partition 0x%04x: 'ibwire topology partitions' "
			       "lists them", base);
	tenant->shared = shared == members ? 0 : shared;
	return mark_ports(tenant, shape, NULL, err);
}

int tenant_of_hosts(struct tenant_load *tenant, const struct shape *shape, const struct host_set *hosts,
		    struct error *err)
{
	struct host_set named = { 0 };
	bool *marked = calloc(shape->host_count + 1, sizeof(*marked)), any = false;
	int code = marked ? shape_name_hosts(shape, hosts, &named, err) : err_nomem(err);

	for (size_t i = 0; code == 0 && i < shape->host_count; i++)
		any |= marked[i] = host_set_has(&named, shape->hosts[i].name);
	if (code == 0 && !any)
		code = err_set(err, ERR_USAGE, "the fabric has none of the hosts of --hosts");
	if (code == 0)
		code = mark_ports(tenant, shape, marked, err);
	free(named.names);
	free(marked);
	return code;
}

void tenant_load_done(struct tenant_load *tenant)
{
	free(tenant->ports);
	free(tenant->groups);
}

/* --- the estimate --- */

/* By port, in bits per second: as analysis/predict.h needs them. */
struct rates {
	double *xmit, *rcv, *measured, *load, *open;
};

static void rates_done(struct rates *rates)
{
	free(rates->xmit);
	free(rates->rcv);
	free(rates->measured);
	free(rates->load);
	free(rates->open);
}

static int read_rates(struct tenant_load *tenant, const struct balance_input *input, struct rates *rates,
		      struct error *err)
{
	const struct fabric *fabric = input->shape->fabric;

	rates->xmit = calloc(fabric->port_count + 1, sizeof(double));
	rates->rcv = calloc(fabric->port_count + 1, sizeof(double));
	rates->measured = calloc(fabric->port_count + 1, sizeof(double));
	rates->load = calloc(fabric->port_count + 1, sizeof(double));
	rates->open = calloc(fabric->port_count + 1, sizeof(double));
	if (!rates->xmit || !rates->rcv || !rates->measured || !rates->load || !rates->open)
		return err_nomem(err);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		bool is_switch = fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH;
		double xmit = balance_port_rate(input, i, true) * BALANCE_BITS_PER_S;
		double rcv = balance_port_rate(input, i, false) * BALANCE_BITS_PER_S;

		rates->xmit[i] = is_switch ? NAN : xmit;
		rates->rcv[i] = is_switch ? NAN : rcv;
		rates->measured[i] = is_switch ? xmit : NAN;
		if (!tenant->ports[i])
			continue;
		if (isnan(xmit) || isnan(rcv)) {
			tenant->unknown++;
			continue;
		}
		tenant->xmit += xmit;
		tenant->rcv += rcv;
	}
	return 0;
}

/* What a port of a group sends, or receives: what the other end sends. */
static void add_link(struct tenant_group *sum, const struct fabric *fabric, const struct rates *rates, bool is_exact,
		     uint32_t port)
{
	uint32_t sender = sum->at.direction == BALANCE_XMIT ? port : fabric->ports[port].peer;

	if (!link_is_usable(fabric, port))
		return;
	sum->capacity += (double)port_rate_bits_per_s(&fabric->ports[port]);
	sum->load = measure_add(sum->load, measure_of(rates->measured[sender], true));
	sum->tenant = measure_add(sum->tenant, measure_of(rates->load[sender], is_exact));
	sum->open = measure_add(sum->open, measure_of(rates->open[sender], is_exact));
}

static double rank_of(const struct tenant_group *group)
{
	return !(group->capacity > 0) || isnan(group->load.value) ? -1 : group->load.value / group->capacity;
}

static int compare_groups(const void *a, const void *b)
{
	const struct tenant_group *left = a, *right = b;

	return uplinks_compare(&left->at, rank_of(left), &right->at, rank_of(right));
}

static void limit(struct measure *estimate, struct measure load)
{
	if (measure_is_exact(load) && estimate->value > load.value)
		estimate->value = load.value;
}

static int list_groups(struct tenant_load *tenant, const struct rates *rates, struct error *err)
{
	const struct balance_report *report = tenant->report;
	const struct shape *shape = report->shape;
	bool is_exact = !tenant->unknown && !(tenant->lost > 0);

	tenant->groups = calloc(2 * shape->group_count + 1, sizeof(*tenant->groups));
	if (!tenant->groups)
		return err_nomem(err);
	for (uint32_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		if (!uplinks_are_listed(report, group))
			continue;
		for (int direction = BALANCE_XMIT; direction <= BALANCE_RCV; direction++) {
			struct tenant_group *sum = &tenant->groups[tenant->group_count];

			*sum = (struct tenant_group){ .at = { i, (enum balance_direction)direction },
						      .load = MEASURE_NONE, .tenant = MEASURE_NONE,
						      .open = MEASURE_NONE };
			for (uint32_t k = 0; k < group->count; k++)
				add_link(sum, shape->fabric, rates, is_exact, shape->members[group->first + k]);
			limit(&sum->tenant, sum->load);
			limit(&sum->open, sum->load);
			if (tenant->is_partition)
				sum->open = MEASURE_NONE;
			tenant->group_count += sum->capacity > 0;
		}
	}
	qsort(tenant->groups, tenant->group_count, sizeof(*tenant->groups), compare_groups);
	return 0;
}

/* One estimate of the load of each link. */
static int estimate(struct tenant_load *tenant, const struct rates *rates, bool open, double *ret_load,
		    double *ret_error, struct error *err)
{
	const struct balance_report *report = tenant->report;
	const struct fabric *fabric = report->shape->fabric;
	const struct demand_input of = { .fabric = fabric, .xmit = rates->xmit, .rcv = rates->rcv,
					 .tenant = tenant->ports, .open = open, .routes = &report->routes,
					 .measured = rates->measured };
	struct demand *demand = demand_create(&of, ret_error, err);
	double lost = 0;
	int code = demand ? demand_route_tenant(demand, fabric, &report->routes, ret_load, &lost, err) : ERR_NOMEM;

	if (lost > 0 && tenant->xmit + tenant->rcv > 0)
		tenant->lost = fmax(tenant->lost, fmin(lost / fmax(tenant->xmit, tenant->rcv), 1));
	demand_destroy(demand);
	return code;
}

int tenant_load_compute(struct tenant_load *tenant, struct error *err)
{
	const struct balance_report *report = tenant->report;
	const struct balance_input input = { .shape = report->shape, .loads = report->loads,
					     .window_us = (double)(report->until_us - report->since_us) };
	struct rates rates = { 0 };
	int code = read_rates(tenant, &input, &rates, err);

	tenant->fit_error = tenant->open_fit_error = NAN;
	if (code == 0 && report->routes_known)
		code = estimate(tenant, &rates, false, rates.load, &tenant->fit_error, err);
	if (code == 0 && report->routes_known && !tenant->is_partition)
		code = estimate(tenant, &rates, true, rates.open, &tenant->open_fit_error, err);
	if (code == 0 && report->routes_known)
		code = list_groups(tenant, &rates, err);
	rates_done(&rates);
	return code;
}

/* --- the page --- */

enum { LINKS = UPLINKS_COLUMNS, CAPACITY, UTILIZATION, LOAD, TENANT, SHARE, OF_CAPACITY, OPEN_SHARE, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	UPLINKS_FIRST_COLUMNS,
	[LINKS] = { .key = "links", .title = "LINKS", .kind = COLUMN_INTEGER, .priority = 2 },
	[CAPACITY] = { .key = "capacity_gbps", .kind = COLUMN_GBPS },
	[UTILIZATION] = { .key = "utilization_percent", .title = "UTIL%", .kind = COLUMN_PERCENT,
			  .flags = COLUMN_LOAD },
	[LOAD] = { .key = "load_bytes_per_s", .title = "LOAD", .kind = COLUMN_RATE, .priority = 1 },
	[TENANT] = { .key = "tenant_bytes_per_s", .title = "TENANT", .kind = COLUMN_RATE },
	[SHARE] = { .key = "tenant_share_percent", .title = "TENANT%", .kind = COLUMN_PERCENT },
	[OF_CAPACITY] = { .key = "tenant_capacity_percent", .title = "OF CAPACITY%", .kind = COLUMN_PERCENT },
	[OPEN_SHARE] = { .key = "tenant_open_share_percent", .title = "WITH ALL%", .kind = COLUMN_PERCENT },
};

static void put_group(struct result *result, const struct tenant_load *tenant, const struct tenant_group *group)
{
	uplinks_put(result, tenant->report, &group->at);
	result_integer(result, LINKS, tenant->report->shape->groups[group->at.group].count);
	result_real(result, CAPACITY, group->capacity / 1e9);
	result_measure(result, UTILIZATION, measure_scale(group->load, 100 / group->capacity));
	result_measure(result, LOAD, measure_scale(group->load, 1.0 / 8));
	result_measure(result, TENANT, measure_scale(group->tenant, 1.0 / 8));
	/* The share of a load that is only known in part is unknown. */
	if (measure_exact(group->load) > 0) {
		result_measure(result, SHARE, measure_scale(group->tenant, 100 / group->load.value));
		if (!tenant->is_partition)
			result_measure(result, OPEN_SHARE, measure_scale(group->open, 100 / group->load.value));
	}
	result_measure(result, OF_CAPACITY, measure_scale(group->tenant, 100 / group->capacity));
	result_end_row(result);
}

/* Less than half of the last digit that is shown. */
static bool is_nothing(const struct tenant_group *group)
{
	return !(group->tenant.value >= 0.0005 * group->capacity) && !(group->open.value >= 0.0005 * group->capacity);
}

static void put_groups(struct result *result, const void *ctx)
{
	const struct tenant_load *tenant = ctx;
	bool is_limited = result_rendering(result) == PAGE_TEXT && !tenant->report->all;
	size_t shown = 0, more = 0, idle = 0;

	for (size_t i = 0; i < tenant->group_count; i++) {
		const struct tenant_group *group = &tenant->groups[i];

		if (is_limited && is_nothing(group))
			idle++;
		else if (is_limited && shown == ROWS_MOST)
			more++;
		else if (++shown)
			put_group(result, tenant, group);
	}
	if (more)
		result_note(result, "and %zu more (--all)", more);
	if (idle && shown)
		result_note(result, "%zu group%s carr%s less than 0.05 %% of %s capacity for the tenant (--all)", idle,
			    text_plural(idle), idle == 1 ? "ies" : "y", idle == 1 ? "its" : "their");
	result_none(result, !tenant->report->routes_known ? "unknown: no forwarding tables at this time" :
		    tenant->unknown == tenant->port_count ? "unknown: no traffic of its ports in this window" :
							    "no uplinks carry traffic of the tenant");
}

enum { NAME, HOSTS, PORTS, SHARED, UNKNOWN, XMIT, RCV, LOST, FIT_ERROR, OPEN_FIT_ERROR, TABLES, SINCE, UNTIL,
       HEAD_COLUMNS };

static const struct column head_columns[HEAD_COLUMNS] = {
	[NAME] = { .key = "tenant", .kind = COLUMN_TEXT },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_INTEGER },
	[PORTS] = { .key = "ports", .kind = COLUMN_INTEGER },
	[SHARED] = { .key = "shared_ports", .kind = COLUMN_INTEGER },
	[UNKNOWN] = { .key = "ports_with_unknown_traffic", .kind = COLUMN_INTEGER },
	[XMIT] = { .key = "xmit_bytes_per_s", .kind = COLUMN_RATE },
	[RCV] = { .key = "rcv_bytes_per_s", .kind = COLUMN_RATE },
	[LOST] = { .key = "traffic_without_path_percent", .kind = COLUMN_PERCENT },
	[FIT_ERROR] = { .key = "fit_error_percent", .kind = COLUMN_PERCENT },
	[OPEN_FIT_ERROR] = { .key = "open_fit_error_percent", .kind = COLUMN_PERCENT },
	[TABLES] = { .key = "tables_known", .kind = COLUMN_BOOL },
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
};

static void put_head(struct result *result, const void *ctx)
{
	const struct tenant_load *tenant = ctx;
	bool is_exact = !tenant->unknown;

	result_text(result, NAME, tenant->name);
	result_integer(result, HOSTS, tenant->hosts);
	result_integer(result, PORTS, tenant->port_count);
	result_integer(result, SHARED, tenant->shared);
	result_integer(result, UNKNOWN, tenant->unknown);
	result_measure(result, XMIT, measure_of(tenant->xmit / 8, is_exact));
	result_measure(result, RCV, measure_of(tenant->rcv / 8, is_exact));
	if (tenant->report->routes_known)
		result_real(result, LOST, 100 * tenant->lost);
	result_real(result, FIT_ERROR, 100 * tenant->fit_error);
	result_real(result, OPEN_FIT_ERROR, 100 * tenant->open_fit_error);
	result_bool(result, TABLES, tenant->report->routes_known);
	result_integer(result, SINCE, tenant->report->since_us);
	result_integer(result, UNTIL, tenant->report->until_us);
	result_end_row(result);
}

static void add_notes(const struct tenant_load *tenant, struct page *page)
{
	const struct balance_report *report = tenant->report;
	char since[WHEN_SIZE], until[WHEN_SIZE];
	const char *mark = tenant->unknown ? "at least " : "";

	page_add_note(page, PAGE_TEXT, false, "%s to %s", when_format_local(report->since_us, since),
		      when_format_local(report->until_us, until));
	page_add_note(page, PAGE_TEXT, false, "%s: %u port%s of %u host%s%s", tenant->name, tenant->port_count,
		      text_plural(tenant->port_count), tenant->hosts, text_plural(tenant->hosts),
		      tenant->unknown == tenant->port_count ? "" :
		      page_print(page, ", %s%.1f Gb/s sent, %s%.1f Gb/s received", mark, tenant->xmit / 1e9, mark,
				 tenant->rcv / 1e9));
	if (report->routes_known && tenant->unknown < tenant->port_count) {
		page_add_note(page, PAGE_TEXT, false, "TENANT: an estimate from the forwarding tables, if its ports "
			      "send to each other first and to others what remains; it misses the loads of links by "
			      "%.1f %%", 100 * tenant->fit_error);
		if (!tenant->is_partition)
			page_add_note(page, PAGE_TEXT, false, "WITH ALL%%: the same if they send to all hosts "
				      "alike; it misses them by %.1f %%", 100 * tenant->open_fit_error);
	}
	if (tenant->shared)
		page_add_note(page, PAGE_TEXT, true, "%u port%s of the partition %s in others, too, and count%s only "
			      "with what %s exchange%s with the rest", tenant->shared, text_plural(tenant->shared),
			      tenant->shared == 1 ? "is" : "are", tenant->shared == 1 ? "s" : "",
			      tenant->shared == 1 ? "it" : "they", tenant->shared == 1 ? "s" : "");
	if (tenant->unknown && tenant->unknown < tenant->port_count)
		page_add_note(page, PAGE_TEXT, true, "the traffic of %u of its ports is unknown and counts as 0: "
			      "shares are lower bounds", tenant->unknown);
	if (tenant->lost > 0)
		page_add_note(page, PAGE_TEXT, true, "%.1f %% of its traffic has no path in the tables that were read: "
			      "shares are lower bounds", 100 * tenant->lost);
}

struct page *tenant_page(const struct tenant_load *tenant)
{
	struct page *page = page_create("Load of a tenant");
	size_t columns = tenant->is_partition ? OPEN_SHARE : GROUP_COLUMNS; /* that is the last one */

	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "tenant",
					       .table = { head_columns, HEAD_COLUMNS, put_head, tenant } });
	add_notes(tenant, page);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "groups", .space = SPACE_LINE,
					       .table = { group_columns, columns, put_groups, tenant } });
	return page;
}
