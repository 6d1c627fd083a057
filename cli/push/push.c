/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* push.c - `ibwire push`: stored sweeps to a receiver of Prometheus remote write */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/process.h"
#include "base/service.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_families.h"
#include "cli/push/push_encode.h"
#include "cli/push/push_send.h"
#include "cli/push/push_state.h"
#include "cli/push/push_sweep.h"
#include "fabric/name_map.h"
#include "storage/history.h"
#include "storage/reader.h"

/* Time between two looks for a new sweep, and between attempts to open the database. */
#define POLL_US (500 * US_PER_MS)
/* Time of sweeps after which the counters are stored. Later sweeps are read again after a restart. */
#define STORE_COUNTERS_US (600 * US_PER_S)
/* Age of the last sample at which Prometheus no longer uses it in queries (its lookback delta). */
#define STALE_US (300 * US_PER_S)

struct push {
	struct push_source source;
	struct push_state state;
	struct push_target target;
	const char *db_path;
	int64_t since_us; /* of --since; 0: not given */
	struct reader *reader;
	bool restored; /* the counters are those of the acknowledged sweep */
	int last_code; /* of the error that was logged last */
};

/* The origin: the first sweep since a time, or the newest one. */
static int begin(struct push *push, struct error *err)
{
	struct push_sweep origin = { 0 };
	struct history_range range;
	struct snapshot *snapshot;
	int code = 0;

	if (push->since_us) {
		code = reader_history_range(push->reader, push->since_us - 1, 0, &range, err);
		if (code == 0 && range.until > range.after)
			code = reader_sweep_beside(push->reader, range.first_us, 0, &origin.wall_us, err);
	}
	if (code < 0)
		return code;
	code = snapshot_load(push->reader, &(struct snapshot_query){ .at_us = origin.wall_us, .fabric_only = true },
			     &snapshot, err);
	if (code < 0)
		return code;
	origin = (struct push_sweep){ snapshot->sweep.id, snapshot->sweep.wall_us };
	snapshot_destroy(snapshot);
	return push_state_begin(&push->state, origin, err);
}

/* A database whose numbers of sweeps are lower than the cursor's: continue with its first later sweep. */
static int check_database(struct push *push, struct error *err)
{
	int64_t newest;
	const struct push_state *state = &push->state;
	const struct push_sweep *last = state->acknowledged.id ? &state->acknowledged : &state->origin;
	int code = reader_newest(push->reader, &newest, err);

	if (code < 0 || newest >= last->id)
		return code;
	log_warning("%s is another database than that of %s: continuing with later sweeps, counters begin at 0",
		    push->db_path, state->path);
	push->since_us = last->wall_us + 1;
	push->restored = false;
	return begin(push, err);
}

static int open_database(struct push *push, struct error *err)
{
	bool complete = true;
	int code = push->reader ? 0 : reader_open(push->db_path, &push->reader, err);

	if (code == 0 && !push->state.origin.id)
		code = begin(push, err);
	else if (code == 0)
		code = check_database(push, err);
	if (code < 0 || push->restored)
		return code;
	code = push_state_restore(&push->state, push->reader, &complete, err);
	/* The places of ports among the counters have changed. */
	push_source_done(&push->source);
	if (code == 0 && !complete)
		log_warning("the samples up to the cursor were removed by retention: counters begin at 0 again");
	push->restored = code == 0;
	return code;
}

/* Every sweep that is stored. Return: 1; 0: a stop or reload was requested; or an error. */
static int push_stored(struct push *push, struct error *err)
{
	struct push_state *state = &push->state;
	int code = open_database(push, err);

	while (code == 0 && !push_target_ends(&push->target)) {
		int64_t before = state->acknowledged.id;

		code = push_sweep(&push->source, push->reader, err);
		if (code == 0 && state->acknowledged.id == before)
			break;
		if (code > 0)
			code = state->acknowledged.wall_us - state->stored.wall_us < STORE_COUNTERS_US ? 0 :
				push_state_store(state, err);
	}
	if (code == 0 && !push->target.once && !push_target_ends(&push->target))
		code = push_present(&push->source, push->reader, err);
	heap_give_back();
	return code < 0 ? code : !push_target_ends(&push->target);
}

static void report(const struct push_target *target, int64_t begin_us)
{
	double seconds = (double)(clock_boottime_us(clock_system()) - begin_us) / 1e6;

	log_info("%llu sample%s in %llu batch%s to %s in %.3f s: %.0f samples/s, %.1f bytes per sample; "
		 "%llu sample%s rejected, %llu attempt%s failed",
		 (unsigned long long)target->samples, text_plural(target->samples),
		 (unsigned long long)target->batches,
		 target->batches == 1 ? "" : "es", target->receiver.shown, seconds,
		 (double)target->samples / (seconds > 0 ? seconds : 1),
		 target->samples ? (double)target->bytes / (double)target->samples : 0,
		 (unsigned long long)target->samples_rejected,
		 text_plural((unsigned long long)target->samples_rejected), (unsigned long long)target->attempts_failed,
		 text_plural((unsigned long long)target->attempts_failed));
}

/* Until a stop or reload is requested; with --once until every stored sweep is acknowledged. */
static int push_all(struct push *push, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t begin_us = clock_boottime_us(clock);
	int code;

	service_notify("READY=1");
	while ((code = push_stored(push, err)) != 0 && !push->target.once && !push_target_ends(&push->target)) {
		if (code == ERR_NOMEM || code == ERR_USAGE)
			break;
		if (code < 0) {
			if (code != push->last_code && err)
				log_warning("%s; trying again", err->text);
			push->restored = false;
			reader_close(push->reader);
			push->reader = NULL;
		}
		push->last_code = code;
		clock->sleep_until(clock->ctx, clock_boottime_us(clock) + POLL_US);
	}
	/* An orderly end: the next start need not add up the deltas of the last minutes. */
	if (push->restored && !push->state.ahead && push->state.acknowledged.id > push->state.stored.id)
		push_state_store(&push->state, NULL);
	report(&push->target, begin_us);
	return code < 0 && !push_target_ends(&push->target) ? code : 0;
}

/* FILE of --cursor, or a file beside the database with a number that belongs to the target. */
static void cursor_path(const char *given, const char *db_path, const char *url, char *ret, size_t size)
{
	const char *host = strstr(url, "://"), *user_end;
	uint64_t hash = 0;

	/* Another password is not another receiver. */
	host = host ? host + 3 : url;
	user_end = memchr(host, '@', strcspn(host, "/?#"));
	for (const char *at = url; *at; at++)
		if (!user_end || at < host || at > user_end)
			hash = map_mix(hash ^ (unsigned char)*at);
	if (given)
		snprintf(ret, size, "%s", given);
	else
		snprintf(ret, size, "%s.push-%08x", db_path, (unsigned)hash);
}

static int make_labels(const struct option_list *list, struct text *ret, struct error *err)
{
	struct option_label labels[OPTION_LIST_MAX];
	struct text chars = { 0 };
	int code = options_labels(list, labels, &chars, err);

	for (size_t i = 0; code == 0 && i < list->count; i++)
		metrics_label(ret, labels[i].name, labels[i].value);
	text_done(&chars);
	return code == 0 && text_failed(ret) ? err_nomem(err) : code;
}

static int push_with(struct push *push, const char *cursor, struct error *err)
{
	char path[4096 + 32];
	int code = push_target_open(&push->target, err);

	if (code == 0) {
		cursor_path(cursor, push->db_path, push->target.receiver.url, path, sizeof(path));
		code = push_state_open(&push->state, path, err);
	}
	if (code == 0 && push->since_us && push->state.origin.id)
		log_info("continuing after the last acknowledged sweep; --since is for the first start (%s)", path);
	if (code == 0)
		code = push_all(push, err);
	push_source_done(&push->source);
	push_state_close(&push->state);
	push_target_close(&push->target);
	reader_close(push->reader);
	push->reader = NULL;
	push->restored = false;
	return code;
}

/* Files that are read again on SIGHUP. */
struct files {
	struct settings settings;
	struct name_map *names;
	struct text url;
};

static void files_done(struct files *files)
{
	name_map_destroy(files->names);
	settings_done(&files->settings);
	text_done(&files->url);
}

static int load(const char *url, const char *token_path, const char *settings_path, const struct options *options,
		struct files *ret, struct error *err)
{
	int code = options_url("remote-write", url, &ret->url, err);

	options_warn_exposed(*url == '@' ? url + 1 : NULL);
	options_warn_exposed(token_path);
	if (code == 0)
		code = settings_load(settings_path, &ret->settings, err);
	return code < 0 ? code : options_name_map(options, &ret->names, err);
}

int push_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const char *cursor = NULL, *settings_path = NULL, *since = NULL, *url = NULL;
	struct option_list labels = { 0 };
	int64_t batch = 10000;
	struct push push = { .state.lock_fd = -1, .target.receiver.option = "remote-write" };
	struct push_target *target = &push.target;
	const struct option_spec specs[] = {
		OPT_TEXT("remote-write", 0, "URL", &url, "receiver: http(s)://... or @FILE with it (required)"),
		OPT_TEXT("since", 0, "TIME", &since, "first start: begin at this time (at the newest sweep)"),
		OPT_LIST("label", 0, "NAME=VALUE", &labels, "add a label to every series: fabric=a; repeatable"),
		OPT_TEXT("token-file", 0, "FILE", &target->receiver.token_path, "send the token in this file (none)"),
		OPT_TEXT("ca-file", 0, "FILE", &target->receiver.ca_path,
			 "certificates to verify the receiver (the system's)"),
		OPT_TEXT("cursor", 0, "FILE", &cursor, "file of what was acknowledged (beside the database)"),
		OPT_FLAG("once", 0, &target->once, "send what is stored and exit"),
		{ .name = "batch", .kind = OPTION_NUMBER, .argument = "N", .help = "samples per request (10000)",
		  .target = &batch, .least = 1, .most = 100000 },
		OPT_SPAN_OR_0("unchanged", 0, &push.source.unchanged_us,
			      "send unchanged values once per SPAN (0: each sweep)"),
		OPT_TEXT("settings", 0, "FILE", &settings_path, "settings file, for rails (" SETTINGS_DEFAULT_PATH ")"),
		{ 0 },
	};
	struct files files = { .names = NULL };
	struct text label_text = { 0 };
	struct options options;
	char path[4096];
	int code = options_parse(command, COMMON_DB | COMMON_NAMES, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options, err);
	if (code == 0 && !url)
		code = options_usage_error(command, err, "--remote-write URL is required");
	if (code == 0)
		code = load(url, target->receiver.token_path, settings_path, &options, &files, err);
	if (code == 0 && push.source.unchanged_us >= STALE_US)
		code = options_usage_error(command, err,
					   "--unchanged must be less than 5m: a series without samples becomes stale");
	if (code == 0 && since)
		code = when_parse(since, options.now_us, &push.since_us, err);
	if (code == 0)
		code = make_labels(&labels, &label_text, err);
	if (code == 0)
		code = options_db_path(&options, false, path, sizeof(path), err);
	push.db_path = path;
	push.source.labels = text_chars(&label_text);
	push.source.batch = (size_t)batch;
	push.source.state = &push.state;
	push.source.target = target;
	stop_install();
	stop_reload_on_hangup();
	while (code == 0) {
		struct files fresh = { .names = NULL };
		struct error why;

		*target = (struct push_target){ .receiver = target->receiver, .once = target->once };
		target->receiver.url = text_chars(&files.url);
		push.source.names = files.names;
		push.source.settings = &files.settings;
		code = push_with(&push, cursor, err);
		if (code < 0 || !target->reload)
			break;
		if (load(url, target->receiver.token_path, settings_path, &options, &fresh, &why) == 0) {
			log_info("settings, names and URL reloaded");
			files_done(&files);
			files = fresh;
		} else {
			log_warning("not reloaded: %s", why.text);
			files_done(&fresh);
		}
	}
	files_done(&files);
	text_done(&label_text);
	return code;
}
