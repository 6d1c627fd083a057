/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * settings.h - the settings file: thresholds of findings, classes of hosts, rails
 *
 * An INI file, see ibwire-settings(5). Missing keys have defaults; an unknown key is an error that
 * names the line.
 */
#ifndef IBWIRE_CLI_SETTINGS_H
#define IBWIRE_CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/health.h"
#include "fabric/shape.h"

struct error;
struct reader;
struct text;

/* The settings file without --settings, if it exists. */
#define SETTINGS_DEFAULT_PATH "/etc/ibwire/ibwire.conf"

struct settings {
	struct health_settings health;
	int64_t fast_jobs_us;        /* --fast-jobs of `ibwire collect`; 0: off */
	bool is_given;               /* a file was named */
	bool detect_jobs;
	struct shape_settings shape; /* its lists are owned */
	size_t class_count, rail_count, adaptive_count;
	const char **plan_files;     /* of the cabling plan */
	size_t plan_file_count, plan_file_capacity;
	char **strings;
	size_t string_count, string_capacity;
};

/*
 * settings_load - defaults overridden by the settings file
 * @path:  NULL: $IBWIRE_SETTINGS, else SETTINGS_DEFAULT_PATH if it exists
 * @ret:   settings_done() frees it, after errors too
 *
 * Return: 0; ERR_USAGE for an invalid line (the text names file and line); ERR_IO if a given file
 * cannot be read; ERR_NOMEM.
 */
int settings_load(const char *path, struct settings *ret, struct error *err);
/*
 * settings_balance - the settings that load and balance of a database are shown by
 * Those of its collector, so that all agree with its findings. If a settings file was named by the user, or none
 * are stored, those of the file.
 * Return: 0, ERR_IO or ERR_NOMEM.
 */
int settings_balance(const struct settings *settings, struct reader *reader, struct balance_settings *ret,
		     struct error *err);
void settings_done(struct settings *settings);

/* settings_append - write the current settings as a settings file with comments. */
void settings_append(const struct settings *settings, struct text *text);

#endif
