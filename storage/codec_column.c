/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec_column.h"

#include <string.h>

#include "storage/codec_bits.h"

#define PATCH_COUNT_WIDTH 8
#define SIGN (UINT64_C(1) << 63)

/* How a column is kept. */
struct packing {
	uint64_t base;        /* a multiple of 2^base_shift(width) */
	unsigned width;
	unsigned cost;        /* in bits, of distances and patches; never less than it comes to */
};

/* The base is kept without these bits: the distances of a noisy counter hide them, and no header pays for them. */
static unsigned base_shift(unsigned width)
{
	return width > 5 ? width - 5 : 0;
}

static uint64_t base_below(uint64_t value, unsigned width)
{
	unsigned shift = base_shift(width);

	return value >> shift << shift;
}

/* Bits of a place in the column. */
static unsigned place_width(unsigned count)
{
	return bits_needed(count - 1);
}

/* What does not fit into the width: 0 where the number needs no patch. */
static uint64_t rest_of(uint64_t distance, unsigned width)
{
	return width < 64 ? bits_fold(bits_shift_signed(distance, width)) : 0;
}

/* Shell's sort with Ciura's gaps: the columns are short, and a call for each comparison would cost more than the rest. */
static void sort_numbers(uint64_t *numbers, unsigned count)
{
	static const uint8_t gaps[] = { 132, 57, 23, 10, 4, 1 };

	for (size_t g = 0; g < sizeof(gaps); g++) {
		unsigned gap = gaps[g];

		for (unsigned i = gap; i < count; i++) {
			uint64_t number = numbers[i];
			unsigned at = i;

			for (; at >= gap && numbers[at - gap] > number; at -= gap)
				numbers[at] = numbers[at - gap];
			numbers[at] = number;
		}
	}
}

/* The base from which most of the sorted numbers fit into a width, and what that costs. */
static void try_width(const uint64_t *sorted, unsigned count, unsigned width, struct packing *best)
{
	uint64_t base = 0, below, above;
	unsigned most = 0, end = 0, patches, patch_width, cost;

	for (unsigned i = 0; i < count && count - i > most; i++) {
		uint64_t from = base_below(sorted[i], width);

		while (end < count && !((sorted[end] - from) >> width))
			end++;
		if (end - i > most) {
			most = end - i;
			base = from;
		}
	}
	patches = count - most;
	/* Distances of 2^63 and more change their sign, so the farthest numbers do not tell the largest rest. */
	below = base - sorted[0];
	above = sorted[count - 1] - base;
	patch_width = 64 - width;
	if (below < SIGN && above < SIGN) {
		below = rest_of(0 - below, width);
		above = rest_of(above, width);
		patch_width = bits_needed(below > above ? below : above);
	}
	cost = count * width + patches * (place_width(count) + patch_width);
	if (patches)
		cost += PATCH_COUNT_WIDTH + BITS_WIDTH;
	if (cost < best->cost)
		*best = (struct packing){ .base = base, .width = width, .cost = cost };
}

/* The width that the fewest bits follow from: tried are those that hold all numbers but a few. */
static struct packing choose(const uint64_t *sorted, unsigned count)
{
	struct packing best = { .width = 64, .cost = count * 64 };
	unsigned last = 64;

	for (unsigned left_out = 0; left_out <= count / 2; left_out += 1 + left_out / 3) {
		uint64_t narrowest = UINT64_MAX;
		unsigned width;

		for (unsigned i = 0; i <= left_out; i++) {
			uint64_t range = sorted[i + count - 1 - left_out] - sorted[i];

			if (range < narrowest)
				narrowest = range;
		}
		width = bits_needed(narrowest);
		if (width < last)
			try_width(sorted, count, width, &best);
		last = width;
		if (!width)
			break;
	}
	return best;
}

/* Returns false where all numbers are the same. */
static bool sorted_copy(uint64_t *sorted, const uint64_t *values, unsigned count)
{
	uint64_t differ = 0;

	/* With the sign turned, unsigned order is that of signed numbers. */
	for (unsigned i = 0; i < count; i++) {
		sorted[i] = values[i] ^ SIGN;
		differ |= values[i] ^ values[0];
	}
	if (differ)
		sort_numbers(sorted, count);
	return differ;
}

void column_put(struct bit_writer *out, const uint64_t *values, unsigned count)
{
	uint64_t sorted[COLUMN_MAX], rests[COLUMN_MAX];
	uint8_t places[COLUMN_MAX];
	struct packing packing = { 0 };
	unsigned patches = 0, patch_width = 0;

	if (sorted_copy(sorted, values, count)) {
		packing = choose(sorted, count);
		packing.base ^= packing.width < 64 ? SIGN : 0;
	} else {
		packing.base = values[0];
	}
	bits_put(out, packing.width, BITS_WIDTH);
	bits_put_number(out, bits_fold(bits_shift_signed(packing.base, base_shift(packing.width))));
	for (unsigned i = 0; i < count; i++) {
		rests[patches] = rest_of(values[i] - packing.base, packing.width);
		places[patches] = (uint8_t)i;
		if (bits_needed(rests[patches]) > patch_width)
			patch_width = bits_needed(rests[patches]);
		patches += !!rests[patches];
	}
	bits_put(out, !!patches, 1);
	if (patches) {
		bits_put(out, patches - 1, PATCH_COUNT_WIDTH);
		bits_put(out, patch_width, BITS_WIDTH);
	}
	for (unsigned i = 0; i < count; i++)
		bits_put(out, bits_low(values[i] - packing.base, packing.width), packing.width);
	for (unsigned i = 0; i < patches; i++) {
		bits_put(out, places[i], place_width(count));
		bits_put(out, rests[i], patch_width);
	}
}

void column_get(struct bit_reader *in, uint64_t *values, unsigned count)
{
	unsigned width = bits_get_width(in), patches = 0, patch_width = 0;
	uint64_t base = bits_unfold(bits_get_number(in)) << base_shift(width);

	if (bits_get(in, 1)) {
		patches = (unsigned)bits_get(in, PATCH_COUNT_WIDTH) + 1;
		patch_width = bits_get_width(in);
		/* A number of 64 bits leaves nothing to patch, and none is patched twice. */
		if (patches > count || width == 64)
			in->bad = true;
	}
	for (unsigned i = 0; i < count; i++)
		values[i] = base + bits_get(in, width);
	for (unsigned i = 0; i < patches && !in->bad; i++) {
		unsigned place = (unsigned)bits_get(in, place_width(count));
		uint64_t rest = bits_get(in, patch_width);

		if (place >= count)
			in->bad = true;
		else
			values[place] += bits_unfold(rest) << width;
	}
	if (in->bad)
		memset(values, 0, count * sizeof(*values));
}
