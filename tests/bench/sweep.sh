#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# How long does a sweep of 4,096 port ends take (1,024 HCAs, 48 switches), beside
# ibqueryerrors on the same simulated fabric in the same run?
#
# ibqueryerrors discovers the fabric in each run; ibwire does when something
# changed. So both are printed: the sweep by itself, which is what is repeated, and
# the whole of "collect --once", with discovery and commit. -o 128 is
# ibqueryerrors with more SMPs in flight than its default. By default ibwire sends
# at most 20,000 MADs per second, to be a good guest: 8,289 of them take 0.41 s. What
# it can do without that limit is printed as well.
set -eu
: "${IBWIRE:?}" "${IBWIRE_SIM:?}"
PATH=$PATH:/usr/sbin
runs=${RUNS:-5}

if [ "${1:-}" != inside ]; then
	work=$(mktemp -d "${TMPDIR:-/tmp}/ibwire-bench.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
	cd "$work"
	IBWIRE_DB=$work/fabric.db
	export IBWIRE_DB
	"$IBWIRE_SIM" run --gen "rail --units 4 --hosts 32 --rails 8 --spines 16 --links 2 --management 0" -- "$self" inside
	exit
fi

# milliseconds COMMAND...: how long it takes, on stdout; what it says goes to a file
milliseconds() {
	began=$(date +%s%N)
	"$@" >said 2>said.err || { cat said.err >&2 && exit 1; }
	echo $((($(date +%s%N) - began) / 1000000))
}

# middle: the median of the numbers on standard input
middle() {
	sort -n | awk '{ number[NR] = $1 } END { print number[int((NR + 1) / 2)] }'
}

# field NAME: a number of the JSON object that collect prints
field() {
	tr ',{}' '\n' <said | sed -n "s/^ *\"$1\": *\([0-9]*\).*/\1/p"
}

"$IBWIRE" collect --once >/dev/null
: >queryerrors
: >queryerrors_128
: >whole
: >free
: >sweep
: >discovery
: >commit
for _ in $(seq "$runs"); do
	milliseconds ibqueryerrors --data --details --report-port --switch --ca >>queryerrors
	milliseconds ibqueryerrors --data --details --report-port --switch --ca -o 128 >>queryerrors_128
	milliseconds "$IBWIRE" collect --once --format json >>whole
	field sweep_us >>sweep
	field discovery_us >>discovery
	field commit_us >>commit
	mads="$(field mads_sent) MADs to $(field ports_answered) ports"
	"$IBWIRE" collect --once --format json --max-mads-per-second 0 --window 128 >said
	field sweep_us >>free
done
echo "4,096 port ends, median of $runs runs:"
printf '  %-58s %8d ms\n' "ibqueryerrors --data --details --report-port --switch --ca" "$(middle <queryerrors)"
printf '  %-58s %8d ms\n' "the same with -o 128" "$(middle <queryerrors_128)"
printf '  %-58s %8d ms\n' "ibwire collect --once, all of it" "$(middle <whole)"
printf '  %-58s %8d ms\n' "  of it discovery" $(($(middle <discovery) / 1000))
printf '  %-58s %8d ms\n' "  of it the sweep ($mads)" $(($(middle <sweep) / 1000))
printf '  %-58s %8d ms\n' "  of it the commit" $(($(middle <commit) / 1000))
printf '  %-58s %8d ms\n' "a sweep with --max-mads-per-second 0 --window 128" $(($(middle <free) / 1000))
