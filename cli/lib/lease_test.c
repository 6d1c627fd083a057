/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lease_test.c - two hosts and one lease, in virtual time */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/lib/lease.h"
#include "storage/test/test_folder.h"

#define INTERVAL_US (10 * US_PER_S)

/* Both hosts share a clock. While one sleeps, the other one renews until it dies. */
static struct {
	int64_t now_us, dies_us, renewed_us;
	struct lease *active;
	int failures;
} world;

static int64_t now(void *ctx)
{
	(void)ctx;
	return world.now_us;
}

static void sleep_until(void *ctx, int64_t until_us)
{
	(void)ctx;
	while (world.now_us < until_us) {
		world.now_us += until_us - world.now_us < US_PER_S ? until_us - world.now_us : US_PER_S;
		if (!world.active || world.now_us >= world.dies_us || world.now_us < world.renewed_us + INTERVAL_US)
			continue;
		world.renewed_us = world.now_us;
		world.failures += lease_renew(world.active, NULL) < 0;
	}
}

static const struct clock virtual_clock = { .boottime_us = now, .wall_us = now, .sleep_until = sleep_until };
static char file[sizeof(path) + 8], seen[LEASE_RECORD_SIZE];
static struct lease first, second;

static void remember(const char *what)
{
	snprintf(seen, sizeof(seen), "%s", what);
}

static int make(void **state)
{
	memset(&world, 0, sizeof(world));
	seen[0] = '\0';
	if (test_folder_make(state) < 0)
		return -1;
	snprintf(file, sizeof(file), "%s/lease", folder);
	return lease_init(&first, file, INTERVAL_US, &virtual_clock, NULL) ||
	       lease_init(&second, file, INTERVAL_US, &virtual_clock, NULL);
}

#define LEASE_TEST(name) TEST_WITH(name, make, test_folder_remove)

LEASE_TEST(a_lease_without_an_owner_is_taken_in_half_a_sweep)
{
	assert_true(lease_wait(&first, remember));
	assert_int_equal(world.now_us, INTERVAL_US / 2);
	assert_string_equal(seen, "");
}

LEASE_TEST(the_other_host_takes_over_within_three_sweeps_of_the_last_renewal)
{
	assert_true(lease_wait(&first, remember));
	world.active = &first;
	world.dies_us = world.now_us + 10 * INTERVAL_US + 1;
	assert_true(lease_wait(&second, remember));
	assert_string_equal(seen, first.owner);
	assert_int_equal(world.failures, 0);
	assert_true(world.renewed_us >= 10 * INTERVAL_US);
	assert_in_range(world.now_us - world.renewed_us, 2 * INTERVAL_US, 3 * INTERVAL_US);
}

LEASE_TEST(a_host_that_stood_still_does_not_poll_again)
{
	struct error err = { 0 };

	assert_true(lease_wait(&first, remember));
	assert_true(lease_wait(&second, remember));
	assert_int_equal(lease_renew(&first, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, second.owner));
	lease_release(&first);
	assert_int_equal(lease_renew(&second, NULL), 0);
}

LEASE_TEST(a_released_lease_is_taken_at_once)
{
	int64_t released_us;

	assert_true(lease_wait(&first, remember));
	assert_int_equal(lease_renew(&first, NULL), 0);
	lease_release(&first);
	released_us = world.now_us;
	assert_true(lease_wait(&second, remember));
	assert_int_equal(world.now_us - released_us, INTERVAL_US / 2);
}

LEASE_TEST(a_renewal_that_took_too_long_is_a_loss)
{
	assert_true(lease_wait(&first, remember));
	first.interval_us = -2;
	assert_int_equal(lease_renew(&first, NULL), ERR_UNAVAILABLE);
}

LEASE_TEST(a_file_that_is_not_a_lease_is_claimed)
{
	test_file_write(file, "\x1b[2J\0rubbish", 12);
	assert_int_equal(lease_renew(&first, NULL), ERR_UNAVAILABLE);
	assert_true(lease_wait(&first, remember));
	assert_int_equal(lease_renew(&first, NULL), 0);
}

LEASE_TEST(an_impossible_interval_counts_as_an_hour)
{
	static const char record[] = "other:1:2 9223372036854775807 1\n";

	test_file_write(file, record, strlen(record));
	assert_true(lease_wait(&first, remember));
	assert_in_range(world.now_us, 2 * 3600 * US_PER_S, 2 * 3600 * US_PER_S + INTERVAL_US);
}

/* Another user of the folder may place links there. */
LEASE_TEST(links_are_not_followed)
{
	char victim[sizeof(path) + 8], name[sizeof(file) + 16];
	struct error err = { 0 };
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", folder);
	test_file_write(victim, "precious", 8);
	snprintf(name, sizeof(name), "%s.%d", file, (int)getpid());
	assert_int_equal(symlink(victim, name), 0);
	assert_true(lease_wait(&first, remember));
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 8);

	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink(victim, file), 0);
	assert_int_equal(lease_renew(&first, NULL), ERR_IO);
	assert_int_equal(lease_init(&first, file, INTERVAL_US, &virtual_clock, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "is a symbolic link"));
}

/* Its open would wait for another process. */
LEASE_TEST(a_fifo_is_an_error)
{
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(lease_init(&first, file, INTERVAL_US, &virtual_clock, NULL), ERR_IO);
}

LEASE_TEST(a_missing_folder_is_an_error)
{
	struct error err = { 0 };

	snprintf(file, sizeof(file), "%s/none/lease", folder);
	assert_int_equal(lease_init(&first, file, INTERVAL_US, &virtual_clock, &err), ERR_IO);
	assert_non_null(strstr(err.text, file));
}
