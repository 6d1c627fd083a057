#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# generate.sh - write prometheusrule.yaml from dist/prometheus/ibwire.rules.yml, which has the rules
#
# kustomize reads no file outside of its folder, and wraps no file in an object. kubernetes_test compares both files.
set -eu
cd "$(dirname "$0")"
{
	cat <<'EOF'
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Written by generate.sh from dist/prometheus/ibwire.rules.yml: change that file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ibwire
  labels: {app: ibwire}
spec:
EOF
	sed -n '/^groups:/,$s/^\(.\)/  \1/p; /^groups:/,$s/^$//p' ../../prometheus/ibwire.rules.yml
} >prometheusrule.yaml
