/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* metrics.c - `ibwire metrics`: the newest sweep for Prometheus, over HTTP or once */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/process.h"
#include "base/service.h"
#include "base/stop.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "cli/metrics/metrics_api.h"
#include "cli/metrics/metrics_command.h"
#include "cli/metrics/metrics_config.h"
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "cli/metrics/metrics_server.h"
#include "cli/metrics/metrics_write.h"
#include "fabric/name_map.h"

static int write_once(struct metrics_source *source, FILE *out, struct error *err)
{
	struct metrics_page *page;
	int code = metrics_source_page(source, NULL, &page, err);

	if (code < 0)
		return code;
	code = metrics_write(page, false, out, err);
	metrics_page_release(page);
	return code;
}

static int serve(const char *listen_on, const char *config_path, struct metrics_source *source,
		 const struct metrics_api_config *api, struct error *err)
{
	struct metrics_config config;
	struct metrics_server *server;
	struct metrics_page *page;
	int code = metrics_config_load(config_path, &config, err);

	stop_install();
	if (code == 0)
		code = metrics_server_create(listen_on, source, &config, api, &server, err);
	if (code < 0) {
		metrics_config_done(&config);
		return code;
	}
	/* A collector that was not started yet will make the database. */
	code = metrics_source_page(source, NULL, &page, err);
	if (code == 0)
		metrics_page_release(page);
	else if (code == ERR_UNAVAILABLE && err)
		log_warning("no metrics yet: %s", err->text);
	if (code == 0 || code == ERR_UNAVAILABLE) {
		log_info("serving %s", metrics_server_url(server));
		service_notify("READY=1");
		code = metrics_server_run(server, err);
	}
	metrics_server_destroy(server);
	metrics_config_done(&config);
	return code;
}

int metrics_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const char *listen_on = METRICS_LISTEN, *config = NULL, *compat = NULL, *settings_path = NULL;
	bool once = false;
	const struct option_spec specs[] = {
		OPT_TEXT("listen", 0, "HOST:PORT", &listen_on,
			 "address and port of the HTTP server (" METRICS_LISTEN ")"),
		OPT_TEXT("web-config", 0, "FILE", &config,
			 "TLS and users: web configuration file of Prometheus (none)"),
		OPT_TEXT("compat", 0, "NAME", &compat,
			 "metrics of another exporter: treydock or guilbaults (own names)"),
		OPT_FLAG("once", 0, &once, "write the metrics to stdout and exit"),
		OPT_TEXT("settings", 0, "FILE", &settings_path, "settings file, for rails (" SETTINGS_DEFAULT_PATH ")"),
		{ 0 },
	};
	struct metrics_api_config api = { .run = command_call, .limit_us = METRICS_CALL_SECONDS * US_PER_S };
	struct metrics_source source = { 0 };
	struct name_map *names = NULL;
	struct settings settings;
	struct options options;
	char path[4096];
	int code = options_parse(command, COMMON_DB | COMMON_NAMES, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options, err);
	if (code < 0)
		return code;
	source.schema = metrics_schema_find(compat);
	if (!source.schema)
		return options_usage_error(command, err, "--compat '%.32s' is neither treydock nor guilbaults", compat);
	code = options_db_path(&options, false, path, sizeof(path), err);
	if (code < 0)
		return code;
	code = settings_load(settings_path, &settings, err);
	if (code == 0)
		code = options_name_map(&options, &names, err);
	source.path = path;
	source.names = names;
	source.settings = &settings;
	api.db = path;
	api.names = options.names_path;
	/* Commands read the settings from there, too. */
	if (code == 0 && settings_path && setenv("IBWIRE_SETTINGS", settings_path, 1))
		code = err_nomem(err);
	heap_keep_small();
	if (code == 0)
		code = once ? write_once(&source, options.out, err) : serve(listen_on, config, &source, &api, err);
	/* A call that waits for a file system ends with the process. */
	if (metrics_source_done(&source)) {
		name_map_destroy(names);
		settings_done(&settings);
	}
	return code;
}
