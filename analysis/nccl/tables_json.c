/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables_json.c - the JSON file of nccl-tests (-J FILE)
 *
 * One object on one line, of any length: keys and values are taken one after the other, without a tree. Keys are of
 * nccl-tests 2.17 to 2.19.6 (src/util.cu): "config" with "devices", "results" with a row in each element.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/input.h"

/* The file begins with it: FORMAT follows as a number. */
static const char BEGIN[] = "{\"version\":";

bool nccl_json_begins(const char *bytes, size_t len)
{
	return len > sizeof(BEGIN) - 1 && !memcmp(bytes, BEGIN, sizeof(BEGIN) - 1) &&
	       bytes[sizeof(BEGIN) - 1] >= '0' && bytes[sizeof(BEGIN) - 1] <= '9';
}

static bool is_key(const struct nccl_json *json, const char *key)
{
	return !strcmp(json->key, key);
}

static double number_of(const struct nccl_json *json)
{
	double number = strtod(json->word, NULL);

	return number >= 0 && number < 1e18 ? number : 0;
}

/* A value of json->key is complete in json->word. */
static void value_take(struct nccl_log *log)
{
	struct nccl_json *json = &log->input->json;
	struct nccl_row *group = &json->groups[json->group];

	if (is_key(json, "args") || is_key(json, "env")) {
		/* Elements of lists: the first argument is the program. */
		if (is_key(json, "args") && !json->program[0])
			memcpy(json->program, json->word, sizeof(json->program));
	} else if (is_key(json, "iterations")) {
		json->iterations = (uint32_t)number_of(json);
	} else if (is_key(json, "rank")) {
		json->rank = (uint32_t)number_of(json);
	} else if (is_key(json, "group")) {
		json->number = (uint32_t)number_of(json);
	} else if (is_key(json, "hostname")) {
		if (!log->input->test)
			nccl_test_begin(log, json->program, json->iterations);
		nccl_rank_add(log, json->rank, json->number, json->word, strlen(json->word));
	} else if (is_key(json, "size")) {
		json->size = strtoull(json->word, NULL, 10);
		json->group_count = json->group = 0;
		json->wrong = 0;
	} else if (is_key(json, "time") || is_key(json, "cpu_time")) {
		group->time_us = number_of(json);
	} else if (is_key(json, "alg_bw")) {
		group->algbw_gb_per_s = number_of(json);
	} else if (is_key(json, "bus_bw")) {
		group->busbw_gb_per_s = number_of(json);
	} else if (is_key(json, "nwrong")) {
		json->wrong += (uint64_t)number_of(json);
	} else if (is_key(json, "experiment_name")) {
		if (!log->input->test)
			nccl_test_begin(log, json->program, json->iterations);
		nccl_row_add(log, json->groups, json->group_count, json->wrong);
	} else if (is_key(json, "okay") && log->input->test) {
		/* Of values, which are counted, or of the mean busbw. */
		log->input->test->below_minimum |= !strcmp(json->word, "false") && !log->input->test->wrong;
	} else if (is_key(json, "end_time") && log->input->test) {
		log->input->test->concluded = true;
	}
}

/* The object of json->key begins: a column group of a row. */
static void object_begin(struct nccl_json *json)
{
	if ((!is_key(json, "out_of_place") && !is_key(json, "in_place")) || json->group_count == 2)
		return;
	json->group = json->group_count++;
	json->groups[json->group] = (struct nccl_row){ .size_bytes = json->size };
}

static void word_end(struct nccl_log *log, bool is_string)
{
	struct nccl_json *json = &log->input->json;

	json->word[json->len] = '\0';
	if (json->len || is_string) {
		if (json->wants_value || json->in_list)
			value_take(log);
		else if (is_string)
			memcpy(json->key, json->word, sizeof(json->key));
	}
	json->wants_value = false;
	json->len = 0;
}

void nccl_json_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	struct nccl_json *json = &log->input->json;

	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];

		if (json->in_string) {
			if (json->escaped || (c != '\\' && c != '"')) {
				if (json->len < sizeof(json->word) - 1)
					json->word[json->len++] = c;
				json->escaped = false;
			} else if (c == '\\') {
				json->escaped = true;
			} else {
				json->in_string = false;
				word_end(log, true);
			}
			continue;
		}
		switch (c) {
		case '"':
			json->in_string = true;
			json->len = 0;
			break;
		case ':':
			json->wants_value = true;
			break;
		case '{':
			object_begin(json);
			json->wants_value = json->in_list = false;
			break;
		case '[':
			json->wants_value = false;
			json->in_list = true;
			break;
		case ']':
		case '}':
		case ',':
			if (json->len)
				word_end(log, false);
			json->in_list &= c == ',';
			break;
		case '\n':
			log->lines++;
			break;
		default:
			if (!strchr(" \t\r", c) && json->len < sizeof(json->word) - 1)
				json->word[json->len++] = c;
		}
	}
}
