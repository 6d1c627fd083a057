/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ber.h - bit error rates of a link from the counters of its receiving port
 *
 * raw        before error correction: errors of the cable and the lanes
 * effective  after FEC: errors that FEC could not correct
 * symbol     after all error correction of the physical layer: errors that reach packets
 *
 * Each is errors divided by bits in the same time: elapsed time times data rate, because idle
 * symbols are checked like data. MADs report symbols, each with at least one wrong bit, and
 * uncorrectable blocks, each with at least fec_block_errors() wrong symbols, so the rates are lower
 * bounds. Source: NVIDIA, ibdiagnet user manual 2.13 to 2.26, "Bit Error Rate (BER)"; UFM user
 * manual 6.17, "Low-Frequency (Secondary) Telemetry Fields".
 */
#ifndef IBWIRE_ANALYSIS_BER_H
#define IBWIRE_ANALYSIS_BER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/* Without any error in n bits the rate is below 3 / n with 95 % confidence, since exp(-3) = 0.05 ("rule of three"). */
#define BER_BELOW_ERRORS 3.0

/* Without errors the rate is 0 of `bits`; ber_below() gives the upper bound. */
struct ber {
	double rate;   /* errors / bits; NAN: unknown */
	double bits;   /* observed bits; 0: unknown */
	bool at_least; /* a lower bound: a counter was reset or saturated */
};

/*
 * ber_below - upper bound of the rate after no error, 95 %; NAN: there were errors, or nothing is known.
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

/*
 * ber_counts_fec - is FEC known to be active?
 * A link without FEC also has block counters per lane, which stay 0: they are unknown until one counts.
 * @reading:  of DETAIL_EXTENDED_SPEEDS
 * @sum:      of the changes up to it, since the counter may have been reset
 */
bool ber_counts_fec(const struct detail_reading *reading, const struct detail_delta *sum);

#endif
