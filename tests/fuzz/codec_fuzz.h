/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_fuzz.h - what is held against any bytes at all, for libFuzzer and for the ordinary tests
 */
#ifndef IBWIRE_TESTS_FUZZ_CODEC_FUZZ_H
#define IBWIRE_TESTS_FUZZ_CODEC_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * LLVMFuzzerTestOneInput - read bytes as all that samples are packed in, and as samples that are written
 * What is read, and what is written, must read the same again; aborts where it does not.
 * Return: 0, as libFuzzer wants it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
