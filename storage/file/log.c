/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/file/log.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"

enum {
	LOG_HEADER_BYTES = 32,
	FRAME_HEADER_BYTES = 24,
	INDEX_REGION_BYTES = 32768,
	WRITE_LOCK = 0, /* number of the lock that a writer holds */
};

/* At the start of the index, twice; in native byte order. */
struct index_header {
	uint32_t version, unused, changes;
	uint8_t valid, big_endian_checksums;
	uint16_t page_bytes; /* 1: 65536 */
	uint32_t frames;     /* up to the last commit */
	uint32_t pages, frame_checksum[2], salt[2], checksum[2];
};

_Static_assert(sizeof(struct index_header) == 48, "the layout of SQLite");

/* Remove what follows the last commit. */
static int cut(sqlite3_file *log, const struct index_header *header)
{
	sqlite3_int64 page_bytes = header->page_bytes == 1 ? 65536 : header->page_bytes, bytes = 0;
	sqlite3_int64 end = LOG_HEADER_BYTES + header->frames * (FRAME_HEADER_BYTES + page_bytes);
	int code = log->pMethods->xFileSize(log, &bytes);

	return code != SQLITE_OK || bytes <= end ? code : log->pMethods->xTruncate(log, end);
}

int log_recover(sqlite3 *db, struct error *err)
{
	const char *name = sqlite3_db_filename(db, "main");
	sqlite3_file *file = NULL, *log = NULL;
	volatile void *region = NULL;
	struct index_header headers[2];
	int code, result = 0;

	errno = 0;
	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
	    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK || !log->pMethods ||
	    file->pMethods->iVersion < 2 ||
	    file->pMethods->xShmMap(file, 0, INDEX_REGION_BYTES, 0, &region) != SQLITE_OK || !region)
		return err_set(err, ERR_IO, "the log of %s cannot be read (%s); check its disk", name,
			       errno ? strerror(errno) : "no further reason");
	code = file->pMethods->xShmLock(file, WRITE_LOCK, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
	if (code != SQLITE_OK)
		return err_set(err, ERR_IO, "%s is being written by another process; trying again", name);
	memcpy(headers, (const void *)region, sizeof(headers));
	/* An invalid index does not tell the end, and SQLite is about to recover the log. */
	if (headers[0].valid && !memcmp(&headers[0], &headers[1], sizeof(headers[0])))
		code = cut(log, &headers[0]);
	if (code == SQLITE_OK)
		memset((void *)region, 0, sizeof(headers));
	else
		result = err_set(err, ERR_IO, "the log of %s cannot be written (%s); check its disk, quota, folder "
				 "and permissions", name, errno ? strerror(errno) : "no further reason");
	file->pMethods->xShmBarrier(file);
	file->pMethods->xShmLock(file, WRITE_LOCK, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
	/* Now: a process that cannot write the index cannot recover the log. */
	return result ? result : db_exec(db, "PRAGMA schema_version", err);
}
