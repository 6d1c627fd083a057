/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* array.h - growing arrays that double their capacity */
#ifndef IBWIRE_BASE_ARRAY_H
#define IBWIRE_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * array_add - append a zeroed element
 * @array:  address of the pointer to the array; the others as of array_grow()
 *
 * Return: the element; NULL without memory, and nothing has changed.
 */
static inline void *array_add(void *array, size_t *count, size_t *capacity, size_t size)
{
	char *list;

	memcpy(&list, array, sizeof(list));
	list = array_grow(list, *count, capacity, size);
	if (!list)
		return NULL;
	memcpy(array, &list, sizeof(list));
	return memset(list + (*count)++ * size, 0, size);
}

#endif
