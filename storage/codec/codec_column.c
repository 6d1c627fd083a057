/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec/codec_column.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "storage/codec/codec_bits.h"

enum { SAME, FEW, MOST, WAY_COUNT };

#define WAY_WIDTH 2
#define COUNT_WIDTH 8
#define STEP_WIDTH 6
#define FAR_WIDTH 3
#define FAR_MAX (1 << FAR_WIDTH)
#define SAMPLE 16
#define FINER 2 /* steps that are tried: 1, 1/2 and 1/4 of the spread */
#define BINS ((unsigned)FAR_MAX << FINER)
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

/* SAMPLE numbers: Batcher's merging, in which what is compared with what does not depend on the numbers. */
static void sort_sample(uint64_t *numbers)
{
	static const uint8_t pairs[][2] = {
		{ 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 8, 9 }, { 10, 11 }, { 12, 13 }, { 14, 15 },
		{ 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 8, 10 }, { 9, 11 }, { 12, 14 }, { 13, 15 },
		{ 1, 2 }, { 5, 6 }, { 9, 10 }, { 13, 14 },
		{ 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 }, { 8, 12 }, { 9, 13 }, { 10, 14 }, { 11, 15 },
		{ 2, 4 }, { 3, 5 }, { 10, 12 }, { 11, 13 },
		{ 1, 2 }, { 3, 4 }, { 5, 6 }, { 9, 10 }, { 11, 12 }, { 13, 14 },
		{ 0, 8 }, { 1, 9 }, { 2, 10 }, { 3, 11 }, { 4, 12 }, { 5, 13 }, { 6, 14 }, { 7, 15 },
		{ 4, 8 }, { 5, 9 }, { 6, 10 }, { 7, 11 },
		{ 2, 4 }, { 3, 5 }, { 6, 8 }, { 7, 9 }, { 10, 12 }, { 11, 13 },
		{ 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 }, { 9, 10 }, { 11, 12 }, { 13, 14 },
	};

	/* Unrolled, the places are constants: half of the time. */
#pragma GCC unroll 64
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		uint64_t a = numbers[pairs[i][0]], b = numbers[pairs[i][1]];

		numbers[pairs[i][0]] = a < b ? a : b;
		numbers[pairs[i][1]] = a < b ? b : a;
	}
}

/* What a sample of a column says of it. */
struct middle {
	uint64_t value;  /* the number in the middle */
	unsigned spread; /* how many bits the numbers around it are apart */
	bool steady;     /* many are the same */
};

/*
 * The mean of what is near the middle, of every other number: nearer to the truth than the middle of a sample, and
 * what is far away has no say.
 */
static uint64_t mean_near(const uint64_t *values, unsigned count, const struct middle *middle)
{
	uint64_t reach = UINT64_C(2) << middle->spread, sum = 0, near = 0;

	for (unsigned i = 0; i < count; i += 2) {
		uint64_t distance = values[i] - middle->value + reach, is_near = distance <= 2 * reach;

		near += is_near;
		sum += distance & (0 - is_near);
	}
	return near ? middle->value + sum / near - reach : middle->value;
}

static struct middle find_middle(const uint64_t *values, unsigned count)
{
	uint64_t sorted[SAMPLE];
	struct middle ret;

	/* With the sign turned, unsigned order is that of signed numbers. */
	for (unsigned i = 0; i < SAMPLE; i++)
		sorted[i] = values[(i * count + count / 2) / SAMPLE] ^ SIGN;
	sort_sample(sorted);
	ret.value = sorted[SAMPLE / 2] ^ SIGN;
	ret.spread = bits_needed(sorted[SAMPLE * 3 / 4] - sorted[SAMPLE / 4]);
	ret.steady = sorted[SAMPLE / 2 - 1] == sorted[SAMPLE / 2] || sorted[SAMPLE / 2] == sorted[SAMPLE / 2 + 1];
	return ret;
}

/* Distances of all from a base. Return: their bits. */
static uint64_t fold_all(const uint64_t *values, unsigned count, uint64_t base, uint64_t *distances)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++) {
		distances[i] = bits_fold(values[i] - base);
		all |= distances[i];
	}
	return all;
}

/* The two ways whose base is exact: few differ from it, or most do in nothing that a step could hold. */
static struct packing measure_exact(const uint64_t *values, unsigned count, uint64_t base, uint64_t *distances)
{
	struct packing ret = { .way = FEW, .base = base, .far = 1 };

	ret.width = bits_needed(fold_all(values, count, base, distances));
	for (unsigned i = 0; i < count; i++)
		ret.few += !!distances[i];
	ret.cost = COUNT_WIDTH + ret.few * (place_width(count) + ret.width);
	if (FAR_WIDTH + STEP_WIDTH + count + ret.few * ret.width < ret.cost) {
		ret.way = MOST;
		ret.cost = FAR_WIDTH + STEP_WIDTH + count + ret.few * ret.width;
	}
	return ret;
}

/*
 * What steps of one size cost: @bins[n] is how many distances are n steps long, FAR_MAX at most.
 * @count distances in all, what is more than FAR_MAX steps long among them.
 */
static void measure_step(const uint16_t *bins, unsigned count, struct packing try, struct packing *best)
{
	unsigned left = count, near = 0, least = best->cost, least_far = 0;

	/* Where nothing is left, more ones make nothing shorter. */
	for (unsigned far = 1; far <= FAR_MAX && left; far++) {
		unsigned here = bins[far - 1], cost;

		near += here * (far + try.step);
		left -= here;
		cost = FAR_WIDTH + STEP_WIDTH + near + left * (far + try.width);
		if (cost < least) {
			least = cost;
			least_far = far;
		}
	}
	if (!least_far)
		return;
	*best = try;
	best->far = least_far;
	best->cost = least;
}

/*
 * The way that takes the fewest bits, of those that are likely to: the steps are about as long as half the spread.
 * @distances:  filled with those from its base
 */
static struct packing choose(const uint64_t *values, unsigned count, uint64_t *distances)
{
	struct packing best = { .cost = UINT_MAX }, try = { .way = MOST };
	struct middle middle = find_middle(values, count);
	uint16_t bins[BINS + 1] = { 0 };
	unsigned finest;
	uint64_t all = 0;

	if (middle.spread > 62)
		middle.spread = 62;
	finest = middle.spread > FINER ? middle.spread - FINER : 0;
	if (middle.steady)
		best = measure_exact(values, count, middle.value, distances);
	else if (middle.spread < 52)
		middle.value = mean_near(values, count, &middle);
	/* So few that steps, of which each number takes a bit, cannot be better. */
	if (middle.steady && best.way == FEW)
		return best;
	try.base = base_near(middle.value, finest + FINER);
	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = bits_fold(values[i] - try.base), steps = distance >> finest;

		distances[i] = distance;
		all |= distance;
		bins[steps < BINS ? steps : BINS]++;
	}
	try.width = bits_needed(all);
	for (unsigned coarser = 0; coarser <= FINER; coarser++) {
		try.step = finest + coarser;
		if (try.step < 63)
			measure_step(bins, count, try, &best);
		/* The next steps are twice as long. */
		for (unsigned i = 0; i < BINS >> (coarser + 1); i++)
			bins[i] = (uint16_t)(bins[2 * i] + bins[2 * i + 1]);
	}
	if (best.base != try.base)
		fold_all(values, count, best.base, distances);
	return best;
}

static void put_few(struct bit_writer *out, const struct packing *packing, const uint64_t *distances, unsigned count)
{
	bits_put(out, packing->few - 1, COUNT_WIDTH);
	bits_put(out, packing->width, BITS_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		if (!distances[i])
			continue;
		bits_put(out, i, place_width(count));
		bits_put(out, distances[i], packing->width);
	}
}

static void put_most_long(struct bit_writer *out, const struct packing *packing, const uint64_t *distances,
			  unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = distances[i], steps = distance >> packing->step;

		if (steps < packing->far) {
			bits_put(out, (UINT64_C(1) << steps) - 1, (unsigned)steps + 1);
			bits_put(out, bits_low(distance, packing->step), packing->step);
		} else {
			bits_put(out, (UINT64_C(1) << packing->far) - 1, packing->far);
			bits_put(out, distance, packing->width);
		}
	}
}

/* What is written without a look at how long it is: the word that is being filled, and the steps. */
struct fast_writer {
	uint64_t word, low;
	uint8_t *at;
	unsigned filled, step, far, width;
};

/* Write what is whole bytes; up to 7 bits stay. */
static inline void fast_flush(struct fast_writer *out)
{
	uint64_t stored = htole64(out->word);

	memcpy(out->at, &stored, 8);
	out->at += out->filled / 8;
	out->word >>= out->filled & 56;
	out->filled &= 7;
}

static inline void fast_put(struct fast_writer *out, uint64_t distance)
{
	uint64_t steps = distance >> out->step;

	if (steps < out->far) {
		/* The ones, the zero and the step at once. */
		out->word |= ((((distance & out->low) * 2 + 1) << steps) - 1) << out->filled;
		out->filled += (unsigned)steps + 1 + out->step;
	} else {
		out->word |= (((distance + 1) << out->far) - 1) << out->filled;
		out->filled += out->far + out->width;
	}
}

/*
 * The same where none takes more than 56 bits, which is nearly always. Half of the time of writing goes here: so each
 * number is put at once, or two of them where they are short.
 */
static void put_most_fast(struct bit_writer *out, const struct packing *packing, const uint64_t *distances,
			  unsigned count)
{
	struct fast_writer fast = { .word = out->word, .low = (UINT64_C(1) << packing->step) - 1, .at = out->at,
				    .filled = out->filled, .step = packing->step, .far = packing->far,
				    .width = packing->width };
	unsigned i = 0;

	if (fast.far + fast.width <= 28 && fast.far + fast.step <= 28) {
		for (; i + 1 < count; i += 2) {
			fast_flush(&fast);
			fast_put(&fast, distances[i]);
			fast_put(&fast, distances[i + 1]);
		}
	}
	for (; i < count; i++) {
		fast_flush(&fast);
		fast_put(&fast, distances[i]);
	}
	out->word = fast.word;
	out->filled = fast.filled;
	out->at = fast.at;
}

static void put_most(struct bit_writer *out, const struct packing *packing, const uint64_t *distances, unsigned count)
{
	bits_put(out, packing->far - 1, FAR_WIDTH);
	bits_put(out, packing->width, BITS_WIDTH);
	if (packing->far + packing->width <= 56 && packing->far + packing->step <= 56)
		put_most_fast(out, packing, distances, count);
	else
		put_most_long(out, packing, distances, count);
}

void column_put(struct bit_writer *out, const uint64_t *values, unsigned count)
{
	uint64_t distances[COLUMN_MAX];
	struct packing packing = { .way = SAME, .base = values[0] };

	for (unsigned i = 1; i < count && packing.way == SAME; i++)
		if (values[i] != values[0])
			packing = choose(values, count, distances);
	bits_put(out, packing.way, WAY_WIDTH);
	if (packing.way == MOST)
		bits_put(out, packing.step, STEP_WIDTH);
	bits_put_number(out, bits_fold(bits_shift_signed(packing.base, base_shift(packing.step))));
	if (packing.way == FEW)
		put_few(out, &packing, distances, count);
	else if (packing.way == MOST)
		put_most(out, &packing, distances, count);
}

static void get_few(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end)
{
	unsigned few = (unsigned)bits_get(in, COUNT_WIDTH) + 1, width = bits_get_width(in);

	for (unsigned i = 0; i < few && !in->bad; i++) {
		unsigned place = (unsigned)bits_get(in, place_width(count));
		uint64_t distance = bits_get(in, width);

		if (place >= count)
			in->bad = true;
		else if (place >= first && place < end)
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

/* Pass so many numbers by at a time, of which none can be longer than BITS_PEEK / @at_once bits. Return: how many. */
static inline __attribute__((always_inline)) unsigned pass_some(struct bit_reader *in, unsigned count, unsigned step,
								unsigned far, unsigned width, unsigned at_once)
{
	uint64_t far_bit = UINT64_C(1) << far;
	unsigned most = far + width, i = 0;
	size_t at = in->at, last = in->len - 8;

	step++;
	for (; i + at_once <= count && at / 8 <= last; i += at_once) {
		uint64_t word;

		memcpy(&word, in->data + at / 8, 8);
		word = ~le64toh(word) >> at % 8;
#pragma GCC unroll 3
		for (unsigned n = 0; n < at_once; n++) {
			unsigned ones = (unsigned)__builtin_ctzll(word | far_bit);
			unsigned bits = ones < far ? ones + step : most;

			word >>= bits;
			at += bits;
		}
	}
	in->at = at;
	return i;
}

/*
 * All numbers but those at the end of the bytes, three at a time where they are short. Of what is passed by only the
 * length matters, and no branch has to be guessed.
 */
static unsigned pass_most_fast(struct bit_reader *in, unsigned count, unsigned step, unsigned far, unsigned width)
{
	unsigned longest = far + (step > width ? step : width);

	if (in->len < 8 || longest > BITS_PEEK)
		return 0;
	if (longest <= BITS_PEEK / 3)
		return pass_some(in, count, step, far, width, 3);
	return longest <= BITS_PEEK / 2 ? pass_some(in, count, step, far, width, 2) :
					  pass_some(in, count, step, far, width, 1);
}

static void pass_most(struct bit_reader *in, unsigned count, unsigned step, unsigned far, unsigned width)
{
	for (unsigned i = pass_most_fast(in, count, step, far, width); i < count && !in->bad; i++)
		get_stepped(in, step, far, width);
}

static void get_most(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step, unsigned first,
		     unsigned end)
{
	unsigned far = (unsigned)bits_get(in, FAR_WIDTH) + 1, width = bits_get_width(in), i;

	pass_most(in, first, step, far, width);
	if (in->bad)
		return;
	for (i = first + get_most_fast(in, values + first, end - first, step, far, width); i < end && !in->bad; i++)
		values[i] += bits_unfold(get_stepped(in, step, far, width));
	pass_most(in, count - end, step, far, width);
}

void column_add_part(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end)
{
	unsigned way = (unsigned)bits_get(in, WAY_WIDTH);
	unsigned step = way == MOST ? (unsigned)bits_get(in, STEP_WIDTH) : 0;
	uint64_t base = bits_unfold(bits_get_number(in)) << base_shift(step);

	if (base)
		for (unsigned i = first; i < end; i++)
			values[i] += base;
	if (way == FEW)
		get_few(in, values, count, first, end);
	else if (way == MOST)
		get_most(in, values, count, step, first, end);
	else if (way >= WAY_COUNT)
		in->bad = true;
	if (in->bad)
		memset(values, 0, count * sizeof(*values));
}

void column_add(struct bit_reader *in, uint64_t *values, unsigned count)
{
	column_add_part(in, values, count, 0, count);
}
