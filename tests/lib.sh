# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
#
# lib.sh - TAP results for tests in shell (see tests/run-tests)
#
# Begin a test with:   . "${IBWIRE_SRCDIR:?}/tests/lib.sh"
# and end it with:     done_testing
#
# IBWIRE and IBWIRE_SIM are the programs under test. A test runs in an empty
# folder of its own.

tap_count=0
tap_failed=0

# pass NAME, fail NAME [WHY...] - print a result
pass() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# skip NAME WHY - a test that cannot run on this machine
skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# skip_all WHY - none of the tests can run; ends the script
skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

# can_open_terminal - whether script(1) can open a pseudo terminal; a chroot often has no /dev/pts
# shellcheck disable=SC2034 # a reason for skip and skip_all
no_terminal="no pseudo terminals (are script(1) and /dev/pts there?)"
can_open_terminal() {
	script -qec true /dev/null </dev/null >/dev/null 2>&1
}

# succeeds NAME COMMAND... - passes if the command succeeds; otherwise prints its output
succeeds() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1 </dev/null); then
		pass "$tap_name"
	else
		fail "$tap_name" "status $? from: $*" "$tap_output"
	fi
}

# equal NAME GOT WANTED - compare two texts
equal() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:" "$2" "wanted:" "$3"
	fi
}

# contains NAME TEXT WORDS - search for words in a text
contains() {
	case $2 in
	*"$3"*) pass "$1" ;;
	*) fail "$1" "\"$3\" is not in:" "$2" ;;
	esac
}

# note TEXT - printed by the runner also when all tests pass
note() {
	printf '%s\n' "$1" | sed 's/^/# note: /'
}

done_testing() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}
