/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "fabric/fabric.h"

#define BYTES(key, counter, meaning) { key, "bytes", meaning, METRIC_COUNT, COUNTER_BIT(counter), COUNTER_WORD_BYTES }
#define BOTH (COUNTER_BIT(COUNTER_XMIT_DATA) | COUNTER_BIT(COUNTER_RCV_DATA))
#define SHARE(key, kind, counter, meaning) { key, "percent", meaning, kind, COUNTER_BIT(counter), 1 }

/* Derived metrics; the counters of the catalogue follow. */
static const struct metric derived[] = {
	BYTES("xmit_bytes", COUNTER_XMIT_DATA, "data sent"),
	BYTES("rcv_bytes", COUNTER_RCV_DATA, "data received"),
	{ "bytes", "bytes", "data sent and received", METRIC_COUNT, BOTH, COUNTER_WORD_BYTES },
	SHARE("xmit_utilization_percent", METRIC_UTILIZATION, COUNTER_XMIT_DATA,
	      "data sent, of the data rate of the link"),
	SHARE("rcv_utilization_percent", METRIC_UTILIZATION, COUNTER_RCV_DATA,
	      "data received, of the data rate of the link"),
	{ "utilization_percent", "percent", "data sent and received, of both data rates of the link",
	  METRIC_UTILIZATION, BOTH, 1 },
	SHARE("stall_percent", METRIC_STALL, COUNTER_XMIT_WAIT,
	      "time with data to send and no credits (an estimate)"),
	{ "errors", "errors", "sum of the error counters, without PortRcvSwitchRelayErrors", METRIC_COUNT,
	  COUNTER_ERROR_SUM_SET, 1 },
};

enum { DERIVED_COUNT = sizeof(derived) / sizeof(*derived) };

size_t metric_count(void)
{
	return DERIVED_COUNT + COUNTER_COUNT;
}

struct metric metric_at(size_t index)
{
	const struct counter_info *info;

	if (index < DERIVED_COUNT)
		return derived[index];
	info = counter_info((enum counter)(index - DERIVED_COUNT));
	return (struct metric){ info->key, info->unit, info->meaning, METRIC_COUNT,
				COUNTER_BIT(index - DERIVED_COUNT), 1 };
}

static bool ends_there(const char *key, size_t len, const char *rest, const char *suffix)
{
	return strncmp(key, rest, len) == 0 && strcmp(rest + len, suffix) == 0;
}

bool metric_find(const char *key, struct metric *ret)
{
	for (size_t i = 0; i < metric_count(); i++) {
		struct metric metric = metric_at(i);

		if (strcmp(metric.key, key) && !ends_there(key, strlen(key), metric.key, "_percent") &&
		    (metric.kind != METRIC_COUNT || !ends_there(metric.key, strlen(metric.key), key, "_per_s")))
			continue;
		*ret = metric;
		return true;
	}
	return false;
}

static void count_of(const struct metric *metric, const struct delta *delta, struct metric_value *ret)
{
	counter_set bounds = delta_lower_bounds(delta);
	bool unknown = false;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		counter_set bit = metric->counters & delta->known & COUNTER_BIT(i);
		uint64_t units;

		if (!bit)
			continue;
		/* At least 0 is unknown. */
		if (bounds & bit && !delta->value[i]) {
			unknown = true;
			continue;
		}
		ret->has_total = true;
		ret->at_least |= (bounds & bit) != 0;
		if (__builtin_mul_overflow(delta->value[i], (uint64_t)metric->factor, &units) ||
		    __builtin_add_overflow(ret->total, units, &ret->total))
			ret->total = UINT64_MAX;
	}
	ret->at_least |= unknown;
	ret->has_total &= !ret->at_least || ret->total;
	ret->has_rate = ret->has_total && delta->elapsed_us > 0;
	ret->whole = 1;
	ret->part = ret->has_rate ? (double)ret->total * 1e6 / (double)delta->elapsed_us : NAN;
}

static void utilization_of(const struct metric *metric, const struct metric_port *port, const struct delta *delta,
			   struct metric_value *ret)
{
	struct metric bytes = *metric;
	uint64_t bits_per_s = port->port ? port_rate_bits_per_s(port->port) : 0;

	bytes.factor = COUNTER_WORD_BYTES;
	count_of(&bytes, delta, ret);
	ret->has_total = false;
	ret->total = 0;
	ret->has_rate &= bits_per_s > 0;
	ret->part *= 8;
	ret->whole = (double)bits_per_s * __builtin_popcountll(metric->counters);
	/* As rate_utilization_percent(). */
	if (ret->part > ret->whole)
		ret->part = ret->whole;
}

static void stall_of(const struct metric_port *port, const struct delta *delta, struct metric_value *ret)
{
	struct measure stall = MEASURE_NONE;

	if (port->port && port->node)
		stall = stall_estimate(delta, port->node, port->port, port->caps);
	ret->has_rate = !isnan(stall.value);
	ret->at_least = measure_is_at_least(stall);
	ret->part = stall.value;
	/* For several ports: the mean. */
	ret->whole = 100;
}

void metric_of(const struct metric *metric, const struct metric_port *port, const struct delta *delta,
	       struct metric_value *ret)
{
	memset(ret, 0, sizeof(*ret));
	switch (metric->kind) {
	case METRIC_COUNT:
		count_of(metric, delta, ret);
		break;
	case METRIC_UTILIZATION:
		utilization_of(metric, port, delta, ret);
		break;
	case METRIC_STALL:
		stall_of(port, delta, ret);
		break;
	}
}

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

/* Bytes in a unit of data, which is displayed as such; 0: another unit. */
static unsigned unit_bytes(const struct metric *metric)
{
	return !strcmp(metric->unit, "bytes") ? 1 : !strcmp(metric->unit, "words") ? COUNTER_WORD_BYTES : 0;
}

double metric_shown_factor(const struct metric *metric)
{
	if (metric->kind != METRIC_COUNT)
		return 1;
	if (unit_bytes(metric))
		return 8 * unit_bytes(metric);
	/* Errors are displayed per hour, as thresholds are. */
	return metric->counters & COUNTER_TRAFFIC_SET ? 1 : 3600;
}

const char *metric_format_value(const struct metric *metric, double value, char *ret, size_t size)
{
	if (isnan(value))
		snprintf(ret, size, "-");
	else if (!strcmp(metric->unit, "seconds"))
		snprintf(ret, size, "%.3g s", value);
	else if (metric->kind != METRIC_COUNT && value > 0 && value < 0.001)
		snprintf(ret, size, "< 0.001 %%"); /* instead of 4.2e-05 */
	else if (metric->kind != METRIC_COUNT)
		snprintf(ret, size, value > 0 && value < 0.1 ? "%.2g %%" : "%.1f %%", value);
	else if (unit_bytes(metric))
		rate_format_bits(value * unit_bytes(metric), ret, size);
	else if (metric->counters & COUNTER_TRAFFIC_SET)
		format_scaled(value, "", "/s", ret, size);
	else
		format_scaled(value * 3600, "", "/h", ret, size);
	return ret;
}

const char *metric_format_total(const struct metric *metric, uint64_t total, char *ret, size_t size)
{
	if (unit_bytes(metric))
		format_scaled((double)total * unit_bytes(metric), " ", "B", ret, size);
	else if (total < 100000)
		snprintf(ret, size, "%" PRIu64, total);
	else
		format_scaled((double)total, "", "", ret, size);
	return ret;
}
