/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/when.h"
#include "cli/lib/options.h"
#include "cli/lib/settings.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/shape.h"
#include "facts/port_marks.h"
#include "facts/select.h"
#include "facts/selection.h"
#include "storage/findings.h"
#include "storage/reader.h"

int view_open_reader(const struct options *options, struct view *ret, struct error *err)
{
	struct view view = { .reference_us = options->now_us };
	char path[4096];
	int code = options_db_path(options, false, path, sizeof(path), err);

	if (code < 0)
		return code;
	code = options_name_map(options, &view.names, err);
	if (code < 0)
		return code;
	code = reader_open(path, &view.reader, err);
	if (code < 0) {
		name_map_destroy(view.names);
		return code;
	}
	reader_set_stop(view.reader, options->stop);
	*ret = view;
	return 0;
}

/* Single sweeps in the window have no interval. */
static int default_window(const struct options *options, const struct view *view, int64_t *ret_us, struct error *err)
{
	enum { INTERVAL_WITHOUT_US = 60000000 };
	struct db_status status;
	int code = reader_status_at(view->reader, options->until_us ? options->until_us : options->at_us, &status, err);
	int64_t interval_us = code == 0 && status.last.interval_us > 0 ? status.last.interval_us : INTERVAL_WITHOUT_US;

	*ret_us = interval_us * options->window_sweeps;
	return code;
}

void view_warn_damage(size_t count, const char *first)
{
	static _Thread_local bool warned; /* commands read the same samples several times */

	if (count && !warned)
		log_warning("the database is damaged: %zu packs of samples are unreadable and omitted (%s); "
			"see: ibwire db check", count, first);
	warned |= count > 0;
}

int view_open(const struct options *options, bool absolute, struct view *ret, struct error *err)
{
	int64_t end_us = options->until_us ? options->until_us : options->at_us;
	struct snapshot_query query = { .at_us = end_us, .absolute = absolute };
	struct view view;
	int code = view_open_reader(options, &view, err);

	if (code < 0)
		return code;
	if (end_us)
		view.reference_us = end_us;
	query.names = view.names;
	if (options->since_us) {
		/* Without --until the window ends now. */
		query.at_us = view.reference_us;
		query.window_us = view.reference_us - options->since_us;
	} else if (options->window_us) {
		query.window_us = options->window_us;
	} else if (options->window_sweeps) {
		code = default_window(options, &view, &query.window_us, err);
	}
	view.at_us = query.at_us;
	view.window_us = query.window_us;
	if (code == 0)
		code = snapshot_load(view.reader, &query, &view.snapshot, err);
	if (code == 0)
		view_warn_damage(view.snapshot->damaged, view.snapshot->damage);
	if (code == 0) {
		view.fabric = view.snapshot->fabric;
		code = order_names(&view.names_shown, view.fabric, err);
		view.nodes = view.names_shown.nodes;
	}
	if (code < 0) {
		view_done(&view);
		return code;
	}
	*ret = view;
	return 0;
}

/* The absolute value of a counter is what it counted since its reset. */
static void count_since_reset(struct port_row *row)
{
	counter_set reset = row->sum.reset & COUNTER_ERROR_SET & (row->reading ? row->reading->present : 0);

	for (int i = 0; i < COUNTER_COUNT; i++)
		if (reset & COUNTER_BIT(i))
			row->sum.value[i] = row->reading->value[i];
	row->sum.known |= reset;
	row->sum.reset &= ~reset;
}

int view_open_errors(struct options *options, bool absolute, struct view *ret, struct error *err)
{
	bool since_reset = !options->since_us;
	int code;

	options->notes = true;
	options->window_us = 24 * 3600 * US_PER_S;
	code = view_open(options, absolute || since_reset, ret, err);
	if (code < 0)
		return code;
	ret->since_reset = since_reset;
	for (uint32_t i = 0; since_reset && i < ret->fabric->port_count; i++)
		count_since_reset(&ret->snapshot->rows[i]);
	return 0;
}

const char *view_format_window(const struct view *view, char ret[VIEW_WINDOW_SIZE])
{
	int64_t newest_us = view->snapshot->sweep.wall_us, end_us = view->at_us ? view->at_us : newest_us;
	int64_t since_us = end_us - view->window_us;
	struct db_status status = { 0 };
	char until[WHEN_SIZE], span[WHEN_SIZE];
	bool all = reader_status(view->reader, &status, NULL) == 0 && status.first_wall_us > since_us;

	if (all)
		since_us = status.first_wall_us;
	if (end_us > newest_us)
		end_us = newest_us;
	snprintf(ret, VIEW_WINDOW_SIZE, "%s up to %s%s", when_format_span(end_us - since_us, span),
		 when_format_local(end_us, until), all ? " (all that is stored)" : "");
	return ret;
}

int view_find_shape(struct view *view, struct error *err)
{
	int code;

	view->settings = calloc(1, sizeof(*view->settings));
	if (!view->settings)
		return err_nomem(err);
	code = settings_load(NULL, view->settings, err);
	return code < 0 ? code : shape_create(view->fabric, &view->settings->shape, &view->shape, err);
}

/* The facts for subjects; what they own is freed by facts_done(). */
struct view_facts {
	struct select_facts facts;
	const struct view *view;
	struct settings settings;
	struct shape *shape; /* NULL: the view's, or not loaded */
	struct port_scope scope;
	struct port_facts *ports;
	uint32_t *finding_of;
	struct finding_row *findings;
	size_t finding_count, finding_capacity;
	bool failed; /* no memory */
};

static bool add_finding(void *ctx, const struct finding_row *row)
{
	struct view_facts *own = ctx;
	struct finding_row *list = array_grow(own->findings, own->finding_count, &own->finding_capacity, sizeof(*list));

	own->failed = !list;
	if (list) {
		own->findings = list;
		list[own->finding_count++] = *row;
	}
	return list;
}

static int load_findings(struct view_facts *own, struct error *err)
{
	const struct finding_query query = { .at_us = own->view->at_us, .now_us = own->view->reference_us };
	int code = reader_findings(own->view->reader, &query, add_finding, own, err);

	own->finding_of = calloc(own->facts.fabric->port_count + 1, sizeof(*own->finding_of));
	if (code == 0 && (own->failed || !own->finding_of))
		code = err_nomem(err);
	if (code < 0)
		return code;
	findings_arrange(own->findings, own->finding_count, own->facts.fabric);
	port_marks_find(own->facts.shape, own->facts.fabric, own->findings, own->finding_count, own->finding_of);
	own->facts.findings = own->findings;
	own->facts.finding_of = own->finding_of;
	return 0;
}

static int load_facts(struct select_facts *facts, unsigned needs, struct error *err)
{
	struct view_facts *own = (struct view_facts *)facts; /* its first member */
	int code = 0;

	if (needs & SELECT_NEEDS_SHAPE) {
		code = settings_load(NULL, &own->settings, err);
		if (code == 0)
			code = shape_create(facts->fabric, &own->settings.shape, &own->shape, err);
		facts->shape = own->shape;
	}
	if (code == 0 && needs & SELECT_NEEDS_PORTS) {
		own->ports = calloc(facts->fabric->port_count + 1, sizeof(*own->ports));
		if (!own->ports)
			return err_nomem(err);
		own->scope = view_scope(own->view);
		for (uint32_t i = 0; i < facts->fabric->port_count; i++)
			port_facts_of(&own->scope, i, &own->ports[i]);
		facts->ports = own->ports;
	}
	return code == 0 && needs & SELECT_NEEDS_FINDINGS ? load_findings(own, err) : code;
}

static struct view_facts facts_of(const struct view *view)
{
	return (struct view_facts){
		.facts = { .fabric = view->fabric, .shape = view->shape, .load = load_facts }, .view = view,
	};
}

static void facts_done(struct view_facts *facts)
{
	shape_destroy(facts->shape);
	settings_done(&facts->settings);
	free(facts->ports);
	free(facts->finding_of);
	free(facts->findings);
}

int view_select(const struct view *view, char **args, int count, struct selection *ret, struct error *err)
{
	struct view_facts own = facts_of(view);
	int code = selection_init(ret, &own.facts, args, count, err);

	facts_done(&own);
	return code;
}

int view_find(const struct view *view, const char *typed, uint32_t *ret_node, uint32_t *ret_port, struct error *err)
{
	struct view_facts own = facts_of(view);
	int code = selection_find(&own.facts, typed, ret_node, ret_port, err);

	facts_done(&own);
	return code;
}

void view_done(struct view *view)
{
	shape_destroy(view->shape);
	if (view->settings)
		settings_done(view->settings);
	free(view->settings);
	if (view->snapshot)
		snapshot_destroy(view->snapshot);
	order_done(&view->names_shown);
	reader_close(view->reader);
	name_map_destroy(view->names);
	memset(view, 0, sizeof(*view));
}

struct port_scope view_scope(const struct view *view)
{
	return (struct port_scope){ .snapshot = view->snapshot, .order = &view->names_shown, .shape = view->shape,
				    .reference_us = view->reference_us };
}

bool view_port_was_seen(const struct view *view, uint32_t index)
{
	const struct port *port = &view->fabric->ports[index];

	return port->state > PORT_DOWN || port->peer != FABRIC_NONE || view->snapshot->rows[index].last_wall_us;
}
