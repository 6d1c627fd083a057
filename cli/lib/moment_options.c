/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/moment_options.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "fabric/name_map.h"
#include "storage/reader.h"

static int load_settings(void **ret_owned, const struct shape_settings **ret, struct error *err)
{
	struct settings *settings = calloc(1, sizeof(*settings));

	*ret_owned = settings;
	if (!settings)
		return err_nomem(err);
	*ret = &settings->shape;
	return settings_load(NULL, settings, err);
}

static void free_settings(void *owned)
{
	if (owned)
		settings_done(owned);
	free(owned);
}

static const struct moment_settings settings_file = { load_settings, free_settings };

int options_open_reader(const struct options *options, struct moment *ret, struct error *err)
{
	struct moment moment = { .reference_us = options->now_us, .settings = &settings_file };
	char path[4096];
	int code = options_db_path(options, false, path, sizeof(path), err);

	if (code < 0)
		return code;
	code = options_name_map(options, &moment.names, err);
	if (code < 0)
		return code;
	code = reader_open(path, &moment.reader, err);
	if (code < 0) {
		name_map_destroy(moment.names);
		return code;
	}
	reader_set_stop(moment.reader, options->stop);
	*ret = moment;
	return 0;
}

/* Single sweeps in the window have no interval. */
static int default_window(const struct options *options, const struct moment *moment, int64_t *ret_us,
			  struct error *err)
{
	enum { INTERVAL_WITHOUT_US = 60000000 };
	struct db_status status;
	int code = reader_status_at(moment->reader, options->until_us ? options->until_us : options->at_us, &status,
				    err);
	int64_t interval_us = code == 0 && status.last.interval_us > 0 ? status.last.interval_us : INTERVAL_WITHOUT_US;

	*ret_us = interval_us * options->window_sweeps;
	return code;
}

void options_warn_damage(size_t count, const char *first)
{
	static _Thread_local bool warned; /* commands read the same samples several times */

	if (count && !warned)
		log_warning("the database is damaged: %zu pack%s of samples %s unreadable and omitted (%s); "
			"see: ibwire db check", count, text_plural(count), count == 1 ? "is" : "are", first);
	warned |= count > 0;
}

int options_open_moment(const struct options *options, bool absolute, struct moment *ret, struct error *err)
{
	int64_t end_us = options->until_us ? options->until_us : options->at_us;
	struct snapshot_query query = { .at_us = end_us, .absolute = absolute };
	struct moment moment;
	int code = options_open_reader(options, &moment, err);

	if (code < 0)
		return code;
	if (end_us)
		moment.reference_us = end_us;
	if (options->since_us) {
		/* Without --until the window ends now. */
		query.at_us = moment.reference_us;
		query.window_us = moment.reference_us - options->since_us;
	} else if (options->window_us) {
		query.window_us = options->window_us;
	} else if (options->window_sweeps) {
		code = default_window(options, &moment, &query.window_us, err);
	}
	if (code == 0)
		code = moment_load(&moment, &query, err);
	if (code < 0) {
		moment_done(&moment);
		return code;
	}
	options_warn_damage(moment.snapshot->damaged, moment.snapshot->damage);
	*ret = moment;
	return 0;
}

int options_open_errors(struct options *options, bool absolute, struct moment *ret, struct error *err)
{
	bool since_reset = !options->since_us;
	int code;

	options->notes = true;
	options->window_us = 24 * 3600 * US_PER_S;
	code = options_open_moment(options, absolute || since_reset, ret, err);
	if (code == 0 && since_reset)
		moment_count_since_reset(ret);
	return code;
}
