#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# EpilogSlurmctld of Slurm: record the end of each job (docs/jobs.md of ibwire). As prolog.sh, it
# works in the background and always exits with 0.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

if [ "${1-}" != background ]; then
	[ -n "${SLURM_JOB_ID-}" ] && : "$(setsid sh "$0" background </dev/null 2>/dev/null &)"
	exit 0
fi
exec >/dev/null 2>&1

IBWIRE=ibwire
IBWIRE_DB=/var/lib/ibwire/fabric.db
IBWIRE_END=--no-snapshot
IBWIRE_SECONDS=20
IBWIRE_SCONTROL=yes
config=${IBWIRE_SLURM_CONFIG:-/etc/ibwire/slurm}
# shellcheck source=/dev/null
[ -r "$config" ] && . "$config"

# With the default settings, the hook records the end: see prolog.sh.
hook=
[ "$IBWIRE_DB $IBWIRE_END" = "/var/lib/ibwire/fabric.db --no-snapshot" ] && hook=yes

# As in prolog.sh.
id=$SLURM_JOB_ID
[ -n "${SLURM_ARRAY_TASK_ID-}" ] && id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

# end [STATUS]
# shellcheck disable=SC2086 # IBWIRE and IBWIRE_END may have several words
end() {
	if [ -n "$hook" ]; then
		printf '%s\0' "$id" "${1-}" "${SLURM_CLUSTER_NAME-}" |
			timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job hook end
	else
		timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job end "$id" --db="$IBWIRE_DB" $IBWIRE_END \
			--cluster="${SLURM_CLUSTER_NAME-}" ${1:+"--status=$1"}
	fi
}

# record_end [STATUS]: the prolog of a short job may still be running, so an unknown job is retried, and a connection
# that ssh cannot open (255).
record_end() {
	attempts=0
	while :; do
		said=$(end "$@" 2>&1)
		status=$?
		attempts=$((attempts + 1))
		case $status in
		64 | 69 | 255) [ "$attempts" -le "$IBWIRE_SECONDS" ] || break ;;
		*) break ;;
		esac
		sleep 1
	done
	[ "$status" != 0 ] && logger -t ibwire "epilog of job $id: $said"
	return "$status"
}

# exit_status STATUS:SIGNAL: print the exit status of a job as a shell does, 128 + the signal if there is one.
exit_status() {
	case $1 in
	*[!0-9:]* | *:*:* | :* | *:) ;;
	*:0) echo "${1%:*}" ;;
	*:*) echo $((128 + ${1#*:})) ;;
	esac
}

# query_slurm: wait until the job is complete, and set code to its STATUS:SIGNAL in Slurm; empty if unknown.
query_slurm() {
	attempts=0
	while job=$(timeout 5 scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null); do
		case $job in
		*" JobState=COMPLETING "*) [ "$attempts" -lt "$IBWIRE_SECONDS" ] || break ;;
		*) break ;;
		esac
		attempts=$((attempts + 1))
		sleep 1
	done
	code=$(printf '%s\n' "$job" | sed -n 's/.* ExitCode=\([0-9]*:[0-9]*\) .*/\1/p')
	case $code$job in
	*" JobState=COMPLETED "*) ;;
	0:0*) code= ;;
	esac
}

# Jobs that were cancelled or timed out have 0:0 here, like those that succeeded.
code=${SLURM_JOB_EXIT_CODE2-}
if [ "$code" = 0:0 ] && [ "$IBWIRE_SCONTROL" = yes ]; then
	record_end || exit 0
	query_slurm
	IBWIRE_END=--no-snapshot
fi
status=$(exit_status "$code")
record_end "$status"
exit 0
