/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clearing of counters: nodes by LID, lost MADs, virtual time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "wire/clear.h"
#include "wire/mad.h"
#include "wire/transport.h"

#define NODES 200
#define PORTS 4 /* of each switch */
#define QUEUE 1024
#define DEAD 100
#define ANSWER_US 150
#define FIRST_GUID 0x1000
#define FIRST_QP 0x100

enum { STATUS_BUSY = 0x0001, STATUS_REDIRECT = 0x0002, STATUS_UNSUPPORTED = 0x000c, STATUS_BAD_FIELD = 0x001c };

/* A switch at LID 1 + its index. */
struct model_node {
	uint64_t guid;
	uint16_t caps;
	bool dead, keeps, no_details, silent_details, no_node_info;
	bool redirects, redirects_nowhere; /* to a queue pair of its own at the last node's LID; to a GID */
	unsigned busy;           /* so many times before it answers */
	uint16_t status;         /* of each Set */
	uint16_t errors[PORTS + 1];
	uint32_t data[PORTS + 1];
	unsigned sets;
};

struct model {
	int64_t now_us;
	struct model_node nodes[NODES];
	struct { int64_t at_us; uint8_t mad[MAD_SIZE]; } queue[QUEUE];
	size_t head, tail, most; /* answers under way, and the most that were at a time */
	unsigned loss_percent, sent, bad;
	unsigned swap_after; /* when so many MADs were sent the first two nodes change places */
	bool gone;
};

static int64_t model_now(void *ctx)
{
	return ((struct model *)ctx)->now_us;
}

static bool answer_set(struct model_node *node, uint8_t *mad)
{
	uint16_t attribute = get_be16(mad + 16), select = get_be16(mad + 66);
	uint8_t port = mad[65];

	if (attribute != 0x12 && attribute != 0x1d && node->silent_details)
		return false;
	if (attribute != 0x12 && attribute != 0x1d && node->no_details) {
		put_be16(mad + 4, STATUS_UNSUPPORTED);
		return true;
	}
	put_be16(mad + 4, node->status);
	if (node->status)
		return true;
	node->sets++;
	if (attribute != 0x12)
		return true;
	if (!node->keeps && select & 1)
		node->errors[port] = 0;
	if (!node->keeps && select & 1 << 12)
		node->data[port] = 0;
	put_be16(mad + 64 + 4, node->errors[port]);
	put_be32(mad + 64 + 24, node->data[port]);
	return true;
}

/* Return: whether the node responds. */
static bool answer(struct model_node *node, bool at_own_qp, uint8_t *mad)
{
	bool set = mad[3] == 0x02;

	mad[3] = METHOD_GET_RESPONSE;
	if (mad[1] == CLASS_SUBN_LID) {
		put_be64(mad + SMP_DATA_OFFSET + 12, node->guid);
		if (node->no_node_info)
			put_be16(mad + 4, STATUS_BAD_FIELD);
		return true;
	}
	if (node->busy) {
		node->busy--;
		put_be16(mad + 4, STATUS_BUSY);
		return true;
	}
	if (node->redirects_nowhere || (node->redirects && !at_own_qp)) {
		put_be16(mad + 4, STATUS_REDIRECT);
		put_be16(mad + 64 + 28, node->redirects ? NODES : 0);
		put_be32(mad + 64 + 32, FIRST_QP + (uint32_t)(node->guid - FIRST_GUID));
		put_be32(mad + 64 + 36, 0x80010000);
		return true;
	}
	if (set)
		return answer_set(node, mad);
	put_be16(mad + 66, node->caps);
	return true;
}

static int model_send(void *ctx, const struct mad_address *to, const uint8_t question[MAD_SIZE], unsigned timeout_ms,
		      struct error *err)
{
	struct model *model = ctx;
	struct model_node *node = &model->nodes[to->qp ? to->qp - FIRST_QP : to->lid - 1u];
	uint8_t mad[MAD_SIZE];

	(void)timeout_ms;
	if (model->gone)
		return err_set(err, ERR_UNAVAILABLE, "gone");
	if (++model->sent == model->swap_after) {
		struct model_node first = model->nodes[0];

		model->nodes[0] = model->nodes[1];
		model->nodes[1] = first;
	}
	model->bad += !mad_is_clear(question);
	memcpy(mad, question, MAD_SIZE);
	if (node->dead || (unsigned)rand() % 100 < model->loss_percent || !answer(node, to->qp, mad))
		return 0;
	model->queue[model->tail % QUEUE].at_us = model->now_us + ANSWER_US;
	memcpy(model->queue[model->tail++ % QUEUE].mad, mad, MAD_SIZE);
	if (model->tail - model->head > model->most)
		model->most = model->tail - model->head;
	return 0;
}

static int model_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct model *model = ctx;
	int64_t until_us = model->now_us + timeout_ms * US_PER_MS;

	(void)err;
	if (model->head == model->tail || model->queue[model->head % QUEUE].at_us > until_us) {
		model->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (model->queue[model->head % QUEUE].at_us > model->now_us)
		model->now_us = model->queue[model->head % QUEUE].at_us;
	memcpy(mad, model->queue[model->head++ % QUEUE].mad, MAD_SIZE);
	return TRANSPORT_MAD;
}

/* A model, the ports of its first nodes, and their clearing. */
struct fixture {
	struct model model;
	struct clock clock;
	struct transport transport;
	struct clear_settings settings;
	struct clear_port ports[NODES * PORTS];
	size_t count;
	struct clear *clear;
};

static struct fixture *fixture_create(unsigned nodes)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	for (unsigned i = 0; i < NODES; i++) {
		fixture->model.nodes[i].guid = FIRST_GUID + i;
		fixture->model.nodes[i].caps = 0x1300;
		for (unsigned port = 1; port <= PORTS; port++) {
			fixture->model.nodes[i].errors[port] = (uint16_t)(7 * i + port);
			fixture->model.nodes[i].data[port] = 1000;
		}
	}
	for (unsigned i = 0; i < nodes; i++)
		for (unsigned port = 1; port <= PORTS; port++)
			fixture->ports[fixture->count++] = (struct clear_port){
				.node_guid = FIRST_GUID + i, .lid = (uint16_t)(1 + i), .num = (uint8_t)port,
				.is_switch = true,
			};
	fixture->clock = (struct clock){ .boottime_us = model_now, .ctx = &fixture->model };
	fixture->transport = (struct transport){ .send = model_send, .receive = model_receive, .ctx = &fixture->model };
	fixture->settings = (struct clear_settings){ .timeout_ms = 100, .retries = 2 };
	return fixture;
}

static void survey(struct fixture *fixture)
{
	assert_int_equal(clear_create(&fixture->transport, &fixture->clock, &fixture->settings, fixture->ports,
				      fixture->count, &fixture->clear, NULL), 0);
	assert_int_equal(clear_survey(fixture->clear, NULL), 0);
}

static void survey_and_write(struct fixture *fixture)
{
	survey(fixture);
	assert_int_equal(clear_write(fixture->clear, NULL), 0);
	assert_int_equal(fixture->model.bad, 0);
	assert_in_range(fixture->model.most, 0, 32);
}

static size_t count_outcome(const struct fixture *fixture, enum clear_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < fixture->count; i++)
		count += fixture->ports[i].outcome == outcome;
	return count;
}

static void fixture_destroy(struct fixture *fixture)
{
	clear_destroy(fixture->clear);
	free(fixture);
}

TEST(only_the_given_ports_are_cleared)
{
	struct fixture *fixture = fixture_create(3);

	/* Of the third node only ports 1 and 2. */
	fixture->count -= 2;
	survey_and_write(fixture);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), 10);
	for (unsigned i = 0; i < 4 * PORTS; i++) {
		const struct model_node *node = &fixture->model.nodes[i / PORTS];
		bool named = i < 10;

		assert_int_equal(node->errors[1 + i % PORTS] == 0, named);
		assert_int_equal(node->data[1 + i % PORTS] == 0, named);
	}
	fixture_destroy(fixture);
}

TEST(a_survey_writes_nothing)
{
	struct fixture *fixture = fixture_create(NODES);

	survey(fixture);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(fixture->model.nodes[i].sets, 0);
	assert_int_equal(count_outcome(fixture, CLEAR_UNTRIED), fixture->count);
	assert_int_equal(clear_planned(fixture->clear, CLEAR_PORT_COUNTERS), fixture->count);
	assert_int_equal(clear_planned(fixture->clear, CLEAR_EXTENDED_SPEEDS), 0);
	fixture_destroy(fixture);
}

TEST(errors_only_keeps_data_counters)
{
	struct fixture *fixture = fixture_create(1);

	fixture->settings.errors_only = true;
	survey_and_write(fixture);
	assert_int_equal(fixture->model.nodes[0].errors[1], 0);
	assert_int_equal(fixture->model.nodes[0].data[1], 1000);
	fixture_destroy(fixture);
}

/* The topology of the database is outdated. */
TEST(a_lid_of_another_node_is_not_cleared)
{
	struct fixture *fixture = fixture_create(4);

	fixture->model.nodes[2].guid = 0xbad;
	survey_and_write(fixture);
	assert_int_equal(fixture->model.nodes[2].sets, 0);
	assert_int_equal(count_outcome(fixture, CLEAR_MOVED), PORTS);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), 3 * PORTS);
	fixture_destroy(fixture);
}

TEST(a_lid_that_moves_after_the_survey_is_not_cleared)
{
	struct fixture *fixture = fixture_create(4);

	survey(fixture);
	fixture->model.swap_after = fixture->model.sent + 1;
	assert_int_equal(clear_write(fixture->clear, NULL), 0);
	assert_int_equal(fixture->model.nodes[0].sets + fixture->model.nodes[1].sets, 0);
	assert_int_equal(count_outcome(fixture, CLEAR_MOVED), 2 * PORTS);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), 2 * PORTS);
	fixture_destroy(fixture);
}

TEST(each_failure_has_its_outcome)
{
	struct fixture *fixture = fixture_create(8);
	static const enum clear_outcome expected[8] = {
		CLEAR_SILENT, CLEAR_UNPROVEN, CLEAR_REDIRECTED, CLEAR_REFUSED, CLEAR_KEPT, CLEAR_DONE, CLEAR_DONE,
		CLEAR_DONE,
	};

	fixture->model.nodes[0].dead = true;
	fixture->model.nodes[1].no_node_info = true;
	fixture->model.nodes[2].redirects_nowhere = true;
	fixture->model.nodes[3].status = STATUS_BAD_FIELD;
	fixture->model.nodes[4].keeps = true;
	fixture->model.nodes[5].no_details = true;
	fixture->model.nodes[6].silent_details = true;
	fixture->model.nodes[7].busy = 2;
	survey_and_write(fixture);
	for (size_t i = 0; i < fixture->count; i++)
		if (fixture->ports[i].outcome != expected[i / PORTS])
			fail_msg("port %zu: %u", i, fixture->ports[i].outcome);
	assert_int_equal(fixture->ports[3 * PORTS].status, STATUS_BAD_FIELD);
	assert_int_equal(fixture->ports[4 * PORTS].kept, COUNTER_BIT(COUNTER_SYMBOL_ERRORS));
	fixture_destroy(fixture);
}

TEST(nodes_that_fail_after_the_survey_delay_no_others)
{
	struct fixture *fixture = fixture_create(NODES);
	int64_t started_us;

	fixture->settings.timeout_ms = 1000;
	survey(fixture);
	for (unsigned i = 0; i < DEAD; i++)
		fixture->model.nodes[i].dead = true;
	started_us = fixture->model.now_us;
	assert_int_equal(clear_write(fixture->clear, NULL), 0);
	assert_int_equal(count_outcome(fixture, CLEAR_SILENT), DEAD * PORTS);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), fixture->count - DEAD * PORTS);
	/* Three timeouts of a second, of all failed nodes at the same time. */
	assert_in_range(fixture->model.now_us - started_us, 3000 * US_PER_MS, 4000 * US_PER_MS);
	fixture_destroy(fixture);
}

TEST(lost_mads_are_retried)
{
	struct fixture *fixture = fixture_create(NODES);

	srand(1);
	fixture->model.loss_percent = 20;
	fixture->settings.retries = 12;
	survey_and_write(fixture);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), fixture->count);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned port = 1; port <= PORTS; port++)
			assert_int_equal(fixture->model.nodes[i].errors[port], 0);
	fixture_destroy(fixture);
}

/* NodeInfo is queried at the LID, the rest at the address of the redirection. */
TEST(a_redirection_is_followed)
{
	struct fixture *fixture = fixture_create(2);

	fixture->model.nodes[1].redirects = true;
	survey_and_write(fixture);
	assert_int_equal(count_outcome(fixture, CLEAR_DONE), fixture->count);
	assert_int_equal(fixture->model.nodes[1].errors[1], 0);
	assert_int_not_equal(fixture->model.nodes[NODES - 1].errors[1], 0);
	fixture_destroy(fixture);
}

static bool always(void)
{
	return true;
}

TEST(a_stop_leaves_ports_untried)
{
	struct fixture *fixture = fixture_create(2);

	fixture->settings.stop = always;
	survey_and_write(fixture);
	assert_int_equal(count_outcome(fixture, CLEAR_UNTRIED), fixture->count);
	assert_int_equal(fixture->model.sent, 0);
	fixture_destroy(fixture);
}

TEST(a_failed_device_ends_clearing)
{
	struct fixture *fixture = fixture_create(2);

	survey(fixture);
	fixture->model.gone = true;
	assert_int_equal(clear_write(fixture->clear, NULL), ERR_UNAVAILABLE);
	fixture_destroy(fixture);
}
