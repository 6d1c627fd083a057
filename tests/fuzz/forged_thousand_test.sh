#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A thousand forged databases, as released: the unit tests take 200 of them with sanitizers.
exec "${IBWIRE_BUILD:?}/tests/fuzz/forged_test"
