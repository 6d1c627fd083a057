/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * name_pattern.h - patterns of names, in subjects of commands and in settings
 *
 *	leaf*, node00[1-4]?     patterns of fnmatch(3), without escapes: names show unsafe bytes as \xHH
 *	node[001-016,020]       lists of batch systems, with leading zeros; a pattern may follow: "node[001-016] mlx5_*"
 */
#ifndef IBWIRE_FABRIC_NAME_PATTERN_H
#define IBWIRE_FABRIC_NAME_PATTERN_H

#include <stdbool.h>

/* name_pattern_is_list - "node[001-016]", "node[1,10]"; "node[1-4]" is the same as a pattern. */
bool name_pattern_is_list(const char *pattern);

/* name_pattern_matches - whether a name matches; a list is not expanded. */
bool name_pattern_matches(const char *pattern, const char *name);

#endif
