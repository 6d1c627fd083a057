/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Plans that the test writes in the forms that sites use: every link of them must be read, with its ports, places and
 * speed, and damage must be named with its line.
 */
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/test_damage.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/plan.h"
#include "fabric/plan/build.h"
#include "fabric/test_net.h"

enum { LINKS_MAX = 60, TEXT_MAX = 100 };

/* A link as it was written. */
struct written {
	char device[2][TEXT_MAX], port[2][TEXT_MAX], place[2][TEXT_MAX], cable[TEXT_MAX];
	uint32_t mbits;
	uint8_t width, speed;
	size_t line;
};

static struct written written[LINKS_MAX];
static size_t written_count;
static uint64_t seed;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(net_random(&seed) % limit);
}

static bool chance(uint32_t of)
{
	return below(of) == 0;
}

static const char *one_of(const char *const *texts, size_t count)
{
	return texts[below((uint32_t)count)];
}

#define ONE_OF(...) one_of((const char *const[]){ __VA_ARGS__ }, \
			   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void load(struct plan *plan, const char *text)
{
	struct error err = { 0 };

	if (plan_read(plan, "plan.csv", text, strlen(text), &err) < 0)
		fail_msg("%s\n%s", err.text, text);
}

/* Compare what was read with what was written, of a plan without problems. */
static void check_links(const struct plan *plan, const char *text)
{
	if (plan->problem_count)
		fail_msg("line %u: %s\n%s", plan->problems[0].line, plan->problems[0].text, text);
	if (plan->link_count != written_count)
		fail_msg("%zu links of %zu\n%s", plan->link_count, written_count, text);
	for (size_t i = 0; i < written_count; i++) {
		const struct plan_link *link = &plan->links[i];
		const struct written *wanted = &written[i];

		for (int k = 0; k < 2; k++)
			if (strcmp(link->ends[k].device, wanted->device[k]) ||
			    strcmp(link->ends[k].port, wanted->port[k]) ||
			    strcmp(link->ends[k].place, wanted->place[k]))
				fail_msg("line %zu end %d: '%s' '%s' '%s' instead of '%s' '%s' '%s'\n%s",
					 wanted->line, k, link->ends[k].device, link->ends[k].port, link->ends[k].place,
					 wanted->device[k], wanted->port[k], wanted->place[k], text);
		if (strcmp(link->cable, wanted->cable) || link->mbits_per_s != wanted->mbits ||
		    link->width != wanted->width || link->speed != wanted->speed || link->line != wanted->line)
			fail_msg("line %u instead of %zu: '%s' %u %u %u instead of '%s' %u %u %u\n%s", link->line,
				 wanted->line, link->cable, link->mbits_per_s, link->width, link->speed,
				 wanted->cable, wanted->mbits, wanted->width, wanted->speed, text);
	}
}

/* --- lists --- */

/* How a list is written. */
struct style {
	char separator;
	const char *newline;
	bool quote_all, merged, blank_rows, titles, repeat_header, comments;
	size_t before, between, after; /* columns of other things */
	bool has_rack, has_unit, has_speed, has_cable, has_type;
	int names;              /* of the columns */
	size_t line;
};

static void put_cell(struct text *text, const struct style *style, const char *cell, bool first)
{
	bool quoted = style->quote_all || strchr(cell, style->separator) || *cell == '"' || strpbrk(cell, "\r\n") ||
		      chance(8);

	if (!first)
		text_append_bytes(text, &style->separator, 1);
	if (quoted)
		text_append(text, "\"");
	for (; *cell; cell++) {
		if (quoted && *cell == '"')
			text_append(text, "\"");
		text_append_bytes(text, cell, 1);
	}
	if (quoted)
		text_append(text, "\"");
}

static const char *const titles[][10] = {
	/* device, port, rack, U of both ends */
	{ "StartDevice", "StartPort", "rack #", "U height", "EndDevice", "EndPort", "rack #", "U height", "LinkType" },
	{ "Source Device", "Source Port", "Source Rack", "Source U", "Destination Device", "Destination Port",
	  "Destination Rack", "Destination U", "Type" },
	{ "From", "From Port", "From Rack", "From U", "To", "To Port", "To Rack", "To U", "Protocol" },
	{ "Switch A", "Port A", "Rack A", "U A", "Switch B", "Port B", "Rack B", "U B", "Link Type" },
	{ "A-end", "A-end port", "A-Rack", "A-RU", "Z-end", "Z-end port", "Z-Rack", "Z-RU", "Link type" },
	{ "A-Node Name", "A-Port", "A-Rack", "A-U", "Z-Node Name", "Z-Port", "Z-Rack", "Z-U", "PROTOCOL" },
	{ "Name", "HCA/Port", "Rack", "U", "Name", "Port", "Rack", "U", "Link-Type" },
	{ "Host", "HCA", "Rack", "RU", "Switch", "Switch Port", "Rack", "RU", "link_type" },
	{ "src_host", "src_port", "src_rack", "src_u", "dst_host", "dst_port", "dst_rack", "dst_u", "type" },
	{ "Device 1", "Port 1", "Rack 1", "U 1", "Device 2", "Port 2", "Rack 2", "U 2", "Type" },
	{ "node", "port", "rack", "unit", "peer", "peer_port", "peer_rack", "peer_unit", "link type" },
	{ "srcdevice", "srcport", "srcrack", "srcunit", "dstdevice", "dstport", "dstrack", "dstunit", "linktype" },
};

static void put_filler(struct text *text, const struct style *style, size_t count, bool *first, bool header)
{
	for (size_t i = 0; i < count; i++) {
		put_cell(text, style, header ? ONE_OF("", "Notes", "Index", "Approved by J. Doe", "Remarks 2026") :
			 ONE_OF("", "7", "checked; yes, really", "a \"quote\"", "x"), *first);
		*first = false;
	}
}

static void put_end(struct text *text, const struct style *style, const char *const cells[4], bool *first)
{
	bool in_front = style->names == 0 || style->names == 6;

	/* Rack and height in front of the device, or behind the port. */
	for (int pass = 0; pass < 2; pass++) {
		if ((pass == 0) == in_front) {
			if (style->has_rack) {
				put_cell(text, style, cells[2], *first);
				*first = false;
			}
			if (style->has_unit) {
				put_cell(text, style, cells[3], *first);
				*first = false;
			}
		} else {
			put_cell(text, style, cells[0], *first);
			put_cell(text, style, cells[1], false);
			*first = false;
		}
	}
}

static void end_row(struct text *text, struct style *style)
{
	text_append(text, style->newline);
	style->line++;
}

static void put_row(struct text *text, struct style *style, const char *const cells[9], const char *speed,
		    const char *cable, const char *length, bool header)
{
	bool first = true;

	put_filler(text, style, style->before, &first, header);
	put_end(text, style, cells, &first);
	put_filler(text, style, style->names == 6 || style->names == 7 ? 0 : style->between, &first, header);
	put_end(text, style, cells + 4, &first);
	if (style->has_type)
		put_cell(text, style, cells[8], false);
	if (style->has_speed)
		put_cell(text, style, speed, false);
	if (style->has_cable) {
		put_cell(text, style, cable, false);
		put_cell(text, style, length, false);
	}
	put_filler(text, style, style->after, &first, header);
	end_row(text, style);
}

static void put_header(struct text *text, struct style *style)
{
	const char *cells[9];
	char glued[40];

	memcpy(cells, titles[style->names], sizeof(cells));
	if (style->names == 0) {
		snprintf(glued, sizeof(glued), "%s%s", ONE_OF("", "#", "#Fields:", "# "), cells[0]);
		cells[0] = glued;
	}
	put_row(text, style, cells, ONE_OF("Speed", "Rate", "Link Speed", "Bandwidth (Gb/s)"),
		style->has_speed ? ONE_OF("", "Cable Type") : "Cable", ONE_OF("Cable Length", "Length (m)"), true);
}

static void random_name(char ret[TEXT_MAX])
{
	static const char *const odd[] = { " 5,2", ";x", " \"q\"", "\xc3\xbc", " (new)", "|", ".site.net" };

	snprintf(ret, TEXT_MAX, "%s%s%u%s", ONE_OF("leaf", "spine", "node", "R01-N", "core "), ONE_OF("", "-", "-a"),
		 below(1000), chance(3) ? odd[below(sizeof(odd) / sizeof(odd[0]))] : "");
}

static const struct {
	const char *text;
	uint32_t mbits;
	uint8_t width, speed;
} rates[] = {
	{ "200000", 200000, 0, 0 }, { "200G", 200000, 0, 0 }, { "400 Gb/s", 400000, 0, 0 },
	{ "HDR", 0, 0, LINK_SPEED_HDR },
	{ "4xHDR", 0, LINK_WIDTH_4X, LINK_SPEED_HDR }, { "4x NDR", 0, LINK_WIDTH_4X, LINK_SPEED_NDR },
	{ "HDR100", 100000, 0, LINK_SPEED_HDR }, { "NDR200", 200000, 0, LINK_SPEED_NDR },
	{ "2x HDR", 0, LINK_WIDTH_2X, LINK_SPEED_HDR }, { "100 Gbps EDR", 100000, 0, LINK_SPEED_EDR },
	{ "56G", 54545, 0, 0 }, { "FDR10", 0, 0, LINK_SPEED_FDR10 }, { "40G QDR", 32000, 0, LINK_SPEED_QDR },
	{ "40G FDR10", 40000, 0, LINK_SPEED_FDR10 }, { "FDR 56Gb/s", 54545, 0, LINK_SPEED_FDR },
	{ "800", 800000, 0, 0 }, { "0.4T", 400000, 0, 0 }, { "4X-HDR", 0, LINK_WIDTH_4X, LINK_SPEED_HDR },
	{ "auto", 0, 0, 0 }, { "", 0, 0, 0 }, { "100Gbit/s", 100000, 0, 0 },
	{ "1xSDR", 0, LINK_WIDTH_1X, LINK_SPEED_SDR },
	{ "ndr", 0, 0, LINK_SPEED_NDR }, { "200GbE", 200000, 0, 0 }, { "10000 Mb/s", 8000, 0, 0 },
};

static void put_link(struct text *text, struct style *style, struct written *link)
{
	const char *type = ONE_OF("Data", "data", "InfiniBand", "IB", ""), *cells[9];
	const char *cable = ONE_OF("", "200G HDR cable", "AOC, active"), *length = ONE_OF("", "10", "2.5");
	char units[2][16];
	uint32_t rate = below(sizeof(rates) / sizeof(rates[0]));
	const struct written *above = link > written ? link - 1 : NULL;

	for (int i = 0; i < 2; i++) {
		char rack[40];
		bool same = style->merged && above && i == 0 && !chance(4);

		if (same)
			strcpy(link->device[i], above->device[i]);
		else
			random_name(link->device[i]);
		snprintf(link->port[i], TEXT_MAX, "%s%u", ONE_OF("Port ", "P", "", "1/", "mlx5_"), below(64) + 1);
		snprintf(rack, sizeof(rack), "%s %u", ONE_OF("Rack A #1", "B01", "Row 3, Rack"), below(9));
		snprintf(units[i], sizeof(units[i]), "%s%u", ONE_OF("U", ""), below(40) + 1);
		snprintf(link->place[i], TEXT_MAX, "%s%s%s%s", style->has_rack ? rack : "",
			 style->has_rack && style->has_unit ? " " : "",
			 style->has_unit && *units[i] != 'U' ? "U" : "", style->has_unit ? units[i] : "");
		cells[4 * i] = link->device[i];
		cells[4 * i + 1] = link->port[i];
		cells[4 * i + 2] = strdup(rack);
		cells[4 * i + 3] = units[i];
		if (same) {
			/* One merged cell for all: only the port differs. */
			strcpy(link->place[i], above->place[i]);
			cells[4 * i] = cells[4 * i + 3] = "";
			free((char *)cells[4 * i + 2]);
			cells[4 * i + 2] = strdup("");
		}
	}
	cells[8] = type;
	link->mbits = style->has_speed ? rates[rate].mbits : 0;
	link->width = style->has_speed ? rates[rate].width : 0;
	link->speed = style->has_speed ? rates[rate].speed : 0;
	snprintf(link->cable, TEXT_MAX, "%s%s%s", style->has_cable ? cable : "",
		 style->has_cable && *cable && *length ? ", " : "", style->has_cable ? length : "");
	link->line = style->line;
	put_row(text, style, cells, rates[rate].text, cable, length, false);
	for (int i = 0; i < 2; i++)
		free((char *)cells[4 * i + 2]);
}

static bool is_written(const struct written *link)
{
	for (const struct written *other = written; other < link; other++)
		for (int turned = 0; turned < 2; turned++)
			if (!strcasecmp(other->device[turned], link->device[0]) &&
			    !strcasecmp(other->port[turned], link->port[0]) &&
			    !strcasecmp(other->device[1 - turned], link->device[1]) &&
			    !strcasecmp(other->port[1 - turned], link->port[1]))
				return true;
	return false;
}

/* A random list. */
static void put_list(struct text *text)
{
	struct style style = {
		.separator = ",;\t|"[below(4)], .newline = ONE_OF("\n", "\r\n"), .quote_all = chance(6),
		.merged = chance(3), .blank_rows = chance(3), .titles = chance(2), .repeat_header = chance(4),
		.comments = chance(4), .before = below(3), .between = below(2), .after = below(4),
		.has_rack = chance(2), .has_unit = chance(2), .has_speed = chance(2), .has_cable = chance(2),
		.has_type = chance(2), .names = (int)below(sizeof(titles) / sizeof(titles[0])), .line = 1,
	};

	text_append(text, "");
	if (style.titles) {
		text_append(text, "Cabling of hall 2, revision 17");
		end_row(text, &style);
		end_row(text, &style);
	}
	if (style.separator == ';' && chance(3)) {
		text_append(text, "sep=;");
		end_row(text, &style);
	}
	put_header(text, &style);
	written_count = below(LINKS_MAX);
	written_count += !written_count;
	for (size_t i = 0; i < written_count; i++) {
		bool merged = style.merged;

		if (style.blank_rows && chance(5)) {
			end_row(text, &style);
			style.merged = false;
		}
		if (style.repeat_header && style.names && chance(10)) {
			style.before = style.between = style.after = 0;
			style.has_speed = style.has_cable = false;
			put_header(text, &style);
			style.merged = false;
		}
		if (style.comments && chance(6)) {
			text_append(text, "# to be checked");
			end_row(text, &style);
		}
		do {
			size_t len = text->len, line = style.line;

			put_link(text, &style, &written[i]);
			if (!is_written(&written[i]))
				break;
			text->len = len;
			style.line = line;
		} while (true);
		style.merged = merged;
	}
	if (chance(3))
		text->len -= strlen(style.newline);
	text->chars[text->len] = '\0';
}

static void encode(struct text *text, const char *code, const char *mark, size_t mark_len)
{
	size_t left = text->len, room = 4 * text->len + 8;
	char *wide = malloc(room), *from = text->chars, *to = wide + mark_len;
	iconv_t way = iconv_open(code, "UTF-8");

	assert_non_null(wide);
	memcpy(wide, mark, mark_len);
	room -= mark_len;
	assert_int_equal(iconv(way, &from, &left, &to, &room), 0);
	iconv_close(way);
	text_clear(text);
	text_append_bytes(text, wide, (size_t)(to - wide));
	free(wide);
}

TEST(each_link_of_a_list_is_read)
{
	for (unsigned run = 0; run < test_cases(2000); run++) {
		struct text text = { 0 };
		struct plan plan = { 0 };
		struct error err = { 0 };
		char *copy;

		seed = run;
		memset(written, 0, sizeof(written));
		put_list(&text);
		copy = strdup(text_chars(&text));
		switch (below(5)) {
		case 0:
			encode(&text, "UTF-16LE", "\xff\xfe", 2);
			break;
		case 1:
			encode(&text, "UTF-16BE", "\xfe\xff", 2);
			break;
		case 2:
			encode(&text, "UTF-8", "\xef\xbb\xbf", 3);
			break;
		default:
			break;
		}
		if (plan_read(&plan, "list", text_chars(&text), text.len, &err) < 0)
			fail_msg("%u: %s\n%s", run, err.text, copy);
		check_links(&plan, copy);
		/* The same again, as another file with the ends exchanged, adds nothing. */
		if (run % 10 == 0) {
			struct text turned = { 0 };
			size_t count = plan.link_count;

			text_append(&turned, "EndDevice;EndPort;StartDevice;StartPort\n");
			for (size_t i = 0; i < written_count; i++)
				for (int k = 0; k < 4; k++) {
					const char *cell = k % 2 ? written[i].port[k / 2] : written[i].device[k / 2];

					text_append(&turned, "\"");
					for (; *cell; cell++)
						text_appendf(&turned, *cell == '"' ? "\"\"" : "%c", *cell);
					text_append(&turned, k < 3 ? "\";" : "\"\n");
				}
			load(&plan, text_chars(&turned));
			assert_int_equal(plan.link_count, count);
			assert_int_equal(plan.problem_count, 0);
			text_done(&turned);
		}
		free(copy);
		plan_done(&plan);
		text_done(&text);
	}
}

/* --- .topo --- */

TEST(each_link_of_a_topology_file_is_read)
{
	static const char *const speeds[] = { "", "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR" };
	static const char *const lanes[] = { "", "2.5", "5", "10", "FDR10", "14", "25", "50", "100", "200" };

	for (unsigned run = 0; run < test_cases(300); run++) {
		struct text text = { 0 };
		struct plan plan = { 0 };
		size_t line = 1, count = 0;

		seed = run;
		memset(written, 0, sizeof(written));
		if (chance(2)) {
			text_append(&text, "# This topology file was generated\n\n");
			line += 2;
		}
		for (unsigned system = 0; system < 1 + below(5); system++) {
			text_appendf(&text, "%s leaf-%u%s\n", ONE_OF("MQM8700", "SwitchX", "MSX6536"), system,
				     chance(4) ? " CFG: leaf3=R,spine1=R" : "");
			line++;
			for (unsigned port = 1; port < 1 + below(10); port++) {
				struct written *link = &written[count++];
				uint32_t width = below(5), speed = below(sizeof(speeds) / sizeof(speeds[0]));

				snprintf(link->device[0], TEXT_MAX, "leaf-%u", system);
				snprintf(link->port[0], TEXT_MAX, "%sP%u", ONE_OF("", "L3/"), port);
				snprintf(link->device[1], TEXT_MAX, "node%u", system * 100 + port);
				snprintf(link->port[1], TEXT_MAX, "%s", ONE_OF("P1", "U1/P1", "HCA-1/P1"));
				link->width = (uint8_t)(width ? 1u << (width - 1) : 0);
				/* "10" of a lane is QDR: FDR10 has a name. */
				link->speed = (uint8_t)link_speed_by_name(speeds[speed]);
				link->line = line++;
				text_appendf(&text, "%s%s -", ONE_OF("   ", "\t", " \t "), link->port[0]);
				if (width)
					text_appendf(&text, "%u%s-", link_width_lanes(link->width), ONE_OF("x", "X"));
				if (speed)
					text_appendf(&text, "%s%s-", lanes[speed], speed == 4 ? "" : "G");
				text_appendf(&text, ">%sConnectX6 %s %s%s\n", ONE_OF(" ", "\t"), link->device[1],
					     link->port[1], ONE_OF("", " "));
				if (chance(8)) {
					text_append(&text, "# comment\n");
					line++;
				}
			}
			text_append(&text, "\n");
			line++;
		}
		written_count = count;
		if (count) {
			load(&plan, text_chars(&text));
			check_links(&plan, text_chars(&text));
			assert_int_equal(plan.files[0].form, PLAN_TOPO);
		}
		plan_done(&plan);
		text_done(&text);
	}
}

TEST(both_directions_of_a_topology_file_are_one_link)
{
	struct plan plan = { 0 };

	load(&plan, "MQM8700 leaf1\n P1 -4x-50G-> MQM8700 spine1 P2\n\nMQM8700 spine1\n P2 -4x-50G-> MQM8700 leaf1 P1\n"
		    " P3 -> MQM8700 leaf1 P4\n");
	assert_int_equal(plan.link_count, 2);
	assert_int_equal(plan.problem_count, 0);
	plan_done(&plan);
}

/* --- dumps --- */

TEST(each_link_of_a_dump_is_read)
{
	for (unsigned run = 0; run < test_cases(300); run++) {
		struct fabric *fabric = net_random_fabric(run), *again = NULL;
		struct text text = { 0 };
		struct plan plan = { 0 };
		struct error err = { 0 };
		size_t links = 0;

		netfile_write(&text, fabric);
		assert_int_equal(netfile_read(text_chars(&text), text.len, NULL, &again, NULL, &err), 0);
		links = fabric_count_links(again);
		if (links) {
			load(&plan, text_chars(&text));
			assert_int_equal(plan.files[0].form, PLAN_DUMP);
		}
		assert_int_equal(plan.link_count, links);
		for (size_t i = 0; i < links; i++) {
			const struct plan_link *link = &plan.links[i];
			uint8_t nums[2] = { (uint8_t)atoi(link->ends[0].port), (uint8_t)atoi(link->ends[1].port) };
			uint32_t port = fabric_find_port(again, link->ends[0].guid, nums[0]);
			const char *line = text_chars(&text);
			char begin[8];

			assert_int_not_equal(port, FABRIC_NONE);
			assert_int_equal(again->ports[port].peer,
					 fabric_find_port(again, link->ends[1].guid, nums[1]));
			assert_int_equal(link->speed, again->ports[port].speed);
			assert_int_equal(link->width, again->ports[port].width);
			snprintf(begin, sizeof(begin), "[%s]", link->ends[0].port);
			assert_true(link->line > 0);
			for (uint32_t k = 1; k < link->line; k++)
				line = strchr(line, '\n') + 1;
			assert_memory_equal(line, begin, strlen(begin));
		}
		plan_done(&plan);
		text_done(&text);
		fabric_destroy(again);
		fabric_destroy(fabric);
	}
}

/* --- single facts --- */

TEST(rates_are_read_as_they_are_written)
{
	static const char *const wrong[] = { "fast", "cable", "IB", "Gb/s", "hdrx", "0" };
	struct plan_rate rate;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		assert_true(plan_parse_rate(rates[i].text, &rate));
		assert_int_equal(rate.mbits_per_s, rates[i].mbits);
		assert_int_equal(rate.width, rates[i].width);
		assert_int_equal(rate.speed, rates[i].speed);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(plan_parse_rate(wrong[i], &rate));
}

/* Each plan has one link, or the expected problem. */
TEST(columns_are_found_by_their_titles)
{
	static const struct {
		const char *text, *a, *b; /* "DEVICE|PORT|PLACE" */
	} cases[] = {
		/* Two rows of titles; the wrong title of a published example. */
		{ "From,,,,To,,,\nRack,U,Name,HCA/Port,Rack,Name,Name,Port\n316,22,n29,1,R113,22,sw27,1/2\n",
		  "n29|1|316 U22", "sw27|1/2|R113" },
		{ "Host,HCA,Port,Switch,Port\nn1,mlx5_0,1,sw1,7\n", "n1|mlx5_0 1|", "sw1|7|" },
		{ "Switch,Host,Switch Port,Host Port\nsw1,n1,7,mlx5_0\n", "sw1|7|", "n1|mlx5_0|" },
		{ "Leaf,Leaf Port,Spine,Spine Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		{ "from,to\nl1/21,s1/1\n", "l1/21||", "s1/1||" },
		{ "Device,Port,Remote Device,Remote Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		{ "node_guid,port,peer_guid,peer_port\n0x1,21,0x2,1\n", "0x1|21|", "0x2|1|" },
		{ "node,node_guid,port,peer,peer_guid,peer_port,rate_gbps\nl1,0x1,21,s1,0x2,1,200\n", "l1|21|",
		  "s1|1|" },
		{ "Port,Device,Remote Port,Remote Device\n21,l1,1,s1\n", "l1|21|", "s1|1|" },
		{ "Source,Port,Destination,Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		{ "rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,"
		  "EndDeviceLocation,U height_1,LinkType,Speed,_2,Cable Length,_3,_4,State,Domain\n"
		  "A7,12,l1,Port 21,x,s1,Port 1,B01,4,Data,,,,,,Active,In-Scope\n"
		  ",,l1,Port 22,,,,,,,,,,,,Disabled,Disconnected\n", "l1|Port 21|A7 U12", "s1|Port 1|B01 U4" },
		{ "\"Start\nDevice\",\"Start\nPort\",\"End\nDevice\",\"End\nPort\"\n\"l\n1\",21,s1,1\n", "l 1|21|",
		  "s1|1|" },
		/* NetBox, as it exports and imports cables. */
		{ "Label,Rack A,Device A,Termination A,Rack B,Device B,Termination B,Status,Type,Length\n"
		  "c1,R7,l1,IB1/21,R8,s1,IB1/1,Connected,AOC,5\n", "l1|IB1/21|R7", "s1|IB1/1|R8" },
		{ "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status\n"
		  "l1,dcim.interface,Port 21,s1,dcim.interface,Port 1,mmf,connected\n", "l1|Port 21|", "s1|Port 1|" },
		{ "Server,NIC,Server U,ToR Switch,ToR Port\nn1,mlx5_0,41.0,sw1,7.0\n", "n1|mlx5_0|U41", "sw1|7.0|" },
		{ "Leaf Switch,Uplink Port,Connected To,Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		/* German and French, the second one in Latin-1. */
		{ "Lfd. Nr.;Rack;HE;Gerät A;Port A;Gerät B;Port B;Kabellänge\n1;R1;40;n1;mlx5_0;s1;7;3,0 m\n",
		  "n1|mlx5_0|R1 U40", "s1|7|" },
		{ "Quellger\xe4t;Quellport;Zielger\xe4t;Zielport;L\xe4nge\nn1;mlx5_0;s\xfc" "d1;7;3,0 m\n",
		  "n1|mlx5_0|", "süd1|7|" },
		{ "Équipement source;Port source;Équipement destination;Port destination\nn1;mlx5_0;s1;7\n",
		  "n1|mlx5_0|", "s1|7|" },
		{ "De;Port;Vers;Port;Longueur\nn1;mlx5_0;s1;7;3 m\n", "n1|mlx5_0|", "s1|7|" },
		/* Letters alone, if both have ports. */
		{ "A,A Port,B,B Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		{ "Leaf/Host,Port,Upstream,Port\nl1,21,s1,1\n", "l1|21|", "s1|1|" },
		/* No-break spaces. */
		{ "From,Port,To,Port\n\xc2\xa0l1\xc2\xa0,Port\xc2\xa0" "21,s1,1\n", "l1|Port 21|", "s1|1|" },
		/* Old line breaks. */
		{ "StartDevice,StartPort,EndDevice,EndPort\rl1,21,s1,1\r", "l1|21|", "s1|1|" },
		/* Ports that are not to be cabled, titles of sections, and a legend. */
		{ "StartDevice,StartPort,EndDevice,EndPort\nRack 7,,,\nl1,21,s1,1\nl1,22,spare,\nl1,23,-,-\n"
		  "l1,24,n/a,x\n", "l1|21|", "s1|1|" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = { 0 };
		char ends[2][TEXT_MAX];

		load(&plan, cases[i].text);
		if (plan.problem_count)
			fail_msg("%s%u: %s", cases[i].text, plan.problems[0].line, plan.problems[0].text);
		assert_int_equal(plan.link_count, 1);
		for (int k = 0; k < 2; k++)
			snprintf(ends[k], TEXT_MAX, "%s|%s|%s", plan.links[0].ends[k].device,
				 plan.links[0].ends[k].port, plan.links[0].ends[k].place);
		assert_string_equal(ends[0], cases[i].a);
		assert_string_equal(ends[1], cases[i].b);
		plan_done(&plan);
	}
}

/* --- damage --- */

static size_t count_links(const struct plan *plan, bool damaged)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->link_count; i++)
		count += plan->links[i].damaged == damaged;
	return count;
}

#define HEAD "StartDevice,StartPort,EndDevice,EndPort,LinkType\n"
#define ROW "l1,21,s1,1,Data\n"

TEST(a_damaged_line_is_named_and_the_others_are_read)
{
	static const struct {
		const char *text;
		size_t links;
		const char *rest; /* what is known of the damaged link: "DEVICE|PORT-DEVICE|PORT" */
		uint32_t line;
		const char *problem;
	} cases[] = {
		{ HEAD ROW "l1,22,s1", 1, "l1|22-|", 3, PLAN_TORN },
		{ HEAD ROW "l1,22,s1,1", 1, "l1|22-s1|", 3, PLAN_TORN },
		{ HEAD ROW "l1,22\n", 1, "l1|22-|", 3, "2 cells of the 5 that the header has" },
		{ HEAD "l1;22;s1;2;Data\n" ROW, 1, "l1|22-s1|2", 2,
		  "cells are separated by ';', those of the header by ','" },
		{ HEAD "l1;22;s1;2\n" ROW, 1, "|-|", 2, "cells are separated by ';', those of the header by ','" },
		{ HEAD ROW "l1,22,,,Data\n", 1, "l1|22-|", 3, "no device at the second end: 'l1' has no other end" },
		{ HEAD ROW "\"l1,22,s1,2,Data\n" "l1,23,s1,3,Data\n", 2, "\"l1|22-s1|2", 3, "a quote is not closed" },
		{ HEAD ROW "l1,22,s1,\"2\"x,Data\nl1,23,s1,3,Data\n", 2, "l1|22-s1|\"2\"x", 3,
		  "a quote is not closed" },
		{ HEAD ROW "l1,22,h1,eth0,Ethernet\nl1,23,h1,eth1,Ethernet\n", 1, NULL, 3,
		  "2 links of type 'Ethernet': not of this fabric" },
		{ "StartDevice,StartPort,EndDevice,EndPort,Speed\nl1,21,s1,1,fast\n", 1, NULL, 2,
		  "'fast' is no speed (1 link): speed not judged" },
		{ "StartDevice,StartPort,EndDevice,EndPort,Speed\nl1,21,s1,1,HDR\nS1,1,L1,21,EDR\n", 1, NULL, 3,
		  "speed or width differs from line 2, which takes precedence" },
		{ "T l1\n P1 -> T s1 P1\n P2 -> T\n P3 -> T s1 P3\n", 2, "l1|P2-|", 3,
		  "neither a system nor one of its ports" },
		{ "T l1\n P1 -> T s1 P1\n\n P2 -> T s1 P2\n\nT l2\n P9 -> T s1 P9\n", 2, "|P2-s1|P2", 4,
		  "a port without a line of its system above" },
		{ "T l1\n P1 -> T s1 P1\n P2 -> T s1 P1", 1, "l1|P2-|", 3, PLAN_TORN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = { 0 };

		load(&plan, cases[i].text);
		if (plan.problem_count != 1)
			fail_msg("%s%zu problems", cases[i].text, plan.problem_count);
		assert_string_equal(plan.problems[0].text, cases[i].problem);
		assert_int_equal(plan.problems[0].line, cases[i].line);
		assert_int_equal(count_links(&plan, false), cases[i].links);
		assert_int_equal(count_links(&plan, true), !!cases[i].rest);
		assert_int_equal(plan.incomplete, !strcmp(cases[i].problem, PLAN_TORN));
		for (size_t k = 0; k < plan.link_count; k++) {
			const struct plan_end *ends = plan.links[k].ends;
			char rest[TEXT_MAX];

			if (!plan.links[k].damaged)
				continue;
			snprintf(rest, sizeof(rest), "%s|%s-%s|%s", ends[0].device, ends[0].port, ends[1].device,
				 ends[1].port);
			assert_string_equal(rest, cases[i].rest);
		}
		plan_done(&plan);
	}
}

TEST(a_file_that_is_no_plan_is_an_error_and_the_plan_is_as_before)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *error;
	} cases[] = {
		{ "", 0, "f: the file is empty" }, { " \r\n\t\n", 5, "f: the file is empty" },
		{ "PK\x03\x04...", 7, "f: it is a workbook or an archive: save the sheet of links as CSV" },
		{ "a,b\0c,d", 7, "f: it is not text" },
		{ "hello, world\nno, plan\n", 22,
		  "f: it is no plan: none of its first lines names the columns of both ends, as "
		  "'StartDevice,StartPort,EndDevice,EndPort' does" },
		{ "A,B\n1,2\n", 8,
		  "f: it is no plan: none of its first lines names the columns of both ends, as "
		  "'StartDevice,StartPort,EndDevice,EndPort' does" },
		{ HEAD, sizeof(HEAD) - 1, "f: there is no link in it" },
		{ HEAD "l1,2\n", sizeof(HEAD "l1,2\n") - 1,
		  "f: there is no link in it: line 2: 2 cells of the 5 that the header has" },
	};
	struct plan plan = { 0 };

	load(&plan, HEAD ROW "l1,22,s1\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };

		assert_int_equal(plan_read(&plan, "f", cases[i].bytes, cases[i].len, &err), ERR_IO);
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(plan.link_count, 2);
		assert_int_equal(plan.problem_count, 1);
		assert_int_equal(plan.file_count, 1);
	}
	plan_done(&plan);
}

TEST(several_files_are_one_plan)
{
	struct plan plan = { 0 };

	load(&plan, HEAD ROW "l1,22,s1,2,Data\n");
	load(&plan, "from;from port;to;to port;speed;cable;from rack\nL1;22;S1;2;HDR;red;R7\nl2;1;s1;3;HDR;;\n");
	assert_int_equal(plan.link_count, 3);
	assert_int_equal(plan.file_count, 2);
	assert_int_equal(plan.problem_count, 0);
	/* The second file completes what the first does not have. */
	assert_int_equal(plan.links[1].speed, LINK_SPEED_HDR);
	assert_string_equal(plan.links[1].cable, "red");
	assert_string_equal(plan.links[1].ends[0].place, "R7");
	assert_int_equal(plan.links[1].file, 0);
	assert_int_equal(plan.links[2].file, 1);
	assert_int_equal(plan.links[2].line, 3);
	plan_done(&plan);
}

/* One line less than intact at most, for each damage of a line that does not contain the header. */
TEST(damage_of_a_line_costs_that_line)
{
	struct text text = { 0 };

	text_append(&text, HEAD);
	for (unsigned i = 1; i <= 30; i++)
		text_appendf(&text, "leaf-%u,Port %u,\"node, %u\",mlx5_0,Data\n", i % 4, i, i);
	for (unsigned run = 0; run < test_cases(2000); run++) {
		size_t line, at;
		enum damage damage = run % DAMAGE_COUNT;
		struct plan plan = { 0 };
		char *damaged, *now;

		seed = run;
		line = 2 + below(30);
		at = below((uint32_t)damage_bytes(text_chars(&text), line));
		damaged = damage_line(text_chars(&text), line, damage, at, &now);
		load(&plan, damaged);
		/* A quote that is not closed may end at the next quote, in the line below. */
		assert_in_range(count_links(&plan, false), 29, 30);
		free(damaged);
		free(now);
		plan_done(&plan);
	}
	text_done(&text);
}

/* No byte of a plan does harm. */
TEST(mutated_plans_are_read_or_refused)
{
	for (unsigned run = 0; run < test_cases(2000); run++) {
		struct fabric *fabric = run % 8 ? NULL : net_random_fabric(run);
		struct text text = { 0 };
		struct plan plan = { 0 };
		struct error err = { 0 };

		seed = run + 100000;
		memset(written, 0, sizeof(written));
		if (fabric)
			netfile_write(&text, fabric);
		else if (run % 8 == 1)
			text_append(&text, "T l1\n P1 -4x-50G-> T s1 P1\n P2 -> T s1 P2\n\nT l2 CFG: a=b\n"
				    " P1 -> T s1 P3\n");
		else
			put_list(&text);
		for (unsigned i = 0; text.len && i < 1 + below(20); i++) {
			size_t at = below((uint32_t)text.len);

			switch (below(4)) {
			case 0:
				text.chars[at] = (char)below(256);
				break;
			case 1:
				text.chars[at] = "\",;\n\r\t-> [](){}/.:#"[below(20)];
				break;
			case 2:
				text.len = at;
				break;
			default:
				memmove(text.chars + at, text.chars + at + 1, text.len - at);
				text.len--;
			}
		}
		if (plan_read(&plan, "mutated", text_chars(&text), text.len, &err) < 0)
			assert_int_equal(err.code, ERR_IO);
		for (size_t i = 0; i < plan.problem_count; i++)
			assert_true(*plan.problems[i].text);
		plan_done(&plan);
		text_done(&text);
		fabric_destroy(fabric);
	}
}

TEST(a_hundred_thousand_lines_are_read_at_once)
{
	struct text text = { 0 };
	struct plan plan = { 0 };
	struct timespec from, to;

	text_append(&text, ",rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,"
		    "EndDeviceLocation,U height,LinkType,Speed,,Cable Length\n");
	for (unsigned i = 0; i < 100000; i++)
		text_appendf(&text, ",Rack A #%u,U41,leaf-a%u,Port %u,A01-L1,node%u,node%u mlx5_%u,B01-S1,U25,Data,"
			     "200000,200G HDR cable,10\n", i / 1000, i / 32, i % 32 + 1, i / 8, i / 8, i % 8);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	load(&plan, text_chars(&text));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_int_equal(plan.link_count, 100000);
	print_message("# 100,000 lines: %.3f s\n", (double)(to.tv_sec - from.tv_sec) +
		      (double)(to.tv_nsec - from.tv_nsec) / 1e9);
	plan_done(&plan);
	text_done(&text);
}

/* --- published forms --- */

static void load_shared(struct plan *plan, const char *file)
{
	FILE *stream = unit_test_open_shared("plan", file);
	char text[4096];

	text[fread(text, 1, sizeof(text) - 1, stream)] = '\0';
	fclose(stream);
	load(plan, text);
}

TEST(published_forms_are_read)
{
	struct plan plan = { 0 };

	load_shared(&plan, "racks.p2p.csv");
	assert_int_equal(plan.link_count, 2);
	assert_string_equal(plan.links[1].ends[0].place, "Rack A #1 U41");
	assert_string_equal(plan.links[1].ends[1].place, "B01-S2 U24");
	assert_string_equal(plan.links[1].cable, "200G HDR cable, 10");
	assert_int_equal(plan.links[1].mbits_per_s, 200000);
	load_shared(&plan, "hosts.ndt.csv");
	load_shared(&plan, "switches.ndt.csv");
	assert_int_equal(plan.link_count, 8);
	assert_string_equal(plan.links[7].ends[1].port, "Blade 17_Port 2/20");
	assert_int_equal(plan.problem_count, 0);
	plan_done(&plan);
}
