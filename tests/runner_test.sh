#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The runner itself: does it see every way in which a program can fail?
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

runner=$IBWIRE_SRCDIR/tests/run-tests

# program NAME: an executable script from standard input
program() {
	cat >"$1"
	chmod +x "$1"
}

# run PROGRAM...: fills $output, $last and $status
run() {
	output=$("$runner" "$@" 2>&1)
	status=$?
	last=$(printf '%s\n' "$output" | tail -n 1)
}

program good <<'END'
#!/bin/sh
echo 1..2
echo ok 1 - first
echo ok 2 - second
END
run ./good
equal "two that pass are counted" "$last $status" "2 passed, 0 failed 0"

program bad <<'END'
#!/bin/sh
echo 1..2
echo ok 1 - first
echo "not ok 2 - it_adds_up"
echo "# 3 is not 4"
echo "a word on stderr" >&2
exit 1
END
run ./good ./bad
equal "one that fails is counted" "$last $status" "3 passed, 1 failed 1"
contains "a failure is shown in full" "$output" "# 3 is not 4"
contains "a failure's standard error is shown" "$output" "a word on stderr"
contains "a failure is named at the end" "$output" "  bad: it_adds_up"

program crash <<'END'
#!/bin/sh
echo 1..1
echo ok 1 - before
kill -SEGV $$
END
run ./crash
equal "a crash is a failure" "$last $status" "1 passed, 1 failed 1"
contains "a crash names its signal" "$output" "ended by signal 11"

program silent <<'END'
#!/bin/sh
exit 0
END
run ./silent
equal "no plan is a failure" "$last $status" "0 passed, 1 failed 1"

program short <<'END'
#!/bin/sh
echo 1..3
echo ok 1 - only
END
run ./short
equal "fewer results than planned is a failure" "$last $status" "1 passed, 1 failed 1"

program liar <<'END'
#!/bin/sh
echo 1..1
echo ok 1 - fine
exit 3
END
run ./liar
equal "an exit status without a failed test is a failure" "$last $status" "1 passed, 1 failed 1"

program slow <<'END'
#!/bin/sh
echo 1..1
sleep 30
END
run --timeout 1 ./slow
equal "one that hangs is ended" "$last $status" "0 passed, 1 failed 1"
contains "one that hangs is said to" "$output" "timed out after 1 s"

program slow_by_itself <<'END'
#!/bin/sh
# timeout: 1
echo 1..1
sleep 30
END
run ./slow_by_itself
contains "a script's own limit holds" "$output" "timed out after 1 s"

program untidy <<'END'
#!/bin/sh
echo 1..1
setsid sleep 77 >/dev/null 2>&1 </dev/null &
echo ok 1 - fine
END
run ./untidy
equal "a process left behind is a failure" "$last $status" "1 passed, 1 failed 1"
contains "a process left behind is named" "$output" "sleep 77"

program cmocka_skip <<'END'
#!/bin/sh
echo 1..2
echo "# no such device here"
echo "not ok 1 # SKIP reads_the_device"
echo "ok 2 - other"
exit 1
END
run ./cmocka_skip
equal "cmocka's skip is a skip" "$last $status" "1 passed, 0 failed, 1 skipped 0"
contains "cmocka's skip is listed with its reason" "$output" "no such device here"

program tap_skip <<'END'
#!/bin/sh
echo "ok 1 - screen # SKIP no tmux"
echo 1..1
END
program skip_everything <<'END'
#!/bin/sh
echo "1..0 # SKIP no shared data"
END
run ./tap_skip ./skip_everything
equal "skips are counted" "$last $status" "0 passed, 0 failed, 2 skipped 0"
contains "a skip's reason is listed" "$output" "screen	no tmux"
contains "a skipped program's reason is listed" "$output" "no shared data"

run ./nothing_of_this_name
equal "a program that is not there is a failure" "$last $status" "0 passed, 1 failed 1"
run
equal "no program at all is a failure" "$last $status" "0 passed, 1 failed 1"

run --tally tally --label asan ./good ./bad
equal "the tally has the counts" "$(sed -n 's/^count //p' tally)" "3 1 0"
contains "the tally names what failed" "$(cat tally)" "failed asan: bad: it_adds_up"
done_testing
