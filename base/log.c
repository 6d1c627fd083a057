/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/log.h"

#include <stdarg.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static const char *log_program = "ibwire";
static _Thread_local struct text *collected;
static enum log_level log_level = LOG_LEVEL_INFO;

void log_init(const char *program, enum log_level level)
{
	log_program = program;
	log_level = level;
}

void log_collect(struct text *lines)
{
	collected = lines;
}

/* Is stderr the journal? Source: systemd.exec(5), JOURNAL_STREAM. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

__attribute__((format(printf, 3, 0)))
static void log_write(enum log_level level, const char *prefix, const char *fmt, va_list args)
{
	/* Of syslog(3). */
	static const char *const priorities[] = {
		[LOG_LEVEL_ERROR] = "<3>", [LOG_LEVEL_WARNING] = "<4>", [LOG_LEVEL_INFO] = "<6>",
		[LOG_LEVEL_DEBUG] = "<7>",
	};
	char line[1024];
	size_t len;

	snprintf(line, sizeof(line) - 1, "%s%s: %s", !collected && is_journal() ? priorities[level] : "", log_program,
		 prefix);
	len = strlen(line);
	vsnprintf(line + len, sizeof(line) - 1 - len, fmt, args);
	text_blank(line, '?');
	len = strlen(line);
	line[len++] = '\n';
	if (collected) {
		text_append_bytes(collected, line, len);
		return;
	}
	/* An error of the log itself cannot be reported. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

#define LOG_FUNCTION(name, level, prefix)                \
	void name(const char *fmt, ...)                  \
	{                                                \
		va_list args;                            \
							 \
		va_start(args, fmt);                     \
		if (level <= log_level)                  \
			log_write(level, prefix, fmt, args); \
		va_end(args);                            \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR, "")
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING, "warning: ")
LOG_FUNCTION(log_info, LOG_LEVEL_INFO, "")
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG, "debug: ")

void log_state(enum log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (log_level >= LOG_LEVEL_INFO)
		log_write(level, "", fmt, args);
	va_end(args);
}
