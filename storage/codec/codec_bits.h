/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_bits.h - streams of bits for the codec, least significant bit first
 *
 * All functions are inline, since they are used in the codec's inner loops.
 */
#ifndef IBWIRE_STORAGE_CODEC_BITS_H
#define IBWIRE_STORAGE_CODEC_BITS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits of a stored width of 0 to 64. */
#define BITS_WIDTH 7

/* bits_needed - number of significant bits of a number: 0 for 0, 64 at most. */
static inline unsigned bits_needed(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* bits_low - the lowest bits of a number; @width 0 to 64. */
static inline uint64_t bits_low(uint64_t value, unsigned width)
{
	return width < 64 ? value & ((UINT64_C(1) << width) - 1) : value;
}

/* bits_shift_signed - arithmetic right shift of a number in two's complement; @shift below 64. */
static inline uint64_t bits_shift_signed(uint64_t value, unsigned shift)
{
	return value >> shift | (value >> 63 ? ~(UINT64_MAX >> shift) : 0);
}

/* bits_fold, bits_unfold - signed numbers to unsigned ones of similar magnitude, and back. */
static inline uint64_t bits_fold(uint64_t value)
{
	return value << 1 ^ (0 - (value >> 63));
}

static inline uint64_t bits_unfold(uint64_t folded)
{
	return folded >> 1 ^ (0 - (folded & 1));
}

/* Writes to memory whose size the caller has checked. */
struct bit_writer {
	uint8_t *at;
	uint64_t word;   /* not yet written */
	unsigned filled; /* bits in word, below 64 */
};

/* bits_put - append @width bits; all higher bits of @value are 0. */
static inline void bits_put(struct bit_writer *out, uint64_t value, unsigned width)
{
	uint64_t word;

	out->word |= value << out->filled;
	if (out->filled + width < 64) {
		out->filled += width;
		return;
	}
	word = htole64(out->word);
	memcpy(out->at, &word, 8);
	out->at += 8;
	out->word = value >> 1 >> (63 - out->filled);
	out->filled += width - 64;
}

/* bits_put_number - append the width of a number, and the number. */
static inline void bits_put_number(struct bit_writer *out, uint64_t value)
{
	unsigned width = bits_needed(value);

	bits_put(out, width, BITS_WIDTH);
	bits_put(out, value, width);
}

/* bits_flush - write the remaining bits as whole bytes; the last call. */
static inline void bits_flush(struct bit_writer *out)
{
	for (unsigned i = 0; i < out->filled; i += 8)
		*out->at++ = (uint8_t)(out->word >> i);
	out->word = out->filled = 0;
}

/* Reads at most @len bytes: after them all bits are 0, and `bad` is set. */
struct bit_reader {
	const uint8_t *data;
	size_t len;
	size_t at; /* in bits */
	bool bad;
};

/* bits_peek - at least the next BITS_PEEK bits, without consuming them; 0 after the end. */
#define BITS_PEEK 57
static inline uint64_t bits_peek(const struct bit_reader *in)
{
	size_t byte = in->at / 8, left = in->len - byte;
	uint64_t word = 0;

	if (left >= 8) {
		memcpy(&word, in->data + byte, 8);
		return le64toh(word) >> in->at % 8;
	}
	for (unsigned i = 0; i < left; i++)
		word |= (uint64_t)in->data[byte + i] << 8 * i;
	return word >> in->at % 8;
}

/* bits_take - consume bits; sets `bad` after the end. */
static inline bool bits_take(struct bit_reader *in, unsigned width)
{
	if (width > in->len * 8 - in->at) {
		in->bad = true;
		return false;
	}
	in->at += width;
	return true;
}

/* bits_get - the next @width bits, 0 to 64. */
static inline uint64_t bits_get(struct bit_reader *in, unsigned width)
{
	uint64_t word = bits_peek(in);
	unsigned shift = in->at % 8;
	size_t byte = in->at / 8;

	if (!bits_take(in, width))
		return 0;
	if (shift + width > 64)
		word |= (uint64_t)in->data[byte + 8] << (64 - shift);
	return bits_low(word, width);
}

/* bits_get_width - the next width; an impossible one sets `bad`. */
static inline unsigned bits_get_width(struct bit_reader *in)
{
	unsigned width = (unsigned)bits_get(in, BITS_WIDTH);

	if (width <= 64)
		return width;
	in->bad = true;
	return 0;
}

static inline uint64_t bits_get_number(struct bit_reader *in)
{
	return bits_get(in, bits_get_width(in));
}

/* bits_at_end - is everything read, except zeros that fill the last byte? */
static inline bool bits_at_end(struct bit_reader *in)
{
	size_t left = in->len * 8 - in->at;

	return !in->bad && left < 8 && !bits_get(in, (unsigned)left);
}

#endif
