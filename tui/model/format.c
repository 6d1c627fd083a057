/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/text.h"

/* Copy @text with '?' for each non-ASCII character. */
static void to_ascii(const char *text, char *ret, size_t size)
{
	size_t to = 0;

	for (; *text && to + 1 < size; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x80)
			ret[to++] = (char)byte;
		else if ((byte & 0xc0) != 0x80)
			ret[to++] = '?';
	}
	ret[to] = '\0';
}

const char *format_fit(const char *text, unsigned columns, enum align align, bool unicode, char *ret)
{
	const char *mark = "", *tail = "";
	char ascii[CELL_SIZE];
	size_t have, head, blanks;

	if (!unicode) {
		to_ascii(text, ascii, sizeof(ascii));
		text = ascii;
	}
	/* Many combining characters take many bytes in few columns. */
	head = strlen(text);
	have = text_columns(text);
	if (head + columns >= CELL_SIZE && have <= columns)
		head = have = 0;
	/* Nearly all cells: copied, as snprintf() takes a tenth of the time of a key. */
	if (have <= columns && columns < CELL_SIZE) {
		blanks = columns - have;
		memset(ret, ' ', blanks + head);
		memcpy(ret + (align == ALIGN_RIGHT ? blanks : 0), text, head);
		ret[blanks + head] = '\0';
		return ret;
	}
	if (have > columns) {
		struct text_cut cut = { text_prefix_bytes(text, columns ? columns - 1 : 0), head };

		if (align == ALIGN_NAME)
			cut = text_cut_name(text, columns);
		mark = !columns ? "" : unicode ? "\xe2\x80\xa6" : "~";
		head = cut.head;
		tail = text + cut.tail;
		if (head + strlen(tail) + columns >= CELL_SIZE)
			head = 0;
	}
	snprintf(ret, CELL_SIZE, "%.*s%s%s", (int)head, text, mark, tail);
	have = text_columns(ret);
	snprintf(ret + strlen(ret), CELL_SIZE - strlen(ret), "%*s", (int)(columns - have), "");
	return ret;
}

size_t format_line(const char *text, size_t columns)
{
	size_t fits = text_prefix_bytes(text, columns), end = fits;

	if (!text[fits])
		return fits;
	while (end && text[end] != ' ')
		end--;
	return end ? end : fits;
}

const char *format_bar(struct measure measure, unsigned columns, bool unicode, char *ret)
{
	/* U+258F to U+2589: one to seven eighths of a column from the left. */
	static const char *const eighths[] = {
		"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89",
	};
	bool at_least = measure_is_at_least(measure) && columns;
	unsigned steps = unicode ? 8 : 1, filled;
	double percent = measure.value;
	char *to = ret;

	columns = (columns < CELL_SIZE / 3 ? columns : CELL_SIZE / 3 - 1) - at_least;
	percent = percent > 100 ? 100 : percent < 0 ? 0 : percent;
	filled = isnan(percent) ? 0 : (unsigned)lround(percent / 100 * columns * steps);
	/* In ASCII, less than 1 % has no mark. */
	if (!filled && percent > (unicode ? 0 : 1) && columns)
		filled = 1;
	for (unsigned i = 0; i < columns; i++) {
		unsigned here = filled > i * steps ? filled - i * steps : 0;

		if (here >= steps)
			to = stpcpy(to, unicode ? "\xe2\x96\x88" : "#");
		else if (here)
			to = stpcpy(to, eighths[here]);
		else
			to = stpcpy(to, unicode || isnan(percent) ? " " : ".");
	}
	strcpy(to, at_least ? "+" : "");
	return ret;
}

const char *format_rate(struct measure bytes_per_s, unsigned columns, char *ret, size_t size)
{
	const char *mark = measure_mark(bytes_per_s);
	char rate[32], *space, *point;

	rate_format_bits(bytes_per_s.value, rate, sizeof(rate));
	space = strchr(rate, ' ');
	/* "182.4 Gb/s" to "182.4G", "12 b/s" to "12": the column head has the unit. */
	if ((columns < 10 || strlen(rate) + strlen(mark) > columns) && space) {
		space[0] = space[1] == 'b' ? '\0' : space[1];
		space[1] = '\0';
		point = strlen(rate) + strlen(mark) > columns ? strchr(rate, '.') : NULL;
		if (point)
			memmove(point, point + 2, strlen(point + 2) + 1);
	}
	snprintf(ret, size, "%s%s", rate, mark);
	return ret;
}

const char *format_percent(struct measure percent, char *ret, size_t size)
{
	if (isnan(percent.value))
		snprintf(ret, size, "-");
	/* There is no more than 100 %. */
	else if (measure_is_at_least(percent) && percent.value < 100)
		snprintf(ret, size, "%.0f%%+", floor(percent.value));
	else
		snprintf(ret, size, percent.value < 9.95 ? "%.1f%%" : "%.0f%%", percent.value);
	return ret;
}

/* "999", "1.2k", "12k", "999k", "1.2M" ... */
static void short_count(double count, char *ret, size_t size)
{
	static const char units[] = "kMGTPE";
	unsigned unit = 0;

	if (count < 999.5) {
		snprintf(ret, size, "%.0f", count);
		return;
	}
	for (count /= 1000; count >= 999.5 && units[unit + 1]; unit++)
		count /= 1000;
	snprintf(ret, size, count < 9.95 ? "%.1f%c" : "%.0f%c", count, units[unit]);
}

const char *format_count(uint64_t count, unsigned columns, char *ret, size_t size)
{
	char digits[24];
	size_t len, to = 0;

	snprintf(digits, sizeof(digits), "%" PRIu64, count);
	len = strlen(digits);
	if (len + (len - 1) / 3 > columns) {
		if (len <= columns && len <= 4)
			snprintf(ret, size, "%s", digits);
		else
			short_count((double)count, ret, size);
		return ret;
	}
	for (size_t i = 0; i < len && to + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			ret[to++] = ',';
		ret[to++] = digits[i];
	}
	ret[to] = '\0';
	return ret;
}

const char *format_errors(struct measure errors, unsigned columns, char *ret, size_t size)
{
	char count[32] = "-";

	if (!isnan(errors.value))
		format_count((uint64_t)errors.value, columns - measure_is_at_least(errors), count, sizeof(count));
	snprintf(ret, size, "%s%s", count, measure_mark(errors));
	return ret;
}

/* The attribute of the declaration makes the compiler check the formats. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
const char *format_time(int64_t wall_us, const char *how, char *ret, size_t size)
{
	time_t seconds = (time_t)(wall_us / US_PER_S);
	struct tm parts = { 0 };

	localtime_r(&seconds, &parts);
	if (!strftime(ret, size, how, &parts))
		ret[0] = '\0';
	return ret;
}
#pragma GCC diagnostic pop

const char *format_age(int64_t age_us, char *ret, size_t size)
{
	static const struct {
		int64_t limit_s, unit_s;
		char name;
	} units[] = {
		{ 100, 1, 's' }, { 6000, 60, 'm' }, { 100 * 3600, 3600, 'h' }, { 100 * 86400, 86400, 'd' },
		{ INT64_MAX, 365 * 86400, 'y' },
	};
	int64_t age_s = age_us / US_PER_S;
	size_t i = 0;

	if (age_us < 0) {
		snprintf(ret, size, "-");
		return ret;
	}
	while (age_s >= units[i].limit_s)
		i++;
	/* Between 100 and 365 days. */
	if (!(age_s / units[i].unit_s) && units[i].name == 'y')
		snprintf(ret, size, "<1y");
	else if (age_s / units[i].unit_s > 99)
		snprintf(ret, size, "99y");
	else
		snprintf(ret, size, "%" PRId64 "%c", age_s / units[i].unit_s, units[i].name);
	return ret;
}
