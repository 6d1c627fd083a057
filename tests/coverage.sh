#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# coverage.sh - lines that the unit tests execute, per folder
#
# usage: coverage.sh SOURCE-DIR BUILD-DIR
#
# Reads the counts that the programs of a build with --coverage left in BUILD-DIR. Prints a table of
# the folders, and the files of wire, analysis, collector and storage below 90 %, lowest first.
# Code of tests does not count. With IBWIRE_RELIABILITY it prints a row for each of these four folders
# (tests/reliability.sh).
# Exit status: 1 if one of the four is below 90 %, or there are no counts.

set -eu
folders="base fabric wire analysis collector storage export view tui local cli sim"
filters=""
top=$(cd "$1" && pwd -P)
for folder in $folders; do
	filters="$filters --filter $top/$folder/"
done
# shellcheck disable=SC2086 # a list of options
lines=$(gcovr --root "$top" --object-directory "$2" $filters --exclude '.*_test\.c' --exclude '.*/test_[a-z_]*\.[ch]' \
	--gcov-ignore-parse-errors --csv - "$2")
printf '%s\n' "$lines" | awk -F , -v folders="$folders" -v rows="${IBWIRE_RELIABILITY:-}" '
	function is_core(folder) {
		return folder ~ /^(wire|analysis|collector|storage)$/
	}
	NR > 1 {
		folder = $1
		sub("/.*", "", folder)
		lines[folder] += $2; covered[folder] += $3; all += $2; all_covered += $3
		if (is_core(folder) && $3 < 0.9 * $2)
			low[++count] = sprintf("%5.1f %6d %s", 100 * $3 / $2, $2 - $3, $1)
	}
	function row(name, of, number) {
		printf "%-10s %7d %9d %6.1f\n", name, of, number, of ? 100 * number / of : 0
	}
	END {
		printf "%-10s %7s %9s %6s\n", "folder", "lines", "executed", "%"
		n = split(folders, list, " ")
		for (i = 1; i <= n; i++) {
			row(list[i], lines[list[i]], covered[list[i]])
			failed = failed || is_core(list[i]) && (!lines[list[i]] || covered[list[i]] < 0.9 * lines[list[i]])
		}
		row("all", all, all_covered)
		for (i = 1; i <= n && rows; i++)
			if (is_core(list[i]))
				printf "RELIABILITY\tCoverage of %s/\t%d lines\tExecuted by the unit tests in their short" \
					" form, at least 90 %%\t%.1f %%\n", list[i], lines[list[i]],
					lines[list[i]] ? 100 * covered[list[i]] / lines[list[i]] : 0
		if (count)
			print "\nbelow 90 %, with the number of lines not executed:"
		for (i = 1; i <= count; i++)
			print low[i] | "sort -n"
		exit failed
	}'
