/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/amount.h"

#include <math.h>

#include "facts/port_facts.h"

static const struct balance_amount *amount_of(const void *row)
{
	return &((const struct amount_facts *)row)->amount;
}

static struct measure rate_of(const void *row, struct measure bytes_per_us)
{
	return amount_of(row)->known ? measure_scale(bytes_per_us, 1e6) : MEASURE_NONE;
}

static double percent_of(const void *row, struct measure bytes_per_us)
{
	double capacity = amount_of(row)->capacity;

	return capacity > 0 ? 100 * measure_exact(bytes_per_us) * BALANCE_BITS_PER_S / capacity : NAN;
}

/* A function that reads a number of a row. */
#define NUMBER(type, name, expression) static type name(const void *row) { return expression; }

NUMBER(struct measure, measure_xmit, rate_of(row, amount_of(row)->xmit))
NUMBER(struct measure, measure_rcv, rate_of(row, amount_of(row)->rcv))
NUMBER(double, number_xmit_percent, percent_of(row, amount_of(row)->xmit))
NUMBER(double, number_rcv_percent, percent_of(row, amount_of(row)->rcv))
NUMBER(double, number_share, 100 * amount_of(row)->share)
NUMBER(double, number_fair, 100 * amount_of(row)->fair)
/* Not "-0". */
NUMBER(double, number_excess, fabs(amount_of(row)->excess) < 0.0005 ? 0 : 100 * amount_of(row)->excess)

#define MEMBER(member) COLUMN_MEMBER(struct amount_facts, member)

const struct column amount_columns[AMOUNT_COLUMN_COUNT + 1] = {
	{ .key = "window_since", .kind = COLUMN_TIME, MEMBER(since_us) },
	{ .key = "time", .kind = COLUMN_TIME, MEMBER(until_us) },
	{ .key = "kind", .title = "KIND", MEMBER(amount.kind) },
	{ .key = "name", .title = "NAME", MEMBER(name), .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	{ .key = "node_guid", .kind = COLUMN_GUID, MEMBER(node_guid), .flags = COLUMN_NONZERO },
	{ .key = "class", MEMBER(class) },
	{ .key = "tier", .kind = COLUMN_INTEGER, MEMBER(tier), .flags = COLUMN_NONZERO },
	{ .key = "ports_active", .title = "PORTS", .kind = COLUMN_INTEGER, MEMBER(amount.active), .priority = 3 },
	{ .key = "ports_read", .kind = COLUMN_INTEGER, MEMBER(amount.known) },
	{ .key = "xmit_bytes_per_s", .title = HEADING_TX, .kind = COLUMN_RATE, .measure = measure_xmit, .priority = 1,
	  .help = "bits per second sent" },
	{ .key = "rcv_bytes_per_s", .title = HEADING_RX, .kind = COLUMN_RATE, .measure = measure_rcv, .priority = 1,
	  .help = "bits per second received" },
	{ .key = "xmit_utilization_percent", .title = HEADING_TX_PERCENT, .kind = COLUMN_PERCENT,
	  .number = number_xmit_percent },
	{ .key = "rcv_utilization_percent", .title = HEADING_RX_PERCENT, .kind = COLUMN_PERCENT,
	  .number = number_rcv_percent },
	{ .key = "measured_share_percent", .title = "SHARE%", .kind = COLUMN_PERCENT, .number = number_share,
	  .priority = 2 },
	{ .key = "capacity_share_percent", .title = "FAIR%", .kind = COLUMN_PERCENT, .number = number_fair,
	  .priority = 2 },
	{ .key = "bar", .title = "MEASURED", MEMBER(bar), .flags = COLUMN_NO_DATA },
	{ .key = "excess_percent", .title = "IMBALANCE%", .kind = COLUMN_PERCENT, .number = number_excess,
	  .help = "load above the mean of its kind; of a host: of its busiest rail above the mean of its rails" },
	{ .key = NULL },
};
