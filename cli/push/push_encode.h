/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * push_encode.h - samples in the format of Prometheus remote write 1.0
 *
 * Source: "Prometheus Remote-Write 1.0 specification", section Protocol: a WriteRequest in protocol
 * buffers, compressed by snappy in its block format. The four messages:
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }
 *
 * They are written by hand: labels are encoded once per port and copied into each of its series. The
 * trees of structs that protobuf-c wants would be built for millions of samples per sweep, and its
 * compiler would be one more dependency of the build.
 */
#ifndef IBWIRE_CLI_PUSH_ENCODE_H
#define IBWIRE_CLI_PUSH_ENCODE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct text;

/* Labels that are added to every series: name="value",... as metrics_label() writes it. */
#define PUSH_LABELS_MAX 32

/*
 * push_labels_encode - append labels as messages, sorted by name
 * @labels:    name="value",... as metrics_label() writes it, at most PUSH_LABELS_MAX with
 * @external:  the same, of --label; a label of @labels replaces one of the same name
 */
void push_labels_encode(const char *labels, const char *external, struct text *ret);

/* push_label_append - append one label. */
void push_label_append(struct text *ret, const char *name, size_t name_len, const char *value, size_t value_len);

/*
 * push_series_append - append one series with one sample to a WriteRequest
 * @name, @labels:  encoded labels: __name__, and those that sort after it
 * @wall_ms:        milliseconds since 1970
 */
struct push_bytes {
	const char *bytes;
	size_t len;
};
void push_series_append(struct text *ret, struct push_bytes name, struct push_bytes labels, double value,
			int64_t wall_ms);

#endif
