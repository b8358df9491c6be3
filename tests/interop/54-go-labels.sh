#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A Go service: the IDs are pprof labels of its goroutines, its spans come as
# OTLP in JSON while it is recorded.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
# shellcheck source=tests/interop/service/service.sh
. "$(dirname "$0")/service/service.sh"
command -v go >/dev/null || live_skip "needs go"

GOCACHE="$dir/cache" GO111MODULE=off go build -o "$dir/go-service" \
	"$service_dir/service.go" 2>&1 | say
serve go "$dir/go-service" "$port" "$otlp_port"
observe go 300 3 service
kill "$service"
check_ledger "$dir/go.db"
say <"$dir/go.log"
judge go "$by_id"
check "each request is stored as a span of the service's, under its ID" \
	"$(both "$(is "$(figure go spans)" = 300)" \
		"$(is "$(figure go spans_unknown)" = 0)")"
check "nearly all samples in its routes have an ID" \
	"$(is $(($(figure go joined) * 100)) -ge \
		$(($(figure go samples) * 99)))"
no_wrong go
check "each of them is under the span that the service told" \
	"$(is "$(sql "$dir/go.db" "SELECT count(*) FROM samples s
		WHERE s.folded LIKE '%work_%' AND s.trace_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM span p JOIN trace t
		ON t.id = p.trace WHERE t.hex = s.trace_id
		AND lower(hex(p.span_id)) = s.span_id)")" = 0)"
live_done
