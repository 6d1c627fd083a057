/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/when.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

/* Microseconds of a unit's name, 0 where there is none of that name. */
static int64_t unit_us(const char *name)
{
	static const struct {
		const char *name;
		int64_t us;
	} units[] = {
		{ "us", 1 },
		{ "ms", US_PER_MS },
		{ "s", US_PER_S },
		{ "m", 60 * US_PER_S },
		{ "min", 60 * US_PER_S },
		{ "h", 3600 * US_PER_S },
		{ "d", 86400 * US_PER_S },
		{ "w", 7 * 86400 * US_PER_S },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(name, units[i].name))
			return units[i].us;
	return 0;
}

int when_span_parse(const char *typed, int64_t *ret_us, struct error *err)
{
	const double longest_us = 100.0 * 365 * 86400 * US_PER_S;
	char *end;
	double number;
	int64_t unit;

	errno = 0;
	number = isdigit((unsigned char)typed[0]) || typed[0] == '.' ? strtod(typed, &end) : -1;
	if (number < 0 || errno)
		goto bad;
	unit = *end ? unit_us(end) : US_PER_S;
	if (!unit || number * (double)unit < 1 || number * (double)unit > longest_us)
		goto bad;
	*ret_us = (int64_t)(number * (double)unit);
	return 0;
bad:
	return err_set(err, ERR_USAGE, "'%s' is no span of time: write 10, 500ms, 10s, 5m, 2h or 3d", typed);
}

/* Read a fraction of a second and the zone that follow "HH:MM:SS". */
static bool parse_tail(const char *tail, int64_t *ret_fraction_us, bool *ret_utc, long *ret_offset_s)
{
	int hours, minutes, used = 0;

	*ret_fraction_us = 0;
	*ret_utc = false;
	*ret_offset_s = 0;
	if (*tail == '.') {
		int64_t scale = 100000;

		for (tail++; isdigit((unsigned char)*tail); tail++, scale /= 10)
			*ret_fraction_us += (*tail - '0') * scale;
	}
	if (!*tail)
		return true;
	*ret_utc = true;
	if (!strcmp(tail, "Z") || !strcmp(tail, "z"))
		return true;
	if ((*tail == '+' || *tail == '-') && sscanf(tail + 1, "%2d:%2d%n", &hours, &minutes, &used) == 2 &&
	    !tail[1 + used]) {
		*ret_offset_s = (*tail == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
		return true;
	}
	return false;
}

int when_parse(const char *typed, int64_t now_us, int64_t *ret_us, struct error *err)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d",
	};
	int64_t span_us, fraction_us;
	size_t i;

	if (!strcmp(typed, "now")) {
		*ret_us = now_us;
		return 0;
	}
	if (typed[0] == '-' && when_span_parse(typed + 1, &span_us, NULL) == 0) {
		*ret_us = now_us - span_us;
		return 0;
	}
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm parts = { .tm_isdst = -1 };
		const char *tail = strptime(typed, formats[i], &parts);
		bool utc;
		long offset_s;
		time_t seconds;

		if (!tail || !parse_tail(tail, &fraction_us, &utc, &offset_s))
			continue;
		if (utc)
			parts.tm_isdst = 0;
		seconds = utc ? timegm(&parts) - offset_s : mktime(&parts);
		*ret_us = (int64_t)seconds * US_PER_S + fraction_us;
		return 0;
	}
	return err_set(err, ERR_USAGE,
		       "'%s' is no time: write now, -10m, -2h, -3d, 2026-11-20T14:00:00Z or "
		       "\"2026-11-20 14:00\" (local)",
		       typed);
}

/* Split microseconds into whole seconds and a fraction that is never negative. */
static time_t split_seconds(int64_t wall_us, int64_t *ret_fraction_us)
{
	int64_t seconds = wall_us / US_PER_S;

	*ret_fraction_us = wall_us % US_PER_S;
	if (*ret_fraction_us < 0) {
		*ret_fraction_us += US_PER_S;
		seconds--;
	}
	return (time_t)seconds;
}

const char *when_format_utc(int64_t wall_us, char ret[WHEN_SIZE])
{
	int64_t fraction_us;
	time_t seconds = split_seconds(wall_us, &fraction_us);
	struct tm parts;
	size_t len;

	gmtime_r(&seconds, &parts);
	len = strftime(ret, WHEN_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(ret + len, WHEN_SIZE - len, ".%06" PRId64 "Z", fraction_us);
	return ret;
}

const char *when_format_local(int64_t wall_us, char ret[WHEN_SIZE])
{
	int64_t fraction_us;
	time_t seconds = split_seconds(wall_us, &fraction_us);
	struct tm parts;

	localtime_r(&seconds, &parts);
	if (!strftime(ret, WHEN_SIZE, "%Y-%m-%d %H:%M:%S %Z", &parts))
		ret[0] = '\0';
	return ret;
}

const char *when_format_span(int64_t span_us, char ret[WHEN_SIZE])
{
	const char *sign = span_us < 0 ? "-" : "";
	int64_t s;

	if (span_us < 0)
		span_us = -span_us;
	s = span_us / US_PER_S;
	if (span_us < US_PER_MS)
		snprintf(ret, WHEN_SIZE, "%s%" PRId64 " us", sign, span_us);
	else if (span_us < US_PER_S)
		snprintf(ret, WHEN_SIZE, "%s%.1f ms", sign, (double)span_us / US_PER_MS);
	else if (s < 60)
		snprintf(ret, WHEN_SIZE, "%s%.1f s", sign, (double)span_us / US_PER_S);
	else if (s < 3600)
		snprintf(ret, WHEN_SIZE, "%s%" PRId64 "m%02" PRId64 "s", sign, s / 60, s % 60);
	else if (s < 86400)
		snprintf(ret, WHEN_SIZE, "%s%" PRId64 "h%02" PRId64 "m", sign, s / 3600, s / 60 % 60);
	else
		snprintf(ret, WHEN_SIZE, "%s%" PRId64 "d%02" PRId64 "h", sign, s / 86400, s / 3600 % 24);
	return ret;
}
