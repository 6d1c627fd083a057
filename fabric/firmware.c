/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/firmware.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void firmware_set_psid(struct firmware *firmware, const char *bytes, size_t len)
{
	text_sanitise(bytes, len, firmware->psid, sizeof(firmware->psid));
}

bool firmware_same(const struct firmware *a, const struct firmware *b)
{
	return firmware_compare(a, b) == 0 && (!a->built || !b->built || a->built == b->built) &&
	       (!*a->psid || !*b->psid || !strcmp(a->psid, b->psid));
}

bool firmware_differs(const struct firmware *a, const struct firmware *b)
{
	return a->source && b->source && !firmware_same(a, b);
}

size_t firmware_parse(struct firmware *firmware, const char *text)
{
	unsigned major, minor, sub_minor;
	int len = 0;

	if (*text < '0' || *text > '9' || sscanf(text, "%9u.%9u.%9u%n", &major, &minor, &sub_minor, &len) != 3)
		return 0;
	firmware->major = major;
	firmware->minor = minor;
	firmware->sub_minor = sub_minor;
	return (size_t)len;
}

static int compare(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int firmware_compare(const struct firmware *a, const struct firmware *b)
{
	int result = compare(a->major, b->major);

	if (!result)
		result = compare(a->minor, b->minor);
	return result ? result : compare(a->sub_minor, b->sub_minor);
}

const char *firmware_format(const struct firmware *firmware, char ret[FIRMWARE_TEXT_SIZE])
{
	if (firmware->source == FIRMWARE_UNKNOWN)
		return NULL;
	/* Source: Linux mlx5, mlx5_ib get_dev_fw_str(): "%d.%d.%04d". */
	snprintf(ret, FIRMWARE_TEXT_SIZE, "%u.%u.%04u", firmware->major, firmware->minor, firmware->sub_minor);
	return ret;
}

void firmware_format_change(const char *name, const struct firmware *old, const struct firmware *new, char *ret,
			    size_t size)
{
	char before[FIRMWARE_TEXT_SIZE], now[FIRMWARE_TEXT_SIZE];
	bool other_board = *old->psid && *new->psid && strcmp(old->psid, new->psid);

	snprintf(ret, size, "firmware of %.150s is now %s%s%s%s%s%s%s%s%s%s", name, firmware_format(new, now),
		 *new->psid ? " (PSID " : "", new->psid, *new->psid ? ")" : "",
		 firmware_format(old, before) ? ", before " : "",
		 old->source ? before : "", other_board ? " (PSID " : "", other_board ? old->psid : "",
		 other_board ? ")" : "", new->source == FIRMWARE_IMPORTED ? "; imported" : "");
}

const char *firmware_source_name(enum firmware_source source)
{
	return source == FIRMWARE_READ ? "read" : source == FIRMWARE_IMPORTED ? "imported" : NULL;
}
