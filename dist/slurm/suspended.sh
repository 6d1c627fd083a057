#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# suspended.sh FILE - record the jobs that Slurm has suspended or resumed since the last call (docs/jobs.md of ibwire)
#
# Slurm runs no script when it suspends a job. A timer calls this one; FILE keeps the ids that are suspended. Only
# what has changed is recorded. After a failure it is tried again by the next call.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

file=${1:?"usage: suspended.sh FILE"}

# As in prolog.sh.
IBWIRE=ibwire
IBWIRE_DB=/var/lib/ibwire/fabric.db
IBWIRE_SECONDS=20
config=${IBWIRE_SLURM_CONFIG:-/etc/ibwire/slurm}
# shellcheck source=/dev/null
[ -r "$config" ] && . "$config"

# change suspend|resume ID
# shellcheck disable=SC2086 # IBWIRE may have several words
change() {
	if [ "$IBWIRE_DB" = /var/lib/ibwire/fabric.db ]; then
		printf '%s\0' "$2" "$cluster" | timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job hook "$1"
	else
		timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job "$1" "$2" --db="$IBWIRE_DB" --cluster="$cluster"
	fi
}

# change_all suspend|resume: of the ids on standard input. What is refused (64), such as a job that has ended or is
# unknown, is logged and not tried again.
change_all() {
	while read -r id; do
		output=$(change "$1" "$id" 2>&1 </dev/null)
		status=$?
		[ "$status" = 0 ] && continue
		logger -t ibwire "$1 of job $id: $output"
		[ "$status" = 64 ] || return 1
	done
}

config=$(timeout 20 scontrol show config) || exit 1
cluster=$(printf '%s\n' "$config" | sed -n 's/^ClusterName *= *//p')
suspended=$(timeout 20 squeue --noheader --array --states=SUSPENDED --format=%i) || exit 1
printf '%s\n' "$suspended" | sed '/^$/d' | LC_ALL=C sort -u >"$file.new" || exit 1
[ -e "$file" ] || : >"$file"
LC_ALL=C comm -13 "$file" "$file.new" | change_all suspend || exit 1
LC_ALL=C comm -23 "$file" "$file.new" | change_all resume || exit 1
mv "$file.new" "$file"
