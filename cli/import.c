/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* import.c - `ibwire import`: cables, counters and temperatures from the files of ibdiagnet */
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "fabric/ibdiagnet.h"
#include "storage/cables.h"
#include "storage/saved.h"

enum { IMPORTED, TIME, NODES, KNOWN, CABLES, NEW, MOVED, COUNTERS, BER, PLACES, SENSORS, FIRMWARE, NOT_READ, UNKNOWN,
       UNUSED, COLUMNS };

static const struct column columns[COLUMNS] = {
	[IMPORTED] = { .key = "imported", .title = "imported", .kind = COLUMN_BOOL },
	[TIME] = { .key = "time", .title = "as of", .kind = COLUMN_TIME },
	[NODES] = { .key = "nodes", .title = "nodes", .kind = COLUMN_INTEGER },
	[KNOWN] = { .key = "known_nodes", .title = "  in the database", .kind = COLUMN_INTEGER },
	[CABLES] = { .key = "cables", .title = "cable ends", .kind = COLUMN_INTEGER },
	[NEW] = { .key = "new_serials", .title = "  new serial numbers", .kind = COLUMN_INTEGER },
	[MOVED] = { .key = "other_cables", .title = "  ports with another cable", .kind = COLUMN_INTEGER },
	[COUNTERS] = { .key = "counters", .title = "ports with counters", .kind = COLUMN_INTEGER },
	[BER] = { .key = "ber", .title = "ports with bit error rates", .kind = COLUMN_INTEGER },
	[PLACES] = { .key = "places", .title = "ports with cage and plane", .kind = COLUMN_INTEGER },
	[SENSORS] = { .key = "temperatures", .title = "devices with temperature", .kind = COLUMN_INTEGER },
	[FIRMWARE] = { .key = "firmware", .title = "devices with firmware", .kind = COLUMN_INTEGER },
	[NOT_READ] = { .key = "not_read", .title = "rows not understood", .kind = COLUMN_INTEGER },
	[UNKNOWN] = { .key = "unknown_ports", .title = "ports of unknown nodes", .kind = COLUMN_INTEGER },
	[UNUSED] = { .key = "unused_sections", .title = "sections not used", .kind = COLUMN_INTEGER },
};

static void warn_of_rows(const struct ibdiagnet *bundle, const char *path)
{
	for (int i = 0; i < IBDIAGNET_SECTIONS; i++) {
		const struct ibdiagnet_count *count = &bundle->counts[i];

		if (count->unread)
			log_warning("%s: %zu row%s of %s not understood, the first is in line %zu", path, count->unread,
				    text_plural(count->unread), ibdiagnet_section_name((enum ibdiagnet_section)i),
				    count->first_unread);
	}
}

static int print(const struct ibdiagnet *bundle, const struct cables_imported *imported, const struct options *options,
		 struct error *err)
{
	static const struct { size_t column; enum ibdiagnet_section section; } of_sections[] = {
		{ NODES, IBDIAGNET_NODES }, { CABLES, IBDIAGNET_CABLES }, { COUNTERS, IBDIAGNET_COUNTERS },
		{ BER, IBDIAGNET_BER }, { PLACES, IBDIAGNET_PLACES }, { SENSORS, IBDIAGNET_SENSORS },
		{ FIRMWARE, IBDIAGNET_FIRMWARE },
	};
	struct result *result = output_begin(options, true, columns, COLUMNS);
	size_t unread = 0;

	result_bool(result, IMPORTED, !imported->known);
	result_integer(result, TIME, imported->wall_us);
	for (size_t i = 0; i < sizeof(of_sections) / sizeof(*of_sections); i++)
		result_unsigned(result, of_sections[i].column, bundle->counts[of_sections[i].section].rows);
	for (int i = 0; i < IBDIAGNET_SECTIONS; i++)
		unread += bundle->counts[i].unread;
	result_unsigned(result, NOT_READ, unread);
	result_unsigned(result, UNUSED, bundle->other_sections);
	if (!imported->known) {
		result_unsigned(result, KNOWN, imported->nodes_known);
		result_unsigned(result, NEW, imported->appeared);
		result_unsigned(result, MOVED, imported->moved);
		result_unsigned(result, UNKNOWN, imported->unresolved);
	}
	result_end_row(result);
	return output_end(result, 0, err);
}

/* The firmware of nodes is stored beside, as it is where it is read in-band. */
static int import_firmware(struct saved_writer *writer, const struct ibdiagnet *bundle, int64_t wall_us,
			   struct error *err)
{
	struct node_firmware *list = calloc(bundle->node_count + 1, sizeof(*list));
	struct saved_firmware_counts counts = { 0 };
	size_t count = 0;
	int code;

	if (!list)
		return err_nomem(err);
	for (size_t i = 0; i < bundle->node_count; i++) {
		if (!bundle->nodes[i].firmware.source)
			continue;
		list[count] = (struct node_firmware){ bundle->nodes[i].guid, bundle->nodes[i].firmware };
		list[count++].firmware.at_us = wall_us;
	}
	code = count ? saved_import_firmware(writer, list, count, &counts, err) : 0;
	free(list);
	return code;
}

static int import(struct ibdiagnet *bundle, const char *source, int64_t wall_us, const struct options *options,
		  struct error *err)
{
	struct cables_imported imported = { 0 };
	struct saved_writer *writer = NULL;
	char path[4096], when[WHEN_SIZE];
	int code = options_db_path(options, true, path, sizeof(path), err);

	if (code == 0)
		code = saved_writer_open(path, &writer, err);
	if (code == 0)
		code = cables_import(writer, bundle, source, wall_us, options->now_us, &imported, err);
	if (code == 0 && !imported.known)
		code = import_firmware(writer, bundle, wall_us, err);
	saved_writer_close(writer);
	if (code < 0)
		return code;
	if (imported.known)
		log_warning("%s was imported before, at %s: nothing was changed", source,
			    when_format_local(imported.known_us, when));
	return print(bundle, &imported, options, err);
}

int import_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct ibdiagnet bundle = { 0 };
	struct options options;
	const char *typed = NULL;
	int64_t wall_us = 0;
	const struct option_spec specs[] = {
		OPT_TEXT("time", 0, "TIME", &typed, "when ibdiagnet ran (the time in its files, or that of the files)"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_DB | COMMON_FORMAT | COMMON_COLOR, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc != 1)
		return options_usage_error(command, err, "requires a folder, or a file, of ibdiagnet");
	if (typed && when_parse(typed, options.now_us, &wall_us, err) < 0)
		return err_prefix(err, "--time");
	code = ibdiagnet_read(&bundle, options.argv[0], err);
	if (code == 0) {
		warn_of_rows(&bundle, options.argv[0]);
		code = import(&bundle, options.argv[0], typed ? wall_us : bundle.wall_us, &options, err);
	}
	ibdiagnet_done(&bundle);
	return code;
}
