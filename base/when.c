/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/when.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

/* Microseconds of a unit, 0 if unknown. */
static int64_t unit_us(const char *name)
{
	static const struct {
		const char *name;
		int64_t us;
	} units[] = {
		{ "us", 1 }, { "ms", US_PER_MS }, { "s", US_PER_S }, { "m", 60 * US_PER_S }, { "min", 60 * US_PER_S },
		{ "h", 3600 * US_PER_S }, { "d", 86400 * US_PER_S }, { "w", 7 * 86400 * US_PER_S },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
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
	return err_set(err, ERR_USAGE, "'%s' is not a time span: use for example 10, 500ms, 10s, 5m, 2h or 3d", typed);
}

/* Parse exactly two digits and advance *@at. Return: -1 if they are missing or above @most. */
static int two_digits(const char **at, int most)
{
	const char *digits = *at;
	int number;

	if (!isdigit((unsigned char)digits[0]) || !isdigit((unsigned char)digits[1]))
		return -1;
	number = (digits[0] - '0') * 10 + digits[1] - '0';
	*at += 2;
	return number > most ? -1 : number;
}

/* Parse "hh:mm" and advance *@at. */
static bool hour_minute(const char **at, int *ret_hour, int *ret_minute)
{
	*ret_hour = two_digits(at, 23);
	if (*ret_hour < 0 || *(*at)++ != ':')
		return false;
	*ret_minute = two_digits(at, 59);
	return *ret_minute >= 0;
}

/* A time of day, and its zone if given. */
struct clock_time {
	int hour, minute, second;
	int64_t fraction_us;
	bool utc; /* a zone was given: not local time */
	long offset_s;
};

/* "Z" or "+hh:mm" up to the end. */
static bool parse_zone(const char *typed, struct clock_time *ret)
{
	int sign = *typed == '-' ? -1 : 1, hours = 0, minutes = 0;

	if (strcasecmp(typed, "Z")) {
		if (*typed != '+' && *typed != '-')
			return false;
		typed++;
		if (!hour_minute(&typed, &hours, &minutes) || *typed)
			return false;
	}
	ret->utc = true;
	ret->offset_s = sign * (hours * 3600L + minutes * 60L);
	return true;
}

/* "14:00" or "14:00:30.25", and optionally a zone; "": the start of the day. */
static bool parse_clock(const char *typed, struct clock_time *ret)
{
	*ret = (struct clock_time){ 0 };
	if (!*typed)
		return true;
	if (!hour_minute(&typed, &ret->hour, &ret->minute))
		return false;
	if (*typed == ':') {
		typed++;
		ret->second = two_digits(&typed, 60);
		if (ret->second < 0)
			return false;
		if (*typed == '.') {
			int64_t scale = 100000;

			for (typed++; isdigit((unsigned char)*typed); typed++, scale /= 10)
				ret->fraction_us += (*typed - '0') * scale;
		}
	}
	return !*typed || parse_zone(typed, ret);
}

static bool same_local(time_t seconds, const struct tm *wanted)
{
	struct tm got;

	return localtime_r(&seconds, &got) && got.tm_year == wanted->tm_year && got.tm_mon == wanted->tm_mon &&
	       got.tm_mday == wanted->tm_mday && got.tm_hour == wanted->tm_hour && got.tm_min == wanted->tm_min;
}

/*
 * Times are repeated at the end of summer time: the first is used. Times are skipped at its start:
 * the time that is as long after midnight is used.
 */
static time_t local_seconds(const struct tm *wanted)
{
	time_t seconds = -1;

	for (int dst = 1; dst >= -1; dst--) {
		struct tm parts = *wanted;

		parts.tm_isdst = dst;
		seconds = mktime(&parts);
		if (seconds != (time_t)-1 && (dst < 1 || same_local(seconds, wanted)))
			break;
	}
	return seconds;
}

/* Combine the date of @day, which may be out of range (the day before the first of a month), and a time of day. */
static int64_t join(const struct tm *day, const struct clock_time *time)
{
	struct tm parts = {
		.tm_year = day->tm_year, .tm_mon = day->tm_mon, .tm_mday = day->tm_mday,
		.tm_hour = time->hour, .tm_min = time->minute, .tm_sec = time->second,
	};
	struct tm noon = { .tm_year = day->tm_year, .tm_mon = day->tm_mon, .tm_mday = day->tm_mday, .tm_hour = 12 };
	time_t seconds;

	if (time->utc) {
		seconds = timegm(&parts) - time->offset_s;
	} else {
		timegm(&noon);
		parts.tm_year = noon.tm_year;
		parts.tm_mon = noon.tm_mon;
		parts.tm_mday = noon.tm_mday;
		seconds = local_seconds(&parts);
	}
	return (int64_t)seconds * US_PER_S + time->fraction_us;
}

static bool parse_date(const char *typed, int64_t *ret_us)
{
	struct tm day = { 0 }, checked;
	const char *tail = strptime(typed, "%Y-%m-%d", &day);
	struct clock_time time;

	if (!tail || (*tail && *tail != ' ' && *tail != 'T') || (*tail && !tail[1]))
		return false;
	checked = day;
	timegm(&checked);
	if (checked.tm_mday != day.tm_mday || !parse_clock(*tail ? tail + 1 : tail, &time))
		return false;
	*ret_us = join(&day, &time);
	return true;
}

/* A day by name: how many days ago it is, and how many more if the time on it is in the future. */
struct named_day {
	size_t len; /* of the name */
	int ago, again;
};

static bool name_day(const char *typed, const struct tm *today, struct named_day *ret)
{
	static const char *const days[] = {
		"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
	};
	size_t len = strspn(typed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	*ret = (struct named_day){ .len = len, .again = len ? 0 : 1 };
	if (!len || (len == 5 && !strncasecmp(typed, "today", len)))
		return true;
	ret->ago = 1;
	if (len == 9 && !strncasecmp(typed, "yesterday", len))
		return true;
	ret->again = 7;
	for (int i = 0; i < 7; i++) {
		if ((len != 3 && len != strlen(days[i])) || strncasecmp(typed, days[i], len))
			continue;
		ret->ago = (today->tm_wday - i + 7) % 7;
		return true;
	}
	return false;
}

/* "today", "yesterday 14:00", "Mon 14:00", "14:00": the most recent one. */
static bool parse_day(const char *typed, int64_t now_us, int64_t *ret_us)
{
	time_t now = (time_t)(now_us / US_PER_S);
	struct named_day named;
	struct clock_time time;
	struct tm day;

	if (!localtime_r(&now, &day) || !name_day(typed, &day, &named))
		return false;
	typed += named.len;
	if (named.len && *typed && *typed++ != ' ')
		return false;
	/* A time is required without a day, and after a space. */
	if (!*typed && (!named.len || typed[-1] == ' '))
		return false;
	if (!parse_clock(typed, &time) || time.utc)
		return false;
	day.tm_mday -= named.ago;
	*ret_us = join(&day, &time);
	if (named.again && *ret_us > now_us) {
		day.tm_mday -= named.again;
		*ret_us = join(&day, &time);
	}
	return true;
}

int when_parse(const char *typed, int64_t now_us, int64_t *ret_us, struct error *err)
{
	size_t len = strlen(typed);
	int64_t span_us;

	if (!strcmp(typed, "now")) {
		*ret_us = now_us;
		return 0;
	}
	/* "-10m", or "10m" with its unit: a number alone could be a date. */
	if ((typed[0] == '-' || (len && isalpha((unsigned char)typed[len - 1]))) &&
	    when_span_parse(typed + (typed[0] == '-'), &span_us, NULL) == 0) {
		*ret_us = now_us - span_us;
		return 0;
	}
	if (parse_date(typed, ret_us) || parse_day(typed, now_us, ret_us))
		return 0;
	return err_set(err, ERR_USAGE,
		       "'%s' is not a time: use -10m, 14:00, \"Mon 14:00\" or \"2026-11-20 14:00\"", typed);
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

int64_t when_zone_us(int64_t wall_us)
{
	int64_t fraction_us;
	time_t seconds = split_seconds(wall_us, &fraction_us);
	struct tm parts;

	return localtime_r(&seconds, &parts) ? (int64_t)parts.tm_gmtoff * US_PER_S : 0;
}

/* The last @count digits of a number, and a character. Return: the end. */
static inline char *append_digits(char *at, int number, int count, char after)
{
	for (int i = count; i-- > 0; number /= 10)
		at[i] = (char)('0' + number % 10);
	at[count] = after;
	return at + count + 1;
}

/* By hand: each sample has a time, and strftime() takes several times as long. */
const char *when_format_utc(int64_t wall_us, char ret[WHEN_SIZE])
{
	int64_t fraction_us;
	time_t seconds = split_seconds(wall_us, &fraction_us);
	struct tm parts;
	char *at = ret;
	int year;

	gmtime_r(&seconds, &parts);
	year = parts.tm_year + 1900;
	if (year < 0 || year > 9999)
		at += snprintf(ret, WHEN_SIZE, "%04d-", year);
	else
		at = append_digits(at, year, 4, '-');
	at = append_digits(at, parts.tm_mon + 1, 2, '-');
	at = append_digits(at, parts.tm_mday, 2, 'T');
	at = append_digits(at, parts.tm_hour, 2, ':');
	at = append_digits(at, parts.tm_min, 2, ':');
	at = append_digits(at, parts.tm_sec, 2, '.');
	at = append_digits(at, (int)fraction_us, 6, 'Z');
	*at = '\0';
	return ret;
}

const char *when_format_utc_s(int64_t wall_us, char ret[WHEN_SIZE])
{
	when_format_utc(wall_us, ret);
	memcpy(strrchr(ret, '.'), "Z", sizeof("Z"));
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
	int64_t s = span_us / US_PER_S;

	if (span_us < 0)
		snprintf(ret, WHEN_SIZE, "?");
	else if (span_us < US_PER_MS)
		snprintf(ret, WHEN_SIZE, "%" PRId64 " us", span_us);
	else if (span_us < US_PER_S)
		snprintf(ret, WHEN_SIZE, "%.1f ms", (double)span_us / US_PER_MS);
	else if (s < 60)
		snprintf(ret, WHEN_SIZE, "%.1f s", (double)span_us / US_PER_S);
	else if (s < 3600)
		snprintf(ret, WHEN_SIZE, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(ret, WHEN_SIZE, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
	else
		snprintf(ret, WHEN_SIZE, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
	return ret;
}

int64_t when_age_us(int64_t now_us, int64_t then_us)
{
	enum { AHEAD_MOST_US = 60 * US_PER_S };

	return then_us <= now_us ? now_us - then_us : then_us - now_us <= AHEAD_MOST_US ? 0 : -1;
}

const char *when_format_age(int64_t now_us, int64_t then_us, char ret[WHEN_AGE_SIZE])
{
	int64_t age_us = when_age_us(now_us, then_us);
	char span[WHEN_SIZE];

	when_format_span(age_us < 0 ? then_us - now_us : age_us, span);
	snprintf(ret, WHEN_AGE_SIZE, age_us < 0 ? "labelled %s in the future; check the clock of this host and of the "
		 "collector's" : "%s old", span);
	return ret;
}
