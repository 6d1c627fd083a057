/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/file/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum {
	LOG_HEADER_BYTES = 32,
	LOG_SALT_AT = 16,
	FRAME_HEADER_BYTES = 24,
	/* Locks of the index on writing, checkpoints and recovery: one byte each. */
	INDEX_LOCKS_AT = 120,
	INDEX_LOCKS = 3,
	COPY_BYTES = 1 << 20,
};

/* At the start of the index, twice. Numbers are in native byte order, salts are bytes as in the log. */
struct index_header {
	uint32_t version, unused, changes;
	uint8_t valid, big_endian_checksums;
	uint16_t page_bytes; /* 1: 65536 */
	uint32_t frames;     /* up to the last commit */
	uint32_t pages;
	uint32_t frame_checksum[2];
	unsigned char salt[8];
	uint32_t checksum[2];
};

_Static_assert(sizeof(struct index_header) == 48, "as SQLite lays it out");

static int open_beside(const char *path, const char *suffix, int *ret, struct error *err)
{
	char name[PATH_MAX + 8];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	*ret = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return *ret >= 0 ? 0 : err_set(err, ERR_IO, "cannot open %s: %s; check its permissions", name, strerror(errno));
}

int wal_open(const char *path, struct wal *ret, struct error *err)
{
	struct wal wal = WAL_NONE;
	int result = open_beside(path, "-wal", &wal.log_fd, err);

	if (!result)
		result = open_beside(path, "-shm", &wal.index_fd, err);
	if (result < 0)
		wal_close(&wal);
	else
		*ret = wal;
	return result;
}

void wal_close(struct wal *wal)
{
	if (wal->log_fd >= 0)
		close(wal->log_fd);
	if (wal->index_fd >= 0)
		close(wal->index_fd);
	wal->log_fd = wal->index_fd = -1;
}

void wal_unmap(struct wal *wal)
{
	if (wal->index)
		munmap(wal->index, wal->index_bytes);
	wal->index = NULL;
}

/* Bytes of the log up to its last commit; -1 if the index is not that of this log. */
static off_t committed_bytes(int log, int index)
{
	struct index_header header[2];
	unsigned char salt[sizeof(header->salt)];
	off_t page_bytes;

	if (pread(index, header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    pread(log, salt, sizeof(salt), LOG_SALT_AT) != (ssize_t)sizeof(salt))
		return -1;
	if (!header->valid || memcmp(&header[0], &header[1], sizeof(*header)) != 0)
		return -1;
	/* The first transaction of a log writes other salts into the log; the index gets them with its commit. */
	if (memcmp(header->salt, salt, sizeof(salt)) != 0)
		return header->frames ? -1 : 0;
	page_bytes = header->page_bytes == 1 ? 65536 : header->page_bytes;
	return LOG_HEADER_BYTES + (off_t)header->frames * (FRAME_HEADER_BYTES + page_bytes);
}

/* Write the bytes of the log again up to @bytes. */
static int write_again(int log, char *copy, off_t bytes)
{
	for (off_t at = 0; at < bytes;) {
		size_t most = bytes - at < COPY_BYTES ? (size_t)(bytes - at) : COPY_BYTES;
		ssize_t len = pread(log, copy, most, at);

		if (len <= 0 || pwrite(log, copy, (size_t)len, at) != len)
			return -1;
		at += len;
	}
	return 0;
}

/* Cut off what follows the last commit; not the zeros of an earlier attempt, since cutting rewrites the last page. */
static int cut(int log, off_t bytes)
{
	static const char zeros[FRAME_HEADER_BYTES];
	char frame[FRAME_HEADER_BYTES] = { 0 };
	ssize_t len = pread(log, frame, sizeof(frame), bytes);

	return len >= 0 && !memcmp(frame, zeros, sizeof(zeros)) ? 0 : ftruncate(log, bytes);
}

/*
 * New blocks first, behind the log and in no page of it: while the disk takes none, nothing that was
 * committed is written again, since a page whose write fails may be lost.
 */
static int flush_log(const struct wal *wal)
{
	off_t bytes = committed_bytes(wal->log_fd, wal->index_fd), behind;
	char *copy = calloc(1, COPY_BYTES);
	struct stat st;
	int result = copy ? fstat(wal->log_fd, &st) : -1;

	if (!result && bytes >= 0 && st.st_size > bytes)
		result = cut(wal->log_fd, bytes);
	else if (!result)
		bytes = st.st_size;
	behind = bytes / COPY_BYTES * COPY_BYTES + COPY_BYTES;
	if (!result && pwrite(wal->log_fd, copy, COPY_BYTES, behind) != COPY_BYTES)
		result = -1;
	if (!result)
		result = fsync(wal->log_fd);
	if (!result)
		result = write_again(wal->log_fd, copy, bytes);
	if (!result)
		result = ftruncate(wal->log_fd, bytes);
	if (!result)
		result = fsync(wal->log_fd);
	free(copy);
	return result;
}

/* Mapped pages are not dropped. The file never shrinks, so this covers an earlier mapping. */
static int map_index(struct wal *wal)
{
	struct stat st;
	void *index;

	if (fstat(wal->index_fd, &st) < 0 || st.st_size < 2 * (off_t)sizeof(struct index_header))
		return -1;
	wal_unmap(wal);
	index = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, wal->index_fd, 0);
	if (index == MAP_FAILED)
		return -1;
	wal->index = index;
	wal->index_bytes = (size_t)st.st_size;
	return 0;
}

int wal_repair(struct wal *wal, const char *path, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = INDEX_LOCKS_AT,
			      .l_len = INDEX_LOCKS };
	int result = 0;

	if (fcntl(wal->index_fd, F_OFD_SETLK, &lock) < 0)
		return err_set(err, ERR_IO, "%s is being written by another process; trying again", path);
	errno = 0;
	if (flush_log(wal) < 0 || map_index(wal) < 0)
		result = err_set(err, ERR_IO, "%s: a flush to disk failed (%s); check its disk, quota, folder and "
				 "permissions", path, errno ? strerror(errno) : "the log cannot be read");
	else
		memset(wal->index, 0, 2 * sizeof(struct index_header));
	lock.l_type = F_UNLCK;
	fcntl(wal->index_fd, F_OFD_SETLK, &lock);
	return result;
}
