/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ber.h - bit error rates of a link from the counters of its receiving port
 *
 * Three rates, with the names of NVIDIA's tools:
 *
 * raw        before error correction: errors of the cable and the lanes
 * effective  after FEC: errors that FEC could not correct
 * symbol     after all error correction of the physical layer (FEC, and on newer links
 *            physical-layer retransmission): errors that reach packets
 *
 * Each is errors divided by bits in the same time. Idle symbols between packets are checked like
 * data, so the number of bits is elapsed time times rate, for any traffic. The rate is the data
 * rate after decoding; the rate on the lanes is up to 6 % higher, far below the precision of an
 * error rate.
 *
 * Source: NVIDIA, ibdiagnet user manual 2.13 to 2.26, "Bit Error Rate (BER)": bit errors divided by
 * the bits transferred in the studied time; symbol errors (HDR, NDR) or effective ones (EDR) are
 * what the application sees. NVIDIA, UFM user manual 6.17, "Low-Frequency (Secondary) Telemetry
 * Fields": Raw is before FEC, Effective behind FEC, Symbol behind FEC and physical-layer
 * retransmission.
 *
 * NVIDIA's tools count bit errors with device registers. MADs report symbols, each with at least one
 * wrong bit, and uncorrectable blocks, each with at least fec_block_errors() wrong symbols: the rates
 * here are lower bounds.
 */
#ifndef IBWIRE_ANALYSIS_BER_H
#define IBWIRE_ANALYSIS_BER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/* Without errors the rate is 0 of `bits`; ber_below() gives the upper bound 1 / bits. */
struct ber {
	double rate;   /* errors / bits; NAN: unknown */
	double bits;   /* observed bits; 0: unknown */
	bool at_least; /* a lower bound: a counter was reset or saturated */
};

/*
 * ber_below - upper bound of the rate after no error; NAN: there were errors, or nothing is known.
 */
double ber_below(const struct ber *ber);

/*
 * ber_symbol - from SymbolErrorCounter; unknown if it was saturated all the time
 * On EDR and slower links without FEC these are errors of the lanes.
 * @link_bits_per_s: port_rate_bits_per_s(); 0: unknown
 */
struct ber ber_symbol(const struct delta *delta, uint64_t link_bits_per_s);

/*
 * ber_effective, ber_raw - from PortExtendedSpeeds: uncorrected blocks; corrected symbols with a
 * Reed-Solomon code, else corrected blocks. Uncorrected blocks count as raw errors, too.
 * @delta:   of DETAIL_EXTENDED_SPEEDS
 * @layout:  of the reading at its end
 */
struct ber ber_effective(const struct detail_delta *delta, enum fec_layout layout, uint64_t link_bits_per_s);
struct ber ber_raw(const struct detail_delta *delta, enum fec_layout layout, uint64_t link_bits_per_s);

#endif
