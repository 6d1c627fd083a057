/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Formatting of metric values. */
#include "analysis/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"

/* "12.3k": decimal prefixes, at most three digits. */
static const char *format_scaled(double value, const char *gap, const char *unit, char *ret, size_t size)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E", "Z", "Y" };
	size_t prefix = 0;

	for (; fabs(value) >= 999.5 && prefix + 1 < sizeof(prefixes) / sizeof(*prefixes); prefix++)
		value /= 1000;
	snprintf(ret, size, "%.3g%s%s%s", value, gap, prefixes[prefix], unit);
	return ret;
}

double metric_shown_factor(const struct metric *metric)
{
	if (metric->kind != METRIC_COUNT)
		return 1;
	if (!strcmp(metric->unit, "bytes"))
		return 8;
	/* Errors are displayed per hour, as thresholds are. */
	return metric->counters & COUNTER_TRAFFIC_SET ? 1 : 3600;
}

const char *metric_format_value(const struct metric *metric, double value, char *ret, size_t size)
{
	if (isnan(value))
		snprintf(ret, size, "-");
	else if (metric->kind != METRIC_COUNT && value > 0 && value < 0.001)
		snprintf(ret, size, "< 0.001 %%"); /* instead of 4.2e-05 */
	else if (metric->kind != METRIC_COUNT)
		snprintf(ret, size, value > 0 && value < 0.1 ? "%.2g %%" : "%.1f %%", value);
	else if (!strcmp(metric->unit, "bytes"))
		rate_format_bits(value, ret, size);
	else if (metric->counters & COUNTER_TRAFFIC_SET)
		format_scaled(value, "", "/s", ret, size);
	else
		format_scaled(value * 3600, "", "/h", ret, size);
	return ret;
}

const char *metric_format_total(const struct metric *metric, uint64_t total, char *ret, size_t size)
{
	if (!strcmp(metric->unit, "bytes"))
		format_scaled((double)total, " ", "B", ret, size);
	else if (total < 100000)
		snprintf(ret, size, "%" PRIu64, total);
	else
		format_scaled((double)total, "", "", ret, size);
	return ret;
}
