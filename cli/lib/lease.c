/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"

/* Sweeps without a renewal after which another host claims the lease; it polls half a sweep later. */
#define SWEEPS_MISSED 2

/* Maximum interval of a record. A longer one is limited to it, so that a damaged record expires. */
#define INTERVAL_MOST_US (INT64_C(3600) * US_PER_S)

/* Others may be able to write to the folder: no link is followed, and no FIFO waited for. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK)

/* The record of a lease that was released. */
#define RELEASED "released"

/* The record: "OWNER INTERVAL_US RENEWALS\n". */
struct record {
	char owner[sizeof(((struct lease *)0)->owner)];
	int64_t interval_us;
	uint64_t renewals;
};

/* Return: 1; 0 without a file, or one that is not a record; ERR_IO. */
static int read_record(const struct lease *lease, struct record *ret, struct error *err)
{
	char line[LEASE_RECORD_SIZE + 1], owner[sizeof(ret->owner)];
	int fd = open(lease->path, O_RDONLY | OPEN_FLAGS);
	ssize_t len;

	*ret = (struct record){ .owner = "" };
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_IO, "cannot read the lease %s: %s", lease->path,
						     strerror(errno));
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len < 0)
		return err_set(err, ERR_IO, "cannot read the lease %s: %s", lease->path, strerror(errno));
	line[len] = '\0';
	if (sscanf(line, "%255s %" SCNd64 " %" SCNu64, owner, &ret->interval_us, &ret->renewals) != 3)
		return 0;
	if (ret->interval_us > INTERVAL_MOST_US)
		ret->interval_us = INTERVAL_MOST_US;
	text_sanitise(owner, strlen(owner), ret->owner, sizeof(ret->owner));
	return 1;
}

/* Replace the file, so that no reader sees half a record. */
static int write_record(const struct lease *lease, const char *owner, struct error *err)
{
	char temporary[PATH_MAX], line[LEASE_RECORD_SIZE];
	int len = snprintf(line, sizeof(line), "%s %" PRId64 " %" PRIu64 "\n", owner, lease->interval_us,
			   lease->renewals);
	int fd, code = 0;

	snprintf(temporary, sizeof(temporary), "%s.%d", lease->path, (int)getpid());
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | OPEN_FLAGS, 0644);
	if (fd < 0 || write(fd, line, (size_t)len) != len || fsync(fd) < 0 || rename(temporary, lease->path) < 0) {
		code = err_set(err, ERR_IO, "cannot write the lease %s: %s", lease->path, strerror(errno));
		unlink(temporary);
	}
	if (fd >= 0)
		close(fd);
	return code;
}

int lease_init(struct lease *lease, const char *path, int64_t interval_us, const struct clock *clock,
	       struct error *err)
{
	struct record record;
	char host[128] = "";
	uint64_t number = 0;
	int fd;

	*lease = (struct lease){ .interval_us = interval_us, .clock = clock };
	if (snprintf(lease->path, sizeof(lease->path), "%s", path) >= (int)sizeof(lease->path))
		return err_set(err, ERR_USAGE, "the path of the lease is too long");
	gethostname(host, sizeof(host) - 1);
	/* Process ids are unique on one host and boot only. */
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)clock_wall_us(clock);
	snprintf(lease->owner, sizeof(lease->owner), "%s:%d:%016" PRIx64, host, (int)getpid(), number);
	fd = open(path, O_WRONLY | O_CREAT | OPEN_FLAGS, 0644);
	/* A renewal replaces a link by a file of this host alone. */
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_USAGE, "the lease %s is a symbolic link: give the path of the file itself",
			       path);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot write the lease %s: %s", path, strerror(errno));
	close(fd);
	return read_record(lease, &record, err) < 0 ? ERR_IO : 0;
}

static void sleep_for(const struct lease *lease, int64_t us)
{
	lease->clock->sleep_until(lease->clock->ctx, clock_boottime_us(lease->clock) + us);
}

static bool is_own(const struct lease *lease, const struct record *record)
{
	return !strcmp(record->owner, lease->owner);
}

/* Several hosts may claim a lease at the same time: the last one holds it. */
static bool claim(struct lease *lease)
{
	struct record record;

	lease->renewals++;
	if (write_record(lease, lease->owner, NULL) < 0)
		return false;
	sleep_for(lease, lease->interval_us / 2);
	return !stop_requested() && read_record(lease, &record, NULL) == 1 && is_own(lease, &record);
}

bool lease_wait(struct lease *lease, void (*waiting)(const char *what))
{
	struct record last = { .owner = "" };
	int64_t changed_us = clock_boottime_us(lease->clock);
	struct error err = { 0 };

	while (!stop_requested()) {
		struct record record;
		int64_t now_us = clock_boottime_us(lease->clock), interval_us;
		int code = read_record(lease, &record, &err);

		if (code < 0 || strcmp(record.owner, last.owner) || record.renewals != last.renewals)
			changed_us = now_us;
		if (code >= 0)
			last = record;
		interval_us = record.interval_us > lease->interval_us ? record.interval_us : lease->interval_us;
		if (code == 0 || (code > 0 && (!strcmp(record.owner, RELEASED) ||
					       now_us - changed_us >= SWEEPS_MISSED * interval_us))) {
			if (claim(lease))
				return true;
			changed_us = clock_boottime_us(lease->clock);
			continue;
		}
		waiting(code < 0 ? err.text : record.owner);
		sleep_for(lease, lease->interval_us < US_PER_S ? lease->interval_us / 4 : US_PER_S / 4);
	}
	return false;
}

int lease_renew(struct lease *lease, struct error *err)
{
	int64_t began_us = clock_boottime_us(lease->clock);
	struct record record;
	int code = read_record(lease, &record, err);

	if (code < 0)
		return code;
	if (code == 0 || !is_own(lease, &record))
		return err_set(err, ERR_UNAVAILABLE, "%s has taken the lease %s: this process stops polling",
			       code ? record.owner : "another process", lease->path);
	lease->renewals++;
	code = write_record(lease, lease->owner, err);
	/* Another host may have taken the lease between the read and the write, and was overwritten. */
	if (code == 0 && clock_boottime_us(lease->clock) - began_us > lease->interval_us / 2)
		code = err_set(err, ERR_UNAVAILABLE, "renewing the lease %s took too long: this process stops polling",
			       lease->path);
	return code;
}

void lease_release(struct lease *lease)
{
	struct record record;
	struct error err = { 0 };

	if (read_record(lease, &record, &err) == 1 && is_own(lease, &record) &&
	    write_record(lease, RELEASED, &err) < 0)
		log_warning("%s", err.text);
}
