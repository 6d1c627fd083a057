/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* firmware.h - the firmware of a node: its version, and the configuration of the board that it is made for */
#ifndef IBWIRE_FABRIC_FIRMWARE_H
#define IBWIRE_FABRIC_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored: never change a number. */
enum firmware_source { FIRMWARE_UNKNOWN, FIRMWARE_READ, FIRMWARE_IMPORTED };

/* A PSID has at most 16 characters. */
#define FIRMWARE_PSID_SIZE 17

struct firmware {
	uint32_t major, minor, sub_minor;
	uint32_t built;      /* date of the build, decimal YYYYMMDD; 0: unknown */
	uint8_t source;      /* enum firmware_source; FIRMWARE_UNKNOWN: nothing else is valid */
	char psid[FIRMWARE_PSID_SIZE]; /* sanitised; "": unknown */
	int64_t at_us;       /* wall clock: since when it is known; of an import, the time of its files */
	int64_t changed_us;  /* wall clock: since when another version is known to be replaced; 0: none is known */
};

/* The firmware of a node. */
struct node_firmware {
	uint64_t node_guid;
	struct firmware firmware;
};

/*
 * firmware_set_psid - set the PSID from bytes of the fabric or of a file
 * @len:  the string ends at the first NUL or at @len
 */
void firmware_set_psid(struct firmware *firmware, const char *bytes, size_t len);

/* firmware_same - the same version for the same board; what one of them lacks (PSID, date) is not compared. */
bool firmware_same(const struct firmware *a, const struct firmware *b);

/* firmware_differs - both are known, and are not the same */
bool firmware_differs(const struct firmware *a, const struct firmware *b);

/* firmware_compare - by version, the older one first. Return: < 0, 0 or > 0 */
int firmware_compare(const struct firmware *a, const struct firmware *b);

/*
 * firmware_format - "28.39.1002", with four digits at the end as drivers write it
 * Return: @ret; NULL: unknown.
 */
#define FIRMWARE_TEXT_SIZE 36
const char *firmware_format(const struct firmware *firmware, char ret[FIRMWARE_TEXT_SIZE]);

/*
 * firmware_format_change - "firmware of leaf01 is now 31.2014.2084 (PSID MT_0000000546), before 31.2012.1024"
 * @name:  of the node
 * @old:   FIRMWARE_UNKNOWN: not known
 */
void firmware_format_change(const char *name, const struct firmware *old, const struct firmware *new, char *ret,
			    size_t size);

/*
 * firmware_parse - a version, "28.39.1002"
 * Return: the length of its text; 0: it is none, and the version is unchanged.
 */
size_t firmware_parse(struct firmware *firmware, const char *text);

/* firmware_source_name - "read", "imported"; NULL: unknown */
const char *firmware_source_name(enum firmware_source source);

#endif
