/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log.h - log lines on stderr
 *
 * Only programs (cli/, the program of sim/) and the collector log; libraries return errors. A line
 * is written at once, so lines of several processes do not mix. Control characters are escaped.
 * In the journal of systemd (JOURNAL_STREAM names stderr), each line begins with its priority, as in
 * sd-daemon(3).
 */
#ifndef IBWIRE_BASE_LOG_H
#define IBWIRE_BASE_LOG_H

struct text;

enum log_level { LOG_LEVEL_NONE, LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/*
 * log_init - configure the log
 * @program:  prefix of each line (borrowed, must outlive the log)
 * @level:    least important level that is written
 *
 * The default is "ibwire", LOG_LEVEL_INFO.
 */
void log_init(const char *program, enum log_level level);

/*
 * log_collect - append the lines of this thread to a text instead of stderr
 * @lines:  NULL: to stderr again
 */
void log_collect(struct text *lines);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* log_state - a line of LOG_LEVEL_INFO that has the priority of @level in the journal: a state of the fabric */
void log_state(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
