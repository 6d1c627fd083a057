#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# PrologSlurmctld of Slurm: record the begin of each job (docs/jobs.md of ibwire).
#
# It cannot fail or delay a job: the work is done in the background, in a session of its own, since
# slurmctld kills the process group of a prolog whose job is cancelled. It always exits with 0.

# slurmctld sets no PATH.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

# The substitution ends when the background process has closed its output below: in its own session.
if [ "${1-}" != background ]; then
	[ -n "${SLURM_JOB_ID-}" ] && : "$(setsid sh "$0" background </dev/null 2>/dev/null &)"
	exit 0
fi
exec >/dev/null 2>&1

# Defaults, then the settings of this site: an error in them ends the background process only.
IBWIRE=ibwire
IBWIRE_DB=/var/lib/ibwire/fabric.db
IBWIRE_BEGIN=--no-snapshot
IBWIRE_SECONDS=20
config=${IBWIRE_SLURM_CONFIG:-/etc/ibwire/slurm}
# shellcheck source=/dev/null
[ -r "$config" ] && . "$config"

# The id of a task of an array is 4711_3, as Slurm shows it; SLURM_JOB_ID is another number then.
id=$SLURM_JOB_ID
[ -n "${SLURM_ARRAY_TASK_ID-}" ] && id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

# begin: with the default settings by the hook, which takes its fields from standard input only, so that a rule
# of sudo can allow it. Options and values are joined with "=", since a name may begin with "-". IBWIRE and
# IBWIRE_BEGIN may have several words.
# shellcheck disable=SC2086
begin() {
	if [ "$IBWIRE_DB $IBWIRE_BEGIN" = "/var/lib/ibwire/fabric.db --no-snapshot" ]; then
		printf '%s\0' "$id" "${SLURM_JOB_NODELIST-}" "${SLURM_JOB_NAME-}" "${SLURM_CLUSTER_NAME-}" \
			"${SLURM_JOB_USER-}" "${SLURM_JOB_ACCOUNT-}" "${SLURM_JOB_PARTITION-}" |
			timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job hook begin
	else
		timeout -k 1 "$IBWIRE_SECONDS" $IBWIRE job begin "$id" --db="$IBWIRE_DB" --lenient $IBWIRE_BEGIN \
			--hosts="${SLURM_JOB_NODELIST-}" --name="${SLURM_JOB_NAME-}" \
			--cluster="${SLURM_CLUSTER_NAME-}" --user="${SLURM_JOB_USER-}" \
			--account="${SLURM_JOB_ACCOUNT-}" --partition="${SLURM_JOB_PARTITION-}"
	fi
}

# ssh exits with 255 if it cannot connect.
attempts=0
while :; do
	said=$(begin 2>&1)
	[ $? != 255 ] || [ "$attempts" -ge "$IBWIRE_SECONDS" ] && break
	attempts=$((attempts + 1))
	sleep 1
done
[ -n "$said" ] && logger -t ibwire "prolog of job $id: $said"
exit 0
