/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_ack.c - `ibwire health ack`: acknowledge findings with a reason */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "facts/cells.h"
#include "cli/lib/moment_options.h"
#include "export/result.h"
#include "storage/reader.h"

/* Find an open finding by number. */
struct search {
	int64_t id;
	struct finding found;
	bool is_found;
};

static bool compare(void *ctx, const struct finding_row *row)
{
	struct search *search = ctx;

	if (row->finding.id != search->id)
		return true;
	search->found = row->finding;
	search->is_found = true;
	return false;
}

static int parse_id(const char *typed, int64_t *ret, struct error *err)
{
	const char *digits = typed[0] == '#' ? typed + 1 : typed;
	char *end;

	errno = 0;
	*ret = strtoll(digits, &end, 10);
	if (end == digits || *end || errno || *ret < 1)
		return err_set(err, ERR_USAGE, "'%.64s' is not a finding number (ibwire health shows them as #12)",
			       typed);
	return 0;
}

/* Columns of JSON and CSV; the last three as in `ibwire health`, null after unack. */
enum { ID, KIND, SUBJECT, BY, REASON, UNTIL, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[ID] = { .key = "id", .kind = COLUMN_INTEGER },
	[KIND] = { .key = "kind", .kind = COLUMN_TEXT },
	[SUBJECT] = { .key = "subject", .kind = COLUMN_TEXT },
	[BY] = { .key = "acknowledged_by", .kind = COLUMN_TEXT },
	[REASON] = { .key = "acknowledged_reason", .kind = COLUMN_TEXT },
	[UNTIL] = { .key = "acknowledged_until", .kind = COLUMN_TIME },
};

static void print_sentence(FILE *out, const struct finding *finding, const struct acknowledgement *ack)
{
	char until[WHEN_SIZE];

	fprintf(out, "#%" PRId64 " %s ", finding->id, finding->subject);
	if (ack->until_us == ack->at_us)
		fputs("is no longer acknowledged\n", out);
	else if (ack->until_us)
		fprintf(out, "is acknowledged until %s\n", when_format_local(ack->until_us, until));
	else
		fprintf(out, "is acknowledged; undo with: ibwire health unack %" PRId64 "\n", finding->id);
}

static void print_row(struct result *result, const struct finding *finding, const struct acknowledgement *ack)
{
	result_integer(result, ID, finding->id);
	result_text(result, KIND, finding_kind_name(finding->kind));
	result_text(result, SUBJECT, finding->subject);
	if (ack->until_us != ack->at_us) {
		result_text(result, BY, ack->person);
		result_text(result, REASON, ack->reason);
		cells_nonzero(result, UNTIL, ack->until_us);
	}
	result_end_row(result);
}

/* @result: NULL: text output. */
static int acknowledge(const struct options *options, const struct moment *moment, const char *path, const char *typed,
		       const struct acknowledgement *ack, struct result *result, struct error *err)
{
	struct finding_query query = { 0 };
	struct search search = { 0 };
	int code = parse_id(typed, &search.id, err);

	if (code == 0)
		code = reader_findings(moment->reader, &query, compare, &search, err);
	if (code < 0)
		return code;
	if (!search.is_found)
		return err_set(err, ERR_USAGE,
			       "there is no open finding %" PRId64 " (ibwire health --all lists them)",
			       search.id);
	code = finding_acknowledge(path, &search.found, ack, err);
	if (code < 0)
		return code;
	if (result)
		print_row(result, &search.found, ack);
	else
		print_sentence(options->out, &search.found, ack);
	return 0;
}

int health_acknowledge(const struct options *options, const char *reason, int64_t for_us, bool back,
		       struct error *err)
{
	struct acknowledgement ack = { .at_us = options->now_us };
	struct result_options output = options_result(options);
	struct result *result = NULL;
	char path[4096];
	struct moment moment;
	int code, finished;

	if (!back && (!reason || !*reason))
		return err_set(err, ERR_USAGE, "ack requires a reason: ibwire health ack %s --reason 'cable is "
			"ordered' [--for 8h]", options->argv[0]);
	login_name(ack.person, sizeof(ack.person));
	text_sanitise(reason ? reason : "", reason ? strlen(reason) : 0, ack.reason, sizeof(ack.reason));
	ack.until_us = back ? ack.at_us : for_us ? ack.at_us + for_us : 0;
	code = options_db_path(options, false, path, sizeof(path), err);
	if (code == 0)
		code = options_open_reader(options, &moment, err);
	if (code < 0)
		return code;
	if (output.format != RESULT_TABLE && !(result = result_create(options->out, &output, columns, COLUMN_COUNT)))
		code = err_nomem(err);
	for (int i = 0; code == 0 && i < options->argc; i++)
		code = acknowledge(options, &moment, path, options->argv[i], &ack, result, err);
	/* Acknowledged findings are printed even if a later number is invalid. */
	finished = result ? result_finish(result, code == 0 ? err : NULL) : 0;
	result_destroy(result);
	moment_done(&moment);
	return code ? code : finished;
}
