#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# quickstart with stubs: a configure whose Makefile writes an ibwire and an ibwire-sim that print their arguments.
# tests/integration tests the real programs.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

mkdir tree
cp "$IBWIRE_SRCDIR/quickstart" tree/
cat >tree/configure <<'END'
#!/bin/sh
cat >Makefile <<'MAKE'
all:
	cp ../stub-ibwire ibwire
	cp ../stub-ibwire-sim ibwire-sim
MAKE
END
cat >tree/stub-ibwire <<'END'
#!/bin/sh
case "$*" in "collect --once"*) exec >&2 ;; esac
echo "ibwire $*${IBWIRE_DB:+ db}"
[ -z "$IBWIRE_DB" ] || echo "$IBWIRE_DB" >"$TMPDIR/db"
# The screen stays until the faults are played.
[ -z "$STUB_WAITS" ] || timeout 60 sh -c 'until [ -s "$TMPDIR/play" ]; do /bin/sleep 0.1; done'
END
cat >tree/stub-ibwire-sim <<'END'
#!/bin/sh
echo "ibwire-sim $*" | sed 's/ -- .*/ --/'
[ "$1" = play ] && echo "$*" >"$TMPDIR/play" && exit
case "$*" in *"single host"*--traffic*) exit 64 ;; esac
export IBWIRE_SIM_DIR=$TMPDIR
while [ "$1" != -- ]; do shift; done
shift
if [ -n "$STUB_HANGS" ]; then
	echo $$ >"$TMPDIR/pid"
	exec tail -f /dev/null
fi
"$@"
END
chmod +x tree/configure tree/stub-ibwire tree/stub-ibwire-sim

# The stubs make no sweeps to wait for.
mkdir bin
ln -s /bin/true bin/sleep
PATH=$PWD/bin:$PATH

# A host's /sys with one port: state, link layer
fake_sysfs() {
	rm -rf sys
	mkdir -p sys/class/infiniband/mlx5_0/ports/1
	echo "$1" >sys/class/infiniband/mlx5_0/ports/1/state
	echo "$2" >sys/class/infiniband/mlx5_0/ports/1/link_layer
}
IBWIRE_SYSFS=$PWD/sys
export IBWIRE_SYSFS

run() {
	output=$(./tree/quickstart "$@" 2>&1 </dev/null)
	status=$?
}

run help
contains "help shows the usage" "$output" "usage: ./quickstart"
equal "help is no error" "$status" 0
run --nett file
equal "an unknown argument is wrong usage" "$status" 64
run --net nowhere.net
equal "a missing net file is wrong usage" "$status" 64
contains "a missing net file is named" "$output" "nowhere.net"
run --unit
equal "--unit without test is wrong usage" "$status" 64

mkdir sys
run
equal "a host without InfiniBand gets a simulation" "$status" 0
contains "a simulation is reported" "$output" "simulating a GPU cluster"
contains "the simulation has 8 rails" "$output" "ibwire-sim run --name demo --gen rail"
contains "without a terminal there are sweeps" "$output" "ibwire collect --once db"
contains "and then the findings" "$output" "ibwire health db"
contains "and the ten busiest links" "$output" "ibwire links --sort load --top 10 db"
contains "and what to type next" "$output" "ibwire report NODE/PORT"
case $output in
*"ibwire ports db"*) fail "and no table of all ports" "$output" ;;
*) pass "and no table of all ports" ;;
esac
equal "its working directory is removed" "$(ls -d "$TMPDIR"/ibwire-quickstart.* 2>/dev/null; ls "$(dirname "$(cat db)")" 2>/dev/null)" ""

echo 'Ca 1 "H-0"' >"a dump.txt"
run --net "a dump.txt"
contains "a dump with a space in its name is simulated" "$output" "ibwire-sim run --net $PWD/a dump.txt --traffic ring --"
cp "a dump.txt" "single host.txt"
run --net "single host.txt"
contains "a fabric without a ring has no traffic" "$output" "ibwire-sim run --net $PWD/single host.txt --pma"
contains "its page is printed" "$output" "ibwire links --sort load --top 10 db"

fake_sysfs "4: ACTIVE" InfiniBand
run
contains "a real fabric: the cost is shown first" "$output" "ibwire collect --estimate"
case $output in
*"--once"* | *"ibwire top"*) fail "a real fabric is not polled without --collect" "$output" ;;
*) pass "a real fabric is not polled without --collect" ;;
esac
run --yes
contains "--yes polls it" "$output" "ibwire collect --once"
case $output in
*ibwire-sim*) fail "a real fabric is not simulated" "$output" ;;
*) pass "a real fabric is not simulated" ;;
esac
run --sim
contains "--sim simulates despite a real fabric" "$output" "ibwire-sim run --name demo --gen rail"
fake_sysfs "1: DOWN" InfiniBand
run
contains "a port that is down is no fabric" "$output" "no active InfiniBand port"
fake_sysfs "4: ACTIVE" Ethernet
run
contains "an Ethernet port is no fabric" "$output" "no active InfiniBand port"

# In a terminal (script(1) makes one) the screen is started.
if can_open_terminal; then
	output=$(STUB_WAITS=yes script -qec "./tree/quickstart --sim" /dev/null </dev/null 2>&1)
	contains "in a terminal it is the screen" "$output" "ibwire top --settings $PWD/tree/sim/demo.conf db"
	equal "and faults are played" "$(cat play)" "play --loop $PWD/tree/sim/demo.scenario"
	contains "the last line names the simulation" "$(cat status)" "SIMULATED: no faults"
	rm -f play
	script -qec "./tree/quickstart --quiet-fabric" /dev/null </dev/null >/dev/null 2>&1
	equal "--quiet-fabric plays no faults" "$(cat play 2>/dev/null)" ""
else
	skip "in a terminal it is the screen" "$no_terminal"
fi

STUB_HANGS=yes ./tree/quickstart --sim >/dev/null 2>&1 </dev/null &
quickstart=$!
tries=0
while [ ! -s pid ] && [ $tries -lt 100 ]; do
	/bin/sleep 0.1
	tries=$((tries + 1))
done
kill -TERM $quickstart
wait $quickstart
equal "SIGTERM ends quickstart" "$?" 143
if kill -0 "$(cat pid)" 2>/dev/null; then
	fail "and what it had started"
else
	pass "and what it had started"
fi
equal "and removes its working directory" "$(ls -d "$TMPDIR"/ibwire-quickstart.* 2>/dev/null)" ""

# The tests: one result for each build, the counts of each run, and one summary.
printf '#!/bin/sh\necho 1000\n' >bin/id # nothing is installed
printf '#!/bin/sh\n' >bin/clang
chmod +x bin/id bin/clang
cat >>tree/configure <<'END'
cat >>Makefile <<'MAKE'
check-programs script-programs check-clang: all
check-scripts:
	echo "count 3 0 0" >>$$IBWIRE_TEST_TALLY
check-short:
	test "$$IBWIRE_TEST_SHORT" = yes
	printf 'count 2 1 1\nfailed asan: a test\nskipped a test\treason\n' >>$$IBWIRE_TEST_TALLY
check-unit:
	echo "count 5 0 0" >>$$IBWIRE_TEST_TALLY
MAKE
END
rm -rf tree/build
run test
equal "test counts builds and all results" "$(printf '%s\n' "$output" | tail -n 1) $status" "8 passed, 1 failed, 1 skipped 1"
contains "test names failures" "$output" "FAILED: asan: a test"
contains "test lists skips with their reasons" "$output" "skipped: a test	reason"
run test --unit
equal "test --unit runs only the unit tests" "$(printf '%s\n' "$output" | tail -n 1) $status" "6 passed, 0 failed 0"

rm tree/stub-ibwire
rm -rf tree/build
run --sim
equal "a failed build exits with 69" "$status" 69
contains "a failed build shows the messages of make" "$output" "Error"
done_testing
