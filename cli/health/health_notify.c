/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/health/health_notify.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/health/health.h"
#include "cli/lib/options.h"
#include "export/result.h"

/* A file in memory for a child, at its beginning. */
static int memory_file(const char *chars, size_t len)
{
	int fd = memfd_create("ibwire notification", 0);

	if (fd >= 0 && ((len && write(fd, chars, len) != (ssize_t)len) || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * In the child: execute the command with the JSON as stdin, and stderr as stdout. Only words and numbers of ibwire are
 * in the environment, no string of the fabric.
 */
static void run_command(const struct notify *notify, const struct notification *what)
{
	int json = memory_file(what->json, what->len);
	char id[24];

	signal(SIGPIPE, SIG_DFL);
	if (json < 0 || dup2(json, STDIN_FILENO) < 0)
		return;
	close(json);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	snprintf(id, sizeof(id), "%" PRId64, what->id);
	setenv("IBWIRE_ID", id, 1);
	setenv("IBWIRE_CHANGE", what->change, 1);
	setenv("IBWIRE_SEVERITY", what->severity, 1);
	setenv("IBWIRE_KIND", what->kind, 1);
	execl("/bin/sh", "sh", "-c", notify->command, (char *)NULL);
}

/* In the child: post the JSON. Return: was it accepted? */
static bool post(const struct notify *notify, const struct notification *what)
{
	static const char *const headers[] = { "Content-Type: application/json", "Expect:", NULL };
	struct http_post post;
	struct error why = { 0 };
	char reason[512];
	long status = 0;

	if (!http_post_open(&post, &notify->receiver, NULL) ||
	    http_post_prepare(&post, headers, what->json, what->len, &why) < 0) {
		log_warning("%s: %s", notify->receiver.shown, *why.text ? why.text : "out of memory");
		return false;
	}
	status = http_post_run(&post);
	if (status >= 200 && status < 300)
		return true;
	http_post_describe(&post, status, reason, sizeof(reason));
	log_warning("%s: %s", notify->receiver.shown, reason);
	return false;
}

/* Start a child. Return: its id; -1: failed. */
static pid_t start_child(const struct notify *notify, const struct notification *what)
{
	pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!notify->command)
			_exit(post(notify, what) ? EXIT_SUCCESS : EXIT_FAILURE);
		run_command(notify, what);
		_exit(127);
	}
	if (pid > 0)
		setpgid(pid, pid);
	return pid;
}

void notify_exec(struct notify *notify, const char *command, const struct clock *clock)
{
	*notify = (struct notify){ .option = "--exec", .command = command, .clock = clock };
}

int notify_webhook(struct notify *notify, const char *url, const struct clock *clock, struct error *err)
{
	int code;

	*notify = (struct notify){ .clock = clock, .receiver.option = "webhook" };
	code = options_url(notify->receiver.option, url, &notify->url, err);
	notify->receiver.url = text_chars(&notify->url);
	if (code == 0)
		code = http_receiver_check(&notify->receiver, err);
	if (code < 0)
		text_done(&notify->url);
	notify->option = code == 0 ? "--webhook" : NULL;
	return code;
}

void notify_add(struct notify *notify, const struct moment *moment, int64_t wall_us, const char *change,
		const struct health_row *row)
{
	const struct finding *finding = &row->row.finding;
	struct notification *added = &notify->queue[(notify->first + notify->count) % NOTIFY_QUEUE];
	struct result *result = NULL;
	FILE *stream;
	bool failed;

	if (!notify->option)
		return;
	if (notify->count == NOTIFY_QUEUE) {
		log_warning("%s: the queue is full: finding #%" PRId64 " %s is not delivered", notify->option,
			    finding->id, change);
		return;
	}
	*added = (struct notification){ .id = finding->id, .change = change,
					.severity = finding_severity_name(finding->severity),
					.kind = finding_kind_name(finding->kind) };
	stream = open_memstream(&added->json, &added->len);
	if (stream)
		result = health_result(&(struct options){ .format = RESULT_JSON, .out = stream }, true);
	health_put_row(result, moment, wall_us, change, row);
	failed = result_finish(result, NULL) < 0;
	result_destroy(result);
	failed |= stream && (fclose(stream) || !added->json);
	if (failed) {
		log_warning("%s: out of memory: finding #%" PRId64 " %s is not delivered", notify->option, finding->id,
			    change);
		free(added->json);
		return;
	}
	notify->count++;
}

static void drop_first(struct notify *notify)
{
	free(notify->queue[notify->first].json);
	notify->first = (notify->first + 1) % NOTIFY_QUEUE;
	notify->count--;
	notify->attempts = 0;
	notify->next_us = 0;
}

/* @why: not delivered; NULL: delivered */
static void end_delivery(struct notify *notify, const char *why)
{
	const struct notification *what = &notify->queue[notify->first];
	bool last = ++notify->attempts >= NOTIFY_ATTEMPTS;

	notify->pid = 0;
	if (why)
		log_warning("%s: finding #%" PRId64 " %s: %s, attempt %u of %d%s", notify->option, what->id,
			    what->change, why, notify->attempts, NOTIFY_ATTEMPTS, last ? ": not delivered" : "");
	if (!why || last)
		drop_first(notify);
	else
		notify->next_us = clock_boottime_us(notify->clock) + (US_PER_S << (notify->attempts - 1));
}

static void check_child(struct notify *notify, int64_t now_us)
{
	char why[64];
	int status;
	pid_t ended = waitpid(notify->pid, &status, WNOHANG);

	if (ended == 0 && now_us < notify->deadline_us)
		return;
	if (ended == 0) {
		kill(-notify->pid, SIGKILL);
		waitpid(notify->pid, &status, 0);
		snprintf(why, sizeof(why), "timed out after %d s", NOTIFY_LIMIT_S);
		end_delivery(notify, why);
		return;
	}
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "ended by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
	end_delivery(notify, status ? why : NULL);
}

void notify_step(struct notify *notify)
{
	int64_t now_us;

	if (!notify->option)
		return;
	now_us = clock_boottime_us(notify->clock);
	if (notify->pid)
		check_child(notify, now_us);
	if (notify->pid || !notify->count || now_us < notify->next_us)
		return;
	notify->deadline_us = now_us + NOTIFY_LIMIT_S * US_PER_S;
	notify->pid = start_child(notify, &notify->queue[notify->first]);
	if (notify->pid < 0)
		end_delivery(notify, "cannot be started");
}

void notify_close(struct notify *notify)
{
	int64_t end_us;

	if (!notify->option)
		return;
	end_us = clock_boottime_us(notify->clock) + NOTIFY_LIMIT_S * US_PER_S;
	while (notify->count && clock_boottime_us(notify->clock) < end_us) {
		notify_step(notify);
		usleep(20 * 1000);
	}
	if (notify->pid > 0) {
		kill(-notify->pid, SIGKILL);
		waitpid(notify->pid, NULL, 0);
	}
	if (notify->count)
		log_warning("%s: stopped with %zu change%s not delivered", notify->option, notify->count,
			    text_plural(notify->count));
	while (notify->count)
		drop_first(notify);
	text_done(&notify->url);
	*notify = (struct notify){ 0 };
}
