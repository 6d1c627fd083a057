/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* metrics.c - `ibwire metrics`: the newest sweep for Prometheus, over HTTP or once */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
#include "cli/metrics/metrics_families.h"
#include "cli/metrics/metrics_page.h"
#include "cli/metrics/metrics_server.h"
#include "fabric/name_map.h"

/* On the heap: a call that waits for a file system may use it until the process ends. */
struct service {
	struct metrics_source source;
	struct settings settings;
	struct name_map *names;
	char path[4096]; /* of the database */
	const char *settings_path, *web_config;
	struct options options;
	struct metrics_api_config api;
	int fd;
};

/* Read the settings and the names. */
static int load(struct service *service, struct error *err)
{
	int code = settings_load(service->settings_path, &service->settings, err);

	return code < 0 ? code : options_name_map(&service->options, &service->names, err);
}

static void unload(struct service *service)
{
	name_map_destroy(service->names);
	settings_done(&service->settings);
}

/* Read all files again. After an error, which is logged, the former contents remain in use. */
static void reload(struct service *service, struct metrics_server **server)
{
	struct service fresh = { .settings_path = service->settings_path, .options = service->options };
	struct metrics_server *next;
	struct error err = { 0 };
	int code = load(&fresh, &err);

	if (code == 0)
		code = metrics_server_create(service->fd, service->web_config, &service->source, &service->api, &next,
					     &err);
	if (code == 0) {
		metrics_server_destroy(*server, true);
		*server = next;
		if (!metrics_source_close(&service->source))
			code = err_set(&err, ERR_UNAVAILABLE, "the database does not respond: only the certificate "
				       "and passwords are new; repeat it for settings and names");
	}
	if (code < 0) {
		unload(&fresh);
		log_warning("not reloaded: %s", err.text);
		return;
	}
	unload(service);
	service->settings = fresh.settings;
	service->source.names = service->names = fresh.names;
	log_info("settings, names, certificate and passwords reloaded");
}

static int serve(const char *listen_on, struct service *service, struct error *err)
{
	struct metrics_server *server = NULL;
	const struct metrics_page *page;
	int code = metrics_listen(listen_on, &service->fd, err);

	stop_install();
	stop_reload_on_hangup();
	if (code < 0)
		return code;
	code = metrics_server_create(service->fd, service->web_config, &service->source, &service->api, &server, err);
	if (code == 0) {
		/* A collector that was not started yet will make the database. */
		code = metrics_source_page(&service->source, NULL, &page, err);
		if (code == ERR_UNAVAILABLE && err)
			log_warning("no metrics yet: %s", err->text);
	}
	if (server && (code == 0 || code == ERR_UNAVAILABLE)) {
		log_info("serving %s", metrics_server_url(server));
		service_notify("READY=1");
		while ((code = metrics_server_run(server, err)) > 0)
			reload(service, &server);
	}
	metrics_server_destroy(server, false);
	close(service->fd);
	return code;
}

int metrics_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const char *listen_on = METRICS_LISTEN, *config = NULL, *compat = NULL, *settings_path = NULL;
	bool once = false, details = false;
	const struct option_spec specs[] = {
		OPT_TEXT("listen", 0, "HOST:PORT", &listen_on,
			 "address and port of the HTTP server (" METRICS_LISTEN ")"),
		OPT_TEXT("web-config", 0, "FILE", &config,
			 "TLS and users: web configuration file of Prometheus (none)"),
		OPT_TEXT("compat", 0, "NAME", &compat,
			 "metrics of another exporter: treydock or guilbaults (own names)"),
		OPT_FLAG("details", 0, &details, "detail counters that are not 0, too: ibwire_port_detail"),
		OPT_FLAG("once", 0, &once, "write the metrics to stdout and exit"),
		OPT_TEXT("settings", 0, "FILE", &settings_path, "settings file, for rails (" SETTINGS_DEFAULT_PATH ")"),
		{ 0 },
	};
	const struct metrics_page *page;
	struct options options;
	struct service *service;
	int code = options_parse(command, COMMON_DB | COMMON_NAMES, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options, err);
	if (code < 0)
		return code;
	if (!metrics_schema_find(compat))
		return options_usage_error(command, err, "--compat '%.32s' is neither treydock nor guilbaults", compat);
	if (compat && details)
		return options_usage_error(command, err, "--details cannot be combined with --compat");
	service = calloc(1, sizeof(*service));
	if (!service)
		return err_nomem(err);
	*service = (struct service){
		.settings_path = settings_path, .web_config = config, .options = options,
		.source = { .path = service->path, .settings = &service->settings,
			    .schema = metrics_schema_find(compat), .details = details },
		.api = { .run = command_call, .limit_us = METRICS_CALL_SECONDS * US_PER_S, .db = service->path,
			 .names = options.names_path },
	};
	code = options_db_path(&options, false, service->path, sizeof(service->path), err);
	if (code == 0)
		code = load(service, err);
	service->source.names = service->names;
	/* Commands read the settings from there, too. */
	if (code == 0 && settings_path && setenv("IBWIRE_SETTINGS", settings_path, 1))
		code = err_nomem(err);
	heap_keep_small();
	if (code == 0)
		code = once ? metrics_source_page(&service->source, NULL, &page, err) : serve(listen_on, service, err);
	if (code == 0 && once)
		code = metrics_write(page, false, false, options.out, err);
	if (metrics_source_done(&service->source)) {
		unload(service);
		free(service);
	}
	return code;
}
