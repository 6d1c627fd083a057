/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The decoder runs on the inputs in tests/fuzz/corpus/codec, which fuzzing has found. */
#include <stdio.h>
#include <stdlib.h>

#include <dirent.h>

#include "base/unit_test.h"
#include "tests/fuzz/codec_fuzz.h"

static void run_file(const char *folder, const char *name)
{
	char path[4096];
	uint8_t *data;
	long len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	len = ftell(file);
	assert_true(len >= 0);
	rewind(file);
	/* In a buffer of exact size the sanitizer detects reads beyond the end. */
	data = malloc(len ? (size_t)len : 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)len, file), len);
	fclose(file);
	LLVMFuzzerTestOneInput(data, (size_t)len);
	free(data);
}

TEST(corpus_inputs_are_handled)
{
	const char *source = getenv("IBWIRE_SRCDIR");
	const struct dirent *entry;
	unsigned count = 0;
	char folder[2048];
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/codec", source ? source : ".");
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		run_file(folder, entry->d_name);
		count++;
	}
	closedir(dir);
	print_message("# note: %u files\n", count);
	assert_true(count > 10);
}
