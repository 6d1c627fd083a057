/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Topology files of ibdiagnet and ibutils: a line with type and name of a system, and below it its ports with the type,
 * name and port of the other end:
 *
 *	MQM8700 leaf-a01
 *	   P21 -4x-50G-> MQM8700 spine-b01 P1
 *
 * Rate and width may be missing ("P21 -> ..."), the speed is that of a lane. An empty line ends a system.
 * Source: ibutils ibdm/doc/ibdm-topo-file.pod, IBFabric::parseTopology() and dumpTopology().
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/plan/build.h"
#include "fabric/speed.h"

enum { WORDS_MAX = 6, WORD_SIZE = 256 };

/* The words of a line; quoted ones may have blanks. */
struct words {
	char text[WORDS_MAX][WORD_SIZE];
	size_t count; /* also of those that do not fit */
	bool indented;
};

static void split(const char *line, size_t len, struct words *ret)
{
	const char *end = line + len;

	ret->count = 0;
	ret->indented = len && (*line == ' ' || *line == '\t');
	for (;;) {
		const char *start;
		size_t size;

		while (line < end && isspace((unsigned char)*line))
			line++;
		if (line == end)
			return;
		start = line;
		if (*line == '"' && memchr(line + 1, '"', (size_t)(end - line - 1))) {
			start++;
			line = memchr(start, '"', (size_t)(end - start));
			size = (size_t)(line++ - start);
		} else {
			while (line < end && !isspace((unsigned char)*line))
				line++;
			size = (size_t)(line - start);
		}
		if (ret->count < WORDS_MAX)
			snprintf(ret->text[ret->count], WORD_SIZE, "%.*s",
				 (int)(size < WORD_SIZE ? size : WORD_SIZE - 1), start);
		ret->count++;
	}
}

/* "->", "-4x-10G->", "-4x->", "-50G->". */
static bool is_arrow(const char *word)
{
	size_t len = strlen(word);

	return len >= 2 && *word == '-' && word[len - 1] == '>' &&
	       (len == 2 || strspn(word, "-0123456789.xXgGbFDRNHESQ>") == len || strstr(word, "UNKNOWN"));
}

/* "P1 -4x-50G-> TYPE NAME P3"; the type may be missing. */
static bool is_port_line(const struct words *words)
{
	return (words->count == 5 || words->count == 4) && is_arrow(words->text[1]);
}

static const char *end_of_line(const char *at)
{
	return at + strcspn(at, "\r\n");
}

static const char *skip_break(const char *at)
{
	return *at == '\r' && at[1] == '\n' ? at + 2 : *at ? at + 1 : at;
}

bool plan_is_topo(const char *chars)
{
	struct words words;
	size_t systems = 0, others = 0;

	/* Among the first lines is a system with a port. */
	while (*chars && others < 200) {
		const char *end = end_of_line(chars);

		split(chars, (size_t)(end - chars), &words);
		if (words.count >= 2 && *words.text[0] != '#' && systems && is_port_line(&words))
			return true;
		systems += words.count >= 2 && *words.text[0] != '#';
		others++;
		chars = skip_break(end);
	}
	return false;
}

/* The speed of a lane by its name in Gb/s. */
static uint8_t lane_speed(double gbits)
{
	static const struct {
		double most;
		enum link_speed speed;
	} lanes[] = {
		{ 3, LINK_SPEED_SDR }, { 6, LINK_SPEED_DDR }, { 11, LINK_SPEED_QDR }, { 15, LINK_SPEED_FDR },
		{ 30, LINK_SPEED_EDR }, { 60, LINK_SPEED_HDR }, { 120, LINK_SPEED_NDR }, { 240, LINK_SPEED_XDR },
	};

	for (size_t i = 0; gbits > 0 && i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (gbits <= lanes[i].most)
			return (uint8_t)lanes[i].speed;
	return LINK_SPEED_NONE;
}

static void take_arrow(const char *arrow, struct plan_link *link)
{
	for (const char *at = arrow; *at;) {
		struct plan_rate rate;
		char *end;

		if (isdigit((unsigned char)*at)) {
			double number = strtod(at, &end);

			if (tolower((unsigned char)*end) == 'x')
				link->width = number <= 12 ? link_width_code((unsigned)number) : 0;
			else if (toupper((unsigned char)*end) == 'G')
				link->speed = lane_speed(number);
			at = *end ? end + 1 : end;
		} else if (isalpha((unsigned char)*at)) {
			char word[8];
			size_t len = strspn(at, "FDRNHESQX0123456789");

			snprintf(word, sizeof(word), "%.*s", (int)(len < 7 ? len : 7), at);
			if (len && plan_parse_rate(word, &rate))
				link->speed = rate.speed;
			at += len ? len : 1;
		} else {
			at++;
		}
	}
}

struct topo {
	struct plan_reader *reader;
	char system[WORD_SIZE]; /* "": none */
	size_t line;
	size_t orphan, orphans; /* lines of ports without a system: the first, and their number */
};

static void report_orphans(struct topo *topo)
{
	if (topo->orphans == 1)
		plan_add_problem(topo->reader, topo->orphan, "a port without a line of its system above");
	else if (topo->orphans)
		plan_add_problem(topo->reader, topo->orphan,
				 "this and %zu more ports have no line of their system above", topo->orphans - 1);
	topo->orphans = 0;
}

static void take_port(struct topo *topo, const struct words *words)
{
	size_t name = words->count - 2;
	struct plan_link link = {
		.ends = { { .device = topo->system, .port = words->text[0], .place = "" },
			  { .device = words->text[name], .port = words->text[name + 1], .place = "" } },
		.cable = "", .line = (uint32_t)topo->line,
	};

	if (!*topo->system) {
		if (!topo->orphans++)
			topo->orphan = topo->line;
		link.damaged = true;
	}
	take_arrow(words->text[1], &link);
	plan_add_link(topo->reader, &link);
}

static void tear(struct topo *topo)
{
	plan_add_problem(topo->reader, topo->line, PLAN_TORN);
	topo->reader->plan.incomplete = true;
}

/* What is left of the line of a port: its own end. */
static void take_rest(struct topo *topo, const struct words *words)
{
	const struct plan_link link = {
		.ends = { { .device = topo->system, .port = words->text[0], .place = "" },
			  { .device = "", .port = "", .place = "" } },
		.cable = "", .line = (uint32_t)topo->line, .damaged = true,
	};

	if (words->count >= 2 && is_arrow(words->text[1]))
		plan_add_link(topo->reader, &link);
}

static void take_line(struct topo *topo, const struct words *words, bool torn)
{
	if (!words->count) {
		topo->system[0] = '\0';
		return;
	}
	if (*words->text[0] == '#')
		return;
	if (is_port_line(words)) {
		/* "P12" may have been "P123". */
		if (torn) {
			tear(topo);
			take_rest(topo, words);
		} else {
			take_port(topo, words);
		}
		return;
	}
	report_orphans(topo);
	/* "TYPE NAME", "TYPE NAME CFG: leaf1=R". */
	if (words->count >= 2 && !strchr(words->text[0], '>') && !strchr(words->text[1], '>') &&
	    (words->count == 2 || !strncmp(words->text[2], "CFG:", 4))) {
		snprintf(topo->system, sizeof(topo->system), "%s", words->text[1]);
		return;
	}
	if (torn)
		tear(topo);
	else
		plan_add_problem(topo->reader, topo->line, "neither a system nor one of its ports");
	take_rest(topo, words);
	if (!words->indented)
		topo->system[0] = '\0';
}

int plan_read_topo(struct plan_reader *reader, struct error *err)
{
	struct topo topo = { .reader = reader };
	struct words *words = malloc(sizeof(*words));

	if (!words)
		return err_nomem(err);
	for (const char *at = reader->chars; *at && !reader->failed;) {
		const char *end = end_of_line(at);

		topo.line++;
		split(at, (size_t)(end - at), words);
		take_line(&topo, words, !*end);
		at = skip_break(end);
	}
	report_orphans(&topo);
	free(words);
	return 0;
}
