/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_test.c - chunks and blocks of hot restore all samples; invalid bytes are harmless
 *
 * Each counter of each chunk has samples of another distribution. IBWIRE_CODEC_SAMPLES: number of
 * samples (10000000 take some seconds). The input ends before an unmapped page.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/delta.h"
#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/codec/codec.h"
#include "storage/codec/codec_group.h"
#include "storage/test/test_day.h"

#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)
#define PAGE_BYTES ((size_t)1 << 20)

static uint64_t seed = 1;

static uint64_t draw(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit)
{
	return draw() % limit;
}

/* All widths are equally likely. */
static uint64_t draw_width(void)
{
	unsigned width = (unsigned)below(65);

	return width ? draw() >> (64 - width) : 0;
}

static uint64_t draw_extreme(void)
{
	static const uint64_t extremes[] = {
		0, 1, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX,
	};

	return extremes[below(sizeof(extremes) / sizeof(*extremes))];
}

/* The @i-th number of a distribution. */
struct source {
	unsigned kind;
	uint64_t base, noise, step;
};

#define KINDS 11

static struct source draw_source(void)
{
	return (struct source){ (unsigned)below(KINDS), draw_width(), draw_width() | 1, draw_width() };
}

static uint64_t draw_from(const struct source *source, unsigned i)
{
	switch (source->kind) {
	case 0:
		return 0;
	case 1:
		return source->base;
	case 2:
		return source->base + below(source->noise);
	case 3:
		return draw();
	case 4:
		return draw_width();
	case 5:
		return draw_extreme();
	case 6: /* constant, except a few */
		return below(20) ? source->base : draw_width();
	case 7: /* noise with outliers on both sides */
		return below(20) ? source->base + below(source->noise) : draw();
	case 8:
		return source->base + source->step * i;
	case 9: /* two levels */
		return below(2) ? source->base + below(source->noise) : below(16);
	default:
		return source->base - below(4) + (below(50) ? 0 : draw_extreme());
	}
}

static void draw_samples(struct codec_sample *samples, unsigned count)
{
	struct source elapsed = draw_source(), values[COUNTER_TRAFFIC_COUNT];
	unsigned presence = (unsigned)below(6), unknown = (unsigned)below(5);
	counter_set same = draw() & COUNTER_ALL;
	bool related = below(2);

	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		values[i] = draw_source();
	memset(samples, 0, count * sizeof(*samples));
	for (unsigned i = 0; i < count; i++) {
		struct codec_sample *sample = &samples[i];

		sample->there = presence == 0 ? below(2) : presence == 1 ? i == 0 : presence == 2 ? i == count - 1 :
			presence == 3 ? below(30) : presence == 4 ? true : same % 16 != 0;
		if (!sample->there)
			continue;
		sample->elapsed_us = (int64_t)(draw_from(&elapsed, i) & INT64_MAX);
		sample->unknown = unknown == 0 ? draw() & COUNTER_ALL : unknown == 1 ? same :
			unknown == 2 ? COUNTER_ALL : unknown == 3 && !below(9) ? same : 0;
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			sample->value[j] = draw_from(&values[j], i);
		if (related) {
			sample->value[COUNTER_XMIT_PACKETS] = sample->value[COUNTER_XMIT_DATA] / 1024 + below(9);
			sample->value[COUNTER_UNICAST_XMIT_PACKETS] = sample->value[COUNTER_XMIT_PACKETS] -
				sample->value[COUNTER_MULTICAST_XMIT_PACKETS];
		}
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			if (sample->unknown & COUNTER_BIT(j))
				sample->value[j] = 0;
	}
}

static bool same_samples(const struct codec_sample *a, const struct codec_sample *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].there != b[i].there || a[i].elapsed_us != b[i].elapsed_us || a[i].unknown != b[i].unknown ||
		    memcmp(a[i].value, b[i].value, sizeof(a[i].value)))
			return false;
	return true;
}

/* The end of a buffer, before an unmapped page. */
static uint8_t *guarded(void)
{
	static uint8_t *end;
	uint8_t *start;

	if (end)
		return end;
	start = mmap(NULL, PAGE_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(start != MAP_FAILED);
	end = start + PAGE_BYTES;
	assert_int_equal(mprotect(end, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE), 0);
	return end;
}

static void sum_samples(const struct codec_sample *samples, unsigned from, unsigned to, struct codec_sum *ret)
{
	*ret = (struct codec_sum){ .never = COUNTER_ALL };
	for (unsigned i = from; i < to; i++) {
		if (!samples[i].there)
			continue;
		ret->samples++;
		ret->elapsed_us += (uint64_t)samples[i].elapsed_us;
		ret->unknown |= samples[i].unknown;
		ret->never &= samples[i].unknown;
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			ret->value[j] = ret->value[j] > UINT64_MAX - samples[i].value[j] ? UINT64_MAX :
				ret->value[j] + samples[i].value[j];
	}
}

static bool same_sums(const struct codec_sum *a, const struct codec_sum *b)
{
	return a->samples == b->samples && a->elapsed_us == b->elapsed_us && a->unknown == b->unknown &&
	       a->never == b->never && !memcmp(a->value, b->value, sizeof(a->value));
}

/* The sum of a random part of a chunk is that of its samples, and is rejected if they are. */
static void check_sum(int result, const uint8_t *data, size_t len, const struct codec_sample *samples, unsigned count)
{
	unsigned from = below(3) ? (unsigned)below(count) : 0;
	unsigned to = below(3) ? from + (unsigned)below(count - from + 1) : count;
	struct codec_sum sum, expected;

	memset(&sum, 0xa5, sizeof(sum));
	if (codec_sum_chunk(data, len, count, from, to, &sum) != result)
		fail_msg("samples are %s, their sum is not", result ? "refused" : "read");
	if (result)
		return;
	sum_samples(samples, from, to, &expected);
	if (!same_sums(&sum, &expected))
		fail_msg("samples %u to %u of %u add up to something else", from, to, count);
}

static int read_back(bool hot, const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	uint8_t *copy = guarded() - len;
	int result;

	assert_true(len <= PAGE_BYTES);
	if (len)
		memcpy(copy, data, len);
	result = hot ? hot_read_block(copy, len, samples) : codec_read_chunk(copy, len, samples, count);
	if (!hot)
		check_sum(result, copy, len, samples, count);
	return result;
}

static void write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	static struct codec_series series;

	series.group.count = 0;
	series.group.any_unknown = 0;
	for (unsigned i = 0; i < count; i++)
		if (samples[i].there)
			codec_series_add(&series, &samples[i], i);
	assert_int_equal(codec_write_series(out, &series, count), 0);
}

static void write_drawn(bool hot, struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	if (hot)
		assert_int_equal(hot_write_block(out, samples), 0);
	else
		write_chunk(out, samples, count);
}

static unsigned draw_count(bool hot)
{
	return hot ? CODEC_BLOCK_PORTS : 1 + (unsigned)below(CODEC_CHUNK_SWEEPS);
}

TEST(samples_are_read_as_they_were_written)
{
	const char *text = getenv("IBWIRE_CODEC_SAMPLES");
	uint64_t wanted = text ? strtoull(text, NULL, 10) : 3000000, done = 0;
	struct codec_sample samples[CODEC_CHUNK_SWEEPS], back[CODEC_CHUNK_SWEEPS];
	struct bytes bytes = { 0 };

	while (done < wanted) {
		bool hot = below(2);
		unsigned count = draw_count(hot);
		uint64_t began = seed;

		draw_samples(samples, count);
		bytes.len = 0;
		write_drawn(hot, &bytes, samples, count);
		memset(back, 0xa5, sizeof(back));
		if (read_back(hot, bytes.data, bytes.len, back, count) || !same_samples(samples, back, count))
			fail_msg("%u samples of seed %llu come back as others", count, (unsigned long long)began);
		done += count;
	}
	print_message("# note: %llu random samples read as they were written\n", (unsigned long long)done);
	reliability_report("Any counter values", done, "samples", "packed samples are read as they were written");
	bytes_done(&bytes);
}

TEST(absent_and_unknown_values_are_stored_as_0)
{
	struct codec_sample samples[20], back[20];
	struct bytes bytes = { 0 };

	for (unsigned i = 0; i < 20; i++) {
		samples[i] = (struct codec_sample){ .there = i % 3, .elapsed_us = 1000000,
						    .unknown = i & COUNTER_TRAFFIC_SET };
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			samples[i].value[j] = draw();
	}
	write_chunk(&bytes, samples, 20);
	assert_int_equal(codec_read_chunk(bytes.data, bytes.len, back, 20), 0);
	for (unsigned i = 0; i < 20; i++) {
		if (!samples[i].there)
			samples[i] = (struct codec_sample){ 0 };
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			if (samples[i].unknown & COUNTER_BIT(j))
				samples[i].value[j] = 0;
	}
	assert_true(same_samples(samples, back, 20));
	bytes_done(&bytes);
}

TEST(other_lengths_and_kinds_are_rejected)
{
	struct codec_sample samples[CODEC_CHUNK_SWEEPS], back[CODEC_CHUNK_SWEEPS];
	struct bytes bytes = { 0 };

	for (unsigned round = 0; round < 60; round++) {
		bool hot = below(2);
		unsigned count = draw_count(hot), other = draw_count(hot);
		size_t len;

		draw_samples(samples, count);
		bytes.len = 0;
		write_drawn(hot, &bytes, samples, count);
		len = bytes.len;
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(read_back(hot, bytes.data, cut, back, count), ERR_IO);
		assert_int_equal(read_back(!hot, bytes.data, len, back, count), ERR_IO);
		if (other != count)
			assert_int_equal(read_back(hot, bytes.data, len, back, other), ERR_IO);
		/* Additional bytes. */
		write_drawn(hot, &bytes, samples, count);
		for (size_t more = len + 1; more <= bytes.len && more < len + 20; more++)
			assert_int_equal(read_back(hot, bytes.data, more, back, count), ERR_IO);
		bytes.data[0] ^= (uint8_t)(1 << below(8));
		assert_int_equal(read_back(hot, bytes.data, len, back, count), ERR_IO);
	}
	assert_int_equal(codec_read_chunk(bytes.data, bytes.len, back, CODEC_CHUNK_SWEEPS + 1), ERR_IO);
	bytes_done(&bytes);
}

TEST(damaged_bytes_are_an_error_or_samples)
{
	struct codec_sample samples[CODEC_CHUNK_SWEEPS], back[CODEC_CHUNK_SWEEPS];
	struct bytes bytes = { 0 };
	unsigned refused = 0, rounds = 20000, count = 0;
	bool hot = false;

	for (unsigned round = 0; round < rounds; round++) {
		if (round % 4 == 0) {
			hot = below(2);
			count = draw_count(hot);
			draw_samples(samples, count);
			bytes.len = 0;
			write_drawn(hot, &bytes, samples, count);
		}
		for (uint64_t flips = 1 + below(2); flips; flips--)
			bytes.data[below(bytes.len)] ^= (uint8_t)(1 << below(8));
		/* Keep kind and count, so that the rest is read. */
		bytes.data[0] = hot ? 1 : 0xc1;
		if (!hot && bytes.len > 2) {
			bytes.data[1] = (uint8_t)count;
			bytes.data[2] = (uint8_t)((bytes.data[2] & 0xfe) | count >> 8);
		}
		if (read_back(hot, bytes.data, bytes.len, back, count))
			refused++;
		else
			for (unsigned i = 0; i < count; i++)
				assert_true(back[i].elapsed_us >= 0 && !(back[i].unknown & ~COUNTER_ALL));
	}
	print_message("# note: %u of %u damaged blocks and chunks were refused\n", refused, rounds);
	assert_in_range(refused, 1, rounds - 1);
	bytes_done(&bytes);
}

/* Read a block of hot with one sample, whose bytes are @sample. */
static int read_one(const uint8_t *sample, size_t len)
{
	struct codec_sample back[CODEC_BLOCK_PORTS];
	uint8_t bytes[200] = { 1, 1 }; /* the version; the first port */

	memcpy(bytes + 5, sample, len);
	return read_back(true, bytes, 5 + len, back, CODEC_BLOCK_PORTS);
}

/* Samples with correct lengths and impossible values. */
TEST(an_impossible_sample_of_hot_is_rejected)
{
	/* 5 bytes of lengths, 8 of the unknown set, 8 of the folded time. */
	uint8_t sample[22] = { 9, [5] = 1, [13] = 2 };

	assert_int_equal(read_one(sample, 21), 0);
	sample[13] = 1;
	assert_int_equal(read_one(sample, 21), ERR_IO);
	sample[13] = 2;
	sample[12] = 0x80;
	assert_int_equal(read_one(sample, 21), ERR_IO);
	/* A value of the first counter, which is unknown; then another one is unknown instead. */
	sample[12] = 0;
	sample[0] = 9 | 1 << 4;
	sample[21] = 7;
	assert_int_equal(read_one(sample, 22), ERR_IO);
	sample[5] = 2;
	assert_int_equal(read_one(sample, 22), 0);
}

TEST(random_bytes_are_an_error_or_samples)
{
	struct codec_sample back[CODEC_CHUNK_SWEEPS];
	uint8_t bytes[400];

	for (unsigned round = 0; round < 20000; round++) {
		bool hot = below(2);
		unsigned count = draw_count(hot);

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)draw();
		bytes[0] = hot ? 1 : 0xc1;
		if (!hot) {
			bytes[1] = (uint8_t)count;
			bytes[2] = (uint8_t)(below(64) << 2 | 2 | count >> 8);
		}
		read_back(hot, bytes, below(sizeof(bytes)), back, count);
	}
}

/* Bytes per port-sample of a noisy day in chunks of @sweeps. */
static double measure_day(unsigned sweeps)
{
	struct codec_sample samples[CODEC_CHUNK_SWEEPS], back[CODEC_CHUNK_SWEEPS];
	struct bytes bytes = { 0 };
	size_t total = 0, count = 0;

	for (uint64_t port = 0; port < 100; port++) {
		struct day_port day;

		day_begin(&day, port);
		for (unsigned chunk = 0; chunk < 10; chunk++) {
			for (unsigned i = 0; i < sweeps; i++) {
				struct delta delta;

				day_next(&day, 1000000, &delta);
				samples[i] = (struct codec_sample){ .there = true, .elapsed_us = delta.elapsed_us };
				memcpy(samples[i].value, delta.value, sizeof(samples[i].value));
			}
			bytes.len = 0;
			write_chunk(&bytes, samples, sweeps);
			assert_int_equal(read_back(false, bytes.data, bytes.len, back, sweeps), 0);
			assert_true(same_samples(samples, back, sweeps));
			total += bytes.len;
			count += sweeps;
		}
	}
	bytes_done(&bytes);
	return (double)total / (double)count;
}

TEST(a_noisy_day_needs_at_most_a_byte_more_than_its_entropy)
{
	double bytes = measure_day(120);

	print_message("# note: %.2f bytes per port-sample of a noisy day\n", bytes);
	assert_true(bytes < 8.9);
}

/* An idle port and an absent one. */
TEST(constant_counters_need_a_few_bytes)
{
	struct codec_sample samples[256] = { { .there = false } };
	struct bytes bytes = { 0 };

	write_chunk(&bytes, samples, 256);
	assert_in_range(bytes.len, 1, 40);
	for (unsigned i = 0; i < 256; i++)
		samples[i] = (struct codec_sample){ .there = true, .elapsed_us = 1000000 };
	bytes.len = 0;
	write_chunk(&bytes, samples, 256);
	assert_in_range(bytes.len, 1, 12);
	bytes_done(&bytes);
}
