/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ber.h - bit error rates of a link from what its receiving port counted
 *
 * Three rates, named as NVIDIA's tools name them:
 *
 * raw        before error correction: what the cable and the lanes do
 * effective  after FEC: what FEC could not correct
 * symbol     after all that the physical layer can do (FEC, and on newer links the
 *            retransmission below the link layer): what reaches packets
 *
 * Each is errors over bits in the same time, and the bits are all that the link
 * carried: between packets it sends idle symbols, which are watched like data. So
 * the bits are elapsed time times rate, whatever the traffic. The rate is the data
 * rate, as it is behind the codes; on the lanes there are up to 6 % more, which
 * is far below what an error rate can tell.
 *
 * Source: NVIDIA, ibdiagnet user manual 2.13 to 2.26, "Bit Error Rate (BER)": bit
 * errors divided by the bits transferred in the studied time; symbol errors (HDR,
 * NDR) or effective ones (EDR) are what the application sees. NVIDIA, UFM user
 * manual 6.17, "Low-Frequency (Secondary) Telemetry Fields": Raw is before FEC,
 * Effective behind FEC, Symbol behind FEC and physical-layer retransmission.
 *
 * NVIDIA's tools count wrong bits with registers of the device. Over MADs there are
 * symbols and blocks, each of which holds at least one wrong bit: what is given
 * here is a lower bound, exact where errors come one at a time.
 */
#ifndef IBWIRE_ANALYSIS_BER_H
#define IBWIRE_ANALYSIS_BER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/delta.h"

/*
 * With no error seen the rate is 0 out of `bits`: what can be said is "below
 * 1 / bits" (ber_below()).
 */
struct ber {
	double rate;   /* errors / bits; NAN: not known */
	double bits;   /* watched; 0: not known */
	bool at_least; /* a counter was reset, or is full: it was this much or more */
};

/* ber_below - the rate that no error in so many bits stays below; NAN where an error was seen or nothing is known. */
double ber_below(const struct ber *ber);

/*
 * ber_symbol - from SymbolErrorCounter. Not known where the counter was full all
 * the time. On EDR and slower links without FEC it is what the lanes do.
 * @link_bits_per_s: port_rate_bits_per_s(); 0: not known
 */
struct ber ber_symbol(const struct delta *delta, uint64_t link_bits_per_s);

/*
 * ber_effective, ber_raw - from PortExtendedSpeeds: uncorrected blocks; corrected
 * symbols where the code is Reed-Solomon, else corrected blocks. Uncorrected blocks
 * count as raw errors too.
 * @delta:  of DETAIL_EXTENDED_SPEEDS
 */
struct ber ber_effective(const struct detail_delta *delta, uint64_t link_bits_per_s);
struct ber ber_raw(const struct detail_delta *delta, uint64_t link_bits_per_s);

#endif
