/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* heap.h - mallinfo2() also with glibc before 2.33, where its numbers wrap at 2 GB */
#ifndef IBWIRE_TESTS_HEAP_H
#define IBWIRE_TESTS_HEAP_H

#include <malloc.h>

#if !__GLIBC_PREREQ(2, 33)
#define mallinfo2 mallinfo
#endif

#endif
