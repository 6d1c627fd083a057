/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/heat_cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Loads below IDLE are shown as idle; differences below SAME are not marked, from FAR on strongly.
 */
#define IDLE 0.01
#define SAME 0.05
#define FAR 0.25

/* Lines below the map, and the maximum number of lines of column names. */
enum { CELL_MOST = 5, HEADS_MOST = 4, LABEL_LEAST = 6, MEMBERS_LEAST = 6 };

int heat_number_columns(int columns)
{
	return columns > 3 ? columns - 1 : columns;
}

static const char *shade(double load, bool unicode)
{
	static const char *const shades[] = { "\u2591", "\u2592", "\u2593", "\u2588" };
	static const char *const digits[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
	int step = (int)(load * (unicode ? 4 : 10));

	if (load < IDLE)
		return unicode ? "\u00b7" : ".";
	return unicode ? shades[step > 3 ? 3 : step] : digits[step > 9 ? 9 : step];
}

static enum role write_load(double load, int columns, bool unicode, char *ret)
{
	const char *mark = shade(load, unicode);
	int percent = (int)lround(100 * load);

	if (columns == 1)
		strcpy(ret, mark);
	else if (columns == 2)
		snprintf(ret, 16, "%s%s", mark, unicode ? mark : " ");
	else if (columns == 3)
		snprintf(ret, 16, "%s%2d", unicode ? mark : " ", percent > 99 ? 99 : percent);
	else
		snprintf(ret, 16, columns == 4 ? "%s%2d " : "%s%3d ", unicode ? mark : " ",
			 percent > 99 && columns == 4 ? 99 : percent > 999 ? 999 : percent);
	return load < IDLE ? ROLE_FAINT : role_of_load(100 * load);
}

static enum role write_difference(double apart, int columns, char *ret)
{
	int percent = (int)lround(100 * apart);
	bool far = fabs(apart) >= FAR, same = fabs(apart) < SAME;

	if (columns == 1)
		snprintf(ret, 16, "%s", same ? "." : far ? apart > 0 ? "#" : "=" : apart > 0 ? "+" : "-");
	else if (columns == 2)
		snprintf(ret, 16, "%s", same ? ". " : far ? apart > 0 ? "++" : "--" : apart > 0 ? "+ " : "- ");
	else
		snprintf(ret, 16, columns == 3 ? "%+3d" : columns == 4 ? "%+3d " : "%+4d ",
			 percent > 99 ? 99 : percent < -99 ? -99 : percent);
	return same ? ROLE_FAINT : apart < 0 ? ROLE_LOAD_LOW : far ? ROLE_LOAD_HIGH : ROLE_LOAD_MIDDLE;
}

/* Write a sign at the position of the number. */
static void write_sign(const char *sign, int columns, char *ret)
{
	snprintf(ret, 16, "%*s%s%s", heat_number_columns(columns) - 1, "", sign, columns > 3 ? " " : "");
}

enum role heat_write(const struct heat_cell *cell, enum heat_value value, int columns, bool unicode, char *ret)
{
	enum role role;
	double load;

	if (!cell || cell->sign == HEAT_NO_LINK) {
		write_sign(" ", columns, ret);
		return ROLE_TEXT;
	}
	if (cell->sign == HEAT_MISSING || cell->sign == HEAT_DOWN) {
		write_sign(cell->sign == HEAT_DOWN ? "x" : "o", columns, ret);
		return ROLE_CRITICAL;
	}
	if (cell->sign == HEAT_UNKNOWN || isnan(cell->value[value])) {
		write_sign("?", columns, ret);
		return cell->sign == HEAT_UNKNOWN ? ROLE_SILENT : ROLE_FAINT;
	}
	role = value == HEAT_DIFFERENCE ? write_difference(cell->value[value], columns, ret) :
					  write_load(cell->value[value], columns, unicode, ret);
	if (!cell->degraded && !cell->missing && cell->working == cell->links)
		return role;
	/* The sign replaces the shade, not the number. */
	load = fmin(fabs((double)cell->value[value]), 0.99);
	if (columns <= 2)
		snprintf(ret, 16, columns == 1 ? "!" : "!%d", (int)(load * 10));
	else
		snprintf(ret, 16, columns == 3 ? "!%2d" : columns == 4 ? "!%2d " : "! %2d ", (int)lround(load * 100));
	return role == ROLE_LOAD_HIGH ? role : ROLE_WARNING;
}

const char *heat_legend(enum heat_value value, int columns, bool unicode, char *ret, size_t size)
{
	const char *signs = "x down  o missing  ! degraded or links missing  ? unknown";

	if (value == HEAT_DIFFERENCE && columns <= 2)
		snprintf(ret, size, "%s above prediction, %s by 25 %% or more; %s below  %s",
			 "+", columns == 1 ? "#" : "++", columns == 1 ? "- = " : "- -- ", signs);
	else if (value == HEAT_DIFFERENCE)
		snprintf(ret, size, "%% of link rate above (+) or below (-) prediction  %s", signs);
	else if (unicode)
		snprintf(ret, size, "\u00b7 <1 %%  \u2591 <25  \u2592 <50  \u2593 <75  \u2588 more  %s", signs);
	else if (columns <= 2)
		snprintf(ret, size, "0..9 tenths of link rate, . below 1 %%  %s", signs);
	else
		snprintf(ret, size, "%% of link rate  %s", signs);
	return ret;
}

void heat_layout(int area_rows, int area_columns, int label, int suffix, size_t rows, size_t columns,
		 struct heat_layout *ret)
{
	int most = area_columns / 3 < LABEL_LEAST ? LABEL_LEAST : area_columns / 3, left;

	ret->label = label < LABEL_LEAST ? LABEL_LEAST : label > most ? most : label;
	left = area_columns - ret->label - 1;
	for (ret->cell = CELL_MOST; ret->cell > 1 && columns * (size_t)ret->cell > (size_t)left;)
		ret->cell--;
	ret->shown = left / ret->cell;
	ret->shown = ret->shown > 0 && (size_t)ret->shown > columns ? (int)columns : ret->shown;
	ret->shown = ret->shown < 1 ? 1 : ret->shown;
	ret->words = area_rows >= 18 ? 3 : area_rows >= 12 ? 2 : area_rows > 1;
	ret->legend = area_rows >= 10;
	/* Names are written horizontally if they leave a blank. */
	ret->heads = suffix < ret->cell ? 1 : suffix > HEADS_MOST ? HEADS_MOST : suffix;
	if (ret->heads < 1 || area_rows < 10)
		ret->heads = 1;
	ret->rows = area_rows - ret->words - ret->legend - ret->heads;
	if (ret->rows < 1)
		ret->rows = 0;
	/* If all rows fit, the remaining lines list the links of the selected row. */
	rows = rows ? rows : 1;
	ret->members = ret->rows - (int)(rows < (size_t)ret->rows ? rows : (size_t)ret->rows) - 1;
	if (ret->members < MEMBERS_LEAST)
		ret->members = 0;
	ret->rows -= ret->members ? ret->members + 1 : 0;
}

size_t heat_prefix(const char *const *names, size_t count)
{
	size_t prefix = count ? strlen(names[0]) : 0, j;

	for (size_t i = 1; i < count; i++) {
		for (j = 0; j < prefix && names[i][j] == names[0][j];)
			j++;
		prefix = j;
	}
	/* Digits at the end of the prefix belong to the names. */
	while (prefix > 0 && ((names[0][prefix - 1] >= '0' && names[0][prefix - 1] <= '9') ||
			      ((unsigned char)names[0][prefix] & 0xc0) == 0x80))
		prefix--;
	return count && names[0][prefix] ? prefix : 0;
}
