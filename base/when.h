/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* when.h - parse and format times and durations */
#ifndef IBWIRE_BASE_WHEN_H
#define IBWIRE_BASE_WHEN_H

#include <stdint.h>

struct error;

#define WHEN_SIZE 40

/*
 * when_parse - a time as typed on a command line
 * @typed:   "now"; "-10m" (s, m, h, d, w before now); "today", "yesterday 14:00"; "14:00" and
 *           "Mon 14:00": the most recent one (a day alone: its start); or ISO 8601:
 *           "2026-11-20T14:00:00Z", "2026-11-20 14:00", with optional seconds, fraction of up to
 *           six digits, and Z or +hh:mm. Without a zone it is local; of a repeated hour the first
 * @now_us:  wall clock, microseconds since 1970 UTC
 * @ret_us:  the time, same unit; untouched on error
 *
 * Return: 0, or ERR_USAGE with a text that lists the forms.
 */
int when_parse(const char *typed, int64_t now_us, int64_t *ret_us, struct error *err);

/*
 * when_span_parse - a span such as "10", "10s", "500ms", "5m", "2h", "1d"
 * @ret_us:  microseconds, above 0; a number without a unit is in seconds
 *
 * Return: 0 or ERR_USAGE.
 */
int when_span_parse(const char *typed, int64_t *ret_us, struct error *err);

/* when_zone_us - offset of local time from UTC at some time, microseconds. */
int64_t when_zone_us(int64_t wall_us);

/*
 * when_format_utc - "2026-11-20T13:00:00.123456Z", for JSON and CSV
 * when_format_utc_s - "2026-11-20T13:00:00Z", for options and links: in whole seconds
 * Return: @ret.
 */
const char *when_format_utc(int64_t wall_us, char ret[WHEN_SIZE]);
const char *when_format_utc_s(int64_t wall_us, char ret[WHEN_SIZE]);

/* when_format_local - "2026-11-20 14:00:00 CET", for tables. Return: @ret. */
const char *when_format_local(int64_t wall_us, char ret[WHEN_SIZE]);

/*
 * when_format_span - "850 us", "31.2 ms", "4.2 s", "12m30s", "3h05m", "4d02h"; "?" if negative because
 * a clock was changed. Return: @ret.
 */
const char *when_format_span(int64_t span_us, char ret[WHEN_SIZE]);

#define WHEN_AGE_SIZE 128

/*
 * when_age_us - time since data was stored, by its label
 * @now_us, @then_us:  wall clock, microseconds since 1970 UTC
 *
 * Return: microseconds; 0 for a label up to a minute in the future, because sweeps are stored while
 * a command runs; -1 beyond that: a clock was changed, and the age is unknown.
 */
int64_t when_age_us(int64_t now_us, int64_t then_us);

/*
 * when_format_age - the same as text: "12.3 s old", or "labelled 3h00m in the future; check the
 * clock of this host and of the collector's". Return: @ret.
 */
const char *when_format_age(int64_t now_us, int64_t then_us, char ret[WHEN_AGE_SIZE]);

#endif
