/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/push/push_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "analysis/delta.h"
#include "base/array.h"
#include "base/err.h"
#include "base/new_file.h"
#include "base/text.h"
#include "storage/history.h"

#define CURSOR_HEADER "ibwire push 1\n"
/* Native byte order: the file belongs to this host, and a reader of the other order rejects it. */
#define COUNTERS_MAGIC UINT64_C(0x0131687375706269)

/* Of sweeps and times in a cursor: their sums do not overflow. */
#define NUMBER_MOST (INT64_C(1) << 60)

static int parse_sweep(const char *path, int line, const char *name, const char **at, struct push_sweep *ret,
		       struct error *err)
{
	size_t len = strlen(name);
	int used = 0;

	if (strncmp(*at, name, len) != 0 ||
	    sscanf(*at + len, " %" SCNd64 " %" SCNd64 "%n", &ret->id, &ret->wall_us, &used) != 2 ||
	    (*at)[len + (size_t)used] != '\n' || ret->id < 0 || ret->id > NUMBER_MOST || ret->wall_us < 0 ||
	    ret->wall_us > NUMBER_MOST)
		return err_set(err, ERR_IO, "%s:%d: not '%s SWEEP TIME': the cursor is damaged; remove it to begin at "
			       "the newest sweep, or with --since", path, line, name);
	*at += len + (size_t)used + 1;
	return 0;
}

static int parse_cursor(struct push_state *state, const char *text, struct error *err)
{
	int code;

	if (strncmp(text, CURSOR_HEADER, strlen(CURSOR_HEADER)) != 0)
		return err_set(err, ERR_IO, "%s:1: not a cursor of ibwire push", state->path);
	text += strlen(CURSOR_HEADER);
	code = parse_sweep(state->path, 2, "origin", &text, &state->origin, err);
	if (code == 0)
		code = parse_sweep(state->path, 3, "acknowledged", &text, &state->acknowledged, err);
	if (code == 0 && (*text || !state->origin.id ||
			  (state->acknowledged.id && state->acknowledged.id < state->origin.id)))
		code = err_set(err, ERR_IO, "%s:3: the cursor is damaged; remove it to begin at the newest sweep, or "
			       "with --since", state->path);
	return code;
}

int push_state_open(struct push_state *state, const char *path, struct error *err)
{
	struct text text = { 0 };
	char lock[4096 + 8];
	int code;

	*state = (struct push_state){ .lock_fd = -1 };
	if ((size_t)snprintf(state->path, sizeof(state->path), "%s", path) >= sizeof(state->path) - 16)
		return err_set(err, ERR_USAGE, "the path of the cursor is too long");
	snprintf(lock, sizeof(lock), "%s.lock", path);
	state->lock_fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (state->lock_fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %s; use --cursor for a file in another folder", lock,
			       strerror(errno));
	if (flock(state->lock_fd, LOCK_EX | LOCK_NB))
		return err_set(err, ERR_UNAVAILABLE, "another ibwire push uses %s", path);
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	code = text_read_file(path, "the cursor ", TEXT_SMALL_MOST, &text, err);
	if (code == 0)
		code = parse_cursor(state, text_chars(&text), err);
	text_done(&text);
	return code;
}

static void forget_ports(struct push_state *state)
{
	map_done(&state->index);
	free(state->ports);
	state->ports = NULL;
	state->port_count = state->port_capacity = 0;
}

void push_state_close(struct push_state *state)
{
	forget_ports(state);
	if (state->lock_fd >= 0)
		close(state->lock_fd);
	state->lock_fd = -1;
}

/* An error of @write stays with the file, and is that of new_file_end(). */
static int replace(const char *path, const char *suffix, void (*write)(const struct push_state *, FILE *),
		   const struct push_state *state, struct error *err)
{
	char to[4096 + 16];
	struct new_file file;
	int code;

	snprintf(to, sizeof(to), "%s%s", path, suffix);
	code = new_file_open_locked(to, &file, err);
	if (code < 0)
		return code;
	write(state, file.stream);
	return new_file_end(&file, 0, err);
}

static void write_cursor(const struct push_state *state, FILE *file)
{
	fprintf(file, CURSOR_HEADER "origin %" PRId64 " %" PRId64 "\nacknowledged %" PRId64 " %" PRId64 "\n",
		state->origin.id, state->origin.wall_us, state->acknowledged.id,
		state->acknowledged.wall_us);
}

int push_state_save(const struct push_state *state, struct error *err)
{
	return replace(state->path, "", write_cursor, state, err);
}

int push_state_begin(struct push_state *state, struct push_sweep origin, struct error *err)
{
	forget_ports(state);
	state->origin = state->stored = origin;
	state->acknowledged = (struct push_sweep){ 0 };
	return push_state_save(state, err);
}

bool push_state_port(struct push_state *state, uint64_t node_guid, uint8_t num, uint32_t *ret)
{
	uint64_t key = map_mix(node_guid ^ (uint64_t)num << 56);
	struct push_port *grown;

	if (map_get(&state->index, key, ret))
		return true;
	grown = array_grow(state->ports, state->port_count, &state->port_capacity, sizeof(*state->ports));
	if (!grown)
		return false;
	state->ports = grown;
	if (map_put(&state->index, key, (uint32_t)state->port_count) < 0)
		return false;
	*ret = (uint32_t)state->port_count++;
	state->ports[*ret] = (struct push_port){ .node_guid = node_guid, .num = num };
	return true;
}

void push_counters_add(struct metrics_counters *counters, const struct delta *delta)
{
	counters->known |= delta->known;
	metrics_counters_add(counters, delta);
}

/* FILE.counters: numbers of 64 bits, then a check sum of them. */
struct stored_head {
	uint64_t magic, origin, sweep, wall_us, port_size, ports;
};

static uint64_t checksum(uint64_t sum, const void *bytes, size_t len)
{
	uint64_t word;

	for (const char *at = bytes; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = map_mix(sum ^ word);
	}
	return sum;
}

static void write_counters(const struct push_state *state, FILE *file)
{
	const struct stored_head head = { .magic = COUNTERS_MAGIC, .origin = (uint64_t)state->origin.id,
		.sweep = (uint64_t)state->acknowledged.id, .wall_us = (uint64_t)state->acknowledged.wall_us,
		.port_size = sizeof(*state->ports), .ports = state->port_count };
	uint64_t sum = checksum(0, &head, sizeof(head));

	sum = checksum(sum, state->ports, state->port_count * sizeof(*state->ports));
	fwrite(&head, sizeof(head), 1, file);
	fwrite(state->ports, sizeof(*state->ports), state->port_count, file);
	fwrite(&sum, sizeof(sum), 1, file);
}

int push_state_store(struct push_state *state, struct error *err)
{
	int code = replace(state->path, ".counters", write_counters, state, err);

	if (code == 0)
		state->stored = state->acknowledged;
	return code;
}

/* Read FILE.counters. Return: true: the state has the counters of state->stored. */
static bool read_counters(struct push_state *state)
{
	struct push_port port;
	struct stored_head head;
	char path[4096 + 16];
	uint64_t sum, stored_sum;
	bool good;
	FILE *file;

	snprintf(path, sizeof(path), "%s.counters", state->path);
	file = fopen(path, "re");
	if (!file)
		return false;
	good = fread(&head, sizeof(head), 1, file) == 1 && head.magic == COUNTERS_MAGIC &&
	       head.origin == (uint64_t)state->origin.id && head.sweep <= (uint64_t)state->acknowledged.id &&
	       head.sweep >= head.origin && head.wall_us <= NUMBER_MOST && head.port_size == sizeof(port);
	sum = checksum(0, &head, sizeof(head));
	for (uint64_t i = 0; good && i < head.ports; i++) {
		uint32_t at;

		good = fread(&port, sizeof(port), 1, file) == 1 &&
		       push_state_port(state, port.node_guid, port.num, &at);
		if (good) {
			sum = checksum(sum, &port, sizeof(port));
			state->ports[at] = port;
		}
	}
	good = good && fread(&stored_sum, sizeof(stored_sum), 1, file) == 1 && stored_sum == sum;
	fclose(file);
	if (good)
		state->stored = (struct push_sweep){ .id = (int64_t)head.sweep, .wall_us = (int64_t)head.wall_us };
	else
		forget_ports(state);
	return good;
}

/* Deltas of the sweeps after the stored counters. */
struct replay {
	struct push_state *state;
	int64_t next; /* the sweep that is expected to follow */
	bool complete, failed;
};

static bool replay_piece(void *ctx, const struct history_piece *piece)
{
	struct replay *replay = ctx;

	replay->complete &= piece->from_sweep <= replay->next;
	replay->next = piece->to_sweep;
	return true;
}

static bool replay_delta(void *ctx, size_t at, const struct history_port *who, const struct delta *delta,
			 int64_t samples)
{
	struct replay *replay = ctx;
	uint32_t port;

	(void)at;
	(void)samples;
	replay->failed = !push_state_port(replay->state, who->node_guid, who->num, &port);
	if (!replay->failed)
		push_counters_add(&replay->state->ports[port].counters, delta);
	return !replay->failed;
}

int push_state_restore(struct push_state *state, struct reader *reader, bool *ret_complete, struct error *err)
{
	struct replay replay = { .state = state, .complete = true };
	const struct history_consumer consumer = { .piece = replay_piece, .delta = replay_delta, .ctx = &replay };
	struct history_query query = { .until = state->acknowledged.id,
				       .counters = COUNTER_BIT(COUNTER_COUNT) - 1 };
	int code = 0;

	*ret_complete = true;
	state->ahead = false;
	forget_ports(state);
	state->stored = state->origin;
	if (!state->acknowledged.id)
		return 0;
	read_counters(state);
	query.after = state->stored.id;
	replay.next = query.after + 1;
	if (query.until > query.after) {
		code = reader_history(reader, &query, &consumer, err);
		if (code == 0 && replay.failed)
			code = err_nomem(err);
		*ret_complete = replay.complete && replay.next > query.until;
	}
	if (code < 0 || *ret_complete)
		return code;
	forget_ports(state);
	state->origin = state->stored = state->acknowledged;
	return push_state_save(state, err);
}
