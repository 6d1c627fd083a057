/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/shape.h"
#include "facts/port_marks.h"
#include "facts/select.h"
#include "facts/selection.h"
#include "storage/findings.h"
#include "storage/reader.h"

/* The snapshot, and what belongs to its fabric. */
static void unload(struct moment *moment)
{
	shape_destroy(moment->shape);
	moment->shape = NULL;
	free(moment->findings);
	free(moment->finding_of);
	moment->findings = NULL;
	moment->finding_of = NULL;
	moment->finding_count = 0;
	pkeys_done(&moment->pkeys);
	moment->has_pkeys = false;
	if (moment->snapshot)
		snapshot_destroy(moment->snapshot);
	moment->snapshot = NULL;
	moment->fabric = NULL;
}

int moment_load(struct moment *moment, const struct snapshot_query *query, struct error *err)
{
	struct snapshot_query named = *query;
	struct snapshot *snapshot = NULL;
	int code;

	named.names = moment->names;
	code = snapshot_load(moment->reader, &named, &snapshot, err);
	if (code < 0)
		return code;
	unload(moment);
	moment->at_us = query->at_us;
	moment->window_us = query->window_us;
	moment->snapshot = snapshot;
	moment->covered_us = query->window_us && snapshot->rows ? snapshot_covered_us(snapshot) : 0;
	moment->fabric = snapshot->fabric;
	code = order_names(&moment->names_shown, moment->fabric, err);
	moment->nodes = moment->names_shown.nodes;
	return code;
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

void moment_count_since_reset(struct moment *moment)
{
	moment->since_reset = true;
	for (uint32_t i = 0; i < moment->fabric->port_count; i++)
		count_since_reset(&moment->snapshot->rows[i]);
}

const char *moment_format_window(const struct moment *moment, char ret[MOMENT_WINDOW_SIZE])
{
	int64_t newest_us = moment->snapshot->sweep.wall_us, end_us = moment->at_us ? moment->at_us : newest_us;
	int64_t since_us = end_us - moment->window_us;
	struct db_status status = { 0 };
	char until[WHEN_SIZE], span[WHEN_SIZE];
	bool all = reader_status(moment->reader, &status, NULL) == 0 && status.first_wall_us > since_us;

	if (all)
		since_us = status.first_wall_us;
	if (end_us > newest_us)
		end_us = newest_us;
	snprintf(ret, MOMENT_WINDOW_SIZE, "%s up to %s%s", when_format_span(end_us - since_us, span),
		 when_format_local(end_us, until), all ? " (all that is stored)" : "");
	return ret;
}

int moment_find_shape(struct moment *moment, struct error *err)
{
	int code = 0;

	if (moment->shape)
		return 0;
	if (moment->settings && !moment->shape_settings)
		code = moment->settings->load(&moment->settings_owned, &moment->shape_settings, err);
	return code < 0 ? code : shape_create(moment->fabric, moment->shape_settings, &moment->shape, err);
}

static int find_findings(const struct moment *moment, const struct shape *shape, struct finding_row **ret,
			 size_t *ret_count, uint32_t **ret_of_port, struct error *err)
{
	const struct finding_query query = { .at_us = moment->at_us, .now_us = moment->reference_us };
	int code = open_findings_load(moment->reader, &query, ret, ret_count, err);

	return code < 0 ? code : open_findings_mark(shape, moment->fabric, *ret, *ret_count, ret_of_port, err);
}

int moment_load_pkeys(struct moment *moment, struct error *err)
{
	int code = moment->has_pkeys ? 0 : reader_pkeys(moment->reader, moment->at_us, &moment->pkeys, err);

	moment->has_pkeys = code == 0;
	return code;
}

int moment_find_findings(struct moment *moment, struct error *err)
{
	int code = moment_find_shape(moment, err);

	return code < 0 ? code : find_findings(moment, moment->shape, &moment->findings, &moment->finding_count,
					       &moment->finding_of, err);
}

/* The facts for subjects; what they own is freed by facts_done(). */
struct moment_facts {
	struct select_facts facts;
	const struct moment *moment;
	void *settings_owned;
	struct shape *shape; /* NULL: the moment's, or not loaded */
	struct port_scope scope;
	struct port_facts *ports;
	struct finding_row *findings;
	uint32_t *finding_of;
};

static int load_facts(struct select_facts *facts, unsigned needs, struct error *err)
{
	struct moment_facts *own = (struct moment_facts *)facts; /* its first member */
	size_t count;
	int code = 0;

	if (needs & SELECT_NEEDS_SHAPE) {
		const struct shape_settings *settings = own->moment->shape_settings;

		if (own->moment->settings && !settings)
			code = own->moment->settings->load(&own->settings_owned, &settings, err);
		if (code == 0)
			code = shape_create(facts->fabric, settings, &own->shape, err);
		facts->shape = own->shape;
	}
	if (code == 0 && needs & SELECT_NEEDS_PORTS) {
		own->ports = calloc(facts->fabric->port_count + 1, sizeof(*own->ports));
		if (!own->ports)
			return err_nomem(err);
		own->scope = moment_scope(own->moment);
		for (uint32_t i = 0; i < facts->fabric->port_count; i++)
			port_facts_of(&own->scope, i, &own->ports[i]);
		facts->ports = own->ports;
	}
	if (code == 0 && needs & SELECT_NEEDS_FINDINGS)
		code = find_findings(own->moment, facts->shape, &own->findings, &count, &own->finding_of, err);
	facts->findings = own->findings;
	facts->finding_of = own->finding_of;
	return code;
}

static struct moment_facts facts_of(const struct moment *moment)
{
	return (struct moment_facts){
		.facts = { .fabric = moment->fabric, .shape = moment->shape, .load = load_facts }, .moment = moment,
	};
}

static void facts_done(struct moment_facts *facts)
{
	shape_destroy(facts->shape);
	if (facts->settings_owned)
		facts->moment->settings->free(facts->settings_owned);
	free(facts->ports);
	free(facts->findings);
	free(facts->finding_of);
}

int moment_select(const struct moment *moment, char **args, int count, struct selection *ret, struct error *err)
{
	struct moment_facts own = facts_of(moment);
	int code = selection_init(ret, &own.facts, args, count, err);

	facts_done(&own);
	return code;
}

int moment_find(const struct moment *moment, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		struct error *err)
{
	struct moment_facts own = facts_of(moment);
	int code = selection_find(&own.facts, typed, ret_node, ret_port, err);

	facts_done(&own);
	return code;
}

void moment_done(struct moment *moment)
{
	unload(moment);
	if (moment->settings_owned)
		moment->settings->free(moment->settings_owned);
	order_done(&moment->names_shown);
	reader_close(moment->reader);
	name_map_destroy(moment->names);
	memset(moment, 0, sizeof(*moment));
}

struct port_scope moment_scope(const struct moment *moment)
{
	return (struct port_scope){ .snapshot = moment->snapshot, .order = &moment->names_shown, .shape = moment->shape,
				    .findings = moment->findings, .finding_count = moment->finding_count,
				    .finding_of = moment->finding_of,
				    .pkeys = moment->has_pkeys ? &moment->pkeys : NULL,
				    .reference_us = moment->reference_us,
				    .covered_us = moment->covered_us };
}

bool moment_port_was_seen(const struct moment *moment, uint32_t index)
{
	const struct port *port = &moment->fabric->ports[index];

	return port->state > PORT_DOWN || port->peer != FABRIC_NONE || moment->snapshot->rows[index].last_wall_us;
}
