/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/host.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* More words than any description of a host. */
enum { WORDS_MAX = 8 };

struct word {
	const char *at;
	size_t len;
};

/*
 * Names of RDMA devices, followed by a number, or by anything after a "_". Source: names of the drivers
 * in Linux and rdma-core (kernel-headers/rdma/ib_user_ioctl_verbs.h, enum rdma_driver_id), persistent
 * names of 60-rdma-persistent-naming.rules, and descriptions in published ibnetdiscover outputs.
 */
static const char *const devices[] = {
	"HCA-", "mlx5_", "mlx4_", "mthca", "hfi1_", "hfi2_", "qib", "ipath", "ibp", "ibs", "ibo", "rocep", "roceo",
	"opap", "bnxt_re", "irdma", "i40iw", "cxgb4_", "cxgb5_", "efa_", "ehca", "qedr", "ocrdma", "usnic_", "hns_",
	"erdma_", "mana_", "rxe",
	"siw", "rdmap",
};

static bool is_device(const struct word *word)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		size_t len = strlen(devices[i]);

		/* "mlx5_ib0", "mlx5_an0": names of Azure. */
		if (word->len > len && !strncasecmp(word->at, devices[i], len) &&
		    (isdigit((unsigned char)word->at[len]) || devices[i][len - 1] == '_'))
			return true;
	}
	return false;
}

static bool is_word(const struct word *word, const char *text)
{
	return word->len == strlen(text) && !strncasecmp(word->at, text, word->len);
}

/* IPv4 addresses with commas between them. */
static bool is_addresses(const struct word *word)
{
	size_t dots = 0, commas = 0;

	for (size_t i = 0; i < word->len; i++) {
		dots += word->at[i] == '.';
		commas += word->at[i] == ',';
		if (!strchr(".,", word->at[i]) && !isdigit((unsigned char)word->at[i]))
			return false;
	}
	return dots == 3 * (commas + 1);
}

/* Length without trailing blanks, the suffix of a past name and one in parentheses. */
static size_t cut_suffix(const char *name)
{
	size_t len = strlen(name), was = strlen(NAMES_WAS);

	if (len > was && !strcmp(name + len - was, NAMES_WAS))
		len -= was;
	for (int suffixes = 1; suffixes >= 0; suffixes--) {
		const char *open;

		while (len && name[len - 1] == ' ')
			len--;
		open = len && name[len - 1] == ')' ? memrchr(name, '(', len) : NULL;
		if (!suffixes || !open || open == name || open[-1] != ' ')
			break;
		len = (size_t)(open - name);
	}
	return len;
}

static size_t split_words(const char *name, size_t len, struct word words[WORDS_MAX])
{
	size_t count = 0;

	for (size_t at = 0; at < len && count < WORDS_MAX;) {
		size_t end = at;

		while (end < len && name[end] != ' ')
			end++;
		if (end > at)
			words[count++] = (struct word){ name + at, end - at };
		at = end + 1;
	}
	return count;
}

bool host_split(const char *name, struct host_words *ret)
{
	struct word words[WORDS_MAX];
	char given[NODE_NAME_SIZE];
	size_t len = cut_suffix(name), count, device = 1;
	bool by_maker;

	*ret = (struct host_words){ .host_len = 0 };
	if (!len || len >= sizeof(given))
		return false;
	memcpy(given, name, len);
	given[len] = '\0';
	count = split_words(name, len, words);
	if (count == 1 && is_device(&words[0])) {
		ret->device = words[0].at;
		ret->device_len = words[0].len;
		return false;
	}
	by_maker = count > 2 && is_word(&words[1], "Infiniband") && is_word(&words[2], "HCA");
	if (by_maker && count > 3) {
		ret->host = words[3].at;
		ret->host_len = words[3].len;
	}
	if (by_maker || (count && is_word(&words[0], "Voltaire")))
		return ret->host_len;
	for (size_t i = 2; i < count; i++)
		if (is_device(&words[i]))
			device = i;
	if (count > 2 && !is_device(&words[device]))
		return false;
	if (count > 1) {
		ret->device = words[device].at;
		ret->device_len = words[device].len;
	}
	if (!count || names_is_generic(given) || !strncmp(words[0].at, "MF0;", strlen("MF0;")))
		return false;
	ret->host = words[0].at;
	ret->host_len = words[0].len;
	ret->is_storage_cell = count > 3 && words[1].len == 1 && *words[1].at == 'C' && is_addresses(&words[2]);
	return true;
}

bool host_name(const struct node *node, char ret[NODE_NAME_SIZE])
{
	struct host_words words;

	if (node->type != NODE_CA || node_is_aggregation(node))
		return false;
	if (host_split(node->name, &words))
		snprintf(ret, NODE_NAME_SIZE, "%.*s", (int)words.host_len, words.host);
	else
		snprintf(ret, NODE_NAME_SIZE, "0x%016" PRIx64, node->guid);
	return true;
}
