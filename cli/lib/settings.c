/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/lib/options.h"
#include "storage/reader.h"

/* Kinds of settings. ANY_COUNT may be 0. */
enum setting_kind { SPAN, SPAN_OR_0, COUNT, ANY_COUNT, RATIO, PERCENT, YES_NO };

/* A setting stored in a fixed member. */
struct setting {
	const char *section, *key;
	enum setting_kind kind;
	size_t offset; /* offset in struct settings */
	const char *help;
};

#define HEALTH(member) offsetof(struct settings, health.member)
#define BALANCE(member) offsetof(struct settings, health.balance.member)

static const struct setting table[] = {
	{ "health", "link_down_after", SPAN, HEALTH(down_after_us), "minimum time a switch-to-switch link is down" },
	{ "health", "degraded_after", SPAN, HEALTH(degraded_after_us), "minimum time a link is slow or not Active" },
	{ "health", "silent_after", SPAN, HEALTH(silent_after_us), "minimum time a node is unresponsive" },
	{ "health", "silent_sweeps", COUNT, HEALTH(silent_sweeps), "and number of sweeps" },
	{ "health", "restart_within", SPAN, HEALTH(restart_within_us),
	  "all HCAs of a host down within this time: restart" },
	{ "health", "restart_charge", SPAN, HEALTH(restart_charge_us),
	  "errors on its leaf ports are attributed to the restart for this time" },
	{ "health", "training", SPAN, HEALTH(training_us), "errors within this time after link-up are link training" },
	{ "health", "missing_after", SPAN, HEALTH(missing_after_us), "a host down for this time failed to boot" },
	{ "health", "rack_hosts", COUNT, HEALTH(rack_hosts),
	  "number of hosts of a leaf down together that count as one rack" },
	{ "health", "forget_after", SPAN, HEALTH(forget_us), "removed after this time" },
	{ "health", "state_recovery", SPAN, HEALTH(state_recovery_us), "recovery time of findings without a rate" },
	{ "health", "old_ber_warning", RATIO, HEALTH(old_ber_warning), "symbol BER of links below HDR" },
	{ "health", "old_ber_critical", RATIO, HEALTH(old_ber_critical), "as above" },
	{ "health", "cable_rise_c", RATIO, HEALTH(cable_rise_c), "rise of a transceiver between two imports" },
	{ "health", "edge_discards", RATIO, HEALTH(edge_discards), "discarded packets to a host per 5 min" },
	{ "health", "vl15_drops", RATIO, HEALTH(vl15_drops), "dropped management packets per 5 min" },
	{ "health", "symbol_sweeps", COUNT, HEALTH(symbol_sweeps), "minimum number of sweeps with symbol errors" },
	{ "health", "recovery", SPAN, HEALTH(recovery_us), "a finding closes after this time without its condition" },
	{ "health", "flap_recovery", SPAN, HEALTH(flap_recovery_us), "the same for link-flapping" },
	{ "expected", "hosts", ANY_COUNT, HEALTH(expected_hosts), "0 = not checked" },
	{ "expected", "hcas", ANY_COUNT, HEALTH(expected_hcas), "excluding aggregation nodes" },
	{ "expected", "switches", ANY_COUNT, HEALTH(expected_switches), "each module of a director counts" },
	{ "expected", "links", ANY_COUNT, HEALTH(expected_links), "links in state Active" },
	{ "jobs", "fast", SPAN_OR_0, offsetof(struct settings, fast_jobs_us),
	  "interval at which the collector reads the HCA ports of running jobs between sweeps, 0 = only sweeps" },
	{ "jobs", "detect", YES_NO, offsetof(struct settings, detect_jobs),
	  "find jobs that no batch system begins in the traffic of hosts" },
	{ "balance", "window", SPAN, BALANCE(window_us), "averaging window of load" },
	{ "balance", "table_ratio", RATIO, BALANCE(table_ratio),
	  "routing is uneven above this multiple of the mean destination count" },
	{ "balance", "table_more", RATIO, BALANCE(table_more), "and this many above the mean" },
	{ "balance", "measured_excess", PERCENT, BALANCE(measured_excess),
	  "load is uneven above this multiple of the mean" },
	{ "balance", "harm_utilization", PERCENT, BALANCE(harm_utilization), "utilization of the busiest member" },
	{ "balance", "harm_stall", PERCENT, BALANCE(harm_stall), "XmitWait% of the busiest member" },
	{ "balance", "harm_stall_ratio", RATIO, BALANCE(harm_stall_ratio), "multiple of the median of its siblings" },
	{ "balance", "harm_sibling", PERCENT, BALANCE(harm_sibling),
	  "a sibling below this share of the busiest member" },
	{ "balance", "active_mean", PERCENT, BALANCE(active_mean), "a group below this load is idle" },
	{ "balance", "active_member", PERCENT, BALANCE(active_member), "unless a member reaches" },
	{ "balance", "spread", PERCENT, BALANCE(spread), "maximum skew of reading times within the window" },
	{ "balance", "coverage", PERCENT, BALANCE(coverage), "coverage below which a group is unknown" },
	{ "balance", "windows", COUNT, BALANCE(windows), "number of active windows" },
	{ "balance", "windows_same", COUNT, BALANCE(windows_same), "number of windows that must agree" },
	{ "balance", "flows_percentile", PERCENT, BALANCE(flows_percentile),
	  "percentile of random flow placement above which load is uneven" },
};

#define TABLE_COUNT (sizeof(table) / sizeof(*table))

/* Parser state: the first error. */
struct parsing {
	struct settings *settings;
	char section[64], key[128]; /* of the last lines that have one */
	char wrong[320];
	int result; /* ERR_NOMEM, ERR_USAGE, or 0 */
};

static const char *keep_string(struct settings *settings, const char *chars, size_t len)
{
	char **strings = array_grow(settings->strings, settings->string_count, &settings->string_capacity,
				    sizeof(*settings->strings));
	char *copy;

	if (!strings)
		return NULL;
	settings->strings = strings;
	copy = strndup(chars, len);
	if (copy)
		settings->strings[settings->string_count++] = copy;
	return copy;
}

static void *field(struct settings *settings, size_t offset)
{
	return (char *)settings + offset;
}

static bool parse_number(const char *typed, double *ret)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(typed, &end);
	if (end == typed || *end || errno || !isfinite(value) || value < 0)
		return false;
	*ret = value;
	return true;
}

static bool parse_percent(const char *typed, double *ret)
{
	char digits[32];
	size_t len = strlen(typed);
	double value;

	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, typed, len + 1);
	if (digits[len - 1] == '%')
		digits[--len] = '\0';
	while (len && digits[len - 1] == ' ')
		digits[--len] = '\0';
	if (!parse_number(digits, &value) || value > 1000)
		return false;
	*ret = value / 100;
	return true;
}

static bool set_fixed(struct settings *settings, const struct setting *setting, const char *value, const char **form)
{
	void *target = field(settings, setting->offset);
	double number;

	switch (setting->kind) {
	case SPAN_OR_0:
	case SPAN:
		*form = "a time such as 30s, 5m or 24h";
		if (setting->kind == SPAN_OR_0 && !strcmp(value, "0")) {
			*(int64_t *)target = 0;
			return true;
		}
		return when_span_parse(value, target, NULL) == 0;
	case COUNT:
	case ANY_COUNT:
		*form = setting->kind == COUNT ? "a whole number from 1 to 100000"
						       : "a whole number up to 100000";
		if (!parse_number(value, &number) || number < (setting->kind == COUNT) || number > 100000 ||
		    floor(number) != number)
			return false;
		*(unsigned *)target = (unsigned)number;
		return true;
	case RATIO:
		*form = "a number";
		return parse_number(value, target);
	case PERCENT:
		*form = "a percentage such as 20%";
		return parse_percent(value, target);
	case YES_NO:
		*form = "yes or no";
		*(bool *)target = !strcmp(value, "yes");
		return !strcmp(value, "yes") || !strcmp(value, "no");
	}
	return false;
}

static int wrong(struct parsing *parsing, const char *section, const char *key, const char *what)
{
	snprintf(parsing->wrong, sizeof(parsing->wrong), "[%.64s] %.64s %s", section, key, what);
	parsing->result = ERR_USAGE;
	return 0;
}

/* [symbol-errors] warning, critical, off */
static int set_limit(struct parsing *parsing, int kind, const char *key, const char *value)
{
	struct health_limits *limits = &parsing->settings->health.limits[kind];
	const char *section = finding_kind_name((enum finding_kind)kind);

	if (!strcmp(key, "off")) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return wrong(parsing, section, key, "must be yes or no");
		limits->off = !strcmp(value, "yes");
		return 1;
	}
	if (strcmp(key, "warning") && strcmp(key, "critical"))
		return wrong(parsing, section, key, "is not known: use warning, critical or off");
	if (!parse_number(value, !strcmp(key, "warning") ? &limits->warning : &limits->critical))
		return wrong(parsing, section, key, "must be a number of at least 0");
	return 1;
}

static int no_memory(struct parsing *parsing)
{
	parsing->result = ERR_NOMEM;
	return 0;
}

/* Append a rule to a list that ends with an empty rule. Return: false: no memory, and the list is unchanged. */
static bool add_class(struct settings *settings, struct shape_class_rule rule)
{
	struct shape_class_rule *rules = settings->shape.classes;

	rules = reallocarray(rules, settings->class_count + 2, sizeof(*rules));
	if (!rules)
		return false;
	rules[settings->class_count++] = rule;
	rules[settings->class_count] = (struct shape_class_rule){ 0 };
	settings->shape.classes = rules;
	return true;
}

static bool add_rail(struct settings *settings, struct shape_rail_rule rule)
{
	struct shape_rail_rule *rules = settings->shape.rails;

	rules = reallocarray(rules, settings->rail_count + 2, sizeof(*rules));
	if (!rules)
		return false;
	rules[settings->rail_count++] = rule;
	rules[settings->rail_count] = (struct shape_rail_rule){ 0 };
	settings->shape.rails = rules;
	return true;
}

static bool add_adaptive(struct settings *settings, struct shape_adaptive_rule rule)
{
	struct shape_adaptive_rule *rules = settings->shape.adaptive;

	rules = reallocarray(rules, settings->adaptive_count + 2, sizeof(*rules));
	if (!rules)
		return false;
	rules[settings->adaptive_count++] = rule;
	rules[settings->adaptive_count] = (struct shape_adaptive_rule){ 0 };
	settings->shape.adaptive = rules;
	return true;
}

static int add_pattern(struct parsing *parsing, const char *section, const char *key, int class, const char *pattern,
		       size_t len)
{
	struct settings *settings = parsing->settings;
	const char *kept = keep_string(settings, pattern, len), *rail;
	bool added = kept;

	if (added && !strcmp(section, "class")) {
		added = add_class(settings, (struct shape_class_rule){ kept, (uint8_t)class });
	} else if (added && !strcmp(section, "rail")) {
		rail = keep_string(settings, key, strlen(key));
		added = rail && add_rail(settings, (struct shape_rail_rule){ kept, rail });
	} else if (added) {
		added = add_adaptive(settings, (struct shape_adaptive_rule){ kept, !strcmp(key, "on") });
	}
	return added ? 1 : no_memory(parsing);
}

/* The comma behind a pattern; those in brackets belong to it: "node[1,3]". */
static size_t pattern_end(const char *value)
{
	size_t len = 0;

	while (value[len] && value[len] != ',') {
		const char *close = value[len] == '[' ? strchr(value + len, ']') : NULL;

		len = close ? (size_t)(close - value) : len + 1;
	}
	return len;
}

/* [class] storage = oss*, mds[1,3]    [rail] rail0 = * mlx5_0 */
static int add_patterns(struct parsing *parsing, const char *section, const char *key, const char *value)
{
	int class = -1;

	for (int i = 0; i < CLASS_COUNT; i++)
		if (!strcmp(key, node_class_name((uint8_t)i)))
			class = i;
	if (!strcmp(section, "class") && class < 0)
		return wrong(parsing, section, key, "is not a class: use compute, storage, management, router, "
			"aggregation or switch");
	if (!strcmp(section, "adaptive-routing") && strcmp(key, "on") && strcmp(key, "off"))
		return wrong(parsing, section, key, "is not known: use on or off with names of switches");
	while (*value) {
		size_t len, end;

		value += strspn(value, " \t,");
		len = end = pattern_end(value);
		while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
			len--;
		if (!len)
			break;
		if (!add_pattern(parsing, section, key, class, value, len))
			return 0;
		value += end;
	}
	return 1;
}

/* [plan] file = hosts.csv trunks.csv */
static int add_plan_files(struct parsing *parsing, const char *key, const char *value)
{
	struct settings *settings = parsing->settings;

	if (strcmp(key, "file"))
		return wrong(parsing, "plan", key, "is not known: use file");
	while (*value) {
		size_t len = strcspn(value += strspn(value, " \t"), " \t");
		const char **added;

		if (!len)
			break;
		added = array_add(&settings->plan_files, &settings->plan_file_count, &settings->plan_file_capacity,
				  sizeof(*added));
		if (!added || !(*added = keep_string(settings, value, len)))
			return no_memory(parsing);
		value += len;
	}
	return 1;
}

static int unknown_key(struct parsing *parsing, const char *section, const char *key)
{
	struct nearest nearest;
	char what[128];

	nearest_init(&nearest, key);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (!strcmp(table[i].section, section))
			nearest_offer(&nearest, table[i].key);
	snprintf(what, sizeof(what), "is not known%s", nearest_hint(&nearest));
	return wrong(parsing, section, key, what);
}

/* Return: not 0 if the setting is valid. */
static int parse_setting(struct parsing *parsing, const char *section, const char *key, const char *value)
{
	bool section_known = false;
	int kind = finding_kind_find(section);
	const char *form = NULL;

	if (!strcmp(section, "class") || !strcmp(section, "rail") || !strcmp(section, "adaptive-routing"))
		return add_patterns(parsing, section, key, value);
	if (!strcmp(section, "plan"))
		return add_plan_files(parsing, key, value);
	if (kind >= 0)
		return set_limit(parsing, kind, key, value);
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		if (strcmp(table[i].section, section))
			continue;
		section_known = true;
		if (strcmp(table[i].key, key))
			continue;
		if (!set_fixed(parsing->settings, &table[i], value, &form)) {
			char what[128];

			snprintf(what, sizeof(what), "must be %s", form);
			return wrong(parsing, section, key, what);
		}
		return 1;
	}
	if (section_known)
		return unknown_key(parsing, section, key);
	return wrong(parsing, section, key, "is in an unknown section: use health, expected, jobs, balance, plan, "
		"class, rail, adaptive-routing or a finding kind");
}

static int invalid_line(struct parsing *parsing, const char *what)
{
	snprintf(parsing->wrong, sizeof(parsing->wrong), "%s", what);
	parsing->result = ERR_USAGE;
	return 0;
}

/* Remove blanks around a text, and a comment: a semicolon at its start or after a blank. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	for (char *at = strchr(text, ';'); at; at = strchr(at + 1, ';'))
		if (at == text || at[-1] == ' ' || at[-1] == '\t')
			*at = '\0';
	for (len = strlen(text); len && strchr(" \t\r", text[len - 1]);)
		text[--len] = '\0';
	return text;
}

static bool is_text(const char *chars)
{
	char shown[8];

	for (; *chars; chars++) {
		uint32_t code;
		size_t bytes = text_decode(chars, strnlen(chars, 4), &code);

		if (*chars == '\t')
			continue;
		if (!bytes)
			return false;
		text_sanitise(chars, bytes, shown, sizeof(shown));
		if (*shown == '\\' && *chars != '\\')
			return false;
		chars += bytes - 1;
	}
	return true;
}

/*
 * One line: [section], KEY = VALUE, or more of the last value: a line that starts with a blank and
 * has no '='. Return: not 0 if it is valid.
 */
static int parse_line(struct parsing *parsing, char *line)
{
	bool is_more = *line == ' ' || *line == '\t';
	char *start, *end;

	start = line + strspn(line, " \t");
	line = *start == '#' ? start + strlen(start) : trim(line);
	if (!*line)
		return 1;
	if (!is_text(line))
		return invalid_line(parsing, "contains control characters or is not UTF-8");
	end = line + strcspn(line, *line == '[' ? "]" : "=:");
	if (*line == '[' && *end && !end[1] && (size_t)(end - line) < sizeof(parsing->section)) {
		*end = '\0';
		strcpy(parsing->section, line + 1);
		parsing->key[0] = '\0';
		return 1;
	}
	if (*line != '[' && !*end && is_more && parsing->key[0])
		return parse_setting(parsing, parsing->section, parsing->key, line);
	if (*line == '[' || !*end)
		return invalid_line(parsing, "must be [section] or KEY = VALUE");
	*end = '\0';
	snprintf(parsing->key, sizeof(parsing->key), "%s", trim(line));
	return parse_setting(parsing, parsing->section, parsing->key, trim(end + 1));
}

/* Return: the number of the first invalid line; 0: none. */
static size_t parse_lines(struct parsing *parsing, char *chars, size_t len)
{
	char *at = chars, *end = chars + len;
	size_t number = 1;

	for (; at < end; number++) {
		char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;

		*stop = '\0';
		if (strlen(at) < (size_t)(stop - at))
			invalid_line(parsing, "contains a NUL byte");
		if (parsing->result || !parse_line(parsing, at))
			return number;
		at = stop + 1;
	}
	return 0;
}

static void defaults(struct settings *settings)
{
	*settings = (struct settings){ 0 };
	health_settings_default(&settings->health);
}

int settings_load(const char *path, struct settings *ret, struct error *err)
{
	struct parsing parsing = { .settings = ret };
	struct text text = { 0 };
	bool required = path != NULL;
	size_t line;
	int code;

	defaults(ret);
	if (!path && (path = getenv("IBWIRE_SETTINGS")) && *path)
		required = true;
	else if (!path)
		path = SETTINGS_DEFAULT_PATH;
	if (!required && access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	ret->is_given = required;
	code = text_read_file(path, "the settings file ", TEXT_SMALL_MOST, &text, err);
	line = code < 0 || !text.len ? 0 : parse_lines(&parsing, text.chars, text.len);
	text_done(&text);
	if (code < 0)
		return code;
	if (parsing.result == ERR_NOMEM)
		return err_nomem(err);
	if (line)
		return err_set(err, ERR_USAGE, "%s, line %zu: %s (see ibwire-settings(5))", path, line, parsing.wrong);
	return 0;
}

/* Those of another version may have keys that this one does not know. */
static void parse_stored(char *chars, struct settings *ret)
{
	struct parsing parsing = { .settings = ret };
	char *rest = NULL;

	for (char *line = strtok_r(chars, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		parse_line(&parsing, line);
}

int settings_balance(const struct settings *settings, struct reader *reader, struct balance_settings *ret,
		     struct error *err)
{
	struct settings stored;
	struct text text = { 0 };
	int code = settings->is_given ? 0 : reader_settings(reader, &text, err);

	*ret = settings->health.balance;
	if (code == 0 && text.len) {
		defaults(&stored);
		parse_stored(text.chars, &stored);
		*ret = stored.health.balance;
		settings_done(&stored);
	}
	text_done(&text);
	return code;
}

void settings_done(struct settings *settings)
{
	for (size_t i = 0; i < settings->string_count; i++)
		free(settings->strings[i]);
	free(settings->strings);
	free(settings->plan_files);
	free(settings->shape.classes);
	free(settings->shape.rails);
	free(settings->shape.adaptive);
	memset(settings, 0, sizeof(*settings));
}

static void append_value(const struct settings *settings, const struct setting *setting, struct text *text)
{
	const void *value = (const char *)settings + setting->offset;
	char span[WHEN_SIZE];

	text_appendf(text, "%s = ", setting->key);
	switch (setting->kind) {
	case SPAN_OR_0:
	case SPAN:
		snprintf(span, sizeof(span), "%g", (double)*(const int64_t *)value / 1e6);
		text_appendf(text, "%s%s", span, strcmp(span, "0") ? "s" : "");
		break;
	case COUNT:
	case ANY_COUNT:
		text_appendf(text, "%u", *(const unsigned *)value);
		break;
	case RATIO:
		text_appendf(text, "%g", *(const double *)value);
		break;
	case PERCENT:
		text_appendf(text, "%g%%", 100 * *(const double *)value);
		break;
	case YES_NO:
		text_append(text, *(const bool *)value ? "yes" : "no");
		break;
	}
	text_append(text, "\n");
}

void settings_append(const struct settings *settings, struct text *text)
{
	const char *section = "";

	text_append(text, "; Settings of ibwire with their defaults, see ibwire-settings(5).\n");
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		if (strcmp(section, table[i].section))
			text_appendf(text, "\n[%s]\n", table[i].section);
		section = table[i].section;
		text_appendf(text, "; %s\n", table[i].help);
		append_value(settings, &table[i], text);
	}
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		const struct health_limits *limits = &settings->health.limits[kind];

		text_appendf(text, "\n[%s]\n; %s\n", finding_kind_name((enum finding_kind)kind),
			     finding_kind_info((enum finding_kind)kind)->limits);
		text_appendf(text, "off = %s\nwarning = %g\ncritical = %g\n", limits->off ? "yes" : "no",
			     limits->warning, limits->critical);
	}
	text_append(text, "\n[plan]\n");
	for (size_t i = 0; i < settings->plan_file_count; i++)
		text_appendf(text, "%s%s", i ? " " : "file = ", settings->plan_files[i]);
	text_append(text, settings->plan_file_count ? "\n" : "; file = hosts.csv trunks.csv\n");
	text_append(text, "\n[class]\n; storage = oss*, mds*\n; management = mgmt*\n"
		    "\n[rail]\n; rail0 = * mlx5_0\n\n[adaptive-routing]\n; on = leaf*, spine*\n; off = core*\n");
}
