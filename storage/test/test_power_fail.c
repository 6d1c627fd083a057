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

/* The disk at a position: flushed content, and operations that are not flushed yet. */
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
		content->bytes = check_allocated(realloc(content->bytes, content->capacity));
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
struct loss {
	uint64_t random;
	unsigned kept_of_256; /* chance of each operation */
	size_t sector;        /* 0: whole writes */
	bool torn;            /* sectors may be garbage, or torn */
};

static uint64_t draw(struct loss *loss, uint64_t below)
{
	loss->random += UINT64_C(0x9e3779b97f4a7c15);
	return map_mix(loss->random) % below;
}

static bool is_kept(struct loss *loss)
{
	return draw(loss, 256) < loss->kept_of_256;
}

static void put_sector(struct loss *loss, struct content *content, size_t at, const char *bytes, size_t len)
{
	size_t cut = draw(loss, len + 1);
	char noise[4096];

	if (is_kept(loss)) {
		put(content, at, bytes, len);
	} else if (loss->torn && draw(loss, 4) == 0) {
		switch (draw(loss, 3)) {
		case 0:
			put(content, at, bytes, cut);
			break;
		case 1:
			put(content, at + cut, bytes + cut, len - cut);
			break;
		default:
			for (size_t i = 0; i < len; i++)
				noise[i] = (char)draw(loss, 256);
			put(content, at, noise, len);
		}
	}
}

static void apply_maybe(struct loss *loss, struct content *content, const struct operation *operation)
{
	size_t at = (size_t)operation->at, end = at + operation->len;

	if (operation->kind == TRUNCATE) {
		if (is_kept(loss))
			resize(content, at);
		return;
	}
	if (!loss->sector && is_kept(loss))
		put(content, at, operation->bytes, operation->len);
	while (loss->sector && at < end) {
		size_t next = (at / loss->sector + 1) * loss->sector;

		const char *bytes = operation->bytes + (at - (size_t)operation->at);

		if (next > end)
			next = end;
		put_sector(loss, content, at, bytes, next - at);
		at = next;
	}
	if (end > content->size && loss->kept_of_256 && draw(loss, 4) == 0)
		resize(content, end);
}

static bool is_of_folder(const struct operation *operation)
{
	return operation->kind >= CREATE;
}

/*
 * A flush: everything pending of a file, or of the folder, is on the disk. If it fails, about half of
 * the writes never are: the kernel does not write their pages again.
 */
static void flush(const struct operation *flushed)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk.pending_count; i++) {
		const struct operation *operation = &power_log.operations[disk.pending[i]];

		if (is_of_folder(operation) != (flushed->kind == FLUSH_FOLDER) ||
		    (flushed->kind != FLUSH_FOLDER && operation->file != flushed->file))
			disk.pending[kept++] = disk.pending[i];
		else if (flushed->kind == FAILED_FLUSH && operation->kind == WRITE && map_mix(disk.pending[i]) % 2)
			continue;
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
		disk.pending = check_allocated(realloc(disk.pending, (power_log.count + 1) * sizeof(*disk.pending)));
		disk.names = power_log.at_start;
		for (int i = 0; i < power_log.file_count; i++)
			copy(&disk.files[i], &power_log.files_at_start[i]);
	}
	for (; disk.position < position; disk.position++) {
		const struct operation *operation = &power_log.operations[disk.position];

		if (operation->kind == FLUSH || operation->kind == FAILED_FLUSH || operation->kind == FLUSH_FOLDER)
			flush(operation);
		else
			disk.pending[disk.pending_count++] = disk.position;
	}
}

/* A log's index that was never flushed. */
static void write_index(struct loss *loss, const char *file_name)
{
	char index[PATH_MAX + 8], noise[4096];

	snprintf(index, sizeof(index), "%s-shm", file_name);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)draw(loss, 256);
	test_file_write(index, noise, sizeof(noise));
}

void power_fail(size_t position, uint64_t seed, const char *to)
{
	static const size_t sectors[] = { 0, 512, 4096 };
	static const unsigned chances[] = { 0, 256, 128, 16, 240 };
	struct loss loss = { .random = map_mix(seed) };
	struct content content = { 0 };
	struct names names;
	char file_name[PATH_MAX];

	loss.kept_of_256 = chances[draw(&loss, 5)];
	loss.sector = sectors[draw(&loss, 3)];
	loss.torn = draw(&loss, 2);
	move_to(position);
	test_folder_empty(to);
	names = disk.names;
	for (size_t i = 0; i < disk.pending_count; i++)
		if (is_of_folder(&power_log.operations[disk.pending[i]]) && is_kept(&loss))
			power_apply_name(&names, &power_log.operations[disk.pending[i]]);
	for (size_t n = 0; n < names.count; n++) {
		copy(&content, &disk.files[names.file[n]]);
		for (size_t i = 0; i < disk.pending_count; i++) {
			const struct operation *operation = &power_log.operations[disk.pending[i]];

			if (!is_of_folder(operation) && operation->file == names.file[n])
				apply_maybe(&loss, &content, operation);
		}
		snprintf(file_name, sizeof(file_name), "%s/%s", to, names.name[n]);
		test_file_write(file_name, content.bytes, content.size);
		if (!strchr(names.name[n], '-') && draw(&loss, 4) == 0)
			write_index(&loss, file_name);
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
