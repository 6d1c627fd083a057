/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Configuration of performance agents: "NODES key=value...". */
#include "sim/relay/responder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/relay/key_values.h"

#define LATE_NS (2 * US_PER_S * 1000)

static const struct {
	const char *name;
	enum fec_mode mode;
} fec_names[] = {
	{ "none", FEC_NONE }, { "firecode", FEC_FIRECODE }, { "rs", FEC_RS }, { "ll", FEC_LOW_LATENCY_RS },
	{ "rs2", FEC_RS2 }, { "unsupported", FEC_UNKNOWN },
};

static struct responder_node *node_create(unsigned port_count)
{
	struct responder_node *config = calloc(1, sizeof(*config));

	if (!config)
		return NULL;
	config->ports = calloc(port_count + 1u, sizeof(*config->ports));
	if (!config->ports) {
		free(config);
		return NULL;
	}
	config->cap_mask = config->cap_mask2 = config->resp_time = config->tick = UINT32_MAX;
	config->fec = FEC_UNKNOWN;
	config->redirect = FABRIC_NONE;
	config->late_ns = LATE_NS;
	return config;
}

static int set_number(const struct key_value *pair, uint32_t max, uint32_t *ret, struct error *err)
{
	uint64_t number;
	int code = parse_number(pair->key, pair->value, 0, max, &number, err);

	if (code == 0)
		*ret = (uint32_t)number;
	return code;
}

static int set_fec(struct responder_node *config, const char *value, struct error *err)
{
	for (size_t i = 0; i < sizeof(fec_names) / sizeof(fec_names[0]); i++)
		if (!strcmp(value, fec_names[i].name)) {
			config->fec = fec_names[i].mode;
			return 0;
		}
	return err_set(err, ERR_USAGE, "fec is none, firecode, rs, ll, rs2 or unsupported, not \"%s\"", value);
}

static int set_refused(struct responder_node *config, char *list, struct error *err)
{
	char *word, *rest = NULL;
	uint64_t attribute;

	config->refused_count = 0;
	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(word, "none"))
			continue;
		if (parse_number("unsupported", word, 0, UINT16_MAX, &attribute, err) < 0)
			return ERR_USAGE;
		if (config->refused_count == RESPONDER_REFUSED_MAX)
			return err_set(err, ERR_USAGE, "unsupported takes up to %d attributes", RESPONDER_REFUSED_MAX);
		config->refused[config->refused_count++] = (uint16_t)attribute;
	}
	return 0;
}

/* "28.39.1002"; "none": GeneralInfo is not supported. */
static int set_firmware(struct responder_node *config, const char *value, struct error *err)
{
	struct firmware *firmware = &config->firmware;
	size_t len;

	if (!strcmp(value, "none")) {
		firmware->source = FIRMWARE_UNKNOWN;
		return 0;
	}
	len = firmware_parse(firmware, value);
	if (!len || value[len])
		return err_set(err, ERR_USAGE, "firmware is a version such as 28.39.1002, or none, not \"%s\"", value);
	firmware->source = FIRMWARE_READ;
	return 0;
}

static int set_redirect(const struct fabric *fabric, struct responder_node *config, const char *value,
			struct error *err)
{
	size_t count = 0;
	bool *members;
	int code;

	if (!strcmp(value, "none")) {
		config->redirect = FABRIC_NONE;
		return 0;
	}
	members = calloc(fabric->node_count, sizeof(*members));
	if (!members)
		return err_nomem(err);
	code = parse_nodes(fabric, value, members, err);
	for (size_t i = 0; i < fabric->node_count; i++) {
		if (!members[i])
			continue;
		config->redirect = (uint32_t)i;
		count++;
	}
	free(members);
	if (code == 0 && count != 1)
		code = err_set(err, ERR_USAGE, "redirect must be one node, but \"%s\" matches %zu", value, count);
	return code;
}

/* Is there a counter of this key? */
static bool is_counter(const char *key)
{
	enum detail_attribute attribute;
	unsigned number;

	return counter_by_key(key) != COUNTER_COUNT || detail_by_key(key, &attribute, &number);
}

/* Set a counter by key; NULL: use ibsim's value. Return: false without memory. */
static bool set_port_counter(struct responder_port *port, const char *key, const uint64_t *value)
{
	enum counter counter = counter_by_key(key);
	enum detail_attribute attribute;
	struct responder_detail *detail;
	unsigned number;

	if (counter != COUNTER_COUNT) {
		port->value[counter] = value ? *value : 0;
		port->set = value ? port->set | COUNTER_BIT(counter) : port->set & ~COUNTER_BIT(counter);
		return true;
	}
	if (!detail_by_key(key, &attribute, &number) || !responder_details(port))
		return false;
	detail = &port->detail[attribute];
	detail->value[number] = value ? *value : 0;
	detail->set = value ? detail->set | UINT32_C(1) << number : detail->set & ~(UINT32_C(1) << number);
	return true;
}

/* "7200/h": increments from now on; 0/h: none. Return: whether the value is a rate. */
static bool parse_rate(const char *value, double *ret_per_s)
{
	char *end;

	double per_hour = strtod(value, &end);

	if (end == value || strcmp(end, "/h") || !(per_hour >= 0 && per_hour <= 1e13))
		return false;
	*ret_per_s = per_hour / 3600;
	return true;
}

/* The value "ibsim" removes the setting. */
static int set_counter(struct responder_node *config, unsigned port_count, int64_t port, const struct key_value *pair,
		       int64_t now_ns, struct error *err)
{
	enum counter counter = counter_by_key(pair->key);
	double per_s = 0;
	bool unset = !strcmp(pair->value, "ibsim"), rate = counter != COUNTER_COUNT && parse_rate(pair->value, &per_s);
	uint64_t value = 0;

	if (!is_counter(pair->key))
		return err_set(err, ERR_USAGE, "\"%s\" is not a setting of pma: see man ibwire-sim", pair->key);
	if (!unset && !rate && parse_number(pair->key, pair->value, 0, UINT64_MAX, &value, err) < 0)
		return ERR_USAGE;
	if (port > (int64_t)port_count)
		return err_set(err, ERR_USAGE, "a selected node has only %u ports", port_count);
	for (unsigned number = 0; number <= port_count; number++) {
		struct responder_port *at = &config->ports[number];

		if (port >= 0 && number != port)
			continue;
		responder_count(at, now_ns);
		/* A counter with a rate continues at its value. */
		if (counter != COUNTER_COUNT)
			at->per_s[counter] = per_s;
		if (rate)
			value = at->value[counter];
		if (!set_port_counter(at, pair->key, unset ? NULL : &value))
			return err_nomem(err);
	}
	return 0;
}

/* "1x", or "ibsim" for ibsim's. */
static int set_width(struct responder_node *config, unsigned port_count, int64_t port, const char *value,
		     struct error *err)
{
	char *end;
	unsigned long lanes = strtoul(value, &end, 10);
	uint8_t code = lanes <= 12 && !strcmp(end, "x") ? link_width_code((unsigned)lanes) : LINK_WIDTH_NONE;

	if (!code && strcmp(value, "ibsim"))
		return err_set(err, ERR_USAGE, "width is 1x, 2x, 4x, 8x, 12x or ibsim, not \"%s\"", value);
	for (unsigned number = 0; number <= port_count; number++)
		if (port < 0 || number == port)
			config->ports[number].width = code;
	return 0;
}

static int set_pair(const struct responder *responder, uint32_t node, struct responder_node *config, int64_t *port,
		    const struct key_value *pair, struct error *err)
{
	const struct {
		const char *key;
		uint32_t max, *value;
	} numbers[] = {
		{ "caps", UINT16_MAX, &config->cap_mask }, { "caps2", (1u << 27) - 1, &config->cap_mask2 },
		{ "resp", 31, &config->resp_time }, { "tick", UINT8_MAX, &config->tick },
		{ "firmware_date", 99999999, &config->firmware.built },
	};
	const struct {
		const char *key;
		double *value;
	} percents[] = {
		{ "garbled", &config->garbled }, { "duplicated", &config->duplicated },
		{ "foreign", &config->foreign }, { "late", &config->late },
	};
	const struct fabric *fabric = responder->fabric;
	unsigned port_count = fabric->nodes[node].port_count;
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(pair->key, numbers[i].key))
			return set_number(pair, numbers[i].max, numbers[i].value, err);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		if (!strcmp(pair->key, percents[i].key))
			return parse_percent(pair->key, pair->value, percents[i].value, err);
	if (!strcmp(pair->key, "fec"))
		return set_fec(config, pair->value, err);
	if (!strcmp(pair->key, "unsupported"))
		return set_refused(config, pair->value, err);
	if (!strcmp(pair->key, "redirect"))
		return set_redirect(fabric, config, pair->value, err);
	if (!strcmp(pair->key, "firmware"))
		return set_firmware(config, pair->value, err);
	if (!strcmp(pair->key, "psid")) {
		firmware_set_psid(&config->firmware, pair->value, strlen(pair->value));
		return 0;
	}
	if (!strcmp(pair->key, "late_by"))
		return parse_time(pair->key, pair->value, &config->late_ns, err);
	if (!strcmp(pair->key, "port") && !strcmp(pair->value, "all")) {
		*port = -1;
		return 0;
	}
	if (!strcmp(pair->key, "port")) {
		int code = parse_number(pair->key, pair->value, 0, 254, &number, err);

		*port = (int64_t)number;
		return code;
	}
	if (!strcmp(pair->key, "width"))
		return set_width(config, port_count, *port, pair->value, err);
	return set_counter(config, port_count, *port, pair, responder->now_ns, err);
}

/* Return: false without memory. */
static bool copy_ports(struct responder_port *to, const struct responder_port *from, unsigned port_count)
{
	for (unsigned i = 0; i <= port_count; i++) {
		to[i] = from[i];
		to[i].detail = NULL;
		if (!from[i].detail)
			continue;
		if (!responder_details(&to[i]))
			return false;
		memcpy(to[i].detail, from[i].detail, DETAIL_ATTRIBUTE_COUNT * sizeof(*to[i].detail));
	}
	return true;
}

static int configure_node(struct responder *responder, uint32_t node, const struct key_values *settings,
			  struct error *err)
{
	unsigned port_count = responder->fabric->nodes[node].port_count;
	struct responder_node *config = node_create(port_count), *old = responder->nodes[node];
	struct responder_port *ports;
	int64_t port = -1;
	int code = 0;

	if (!config)
		return err_nomem(err);
	ports = config->ports;
	if (old) {
		*config = *old;
		config->ports = ports;
		if (!copy_ports(ports, old->ports, port_count))
			code = err_nomem(err);
	}
	for (size_t i = 1; i < settings->count && code == 0; i++) {
		/* Lists are split in place, so each node gets a copy. */
		char *value = strdup(settings->pairs[i].value);
		struct key_value pair = { settings->pairs[i].key, value };

		code = value ? set_pair(responder, node, config, &port, &pair, err) : err_nomem(err);
		free(value);
	}
	if (code < 0) {
		responder_free_ports(ports, port_count);
		free(config);
		return code;
	}
	if (old)
		responder_free_ports(old->ports, port_count);
	free(old);
	responder->nodes[node] = config;
	return 0;
}

int responder_configure(struct responder *responder, const char *text, struct error *err)
{
	size_t node_count = responder->fabric->node_count;
	bool *members = calloc(node_count ? node_count : 1, sizeof(*members));
	struct key_values settings = { 0 };
	int code = members ? key_values_split(text, &settings, err) : err_nomem(err);

	if (code == 0 && (settings.count < 2 || *settings.pairs[0].key))
		code = err_set(err, ERR_USAGE, "pma needs nodes and settings: 'NODES caps=0x5300 tick=7'");
	if (code == 0)
		code = parse_nodes(responder->fabric, settings.pairs[0].value, members, err);
	for (size_t i = 0; i < node_count && code == 0; i++)
		if (members[i])
			code = configure_node(responder, (uint32_t)i, &settings, err);
	key_values_done(&settings);
	free(members);
	return code;
}
