/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec_column.h"

#include <limits.h>
#include <string.h>

#include "storage/codec_bits.h"

enum { SAME, FEW, MOST, FLAT };

#define WAY_WIDTH 2
#define COUNT_WIDTH 8
#define STEP_WIDTH 6
#define FAR_WIDTH 3
#define FAR_MAX (1 << FAR_WIDTH)
#define SAMPLE 32
#define FINER 2 /* steps that are tried: 1, 1/2 and 1/4 of the spread */
#define SIGN (UINT64_C(1) << 63)

/* How a column is kept. */
struct packing {
	unsigned way;
	uint64_t base;
	unsigned step;  /* bits; 0 unless MOST */
	unsigned far;   /* ones: what is so many steps away is written in full, 1 to FAR_MAX */
	unsigned width; /* of the largest distance */
	unsigned few;   /* that differ from the base */
	unsigned cost;  /* in bits, of distances and places */
};

/* The base is kept without these bits: it need not be exact, and each column pays for it. */
static unsigned base_shift(unsigned step)
{
	return step > 2 ? step - 2 : 0;
}

/* The nearest base that can be kept. */
static uint64_t base_near(uint64_t value, unsigned step)
{
	unsigned shift = base_shift(step);

	return shift ? (value + (UINT64_C(1) << (shift - 1))) >> shift << shift : value;
}

/* Bits of a place in the column. */
static unsigned place_width(unsigned count)
{
	return bits_needed(count - 1);
}

/* Shell's sort with Ciura's gaps: a call for each comparison would cost more than the rest. */
static void sort_numbers(uint64_t *numbers, unsigned count)
{
	static const uint8_t gaps[] = { 10, 4, 1 };

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

/*
 * The number in the middle, and how many bits the numbers around it are apart; judged by
 * a sample, which is a quarter of the time for a hundredth of the bytes.
 */
static uint64_t middle_of(const uint64_t *values, unsigned count, unsigned *ret_spread)
{
	uint64_t sorted[SAMPLE];
	unsigned few = count < 2 * SAMPLE ? (count + 1) / 2 : SAMPLE;

	/* With the sign turned, unsigned order is that of signed numbers. */
	for (unsigned i = 0; i < few; i++)
		sorted[i] = values[few == SAMPLE ? i * count / SAMPLE : i * 2] ^ SIGN;
	sort_numbers(sorted, few);
	*ret_spread = bits_needed(sorted[few * 3 / 4] - sorted[few / 4]);
	return sorted[few / 2] ^ SIGN;
}

/* The two ways whose base is exact: few differ from it, or most do in nothing that a step could hold. */
static struct packing measure_exact(const uint64_t *values, unsigned count, uint64_t base)
{
	struct packing ret = { .way = FEW, .base = base, .far = 1 };
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - base);

		all |= distance;
		ret.few += !!distance;
	}
	ret.width = bits_needed(all);
	ret.cost = COUNT_WIDTH + ret.few * (place_width(count) + ret.width);
	if (FAR_WIDTH + STEP_WIDTH + count + ret.few * ret.width < ret.cost) {
		ret.way = MOST;
		ret.cost = FAR_WIDTH + STEP_WIDTH + count + ret.few * ret.width;
	}
	return ret;
}

/*
 * What `steps` cost: @bins[n] is how many distances are n times 2^(@step - @coarser) long, rounded
 * down; the last bin has the others.
 */
static void measure_step(const uint16_t *bins, unsigned coarser, unsigned count, struct packing *try,
			 struct packing *best)
{
	unsigned left = count, near = 0;

	for (unsigned far = 1; far <= FAR_MAX; far++) {
		unsigned here = 0;

		for (unsigned i = (far - 1) << coarser; i < far << coarser; i++)
			here += bins[i];
		near += here * (far + try->step);
		left -= here;
		try->far = far;
		try->cost = FAR_WIDTH + STEP_WIDTH + near + left * (far + try->width);
		if (try->cost < best->cost)
			*best = *try;
	}
}

/* The way that takes the fewest bits, of those that are likely to: the steps are about as long as half the spread. */
static struct packing choose(const uint64_t *values, unsigned count)
{
	uint16_t bins[(FAR_MAX << FINER) + 1] = { 0 };
	struct packing best, try = { .way = MOST };
	unsigned spread, finest;
	uint64_t middle = middle_of(values, count, &spread), all = 0;

	best = measure_exact(values, count, middle);
	if (spread > 62)
		spread = 62;
	finest = spread > FINER ? spread - FINER : 0;
	try.base = base_near(middle, finest + FINER);
	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - try.base), steps = distance >> finest;

		all |= distance;
		bins[steps < FAR_MAX << FINER ? steps : FAR_MAX << FINER]++;
	}
	try.width = bits_needed(all);
	for (unsigned coarser = 0; coarser <= FINER; coarser++) {
		try.step = finest + coarser;
		if (try.step < 63)
			measure_step(bins, coarser, count, &try, &best);
	}
	return best;
}

static void put_few(struct bit_writer *out, const struct packing *packing, const uint64_t *values, unsigned count)
{
	bits_put(out, packing->few - 1, COUNT_WIDTH);
	bits_put(out, packing->width, BITS_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		if (values[i] == packing->base)
			continue;
		bits_put(out, i, place_width(count));
		bits_put(out, bits_fold(values[i] - packing->base), packing->width);
	}
}

static void put_most(struct bit_writer *out, const struct packing *packing, const uint64_t *values, unsigned count)
{
	bits_put(out, packing->far - 1, FAR_WIDTH);
	bits_put(out, packing->width, BITS_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - packing->base), steps = distance >> packing->step;

		if (steps < packing->far && packing->step < 64 - FAR_MAX) {
			/* The ones, the zero and the step at once. */
			bits_put(out, (bits_low(distance, packing->step) << 1 << steps) + (UINT64_C(1) << steps) - 1,
				 (unsigned)steps + 1 + packing->step);
		} else if (steps < packing->far) {
			bits_put(out, (UINT64_C(1) << steps) - 1, (unsigned)steps + 1);
			bits_put(out, bits_low(distance, packing->step), packing->step);
		} else {
			bits_put(out, (UINT64_C(1) << packing->far) - 1, packing->far);
			bits_put(out, distance, packing->width);
		}
	}
}

void column_put(struct bit_writer *out, const uint64_t *values, unsigned count)
{
	struct packing packing = { .way = SAME, .base = values[0] };

	for (unsigned i = 1; i < count && packing.way == SAME; i++)
		if (values[i] != values[0])
			packing = choose(values, count);
	bits_put(out, packing.way, WAY_WIDTH);
	if (packing.way == MOST)
		bits_put(out, packing.step, STEP_WIDTH);
	bits_put_number(out, bits_fold(bits_shift_signed(packing.base, base_shift(packing.step))));
	if (packing.way == FEW)
		put_few(out, &packing, values, count);
	else if (packing.way == MOST)
		put_most(out, &packing, values, count);
}

void column_put_flat(struct bit_writer *out, const uint64_t *values, unsigned count)
{
	uint64_t low = values[0] ^ SIGN, high = low;
	unsigned width;

	for (unsigned i = 1; i < count; i++) {
		uint64_t value = values[i] ^ SIGN;

		low = value < low ? value : low;
		high = value > high ? value : high;
	}
	width = bits_needed(high - low);
	low ^= SIGN;
	bits_put(out, width ? FLAT : SAME, WAY_WIDTH);
	bits_put_number(out, bits_fold(low));
	if (!width)
		return;
	bits_put(out, width, BITS_WIDTH);
	for (unsigned i = 0; i < count; i++)
		bits_put(out, values[i] - low, width);
}

static void get_few(struct bit_reader *in, uint64_t *values, unsigned count)
{
	unsigned few = (unsigned)bits_get(in, COUNT_WIDTH) + 1, width = bits_get_width(in);

	for (unsigned i = 0; i < few && !in->bad; i++) {
		unsigned place = (unsigned)bits_get(in, place_width(count));
		uint64_t distance = bits_get(in, width);

		if (place >= count)
			in->bad = true;
		else
			values[place] += bits_unfold(distance);
	}
}

/* One number of get_most(), wherever it stands. */
static uint64_t get_stepped(struct bit_reader *in, unsigned step, unsigned far, unsigned width)
{
	unsigned ones = (unsigned)__builtin_ctzll(~bits_peek(in) | UINT64_C(1) << far);

	bits_take(in, ones < far ? ones + 1 : far);
	return ones < far ? (uint64_t)ones << step | bits_get(in, step) : bits_get(in, width);
}

/*
 * The same of all numbers but those at the end of the bytes. Nearly all time of reading goes here, and in it most to
 * finding where the next number begins: so the bits stand in a register, inverted, and are shifted as soon as
 * the ones are counted.
 * Return: how many numbers were read.
 */
static unsigned get_most_fast(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step, unsigned far,
			      unsigned width)
{
	unsigned longest = far + (step > width ? step : width), i = 0, filled = 56 - in->at % 8;
	const uint8_t *next = in->data + in->at / 8 + 7, *last = in->data + in->len - 8;
	uint64_t far_bit = UINT64_C(1) << far, word, more;

	if (longest > filled || in->len < 16 || next > last)
		return 0;
	memcpy(&word, next - 7, 8);
	word = ~le64toh(word) >> in->at % 8;
	for (; i < count; i++) {
		unsigned ones;

		if (filled < longest) {
			if (next > last)
				break;
			/* Up to 56 bits or more; those above them come once more, the same. */
			memcpy(&more, next, 8);
			word |= ~le64toh(more) << filled;
			next += (63 - filled) >> 3;
			filled |= 56;
		}
		ones = (unsigned)__builtin_ctzll(word | far_bit);
		if (ones < far) {
			values[i] += bits_unfold((uint64_t)ones << step | bits_low(~word >> ones >> 1, step));
			word = word >> (step + 1) >> ones;
			filled -= ones + 1 + step;
		} else {
			values[i] += bits_unfold(bits_low(~word >> far, width));
			word >>= far + width;
			filled -= far + width;
		}
	}
	in->at = (size_t)(next - in->data) * 8 - filled;
	return i;
}

static void get_most(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step)
{
	unsigned far = (unsigned)bits_get(in, FAR_WIDTH) + 1, width = bits_get_width(in);

	for (unsigned i = get_most_fast(in, values, count, step, far, width); i < count && !in->bad; i++)
		values[i] += bits_unfold(get_stepped(in, step, far, width));
}

static void get_flat(struct bit_reader *in, uint64_t *values, unsigned count)
{
	unsigned width = bits_get_width(in);

	for (unsigned i = 0; i < count; i++)
		values[i] += bits_get(in, width);
}

void column_add(struct bit_reader *in, uint64_t *values, unsigned count)
{
	unsigned way = (unsigned)bits_get(in, WAY_WIDTH);
	unsigned step = way == MOST ? (unsigned)bits_get(in, STEP_WIDTH) : 0;
	uint64_t base = bits_unfold(bits_get_number(in)) << base_shift(step);

	if (base)
		for (unsigned i = 0; i < count; i++)
			values[i] += base;
	if (way == FEW)
		get_few(in, values, count);
	else if (way == MOST)
		get_most(in, values, count, step);
	else if (way == FLAT)
		get_flat(in, values, count);
	if (in->bad)
		memset(values, 0, count * sizeof(*values));
}
