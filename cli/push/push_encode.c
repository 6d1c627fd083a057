/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

/* Field numbers and wire types, as one byte: number << 3 | type (2: bytes, 1: 64 bits, 0: varint). */
enum { FIELD_1_BYTES = 0x0a, FIELD_2_BYTES = 0x12, FIELD_1_DOUBLE = 0x09, FIELD_2_VARINT = 0x10 };

static size_t varint_len(uint64_t value)
{
	size_t len = 1;

	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

static char *put_varint(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

/* A field of bytes: its tag and length. */
static char *put_field(char *at, char tag, size_t len)
{
	*at++ = tag;
	return put_varint(at, len);
}

static char *put_bytes(char *at, const char *bytes, size_t len)
{
	if (len)
		memcpy(at, bytes, len);
	return at + len;
}

void push_label_append(struct text *ret, const char *name, size_t name_len, const char *value, size_t value_len)
{
	size_t len = 2 + varint_len(name_len) + name_len + varint_len(value_len) + value_len;
	char *begin = text_reserve(ret, len + 12), *at = begin;

	if (!begin)
		return;
	at = put_field(at, FIELD_1_BYTES, len);
	at = put_bytes(put_field(at, FIELD_1_BYTES, name_len), name, name_len);
	at = put_bytes(put_field(at, FIELD_2_BYTES, value_len), value, value_len);
	text_extend(ret, (size_t)(at - begin));
}

void push_series_append(struct text *ret, struct push_bytes name, struct push_bytes labels, double value,
			int64_t wall_ms)
{
	size_t sample_len = 1 + sizeof(value) + 1 + varint_len((uint64_t)wall_ms);
	size_t len = name.len + labels.len + 1 + varint_len(sample_len) + sample_len;
	char *begin = text_reserve(ret, len + 12), *at = begin;
	uint64_t bits;

	if (!begin)
		return;
	at = put_field(at, FIELD_1_BYTES, len);
	at = put_bytes(put_bytes(at, name.bytes, name.len), labels.bytes, labels.len);
	at = put_field(at, FIELD_2_BYTES, sample_len);
	*at++ = FIELD_1_DOUBLE;
	memcpy(&bits, &value, sizeof(bits));
	for (int i = 0; i < 8; i++, bits >>= 8)
		*at++ = (char)bits;
	*at++ = FIELD_2_VARINT;
	at = put_varint(at, (uint64_t)wall_ms);
	text_extend(ret, (size_t)(at - begin));
}

/* A label of exposition text; its value is still escaped. */
struct label {
	const char *name, *value;
	size_t name_len, value_len;
};

/* Return: the number of labels. */
static size_t split(const char *text, struct label *ret, size_t most)
{
	size_t count = 0;

	while (*text && count < most) {
		struct label *label = &ret[count++];

		label->name = text;
		label->name_len = strcspn(text, "=");
		label->value = text += label->name_len + 2;
		while (*text && *text != '"')
			text += *text == '\\' && text[1] ? 2 : 1;
		label->value_len = (size_t)(text - label->value);
		text += *text == '"';
		text += *text == ',';
	}
	return count;
}

static int name_order(const void *a, const void *b)
{
	const struct label *one = a, *other = b;
	int order = memcmp(one->name, other->name, one->name_len < other->name_len ? one->name_len : other->name_len);

	return order ? order : (one->name_len > other->name_len) - (one->name_len < other->name_len);
}

static void append_unescaped(struct text *ret, const struct label *label, struct text *value)
{
	text_clear(value);
	for (size_t i = 0; i < label->value_len; i++) {
		bool escaped = label->value[i] == '\\' && i + 1 < label->value_len;
		const char *byte = &label->value[escaped ? ++i : i];

		text_append_bytes(value, escaped && *byte == 'n' ? "\n" : byte, 1);
	}
	if (text_failed(value))
		ret->failed = true;
	else if (value->len) /* a label without a value is no label */
		push_label_append(ret, label->name, label->name_len, value->chars, value->len);
}

void push_labels_encode(const char *labels, const char *external, struct text *ret)
{
	struct label all[PUSH_LABELS_MAX];
	size_t own = split(labels, all, PUSH_LABELS_MAX), count = own;
	struct label more[PUSH_LABELS_MAX];
	size_t more_count = split(external, more, PUSH_LABELS_MAX);
	struct text value = { 0 };

	for (size_t i = 0; i < more_count && count < PUSH_LABELS_MAX; i++) {
		bool taken = false;

		for (size_t j = 0; j < own; j++)
			taken |= name_order(&all[j], &more[i]) == 0;
		if (!taken)
			all[count++] = more[i];
	}
	qsort(all, count, sizeof(*all), name_order);
	for (size_t i = 0; i < count; i++)
		append_unescaped(ret, &all[i], &value);
	text_done(&value);
}
