/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* array.h - growing arrays that double their capacity */
#ifndef IBWIRE_BASE_ARRAY_H
#define IBWIRE_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * array_grow - make room for at least one more element
 * @array:     NULL initially
 * @count:     elements in use
 * @capacity:  allocated elements; updated
 * @size:      bytes per element
 *
 * Return: the array, perhaps moved; NULL without memory, and the old array is unchanged.
 */
static inline void *array_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *moved;

	if (count < *capacity)
		return array;
	moved = reallocarray(array, wanted, size);
	if (moved)
		*capacity = wanted;
	return moved;
}

#endif
