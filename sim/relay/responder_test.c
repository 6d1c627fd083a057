/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Responses are decoded with the functions that the collector uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "sim/net_shape.h"
#include "sim/relay/responder.h"

enum {
	PMA_CLASS_PORT_INFO = 0x01, PMA_SAMPLES_CONTROL = 0x10, PMA_COUNTERS = 0x12, PMA_RCV_ERROR_DETAILS = 0x15,
	PMA_XMIT_DISCARD_DETAILS = 0x16, PMA_VL_XMIT_WAIT = 0x1c,
	PMA_COUNTERS_EXTENDED = 0x1d, PMA_EXTENDED_SPEEDS = 0x1f, PMA_XMIT_DATA_SL = 0x36,
};
#define STATUS_NO_ATTRIBUTE 0x000c
#define PORT 1

struct fixture {
	struct fabric *fabric;
	struct responder responder;
	uint32_t node;
	uint8_t counters[PACKET_MAD_DATA_SIZE]; /* ibsim's */
	unsigned requests;
	uint16_t last_attribute;
};

/* Configure the node. @format: settings, without the node's name */
__attribute__((format(printf, 2, 3))) static void configure(struct fixture *fix, const char *format, ...)
{
	struct text text = { 0 };
	struct error err = { 0 };
	char settings[200];
	va_list args;

	va_start(args, format);
	vsnprintf(settings, sizeof(settings), format, args);
	va_end(args);
	text_appendf(&text, "%s %s", fix->fabric->nodes[fix->node].name, settings);
	if (responder_configure(&fix->responder, text_chars(&text), &err) < 0)
		fail_msg("%s", err.text);
	text_done(&text);
}

/* @settings: of the node; NULL: not configured */
static struct fixture *fixture_create(const char *settings)
{
	struct fixture *fix = calloc(1, sizeof(*fix));
	struct net_shape shape = net_shape_default(NET_SHAPE_TREE2);
	struct error err = { 0 };

	assert_non_null(fix);
	assert_int_equal(net_shape_build(&shape, &fix->fabric, &err), 0);
	while (fix->fabric->nodes[fix->node].type != NODE_CA)
		fix->node++;
	assert_int_equal(responder_init(&fix->responder, fix->fabric, &err), 0);
	if (settings)
		configure(fix, "%s", settings);
	return fix;
}

static void fixture_destroy(struct fixture *fix)
{
	responder_done(&fix->responder);
	fabric_destroy(fix->fabric);
	free(fix);
}

/* A test with a fixture of its own, `fix`, that has these settings. */
#define RESPONDER_TEST(name, settings) \
	TEST_OF(name, struct fixture, fixture_create(settings), fixture_destroy)

/* Emulates ibsim: it writes 64 bytes of an attribute and leaves the others unchanged. Source: sim_mad.c. */
static void ibsim(struct fixture *fix, uint8_t *mad)
{
	uint16_t attribute = load_be16(mad + MAD_ATTRIBUTE);
	uint8_t *data = mad + PACKET_MAD_DATA, port = data[1];

	fix->requests++;
	fix->last_attribute = attribute;
	assert_int_equal(mad[MAD_METHOD] & METHOD_RESPONSE, 0);
	assert_true(attribute == PMA_CLASS_PORT_INFO || attribute == PMA_COUNTERS ||
		    attribute == PMA_COUNTERS_EXTENDED || attribute == PMA_RCV_ERROR_DETAILS ||
		    attribute == PMA_XMIT_DISCARD_DETAILS || (attribute >= 0x17 && attribute <= PMA_VL_XMIT_WAIT));
	if (attribute == PMA_COUNTERS) {
		memcpy(data, fix->counters, 64);
		data[1] = port;
	} else if (attribute == PMA_COUNTERS_EXTENDED) {
		store_be64(data + 8, 1111);
	} else if (attribute == PMA_CLASS_PORT_INFO) {
		memset(data, 0, 64);
		data[0] = data[1] = 1;
		store_be16(data + 2, 0x1200);
		store_be32(data + 4, 0x12);
	}
	mad[MAD_METHOD] = METHOD_GET_RESPONSE;
}

/* Process a request and its response. */
static void put_request(struct fixture *fix, uint8_t *mad)
{
	struct exchange exchange = { 0 };

	responder_request(&fix->responder, fix->node, &exchange, mad);
	do
		ibsim(fix, mad);
	while (!responder_response(&fix->responder, fix->node, &exchange, mad));
}

static void fill(uint8_t mad[PACKET_MAD_SIZE], uint8_t mgmt_class, uint8_t method, uint16_t attribute)
{
	memset(mad, 0, PACKET_MAD_SIZE);
	mad[MAD_BASE_VERSION] = mad[MAD_CLASS_VERSION] = 1;
	mad[MAD_CLASS] = mgmt_class;
	mad[MAD_METHOD] = method;
	store_be64(mad + MAD_TID, 42);
	store_be16(mad + MAD_ATTRIBUTE, attribute);
}

static void set_counter_select2(struct fixture *fix, uint8_t port, uint32_t select2)
{
	uint8_t mad[PACKET_MAD_SIZE];

	fill(mad, CLASS_PERFORMANCE, METHOD_SET, PMA_COUNTERS_EXTENDED);
	mad[PACKET_MAD_DATA + 1] = port;
	store_be32(mad + PACKET_MAD_DATA + 4, select2);
	put_request(fix, mad);
}

static void send_mad(struct fixture *fix, uint8_t method, uint16_t attribute, uint8_t port,
		     uint8_t mad[PACKET_MAD_SIZE])
{
	fill(mad, CLASS_PERFORMANCE, method, attribute);
	mad[PACKET_MAD_DATA + 1] = port;
	if (method == METHOD_SET) {
		store_be16(mad + PACKET_MAD_DATA + 2, 0xffff);
		store_be64(mad + PACKET_MAD_DATA + 8, UINT64_MAX);
	}
	/* Stale bytes after the contents of the request. */
	memset(mad + PACKET_MAD_DATA + 72, 0xa5, PACKET_MAD_DATA_SIZE - 72);
	put_request(fix, mad);
	assert_int_equal(load_be16(mad + MAD_ATTRIBUTE), attribute);
	assert_int_equal(mad[MAD_METHOD], METHOD_GET_RESPONSE);
	assert_true(load_be64(mad + MAD_TID) == 42);
}

static void send_get(struct fixture *fix, uint16_t attribute, uint8_t port, uint8_t mad[PACKET_MAD_SIZE])
{
	send_mad(fix, METHOD_GET, attribute, port, mad);
}

/* Process an SMP and the response to NodeInfo or to the attribute itself. */
static void send_smp(struct fixture *fix, uint16_t attribute, uint8_t mad[PACKET_MAD_SIZE])
{
	struct exchange exchange = { 0 };

	fill(mad, CLASS_SUBN_DIRECTED, METHOD_GET, attribute);
	responder_request(&fix->responder, fix->node, &exchange, mad);
	fix->last_attribute = load_be16(mad + MAD_ATTRIBUTE);
	mad[MAD_METHOD] = METHOD_GET_RESPONSE;
	store_be16(mad + MAD_STATUS, 0x8000);
	assert_true(responder_response(&fix->responder, fix->node, &exchange, mad));
	assert_int_equal(load_be16(mad + MAD_ATTRIBUTE), attribute);
}

static uint16_t status_of(const uint8_t *mad)
{
	return load_be16(mad + MAD_STATUS);
}

static struct pma_caps read_caps(const uint8_t *mad)
{
	return (struct pma_caps){
		.known = true, .cap_mask = load_be16(mad + PACKET_MAD_DATA + 2),
		.cap_mask2 = load_be32(mad + PACKET_MAD_DATA + 4) >> 5,
		.resp_time = mad[PACKET_MAD_DATA + 7] & 31,
	};
}

static struct reading read_all(struct fixture *fix, uint8_t port)
{
	struct reading reading = { 0 };
	uint8_t mad[PACKET_MAD_SIZE];
	struct pma_caps caps;

	send_get(fix, PMA_CLASS_PORT_INFO, 0, mad);
	caps = read_caps(mad);
	send_get(fix, PMA_COUNTERS, port, mad);
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS, mad + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE, &caps);
	send_get(fix, PMA_COUNTERS_EXTENDED, port, mad);
	reading_decode(&reading, ATTRIBUTE_PORT_COUNTERS_EXTENDED, mad + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE, &caps);
	return reading;
}

RESPONDER_TEST(a_node_without_configuration_responds_as_ibsim, NULL)
{
	uint8_t mad[PACKET_MAD_SIZE];

	store_be16(fix->counters + 4, 17);
	send_get(fix, PMA_COUNTERS, PORT, mad);
	assert_int_equal(load_be16(mad + PACKET_MAD_DATA + 4), 17);
	send_get(fix, PMA_COUNTERS_EXTENDED, PORT, mad);
	assert_true(load_be64(mad + PACKET_MAD_DATA + 8) == 1111);
	assert_int_equal(fix->requests, 2);
}

RESPONDER_TEST(unsupported_attributes_are_refused_and_not_sent_to_ibsim, NULL)
{
	static const uint16_t unknown[] = { PMA_SAMPLES_CONTROL, PMA_EXTENDED_SPEEDS, PMA_XMIT_DATA_SL, 0x37, 0x77 };
	uint8_t mad[PACKET_MAD_SIZE];

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		send_get(fix, unknown[i], PORT, mad);
		assert_int_equal(status_of(mad), STATUS_NO_ATTRIBUTE);
		/* ibsim was sent a supported attribute. */
		assert_int_equal(fix->last_attribute, PMA_CLASS_PORT_INFO);
	}
}

TEST(capabilities_are_as_configured)
{
	struct fixture *fix = fixture_create("caps=0x5300 caps2=0x2 resp=9");
	uint8_t mad[PACKET_MAD_SIZE];
	struct pma_caps caps;

	send_get(fix, PMA_CLASS_PORT_INFO, 0, mad);
	caps = read_caps(mad);
	assert_int_equal(caps.cap_mask, 0x5300);
	assert_int_equal(caps.cap_mask2, 2);
	assert_int_equal(caps.resp_time, 9);
	fixture_destroy(fix);

	fix = fixture_create("tick=7");
	send_get(fix, PMA_CLASS_PORT_INFO, 0, mad);
	caps = read_caps(mad);
	assert_int_equal(caps.cap_mask, 0x1200);
	assert_int_equal(caps.resp_time, 0x12);
	fixture_destroy(fix);
}

RESPONDER_TEST(wide_errors_are_ibsims_unless_set,
	       "caps=0x5300 caps2=0x2 port=1 symbol_errors=5000000000 xmit_wait=99")
{
	struct reading reading;

	store_be16(fix->counters + 4, 3);    /* SymbolErrorCounter: overridden by the set value */
	store_be16(fix->counters + 8, 300);  /* PortRcvErrors */
	fix->counters[19] = 0x5c;            /* LocalLinkIntegrity 5, ExcessiveBufferOverrun 12 */
	store_be16(fix->counters + 22, 41);  /* VL15Dropped */
	reading = read_all(fix, PORT);
	assert_true(reading.value[COUNTER_SYMBOL_ERRORS] == 5000000000);
	assert_int_equal(reading.value[COUNTER_RCV_ERRORS], 300);
	assert_int_equal(reading.value[COUNTER_LOCAL_LINK_INTEGRITY_ERRORS], 5);
	assert_int_equal(reading.value[COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS], 12);
	assert_int_equal(reading.value[COUNTER_VL15_DROPPED], 41);
	assert_int_equal(reading.value[COUNTER_XMIT_WAIT], 99);
	assert_int_equal(reading.value[COUNTER_XMIT_DATA], 1111);
	for (unsigned counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++)
		assert_true(reading.wide & COUNTER_BIT(counter));
}

RESPONDER_TEST(every_counter_can_be_set_up_to_its_maximum, "caps=0xd300 caps2=0x2")
{
	uint64_t value = UINT64_C(0x0123456789abcdef);

	for (unsigned counter = 0; counter < COUNTER_COUNT; counter++) {
		const struct pma_caps all = { .known = true, .cap_mask = UINT16_MAX };
		struct reading reading, narrow = { 0 };
		uint8_t mad[PACKET_MAD_SIZE];

		configure(fix, "%s=%llu", counter_info((enum counter)counter)->key, (unsigned long long)value);
		reading = read_all(fix, PORT);
		assert_true(reading.value[counter] == value);
		send_get(fix, PMA_COUNTERS, PORT, mad);
		reading_decode(&narrow, ATTRIBUTE_PORT_COUNTERS, mad + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE, &all);
		if (narrow.present & COUNTER_BIT(counter))
			assert_true(narrow.value[counter] == reading_max(&narrow, (enum counter)counter));
		value++;
	}
}

RESPONDER_TEST(a_value_belongs_to_its_port_and_can_be_unset, "caps=0x5300 caps2=0x2 port=1 rcv_errors=7")
{
	store_be16(fix->counters + 8, 2);
	assert_int_equal(read_all(fix, 1).value[COUNTER_RCV_ERRORS], 7);
	assert_int_equal(read_all(fix, 0).value[COUNTER_RCV_ERRORS], 2);
	configure(fix, "rcv_errors=ibsim");
	assert_int_equal(read_all(fix, 1).value[COUNTER_RCV_ERRORS], 2);
}

RESPONDER_TEST(a_set_clears_configured_values, "caps=0x5300 caps2=0x2 rcv_errors=7 xmit_wait=8")
{
	uint8_t mad[PACKET_MAD_SIZE];

	send_mad(fix, METHOD_SET, PMA_COUNTERS, PORT, mad);
	/* The emulated ibsim drops the selection; a real response to a Set contains it. */
	store_be16(fix->counters + 2, 0xffff);
	send_mad(fix, METHOD_SET, PMA_COUNTERS, PORT, mad);
	store_be16(fix->counters + 2, 0);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_RCV_ERRORS], 0);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_XMIT_WAIT], 8);
}

/* CounterSelect2 of PortCountersExtended: one bit at a time clears one counter, and none without 64-bit errors. */
TEST(counter_select_2_clears_one_counter_per_bit)
{
	static const uint8_t order[] = {
		COUNTER_SYMBOL_ERRORS, COUNTER_LINK_ERROR_RECOVERY, COUNTER_LINK_DOWNED, COUNTER_RCV_ERRORS,
		COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, COUNTER_RCV_SWITCH_RELAY_ERRORS, COUNTER_XMIT_DISCARDS,
		COUNTER_XMIT_CONSTRAINT_ERRORS, COUNTER_RCV_CONSTRAINT_ERRORS, COUNTER_LOCAL_LINK_INTEGRITY_ERRORS,
		COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS, COUNTER_VL15_DROPPED, COUNTER_XMIT_WAIT, COUNTER_QP1_DROPPED,
	};

	for (unsigned wide = 0; wide < 2; wide++)
		for (unsigned bit = 0; bit < sizeof(order); bit++) {
			struct fixture *fix = fixture_create(wide ? "caps=0xd300 caps2=0x2" : "caps=0xd300 caps2=0x0");
			struct responder_port *port = &fix->responder.nodes[fix->node]->ports[PORT];

			for (unsigned counter = 0; counter < COUNTER_COUNT; counter++) {
				port->set |= COUNTER_BIT(counter);
				port->value[counter] = 5;
			}
			set_counter_select2(fix, PORT, 1u << bit);
			for (unsigned counter = 0; counter < COUNTER_COUNT; counter++)
				assert_true(port->value[counter] == (wide && counter == order[bit] ? 0 : 5));
			fixture_destroy(fix);
		}
}

RESPONDER_TEST(tick_and_fec_in_both_layouts, "tick=31 fec=rs fec_corrected_blocks=77 "
	       "fec_uncorrected_blocks=5000000000 fec_corrected_symbols=10")
{
	uint8_t mad[PACKET_MAD_SIZE];
	const uint8_t *data = mad + PACKET_MAD_DATA;

	send_get(fix, PMA_SAMPLES_CONTROL, PORT, mad);
	assert_int_equal(status_of(mad), 0);
	assert_int_equal(data[1], PORT);
	assert_int_equal(data[2], 31);
	send_get(fix, PMA_EXTENDED_SPEEDS, PORT, mad);
	assert_int_equal(status_of(mad), 0);
	assert_int_equal(data[1], PORT);
	assert_int_equal(load_be32(data + 140), 77);
	assert_true(load_be32(data + 144) == UINT32_MAX);
	assert_int_equal(load_be32(data + 148), 10);
	assert_int_equal(load_be32(data + 44) + load_be32(data + 48) + load_be32(data + 52) + load_be32(data + 56), 10);

	configure(fix, "fec=firecode");
	send_get(fix, PMA_EXTENDED_SPEEDS, PORT, mad);
	assert_int_equal(load_be32(data + 44) + load_be32(data + 48) + load_be32(data + 52) + load_be32(data + 56), 77);
	assert_int_equal(load_be32(data + 140), 0);
	send_get(fix, PMA_EXTENDED_SPEEDS, 200, mad);
	assert_int_equal(status_of(mad), 0x001c);
}

/* A value that is small, at the maximum of the field, or above it. */
static uint64_t any_value(uint64_t *random, uint64_t max)
{
	const uint64_t values[] = { 0, 1, max - 1u, max, max < UINT64_MAX ? max + 1 : max, map_mix(*random) % max };

	*random = map_mix(*random + 1);
	return values[*random % 6];
}

static struct detail_reading read_detail(struct fixture *fix, enum detail_attribute attribute, enum fec_layout layout)
{
	static const uint16_t ids[] = { PMA_RCV_ERROR_DETAILS, PMA_XMIT_DISCARD_DETAILS, PMA_VL_XMIT_WAIT,
					PMA_EXTENDED_SPEEDS, PMA_EXTENDED_SPEEDS, PMA_EXTENDED_SPEEDS, 0x17, 0x18, 0x19,
					0x1a, 0x1b, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
					PMA_SAMPLES_CONTROL, PMA_SAMPLES_CONTROL, 0x38, 0x39 };
	struct detail_reading reading;
	uint8_t mad[PACKET_MAD_SIZE];

	send_get(fix, ids[attribute], PORT, mad);
	assert_int_equal(status_of(mad), 0);
	detail_decode(attribute, layout, mad + PACKET_MAD_DATA, PACKET_MAD_DATA_SIZE, &reading);
	return reading;
}

static bool by_lane(enum detail_attribute attribute)
{
	return attribute == DETAIL_LANE_ERRORS || attribute == DETAIL_LANE_UNCORRECTED;
}

/* All detail counters in both layouts have the configured values, limited to their maximum. */
RESPONDER_TEST(detail_counters_have_their_configured_values, "fec=rs tick=7")
{
	uint64_t random = 3, expected[DETAIL_ATTRIBUTE_COUNT][DETAIL_MAX];
	enum detail_attribute attribute;
	struct detail_reading reading;

	for (unsigned turn = 0; turn < 10; turn++)
		for (attribute = 0; attribute < DETAIL_ATTRIBUTE_COUNT; attribute++) {
			for (unsigned number = 0; number < detail_count(attribute); number++) {
				uint64_t max = detail_max(attribute, number);
				uint64_t value = any_value(&random, max);

				expected[attribute][number] = value > max ? max : value;
				configure(fix, "fec=%s port=%d %s=%llu", by_lane(attribute) ? "firecode" : "rs", PORT,
					  detail_info(attribute, number)->key,
					  (unsigned long long)value);
			}
			reading = read_detail(fix, attribute, by_lane(attribute) ? FEC_LAYOUT_LANES : FEC_LAYOUT_RS);
			for (unsigned number = 0; number < detail_count(attribute); number++) {
				assert_true(reading.present >> number & 1);
				assert_int_equal(reading.value[number], expected[attribute][number]);
			}
		}
}

RESPONDER_TEST(lane_counters_add_up_to_the_port,
	       "fec=firecode fec_corrected_blocks=1003 fec_uncorrected_blocks=7 sync_header_errors=5")
{
	struct detail_reading reading = read_detail(fix, DETAIL_EXTENDED_SPEEDS, FEC_LAYOUT_LANES);

	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_BLOCKS], 1003);
	assert_int_equal(reading.value[DETAIL_FEC_UNCORRECTED_BLOCKS], 7);
	assert_int_equal(reading.value[DETAIL_SYNC_HEADER_ERRORS], 5);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_LANE_0 + 3], 250);
	/* Lane counters that are set are returned, and the port is their sum. */
	configure(fix, "port=1 fec_corrected_lane2=40 fec_corrected_lane11=2");
	reading = read_detail(fix, DETAIL_EXTENDED_SPEEDS, FEC_LAYOUT_LANES);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_BLOCKS], 42);
	assert_int_equal(reading.value[DETAIL_FEC_CORRECTED_LANE_0], 0);
}

RESPONDER_TEST(detail_counters_are_cleared_by_a_set,
	       "fec=rs fec_corrected_blocks=9 dlid_mapping_errors=4 looping_errors=6")
{
	uint8_t mad[PACKET_MAD_SIZE];

	send_mad(fix, METHOD_SET, PMA_RCV_ERROR_DETAILS, PORT, mad);
	assert_int_equal(read_detail(fix, DETAIL_RCV_ERRORS, FEC_LAYOUT_UNKNOWN).value[3], 0);
	assert_int_equal(read_detail(fix, DETAIL_EXTENDED_SPEEDS, FEC_LAYOUT_RS).value[DETAIL_FEC_CORRECTED_BLOCKS], 9);
	send_mad(fix, METHOD_SET, PMA_EXTENDED_SPEEDS, PORT, mad);
	assert_int_equal(read_detail(fix, DETAIL_EXTENDED_SPEEDS, FEC_LAYOUT_RS).value[DETAIL_FEC_CORRECTED_BLOCKS], 0);
}

RESPONDER_TEST(an_attribute_can_be_disabled, "unsupported=0x1d,0x15")
{
	uint8_t mad[PACKET_MAD_SIZE];

	send_get(fix, PMA_COUNTERS_EXTENDED, PORT, mad);
	assert_int_equal(status_of(mad), STATUS_NO_ATTRIBUTE);
	send_get(fix, PMA_RCV_ERROR_DETAILS, PORT, mad);
	assert_int_equal(status_of(mad), STATUS_NO_ATTRIBUTE);
	send_get(fix, PMA_COUNTERS, PORT, mad);
	assert_int_equal(status_of(mad), 0);
}

RESPONDER_TEST(invalid_configuration_changes_nothing, "caps=0x5300")
{
	static const char *const wrong[] = {
		"", "absent caps=1", "caps=1", "all", "all caps=0x12345", "all fec=strong", "all what=1",
		"all port=999 tick=1", "all tick=1000", "all port=40 rcv_errors=1", "all rcv_errors=-1",
		"all redirect=absent", "all width=5x", "all symbol_errors=-1/h", "all looping_errors=1/h",
		"all redirect=hcas,switches", "all late_by=2", "all unsupported=x",
	};
	uint8_t mad[PACKET_MAD_SIZE];
	struct error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&err, 0, sizeof(err));
		if (responder_configure(&fix->responder, wrong[i], &err) != ERR_USAGE)
			fail_msg("\"%s\" is accepted", wrong[i]);
		assert_true(err.text[0]);
	}
	send_get(fix, PMA_CLASS_PORT_INFO, 0, mad);
	assert_int_equal(read_caps(mad).cap_mask, 0x5300);
}

RESPONDER_TEST(a_counter_with_a_rate_grows_with_time, "port=all symbol_errors=5")
{
	configure(fix, "port=%d symbol_errors=7200/h", PORT);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_SYMBOL_ERRORS], 5);
	fix->responder.now_ns += INT64_C(1250000000);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_SYMBOL_ERRORS], 7);
	assert_int_equal(read_all(fix, 0).value[COUNTER_SYMBOL_ERRORS], 5);
	fix->responder.now_ns += INT64_C(250000000);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_SYMBOL_ERRORS], 8);
	/* It keeps its value when it no longer grows. */
	configure(fix, "port=%d symbol_errors=0/h", PORT);
	fix->responder.now_ns += INT64_C(9000000000);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_SYMBOL_ERRORS], 8);
	configure(fix, "port=%d symbol_errors=7200", PORT);
	fix->responder.now_ns += INT64_C(9000000000);
	assert_int_equal(read_all(fix, PORT).value[COUNTER_SYMBOL_ERRORS], 7200);
}

RESPONDER_TEST(xmit_wait_grows_where_it_has_64_bits, "caps=0x5300 caps2=0x2")
{
	uint64_t guid = fix->fabric->nodes[fix->node].guid;

	responder_wait(&fix->responder, guid, PORT, 3e9);
	fix->responder.now_ns += INT64_C(4000000000);
	assert_true(read_all(fix, PORT).value[COUNTER_XMIT_WAIT] == UINT64_C(12000000000));
	configure(fix, "caps2=0");
	responder_wait(&fix->responder, guid, PORT, 0);
	fix->responder.now_ns += INT64_C(1000000000);
	assert_true(fix->responder.nodes[fix->node]->ports[PORT].per_s[COUNTER_XMIT_WAIT] > 0);
	/* Unknown ports are ignored. */
	responder_wait(&fix->responder, guid, 200, 1);
	responder_wait(&fix->responder, 1, 1, 1);
}

RESPONDER_TEST(the_width_of_a_link_can_be_set, "width=1x")
{
	uint8_t mad[PACKET_MAD_SIZE];

	send_smp(fix, 0x15, mad); /* PortInfo */
	assert_int_equal(mad[PACKET_MAD_DATA + 31], LINK_WIDTH_1X);
	configure(fix, "width=ibsim");
	send_smp(fix, 0x15, mad);
	assert_int_not_equal(mad[PACKET_MAD_DATA + 31], LINK_WIDTH_1X);
}

RESPONDER_TEST(smps_that_ibsim_lacks_are_refused, NULL)
{
	uint8_t mad[PACKET_MAD_SIZE];

	send_smp(fix, 0x33, mad); /* PortInfoExtended */
	assert_int_equal(fix->last_attribute, 0x11);
	assert_int_equal(status_of(mad), 0x8000 | STATUS_NO_ATTRIBUTE);
	send_smp(fix, 0x15, mad); /* PortInfo */
	assert_int_equal(fix->last_attribute, 0x15);
	assert_int_equal(status_of(mad), 0x8000);
	/* SMInfo is for the subnet manager at that node. */
	send_smp(fix, 0x20, mad);
	assert_int_equal(fix->last_attribute, 0x20);
}
