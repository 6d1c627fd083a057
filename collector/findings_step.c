/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/findings_step.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collector/details.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/route_read.h"
#include "collector/sink.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

int judge_init(struct judge *judge, const struct health_settings *settings,
	       const struct shape_settings *shape_settings, struct error *err)
{
	struct health_settings defaults;

	*judge = (struct judge){ .shape_settings = shape_settings };
	health_settings_default(&defaults);
	judge->health = health_create(settings ? settings : &defaults);
	return judge->health ? 0 : err_nomem(err);
}

void judge_done(struct judge *judge)
{
	health_destroy(judge->health);
	shape_destroy(judge->shape);
	free(judge->samples);
	free(judge->caps);
	free(judge->locked);
	free(judge->changed_guids);
	free(judge->changed_entries);
	free(judge->read_guids);
	free(judge->adaptive);
	free(judge->details);
	free(judge->restored);
	memset(judge, 0, sizeof(*judge));
}

int judge_restore(struct judge *judge, const struct restored *restored, struct error *err)
{
	int code = 0;

	judge->restored = calloc(restored->finding_count + 1, sizeof(*judge->restored));
	if (!judge->restored)
		return err_nomem(err);
	for (size_t i = 0; code == 0 && i < restored->finding_count; i++) {
		struct restored_finding *one = &judge->restored[i];

		*one = restored->findings[i];
		one->finding.cause = one->cause;
		for (unsigned j = 0; j < one->finding.number_count; j++)
			one->finding.numbers[j].key = one->keys[j];
		code = health_restore(judge->health, &one->finding, err);
	}
	return code;
}

/* Room for so many; what it held is not kept. */
static bool make_room(void **array, size_t *capacity, size_t count, size_t size)
{
	void *room;

	if (count <= *capacity && *array)
		return true;
	room = calloc(count + 1, size);
	if (!room)
		return false;
	free(*array);
	*array = room;
	*capacity = count;
	return true;
}

/* What a person says of each switch of a new fabric. */
static int follow_adaptive(struct judge *judge, const struct fabric *fabric, struct error *err)
{
	free(judge->adaptive);
	return balance_adaptive_create(judge->shape_settings, fabric, &judge->adaptive, err);
}

/* The shape of this sweep's fabric. */
static int follow(struct judge *judge, const struct sweep *sweep, bool *ret_changed, struct error *err)
{
	struct shape *shape;
	int code;

	*ret_changed = !judge->shaped || judge->generation != sweep->generation;
	if (!*ret_changed)
		return 0;
	code = follow_adaptive(judge, sweep->fabric, err);
	if (code == 0)
		code = shape_create(sweep->fabric, judge->shape_settings, &shape, err);
	if (code < 0)
		return code;
	shape_destroy(judge->shape);
	judge->shape = shape;
	judge->generation = sweep->generation;
	judge->shaped = true;
	return 0;
}

static int gather(struct judge *judge, const struct sweep_result *result, const struct details *details,
		  const struct fabric *fabric, struct memory *memory, struct health_input *input, struct error *err)
{
	if (!make_room((void **)&judge->samples, &judge->sample_capacity, result->count, sizeof(*judge->samples)) ||
	    !make_room((void **)&judge->caps, &judge->caps_capacity, fabric->node_count, sizeof(*judge->caps)) ||
	    !make_room((void **)&judge->locked, &judge->locked_capacity, fabric->node_count, sizeof(*judge->locked)) ||
	    !make_room((void **)&judge->details, &judge->detail_capacity, details->sample_count,
		       sizeof(*judge->details)))
		return err_nomem(err);
	for (size_t i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];

		judge->samples[i] = (struct health_sample){ sample->port, sample->status, sample->delta };
	}
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node_memory *node = memory_node(memory, i);

		judge->caps[i] = node->caps;
		if (node->locked)
			judge->locked[input->locked_count++] = node->guid;
	}
	for (size_t i = 0; i < details->sample_count; i++) {
		const struct detail_sample *detail = &details->samples[i];

		if (detail->delta)
			judge->details[input->detail_count++] = (struct health_detail){
				detail->port, (uint8_t)detail->reading->attribute, detail->delta };
	}
	input->details = judge->details;
	input->adaptive = judge->adaptive;
	input->samples = judge->samples;
	input->sample_count = result->count;
	input->caps = judge->caps;
	input->locked_guids = judge->locked;
	return 0;
}

/* The tables, and which of them are others than in the sweep before. */
static int gather_routes(struct judge *judge, const struct route_read *routes, int64_t wall_us,
			 struct health_input *input, struct error *err)
{
	int64_t newest_us = judge->tables_read_us;

	if (!routes->interval_us)
		return 0;
	if (!make_room((void **)&judge->changed_guids, &judge->changed_capacity, routes->count,
		       sizeof(*judge->changed_guids)) ||
	    !make_room((void **)&judge->changed_entries, &judge->entries_capacity, routes->count,
		       sizeof(*judge->changed_entries)) ||
	    !make_room((void **)&judge->read_guids, &judge->read_capacity, routes->count,
		       sizeof(*judge->read_guids)))
		return err_nomem(err);
	for (size_t i = 0; i < routes->count; i++) {
		const struct route_switch *one = &routes->switches[i];

		if (one->read_us > judge->tables_read_us) {
			judge->read_guids[input->routes_read_count++] = one->guid;
			newest_us = one->read_us > newest_us ? one->read_us : newest_us;
		}
		if (!one->changed)
			continue;
		judge->changed_us = wall_us;
		judge->changed_guids[input->routes_changed_count] = one->guid;
		judge->changed_entries[input->routes_changed_count++] = one->changed;
	}
	judge->tables_read_us = newest_us;
	input->routes_read_guids = judge->read_guids;
	input->routes = &routes->routes;
	input->routes_changed_us = judge->changed_us;
	input->routes_changed_guids = judge->changed_guids;
	input->routes_changed_entries = judge->changed_entries;
	return 0;
}

/* Before a fault is laid to a table it is read again. */
static int want_tables(const struct judge *judge, struct route_read *routes, struct error *err)
{
	const uint64_t *guids;
	size_t count = health_wants_tables(judge->health, &guids);
	int code = 0;

	for (size_t i = 0; code == 0 && routes->interval_us && i < count; i++)
		code = route_read_want(routes, guids[i], err);
	return code;
}

/* Is somebody managing the subnet: it answers, and does not stand still. */
static void look_at_sm(struct judge *judge, const struct sweep_result *result, int64_t now_us,
		       struct health_input *input)
{
	const struct sm_state *sm = &result->sm;

	/* A sweep that was cut before the answer says nothing: what was known stands. */
	if (!result->sm_open) {
		if (sm->known && (sm->guid != judge->sm_guid || sm->act_count != judge->sm_act_count ||
				  !judge->sm_moved_us))
			judge->sm_moved_us = now_us;
		judge->sm_known = sm->known && now_us - judge->sm_moved_us < JUDGE_SM_STILL_US;
		if (sm->known) {
			judge->sm_guid = sm->guid;
			judge->sm_act_count = sm->act_count;
		}
	}
	input->sm_known = judge->sm_known;
	input->sm_guid = judge->sm_guid;
	input->sm_masters = result->sm_masters;
}

struct telling {
	struct events *events;
	const struct sweep *sweep;
};

static void tell(void *ctx, enum health_change change, struct finding *finding)
{
	static const char *const kinds[] = {
		[HEALTH_OPENED] = EVENT_FINDING_OPENED, [HEALTH_CHANGED] = EVENT_FINDING_CHANGED,
		[HEALTH_CLOSED] = EVENT_FINDING_CLOSED,
	};
	static const enum event_severity severities[] = {
		[FINDING_INFO] = EVENT_INFO, [FINDING_WARNING] = EVENT_WARNING, [FINDING_CRITICAL] = EVENT_CRITICAL,
	};
	const struct telling *telling = ctx;
	struct event *event = events_add(telling->events, telling->sweep->wall_us, kinds[change],
					 change == HEALTH_CLOSED ? EVENT_INFO : severities[finding->severity], NULL,
					 FABRIC_NONE, 0, "%s %s: %s", finding_kind_name(finding->kind),
					 finding->subject, finding->text);

	event->node_guid = finding->node_guid;
	event->port = finding->port;
	event->peer_guid = finding->peer_guid;
	event->peer_port = finding->peer_port;
}

int judge_step(struct judge *judge, const struct sweep_result *result, const struct details *details,
	       struct memory *memory, struct route_read *routes, struct sweep *sweep, struct events *events,
	       struct error *err)
{
	struct health_input input = {
		.wall_us = sweep->wall_us, .boot_us = sweep->start_us, .interval_us = sweep->interval_us,
		.fabric = sweep->fabric, .log_bytes = judge->log_bytes, .log_holders = judge->log_holders,
	};
	struct telling telling = { events, sweep };
	int code = follow(judge, sweep, &input.topology_changed, err);

	if (code == 0)
		code = gather(judge, result, details, sweep->fabric, memory, &input, err);
	if (code == 0)
		code = gather_routes(judge, routes, sweep->wall_us, &input, err);
	if (code < 0)
		return code;
	input.shape = judge->shape;
	look_at_sm(judge, result, sweep->end_us, &input);
	code = health_step(judge->health, &input, tell, &telling, err);
	if (code == 0)
		code = want_tables(judge, routes, err);
	if (code < 0)
		return code;
	sweep->finding_count = health_open(judge->health, &sweep->findings);
	return 0;
}
