/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_two.c - two snapshots in the time that one takes, where two cores are free */
#include <stdbool.h>

#include "base/err.h"
#include "base/thread.h"
#include "storage/reader.h"
#include "storage/read/reader_internal.h"
#include "storage/saved.h"

/* What the thread is to load, and what came of it. */
struct beside {
	const char *path;
	int64_t id;
	const struct name_map *names;
	struct saved *saved;
	struct error err;
	int result;
};

/* A connection belongs to one thread: this one has its own. */
static void *load_beside(void *ctx)
{
	struct beside *beside = ctx;
	struct reader *reader = NULL;

	beside->result = reader_open(beside->path, &reader, &beside->err);
	if (!beside->result)
		beside->result = saved_load(reader, beside->id, beside->names, &beside->saved, &beside->err);
	reader_close(reader);
	return NULL;
}

int saved_load_two(struct reader *reader, const int64_t ids[2], const struct name_map *names, struct saved *ret[2],
		   struct error *err)
{
	struct beside beside = { .path = reader->path, .id = ids[1], .names = names };
	struct saved *first = NULL;
	pthread_t thread;
	bool started = !thread_start(load_beside, &beside, &thread);
	int result = saved_load(reader, ids[0], names, &first, err);

	if (started)
		pthread_join(thread, NULL);
	else if (!result)
		beside.result = saved_load(reader, ids[1], names, &beside.saved, &beside.err);
	if (!result && beside.result < 0)
		result = err_set(err, beside.result, "%s", beside.err.text);
	if (result < 0) {
		saved_destroy(first);
		saved_destroy(beside.saved);
		return result;
	}
	ret[0] = first;
	ret[1] = beside.saved;
	return 0;
}
