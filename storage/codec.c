/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof(*bytes));
}

static int write_all(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	size_t more = 1 + count * sizeof(*samples);

	if (out->len + more > out->capacity) {
		uint8_t *bigger = realloc(out->data, 2 * (out->len + more));

		if (!bigger)
			return ERR_NOMEM;
		out->data = bigger;
		out->capacity = 2 * (out->len + more);
	}
	out->data[out->len] = 0;
	memcpy(out->data + out->len + 1, samples, more - 1);
	out->len += more;
	return 0;
}

static int read_all(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	if (len != 1 + count * sizeof(*samples) || data[0])
		return ERR_IO;
	memcpy(samples, data + 1, len - 1);
	return 0;
}

int codec_write_block(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_all(out, samples, count);
}

int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_all(out, samples, count);
}

int codec_read_block(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return read_all(data, len, samples, count);
}

int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return read_all(data, len, samples, count);
}
