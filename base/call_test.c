/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* call_test.c - output, errors and the end of commands in threads */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/call.h"
#include "base/log.h"
#include "base/unit_test.h"

enum { WAIT_MS = 10000, MOST = 8 };

/* Print the arguments; "wait" waits to be stopped, "fail" fails, "warn" logs. */
static int command(const struct call_context *context, int argc, char **argv, struct error *err)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "fail"))
			return err_set(err, ERR_USAGE, "a failure");
		if (!strcmp(argv[i], "warn"))
			log_warning("width %u", context->columns);
		while (!strcmp(argv[i], "wait") && !*context->stop)
			usleep(1000);
		fputs(argv[i], context->out);
	}
	return argc;
}

static struct call *start(int file, const char *first, const char *second)
{
	const struct call_settings settings = { .columns = 97, .most = MOST, .file = file };
	const char *const argv[] = { "name", first, second, NULL };
	struct call *call = NULL;

	assert_int_equal(call_start(command, argv, &settings, &call, NULL), 0);
	return call;
}

static const struct call_result *wait_end(struct call *call)
{
	assert_true(call_wait(call, WAIT_MS));
	return call_result(call);
}

TEST(output_exit_status_and_log_are_kept_apart)
{
	struct call *call = start(-1, "one", "warn");
	const struct call_result *result = wait_end(call);

	assert_int_equal(result->code, 3);
	assert_string_equal(text_chars(&result->output), "onewarn");
	assert_string_equal(text_chars(&result->warnings), "ibwire: warning: width 97\n");
	assert_false(result->cut);
	call_destroy(call);
}

TEST(error_of_the_command_is_that_of_the_call)
{
	struct call *call = start(-1, "one", "fail");
	const struct call_result *result = wait_end(call);

	assert_int_equal(result->code, ERR_USAGE);
	assert_string_equal(result->err.text, "a failure");
	assert_string_equal(text_chars(&result->output), "one");
	call_destroy(call);
}

TEST(output_beyond_the_limit_is_dropped)
{
	char bytes[2 * MOST] = "";
	int file = memfd_create("test", MFD_CLOEXEC);

	for (int i = 0; i < 2; i++) {
		struct call *call = start(i ? file : -1, "12345", "6789");
		const struct call_result *result = wait_end(call);

		assert_int_equal(result->code, 3);
		assert_true(result->cut);
		assert_int_equal(result->size, MOST);
		if (!i)
			assert_string_equal(text_chars(&result->output), "12345678");
		call_destroy(call);
	}
	assert_int_equal(pread(file, bytes, sizeof(bytes), 0), MOST);
	assert_string_equal(bytes, "12345678");
	close(file);
}

TEST(output_that_cannot_be_written_is_an_error)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct call *call = start(full, "one", NULL);
	const struct call_result *result = wait_end(call);

	assert_int_equal(result->code, ERR_IO);
	assert_string_equal(result->err.text, "cannot write the output: No space left on device");
	call_destroy(call);
	close(full);
}

TEST(stopped_call_ends_and_writes_nothing_more)
{
	struct call *call = start(-1, "wait", NULL);
	const struct call_result *result;

	assert_false(call_wait(call, 20));
	assert_null(call_result(call));
	call_stop(call);
	result = wait_end(call);
	assert_int_equal(result->code, ERR_IO);
	assert_int_equal(result->size, 0);
	call_destroy(call);
}

/* Under the sanitizers a leak or a use of freed memory fails the test. */
TEST(call_that_is_destroyed_before_its_end_frees_itself)
{
	for (int i = 0; i < 50; i++)
		call_destroy(start(-1, i % 2 ? "wait" : "one", NULL));
	call_destroy(NULL);
	usleep(100000);
}

TEST(call_without_a_function_is_an_error)
{
	const struct call_settings settings = { .file = -1 };
	struct call *call = NULL;

	assert_int_equal(call_start(NULL, (const char *const[]){ "name", NULL }, &settings, &call, NULL),
			 ERR_UNAVAILABLE);
	assert_null(call);
}
