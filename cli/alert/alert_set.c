/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/alert/alert_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/when.h"
#include "export/format.h"
#include "facts/finding_columns.h"
#include "storage/findings.h"

/* Label of the number of a finding. */
#define FINDING_LABEL "finding"

static void alert_done(struct alert *alert)
{
	free(alert->labels);
	free(alert->annotations);
}

void alert_set_done(struct alert_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		alert_done(&set->list[i]);
	free(set->list);
	*set = (struct alert_set){ .labels = set->labels, .label_count = set->label_count };
}

/* --- JSON --- */

static int label_order(const void *a, const void *b)
{
	const struct option_label *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* An object of these texts, sorted by name; those without a value are left out. Return: NULL: no memory. */
static char *make_object(struct option_label *labels, size_t count)
{
	struct text text = { 0 };

	qsort(labels, count, sizeof(*labels), label_order);
	text_append(&text, "{");
	for (size_t i = 0; i < count; i++) {
		if (!labels[i].value || !*labels[i].value)
			continue;
		text_append(&text, text.len > 1 ? "," : "");
		scalar_append_text(&text, labels[i].name, strlen(labels[i].name));
		text_append(&text, ":");
		scalar_append_text(&text, labels[i].value, strlen(labels[i].value));
	}
	text_append(&text, "}");
	if (!text_failed(&text))
		return text.chars;
	text_done(&text);
	return NULL;
}

/* Append a character of an escape sequence, or U+FFFD. Return: the byte after it; NULL: no such sequence. */
static const char *read_escape(const char *at, struct text *ret)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name = *at ? strchr(names, *at) : NULL;
	unsigned long code, low;
	char digits[5] = "";

	if (name) {
		text_append_bytes(ret, &values[name - names], 1);
		return at + 1;
	}
	if (*at != 'u' || strspn(at + 1, "0123456789abcdefABCDEF") < 4)
		return NULL;
	memcpy(digits, at + 1, 4);
	code = strtoul(digits, NULL, 16);
	at += 5;
	if (code >= 0xd800 && code < 0xdc00 && at[0] == '\\' && at[1] == 'u' &&
	    strspn(at + 2, "0123456789abcdefABCDEF") >= 4) {
		memcpy(digits, at + 2, 4);
		low = strtoul(digits, NULL, 16);
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	}
	if (code < 0x80)
		text_append_bytes(ret, (char[]){ (char)code }, 1);
	else if (code < 0x800)
		text_append_bytes(ret, (char[]){ (char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f)) }, 2);
	else if (code < 0x10000)
		text_append_bytes(ret, (char[]){ (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
						 (char)(0x80 | (code & 0x3f)) }, 3);
	else
		text_append_bytes(ret, (char[]){ (char)(0xf0 | (code >> 18 & 7)), (char)(0x80 | (code >> 12 & 0x3f)),
						 (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f)) }, 4);
	return at;
}

/* Append the text of a string, and a NUL. Return: the byte after it; NULL: it is not a string. */
static const char *read_string(const char *at, struct text *ret)
{
	if (*at++ != '"')
		return NULL;
	while (at && *at && *at != '"') {
		if (*at == '\\')
			at = read_escape(at + 1, ret);
		else
			text_append_bytes(ret, at++, 1);
	}
	text_append_bytes(ret, "", 1);
	return at && *at ? at + 1 : NULL;
}

/*
 * An object of strings.
 * @ret:  names and values, borrowed from @chars. Return: the byte after it; NULL: it is something else.
 */
static const char *read_object(const char *at, struct text *chars, struct option_label *ret, size_t most,
			       size_t *ret_count)
{
	size_t offsets[2 * ALERT_LABELS_MAX], count = 0;

	text_clear(chars);
	if (*at++ != '{')
		return NULL;
	while (at && *at != '}') {
		for (int i = 0; at && i < 2; i++) {
			if (count == 2 * most)
				return NULL;
			offsets[count++] = chars->len;
			at = read_string(at, chars);
			if (at && i == 0)
				at = *at == ':' ? at + 1 : NULL;
		}
		if (at && *at == ',')
			at++;
		else if (at && *at != '}')
			at = NULL;
	}
	for (size_t i = 0; i < count / 2; i++)
		ret[i] = (struct option_label){ text_chars(chars) + offsets[2 * i],
					       text_chars(chars) + offsets[2 * i + 1] };
	*ret_count = count / 2;
	return at ? at + 1 : NULL;
}

/* --- alerts --- */

/* The alert of these labels and annotations, which it then owns. Return: NULL: no memory. */
static struct alert *find_or_add(struct alert_set *set, char *labels, char *annotations)
{
	struct alert *alert = NULL;

	for (size_t i = 0; labels && annotations && !alert && i < set->count; i++)
		if (!strcmp(set->list[i].labels, labels))
			alert = &set->list[i];
	if (!alert && labels && annotations)
		alert = array_add(&set->list, &set->count, &set->capacity, sizeof(*alert));
	if (!alert) {
		free(labels);
		free(annotations);
		return NULL;
	}
	alert_done(alert);
	alert->labels = labels;
	alert->annotations = annotations;
	return alert;
}

/* Labels with those of --label. Return: their number. */
static size_t add_labels(const struct alert_set *set, struct option_label *labels, size_t count)
{
	for (size_t i = 0; i < set->label_count && count < ALERT_LABELS_MAX; i++)
		labels[count++] = set->labels[i];
	return count;
}

static struct alert *add_finding(struct alert_set *set, const struct finding_row *row)
{
	const struct finding *finding = &row->finding;
	struct text hosts = { 0 };
	char id[24];
	struct option_label labels[ALERT_LABELS_MAX] = {
		{ "alertname", finding_kind_name(finding->kind) }, { FINDING_LABEL, id },
		{ "severity", finding_severity_name(finding->severity) }, { "subject", finding->subject },
	};
	struct option_label notes[] = {
		{ "summary", finding->text }, { "description", finding->advice }, { "cause", finding->cause },
		{ "hosts", NULL },
	};
	struct alert *alert;

	snprintf(id, sizeof(id), "%" PRId64, finding->id);
	finding_append_hosts(finding, &hosts);
	notes[3].value = text_chars(&hosts);
	alert = text_failed(&hosts) ? NULL :
		find_or_add(set, make_object(labels, add_labels(set, labels, 4)), make_object(notes, 4));
	text_done(&hosts);
	if (alert) {
		alert->finding = finding->id;
		alert->starts_us = row->opened_us;
	}
	return alert;
}

static void set_open(struct alert_set *set, struct alert *alert)
{
	set->is_changed |= !alert->is_known || alert->ends_us;
	alert->ends_us = 0;
	alert->is_current = true;
}

void alert_set_begin(struct alert_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		set->list[i].is_current = false;
}

static bool is_open(const struct alert_set *set, int64_t finding)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].finding == finding && !set->list[i].ends_us)
			return true;
	return false;
}

bool alert_set_add(struct alert_set *set, const struct finding_row *row, bool may_begin)
{
	struct alert *alert;

	if (!may_begin && !is_open(set, row->finding.id))
		return true;
	alert = add_finding(set, row);
	if (alert)
		set_open(set, alert);
	return alert;
}

bool alert_set_add_stale(struct alert_set *set, int64_t since_us, const char *summary)
{
	struct option_label labels[ALERT_LABELS_MAX] = {
		{ "alertname", "sweeps-stale" }, { FINDING_LABEL, "0" }, { "severity", "critical" },
		{ "subject", "collector" },
	};
	struct option_label notes[] = {
		{ "summary", summary },
		{ "description", "ibwire status shows the cause" },
	};
	struct alert *alert = find_or_add(set, make_object(labels, add_labels(set, labels, 4)), make_object(notes, 2));

	if (alert) {
		alert->starts_us = since_us;
		set_open(set, alert);
	}
	return alert;
}

bool alert_set_has_stale(const struct alert_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (!set->list[i].finding && !set->list[i].ends_us)
			return true;
	return false;
}

void alert_set_end(struct alert_set *set, int64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct alert *alert = &set->list[i];

		if (!alert->is_current && !alert->is_known) {
			alert_done(alert);
			continue;
		}
		if (!alert->is_current && !alert->ends_us) {
			alert->ends_us = now_us;
			set->is_changed = true;
		}
		set->list[kept++] = *alert;
	}
	set->count = kept;
}

void alert_set_close(struct alert_set *set, int64_t finding, int64_t closed_us)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].finding == finding && set->list[i].ends_us > closed_us)
			set->list[i].ends_us = closed_us;
}

/* Is the name one of ours, of a finding or of --label, with that value? Return: the number of a finding, or 0. */
static bool is_ours(const struct alert_set *set, const struct option_label *labels, size_t count, int64_t *ret_finding)
{
	size_t own = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_finding = !strcmp(labels[i].name, FINDING_LABEL);

		if (is_finding)
			*ret_finding = strtoll(labels[i].value, NULL, 10);
		own += is_finding || !strcmp(labels[i].name, "alertname") || !strcmp(labels[i].name, "severity") ||
		       !strcmp(labels[i].name, "subject");
		for (size_t j = 0; j < set->label_count; j++)
			own += !strcmp(labels[i].name, set->labels[j].name) &&
			       !strcmp(labels[i].value, set->labels[j].value);
	}
	return own == count && count == 4 + set->label_count;
}

int alert_set_learn(struct alert_set *set, const char *json, struct error *err)
{
	static const char key[] = "\"labels\":";
	struct text chars = { 0 };
	int code = *json == '[' ? 0 : err_set(err, ERR_IO, "it has sent no list of alerts");

	/* A quote within a string is escaped, so that this is the key of an object. */
	while (code == 0 && (json = strstr(json, key))) {
		struct option_label labels[ALERT_LABELS_MAX];
		size_t count;
		int64_t finding = 0;
		struct alert *alert;
		const char *end = read_object(json + strlen(key), &chars, labels, ALERT_LABELS_MAX, &count);

		json += strlen(key);
		if (text_failed(&chars))
			code = err_nomem(err);
		if (code < 0 || !end || !is_ours(set, labels, count, &finding))
			continue;
		alert = find_or_add(set, make_object(labels, count), strdup("{}"));
		if (!alert)
			code = err_nomem(err);
		else
			alert->finding = finding;
		if (alert)
			alert->is_known = true;
	}
	text_done(&chars);
	return code;
}

bool alert_set_learn_closed(struct alert_set *set, const struct finding_row *row)
{
	struct alert *alert = add_finding(set, row);

	if (!alert)
		return false;
	alert->is_known = true;
	alert->ends_us = row->finding.closed_us;
	set->is_changed = true;
	return true;
}

void alert_set_write(const struct alert_set *set, int64_t until_us, struct text *ret)
{
	char begin[WHEN_SIZE], end[WHEN_SIZE];

	text_append(ret, "[");
	for (size_t i = 0; i < set->count; i++) {
		const struct alert *alert = &set->list[i];
		int64_t ends_us = alert->ends_us ? alert->ends_us : until_us;

		text_appendf(ret, "%s{\"labels\":%s,\"annotations\":%s", i ? "," : "", alert->labels,
			     alert->annotations);
		/* Alertmanager knows the start of one that it has sent; it refuses one after the end. */
		if (alert->starts_us && alert->starts_us < ends_us)
			text_appendf(ret, ",\"startsAt\":\"%s\"", when_format_utc(alert->starts_us, begin));
		text_appendf(ret, ",\"endsAt\":\"%s\"}", when_format_utc(ends_us, end));
	}
	text_append(ret, "]");
}

void alert_set_sent(struct alert_set *set, int64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct alert *alert = &set->list[i];

		if (alert->ends_us && now_us - alert->ends_us > ALERT_ENDED_US) {
			alert_done(alert);
			continue;
		}
		alert->is_known = true;
		set->list[kept++] = *alert;
	}
	set->count = kept;
	set->is_changed = false;
}
