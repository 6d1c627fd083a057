/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One notation on all faces: random expressions select the same ports and links in commands, in requests to /api/ and
 * in the filter of the screen, and fail with the same words.
 *
 * Left out: err, as the screen counts errors of another window than a command, tagged, and words, which are subjects
 * in commands and texts on the screen.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "cli/command.h"
#include "cli/metrics/metrics_api.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/select.h"
#include "storage/reader.h"
#include "tests/screen/canvas.h"
#include "tests/screen/stage.h"
#include "tui/model/links.h"

enum { EXPRESSION_SIZE = 256 };

static uint64_t seed;

static unsigned draw(unsigned limit)
{
	return (unsigned)((seed = map_mix(seed + 1)) % limit);
}

/* A value of a key: of something that exists, mostly. */
static void add_value(const struct fabric *fabric, const struct shape *shape, enum select_key key, char *to,
		      size_t size)
{
	static const char *const states[] = { "ok", "idle", "down", "si", "degraded", "silent", "un*", "d", "donw" };
	static const char *const classes[] = { "compute", "switch", "s", "m*", "storage", "COMPUTE", "xyz" };
	static const char *const roles[] = {
		"leaf-uplink", "leaf", "*-downlink", "compute", "across", "spine", "uplink",
	};
	static const char *const speeds[] = { "hdr", "HDR", "h", "EDR", "fast", "ndr" };
	static const char *const widths[] = { "4x", "4", "1x", "12X", "3x", "x" };
	static const char *const findings[] = {
		"yes", "no", "critical", "warn", "link-down", "node*", "n", "c", "maybe",
	};
	static const char *const lists[] = { "1", "1-4", "2,5-7", "[13]", "*", "0", "1x" };
	const struct node *node = &fabric->nodes[draw((unsigned)fabric->node_count)];
	const struct shape_host *host = &shape->hosts[draw((unsigned)shape->host_count)];
	const struct shape_rail *rail = &shape->rails[draw((unsigned)shape->rail_count)];
	unsigned how = draw(4);

	switch (key) {
	case SELECT_TIER:
		snprintf(to, size, "%u", draw(4) ? 1 + draw(2) : draw(9));
		break;
	case SELECT_RAIL:
		snprintf(to, size, how == 0 ? "%u" : how == 1 ? "mlx5_%u" : "*%u", draw(5));
		if (how == 3)
			snprintf(to, size, "%s", rail->name);
		break;
	case SELECT_HOST:
		snprintf(to, size, how == 0 ? "node[0001-0003]" : how == 1 ? "%.5s" : how == 2 ? "%.7s*" : "%s",
			 host->name);
		break;
	case SELECT_CLASS:
		snprintf(to, size, "%s", classes[draw(7)]);
		break;
	case SELECT_ROLE:
		snprintf(to, size, "%s", roles[draw(7)]);
		break;
	case SELECT_STATE:
		snprintf(to, size, "%s", states[draw(9)]);
		break;
	case SELECT_SPEED:
		snprintf(to, size, "%s", speeds[draw(6)]);
		break;
	case SELECT_WIDTH:
		snprintf(to, size, "%s", widths[draw(6)]);
		break;
	case SELECT_FINDING:
		snprintf(to, size, "%s", findings[draw(9)]);
		break;
	case SELECT_NAME:
		snprintf(to, size, how == 0 ? "\"%.6s\"" : how == 1 ? "\"%.4s*\"" : "\"%s\"", node->name);
		break;
	case SELECT_GUID:
		snprintf(to, size, "0x%llx", (unsigned long long)node->guid);
		break;
	case SELECT_LID:
		snprintf(to, size, "%u", 1 + draw(60));
		break;
	default:
		snprintf(to, size, "%s", lists[draw(7)]);
		break;
	}
	if (draw(5) == 0 && key != SELECT_PORT)
		snprintf(to + strlen(to), size - strlen(to), "/%s", lists[draw(6)]);
}

static void make_expression(const struct fabric *fabric, const struct shape *shape, char ret[EXPRESSION_SIZE])
{
	unsigned terms = 1 + draw(4);
	size_t len = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < terms; i++) {
		enum select_key key;
		char value[100];

		do
			key = draw(SELECT_KEY_COUNT);
		while (key == SELECT_ERRORS || key == SELECT_TAGGED);
		add_value(fabric, shape, key, value, sizeof(value));
		if (len + strlen(value) + 16 >= EXPRESSION_SIZE)
			break;
		len += (size_t)snprintf(ret + len, EXPRESSION_SIZE - len, "%s%s%s:%s", !i ? "" : draw(3) ? " " : "|",
					draw(4) ? "" : "!", select_keys[key].key, value);
	}
}

/* Run a command in this process. @ret: its rows; NULL: an error. */
static int run_rows(int argc, char **argv, json_t **ret, struct error *err)
{
	char *chars = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&chars, &size);
	int code = command_call(&(struct call_context){ .out = out }, argc, argv, err);

	fclose(out);
	*ret = code == 0 ? json_loads(chars, 0, NULL) : NULL;
	free(chars);
	return code;
}

/* The set of ports of these rows, by index; of links, both ends. */
static void mark_rows(const struct fabric *fabric, const json_t *rows, bool links, bool *ret)
{
	memset(ret, 0, fabric->port_count);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		static const char *const keys[2][2] = { { "node_guid", "port" }, { "peer_guid", "peer_port" } };
		const json_t *row = json_array_get(rows, i);

		for (unsigned end = 0; end < 1u + links; end++) {
			const char *guid = json_string_value(json_object_get(row, keys[end][0]));
			uint32_t port = fabric_find_port(fabric, strtoull(guid, NULL, 16), (uint8_t)json_integer_value(
							 json_object_get(row, keys[end][1])));

			assert_true(port != FABRIC_NONE);
			ret[port] = true;
		}
	}
}

static int run_command(const char *command, const char *typed, json_t **ret, struct error *err)
{
	char *argv[] = { (char *)(uintptr_t)command, (char[]){ "--db" }, path, (char[]){ "--format" },
			 (char[]){ "json" }, (char[]){ "--" }, (char *)(uintptr_t)typed, NULL };

	return run_rows(7, argv, ret, err);
}

static int run_request(const char *request, const char *typed, json_t **ret, struct error *err)
{
	const struct metrics_api_pair pair = { "subject", typed };
	const struct metrics_api_config config = { .db = path };
	struct metrics_api_call call;
	int code;

	assert_int_equal(metrics_api_parse(request, &pair, 1, &config, &call, NULL), 0);
	code = run_rows((int)call.argc, call.argv, ret, err);
	metrics_api_done(&call);
	return code;
}

/* The ports that the screen's filter selects one by one, and those of the links that it lists. */
static void filter_screen(struct links *links, struct filter *filter, const char *typed, bool *ret_ports,
			  bool *ret_links)
{
	const struct fabric *fabric = links->table->snapshot->fabric;

	filter_set(filter, typed);
	assert_int_equal(links_begin_filter(links, filter, NULL), 0);
	memset(ret_ports, 0, fabric->port_count);
	memset(ret_links, 0, fabric->port_count);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		ret_ports[i] = port_is_pollable(fabric, &fabric->ports[i]) &&
			       filter_matches(filter, "", links->marks.ports[i]);
	for (size_t i = 0; i < links->count; i++) {
		const struct link_row *link = &links->all[i];

		/* The command lists cables only. */
		if (link->ends[1] != FABRIC_NONE && links_passes(links, link, filter, false))
			ret_links[link->ends[0]] = ret_links[link->ends[1]] = true;
	}
}

static void compare(const struct fabric *fabric, const char *face, const char *typed, const json_t *rows, bool links,
		    const bool *expected)
{
	bool *got = calloc(fabric->port_count + 1, sizeof(*got));

	assert_non_null(got);
	mark_rows(fabric, rows, links, got);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (got[i] != expected[i])
			fail_msg("'%s': %s/%u is%s selected by %s, and is%s by the screen", typed,
				 fabric->nodes[fabric->ports[i].node].name, fabric->ports[i].num, got[i] ? "" : " not",
				 face, expected[i] ? "" : " not");
	free(got);
}

/* Return: whether it is valid and selects some ports, not all. */
static bool check_expression(struct links *links, const char *typed)
{
	static const struct { const char *command, *request; bool links; } faces[] = {
		{ "ports", "/api/ports", false }, { "links", "/api/links", true },
	};
	const struct fabric *fabric = links->table->snapshot->fabric;
	bool *ports = calloc(fabric->port_count + 1, sizeof(*ports));
	bool *ends = calloc(fabric->port_count + 1, sizeof(*ends));
	struct filter filter = { 0 };
	size_t selected = 0;

	assert_true(ports && ends);
	filter_screen(links, &filter, typed, ports, ends);
	for (size_t i = 0; i < sizeof(faces) / sizeof(*faces); i++) {
		struct error err = { 0 }, request_err = { 0 };
		json_t *rows, *request_rows;
		int code = run_command(faces[i].command, typed, &rows, &err);

		assert_int_equal(run_request(faces[i].request, typed, &request_rows, &request_err), code);
		assert_string_equal(request_err.text, err.text);
		if (strcmp(err.text, filter.trouble))
			fail_msg("'%s': the command reports \"%s\", the screen \"%s\"", typed, err.text,
				 filter.trouble);
		if (code == 0) {
			compare(fabric, faces[i].command, typed, rows, faces[i].links, faces[i].links ? ends : ports);
			compare(fabric, faces[i].request, typed, request_rows, faces[i].links,
				faces[i].links ? ends : ports);
			selected = faces[i].links ? selected : json_array_size(rows);
		}
		json_decref(rows);
		json_decref(request_rows);
	}
	filter_done(&filter);
	free(ports);
	free(ends);
	return selected > 0 && selected < fabric->port_count / 2;
}

static void check_scenario(const char *name)
{
	/* Of a link, one end may match and the other exclude it; a list of ports may follow a value of any key. */
	static const char *const special[] = {
		"finding:n", "finding:no", "!finding:no", "!state:down/1-4", "state:down/1", "tier:2/99", "rail:1/2",
		"host:node000*/0 !state:donw|name:\"node*\"", "class:switch port:1", "tier:1 tier:2", "!tier:1",
	};
	struct links links = { 0 };
	unsigned useful = 0, rounds = test_cases(120);

	stage_begin(name, 0, 24, 120);
	assert_int_equal(links_set(&links, stage.app.table, stage.app.context, NULL), 0);
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		check_expression(&links, special[i]);
	for (unsigned i = 0; i < rounds; i++) {
		char typed[EXPRESSION_SIZE];

		make_expression(links.table->snapshot->fabric, links.context->shape, typed);
		useful += check_expression(&links, typed);
	}
	print_message("# %s: %u of %u expressions select some ports\n", name, useful, rounds);
	assert_true(useful > rounds / 10);
	links_done(&links);
}

TEST_ON_STAGE(an_expression_selects_the_same_on_all_faces)
{
	seed = 5;
	check_scenario("cable-pulled-and-more");
}

TEST_ON_STAGE(an_expression_selects_the_same_with_locked_nodes)
{
	seed = 6;
	check_scenario("locked-switch");
}

/* The manual has the sentences of the table, and so has the help of the screen. */
TEST_ON_STAGE(each_key_is_described_where_it_can_be_typed)
{
	const char *dir = getenv("IBWIRE_SRCDIR");
	struct text common = { 0 }, top = { 0 };
	char file[1024];

	snprintf(file, sizeof(file), "%s/man/ibwire.1", dir ? dir : ".");
	assert_int_equal(text_read_file(file, "", TEXT_SMALL_MOST, &common, NULL), 0);
	snprintf(file, sizeof(file), "%s/man/ibwire-top.1", dir ? dir : ".");
	assert_int_equal(text_read_file(file, "", TEXT_SMALL_MOST, &top, NULL), 0);
	stage_begin("nothing", 0, CANVAS_ROWS, 120);
	stage_keys("2?");
	for (unsigned i = 0; i < SELECT_KEY_COUNT; i++) {
		const struct select_key_info *key = &select_keys[i];
		char entry[160], line[160];
		size_t len;

		snprintf(entry, sizeof(entry), ".It Li %s\n", key->example);
		if (!strstr(text_chars(key->screen_only ? &top : &common), entry))
			fail_msg("the manual has no '%s'", key->example);
		len = (size_t)snprintf(line, sizeof(line), "%s%s\n", entry, key->help);
		line[strlen(entry)] = (char)toupper((unsigned char)key->help[0]);
		line[len - 1] = '\0';
		if (!strstr(text_chars(key->screen_only ? &top : &common), line))
			fail_msg("the manual has not '%s'", line);
		stage_expect(key->example);
		stage_expect(key->help);
	}
	text_done(&common);
	text_done(&top);
}
