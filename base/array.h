/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* array.h - room for one more element in an array that doubles */
#ifndef IBWIRE_BASE_ARRAY_H
#define IBWIRE_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * array_grow - make room for at least one more element
 * @array:     NULL at first
 * @count:     elements in use
 * @capacity:  elements there is room for; updated
 * @size:      of one element, in bytes
 *
 * Return: the array, perhaps moved; NULL where there is no memory: then the old
 * one is still there and as it was.
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
