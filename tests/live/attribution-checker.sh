#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The judge of the attribution test, on a recording and a truth made by hand:
# each kind of sample once or a few times, so that each figure is known.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

printf '%s\t%s\t1\t%s\t%s\t%s\t1\n' \
	trace_id route tid start_ns end_ns \
	aa search 10 100 200 \
	bb report 10 300 400 \
	cc search 11 100 200 \
	'' sign 11 300 400 >truth.tsv

# by time: on worker 10 own, own in a library, another's of the same route,
# another's of another route, none, idle without, idle with; on worker 11
# unknown, own before its request began, in a request without an ID; and a
# thread that is no worker
sqlite3 made.db <<'SQL'
CREATE TABLE stack_text (stack_id INTEGER, folded TEXT);
INSERT INTO stack_text VALUES
  (1, 'main;work;search_run;search_scan_postings'),
  (2, 'main;work;report_run;[libc.so.6+0x10]'),
  (3, 'main;loop'),
  (4, 'research_run;presearch_scan');
CREATE TABLE samples (tid INTEGER, time_ns INTEGER, trace_id TEXT,
                      stack_id INTEGER, context_status TEXT);
INSERT INTO samples VALUES
  (10, 100, 'aa', 1, 'ok'),
  (10, 110, 'aa', 4, 'ok'),
  (10, 120, 'cc', 1, 'ok'),
  (10, 310, 'aa', 2, 'ok'),
  (10, 320, NULL, 2, 'updating'),
  (10, 400, 'bb', 3, 'ok'),
  (10, 250, NULL, 3, 'null'),
  (10, 401, 'bb', 3, 'ok'),
  (11, 150, 'dd', 1, 'ok'),
  (11,  99, 'cc', 1, 'ok'),
  (11, 350, NULL, 3, 'null'),
  (99, 150, 'aa', 2, 'ok');
SQL

cat >expected <<'FIGURES'
requests	4
worker_samples	11
route_samples	6
route_wrong	1
route_unknown_trace	1
route_no_trace	1
busy	7
busy_own	3
busy_other	3
busy_none_updating	1
idle_with_trace	2
FIGURES

echo 1..1
if sqlite3 -readonly made.db <"$here/attribution.sql" >figures 2>&1 &&
	diff -u expected figures >difference
then
	echo "ok 1 - the judge finds each kind of sample"
else
	sed 's/^/# /' difference figures
	echo "not ok 1 - the judge finds each kind of sample"
	exit 1
fi
