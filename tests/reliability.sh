#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# reliability.sh - run the long forms of the tests of reliability and write docs/reliability.md
#
# usage: reliability.sh BUILD-DIR [PART...]
#
# Runs the parts of the table below that have no results yet, or the given ones again. The results of
# a part are in BUILD-DIR/reliability/PART.lines and its output in PART.log, so the run can be
# interrupted: the next one continues with the first part that is not complete. For a complete run,
# remove the folder first. Then the tables of docs/reliability.md are replaced.
#
# A program prints a line for each class of faults if IBWIRE_RELIABILITY is set
# (reliability_report() of base/test_cases.h), with tabs between the fields:
#     RELIABILITY  class  cases  what was checked  result
# Exit status: 0 if no part failed, 1 otherwise.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=$(cd "${1:?usage: reliability.sh BUILD-DIR [PART...]}" && pwd) || exit 1
shift
results=$build/reliability
mkdir -p "$results" || exit 1
export IBWIRE_RELIABILITY=1 IBWIRE_SRCDIR="$top"

# PART BUILD PROGRAM [VARIABLE=VALUE...] [| CLASS | CHECKED]
# BUILD is "release" (BUILD-DIR) or "asan" (build-asan/); PROGRAM a unit test, a script of the source
# tree, or make:TARGET. CLASS and CHECKED are a line for programs that print none for their tests.
parts='
power       release storage/file/power_test IBWIRE_POWER_POINTS=10000
kills       release storage/read/roundtrip_test IBWIRE_LONG=1
migration   release storage/file/migrate_test
upgrade     release tests/integration/upgrade_test.py
forged      asan    tests/fuzz/forged_test FORGED_VARIANTS=20000
codec       release storage/codec/codec_test IBWIRE_CODEC_SAMPLES=10000000
decoders    asan    make:fuzz FUZZ_FORGED=0 FUZZ_SECONDS=600 | Random bytes in the decoders of samples and NCCL logs | No crash, no sanitizer report (libFuzzer)
valgrind    release tests/valgrind.py
threads     release make:check-threads | Data races | Unit tests of threads under ThreadSanitizer: no report
stop        asan    tests/integration/stop_test.py | Signals and a blocked device | The collector exits within its time limit with status 0 or 69, stored sweeps are kept
disk        release tests/integration/disk_test.py | Full, failing and read-only disk | One error line, polling continues, the next stored sweep is exact
devices     asan    tests/integration/no_fabric_test.py | Missing, closed or broken devices | One line with the reason and the remedy, exit status 69
http        asan    tests/integration/metrics_test.py IBWIRE_ATTACK_LONG=1 IBWIRE_TEST_SHORT=yes ASAN_OPTIONS=quarantine_size_mb=16 | HTTP: slow, stuck, guessing and invalid clients, 2,100 at a time, AddressSanitizer | Every scrape of another client succeeds, at most one in ten after a repetition, memory is bounded, SIGTERM ends the server within 3 s, no report
http-plain  release tests/integration/metrics_test.py IBWIRE_ATTACK_LONG=1 | HTTP: the same with 10,000 connections | The same; memory below 64 MB
pages       asan    tests/integration/payload_pages_test.py | Pages with payloads: 357 pages and paths with hostile names and query strings, AddressSanitizer | No markup, header, metric or control character is from a payload
hosts       asan    tests/fuzz/mutated_hosts_test.py MUTATIONS=2000 IBWIRE_TEST_SHORT=yes
files       asan    tests/fuzz/mutated_files_test.py MUTATIONS=3000 IBWIRE_TEST_SHORT=yes
locks       release tests/integration/locks_test.py IBWIRE_ATTACK_LONG=1
lease       release tests/integration/lease_test.py IBWIRE_ATTACK_LONG=1
jobs        release tests/integration/jobs_attack_test.py IBWIRE_ATTACK_LONG=1
receivers   asan    tests/integration/push_test.py IBWIRE_ATTACK_LONG=1 IBWIRE_TEST_SHORT=yes | Receivers of remote write: 24 that answer nonsense, slowly or without end, AddressSanitizer | Every sample arrives once, unchanged; memory is bounded, SIGTERM ends push within 3 s
receivers-plain release tests/integration/push_test.py IBWIRE_ATTACK_LONG=1 | Receivers of remote write: the same | The same; memory below 64 MB
kernel      release tests/kernel/run | MAD stack of a real kernel (qemu) | Agreement with infiniband-diags, removal of the device
coverage    release make:coverage
faults-create      release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=creation
faults-store       release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=ingest
faults-compact-1   release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=compaction IBWIRE_FAULT_PARTS=2 IBWIRE_FAULT_PART=0
faults-compact-2   release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=compaction IBWIRE_FAULT_PARTS=2 IBWIRE_FAULT_PART=1
faults-snapshot    release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=snapshots
faults-migrate     release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=migration
faults-collect-1   release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=collector IBWIRE_FAULT_PARTS=2 IBWIRE_FAULT_PART=0
faults-collect-2   release tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_ALL=1 IBWIRE_FAULT_CASE=collector IBWIRE_FAULT_PARTS=2 IBWIRE_FAULT_PART=1
faults-1    asan    tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_PARTS=4 IBWIRE_FAULT_PART=0
faults-2    asan    tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_PARTS=4 IBWIRE_FAULT_PART=1
faults-3    asan    tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_PARTS=4 IBWIRE_FAULT_PART=2
faults-4    asan    tests/fault/fault_test IBWIRE_FAULT_POINTS=0 IBWIRE_FAULT_PARTS=4 IBWIRE_FAULT_PART=3
hostile-1   release tests/world/hostile_test IBWIRE_HOSTILE_SWEEPS=250000 IBWIRE_WEEK_SWEEPS=0 IBWIRE_HOSTILE_SEED=101
hostile-2   release tests/world/hostile_test IBWIRE_HOSTILE_SWEEPS=250000 IBWIRE_WEEK_SWEEPS=0 IBWIRE_HOSTILE_SEED=102
hostile-3   release tests/world/hostile_test IBWIRE_HOSTILE_SWEEPS=250000 IBWIRE_WEEK_SWEEPS=0 IBWIRE_HOSTILE_SEED=103
hostile-4   release tests/world/hostile_test IBWIRE_HOSTILE_SWEEPS=250000 IBWIRE_WEEK_SWEEPS=0 IBWIRE_HOSTILE_SEED=104
week        release tests/world/hostile_test IBWIRE_HOSTILE_SWEEPS=0 IBWIRE_WEEK_SWEEPS=70000
payload     asan    tests/world/payload_test IBWIRE_PAYLOAD_ROUNDS=100
'

message() {
	printf 'reliability: %s\n' "$*"
}

# folder_of BUILD - print the build folder; configure it if necessary
folder_of() {
	[ "$1" = asan ] || { echo "$build" && return; }
	mkdir -p "$top/build-asan" && cd "$top/build-asan" || return 1
	[ -f Makefile ] || "$top/configure" -q --enable-sanitizers CFLAGS=-O1 >&2 || return 1
	pwd
}

# execute FOLDER PROGRAM VARIABLE=VALUE... - build and run it; return its status, 77 if this tree has no such program
execute() {
	folder=$1 program=$2
	shift 2
	cd "$folder" || return 1
	case $program in
	make:*) make "${program#make:}" "$@" && return ;;
	tests/*.py | tests/*/run)
		[ -f "$top/$program" ] || return 77
		make -s all script-programs && program=$top/$program
		;;
	*)
		[ -f "$top/$program.c" ] || return 77
		make -s "$program"
		;;
	esac || return 1
	env IBWIRE="$folder/ibwire" IBWIRE_SIM="$folder/ibwire-sim" IBWIRE_BUILD="$folder" "$@" \
		"$top/tests/run-tests" --timeout 36000 "$program"
}

# cpu_seconds FILE - CPU time of the child processes, from the output of the shell command "times"
cpu_seconds() {
	awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); printf "%.0f", (t[1] + t[3]) * 60 + t[2] + t[4] }' "$1"
}

# run_part NAME CLASS CHECKED BUILD PROGRAM VARIABLE=VALUE... - write NAME.lines and NAME.log
run_part() {
	name=$1 class=$2 checked=$3 folder=$(folder_of "$4") || return 1
	shift 4
	message "$name: $*"
	log=$results/$name.log
	commit=$(git -C "$top" rev-parse --short=10 HEAD 2>/dev/null) || commit=unknown
	git -C "$top" diff --quiet HEAD -- . ':!docs/reliability.md' 2>/dev/null || commit="$commit, changed"
	(
		execute "$folder" "$@"
		status=$?
		times >"$results/$name.times"
		exit $status
	) >"$log" 2>&1 </dev/null
	status=$?
	[ $status -ne 77 ] || { message "$name: skipped: this tree has no $1" && return 0; }
	passed=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$log" | tail -n 1)
	if [ $status -eq 0 ] && [ "$passed" = 0 ]; then
		message "$name: skipped: $(sed -n '/^skipped:/{n;s/.*	//;p;q;}' "$log")"
		return 0
	fi
	inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | awk '{ sum += $1 } END { if (sum) print sum " inputs" }')
	# Coverage runs all unit tests; what they skip is not a part of its rows.
	skips=$([ "$name" = coverage ] || sed -n '/^skipped:$/,/^[^s ]/s/^  [^ ]*: \(.*\)	.*/\1/p' "$log" |
		paste -sd , | sed 's/,/, /g')
	{
		printf 'PART\t%s\t%s\t%s\t%s\t%s\n' "$name" "$*" "$(date -u +%Y-%m-%d)" "$commit" "$(cpu_seconds "$results/$name.times")"
		if [ $status -ne 0 ]; then
			printf 'RELIABILITY\t%s\t-\t%s\tFAILED\n' "${class:-$name}" "${checked:-$*}"
		elif ! grep '^RELIABILITY	' "$log" || [ -n "$class" ]; then
			printf 'RELIABILITY\t%s\t%s\t%s\t0 failures\n' "$class" "${inputs:-$passed tests}" "$checked"
		fi
	} | awk -F '\t' -v OFS='\t' -v skips="$skips" '$1 == "RELIABILITY" && skips { $4 = $4 "; skipped: " skips } 1' \
		>"$results/$name.part" && mv "$results/$name.part" "$results/$name.lines"
	[ $status -eq 0 ] || message "$name: FAILED, see $log"
	return $status
}

# tables - print the results, then the parts; rows of several parts that differ only in their cases are one row:
# their numbers are added up; of those after "of", which all parts have, the largest is kept
tables() {
	for entry in $names; do
		[ ! -f "$results/$entry.lines" ] || cat "$results/$entry.lines"
	done | awk -F '\t' '
		function thousands(text,    digits, rest) {
			digits = text; sub(/[^0-9].*/, "", digits); rest = substr(text, length(digits) + 1); text = ""
			for (; length(digits) > 3; digits = substr(digits, 1, length(digits) - 3))
				text = "," substr(digits, length(digits) - 2) text
			return digits text rest
		}
		function capital(text) {
			return toupper(substr(text, 1, 1)) substr(text, 2)
		}
		$1 == "PART" {
			runs[++run_count] = "| " $2 " | `" $3 "` | " $4 " | " $5 " | " thousands($6) " s |"
			cpu += $6
		}
		$1 == "RELIABILITY" {
			unit = rest = $3; gsub(/[0-9]+/, "#", unit)
			key = "| " capital($2) " | \t" unit "\t | " capital($4) " | " $5 " |"
			if (!(key in seen)) order[++count] = key
			seen[key]
			for (n = 1; match(rest, /(of )?[0-9]+/); n++) {
				number = substr(rest, RSTART, RLENGTH)
				if (!sub(/^of /, "", number)) sum[key, n] += number
				else if (sum[key, n] < number + 0) sum[key, n] = number
				rest = substr(rest, RSTART + RLENGTH)
			}
		}
		END {
			print "| faults | cases | what was checked | result |\n|---|---|---|---|"
			for (i = 1; i <= count; i++) {
				split(order[i], half, "\t")
				for (n = 1; half[2] ~ /#/; n++)
					sub(/#/, thousands(sprintf("%d", sum[order[i], n])), half[2])
				sub(/, 0 [^,]*$/, "", half[2])
				print half[1] half[2] half[3]
			}
			print "\n| part | program | date (UTC) | commit | CPU time |\n|---|---|---|---|---|"
			for (i = 1; i <= run_count; i++)
				print runs[i]
			printf "| all | | | | %s s |\n", thousands(sprintf("%d", cpu))
		}'
}

# Read as a whole before it runs: this file may change meanwhile.
{
trap 'message "interrupted: the next run continues with $name"; exit 1' INT TERM HUP
wanted=" $* " names="" name="" failed=0
printf '%s\n' "$parts" | sed '/^$/d' >"$results/parts"
names=$(awk '{ print $1 }' "$results/parts")
while IFS='|' read -r command class checked <&3; do
	# shellcheck disable=SC2086 # words of the table
	set -- $command
	name=$1
	shift
	case $wanted in
	"  ") [ -f "$results/$name.lines" ] && ! grep -q 'FAILED$' "$results/$name.lines" && continue ;;
	*" $name "*) ;;
	*) continue ;;
	esac
	class=${class# } checked=${checked# }
	run_part "$name" "${class% }" "$checked" "$@" || failed=1
done 3<"$results/parts"

page=$top/docs/reliability.md
tables >"$results/tables.md"
awk -v tables="$results/tables.md" '
	/^<!-- make reliability: end/ { inside = 0 }
	!inside { print }
	/^<!-- make reliability: begin/ { inside = 1; print ""; while ((getline line <tables) > 0) print line; print "" }
' "$page" >"$results/page.md" && cat "$results/page.md" >"$page"
message "results: $page"
exit $failed
}
