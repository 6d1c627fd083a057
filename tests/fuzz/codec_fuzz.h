/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_fuzz.h - properties of the sample codec on arbitrary bytes, for libFuzzer and unit tests
 */
#ifndef IBWIRE_TESTS_FUZZ_CODEC_FUZZ_H
#define IBWIRE_TESTS_FUZZ_CODEC_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * LLVMFuzzerTestOneInput - decode bytes in every encoding, and encode them as samples
 * Samples that are encoded must be decoded unchanged, otherwise the process aborts.
 * Return: 0, as libFuzzer requires.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
