/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/bars.h"

#include <math.h>

#include "analysis/balance.h"
#include "base/text.h"

enum { STEPS = 8 };

static double part_of(double value, double most)
{
	if (isnan(value) || !(most > 0) || value < 0)
		return 0;
	return value < most ? value / most : 1;
}

/* Resolution: an eighth of a column in Unicode, half a column in ASCII. */
void bars_append(struct text *text, double value, double most, unsigned columns, bool ascii)
{
	static const char *const blocks[STEPS] = {
		" ", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589",
	};
	unsigned eighths = (unsigned)lround(part_of(value, most) * columns * STEPS);

	/* A value above 0 is always visible. */
	if (eighths == 0 && value > 0)
		eighths = 1;
	for (unsigned i = 0; i < columns; i++) {
		unsigned here = eighths > STEPS * i ? eighths - STEPS * i : 0;

		if (ascii)
			text_append(text, here >= STEPS / 2 ? "#" : here ? "." : " ");
		else
			text_append(text, here >= STEPS ? "\u2588" : blocks[here]);
	}
}

void bars_append_spark(struct text *text, double value, double most, bool ascii)
{
	static const char *const blocks[STEPS + 1] = {
		" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588",
	};
	unsigned step = (unsigned)lround(part_of(value, most) * STEPS);
	char digit[2] = { (char)('0' + step), 0 };

	if (step == 0 && value > 0)
		step = 1;
	if (isnan(value))
		text_append(text, "?");
	else if (ascii)
		text_append(text, step ? digit : "_");
	else
		text_append(text, step ? blocks[step] : "_");
}

void bars_append_members(struct text *text, const struct balance_result *result, uint32_t count, bool predicted,
			 bool ascii)
{
	double most = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fmax(result->members[i].measured, result->members[i].predicted));
	for (uint32_t i = 0; i < count && i < BARS_MEMBERS; i++)
		bars_append_spark(text, predicted ? result->members[i].predicted : result->members[i].measured, most,
				  ascii);
	if (count > BARS_MEMBERS)
		text_append(text, "+");
}
