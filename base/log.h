/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log.h - lines for the person who runs the program
 *
 * Only programs (cli/, sim/'s program) and the collector log; libraries return
 * errors. A line goes out in one write, so lines of several processes on one
 * stream do not mix. Control characters in it are escaped.
 */
#ifndef IBWIRE_BASE_LOG_H
#define IBWIRE_BASE_LOG_H

enum log_level { LOG_LEVEL_NONE, LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/*
 * log_init - say where lines go and which
 * @program:  name put before each line (borrowed, must outlive the log)
 * @level:    the least important level that is still written
 *
 * Lines go to stderr. Without a call: "ibwire", LOG_LEVEL_INFO.
 */
void log_init(const char *program, enum log_level level);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
