#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Forks, execs, pids and modules whose number is used again, short threads,
# io_uring's workers, libraries that come and go, other namespaces: never a
# sample with an ID that is not its thread's own, of that very time.
# LIVES: which of them, by name, one or a few; default all. Alone on a machine,
# LIVES=churn makes 3,000 threads a second. LIFE_MS: how long each lives.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

tls="$load/tls"
LIVES=${LIVES:-fork republish exec reuse churn uring again two deleted elsewhere}
export LIVES
is_asked() {
	case " $LIVES " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

cp "$tls/lib-glibc-gnu2.so" "$dir/deleted.so"
cat >"$dir/run_all" <<'RUN'
tls=$1
dir=$2
life() {
	name=$1
	shift
	case " $LIVES " in
	*" $name "*) ;;
	*) return 0 ;;
	esac
	"$@" >>"$dir/said" 2>&1 &
	echo "$!	$name" >>"$dir/pids"
}
for name in fork republish exec reuse churn uring; do
	life $name "$tls/life" $name
done
life again "$tls/reopen" again "$tls/lib-glibc-gnu2-large.so"
life two "$tls/reopen" two "$tls/lib-glibc-gnu2.so" "$tls/lib-glibc-gnu.so"
life deleted "$tls/reopen" deleted "$dir/deleted.so"
case " $LIVES " in
*" elsewhere "*)
	unshare --fork --pid --mount --mount-proc "$tls/life" elsewhere \
		>/dev/null &
	;;
esac
wait
RUN
"$weft" record -q -F 2999 --detail 1/1 -o "$dir/lives.db" -- \
	sh "$dir/run_all" "$tls" "$dir" 2>&1 | say
grep "^#" "$dir/said" || true
grep '^at	' "$dir/said" >"$dir/truth"
check_ledger "$dir/lives.db"

sqlite3 -readonly "$dir/lives.db" >"$dir/figures" <<SQL
.mode tabs
CREATE TEMP TABLE writer (pid INTEGER, name TEXT);
.import --schema temp $dir/pids writer
CREATE TEMP TABLE truth (at TEXT, time_ns INTEGER, tid INTEGER,
  number INTEGER);
.import --schema temp $dir/truth truth
CREATE INDEX temp.truth_of ON truth (tid, time_ns);
CREATE TEMP TABLE sampled AS
SELECT s.*, p.parent_pid, p.inner_pid, p.service IS 'elsewhere' AS is_elsewhere,
  iif(s.thread_comm GLOB 'iou-*', 'worker', iif(p.service IS 'elsewhere', 1,
    -- of a thread that says nothing, its process's first one speaks
    ifnull((SELECT number FROM truth t WHERE t.tid = s.tid
        AND t.time_ns <= s.time_ns ORDER BY t.time_ns DESC LIMIT 1),
      (SELECT number FROM truth t WHERE t.tid = s.pid
        AND t.time_ns <= s.time_ns ORDER BY t.time_ns DESC LIMIT 1)))) AS truth
FROM samples s JOIN process p ON p.id = s.process_id;
CREATE TEMP TABLE judged AS
SELECT
  -- the child of a writer is named as its parent
  ifnull(w.name, ifnull(c.name, iif(s.is_elsewhere, 'elsewhere', '-')))
    AS life,
  s.truth, s.trace_id, s.context_status,
  s.trace_id IS NOT NULL AND NOT (
    s.truth > 0 AND s.truth <> 'worker'
    AND substr(s.trace_id, 9, 8) = printf('%08x',
      iif(s.is_elsewhere, s.inner_pid, s.tid))
    AND substr(s.trace_id, 1, 8) = printf('%08x',
      iif(s.is_elsewhere, s.inner_pid, s.pid))
    AND substr(s.trace_id, 17, 4) = printf('%04x', s.truth)
    AND substr(s.trace_id, 17) = s.span_id) AS is_wrong
FROM sampled s
LEFT JOIN writer w ON w.pid = s.pid
LEFT JOIN writer c ON c.pid = s.parent_pid
WHERE s.truth IS NOT NULL OR s.trace_id IS NOT NULL;
SELECT life, iif(truth = 0, 'none', truth), count(*), count(trace_id),
  sum(is_wrong), sum(context_status = 'skipped_worker')
FROM judged GROUP BY life, truth;
SQL
awk -F '\t' 'BEGIN { print "life truth samples with_id wrong worker" }
	{ print $1, $2, $3, $4, $5, $6 }' "$dir/figures" | column -t | say

# sum COLUMN LIFE TRUTH: over the rows of that life, if its truth matches
sum() {
	awk -F '\t' -v column="$1" -v life="$2" -v truth="$3" '
		(life == "" || $1 == life) && $2 ~ truth { n += $column }
		END { printf "%d", n }' "$dir/figures"
}
wrong=$(sum 5 '' .)
check "no sample has an ID that is not its own ($(sum 4 '' .) have one)" \
	"$(is "$wrong" = 0)"
for life in fork republish exec churn again two deleted elsewhere; do
	is_asked $life || continue
	check "$life: $(sum 4 $life '[0-9]') samples have their ID" \
		"$(is "$(sum 4 $life '[0-9]')" -gt 0)"
done
! is_asked fork || check "fork: the child was sampled $(sum 3 fork none) times" \
	"$(is "$(sum 3 fork none)" -gt 0)"
! is_asked republish ||
	check "republish: the child has IDs of its own ($(sum 4 republish 2))" \
		"$(is "$(sum 4 republish 2)" -gt 0)"
if is_asked again; then
	check "again: so has what was opened again ($(sum 4 again 2))" \
		"$(is "$(sum 4 again 2)" -gt 0)"
	check "again: a thread of the first was sampled $(sum 3 again none) times" \
		"$(is "$(sum 3 again none)" -gt 0)"
fi
if grep -q 'no pid is reused' "$dir/said"; then
	echo "# reuse: skipped, the kernel lets nobody choose a pid"
elif is_asked reuse; then
	check "reuse: those without context were sampled, too" \
		"$(is "$(sum 3 reuse none)" -gt 0)"
fi
if grep -q 'no io_uring' "$dir/said"; then
	echo "# uring: skipped, the kernel has none for us"
elif is_asked uring; then
	check "uring: $(sum 6 uring worker) samples of workers were skipped" \
		"$(is "$(sum 6 uring worker)" -gt 0)"
fi

live_done
