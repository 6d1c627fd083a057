#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tests/run-tests detects every way in which a program can fail.
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
equal "passed tests are counted" "$last $status" "2 passed, 0 failed 0"

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
equal "a failed test is counted" "$last $status" "3 passed, 1 failed 1"
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
equal "a hanging program is ended" "$last $status" "0 passed, 1 failed 1"
contains "a hanging program is reported" "$output" "timed out after 1 s"

program slow_by_itself <<'END'
#!/bin/sh
# timeout: 1
echo 1..1
sleep 30
END
run ./slow_by_itself
contains "a script's own time limit is used" "$output" "timed out after 1 s"

program untidy <<'END'
#!/bin/sh
echo 1..1
setsid sleep 77 >/dev/null 2>&1 </dev/null &
# While it is becoming another program its environment is empty.
while [ "$(tr '\0' ' ' <"/proc/$!/cmdline")" != "sleep 77 " ]; do sleep 0.05; done
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
equal "a missing program is a failure" "$last $status" "0 passed, 1 failed 1"
run
equal "an empty list of programs is a failure" "$last $status" "0 passed, 1 failed 1"

# Those whose names end with one of $MEETS.
program meets_x <<'END'
#!/bin/sh
# timeout: 20
here=$(dirname "$0")
tries=0
# wait_for WORD - a file of it from each
wait_for() {
	for each in $MEETS; do
		while [ ! -e "$here/$1$each" ] && [ $tries -lt 100 ]; do
			tries=$((tries + 1))
			sleep 0.1
		done
	done
}
touch "$here/at${0##*_}"
wait_for at
# It stays until the others have seen it too.
touch "$here/met${0##*_}"
wait_for met
rm "$here/at${0##*_}"
[ $tries -lt 100 ] && echo "ok 1 - met" || echo "not ok 1 - met"
echo 1..1
END
cp meets_x meets_y
sed 's/^# timeout.*/&\n# waits: for the others/' meets_x >waits_a
chmod +x waits_a
for each in b c d; do cp waits_a waits_$each; done
program no_more_than_four <<'END'
#!/bin/sh
# waits: to be counted
here=$(dirname "$0")
touch "$here/on.$$"
sleep 0.3
[ "$(ls "$here" | grep -c '^on\.')" -le 4 ] && echo "ok 1 - no more" || echo "not ok 1 - no more"
rm "$here/on.$$"
echo 1..1
END
program by_itself <<'END'
#!/bin/sh
# alone: it looks for the others
echo 1..1
sleep 0.2
[ -z "$(ls "$(dirname "$0")" | grep '^at')" ] && echo "ok 1 - alone" || echo "not ok 1 - alone"
END
program single <<'END'
#!/bin/sh
echo 1..1
mkdir "$0.busy" && echo "ok 1 - single" || echo "not ok 1 - single"
sleep 0.2
rmdir "$0.busy"
END
run ./single ./single ./single
equal "programs run one at a time by default" "$last $status" "3 passed, 0 failed 0"
if [ "$(nproc)" -gt 1 ]; then
	export MEETS="x y"
	run --jobs 2 ./by_itself ./good ./meets_x ./bad ./meets_y ./by_itself
	equal "parallel programs are all counted" "$last $status" "7 passed, 1 failed 1"
	contains "a failure among parallel programs is shown in full" "$output" "    # 3 is not 4"
	order=$(printf '%s\n' "$output" | sed -n 's/^\(ok  \|FAIL\) \([a-z_]*\): [0-9]* passed.*/\2/p')
	equal "programs with the longest time limit start first" "$(printf '%s\n' "$order" | head -n 2 | sort | tr '\n' ' ')" "bad good "
	equal "programs marked alone run last" "$(printf '%s\n' "$order" | tail -n 2 | tr '\n' ' ')" "by_itself by_itself "
	MEETS="a b c d"
	run --jobs 2 ./waits_a ./waits_b ./waits_c ./waits_d
	equal "two waiting programs count as one" "$last $status" "4 passed, 0 failed 0"
	run --jobs 2 ./no_more_than_four ./no_more_than_four ./no_more_than_four ./no_more_than_four ./no_more_than_four ./no_more_than_four
	equal "not more than two" "$last $status" "6 passed, 0 failed 0"
	rm met?
	MEETS="a b x"
	run --jobs 2 ./meets_x ./waits_a ./waits_b
	equal "also in parallel with another program" "$last $status" "3 passed, 0 failed 0"
else
	skip "parallel programs are all counted" "only one processor"
fi
run --jobs 0 ./good
equal "--jobs 0 is a usage error" "$status" 64
"$runner" --jobs 2 ./slow ./slow >interrupted 2>&1 &
most=2
[ "$(nproc)" -gt 1 ] || most=1
tries=0
while [ "$(pgrep -fc "^/bin/sh $PWD/slow\$")" -lt $most ] && [ $tries -lt 200 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
kill -TERM $!
wait $!
equal "an interrupted runner ends its programs" "$? $(pgrep -fc "$PWD/slow\$")" "1 0"

mkdir -p tree/tests tree/folder
cp "$runner" tree/tests/
for mark in plain long sanitized; do
	program tree/folder/${mark}_test.sh <<END
#!/bin/sh
# $mark: REASON
echo 1..1
echo ok 1 - fine
END
done
# scripts OPTION - the scripts that it selects
scripts() {
	tree/tests/run-tests "$1" 2>&1 | sed -n 's|^ok   folder/\(.*\)_test.sh:.*|\1|p' | tr '\n' ' '
}
equal "--scripts excludes long scripts" "$(scripts --scripts)" "plain sanitized "
equal "--long-scripts selects only long scripts" "$(scripts --long-scripts)" "long "
equal "--sanitized-scripts selects by mark" "$(scripts --sanitized-scripts)" "sanitized "

run --tally tally --label asan ./good ./bad
equal "the tally has the counts" "$(sed -n 's/^count //p' tally)" "3 1 0"
contains "the tally names failed tests" "$(cat tally)" "failed asan: bad: it_adds_up"
contains "and has their output" "$(cat tally)" "shown     not ok 2 - it_adds_up"
equal "but no output of passed programs" "$(grep -c "asan: good" tally)" 0
done_testing
