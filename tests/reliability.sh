#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# reliability.sh - run the long forms of the tests of reliability and write docs/reliability.md
#
# usage: reliability.sh BUILD-DIR [PART...]
#
# Runs the parts of tests/reliability.parts that have no results yet, or the given ones again. The
# results of a part are in BUILD-DIR/reliability/PART.lines and its output in PART.log, so the run can
# be interrupted: the next one continues with the first part that is not complete. For a complete run,
# remove the folder first. Then the rows of these parts are replaced in docs/reliability.md; rows of
# other parts remain. The rows of a group of parts are sums, and are replaced when all of them have
# results, or one has failed.
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

# results_of GROUP - the names of its parts that have results, if its rows are to be written from them
results_of() {
	found="" missing="" failed_part=""
	for entry in $names; do
		[ "${entry%-[0-9]}" = "$1" ] || continue
		[ -f "$results/$entry.lines" ] || { missing=yes && continue; }
		found="$found $entry"
		! grep -q 'FAILED$' "$results/$entry.lines" || failed_part=yes
	done
	[ -n "$missing" ] && [ -z "$failed_part" ] && grep -q "^| $1 |" "$results/rows" || echo "$found"
}

# fault_rows GROUP PART... - rows of these parts that differ only in their cases are one row: their numbers are added up; of
# those after "of", which all parts have, the largest is kept
fault_rows() {
	group=$1
	shift
	for entry; do
		cat "$results/$entry.lines"
	done | awk -F '\t' -v group="$group" "$awk_functions"'
		$1 == "RELIABILITY" {
			unit = rest = $3; gsub(/[0-9]+/, "#", unit)
			key = "| " group " | " capital($2) " | \t" unit "\t | " capital($4) " | " $5 " |"
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
			for (i = 1; i <= count; i++) {
				split(order[i], half, "\t")
				for (n = 1; half[2] ~ /#/; n++)
					sub(/#/, thousands(sprintf("%d", sum[order[i], n])), half[2])
				sub(/, 0 [^,]*$/, "", half[2])
				print half[1] half[2] half[3]
			}
		}'
}

# run_row PART - program, date, commit and CPU time of a part
run_row() {
	awk -F '\t' "$awk_functions"'
		$1 == "PART" { print "| " $2 " | `" $3 "` | " $4 " | " $5 " | " thousands($6) " s |" }' "$results/$1.lines"
}

# tables - print the results, then the parts; of groups without results as the page has them. A row of the second table
# has a program in its second field.
tables() {
	printf '| part | faults | cases | what was checked | result |\n|---|---|---|---|---|\n'
	for group in $groups; do
		complete=$(results_of "$group")
		# shellcheck disable=SC2086 # names of parts
		if [ -n "$complete" ]; then
			fault_rows "$group" $complete
		else
			grep "^| $group | [^\`]" "$results/rows"
		fi
	done
	printf '\n| part | program | date (UTC) | commit | CPU time |\n|---|---|---|---|---|\n'
	for group in $groups; do
		complete=$(results_of "$group")
		for entry in $complete; do
			run_row "$entry"
		done
		[ -n "$complete" ] || grep -E "^\| $group(-[0-9])? \| \`" "$results/rows"
	done | awk -F '|' "$awk_functions"'
		{ print; gsub(/[^0-9]/, "", $6); cpu += $6 }
		END { printf "| all | | | | %s s |\n", thousands(sprintf("%d", cpu)) }'
}

# shellcheck disable=SC2016 # fields of awk
awk_functions='
	function thousands(text,    digits, rest) {
		digits = text; sub(/[^0-9].*/, "", digits); rest = substr(text, length(digits) + 1); text = ""
		for (; length(digits) > 3; digits = substr(digits, 1, length(digits) - 3))
			text = "," substr(digits, length(digits) - 2) text
		return digits text rest
	}
	function capital(text) {
		return toupper(substr(text, 1, 1)) substr(text, 2)
	}
'

# Read as a whole before it runs: this file may change meanwhile.
{
trap 'message "interrupted: the next run continues with $name"; exit 1' INT TERM HUP
wanted=" $* " names="" name="" failed=0
sed '/^#/d; /^$/d' "$top/tests/reliability.parts" >"$results/parts"
names=$(awk '{ print $1 }' "$results/parts")
groups=$(printf '%s\n' "$names" | sed 's/-[0-9]$//' | uniq)
page=$top/docs/reliability.md
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

sed -n '/^<!-- make reliability: begin/,/^<!-- make reliability: end/p' "$page" >"$results/rows"
tables >"$results/tables.md"
awk -v tables="$results/tables.md" '
	/^<!-- make reliability: end/ { inside = 0 }
	!inside { print }
	/^<!-- make reliability: begin/ { inside = 1; print ""; while ((getline line <tables) > 0) print line; print "" }
' "$page" >"$results/page.md" && cat "$results/page.md" >"$page"
message "results: $page"
exit $failed
}
