/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec/codec_column.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "storage/codec/codec_bits.h"

enum { CONSTANT, SPARSE, RICE, ENCODING_COUNT };

#define ENCODING_WIDTH 2
#define COUNT_WIDTH 8
#define STEP_WIDTH 6
#define ESCAPE_WIDTH 3
#define ESCAPE_MAX (1 << ESCAPE_WIDTH)
#define SAMPLE 16
#define FINER 2 /* step sizes that are tried: 1, 1/2 and 1/4 of the spread */
#define BINS ((unsigned)ESCAPE_MAX << FINER)
#define SIGN (UINT64_C(1) << 63)

struct encoding {
	unsigned kind;
	uint64_t base;
	unsigned step;   /* remainder bits; 0 unless RICE */
	unsigned escape; /* distances of this many steps are outliers, 1 to ESCAPE_MAX */
	unsigned width;  /* of the largest distance */
	unsigned few;    /* number of values that differ from the base */
	unsigned cost;   /* of distances and places, bits */
};

/* The lowest bits of the base are not stored: it need not be exact, and every column stores one. */
static unsigned base_shift(unsigned step)
{
	return step > 2 ? step - 2 : 0;
}

/* The nearest base that can be stored. */
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

/* Statistics of some numbers of a column. */
struct middle {
	uint64_t value;  /* median */
	unsigned spread; /* bits of the distance between the quartiles */
	bool steady;     /* many numbers are equal */
};

/* The mean of every other number near the median: more exact than the median, without outliers. */
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
	uint64_t least_first[SAMPLE + 1] = { 0 }, *sorted = least_first + 1; /* 0 ends each search */
	struct middle ret;

	for (unsigned i = 0; i < SAMPLE; i++) {
		/* With the sign inverted, unsigned order is that of signed numbers. */
		uint64_t value = values[(i * count + count / 2) / SAMPLE] ^ SIGN;
		uint64_t *at = &sorted[i];

		for (; at[-1] > value; at--)
			*at = at[-1];
		*at = value;
	}
	ret.value = sorted[SAMPLE / 2] ^ SIGN;
	ret.spread = bits_needed(sorted[SAMPLE * 3 / 4] - sorted[SAMPLE / 4]);
	ret.steady = sorted[SAMPLE / 2 - 1] == sorted[SAMPLE / 2] || sorted[SAMPLE / 2] == sorted[SAMPLE / 2 + 1];
	return ret;
}

/* Compute all distances from a base. Return: the union of their bits. */
static uint64_t fold_all(const uint64_t *values, unsigned count, uint64_t base, uint64_t *distances)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++) {
		distances[i] = bits_fold(values[i] - base);
		all |= distances[i];
	}
	return all;
}

/* The encodings with an exact base: SPARSE, or RICE with steps of 1 if most distances are 0. */
static struct encoding measure_exact(const uint64_t *values, unsigned count, uint64_t base, uint64_t *distances)
{
	struct encoding ret = { .kind = SPARSE, .base = base, .escape = 1 };

	ret.width = bits_needed(fold_all(values, count, base, distances));
	for (unsigned i = 0; i < count; i++)
		ret.few += !!distances[i];
	ret.cost = COUNT_WIDTH + ret.few * (place_width(count) + ret.width);
	if (ESCAPE_WIDTH + STEP_WIDTH + count + ret.few * ret.width < ret.cost) {
		ret.kind = RICE;
		ret.cost = ESCAPE_WIDTH + STEP_WIDTH + count + ret.few * ret.width;
	}
	return ret;
}

/*
 * Try one step size with every number of ones for the escape
 * @bins:   bins[n] is the number of distances of n steps, for n below ESCAPE_MAX
 * @count:  distances, including longer ones
 */
static void measure_step(const uint16_t *bins, unsigned count, struct encoding try, struct encoding *best)
{
	unsigned outliers = count, near_cost = 0;

	/* Without outliers, a longer escape saves nothing. */
	for (unsigned escape = 1; escape <= ESCAPE_MAX && outliers; escape++) {
		near_cost += bins[escape - 1] * (escape + try.step);
		outliers -= bins[escape - 1];
		try.cost = ESCAPE_WIDTH + STEP_WIDTH + near_cost + outliers * (escape + try.width);
		try.escape = escape;
		if (try.cost < best->cost)
			*best = try;
	}
}

/*
 * The encoding with the fewest bits of those that are likely to have it: steps of about half the spread
 * @distances:  filled with the distances from its base
 */
static struct encoding choose(const uint64_t *values, unsigned count, uint64_t *distances)
{
	struct encoding best = { .cost = UINT_MAX }, try = { .kind = RICE };
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
	/* The Rice code needs at least one bit per number, so it cannot be shorter. */
	if (middle.steady && best.kind == SPARSE)
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
		/* The next step size is twice as large. */
		for (unsigned i = 0; i < BINS >> (coarser + 1); i++)
			bins[i] = (uint16_t)(bins[2 * i] + bins[2 * i + 1]);
	}
	if (best.base != try.base)
		fold_all(values, count, best.base, distances);
	return best;
}

static void put_sparse(struct bit_writer *out, const struct encoding *encoding, const uint64_t *distances,
		       unsigned count)
{
	bits_put(out, encoding->few - 1, COUNT_WIDTH);
	bits_put(out, encoding->width, BITS_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		if (!distances[i])
			continue;
		bits_put(out, i, place_width(count));
		bits_put(out, distances[i], encoding->width);
	}
}

static void put_rice(struct bit_writer *out, const struct encoding *encoding, const uint64_t *distances, unsigned count)
{
	unsigned step = encoding->step, escape = encoding->escape, width = encoding->width;
	bool at_once = escape + (step > width ? step : width) < 64;
	uint64_t low = (UINT64_C(1) << step) - 1;
	struct bit_writer copy;

	bits_put(out, escape - 1, ESCAPE_WIDTH);
	bits_put(out, width, BITS_WIDTH);
	copy = *out; /* stays in registers */
	for (unsigned i = 0; i < count; i++) {
		uint64_t distance = distances[i], steps = distance >> step;
		bool near = steps < escape;
		unsigned ones = near ? (unsigned)steps : escape;

		/* The ones, the zero unless it is an outlier, and the rest: nearly always at once. */
		if (!at_once) {
			bits_put(&copy, (UINT64_C(1) << ones) - 1, ones + near);
			bits_put(&copy, near ? distance & low : distance, near ? step : width);
		} else if (near) {
			bits_put(&copy, (((distance & low) * 2 + 1) << ones) - 1, ones + 1 + step);
		} else {
			bits_put(&copy, ((distance + 1) << ones) - 1, ones + width);
		}
	}
	*out = copy;
}

void column_put(struct bit_writer *out, const uint64_t *values, unsigned count)
{
	uint64_t distances[COLUMN_MAX];
	struct encoding encoding = { .kind = CONSTANT, .base = values[0] };

	/* Is each number equal to the next one? In most columns they are, and memcmp() is fast. */
	if (memcmp(values, values + 1, (count - 1) * sizeof(*values)))
		encoding = choose(values, count, distances);
	bits_put(out, encoding.kind, ENCODING_WIDTH);
	if (encoding.kind == RICE)
		bits_put(out, encoding.step, STEP_WIDTH);
	bits_put_number(out, bits_fold(bits_shift_signed(encoding.base, base_shift(encoding.step))));
	if (encoding.kind == SPARSE)
		put_sparse(out, &encoding, distances, count);
	else if (encoding.kind == RICE)
		put_rice(out, &encoding, distances, count);
}

static void get_sparse(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end)
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

/* One number of the Rice code, anywhere in the input. */
static uint64_t get_stepped(struct bit_reader *in, unsigned step, unsigned escape, unsigned width)
{
	unsigned ones = (unsigned)__builtin_ctzll(~bits_peek(in) | UINT64_C(1) << escape);

	bits_take(in, ones < escape ? ones + 1 : escape);
	return ones < escape ? (uint64_t)ones << step | bits_get(in, step) : bits_get(in, width);
}

/*
 * The same for all numbers except those at the end of the input. Most time of reading is spent on
 * finding where the next number begins, so the bits are in a register, inverted, and are shifted as
 * soon as the ones are counted. Without it a query of samples takes 10 % longer.
 * Return: how many numbers were read.
 */
static unsigned get_rice_fast(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step, unsigned escape,
			      unsigned width)
{
	unsigned longest = escape + (step > width ? step : width), i = 0, filled = 56 - in->at % 8;
	const uint8_t *next = in->data + in->at / 8 + 7, *last = in->data + in->len - 8;
	uint64_t escape_bit = UINT64_C(1) << escape, word, more;

	if (longest > filled || in->len < 16 || next > last)
		return 0;
	memcpy(&word, next - 7, 8);
	word = ~le64toh(word) >> in->at % 8;
	for (; i < count; i++) {
		unsigned ones;

		if (filled < longest) {
			if (next > last)
				break;
			/* At least 56 bits; those above them are read once more with the next word. */
			memcpy(&more, next, 8);
			word |= ~le64toh(more) << filled;
			next += (63 - filled) >> 3;
			filled |= 56;
		}
		ones = (unsigned)__builtin_ctzll(word | escape_bit);
		if (ones < escape) {
			values[i] += bits_unfold((uint64_t)ones << step | bits_low(~word >> ones >> 1, step));
			word = word >> (step + 1) >> ones;
			filled -= ones + 1 + step;
		} else {
			values[i] += bits_unfold(bits_low(~word >> escape, width));
			word >>= escape + width;
			filled -= escape + width;
		}
	}
	in->at = (size_t)(next - in->data) * 8 - filled;
	return i;
}

/*
 * Skip numbers: only their length matters. Several short ones are found in one word, since most of
 * the time goes into loads; without that a sum over part of a chunk takes a fifth longer.
 */
static void skip_rice(struct bit_reader *in, unsigned count, unsigned step, unsigned escape, unsigned width)
{
	unsigned longest = escape + (step > width ? step : width), i = 0;
	unsigned at_once = longest <= BITS_PEEK / 3 ? 3 : longest <= BITS_PEEK / 2 ? 2 : 1;
	size_t at = in->at;

	if (in->len >= 8 && longest <= BITS_PEEK) {
		for (; i + at_once <= count && at / 8 <= in->len - 8; i += at_once) {
			uint64_t word;

			memcpy(&word, in->data + at / 8, 8);
			word = ~le64toh(word) >> at % 8;
			for (unsigned n = 0; n < at_once; n++) {
				unsigned ones = (unsigned)__builtin_ctzll(word | UINT64_C(1) << escape);
				unsigned bits = ones < escape ? ones + 1 + step : escape + width;

				word >>= bits;
				at += bits;
			}
		}
	}
	in->at = at;
	for (; i < count && !in->bad; i++)
		get_stepped(in, step, escape, width);
}

static void get_rice(struct bit_reader *in, uint64_t *values, unsigned count, unsigned step, unsigned first,
		     unsigned end)
{
	unsigned escape = (unsigned)bits_get(in, ESCAPE_WIDTH) + 1, width = bits_get_width(in), i;

	skip_rice(in, first, step, escape, width);
	if (in->bad)
		return;
	i = first + get_rice_fast(in, values + first, end - first, step, escape, width);
	for (; i < end && !in->bad; i++)
		values[i] += bits_unfold(get_stepped(in, step, escape, width));
	skip_rice(in, count - end, step, escape, width);
}

void column_add_part(struct bit_reader *in, uint64_t *values, unsigned count, unsigned first, unsigned end)
{
	unsigned kind = (unsigned)bits_get(in, ENCODING_WIDTH);
	unsigned step = kind == RICE ? (unsigned)bits_get(in, STEP_WIDTH) : 0;
	uint64_t base = bits_unfold(bits_get_number(in)) << base_shift(step);

	if (base)
		for (unsigned i = first; i < end; i++)
			values[i] += base;
	if (kind == SPARSE)
		get_sparse(in, values, count, first, end);
	else if (kind == RICE)
		get_rice(in, values, count, step, first, end);
	else if (kind >= ENCODING_COUNT)
		in->bad = true;
	if (in->bad)
		memset(values, 0, count * sizeof(*values));
}

void column_add(struct bit_reader *in, uint64_t *values, unsigned count)
{
	column_add_part(in, values, count, 0, count);
}
