/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Class of each node: from its device, its GUIDs and its description; settings take precedence. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "fabric/device.h"
#include "fabric/host.h"
#include "fabric/name_pattern.h"
#include "fabric/shape/build.h"

/* Position of a keyword in a host name. */
enum place {
	WHOLE, /* delimited by digits and punctuation: "sm" in "sm-01", not in "smp3" */
	PART,  /* anywhere in the name */
	TAIL,  /* WHOLE, or after a common prefix of host names: "taurusoss1" beside "taurusi1001" */
};

/*
 * Keywords of hosts that are not compute hosts. Source: host names in published ibnetdiscover
 * outputs, and the names of services: Lustre OSS, MDS and MGS, GPFS NSD servers, opensm, UFM, LNet
 * routers, Skyway, storage appliances and file systems of several vendors. A 0 stands for any number:
 * "ai0x" is in "ai400x-01". Routers come first.
 */
static const struct {
	const char *word;
	uint8_t class;
	uint8_t place;
} keywords[] = {
	{ "lnet", CLASS_ROUTER, PART },         { "router", CLASS_ROUTER, PART },
	{ "gateway", CLASS_ROUTER, PART },      { "skyway", CLASS_ROUTER, PART },
	{ "rtr", CLASS_ROUTER, TAIL },          { "gw", CLASS_ROUTER, WHOLE },
	{ "bridgex", CLASS_ROUTER, PART },      { "bridge", CLASS_ROUTER, WHOLE },
	{ "lustre", CLASS_STORAGE, PART },      { "gpfs", CLASS_STORAGE, PART },
	{ "beegfs", CLASS_STORAGE, PART },      { "storage", CLASS_STORAGE, PART },
	{ "weka", CLASS_STORAGE, PART },        { "ceph", CLASS_STORAGE, PART },
	{ "netapp", CLASS_STORAGE, PART },      { "ddn", CLASS_STORAGE, WHOLE },
	{ "vast", CLASS_STORAGE, WHOLE },       { "nfs", CLASS_STORAGE, TAIL },
	{ "oss", CLASS_STORAGE, TAIL },         { "ost", CLASS_STORAGE, TAIL },
	{ "mds", CLASS_STORAGE, TAIL },         { "mdt", CLASS_STORAGE, TAIL },
	{ "mgs", CLASS_STORAGE, TAIL },         { "nsd", CLASS_STORAGE, TAIL },
	{ "nas", CLASS_STORAGE, WHOLE },        { "stor", CLASS_STORAGE, WHOLE },
	{ "ai0x", CLASS_STORAGE, PART },        { "es0nv", CLASS_STORAGE, PART },
	{ "sfa", CLASS_STORAGE, WHOLE },        { "exascaler", CLASS_STORAGE, PART },
	{ "vastdata", CLASS_STORAGE, PART },    { "flashblade", CLASS_STORAGE, PART },
	{ "isilon", CLASS_STORAGE, PART },      { "powerscale", CLASS_STORAGE, PART },
	{ "qumulo", CLASS_STORAGE, PART },      { "panasas", CLASS_STORAGE, PART },
	{ "daos", CLASS_STORAGE, WHOLE },       { "quobyte", CLASS_STORAGE, PART },
	{ "infinibox", CLASS_STORAGE, PART },   { "hammerspace", CLASS_STORAGE, PART },
	{ "mgmt", CLASS_MANAGEMENT, PART },     { "ufm", CLASS_MANAGEMENT, PART },
	{ "opensm", CLASS_MANAGEMENT, PART },   { "login", CLASS_MANAGEMENT, PART },
	{ "admin", CLASS_MANAGEMENT, PART },    { "manage", CLASS_MANAGEMENT, PART },
	{ "headnode", CLASS_MANAGEMENT, PART }, { "bastion", CLASS_MANAGEMENT, PART },
	{ "service", CLASS_MANAGEMENT, TAIL },  { "sm", CLASS_MANAGEMENT, WHOLE },
	{ "head", CLASS_MANAGEMENT, WHOLE },    { "master", CLASS_MANAGEMENT, WHOLE },
	{ "mgt", CLASS_MANAGEMENT, WHOLE },     { "bcm", CLASS_MANAGEMENT, WHOLE },
};

enum { KEYWORDS = sizeof(keywords) / sizeof(keywords[0]), KEYWORD_DISTINCT = 1, KEYWORD_SHARED };

/* A prefix of host names, and whether it is common; longer prefixes are not considered. */
#define STEMS_MAX 16

struct stems {
	const struct shape_build *build;
	/*
	 * Classes of host names without their numbers; thousands of hosts have only few of these.
	 */
	struct shape_strings patterns;
	uint8_t *classes;
	char known[STEMS_MAX][32];
	bool common[STEMS_MAX];
	unsigned count;
	uint8_t shared[KEYWORDS]; /* KEYWORD_SHARED, KEYWORD_DISTINCT; 0: not tested yet */
};

/* Common: at least a quarter of all HCAs, and at least three. */
static bool is_common_stem(struct stems *stems, const char *stem, size_t len)
{
	const struct shape_build *build = stems->build;
	size_t total = 0, same = 0;

	if (len < 3 || len >= sizeof(stems->known[0]))
		return false;
	for (size_t i = 0; i < stems->count; i++)
		if (strlen(stems->known[i]) == len && !strncasecmp(stems->known[i], stem, len))
			return stems->common[i];
	if (stems->count == STEMS_MAX)
		return false;
	for (size_t i = 0; i < build->fabric->node_count; i++) {
		if (!build->host_of[i])
			continue;
		total++;
		same += !strncasecmp(build->host_of[i], stem, len);
	}
	memcpy(stems->known[stems->count], stem, len);
	stems->common[stems->count] = same >= 3 && same * 4 >= total;
	return stems->common[stems->count++];
}

/* @word occurs in @name at the required position. */
static bool name_has(struct stems *stems, const char *name, const char *word, enum place place)
{
	size_t len = strlen(word);
	const char *at, *next;

	if (place == PART)
		return strcasestr(name, word);
	for (at = name; *at; at = next) {
		size_t letters = 0;

		/* Letters beyond ASCII are letters. */
		while (isalpha((unsigned char)at[letters]) || (unsigned char)at[letters] >= 0x80)
			letters++;
		next = at + letters + !letters;
		if (letters < len || strncasecmp(at + letters - len, word, len))
			continue;
		if (letters == len || (place == TAIL && at == name && is_common_stem(stems, name, letters - len)))
			return true;
	}
	return false;
}

/* A keyword that is in the names of all hosts, such as the name of a site, does not distinguish hosts. */
static bool is_in_all_names(struct stems *stems, size_t keyword)
{
	const struct shape_build *build = stems->build;

	if (!stems->shared[keyword]) {
		stems->shared[keyword] = KEYWORD_SHARED;
		for (size_t i = 0; i < build->fabric->node_count && stems->shared[keyword] == KEYWORD_SHARED; i++)
			if (build->host_of[i] && !name_has(stems, build->host_of[i], keywords[keyword].word,
							   keywords[keyword].place))
				stems->shared[keyword] = KEYWORD_DISTINCT;
	}
	return stems->shared[keyword] == KEYWORD_SHARED;
}

static uint8_t class_by_keywords(struct stems *stems, const char *name)
{
	for (size_t i = 0; i < KEYWORDS; i++)
		if (name_has(stems, name, keywords[i].word, keywords[i].place) && !is_in_all_names(stems, i))
			return keywords[i].class;
	return CLASS_COMPUTE;
}

static int class_by_name(struct stems *stems, const char *name, uint8_t *ret)
{
	char pattern[NODE_NAME_SIZE];
	const char *text;
	uint32_t index;
	size_t len = 0;

	for (; *name && len < sizeof(pattern) - 1; name++) {
		bool digit = isdigit((unsigned char)*name);

		if (!digit || !len || pattern[len - 1] != '0')
			pattern[len++] = digit ? '0' : *name;
	}
	pattern[len] = '\0';
	if (!shape_find_text(&stems->patterns, pattern, &index)) {
		text = shape_string(stems->build->shape, pattern, len);
		if (!text || shape_intern(&stems->patterns, text, &index) < 0)
			return ERR_NOMEM;
		stems->classes[index] = class_by_keywords(stems, pattern);
	}
	*ret = stems->classes[index];
	return 0;
}

/* Class from the settings: the first pattern that matches the name of the node or the host. */
static bool class_by_settings(const struct shape_build *build, uint32_t node, uint8_t *ret)
{
	const struct shape_class_rule *rule = build->settings ? build->settings->classes : NULL;
	const char *host = build->host_of[node];

	for (; rule && rule->pattern; rule++) {
		if (name_pattern_matches(rule->pattern, build->fabric->nodes[node].name) ||
		    (host && name_pattern_matches(rule->pattern, host))) {
			*ret = rule->class;
			return true;
		}
	}
	return false;
}

/*
 * A CA with the SystemImageGUID of a switch is a SHARP aggregation node, whatever its description.
 */
static bool is_inside_switch(const struct shape_build *build, uint32_t index)
{
	const struct fabric *fabric = build->fabric;
	const struct node *node = &fabric->nodes[index];

	if (node->type != NODE_CA)
		return false;
	if (node_is_aggregation(node))
		return true;
	for (uint32_t i = node->first_port; node->system_guid && i < node->first_port + node->ports; i++) {
		const struct node *peer;

		if (fabric->ports[i].peer == FABRIC_NONE)
			continue;
		peer = &fabric->nodes[fabric->ports[fabric->ports[i].peer].node];
		if (peer->type == NODE_SWITCH && peer->system_guid == node->system_guid)
			return true;
	}
	return false;
}

/*
 * A CA that leads to Ethernet or Fibre Channel: its device is known for that, or its description has
 * a keyword and names no host.
 * Source: libibnetdisc/chassis.h: VTR_DEVID_IB_FC_ROUTER, VTR_DEVID_IB_IP_ROUTER.
 */
static bool is_gateway(const struct shape_build *build, struct stems *stems, uint32_t index)
{
	const struct node *node = &build->fabric->nodes[index];

	if (node->vendor_id == VENDOR_VOLTAIRE && (node->device_id == 0x5a00 || node->device_id == 0x5a01))
		return true;
	for (size_t i = 0; !build->host_of[index] && keywords[i].class == CLASS_ROUTER; i++)
		if (name_has(stems, node->name, keywords[i].word, keywords[i].place))
			return true;
	return false;
}

static int split_name(struct shape_build *build, uint32_t index)
{
	struct host_words words;

	host_split(build->fabric->nodes[index].name, &words);
	build->device_of[index] = words.device_len ? shape_string(build->shape, words.device, words.device_len) : "";
	if (words.host_len)
		build->host_of[index] = shape_string(build->shape, words.host, words.host_len);
	if (!build->device_of[index] || (words.host_len && !build->host_of[index]))
		return ERR_NOMEM;
	if (words.is_storage_cell)
		build->shape->nodes[index].class = CLASS_STORAGE;
	return 0;
}

/* At least three HCAs belong to hosts whose names differ from this one only by numbers. */
static bool has_kin(const struct shape_build *build, uint32_t node)
{
	const char *name = build->host_of[node];
	size_t stem, kin = 0;

	if (!name)
		return false;
	stem = strcspn(name, "0123456789");
	for (size_t i = 0; i < build->fabric->node_count; i++) {
		const char *other = build->host_of[i];

		kin += other && strcspn(other, "0123456789") == stem && !strncmp(name, other, stem) &&
		       strcmp(name, other);
	}
	return kin >= 3;
}

/*
 * The host of the master subnet manager is management, unless its name is one of a series of
 * compute hosts.
 */
static void find_subnet_manager(struct shape_build *build)
{
	const struct fabric *fabric = build->fabric;
	uint16_t sm_lid = 0;
	uint8_t class;

	for (size_t i = 0; i < fabric->port_count && !sm_lid; i++)
		sm_lid = fabric->ports[i].sm_lid;
	for (size_t i = 0; sm_lid && i < fabric->port_count; i++) {
		struct shape_node *node = &build->shape->nodes[fabric->ports[i].node];

		if (fabric->nodes[fabric->ports[i].node].type != NODE_CA || fabric->ports[i].lid != sm_lid)
			continue;
		if (node->class == CLASS_COMPUTE && !class_by_settings(build, fabric->ports[i].node, &class) &&
		    !has_kin(build, fabric->ports[i].node))
			node->class = CLASS_MANAGEMENT;
		return;
	}
}

static int class_nodes(struct shape_build *build, struct stems *stems)
{
	const struct fabric *fabric = build->fabric;
	int code = 0;

	for (uint32_t i = 0; i < fabric->node_count && code == 0; i++) {
		uint8_t *class = &build->shape->nodes[i].class;

		if (fabric->nodes[i].type == NODE_SWITCH)
			*class = CLASS_SWITCH;
		else if (class_by_settings(build, i, class))
			continue;
		else if (fabric->nodes[i].type == NODE_ROUTER)
			*class = CLASS_ROUTER;
		else if (is_inside_switch(build, i))
			*class = CLASS_AGGREGATION;
		else if (is_gateway(build, stems, i))
			*class = CLASS_ROUTER;
		else if (build->host_of[i] && *class != CLASS_STORAGE)
			code = class_by_name(stems, build->host_of[i], class);
	}
	return code;
}

int shape_find_classes(struct shape_build *build)
{
	size_t count = build->fabric->node_count;
	struct stems stems = { .build = build, .classes = shape_scratch(build, count, sizeof(*stems.classes)) };
	int code;

	build->host_of = shape_scratch(build, count, sizeof(*build->host_of));
	build->device_of = shape_scratch(build, count, sizeof(*build->device_of));
	code = stems.classes && build->host_of && build->device_of ? 0 : ERR_NOMEM;
	for (size_t i = 0; i < count && code == 0; i++)
		if (build->fabric->nodes[i].type == NODE_CA)
			code = split_name(build, (uint32_t)i);
	if (code == 0)
		code = class_nodes(build, &stems);
	if (code == 0)
		find_subnet_manager(build);
	shape_strings_done(&stems.patterns);
	return code;
}
