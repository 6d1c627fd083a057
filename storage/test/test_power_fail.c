/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_power_fail.c - the folder as a machine that lost power has it */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_power.h"
#include "storage/test/test_power_log.h"

/* The disk at a position: what is on it, and the operations that may be. */
static struct {
	size_t position;
	struct content files[FILES_MAX];
	struct names names;
	size_t *pending, pending_count;
} disk;

static void resize(struct content *content, size_t size)
{
	if (size > content->capacity) {
		content->capacity = 2 * size;
		content->bytes = must(realloc(content->bytes, content->capacity));
	}
	if (size > content->size)
		memset(content->bytes + content->size, 0, size - content->size);
	content->size = size;
}

static void put(struct content *content, size_t at, const char *bytes, size_t len)
{
	if (at + len > content->size)
		resize(content, at + len);
	memcpy(content->bytes + at, bytes, len);
}

/* What a failure leaves of operations that were not flushed. */
struct fate {
	uint64_t random;
	unsigned kept_of_256; /* chance of each operation */
	size_t sector;        /* 0: whole writes */
	bool torn;            /* sectors may be garbage, or torn */
};

static uint64_t draw(struct fate *fate, uint64_t below)
{
	fate->random += UINT64_C(0x9e3779b97f4a7c15);
	return map_mix(fate->random) % below;
}

static bool is_kept(struct fate *fate)
{
	return draw(fate, 256) < fate->kept_of_256;
}

static void put_sector(struct fate *fate, struct content *content, size_t at, const char *bytes, size_t len)
{
	size_t cut = draw(fate, len + 1);
	char noise[4096];

	if (is_kept(fate)) {
		put(content, at, bytes, len);
	} else if (fate->torn && draw(fate, 4) == 0) {
		switch (draw(fate, 3)) {
		case 0:
			put(content, at, bytes, cut);
			break;
		case 1:
			put(content, at + cut, bytes + cut, len - cut);
			break;
		default:
			for (size_t i = 0; i < len; i++)
				noise[i] = (char)draw(fate, 256);
			put(content, at, noise, len);
		}
	}
}

static void apply_maybe(struct fate *fate, struct content *content, const struct operation *operation)
{
	size_t at = (size_t)operation->at, end = at + operation->len;

	if (operation->kind == TRUNCATE) {
		if (is_kept(fate))
			resize(content, at);
		return;
	}
	if (!fate->sector && is_kept(fate))
		put(content, at, operation->bytes, operation->len);
	while (fate->sector && at < end) {
		size_t next = (at / fate->sector + 1) * fate->sector;

		if (next > end)
			next = end;
		put_sector(fate, content, at, operation->bytes + (at - (size_t)operation->at), next - at);
		at = next;
	}
	if (end > content->size && fate->kept_of_256 && draw(fate, 4) == 0)
		resize(content, end);
}

static bool is_of_folder(const struct operation *operation)
{
	return operation->kind >= CREATE;
}

/* A flush: everything pending of a file, or of the folder, is on the disk. */
static void flush(const struct operation *flushed)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk.pending_count; i++) {
		const struct operation *operation = &power_log.operations[disk.pending[i]];

		if (is_of_folder(operation) != (flushed->kind == FLUSH_FOLDER) ||
		    (flushed->kind == FLUSH && operation->file != flushed->file))
			disk.pending[kept++] = disk.pending[i];
		else if (is_of_folder(operation))
			power_apply_name(&disk.names, operation);
		else if (operation->kind == WRITE)
			put(&disk.files[operation->file], (size_t)operation->at, operation->bytes, operation->len);
		else
			resize(&disk.files[operation->file], (size_t)operation->at);
	}
	disk.pending_count = kept;
}

static void copy(struct content *to, const struct content *from)
{
	to->size = 0;
	if (from->size)
		put(to, 0, from->bytes, from->size);
}

static void move_to(size_t position)
{
	if (position < disk.position || !disk.pending) {
		disk.position = disk.pending_count = 0;
		disk.pending = must(realloc(disk.pending, (power_log.count + 1) * sizeof(*disk.pending)));
		disk.names = power_log.at_start;
		for (int i = 0; i < power_log.file_count; i++)
			copy(&disk.files[i], &power_log.files_at_start[i]);
	}
	for (; disk.position < position; disk.position++) {
		const struct operation *operation = &power_log.operations[disk.position];

		if (operation->kind == FLUSH || operation->kind == FLUSH_FOLDER)
			flush(operation);
		else
			disk.pending[disk.pending_count++] = disk.position;
	}
}

/* A log's index that was never flushed. */
static void write_index(struct fate *fate, const char *file_name)
{
	char index[PATH_MAX + 8], noise[4096];

	snprintf(index, sizeof(index), "%s-shm", file_name);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)draw(fate, 256);
	test_file_write(index, noise, sizeof(noise));
}

void power_fail(size_t position, uint64_t seed, const char *to)
{
	static const size_t sectors[] = { 0, 512, 4096 };
	static const unsigned chances[] = { 0, 256, 128, 16, 240 };
	struct fate fate = { .random = map_mix(seed) };
	struct content content = { 0 };
	struct names names;
	char file_name[PATH_MAX];

	fate.kept_of_256 = chances[draw(&fate, 5)];
	fate.sector = sectors[draw(&fate, 3)];
	fate.torn = draw(&fate, 2);
	move_to(position);
	test_folder_empty(to);
	names = disk.names;
	for (size_t i = 0; i < disk.pending_count; i++)
		if (is_of_folder(&power_log.operations[disk.pending[i]]) && is_kept(&fate))
			power_apply_name(&names, &power_log.operations[disk.pending[i]]);
	for (size_t n = 0; n < names.count; n++) {
		copy(&content, &disk.files[names.file[n]]);
		for (size_t i = 0; i < disk.pending_count; i++) {
			const struct operation *operation = &power_log.operations[disk.pending[i]];

			if (!is_of_folder(operation) && operation->file == names.file[n])
				apply_maybe(&fate, &content, operation);
		}
		snprintf(file_name, sizeof(file_name), "%s/%s", to, names.name[n]);
		test_file_write(file_name, content.bytes, content.size);
		if (!strchr(names.name[n], '-') && draw(&fate, 4) == 0)
			write_index(&fate, file_name);
	}
	free(content.bytes);
}

void power_free(void)
{
	for (size_t i = 0; i < power_log.count; i++)
		free(power_log.operations[i].bytes);
	for (int i = 0; i < power_log.file_count; i++) {
		free(power_log.files_at_start[i].bytes);
		free(disk.files[i].bytes);
	}
	free(power_log.operations);
	free(disk.pending);
	memset(&power_log, 0, sizeof(power_log));
	memset(&disk, 0, sizeof(disk));
}
