/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * settings.h - the settings file: limits of findings, classes of hosts, rails
 *
 * An INI file; ibwire-settings(5) says what may stand in it. What it does not name has its default,
 * and what ibwire does not know is an error that names the line.
 */
#ifndef IBWIRE_CLI_SETTINGS_H
#define IBWIRE_CLI_SETTINGS_H

#include <stddef.h>

#include "analysis/health.h"
#include "fabric/shape.h"

struct error;
struct text;

/* The file that is read where --settings is not given, if it is there. */
#define SETTINGS_DEFAULT_PATH "/etc/ibwire/ibwire.conf"

struct settings {
	struct health_settings health;
	struct shape_settings shape;
	/* Owned: what shape points to. */
	struct shape_class_rule *class_rules;
	struct shape_rail_rule *rail_rules;
	struct shape_adaptive_rule *adaptive_rules;
	size_t class_count, rail_count, adaptive_count;
	char **strings;
	size_t string_count, string_capacity;
};

/*
 * settings_load - defaults, and what the file says
 * @path:  NULL: $IBWIRE_SETTINGS, else SETTINGS_DEFAULT_PATH if it is there
 * @ret:   settings_done() frees it; also after an error
 *
 * Return: 0; ERR_USAGE where a line is wrong (the text names file and line); ERR_IO where a
 * file that was asked for cannot be read; ERR_NOMEM.
 */
int settings_load(const char *path, struct settings *ret, struct error *err);
void settings_done(struct settings *settings);

/* settings_append - all settings as they are now, as such a file with comments. */
void settings_append(const struct settings *settings, struct text *text);

#endif
