/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec_column.h"

#include <limits.h>
#include <string.h>

#include "storage/codec_bits.h"

enum { SAME, FEW, MOST };

#define WAY_WIDTH 2
#define COUNT_WIDTH 8
#define STEP_WIDTH 6
#define FAR_WIDTH 3
#define FAR_MAX (1 << FAR_WIDTH)
#define SAMPLE 32
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
	unsigned few = count < SAMPLE ? count : SAMPLE;

	/* With the sign turned, unsigned order is that of signed numbers. */
	for (unsigned i = 0, at = 0; i < few; i++, at += count)
		sorted[i] = values[few == SAMPLE ? at / SAMPLE : i] ^ SIGN;
	sort_numbers(sorted, few);
	*ret_spread = bits_needed(sorted[few * 3 / 4] - sorted[few / 4]);
	return sorted[few / 2] ^ SIGN;
}

static struct packing measure_few(const uint64_t *values, unsigned count, uint64_t base)
{
	struct packing ret = { .way = FEW, .base = base };
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - base);

		all |= distance;
		ret.few += !!distance;
	}
	ret.width = bits_needed(all);
	ret.cost = COUNT_WIDTH + ret.few * (place_width(count) + ret.width);
	if (!ret.few)
		ret.way = SAME;
	return ret;
}

static struct packing measure_most(const uint64_t *values, unsigned count, uint64_t middle, unsigned step)
{
	struct packing ret = { .way = MOST, .base = base_near(middle, step), .step = step, .cost = UINT_MAX };
	unsigned steps[FAR_MAX + 1] = { 0 }, left = count, near = 0;
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - ret.base);

		all |= distance;
		steps[distance >> step < FAR_MAX ? distance >> step : FAR_MAX]++;
	}
	ret.width = bits_needed(all);
	for (unsigned far = 1; far <= FAR_MAX; far++) {
		unsigned cost;

		near += steps[far - 1] * (far + step);
		left -= steps[far - 1];
		cost = FAR_WIDTH + STEP_WIDTH + near + left * (far + ret.width);
		if (cost < ret.cost) {
			ret.cost = cost;
			ret.far = far;
		}
	}
	return ret;
}

/* The way that takes the fewest bits, of those that are likely to. */
static struct packing choose(const uint64_t *values, unsigned count)
{
	struct packing best, next;
	unsigned spread;
	uint64_t middle;

	best = measure_few(values, count, values[0]);
	if (best.way == SAME)
		return best;
	middle = middle_of(values, count, &spread);
	best = measure_few(values, count, middle);
	/* Steps about half as long as the numbers around the middle are apart; or none, where most are the middle. */
	for (unsigned i = 0; i < 4; i++) {
		unsigned step = i == 3 || spread < i ? 0 : spread - i < 62 ? spread - i : 62;

		if (!step && i < 3)
			continue;
		next = measure_most(values, count, middle, step);
		if (next.cost < best.cost)
			best = next;
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
	struct packing packing = choose(values, count);

	bits_put(out, packing.way, WAY_WIDTH);
	if (packing.way == MOST)
		bits_put(out, packing.step, STEP_WIDTH);
	bits_put_number(out, bits_fold(bits_shift_signed(packing.base, base_shift(packing.step))));
	if (packing.way == FEW)
		put_few(out, &packing, values, count);
	else if (packing.way == MOST)
		put_most(out, &packing, values, count);
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

static void get_most(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step)
{
	unsigned far = (unsigned)bits_get(in, FAR_WIDTH) + 1, width = bits_get_width(in);

	for (unsigned i = 0; i < count && !in->bad; i++) {
		uint64_t steps = bits_get_ones(in, far), distance;

		distance = steps < far ? steps << step | bits_get(in, step) : bits_get(in, width);
		values[i] += bits_unfold(distance);
	}
}

void column_get(struct bit_reader *in, uint64_t *values, unsigned count)
{
	unsigned way = (unsigned)bits_get(in, WAY_WIDTH);
	unsigned step = way == MOST ? (unsigned)bits_get(in, STEP_WIDTH) : 0;
	uint64_t base = bits_unfold(bits_get_number(in)) << base_shift(step);

	for (unsigned i = 0; i < count; i++)
		values[i] = base;
	if (way == FEW)
		get_few(in, values, count);
	else if (way == MOST)
		get_most(in, values, count, step);
	else if (way != SAME)
		in->bad = true;
	if (in->bad)
		memset(values, 0, count * sizeof(*values));
}
