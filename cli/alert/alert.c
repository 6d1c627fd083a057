/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alert.c - `ibwire alert`: open findings to Alertmanager
 *
 * The database is the state: what is open is sent, again and again, and ends by itself if this process does not come
 * back. At the start Alertmanager is asked what it has as firing, so that findings that have closed meanwhile end too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/service.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/alert/alert_set.h"
#include "cli/command.h"
#include "cli/lib/http_post.h"
#include "cli/lib/options.h"
#include "facts/health_rows.h"
#include "facts/moment.h"
#include "storage/reader.h"

#define POLL_US (500 * US_PER_MS)
#define BACKOFF_MOST_US (30 * US_PER_S)
/* Without sweeps for so long there is an alert about them, unless one is firing already. */
#define STALE_US (60 * US_PER_S)
#define ALERTS_PATH "/api/v2/alerts"
/* The end of an alert, in intervals, if it is not sent again. */
enum { REPEAT_DEFAULT_S = 60, INTERVALS = 5, LIST_MOST = 64 << 20 };

/* An Alertmanager. On the heap: requests keep the addresses of receivers. */
struct target {
	struct text url, list_url; /* the places of its alerts, and of the list of ours */
	struct http_receiver receiver, list_receiver;
	struct http_post post, list;
};

struct sender {
	const char *db_path;
	const char *typed;              /* --alertmanager */
	struct http_receiver options;   /* --token-file and --ca-file */
	int64_t repeat_us;
	bool once;
	struct alert_set set;
	struct target *target;
	struct reader *reader;
	int64_t shown;                  /* sweep that the set is of */
	int64_t stale_us;               /* boot time since when sweeps are seen to be stale; 0: they are not */
	int64_t unread_us;              /* boot time since when the database cannot be read; 0: it can */
	int64_t send_us, retry_us, backoff_us; /* boot time: next sending, not before; the last pause */
	int last_code;                  /* of the database */
	bool is_updated;                /* the set has what the database has */
	bool is_learned;                /* what Alertmanager has is known */
	bool is_failing;                /* was logged */
	char refused[512];              /* the last reason why alerts were refused */
};

/* --- the findings of the database --- */

/* Is it to be known? A finding that is clearing is open; one that another one explains is part of that. */
static bool is_wanted(const struct health_row *row)
{
	return !row->row.finding.closed_us && row->row.finding.severity > FINDING_INFO && !row->row.origin &&
	       row->place != HEALTH_ACKNOWLEDGED;
}

struct closing {
	struct sender *sender;
	bool is_learning, failed;
};

static bool close_finding(void *ctx, const struct finding_row *row)
{
	struct closing *closing = ctx;
	struct alert_set *set = &closing->sender->set;

	if (!row->finding.closed_us)
		return true;
	if (closing->is_learning && row->finding.severity > FINDING_INFO && !row->origin)
		closing->failed |= !alert_set_learn_closed(set, row);
	alert_set_close(set, row->finding.id, row->finding.closed_us);
	return !closing->failed;
}

/* Findings that have closed within ALERT_ENDED_US. @is_learning: Alertmanager may have each of them */
static int load_closed(struct sender *sender, bool is_learning, struct error *err)
{
	struct closing closing = { .sender = sender, .is_learning = is_learning };
	int64_t now_us = clock_wall_us(clock_system());
	const struct finding_query query = { .since_us = now_us - ALERT_ENDED_US, .until_us = now_us };
	int code = reader_findings(sender->reader, &query, close_finding, &closing, err);

	return code == 0 && closing.failed ? err_nomem(err) : code;
}

static bool add_stale(struct sender *sender, const struct db_status *status)
{
	int64_t now_us = clock_boottime_us(clock_system()), wall_us = clock_wall_us(clock_system());
	bool is_stale = health_is_stale(&status->last, when_age_us(wall_us, status->last.wall_us));

	if (!is_stale)
		sender->stale_us = 0;
	else if (!sender->stale_us)
		sender->stale_us = now_us;
	if (!is_stale || (now_us < sender->stale_us + STALE_US && !alert_set_has_stale(&sender->set)))
		return true;
	return alert_set_add_stale(&sender->set, status->last.wall_us,
				   "no sweep has been stored: new findings are not detected, and open ones may have "
				   "ended");
}

static int load(struct sender *sender, struct error *err)
{
	const struct health_filter all = { .all = true };
	struct moment moment = { .reader = sender->reader };
	struct db_status status;
	struct health_rows rows;
	bool good = true;
	int code = reader_status(sender->reader, &status, err);

	if (code == 0)
		code = health_load(&moment, &all, &(struct finding_query){ .at_us = 0 }, &rows, err);
	if (code < 0)
		return code;
	alert_set_begin(&sender->set);
	for (size_t i = 0; i < rows.count && good; i++)
		if (is_wanted(&rows.list[i]))
			good = alert_set_add(&sender->set, &rows.list[i].row, rows.list[i].place != HEALTH_CLEARING);
	health_rows_done(&rows);
	if (!good || !add_stale(sender, &status))
		return err_nomem(err);
	alert_set_end(&sender->set, clock_wall_us(clock_system()));
	sender->shown = status.last.id;
	return load_closed(sender, false, err);
}

/* The database cannot be read: after a while, that is an alert. @why: what is logged */
static int add_unread(struct sender *sender, const char *why)
{
	int64_t now_us = clock_boottime_us(clock_system()), since_us;
	struct text summary = { 0 };
	int code = 0;

	if (!sender->unread_us)
		sender->unread_us = now_us;
	since_us = clock_wall_us(clock_system()) - (now_us - sender->unread_us);
	if (now_us < sender->unread_us + STALE_US || alert_set_has_stale(&sender->set))
		return 0;
	text_appendf(&summary, "new findings are unknown, and those that fire may have ended: %s", why);
	if (text_failed(&summary) || !alert_set_add_stale(&sender->set, since_us, summary.chars))
		code = ERR_NOMEM;
	text_done(&summary);
	return code;
}

/* Bring the set up to date. Without the database the findings remain as they are: nothing has ended. */
static int update(struct sender *sender, struct error *err)
{
	int64_t newest = 0;
	int code = sender->reader ? 0 : reader_open(sender->db_path, &sender->reader, err);

	if (code == 0)
		code = reader_newest(sender->reader, &newest, err);
	if (code == 0 && (newest != sender->shown || !sender->is_updated))
		code = load(sender, err);
	sender->is_updated = code == 0;
	if (code == 0) {
		if (sender->last_code < 0)
			log_info("%s can be read again", sender->db_path);
		sender->unread_us = 0;
	} else {
		if (code != sender->last_code && err && !sender->once)
			log_warning("%s; trying again, alerts stay as they are", err->text);
		reader_close(sender->reader);
		sender->reader = NULL;
	}
	sender->last_code = code;
	if (code < 0 && code != ERR_NOMEM && add_unread(sender, err ? err->text : "the database") < 0)
		return err_nomem(err);
	return code;
}

/* --- requests --- */

/* Nothing was accepted: try again later. */
static int fail(struct sender *sender, const char *reason, struct error *err)
{
	if (!sender->is_failing && !sender->once && !stop_requested())
		log_warning("%s: %s; trying again until it responds", sender->target->receiver.shown, reason);
	sender->is_failing = true;
	sender->backoff_us = sender->backoff_us ? 2 * sender->backoff_us : US_PER_S;
	if (sender->backoff_us > BACKOFF_MOST_US)
		sender->backoff_us = BACKOFF_MOST_US;
	sender->retry_us = clock_boottime_us(clock_system()) + sender->backoff_us;
	return err_set(err, ERR_UNAVAILABLE, "%s: %s", sender->target->receiver.shown, reason);
}

static int request(struct sender *sender, struct http_post *post, const struct text *body, long *ret_status,
		   struct error *err)
{
	static const char *const headers[] = { "Content-Type: application/json", "Expect:", NULL };
	int code = http_post_prepare(post, headers, body ? text_chars(body) : NULL, body ? body->len : 0, err);
	char reason[512];

	*ret_status = 0;
	if (code == ERR_NOMEM)
		return code;
	if (code == 0)
		*ret_status = http_post_run(post);
	http_post_describe(post, *ret_status, reason, sizeof(reason));
	return *ret_status ? 0 : fail(sender, reason, err);
}

/* What Alertmanager has as firing. One that does not say may have what has closed lately. */
static int learn(struct sender *sender, struct error *err)
{
	enum { NOT_FOUND = 404, NOT_ALLOWED = 405, NOT_IMPLEMENTED = 501 };
	struct text list = { 0 };
	char reason[512];
	long status;
	int code;

	sender->target->list.wanted = &list;
	sender->target->list.wanted_most = LIST_MOST;
	code = request(sender, &sender->target->list, NULL, &status, err);
	http_post_describe(&sender->target->list, status, reason, sizeof(reason));
	if (code == 0 && status == 200)
		code = text_failed(&list) ? err_nomem(err) : alert_set_learn(&sender->set, text_chars(&list), err);
	else if (code == 0 && (status == NOT_FOUND || status == NOT_ALLOWED || status == NOT_IMPLEMENTED))
		code = load_closed(sender, true, err);
	else if (code == 0)
		code = fail(sender, reason, err);
	sender->target->list.wanted = NULL;
	text_done(&list);
	if (code == ERR_IO && err) {
		snprintf(reason, sizeof(reason), "%s", err->text);
		code = fail(sender, reason, err);
	}
	sender->is_learned = code == 0;
	return code == 0 ? load(sender, err) : code;
}

static int send_set(struct sender *sender, struct error *err)
{
	const char *shown = sender->target->receiver.shown;
	int64_t now_us = clock_wall_us(clock_system());
	struct text body = { 0 };
	char reason[512];
	long status = 0;
	/* Without the database, its open findings are not known: those of Alertmanager stay. */
	int code = sender->is_learned || !sender->reader ? 0 : learn(sender, err);

	if (code < 0)
		return code;
	alert_set_write(&sender->set, now_us + INTERVALS * sender->repeat_us, &body);
	code = text_failed(&body) ? err_nomem(err) : request(sender, &sender->target->post, &body, &status, err);
	text_done(&body);
	http_post_describe(&sender->target->post, status, reason, sizeof(reason));
	/* 400 is about some of the alerts: the others are accepted. */
	if (code == 0 && (status < 200 || (status >= 300 && status != 400)))
		code = fail(sender, reason, err);
	if (code < 0)
		return code;
	if (sender->is_failing)
		log_info("%s responds again", shown);
	if (status == 400 && strcmp(reason, sender->refused) && !sender->once)
		log_warning("%s refuses alerts: %s", shown, reason);
	snprintf(sender->refused, sizeof(sender->refused), "%s", status == 400 ? reason : "");
	sender->is_failing = false;
	sender->backoff_us = 0;
	sender->send_us = clock_boottime_us(clock_system()) + sender->repeat_us;
	alert_set_sent(&sender->set, now_us);
	return status == 400 ? err_set(err, ERR_UNAVAILABLE, "%s refuses alerts: %s", shown, reason) : 0;
}

/* --- the receiver --- */

static void target_destroy(struct target *target)
{
	if (!target)
		return;
	http_post_close(&target->post);
	http_post_close(&target->list);
	text_done(&target->url);
	text_done(&target->list_url);
	free(target);
}

static int make_urls(struct target *target, const char *typed, struct error *err)
{
	struct text *url = &target->url;
	size_t path_len = strlen(ALERTS_PATH);
	int code = options_url("alertmanager", typed, url, err);

	if (code < 0)
		return code;
	if (strpbrk(text_chars(url), "?#"))
		return err_set(err, ERR_USAGE, "--alertmanager requires an URL without a query");
	while (url->len && url->chars[url->len - 1] == '/')
		url->chars[--url->len] = '\0';
	if (url->len < path_len || strcmp(url->chars + url->len - path_len, ALERTS_PATH))
		text_append(url, ALERTS_PATH);
	text_appendf(&target->list_url, "%s?filter=finding%%3D~%%22.%%2B%%22", text_chars(url));
	return text_failed(url) || text_failed(&target->list_url) ? err_nomem(err) : 0;
}

/* Read the files of --alertmanager and --ca-file. */
static int target_create(const struct sender *sender, struct target **ret, struct error *err)
{
	const char *typed = sender->typed;
	struct target *target = calloc(1, sizeof(*target));
	int code = target ? 0 : err_nomem(err);

	if (code == 0) {
		options_warn_exposed(*typed == '@' ? typed + 1 : NULL);
		options_warn_exposed(sender->options.token_path);
		code = make_urls(target, typed, err);
	}
	if (code == 0) {
		target->receiver = sender->options;
		target->receiver.url = text_chars(&target->url);
		target->list_receiver = target->receiver;
		target->list_receiver.url = text_chars(&target->list_url);
		code = http_receiver_check(&target->receiver, err);
	}
	if (code == 0 && (!http_post_open(&target->post, &target->receiver, NULL) ||
			  !http_post_open(&target->list, &target->list_receiver, NULL)))
		code = err_nomem(err);
	if (code < 0) {
		target_destroy(target);
		return code;
	}
	target->post.ends_on_stop = target->list.ends_on_stop = true;
	*ret = target;
	return 0;
}

/* Read the files again. After an error, which is logged, the former contents remain in use. */
static void reload(struct sender *sender)
{
	struct target *fresh;
	struct error err = { 0 };

	if (target_create(sender, &fresh, &err) < 0) {
		log_warning("not reloaded: %s", err.text);
		return;
	}
	/* Another Alertmanager does not have the alerts that were sent so far, nor their ends. */
	if (strcmp(text_chars(&fresh->url), text_chars(&sender->target->url))) {
		alert_set_done(&sender->set);
		sender->is_learned = sender->is_updated = false;
	}
	target_destroy(sender->target);
	sender->target = fresh;
	sender->is_failing = false;
	sender->send_us = sender->retry_us = sender->backoff_us = 0;
	log_info("URL and certificates reloaded");
}

static int run(struct sender *sender, struct error *err)
{
	const struct clock *clock = clock_system();
	int code;

	service_notify("READY=1");
	do {
		int64_t now_us = clock_boottime_us(clock);

		if (stop_take_reload())
			reload(sender);
		/* Without a new sweep, acknowledgements and the age of the newest one change. */
		if (now_us >= sender->send_us || (sender->stale_us && !alert_set_has_stale(&sender->set)))
			sender->is_updated = false;
		code = update(sender, err);
		if (code == ERR_NOMEM || code == ERR_USAGE || (sender->once && code < 0))
			return code;
		if ((sender->reader || sender->set.count) && now_us >= sender->retry_us &&
		    (sender->set.is_changed || now_us >= sender->send_us))
			code = send_set(sender, err);
		if (code == ERR_NOMEM)
			return code;
		if (!sender->once)
			clock->sleep_until(clock->ctx, now_us + POLL_US);
	} while (!sender->once && !stop_requested());
	return sender->once ? code : 0;
}

/* Labels of --label. @chars: of options_labels() */
static int make_labels(const struct option_list *list, struct option_label *ret, struct text *chars, struct error *err)
{
	static const char *const own[] = { "alertname", "finding", "severity", "subject" };
	int code = options_labels(list, ret, chars, err);

	for (size_t i = 0; code == 0 && i < list->count; i++)
		for (size_t j = 0; j < sizeof(own) / sizeof(*own); j++)
			if (!strcmp(ret[i].name, own[j]))
				return err_set(err, ERR_USAGE, "--label: '%s' is a label of every alert", own[j]);
	return code;
}

int alert_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const char *url = NULL;
	struct option_list list = { 0 };
	struct sender sender = { .repeat_us = REPEAT_DEFAULT_S * US_PER_S, .options.option = "alertmanager" };
	const struct option_spec specs[] = {
		OPT_TEXT("alertmanager", 0, "URL", &url, "Alertmanager: http(s)://... or @FILE with it (required)"),
		OPT_LIST("label", 0, "NAME=VALUE", &list, "add a label to every alert: fabric=a; repeatable"),
		OPT_TEXT("token-file", 0, "FILE", &sender.options.token_path, "send the token in this file (none)"),
		OPT_TEXT("ca-file", 0, "FILE", &sender.options.ca_path,
			 "certificates to verify the receiver (the system's)"),
		OPT_SPAN("repeat", 0, &sender.repeat_us, "send open findings again after SPAN (60s)"),
		OPT_FLAG("once", 0, &sender.once, "send what is open and exit"),
		{ 0 },
	};
	struct option_label labels[OPTION_LIST_MAX];
	struct text label_text = { 0 };
	struct options options;
	char path[4096];
	int code = options_parse(command, COMMON_DB, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options, err);
	if (code == 0 && !url)
		code = options_usage_error(command, err, "--alertmanager URL is required");
	if (code == 0)
		code = make_labels(&list, labels, &label_text, err);
	if (code == 0)
		code = options_db_path(&options, false, path, sizeof(path), err);
	sender.db_path = path;
	sender.typed = url;
	if (code == 0)
		code = target_create(&sender, &sender.target, err);
	sender.set.labels = labels;
	sender.set.label_count = list.count;
	stop_install();
	if (!sender.once)
		stop_reload_on_hangup();
	if (code == 0)
		code = run(&sender, err);
	target_destroy(sender.target);
	alert_set_done(&sender.set);
	reader_close(sender.reader);
	text_done(&label_text);
	return code;
}
