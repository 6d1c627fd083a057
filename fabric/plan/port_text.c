/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan/port_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum part {
	PART_UNKNOWN, PART_PORT, PART_FILLER, PART_CAGE, PART_SPLIT, PART_LINE, PART_SPINE, PART_ASIC, PART_HCA,
	PART_IB,
};

/* Words before a number. */
static const struct {
	const char *word;
	enum part part;
} parts[] = {
	{ "port", PART_PORT }, { "p", PART_PORT }, { "prt", PART_PORT }, { "if", PART_PORT },
	{ "interface", PART_PORT }, { "swport", PART_PORT }, { "switch", PART_FILLER }, { "external", PART_FILLER },
	{ "ext", PART_FILLER }, { "uplink", PART_FILLER }, { "downlink", PART_FILLER }, { "sw", PART_CAGE },
	{ "cage", PART_CAGE }, { "qsfp", PART_CAGE }, { "osfp", PART_CAGE }, { "connector", PART_CAGE },
	{ "split", PART_SPLIT }, { "lane", PART_SPLIT }, { "blade", PART_LINE }, { "line", PART_LINE },
	{ "leaf", PART_LINE }, { "l", PART_LINE }, { "module", PART_LINE }, { "slot", PART_LINE },
	{ "linecard", PART_LINE }, { "lc", PART_LINE }, { "board", PART_LINE }, { "s", PART_SPINE },
	{ "spine", PART_SPINE }, { "fabric", PART_SPINE }, { "u", PART_ASIC }, { "asic", PART_ASIC },
	{ "chip", PART_ASIC }, { "hca", PART_HCA }, { "nic", PART_HCA }, { "adapter", PART_HCA }, { "ib", PART_IB },
};

static enum part find_part(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strlen(parts[i].word) == len && !strncasecmp(parts[i].word, word, len))
			return parts[i].part;
	return PART_UNKNOWN;
}

/* Length of a word that names a device of a host: "mlx5_0", "ibp11s0f0", "hfi1_0"; 0: it is none. */
static size_t device_len(const char *at)
{
	size_t len = strcspn(at, " /:,\t"), letters = 0;
	bool underscore = memchr(at, '_', len);

	/* "Blade 16_Port" is a module, "Port_2" a port. */
	while (letters < len && isalpha((unsigned char)at[letters]))
		letters++;
	if (letters < 2 || letters == len || len >= sizeof(((struct port_text *)NULL)->device) ||
	    find_part(at, letters) != PART_UNKNOWN)
		return 0;
	/* With a number: "mlx5_0", "ibp11s0f0", "mlx5_ib0". "sw6p2" was a known word. */
	return underscore || isdigit((unsigned char)at[letters]) ? len : 0;
}

/* Numbers with '/' or '.' between them. Return: what follows them. */
static const char *take_numbers(const char *at, unsigned ret[PORT_NUMBERS], size_t *ret_count, bool *ret_dotted)
{
	char *end;

	for (*ret_count = 0; isdigit((unsigned char)*at);) {
		unsigned long number = strtoul(at, &end, 10);

		if (*ret_count == PORT_NUMBERS || end - at > 5)
			return NULL;
		ret[(*ret_count)++] = (unsigned)number;
		at = end;
		if ((*at != '/' && *at != '.') || !isdigit((unsigned char)at[1]))
			break;
		*ret_dotted = *at == '.';
		at++;
	}
	return at;
}

/* A number with its word. Return: whether it fits the others. */
static bool take_part(struct port_text *ret, enum part part, const unsigned *numbers, size_t count, bool dotted)
{
	bool one = count == 1;

	switch (part) {
	case PART_PORT:
		/* "sw6p2", "cage 6 port 2". */
		if (ret->cage && !ret->split && one) {
			ret->split = numbers[0];
			return true;
		}
		if (ret->count)
			return false;
		memcpy(ret->numbers, numbers, count * sizeof(*numbers));
		ret->count = count;
		ret->dotted = dotted;
		return true;
	case PART_CAGE:
		ret->cage = numbers[0];
		if (count == 2)
			ret->split = numbers[1];
		return count <= 2;
	case PART_SPLIT:
		ret->split = numbers[0];
		return one;
	case PART_LINE:
	case PART_SPINE:
		if (ret->module)
			return false;
		ret->module = part == PART_LINE ? 'L' : 'S';
		ret->module_number = numbers[0];
		return one;
	case PART_ASIC:
		ret->asic = numbers[0];
		return one && !!numbers[0];
	case PART_HCA:
		ret->hca = numbers[0] + 1;
		return one;
	case PART_IB:
		/* "IB1/21" of a switch, "ib0" of a host. */
		if (one)
			ret->interface = (int)numbers[0];
		return one || take_part(ret, PART_PORT, numbers, count, dotted);
	default:
		return false;
	}
}

bool port_text_parse(const char *text, struct port_text *ret)
{
	unsigned numbers[PORT_NUMBERS];
	const char *at = text;
	size_t count, len;
	bool dotted;

	*ret = (struct port_text){ .interface = -1 };
	for (;;) {
		enum part part = PART_PORT;

		at += strspn(at, " \t_/:,-#().");
		if (!*at) {
			/* "21.0" of a spreadsheet is a number. */
			if (ret->count == 2 && ret->dotted && !ret->numbers[1])
				ret->count = 1;
			return true;
		}
		len = device_len(at);
		if (len && !*ret->device) {
			snprintf(ret->device, sizeof(ret->device), "%.*s", (int)len, at);
			at += len;
			continue;
		}
		dotted = false;
		if (!isdigit((unsigned char)*at)) {
			for (len = 0; isalpha((unsigned char)at[len]);)
				len++;
			part = find_part(at, len);
			at += len;
			if (!len || part == PART_UNKNOWN)
				return false;
			/* "Switch Port 6", "HCA Port 1". */
			at += strspn(at, " \t_-#:.");
			if (!isdigit((unsigned char)*at)) {
				if (!*at && part != PART_FILLER)
					return false;
				continue;
			}
			ret->named = true;
		}
		at = take_numbers(at, numbers, &count, &dotted);
		if (!at || !take_part(ret, part == PART_FILLER ? PART_PORT : part, numbers, count, dotted))
			return false;
	}
}

bool port_text_is_date(const char *text)
{
	static const char *const months[] = {
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
	};
	unsigned a, b, year;
	char end;

	for (size_t i = 0; i < sizeof(months) / sizeof(months[0]); i++) {
		const char *at = strcasestr(text, months[i]);

		if (at && (at == text || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[3]) &&
		    strpbrk(text, "0123456789"))
			return true;
	}
	return sscanf(text, "%u%*1[/.-]%u%*1[/.-]%u%c", &a, &b, &year, &end) == 3 &&
	       (year > 1900 || (a > 1900 && b <= 12));
}
