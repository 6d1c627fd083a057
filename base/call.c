/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"

enum { NICE = 10 };

struct call {
	call_fn *run;
	char **argv;
	int argc;
	struct call_settings settings;
	struct call_result result; /* of the thread until ended is set */
	atomic_bool stop, ended;
	atomic_int owners;         /* the caller and the thread: the last one frees it */
	int event;
};

static void release(struct call *call)
{
	if (atomic_fetch_sub(&call->owners, 1) > 1)
		return;
	for (int i = 0; call->argv && i < call->argc; i++)
		free(call->argv[i]);
	free(call->argv);
	if (call->event >= 0)
		close(call->event);
	if (call->settings.file >= 0)
		close(call->settings.file);
	if (call->result.value)
		call->settings.free_value(call->result.value);
	text_done(&call->result.warnings);
	text_done(&call->result.output);
	free(call);
}

/* Return: as write(), but less than @len bytes only on an error. */
static ssize_t write_output(void *ctx, const char *bytes, size_t len)
{
	struct call *call = ctx;
	struct call_result *result = &call->result;
	size_t room = call->settings.most - result->size, count = len < room ? len : room;

	if (call->stop) {
		errno = EINTR;
		return 0;
	}
	result->cut |= count < len;
	if (call->settings.file < 0) {
		text_append_bytes(&result->output, bytes, count);
		errno = ENOMEM;
		result->size = result->output.len;
		return text_failed(&result->output) ? 0 : (ssize_t)len;
	}
	for (ssize_t done; count; count -= (size_t)done, bytes += done, result->size += (size_t)done) {
		done = pwrite(call->settings.file, bytes, count, (off_t)result->size);
		if (done <= 0)
			return 0;
	}
	return (ssize_t)len;
}

static void *run(void *ctx)
{
	struct call *call = ctx;
	struct call_result *result = &call->result;
	FILE *out = fopencookie(call, "w", (cookie_io_functions_t){ .write = write_output });
	const struct call_context context = { .out = out, .columns = call->settings.columns, .stop = &call->stop,
					      .most = call->settings.truncate ? 0 : call->settings.most,
					      .value = call->settings.free_value ? &result->value : NULL,
					      .ctx = call->settings.ctx };
	bool lost;

	/* Of this thread alone, on Linux: the main thread comes first. */
	if (!call->settings.is_urgent)
		setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	if (out) {
		log_collect(&result->warnings);
		result->code = call->run(&context, call->argc, call->argv, &result->err);
		log_collect(NULL);
		lost = ferror(out);
		errno = EIO;
		lost |= fclose(out) != 0;
		if (lost && result->code >= 0)
			result->code = err_set(&result->err, ERR_IO, "cannot write the output: %s", strerror(errno));
	} else {
		result->code = err_nomem(&result->err);
	}
	heap_give_back();
	atomic_store(&call->ended, true);
	/* The counter of the event cannot be full. */
	if (write(call->event, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0)
		call->stop = true;
	release(call);
	return NULL;
}

static bool copy_arguments(struct call *call, const char *const *argv)
{
	while (argv[call->argc])
		call->argc++;
	call->argv = calloc((size_t)call->argc + 1, sizeof(*call->argv));
	for (int i = 0; call->argv && i < call->argc; i++)
		if (!(call->argv[i] = strdup(argv[i])))
			return false;
	return call->argv;
}

int call_start(call_fn *function, const char *const *argv, const struct call_settings *settings, struct call **ret,
	       struct error *err)
{
	struct call *call;
	pthread_t thread;
	int failure;

	if (!function)
		return err_set(err, ERR_UNAVAILABLE, "commands cannot be run here");
	call = calloc(1, sizeof(*call));
	if (!call)
		return err_nomem(err);
	*call = (struct call){ .run = function, .settings = *settings, .owners = 2,
			       .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (settings->file >= 0)
		call->settings.file = fcntl(settings->file, F_DUPFD_CLOEXEC, 0);
	failure = call->event < 0 || (settings->file >= 0 && call->settings.file < 0) ? errno :
		  copy_arguments(call, argv) ? thread_start(run, call, &thread) : ENOMEM;
	if (failure) {
		call->owners = 1;
		release(call);
		return err_set(err, ERR_NOMEM, "cannot start a command: %s", strerror(failure));
	}
	pthread_detach(thread);
	*ret = call;
	return 0;
}

const struct call_result *call_result(const struct call *call)
{
	return atomic_load(&call->ended) ? &call->result : NULL;
}

void *call_take_value(struct call *call)
{
	void *value = call_result(call) ? call->result.value : NULL;

	if (value)
		call->result.value = NULL;
	return value;
}

int call_descriptor(const struct call *call)
{
	return call->event;
}

void call_stop(struct call *call)
{
	call->stop = true;
}

bool call_wait(const struct call *call, int wait_ms)
{
	poll(&(struct pollfd){ .fd = call->event, .events = POLLIN }, 1, wait_ms);
	return call_result(call);
}

void call_destroy(struct call *call)
{
	if (!call)
		return;
	call_stop(call);
	release(call);
}
