/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/scenarios/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *scenario_file(const char *name)
{
	const char *dir = getenv("IBWIRE_SRCDIR");
	char *file;

	if (asprintf(&file, "%s/tests/scenarios/%s", dir ? dir : ".", name) < 0)
		abort();
	return file;
}

static int is_scenario(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".scenario");
}

size_t scenario_files(char *ret[SCENARIO_FILES_MAX])
{
	char *dir = scenario_file("");
	struct dirent **entries;
	int count = scandir(dir, &entries, is_scenario, alphasort);

	if (count < 35 || count > SCENARIO_FILES_MAX) {
		fprintf(stderr, "%d scenario files in %s: there must be 35 to %d\n", count, dir, SCENARIO_FILES_MAX);
		exit(1);
	}
	for (int i = 0; i < count; i++) {
		ret[i] = strdup(entries[i]->d_name);
		if (!ret[i])
			abort();
		free(entries[i]);
	}
	free(entries);
	free(dir);
	return (size_t)count;
}

bool scenario_file_is_run(size_t index, size_t part)
{
	return !getenv("IBWIRE_TEST_SHORT") || index % part == 0;
}
