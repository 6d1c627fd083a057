# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# fish completion of ibwire-sim, which is in the same file as that of ibwire
source (dirname (status filename))/ibwire.fish
