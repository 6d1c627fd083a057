/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise.c - replacement of GUIDs and boot ids; SQL functions */
#include "storage/admin/anonymise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"

/* GUIDs within this distance belong to one device and keep their distances. */
enum { DEVICE_GUIDS = 16, DEVICE_SHIFT = 8 };

/* Locally administered. Source: IEEE, "Guidelines for Use of EUI": the U/L bit of the first byte. */
#define INVENTED_BASE UINT64_C(0x02fffe0000000000)

/* Return: false if the kernel has no random numbers; predictable ones could be reversed. */
static bool random_number(uint64_t *ret)
{
	/* Up to 256 bytes are always complete. Source: getrandom(2). */
	return getrandom(ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret);
}

int anonymise_add_guid(struct anonymiser *anonymiser, uint64_t guid, struct error *err)
{
	struct guid_alias *guids;
	uint32_t at;

	if (!guid || map_get(&anonymiser->guid_index, guid, &at))
		return 0;
	guids = array_grow(anonymiser->guids, anonymiser->guid_count, &anonymiser->guid_capacity, sizeof(*guids));
	if (!guids)
		return err_nomem(err);
	anonymiser->guids = guids;
	if (map_put(&anonymiser->guid_index, guid, (uint32_t)anonymiser->guid_count) < 0)
		return err_nomem(err);
	guids[anonymiser->guid_count++] = (struct guid_alias){ .was = guid };
	return 0;
}

static int compare_guids(const void *a, const void *b)
{
	uint64_t left = ((const struct guid_alias *)a)->was, right = ((const struct guid_alias *)b)->was;

	return left < right ? -1 : left > right;
}

static bool shuffle(uint64_t *numbers, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		uint64_t held = numbers[i - 1], other;

		if (!random_number(&other))
			return false;
		numbers[i - 1] = numbers[other % i];
		numbers[other % i] = held;
	}
	return true;
}

/* Devices are numbered in random order. */
static int invent_guids(struct anonymiser *anonymiser, struct error *err)
{
	size_t count = anonymiser->guid_count, devices = 0;
	uint64_t *numbers = calloc(count + 1, sizeof(*numbers)), first = 0;

	if (!numbers)
		return err_nomem(err);
	for (size_t i = 0; i < count; i++)
		numbers[i] = i + 1;
	if (!shuffle(numbers, count)) {
		err_set(err, ERR_IO, "no random numbers to anonymise with: %s", strerror(errno));
		free(numbers);
		return ERR_IO;
	}
	if (count)
		qsort(anonymiser->guids, count, sizeof(*anonymiser->guids), compare_guids);
	for (size_t i = 0; i < count; i++) {
		struct guid_alias *guid = &anonymiser->guids[i];

		if (!i || guid->was - first >= DEVICE_GUIDS) {
			first = guid->was;
			devices++;
		}
		guid->is = INVENTED_BASE + (numbers[devices - 1] << DEVICE_SHIFT) + (guid->was - first);
		map_put(&anonymiser->guid_index, guid->was, (uint32_t)i);
	}
	anonymiser->next_device = count + 1;
	free(numbers);
	return 0;
}

int anonymise_guid(struct anonymiser *anonymiser, uint64_t guid, uint64_t *ret, struct error *err)
{
	uint32_t at = 0;

	*ret = 0;
	if (!guid)
		return 0;
	if (!map_get(&anonymiser->guid_index, guid, &at)) {
		if (anonymise_add_guid(anonymiser, guid, err) < 0)
			return ERR_NOMEM;
		at = (uint32_t)anonymiser->guid_count - 1;
		anonymiser->guids[at].is = INVENTED_BASE + (anonymiser->next_device++ << DEVICE_SHIFT);
	}
	*ret = anonymiser->guids[at].is;
	return 0;
}

int anonymise_complete(struct anonymiser *anonymiser, struct error *err)
{
	int result = invent_guids(anonymiser, err);

	return result ? result : anonymise_invent_names(anonymiser, err);
}

void anonymise_done(struct anonymiser *anonymiser)
{
	for (size_t i = 0; i < anonymiser->alias_count; i++) {
		free(anonymiser->aliases[i].was);
		free(anonymiser->aliases[i].is);
	}
	for (size_t i = 0; i < anonymiser->boot_count; i++) {
		free(anonymiser->boots[i].was);
		free(anonymiser->boots[i].is);
	}
	free(anonymiser->boots);
	free(anonymiser->aliases);
	free(anonymiser->guids);
	map_done(&anonymiser->guid_index);
	memset(anonymiser, 0, sizeof(*anonymiser));
}

static void hide_guid(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint64_t invented;

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (anonymise_guid(sqlite3_user_data(context), (uint64_t)sqlite3_value_int64(values[0]), &invented, NULL) < 0)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_int64(context, (sqlite3_int64)invented);
}

/* The text of a value; NULL: none. */
static const char *text_of(sqlite3_value *value)
{
	return sqlite3_value_type(value) == SQLITE_NULL ? NULL : (const char *)sqlite3_value_text(value);
}

static void give_text(sqlite3_context *context, struct text *text, int result)
{
	if (result < 0 || text_failed(text))
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, text_chars(text), -1, SQLITE_TRANSIENT);
	text_done(text);
}

/* A name that was not added is not that of a node: it is treated as a sentence. */
static void hide_name(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = text_of(values[0]), *alias;
	struct anonymiser *anonymiser = sqlite3_user_data(context);
	struct text text = { 0 };

	(void)count;
	if (!name)
		return;
	alias = anonymise_name(anonymiser, name);
	if (alias)
		sqlite3_result_text(context, alias, -1, SQLITE_TRANSIENT);
	else
		give_text(context, &text, anonymise_text(anonymiser, name, &text, NULL));
}

/* Bytes of a NodeDescription, up to a NUL. */
static void hide_description(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *bytes = sqlite3_value_blob(values[0]), *alias;
	char name[NODE_NAME_SIZE];

	(void)count;
	text_sanitise(bytes ? bytes : "", (size_t)sqlite3_value_bytes(values[0]), name, sizeof(name));
	alias = anonymise_name(sqlite3_user_data(context), name);
	if (!alias)
		alias = "";
	sqlite3_result_blob(context, alias, (int)strnlen(alias, NODE_DESC_SIZE), SQLITE_TRANSIENT);
}

static void hide_text(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *sentence = text_of(values[0]);
	struct text text = { 0 };

	(void)count;
	if (sentence)
		give_text(context, &text, anonymise_text(sqlite3_user_data(context), sentence, &text, NULL));
}

/* A random id for each boot. Return: NULL without memory or random numbers. */
static const char *invent_boot(struct anonymiser *anonymiser, const char *was)
{
	struct alias *boots;
	uint64_t numbers[2];
	char id[64];

	for (size_t i = 0; i < anonymiser->boot_count; i++)
		if (!strcmp(anonymiser->boots[i].was, was))
			return anonymiser->boots[i].is;
	boots = array_grow(anonymiser->boots, anonymiser->boot_count, &anonymiser->boot_capacity, sizeof(*boots));
	if (!boots)
		return NULL;
	anonymiser->boots = boots;
	if (!random_number(&numbers[0]) || !random_number(&numbers[1]))
		return NULL;
	snprintf(id, sizeof(id), "%08x-%04x-4000-8000-%012" PRIx64, (unsigned)numbers[0],
		 (unsigned)(numbers[0] >> 32 & 0xffff), numbers[1] >> 16);
	boots += anonymiser->boot_count;
	*boots = (struct alias){ .was = strdup(was), .is = strdup(id) };
	if (boots->was && boots->is) {
		anonymiser->boot_count++;
		return boots->is;
	}
	free(boots->was);
	free(boots->is);
	return NULL;
}

static void hide_boot(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *was = text_of(values[0]), *is = was ? invent_boot(sqlite3_user_data(context), was) : NULL;

	(void)count;
	if (is)
		sqlite3_result_text(context, is, -1, SQLITE_TRANSIENT);
	else if (was)
		sqlite3_result_error_nomem(context);
}

int anonymise_functions(sqlite3 *db, struct anonymiser *anonymiser, struct error *err)
{
	static const struct {
		const char *name;
		void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
	} functions[] = {
		{ "hide_guid", hide_guid }, { "hide_name", hide_name }, { "hide_description", hide_description },
		{ "hide_text", hide_text }, { "hide_boot", hide_boot },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (sqlite3_create_function(db, functions[i].name, 1, SQLITE_UTF8, anonymiser, functions[i].call, NULL,
					    NULL) != SQLITE_OK)
			return db_fail(db, err);
	return 0;
}
