/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/heap.h"

#include <malloc.h>

void heap_keep_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 16384);
}

void heap_give_back(void)
{
	malloc_trim(0);
}
