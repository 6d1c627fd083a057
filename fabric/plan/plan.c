/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files of a plan: their form, and links that several lines name. */
#include "fabric/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/plan/build.h"

enum { CHUNK_SIZE = 1 << 18 };

struct plan_chunk {
	struct plan_chunk *next;
	size_t size;
	char chars[];
};

/* Private data of a plan. */
struct plan_memory {
	struct plan_strings strings;
	struct map links; /* hash of both ends, to index into links */
};

char *plan_string(struct plan_strings *strings, const char *chars, size_t len)
{
	struct plan_chunk *chunk = strings->chunks;
	char *ret;

	if (!chunk || strings->left <= len) {
		size_t size = len >= CHUNK_SIZE / 4 ? len + 1 : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		*chunk = (struct plan_chunk){ .next = strings->chunks, .size = size };
		strings->chunks = chunk;
		strings->left = size;
	}
	ret = chunk->chars + chunk->size - strings->left;
	strings->left -= len + 1;
	memcpy(ret, chars, len);
	ret[len] = '\0';
	return ret;
}

void plan_strings_join(struct plan_strings *strings, struct plan_strings *from)
{
	struct plan_chunk **end = &from->chunks;

	while (*end)
		end = &(*end)->next;
	*end = strings->chunks;
	if (from->chunks)
		*strings = *from;
	*from = (struct plan_strings){ 0 };
}

void plan_strings_done(struct plan_strings *strings)
{
	while (strings->chunks) {
		struct plan_chunk *next = strings->chunks->next;

		free(strings->chunks);
		strings->chunks = next;
	}
	strings->left = 0;
}

const char *plan_problem_line(struct plan_strings *strings, const char *fmt, va_list args)
{
	struct text clean = { 0 };
	const char *ret = NULL;
	char line[600];

	vsnprintf(line, sizeof(line), fmt, args);
	/* Devices and ports were sanitised when they were read, other cells were not. */
	text_append_escaped(&clean, line, strlen(line));
	if (!text_failed(&clean))
		ret = plan_string(strings, text_chars(&clean), clean.len);
	text_done(&clean);
	return ret;
}

void plan_add_problem(struct plan_reader *reader, size_t line, const char *fmt, ...)
{
	struct plan_problem *problem = array_add(&reader->plan.problems, &reader->plan.problem_count,
						 &reader->plan.problem_capacity, sizeof(*problem));
	va_list args;

	if (!problem) {
		reader->failed = true;
		return;
	}
	va_start(args, fmt);
	problem->line = (uint32_t)line;
	problem->text = plan_problem_line(&reader->strings, fmt, args);
	va_end(args);
	if (!problem->text) {
		reader->plan.problem_count--;
		reader->failed = true;
	}
}

static const char *copy_string(struct plan_reader *reader, const char *chars)
{
	size_t len = strlen(chars);
	char clean[1024];
	char *ret;

	if (!len)
		return "";
	if (!text_is_plain(chars, len)) {
		text_sanitise(chars, len, clean, sizeof(clean));
		chars = clean;
		len = strlen(clean);
	}
	ret = plan_string(&reader->strings, chars, len);
	if (!ret)
		reader->failed = true;
	return ret ? ret : "";
}

void plan_add_link(struct plan_reader *reader, const struct plan_link *link)
{
	struct plan_link *ret = array_add(&reader->plan.links, &reader->plan.link_count, &reader->plan.link_capacity,
					  sizeof(*ret));

	if (!ret) {
		reader->failed = true;
		return;
	}
	*ret = *link;
	for (int i = 0; i < 2; i++) {
		ret->ends[i].device = copy_string(reader, link->ends[i].device);
		ret->ends[i].port = copy_string(reader, link->ends[i].port);
		ret->ends[i].place = copy_string(reader, link->ends[i].place);
	}
	ret->cable = copy_string(reader, link->cable);
}

const char *plan_form_name(enum plan_form form)
{
	static const char *const names[] = {
		[PLAN_NDT] = "NDT file", [PLAN_LIST] = "list of links", [PLAN_TOPO] = "ibdiagnet topology file",
		[PLAN_DUMP] = "ibnetdiscover dump",
	};

	return form < PLAN_FORM_COUNT ? names[form] : "unknown";
}

/* The next character of a name that distinguishes it: without regard to case and blanks. */
static int next_letter(const char **at)
{
	while (**at == ' ')
		++*at;
	return **at ? tolower((unsigned char)*(*at)++) : 0;
}

static bool same_name(const char *a, const char *b)
{
	int letter;

	if (!strcmp(a, b))
		return true;
	while ((letter = next_letter(&a)) == next_letter(&b))
		if (!letter)
			return true;
	return false;
}

static bool same_end(const struct plan_end *a, const struct plan_end *b)
{
	return a->guid == b->guid && (a->guid || same_name(a->device, b->device)) && same_name(a->port, b->port);
}

static bool same_link(const struct plan_link *a, const struct plan_link *b)
{
	return (same_end(&a->ends[0], &b->ends[0]) && same_end(&a->ends[1], &b->ends[1])) ||
	       (same_end(&a->ends[0], &b->ends[1]) && same_end(&a->ends[1], &b->ends[0]));
}

static uint64_t hash_name(uint64_t hash, const char *name)
{
	int letter;

	do {
		letter = next_letter(&name);
		hash = (hash ^ (uint64_t)letter) * UINT64_C(0x100000001b3);
	} while (letter);
	return hash;
}

static uint64_t hash_end(const struct plan_end *end)
{
	uint64_t hash = MAP_HASH_START;

	hash = end->guid ? map_mix(end->guid) : hash_name(hash, end->device);
	return map_mix(hash_name(hash, end->port));
}

/* Find the link of the plan with the ends of @link. If there is none, @next is stored as the number of @link. */
static int find_link(struct plan_memory *memory, const struct plan *plan, const struct plan_link *link, uint32_t next,
		     uint32_t *ret)
{
	uint64_t key = hash_end(&link->ends[0]) + hash_end(&link->ends[1]);

	/* After an error there are entries of links that were not added. */
	for (; map_get(&memory->links, key, ret); key++)
		if (*ret < plan->link_count && !plan->links[*ret].damaged && same_link(&plan->links[*ret], link))
			return 0;
	*ret = next;
	return map_put(&memory->links, key, next);
}

/* Do two lines give different rates for one link? */
static bool other_rate(const struct plan_link *a, const struct plan_link *b)
{
	return (a->mbits_per_s && b->mbits_per_s && a->mbits_per_s != b->mbits_per_s) ||
	       (a->width && b->width && a->width != b->width) || (a->speed && b->speed && a->speed != b->speed);
}

/* Copy the values that the first line of a link does not give from another line. */
static void complete(struct plan_link *link, const struct plan_link *more)
{
	bool turned = !same_end(&link->ends[0], &more->ends[0]);

	for (int i = 0; i < 2; i++)
		if (!*link->ends[i].place)
			link->ends[i].place = more->ends[turned ? 1 - i : i].place;
	if (!*link->cable)
		link->cable = more->cable;
	if (!link->mbits_per_s)
		link->mbits_per_s = more->mbits_per_s;
	if (!link->width)
		link->width = more->width;
	if (!link->speed)
		link->speed = more->speed;
}

/* Room for @more elements. */
static int reserve(void *array, size_t count, size_t *capacity, size_t more, size_t size)
{
	void *list;

	memcpy(&list, array, sizeof(list));
	if (count + more <= *capacity)
		return 0;
	list = reallocarray(list, count + more, size);
	if (!list)
		return ERR_NOMEM;
	memcpy(array, &list, sizeof(list));
	*capacity = count + more;
	return 0;
}

/* Append the links of a file that other lines do not name, and all problems. */
static int merge(struct plan *plan, struct plan_memory *memory, struct plan_reader *reader)
{
	const struct plan *fresh = &reader->plan;
	uint32_t file = (uint32_t)plan->file_count;
	size_t old = plan->link_count;
	int code = 0;

	for (size_t i = 0; i < fresh->link_count && code == 0; i++) {
		struct plan_link *link = &fresh->links[i];
		uint32_t at;

		link->file = file;
		if (link->damaged) {
			plan->links[plan->link_count++] = *link;
			continue;
		}
		code = find_link(memory, plan, link, (uint32_t)plan->link_count, &at);
		if (code < 0)
			break;
		if (at == plan->link_count) {
			plan->links[plan->link_count++] = *link;
			continue;
		}
		if (other_rate(&plan->links[at], link))
			plan_add_problem(reader, link->line,
					 "speed or width differs from line %u%s%s, which takes precedence",
					 plan->links[at].line, plan->links[at].file == file ? "" : " of ",
					 plan->links[at].file == file ? "" : plan->files[plan->links[at].file].name);
		complete(&plan->links[at], link);
	}
	if (code == 0 && !reader->failed)
		code = reserve(&plan->problems, plan->problem_count, &plan->problem_capacity, fresh->problem_count,
			       sizeof(*plan->problems));
	if (code < 0 || reader->failed) {
		plan->link_count = old;
		return ERR_NOMEM;
	}
	for (size_t i = 0; i < fresh->problem_count; i++) {
		fresh->problems[i].file = file;
		plan->problems[plan->problem_count++] = fresh->problems[i];
	}
	plan->incomplete |= fresh->incomplete;
	return 0;
}

static int append(struct plan *plan, struct plan_reader *reader, const char *name, enum plan_form form)
{
	struct plan_memory *memory = plan->memory;
	struct plan_file *files;
	char *own_name;

	if (!memory)
		plan->memory = memory = calloc(1, sizeof(*memory));
	own_name = plan_string(&reader->strings, name, strlen(name));
	files = reallocarray(plan->files, plan->file_count + 1, sizeof(*files));
	if (files)
		plan->files = files;
	if (!memory || !own_name || !files ||
	    reserve(&plan->links, plan->link_count, &plan->link_capacity, reader->plan.link_count,
		    sizeof(*plan->links)) < 0)
		return ERR_NOMEM;
	/* Before the merge: links of earlier files may get strings of this one. */
	plan_strings_join(&memory->strings, &reader->strings);
	if (merge(plan, memory, reader) < 0)
		return ERR_NOMEM;
	plan_strings_join(&memory->strings, &reader->strings);
	files[plan->file_count++] = (struct plan_file){ own_name, form };
	return 0;
}

/* Files that are no text, by their first bytes. */
static const char *find_binary(const char *bytes, size_t len)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *what;
	} known[] = {
		{ "PK\x03\x04", 4, "it is a workbook or an archive: save the sheet of links as CSV" },
		{ "\xd0\xcf\x11\xe0", 4, "it is a workbook: save the sheet of links as CSV" },
		{ "\x1f\x8b", 2, "it is compressed: unpack it first" },
		{ "BZh", 3, "it is compressed: unpack it first" },
		{ "\xfd" "7zXZ", 5, "it is compressed: unpack it first" },
		{ "%PDF", 4, "it is a PDF file: export the table as CSV" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len >= known[i].len && !memcmp(bytes, known[i].bytes, known[i].len))
			return known[i].what;
	return NULL;
}

static int read_form(struct plan_reader *reader, enum plan_form *ret_form, struct error *err)
{
	const char *binary = find_binary(reader->chars, reader->len);

	if (!binary && memchr(reader->chars, '\0', reader->len))
		binary = "it is not text";
	if (binary)
		return err_set(err, ERR_IO, "%s", binary);
	if (!reader->chars[strspn(reader->chars, " \t\r\n")])
		return err_set(err, ERR_IO, "the file is empty");
	*ret_form = PLAN_DUMP;
	if (plan_is_dump(reader->chars))
		return plan_read_dump(reader, err);
	*ret_form = PLAN_TOPO;
	if (plan_is_topo(reader->chars))
		return plan_read_topo(reader, err);
	return plan_read_list(reader, ret_form, err);
}

static bool has_link(const struct plan *plan)
{
	for (size_t i = 0; i < plan->link_count; i++)
		if (!plan->links[i].damaged)
			return true;
	return false;
}

/* A file without a link: the first problem explains it. */
static int no_link(const struct plan_reader *reader, struct error *err)
{
	const struct plan_problem *first = reader->plan.problems;

	if (!reader->plan.problem_count)
		return err_set(err, ERR_IO, "there is no link in it");
	if (!first->line)
		return err_set(err, ERR_IO, "there is no link in it: %s", first->text);
	return err_set(err, ERR_IO, "there is no link in it: line %u: %s", first->line, first->text);
}

int plan_read(struct plan *plan, const char *name, const char *chars, size_t len, struct error *err)
{
	struct plan_reader reader = { 0 };
	struct error why = { 0 };
	struct text text = { 0 };
	enum plan_form form = PLAN_LIST;
	int code;

	text_append(&text, "");
	text_narrow(&text, chars, len);
	reader.chars = text_chars(&text);
	reader.len = text.len;
	code = text_failed(&text) ? ERR_NOMEM : read_form(&reader, &form, &why);
	if (code == 0 && reader.failed)
		code = ERR_NOMEM;
	if (code == 0 && !has_link(&reader.plan))
		code = no_link(&reader, &why);
	if (code == 0)
		code = append(plan, &reader, name, form);
	if (code == ERR_NOMEM)
		err_nomem(err);
	else if (code < 0)
		err_set(err, code, "%s: %s", name, why.text);
	free(reader.plan.links);
	free(reader.plan.problems);
	plan_strings_done(&reader.strings);
	text_done(&text);
	return code;
}

void plan_done(struct plan *plan)
{
	struct plan_memory *memory = plan->memory;

	if (memory) {
		plan_strings_done(&memory->strings);
		map_done(&memory->links);
	}
	free(memory);
	free(plan->links);
	free(plan->files);
	free(plan->problems);
	*plan = (struct plan){ 0 };
}
