/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/cable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "facts/cable_history.h"
#include "facts/cells.h"
#include "facts/moment.h"
#include "facts/order.h"

/* Places of cables are followed this far back; readings that are shown, the newest. */
#define LOOK_BACK_US (90 * INT64_C(86400) * US_PER_S)
enum { READINGS_SHOWN = 40 };

struct cable_report {
	const struct moment *moment;
	char serial[IBDIAGNET_TEXT_SIZE]; /* "": of a link */
	struct history_port subject;      /* of a link: the port that was asked for */
	int64_t until_us;
	struct cable_history history;
	struct cable_reading *readings;
	size_t reading_count, reading_capacity;
	bool failed;
};

/* --- names --- */

/* "leaf01/12"; a port that is not in the fabric: its GUID. */
static void port_name(const struct cable_report *report, const struct history_port *who, char ret[PORT_NAME_SIZE])
{
	const struct fabric *fabric = report->moment->fabric;
	uint32_t port = fabric_find_port(fabric, who->node_guid, who->num);

	if (port != FABRIC_NONE)
		order_port_name(&report->moment->names_shown, fabric, port, ret);
	else
		snprintf(ret, PORT_NAME_SIZE, "0x%016" PRIx64 "/%u", who->node_guid, who->num);
}

static void put_port(const struct cable_report *report, struct result *result, size_t column,
		     const struct history_port *who)
{
	char name[PORT_NAME_SIZE];

	port_name(report, who, name);
	result_text(result, column, name);
	result_target(result, column, who->node_guid, who->num);
}

static void put_text(struct result *result, size_t column, const char *text)
{
	result_text(result, column, *text ? text : NULL);
}

/* --- the cables: what is printed on them, and what the newest import measured --- */

enum { PLACE_PORT, PLACE_SERIAL, PLACE_PART, PLACE_VENDOR, PLACE_REVISION, PLACE_LENGTH, PLACE_TYPE, PLACE_FIRMWARE,
       PLACE_CAGE, PLACE_PLANE, PLACE_FROM, PLACE_LAST, PLACE_UNTIL, PLACE_COUNT };

static const struct column place_columns[PLACE_COUNT] = {
	[PLACE_PORT] = { .key = "port", .title = "PORT", .kind = COLUMN_TEXT,
			 .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PLACE_SERIAL] = { .key = "serial", .title = "SERIAL", .kind = COLUMN_TEXT },
	[PLACE_PART] = { .key = "part", .title = "PART", .kind = COLUMN_TEXT },
	[PLACE_VENDOR] = { .key = "vendor", .title = "VENDOR", .kind = COLUMN_TEXT, .priority = 3 },
	[PLACE_REVISION] = { .key = "revision", .title = "REV", .kind = COLUMN_TEXT, .priority = 2 },
	[PLACE_LENGTH] = { .key = "length", .title = "LENGTH", .kind = COLUMN_TEXT, .priority = 2 },
	[PLACE_TYPE] = { .key = "type", .title = "TYPE", .kind = COLUMN_TEXT, .priority = 4,
			 .flags = COLUMN_FLEXIBLE },
	[PLACE_FIRMWARE] = { .key = "firmware", .title = "FIRMWARE", .kind = COLUMN_TEXT, .priority = 5 },
	[PLACE_CAGE] = { .key = "cage", .title = "CAGE", .kind = COLUMN_INTEGER, .priority = 6 },
	[PLACE_PLANE] = { .key = "plane", .title = "PLANE", .kind = COLUMN_INTEGER, .priority = 6 },
	[PLACE_FROM] = { .key = "first_import", .title = "FIRST IMPORT", .kind = COLUMN_TIME },
	[PLACE_LAST] = { .key = "last_import", .title = "LAST IMPORT", .kind = COLUMN_TIME },
	[PLACE_UNTIL] = { .key = "replaced", .title = "REPLACED BY", .kind = COLUMN_TIME, .priority = 1 },
};

static void put_places(struct result *result, const void *ctx)
{
	const struct cable_report *report = ctx;

	for (size_t i = 0; i < report->history.place_count; i++) {
		const struct cable_place *place = &report->history.places[i];

		put_port(report, result, PLACE_PORT, &(struct history_port){ place->node_guid, place->port });
		put_text(result, PLACE_SERIAL, place->texts[IBDIAGNET_SERIAL]);
		put_text(result, PLACE_PART, place->texts[IBDIAGNET_PART]);
		put_text(result, PLACE_VENDOR, place->texts[IBDIAGNET_VENDOR]);
		put_text(result, PLACE_REVISION, place->texts[IBDIAGNET_REVISION]);
		put_text(result, PLACE_LENGTH, place->texts[IBDIAGNET_LENGTH]);
		put_text(result, PLACE_TYPE, place->texts[IBDIAGNET_TYPE]);
		put_text(result, PLACE_FIRMWARE, place->texts[IBDIAGNET_CABLE_FIRMWARE]);
		if (place->cage >= 0)
			result_integer(result, PLACE_CAGE, place->cage);
		if (place->plane >= 0)
			result_integer(result, PLACE_PLANE, place->plane);
		result_integer(result, PLACE_FROM, place->from_us);
		result_integer(result, PLACE_LAST, place->last_us);
		cells_nonzero(result, PLACE_UNTIL, place->to_us);
		result_end_row(result);
	}
	result_none(result, "no import has a cable of it");
}

/* --- readings --- */

enum { READING_TIME, READING_PORT, READING_SERIAL, READING_TEMPERATURE, READING_RX, READING_TX, READING_BIAS,
       READING_RAW, READING_EFFECTIVE, READING_SYMBOL, READING_FIRST_COUNTER,
       READING_COUNT = READING_FIRST_COUNTER + IBDIAGNET_COUNTER_COUNT };

static const struct column reading_columns[READING_COUNT] = {
	[READING_TIME] = { .key = "time", .title = "IMPORT", .kind = COLUMN_TIME },
	[READING_PORT] = { .key = "port", .title = "PORT", .kind = COLUMN_TEXT,
			   .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[READING_SERIAL] = { .key = "serial", .title = "SERIAL", .kind = COLUMN_TEXT, .priority = 1 },
	[READING_TEMPERATURE] = { .key = "temperature_c", .title = "C", .kind = COLUMN_REAL },
	[READING_RX] = { .key = "rx_power", .title = "RX POWER", .kind = COLUMN_TEXT, .priority = 3,
			 .flags = COLUMN_FLEXIBLE },
	[READING_TX] = { .key = "tx_power", .title = "TX POWER", .kind = COLUMN_TEXT, .priority = 4,
			 .flags = COLUMN_FLEXIBLE },
	[READING_BIAS] = { .key = "tx_bias", .kind = COLUMN_TEXT },
	[READING_RAW] = { .key = "raw_ber", .title = "RAW BER", .kind = COLUMN_REAL, .priority = 2 },
	[READING_EFFECTIVE] = { .key = "effective_ber", .title = "EFF BER", .kind = COLUMN_REAL, .priority = 2 },
	[READING_SYMBOL] = { .key = "symbol_ber", .title = "SYMBOL BER", .kind = COLUMN_REAL, .priority = 2 },
	[READING_FIRST_COUNTER + IBDIAGNET_SYMBOL_ERRORS] = {
		.key = "symbol_errors", .title = "SYMBOLS", .kind = COLUMN_INTEGER, .priority = 2 },
	[READING_FIRST_COUNTER + IBDIAGNET_LINK_RECOVERIES] = {
		.key = "link_recoveries", .title = "RECOVERIES", .kind = COLUMN_INTEGER, .priority = 4 },
	[READING_FIRST_COUNTER + IBDIAGNET_LINK_DOWNED] = {
		.key = "link_downed", .title = "DOWNS", .kind = COLUMN_INTEGER, .priority = 3 },
	[READING_FIRST_COUNTER + IBDIAGNET_RECEIVE_ERRORS] = {
		.key = "receive_errors", .title = "RCV ERRORS", .kind = COLUMN_INTEGER, .priority = 4 },
};

static void put_ber(struct result *result, size_t column, double ber)
{
	result_real(result, column, ber);
	if (!isnan(ber))
		result_showf(result, column, STYLE_PLAIN, "%.1e", ber);
}

static void put_readings(struct result *result, const void *ctx)
{
	const struct cable_report *report = ctx;
	size_t first = report->reading_count > READINGS_SHOWN && result_rendering(result) != PAGE_JSON ?
			       report->reading_count - READINGS_SHOWN : 0;

	for (size_t i = first; i < report->reading_count; i++) {
		const struct cable_reading *reading = &report->readings[i];

		result_integer(result, READING_TIME, reading->wall_us);
		put_port(report, result, READING_PORT, &(struct history_port){ reading->node_guid, reading->port });
		put_text(result, READING_SERIAL, reading->serial);
		result_real(result, READING_TEMPERATURE, reading->temperature_c);
		if (!isnan(reading->temperature_c))
			result_showf(result, READING_TEMPERATURE,
				     reading->temperature_c > CABLE_HOT_C ? STYLE_WARNING : STYLE_PLAIN, "%.0f",
				     reading->temperature_c);
		put_text(result, READING_RX, reading->texts[0]);
		put_text(result, READING_TX, reading->texts[1]);
		put_text(result, READING_BIAS, reading->texts[2]);
		put_ber(result, READING_RAW, reading->raw_ber);
		put_ber(result, READING_EFFECTIVE, reading->effective_ber);
		put_ber(result, READING_SYMBOL, reading->symbol_ber);
		for (size_t j = 0; j < IBDIAGNET_COUNTER_COUNT; j++)
			if (reading->counters_known >> j & 1)
				result_unsigned(result, READING_FIRST_COUNTER + j, reading->counters[j]);
		result_end_row(result);
	}
	if (first)
		result_note(result, "the newest %d of %zu; JSON has all", READINGS_SHOWN, report->reading_count);
	result_none(result, "no import in the window");
}

/* --- periods --- */

enum { PERIOD_FROM, PERIOD_TO, PERIOD_PORT, PERIOD_PEER, PERIOD_SERIAL, PERIOD_PEER_SERIAL, PERIOD_HOURS, PERIOD_BAD,
       PERIOD_ERRORS, PERIOD_COUNT };

static const struct column period_columns[PERIOD_COUNT] = {
	[PERIOD_FROM] = { .key = "from", .title = "FROM", .kind = COLUMN_TIME },
	[PERIOD_TO] = { .key = "until", .title = "UNTIL", .kind = COLUMN_TIME },
	[PERIOD_PORT] = { .key = "port", .title = "PORT", .kind = COLUMN_TEXT,
			  .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PERIOD_PEER] = { .key = "peer", .title = "PEER", .kind = COLUMN_TEXT,
			  .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[PERIOD_SERIAL] = { .key = "serial", .title = "SERIAL", .kind = COLUMN_TEXT },
	[PERIOD_PEER_SERIAL] = { .key = "peer_serial", .title = "PEER SERIAL", .kind = COLUMN_TEXT, .priority = 2 },
	[PERIOD_HOURS] = { .key = "hours", .title = "HOURS", .kind = COLUMN_REAL },
	[PERIOD_BAD] = { .key = "hours_with_errors", .title = "WITH ERRORS", .kind = COLUMN_REAL },
	[PERIOD_ERRORS] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_INTEGER },
};

static void put_periods(struct result *result, const void *ctx)
{
	const struct cable_report *report = ctx;

	for (size_t i = 0; i < report->history.period_count; i++) {
		const struct cable_period *period = &report->history.periods[i];

		result_integer(result, PERIOD_FROM, period->from_us);
		result_integer(result, PERIOD_TO, period->to_us);
		put_port(report, result, PERIOD_PORT, &period->ports[0]);
		put_port(report, result, PERIOD_PEER, &period->ports[1]);
		put_text(result, PERIOD_SERIAL, period->serials[0]);
		put_text(result, PERIOD_PEER_SERIAL, period->serials[1]);
		result_real(result, PERIOD_HOURS, period->hours);
		result_showf(result, PERIOD_HOURS, STYLE_PLAIN, "%.1f", period->hours);
		result_real(result, PERIOD_BAD, period->bad_hours);
		result_showf(result, PERIOD_BAD, period->bad_hours > 0 ? STYLE_WARNING : STYLE_DIM, "%.1f",
			     period->bad_hours);
		result_unsigned(result, PERIOD_ERRORS, period->errors);
		result_end_row(result);
	}
	result_none(result, "no link with a known cable");
}

/* --- verdict --- */

/* "the cable MT2031VS01234", "the port leaf01/12" */
static void part_name(const struct cable_report *report, size_t period, size_t part, struct text *ret)
{
	const struct cable_history *history = &report->history;
	char name[PORT_NAME_SIZE];

	if (*history->parts[period][part]) {
		text_appendf(ret, "the cable %s", history->parts[period][part]);
		return;
	}
	port_name(report, &history->part_ports[period][part], name);
	text_appendf(ret, "the port %s", name);
}

/* What the errors follow: "cable", "port", "far-end", "unknown", "none". */
static const char *fault_word(const struct cable_report *report)
{
	const struct link_fault *fault = &report->history.fault;
	const struct history_port *port;

	if (fault->result == LINK_FAULT_NONE)
		return "none";
	if (fault->result != LINK_FAULT_FOUND)
		return "unknown";
	if (*report->history.parts[fault->period][fault->part])
		return "cable";
	port = &report->history.part_ports[fault->period][fault->part];
	return *report->serial || (port->node_guid == report->subject.node_guid && port->num == report->subject.num) ?
		       "port" : "far-end";
}

static void fault_text(const struct cable_report *report, struct text *ret)
{
	const struct link_fault *fault = &report->history.fault;
	size_t count = report->history.period_count ? report->history.part_counts[fault->period] : 0, named = 0;
	bool cable = false;

	switch (fault->result) {
	case LINK_FAULT_NONE:
		text_append(ret, "no link with it has errors in more than 1 % of its hours");
		return;
	case LINK_FAULT_CONTRADICTS:
		text_append(ret, "unknown what the errors follow: no single part agrees with all periods, so there are "
			    "several faults, or errors came or went without an exchange");
		return;
	case LINK_FAULT_FOUND:
		text_append(ret, *report->history.parts[fault->period][fault->part] ? "the errors follow " :
										       "the errors stay at ");
		part_name(report, fault->period, fault->part, ret);
		return;
	case LINK_FAULT_SEVERAL:
		break;
	}
	text_append(ret, "unknown what the errors follow: ");
	for (size_t part = 0; part < count; part++) {
		if (!(fault->suspects >> part & 1))
			continue;
		text_append(ret, named++ ? ", or " : "");
		part_name(report, fault->period, part, ret);
		cable |= *report->history.parts[fault->period][part] != '\0';
	}
	text_append(ret, cable ? "; exchange the cable with that of a link without errors, and import again" :
				 "; move one end of the cable to another port, and import again");
}

enum { FAULT_FOLLOWS, FAULT_TEXT, FAULT_PERIODS, FAULT_COUNT };

static const struct column fault_columns[FAULT_COUNT] = {
	[FAULT_FOLLOWS] = { .key = "errors_follow", .title = "errors follow", .kind = COLUMN_TEXT },
	[FAULT_TEXT] = { .key = "text", .title = "verdict", .kind = COLUMN_TEXT },
	[FAULT_PERIODS] = { .key = "periods", .title = "periods that show it", .kind = COLUMN_INTEGER },
};

static void put_fault(struct result *result, const void *ctx)
{
	const struct cable_report *report = ctx;
	struct text text = { 0 };

	fault_text(report, &text);
	result_text(result, FAULT_FOLLOWS, fault_word(report));
	result_text(result, FAULT_TEXT, result_chars(result, &text));
	result_unsigned(result, FAULT_PERIODS, report->history.fault.decided);
	result_end_row(result);
	text_done(&text);
}

/* --- loading --- */

static bool take_reading(void *ctx, const struct cable_reading *reading)
{
	struct cable_report *report = ctx;
	struct cable_reading *added = array_add(&report->readings, &report->reading_count, &report->reading_capacity,
						sizeof(*added));

	if (added)
		*added = *reading;
	report->failed |= !added;
	return added;
}

static int load_readings(struct cable_report *report, const struct history_port *ports, size_t port_count,
			 int64_t since_us, struct error *err)
{
	struct cable_query query = { .port = -1, .since_us = since_us, .until_us = report->until_us };
	int code = 0;

	if (*report->serial) {
		query.serial = report->serial;
		code = reader_cable_readings(report->moment->reader, &query, take_reading, report, err);
	}
	for (size_t i = 0; code == 0 && i < port_count; i++) {
		query.node_guid = ports[i].node_guid;
		query.port = ports[i].num;
		code = reader_cable_readings(report->moment->reader, &query, take_reading, report, err);
	}
	return code == 0 && report->failed ? err_nomem(err) : code;
}

int cable_report_load(struct moment *moment, const char *serial, const uint32_t *ports, size_t port_count,
		      int64_t since_us, int64_t until_us, struct cable_report **ret, struct error *err)
{
	struct cable_report *report = calloc(1, sizeof(*report));
	struct history_port ends[2];
	int code;

	*ret = NULL;
	if (!report)
		return err_nomem(err);
	port_count = serial ? 0 : port_count > 2 ? 2 : port_count;
	for (size_t i = 0; i < port_count; i++)
		ends[i] = history_port_of(moment->fabric, ports[i]);
	report->moment = moment;
	report->until_us = until_us;
	if (serial)
		snprintf(report->serial, sizeof(report->serial), "%s", serial);
	else if (port_count)
		report->subject = ends[0];
	code = cable_history_load(&report->history, moment->reader, serial, ends, port_count, until_us - LOOK_BACK_US,
				  until_us, err);
	if (code == 0)
		code = load_readings(report, ends, port_count, since_us, err);
	if (code < 0 || (!report->history.place_count && !report->reading_count)) {
		cable_report_destroy(report);
		return code;
	}
	*ret = report;
	return 0;
}

void cable_report_destroy(struct cable_report *report)
{
	if (!report)
		return;
	cable_history_done(&report->history);
	free(report->readings);
	free(report);
}

void cable_report_add(struct cable_report *report, struct page *page)
{
	if (!report)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "cables", .title = "Cables",
					       .table = { place_columns, PLACE_COUNT, put_places, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .key = "cable_fault",
					       .table = { fault_columns, FAULT_COUNT, put_fault, report } });
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .key = "cable_periods", .title = "Links with these parts",
		.about = "up to 90 days; errors of the link at both ends",
		.table = { period_columns, PERIOD_COUNT, put_periods, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "cable_readings", .title = "Cable readings",
					       .table = { reading_columns, READING_COUNT, put_readings, report } });
}

int cable_page(struct cable_report *report, struct page **ret, struct error *err)
{
	struct page *page = page_create("InfiniBand cable");
	struct text text = { 0 };

	if (!page)
		return err_nomem(err);
	fault_text(report, &text);
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT, .in = PAGE_HTML,
		.state = report->history.fault.result == LINK_FAULT_NONE ? PAGE_GOOD : PAGE_WARNING,
		.verdict = { .heading = page_print(page, "Cable %s", report->serial),
			     .sentence = page_keep(page, &text) } });
	cable_report_add(report, page);
	*ret = page;
	return 0;
}
