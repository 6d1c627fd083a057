/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of links: NDT files of UFM, and point-to-point lists as spreadsheets export them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/plan/build.h"
#include "fabric/plan/cells.h"
#include "fabric/plan/header.h"

static const char separators[] = ",;\t|";

/* Rows before the header: titles, authors, dates. */
enum { ROWS_BEFORE_HEADER = 60 };

/* What merged cells of a spreadsheet carry to the rows below: cells of the row before, by end. */
struct above {
	char device[256], rack[128], unit[64], location[128];
};

/* A type of link that is not of the fabric, or a rate that cannot be read. */
struct remark {
	size_t line, count;
	char *text;
};

struct list {
	struct plan_reader *reader;
	struct cells cells;
	struct header header;
	char titles[2][80];       /* of the devices, to recognise a header that has digits */
	struct above above[2];
	char speed[64];           /* the last one that was read, and what it means */
	struct plan_rate rate;
	char type[64];            /* of the row above */
	bool other_network;       /* it is of another network */
	struct remark *types, *rates;
	size_t type_count, type_capacity, rate_count, rate_capacity;
};

/* Copy what fits. Return: its length. */
static size_t set_text(char *to, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(to, text, len);
	to[len] = '\0';
	return len;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(const struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		if (*cells->cells[i])
			return false;
	return true;
}

static bool is_comment(const struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		if (*cells->cells[i])
			return *cells->cells[i] == '#';
	return false;
}

static const char *column(const struct list *list, int at)
{
	return at == HEADER_NONE ? "" : cells_get(&list->cells, (size_t)at);
}

/* Words for an end that is not cabled. */
static bool is_nothing(const char *text)
{
	static const char *const words[] = {
		"-", "--", "n/a", "na", "none", "free", "spare", "unused", "empty", "reserved", "tbd", "nc", "x",
		"not connected", "unconnected", "disconnected", "blank", "open", "future",
	};

	/* Most texts have a digit. */
	for (const char *at = text; *at; at++)
		if (is_digit(*at))
			return false;
	for (size_t i = 0; *text && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]))
			return true;
	return false;
}

/* Cables of other networks, in plans of a whole cluster. */
static bool is_other_network(const char *type)
{
	static const char *const words[] = {
		"eth", "ethernet", "mgmt", "management", "oob", "gbe", "1gbe", "10gbe", "25gbe", "100gbe", "400gbe",
		"roce", "power", "pdu", "console", "serial", "ipmi", "bmc", "bmcs", "idrac", "ilo", "nvlink", "fc",
		"fibre channel", "ufm-ha", "usb", "rj45", "cat6", "cat6a",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_word(type, words[i]))
			return true;
	return false;
}

static void remark(struct list *list, struct remark **list_of, size_t *count, size_t *capacity, const char *text)
{
	struct remark *to;

	for (size_t i = 0; i < *count; i++)
		if (!strcasecmp((*list_of)[i].text, text)) {
			(*list_of)[i].count++;
			return;
		}
	/* Different texts in each line are another column: the first of them suffice. */
	if (*count >= 20) {
		(*list_of)[19].count++;
		return;
	}
	to = array_add(list_of, count, capacity, sizeof(**list_of));
	if (to)
		*to = (struct remark){ .line = list->cells.line, .count = 1, .text = strdup(text) };
	if (!to || !to->text) {
		*count -= !!to;
		list->reader->failed = true;
	}
}

/* Join the parts of a place that are given: "Rack A #1 U41". */
static void set_place(const struct above *above, char *ret, size_t size)
{
	const char *where = *above->rack ? above->rack : above->location;
	bool number = *above->unit && strspn(above->unit, "0123456789.") == strlen(above->unit);
	size_t len = set_text(ret, size, where);

	if (len && *above->unit)
		len += set_text(ret + len, size - len, " ");
	if (number)
		len += set_text(ret + len, size - len, "U");
	len += set_text(ret + len, size - len, above->unit);
	/* "41.0" of a spreadsheet is a number. */
	if (number && len > 2 && !strcmp(ret + len - 2, ".0"))
		ret[len - 2] = '\0';
}

static bool is_short_of(const struct list *list, const struct header_end *end)
{
	size_t most = list->cells.count;

	return (end->device != HEADER_NONE && (size_t)end->device >= most) ||
	       (end->port != HEADER_NONE && (size_t)end->port >= most);
}

/* The separator of a row that has none of the header's. */
static char find_other_separator(const struct list *list)
{
	for (size_t i = 0; i < sizeof(separators) - 1 && list->cells.count == 1; i++) {
		size_t count = 0;

		for (const char *at = list->cells.cells[0]; (at = strchr(at, separators[i])); at++)
			count++;
		if (separators[i] != list->cells.separator && count >= 2)
			return separators[i];
	}
	return '\0';
}

static const char *separator_name(char separator)
{
	return separator == '\t' ? "tabs" : separator == ';' ? "';'" : separator == ',' ? "','" : "'|'";
}

/* Take the only cell of a row apart at another separator. */
static bool split_again(struct list *list, char separator)
{
	struct cells cells = { .at = list->cells.cells[0], .separator = separator };
	bool same = cells_next(&cells) && cells.count == list->header.columns;

	if (same) {
		cells.at = list->cells.at;
		cells.line = list->cells.line;
		cells.next_line = list->cells.next_line;
		cells.torn = list->cells.torn;
		/* Its text was that of the old row. */
		cells.separator = list->cells.separator;
		cells_done(&list->cells);
		list->cells = cells;
	} else {
		cells_done(&cells);
	}
	return same;
}

/*
 * Rows that are too short: torn, of another separator, or a title between the rows.
 * Return: whether it has a problem; what it still has of a link may be taken.
 */
static bool report_short_row(struct list *list)
{
	const struct header *header = &list->header;
	size_t filled = 0;
	char other;

	if (list->cells.torn && list->cells.count < header->columns) {
		plan_add_problem(list->reader, list->cells.line, PLAN_TORN);
		list->reader->plan.incomplete = true;
		/* "Port 1" may have been "Port 12". */
		list->cells.cells[list->cells.count - 1] = "";
		return true;
	}
	if (!is_short_of(list, &header->ends[0]) && !is_short_of(list, &header->ends[1]))
		return false;
	other = find_other_separator(list);
	for (size_t i = 0; i < list->cells.count; i++)
		filled += !!*list->cells.cells[i];
	if (other) {
		plan_add_problem(list->reader, list->cells.line, "cells are separated by %s, those of the header by %s",
				 separator_name(other), separator_name(list->cells.separator));
		if (!split_again(list, other))
			list->cells.cells[0] = "";
	} else if (filled > 1) {
		plan_add_problem(list->reader, list->cells.line, "%zu cells of the %zu that the header has",
				 list->cells.count, header->columns);
	}
	return other || filled > 1;
}

/* Take an end from the row. Cells that are empty because of a merged cell above are filled in. */
static void take_end(struct list *list, int side, struct plan_end *ret, char place[400], char port[512])
{
	const struct header_end *end = &list->header.ends[side];
	struct above *above = &list->above[side];
	const char *device = column(list, end->device), *rack = column(list, end->rack);
	const char *unit = column(list, end->unit), *location = column(list, end->location);
	const char *hca = column(list, end->hca);
	bool same = !*device || !strcasecmp(device, above->device);

	ret->port = column(list, end->port);
	if (*hca && strcasecmp(hca, ret->port)) {
		/* "Port 1" of "mlx5_0". */
		snprintf(port, 512, "%s %s", hca, ret->port);
		ret->port = port;
	}
	if (*device)
		set_text(above->device, sizeof(above->device), device);
	if (*rack || !(same || *unit))
		set_text(above->rack, sizeof(above->rack), rack);
	if (*unit || !same)
		set_text(above->unit, sizeof(above->unit), unit);
	if (*location || !same)
		set_text(above->location, sizeof(above->location), location);
	ret->device = *device || !*ret->port ? device : above->device;
	set_place(above, place, 400);
	ret->place = place;
}

static void take_rate(struct list *list, struct plan_link *link)
{
	struct plan_rate rate = { 0 }, width = { 0 };
	const char *speed = column(list, list->header.speed), *lanes = column(list, list->header.width);

	if (*speed && !strcmp(speed, list->speed)) {
		rate = list->rate;
	} else if (*speed && plan_parse_rate(speed, &rate)) {
		set_text(list->speed, sizeof(list->speed), speed);
		list->rate = rate;
	} else if (*speed) {
		remark(list, &list->rates, &list->rate_count, &list->rate_capacity, speed);
	}
	link->mbits_per_s = rate.mbits_per_s;
	link->width = rate.width;
	link->speed = rate.speed;
	if (*lanes && plan_parse_rate(lanes, &width))
		link->width = width.width;
}

/* Is the end not to be cabled? */
static bool is_free(const struct list *list, const struct plan_end *end)
{
	const char *state = column(list, list->header.state);

	return is_nothing(end->device) || (!*end->device && (is_nothing(end->port) || has_word(state, "disabled") ||
							     is_nothing(state)));
}

static void take_cable(struct list *list, char ret[512])
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < list->header.cable_count; i++) {
		const char *cell = column(list, list->header.cables[i]);

		if (*cell && len)
			len += set_text(ret + len, 512 - len, ", ");
		len += set_text(ret + len, 512 - len, cell);
	}
}

/* @damaged: the row has a problem, which was reported. */
static void take_row(struct list *list, bool damaged)
{
	const char *type = column(list, list->header.type);
	char places[2][400], ports[2][512], cable[512];
	struct plan_link link = { .line = (uint32_t)list->cells.line, .cable = cable, .damaged = damaged };
	bool given[2];

	for (int i = 0; i < 2; i++) {
		take_end(list, i, &link.ends[i], places[i], ports[i]);
		given[i] = *link.ends[i].device || *link.ends[i].port;
	}
	if (!damaged && ((!given[0] && !given[1]) || is_free(list, &link.ends[0]) || is_free(list, &link.ends[1])))
		return;
	/* Most rows have the type of the row above. */
	if (strcmp(type, list->type)) {
		set_text(list->type, sizeof(list->type), type);
		list->other_network = is_other_network(type);
	}
	if (list->other_network) {
		remark(list, &list->types, &list->type_count, &list->type_capacity, type);
		return;
	}
	for (int i = 0; i < 2 && !damaged; i++) {
		/* Titles of sections are alone in their row. */
		if (!given[i] && !*link.ends[1 - i].port && !*column(list, list->header.speed))
			return;
		if (*link.ends[i].device)
			continue;
		plan_add_problem(list->reader, list->cells.line, "%s: '%s' has no other end",
				 i ? "no device at the second end" : "no device at the first end",
				 *link.ends[1 - i].device ? link.ends[1 - i].device : link.ends[1 - i].port);
		link.damaged = true;
	}
	if (!link.damaged)
		take_rate(list, &link);
	take_cable(list, cable);
	plan_add_link(list->reader, &link);
}

static bool has_digit(const struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		for (const char *at = cells->cells[i]; *at; at++)
			if (is_digit(*at))
				return true;
	return false;
}

/* Are the titles of both devices in the row? */
static bool has_titles(const struct list *list)
{
	bool found[2] = { false };

	for (size_t i = 0; i < list->cells.count; i++)
		for (int k = 0; k < 2; k++)
			found[k] |= !strcmp(list->cells.cells[i], list->titles[k]);
	return found[0] && found[1];
}

static void keep_header(struct list *list, const struct header *header, const struct cells *cells)
{
	list->header = *header;
	for (int i = 0; i < 2; i++)
		set_text(list->titles[i], sizeof(list->titles[i]), cells_get(cells, (size_t)header->ends[i].device));
}

/* A header between the rows: of the next page, or of another sheet with other columns. Rows of data have digits. */
static bool take_header(struct list *list)
{
	struct header header;

	if ((has_digit(&list->cells) && !has_titles(list)) || !header_find(&list->cells, &header))
		return false;
	keep_header(list, &header, &list->cells);
	memset(list->above, 0, sizeof(list->above));
	return true;
}

static void read_rows(struct list *list)
{
	bool damaged;

	while (!list->reader->failed && cells_next(&list->cells)) {
		if (is_blank(&list->cells)) {
			memset(list->above, 0, sizeof(list->above));
			continue;
		}
		if (take_header(list) || is_comment(&list->cells))
			continue;
		if (list->cells.unclosed)
			plan_add_problem(list->reader, list->cells.line, "a quote is not closed");
		damaged = list->cells.unclosed || report_short_row(list);
		/* A title between the rows has no end. */
		if (damaged || !(is_short_of(list, &list->header.ends[0]) || is_short_of(list, &list->header.ends[1])))
			take_row(list, damaged);
	}
}

static void report_remarks(struct list *list)
{
	for (size_t i = 0; i < list->type_count; i++)
		plan_add_problem(list->reader, list->types[i].line, "%zu link%s of type '%s': not of this fabric",
				 list->types[i].count, text_plural(list->types[i].count), list->types[i].text);
	for (size_t i = 0; i < list->rate_count; i++)
		plan_add_problem(list->reader, list->rates[i].line, "'%s' is no speed (%zu link%s): speed not judged",
				 list->rates[i].text, list->rates[i].count, text_plural(list->rates[i].count));
}

/* Find the header with each separator; that of the earliest header, then of the one with more columns, is right. */
static bool find_header(struct list *list, const char *chars)
{
	size_t best_line = SIZE_MAX, best_columns = 0;
	struct cells best = { 0 };

	for (size_t i = 0; i < sizeof(separators) - 1; i++) {
		struct cells cells = { .at = chars, .separator = separators[i] };
		struct header header;
		size_t rows = 0;

		while (rows < ROWS_BEFORE_HEADER && cells_next(&cells)) {
			rows += !is_blank(&cells);
			if (!header_find(&cells, &header))
				continue;
			if (cells.line > best_line || (cells.line == best_line && cells.count <= best_columns))
				break;
			best_line = cells.line;
			best_columns = cells.count;
			best = (struct cells){ .at = cells.at, .separator = separators[i],
					       .next_line = cells.next_line };
			keep_header(list, &header, &cells);
			break;
		}
		list->reader->failed |= text_failed(&cells.chars);
		cells_done(&cells);
	}
	list->cells = best;
	return best_columns;
}

int plan_read_list(struct plan_reader *reader, enum plan_form *ret_form, struct error *err)
{
	struct list *list = calloc(1, sizeof(*list));
	int code = 0;

	if (!list)
		return err_nomem(err);
	list->reader = reader;
	if (find_header(list, reader->chars)) {
		*ret_form = list->header.is_ndt ? PLAN_NDT : PLAN_LIST;
		read_rows(list);
		report_remarks(list);
		reader->failed |= text_failed(&list->cells.chars);
	} else {
		code = err_set(err, ERR_IO, "it is no plan: none of its first lines names the columns of both ends, "
			       "as 'StartDevice,StartPort,EndDevice,EndPort' does");
	}
	for (size_t i = 0; i < list->type_count; i++)
		free(list->types[i].text);
	for (size_t i = 0; i < list->rate_count; i++)
		free(list->rates[i].text);
	free(list->types);
	free(list->rates);
	cells_done(&list->cells);
	free(list);
	return code;
}
