/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_ack.c - `ibwire health ack`: somebody knows of a finding, and says why it may wait */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/login.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health.h"
#include "cli/view.h"
#include "storage/reader.h"

/* An open finding by its number. */
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
		return err_set(err, ERR_USAGE, "'%.64s' is no number of a finding (ibwire health shows them as #12)",
			       typed);
	return 0;
}

static int acknowledge(const struct view *view, const char *path, const char *typed,
		       const struct acknowledgement *said, struct error *err)
{
	struct finding_query query = { 0 };
	struct search search = { 0 };
	char until[WHEN_SIZE];
	int code = parse_id(typed, &search.id, err);

	if (code == 0)
		code = reader_findings(view->reader, &query, compare, &search, err);
	if (code < 0)
		return code;
	if (!search.is_found)
		return err_set(err, ERR_USAGE,
			       "no open finding has the number %" PRId64 " (ibwire health --all lists them)",
			       search.id);
	code = finding_acknowledge(path, &search.found, said, err);
	if (code < 0)
		return code;
	if (said->until_us == said->at_us)
		printf("#%" PRId64 " %s counts again\n", search.id, search.found.subject);
	else if (said->until_us)
		printf("#%" PRId64 " %s is acknowledged until %s\n", search.id, search.found.subject,
		       when_format_local(said->until_us, until));
	else
		printf("#%" PRId64 " %s is acknowledged, until it is taken back with: ibwire health unack %" PRId64
		       "\n", search.id, search.found.subject, search.id);
	return 0;
}

int health_acknowledge(const struct options *options, const char *reason, int64_t for_us, bool back,
		       struct error *err)
{
	struct acknowledgement said = { .at_us = options->now_us };
	char path[4096];
	struct view view;
	int code;

	if (!back && (!reason || !*reason))
		return err_set(err, ERR_USAGE, "say why it may wait: ibwire health ack %s --reason 'cable is ordered' "
			       "[--for 8h]", options->argv[0]);
	login_name(said.person, sizeof(said.person));
	text_sanitise(reason ? reason : "", reason ? strlen(reason) : 0, said.reason, sizeof(said.reason));
	said.until_us = back ? said.at_us : for_us ? said.at_us + for_us : 0;
	code = options_db_path(options, false, path, sizeof(path), err);
	if (code == 0)
		code = view_open_reader(options, &view, err);
	if (code < 0)
		return code;
	for (int i = 0; code == 0 && i < options->argc; i++)
		code = acknowledge(&view, path, options->argv[i], &said, err);
	view_done(&view);
	return code;
}
