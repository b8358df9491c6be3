#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A Node service with OpenTelemetry's SDK from npm: it publishes no thread
# context, but sends spans over OTLP/HTTP while it is recorded. Its samples
# are joined by process and time.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
# shellcheck source=tests/interop/service/service.sh
. "$(dirname "$0")/service/service.sh"
command -v node >/dev/null || live_skip "needs node"
command -v npm >/dev/null || live_skip "needs npm"

sdk=${INTEROP_NODE_SDK:-$dir/sdk}
[ -d "$sdk/node_modules" ] || {
	mkdir -p "$sdk"
	(cd "$sdk" && npm install --no-audit --no-fund --loglevel=error \
		@opentelemetry/api@1.9.0 @opentelemetry/resources@2.0.1 \
		@opentelemetry/sdk-trace-node@2.0.1 \
		@opentelemetry/exporter-trace-otlp-http@0.203.0) 2>&1 | say
}
[ -d "$sdk/node_modules/@opentelemetry/api" ] ||
	live_skip "the npm registry cannot be reached"

cd "$dir" # node leaves a log where it runs
NODE_PATH=$sdk/node_modules serve node node --perf-basic-prof \
	--interpreted-frames-native-stack "$service_dir/service.js" \
	"$port" "$otlp_port"
observe node 300 1 service
kill "$service"
check_ledger "$dir/node.db"
say <"$dir/node.log"
judge node "SELECT sample_id, trace_id FROM samples_by_time
	WHERE trace_id IS NOT NULL"
check "each request is stored as a span of the SDK's, under its ID" \
	"$(both "$(is "$(figure node spans)" = 300)" \
		"$(is "$(figure node spans_unknown)" = 0)")"
check "nine in ten of the samples in its routes are joined by process and time" \
	"$(is $(($(figure node joined) * 10)) -ge \
		$(($(figure node samples) * 9)))"
no_wrong node
live_done
