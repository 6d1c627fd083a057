/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void nearest_init(struct nearest *nearest, const char *typed)
{
	*nearest = (struct nearest){ .typed = typed, .distance = SIZE_MAX };
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t typed = strlen(nearest->typed), len = strlen(word), shorter = typed < len ? typed : len;
	size_t distance = text_distance(nearest->typed, word);

	if (shorter >= 3 && !strncmp(nearest->typed, word, shorter))
		distance = 1;
	if (distance > typed / 3 + 1 || distance >= len || distance >= nearest->distance)
		return;
	nearest->best = word;
	nearest->distance = distance;
}

const char *nearest_hint(struct nearest *nearest)
{
	if (nearest->best)
		snprintf(nearest->hint, sizeof(nearest->hint), ": did you mean '%.64s'?", nearest->best);
	return nearest->hint;
}
